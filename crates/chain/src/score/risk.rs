//! The risk of exposures by category, and of all categories together, in exact fractions that are not in
//! lowest terms.

use std::collections::BTreeMap;

use num_traits::{One, Zero};

use crate::category::Category;
use crate::parts::{self, Share};
use crate::profile::Profile;
use crate::trace::Direction;

/// Effective shares by direction and category.
pub(super) type Effective = BTreeMap<(Direction, Category), Share>;

pub(super) fn times(a: &Share, b: &Share) -> Share {
    Share::new_raw(a.numer() * b.numer(), a.denom() * b.denom())
}

pub(super) fn minus(a: &Share, b: &Share) -> Share {
    let mut left = a.clone();
    parts::add(&mut left, &Share::new_raw(-b.numer(), b.denom().clone()));
    left
}

/// The risk x of one category.
pub(super) fn risk(profile: &Profile, direction: Direction, category: Category, effective: &Share) -> Share {
    let Some(weight) = profile.categories.get(&category) else {
        return Share::zero();
    };
    let mut risk = Share::new(weight.severity.into(), 100.into());
    if *effective < weight.full_share.0 {
        risk = times(&times(effective, &weight.full_share.0.recip()), &risk);
    }
    match direction {
        Direction::Incoming => risk,
        Direction::Outgoing => times(&risk, &weight.outgoing.0),
    }
}

/// The score of all categories together, 0 to 100, without an own label.
pub(super) fn combined(profile: &Profile, effective: &Effective) -> Share {
    let mut safe = Share::one();
    for ((direction, category), share) in effective {
        let risk = risk(profile, *direction, *category, share);
        safe = times(&safe, &minus(&Share::one(), &risk));
    }
    times(&minus(&Share::one(), &safe), &Share::from_integer(100.into()))
}
