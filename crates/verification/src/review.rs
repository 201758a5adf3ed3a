//! The priority of attempts in the review queue. It never suggests a decision.

use crate::codes::Code;

/// The priority of a review, most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A sanctions hit (2702).
    Sanctions = 1,
    /// A face that closely resembles another person's.
    NearDuplicate = 2,
    /// A similarity in the review band (2202).
    Similarity = 3,
    /// The attempt is held without a code, for example for a name mismatch ([`crate::hold::Hold`]).
    Held = 4,
    /// Any other attempt: the Flow sends every attempt to review, or a reviewer reopened it.
    Other = 5,
}

impl Priority {
    /// The priority of an attempt with these codes.
    pub fn of(codes: &[Code], near_duplicate: bool, is_held: bool) -> Self {
        if codes.contains(&Code::SanctionsMatch) {
            Priority::Sanctions
        } else if near_duplicate {
            Priority::NearDuplicate
        } else if codes.contains(&Code::SimilarityBelowThreshold) {
            Priority::Similarity
        } else if is_held {
            Priority::Held
        } else {
            Priority::Other
        }
    }

    /// The stored number, 1 to 5.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// The priority with this stored number.
    pub fn from_number(number: i64) -> Self {
        match number {
            1 => Priority::Sanctions,
            2 => Priority::NearDuplicate,
            3 => Priority::Similarity,
            4 => Priority::Held,
            _ => Priority::Other,
        }
    }

    /// `sanctions`, `near_duplicate`, `similarity`, `held` or `other`.
    pub fn as_str(self) -> &'static str {
        match self {
            Priority::Sanctions => "sanctions",
            Priority::NearDuplicate => "near_duplicate",
            Priority::Similarity => "similarity",
            Priority::Held => "held",
            Priority::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_reason_counts() {
        use Code::{DocumentExpired, SanctionsMatch, SimilarityBelowThreshold};
        let rows: &[(&[Code], bool, bool, Priority)] = &[
            (&[], false, false, Priority::Other),
            (&[DocumentExpired], false, false, Priority::Other),
            (&[], false, true, Priority::Held),
            (&[SimilarityBelowThreshold], false, false, Priority::Similarity),
            (&[SimilarityBelowThreshold], false, true, Priority::Similarity),
            (&[], true, true, Priority::NearDuplicate),
            (&[SimilarityBelowThreshold], true, false, Priority::NearDuplicate),
            (&[SanctionsMatch], false, true, Priority::Sanctions),
            (
                &[SimilarityBelowThreshold, SanctionsMatch],
                true,
                false,
                Priority::Sanctions,
            ),
        ];
        for (codes, near_duplicate, is_held, expected) in rows {
            let found = Priority::of(codes, *near_duplicate, *is_held);
            assert_eq!(found, *expected, "{codes:?} {near_duplicate} {is_held}");
            assert_eq!(Priority::from_number(found.number()), found);
        }
    }
}
