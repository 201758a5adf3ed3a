//! Statuses of attempts and registrations: the contract's three rules (contract §3) and reviewers' decisions
//! (`docs/decisions/0016-manual-decisions.md`).

pub use reference::status::{AttemptStatus, Decision, UnknownWord};

/// The most characters of a reason for a decision or a disposition.
pub const MAX_REASON: usize = 1_000;
/// The most characters of a reviewer's note.
pub const MAX_NOTE: usize = 4_000;

/// `idvResult.sdkStatus`, the status for a hosted page.
pub fn sdk_status(status: AttemptStatus) -> &'static str {
    match status {
        AttemptStatus::Approved => "approved",
        AttemptStatus::Pending => "pending",
        AttemptStatus::Declined | AttemptStatus::Failed => "declined",
    }
}

/// Approved or declined, which rule 1 calls a real decision.
fn is_decision(status: AttemptStatus) -> bool {
    matches!(status, AttemptStatus::Approved | AttemptStatus::Declined)
}

/// An attempt's status with its time: the input of [`registration_status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusEvent {
    /// The attempt's current status.
    pub status: AttemptStatus,
    /// When the attempt got the status: the reviewer's decision, else the attempt itself. Any unit, the same
    /// for all.
    pub at: i64,
}

/// A registration's status from its attempts, in any order; `None` without attempts.
pub fn registration_status(attempts: &[StatusEvent]) -> Option<AttemptStatus> {
    let latest_decision = attempts
        .iter()
        .filter(|a| is_decision(a.status))
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

/// Why a decision is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecisionError {
    /// The attempt already has the resulting status.
    #[error("the attempt already is {0}")]
    NoChange(AttemptStatus),
    /// The decline has no reason.
    #[error("a reason is required to decline")]
    ReasonRequired,
}

/// The attempt's status after a decision.
///
/// # Errors
/// [`DecisionError`] if the decision changes nothing or lacks its reason.
pub fn apply_decision(
    decision: Decision,
    current: AttemptStatus,
    reason: Option<&str>,
) -> Result<AttemptStatus, DecisionError> {
    let next = match decision {
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
            let after = |decision| apply_decision(decision, current, Some("seen in person"));
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
                apply_decision(Decision::Decline, Pending, reason),
                Err(DecisionError::ReasonRequired)
            );
        }
    }
}
