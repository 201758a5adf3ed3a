//! Countries by their ISO 3166-1 codes. [`crate::country_by_name`] finds a country by its name in any
//! language.

mod country;
mod table;

pub use country::Country;

/// The specimen state of ICAO 9303. No look-up returns it; only sandbox code may treat it as a country.
pub static UTOPIA: Country = Country {
    alpha2: "UT",
    alpha3: "UTO",
    name: "Utopia",
};

/// Every country, sorted by alpha-2.
pub fn countries() -> &'static [Country] {
    &table::COUNTRIES
}

/// The country of an alpha-2 or alpha-3 code in any case.
pub fn country(code: &str) -> Option<&'static Country> {
    match code.len() {
        2 => countries().iter().find(|c| c.alpha2.eq_ignore_ascii_case(code)),
        3 => countries().iter().find(|c| c.alpha3.eq_ignore_ascii_case(code)),
        _ => None,
    }
}

/// The country of an alpha-3 code, which must be upper case as the standard writes it.
pub fn country_by_alpha3(code: &str) -> Option<&'static Country> {
    countries().iter().find(|c| c.alpha3 == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_up_codes() {
        assert_eq!(country("de").map(|c| c.alpha3), Some("DEU"));
        assert_eq!(country("Deu").map(|c| c.alpha2), Some("DE"));
        assert_eq!(country_by_alpha3("DEU").map(|c| c.name), Some("Germany"));
        for wrong in ["", "d", "D", "XX", "ZZZ", "UTO", "UT", "DEUT", "dé"] {
            assert_eq!(country(wrong), None, "{wrong}");
        }
        assert_eq!(country_by_alpha3("deu"), None);
        assert_eq!(country_by_alpha3("DE"), None);
    }

    #[test]
    fn the_table_is_sorted_and_has_no_code_twice() {
        assert_eq!(countries().len(), 249 + 1, "ISO 3166-1 and Kosovo");
        assert!(countries().is_sorted_by(|a, b| a.alpha2 < b.alpha2));
        let mut alpha3: Vec<_> = countries().iter().map(|c| c.alpha3).collect();
        alpha3.sort_unstable();
        alpha3.dedup();
        assert_eq!(alpha3.len(), countries().len());
    }
}
