//! The rules of a calibration: which people are for choosing and which for reporting, and the threshold. Pure functions.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

/// The people with whom a threshold is chosen, out of all: every second one in the order of the hashes of their names.
/// The hash keeps the order of names, such as that of recording, out of the choice, and gives the same halves always.
pub(super) fn chosen<'a>(people: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let mut shuffled: Vec<&str> = people.iter().copied().collect();
    shuffled.sort_by_key(|name| Sha256::digest(name));
    shuffled.into_iter().step_by(2).collect()
}

/// The highest threshold below which at most this share of live presentations lies; `None` if there is none. `all`
/// counts the presentations without a score, too.
pub(super) fn threshold(scores: &[f32], all: usize, bpcer: f64) -> Option<f32> {
    let mut sorted = scores.to_vec();
    sorted.sort_by(f32::total_cmp);
    // `as` rounds down.
    let allowed = (bpcer * all as f64) as usize;
    sorted.get(allowed).or(sorted.last()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_people_choose_and_the_order_of_names_does_not_matter() {
        let names: Vec<String> = (0..21).map(|number| format!("person {number}")).collect();
        let people: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let chosen = chosen(&people);
        assert_eq!(chosen.len(), 11);
        assert!(chosen.is_subset(&people));
        let first: BTreeSet<&str> = people.iter().copied().take(11).collect();
        assert_ne!(chosen, first);
    }

    #[test]
    fn the_threshold_refuses_at_most_the_share_of_live_people() {
        let scores = [0.9, 0.1, 0.5, 0.7, 0.3];
        for (all, bpcer, expected) in [
            (5, 0.0, Some(0.1)),
            (5, 0.19, Some(0.1)),
            (5, 0.2, Some(0.3)),
            (5, 0.45, Some(0.5)),
            (5, 1.0, Some(0.9)),
            (10, 0.1, Some(0.3)),
        ] {
            let found = threshold(&scores, all, bpcer);
            assert_eq!(found, expected, "{all} {bpcer}");
            let below = scores.iter().filter(|score| Some(**score) < found).count();
            assert!(below as f64 <= bpcer * all as f64, "{all} {bpcer}");
        }
        assert_eq!(threshold(&[0.5, 0.5, 0.5], 3, 0.4), Some(0.5), "ties are live");
        assert_eq!(threshold(&[], 5, 0.1), None);
    }
}
