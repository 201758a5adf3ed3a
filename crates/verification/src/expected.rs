//! The person whom a merchant expects behind a link. A name that was copied from a document proves nothing about whose
//! account it is, so the document is compared with this person.
//!
//! The applicant never learns what is expected. This module compares nothing; `judge::expected` decides what follows from
//! the engine's comparison.

use jiff::civil::Date;
use reference::icao::transliterate;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dates;
use crate::json::Body;
use crate::submission::birth_date_fault;

/// The maximum length of a name, in characters.
const MAX_NAME: usize = 255;
/// What forms require in place of a missing name.
const NO_NAMES: [&str; 2] = ["FNU", "LNU"];
/// The members of the request's `expected`.
const MEMBERS: [&str; 3] = ["firstName", "lastName", "dob"];

/// Whom a merchant expects. Someone with one name has it in both fields.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectedPerson {
    /// Given names, in Latin or Cyrillic letters (ICAO 9303-3 §6).
    pub first_name: String,
    /// Family name.
    pub last_name: String,
    /// Date of birth.
    #[serde(default, with = "us_date", skip_serializing_if = "Option::is_none")]
    pub dob: Option<Date>,
}

/// Without the data, which are personal.
impl std::fmt::Debug for ExpectedPerson {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ExpectedPerson(..)")
    }
}

impl ExpectedPerson {
    /// Reads the request's `expected`. Unknown members are faults, because a misspelt one would go unchecked. `today` is
    /// in UTC.
    ///
    /// # Errors
    /// Every fault, as `expected.<field> - <reason>`.
    pub(crate) fn parse(value: &Value, today: Date) -> Result<Self, Vec<String>> {
        let Some(members) = value.as_object() else {
            return Err(vec!["expected - must be an object".to_owned()]);
        };
        let mut body = Body::new(members);
        let is_known = |name: &String| MEMBERS.contains(&name.as_str());
        let mut unknown = Vec::new();
        if !members.keys().all(is_known) {
            unknown.push(
                "expected - has an unknown member; its members are firstName, lastName and dob".to_owned(),
            );
        }
        let [first_name, last_name] = ["firstName", "lastName"].map(|field| name(&mut body, field));
        let dob = birth_date(&mut body, today);
        let named = body.errors.iter().map(|fault| format!("expected.{fault}"));
        let faults: Vec<String> = unknown.into_iter().chain(named).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self {
            first_name,
            last_name,
            dob,
        })
    }
}

fn name(body: &mut Body<'_>, field: &str) -> String {
    if body.get(field).is_none() {
        body.add_fault(field, "is required");
        return String::new();
    }
    let Some(text) = body.text(field) else {
        return String::new();
    };
    let text = text.trim();
    if text.is_empty() {
        body.add_fault(field, "cannot be empty");
    } else if text.chars().count() > MAX_NAME {
        body.add_fault(field, "must have at most 255 characters");
    } else if text.chars().any(char::is_control) {
        body.add_fault(field, "must not contain control characters");
    } else if !text.chars().all(is_comparable) {
        body.add_fault(field, "must be in Latin or Cyrillic letters");
    } else if transliterate(text).trim().is_empty() {
        body.add_fault(field, "must contain a letter");
    } else if NO_NAMES.contains(&transliterate(text).as_str()) {
        body.add_fault(
            field,
            "must not be FNU or LNU; write a single name in both fields",
        );
    }
    text.to_owned()
}

/// Whether a letter is Latin or Cyrillic, or is left out of an MRZ, such as an apostrophe. Other scripts are romanised
/// differently by each issuer, so that a name in them would agree with no document.
fn is_comparable(letter: char) -> bool {
    let is_known = matches!(letter, 'A'..='Z' | 'a'..='z' | '\u{aa}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' | '\u{400}'..='\u{52f}');
    is_known || !letter.is_alphabetic() || transliterate(letter.encode_utf8(&mut [0; 4])).is_empty()
}

fn birth_date(body: &mut Body<'_>, today: Date) -> Option<Date> {
    body.get("dob")?;
    let text = body.text("dob")?;
    if let Some(reason) = birth_date_fault(text, today) {
        body.add_fault("dob", reason);
    }
    dates::parse_us(text)
}

/// `MM/DD/YYYY`, as the request has it.
mod us_date {
    use jiff::civil::Date;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use crate::dates;

    #[expect(clippy::ref_option, reason = "serde passes the field")]
    pub(super) fn serialize<S: Serializer>(date: &Option<Date>, to: S) -> Result<S::Ok, S::Error> {
        match date {
            Some(date) => to.serialize_str(&dates::format_us(*date)),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Date>, D::Error> {
        let text = String::deserialize(from)?;
        dates::parse_us(&text)
            .map(Some)
            .ok_or_else(|| D::Error::custom("not a date"))
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use serde_json::json;

    use super::*;

    const TODAY: Date = date(2026, 11, 30);

    #[test]
    fn an_expected_person_is_read_and_stored() {
        let apostrophe = json!({"firstName": "Kaʻiulani", "lastName": "Oʼneil-Ржевский"});
        assert!(ExpectedPerson::parse(&apostrophe, TODAY).is_ok());
        for (sent, dob) in [
            (json!({"firstName": " Zoë Ana ", "lastName": "Müller"}), None),
            (
                json!({"firstName": "Zoë Ana", "lastName": "Müller", "dob": "02/29/2004"}),
                Some(date(2004, 2, 29)),
            ),
        ] {
            let person = ExpectedPerson::parse(&sent, TODAY).expect("an expected person");
            assert_eq!(
                (person.first_name.as_str(), person.last_name.as_str(), person.dob),
                ("Zoë Ana", "Müller", dob)
            );
            let stored = serde_json::to_string(&person).expect("JSON");
            assert_eq!(
                serde_json::from_str::<ExpectedPerson>(&stored).ok(),
                Some(person.clone())
            );
            assert!(!format!("{person:?}").contains("Zoë"));
        }
    }

    #[test]
    fn every_fault_is_named() {
        let good = |changes: Value| {
            let mut body = json!({"firstName": "Ada", "lastName": "Byron"});
            let members = body.as_object_mut().expect("an object");
            members.extend(changes.as_object().expect("an object").clone());
            body
        };
        let long = "x".repeat(256);
        for (sent, faults) in [
            (Value::Null, vec!["expected - must be an object"]),
            (json!("Ada"), vec!["expected - must be an object"]),
            (
                json!({}),
                vec![
                    "expected.firstName - is required",
                    "expected.lastName - is required",
                ],
            ),
            (
                good(json!({"firstName": 7})),
                vec!["expected.firstName - must be a string"],
            ),
            (
                good(json!({"lastName": " "})),
                vec!["expected.lastName - cannot be empty"],
            ),
            (
                good(json!({"lastName": long})),
                vec!["expected.lastName - must have at most 255 characters"],
            ),
            (
                good(json!({"lastName": "A\nB"})),
                vec!["expected.lastName - must not contain control characters"],
            ),
            (
                good(json!({"lastName": "--"})),
                vec!["expected.lastName - must contain a letter"],
            ),
            (
                good(json!({"firstName": "محمد", "lastName": "李"})),
                vec![
                    "expected.firstName - must be in Latin or Cyrillic letters",
                    "expected.lastName - must be in Latin or Cyrillic letters",
                ],
            ),
            (
                good(json!({"firstName": "fnu"})),
                vec!["expected.firstName - must not be FNU or LNU; write a single name in both fields"],
            ),
            (
                good(json!({"dob": "1990-01-31"})),
                vec!["expected.dob - must be a date in the format MM/DD/YYYY"],
            ),
            (
                good(json!({"dob": "12/01/2026"})),
                vec!["expected.dob - must not be in the future"],
            ),
            (
                good(json!({"dob": null})),
                vec!["expected.dob - must be a string"],
            ),
            (
                good(json!({"dateOfBirth": "01/31/1990"})),
                vec!["expected - has an unknown member; its members are firstName, lastName and dob"],
            ),
        ] {
            let found = ExpectedPerson::parse(&sent, TODAY).expect_err("a fault");
            assert_eq!(found, faults, "{sent}");
        }
    }
}
