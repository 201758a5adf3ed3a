//! Reading the members of a JSON body, gathering every fault instead of stopping at the first.

use serde_json::{Map, Value};

/// A body being read, and what was wrong with it so far (`<field> - <reason>`).
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

    pub(crate) fn fault(&mut self, field: &str, reason: &str) {
        self.errors.push(format!("{field} - {reason}"));
    }

    pub(crate) fn get(&self, field: &str) -> Option<&'a Value> {
        self.members.get(field)
    }

    /// A text, if the member is there.
    pub(crate) fn text(&mut self, field: &str) -> Option<&'a str> {
        let value = self.get(field)?;
        let text = value.as_str();
        if text.is_none() {
            self.fault(field, "must be a string");
        }
        text
    }

    /// A trimmed name of 1 to 100 characters, if the member is there.
    pub(crate) fn name(&mut self, field: &str) -> Option<String> {
        let name = self.text(field)?.trim();
        let length = name.chars().count();
        if !(1..=100).contains(&length) {
            self.fault(field, "must have 1 to 100 characters");
        } else if name.chars().any(char::is_control) {
            self.fault(field, "must not contain control characters");
        }
        Some(name.to_owned())
    }

    /// A number 1–120, or null, if the member is there.
    pub(crate) fn age(&mut self, field: &str) -> Option<Option<i64>> {
        let value = self.get(field)?;
        if value.is_null() {
            return Some(None);
        }
        let age = value
            .as_f64()
            .filter(|n| n.fract() == 0.0 && (1.0..=120.0).contains(n));
        if age.is_none() {
            self.fault(field, "must be a whole number from 1 to 120, or null");
        }
        #[expect(clippy::cast_possible_truncation, reason = "a whole number from 1 to 120")]
        age.map(|n| Some(n as i64))
    }

    /// An array of texts, if the member is there.
    pub(crate) fn texts(&mut self, field: &str) -> Option<Vec<String>> {
        let value = self.get(field)?;
        let texts = value
            .as_array()
            .and_then(|items| items.iter().map(|i| i.as_str().map(str::to_owned)).collect());
        if texts.is_none() {
            self.fault(field, "must be an array of strings");
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
