//! The sources of one payment out of a balance: the pool of lots behind an account, replayed in the order of
//! time.
//!
//! This is pure arithmetic with exact parts ([`crate::parts`]), without chains and labels.

use std::collections::VecDeque;

use num_bigint::{BigInt, BigUint};
use num_traits::{One, Zero};

use crate::amount::Amount;
pub use crate::parts::Share;
use crate::parts::{self, Part, Scale};

/// How the sources of mixed money are determined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Every payment carries every lot in proportion.
    #[default]
    Haircut,
    /// The oldest money leaves first.
    Fifo,
    /// The newest money leaves first.
    Lifo,
    /// Any tainted coin taints everything: every source counts in full, so the shares do not sum to 1.
    Poison,
}

impl std::str::FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(text: &str) -> Result<Method, UnknownMethod> {
        match text {
            "haircut" => Ok(Method::Haircut),
            "fifo" => Ok(Method::Fifo),
            "lifo" => Ok(Method::Lifo),
            "poison" => Ok(Method::Poison),
            _ => Err(UnknownMethod),
        }
    }
}

/// A text that names no method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the method is one of haircut, fifo, lifo, poison")]
pub struct UnknownMethod;

/// A change of a balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A lot was received.
    In(usize, Amount),
    /// Money was sent.
    Out(Amount),
}

/// The lots of which a payment consisted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composition {
    /// The denominator of the lots' parts.
    pub whole: BigUint,
    /// Lots with their parts, from the oldest to the newest.
    pub lots: Vec<(usize, BigUint)>,
    /// The part that the events do not explain. Any part in neither `missing` nor a lot was lost by rounding
    /// ([`crate::parts`]).
    pub missing: BigUint,
}

impl Composition {
    /// The lots with their shares.
    pub fn shares(&self) -> Vec<(usize, Share)> {
        let share = |(lot, part): &(usize, BigUint)| (*lot, parts::share(part, &self.whole));
        self.lots.iter().map(share).collect()
    }
}

/// The composition of a payment of `amount` after `events`. Money that the events do not explain (the balance
/// would be negative) is missing.
pub fn compose(events: &[Event], amount: &Amount, method: Method) -> Composition {
    match method {
        Method::Haircut => haircut(events, amount),
        Method::Fifo | Method::Lifo => in_order(events, amount, method == Method::Lifo),
        Method::Poison => {
            let lots: Vec<_> = held(events)
                .into_iter()
                .map(|lot| (lot, BigUint::one()))
                .collect();
            let missing = if lots.is_empty() {
                BigUint::one()
            } else {
                BigUint::zero()
            };
            Composition {
                whole: BigUint::one(),
                lots,
                missing,
            }
        }
    }
}

/// The lots that were received since the balance was last zero.
fn held(events: &[Event]) -> Vec<usize> {
    let mut balance = Amount::default();
    let mut lots = Vec::new();
    for event in events {
        match event {
            Event::In(lot, amount) => {
                balance += amount;
                if !amount.is_zero() {
                    lots.push(*lot);
                }
            }
            Event::Out(amount) => {
                balance = balance.saturating_sub(amount);
                if balance.is_zero() {
                    lots.clear();
                }
            }
        }
    }
    lots
}

fn haircut(events: &[Event], amount: &Amount) -> Composition {
    // Incoming lots with the balance before each. Outgoing money does not change the lots' proportions.
    let mut incoming: Vec<(Option<usize>, &Amount, Amount)> = Vec::new();
    let mut balance = Amount::default();
    for event in events {
        match event {
            Event::In(_, value) if value.is_zero() => {}
            Event::In(lot, value) => {
                incoming.push((Some(*lot), value, balance.clone()));
                balance += value;
            }
            // The payment exceeds the balance: the unexplained money left with it, so nothing remains.
            Event::Out(value) => balance = balance.saturating_sub(value),
        }
    }
    let short = amount.saturating_sub(&balance);
    if !short.is_zero() {
        incoming.push((None, &short, balance));
    }
    let mut scale = Scale::default();
    let mut left = scale.one();
    let mut missing = scale.nothing();
    let mut parts: Vec<(usize, Part)> = Vec::new();
    for (lot, value, before) in incoming.into_iter().rev() {
        let after = before.clone() + value;
        let mut pieces = scale.split(&left, &[&value.units(), &before.units()], &after.units());
        let (Some(rest), Some(part)) = (pieces.pop(), pieces.pop()) else {
            break;
        };
        left = rest;
        match lot {
            Some(lot) if !part.is_zero() => parts.push((lot, part)),
            Some(_) => {}
            None => missing = part,
        }
    }
    scale.add(&mut missing, &left);
    parts.reverse();
    Composition {
        missing: scale.numerator(&missing),
        lots: parts
            .iter()
            .map(|(lot, part)| (*lot, scale.numerator(part)))
            .collect(),
        whole: scale.whole().clone(),
    }
}

fn in_order(events: &[Event], amount: &Amount, newest_first: bool) -> Composition {
    let mut pool: VecDeque<(usize, Amount)> = VecDeque::new();
    for event in events {
        match event {
            Event::In(lot, value) => pool.push_back((*lot, value.clone())),
            Event::Out(value) => drop(take(&mut pool, value, newest_first)),
        }
    }
    let mut lots = take(&mut pool, amount, newest_first);
    lots.sort_by_key(|(lot, _)| *lot);
    let given: Amount = lots.iter().map(|(_, part)| part).sum();
    Composition {
        whole: amount.units(),
        missing: amount.saturating_sub(&given).units(),
        lots: lots
            .into_iter()
            .filter(|(_, part)| !part.is_zero())
            .map(|(lot, part)| (lot, part.units()))
            .collect(),
    }
}

/// Takes an amount, or the whole queue if it is smaller, out of a queue of lots.
pub(crate) fn take<T: Clone>(
    pool: &mut VecDeque<(T, Amount)>,
    amount: &Amount,
    newest_first: bool,
) -> Vec<(T, Amount)> {
    let mut wanted = amount.clone();
    let mut taken = Vec::new();
    while !wanted.is_zero() {
        let lot = if newest_first {
            pool.pop_back()
        } else {
            pool.pop_front()
        };
        let Some((lot, held)) = lot else { break };
        if held > wanted {
            let rest = (lot.clone(), held.saturating_sub(&wanted));
            if newest_first {
                pool.push_back(rest);
            } else {
                pool.push_front(rest);
            }
            taken.push((lot, wanted));
            break;
        }
        wanted = wanted.saturating_sub(&held);
        taken.push((lot, held));
    }
    taken
}

/// The tainted amount of each of several spends out of a pool. The lots are in the order of arrival and each
/// is tainted or clean.
pub fn tainted(lots: &[(Amount, bool)], spends: &[Amount], method: Method) -> Vec<Share> {
    let mut events: Vec<Event> = lots
        .iter()
        .enumerate()
        .map(|(lot, (amount, _))| Event::In(lot, amount.clone()))
        .collect();
    let mut parts = Vec::with_capacity(spends.len());
    for spend in spends {
        let part: Share = compose(&events, spend, method)
            .shares()
            .into_iter()
            .filter(|(lot, _)| lots.get(*lot).is_some_and(|(_, bad)| *bad))
            .map(|(_, share)| share)
            .sum();
        let value = Share::from_integer(BigInt::from(spend.units()));
        parts.push(part.min(Share::one()) * value);
        events.push(Event::Out(spend.clone()));
    }
    parts
}

/// The same by taint-in-highest-out: the largest spends take the tainted money first.
pub fn tainted_highest_out(lots: &[(Amount, bool)], spends: &[Amount]) -> Vec<Share> {
    let mut bad: Amount = lots
        .iter()
        .filter(|(_, bad)| *bad)
        .map(|(amount, _)| amount)
        .sum();
    let mut order: Vec<usize> = (0..spends.len()).collect();
    order.sort_by(|a, b| spends[*b].cmp(&spends[*a]).then(a.cmp(b)));
    let mut parts = vec![Share::zero(); spends.len()];
    for index in order {
        let part = bad.clone().min(spends[index].clone());
        bad = bad.saturating_sub(&part);
        parts[index] = Share::from_integer(BigInt::from(part.units()));
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn share(numerator: i64, denominator: i64) -> Share {
        Share::new(numerator.into(), denominator.into())
    }

    #[test]
    fn three_bad_of_ten_spent_as_four_and_six() {
        let lots = [(Amount::from(3), true), (Amount::from(7), false)];
        let spends = [Amount::from(4), Amount::from(6)];
        for (method, first, second) in [
            (Method::Haircut, share(6, 5), share(9, 5)),
            (Method::Fifo, share(3, 1), share(0, 1)),
            (Method::Lifo, share(0, 1), share(3, 1)),
            (Method::Poison, share(4, 1), share(6, 1)),
        ] {
            assert_eq!(tainted(&lots, &spends, method), [first, second], "{method:?}");
        }
        assert_eq!(tainted_highest_out(&lots, &spends), [share(0, 1), share(3, 1)]);
    }

    #[test]
    fn a_balance_spent_to_nothing_forgets_its_lots() {
        let events = [
            Event::In(0, Amount::from(5)),
            Event::Out(Amount::from(5)),
            Event::In(1, Amount::from(2)),
        ];
        for method in [Method::Haircut, Method::Fifo, Method::Lifo, Method::Poison] {
            let made = compose(&events, &Amount::from(2), method);
            assert_eq!(made.shares(), [(1, Share::one())], "{method:?}");
            assert!(made.missing.is_zero());
        }
    }

    #[test]
    fn what_the_events_do_not_explain_is_unknown() {
        let made = compose(
            &[Event::In(0, Amount::from(1))],
            &Amount::from(4),
            Method::Haircut,
        );
        assert_eq!(made.shares(), [(0, share(1, 4))]);
        assert_eq!(parts::share(&made.missing, &made.whole), share(3, 4));
        let made = compose(&[], &Amount::from(4), Method::Fifo);
        assert_eq!(made.missing, made.whole);
    }

    #[test]
    fn long_histories_stay_reckonable() {
        let events: Vec<Event> = (0..3000)
            .flat_map(|lot| {
                [
                    Event::In(lot, Amount::from(1_000_000_007 + lot as u64)),
                    Event::Out(Amount::from(999_999_937)),
                ]
            })
            .collect();
        let made = compose(&events, &Amount::from(1000), Method::Haircut);
        assert!(made.whole.bits() <= parts::MOST_BITS && made.missing.is_zero());
        let given: BigUint = made.lots.iter().map(|(_, part)| part).sum();
        let lost = parts::to_f64(&(&made.whole - given), &made.whole);
        assert!((0.0..1e-150).contains(&lost), "{lost}");
    }

    proptest! {
        #[test]
        fn shares_sum_to_one(changes in prop::collection::vec((any::<bool>(), 0u64..1000), 0..40), amount in 1u64..500) {
            let events: Vec<Event> = changes
                .iter()
                .enumerate()
                .map(|(lot, (income, value))| {
                    if *income { Event::In(lot, Amount::from(*value)) } else { Event::Out(Amount::from(*value)) }
                })
                .collect();
            for method in [Method::Haircut, Method::Fifo, Method::Lifo] {
                let made = compose(&events, &Amount::from(amount), method);
                let sum = made.lots.iter().map(|(_, part)| part).sum::<BigUint>() + &made.missing;
                prop_assert_eq!(sum, made.whole);
            }
        }
    }
}
