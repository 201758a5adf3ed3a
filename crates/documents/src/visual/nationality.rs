//! Reads a nationality as documents print it: a code, a state's name in any language, or an adjective.
//!
//! A text must be a nationality as a whole. Parts in several languages must mean the same state, or there is no value:
//! this module never chooses between two states.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::text::fold_text;

/// Columns: code, nationalities. Adjectives that two states share (Congolese, Dominican, Guinean, Korean) are left
/// out, and so are those of territories whose code differs from their nationality's.
const TABLE: &str = include_str!("nationalities.tsv");

static NATIONALITIES: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| {
    TABLE
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .flat_map(|(code, names)| names.split(", ").map(move |name| (fold_text(name), code)))
        .collect()
});

/// The code of a nationality: alpha-3, or another of ICAO 9303-3 §5.
pub(super) fn read_nationality(text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric() && c != ')');
    if text.chars().count() > 80 {
        return None;
    }
    if let Some(code) = one(text) {
        return Some(code);
    }
    let parts: Vec<&str> = text
        .split(['/', '|', '(', ')', '／'])
        .flat_map(|part| part.split(" - "))
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    if parts.len() < 2 {
        return None;
    }
    let mut codes = parts.iter().filter_map(|part| one(part));
    let code = codes.next()?;
    codes.all(|other| other == code).then_some(code)
}

/// The nationalities that the parts of a text state, where they are readable.
pub(super) fn nationalities(text: &str) -> impl Iterator<Item = String> {
    text.split(['/', '|', '／']).filter_map(|part| one(part.trim()))
}

/// Whether a text has a nationality's adjective, which unlike a state's name is no title of a document. Parts in other
/// languages may be unknown.
pub(super) fn has_adjective(text: &str) -> bool {
    text.split(['/', '|', '／']).any(|part| {
        NATIONALITIES.contains_key(&fold_text(part)) && reference::country_by_name(part.trim()).is_err()
    })
}

fn one(text: &str) -> Option<String> {
    let folded = fold_text(text);
    if let Some(code) = NATIONALITIES.get(&folded) {
        return Some((*code).to_owned());
    }
    if folded.len() == 3 && is_code_in_capitals(text.trim()) {
        return code(&folded);
    }
    if folded.len() < 4 {
        return None;
    }
    reference::country_by_name(text.trim())
        .ok()
        .map(|country| country.alpha3.to_owned())
}

/// Whether a text is in capitals. The capitals of some letters differ from small ones in size only, so that recognition
/// cannot tell them apart: `xxx` is a code, and `per` is a word.
fn is_code_in_capitals(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_uppercase() || matches!(c, 'c' | 'o' | 's' | 'u' | 'v' | 'w' | 'x' | 'z'))
}

/// The alpha-3 code of a printed code, or the code itself where no country has it.
pub(super) fn code(text: &str) -> Option<String> {
    let issuer = reference::icao::issuer(text.trim())?;
    Some(
        issuer
            .country
            .map_or(issuer.code, |country| country.alpha3)
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_table_has_known_codes_and_no_phrase_twice() {
        let mut seen = HashMap::new();
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let (code, names) = line.split_once('\t').unwrap();
            assert!(reference::icao::issuer(code).is_some(), "{code}");
            for name in names.split(", ") {
                let other = seen.insert(fold_text(name), code).unwrap_or(code);
                assert_eq!(other, code, "{name}");
                // A state's name has the code of that state.
                if let Ok(country) = reference::country_by_name(name) {
                    assert_eq!(country.alpha3, code, "{name}");
                }
            }
        }
    }

    #[test]
    fn nationalities_are_codes_names_and_adjectives() {
        let rows = [
            ("DEU", Some("DEU")),
            ("D", None),
            ("DEUTSCH", Some("DEU")),
            ("Española", Some("ESP")),
            ("FRANÇAISE", Some("FRA")),
            ("ITALIANA", Some("ITA")),
            ("POLSKIE/POLISH", Some("POL")),
            ("BRITISH CITIZEN", Some("GBR")),
            ("BRITISH OVERSEAS TERRITORIES CITIZEN", Some("GBD")),
            ("UNITED STATES OF AMERICA", Some("USA")),
            ("TRINIDAD AND TOBAGO", Some("TTO")),
            ("ČESKÁ REPUBLIKA / CZECH REPUBLIC", Some("CZE")),
            ("CANADIAN/CANADIENNE", Some("CAN")),
            ("UTO", Some("UTO")),
            ("FRA / DEU", None),
            // A comma divides a place from its state.
            ("PARIS, FRANCE", None),
            ("ITALY, ITA", None),
            ("KOREAN", None),
            ("CITIZEN", None),
            ("AND", Some("AND")),
            ("PER", Some("PER")),
            ("per", None),
            ("xxx", Some("XXX")),
            ("ANNA MARIA", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(read_nationality(text).as_deref(), expected, "{text}");
        }
        assert!(has_adjective("POLSKIE/POLISH") && !has_adjective("Poland"));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,90}") {
            let _ = (read_nationality(&text), has_adjective(&text));
        }
    }
}
