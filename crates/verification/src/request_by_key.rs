//! The bodies of requests by which an API key decides, notes, erases and exports. Each names the member of the account
//! who is responsible. Whether the key may name that member is not checked here.

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::json::Body;
use crate::status::{Decision, MAX_NOTE, MAX_REASON};

/// A decision on an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionByKey {
    /// Approve or decline; only a person reopens a decision.
    pub decision: Decision,
    /// The reason, trimmed. [`crate::status::apply_decision`] requires one to decline.
    pub reason: Option<String>,
    /// The responsible member.
    pub reviewer: Uuid,
    /// The version of the attempt that was reviewed.
    pub version: Option<i64>,
}

impl DecisionByKey {
    /// Reads the body; unknown members are ignored.
    ///
    /// # Errors
    /// Every fault, as `<field> - <reason>`.
    pub fn parse(body: &Map<String, Value>) -> Result<Self, Vec<String>> {
        let mut body = Body::new(body);
        let reviewer = reviewer(&mut body);
        let decision = match body.text("decision") {
            Some("approve") => Some(Decision::Approve),
            Some("decline") => Some(Decision::Decline),
            Some(_) => {
                body.add_fault(
                    "decision",
                    "must be approve or decline; decisions are reopened in the portal",
                );
                None
            }
            None => {
                required(&mut body, "decision");
                None
            }
        };
        let reason = match body.get("reason") {
            None | Some(Value::Null) => None,
            Some(_) => text(&mut body, "reason", MAX_REASON),
        };
        let version = match body.get("version") {
            None | Some(Value::Null) => None,
            Some(version) => {
                let version = version.as_i64().filter(|version| *version >= 0);
                if version.is_none() {
                    body.add_fault("version", "must be the version of the attempt's evidence");
                }
                version
            }
        };
        let read = decision.zip(reviewer);
        body.finish()?;
        let (decision, reviewer) = read.ok_or_else(Vec::new)?;
        Ok(Self {
            decision,
            reason,
            reviewer,
            version,
        })
    }
}

/// A note on an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteByKey {
    /// The note, trimmed.
    pub text: String,
    /// The responsible member, who becomes its author.
    pub reviewer: Uuid,
}

impl NoteByKey {
    /// Reads the body; unknown members are ignored.
    ///
    /// # Errors
    /// Every fault, as `<field> - <reason>`.
    pub fn parse(body: &Map<String, Value>) -> Result<Self, Vec<String>> {
        let mut body = Body::new(body);
        let reviewer = reviewer(&mut body);
        if body.get("text").is_none() {
            body.add_fault("text", "is required");
        }
        let read = text(&mut body, "text", MAX_NOTE).zip(reviewer);
        body.finish()?;
        let (text, reviewer) = read.ok_or_else(Vec::new)?;
        Ok(Self { text, reviewer })
    }
}

/// The responsible member of an erasure or an export; unknown members of the body are ignored.
///
/// # Errors
/// Every fault, as `<field> - <reason>`.
pub fn parse_reviewer(body: &Map<String, Value>) -> Result<Uuid, Vec<String>> {
    let mut body = Body::new(body);
    let reviewer = reviewer(&mut body);
    body.finish()?;
    reviewer.ok_or_else(Vec::new)
}

fn required(body: &mut Body<'_>, field: &str) {
    if body.get(field).is_none() {
        body.add_fault(field, "is required");
    }
}

fn reviewer(body: &mut Body<'_>) -> Option<Uuid> {
    required(body, "reviewerId");
    let id = body.text("reviewerId")?.parse().ok();
    if id.is_none() {
        body.add_fault(
            "reviewerId",
            "must be the id of a member; the permissions of the key in the portal show it",
        );
    }
    id
}

/// A text of 1 to `most` characters.
fn text(body: &mut Body<'_>, field: &str, most: usize) -> Option<String> {
    let text = body.text(field)?.trim();
    if text.is_empty() || text.chars().count() > most {
        body.add_fault(field, &format!("must have 1 to {most} characters"));
        return None;
    }
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "0199f0ab-7c3e-7d11-b1a4-2f6d6c0f3a55";

    fn decision(body: &Value) -> Result<DecisionByKey, Vec<String>> {
        DecisionByKey::parse(body.as_object().expect("an object"))
    }

    #[test]
    fn a_decision_is_read() {
        let reviewer = ID.parse().unwrap();
        let body =
            json!({"decision": "decline", "reason": " forged ", "reviewerId": ID, "version": 7, "zzz": 1});
        let declined = DecisionByKey {
            decision: Decision::Decline,
            reason: Some("forged".into()),
            reviewer,
            version: Some(7),
        };
        assert_eq!(decision(&body), Ok(declined));
        let body = json!({"decision": "approve", "reason": null, "reviewerId": ID, "version": null});
        let approved = DecisionByKey {
            decision: Decision::Approve,
            reason: None,
            reviewer,
            version: None,
        };
        assert_eq!(decision(&body), Ok(approved));
        let note = json!({"text": " called ", "reviewerId": ID});
        let text = NoteByKey::parse(note.as_object().unwrap()).map(|note| note.text);
        assert_eq!(text, Ok("called".into()));
        assert_eq!(parse_reviewer(note.as_object().unwrap()), Ok(reviewer));
    }

    #[test]
    fn every_fault_is_named() {
        let faults = |faults: &[&str]| -> Vec<String> { faults.iter().map(|&fault| fault.into()).collect() };
        let id = "reviewerId - must be the id of a member; the permissions of the key in the portal show it";
        let act = "decision - must be approve or decline; decisions are reopened in the portal";
        let long = "x".repeat(MAX_REASON + 1);
        for (body, expected) in [
            (
                json!({}),
                faults(&["reviewerId - is required", "decision - is required"]),
            ),
            (
                json!({"decision": "reopen", "reviewerId": "ada@example.com"}),
                faults(&[id, act]),
            ),
            (
                json!({"decision": 1, "reviewerId": 1}),
                faults(&["reviewerId - must be a string", "decision - must be a string"]),
            ),
            (
                json!({"decision": "decline", "reviewerId": ID, "reason": " "}),
                faults(&["reason - must have 1 to 1000 characters"]),
            ),
            (
                json!({"decision": "decline", "reviewerId": ID, "reason": long}),
                faults(&["reason - must have 1 to 1000 characters"]),
            ),
            (
                json!({"decision": "approve", "reviewerId": ID, "version": "7"}),
                faults(&["version - must be the version of the attempt's evidence"]),
            ),
        ] {
            assert_eq!(decision(&body), Err(expected), "{body}");
        }
        let note = |body: Value| NoteByKey::parse(body.as_object().unwrap()).unwrap_err();
        assert_eq!(note(json!({"reviewerId": ID})), faults(&["text - is required"]));
        assert_eq!(
            note(json!({"reviewerId": ID, "text": ""})),
            faults(&["text - must have 1 to 4000 characters"])
        );
    }
}
