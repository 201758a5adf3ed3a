//! Which hits of a screening count for a person: all except those that a reviewer found to mean another
//! person.
//!
//! A cleared listing covers no hit that is stronger than the reviewed one, no entry that another list contains too,
//! and no entry that has become one of sanctions since.

use crate::screening::{Screening, ScreeningHit};

/// A listing that, by a reviewer's disposition, means another person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClearedListing {
    /// The list's name.
    pub list: String,
    /// The entry's id in the list.
    pub entity_id: String,
    /// The reviewed hit's score in ten-thousandths; see [`score`].
    pub score: i64,
    /// Whether a second person confirmed the disposition.
    pub is_confirmed: bool,
    /// Whether the reviewed hit flagged the person.
    pub matched: bool,
}

/// Whether a person's dispositions apply to an attempt. They do not if the person has a proven face and the
/// attempt does not, because anyone can submit the same label.
#[must_use]
pub fn dispositions_apply(face_proven: bool, person_is_proven: bool) -> bool {
    face_proven || !person_is_proven
}

/// The cleared listings that count. Where two people are required, a second person must have confirmed them.
#[must_use]
pub fn effective_listings(cleared: Vec<ClearedListing>, needs_two: bool) -> Vec<ClearedListing> {
    cleared
        .into_iter()
        .filter(|listing| !needs_two || listing.is_confirmed)
        .collect()
}

/// A hit's score in ten-thousandths, the precision to which screening rounds.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "a score is between 0 and 1; the cast saturates, and a larger score is covered by fewer listings"
)]
pub fn score(hit: &ScreeningHit) -> i64 {
    (hit.score * 10_000.0).round() as i64
}

/// A hit's listings: each list that contains the entry, and the entry's id.
pub fn listings(hit: &ScreeningHit) -> impl Iterator<Item = (&str, &str)> {
    hit.datasets.iter().map(|list| (list.as_str(), hit.id.as_str()))
}

/// Whether every listing of a hit is cleared by a reviewed hit with at least the same score, which flagged the person
/// if this one does.
#[must_use]
pub fn is_covered(cleared: &[ClearedListing], hit: &ScreeningHit) -> bool {
    let score = score(hit);
    let is_cleared = |(list, entity_id): (&str, &str)| {
        cleared.iter().any(|known| {
            known.list == list
                && known.entity_id == entity_id
                && score <= known.score
                && (known.matched || !hit.matched)
        })
    };
    !hit.id.is_empty() && !hit.datasets.is_empty() && hit.score.is_finite() && listings(hit).all(is_cleared)
}

/// The screening without the suppressed hits, and those hits.
///
/// If every listed hit is covered but more hits exist than were listed, none is suppressed, because a match
/// must always name a hit.
#[must_use]
pub fn suppress_hits(cleared: &[ClearedListing], screening: &Screening) -> (Screening, Vec<ScreeningHit>) {
    let (suppressed, counted): (Vec<ScreeningHit>, Vec<ScreeningHit>) = screening
        .results
        .iter()
        .cloned()
        .partition(|hit| is_covered(cleared, hit));
    let unlisted = screening.unlisted();
    if counted.is_empty() && unlisted > 0 {
        return (screening.clone(), Vec::new());
    }
    let counting = Screening {
        total: counted.len() + unlisted,
        matched: (screening.matched && unlisted > 0) || counted.iter().any(|hit| hit.matched),
        results: counted,
        ..screening.clone()
    };
    (counting, suppressed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screening::tests::hit;

    fn cleared(list: &str, entity_id: &str, score: i64) -> ClearedListing {
        ClearedListing {
            list: list.into(),
            entity_id: entity_id.into(),
            score,
            is_confirmed: true,
            matched: true,
        }
    }

    #[test]
    fn where_two_are_required_one_persons_finding_does_not_count() {
        let alone = ClearedListing {
            is_confirmed: false,
            ..cleared("ofac", "a", 9000)
        };
        let both = cleared("eu", "a", 9000);
        let known = vec![alone.clone(), both.clone()];
        assert_eq!(
            effective_listings(known.clone(), true),
            std::slice::from_ref(&both)
        );
        assert_eq!(effective_listings(known, false), [alone, both]);
    }

    #[test]
    fn a_label_alone_opens_nothing_that_was_found_about_a_proven_person() {
        for (face_proven, person_is_proven, expected) in [
            (true, true, true),
            (true, false, true),
            (false, false, true),
            (false, true, false),
        ] {
            assert_eq!(dispositions_apply(face_proven, person_is_proven), expected);
        }
    }

    #[test]
    fn a_hit_is_covered_by_list_entry_and_strength() {
        let known = [
            cleared("ofac", "a", 8124),
            cleared("eu", "a", 8124),
            cleared("un", "b", 10_000),
            cleared("ofac", "", 10_000),
        ];
        for (hit, expected) in [
            (hit("a", &["ofac"], 0.81), true),
            (hit("a", &["ofac"], 0.8124), true),
            (hit("a", &["ofac"], 0.8125), false),
            (hit("a", &["un"], 0.5), false),
            (hit("b", &["ofac"], 0.5), false),
            (hit("a", &["ofac", "un"], 0.5), false),
            (hit("a", &["ofac", "eu"], 0.5), true),
            (hit("a", &[], 0.5), false),
            (hit("", &["ofac"], 0.5), false),
            (hit("a", &["ofac"], f64::NAN), false),
        ] {
            assert_eq!(is_covered(&known, &hit), expected, "{hit:?}");
        }
        // A politically exposed person who was set aside is sanctioned now.
        let exposed = [ClearedListing {
            matched: false,
            ..cleared("os", "p", 9000)
        }];
        for matched in [false, true] {
            let hit = ScreeningHit {
                matched,
                ..hit("p", &["os"], 0.8)
            };
            assert_eq!(is_covered(&exposed, &hit), !matched);
        }
    }

    #[test]
    fn what_is_left_counts() {
        let screening = |results: Vec<ScreeningHit>, total| Screening {
            matched: true,
            results,
            total,
            ..Screening::default()
        };
        let known = [cleared("ofac", "a", 9000)];
        let (a, b) = (hit("a", &["ofac"], 0.9), hit("b", &["ofac"], 0.9));
        let possible = ScreeningHit {
            matched: false,
            ..b.clone()
        };
        // cleared listings, screening → match, total, hits that count, suppressed hits
        for (what, known, screened, expected) in [
            (
                "the only hit",
                &known[..],
                screening(vec![a.clone()], 1),
                (false, 0, 0, 1),
            ),
            (
                "one of two",
                &known,
                screening(vec![a.clone(), b.clone()], 2),
                (true, 1, 1, 1),
            ),
            (
                "one of two, the other no match",
                &known,
                screening(vec![a.clone(), possible], 2),
                (false, 1, 1, 1),
            ),
            (
                "one of two, and more",
                &known,
                screening(vec![a.clone(), b], 30),
                (true, 29, 1, 1),
            ),
            (
                "all that are listed, and more",
                &known,
                screening(vec![a.clone()], 30),
                (true, 30, 1, 0),
            ),
            ("none", &[], screening(vec![a.clone()], 1), (true, 1, 1, 0)),
        ] {
            let (left, out) = suppress_hits(known, &screened);
            assert_eq!(
                (left.is_match(), left.total, left.results.len(), out.len()),
                expected,
                "{what}"
            );
        }
        let unflagged = Screening {
            matched: false,
            ..screening(vec![a], 1)
        };
        assert!(
            suppress_hits(&[], &unflagged).0.is_match(),
            "a hit that matches flags by itself"
        );
    }
}
