//! Screens an address or a transaction with a source, labels and a profile. The result is the score with its
//! full explanation, in the members that the contract names (§2.7, §4.9).
//!
//! This module turns a history into seeds of a trace, and findings into an answer. [`crate::score`]
//! calculates the score and [`crate::trace`] traces the money.

mod budgeted_source;
mod detail;
mod exposures;
mod iso;
mod label_screen;
mod outcome;
mod request;
mod seeds;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;

use num_bigint::BigUint;
use rustc_hash::{FxHashMap, FxHashSet};

use self::budgeted_source::BudgetedSource;
pub use self::detail::{AddressDetail, Detail, Entity, PartyAmount, TransactionDetail};
pub use self::exposures::{
    CategoryPoints, Coverage, DirectionCoverage, Exposures, NamedExposure, RankExposure,
};
pub use self::label_screen::screen_labels;
use self::label_screen::{own_labels, strongest};
pub use self::outcome::Screen;
pub use self::request::{Request, Subject};
use self::seeds::{TransactionSeeds, received, sent};
use crate::category::Category;
use crate::cluster::{self, Cluster};
use crate::currency::Ledger;
use crate::labels::{Label, Labels};
use crate::parts;
use crate::profile::Profile;
use crate::score::{Finding, UnknownShares, score, spread};
use crate::source::{Party, Position, Source, SourceError, Tip, Transaction, Window};
use crate::trace::{Attribution, Direction, Options, Trace, trace};

/// Screens an address.
///
/// # Errors
/// When the source fails and no label gives an answer instead.
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
    let source = &BudgetedSource::new(source, request.options.max_entries);
    let tip = source.tip()?;
    let (options, block) = pinned(source, request, &tip)?;
    let newest = newest(request, &tip);
    let window = Window {
        up_to: options.up_to,
        limit: options.max_history,
    };
    let mut history = source.history(address, window)?;
    if history.transactions.is_empty() && history.totals.is_none() && !source.is_whole() {
        // The source may not have reached this address, which does not mean that the address is new.
        return Err(SourceError::NotFound);
    }
    if !history.complete && history.totals.is_none() {
        // The size of the missing part is unknown, so no score is possible.
        return Err(SourceError::Unsupported("the history is too long to be weighed"));
    }
    if request.chain.ledger() == Ledger::Utxo {
        // Not every source states positions within a block, and all sources must give the same answer.
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
    // Labels of the holder's other addresses apply to this one too, but without an authority, which named
    // only the other address.
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

/// Screens a transaction: the sources of its money and its recipients.
///
/// # Errors
/// [`SourceError::NotFound`] when the source does not have the transaction. Otherwise when the source fails.
pub fn screen_transaction(
    source: &dyn Source,
    labels: &dyn Labels,
    profile: &Profile,
    request: &Request<'_>,
) -> Result<Screen, SourceError> {
    let Subject::Transaction(id) = request.subject else {
        return Err(SourceError::NotFound);
    };
    let source = &BudgetedSource::new(source, request.options.max_entries);
    let tip = source.tip()?;
    let (options, block) = pinned(source, request, &tip)?;
    let newest = newest(request, &tip);
    let transaction = source.transaction(id)?;
    let is_past = request.as_of_block.is_some() || request.as_of_time;
    if is_past && transaction.position.is_none_or(|at| Some(at) > options.up_to) {
        return Err(SourceError::NotFound);
    }
    let attribute = attributing(labels, request);
    let flow = TransactionSeeds::of(&transaction, options.method);
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

/// A screening sees one state of the chain: up to the requested block, or up to the newest one at its start.
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

/// The time of the newest block, for screenings of the present. Only these can have a block that is too old.
fn newest(request: &Request<'_>, tip: &Tip) -> Option<i64> {
    let is_past = request.as_of_block.is_some() || request.as_of_time;
    tip.time.filter(|_| !is_past)
}

/// The attribution of a party for a trace: its gravest label. Each party is looked up once.
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

/// The exposures of traces, summed by direction, category and hop.
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

fn unknown(traces: &[Trace]) -> UnknownShares {
    let mut unknown = UnknownShares::default();
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
