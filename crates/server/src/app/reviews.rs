//! Manual decisions (`decisions.md` §6) and the registration status that follows from attempts. The rules are `verification::status`'.

use serde_json::{Value, json};
use store::attempts::{self, Attempt};
use store::audit::{self, Entry};
use store::{Db, Scope, Tx, registrations};
use verification::status::{AttemptStatus, Decision, StatusEvent, registration_status};

use super::{events, sessions};
use crate::error::Problem;

/// Attempts that wait for a person, oldest first.
pub async fn pending(db: &Db, scope: Scope, after: i64, limit: i64) -> Result<Vec<Attempt>, Problem> {
    Ok(attempts::pending(&mut db.read().await?, scope, after, limit).await?)
}

/// Decides on an attempt: its status, the registration's, an audit row and a webhook, in one transaction.
pub async fn decide(
    db: &Db,
    scope: Scope,
    log_id: i64,
    decision: Decision,
    reason: Option<&str>,
    actor: &str,
) -> Result<AttemptStatus, Problem> {
    let (name, past) = match decision {
        Decision::Approve => ("approve", "approved"),
        Decision::Decline => ("decline", "declined"),
        Decision::Reopen => ("reopen", "reopened"),
    };
    store::transaction!(db, |tx| -> Result<AttemptStatus, Problem> {
        let attempt = attempts::get_for_update(tx, scope, log_id)
            .await?
            .ok_or_else(|| Problem::not_found(format!("no attempt {log_id} in this account")))?;
        let current = attempt
            .status
            .parse()
            .map_err(|()| Problem::internal("an attempt has an unknown status"))?;
        let status = decision
            .apply(current, reason)
            .map_err(|error| Problem::invalid(error.to_string()))?;
        attempts::decide(tx, scope, &attempt, status.as_str(), name, actor, reason).await?;
        if let Some(registration_id) = attempt.registration_id {
            refresh_status(tx, scope, registration_id).await?;
        }
        if let Some(session_id) = attempt.session_id {
            sessions::decided(tx, scope, session_id, log_id, status).await?;
        }
        let entry = Entry {
            actor,
            action: &format!("verification.{past}"),
            subject: &log_id.to_string(),
            detail: "{}",
        };
        audit::write(tx, scope, &entry).await?;
        announce(tx, scope, &attempt, status).await?;
        Ok(status)
    })
}

/// Sets a registration's status from its attempts.
pub async fn refresh_status(tx: &mut Tx, scope: Scope, registration_id: uuid::Uuid) -> Result<(), Problem> {
    // Oldest first: of equal times the later attempt wins.
    let outcomes = attempts::outcomes(tx, scope, registration_id).await?;
    let events: Vec<StatusEvent> = outcomes
        .iter()
        .rev()
        .filter_map(|outcome| {
            let at = outcome.decided_at.unwrap_or(outcome.created_at);
            Some(StatusEvent {
                status: outcome.status.parse().ok()?,
                at,
            })
        })
        .collect();
    let status = registration_status(&events);
    registrations::set_status(tx, scope, registration_id, status.map(AttemptStatus::as_str)).await?;
    Ok(())
}

async fn announce(
    tx: &mut Tx,
    scope: Scope,
    attempt: &Attempt,
    status: AttemptStatus,
) -> Result<(), Problem> {
    let flow = store::flows::get(tx, scope, attempt.flow_id).await?;
    if flow.and_then(|flow| flow.webhook_url).is_none() {
        return Ok(());
    }
    let sequence = match attempt.registration_id {
        Some(registration_id) => registrations::next_event(tx, scope, registration_id).await?,
        None => 1,
    };
    let codes: Value = serde_json::from_str(&attempt.codes).unwrap_or_default();
    let data = json!({
        "externalUserId": attempt.external_user_id,
        "groupingId": attempt.grouping_id,
        "flowId": attempt.flow_id,
        "sessionId": attempt.session_id,
        "facemapId": attempt.facemap_id,
        "logId": attempt.log_id,
        "sequence": sequence,
        "status": status,
        "success": status == AttemptStatus::Approved,
        "codes": codes,
        "isSandbox": scope.sandbox,
    });
    events::enqueue(tx, scope, attempt.flow_id, "verification.review_decided", &data).await?;
    Ok(())
}
