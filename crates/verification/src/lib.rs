//! The rules of verification as pure functions. [`flow`] states what a Flow requests, [`submission`] what an
//! applicant submitted. [`requirements`] checks one against the other, and [`judge`] decides on the engines'
//! findings ([`evidence`]).
//!
//! This crate does no I/O, reads no clock and decodes no picture; it uses neither HTTP nor SQL. The current
//! day is an argument, and findings are plain data. Start reading at [`judge`].

pub mod applicant_info;
pub mod challenge;
pub mod codes;
pub mod consequences;
pub mod dates;
pub mod document_requirements;
pub mod evidence;
pub mod expected;
pub mod flow;
pub mod flow_body;
pub mod four_eyes;
pub mod group;
pub mod hits;
pub mod hold;
pub mod hosted;
pub mod identity;
pub mod invitation;
pub mod json;
pub mod judge;
pub mod link;
mod name_source;
pub mod names;
pub mod picture;
pub mod refusal;
pub mod request_by_key;
pub mod requirements;
pub mod rescreening;
pub mod response;
pub mod reuse;
pub mod review;
pub mod risk_assessment;
pub mod screening;
pub mod settings;
pub mod status;
pub mod submission;
pub mod suppression;

use reference::{Country, UTOPIA, country_by_alpha3};

/// The country of an alpha-3 code in a submission. The specimen state Utopia exists only in the sandbox.
pub fn known_country(alpha3: &str, sandbox: bool) -> Option<&'static Country> {
    if sandbox && alpha3 == UTOPIA.alpha3 {
        Some(&UTOPIA)
    } else {
        country_by_alpha3(alpha3)
    }
}
