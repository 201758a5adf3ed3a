//! Numbers that states give to persons and drivers: their form, their check characters, and the birth and sex that some
//! contain.
//!
//! A number of an unknown state or form is not judged: many states print numbers whose rules nobody publishes. This module
//! never decides about a document.

mod checksums;
mod states;

use crate::compare::plain_number;
use crate::reading::PartialDate;

pub(crate) use states::{has_numbers_of_foreigners, judge, may_be_document_number};

/// What a number states about its holder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    birth: Option<Birth>,
    /// `M` or `F`.
    sex: Option<char>,
}

/// A date of birth. Most numbers leave its century to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Birth {
    /// The last two digits.
    year: u8,
    month: u8,
    day: u8,
}

/// The judgement of a number of known form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// Its check characters are right, and its date is one.
    Right(Facts),
    /// They are not.
    Wrong,
}

impl Facts {
    /// Whether a person of this birth and sex has another number. A sex other than `M` and `F` is not compared.
    pub(crate) fn contradict(&self, birth: Option<PartialDate>, sex: Option<char>) -> bool {
        let is_other_birth = self
            .birth
            .zip(birth)
            .is_some_and(|(own, other)| !own.agrees_with(other));
        let is_other_sex = self
            .sex
            .zip(sex)
            .is_some_and(|(own, other)| matches!(other, 'M' | 'F') && own != other);
        is_other_birth || is_other_sex
    }
}

impl Birth {
    /// `None` if no year has this day.
    fn new(year: u8, month: u8, day: u8) -> Option<Self> {
        // A leap year, because the century is unknown.
        PartialDate::from_ymd(2000, month, day)?;
        Some(Self { year, month, day })
    }

    /// Parts that are unknown agree.
    fn agrees_with(self, other: PartialDate) -> bool {
        other.year().rem_euclid(100) == i16::from(self.year)
            && other.month().is_none_or(|month| month == self.month)
            && other.day().is_none_or(|day| day == self.day)
    }
}

/// The digits of an Aadhaar number that others may see (UIDAI's "masked Aadhaar" shows the last four).
const VISIBLE_OF_AADHAAR: usize = 4;

/// A number as others may see it: an Aadhaar number without its first eight digits, any other one as it is.
pub(crate) fn masked(state: &str, number: &str) -> String {
    let plain = plain_number(number);
    if state != "IND" || judge(state, &plain).is_none() {
        return number.to_owned();
    }
    let hidden = plain.len().saturating_sub(VISIBLE_OF_AADHAAR);
    plain
        .chars()
        .enumerate()
        .map(|(at, digit)| if at < hidden { 'X' } else { digit })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_digits_of_aadhaar_are_visible() {
        for (state, number, visible) in [
            ("IND", "2341 2341 2346", "XXXXXXXX2346"),
            // A wrong one may be a misread right one.
            ("IND", "234123412345", "XXXXXXXX2345"),
            ("IND", "Z1234567", "Z1234567"),
            ("POL", "740812 00003", "740812 00003"),
        ] {
            assert_eq!(masked(state, number), visible);
        }
    }

    #[test]
    fn a_number_contradicts_another_birth_or_sex() {
        let facts = Facts {
            birth: Birth::new(74, 8, 12),
            sex: Some('F'),
        };
        let date = |year, month, day| PartialDate::new(year, month, day);
        for (birth, sex, contradicts) in [
            (date(1974, Some(8), Some(12)), Some('F'), false),
            (date(1874, Some(8), Some(12)), None, false),
            (date(1974, Some(8), None), Some('X'), false),
            (None, None, false),
            (date(1974, Some(12), Some(8)), Some('F'), true),
            (date(1975, None, None), None, true),
            (None, Some('M'), true),
        ] {
            assert_eq!(facts.contradict(birth, sex), contradicts, "{birth:?} {sex:?}");
        }
        assert!(!Facts::default().contradict(date(1974, None, None), Some('M')));
        assert_eq!(Birth::new(11, 2, 30), None);
    }
}
