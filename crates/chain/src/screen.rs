//! A screening: an address or a transaction, a source, labels and a profile in; the score and everything that explains
//! it out, in the members that the contract names (§2.7, §4.9).
//!
//! Here a history becomes seeds of a trace, and findings become an answer. Reckoning is [`crate::score`]'s, following
//! money [`crate::trace`]'s.

mod detail;
mod exposures;
mod label_screen;
mod reading;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;

use num_bigint::BigUint;
use rustc_hash::{FxHashMap, FxHashSet};

pub use self::detail::{AddressDetail, Detail, Entity, Moved, TransactionDetail};
pub use self::exposures::{Contributed, Coverage, Exposed, Exposures, Ranked, Rest};
pub use self::label_screen::screen_labels;
use self::reading::Reading;
use crate::amount::Amount;
use crate::category::Category;
use crate::cluster::{self, Cluster};
use crate::currency::{Currency, Ledger};
use crate::labels::{Label, Labels};
use crate::parts::{self, Part, Scale};
use crate::pool::{Method, Share};
use crate::profile::Profile;
use crate::score::{Finding, Own, Score, Unknown, score, spread};

use crate::source::{
    History, Movement, Party, Position, Source, SourceError, Tip, Transaction, Transfer, TxId, Window,
};
use crate::trace::{Attribution, Coin, Cut, Direction, Options, Seeds, Start, Step, Trace, all_known, trace};

/// What is screened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// An address in canonical form (KYA).
    Address(&'a str),
    /// A transaction's id in canonical form (KYT).
    Transaction(&'a str),
}

/// A request for a screening.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The chain.
    pub chain: Currency,
    /// What is screened.
    pub subject: Subject<'a>,
    /// The labels of which time (milliseconds since 1970).
    pub at: i64,
    /// Up to which block; `None`: the source's newest. With `at`, it repeats an old decision.
    pub as_of_block: Option<u64>,
    /// Without a block: the newest at `at`, instead of the newest of all.
    pub as_of_time: bool,
    /// How far the trace goes. Its `up_to` is set from `as_of_block`.
    pub options: Options,
    /// At most so many histories are read to find the address's cluster.
    pub cluster_budget: usize,
}

impl<'a> Request<'a> {
    /// A request with the defaults, about now.
    pub fn new(chain: Currency, subject: Subject<'a>) -> Request<'a> {
        Request {
            chain,
            subject,
            at: jiff::Timestamp::now().as_millisecond(),
            as_of_block: None,
            as_of_time: false,
            options: Options::default(),
            cluster_budget: 4,
        }
    }
}

/// A screening's outcome.
#[derive(Clone, Debug)]
pub struct Screen {
    /// The score.
    pub score: Score,
    /// What explains it, serialisable; the members of the contract's detailed report.
    pub detail: Detail,
    /// The traces behind it, for the picture.
    pub traces: Vec<Trace>,
    /// Labels of the address itself (or of a transaction's parties).
    pub labels: Vec<Label>,
    /// Why the source gave no answer, where labels alone gave one instead.
    pub failed: Option<SourceError>,
}

/// Screens an address.
///
/// # Errors
/// When the source cannot be asked and no label answers instead.
pub fn screen_address(
    source: &dyn Source,
    labels: &dyn Labels,
    profile: &Profile,
    request: &Request<'_>,
) -> Result<Screen, SourceError> {
    let Subject::Address(address) = request.subject else {
        return Err(SourceError::NotFound);
    };
    let own = own_labels(labels, request);
    match traced_address(source, labels, profile, request, address, own.clone()) {
        Err(failed) if !own.is_empty() => Ok(Screen {
            failed: Some(failed),
            ..screen_labels(labels, profile, request)
        }),
        screen => screen,
    }
}

fn traced_address(
    source: &dyn Source,
    labels: &dyn Labels,
    profile: &Profile,
    request: &Request<'_>,
    address: &str,
    mut own: Vec<Label>,
) -> Result<Screen, SourceError> {
    let source = &Reading::new(source, request.options.max_entries);
    let tip = source.tip()?;
    let (options, block) = pinned(source, request, &tip)?;
    let newest = newest(request, &tip);
    let window = Window {
        up_to: options.up_to,
        limit: options.max_history,
    };
    let mut history = source.history(address, window)?;
    if history.transactions.is_empty() && history.totals.is_none() && !source.is_whole() {
        // The source has not reached this address, which is not the same as an address that is new.
        return Err(SourceError::NotFound);
    }
    if !history.complete && history.totals.is_none() {
        // What part of the money the rest is, nobody knows: no score can be made of that.
        return Err(SourceError::Unsupported("the history is too long to be weighed"));
    }
    if request.chain.ledger() == Ledger::Utxo {
        // Not every source tells places within a block, and every source shall give the same answer.
        history.transactions.sort_by(|a, b| {
            let height = |transaction: &Transaction| transaction.position.map(|position| position.height);
            (height(a), &a.id).cmp(&(height(b), &b.id))
        });
    }
    let cluster = match request.chain.ledger() {
        Ledger::Utxo => cluster::cluster_of(source, address, window, request.cluster_budget)?,
        Ledger::Account => Cluster {
            members: vec![address.into()],
            complete: true,
        },
    };
    let members: FxHashSet<Party> = cluster.members.iter().cloned().collect();
    // What is known about another address of the same holder is known about this one, but no authority named it.
    for member in cluster.members.iter().filter(|member| ***member != *address) {
        let known = labels.labels(request.chain, member, request.at);
        own.extend(known.into_iter().map(|label| Label {
            authority: false,
            ..label
        }));
    }
    let attribute = attributing(labels, request);
    let received = received(&history, address);
    let sent = sent(source, &history, address, &members)?;
    let incoming = trace(
        source,
        &attribute,
        &members,
        Direction::Incoming,
        received.seeds,
        &options,
    )?;
    let outgoing = trace(
        source,
        &attribute,
        &members,
        Direction::Outgoing,
        sent.seeds,
        &options,
    )?;
    let traces = vec![incoming, outgoing];
    let findings = findings(&traces);
    let score = score(profile, &findings, strongest(profile, &own), &unknown(&traces));
    let context = exposures::Context {
        profile,
        request,
        source: source.name(),
        block,
        newest,
        label_version: labels.version(),
        totals: [&received.total, &sent.total],
        complete: history.complete && cluster.complete,
    };
    let mut exposures = Exposures::of(&context, &score, &traces);
    exposures.coverage.token_transfers_incomplete = history.tokens_unseen_to.is_some();
    let detail = AddressDetail::of(request, address, &history, &cluster, &own, exposures);
    Ok(Screen {
        score,
        detail: Detail::Address(Box::new(detail)),
        traces,
        labels: own,
        failed: None,
    })
}

/// Screens a transaction: where its money came from and whom it paid.
///
/// # Errors
/// [`SourceError::NotFound`] for a transaction that the source does not know; otherwise when it cannot be asked.
pub fn screen_transaction(
    source: &dyn Source,
    labels: &dyn Labels,
    profile: &Profile,
    request: &Request<'_>,
) -> Result<Screen, SourceError> {
    let Subject::Transaction(id) = request.subject else {
        return Err(SourceError::NotFound);
    };
    let source = &Reading::new(source, request.options.max_entries);
    let tip = source.tip()?;
    let (options, block) = pinned(source, request, &tip)?;
    let newest = newest(request, &tip);
    let transaction = source.transaction(id)?;
    let is_past = request.as_of_block.is_some() || request.as_of_time;
    if is_past && transaction.position.is_none_or(|at| Some(at) > options.up_to) {
        return Err(SourceError::NotFound);
    }
    let attribute = attributing(labels, request);
    let flow = Sides::of(&transaction, options.method);
    let none = FxHashSet::default();
    let incoming = trace(
        source,
        &attribute,
        &none,
        Direction::Incoming,
        flow.back,
        &options,
    )?;
    let outgoing = trace(
        source,
        &attribute,
        &flow.payers,
        Direction::Outgoing,
        flow.on,
        &options,
    )?;
    let traces = vec![incoming, outgoing];
    let findings = findings(&traces);
    let score = score(profile, &findings, None, &unknown(&traces));
    let spread = spread(profile, &findings, &unknown(&traces).incoming);
    let context = exposures::Context {
        profile,
        request,
        source: source.name(),
        block,
        newest,
        label_version: labels.version(),
        totals: [&flow.total, &flow.paid],
        complete: true,
    };
    let exposures = Exposures::of(&context, &score, &traces);
    let own: Vec<Label> = transaction
        .parties()
        .into_iter()
        .flat_map(|party| labels.labels(request.chain, &party, request.at))
        .collect();
    let detail = TransactionDetail::of(request, &transaction, &flow.total, &own, spread, exposures);
    Ok(Screen {
        score,
        detail: Detail::Transaction(Box::new(detail)),
        traces,
        labels: own,
        failed: None,
    })
}

/// A screening sees one state of the chain: up to the block asked for, or the newest at its beginning.
fn pinned(source: &dyn Source, request: &Request<'_>, tip: &Tip) -> Result<(Options, u64), SourceError> {
    let block = match request.as_of_block {
        Some(block) => block.min(tip.height),
        None if request.as_of_time => source.height_at(request.at)?.min(tip.height),
        None => tip.height,
    };
    let options = Options {
        up_to: Some(Position::end_of(block)),
        ..request.options.clone()
    };
    Ok((options, block))
}

/// The time of the newest block, where a screening is about now: only then it may be too old.
fn newest(request: &Request<'_>, tip: &Tip) -> Option<i64> {
    let is_past = request.as_of_block.is_some() || request.as_of_time;
    tip.time.filter(|_| !is_past)
}

fn own_labels(labels: &dyn Labels, request: &Request<'_>) -> Vec<Label> {
    match request.subject {
        Subject::Address(address) => labels.labels(request.chain, address, request.at),
        Subject::Transaction(_) => Vec::new(),
    }
}

/// The label that raises the score most.
fn strongest(profile: &Profile, own: &[Label]) -> Option<Own> {
    own.iter()
        .max_by_key(|label| {
            let sanctioned = label.authority && label.category == Category::Sanctions;
            (
                sanctioned,
                u32::from(profile.severity(label.category)) * u32::from(label.confidence),
            )
        })
        .map(|label| Own {
            category: label.category,
            confidence: label.confidence,
            authority: label.authority,
        })
}

/// Labels as the trace asks for them: the gravest of a party, each party looked up once.
fn attributing<'a>(
    labels: &'a dyn Labels,
    request: &'a Request<'a>,
) -> impl Fn(&str) -> Option<Attribution> + 'a {
    let known: RefCell<FxHashMap<Box<str>, Option<Attribution>>> = RefCell::default();
    move |party| {
        if let Some(found) = known.borrow().get(party) {
            return found.clone();
        }
        let found = labels
            .labels(request.chain, party, request.at)
            .into_iter()
            .find(|label| label.category != Category::Unattributed)
            .map(|label| Attribution {
                name: label.name,
                category: label.category,
                confidence: label.confidence,
            });
        known.borrow_mut().insert(party.into(), found.clone());
        found
    }
}

/// What traces found, by direction, category and hop.
fn findings(traces: &[Trace]) -> Vec<Finding> {
    let of = |trace: &Trace| {
        let mut sums: BTreeMap<(Category, u32), BigUint> = BTreeMap::new();
        for exposure in &trace.exposures {
            *sums.entry((exposure.category, exposure.hop)).or_default() += &exposure.part;
        }
        let finding = |((category, hop), part)| Finding {
            direction: trace.direction,
            category,
            hop,
            share: parts::fraction(&part, &trace.whole),
        };
        sums.into_iter().map(finding).collect::<Vec<_>>()
    };
    traces.iter().flat_map(of).collect()
}

fn unknown(traces: &[Trace]) -> Unknown {
    let mut unknown = Unknown::default();
    for trace in traces {
        let mut share = trace.unresolved();
        parts::add(&mut share, &trace.unattributed);
        match trace.direction {
            Direction::Incoming => unknown.incoming = share,
            Direction::Outgoing => unknown.outgoing = share,
        }
    }
    unknown
}

/// Money to be traced, and how much it is.
struct Flows {
    seeds: Seeds,
    total: Amount,
}

/// A transfer from or to a party; nobody, for new or burnt money, ends the way.
fn of_transfer(transaction: &TxId, number: u32, party: Option<&Party>) -> Start {
    Start::Step(Step {
        transaction: transaction.clone(),
        party: party.cloned(),
        next: party.map(|_| Coin::Payment(transaction.clone(), number)),
    })
}

/// An output that was made for a party.
fn of_output(transaction: &TxId, number: u32, party: Option<&Party>) -> Start {
    Start::Step(Step {
        transaction: transaction.clone(),
        party: party.cloned(),
        next: Some(Coin::Output(transaction.clone(), number)),
    })
}

/// Amounts as masses, with what a history does not show.
fn flows(sums: Vec<(Start, Amount)>, more: &Amount) -> Flows {
    let total = sums.iter().map(|(_, amount)| amount).sum::<Amount>() + more;
    let unseen = (Start::Unseen(Cut::History), more.clone());
    let masses = sums
        .into_iter()
        .chain([unseen])
        .map(|(start, amount)| (start, amount.units()));
    Flows {
        seeds: Seeds::of(masses),
        total,
    }
}

/// What an address received, without what it returned to itself.
fn received(history: &History, address: &str) -> Flows {
    let mut sums = Vec::new();
    let mut seen = Amount::default();
    let is_it = |party: &Option<Party>| party.as_deref() == Some(address);
    for transaction in &history.transactions {
        let id = &transaction.id;
        match &transaction.movement {
            Movement::Outputs { inputs, outputs, .. } => {
                let spends = inputs.iter().any(|input| is_it(&input.party));
                let change = spends && cluster::one_spender(transaction);
                for (output, number) in outputs
                    .iter()
                    .zip(0u32..)
                    .filter(|(output, _)| is_it(&output.party))
                {
                    seen += &output.amount;
                    if !change {
                        let start = Start::Coin(Coin::Output(id.clone(), number));
                        sums.push((start, output.amount.clone()));
                    }
                }
            }
            Movement::Transfers(transfers) => {
                for (transfer, number) in native(transfers) {
                    if is_it(&transfer.to) && !is_it(&transfer.from) {
                        seen += &transfer.amount;
                        let start = of_transfer(id, number, transfer.from.as_ref());
                        sums.push((start, transfer.amount.clone()));
                    }
                }
            }
        }
    }
    flows(
        sums,
        &unseen(history, |totals| totals.received.saturating_sub(&seen)),
    )
}

/// What an address paid to others. Of an output that several paid for, its part; of a payment whose inputs are not all
/// known, nobody knows what part that is.
fn sent(
    source: &dyn Source,
    history: &History,
    address: &str,
    members: &FxHashSet<Party>,
) -> Result<Flows, SourceError> {
    // Outputs with the part of them that was paid for, over one denominator, which stops growing well before that of a trace.
    let mut scale = Scale::within(parts::MOST_BITS / 2);
    let mut sums: Vec<(Start, Part, Amount)> = Vec::new();
    let mut lost = Amount::default();
    let mut seen = Amount::default();
    let mut unknown = Amount::default();
    let is_it = |party: &Option<Party>| party.as_deref() == Some(address);
    let is_own = |party: &Option<Party>| party.as_ref().is_some_and(|party| members.contains(party));
    for transaction in &history.transactions {
        let id = &transaction.id;
        match &transaction.movement {
            Movement::Outputs { inputs, outputs, .. } => {
                let own: Amount = inputs
                    .iter()
                    .filter(|input| is_it(&input.party))
                    .map(|input| &input.amount)
                    .sum();
                seen += &own;
                if own.is_zero() {
                    continue;
                }
                if !all_known(source, inputs)? {
                    unknown += &own;
                    continue;
                }
                let whole: Amount = inputs.iter().map(|input| &input.amount).sum();
                let paid_for = scale.hold(&own.part_of(&whole));
                let is_exact = scale.numerator(&paid_for) * whole.units() == scale.whole() * own.units();
                for (output, number) in outputs
                    .iter()
                    .zip(0u32..)
                    .filter(|(output, _)| !is_own(&output.party))
                {
                    let start = of_output(id, number, output.party.as_ref());
                    sums.push((start, paid_for.clone(), output.amount.clone()));
                    if !is_exact {
                        lost += &output.amount;
                    }
                }
            }
            Movement::Transfers(transfers) => {
                for (transfer, number) in native(transfers) {
                    if is_it(&transfer.from) && !is_own(&transfer.to) {
                        seen += &transfer.amount;
                        let start = of_transfer(id, number, transfer.to.as_ref());
                        sums.push((start, scale.one(), transfer.amount.clone()));
                    }
                }
            }
        }
    }
    let more = unseen(history, |totals| totals.sent.saturating_sub(&seen)) + &unknown;
    let mut masses: Vec<(Start, BigUint)> = sums
        .into_iter()
        .map(|(start, part, amount)| (start, scale.numerator(&part) * amount.units()))
        .collect();
    let total: BigUint = masses.iter().map(|(_, mass)| mass).sum::<BigUint>() / scale.whole();
    masses.push((Start::Unseen(Cut::History), more.units() * scale.whole()));
    // A part that was rounded down lacks less than one of its denominator.
    masses.push((Start::Unseen(Cut::Precision), lost.units()));
    Ok(Flows {
        seeds: Seeds::of(masses),
        total: Amount::from(total) + &more,
    })
}

/// Transfers of the chain's own money, with their numbers.
fn native(transfers: &[Transfer]) -> impl Iterator<Item = (&Transfer, u32)> {
    transfers
        .iter()
        .zip(0u32..)
        .filter(|(transfer, _)| transfer.asset.is_none())
}

/// What the index's counters hold beyond an incomplete history.
fn unseen(history: &History, more: impl Fn(&crate::source::Totals) -> Amount) -> Amount {
    match &history.totals {
        Some(totals) if !history.complete => more(totals),
        _ => Amount::default(),
    }
}

/// The two sides of one transaction.
struct Sides {
    back: Seeds,
    on: Seeds,
    payers: FxHashSet<Party>,
    total: Amount,
    paid: Amount,
}

impl Sides {
    fn of(transaction: &Transaction, method: Method) -> Sides {
        let id = &transaction.id;
        let mut back = Vec::new();
        let mut on = Vec::new();
        let mut payers = FxHashSet::default();
        match &transaction.movement {
            Movement::Outputs { inputs, outputs, .. } => {
                payers.extend(inputs.iter().filter_map(|input| input.party.clone()));
                // Pro rata, every output has the same origins: they are followed once for all.
                let alike = matches!(method, Method::Haircut | Method::Poison);
                if alike {
                    let whole: Amount = outputs.iter().map(|output| &output.amount).sum();
                    back.push((Start::Coin(Coin::Output(id.clone(), 0)), whole));
                }
                for (output, number) in outputs.iter().zip(0u32..) {
                    let amount = &output.amount;
                    if !alike {
                        let start = Start::Coin(Coin::Output(id.clone(), number));
                        back.push((start, amount.clone()));
                    }
                    if output.party.as_ref().is_none_or(|party| !payers.contains(party)) {
                        let start = of_output(id, number, output.party.as_ref());
                        on.push((start, amount.clone()));
                    }
                }
            }
            Movement::Transfers(transfers) => {
                payers.extend(transfers.iter().filter_map(|transfer| transfer.from.clone()));
                for (transfer, number) in native(transfers) {
                    let amount = &transfer.amount;
                    let start = of_transfer(id, number, transfer.from.as_ref());
                    back.push((start, amount.clone()));
                    let start = of_transfer(id, number, transfer.to.as_ref());
                    on.push((start, amount.clone()));
                }
            }
        }
        let back = flows(back, &Amount::default());
        let on = flows(on, &Amount::default());
        Sides {
            back: back.seeds,
            on: on.seeds,
            payers,
            total: back.total,
            paid: on.total,
        }
    }
}
