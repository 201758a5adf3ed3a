//! What an applicant submitted: the text fields of interface §4.6 by their rules, and what is known of the files.
//!
//! It holds personal data, so it prints as nothing. Whether it is enough is for [`crate::requirements`] to say.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use reference::DocumentType;

use crate::codes::Code;
use crate::dates;
use crate::flow::{Configuration, Flow};
use crate::known_country;
use crate::refusal::Refusal;

/// Text fields, in the contract's order. Others are ignored.
pub const TEXT_FIELDS: [&str; 21] = [
    "firstName",
    "lastName",
    "externalUserId",
    "flowId",
    "groupingId",
    "sessionId",
    "middleName",
    "dob",
    "phone",
    "email",
    "street",
    "street2",
    "city",
    "state",
    "postcode",
    "country",
    "nationality",
    "documentTypes",
    "documentCountry",
    "ssn",
    "ocrMatch",
];

/// Largest file, in bytes.
pub const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// Longest text where the contract names no limit.
const MAX_TEXT: usize = 255;

/// Longest label of a merchant for an applicant (decisions §3).
const MAX_EXTERNAL_USER_ID: usize = 500;

/// A file field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileField {
    /// `passportFront`
    PassportFront,
    /// `driversFront`
    DriversFront,
    /// `driversBack`
    DriversBack,
    /// `idCardFront`
    IdCardFront,
    /// `idCardBack`
    IdCardBack,
    /// `residencyFront`
    ResidencyFront,
    /// `residencyBack`
    ResidencyBack,
    /// `selfie`
    Selfie,
}

/// A side of a document; the front is the one with the photo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// With the photo.
    Front,
    /// The other.
    Back,
}

impl FileField {
    /// Every field, in the contract's order.
    pub const ALL: [FileField; 8] = [
        FileField::PassportFront,
        FileField::DriversFront,
        FileField::DriversBack,
        FileField::IdCardFront,
        FileField::IdCardBack,
        FileField::ResidencyFront,
        FileField::ResidencyBack,
        FileField::Selfie,
    ];

    /// The field's name.
    pub fn as_str(self) -> &'static str {
        match self {
            FileField::PassportFront => "passportFront",
            FileField::DriversFront => "driversFront",
            FileField::DriversBack => "driversBack",
            FileField::IdCardFront => "idCardFront",
            FileField::IdCardBack => "idCardBack",
            FileField::ResidencyFront => "residencyFront",
            FileField::ResidencyBack => "residencyBack",
            FileField::Selfie => "selfie",
        }
    }

    /// Which side of which document it holds; none for the selfie.
    pub fn document(self) -> Option<(DocumentType, Side)> {
        match self {
            FileField::PassportFront => Some((DocumentType::Passport, Side::Front)),
            FileField::DriversFront => Some((DocumentType::Drivers, Side::Front)),
            FileField::DriversBack => Some((DocumentType::Drivers, Side::Back)),
            FileField::IdCardFront => Some((DocumentType::IdCard, Side::Front)),
            FileField::IdCardBack => Some((DocumentType::IdCard, Side::Back)),
            FileField::ResidencyFront => Some((DocumentType::ResidencyCard, Side::Front)),
            FileField::ResidencyBack => Some((DocumentType::ResidencyCard, Side::Back)),
            FileField::Selfie => None,
        }
    }

    /// The field of a document's side; none for a passport's back.
    pub fn of(document_type: DocumentType, side: Side) -> Option<Self> {
        FileField::ALL
            .into_iter()
            .find(|field| field.document() == Some((document_type, side)))
    }
}

impl FromStr for FileField {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        FileField::ALL
            .into_iter()
            .find(|field| field.as_str() == name)
            .ok_or(())
    }
}

/// What is known of a file before it is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubmittedFile {
    /// Its size in bytes; anything above [`MAX_FILE_BYTES`] when it was cut off there.
    pub bytes: u64,
    /// Its first bytes are those of a JPEG, PNG, WEBP, BMP or PDF.
    pub known_format: bool,
}

/// What a hosted session, or a `sessionId`, ties a submission to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionBinding {
    /// The session.
    pub session_id: String,
    /// Its Flow.
    pub flow_id: String,
    /// Its Group.
    pub grouping_id: String,
    /// The userId of its link.
    pub external_user_id: String,
}

/// What is not in the form.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// Today, UTC.
    pub today: Date,
    /// The caller's mode.
    pub sandbox: bool,
    /// The session of the Bearer token, if that is how the caller came.
    pub bearer_session: Option<&'a SessionBinding>,
}

/// A valid submission.
#[derive(Clone, PartialEq)]
pub struct Submission {
    /// Text fields by name, trimmed, none empty: those of [`TEXT_FIELDS`] that were sent.
    texts: BTreeMap<&'static str, String>,
    /// Declared types, each once, as ordered by the applicant.
    pub document_types: Vec<DocumentType>,
    /// Date of birth.
    pub dob: Option<Date>,
    /// `ocrMatch`, if sent.
    pub ocr_match: Option<bool>,
    /// The files that were sent.
    pub files: BTreeMap<FileField, SubmittedFile>,
    /// The caller's mode.
    pub sandbox: bool,
    /// The caller came with a Bearer token, from a hosted page.
    pub via_bearer: bool,
}

impl fmt::Debug for Submission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submission")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

impl Submission {
    /// Reads the form: the stage "text fields". Names that are not the contract's are ignored.
    ///
    /// # Errors
    /// 400 `Validation failed` with every fault.
    pub fn parse(
        texts: &BTreeMap<String, String>,
        files: BTreeMap<FileField, SubmittedFile>,
        context: &Context<'_>,
    ) -> Result<Self, Refusal> {
        let mut errors = Vec::new();
        let mut kept = BTreeMap::new();
        for field in TEXT_FIELDS {
            let Some(text) = texts.get(field) else {
                if ["firstName", "lastName", "externalUserId", "flowId"].contains(&field) {
                    errors.push(format!("{field} required"));
                }
                continue;
            };
            // An identifier is what it is; in what people type, blanks around it mean nothing.
            let text = if field.ends_with("Id") { text } else { text.trim() };
            if text.trim().is_empty() {
                errors.push(format!("{field} cannot be empty"));
                continue;
            }
            if let Some(reason) = fault(field, text, context) {
                errors.push(format!("{field} - {reason}"));
            }
            kept.insert(field, text.to_owned());
        }
        Refusal::unless_empty(Refusal::VALIDATION_FAILED, errors)?;
        let mut submission = Self {
            document_types: kept
                .get("documentTypes")
                .and_then(|text| document_types(text))
                .unwrap_or_default(),
            dob: kept.get("dob").and_then(|text| dates::parse_us(text)),
            ocr_match: kept.get("ocrMatch").and_then(|text| flag(text)),
            texts: kept,
            files,
            sandbox: context.sandbox,
            via_bearer: context.bearer_session.is_some(),
        };
        if let Some(session) = context.bearer_session {
            submission.bind(session)?;
        }
        Ok(submission)
    }

    /// Ties the submission to a session: what it leaves out is the session's, what it says must agree (decisions §3).
    ///
    /// # Errors
    /// 400 naming every field that differs.
    pub fn bind(&mut self, session: &SessionBinding) -> Result<(), Refusal> {
        let bound = [
            ("flowId", &session.flow_id),
            ("externalUserId", &session.external_user_id),
            ("groupingId", &session.grouping_id),
            ("sessionId", &session.session_id),
        ];
        // UUIDs are the same in capitals; a merchant's own label is not.
        let differs = |(field, value): &(&'static str, &String)| {
            self.get(field).is_some_and(|own| match *field {
                "externalUserId" => own != value.as_str(),
                _ => !own.eq_ignore_ascii_case(value),
            })
        };
        let errors = bound
            .iter()
            .filter(|b| differs(b))
            .map(|(f, _)| format!("{f} - differs from the session's"));
        Refusal::unless_empty(Refusal::VALIDATION_FAILED, errors.collect())?;
        for (field, value) in bound {
            self.texts.insert(field, value.clone());
        }
        Ok(())
    }

    /// A text field's value, if it was sent (or is the session's).
    pub fn get(&self, field: &str) -> Option<&str> {
        self.texts.get(field).map(String::as_str)
    }

    /// `externalUserId`.
    pub fn external_user_id(&self) -> &str {
        self.get("externalUserId").unwrap_or_default()
    }

    /// `flowId`, not necessarily a UUID.
    pub fn flow_id(&self) -> &str {
        self.get("flowId").unwrap_or_default()
    }

    /// `groupingId`.
    pub fn grouping_id(&self) -> Option<&str> {
        self.get("groupingId")
    }

    /// `sessionId`.
    pub fn session_id(&self) -> Option<&str> {
        self.get("sessionId")
    }

    /// `documentCountry`, alpha-3.
    pub fn document_country(&self) -> Option<&str> {
        self.get("documentCountry")
    }

    /// The Flow's configuration for personal fields: by `country`, else `nationality`, else `documentCountry`.
    pub fn personal_configuration(&self, flow: &Flow) -> Configuration {
        flow.configuration(
            ["country", "nationality", "documentCountry"]
                .iter()
                .find_map(|field| self.get(field)),
        )
    }

    /// The Flow's configuration for documents and everything about them: by `documentCountry` first.
    pub fn document_configuration(&self, flow: &Flow) -> Configuration {
        flow.configuration(
            ["documentCountry", "country", "nationality"]
                .iter()
                .find_map(|field| self.get(field)),
        )
    }

    /// The code that a sandbox submission asks to fail with (`lastName` = `SANDBOX-<code>`).
    pub fn forced_code(&self) -> Option<Code> {
        let number = self
            .get("lastName")
            .filter(|_| self.sandbox)?
            .strip_prefix("SANDBOX-")?;
        Code::from_number(number.parse().ok()?)
    }
}

/// What is wrong with a merchant's label for an applicant, which is not empty.
pub(crate) fn external_user_id_fault(text: &str) -> Option<&'static str> {
    if text.chars().count() > MAX_EXTERNAL_USER_ID {
        Some("must have at most 500 characters")
    } else if text.chars().any(char::is_control) {
        Some("must not contain control characters")
    } else {
        None
    }
}

/// What is wrong with a field's text, which is not empty.
fn fault(field: &str, text: &str, context: &Context<'_>) -> Option<&'static str> {
    let is_english = || text.bytes().all(|b| (0x20..0x7f).contains(&b));
    let (longest, too_long) = match field {
        "externalUserId" => return external_user_id_fault(text),
        "flowId" => (36, "must have at most 36 characters"),
        _ => (MAX_TEXT, "must have at most 255 characters"),
    };
    if text.chars().count() > longest {
        return Some(too_long);
    }
    match field {
        "firstName" | "lastName" | "middleName" if !is_english() => {
            Some("must contain English characters only")
        }
        "firstName" | "lastName" | "middleName" if !text.bytes().any(|b| b.is_ascii_alphabetic()) => {
            Some("must contain a letter")
        }
        "street" | "street2" | "city" | "state" if !is_english() => {
            Some("must contain English characters only")
        }
        "dob" => match dates::parse_us(text) {
            None => Some("must be a date in the format MM/DD/YYYY"),
            Some(date) if date > context.today => Some("must not be in the future"),
            Some(date) if dates::age_on(context.today, date) > 150 => {
                Some("must be within the last 150 years")
            }
            Some(_) => None,
        },
        "phone" if !is_phone(text) => Some("must be a phone number in international format with a leading +"),
        "email" if !is_email(text) => Some("must be an email address"),
        "country" | "nationality" | "documentCountry" if known_country(text, context.sandbox).is_none() => {
            Some("must be an ISO 3166-1 alpha-3 country code")
        }
        "documentTypes" if document_types(text).is_none() => {
            Some("must be a comma-separated list of PASSPORT, DRIVERS, ID_CARD, RESIDENCY_CARD")
        }
        "ocrMatch" if flag(text).is_none() => Some("must be true or false"),
        _ if text.chars().any(char::is_control) => Some("must not contain control characters"),
        _ => None,
    }
}

fn flag(text: &str) -> Option<bool> {
    text.to_ascii_lowercase().parse().ok()
}

fn document_types(text: &str) -> Option<Vec<DocumentType>> {
    let mut types = Vec::new();
    for item in text.split(',') {
        let document_type = item.trim().parse().ok()?;
        if !types.contains(&document_type) {
            types.push(document_type);
        }
    }
    Some(types)
}

/// An existing country calling code and an E.164 length. Whether the number is assigned is not asked: plans change
/// faster than tables.
fn is_phone(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let only_phone_characters = text.bytes().all(|b| b.is_ascii_digit() || b"+ -().".contains(&b));
    text.starts_with('+')
        && only_phone_characters
        && (7..=15).contains(&digits)
        && phonenumber::parse(None, text).is_ok()
}

/// An e-mail address as they are used: no display name, no bare host.
pub fn is_email(text: &str) -> bool {
    let options = email_address::Options::default()
        .without_display_text()
        .without_domain_literal();
    text.len() <= 254
        && email_address::EmailAddress::parse_with_options(text, options.with_required_tld()).is_ok()
}

#[cfg(test)]
pub(crate) mod tests;
