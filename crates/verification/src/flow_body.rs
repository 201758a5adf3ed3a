//! The bodies that change a Flow: PUT (contract §4.2) and the command line's files, which also contain
//! settings.
//!
//! Members become the JSON texts that are stored, including their unknown members.
//! [`crate::flow::Flow::check`] checks the rules that span members, on the Flow that the change results in.

use std::collections::HashSet;

use reference::{DocumentType, UTOPIA, country};
use serde_json::{Map, Value};

use crate::flow::{KNOWN_FIELDS, override_country};
use crate::json::Body;
use crate::refusal::{Refusal, RefusalKind};
use crate::settings::Settings;

const MAX_WEBHOOK_URL: usize = 500;

/// The changes to a Flow. `None` leaves a member unchanged. JSON members are the texts to store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlowChanges {
    /// Trimmed, 1–100 characters.
    pub name: Option<String>,
    /// JSON object.
    pub default_fields: Option<String>,
    /// JSON array of document types.
    pub default_document_types: Option<String>,
    /// JSON array of overrides.
    pub country_overrides: Option<String>,
    /// JSON array of `{countryAlpha2, countryName}`. Missing names are filled in.
    pub geo_blocked_countries: Option<String>,
    /// `Some(None)` clears it.
    pub webhook_url: Option<Option<String>>,
    /// `Some(None)` removes the bound.
    pub min_age: Option<Option<i64>>,
    /// `Some(None)` removes the bound.
    pub max_age: Option<Option<i64>>,
    /// JSON object, see [`Settings`]. A PUT never changes it.
    pub settings: Option<String>,
}

impl FlowChanges {
    /// Reads the body of a PUT. Members that cannot be updated are ignored.
    ///
    /// # Errors
    /// 400: `No fields to update`, or every fault as `<field> - <reason>`.
    pub fn parse(body: &Map<String, Value>, sandbox: bool) -> Result<Self, Refusal> {
        let changes = Self::read(body, sandbox, false)?;
        if changes == Self::default() {
            return Err(Refusal::new(
                RefusalKind::Invalid,
                "No fields to update",
                Vec::new(),
            ));
        }
        Ok(changes)
    }

    /// Reads a file of the command line. Unlike a PUT, it may contain `settings` and may change nothing.
    ///
    /// # Errors
    /// Every fault, as `<field> - <reason>`.
    pub fn parse_with_settings(body: &Map<String, Value>, sandbox: bool) -> Result<Self, Refusal> {
        Self::read(body, sandbox, true)
    }

    fn read(body: &Map<String, Value>, sandbox: bool, with_settings: bool) -> Result<Self, Refusal> {
        let mut body = Body::new(body);
        let changes = Self {
            name: body.name("name"),
            default_fields: body.get("defaultFields").map(|value| {
                check_fields(&mut body, "defaultFields", value);
                value.to_string()
            }),
            default_document_types: body.get("defaultDocumentTypes").map(|value| {
                check_document_types(&mut body, "defaultDocumentTypes", value);
                value.to_string()
            }),
            country_overrides: body.get("countryOverrides").map(|value| {
                check_overrides(&mut body, value, sandbox);
                value.to_string()
            }),
            geo_blocked_countries: body
                .get("geoBlockedCountries")
                .map(|value| geo_blocked(&mut body, value)),
            webhook_url: webhook_url(&mut body),
            min_age: body.age("minAge"),
            max_age: body.age("maxAge"),
            settings: body.get("settings").filter(|_| with_settings).map(|value| {
                match value.as_object().map(Settings::parse) {
                    Some(Ok(_)) => {}
                    Some(Err(errors)) => body.errors.extend(errors),
                    None => body.add_fault("settings", "must be an object"),
                }
                value.to_string()
            }),
        };
        body.finish().map_err(Refusal::validation)?;
        Ok(changes)
    }
}

fn check_fields(body: &mut Body<'_>, field: &str, value: &Value) {
    let Some(members) = value.as_object() else {
        return body.add_fault(field, "must be an object");
    };
    for (key, value) in members {
        if KNOWN_FIELDS.contains(&key.as_str()) && !value.is_boolean() {
            body.add_fault(field, &format!("{key} must be true or false"));
        }
    }
}

fn check_document_types(body: &mut Body<'_>, field: &str, value: &Value) {
    let is_type = |item: &Value| {
        item.as_str()
            .is_some_and(|text| text.parse::<DocumentType>().is_ok())
    };
    if !value.as_array().is_some_and(|items| items.iter().all(is_type)) {
        body.add_fault(
            field,
            "must be an array of PASSPORT, DRIVERS, ID_CARD, RESIDENCY_CARD",
        );
    }
}

fn check_overrides(body: &mut Body<'_>, value: &Value, sandbox: bool) {
    let Some(elements) = value.as_array() else {
        return body.add_fault("countryOverrides", "must be an array");
    };
    let mut seen = HashSet::new();
    for (index, element) in elements.iter().enumerate() {
        let field = format!("countryOverrides[{index}]");
        let Some(members) = element.as_object() else {
            body.add_fault(&field, "must be an object");
            continue;
        };
        let known = override_country(element).filter(|c| sandbox || **c != UTOPIA);
        let agrees = |key, own: &str| {
            members
                .get(key)
                .is_none_or(|code| code.as_str().is_some_and(|code| code.eq_ignore_ascii_case(own)))
        };
        match known {
            None => body.add_fault(
                &field,
                "countryAlpha2 or countryAlpha3 must be an ISO 3166-1 code",
            ),
            Some(c) if !agrees("countryAlpha2", c.alpha2) || !agrees("countryAlpha3", c.alpha3) => {
                body.add_fault(
                    &field,
                    "countryAlpha2 and countryAlpha3 must be codes of one country",
                );
            }
            Some(c) if !seen.insert(c.alpha3) => {
                body.add_fault(&field, &format!("{} has two elements", c.alpha3));
            }
            Some(_) => {}
        }
        if members.get("countryName").is_some_and(|name| !name.is_string()) {
            body.add_fault(&format!("{field}.countryName"), "must be a string");
        }
        if members
            .get("restricted")
            .is_some_and(|restricted| !restricted.is_boolean())
        {
            body.add_fault(&format!("{field}.restricted"), "must be true or false");
        }
        if let Some(fields) = members.get("defaultFields") {
            check_fields(body, &format!("{field}.defaultFields"), fields);
        }
        if let Some(types) = members.get("defaultDocumentTypes") {
            check_document_types(body, &format!("{field}.defaultDocumentTypes"), types);
        }
    }
}

fn geo_blocked(body: &mut Body<'_>, value: &Value) -> String {
    let mut list = value.clone();
    let Some(elements) = list.as_array_mut() else {
        body.add_fault("geoBlockedCountries", "must be an array");
        return String::new();
    };
    for (index, element) in elements.iter_mut().enumerate() {
        let field = format!("geoBlockedCountries[{index}]");
        let code = element
            .get("countryAlpha2")
            .and_then(Value::as_str)
            .filter(|code| code.len() == 2);
        let found = code.and_then(country);
        match (found, element.as_object_mut()) {
            (Some(found), Some(members)) => match members.get("countryName") {
                None => {
                    members.insert("countryName".to_owned(), found.name.into());
                }
                Some(Value::String(_)) => {}
                Some(_) => body.add_fault(&field, "countryName must be a string"),
            },
            _ => body.add_fault(&field, "countryAlpha2 must be an ISO 3166-1 alpha-2 code"),
        }
    }
    list.to_string()
}

fn webhook_url(body: &mut Body<'_>) -> Option<Option<String>> {
    let text = body.text("webhookUrl")?;
    if text.is_empty() {
        return Some(None);
    }
    if text.chars().count() > MAX_WEBHOOK_URL {
        body.add_fault("webhookUrl", "must have at most 500 characters");
    } else if !url::Url::parse(text)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
    {
        body.add_fault(
            "webhookUrl",
            "must be a valid http or https URL, or empty to clear it",
        );
    }
    Some(Some(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::flow::{Flow, FlowParts};

    fn parse(body: &Value) -> Result<FlowChanges, Refusal> {
        FlowChanges::parse(body.as_object().expect("an object"), false)
    }

    #[test]
    fn members_become_texts_with_what_is_unknown() {
        let changes = parse(&json!({
            "name": " Flow ", "defaultFields": {"zzz": [1], "dob": true}, "defaultDocumentTypes": ["PASSPORT"],
            "countryOverrides": [{"countryAlpha2": "DE", "note": "x"}],
            "geoBlockedCountries": [{"countryAlpha2": "KP"}, {"countryAlpha2": "RU", "countryName": "Россия"}],
            "webhookUrl": "", "minAge": null, "maxAge": 120, "flowId": "ignored", "settings": {"reviewPolicy": 1},
        }))
        .expect("valid");
        assert_eq!(
            changes,
            FlowChanges {
                name: Some("Flow".into()),
                default_fields: Some(r#"{"zzz":[1],"dob":true}"#.into()),
                default_document_types: Some(r#"["PASSPORT"]"#.into()),
                country_overrides: Some(r#"[{"countryAlpha2":"DE","note":"x"}]"#.into()),
                geo_blocked_countries: Some(
                    r#"[{"countryAlpha2":"KP","countryName":"North Korea"},{"countryAlpha2":"RU","countryName":"Россия"}]"#
                        .into()
                ),
                webhook_url: Some(None),
                min_age: Some(None),
                max_age: Some(Some(120)),
                settings: None,
            }
        );
    }

    #[test]
    fn nothing_updatable_is_nothing_to_update() {
        for body in [json!({}), json!({"flowId": "x", "settings": {}})] {
            let refusal = parse(&body).expect_err("refused");
            assert_eq!(
                (refusal.message.as_str(), refusal.errors.len()),
                ("No fields to update", 0)
            );
        }
        let body = json!({});
        assert_eq!(
            FlowChanges::parse_with_settings(body.as_object().expect("an object"), false),
            Ok(FlowChanges::default())
        );
    }

    #[test]
    fn faults_are_named() {
        for (body, error) in [
            (json!({"name": ""}), "name - must have 1 to 100 characters"),
            (json!({"defaultFields": []}), "defaultFields - must be an object"),
            (
                json!({"defaultFields": {"dob": 1}}),
                "defaultFields - dob must be true or false",
            ),
            (
                json!({"defaultFields": {"idCardBack": null}}),
                "defaultFields - idCardBack must be true or false",
            ),
            (
                json!({"defaultDocumentTypes": "PASSPORT"}),
                "defaultDocumentTypes - must be an array of PASSPORT, DRIVERS, ID_CARD, RESIDENCY_CARD",
            ),
            (
                json!({"defaultDocumentTypes": ["VISA"]}),
                "defaultDocumentTypes - must be an array of PASSPORT, DRIVERS, ID_CARD, RESIDENCY_CARD",
            ),
            (
                json!({"countryOverrides": {}}),
                "countryOverrides - must be an array",
            ),
            (
                json!({"countryOverrides": [1]}),
                "countryOverrides[0] - must be an object",
            ),
            (
                json!({"countryOverrides": [{"countryName": "Germany"}]}),
                "countryOverrides[0] - countryAlpha2 or countryAlpha3 must be an ISO 3166-1 code",
            ),
            (
                json!({"countryOverrides": [{"countryAlpha3": "UTO"}]}),
                "countryOverrides[0] - countryAlpha2 or countryAlpha3 must be an ISO 3166-1 code",
            ),
            (
                json!({"countryOverrides": [{"countryAlpha2": "FR", "countryAlpha3": "DEU"}]}),
                "countryOverrides[0] - countryAlpha2 and countryAlpha3 must be codes of one country",
            ),
            (
                json!({"countryOverrides": [{"countryAlpha2": "DE"}, {"countryAlpha3": "DEU"}]}),
                "countryOverrides[1] - DEU has two elements",
            ),
            (
                json!({"countryOverrides": [{"countryAlpha2": "DE", "restricted": "yes"}]}),
                "countryOverrides[0].restricted - must be true or false",
            ),
            (
                json!({"countryOverrides": [{"countryAlpha2": "DE", "defaultFields": {"ssn": 1}}]}),
                "countryOverrides[0].defaultFields - ssn must be true or false",
            ),
            (
                json!({"geoBlockedCountries": [{"countryAlpha2": "DEU"}]}),
                "geoBlockedCountries[0] - countryAlpha2 must be an ISO 3166-1 alpha-2 code",
            ),
            (
                json!({"geoBlockedCountries": ["DE"]}),
                "geoBlockedCountries[0] - countryAlpha2 must be an ISO 3166-1 alpha-2 code",
            ),
            (json!({"webhookUrl": null}), "webhookUrl - must be a string"),
            (
                json!({"webhookUrl": "ftp://a.example"}),
                "webhookUrl - must be a valid http or https URL, or empty to clear it",
            ),
            (
                json!({"webhookUrl": "nonsense"}),
                "webhookUrl - must be a valid http or https URL, or empty to clear it",
            ),
            (
                json!({"webhookUrl": format!("https://a.example/{}", "x".repeat(500))}),
                "webhookUrl - must have at most 500 characters",
            ),
            (
                json!({"minAge": 0}),
                "minAge - must be a whole number from 1 to 120, or null",
            ),
            (
                json!({"maxAge": 18.5}),
                "maxAge - must be a whole number from 1 to 120, or null",
            ),
            (
                json!({"maxAge": "18"}),
                "maxAge - must be a whole number from 1 to 120, or null",
            ),
        ] {
            let refusal = parse(&body).expect_err("refused");
            assert_eq!(
                (refusal.message.as_str(), refusal.errors),
                ("Validation failed", vec![error.to_owned()]),
                "{body}"
            );
        }
    }

    #[test]
    fn the_sandbox_knows_utopia_and_files_carry_settings() {
        let body =
            json!({"countryOverrides": [{"countryAlpha3": "UTO"}], "settings": {"reviewPolicy": "always"}});
        let body = body.as_object().expect("an object");
        let changes = FlowChanges::parse_with_settings(body, true).expect("valid");
        assert_eq!(changes.settings.as_deref(), Some(r#"{"reviewPolicy":"always"}"#));
        let bad = json!({"settings": {"reviewPolicy": "x"}});
        let refusal =
            FlowChanges::parse_with_settings(bad.as_object().expect("an object"), true).expect_err("refused");
        assert_eq!(
            refusal.errors,
            ["settings.reviewPolicy - must be never, on_match or always"]
        );
    }

    /// A member that is valid nine times out of ten and otherwise has another shape.
    fn mostly(right: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
        let wrong = [
            json!(null),
            json!(1),
            json!("x"),
            json!([]),
            json!({}),
            json!([1]),
            json!([{}]),
            json!(true),
        ];
        prop_oneof![9 => right, 1 => proptest::sample::select(wrong.to_vec())].boxed()
    }

    /// An object with some of these members.
    fn object(members: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Value> {
        let optional = members.into_iter().map(|(key, value)| {
            proptest::option::of(value).prop_map(move |value| value.map(|value| (key.to_owned(), value)))
        });
        optional
            .collect::<Vec<_>>()
            .prop_map(|members| Value::Object(members.into_iter().flatten().collect()))
    }

    fn bodies() -> impl Strategy<Value = Value> {
        let choice =
            |values: &[&'static str]| proptest::sample::select(values.to_vec()).prop_map(Value::from);
        let fields = || {
            let keys = proptest::sample::select(
                KNOWN_FIELDS
                    .iter()
                    .chain(&["other"])
                    .map(|k| (*k).to_owned())
                    .collect::<Vec<_>>(),
            );
            mostly(
                proptest::collection::vec((keys, any::<bool>().prop_map(Value::from)), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            )
        };
        let list =
            |item: BoxedStrategy<Value>| mostly(proptest::collection::vec(item, 0..3).prop_map(Value::from));
        let types = || {
            list(mostly(choice(&[
                "PASSPORT",
                "DRIVERS",
                "ID_CARD",
                "RESIDENCY_CARD",
            ])))
        };
        let country_override = object(vec![
            ("countryAlpha2", mostly(choice(&["DE", "fr", "UT", "QQ"]))),
            ("countryAlpha3", mostly(choice(&["DEU", "FRA", "UTO", "usa"]))),
            ("restricted", mostly(any::<bool>().prop_map(Value::from))),
            ("defaultFields", fields()),
            ("defaultDocumentTypes", types()),
        ]);
        let blocked = object(vec![
            ("countryAlpha2", mostly(choice(&["DE", "fr"]))),
            ("countryName", mostly(choice(&["Germany", ""]))),
        ]);
        let settings = object(vec![
            ("matchThreshold", mostly((0..=100).prop_map(Value::from))),
            ("reviewBand", mostly((0..=100).prop_map(Value::from))),
            ("reviewPolicy", mostly(choice(&["never", "on_match", "always"]))),
            ("attemptsPerLink", mostly((0..=21).prop_map(Value::from))),
        ]);
        object(vec![
            ("defaultFields", fields()),
            ("defaultDocumentTypes", types()),
            ("countryOverrides", list(country_override.boxed())),
            ("geoBlockedCountries", list(blocked.boxed())),
            ("minAge", mostly((0..=121).prop_map(Value::from))),
            ("settings", mostly(settings)),
        ])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn what_is_let_through_can_be_read_again(body in bodies(), sandbox: bool) {
            if let Ok(changes) = FlowChanges::parse_with_settings(body.as_object().expect("an object"), sandbox) {
                let flow = Flow::parse(&FlowParts {
                    default_fields: changes.default_fields.as_deref().unwrap_or("{}"),
                    default_document_types: changes.default_document_types.as_deref().unwrap_or("[]"),
                    country_overrides: changes.country_overrides.as_deref().unwrap_or("[]"),
                    geo_blocked_countries: changes.geo_blocked_countries.as_deref().unwrap_or("[]"),
                    min_age: changes.min_age.flatten(),
                    max_age: changes.max_age.flatten(),
                    settings: changes.settings.as_deref().unwrap_or("{}"),
                });
                prop_assert!(flow.is_ok());
            }
        }
    }
}
