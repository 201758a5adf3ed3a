//! The lookup of contract §4.7: which images a document of a country needs unless a Flow configures it.

use reference::{Country, DocumentType, NameError, UTOPIA, document_rule, find_country};

/// The known requirements for one document type of one country.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    /// The back is needed. Where variants differ, this is the safer default.
    pub needs_back: bool,
    /// One-sided variants exist, so the back must not be mandatory.
    pub has_one_sided_variant: bool,
    /// The document table has this country and type.
    pub known: bool,
}

/// Why the lookup fails; the text is the message of the 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// The query has no country.
    #[error("country is required")]
    CountryMissing,
    /// The query has no document type.
    #[error("docType is required")]
    TypeMissing,
    /// The document type is none of the four.
    #[error("docType must be one of PASSPORT, DRIVERS, ID_CARD, RESIDENCY_CARD")]
    UnsupportedType,
    /// No country has this name, or several do.
    #[error("country {0}")]
    Country(#[from] NameError),
}

/// Answers a query. The country may be a code or a name in any language. Utopia exists only in the sandbox.
///
/// # Errors
/// [`LookupError`] if a parameter is missing or unknown.
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

/// The requirement for a country given by its alpha-3 code.
pub fn requirement(alpha3: &str, document_type: DocumentType) -> Requirement {
    match document_rule(alpha3, document_type) {
        Some(rule) => Requirement {
            needs_back: rule.needs_back,
            has_one_sided_variant: rule.has_one_sided_variant,
            known: true,
        },
        // Contract §2: a passport never has a back, a residence permit always does.
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
