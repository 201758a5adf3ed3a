//! Prepares an entity for comparison: its names, and its identifiers and wallets in a canonical form.
//!
//! This module compares nothing; see [`crate::score`].

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::entity::{Entity, Gender, IdentifierKind, PartialDate, Schema};
use crate::name::{self, KnownNameParts, Name};

/// An entity prepared for comparison.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) names: Vec<Name>,
    pub(crate) weak_aliases: Vec<String>,
    pub(crate) facts: Facts,
}

/// The data that qualify a name's score or match exactly.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) birth_dates: Vec<PartialDate>,
    pub(crate) countries: Vec<String>,
    pub(crate) gender: Option<Gender>,
    pub(crate) identifiers: Vec<(IdentifierKind, String)>,
    pub(crate) wallets: Vec<String>,
}

/// What qualifies a name's score.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Qualities<'a> {
    pub(crate) birth_dates: &'a [PartialDate],
    pub(crate) countries: &'a [String],
    pub(crate) gender: Option<Gender>,
}

impl Facts {
    /// What qualifies a name's score.
    pub(crate) fn qualities(&self) -> Qualities<'_> {
        Qualities {
            birth_dates: &self.birth_dates,
            countries: &self.countries,
            gender: self.gender,
        }
    }

    fn of(entity: &Entity) -> Facts {
        let mut countries: Vec<String> = entity
            .countries
            .iter()
            .chain(&entity.nationalities)
            .cloned()
            .collect();
        countries.sort_unstable();
        countries.dedup();
        let identifier = |i: &crate::entity::Identifier| Some((i.kind, canonical_identifier(&i.value)?));
        Facts {
            birth_dates: entity.birth_dates.clone(),
            countries,
            gender: entity.gender,
            identifiers: entity.identifiers.iter().filter_map(identifier).collect(),
            wallets: entity
                .wallets
                .iter()
                .filter_map(|w| canonical_wallet(w))
                .collect(),
        }
    }
}

/// The names that an organisation's name separates by slashes, such as "Lantern Front/Hollow Army".
fn alternatives(name: &str) -> Vec<String> {
    let parts: Vec<&str> = name.split('/').map(str::trim).collect();
    let all_names = parts.len() > 1
        && parts
            .iter()
            .all(|p| p.chars().filter(|c| c.is_alphabetic()).count() >= 5);
    if all_names {
        parts.into_iter().map(str::to_owned).collect()
    } else {
        Vec::new()
    }
}

/// All full names of an entity. Without any, they are made from its given and family names.
pub(crate) fn full_names(entity: &Entity) -> Vec<String> {
    let mut names: Vec<String> = entity.names.iter().chain(&entity.aliases).cloned().collect();
    if !entity.schema.is_person() {
        let more: Vec<String> = names.iter().flat_map(|n| alternatives(n)).collect();
        names.extend(more);
    }
    if names.is_empty() {
        let given = entity.given_names.join(" ");
        if entity.family_names.is_empty() {
            names.push(given);
        } else {
            // Several family names are alternative spellings. More than eight are not worth comparing.
            names.extend(
                entity
                    .family_names
                    .iter()
                    .take(8)
                    .map(|family| format!("{given} {family}")),
            );
        }
    }
    names
}

impl Subject {
    /// Prepares an entity. With `as_person`, its names are read as a person's regardless of its schema.
    pub(crate) fn of(entity: &Entity, as_person: bool) -> Subject {
        let schema = if as_person { Schema::Person } else { entity.schema };
        let parts = if schema.is_person() {
            KnownNameParts::of(entity)
        } else {
            KnownNameParts::default()
        };
        let mut seen = FxHashSet::default();
        let names = full_names(entity)
            .iter()
            .filter(|n| seen.insert(n.trim().to_lowercase()))
            .filter_map(|n| name::prepare(n, schema, &parts))
            .collect();
        let mut weak_aliases: Vec<String> = entity
            .weak_aliases
            .iter()
            .filter_map(|n| sorted_name_words(n, schema))
            .collect();
        weak_aliases.sort_unstable();
        weak_aliases.dedup();
        Subject {
            names,
            weak_aliases,
            facts: Facts::of(entity),
        }
    }
}

/// The words of a name in alphabetical order, which must equal those of a weak alias.
pub(crate) fn sorted_name_words(name: &str, schema: Schema) -> Option<String> {
    name::prepare(name, schema, &KnownNameParts::default()).map(|n| sorted_words(&n))
}

/// The [`sorted_name_words`] of a prepared name.
pub(crate) fn sorted_words(name: &Name) -> String {
    let mut words: Vec<&str> = name.tokens.iter().map(|t| &*t.text).collect();
    words.sort_unstable();
    words.join(" ")
}

/// An identifier without spaces and punctuation, and an IMO number (seven digits) without the letters before it; `None`
/// if too little remains to identify a subject.
pub(crate) fn canonical_identifier(value: &str) -> Option<String> {
    let text: String = value
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_uppercase)
        .take(64)
        .collect();
    let text = match text.strip_prefix("IMO") {
        Some(number) if number.len() == 7 && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            number.to_owned()
        }
        _ => text,
    };
    let telling = text.chars().count() >= 4 && text.chars().any(|c| c.is_ascii_digit());
    let zeros = text.chars().all(|c| c == '0');
    // Bank codes (8 or 11 characters) may have no digits.
    ((telling && !zeros) || (matches!(text.len(), 8 | 11) && text.is_ascii())).then_some(text)
}

/// A wallet address in its comparison form. Base58 is case-sensitive; hexadecimal, bech32 and cashaddr are
/// not.
pub(crate) fn canonical_wallet(value: &str) -> Option<String> {
    let value: String = value.trim().chars().take(256).collect();
    if value.len() < 8 || value.contains(char::is_whitespace) {
        return None;
    }
    let lower = value.to_ascii_lowercase();
    let rest = |prefix: &str| lower.strip_prefix(prefix).map(str::to_owned);
    let hex = rest("0x").filter(|r| r.bytes().all(|b| b.is_ascii_hexdigit()));
    if let Some(hex) = hex {
        return Some(format!("0x{hex}"));
    }
    if let Some(cash) = rest("bitcoincash:") {
        return Some(cash);
    }
    // A Bech32 address (BIP 173) begins with a known prefix and "1", and has only one letter case.
    let one_case = value == lower || value == value.to_ascii_uppercase();
    let bech32 = one_case
        && ["bc1", "tb1", "ltc1", "addr1", "cosmos1", "bnb1", "zs1", "u1"]
            .iter()
            .any(|hrp| lower.starts_with(hrp));
    let cashaddr = one_case && lower.len() == 42 && matches!(lower.as_bytes()[0], b'q' | b'p');
    Some(if bech32 || cashaddr { lower } else { value })
}
