//! Countries by name: every language of CLDR, English names of ISO 3166-1 and everyday short names.
//!
//! A name that could mean two countries is refused, never guessed. `cargo run -p xtask -- country-names`
//! generates the table. It is searched in the binary's static data, so that it costs neither start-up time
//! nor heap.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::{Country, country};

/// Sorted lines `normalised name TAB alpha-2[,alpha-2…]`.
static NAMES: &str = include_str!("../data/country-names.tsv");

/// Why a text does not name exactly one country.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No country has that name in any language of the table.
    #[error("is not a valid country code or name")]
    Unknown,
    /// Several countries have that name; they are in alpha-2 order.
    #[error("is ambiguous; it could be {}", .0.iter().map(|c| c.name).collect::<Vec<_>>().join(" or "))]
    Ambiguous(Vec<&'static Country>),
}

/// The country of an alpha-2 or alpha-3 code or, if the text is not a code, of a name.
///
/// # Errors
/// The same as [`country_by_name`].
pub fn find_country(text: &str) -> Result<&'static Country, NameError> {
    let text = text.trim();
    country(text).map_or_else(|| country_by_name(text), Ok)
}

/// The country of a name in any language of CLDR; case, accents and punctuation do not matter.
///
/// # Errors
/// [`NameError`] when no country or more than one has the name.
pub fn country_by_name(name: &str) -> Result<&'static Country, NameError> {
    // The longest name has about a hundred characters, so a much longer text is refused before it costs any
    // work.
    if name.len() > 1024 {
        return Err(NameError::Unknown);
    }
    let codes = find_line(&normalise_name(name)).ok_or(NameError::Unknown)?;
    let mut found: Vec<_> = codes.split(',').filter_map(country).collect();
    match found.len() {
        0 => Err(NameError::Unknown),
        1 => Ok(found.swap_remove(0)),
        _ => Err(NameError::Ambiguous(found)),
    }
}

/// The codes of `name` in the sorted table: bisection over byte offsets, each moved to the start of its line.
fn find_line(name: &str) -> Option<&'static str> {
    let (mut low, mut high) = (0, NAMES.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let start = NAMES.as_bytes()[..middle]
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |i| i + 1);
        let end = NAMES.as_bytes()[middle..]
            .iter()
            .position(|b| *b == b'\n')
            .map_or(NAMES.len(), |i| middle + i);
        let (key, codes) = NAMES[start..end].split_once('\t')?;
        match name.cmp(key) {
            std::cmp::Ordering::Equal => return Some(codes),
            std::cmp::Ordering::Less => high = start,
            std::cmp::Ordering::Greater => low = end + 1,
        }
    }
    None
}

/// The form in which names are compared: lower case, without accents, apostrophes and punctuation, with one
/// space between words. Vowel signs of scripts that need them (Devanagari, Thai, …) remain.
pub fn normalise_name(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for c in name.nfkd() {
        if is_accent(c) || is_ignored(c) {
            continue;
        }
        if c.is_alphanumeric() || is_combining_mark(c) {
            folded.extend(c.to_lowercase().flat_map(fold_latin));
        } else {
            folded.push(' ');
        }
    }
    // Lower-casing can produce an accent (`İ` becomes `i` with a dot above).
    let composed: String = folded.nfd().filter(|c| !is_accent(*c)).nfkc().collect();
    composed.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Marks that people often omit: Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowels and hamza.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}

/// Apostrophes in all their forms, soft hyphen, joiners and direction marks.
fn is_ignored(c: char) -> bool {
    matches!(
        c,
        '\'' | '`'
            | '\u{ad}'
            | '\u{b4}'
            | '\u{2b9}'..='\u{2bf}'
            | '\u{2c8}'
            | '\u{2018}'..='\u{201b}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{a78b}'..='\u{a78c}'
            | '\u{feff}'
    )
}

/// Latin letters that Unicode does not decompose (`ø`, `ł`, `ı`, `æ`, …), as plain letters.
fn fold_latin(c: char) -> impl Iterator<Item = char> {
    let folded = match c {
        '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => any_ascii::any_ascii_char(c),
        _ => "",
    };
    folded
        .chars()
        .flat_map(char::to_lowercase)
        .chain(folded.is_empty().then_some(c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn code(name: &str) -> Option<&'static str> {
        country_by_name(name).ok().map(|c| c.alpha2)
    }

    #[test]
    fn finds_names_of_many_languages() {
        for (name, expected) in [
            ("Germany", "DE"),
            ("  germany ", "DE"),
            ("DEUTSCHLAND", "DE"),
            ("Österreich", "AT"),
            ("osterreich", "AT"),
            ("Côte d’Ivoire", "CI"),
            ("cote d'ivoire", "CI"),
            ("Ivory Coast", "CI"),
            ("United Kingdom", "GB"),
            ("UK", "GB"),
            ("Great Britain", "GB"),
            ("USA", "US"),
            ("U.S.A.", "US"),
            ("United States of America", "US"),
            ("Estados Unidos", "US"),
            ("日本", "JP"),
            ("대한민국", "KR"),
            ("中国", "CN"),
            ("Россия", "RU"),
            ("россия", "RU"),
            ("Ελλάδα", "GR"),
            ("ΕΛΛΑΔΑ", "GR"),
            ("مصر", "EG"),
            ("ישראל", "IL"),
            ("भारत", "IN"),
            ("ไทย", "TH"),
            ("Türkiye", "TR"),
            ("Turkey", "TR"),
            ("TÜRKİYE", "TR"),
            ("Holland", "NL"),
            ("Czech Republic", "CZ"),
            ("Česko", "CZ"),
            ("Côte-d'Ivoire", "CI"),
            ("Guinea-Bissau", "GW"),
            ("Guinea", "GN"),
            ("Niger", "NE"),
            ("Nigeria", "NG"),
            ("Bosnia & Herzegovina", "BA"),
            ("Bosnia and Herzegovina", "BA"),
            ("Kosovo", "XK"),
            ("Hong Kong", "HK"),
            ("Viet Nam", "VN"),
            ("Việt Nam", "VN"),
        ] {
            assert_eq!(code(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn refuses_instead_of_guessing() {
        let ambiguous = |name| match country_by_name(name) {
            Err(NameError::Ambiguous(countries)) => countries.iter().map(|c| c.alpha2).collect::<Vec<_>>(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(ambiguous("Korea"), ["KP", "KR"]);
        assert_eq!(ambiguous("congo"), ["CD", "CG"]);
        for unknown in [
            "",
            "  ",
            "Utopia",
            "Atlantis",
            "\t",
            "germany\tDE",
            "\n",
            "zzzz",
            "!",
        ] {
            assert_eq!(country_by_name(unknown), Err(NameError::Unknown), "{unknown:?}");
        }
        assert_eq!(
            country_by_name("Korea").map_err(|e| e.to_string()),
            Err("is ambiguous; it could be North Korea or South Korea".to_owned())
        );
    }

    #[test]
    fn codes_come_before_names() {
        assert_eq!(find_country("deu").map(|c| c.alpha2), Ok("DE"));
        assert_eq!(find_country(" fr ").map(|c| c.alpha2), Ok("FR"));
        assert_eq!(find_country("Uk").map(|c| c.alpha2), Ok("GB"));
        assert_eq!(find_country("Frankreich").map(|c| c.alpha2), Ok("FR"));
    }

    #[test]
    fn every_line_is_found_and_the_table_is_sorted_and_normal() {
        let lines: Vec<_> = NAMES.lines().filter_map(|l| l.split_once('\t')).collect();
        assert_eq!(lines.len(), NAMES.lines().count());
        assert!(lines.is_sorted_by(|a, b| a.0 < b.0));
        for (name, codes) in lines {
            assert_eq!(find_line(name), Some(codes), "{name}");
            assert_eq!(normalise_name(name), name);
            assert!(
                codes
                    .split(',')
                    .all(|c| country(c).is_some_and(|x| x.alpha2 == c)),
                "{name}: {codes}"
            );
        }
    }

    #[test]
    fn every_english_name_finds_its_country() {
        for c in crate::countries() {
            assert_eq!(country_by_name(c.name), Ok(c));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "\\PC*") {
            let _ = country_by_name(&text);
            let once = normalise_name(&text);
            prop_assert!(!once.contains(['\t', '\n']));
        }
    }
}
