//! The positions of a layout with the rules for their characters, for the search in `lattice`.
//!
//! It never looks at recognised characters.

use jiff::civil::Date;
use reference::icao;

use super::dates;
use super::layout::{Layout, NameSpans, Span, WEIGHTS, value};
use crate::reading::MrzCheck;

/// The characters that a position allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Letter,
    LetterOrFiller,
    Digit,
    DigitOrFiller,
    Any,
    Filler,
    Sex,
}

impl Class {
    pub(super) fn allows(self, c: char) -> bool {
        match self {
            Self::Letter => c.is_ascii_uppercase(),
            Self::LetterOrFiller => c == '<' || c == 'Ñ' || c.is_ascii_uppercase(),
            Self::Digit => c.is_ascii_digit(),
            Self::DigitOrFiller => c == '<' || c.is_ascii_digit(),
            Self::Any => value(c).is_some(),
            Self::Filler => c == '<',
            Self::Sex => matches!(c, 'M' | 'F' | '<' | 'X'),
        }
    }
}

/// The part of the zone that a position belongs to. Each part has its own rules for usual characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Name,
    Number,
    Data,
    Other,
}

/// One position of a layout, with the rules for its characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    pub(super) class: Class,
    pub(super) part: Part,
    /// The position's weight in the field's and in the composite sum; 0 if that check digit does not cover
    /// the position.
    pub(super) weights: [u8; 2],
    /// Whether the position is the check digit of either sum.
    pub(super) closes: [bool; 2],
    /// The field that is complete with this position.
    pub(super) completes: Option<JudgedField>,
}

/// A field that is judged as soon as it is complete, so that implausible strings do not displace others.
#[derive(Debug, Clone, Copy)]
pub(super) enum JudgedField {
    /// The first letter of the document code, with those that the layout's documents have.
    DocumentCode(&'static str),
    /// The code of the issuer, or the nationality.
    State,
    Birth,
    Expiry,
}

impl JudgedField {
    pub(super) fn length(self) -> usize {
        match self {
            Self::DocumentCode(_) => 1,
            Self::State => 3,
            Self::Birth | Self::Expiry => 6,
        }
    }

    /// Whether a document may have this text in the field, by the rules of [`parse`](super::parse).
    pub(super) fn is_plausible(self, text: &[char], today: Date) -> bool {
        match self {
            Self::DocumentCode(known) => text.iter().all(|&c| known.contains(c)),
            Self::State => {
                let code: String = text.iter().filter(|&&c| c != '<').collect();
                icao::issuer(&code).is_some()
            }
            Self::Birth => dates::may_be_birth(text, today),
            Self::Expiry => dates::expiry(text, None, today).is_some(),
        }
    }
}

/// The positions of every line. `rest` is the number of the document number's characters in the optional
/// data. Without `checked`, check digits are ignored and only the classes apply.
pub(super) fn positions(layout: &Layout, rest: usize, checked: bool) -> Vec<Vec<Position>> {
    let other = Position {
        class: Class::Any,
        part: Part::Other,
        weights: [0; 2],
        closes: [false; 2],
        completes: None,
    };
    let mut grid = vec![vec![other; layout.width]; layout.lines];
    let mut class = |span: Span, class: Class, part: Part| {
        for (line, column) in span.positions() {
            grid[line][column].class = class;
            grid[line][column].part = part;
        }
    };
    class(layout.issuer, Class::LetterOrFiller, Part::Other);
    class(layout.number, Class::Any, Part::Number);
    for span in [layout.optional, layout.optional2].into_iter().flatten() {
        class(span, Class::Any, Part::Data);
    }
    class(layout.birth, Class::DigitOrFiller, Part::Other);
    class(layout.sex, Class::Sex, Part::Other);
    match layout.names {
        NameSpans::Together(span) => class(span, Class::LetterOrFiller, Part::Name),
        NameSpans::Apart { surname, given } => {
            class(surname, Class::LetterOrFiller, Part::Name);
            class(given, Class::LetterOrFiller, Part::Other);
        }
    }
    if let Some(span) = layout.nationality {
        class(span, Class::LetterOrFiller, Part::Other);
    }
    if let Some(span) = layout.expiry {
        class(span, Class::DigitOrFiller, Part::Other);
    }
    let (line, column) = (layout.document_code.line, layout.document_code.start);
    grid[line][column].class = Class::Letter;
    grid[line][column].completes = Some(JudgedField::DocumentCode(layout.document_letters));
    for (span, field) in [
        (Some(layout.issuer), JudgedField::State),
        (layout.nationality, JudgedField::State),
        (Some(layout.birth), JudgedField::Birth),
        (layout.expiry, JudgedField::Expiry),
    ] {
        if let Some((line, column)) = span.and_then(|span| span.positions().last()) {
            grid[line][column].completes = Some(field);
        }
    }

    for check in layout.checks(rest) {
        let slot = usize::from(check.name == MrzCheck::Composite);
        let digit = &mut grid[check.digit.0][check.digit.1];
        digit.class = if check.may_be_blank() {
            Class::DigitOrFiller
        } else {
            Class::Digit
        };
        digit.closes[slot] = checked;
        let covered = check.covers.iter().flat_map(|span| span.positions());
        for ((line, column), weight) in covered.zip(WEIGHTS.iter().cycle()) {
            grid[line][column].weights[slot] = if checked { *weight } else { 0 };
        }
    }
    if let (Some(more), true) = (layout.long_number, rest > 0) {
        let (line, column) = layout.number_digit();
        grid[line][column].class = Class::Filler;
        for position in &mut grid[more.line][more.start..more.start + rest] {
            position.part = Part::Number;
        }
        if rest + 1 < more.len {
            grid[more.line][more.start + rest + 1].class = Class::Filler;
        }
    }
    grid
}
