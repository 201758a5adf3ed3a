//! Reads the members of a JSON body and collects every fault instead of stopping at the first. It also
//! describes errors in stored JSON without repeating its values.

use serde_json::{Map, Value};

/// Describes an error in stored JSON without its values. Error texts are logged, and serde's own text may
/// quote a value.
pub fn describe_without_values(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // These two texts name one of our members; all others may quote the input.
    let names_a_member = text.starts_with("missing field") || text.starts_with("duplicate field");
    let what = match error.classify() {
        _ if names_a_member => text.split(" at line ").next().unwrap_or_default(),
        serde_json::error::Category::Eof => "the text ends early",
        serde_json::error::Category::Syntax | serde_json::error::Category::Io => "the text is not JSON",
        serde_json::error::Category::Data => "a member has another type or an unknown value",
    };
    format!("{what} at line {} column {}", error.line(), error.column())
}

/// A body being read, with the faults found until then (`<field> - <reason>`).
pub(crate) struct Body<'a> {
    members: &'a Map<String, Value>,
    pub(crate) errors: Vec<String>,
}

impl<'a> Body<'a> {
    pub(crate) fn new(members: &'a Map<String, Value>) -> Self {
        Self {
            members,
            errors: Vec::new(),
        }
    }

    pub(crate) fn add_fault(&mut self, field: &str, reason: &str) {
        self.errors.push(format!("{field} - {reason}"));
    }

    pub(crate) fn get(&self, field: &str) -> Option<&'a Value> {
        self.members.get(field)
    }

    /// The member's text, if it was sent.
    pub(crate) fn text(&mut self, field: &str) -> Option<&'a str> {
        let value = self.get(field)?;
        let text = value.as_str();
        if text.is_none() {
            self.add_fault(field, "must be a string");
        }
        text
    }

    /// A trimmed name of 1 to 100 characters, if it was sent.
    pub(crate) fn name(&mut self, field: &str) -> Option<String> {
        let name = self.text(field)?.trim();
        let length = name.chars().count();
        if !(1..=100).contains(&length) {
            self.add_fault(field, "must have 1 to 100 characters");
        } else if name.chars().any(char::is_control) {
            self.add_fault(field, "must not contain control characters");
        }
        Some(name.to_owned())
    }

    /// A whole number from 1 to 120 or null, if it was sent.
    pub(crate) fn age(&mut self, field: &str) -> Option<Option<i64>> {
        let value = self.get(field)?;
        if value.is_null() {
            return Some(None);
        }
        let age = value
            .as_f64()
            .filter(|n| n.fract() == 0.0 && (1.0..=120.0).contains(n));
        if age.is_none() {
            self.add_fault(field, "must be a whole number from 1 to 120, or null");
        }
        #[expect(clippy::cast_possible_truncation, reason = "a whole number from 1 to 120")]
        age.map(|n| Some(n as i64))
    }

    /// An array of texts, if it was sent.
    pub(crate) fn texts(&mut self, field: &str) -> Option<Vec<String>> {
        let value = self.get(field)?;
        let texts = value
            .as_array()
            .and_then(|items| items.iter().map(|i| i.as_str().map(str::to_owned)).collect());
        if texts.is_none() {
            self.add_fault(field, "must be an array of strings");
        }
        texts
    }

    pub(crate) fn finish(self) -> Result<(), Vec<String>> {
        if self.errors.is_empty() {
            Ok(())
        } else {
            Err(self.errors)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_fault_repeats_no_value() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only read")]
        struct Read {
            name: String,
            #[serde(default)]
            by: BTreeMap<String, bool>,
        }
        for (text, expected) in [
            ("{}", "missing field `name` at line 1 column 2"),
            (
                r#"{"name":"Ada","name":"Ada"}"#,
                "duplicate field `name` at line 1 column 20",
            ),
            (r#"{"name":"Ada"#, "the text ends early at line 1 column 12"),
            (r#"{"name":Ada}"#, "the text is not JSON at line 1 column 9"),
            (
                r#"{"name":"a","by":{"x":"Ada"}}"#,
                "a member has another type or an unknown value at line 1 column 27",
            ),
            (
                r#"{"Ada":1}"#,
                "a member has another type or an unknown value at line 1 column 6",
            ),
        ] {
            let error = serde_json::from_str::<Read>(text).expect_err(text);
            assert_eq!(describe_without_values(&error), expected, "{text}");
        }
    }
}
