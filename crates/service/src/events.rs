//! Writes webhook events in the transaction that causes them (`docs/decisions/0017-webhooks.md`).
//! [`crate::webhooks`] delivers them.

use serde_json::{Value, json};
use store::attempts::Attempt;
use store::outbox::{self, NewEvent};
use store::{Scope, Tx, registrations};
use uuid::Uuid;
use verification::json::describe_without_values;
use verification::status::AttemptStatus;

use crate::attempt_detail::unreadable;
use crate::problem::Problem;
use crate::time::iso;

/// A verification ended: it passed or failed.
pub const COMPLETED: &str = "verification.completed";
/// A reviewer must decide.
pub const REVIEW_REQUIRED: &str = "verification.review_required";
/// A reviewer decided.
pub const REVIEW_DECIDED: &str = "verification.review_decided";
/// A changed list flags an approved person.
pub const RESCREENED: &str = "verification.rescreened";
/// Sent only on request.
pub const TEST: &str = "webhook.test";

/// Every type of event.
pub const KINDS: [&str; 5] = [COMPLETED, REVIEW_REQUIRED, REVIEW_DECIDED, RESCREENED, TEST];

/// The `data` of a stored event's body; `None` if the body is not JSON.
pub fn data_of(body: &str) -> Option<Value> {
    let mut body: Value = serde_json::from_str(body).ok()?;
    body.get_mut("data").map(Value::take)
}

/// Writes an event. `kind` is one of [`KINDS`]. `data` contains no personal data except the merchant's label.
/// Erasing the person of `data.facemapId` deletes the event.
pub async fn enqueue(
    tx: &mut Tx,
    scope: Scope,
    flow_id: Uuid,
    kind: &str,
    data: &Value,
) -> Result<Uuid, Problem> {
    let facemap_id = data["facemapId"].as_str().and_then(|id| Uuid::parse_str(id).ok());
    let body = json!({"type": kind, "timestamp": iso(tx.now()), "data": data}).to_string();
    Ok(outbox::enqueue(
        tx,
        scope,
        &NewEvent {
            flow_id,
            kind,
            body: &ascii(&body),
            facemap_id,
        },
    )
    .await?)
}

/// Announces something about a recorded attempt, if its Flow has a webhook. `status` is the attempt's now.
pub async fn announce(
    tx: &mut Tx,
    scope: Scope,
    attempt: &Attempt,
    kind: &str,
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
    let codes: Value = serde_json::from_str(&attempt.codes)
        .map_err(|error| unreadable(attempt.log_id, "codes", &describe_without_values(&error)))?;
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
    enqueue(tx, scope, attempt.flow_id, kind, &data).await?;
    Ok(())
}

/// JSON with every character beyond ASCII escaped, so that no proxy or framework changes the signed bytes.
fn ascii(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            escaped.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    #[test]
    fn bodies_are_ascii() {
        assert_eq!(super::ascii(r#"{"a":"é😀"}"#), r#"{"a":"\u00e9\ud83d\ude00"}"#);
    }
}
