//! What the world's documents are like: countries and their names, ICAO issuer codes and transliteration, and which
//! document of which country has a back, an MRZ or a barcode. Also the contract's words for outcomes ([`status`]).
//!
//! Tables with their sources, and look-ups in them. It never does I/O and never decides anything about a person.

pub mod countries;
pub mod documents;
pub mod icao;
mod names;
pub mod status;

pub use countries::{Country, UTOPIA, countries, country, country_by_alpha3};
pub use documents::{
    DocumentRule, DocumentType, RESIDENCE_PERMIT_ISSUERS, RESTRICTED_JURISDICTIONS, document_rule,
};
pub use names::{NameError, country_by_name, find_country, normalise_name};
