//! A listed entity in FollowTheMoney's form. It searches nothing.

use std::borrow::Cow;
use std::sync::LazyLock;

use sanctions::{ListEntry, Properties, Schema};

use super::datasets::shown;

/// Topics of a risk in business (FollowTheMoney's `registry.topic.RISKS`).
const RISKS: [&str; 30] = [
    "corp.clone",
    "corp.disqual",
    "crime",
    "crime.boss",
    "crime.fin",
    "crime.fraud",
    "crime.terror",
    "crime.theft",
    "crime.traffick",
    "crime.war",
    "debarment",
    "export.control",
    "export.control.linked",
    "export.risk",
    "geo.risk",
    "invest.ban",
    "invest.risk",
    "mare.detained",
    "mare.shadow",
    "poi",
    "reg.action",
    "reg.warn",
    "role.oligarch",
    "role.pep",
    "role.rca",
    "sanction",
    "sanction.control",
    "sanction.counter",
    "sanction.linked",
    "wanted",
];

/// How remarks state a place of birth.
const BORN_IN: &str = "Place of birth: ";

/// The topics of an entry. Lists of sanctions state none, and their entries are sanctioned.
pub fn topics(entry: ListEntry<'_>) -> &[String] {
    static SANCTION: LazyLock<[String; 1]> = LazyLock::new(|| ["sanction".to_owned()]);
    match entry.topics() {
        [] => &*SANCTION,
        stated => stated,
    }
}

/// Whether topics are a risk, in yente's `target`.
pub fn is_target(topics: &[String]) -> bool {
    topics.iter().any(|topic| RISKS.contains(&topic.as_str()))
}

/// A listed entity.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityRecord {
    /// Its id.
    pub id: String,
    /// The name to display.
    pub caption: String,
    /// Its kind.
    pub schema: Schema,
    /// Values by FollowTheMoney property.
    pub properties: Properties,
    /// The sources, or the lists that state none.
    pub datasets: Vec<String>,
    /// Whether its topics are a risk.
    pub is_target: bool,
}

impl EntityRecord {
    /// The record of entries with the same id in one or several lists; `None`: there are no entries. Caption and schema
    /// are those of the first.
    pub fn of(entries: &[ListEntry<'_>]) -> Option<EntityRecord> {
        let first = entries.first()?;
        let mut record = EntityRecord {
            id: first.id().to_owned(),
            caption: first.caption().to_owned(),
            schema: first.schema(),
            properties: Properties::new(),
            datasets: Vec::new(),
            is_target: false,
        };
        for entry in entries {
            add_new(&mut record.datasets, shown(entry.datasets()).iter().cloned());
            for (name, values) in properties(*entry) {
                add_new(record.properties.entry(name).or_default(), values);
            }
            record.is_target |= is_target(topics(*entry));
        }
        Some(record)
    }
}

fn add_new(values: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for value in more {
        if !values.contains(&value) {
            values.push(value);
        }
    }
}

/// All properties of an entry, under FollowTheMoney's names.
pub fn properties(entry: ListEntry<'_>) -> Properties {
    let mut named = ftm_names(entry.schema(), entry.properties());
    named.insert("topics".into(), topics(entry).to_vec());
    if !entry.programs().is_empty() {
        named.insert("programId".into(), entry.programs().to_vec());
    }
    named
}

/// The properties under the names that FollowTheMoney has for the schema.
fn ftm_names(schema: Schema, properties: Properties) -> Properties {
    let mut named = Properties::new();
    for (name, values) in properties {
        for value in values {
            let (name, value) = ftm_name(schema, &name, value);
            add_new(named.entry(name.into_owned()).or_default(), [value]);
        }
    }
    named
}

fn ftm_name(schema: Schema, name: &str, value: String) -> (Cow<'_, str>, String) {
    match (name, schema) {
        // Numbers of an unknown kind.
        ("identifier", Schema::Vessel | Schema::Airplane) => (Cow::Borrowed("registrationNumber"), value),
        ("identifier", _) => (Cow::Borrowed("idNumber"), value),
        ("isin", Schema::Company | Schema::Organization | Schema::LegalEntity) => {
            (Cow::Borrowed("isinCode"), value)
        }
        ("notes", _) => match value.strip_prefix(BORN_IN) {
            Some(place) => (Cow::Borrowed("birthPlace"), place.to_owned()),
            None => (Cow::Borrowed(name), value),
        },
        _ => (Cow::Borrowed(name), value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn properties_have_the_names_of_followthemoney() {
        for (schema, kept, expected) in [
            (
                Schema::Person,
                json!({"identifier": ["1"], "idNumber": ["1", "2"], "notes": ["Place of birth: Kyiv", "Minister"]}),
                json!({"idNumber": ["1", "2"], "birthPlace": ["Kyiv"], "notes": ["Minister"]}),
            ),
            (
                Schema::Vessel,
                json!({"identifier": ["9"]}),
                json!({"registrationNumber": ["9"]}),
            ),
            (
                Schema::Company,
                json!({"isin": ["X"]}),
                json!({"isinCode": ["X"]}),
            ),
            (Schema::Security, json!({"isin": ["X"]}), json!({"isin": ["X"]})),
        ] {
            let kept: Properties = serde_json::from_value(kept).unwrap();
            assert_eq!(json!(ftm_names(schema, kept)), expected);
        }
    }

    #[test]
    fn risks_make_a_target() {
        for (topics, expected) in [
            ("sanction", true),
            ("role.pep", true),
            ("gov.soe", false),
            ("", false),
        ] {
            assert_eq!(is_target(&[topics.to_owned()]), expected, "{topics}");
        }
    }
}
