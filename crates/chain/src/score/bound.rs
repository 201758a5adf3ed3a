//! The highest possible score if the unknown money came from the worst sources.

use num_traits::{Signed, Zero};

use super::risk::{Effective, combined, minus, risk};
use crate::category::Category;
use crate::parts::{self, Share, number};
use crate::profile::Profile;
use crate::trace::Direction;

/// The highest score for any true origin of the unknown money: the share of received money, and of sent
/// money.
///
/// Unknown money counts most at the first hop, where no decay applies. A category with effective share e adds
/// −ln(1 − a·(e+u)/full) to the score's logarithm. This is convex in its amount u up to full − e, and
/// constant beyond.
///
/// A sum of convex functions is greatest at a corner of the feasible region. There some categories are full,
/// at most one is partly full, and the others are empty. Every corner is tried. The two directions have
/// separate money and separate factors.
pub(super) fn upper_bound(profile: &Profile, effective: &Effective, unknown: [&Share; 2]) -> Share {
    let mut worst = effective.clone();
    for (direction, share) in [Direction::Incoming, Direction::Outgoing]
        .into_iter()
        .zip(unknown)
    {
        let vessels: Vec<Vessel> = Category::ALL
            .into_iter()
            .filter_map(|category| Vessel::of(profile, effective, direction, category))
            .collect();
        let mut search = Search {
            vessels: &vessels,
            best: Vec::new(),
            gain: 0.0,
        };
        search.pour(number(share), &mut Vec::new(), 0.0);
        let best = search.best;
        let mut left = share.clone();
        for place in best {
            let vessel: &Vessel = &vessels[place];
            let poured = left.clone().min(vessel.room.clone());
            left = minus(&left, &poured);
            let sum = worst
                .entry((direction, vessel.category))
                .or_insert_with(Share::zero);
            parts::add(sum, &poured);
        }
    }
    combined(profile, &worst)
}

/// A category to which unknown money could belong.
struct Vessel {
    category: Category,
    /// The share that makes the category full, exactly and as a float.
    room: Share,
    fills: f64,
    /// The risk per unit of share, and the risk of the known share.
    slope: f64,
    risk: f64,
}

impl Vessel {
    fn of(
        profile: &Profile,
        effective: &Effective,
        direction: Direction,
        category: Category,
    ) -> Option<Vessel> {
        let full = &profile.categories.get(&category)?.full_share.0;
        let present = effective
            .get(&(direction, category))
            .cloned()
            .unwrap_or_else(Share::zero);
        let highest = number(&risk(profile, direction, category, full));
        let room = minus(full, &present);
        (room.is_positive() && highest > 0.0).then(|| Vessel {
            category,
            slope: highest / number(full),
            risk: number(&risk(profile, direction, category, &present)),
            fills: number(&room),
            room,
        })
    }

    /// The increase of −ln(1−x) by an added share.
    fn gain(&self, poured: f64) -> f64 {
        let risk = (self.risk + poured * self.slope).min(1.0);
        (-self.risk).ln_1p() - (-risk).ln_1p()
    }
}

/// The search for the corner with the greatest gain.
struct Search<'a> {
    vessels: &'a [Vessel],
    /// The categories in the order in which they are filled; the last one receives the rest.
    best: Vec<usize>,
    gain: f64,
}

impl Search<'_> {
    fn pour(&mut self, left: f64, filled: &mut Vec<usize>, gain: f64) {
        self.note(filled, gain);
        let next = filled.last().map_or(0, |last| last + 1);
        for place in 0..self.vessels.len() {
            // An infinite gain cannot be exceeded.
            if self.gain.is_infinite() || filled.contains(&place) {
                continue;
            }
            let vessel = &self.vessels[place];
            filled.push(place);
            if vessel.fills >= left {
                self.note(filled, gain + vessel.gain(left));
            } else if place >= next {
                self.pour(left - vessel.fills, filled, gain + vessel.gain(vessel.fills));
            }
            filled.pop();
        }
    }

    fn note(&mut self, filled: &[usize], gain: f64) {
        if gain > self.gain {
            self.best = filled.to_vec();
            self.gain = gain;
        }
    }
}
