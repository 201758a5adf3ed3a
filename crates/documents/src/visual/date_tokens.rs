//! Divides a text into the runs of digits and of letters that dates consist of, with the signs between them.
//!
//! This module never decides what is a date; `dates` does.

use std::ops::Range;

/// A run of digits or of letters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    /// Its characters in the text.
    pub(super) chars: Range<usize>,
    /// What divides it from the previous token.
    pub(super) gap: Gap,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    /// At most eight digits.
    Number { value: u32, digits: usize },
    /// Letters folded to ASCII capitals, or more digits.
    Word(String),
}

/// What divides two tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) sign: Sign,
    /// Whether there are blanks, too.
    pub(super) has_blank: bool,
}

/// A sign between two tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// Nothing: the tokens touch.
    Nothing,
    /// Only blanks.
    Blank,
    /// Full stops, or commas and colons, which recognition confuses with them.
    Stop,
    /// Obliques.
    Slash,
    /// Hyphens.
    Hyphen,
    /// The sign after the year in Chinese, Japanese and Korean.
    Year,
    /// The sign after the month.
    Month,
    /// Any other sign, or several.
    Other,
}

impl Sign {
    /// Whether it divides the parts of a date in figures.
    pub(super) fn divides_date(self) -> bool {
        matches!(self, Sign::Blank | Sign::Stop | Sign::Slash | Sign::Hyphen)
    }

    fn of(c: char) -> Self {
        match c {
            '.' | ',' | ':' | '·' | '．' | '，' | '。' => Self::Stop,
            '/' | '／' | '|' | '\\' => Self::Slash,
            '-' | '‐' | '‑' | '–' | '—' | '_' => Self::Hyphen,
            '年' | '년' => Self::Year,
            '月' | '월' => Self::Month,
            _ => Self::Other,
        }
    }
}

impl Gap {
    fn of(between: &[char]) -> Self {
        let mut sign = if between.is_empty() {
            Sign::Nothing
        } else {
            Sign::Blank
        };
        for c in between.iter().filter(|c| !c.is_whitespace()) {
            sign = match (sign, Sign::of(*c)) {
                (Sign::Blank, next) => next,
                (sign, next) if sign == next => sign,
                _ => Sign::Other,
            };
        }
        Self {
            sign,
            has_blank: between.iter().any(|c| c.is_whitespace()),
        }
    }

    /// Whether the tokens are parts of one number, such as `99.12.08`: the sign alone joins them.
    pub(super) fn joins(self, sign: Sign) -> bool {
        !self.has_blank && self.sign == sign && sign != Sign::Blank
    }
}

impl Token {
    /// The value and the number of digits.
    pub(super) fn number(&self) -> Option<(u32, usize)> {
        match self.kind {
            TokenKind::Number { value, digits } => Some((value, digits)),
            TokenKind::Word(_) => None,
        }
    }

    pub(super) fn word(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Word(word) => Some(word),
            TokenKind::Number { .. } => None,
        }
    }
}

/// The tokens of a text, in order.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut runs: Vec<(String, Range<usize>, bool)> = Vec::new();
    let mut is_open = false;
    for (at, &c) in chars.iter().enumerate() {
        let is_sign = matches!(c, '年' | '月' | '日' | '년' | '월' | '일');
        let letters: String = (if is_sign { "" } else { any_ascii::any_ascii_char(c) })
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_uppercase())
            .collect();
        if letters.is_empty() {
            is_open = false;
            continue;
        }
        let is_digit = letters.bytes().all(|b| b.is_ascii_digit());
        match runs.last_mut() {
            Some((word, range, digits)) if is_open && *digits == is_digit => {
                word.push_str(&letters);
                range.end = at + 1;
            }
            _ => runs.push((letters, at..at + 1, is_digit)),
        }
        is_open = true;
    }
    let mut end = 0;
    runs.into_iter()
        .map(|(word, range, is_digits)| {
            let digits = word.len();
            let gap = Gap::of(chars.get(end..range.start).unwrap_or_default());
            end = range.end;
            let kind = match word.parse() {
                Ok(value) if is_digits && digits <= 8 => TokenKind::Number { value, digits },
                _ => TokenKind::Word(word),
            };
            Token {
                kind,
                chars: range,
                gap,
            }
        })
        .collect()
}
