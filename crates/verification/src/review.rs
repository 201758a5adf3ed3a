//! Which of the attempts that wait for a person is the most urgent. It never says what to decide.

use crate::codes::Code;

/// How urgent a review is, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A sanctions hit (2702).
    Sanctions = 1,
    /// A face that nearly is another person's.
    NearDuplicate = 2,
    /// A similarity in the review band (2202).
    Similarity = 3,
    /// Anything else: the Flow has everybody looked at, or somebody reopened it.
    Other = 4,
}

impl Priority {
    /// Of an attempt with these codes.
    pub fn of(codes: &[Code], near_duplicate: bool) -> Self {
        if codes.contains(&Code::SanctionsMatch) {
            Priority::Sanctions
        } else if near_duplicate {
            Priority::NearDuplicate
        } else if codes.contains(&Code::SimilarityBelowThreshold) {
            Priority::Similarity
        } else {
            Priority::Other
        }
    }

    /// 1 to 4, as it is stored.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// Of a stored number.
    pub fn from_number(number: i64) -> Self {
        match number {
            1 => Priority::Sanctions,
            2 => Priority::NearDuplicate,
            3 => Priority::Similarity,
            _ => Priority::Other,
        }
    }

    /// `sanctions`, `near_duplicate`, `similarity` or `other`.
    pub fn as_str(self) -> &'static str {
        match self {
            Priority::Sanctions => "sanctions",
            Priority::NearDuplicate => "near_duplicate",
            Priority::Similarity => "similarity",
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
        let rows: &[(&[Code], bool, Priority)] = &[
            (&[], false, Priority::Other),
            (&[DocumentExpired], false, Priority::Other),
            (&[SimilarityBelowThreshold], false, Priority::Similarity),
            (&[], true, Priority::NearDuplicate),
            (&[SimilarityBelowThreshold], true, Priority::NearDuplicate),
            (&[SanctionsMatch], false, Priority::Sanctions),
            (
                &[SimilarityBelowThreshold, SanctionsMatch],
                true,
                Priority::Sanctions,
            ),
        ];
        for (codes, near_duplicate, expected) in rows {
            let found = Priority::of(codes, *near_duplicate);
            assert_eq!(found, *expected, "{codes:?} {near_duplicate}");
            assert_eq!(Priority::from_number(found.number()), found);
        }
    }
}
