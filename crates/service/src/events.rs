//! Writes webhook events in the transaction that causes them (`docs/decisions/0017-webhooks.md`).
//! [`crate::webhooks`] delivers them.

use serde_json::{Value, json};
use store::outbox::{self, NewEvent};
use store::{Scope, Tx};
use uuid::Uuid;

use crate::problem::Problem;
use crate::time::iso;

/// Writes an event. `data` contains no personal data except the merchant's label. Erasing the person of
/// `data.facemapId` deletes the event.
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
