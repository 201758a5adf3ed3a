//! What the pictures and the data of one document show: codes of `idvResult` and `documentResult`, and the sources
//! that verdicts rely on.

use jiff::civil::Date;
use reference::{DocumentType, document_rule, icao};

use crate::codes::Code;
use crate::dates;
use crate::evidence::{
    BarcodeFinding, Consistency, DocumentData, DocumentEvidence, MrzFinding, MrzRead, PictureState, Shows,
    Source,
};

/// Codes of the pictures of a document.
pub(super) fn examine_pictures(document: &DocumentEvidence, find: &mut impl FnMut(Code, Source)) {
    let Some(front) = document.front else {
        return find(Code::DocumentFileMissing, Source::Ocr);
    };
    for side in [Some(front), document.back].into_iter().flatten() {
        match side.state {
            PictureState::Corrupted => find(Code::DocumentCorrupted, Source::Ocr),
            PictureState::Unprocessable => find(Code::DocumentUnprocessable, Source::Ocr),
            PictureState::Processed if side.shows == Shows::Other => {
                find(Code::DocumentTypeNotSupported, Source::Ocr);
            }
            PictureState::Processed => {}
        }
    }
    if front.state == PictureState::Processed && front.faces == 0 {
        find(Code::NoFaceInDocument, Source::Ocr);
    }
}

/// Codes of a document's data. What could not be opened shows no MRZ and no barcode either.
pub(super) fn examine_document(
    document: &DocumentEvidence,
    declared_country: Option<&str>,
    today: Date,
    find: &mut impl FnMut(Code, Source),
) {
    if promises(document, declared_country, |rule| rule.mrz) {
        match &document.mrz {
            MrzFinding::NotFound => find(Code::NoMrz, Source::Mrz),
            MrzFinding::Unreadable => find(Code::MrzUnreadable, Source::Mrz),
            MrzFinding::Read(mrz) if !mrz.valid => find(Code::MrzUnreadable, Source::Mrz),
            MrzFinding::Read(_) => {}
        }
    }
    if promises(document, declared_country, |rule| rule.pdf417) {
        match document.barcode {
            BarcodeFinding::NotFound => find(Code::NoBarcode, Source::Pdf417),
            BarcodeFinding::Unreadable | BarcodeFinding::Opaque => {
                find(Code::BarcodeUnverified, Source::Pdf417);
            }
            BarcodeFinding::Read(_) => {}
        }
    }
    if let Some(declared) = declared_country
        && let Some((source, issuer)) = first(document, |data| data.issuer.as_deref())
        && !issued_by(issuer, declared)
    {
        find(Code::IssuerMismatch, source);
    }
    if document.sides == Consistency::Mismatch {
        let source = sources(document).next().map_or(Source::Ocr, |(source, _)| source);
        let is_licence = document.document_type == DocumentType::Drivers;
        find(
            if is_licence {
                Code::LicenceSidesMismatch
            } else {
                Code::CardSidesMismatch
            },
            source,
        );
    }
    // A date that cannot be understood must not hide one of another source that can.
    let expiry = sources(document).find_map(|(source, data)| {
        let (_, last) = dates::iso_range(data.expiry_date.as_deref()?)?;
        Some((source, last))
    });
    if let Some((source, last)) = expiry
        && last < today
    {
        find(Code::DocumentExpired, source);
    }
}

/// Whether the document table promises something of this very document. What is on a back that was not sent (because
/// the Flow does not ask for it) is not missed, unless the document may be a one-sided one with it on the front.
fn promises(
    document: &DocumentEvidence,
    country: Option<&str>,
    what: impl Fn(&reference::DocumentRule) -> bool,
) -> bool {
    country
        .and_then(|country| document_rule(country, document.document_type))
        .is_some_and(|rule| {
            what(rule) && (!rule.needs_back || rule.has_one_sided_variant || document.back.is_some())
        })
}

/// Whether an issuer's code stands for the declared country. An unknown code is no contradiction.
pub(super) fn issued_by(code: &str, declared: &str) -> bool {
    match icao::issuer(code) {
        None => true,
        Some(issuer) => match issuer.country {
            Some(country) => country.alpha3 == declared || icao::issues_for(country.alpha3, declared),
            None => issuer.code == declared,
        },
    }
}

/// The sources that can be relied on, the best first.
fn sources(document: &DocumentEvidence) -> impl Iterator<Item = (Source, &DocumentData)> {
    let mrz = accepted_mrz(document).map(|mrz| (Source::Mrz, &mrz.data));
    let barcode = match &document.barcode {
        BarcodeFinding::Read(data) => Some((Source::Pdf417, data)),
        _ => None,
    };
    mrz.into_iter()
        .chain(barcode)
        .chain([(Source::Ocr, &document.visual)])
}

/// A value by the best source that has it.
pub(super) fn first<'a>(
    document: &'a DocumentEvidence,
    value: impl Fn(&'a DocumentData) -> Option<&'a str>,
) -> Option<(Source, &'a str)> {
    sources(document).find_map(|(source, data)| Some((source, value(data)?)))
}

/// The MRZ that verdicts rely on: every check digit holds, and the reading is accepted.
pub(super) fn accepted_mrz(document: &DocumentEvidence) -> Option<&MrzRead> {
    match &document.mrz {
        MrzFinding::Read(mrz) if mrz.valid && mrz.accepted => Some(mrz),
        _ => None,
    }
}

/// Whether the document promises an MRZ of which only an uncertain reading exists: its check digits hold, but neither
/// the picture nor another source is clear enough to rely on it. Elsewhere such a reading simply counts as unread.
pub(super) fn is_in_doubt(document: &DocumentEvidence, declared_country: Option<&str>) -> bool {
    let is_uncertain = matches!(&document.mrz, MrzFinding::Read(mrz) if mrz.valid && !mrz.accepted);
    is_uncertain && promises(document, declared_country, |rule| rule.mrz)
}
