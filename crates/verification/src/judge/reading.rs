//! What the pictures of a document show before anything is submitted: the codes that the person can still avoid, and
//! the values that the person confirms. It decides nothing; [`examine`](super::examine) judges the submission.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use reference::{DocumentType, document_rule, icao};
use serde::{Deserialize, Serialize};

use super::documents::{self, accepted_mrz};
use crate::codes::Code;
use crate::dates;
use crate::evidence::{
    BarcodeFinding, DocumentData, DocumentEvidence, MrzFinding, PictureContent, PictureState, SideEvidence,
    Source,
};
use crate::submission::{Side, Submission};

/// The longest proposed text, in characters: as long as a submission may have it.
const MAX_TEXT: usize = 255;

/// The codes to tell about a picture that was just read, in order of precedence: those of the document, without those
/// that its other side shows alone. If the picture seems to show the other side (`is_other_side`), that explains what is
/// missing.
pub fn told_codes(
    document: &DocumentEvidence,
    other_alone: Option<&DocumentEvidence>,
    is_other_side: bool,
    declared_country: Option<&str>,
    today: Date,
) -> Vec<Code> {
    let known = other_alone.map_or_else(Vec::new, |alone| {
        shown_codes(alone, false, declared_country, today)
    });
    let explained: &[Code] = match is_other_side {
        true => &[Code::NoFaceInDocument, Code::NoMrz, Code::NoBarcode],
        false => &[],
    };
    let mut codes = shown_codes(document, true, declared_country, today);
    codes.retain(|code| !known.contains(code) && !explained.contains(code));
    codes
}

/// The codes that a document's pictures show by now, in order of precedence.
///
/// Until a needed back is there, a missing zone or barcode is no fault, and print proves none: the submission will rely
/// on the back. A document of another country than declared is judged as one of its own country. `needs_front`: without a
/// front, its data are not judged, because the front may state the rest.
fn shown_codes(
    document: &DocumentEvidence,
    needs_front: bool,
    declared_country: Option<&str>,
    today: Date,
) -> Vec<Code> {
    let mut findings = BTreeMap::new();
    let mut find = |code: Code, source: Source| {
        findings.entry(code).or_insert(source);
    };
    documents::examine_sides(document, &mut find);
    let is_legible = [document.front, document.back]
        .into_iter()
        .flatten()
        .all(|side| side.state == PictureState::Processed && side.content == PictureContent::Declared);
    // A picture of something else has no data of the document.
    if is_legible && (document.front.is_some() || !needs_front) {
        let issuer = issuing_country(document);
        let is_foreign = declared_country.zip(issuer).is_some_and(|(declared, _)| {
            accepted(document).any(|data| {
                data.issuer
                    .as_deref()
                    .is_some_and(|code| !documents::issued_by(code, declared))
            })
        });
        let country = if is_foreign {
            issuer
        } else {
            declared_country.or(issuer)
        };
        let needs_back = country
            .and_then(|country| document_rule(country, document.document_type))
            .is_some_and(|rule| rule.needs_back);
        let is_incomplete = needs_back && document.back.is_none();
        let without_print = DocumentEvidence {
            visual: DocumentData::default(),
            ..document.clone()
        };
        let examined = if is_incomplete { &without_print } else { document };
        let mut found = BTreeMap::new();
        documents::examine_document(examined, country, today, &mut |code, source| {
            found.entry(code).or_insert(source);
        });
        if is_incomplete {
            found.retain(|code, _| !matches!(code, Code::NoMrz | Code::NoBarcode));
        }
        if is_foreign {
            found.insert(Code::IssuerMismatch, Source::Mrz);
        }
        if documents::has_uncertain_mrz(document, country) {
            found.insert(Code::MrzUnreadable, Source::Mrz);
        }
        // Every passport has a zone, whoever issued it.
        let has_zone = matches!(&document.mrz, MrzFinding::Read(mrz) if mrz.valid);
        if country.is_none() && document.document_type == DocumentType::Passport && !has_zone {
            found.insert(Code::NoMrz, Source::Mrz);
        }
        findings.extend(found);
    }
    findings.into_keys().collect()
}

/// The issuing state by an accepted reading (alpha-3).
pub fn issuing_country(document: &DocumentEvidence) -> Option<&'static str> {
    let code = accepted(document).find_map(|data| data.issuer.as_deref())?;
    icao::issuer(code)?.country.map(|country| country.alpha3)
}

/// The document's number by an accepted reading.
pub fn document_number(document: &DocumentEvidence) -> Option<String> {
    accepted(document).find_map(|data| data.document_number.clone())
}

/// The data that may be proposed, best first: print is not among them.
fn accepted(document: &DocumentEvidence) -> impl Iterator<Item = &DocumentData> {
    let mrz = accepted_mrz(document).map(|mrz| &mrz.data);
    let barcode = match &document.barcode {
        BarcodeFinding::Read(data) => Some(data),
        _ => None,
    };
    mrz.into_iter().chain(barcode)
}

/// A value to confirm.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedValue {
    /// The value, as a submission may have it.
    pub value: String,
    /// How the document prints it, in other letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<String>,
}

/// The values that a document proposes, by the submission's fields. Only accepted readings propose: a field without one
/// is asked for.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal(pub BTreeMap<String, ProposedValue>);

impl std::fmt::Debug for ProposedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProposedValue(..)")
    }
}

impl std::fmt::Debug for Proposal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proposal(..)")
    }
}

/// The names that a document can propose, in the contract's order.
const NAMES: [&str; 3] = ["firstName", "lastName", "middleName"];

impl Proposal {
    /// The values of a document's accepted zone, else of its barcode, for first and last name and the other fields that
    /// are requested. Given names after the first are middle names if those are requested.
    ///
    /// A single name is proposed for both fields, as the contract requires both (ICAO 9303-3 §4.6 prints it as the
    /// primary identifier). A name whose end may be missing is not proposed.
    pub fn of(document: &DocumentEvidence, is_requested: impl Fn(&str) -> bool) -> Self {
        let sources: Vec<&DocumentData> = accepted(document).collect();
        let mut values = BTreeMap::new();
        let mut propose = |field: &str, value: String, printed: Option<&str>| {
            if is_submittable(&value) {
                let printed = printed.filter(|printed| !printed.is_ascii()).map(str::to_owned);
                values.insert(field.to_owned(), ProposedValue { value, printed });
            }
        };
        let named = sources.iter().find(|data| {
            !data.name_may_be_truncated && (data.surname.is_some() || data.given_names.is_some())
        });
        if let Some(named) = named {
            let (given, surname) = (named.given_names.as_deref(), named.surname.as_deref());
            let (given, surname) = (given.or(surname), surname.or(given));
            let visual = &document.visual;
            if let Some(surname) = surname {
                propose(
                    "lastName",
                    latin(surname),
                    printed(surname, visual.surname.as_deref()),
                );
            }
            if let Some(given) = given {
                let spelt = latin(given);
                let as_printed = printed(given, visual.given_names.as_deref());
                match spelt.split_once(' ').filter(|_| is_requested("middleName")) {
                    Some((first, others)) => {
                        let (print_first, print_others) =
                            as_printed.and_then(|text| text.split_once(' ')).unzip();
                        propose("firstName", first.to_owned(), print_first);
                        propose("middleName", others.to_owned(), print_others);
                    }
                    None => propose("firstName", spelt, as_printed),
                }
            }
        }
        let birth = sources
            .iter()
            .find_map(|data| dates::parse_iso(data.birth_date.as_deref()?));
        if let Some(birth) = birth.filter(|_| is_requested("dob")) {
            propose("dob", dates::format_us(birth), None);
        }
        let nationality = sources
            .iter()
            .find_map(|data| icao::issuer(data.nationality.as_deref()?)?.country);
        if let Some(country) = nationality.filter(|_| is_requested("nationality")) {
            propose("nationality", country.alpha3.to_owned(), None);
        }
        Proposal(values)
    }
}

/// The fields whose submitted value is one of the proposed ones, in the contract's order.
///
/// A name is taken if all its words were proposed as names, in whatever field: regrouped names are no other evidence.
pub fn fields_taken(proposals: &[Proposal], submission: &Submission) -> Vec<&'static str> {
    let values = |field: &'static str| {
        let value =
            move |proposal: &'_ Proposal| proposal.0.get(field).map(|proposed| proposed.value.clone());
        proposals.iter().filter_map(value)
    };
    let words = |name: &str| -> BTreeSet<String> {
        icao::transliterate(name).split(' ').map(str::to_owned).collect()
    };
    let proposed: BTreeSet<String> = NAMES
        .into_iter()
        .flat_map(values)
        .flat_map(|name| words(&name))
        .collect();
    let is_taken = |field: &&'static str| {
        submission
            .get(field)
            .is_some_and(|submitted| match NAMES.contains(field) {
                true => words(submitted).is_subset(&proposed),
                false => values(field).any(|value| value == submitted),
            })
    };
    let fields = NAMES.into_iter().chain(["dob", "nationality"]);
    fields.filter(is_taken).collect()
}

/// A name in the letters that a submission may have: as it is, or else as a zone writes it.
fn latin(name: &str) -> String {
    match name.is_ascii() {
        true => name.split_whitespace().collect::<Vec<_>>().join(" "),
        false => icao::transliterate(name),
    }
}

/// The name as printed: the source's own spelling, else the print that a zone transliterates so.
fn printed<'a>(name: &'a str, visual: Option<&'a str>) -> Option<&'a str> {
    if !name.is_ascii() {
        return Some(name);
    }
    visual.filter(|visual| icao::transliterate(visual) == icao::transliterate(name))
}

fn is_submittable(value: &str) -> bool {
    let is_printable = |c: char| (' '..='~').contains(&c);
    !value.is_empty() && value.chars().count() <= MAX_TEXT && value.chars().all(is_printable)
}

/// Whether a picture of a card seems to show its other side: a front without a face but with a code, or a back with a
/// face and without one.
pub fn seems_other_side(
    document_type: DocumentType,
    side: Side,
    shown: &SideEvidence,
    has_code: bool,
) -> bool {
    let is_legible = shown.state == PictureState::Processed && shown.content == PictureContent::Declared;
    is_legible
        && document_type != DocumentType::Passport
        && match side {
            Side::Front => shown.faces == 0 && has_code,
            Side::Back => shown.faces > 0 && !has_code,
        }
}
