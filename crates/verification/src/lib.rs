//! The rules of verification, pure: what a Flow asks for ([`flow`]), what a person submitted ([`submission`]), whether
//! the one meets the other ([`requirements`]), and what follows from what the engines saw ([`evidence`], [`judge`]).
//!
//! Nothing here does I/O, reads a clock, knows HTTP or SQL, or looks at a picture: the day is an argument, findings
//! come in as plain data. Start reading at [`judge`].

pub mod applicant_info;
pub mod codes;
pub mod consequences;
pub mod dates;
pub mod document_requirements;
pub mod evidence;
pub mod flow;
pub mod flow_body;
pub mod four_eyes;
pub mod group;
pub mod hits;
pub mod hold;
pub mod hosted;
pub mod identity;
pub mod json;
pub mod judge;
pub mod link;
mod name_source;
pub mod names;
pub mod picture;
pub mod refusal;
pub mod requirements;
pub mod response;
pub mod review;
pub mod screening;
pub mod settings;
pub mod status;
pub mod submission;
pub mod suppression;

use reference::{Country, UTOPIA, country_by_alpha3};

/// The country of an alpha-3 code as submissions write it; the specimen state only in the sandbox.
pub fn known_country(alpha3: &str, sandbox: bool) -> Option<&'static Country> {
    if sandbox && alpha3 == UTOPIA.alpha3 {
        Some(&UTOPIA)
    } else {
        country_by_alpha3(alpha3)
    }
}
