//! Parses the barcode payloads of North American driving licences and ID cards.
//!
//! It follows the AAMVA DL/ID Card Design Standard, annex D, versions 1 to 10, and earlier layouts. Captured
//! payloads often have damaged headers and wrong offsets, so elements are found by their identifiers at any
//! position.
//!
//! This module reads payloads only. It never judges whether a card is genuine or current.

mod answer;
mod issuers;
mod scan;
mod values;

pub use answer::answer_line;

use crate::reading::{Aamva, AamvaAddress, PayloadKind};

/// Why a payload gives no card data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AamvaError {
    /// The payload has neither a header nor the elements of the standard, for example because it is another
    /// country's.
    #[error("the payload does not follow the AAMVA standard")]
    NotAamva,
    /// The payload follows the standard but lacks elements that every card must have.
    #[error("the payload lacks or garbles {}", .0.join(", "))]
    Missing(Vec<&'static str>),
}

impl AamvaError {
    /// Stable code of the command line.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAamva => "not_aamva",
            Self::Missing(_) => "missing_elements",
        }
    }

    /// The payload kind that corresponds to this error.
    pub fn payload_kind(&self) -> PayloadKind {
        match self {
            Self::NotAamva => PayloadKind::Unknown,
            Self::Missing(_) => PayloadKind::Damaged,
        }
    }
}

/// The length limit of a payload in bytes, above the capacity of every barcode (PDF417: 1,850 characters; QR:
/// 7,089).
const LONGEST: usize = 16 * 1024;

/// Parses a barcode's payload, which is UTF-8 or otherwise Latin-1.
///
/// # Errors
/// Fails when the payload does not follow the standard. Also fails when a name, the document number, a valid
/// date of birth or the expiry element is missing.
pub fn parse_aamva(bytes: &[u8]) -> Result<Aamva, AamvaError> {
    if bytes.len() > LONGEST {
        return Err(AamvaError::NotAamva);
    }
    let text = std::str::from_utf8(bytes)
        .map_or_else(|_| bytes.iter().copied().map(char::from).collect(), str::to_owned);
    parse_aamva_text(&text)
}

/// Removes byte order marks from the beginning. Some printers write a UTF-8 file with its mark, which is `ï»¿`
/// if it is read as Latin-1.
fn without_byte_order_marks(mut text: &str) -> &str {
    while let Some(rest) = ["\u{feff}", "\u{ef}\u{bb}\u{bf}"]
        .iter()
        .find_map(|mark| text.strip_prefix(mark))
    {
        text = rest;
    }
    text
}

/// Parses decoded text as [`parse_aamva`] does.
///
/// # Errors
/// Fails in the same cases as [`parse_aamva`].
pub fn parse_aamva_text(text: &str) -> Result<Aamva, AamvaError> {
    if text.len() > 2 * LONGEST {
        return Err(AamvaError::NotAamva);
    }
    let payload = scan::scan(without_byte_order_marks(text)).ok_or(AamvaError::NotAamva)?;
    let element = |id: &str| {
        payload
            .elements
            .get(id)
            .map(String::as_str)
            .filter(|v| !v.is_empty())
    };
    let stated = |id: &str| element(id).filter(|v| !values::is_placeholder(v));
    let owned = |value: Option<&str>| value.map(str::to_owned);

    let name = values::name(&element);
    let birth_date = element("DBB").and_then(values::date);
    let mut missing = Vec::new();
    for (absent, what) in [
        (name.last.is_none() && name.first.is_none(), "the name"),
        (element("DAQ").is_none(), "the document number (DAQ)"),
        (birth_date.is_none(), "the date of birth (DBB)"),
        (element("DBA").is_none(), "the date of expiry (DBA)"),
    ] {
        if absent {
            missing.push(what);
        }
    }
    if !missing.is_empty() {
        return Err(AamvaError::Missing(missing));
    }

    let issuer = payload.iin.as_deref().and_then(issuers::issuer);
    let state = stated("DAJ")
        .or_else(|| stated("DAO"))
        .map(str::to_ascii_uppercase);
    let country = element("DCG")
        .and_then(|code| reference::country(code.trim()))
        .map(|c| c.alpha3)
        .or_else(|| issuer.map(|i| i.country))
        .or_else(|| state.as_deref().and_then(issuers::country_of_state));
    let truncated = [("DDE", "lastName"), ("DDF", "firstName"), ("DDG", "middleNames")]
        .into_iter()
        .filter(|(id, _)| element(id) == Some("T"))
        .map(|(_, field)| field.to_owned())
        .collect();
    Ok(Aamva {
        jurisdiction: issuer
            .map(|i| i.jurisdiction.to_owned())
            .or_else(|| state.clone()),
        country: owned(country),
        last_name: name.last,
        first_name: name.first,
        middle_names: name.middle,
        name_suffix: name.suffix,
        birth_date,
        expiry_date: element("DBA").and_then(values::date),
        issue_date: element("DBD").and_then(values::date),
        sex: element("DBC").and_then(values::sex),
        height_cm: element("DAU")
            .and_then(values::height_cm)
            .or_else(|| element("DAV").and_then(values::centimetres)),
        document_number: owned(stated("DAQ")),
        // Before version 2, DAG–DAK are the mailing address and DAL–DAP the residence address. DAL–DAP are
        // used only where DAG–DAK are missing.
        address: AamvaAddress {
            street: owned(stated("DAG").or_else(|| stated("DAL"))),
            street2: owned(stated("DAH").or_else(|| stated("DAM"))),
            city: owned(stated("DAI").or_else(|| stated("DAN"))),
            state,
            postal_code: stated("DAK").or_else(|| stated("DAP")).map(values::postal_code),
        },
        truncated,
        version: payload.version,
        iin: payload.iin.clone(),
        subfile: payload.subfile.clone(),
        elements: payload.elements,
    })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
