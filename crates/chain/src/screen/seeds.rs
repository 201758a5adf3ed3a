//! The starting points of traces: what an address received and sent, and both sides of a transaction.
//!
//! This module traces nothing; [`crate::trace`] does.

use num_bigint::BigUint;
use rustc_hash::FxHashSet;

use crate::amount::Amount;
use crate::coinjoin;
use crate::parts::{self, Part, Scale};
use crate::pool::Method;
use crate::source::{History, Source, SourceError};
use crate::trace::{Coin, Cut, Seeds, Start, Step, all_known};
use crate::transaction::{Movement, Party, Transaction, Transfer, TxId};

/// The money to trace, and its amount.
pub(super) struct Flows {
    pub(super) seeds: Seeds,
    pub(super) total: Amount,
}

/// A transfer from or to a party. Without a party the money is new or burnt, and the path ends.
fn of_transfer(transaction: &TxId, number: u32, party: Option<&Party>) -> Start {
    Start::Step(Step {
        transaction: transaction.clone(),
        party: party.cloned(),
        next: party.map(|_| Coin::Payment(transaction.clone(), number)),
    })
}

/// An output for a party.
fn of_output(transaction: &TxId, number: u32, party: Option<&Party>) -> Start {
    Start::Step(Step {
        transaction: transaction.clone(),
        party: party.cloned(),
        next: Some(Coin::Output(transaction.clone(), number)),
    })
}

/// Turns amounts into masses, together with the amount that a history does not show.
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

/// The money that an address received, without its own change.
pub(super) fn received(history: &History, address: &str) -> Flows {
    let mut sums = Vec::new();
    let mut seen = Amount::default();
    let is_it = |party: &Option<Party>| party.as_deref() == Some(address);
    for transaction in &history.transactions {
        let id = &transaction.id;
        match &transaction.movement {
            Movement::Outputs { inputs, outputs, .. } => {
                let spends = inputs.iter().any(|input| is_it(&input.party));
                let change = spends && coinjoin::one_spender(transaction);
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

/// The money that an address paid to others. If several parties paid for an output, the address's part
/// counts. If the inputs of a payment are not all known, that part is unknown.
pub(super) fn sent(
    source: &dyn Source,
    history: &History,
    address: &str,
    members: &FxHashSet<Party>,
) -> Result<Flows, SourceError> {
    // Outputs with the part that the address paid for, over one denominator. It may use only half the bits of
    // a trace's.
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
                let paid_for = scale.to_part(&own.part_of(&whole));
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
    // A part that was rounded down lacks less than one unit of its denominator.
    masses.push((Start::Unseen(Cut::Precision), lost.units()));
    Ok(Flows {
        seeds: Seeds::of(masses),
        total: Amount::from(total) + &more,
    })
}

/// The transfers of the chain's own money, with their numbers.
fn native(transfers: &[Transfer]) -> impl Iterator<Item = (&Transfer, u32)> {
    transfers
        .iter()
        .zip(0u32..)
        .filter(|(transfer, _)| transfer.asset.is_none())
}

/// The amount in the index's counters that an incomplete history does not show.
fn unseen(history: &History, more: impl Fn(&crate::source::Totals) -> Amount) -> Amount {
    match &history.totals {
        Some(totals) if !history.complete => more(totals),
        _ => Amount::default(),
    }
}

/// The two sides of one transaction.
pub(super) struct TransactionSeeds {
    pub(super) back: Seeds,
    pub(super) on: Seeds,
    pub(super) payers: FxHashSet<Party>,
    pub(super) total: Amount,
    pub(super) paid: Amount,
}

impl TransactionSeeds {
    pub(super) fn of(transaction: &Transaction, method: Method) -> TransactionSeeds {
        let id = &transaction.id;
        let mut back = Vec::new();
        let mut on = Vec::new();
        let mut payers = FxHashSet::default();
        match &transaction.movement {
            Movement::Outputs { inputs, outputs, .. } => {
                payers.extend(inputs.iter().filter_map(|input| input.party.clone()));
                // Pro rata, every output has the same sources, so one trace serves all outputs.
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
        TransactionSeeds {
            back: back.seeds,
            on: on.seeds,
            payers,
            total: back.total,
            paid: on.total,
        }
    }
}
