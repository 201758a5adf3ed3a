//! Searches of the sanctions lists for yente's API: by example, by text, and an entry by its id.
//!
//! It decides nothing about an applicant, whose screening is in [`names`](super::names), and it never answers with an
//! empty result because lists are missing.

pub mod datasets;
pub mod facets;
pub mod filters;
pub mod records;
pub mod search;
