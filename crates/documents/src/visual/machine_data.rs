//! What the machine-readable zone or the barcode of the same picture states, to find equal print. It is never a printed
//! value.

use std::ops::Range;

use crate::compare::{SourceData, fold_lookalikes, plain_number};
use crate::reading::{Aamva, MrzReading, PartialDate, Source};

use super::dates::PrintedDate;
use super::labels::Label;
use super::page::PageLine;
use super::text::{edit_distance, name_key};

/// Shorter numbers occur by chance in other print.
const MIN_NUMBER: usize = 5;

/// The data of another source on the same picture. It finds print, and never becomes a printed value.
#[derive(Debug, Clone, Default)]
pub(super) struct MachineData {
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
    has_short_years: bool,
}

impl MachineData {
    pub(super) fn of(mrz: Option<&MrzReading>, aamva: Option<&Aamva>) -> Option<Self> {
        let (stated, sex) = match (mrz, aamva) {
            (Some(mrz), _) => (SourceData::from(mrz), mrz.fields.sex),
            (None, Some(card)) => (SourceData::from(card), card.sex),
            (None, None) => return None,
        };
        let number = |number: &String| plain_number(number);
        Some(Self {
            surname: stated.surname,
            given_names: stated.given_names,
            is_truncated: stated.truncated,
            number: stated
                .document_number
                .as_ref()
                .map(number)
                .filter(|n| n.len() >= MIN_NUMBER),
            other_numbers: stated
                .other_numbers
                .iter()
                .map(number)
                .filter(|n| n.len() >= MIN_NUMBER)
                .collect(),
            birth_date: stated.birth_date,
            expiry_date: stated.expiry_date,
            issue_date: stated.issue_date,
            nationality: stated.nationality,
            sex,
            has_short_years: stated.source == Source::Mrz,
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

    /// The date of a field.
    pub(super) fn date(&self, label: Label) -> Option<PartialDate> {
        match label {
            Label::Birth => self.birth_date,
            Label::Expiry => self.expiry_date,
            Label::Issue => self.issue_date,
            _ => None,
        }
    }

    /// Whether a printed date can be the date of a field. A zone has two digits of a year, so its holder may have been
    /// born a century earlier than it seems.
    pub(super) fn is_date(&self, label: Label, printed: &PrintedDate) -> bool {
        let stated = self.date(label);
        let earlier = stated
            .filter(|_| self.has_short_years && label == Label::Birth)
            .and_then(|date| date.century_earlier());
        stated
            .into_iter()
            .chain(earlier)
            .any(|date| printed.can_be(&date))
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

    /// The family name and the given names of a text that has the words of both and no comma.
    pub(super) fn divided(&self, text: &str) -> Option<[String; 2]> {
        let given = self.given_names.as_deref()?;
        if text.contains(',') {
            return None;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let parts = |at: usize| [words[..at].join(" "), words[at..].join(" ")];
        (1..words.len()).find_map(|at| {
            let [first, last] = parts(at);
            if self.has_name(Label::Surname, &first) && name_key(&last) == name_key(given) {
                Some([first, last])
            } else if self.has_name(Label::Surname, &last) && name_key(&first) == name_key(given) {
                Some([last, first])
            } else {
                None
            }
        })
    }

    /// The name or number, if a text differs from it by a character, or two of many.
    pub(super) fn near_text(&self, label: Label, text: &str) -> Option<&str> {
        let (wanted, keys) = match label {
            Label::Surname => (&self.surname, name_key as fn(&str) -> String),
            Label::GivenNames => (&self.given_names, name_key as fn(&str) -> String),
            Label::Number => (&self.number, plain_number as fn(&str) -> String),
            _ => return None,
        };
        let wanted = wanted.as_deref()?;
        let (a, b) = (keys(wanted), keys(text));
        let most = if a.len() >= 8 { 2 } else { 1 };
        (a.len() >= 4 && edit_distance(&a, &b, most).is_some()).then_some(wanted)
    }

    /// Whether a number is the other source's, or differs from it only in letters that look like digits. Recognition
    /// cannot tell them apart in most fonts of the visual zone.
    pub(super) fn looks_like_number(&self, text: &str) -> bool {
        let number = self.number.as_deref();
        number.is_some_and(|number| fold_lookalikes(number) == fold_lookalikes(&plain_number(text)))
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
