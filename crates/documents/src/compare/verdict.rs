//! The result type for the comparison of two values of any field.

/// From this score on, a difference may be a misreading of the visual zone.
pub(super) const NEAR_MATCH_SCORE: f64 = 75.0;

/// How well two values agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Agreement {
    pub(super) matches: Option<bool>,
    pub(super) score: f64,
    pub(super) note: Option<&'static str>,
}

impl Agreement {
    pub(super) fn same(score: f64, note: Option<&'static str>) -> Self {
        Self {
            matches: Some(true),
            score,
            note,
        }
    }

    pub(super) fn different(score: f64) -> Self {
        Self {
            matches: Some(false),
            score,
            note: None,
        }
    }

    pub(super) fn unclear(note: &'static str) -> Self {
        Self {
            matches: None,
            score: 0.0,
            note: Some(note),
        }
    }
}
