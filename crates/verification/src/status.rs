//! Statuses of attempts and registrations: the contract's three rules (interface §3) and manual decisions (decisions §6).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The outcome of one attempt; a registration has the same, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttemptStatus {
    /// Passed, or approved by a reviewer.
    Approved,
    /// Declined by a reviewer.
    Declined,
    /// Rejected by the pipeline.
    Failed,
    /// Awaiting review.
    Pending,
}

impl AttemptStatus {
    /// `approved`, `declined`, `failed` or `pending`.
    pub fn as_str(self) -> &'static str {
        match self {
            AttemptStatus::Approved => "approved",
            AttemptStatus::Declined => "declined",
            AttemptStatus::Failed => "failed",
            AttemptStatus::Pending => "pending",
        }
    }

    /// `idvResult.sdkStatus`: what a hosted page is told.
    pub fn sdk_status(self) -> &'static str {
        match self {
            AttemptStatus::Approved => "approved",
            AttemptStatus::Pending => "pending",
            AttemptStatus::Declined | AttemptStatus::Failed => "declined",
        }
    }

    /// Approved or declined: what rule 1 calls a real decision.
    fn is_decision(self) -> bool {
        matches!(self, AttemptStatus::Approved | AttemptStatus::Declined)
    }
}

impl fmt::Display for AttemptStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AttemptStatus {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let all = [
            AttemptStatus::Approved,
            AttemptStatus::Declined,
            AttemptStatus::Failed,
            AttemptStatus::Pending,
        ];
        all.into_iter().find(|status| status.as_str() == text).ok_or(())
    }
}

/// An attempt as the registration's status sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusEvent {
    /// The attempt's status now.
    pub status: AttemptStatus,
    /// When it got it: the reviewer's decision, else the attempt itself (any clock, one for all).
    pub at: i64,
}

/// A registration's status from its attempts, in any order; none when it has no attempt.
pub fn registration_status(attempts: &[StatusEvent]) -> Option<AttemptStatus> {
    let latest_decision = attempts
        .iter()
        .filter(|a| a.status.is_decision())
        .max_by_key(|a| a.at);
    if let Some(decision) = latest_decision {
        return Some(decision.status);
    }
    let any_pending = attempts.iter().any(|a| a.status == AttemptStatus::Pending);
    match (attempts.is_empty(), any_pending) {
        (true, _) => None,
        (_, true) => Some(AttemptStatus::Pending),
        (_, false) => Some(AttemptStatus::Failed),
    }
}

/// What a reviewer can decide about an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It passes.
    Approve,
    /// It does not; a reason is required.
    Decline,
    /// It shall be looked at again.
    Reopen,
}

/// Why a decision cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecisionError {
    /// The attempt already has the status.
    #[error("the attempt already is {0}")]
    NoChange(AttemptStatus),
    /// A decline without a reason.
    #[error("a reason is required to decline")]
    ReasonRequired,
}

impl Decision {
    /// The attempt's status after the decision.
    ///
    /// # Errors
    /// When it would change nothing, or lacks its reason.
    pub fn apply(self, current: AttemptStatus, reason: Option<&str>) -> Result<AttemptStatus, DecisionError> {
        let next = match self {
            Decision::Approve => AttemptStatus::Approved,
            Decision::Decline if reason.is_none_or(|text| text.trim().is_empty()) => {
                return Err(DecisionError::ReasonRequired);
            }
            Decision::Decline => AttemptStatus::Declined,
            Decision::Reopen => AttemptStatus::Pending,
        };
        if next == current {
            Err(DecisionError::NoChange(current))
        } else {
            Ok(next)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AttemptStatus::{Approved, Declined, Failed, Pending};
    use super::*;

    #[test]
    fn the_three_rules() {
        // Attempts oldest first.
        let rows: &[(&[AttemptStatus], Option<AttemptStatus>)] = &[
            (&[], None),
            (&[Failed], Some(Failed)),
            (&[Failed, Failed], Some(Failed)),
            (&[Failed, Pending], Some(Pending)),
            (&[Pending, Failed], Some(Pending)),
            (&[Approved, Failed], Some(Approved)),
            (&[Approved, Pending], Some(Approved)),
            (&[Failed, Approved], Some(Approved)),
            (&[Declined, Approved], Some(Approved)),
            (&[Approved, Declined, Failed], Some(Declined)),
            (&[Declined, Pending], Some(Declined)),
        ];
        for (statuses, expected) in rows {
            let events: Vec<_> = (0..)
                .zip(*statuses)
                .map(|(at, status)| StatusEvent { status: *status, at })
                .collect();
            assert_eq!(registration_status(&events), *expected, "{statuses:?}");
            let reversed: Vec<_> = events.into_iter().rev().collect();
            assert_eq!(
                registration_status(&reversed),
                *expected,
                "order does not matter: {statuses:?}"
            );
        }
        // An old attempt that was decided last.
        let events = [
            StatusEvent {
                status: Declined,
                at: 9,
            },
            StatusEvent {
                status: Approved,
                at: 5,
            },
        ];
        assert_eq!(registration_status(&events), Some(Declined));
    }

    #[test]
    fn decisions() {
        for current in [Approved, Declined, Failed, Pending] {
            let after = |decision: Decision| decision.apply(current, Some("seen in person"));
            let expect = |next| {
                if next == current {
                    Err(DecisionError::NoChange(current))
                } else {
                    Ok(next)
                }
            };
            assert_eq!(after(Decision::Approve), expect(Approved));
            assert_eq!(after(Decision::Decline), expect(Declined));
            assert_eq!(after(Decision::Reopen), expect(Pending));
        }
        for reason in [None, Some(""), Some("  ")] {
            assert_eq!(
                Decision::Decline.apply(Pending, reason),
                Err(DecisionError::ReasonRequired)
            );
        }
    }
}
