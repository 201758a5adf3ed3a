//! What ICAO Doc 9303-3 adds to ISO 3166: further issuer codes (§5) and the transliteration of names to A–Z
//! (§6).

use crate::{Country, UTOPIA, country_by_alpha3};

/// The issuer of a document, identified by the code in its MRZ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Issuer {
    /// The code without its fillers, such as `D` or `GBR`.
    pub code: &'static str,
    /// The English name.
    pub name: &'static str,
    /// The country of the code; none for organisations and people without a state. [`UTOPIA`] for `UTO`.
    pub country: Option<&'static Country>,
}

/// Codes beyond ISO 3166-1: code, name, and the alpha-3 of the country whose documents carry the code.
/// Sources: ICAO Doc 9303-3 §5 parts A–D, and codes in use that it does not list.
const BEYOND_ISO: &[(&str, &str, Option<&str>)] = &[
    ("D", "Germany", Some("DEU")),
    ("EUE", "European Union (laissez-passer)", None),
    ("GBD", "British Overseas Territories Citizen", Some("GBR")),
    ("GBN", "British National (Overseas)", Some("GBR")),
    ("GBO", "British Overseas Citizen", Some("GBR")),
    ("GBP", "British Protected Person", Some("GBR")),
    ("GBS", "British Subject", Some("GBR")),
    ("IAO", "International Civil Aviation Organization", None),
    // Serbia and Montenegro, Yugoslavia and Zaire are left out because only old documents carry their codes.
    ("RKS", "Kosovo", Some("XKX")),
    ("UNA", "Specialized agency of the United Nations", None),
    (
        "UNK",
        "United Nations Interim Administration Mission in Kosovo",
        None,
    ),
    ("UNO", "United Nations Organization", None),
    ("XAA", "Bank for International Settlements", None),
    ("XBA", "African Development Bank", None),
    ("XCC", "Caribbean Community", None),
    ("XCE", "Council of Europe", None),
    ("XCO", "Common Market for Eastern and Southern Africa", None),
    ("XDC", "Southern African Development Community", None),
    ("XEC", "Economic Community of West African States", None),
    ("XES", "Organization of Eastern Caribbean States", None),
    ("XIM", "African Export-Import Bank", None),
    ("XMP", "Parliamentary Assembly of the Mediterranean", None),
    ("XOM", "Sovereign Military Order of Malta", None),
    ("XPO", "International Criminal Police Organization", None),
    ("XXA", "Stateless person (1954 Convention)", None),
    ("XXB", "Refugee (1951 Convention)", None),
    ("XXC", "Refugee, other", None),
    ("XXX", "Person of unspecified nationality", None),
];

/// The issuer, or nationality, of a code in an MRZ. Trailing fillers (`D<<`) are accepted, lower case is not.
/// None for a code that neither ISO 3166-1 nor ICAO lists.
pub fn issuer(code: &str) -> Option<Issuer> {
    let code = code.trim_end_matches('<');
    if code == UTOPIA.alpha3 {
        return Some(Issuer {
            code: UTOPIA.alpha3,
            name: UTOPIA.name,
            country: Some(&UTOPIA),
        });
    }
    if let Some(&(code, name, alpha3)) = BEYOND_ISO.iter().find(|row| row.0 == code) {
        return Some(Issuer {
            code,
            name,
            country: alpha3.and_then(country_by_alpha3),
        });
    }
    country_by_alpha3(code).map(|c| Issuer {
        code: c.alpha3,
        name: c.name,
        country: Some(c),
    })
}

/// Territories whose documents carry the code of the state that they belong to: the state, then its
/// territories.
const ISSUED_BY_STATE: &[(&str, &[&str])] = &[
    ("AUS", &["CCK", "CXR", "HMD", "NFK"]),
    // Hong Kong's and Macao's passports carry CHN.
    ("CHN", &["HKG", "MAC"]),
    ("DNK", &["FRO", "GRL"]),
    ("FIN", &["ALA"]),
    (
        "FRA",
        &[
            "ATF", "BLM", "GLP", "GUF", "MAF", "MTQ", "MYT", "NCL", "PYF", "REU", "SPM", "WLF",
        ],
    ),
    (
        "GBR",
        &[
            "AIA", "BMU", "CYM", "FLK", "GGY", "GIB", "IMN", "IOT", "JEY", "MSR", "PCN", "SGS", "SHN", "TCA",
            "VGB",
        ],
    ),
    ("NLD", &["ABW", "BES", "CUW", "SXM"]),
    ("NOR", &["BVT", "SJM"]),
    ("NZL", &["COK", "NIU", "TKL"]),
    ("USA", &["ASM", "GUM", "MNP", "PRI", "UMI", "VIR"]),
];

/// Whether documents of a territory (alpha-3) can carry the code of a state (alpha-3) instead of the
/// territory's.
pub fn issues_for(state: &str, territory: &str) -> bool {
    ISSUED_BY_STATE
        .iter()
        .any(|(own, territories)| *own == state && territories.contains(&territory))
}

/// A name as an MRZ writes it: A–Z in upper case, with single spaces for the MRZ's `<`.
///
/// Latin and Cyrillic follow the tables of ICAO 9303-3 §6. Other scripts are romanised letter by letter,
/// since issuers differ there. Apostrophes and digits are removed; hyphens and other punctuation become
/// spaces.
pub fn transliterate(name: &str) -> String {
    use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

    let mut out = String::with_capacity(name.len());
    for c in name.nfc().flat_map(char::to_uppercase) {
        match c {
            'A'..='Z' => out.push(c),
            '0'..='9' | '\'' | '`' | '\u{b4}' | '\u{2b9}'..='\u{2bf}' | '\u{2018}'..='\u{201b}' => {}
            _ if is_combining_mark(c) => {}
            _ if !c.is_alphabetic() => out.push(' '),
            _ => match table(c) {
                Some(letters) => out.push_str(letters),
                // The table may contain the letter without its accent (Ã → A); otherwise the letter is
                // romanised.
                None => {
                    let base = c.nfd().next().unwrap_or(c);
                    let letters = table(base).unwrap_or_else(|| any_ascii::any_ascii_char(base));
                    out.extend(
                        letters
                            .chars()
                            .filter(char::is_ascii_alphabetic)
                            .map(|l| l.to_ascii_uppercase()),
                    );
                }
            },
        }
    }
    out.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// ICAO 9303-3 §6 A (Latin letters that do not simply lose their accent) and B (Cyrillic).
fn table(c: char) -> Option<&'static str> {
    Some(match c {
        'Ä' | 'Æ' => "AE",
        'Å' => "AA",
        'Ð' | 'Đ' => "D",
        'Ħ' => "H",
        'Ĳ' => "IJ",
        'ĸ' => "Q",
        'Ł' | 'Ŀ' => "L",
        'Ŋ' => "N",
        'Ö' | 'Ø' | 'Œ' => "OE",
        'ẞ' => "SS",
        'Þ' => "TH",
        'Ŧ' => "T",
        'Ü' => "UE",
        'А' => "A",
        'Б' => "B",
        'В' => "V",
        'Г' | 'Ґ' | 'Ѓ' => "G",
        'Д' | 'Ђ' => "D",
        'Е' | 'Ё' | 'Ѐ' | 'Э' => "E",
        'Є' => "IE",
        'Ж' => "ZH",
        'З' => "Z",
        'И' | 'І' | 'Ї' | 'Й' | 'Ѝ' => "I",
        'Ј' => "J",
        'К' | 'Ќ' => "K",
        'Л' => "L",
        'Љ' => "LJ",
        'М' => "M",
        'Н' => "N",
        'Њ' => "NJ",
        'О' => "O",
        'П' => "P",
        'Р' => "R",
        'С' => "S",
        'Ѕ' | 'Џ' => "DZ",
        'Т' => "T",
        'Ћ' => "C",
        'У' | 'Ў' | 'Ѫ' => "U",
        'Ф' | 'Ѳ' => "F",
        'Х' => "KH",
        'Ц' => "TS",
        'Ч' => "CH",
        'Ш' => "SH",
        'Щ' => "SHCH",
        'Ъ' => "IE",
        'Ы' | 'Ѵ' => "Y",
        'Ь' => "",
        'Ю' => "IU",
        'Я' => "IA",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn knows_issuers() {
        let alpha3 = |code| issuer(code).map(|i| i.country.map(|c| c.alpha3));
        assert_eq!(alpha3("D"), Some(Some("DEU")));
        assert_eq!(alpha3("D<<"), Some(Some("DEU")));
        assert_eq!(alpha3("GBN"), Some(Some("GBR")));
        assert_eq!(alpha3("RKS"), Some(Some("XKX")));
        assert_eq!(alpha3("FRA"), Some(Some("FRA")));
        assert_eq!(alpha3("UTO"), Some(Some("UTO")));
        assert_eq!(alpha3("UNO"), Some(None));
        assert_eq!(alpha3("XXB"), Some(None));
        for unknown in ["", "<<<", "QQQ", "fra", "FR", "é"] {
            assert_eq!(issuer(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn territories_are_countries_of_their_own_and_of_one_state() {
        let mut all: Vec<_> = ISSUED_BY_STATE
            .iter()
            .flat_map(|(_, territories)| territories.iter())
            .collect();
        let states = ISSUED_BY_STATE.iter().map(|(state, _)| state);
        assert!(
            states
                .chain(all.iter().copied())
                .all(|code| country_by_alpha3(code).is_some())
        );
        all.sort_unstable();
        assert!(all.is_sorted_by(|a, b| a < b));
        assert!(issues_for("CHN", "HKG") && !issues_for("HKG", "CHN") && !issues_for("CHN", "TWN"));
    }

    #[test]
    fn transliterates_as_icao_does() {
        for (name, expected) in [
            ("Müller", "MUELLER"),
            ("Weiß", "WEISS"),
            ("Ångström", "AANGSTROEM"),
            ("Ægir Þór Ðóri", "AEGIR THOR DORI"),
            ("O’Connor", "OCONNOR"),
            ("D'Arcy", "DARCY"),
            ("Anna-Maria", "ANNA MARIA"),
            ("García Núñez", "GARCIA NUNEZ"),
            ("Łódź", "LODZ"),
            ("Dvořák", "DVORAK"),
            ("İbrahim Işık", "IBRAHIM ISIK"),
            ("Nguyễn", "NGUYEN"),
            ("Хрущёв", "KHRUSHCHEV"),
            ("Юлия", "IULIIA"),
            ("Smith, Jr. 3", "SMITH JR"),
            ("  a  b ", "A B"),
            ("e\u{301}", "E"),
            ("", ""),
        ] {
            assert_eq!(transliterate(name), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn only_letters_and_single_spaces(name in "\\PC*") {
            let out = transliterate(&name);
            prop_assert!(out.chars().all(|c| c == ' ' || c.is_ascii_uppercase()));
            prop_assert!(!out.contains("  ") && out.trim() == out);
            prop_assert_eq!(transliterate(&out), out);
        }
    }
}
