//! Converts country names and codes of lists and callers to lower-case ISO 3166 alpha-2.

/// Spellings that authorities use and CLDR lacks.
const LIST_SPELLINGS: &[(&str, &str)] = &[
    ("korea, north", "kp"),
    ("korea, south", "kr"),
    ("north korea", "kp"),
    ("south korea", "kr"),
    ("democratic people's republic of korea", "kp"),
    ("republic of korea", "kr"),
    ("iran (islamic republic of)", "ir"),
    ("islamic republic of iran", "ir"),
    ("syrian arab republic", "sy"),
    ("russian federation", "ru"),
    ("burma", "mm"),
    ("congo, democratic republic of the", "cd"),
    ("democratic republic of the congo", "cd"),
    ("congo, republic of the", "cg"),
    ("united republic of tanzania", "tz"),
    ("libyan arab jamahiriya", "ly"),
    ("state of palestine", "ps"),
    ("palestinian", "ps"),
    ("west bank", "ps"),
    ("region: gaza", "ps"),
    ("bahamas, the", "bs"),
    ("gambia, the", "gm"),
    ("united kingdom of great britain and northern ireland", "gb"),
    ("united states of america", "us"),
    ("republic of moldova", "md"),
    ("bolivia (plurinational state of)", "bo"),
    ("venezuela (bolivarian republic of)", "ve"),
    ("the former yugoslav republic of macedonia", "mk"),
    ("turkey", "tr"),
    ("türkiye", "tr"),
    ("cote d ivoire", "ci"),
    ("côte d'ivoire", "ci"),
    ("hong kong", "hk"),
    ("macau", "mo"),
    ("kosovo", "xk"),
    ("virgin islands, british", "vg"),
    ("micronesia, federated states of", "fm"),
];

/// The alpha-2 code of a country given by code or name; `None` if no country matches, or several do.
pub(crate) fn code(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.len() > 120 {
        return None;
    }
    if let Some(country) = reference::country(text) {
        return Some(country.alpha2.to_ascii_lowercase());
    }
    let lower = text.to_lowercase();
    if let Some((_, code)) = LIST_SPELLINGS.iter().find(|(name, _)| *name == lower) {
        return Some((*code).to_owned());
    }
    reference::country_by_name(text)
        .ok()
        .map(|c| c.alpha2.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists_spellings() {
        for (text, code) in [
            ("Korea, North", "kp"),
            ("Iran (Islamic Republic of)", "ir"),
            ("FR", "fr"),
            ("deu", "de"),
        ] {
            assert_eq!(super::code(text).as_deref(), Some(code), "{text}");
        }
        assert_eq!(super::code(""), None);
        assert_eq!(super::code("Nowhere At All"), None);
    }
}
