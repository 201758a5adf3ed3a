//! Which approved attempts of a person ongoing screening is about, and whether two people must agree that a listing
//! means somebody else. It screens nobody and decides nothing.

use store::attempts::{self, Attempt};
use store::{Scope, Tx};
use uuid::Uuid;
use verification::four_eyes::FourEyesScope;
use verification::status::AttemptStatus;

use crate::flow_content::watches_its_people;
use crate::four_eyes;
use crate::problem::Problem;

/// The newest approved attempt of each approved registration whose Flow watches its people, the newest first.
/// `attempts` are all of the person's, newest first.
pub(crate) async fn watched(
    tx: &mut Tx,
    scope: Scope,
    person: Uuid,
    attempts: &[Attempt],
) -> Result<Vec<Attempt>, Problem> {
    let registrations = store::registrations::of_facemap(tx, scope, person).await?;
    let mut found: Vec<Attempt> = Vec::new();
    for registration in registrations {
        if registration.status != Some(AttemptStatus::Approved) {
            continue;
        }
        let newest = attempts.iter().find(|attempt| {
            attempt.registration_id == Some(registration.id) && attempt.status == AttemptStatus::Approved
        });
        let Some(newest) = newest else { continue };
        let flow = store::flows::get(tx, scope, newest.flow_id).await?;
        // People of a Flow that was deleted are watched.
        if flow.is_none_or(|flow| watches_its_people(&flow.into())) {
            found.push(newest.clone());
        }
    }
    found.sort_by_key(|attempt| std::cmp::Reverse(attempt.log_id));
    Ok(found)
}

/// Whether two people are required for any of these attempts: the strictest of their Flows counts.
pub(crate) async fn four_eyes_of(
    tx: &mut Tx,
    scope: Scope,
    attempts: &[Attempt],
) -> Result<FourEyesScope, Problem> {
    let mut strictest = FourEyesScope::default();
    for attempt in attempts {
        let required = four_eyes::of_attempt(tx, scope, attempt).await?;
        strictest = FourEyesScope {
            flow: strictest.flow || required.flow,
            ..required
        };
    }
    Ok(strictest)
}

/// Whether two people are required to find that a listing does not mean the person of an attempt: it counts for all of
/// the person's approvals.
pub(crate) async fn four_eyes_of_person(
    tx: &mut Tx,
    scope: Scope,
    attempt: &Attempt,
) -> Result<FourEyesScope, Problem> {
    let all = attempts::of_facemap(tx, scope, attempt.facemap_id).await?;
    let mut concerned = watched(tx, scope, attempt.facemap_id, &all).await?;
    concerned.push(attempt.clone());
    four_eyes_of(tx, scope, &concerned).await
}
