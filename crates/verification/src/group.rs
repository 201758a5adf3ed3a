//! The bodies of Groups (contract §4.1) and the rules of their fields. The store checks that names are unique
//! and Flows exist.

pub use reference::status::GroupStatus;
use serde_json::{Map, Value};

use crate::json::Body;

const MAX_DESCRIPTION: usize = 500;

/// The body of a POST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupCreate {
    /// Trimmed, 1–100 characters.
    pub name: String,
    /// Up to 500 characters.
    pub description: Option<String>,
    /// The status; active if none was sent.
    pub status: GroupStatus,
    /// Flow ids as sent, at least one. The store ignores foreign and malformed ids.
    pub flow_ids: Vec<String>,
}

impl GroupCreate {
    /// Reads the body; unknown members are ignored.
    ///
    /// # Errors
    /// Every fault, as `<field> - <reason>`.
    pub fn parse(body: &Map<String, Value>) -> Result<Self, Vec<String>> {
        let mut body = Body::new(body);
        let name = body.name("name");
        let description = description(&mut body).flatten();
        let status = status(&mut body).unwrap_or_default();
        let flow_ids = body.texts("flowIds");
        if body.get("name").is_none() {
            body.add_fault("name", "is required");
        }
        match (body.get("flowIds"), &flow_ids) {
            (None, _) => body.add_fault("flowIds", "is required"),
            (_, Some(ids)) if ids.is_empty() => body.add_fault("flowIds", "must name at least one Flow"),
            _ => {}
        }
        body.finish()?;
        Ok(Self {
            name: name.unwrap_or_default(),
            description,
            status,
            flow_ids: flow_ids.unwrap_or_default(),
        })
    }
}

/// The body of a PUT. `None` leaves a member unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupUpdate {
    /// Trimmed, 1–100 characters.
    pub name: Option<String>,
    /// `Some(None)` clears it.
    pub description: Option<Option<String>>,
    /// The new status.
    pub status: Option<GroupStatus>,
    /// The ids that replace the whole list; may be empty.
    pub flow_ids: Option<Vec<String>>,
}

impl GroupUpdate {
    /// Reads the body; unknown members are ignored, and an empty body changes nothing.
    ///
    /// # Errors
    /// Every fault, as `<field> - <reason>`.
    pub fn parse(body: &Map<String, Value>) -> Result<Self, Vec<String>> {
        let mut body = Body::new(body);
        let update = Self {
            name: body.name("name"),
            description: description(&mut body),
            status: status(&mut body),
            flow_ids: body.texts("flowIds"),
        };
        body.finish()?;
        Ok(update)
    }
}

fn description(body: &mut Body<'_>) -> Option<Option<String>> {
    if body.get("description")?.is_null() {
        return Some(None);
    }
    let text = body.text("description")?;
    if text.chars().count() > MAX_DESCRIPTION {
        body.add_fault("description", "must have at most 500 characters");
    } else if text.contains('\0') {
        body.add_fault("description", "must not contain null characters");
    }
    Some(Some(text.to_owned()))
}

fn status(body: &mut Body<'_>) -> Option<GroupStatus> {
    let status = body.text("status")?.parse().ok();
    if status.is_none() {
        body.add_fault("status", "must be active or inactive");
    }
    status
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn create(body: &Value) -> Result<GroupCreate, Vec<String>> {
        GroupCreate::parse(body.as_object().expect("an object"))
    }

    #[test]
    fn a_valid_group() {
        let group = create(&json!({"name": "  Ärzte  ", "flowIds": ["a"], "zzz": 1})).expect("valid");
        assert_eq!(group.name, "Ärzte");
        assert_eq!((group.status, group.description), (GroupStatus::Active, None));
        let group = create(
            &json!({"name": "x".repeat(100), "description": null, "status": "inactive", "flowIds": ["a", "a"]}),
        );
        assert_eq!(group.expect("valid").status.as_str(), "inactive");
        assert!(
            create(&json!({"name": "é".repeat(100), "description": "ü".repeat(500), "flowIds": ["a"]}))
                .is_ok()
        );
    }

    #[test]
    fn every_fault_is_reported_at_once() {
        let errors = create(&json!({"description": 1, "status": "on", "flowIds": [1]})).expect_err("invalid");
        assert_eq!(
            errors,
            [
                "description - must be a string",
                "status - must be active or inactive",
                "flowIds - must be an array of strings",
                "name - is required",
            ]
        );
        for (body, error) in [
            (
                json!({"name": "  ", "flowIds": ["a"]}),
                "name - must have 1 to 100 characters",
            ),
            (
                json!({"name": "é".repeat(101), "flowIds": ["a"]}),
                "name - must have 1 to 100 characters",
            ),
            (json!({"name": null, "flowIds": ["a"]}), "name - must be a string"),
            (
                json!({"name": "a\u{0}b", "flowIds": ["a"]}),
                "name - must not contain control characters",
            ),
            (json!({"name": "a"}), "flowIds - is required"),
            (
                json!({"name": "a", "flowIds": []}),
                "flowIds - must name at least one Flow",
            ),
            (
                json!({"name": "a", "flowIds": ["a"], "description": "x".repeat(501)}),
                "description - must have at most 500 characters",
            ),
        ] {
            assert_eq!(create(&body), Err(vec![error.to_owned()]), "{body}");
        }
    }

    #[test]
    fn an_update_changes_only_what_is_sent() {
        let update = |body: Value| GroupUpdate::parse(body.as_object().expect("an object"));
        assert_eq!(update(json!({})), Ok(GroupUpdate::default()));
        let cleared = update(json!({"description": null, "flowIds": []})).expect("valid");
        assert_eq!(
            (cleared.description, cleared.flow_ids),
            (Some(None), Some(vec![]))
        );
        assert_eq!(
            update(json!({"status": null})),
            Err(vec!["status - must be a string".to_owned()])
        );
    }
}
