//! The entities within an entity of OpenSanctions' nested files: sanctions, addresses, documents, wallets and relations.
//!
//! Related people are never names of the subject: they are kept as remarks.

use serde_json::{Map, Value};

use super::ftm_properties;
use super::input::Tally;
use super::list::{LISTED_ON, Use};
use crate::entity::{Entity, Identifier, IdentifierKind, add_unique, push_unique};

/// Adds what the entities within a subject state of it.
pub(super) fn add(entity: &mut Entity, properties: &Map<String, Value>) {
    for (property, nested) in nested(properties) {
        let (schema, inner) = parts(nested);
        match schema {
            "Sanction" => add_sanction(entity, inner),
            "Address" => add_address(entity, inner),
            "CryptoWallet" => {
                for name in ["publicKey", "walletAddress"] {
                    each(inner, name, |wallet| push_unique(&mut entity.wallets, wallet));
                }
            }
            "Passport" | "Identification" => add_document(entity, schema, inner),
            _ => add_relation(entity, property, nested, inner),
        }
    }
}

/// Counts the values within the entities of a subject, by the property and theirs.
pub(super) fn count(properties: &Map<String, Value>, tally: &mut Tally) {
    for (property, nested) in nested(properties) {
        let (schema, inner) = parts(nested);
        for name in inner.keys() {
            let used = use_of(schema, name);
            for value in ftm_properties::strings(inner, name) {
                tally.value(property, name, value, used);
            }
        }
        if !others(inner).is_empty() {
            tally.value(property, "", schema, Use::Kept);
        }
    }
}

fn use_of(schema: &str, property: &str) -> Use {
    match (schema, property) {
        ("CryptoWallet", "publicKey" | "walletAddress") | ("Passport" | "Identification", "number") => {
            Use::Compared
        }
        ("Address", "country") => Use::Compared,
        ("Sanction", "program" | "programId") | ("Address", "full") => Use::Kept,
        ("Sanction", property) if SANCTION.iter().any(|(known, _)| *known == property) => Use::Kept,
        ("Sanction", "listingDate" | "startDate") => Use::Kept,
        ("Passport" | "Identification", "type") => Use::Kept,
        _ => Use::Unused,
    }
}

/// What is kept of a sanction, with its label.
const SANCTION: &[(&str, &str)] = &[
    ("authority", "Authority"),
    ("authorityId", "Authority's number"),
    ("unscId", "UN reference"),
    ("provisions", "Sanctions"),
    ("reason", "Reasons"),
    ("summary", "Summary"),
    ("status", "Status"),
    ("duration", "Duration"),
    ("endDate", "Ends on"),
    ("country", "Sanctioned by"),
];

fn add_sanction(entity: &mut Entity, sanction: &Map<String, Value>) {
    for name in ["program", "programId"] {
        each(sanction, name, |program| {
            push_unique(&mut entity.programs, program);
        });
    }
    for name in ["listingDate", "startDate"] {
        each(sanction, name, |day| {
            push_unique(&mut entity.remarks, &format!("{LISTED_ON}{day}"));
        });
    }
    for (name, label) in SANCTION {
        each(sanction, name, |value| {
            push_unique(&mut entity.remarks, &format!("{label}: {value}"));
        });
    }
}

fn add_address(entity: &mut Entity, address: &Map<String, Value>) {
    each(address, "country", |country| {
        ftm_properties::take_property(entity, "country", country);
    });
    each(address, "full", |full| {
        push_unique(&mut entity.remarks, &format!("Address: {full}"));
    });
}

fn add_document(entity: &mut Entity, schema: &str, document: &Map<String, Value>) {
    let described = ftm_properties::strings(document, "type")
        .first()
        .copied()
        .unwrap_or(schema);
    let kind = match IdentifierKind::parse(described) {
        IdentifierKind::Other => IdentifierKind::parse(schema),
        kind => kind,
    };
    each(document, "number", |number| {
        let value = number.trim().to_owned();
        if !value.is_empty() {
            add_unique(&mut entity.identifiers, Identifier { kind, value });
        }
    });
    if described != schema {
        push_unique(&mut entity.remarks, &format!("Document: {described}"));
    }
}

/// Keeps who a relation leads to, such as `familyPerson: Ana Example`, or which office an occupancy has.
fn add_relation(entity: &mut Entity, property: &str, nested: &Value, inner: &Map<String, Value>) {
    let mut names = others(inner);
    // A subject within the subject, such as the parent company.
    if names.is_empty() {
        names.extend(caption(nested));
    }
    for name in names {
        push_unique(&mut entity.remarks, &format!("{property}: {name}"));
    }
}

/// The captions of the entities within an entity.
fn others(properties: &Map<String, Value>) -> Vec<&str> {
    nested(properties)
        .filter_map(|(_, nested)| caption(nested))
        .collect()
}

fn caption(entity: &Value) -> Option<&str> {
    let stated = entity
        .get("caption")
        .and_then(Value::as_str)
        .filter(|caption| !caption.is_empty());
    stated.or_else(|| ftm_properties::strings(parts(entity).1, "name").first().copied())
}

/// The entities within an entity, each with the property that has it.
fn nested(properties: &Map<String, Value>) -> impl Iterator<Item = (&str, &Value)> {
    properties.iter().flat_map(|(name, values)| {
        let values = values.as_array().map_or(&[][..], Vec::as_slice);
        let objects = values.iter().filter(|value| value.is_object());
        objects.map(move |value| (name.as_str(), value))
    })
}

/// The schema and the properties of an entity.
fn parts(entity: &Value) -> (&str, &Map<String, Value>) {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    let schema = entity.get("schema").and_then(Value::as_str).unwrap_or_default();
    let properties = entity.get("properties").and_then(Value::as_object);
    (schema, properties.unwrap_or(&NONE))
}

fn each(properties: &Map<String, Value>, name: &str, take: impl FnMut(&str)) {
    ftm_properties::strings(properties, name)
        .into_iter()
        .for_each(take);
}
