//! Reference data about the world's documents: countries and their names, ICAO issuer codes and
//! transliteration, and the [`languages`] of texts for applicants. Rules state which country's documents have a back, an MRZ or a barcode. Also the
//! contract's words for outcomes ([`status`]), and the [`scripts`] of states.
//!
//! The crate consists of tables with their sources and of look-ups in them. It never does I/O and never
//! decides anything about a person.

pub mod countries;
pub mod documents;
pub mod icao;
pub mod languages;
mod names;
pub mod scripts;
pub mod status;

pub use countries::{Country, UTOPIA, countries, country, country_by_alpha3};
pub use documents::{
    DocumentRule, DocumentType, RESIDENCE_PERMIT_ISSUERS, RESTRICTED_JURISDICTIONS, document_rule,
};
pub use names::{NameError, country_by_name, find_country, normalise_name};
