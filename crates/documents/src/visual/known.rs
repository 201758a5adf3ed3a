//! What the machine-readable zone or the barcode of the same picture states, to find equal print.

use std::ops::Range;

use crate::compare::{SourceData, plain_number};
use crate::reading::{Aamva, MrzReading, PartialDate};

use super::labels::Label;
use super::page::PageLine;
use super::text::{edit_distance, name_key};

/// Shorter numbers occur by chance in other print.
const MIN_NUMBER: usize = 5;

/// The data of another source on the same picture. It finds print, and never becomes a printed value.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) surname: Option<String>,
    pub(super) given_names: Option<String>,
    is_truncated: bool,
    number: Option<String>,
    other_numbers: Vec<String>,
    pub(super) birth_date: Option<PartialDate>,
    pub(super) expiry_date: Option<PartialDate>,
    pub(super) issue_date: Option<PartialDate>,
    pub(super) nationality: Option<String>,
    pub(super) sex: Option<char>,
}

impl Known {
    pub(super) fn of(mrz: Option<&MrzReading>, aamva: Option<&Aamva>) -> Option<Self> {
        let (said, sex) = match (mrz, aamva) {
            (Some(mrz), _) => (SourceData::from(mrz), mrz.fields.sex),
            (None, Some(card)) => (SourceData::from(card), card.sex),
            (None, None) => return None,
        };
        let number = |number: &String| plain_number(number);
        Some(Self {
            surname: said.surname,
            given_names: said.given_names,
            is_truncated: said.truncated,
            number: said
                .document_number
                .as_ref()
                .map(number)
                .filter(|n| n.len() >= MIN_NUMBER),
            other_numbers: said
                .other_numbers
                .iter()
                .map(number)
                .filter(|n| n.len() >= MIN_NUMBER)
                .collect(),
            birth_date: said.birth_date,
            expiry_date: said.expiry_date,
            issue_date: said.issue_date,
            nationality: said.nationality,
            sex,
        })
    }

    /// Whether it has a value for a field.
    pub(super) fn has(&self, label: Label) -> bool {
        match label {
            Label::Surname => self.surname.is_some(),
            Label::GivenNames => self.given_names.is_some(),
            Label::Number => self.number.is_some(),
            Label::Birth => self.birth_date.is_some(),
            Label::Expiry => self.expiry_date.is_some(),
            Label::Issue => self.issue_date.is_some(),
            Label::Nationality => self.nationality.is_some(),
            Label::Sex => self.sex.is_some(),
            _ => false,
        }
    }

    /// Whether a text is a field's value.
    pub(super) fn is_value(&self, label: Label, text: &str) -> bool {
        match label {
            Label::Surname | Label::GivenNames => self.has_name(label, text),
            Label::Number => self.number.as_deref() == Some(text),
            Label::Nationality => self.nationality.as_deref() == Some(text),
            Label::Sex => self.sex.is_some_and(|sex| text.chars().eq([sex])),
            _ => false,
        }
    }

    /// Whether a text is the name, in any of its transliterations. Given names that the source truncated must agree up
    /// to there.
    pub(super) fn has_name(&self, label: Label, text: &str) -> bool {
        let wanted = if label == Label::Surname {
            &self.surname
        } else {
            &self.given_names
        };
        let Some(wanted) = wanted.as_deref().map(name_key).filter(|key| key.len() >= 2) else {
            return false;
        };
        let has_other = text
            .chars()
            .any(|c| c.is_numeric() || matches!(c, '/' | '<' | ':' | '|' | ','));
        let printed = name_key(text);
        let joined = |key: &str| key.replace(' ', "");
        !has_other
            && (joined(&printed) == joined(&wanted)
                || (self.is_truncated
                    && label == Label::GivenNames
                    && wanted.len() >= 4
                    && printed.starts_with(&wanted)))
    }

    /// Whether a text differs from the name by a misread letter, or two of many.
    pub(super) fn is_near_name(&self, label: Label, text: &str) -> bool {
        let wanted = match label {
            Label::Surname => &self.surname,
            Label::GivenNames => &self.given_names,
            _ => return false,
        };
        let Some(wanted) = wanted.as_deref().map(name_key) else {
            return false;
        };
        let most = if wanted.len() >= 8 { 2 } else { 1 };
        wanted.len() >= 4 && edit_distance(&wanted, &name_key(text), most).is_some()
    }

    /// Whether a number is another one of the document.
    pub(super) fn is_other_number(&self, number: &str) -> bool {
        self.number.as_deref() != Some(number) && self.other_numbers.iter().any(|other| other == number)
    }

    /// The place of the number in a line: neighbouring words that are together exactly the number.
    pub(super) fn number_in(&self, line: &PageLine<'_>) -> Option<(Range<usize>, String)> {
        let number = self.number.as_deref()?;
        let chars: Vec<char> = line.text.chars().collect();
        let mut words: Vec<(Range<usize>, String)> = Vec::new();
        let mut start = None;
        for at in 0..=chars.len() {
            let is_blank = chars.get(at).is_none_or(|c| c.is_whitespace());
            match (start, is_blank) {
                (None, false) => start = Some(at),
                (Some(from), true) => {
                    let word: String = chars[from..at].iter().collect();
                    words.push((from..at, plain_number(&word)));
                    start = None;
                }
                _ => {}
            }
        }
        for first in 0..words.len() {
            let mut joined = String::new();
            for last in first..words.len() {
                joined.push_str(&words[last].1);
                if joined == number {
                    return Some((words[first].0.start..words[last].0.end, joined));
                }
                if joined.len() > number.len() {
                    break;
                }
            }
        }
        None
    }
}
