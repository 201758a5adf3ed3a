//! The positions of all data in each format, which both parsing and repair use. They are from ICAO 9303-4,
//! -5, -6, -7 and the old French card.
//!
//! This module contains positions and check digits. It never interprets values.

use crate::reading::{MrzCheck, MrzFormat};

/// A run of positions in one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// Line, from 0.
    pub(super) line: usize,
    /// First position, from 0.
    pub(super) start: usize,
    /// Number of positions.
    pub(super) len: usize,
}

impl Span {
    /// The characters of `lines` in this span. The lines must have the layout's size.
    pub(super) fn of<'a>(&self, lines: &'a [Vec<char>]) -> &'a [char] {
        &lines[self.line][self.start..self.start + self.len]
    }

    /// The positions as (line, column).
    pub(super) fn positions(self) -> impl Iterator<Item = (usize, usize)> {
        (self.start..self.start + self.len).map(move |column| (self.line, column))
    }
}

/// The span of positions `first..=last` of a line, all counted from 1 as in the standard.
const fn at(line: usize, first: usize, last: usize) -> Span {
    Span {
        line: line - 1,
        start: first - 1,
        len: last - first + 1,
    }
}

/// A check digit: its position and the spans that it protects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) name: MrzCheck,
    pub(super) digit: (usize, usize),
    pub(super) covers: Vec<Span>,
}

impl Check {
    /// Whether the digit may be a filler if it covers only fillers (ICAO 9303-4 §4.2.2.2, note for position
    /// 43). Wholly unknown dates are also printed this way.
    pub(super) fn may_be_blank(&self) -> bool {
        matches!(
            self.name,
            MrzCheck::OptionalData | MrzCheck::BirthDate | MrzCheck::ExpiryDate
        )
    }

    /// Whether the check digit in `lines` is correct.
    pub(super) fn is_correct(&self, lines: &[Vec<char>]) -> bool {
        let covered = || self.covers.iter().flat_map(|span| span.of(lines).iter().copied());
        let printed = lines[self.digit.0][self.digit.1];
        if printed == '<' {
            return self.may_be_blank() && covered().all(|c| c == '<');
        }
        check_digit(covered()).is_some_and(|digit| printed.to_digit(10) == Some(u32::from(digit)))
    }
}

/// Weights of the check digit, repeated (ICAO 9303-3 §4.9).
pub(super) const WEIGHTS: [u8; 3] = [7, 3, 1];

/// The value of a character in a check digit (ICAO 9303-3 §4.9); `None` for characters that the standard does
/// not define.
pub(super) fn value(c: char) -> Option<u8> {
    match c {
        '<' => Some(0),
        '0'..='9' => Some(c as u8 - b'0'),
        'A'..='Z' => Some(c as u8 - b'A' + 10),
        _ => None,
    }
}

/// The check digit, 0–9, of a text of `0`–`9`, `A`–`Z` and `<`; `None` if another character occurs (ICAO
/// 9303-3 §4.9).
pub fn check_digit(text: impl IntoIterator<Item = char>) -> Option<u8> {
    let mut sum = 0;
    for (c, weight) in text.into_iter().zip(WEIGHTS.iter().cycle()) {
        sum = (sum + value(c)? * weight % 10) % 10;
    }
    Some(sum)
}

/// The positions of the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameSpans {
    /// Primary and secondary identifier in one span, separated by `<<`.
    Together(Span),
    /// Surname and given names in separate spans.
    Apart { surname: Span, given: Span },
}

/// The positions of all data in one format.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) format: MrzFormat,
    pub(super) lines: usize,
    pub(super) width: usize,
    /// The first letters of document codes that the format allows.
    pub(super) document_letters: &'static str,
    pub(super) document_code: Span,
    pub(super) issuer: Span,
    pub(super) names: NameSpans,
    pub(super) number: Span,
    pub(super) nationality: Option<Span>,
    pub(super) birth: Span,
    pub(super) sex: Span,
    pub(super) expiry: Option<Span>,
    pub(super) optional: Option<Span>,
    pub(super) optional2: Option<Span>,
    /// The continuation of a number of more than nine characters (ICAO 9303-5 and -6 §4.2.2, note j).
    pub(super) long_number: Option<Span>,
    /// Each check digit with the spans that it covers, for a document number of ordinary length.
    checks: &'static [(MrzCheck, Span, &'static [Span])],
}

impl Layout {
    pub(super) fn of(format: MrzFormat) -> &'static Self {
        match format {
            MrzFormat::Td1 => &TD1,
            MrzFormat::Td2 => &TD2,
            MrzFormat::Td3 => &TD3,
            MrzFormat::MrvA => &MRVA,
            MrzFormat::MrvB => &MRVB,
            MrzFormat::FrId => &FRID,
        }
    }

    /// The check digits for a document number with `rest` characters in the optional data (0: ordinary
    /// length).
    pub(super) fn checks(&self, rest: usize) -> Vec<Check> {
        self.checks
            .iter()
            .map(|&(name, digit, covers)| match self.long_number {
                Some(more) if name == MrzCheck::DocumentNumber && rest > 0 => Check {
                    name,
                    digit: (more.line, more.start + rest),
                    covers: vec![self.number, Span { len: rest, ..more }],
                },
                _ => Check {
                    name,
                    digit: (digit.line, digit.start),
                    covers: covers.to_vec(),
                },
            })
            .collect()
    }

    /// The position (line, column) of the number's check digit. For a long number, it is a filler.
    pub(super) fn number_digit(&self) -> (usize, usize) {
        (self.number.line, self.number.start + self.number.len)
    }

    /// The number of the document number's characters in the optional data. It is 0 unless the number's check
    /// digit is a filler and the optional data begins with at least one character and a digit.
    pub(super) fn rest_of_number(&self, lines: &[Vec<char>]) -> usize {
        let (line, column) = self.number_digit();
        let (Some(more), '<') = (self.long_number, lines[line][column]) else {
            return 0;
        };
        let run = more.of(lines).iter().take_while(|&&c| c != '<').count();
        let ends_in_digit = run > 0 && more.of(lines)[run - 1].is_ascii_digit();
        if run >= 2 && ends_in_digit && self.number.of(lines).iter().any(|&c| c != '<') {
            run - 1
        } else {
            0
        }
    }
}

use MrzCheck::{BirthDate, Composite, DocumentNumber, ExpiryDate, OptionalData};

/// ICAO 9303-5 §4.2.
static TD1: Layout = Layout {
    format: MrzFormat::Td1,
    lines: 3,
    width: 30,
    document_letters: "ACI",
    document_code: at(1, 1, 2),
    issuer: at(1, 3, 5),
    names: NameSpans::Together(at(3, 1, 30)),
    number: at(1, 6, 14),
    nationality: Some(at(2, 16, 18)),
    birth: at(2, 1, 6),
    sex: at(2, 8, 8),
    expiry: Some(at(2, 9, 14)),
    optional: Some(at(1, 16, 30)),
    optional2: Some(at(2, 19, 29)),
    long_number: Some(at(1, 16, 30)),
    checks: &[
        (DocumentNumber, at(1, 15, 15), &[at(1, 6, 14)]),
        (BirthDate, at(2, 7, 7), &[at(2, 1, 6)]),
        (ExpiryDate, at(2, 15, 15), &[at(2, 9, 14)]),
        (
            Composite,
            at(2, 30, 30),
            &[at(1, 6, 30), at(2, 1, 7), at(2, 9, 15), at(2, 19, 29)],
        ),
    ],
};

/// ICAO 9303-6 §4.2.
static TD2: Layout = Layout {
    format: MrzFormat::Td2,
    lines: 2,
    width: 36,
    // P: passports of this size exist (emergency and refugee documents).
    document_letters: "ACIP",
    document_code: at(1, 1, 2),
    issuer: at(1, 3, 5),
    names: NameSpans::Together(at(1, 6, 36)),
    number: at(2, 1, 9),
    nationality: Some(at(2, 11, 13)),
    birth: at(2, 14, 19),
    sex: at(2, 21, 21),
    expiry: Some(at(2, 22, 27)),
    optional: Some(at(2, 29, 35)),
    optional2: None,
    long_number: Some(at(2, 29, 35)),
    checks: &[
        (DocumentNumber, at(2, 10, 10), &[at(2, 1, 9)]),
        (BirthDate, at(2, 20, 20), &[at(2, 14, 19)]),
        (ExpiryDate, at(2, 28, 28), &[at(2, 22, 27)]),
        (
            Composite,
            at(2, 36, 36),
            &[at(2, 1, 10), at(2, 14, 20), at(2, 22, 35)],
        ),
    ],
};

/// ICAO 9303-4 §4.2.
static TD3: Layout = Layout {
    format: MrzFormat::Td3,
    lines: 2,
    width: 44,
    document_letters: "P",
    document_code: at(1, 1, 2),
    issuer: at(1, 3, 5),
    names: NameSpans::Together(at(1, 6, 44)),
    number: at(2, 1, 9),
    nationality: Some(at(2, 11, 13)),
    birth: at(2, 14, 19),
    sex: at(2, 21, 21),
    expiry: Some(at(2, 22, 27)),
    optional: Some(at(2, 29, 42)),
    optional2: None,
    long_number: None,
    checks: &[
        (DocumentNumber, at(2, 10, 10), &[at(2, 1, 9)]),
        (BirthDate, at(2, 20, 20), &[at(2, 14, 19)]),
        (ExpiryDate, at(2, 28, 28), &[at(2, 22, 27)]),
        (OptionalData, at(2, 43, 43), &[at(2, 29, 42)]),
        (
            Composite,
            at(2, 44, 44),
            &[at(2, 1, 10), at(2, 14, 20), at(2, 22, 43)],
        ),
    ],
};

/// ICAO 9303-7 §4.2: a TD3 without the last two check digits.
static MRVA: Layout = Layout {
    format: MrzFormat::MrvA,
    lines: 2,
    width: 44,
    document_letters: "V",
    document_code: at(1, 1, 2),
    issuer: at(1, 3, 5),
    names: NameSpans::Together(at(1, 6, 44)),
    number: at(2, 1, 9),
    nationality: Some(at(2, 11, 13)),
    birth: at(2, 14, 19),
    sex: at(2, 21, 21),
    expiry: Some(at(2, 22, 27)),
    optional: Some(at(2, 29, 44)),
    optional2: None,
    long_number: None,
    checks: VISA_CHECKS,
};

/// ICAO 9303-7 §5.2.
static MRVB: Layout = Layout {
    format: MrzFormat::MrvB,
    lines: 2,
    width: 36,
    document_letters: "V",
    document_code: at(1, 1, 2),
    issuer: at(1, 3, 5),
    names: NameSpans::Together(at(1, 6, 36)),
    number: at(2, 1, 9),
    nationality: Some(at(2, 11, 13)),
    birth: at(2, 14, 19),
    sex: at(2, 21, 21),
    expiry: Some(at(2, 22, 27)),
    optional: Some(at(2, 29, 36)),
    optional2: None,
    long_number: None,
    checks: VISA_CHECKS,
};

const VISA_CHECKS: &[(MrzCheck, Span, &[Span])] = &[
    (DocumentNumber, at(2, 10, 10), &[at(2, 1, 9)]),
    (BirthDate, at(2, 20, 20), &[at(2, 14, 19)]),
    (ExpiryDate, at(2, 28, 28), &[at(2, 22, 27)]),
];

/// The French card of 1988–2021. Line 1 has the surname, the department and the office of issue. Line 2 has
/// the number (year, month, department, serial), given names, date of birth and sex. There is no expiry date
/// and no nationality.
static FRID: Layout = Layout {
    format: MrzFormat::FrId,
    lines: 2,
    width: 36,
    document_letters: "I",
    document_code: at(1, 1, 2),
    issuer: at(1, 3, 5),
    names: NameSpans::Apart {
        surname: at(1, 6, 30),
        given: at(2, 14, 27),
    },
    number: at(2, 1, 12),
    nationality: None,
    birth: at(2, 28, 33),
    sex: at(2, 35, 35),
    expiry: None,
    optional: Some(at(1, 31, 36)),
    optional2: None,
    long_number: None,
    checks: &[
        (DocumentNumber, at(2, 13, 13), &[at(2, 1, 12)]),
        (BirthDate, at(2, 34, 34), &[at(2, 28, 33)]),
        (Composite, at(2, 36, 36), &[at(1, 1, 36), at(2, 1, 35)]),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_digits_are_those_of_the_standard() {
        // ICAO 9303-3 §4.9 and the specimens of parts 4 to 7.
        for (text, digit) in [
            ("520727", 3),
            ("AB2134<<<", 5),
            ("L898902C3", 6),
            ("740812", 2),
            ("ZE184226B<<<<<", 1),
            ("", 0),
        ] {
            assert_eq!(check_digit(text.chars()), Some(digit), "{text}");
        }
        assert_eq!(check_digit("AÑ".chars()), None);
    }

    #[test]
    fn every_span_lies_within_its_lines() {
        use MrzFormat::{FrId, MrvA, MrvB, Td1, Td2, Td3};
        for format in [Td1, Td2, Td3, MrvA, MrvB, FrId] {
            let layout = Layout::of(format);
            assert_eq!(layout.format, format);
            for check in layout.checks(0) {
                assert!(check.digit.0 < layout.lines && check.digit.1 < layout.width);
                for span in check.covers {
                    assert!(span.line < layout.lines && span.start + span.len <= layout.width);
                }
            }
        }
    }
}
