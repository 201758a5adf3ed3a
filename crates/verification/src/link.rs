//! The body that requests a hosted link (contract §4.3). The store checks that its Flow and Group exist.

use jiff::civil::Date;
use serde_json::{Map, Value};

use crate::expected::ExpectedPerson;
use crate::json::Body;
use crate::submission::external_user_id_fault;

/// A request for a hosted link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkRequest {
    /// The merchant's label for the applicant, which the submission's `externalUserId` must equal.
    pub user_id: String,
    /// Group id as sent, not necessarily a UUID.
    pub group_id: String,
    /// Flow id as sent, not necessarily a UUID.
    pub flow_id: String,
    /// Whom the merchant expects.
    pub expected: Option<ExpectedPerson>,
}

impl LinkRequest {
    /// Reads the body; unknown members are ignored, except in `expected`. `today` is in UTC.
    ///
    /// # Errors
    /// Every fault, as `<field> - <reason>`.
    pub fn parse(body: &Map<String, Value>, today: Date) -> Result<Self, Vec<String>> {
        let mut body = Body::new(body);
        let [user_id, group_id, flow_id] = ["userId", "groupId", "flowId"].map(|field| {
            if body.get(field).is_none() {
                body.add_fault(field, "is required");
                return String::new();
            }
            let Some(text) = body.text(field) else {
                return String::new();
            };
            if text.trim().is_empty() {
                body.add_fault(field, "cannot be empty");
            } else if field == "userId"
                && let Some(reason) = external_user_id_fault(text)
            {
                body.add_fault(field, reason);
            }
            text.to_owned()
        });
        let expected = body
            .get("expected")
            .map(|value| ExpectedPerson::parse(value, today));
        let expected = expected.transpose().unwrap_or_else(|faults| {
            body.errors.extend(faults);
            None
        });
        body.finish()?;
        Ok(Self {
            user_id,
            group_id,
            flow_id,
            expected,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(value: &Value) -> Result<LinkRequest, Vec<String>> {
        let today = jiff::civil::date(2026, 11, 30);
        LinkRequest::parse(value.as_object().expect("an object"), today)
    }

    #[test]
    fn a_request_is_read() {
        let body = json!({"userId": " ü ", "groupId": "g", "flowId": "f", "zzz": 1});
        let expected = LinkRequest {
            user_id: " ü ".into(),
            group_id: "g".into(),
            flow_id: "f".into(),
            expected: None,
        };
        assert_eq!(parse(&body), Ok(expected));
        let person = json!({"firstName": "Ada", "lastName": "Byron"});
        let body = json!({"userId": "u", "groupId": "g", "flowId": "f", "expected": person});
        let expected = parse(&body).map(|request| request.expected.map(|person| person.last_name));
        assert_eq!(expected, Ok(Some("Byron".into())));
    }

    #[test]
    fn every_fault_is_named() {
        let longest = "ü".repeat(500);
        assert!(parse(&json!({"userId": longest, "groupId": "g", "flowId": "f"})).is_ok());
        let required = [
            "userId - is required",
            "groupId - is required",
            "flowId - is required",
        ];
        assert_eq!(parse(&json!({})), Err(required.map(str::to_owned).to_vec()));
        let string = |field: &str| format!("{field} - must be a string");
        assert_eq!(
            parse(&json!({"userId": 7, "groupId": null, "flowId": ["f"]})),
            Err(["userId", "groupId", "flowId"].map(string).to_vec())
        );
        for (user_id, reason) in [
            (String::new(), "cannot be empty"),
            ("  ".into(), "cannot be empty"),
            ("x".repeat(501), "must have at most 500 characters"),
            ("a\nb".into(), "must not contain control characters"),
        ] {
            let body = json!({"userId": user_id, "groupId": "g", "flowId": "f"});
            assert_eq!(parse(&body), Err(vec![format!("userId - {reason}")]));
        }
        let body = json!({"userId": "", "groupId": "g", "flowId": "f", "expected": []});
        let faults = ["userId - cannot be empty", "expected - must be an object"];
        assert_eq!(parse(&body), Err(faults.map(str::to_owned).to_vec()));
    }
}
