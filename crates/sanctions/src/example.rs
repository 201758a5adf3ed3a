//! A query in FollowTheMoney's form: a schema, and properties with lists of values, as clients of yente send it.
//!
//! It searches nothing. Properties that screening does not use are ignored.

use serde_json::{Map, Value};

use crate::entity::{Entity, Properties, Schema, push_unique};
use crate::import::take_property;

/// Maximum length of a value in bytes.
const MAX_LEN: usize = 1000;
/// Maximum number of values that the search uses.
const MAX_VALUES: usize = 200;
/// Maximum number of names, which cost most of a search.
const MAX_NAMES: usize = 50;
/// Given and family names that are combined with each other, if no full name is sent.
const MAX_NAME_PARTS: usize = 5;

/// A subject to search for, and the values that the search uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The subject.
    pub entity: Entity,
    /// The values that the search uses, by the property in which they were sent. Countries are codes, dates have the
    /// form of [`crate::PartialDate`].
    pub properties: Properties,
}

/// Why a query is refused. The text names the field, never its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExampleError {
    /// The schema is not one of subjects.
    #[error(
        "schema - is unknown or cannot be searched; use Person, Organization, Company, PublicBody, LegalEntity, \
         Vessel, Airplane, CryptoWallet, Security or Thing"
    )]
    Schema,
    /// A property is neither a text nor a list.
    #[error("properties.{0} - must be a text or a list of texts")]
    Values(String),
    /// A value is too long.
    #[error("properties.{0} - has a value of more than {MAX_LEN} bytes; shorten it")]
    TooLong(String),
    /// The query has too many values.
    #[error("properties - has more than {MAX_VALUES} values to search; split the query")]
    TooMany,
    /// The query has too many names.
    #[error("properties - has more than {MAX_NAMES} names; send the most important ones")]
    TooManyNames,
    /// The query has nothing to search for.
    #[error(
        "properties - has nothing to search; send a name, a number such as registrationNumber, or publicKey"
    )]
    Empty,
}

impl Example {
    /// Reads a query.
    ///
    /// # Errors
    /// The first fault.
    pub fn read(schema: &str, properties: &Map<String, Value>) -> Result<Example, ExampleError> {
        let mut entity = Entity {
            schema: Schema::from_ftm(schema).ok_or(ExampleError::Schema)?,
            ..Entity::default()
        };
        let mut used = Properties::new();
        let mut count = 0;
        for (name, values) in properties {
            for value in texts(name, values)? {
                let Some(clean) = used_value(name, &value) else {
                    continue;
                };
                if value.len() > MAX_LEN {
                    return Err(ExampleError::TooLong(name.clone()));
                }
                count += 1;
                if count > MAX_VALUES {
                    return Err(ExampleError::TooMany);
                }
                take_property(&mut entity, name, &value);
                push_unique(used.entry(name.clone()).or_default(), &clean);
            }
        }
        combine_names(&mut entity, &used);
        // A weak alias of a listed entity matches only an equal name. That of a query is a name like any other.
        for alias in std::mem::take(&mut entity.weak_aliases) {
            push_unique(&mut entity.aliases, &alias);
        }
        if entity.names.len() + entity.aliases.len() > MAX_NAMES {
            return Err(ExampleError::TooManyNames);
        }
        let names = [&entity.names, &entity.aliases, &entity.wallets];
        let is_searchable = |text: &str| text.chars().any(char::is_alphanumeric);
        let mut numbers = entity
            .identifiers
            .iter()
            .map(|identifier| identifier.value.as_str());
        if !names.into_iter().flatten().any(|text| is_searchable(text)) && !numbers.any(is_searchable) {
            return Err(ExampleError::Empty);
        }
        Ok(Example {
            entity,
            properties: used,
        })
    }

    /// A subject of any of these kinds that has a text as its name, number or wallet.
    pub fn of_text(schema: Schema, text: &str) -> Example {
        let mut entity = Entity {
            schema,
            ..Entity::default()
        };
        let text: String = text.trim().chars().take(MAX_LEN / 4).collect();
        push_unique(&mut entity.names, &text);
        if text.chars().any(|c| c.is_ascii_digit()) && !text.contains(' ') {
            take_property(&mut entity, "registrationNumber", &text);
            push_unique(&mut entity.wallets, &text);
        }
        Example {
            entity,
            properties: Properties::new(),
        }
    }
}

/// The texts of a property. Numbers count as texts; other values in a list are ignored.
fn texts(name: &str, values: &Value) -> Result<Vec<String>, ExampleError> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match values {
        Value::String(_) => Ok(text(values).into_iter().collect()),
        Value::Array(values) => Ok(values.iter().filter_map(text).collect()),
        _ => Err(ExampleError::Values(name.chars().take(60).collect())),
    }
}

/// The value as the search uses it; `None`: the search does not use it.
fn used_value(name: &str, value: &str) -> Option<String> {
    let mut taken = Entity::default();
    take_property(&mut taken, name, value);
    let searched = Entity {
        names: std::mem::take(&mut taken.names),
        aliases: std::mem::take(&mut taken.aliases),
        weak_aliases: std::mem::take(&mut taken.weak_aliases),
        given_names: std::mem::take(&mut taken.given_names),
        family_names: std::mem::take(&mut taken.family_names),
        birth_dates: std::mem::take(&mut taken.birth_dates),
        countries: std::mem::take(&mut taken.countries),
        nationalities: std::mem::take(&mut taken.nationalities),
        identifiers: std::mem::take(&mut taken.identifiers),
        wallets: std::mem::take(&mut taken.wallets),
        gender: taken.gender,
        ..Entity::default()
    };
    if searched == Entity::default() {
        return None;
    }
    let taken = searched;
    let country = taken.countries.first().or(taken.nationalities.first());
    let date = taken.birth_dates.first().map(ToString::to_string);
    Some(
        country
            .cloned()
            .or(date)
            .unwrap_or_else(|| value.trim().to_owned()),
    )
}

/// Makes full names of the parts of a name, if no full name is sent.
fn combine_names(entity: &mut Entity, used: &Properties) {
    if !entity.names.is_empty() || !entity.aliases.is_empty() {
        return;
    }
    let values = |name: &str| used.get(name).map(Vec::as_slice).unwrap_or_default();
    // Several values of a property are alternative spellings, so one of each is part of a name.
    let middle: Vec<&str> = ["secondName", "middleName", "fatherName"]
        .into_iter()
        .filter_map(|name| values(name).first().map(String::as_str))
        .collect();
    let or_nothing = |values: &[String]| -> Vec<String> {
        match values {
            [] => vec![String::new()],
            values => values.iter().take(MAX_NAME_PARTS).cloned().collect(),
        }
    };
    for first in or_nothing(values("firstName")) {
        for last in or_nothing(values("lastName")) {
            let parts = [&[first.as_str()][..], &middle, &[&last]].concat();
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            push_unique(&mut entity.names, &parts.join(" "));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::entity::IdentifierKind;

    fn read(schema: &str, properties: Value) -> Result<Example, ExampleError> {
        let Value::Object(properties) = properties else {
            panic!("an object")
        };
        Example::read(schema, &properties)
    }

    #[test]
    fn a_weak_alias_of_a_query_is_a_name() {
        let example = read("Person", json!({"weakAlias": ["Valdemar Putrov"]})).unwrap();
        assert_eq!(example.entity.aliases, ["Valdemar Putrov"]);
        assert!(example.entity.weak_aliases.is_empty());
    }

    #[test]
    fn what_no_search_uses_refuses_nothing() {
        let notes = "x".repeat(5_000);
        let topics = vec!["sanction"; 300];
        let example = read(
            "Person",
            json!({"name": "Ann Lee", "notes": notes, "topics": topics}),
        )
        .unwrap();
        assert_eq!(example.properties.keys().collect::<Vec<_>>(), ["name"]);
        let names: Vec<String> = (0..51).map(|number| format!("Ann Lee {number}")).collect();
        assert_eq!(
            read("Person", json!({"name": names})),
            Err(ExampleError::TooManyNames)
        );
    }

    #[test]
    fn properties_are_searched() {
        let example = read(
            "Person",
            json!({
                "name": ["Vladimir Putin", " Владимир Путин "], "alias": "V. V. Putin", "birthDate": ["1952", "1952-10-07"],
                "country": "Russia", "nationality": ["ru", "Atlantis"], "passportNumber": [123456789], "gender": "male",
                "eyeColor": ["blue"], "address": [{"full": "Moscow"}, null],
            }),
        )
        .unwrap();
        let entity = &example.entity;
        assert_eq!(entity.names, ["Vladimir Putin", "Владимир Путин"]);
        assert_eq!(entity.aliases, ["V. V. Putin"]);
        assert_eq!(entity.birth_dates.len(), 2);
        assert_eq!(
            (&entity.countries[..], &entity.nationalities[..]),
            (&["ru".to_owned()][..], &["ru".to_owned()][..])
        );
        assert_eq!(
            (entity.identifiers[0].kind, entity.identifiers[0].value.as_str()),
            (IdentifierKind::Passport, "123456789")
        );
        assert_eq!(
            json!(example.properties),
            json!({
                "name": ["Vladimir Putin", "Владимир Путин"], "alias": ["V. V. Putin"], "birthDate": ["1952", "1952-10-07"],
                "country": ["ru"], "nationality": ["ru"], "passportNumber": ["123456789"], "gender": ["male"],
            })
        );
    }

    #[test]
    fn every_kind_of_number_is_searched() {
        for (schema, property, kind) in [
            ("Company", "registrationNumber", IdentifierKind::Registration),
            ("Company", "innCode", IdentifierKind::Inn),
            ("Company", "ogrnCode", IdentifierKind::Ogrn),
            ("LegalEntity", "leiCode", IdentifierKind::Lei),
            ("Organization", "swiftBic", IdentifierKind::Bic),
            ("Organization", "taxNumber", IdentifierKind::Tax),
            ("Person", "idNumber", IdentifierKind::NationalId),
            ("Vessel", "imoNumber", IdentifierKind::Imo),
            ("Vessel", "mmsi", IdentifierKind::Other),
            ("Airplane", "serialNumber", IdentifierKind::Other),
            ("Security", "isin", IdentifierKind::Isin),
        ] {
            let example = read(schema, json!({property: ["A-1234567"]})).unwrap();
            assert_eq!(example.entity.identifiers[0].kind, kind, "{property}");
        }
        let wallet = read("CryptoWallet", json!({"publicKey": ["0xabc"]})).unwrap();
        assert_eq!(wallet.entity.wallets, ["0xabc"]);
    }

    #[test]
    fn names_are_combined_only_without_a_full_name() {
        for (properties, names) in [
            (
                json!({"firstName": "Ann", "lastName": ["Lee", "Li"]}),
                vec!["Ann Lee", "Ann Li"],
            ),
            (
                json!({"firstName": "Ann", "middleName": "B.", "lastName": "Lee"}),
                vec!["Ann B. Lee"],
            ),
            (json!({"lastName": "Lee"}), vec!["Lee"]),
            (
                json!({"name": "Ann Lee", "firstName": "Ann", "lastName": "Li"}),
                vec!["Ann Lee"],
            ),
        ] {
            assert_eq!(read("Person", properties).unwrap().entity.names, names);
        }
    }

    #[test]
    fn faults_are_named_without_values() {
        let many: Vec<String> = (0..=MAX_VALUES).map(|i| format!("N {i}")).collect();
        for (schema, properties, part) in [
            ("xxx", json!({"name": "Banana"}), "schema - is unknown"),
            ("Address", json!({"full": "Banana"}), "schema - is unknown"),
            (
                "Person",
                json!({"name": {"Banana": 1}}),
                "properties.name - must be",
            ),
            ("Person", json!({"name": null}), "properties.name - must be"),
            (
                "Person",
                json!({"name": "Banana".repeat(200)}),
                "properties.name - has a value",
            ),
            ("Person", json!({"name": many}), "more than 200"),
            (
                "Person",
                json!({"name": [], "country": "ru"}),
                "nothing to search",
            ),
            ("Person", json!({}), "nothing to search"),
            (
                "Person",
                json!({"name": "--", "idNumber": "?"}),
                "nothing to search",
            ),
        ] {
            let error = read(schema, properties).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains("Banana"), "{error}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_query_is_read_or_refused(
            schema in "Person|Vessel|CryptoWallet|Thing|\\PC{0,9}",
            properties in prop::collection::vec(("name|birthDate|country|gender|publicKey|innCode|\\PC{0,9}", any_json()), 0..6),
        ) {
            let properties: Map<String, Value> = properties.into_iter().collect();
            if let Ok(example) = Example::read(&schema, &properties) {
                let again = example.properties.iter().map(|(name, values)| (name.clone(), serde_json::json!(values)));
                let again = Example::read(&schema, &again.collect()).expect("what was read once");
                prop_assert_eq!(again.properties, example.properties);
            }
        }
    }
}
