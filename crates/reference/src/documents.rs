//! The document types, and a rule for each country's documents of a type. The rules come from a data file
//! that gives a source or reason in every row.
//!
//! The file leaves out a pair about which nothing is known. Callers then use the safer default (a back is
//! needed) and report `known: false`.

use std::{collections::HashMap, fmt, str::FromStr, sync::LazyLock};

use serde::{Deserialize, Serialize};

/// A kind of document that an applicant can submit (contract §4.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DocumentType {
    /// A passport: one side, with the photo and a TD3 MRZ.
    Passport,
    /// A driver's licence.
    Drivers,
    /// Any other government photo ID.
    IdCard,
    /// A residence permit.
    ResidencyCard,
}

impl DocumentType {
    /// Every type, in the contract's order.
    pub const ALL: [DocumentType; 4] = [
        DocumentType::Passport,
        DocumentType::Drivers,
        DocumentType::IdCard,
        DocumentType::ResidencyCard,
    ];

    /// The type's name in requests, responses and Flows.
    pub fn as_str(self) -> &'static str {
        match self {
            DocumentType::Passport => "PASSPORT",
            DocumentType::Drivers => "DRIVERS",
            DocumentType::IdCard => "ID_CARD",
            DocumentType::ResidencyCard => "RESIDENCY_CARD",
        }
    }
}

impl fmt::Display for DocumentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no document type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be one of PASSPORT, DRIVERS, ID_CARD, RESIDENCY_CARD")]
pub struct UnknownDocumentType;

impl FromStr for DocumentType {
    type Err = UnknownDocumentType;

    fn from_str(name: &str) -> Result<Self, UnknownDocumentType> {
        DocumentType::ALL
            .into_iter()
            .find(|t| t.as_str() == name)
            .ok_or(UnknownDocumentType)
    }
}

/// Countries whose residents, citizens and documents are never accepted (contract §4.6 rule 7), alpha-3.
pub const RESTRICTED_JURISDICTIONS: &[&str] = &[
    "BLR", "BDI", "CAF", "CUB", "IRN", "LBY", "MMR", "PRK", "RUS", "SOM", "SSD", "SDN", "SYR", "UKR", "VEN",
    "ZWE",
];

/// Countries whose residence permits are accepted (contract §4.6 rule 5), alpha-3.
pub const RESIDENCE_PERMIT_ISSUERS: &[&str] = &[
    "ARE", "AUT", "BEL", "BGR", "CYP", "CZE", "DEU", "DNK", "ESP", "EST", "FIN", "FRA", "GRC", "HRV", "HUN",
    "IRL", "ITA", "LTU", "LUX", "LVA", "MLT", "NLD", "POL", "PRT", "ROU", "SVK", "SVN", "SWE",
];

/// The rule for one country's documents of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentRule {
    /// The back has data that verification needs. With [`Self::has_one_sided_variant`] it is only the safer
    /// default.
    pub needs_back: bool,
    /// The type has both one- and two-sided documents, so a back must not be required.
    pub has_one_sided_variant: bool,
    /// False when such a document cannot be verified, for the reason in `source`.
    pub supported: bool,
    /// Every document of the type in circulation has a machine-readable zone, so one without is suspect.
    pub mrz: bool,
    /// Every document of the type carries a PDF417 barcode whose content can be read (AAMVA).
    pub pdf417: bool,
    /// The source of the rule, or the reason for it.
    pub source: &'static str,
}

/// The rule for a country (alpha-3, `UTO` included) and a type; none when the file has no rule for the pair.
pub fn document_rule(alpha3: &str, document_type: DocumentType) -> Option<&'static DocumentRule> {
    let rules = RULES.get(alpha3)?;
    rules
        .iter()
        .find(|(t, _)| *t == document_type)
        .map(|(_, rule)| rule)
}

/// The rules by country. A line that cannot be parsed is left out; a test proves that there is none.
static RULES: LazyLock<HashMap<&'static str, Vec<(DocumentType, DocumentRule)>>> = LazyLock::new(|| {
    let mut rules: HashMap<_, Vec<_>> = HashMap::new();
    let lines = include_str!("../data/document-rules.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'));
    for (codes, document_type, rule) in lines.filter_map(parse_line) {
        let countries: Vec<&'static str> = match codes {
            "*" => crate::countries()
                .iter()
                .map(|c| c.alpha3)
                .chain([crate::UTOPIA.alpha3])
                .collect(),
            codes => codes.split(' ').collect(),
        };
        for country in countries {
            rules.entry(country).or_default().push((document_type, rule));
        }
    }
    rules
});

/// Parses a line `alpha-3 codes TAB type TAB flags TAB source`, where `*` means every country.
fn parse_line(line: &'static str) -> Option<(&'static str, DocumentType, DocumentRule)> {
    let mut cells = line.split('\t');
    let (codes, document_type, flags, source) = (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
    let has = |flag| flags.split(' ').any(|f| f == flag);
    let known = [
        "back",
        "no-back",
        "one-sided-variant",
        "unsupported",
        "mrz",
        "pdf417",
    ];
    if has("back") == has("no-back") || !flags.split(' ').all(|f| known.contains(&f)) {
        return None;
    }
    let rule = DocumentRule {
        needs_back: has("back"),
        has_one_sided_variant: has("one-sided-variant"),
        supported: !has("unsupported"),
        mrz: has("mrz"),
        pdf417: has("pdf417"),
        source,
    };
    Some((codes, document_type.parse().ok()?, rule))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{UTOPIA, country_by_alpha3};

    #[test]
    fn every_line_is_read_once_and_gives_its_source() {
        let lines = include_str!("../data/document-rules.tsv")
            .lines()
            .filter(|l| !l.starts_with('#'));
        let mut seen = HashSet::new();
        for line in lines {
            let (codes, document_type, rule) =
                parse_line(line).unwrap_or_else(|| panic!("unreadable: {line}"));
            assert!(!rule.source.trim().is_empty(), "{line}");
            for code in codes.split(' ') {
                assert!(
                    code == "*" || code == UTOPIA.alpha3 || country_by_alpha3(code).is_some(),
                    "{code}"
                );
                assert!(
                    seen.insert((code, document_type)),
                    "twice: {code} {document_type}"
                );
            }
        }
    }

    #[test]
    fn passports_have_no_back_and_an_mrz_everywhere() {
        for c in crate::countries().iter().chain([&UTOPIA]) {
            let rule = document_rule(c.alpha3, DocumentType::Passport).expect("a rule");
            assert!(
                !rule.needs_back && !rule.has_one_sided_variant && rule.mrz && rule.supported,
                "{}",
                c.alpha3
            );
        }
    }

    #[test]
    fn accepted_residence_permits_have_a_back_and_an_mrz() {
        for code in RESIDENCE_PERMIT_ISSUERS.iter().chain([&UTOPIA.alpha3]) {
            let rule = document_rule(code, DocumentType::ResidencyCard).expect("a rule");
            assert!(
                rule.needs_back && !rule.has_one_sided_variant && rule.supported,
                "{code}"
            );
        }
        for c in crate::countries() {
            let listed = RESIDENCE_PERMIT_ISSUERS.contains(&c.alpha3);
            assert_eq!(
                document_rule(c.alpha3, DocumentType::ResidencyCard).is_some(),
                listed,
                "{}",
                c.alpha3
            );
        }
    }

    #[test]
    fn known_pairs() {
        let rule = |code, t| document_rule(code, t);
        let usa = rule("USA", DocumentType::Drivers).expect("a rule");
        assert!(usa.needs_back && usa.pdf417 && !usa.mrz);
        let germany = rule("DEU", DocumentType::IdCard).expect("a rule");
        assert!(germany.needs_back && germany.mrz && !germany.has_one_sided_variant);
        let romania = rule("ROU", DocumentType::IdCard).expect("a rule");
        assert!(romania.needs_back && romania.has_one_sided_variant);
        assert!(!rule("JPN", DocumentType::IdCard).expect("a rule").needs_back);
        assert!(!rule("HKG", DocumentType::Drivers).expect("a rule").supported);
        assert!(rule("UTO", DocumentType::Drivers).expect("a rule").pdf417);
        assert_eq!(rule("ATA", DocumentType::IdCard), None);
    }

    #[test]
    fn types_have_the_contracts_names() {
        for t in DocumentType::ALL {
            assert_eq!(t.as_str().parse(), Ok(t));
            assert_eq!(serde_json::to_value(t).ok(), Some(t.as_str().into()));
        }
        assert_eq!("passport".parse::<DocumentType>(), Err(UnknownDocumentType));
    }

    #[test]
    fn the_lists_are_of_real_countries() {
        assert_eq!(
            (RESTRICTED_JURISDICTIONS.len(), RESIDENCE_PERMIT_ISSUERS.len()),
            (16, 28)
        );
        assert!(
            RESTRICTED_JURISDICTIONS
                .iter()
                .chain(RESIDENCE_PERMIT_ISSUERS)
                .all(|c| country_by_alpha3(c).is_some())
        );
    }
}
