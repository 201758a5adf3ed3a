//! Which registrations remain when members of the portal find that two people are one
//! (`docs/decisions/0052-merging-people.md`).
//!
//! Within one group one face registers once. Where both people are registered in a group, one registration remains, and
//! the other one's attempts are only logged, as those of a duplicate are.

use uuid::Uuid;

use super::ExistingRegistration;
use crate::status::AttemptStatus;

/// Why two people cannot be merged now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeObstacle {
    /// No face proved one of them, so nothing shows that they are one person.
    Unproven,
    /// Both are registered in one group, and one of these registrations has an attempt that awaits review.
    Undecided,
    /// Both are registered and approved in one group. A person must first decide which approval stands.
    BothApproved,
}

/// The registrations that end when `merged` becomes a part of `kept`.
///
/// # Errors
/// See [`MergeObstacle`].
pub fn ended_registrations(
    kept: &[ExistingRegistration],
    merged: &[ExistingRegistration],
) -> Result<Vec<Uuid>, MergeObstacle> {
    let mut ended = Vec::new();
    for other in merged {
        let Some(own) = kept.iter().find(|own| own.grouping_id == other.grouping_id) else {
            continue;
        };
        match (own.status, other.status) {
            (Some(AttemptStatus::Pending), _) | (_, Some(AttemptStatus::Pending)) => {
                return Err(MergeObstacle::Undecided);
            }
            (Some(AttemptStatus::Approved), Some(AttemptStatus::Approved)) => {
                return Err(MergeObstacle::BothApproved);
            }
            (_, Some(AttemptStatus::Approved)) => ended.push(own.id),
            _ => ended.push(other.id),
        }
    }
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use AttemptStatus::{Approved, Declined, Failed, Pending};

    use super::*;

    fn registered(id: u128, group: u128, status: Option<AttemptStatus>) -> ExistingRegistration {
        ExistingRegistration {
            id: Uuid::from_u128(id),
            facemap_id: Uuid::from_u128(id % 10),
            is_proven: true,
            grouping_id: (group > 0).then(|| Uuid::from_u128(group)),
            external_user_id: format!("user-{id}"),
            status,
        }
    }

    #[test]
    fn one_registration_remains_in_a_group() {
        use MergeObstacle::{BothApproved, Undecided};
        // the status of each, and which of the two ends
        for (own, other, expected) in [
            (Some(Approved), Some(Declined), Ok(12)),
            (Some(Approved), Some(Failed), Ok(12)),
            (Some(Approved), None, Ok(12)),
            (Some(Declined), Some(Approved), Ok(11)),
            (Some(Failed), Some(Approved), Ok(11)),
            (None, Some(Approved), Ok(11)),
            (Some(Declined), Some(Failed), Ok(12)),
            (Some(Failed), Some(Declined), Ok(12)),
            (None, None, Ok(12)),
            (Some(Approved), Some(Approved), Err(BothApproved)),
            (Some(Approved), Some(Pending), Err(Undecided)),
            (Some(Pending), Some(Declined), Err(Undecided)),
        ] {
            for group in [0, 7] {
                let ended =
                    ended_registrations(&[registered(11, group, own)], &[registered(12, group, other)]);
                let expected = expected.map(|id| vec![Uuid::from_u128(id)]);
                assert_eq!(ended, expected, "{own:?} {other:?}");
            }
        }
    }

    #[test]
    fn registrations_in_different_groups_all_remain() {
        let kept = [
            registered(11, 0, Some(Approved)),
            registered(21, 7, Some(Pending)),
        ];
        let merged = [
            registered(12, 8, Some(Approved)),
            registered(22, 9, Some(Pending)),
        ];
        assert_eq!(ended_registrations(&kept, &merged), Ok(Vec::new()));
    }
}
