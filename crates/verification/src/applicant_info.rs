//! A registration's `info` (contract §2.6): the submitted data and the document data of its attempts. For
//! each field the newest attempt that has a value counts, so a later attempt inherits what it omitted. Fields
//! that were never submitted are absent.

use serde::{Deserialize, Serialize};

use crate::dates;
use crate::evidence::{BarcodeFinding, DocumentData, DocumentEvidence, Evidence, MrzFinding};
use crate::submission::Submission;

/// The contribution of one attempt, or of several assembled. Dates are `MM/DD/YYYY`, countries alpha-3.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApplicantInfo {
    /// First name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// Last name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Date of birth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dob: Option<String>,
    /// Phone number with its leading `+`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// Email address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Country of residence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// Nationality.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nationality: Option<String>,
    /// At most one per attempt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<Address>,
    /// Data read off documents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub id_docs: Vec<IdDoc>,
}

/// An address.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Address {
    /// Both street lines, joined by a comma.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub street: Option<String>,
    /// City.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub town: Option<String>,
    /// State or province.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Postal code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_code: Option<String>,
    /// Country of residence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
}

/// Data read from one document.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IdDoc {
    /// Document type, such as `PASSPORT`.
    pub id_doc_type: String,
    /// The declared issuing country.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// Document number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// Date of expiry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<String>,
    /// Given names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// Family name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Date of birth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dob: Option<String>,
}

impl ApplicantInfo {
    /// One attempt's contribution, which is stored with the attempt.
    pub fn of_attempt(submission: &Submission, evidence: &Evidence) -> Self {
        let text = |field| submission.get(field).map(str::to_owned);
        let lines: Vec<_> = ["street", "street2"]
            .iter()
            .filter_map(|field| submission.get(field))
            .collect();
        let has_address = ["street", "street2", "city", "state", "postcode"]
            .iter()
            .any(|f| submission.get(f).is_some());
        let address = Address {
            street: (!lines.is_empty()).then(|| lines.join(", ")),
            town: text("city"),
            state: text("state"),
            post_code: text("postcode"),
            country: text("country"),
        };
        Self {
            first_name: text("firstName"),
            last_name: text("lastName"),
            dob: submission.dob.map(dates::format_us),
            phone: text("phone"),
            email: text("email"),
            country: text("country"),
            nationality: text("nationality"),
            addresses: has_address.then_some(address).into_iter().collect(),
            id_docs: evidence
                .documents
                .iter()
                .map(|d| id_doc(d, submission.document_country()))
                .collect(),
        }
    }

    /// Assembles attempts, given newest first. An address is taken whole from one attempt. Of the documents,
    /// the newest of each type and country counts.
    pub fn assemble(attempts: impl IntoIterator<Item = Self>) -> Self {
        attempts.into_iter().fold(Self::default(), |newer, older| Self {
            first_name: newer.first_name.or(older.first_name),
            last_name: newer.last_name.or(older.last_name),
            dob: newer.dob.or(older.dob),
            phone: newer.phone.or(older.phone),
            email: newer.email.or(older.email),
            country: newer.country.or(older.country),
            nationality: newer.nationality.or(older.nationality),
            addresses: if newer.addresses.is_empty() {
                older.addresses
            } else {
                newer.addresses
            },
            id_docs: {
                let mut docs = newer.id_docs;
                for doc in older.id_docs {
                    if !docs
                        .iter()
                        .any(|d| (&d.id_doc_type, &d.country) == (&doc.id_doc_type, &doc.country))
                    {
                        docs.push(doc);
                    }
                }
                docs
            },
        })
    }
}

/// Data of the best source (MRZ, then barcode, then visual zone), with gaps filled from the next ones.
fn id_doc(document: &DocumentEvidence, country: Option<&str>) -> IdDoc {
    let mrz = match &document.mrz {
        MrzFinding::Read(mrz) => Some(&mrz.data),
        _ => None,
    };
    let barcode = match &document.barcode {
        BarcodeFinding::Read(data) => Some(data),
        _ => None,
    };
    let sources: Vec<&DocumentData> = mrz.into_iter().chain(barcode).chain([&document.visual]).collect();
    let value =
        |get: fn(&DocumentData) -> Option<&String>| sources.iter().find_map(|data| get(data)).cloned();
    let date = |text: Option<String>| text.and_then(|t| dates::parse_iso(&t)).map(dates::format_us);
    IdDoc {
        id_doc_type: document.document_type.as_str().to_owned(),
        country: country.map(str::to_owned),
        number: value(|d| d.document_number.as_ref()),
        valid_until: date(value(|d| d.expiry_date.as_ref())),
        first_name: value(|d| d.given_names.as_ref()),
        last_name: value(|d| d.surname.as_ref()),
        dob: date(value(|d| d.birth_date.as_ref())),
    }
}

#[cfg(test)]
mod tests {
    use reference::DocumentType;
    use serde_json::json;

    use super::*;
    use crate::evidence::{Consistency, MrzRead};
    use crate::submission::tests::{live, submit};

    fn passport(number: &str) -> Evidence {
        let text = |t: &str| Some(t.to_owned());
        let document = DocumentEvidence {
            document_type: DocumentType::Passport,
            front: None,
            back: None,
            mrz: MrzFinding::Read(MrzRead {
                format: "TD3".into(),
                valid: true,
                accepted: true,
                data: DocumentData {
                    document_number: text(number),
                    surname: text("LOVELACE"),
                    birth_date: text("1985-12"),
                    expiry_date: text("2030-01-31"),
                    ..DocumentData::default()
                },
            }),
            barcode: BarcodeFinding::NotFound,
            visual: DocumentData {
                given_names: text("ADA"),
                ..DocumentData::default()
            },
            sides: Consistency::Unknown,
            portrait_match: None,
        };
        Evidence {
            documents: vec![document],
            ..Evidence::default()
        }
    }

    #[test]
    fn newest_first_per_field() {
        let full = [
            ("dob", "12/10/1985"),
            ("phone", "+14155552671"),
            ("email", "a@example.org"),
            ("country", "GBR"),
            ("nationality", "GBR"),
            ("street", "1 High St"),
            ("street2", "Flat 2"),
            ("city", "London"),
            ("state", "LND"),
            ("postcode", "SW1"),
            ("documentTypes", "PASSPORT"),
            ("documentCountry", "GBR"),
        ];
        let oldest = ApplicantInfo::of_attempt(&submit(&full, &[], &live()), &passport("1"));
        let renamed = [
            ("lastName", "King"),
            ("city", "Paris"),
            ("documentTypes", "PASSPORT"),
            ("documentCountry", "GBR"),
        ];
        let newest = ApplicantInfo::of_attempt(&submit(&renamed, &[], &live()), &passport("2"));
        let info = serde_json::to_value(ApplicantInfo::assemble([newest, oldest])).expect("JSON");
        assert_eq!(
            info,
            json!({
                "firstName": "Ada", "lastName": "King", "dob": "12/10/1985", "phone": "+14155552671",
                "email": "a@example.org", "country": "GBR", "nationality": "GBR",
                "addresses": [{"town": "Paris"}],
                "idDocs": [{
                    "idDocType": "PASSPORT", "country": "GBR", "number": "2", "validUntil": "01/31/2030",
                    "firstName": "ADA", "lastName": "LOVELACE",
                }],
            })
        );
    }

    #[test]
    fn what_was_never_submitted_is_left_out_and_records_are_kept() {
        let attempt = ApplicantInfo::of_attempt(&submit(&[], &[], &live()), &Evidence::default());
        let text = serde_json::to_string(&attempt).expect("JSON");
        assert_eq!(text, r#"{"firstName":"Ada","lastName":"Lovelace"}"#);
        assert!(serde_json::from_str::<ApplicantInfo>(&text).is_ok_and(|read| read == attempt));
        assert!(ApplicantInfo::assemble([]) == ApplicantInfo::default());
    }

    #[test]
    fn an_address_is_one_field() {
        let parts = [
            ("street", "1 High St"),
            ("street2", "Flat 2"),
            ("postcode", "SW1"),
            ("country", "GBR"),
        ];
        let info = ApplicantInfo::of_attempt(&submit(&parts, &[], &live()), &Evidence::default());
        let addresses = serde_json::to_value(&info.addresses).expect("JSON");
        assert_eq!(
            addresses,
            json!([{"street": "1 High St, Flat 2", "postCode": "SW1", "country": "GBR"}])
        );
        let country_only =
            ApplicantInfo::of_attempt(&submit(&parts[3..], &[], &live()), &Evidence::default());
        assert!(country_only.addresses.is_empty());
    }
}
