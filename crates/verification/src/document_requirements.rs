//! The lookup of interface §4.7: what images a document of a country needs, where no Flow says otherwise.

use reference::{Country, DocumentType, NameError, UTOPIA, document_rule, find_country};

/// What is known of a country's documents of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    /// The back is needed; the safer default where variants differ.
    pub needs_back: bool,
    /// One-sided documents exist: a back must not be insisted on.
    pub has_one_sided_variant: bool,
    /// The pair is in the table.
    pub known: bool,
}

/// Why there is no answer: the message of the 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// No country was named.
    #[error("country is required")]
    CountryMissing,
    /// No type was named.
    #[error("docType is required")]
    TypeMissing,
    /// The type is none of the four.
    #[error("docType must be one of PASSPORT, DRIVERS, ID_CARD, RESIDENCY_CARD")]
    UnsupportedType,
    /// Nothing is called so, or several are.
    #[error("country {0}")]
    Country(#[from] NameError),
}

/// Answers a query. The country may be a code or a name in any language; Utopia only in the sandbox.
///
/// # Errors
/// When a parameter is missing or means nothing.
pub fn lookup(
    country: Option<&str>,
    document_type: Option<&str>,
    sandbox: bool,
) -> Result<Requirement, LookupError> {
    let country = country
        .filter(|text| !text.trim().is_empty())
        .ok_or(LookupError::CountryMissing)?;
    let document_type = document_type
        .filter(|text| !text.trim().is_empty())
        .ok_or(LookupError::TypeMissing)?;
    let document_type = document_type
        .trim()
        .parse()
        .map_err(|_| LookupError::UnsupportedType)?;
    Ok(requirement(find(country, sandbox)?.alpha3, document_type))
}

fn find(country: &str, sandbox: bool) -> Result<&'static Country, NameError> {
    let is_utopia = [UTOPIA.alpha2, UTOPIA.alpha3, UTOPIA.name]
        .iter()
        .any(|t| t.eq_ignore_ascii_case(country.trim()));
    if sandbox && is_utopia {
        Ok(&UTOPIA)
    } else {
        find_country(country)
    }
}

/// The same for a country that is already known (alpha-3).
pub fn requirement(alpha3: &str, document_type: DocumentType) -> Requirement {
    match document_rule(alpha3, document_type) {
        Some(rule) => Requirement {
            needs_back: rule.needs_back,
            has_one_sided_variant: rule.has_one_sided_variant,
            known: true,
        },
        // Interface §2: passports never have a back, residence permits always do.
        None => Requirement {
            needs_back: document_type != DocumentType::Passport,
            has_one_sided_variant: false,
            known: false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_codes_names_and_unknown_pairs() {
        let get = |country, t| lookup(Some(country), Some(t), false).expect("an answer");
        let (two_sided, one_sided) = (
            Requirement {
                needs_back: true,
                has_one_sided_variant: false,
                known: true,
            },
            Requirement {
                needs_back: false,
                has_one_sided_variant: false,
                known: true,
            },
        );
        assert_eq!(get("DE", "PASSPORT"), one_sided);
        assert_eq!(get("deu", "ID_CARD"), two_sided);
        assert_eq!(get("Deutschland", "ID_CARD"), two_sided);
        assert_eq!(get("日本", "ID_CARD"), one_sided);
        assert_eq!(
            get("ROU", "ID_CARD"),
            Requirement {
                has_one_sided_variant: true,
                ..two_sided
            }
        );
        assert_eq!(
            get("USA", "RESIDENCY_CARD"),
            Requirement {
                known: false,
                ..two_sided
            }
        );
        assert_eq!(
            get("ATA", "DRIVERS"),
            Requirement {
                known: false,
                ..two_sided
            }
        );
    }

    #[test]
    fn says_what_is_wrong() {
        let error = |country, t, sandbox| lookup(country, t, sandbox).expect_err("an error").to_string();
        assert_eq!(error(None, Some("PASSPORT"), false), "country is required");
        assert_eq!(error(Some(" "), Some("PASSPORT"), false), "country is required");
        assert_eq!(error(Some("DE"), None, false), "docType is required");
        for wrong in ["passport", "VISA"] {
            assert_eq!(
                error(Some("DE"), Some(wrong), false),
                "docType must be one of PASSPORT, DRIVERS, ID_CARD, RESIDENCY_CARD"
            );
        }
        assert_eq!(
            error(Some("Atlantis"), Some("PASSPORT"), false),
            "country is not a valid country code or name"
        );
        assert!(error(Some("Korea"), Some("PASSPORT"), false).contains("ambiguous"));
        assert_eq!(
            error(Some("UTO"), Some("PASSPORT"), false),
            "country is not a valid country code or name"
        );
        assert!(lookup(Some("utopia"), Some("DRIVERS"), true).is_ok_and(|r| r.needs_back && r.known));
    }
}
