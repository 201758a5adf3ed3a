//! The scripts in which states print values beside Latin letters (PRADO, the EU's public register of identity documents;
//! ISO 15924). It never says which script a document's text is in.

use std::fmt;

/// A script other than Latin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Script {
    /// Arabic, also for Persian, Pashto and Urdu.
    Arabic,
    /// Armenian.
    Armenian,
    /// Bengali.
    Bengali,
    /// Burmese.
    Burmese,
    /// Cyrillic.
    Cyrillic,
    /// Devanagari.
    Devanagari,
    /// Ethiopic.
    Ethiopic,
    /// Georgian.
    Georgian,
    /// Greek.
    Greek,
    /// Han.
    Han,
    /// Hangul.
    Hangul,
    /// Hebrew.
    Hebrew,
    /// Han with kana.
    Japanese,
    /// Khmer.
    Khmer,
    /// Lao.
    Lao,
    /// Sinhala, with Tamil.
    Sinhala,
    /// Thaana.
    Thaana,
    /// Thai.
    Thai,
    /// Tibetan.
    Tibetan,
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The states by script, as ISO 3166-1 alpha-3.
const STATES: &[(Script, &[&str])] = &[
    (
        Script::Arabic,
        &[
            "AFG", "ARE", "BHR", "DZA", "EGY", "IRN", "IRQ", "JOR", "KWT", "LBN", "LBY", "MAR", "MRT", "OMN",
            "PAK", "PSE", "QAT", "SAU", "SDN", "SYR", "TUN", "YEM",
        ],
    ),
    (Script::Armenian, &["ARM"]),
    (Script::Bengali, &["BGD"]),
    (Script::Burmese, &["MMR"]),
    (
        Script::Cyrillic,
        &[
            "BGR", "BIH", "BLR", "KAZ", "KGZ", "MKD", "MNG", "RUS", "SRB", "TJK", "UKR",
        ],
    ),
    (Script::Devanagari, &["IND", "NPL"]),
    (Script::Ethiopic, &["ERI", "ETH"]),
    (Script::Georgian, &["GEO"]),
    (Script::Greek, &["CYP", "GRC"]),
    (Script::Han, &["CHN", "HKG", "MAC", "SGP", "TWN"]),
    (Script::Hangul, &["KOR", "PRK"]),
    (Script::Hebrew, &["ISR"]),
    (Script::Japanese, &["JPN"]),
    (Script::Khmer, &["KHM"]),
    (Script::Lao, &["LAO"]),
    (Script::Sinhala, &["LKA"]),
    (Script::Thaana, &["MDV"]),
    (Script::Thai, &["THA"]),
    (Script::Tibetan, &["BTN"]),
];

/// The script in which a state (ISO 3166-1 alpha-3) prints values beside Latin letters; `None` if it prints only those.
pub fn script_beside_latin(alpha3: &str) -> Option<Script> {
    STATES
        .iter()
        .find(|(_, states)| states.contains(&alpha3))
        .map(|(script, _)| *script)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::countries::country_by_alpha3;

    #[test]
    fn every_state_exists_and_has_one_script() {
        let states: Vec<&str> = STATES
            .iter()
            .flat_map(|(_, states)| states.iter().copied())
            .collect();
        for state in &states {
            assert!(country_by_alpha3(state).is_some(), "{state}");
            assert_eq!(
                states.iter().filter(|other| *other == state).count(),
                1,
                "{state}"
            );
        }
    }

    #[test]
    fn scripts_are_found_by_state() {
        for (state, script) in [
            ("UKR", Some(Script::Cyrillic)),
            ("TWN", Some(Script::Han)),
            ("FRA", None),
            ("UTO", None),
            ("", None),
        ] {
            assert_eq!(script_beside_latin(state), script, "{state}");
        }
        assert_eq!(Script::Greek.to_string(), "Greek");
    }
}
