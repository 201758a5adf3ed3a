//! Folds printed text for comparison: to ASCII capitals, or to keys that forgive what recognition confuses.
//!
//! Folded text is for comparison only. It is never a value.

use std::ops::Range;

/// A word of a printed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// ASCII capitals and digits, or one sign of Chinese, Japanese or Korean; never empty.
    pub(super) folded: String,
    /// [`ocr_key`] of it.
    pub(super) key: String,
    /// Its characters in the text.
    pub(super) chars: Range<usize>,
    /// Whether nothing but blanks separates it from the previous word.
    pub(super) follows_blank: bool,
}

/// The words of a text. A capital after a small letter begins a word, because recognition often joins words:
/// `SexeM`, `DateofbirthDate`. So does a digit after three letters or more.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut previous, mut open, mut only_blanks) = (' ', false, true);
    for (at, c) in text.chars().enumerate() {
        let is_single = is_word_sign(c);
        let folded: String = if is_single {
            c.to_string()
        } else {
            any_ascii::any_ascii_char(c)
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .map(|c| c.to_ascii_uppercase())
                .collect()
        };
        if folded.is_empty() {
            // Apostrophes and combining marks do not end a word's blanks; other signs do.
            only_blanks &= c.is_whitespace();
            open = false;
            previous = c;
            continue;
        }
        let is_joint = previous.is_lowercase() && c.is_uppercase()
            || c.is_ascii_digit()
                && previous.is_alphabetic()
                && words.last().is_some_and(|w| {
                    w.folded.len() >= 3 && w.folded.bytes().all(|b| b.is_ascii_alphabetic())
                })
            || is_single
            || is_word_sign(previous);
        match words.last_mut() {
            Some(word) if open && !is_joint => {
                word.folded.push_str(&folded);
                word.chars.end = at + 1;
            }
            _ => words.push(Word {
                folded,
                key: String::new(),
                chars: at..at + 1,
                follows_blank: only_blanks,
            }),
        }
        (previous, open, only_blanks) = (c, true, true);
    }
    for word in &mut words {
        word.key = ocr_key(&word.folded);
    }
    words
}

/// Whether a sign is a word: Chinese, Japanese and Korean have no blanks between words. Other scripts are romanised.
fn is_word_sign(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

/// Folds text for comparison: ASCII capitals and digits, with single spaces between words.
pub(super) fn fold_text(text: &str) -> String {
    let ascii = any_ascii::any_ascii(text).to_ascii_uppercase();
    let words: Vec<&str> = ascii
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|w| !w.is_empty())
        .collect();
    words.join(" ")
}

/// A key that is equal for spellings which recognition or a keyboard confuses: `Surname` and `Sumame`, `Für` and
/// `FUER`, `l` and `1`.
pub(super) fn ocr_key(folded: &str) -> String {
    let like: String = folded
        .chars()
        .map(|c| match c {
            '0' => 'O',
            '1' | 'L' => 'I',
            '5' => 'S',
            '8' => 'B',
            c => c,
        })
        .collect();
    like.replace("RN", "M")
        .replace("VV", "W")
        .replace("AE", "A")
        .replace("OE", "O")
        .replace("UE", "U")
}

/// A key that is equal for a printed name and its transliterations (ICAO 9303-3 §6): `Müller`, `MUELLER` and
/// `MULLER`; `Ångström` and `AANGSTROEM`; `Núñez` and `NUNXXEZ`.
pub(super) fn name_key(name: &str) -> String {
    reference::icao::transliterate(name)
        .replace("NXX", "N")
        .replace("UXX", "U")
        .replace("AE", "A")
        .replace("OE", "O")
        .replace("UE", "U")
        .replace("AA", "A")
        .replace("IJ", "Y")
}

/// The edit distance of two ASCII texts, if it is at most `most`. The edits are insert, delete and replace.
pub(super) fn edit_distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
        if row.iter().min().is_some_and(|least| *least > most) {
            return None;
        }
    }
    row.last().copied().filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn joined_words_are_divided() {
        let rows: &[(&str, &[&str])] = &[
            ("Sex/SexeM", &["SEX", "SEXE", "M"]),
            ("DateofbirthDate", &["DATEOFBIRTH", "DATE"]),
            ("Nom123", &["NOM", "123"]),
            ("L898902C3", &["L898902C3"]),
            ("4a.Größe", &["4A", "GROSSE"]),
            ("", &[]),
        ];
        for (text, expected) in rows {
            let found: Vec<String> = words(text).into_iter().map(|w| w.folded).collect();
            assert_eq!(found, *expected, "{text}");
        }
    }

    #[test]
    fn keys_forgive_what_recognition_confuses() {
        for (a, b) in [
            ("SURNAME", "SUMAME"),
            ("GUELTIG", "GULTIG"),
            ("NATI0NALITY", "NATIONALITY"),
        ] {
            assert_eq!(ocr_key(a), ocr_key(b));
        }
        for (a, b) in [
            ("Müller", "MUELLER"),
            ("Müller", "MULLER"),
            ("Sørensen", "SOERENSEN"),
            ("Núñez", "NUNEZ"),
            ("O'Neill", "ONEILL"),
            ("Ångström", "AANGSTROEM"),
        ] {
            assert_eq!(name_key(a), name_key(b), "{a} {b}");
        }
        assert_ne!(name_key("SMITH"), name_key("SMYTH"));
    }

    #[test]
    fn edits_are_counted_up_to_a_limit() {
        let rows = [
            ("", "", 0, Some(0)),
            ("ABC", "ABC", 0, Some(0)),
            ("ABC", "ABD", 1, Some(1)),
            ("ABC", "AC", 1, Some(1)),
            ("ABC", "CBA", 1, None),
            ("PLACE", "DATE", 2, None),
        ];
        for (a, b, most, expected) in rows {
            assert_eq!(edit_distance(a, b, most), expected, "{a} {b}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,40}") {
            let length = text.chars().count();
            for word in words(&text) {
                prop_assert!(!word.folded.is_empty() && word.chars.end <= length);
            }
            let _ = (fold_text(&text), name_key(&text), ocr_key(&text));
        }
    }
}
