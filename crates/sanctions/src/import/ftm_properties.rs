//! What screening takes from the properties of a FollowTheMoney entity. It reads no file.

use serde_json::{Map, Value};

use super::list::BORN_IN;
use crate::countries;
use crate::entity::{
    Entity, Gender, Identifier, IdentifierKind, PartialDate, Schema, add_unique, push_unique,
};

/// The strings of a property, which may be one string or a list of them.
pub(super) fn strings<'a>(properties: &'a Map<String, Value>, name: &str) -> Vec<&'a str> {
    match properties.get(name) {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Makes an entity from FollowTheMoney properties. Properties that screening does not use are skipped.
pub(crate) fn entity_of_properties(schema: Schema, properties: &Map<String, Value>) -> Entity {
    let mut entity = Entity {
        schema,
        ..Entity::default()
    };
    for name in properties.keys() {
        for value in strings(properties, name) {
            take_property(&mut entity, name, value);
        }
    }
    if entity.names.is_empty() && !entity.aliases.is_empty() {
        entity.names = std::mem::take(&mut entity.aliases);
    }
    entity
}

/// Takes one value of a property, unless screening does not use it.
pub(crate) fn take_property(entity: &mut Entity, name: &str, value: &str) {
    match name {
        "name" => push_unique(&mut entity.names, value),
        "alias" | "previousName" | "tradingName" | "fullName" | "abbreviation" => {
            push_unique(&mut entity.aliases, value);
        }
        "weakAlias" => push_unique(&mut entity.weak_aliases, value),
        "firstName" | "middleName" | "secondName" | "fatherName" | "givenName" => {
            push_unique(&mut entity.given_names, value);
        }
        "lastName" | "motherName" | "maidenName" => push_unique(&mut entity.family_names, value),
        "birthDate" => entity.birth_dates.extend(PartialDate::parse_lenient(value)),
        "nationality" | "citizenship" => push_country(&mut entity.nationalities, value),
        "country" | "jurisdiction" | "mainCountry" | "flag" => push_country(&mut entity.countries, value),
        "gender" => entity.gender = entity.gender.or(Gender::parse(value)),
        "topics" => push_unique(&mut entity.topics, value),
        "program" | "programId" => push_unique(&mut entity.programs, value),
        "notes" | "position" => push_unique(&mut entity.remarks, value),
        "birthPlace" => push_unique(&mut entity.remarks, &format!("{BORN_IN}{value}")),
        "publicKey" | "walletAddress" => push_unique(&mut entity.wallets, value),
        "passportNumber"
        | "idNumber"
        | "taxNumber"
        | "registrationNumber"
        | "innCode"
        | "ogrnCode"
        | "leiCode"
        | "imoNumber"
        | "swiftBic"
        | "bikCode"
        | "isin"
        | "isinCode"
        | "vatCode"
        | "kppCode"
        | "okpoCode"
        | "uscCode"
        | "dunsCode"
        | "ninNumber"
        | "socialSecurityNumber"
        | "mmsi"
        | "uniqueEntityId"
        | "npiCode"
        | "cikCode"
        | "uscc"
        | "registrationId"
        | "serialNumber"
        | "icaoCode" => {
            let identifier = Identifier {
                kind: IdentifierKind::parse(name),
                value: value.trim().to_owned(),
            };
            if !identifier.value.is_empty() {
                add_unique(&mut entity.identifiers, identifier);
            }
        }
        _ => {}
    }
}

fn push_country(values: &mut Vec<String>, value: &str) {
    if let Some(code) = countries::code(value) {
        push_unique(values, &code);
    }
}
