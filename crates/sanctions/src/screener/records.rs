//! The records of an index and how a name is written in it. It searches nothing.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::outline::Outline;
use crate::entity::{Gender, PartialDate, Schema};
use crate::name::{Name, NamePart, Token, TokenKind};
use crate::subject::Facts;
use crate::tables::LegalForm;
use crate::text::Script;

/// A listed entity.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct EntityRecord {
    /// Where its caption and properties begin, and their length.
    pub(super) details: U64,
    pub(super) details_len: U32,
    /// Where its id, weak aliases and [`crate::subject::Facts`] begin, and their length.
    pub(super) facts: U32,
    pub(super) facts_len: U32,
    /// Numbers of sets of texts.
    pub(super) datasets: U32,
    pub(super) topics: U32,
    pub(super) programs: U32,
    pub(super) countries: U32,
    /// Its place among all entities in the order of their ids.
    pub(super) place_by_id: U32,
    pub(super) schema: u8,
}

/// A distinct word of the listed names. Its texts follow each other: text, sound, original.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct WordRecord {
    pub(super) text: U32,
    pub(super) text_len: U16,
    pub(super) sound_len: U16,
    pub(super) original_len: U16,
    /// The first of the names that contain it, and how many do.
    pub(super) first_name: U32,
    pub(super) names: U32,
    pub(super) kind: u8,
    pub(super) script: u8,
    pub(super) common: u8,
}

/// What a token has beside its word. Names have few different styles, so a token states the number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TokenStyle {
    pub(super) role: u8,
    pub(super) kind: u8,
    pub(super) weight: f32,
    pub(super) surplus: f32,
    pub(super) telling: bool,
}

impl TokenStyle {
    pub(super) fn of(token: &Token) -> TokenStyle {
        TokenStyle {
            role: token.role as u8,
            kind: token.kind as u8,
            weight: token.weight,
            surplus: token.surplus,
            telling: token.telling,
        }
    }
}

/// The beginning of a distinct name in its section. Tokens, legal forms and the acronym follow.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct NameHeader {
    /// The first of its bearers, and how many they are.
    pub(super) first_bearer: U32,
    pub(super) bearers: U32,
    pub(super) person: u8,
    pub(super) tokens: u8,
    pub(super) forms: u8,
    pub(super) acronym: u8,
}

/// An entity with a name, and what qualifies the name's score. A frequent name has thousands of bearers, and a search
/// reads no more of most of them.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Bearer {
    pub(super) entity: U32,
    /// Numbers of the entity's sets of datasets and countries.
    pub(super) datasets: U32,
    pub(super) countries: U32,
    /// Which of the entity's names it is.
    pub(super) place: U16,
    /// The date of birth; [`BornWhen`] says whether there is one.
    first_year: U16,
    last_year: U16,
    month: u8,
    day: u8,
    born_when: u8,
    /// The entity's schema.
    pub(super) schema: u8,
    gender: u8,
    unused: u8,
}

/// What a bearer states of its dates of birth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BornWhen {
    Unknown,
    Once(PartialDate),
    /// The entity's facts state several.
    Several,
}

impl Bearer {
    /// `record` is of the entity with these facts.
    pub(super) fn new(entity: U32, place: U16, record: &EntityRecord, facts: &Facts) -> Bearer {
        let (born_when, date) = match facts.birth_dates[..] {
            [] => (0, None),
            [date] => (1, Some(date)),
            _ => (2, None),
        };
        Bearer {
            entity,
            datasets: record.datasets,
            countries: record.countries,
            place,
            first_year: date.map_or(0, |date| date.first_year).into(),
            last_year: date.map_or(0, |date| date.last_year).into(),
            month: date.map_or(0, |date| date.month),
            day: date.map_or(0, |date| date.day),
            born_when,
            schema: record.schema,
            gender: facts.gender.map_or(0, |gender| 1 + gender as u8),
            unused: 0,
        }
    }

    /// Its dates of birth.
    pub(super) fn born_when(&self) -> BornWhen {
        match self.born_when {
            0 => BornWhen::Unknown,
            1 => BornWhen::Once(PartialDate {
                first_year: self.first_year.get(),
                last_year: self.last_year.get(),
                month: self.month,
                day: self.day,
            }),
            _ => BornWhen::Several,
        }
    }

    /// Its gender, if it is stated.
    pub(super) fn gender(&self) -> Option<Gender> {
        let place = usize::from(self.gender).checked_sub(1)?;
        GENDERS.get(place).copied()
    }
}

/// A name that a word finds.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Posting {
    pub(super) name: U32,
    pub(super) outline: Outline,
}

/// A token of a name in its section.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct TokenRecord {
    pub(super) word: U32,
    pub(super) style: U16,
}

impl NameHeader {
    /// Where the parts of a name at a place lie: tokens, legal forms, acronym.
    pub(super) fn parts(&self, at: usize) -> [Range<usize>; 3] {
        let tokens = at + size_of::<NameHeader>();
        let forms = tokens + usize::from(self.tokens) * size_of::<TokenRecord>();
        let acronym = forms + usize::from(self.forms);
        [
            tokens..forms,
            forms..acronym,
            acronym..acronym + usize::from(self.acronym),
        ]
    }
}

/// Adds a name to its section, with the word and style of each token. Its bearers are not known yet.
pub(super) fn push_name(name: &Name, tokens: &[TokenRecord], to: &mut Vec<u8>) {
    let acronym = name.acronym.as_bytes();
    // A name has at most 60 tokens and 30 words.
    let header = NameHeader {
        first_bearer: 0.into(),
        bearers: 0.into(),
        person: u8::from(name.person),
        tokens: tokens.len() as u8,
        forms: name.forms.len() as u8,
        acronym: acronym.len() as u8,
    };
    to.extend_from_slice(header.as_bytes());
    to.extend_from_slice(tokens.as_bytes());
    to.extend(name.forms.iter().map(|form| *form as u8));
    to.extend_from_slice(acronym);
}

pub(super) const SCHEMATA: [Schema; 10] = [
    Schema::Person,
    Schema::Company,
    Schema::Organization,
    Schema::PublicBody,
    Schema::LegalEntity,
    Schema::Vessel,
    Schema::Airplane,
    Schema::CryptoWallet,
    Schema::Security,
    Schema::Thing,
];
const FORMS: [LegalForm; 7] = [
    LegalForm::Plain,
    LegalForm::Limited,
    LegalForm::Stock,
    LegalForm::Partnership,
    LegalForm::NonProfit,
    LegalForm::State,
    LegalForm::Sole,
];
const KINDS: [TokenKind; 4] = [
    TokenKind::Word,
    TokenKind::Initial,
    TokenKind::Particle,
    TokenKind::Number,
];
const SCRIPTS: [Script; 4] = [Script::Alphabetic, Script::Abjad, Script::Han, Script::Hangul];
const GENDERS: [Gender; 3] = [Gender::Male, Gender::Female, Gender::Other];
const PARTS: [NamePart; 3] = [NamePart::Unknown, NamePart::Given, NamePart::Family];

pub(super) fn schema(number: u8) -> Option<Schema> {
    SCHEMATA.get(usize::from(number)).copied()
}

pub(super) fn forms(numbers: &[u8]) -> SmallVec<[LegalForm; 4]> {
    numbers
        .iter()
        .filter_map(|number| FORMS.get(usize::from(*number)).copied())
        .collect()
}

pub(super) fn kind(number: u8) -> Option<TokenKind> {
    KINDS.get(usize::from(number)).copied()
}

pub(super) fn script(number: u8) -> Option<Script> {
    SCRIPTS.get(usize::from(number)).copied()
}

pub(super) fn name_part(number: u8) -> Option<NamePart> {
    PARTS.get(usize::from(number)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_means_what_it_was_made_of() {
        for (number, value) in SCHEMATA.iter().enumerate() {
            assert_eq!(*value as usize, number);
        }
        for (number, value) in FORMS.iter().enumerate() {
            assert_eq!(*value as usize, number);
        }
        for (number, value) in KINDS.iter().enumerate() {
            assert_eq!(*value as usize, number);
        }
        for (number, value) in SCRIPTS.iter().enumerate() {
            assert_eq!(*value as usize, number);
        }
        for (number, value) in GENDERS.iter().enumerate() {
            assert_eq!(*value as usize, number);
        }
        for (number, value) in PARTS.iter().enumerate() {
            assert_eq!(*value as usize, number);
        }
    }
}
