//! How high a score could be if the money without a name came from the worst places.

use num_traits::{Signed, Zero};

use super::risk::{Effective, combined, minus, risk};
use crate::category::Category;
use crate::parts::{self, Share, number};
use crate::profile::Profile;
use crate::trace::Direction;

/// The highest score that any truth about the unknown money could make: of that received, and of that sent.
///
/// The money counts most next door, where nothing has decayed. Of a category with the effective share e it adds
/// −ln(1 − a·(e+u)/full) to the score's logarithm, a convex function of its amount u up to full − e and constant beyond. The
/// sum of convex functions is greatest at a corner of what may be: some categories filled up, at most one filled in part,
/// the others empty. Every corner is tried. The directions' money is apart, and so are their factors.
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

/// A category that unknown money could be of.
struct Vessel {
    category: Category,
    /// The share that fills it up, exactly and about.
    room: Share,
    fills: f64,
    /// The risk for each unit of share, and the risk that is there.
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

    /// What pouring adds to −ln(1−x).
    fn gain(&self, poured: f64) -> f64 {
        let risk = (self.risk + poured * self.slope).min(1.0);
        (-self.risk).ln_1p() - (-risk).ln_1p()
    }
}

/// The search for the corner with the greatest gain.
struct Search<'a> {
    vessels: &'a [Vessel],
    /// Filled up in this order; the last takes what is left.
    best: Vec<usize>,
    gain: f64,
}

impl Search<'_> {
    fn pour(&mut self, left: f64, filled: &mut Vec<usize>, gain: f64) {
        self.note(filled, gain);
        let next = filled.last().map_or(0, |last| last + 1);
        for place in 0..self.vessels.len() {
            // Nothing is worse than certain.
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
