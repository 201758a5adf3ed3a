//! The findings of one document: codes of `idvResult` and `documentResult`, and the sources that the rules
//! rely on.

use jiff::civil::Date;
use reference::{DocumentType, document_rule, icao};

use crate::codes::Code;
use crate::dates;
use crate::evidence::{
    BarcodeFinding, Consistency, DocumentData, DocumentEvidence, MrzFinding, MrzRead, PictureContent,
    PictureState, SideEvidence, Source,
};

/// Finds the codes of a document's pictures.
pub(super) fn examine_pictures(document: &DocumentEvidence, find: &mut impl FnMut(Code, Source)) {
    if document.front.is_none() {
        return find(Code::DocumentFileMissing, Source::Ocr);
    }
    examine_sides(document, find);
}

/// Finds the codes of the pictures that are there.
pub(super) fn examine_sides(document: &DocumentEvidence, find: &mut impl FnMut(Code, Source)) {
    for side in [document.front, document.back].into_iter().flatten() {
        match side.state {
            PictureState::Corrupted => find(Code::DocumentCorrupted, Source::Ocr),
            PictureState::Unprocessable => find(Code::DocumentUnprocessable, Source::Ocr),
            PictureState::Processed if side.content == PictureContent::Other => {
                find(Code::DocumentTypeNotSupported, Source::Ocr);
            }
            PictureState::Processed => {}
        }
    }
    let has_no_face = |front: SideEvidence| front.state == PictureState::Processed && front.faces == 0;
    if document.front.is_some_and(has_no_face) {
        find(Code::NoFaceInDocument, Source::Ocr);
    }
}

/// Finds the codes of a document's data. A document that cannot be decoded has neither an MRZ nor a barcode.
pub(super) fn examine_document(
    document: &DocumentEvidence,
    declared_country: Option<&str>,
    today: Date,
    find: &mut impl FnMut(Code, Source),
) {
    if expects_feature(document, declared_country, |rule| rule.mrz) {
        match &document.mrz {
            MrzFinding::NotFound => find(Code::NoMrz, Source::Mrz),
            MrzFinding::Unreadable => find(Code::MrzUnreadable, Source::Mrz),
            MrzFinding::Read(mrz) if !mrz.valid => find(Code::MrzUnreadable, Source::Mrz),
            MrzFinding::Read(_) => {}
        }
    }
    if expects_feature(document, declared_country, |rule| rule.pdf417) {
        match document.barcode {
            BarcodeFinding::NotFound => find(Code::NoBarcode, Source::Pdf417),
            BarcodeFinding::Unreadable | BarcodeFinding::Opaque => {
                find(Code::BarcodeUnverified, Source::Pdf417);
            }
            BarcodeFinding::Read(_) => {}
        }
    }
    if let Some(declared) = declared_country
        && let Some((source, issuer)) = first_value(document, |data| data.issuer.as_deref())
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
    // An unreadable date in one source must not hide a readable one in another.
    let expiry = sources(document).find_map(|(source, data)| {
        let has_expired = dates::is_past(data.expiry_date.as_deref()?, today)?;
        Some((source, has_expired))
    });
    if let Some((source, true)) = expiry {
        find(Code::DocumentExpired, source);
    }
}

/// Whether the document table expects a feature on this document. A back that was not sent is not expected to
/// show anything, unless the document may be a one-sided variant with the feature on its front.
fn expects_feature(
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

/// Whether an issuer's code means the declared country. An unknown code contradicts nothing.
pub(super) fn issued_by(code: &str, declared: &str) -> bool {
    match icao::issuer(code) {
        None => true,
        Some(issuer) => match issuer.country {
            Some(country) => country.alpha3 == declared || icao::issues_for(country.alpha3, declared),
            None => issuer.code == declared,
        },
    }
}

/// The sources that the rules rely on, best first.
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

/// The value of the best source that has one.
pub(super) fn first_value<'a>(
    document: &'a DocumentEvidence,
    value: impl Fn(&'a DocumentData) -> Option<&'a str>,
) -> Option<(Source, &'a str)> {
    sources(document).find_map(|(source, data)| Some((source, value(data)?)))
}

/// The MRZ that the rules rely on: every check digit is correct, and the reading is accepted.
pub(super) fn accepted_mrz(document: &DocumentEvidence) -> Option<&MrzRead> {
    match &document.mrz {
        MrzFinding::Read(mrz) if mrz.valid && mrz.accepted => Some(mrz),
        _ => None,
    }
}

/// Whether the document should have an MRZ but has only an uncertain reading of it. Its check digits are
/// correct, but neither the picture nor another source proves it. On other documents such a reading counts
/// as unread.
pub(super) fn has_uncertain_mrz(document: &DocumentEvidence, declared_country: Option<&str>) -> bool {
    let is_uncertain = matches!(&document.mrz, MrzFinding::Read(mrz) if mrz.valid && !mrz.accepted);
    is_uncertain && expects_feature(document, declared_country, |rule| rule.mrz)
}
