//! Decides whether a printed text has the form of a field, and parses it.
//!
//! A text that does not have its field's form gives no value. No function here corrects a text.

use super::dates::{Compact, DateOrder, find_dates};
use super::labels::is_like_label;
use super::text::fold_text;

/// The most characters of a name. ICAO 9303-3 truncates at 39, and print is longer.
const MAX_NAME: usize = 60;

/// Words that print near names and are none, folded. A name with one of them is refused.
const NOT_NAMES: &[&str] = &[
    "AUTHORITY",
    "AUTORITE",
    "CERTIFICATE",
    "CITIZEN",
    "COMMUNITY",
    "CONSULATE",
    "DEPARTMENT",
    "DRIVER",
    "DRIVING",
    "EMBASSY",
    "EUROPEAN",
    "EUROPEENNE",
    "FEDERAL",
    "GOVERNMENT",
    "IDENTITY",
    "INTERIOR",
    "KINGDOM",
    "LICENCE",
    "LICENSE",
    "MINISTER",
    "MINISTERE",
    "MINISTERIO",
    "MINISTERO",
    "MINISTERSTVO",
    "MINISTERSTWO",
    "MINISTRY",
    "MOTOR",
    "NATIONALITY",
    "OFFICE",
    "PASSEPORT",
    "PASSPORT",
    "PERMIT",
    "POLICE",
    "PREFECTURE",
    "PREFET",
    "REPUBLIC",
    "REPUBLICA",
    "REPUBLIEK",
    "REPUBLIK",
    "REPUBLIKA",
    "REPUBLIQUE",
    "REPUBBLICA",
    "SIGNATURE",
    "STATES",
    "UNION",
    "UNITED",
    "VEHICLES",
];

/// A name has letters, blanks, hyphens, apostrophes and full stops. A comma separates the parts of a whole name.
pub(super) fn name(text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric() && c != '.');
    let text = text.trim_start_matches('.');
    let allowed = |c: char| {
        c.is_alphabetic()
            || matches!(
                c,
                ' ' | '-' | '‐' | '‑' | '\'' | '’' | '`' | '´' | '.' | ',' | 'ʻ' | 'ʼ'
            )
            || ('\u{300}'..='\u{36f}').contains(&c)
    };
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let is_form = letters >= 2
        && text.chars().count() <= MAX_NAME
        && !text.chars().next().is_some_and(char::is_lowercase)
        && text.chars().all(allowed);
    if !is_form || is_like_label(text) || is_mixed_inside(text) {
        return None;
    }
    let folded = fold_text(text);
    let mut words = folded.split(' ');
    if words.any(|word| NOT_NAMES.contains(&word)) {
        return None;
    }
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Whether a word has a capital after two small letters or more, or begins small after a capitalised word of three
/// letters: signs of joined or misread text.
fn is_mixed_inside(text: &str) -> bool {
    text.split(|c: char| !c.is_alphabetic()).any(|word| {
        let letters: Vec<char> = word.chars().collect();
        let small = letters.iter().filter(|c| c.is_lowercase()).count();
        let jumps = letters
            .windows(3)
            .any(|w| w[0].is_lowercase() && w[1].is_lowercase() && w[2].is_uppercase());
        // `McDonald` and `MacLEOD` have one small run; `SMitH` has capitals on both sides.
        let broken = letters.len() > 3
            && small > 0
            && letters
                .windows(3)
                .any(|w| w[0].is_uppercase() && w[1].is_uppercase() && w[2].is_lowercase());
        (jumps && !word.starts_with("Mac")) || broken
    })
}

/// A document number: 5–20 capitals and digits with at least three digits. Blanks, hyphens and full stops inside are
/// removed. A date is none.
pub(super) fn number(text: &str) -> Option<String> {
    let joined: String = text
        .trim()
        .chars()
        .filter(|c| !matches!(c, ' ' | '-' | '.'))
        .collect();
    let plausible = |candidate: &str| {
        let digits = candidate.bytes().filter(u8::is_ascii_digit).count();
        (5..=20).contains(&candidate.len())
            && digits >= 3
            && candidate
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
    };
    let is_date = |text: &str| {
        text.contains(|c: char| !c.is_alphanumeric())
            && !find_dates(text, DateOrder::DayFirst, Compact::Numbers).is_empty()
    };
    if is_date(text) {
        return None;
    }
    if plausible(&joined) {
        return Some(joined);
    }
    let mut words = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| plausible(word));
    let word = words.next()?;
    words.next().is_none().then(|| word.to_owned())
}

/// Given names without the titles that British licences print before them.
pub(super) fn without_titles(name: &str) -> &str {
    const TITLES: [&str; 6] = ["MR", "MRS", "MISS", "MS", "DR", "MX"];
    match name.split_once(' ') {
        Some((first, rest)) if TITLES.contains(&first.trim_end_matches('.')) => rest.trim(),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_have_the_form_of_names() {
        let rows = [
            ("O'Neill-Śmith", Some("O'Neill-Śmith")),
            (": McDONALD", Some("McDONALD")),
            ("MacLEOD", Some("MacLEOD")),
            ("ANNA  MARIA", Some("ANNA MARIA")),
            ("MARTIN, JOHN", Some("MARTIN, JOHN")),
            ("VON DER LEYEN", Some("VON DER LEYEN")),
            ("LEE W.", Some("LEE W.")),
            ("12345", None),
            ("MARTIN 2", None),
            ("X", None),
            ("of birth", None),
            // Labels, authorities and titles.
            ("NOM", None),
            ("GIVEN NAMES", None),
            ("Givn names", None),
            ("Place of birth", None),
            ("PASSPORT OFFICE", None),
            ("MINISTRY OF HEALTH", None),
            ("UNITED STATES OF AMERICA", None),
            // Misread print.
            ("SMitH", None),
            ("annaMaria", None),
            ("AnnaMaria", None),
        ];
        for (text, expected) in rows {
            assert_eq!(name(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn numbers_have_the_form_of_numbers() {
        let rows = [
            ("99 006 000", Some("99006000")),
            ("AB-123456", Some("AB123456")),
            ("ZE 184226 B", Some("ZE184226B")),
            ("No L898902C3", Some("L898902C3")),
            ("MORGA753116SM9IJ 35", Some("MORGA753116SM9IJ35")),
            ("12.08.1974", None),
            ("12 AUG 1974", None),
            ("PASSPORT", None),
            ("1234", None),
            ("L898902C3 / 123456789", None),
        ];
        for (text, expected) in rows {
            assert_eq!(number(text).as_deref(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,60}") {
            let _ = (name(&text), number(&text), without_titles(&text).len());
        }
    }
}
