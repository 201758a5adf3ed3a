//! What an applicant submitted: the text fields with the rules of contract §4.6, and basic facts about the
//! files.
//!
//! A submission contains personal data, so its `Debug` output shows only the files. [`crate::requirements`]
//! checks whether it is sufficient.

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

/// Text fields in the contract's order. Other fields are ignored.
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

/// Maximum size of a file, in bytes.
pub const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// Maximum length of a text, in characters, where the contract states no limit.
const MAX_TEXT: usize = 255;

/// Maximum length of a merchant's label for an applicant, in characters.
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
    /// The side with the photo.
    Front,
    /// The other side.
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

    /// The field's name in the form.
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

    /// The fields of documents, in the contract's order.
    pub fn of_documents() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|field| field.document().is_some())
    }

    /// The document and side that the field contains; `None` for the selfie.
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

    /// The field of a document's side; `None` for the back of a passport.
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

/// A file's properties before decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubmittedFile {
    /// Size in bytes. If reading stopped at [`MAX_FILE_BYTES`], any larger number.
    pub bytes: u64,
    /// Its first bytes are those of a JPEG, PNG, WEBP, BMP or PDF.
    pub known_format: bool,
}

/// The ids that a hosted session, or a `sessionId`, fixes for a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionBinding {
    /// The session's id.
    pub session_id: String,
    /// The id of its Flow.
    pub flow_id: String,
    /// The id of its Group.
    pub grouping_id: String,
    /// The `userId` of its link.
    pub external_user_id: String,
}

/// Data about the request outside the form.
#[derive(Debug, Clone)]
pub struct SubmissionContext<'a> {
    /// The current day in UTC.
    pub today: Date,
    /// Whether the caller uses the sandbox.
    pub sandbox: bool,
    /// The session of the Bearer token, if the request has one.
    pub bearer_session: Option<&'a SessionBinding>,
}

/// A valid submission.
#[derive(Clone, PartialEq)]
pub struct Submission {
    /// Text fields by name, trimmed and not empty. Only fields of [`TEXT_FIELDS`] that were sent.
    texts: BTreeMap<&'static str, String>,
    /// Declared types in the applicant's order, without duplicates.
    pub document_types: Vec<DocumentType>,
    /// Date of birth.
    pub dob: Option<Date>,
    /// `ocrMatch`, if it was sent.
    pub ocr_match: Option<bool>,
    /// The files that were sent.
    pub files: BTreeMap<FileField, SubmittedFile>,
    /// Whether the caller uses the sandbox.
    pub sandbox: bool,
    /// Whether the request came from a hosted page, with a Bearer token.
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
    /// Reads the form (the stage "text fields"). Field names outside the contract are ignored.
    ///
    /// # Errors
    /// 400 `Validation failed` with every fault.
    pub fn parse(
        texts: &BTreeMap<String, String>,
        files: BTreeMap<FileField, SubmittedFile>,
        context: &SubmissionContext<'_>,
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
            // Blanks around typed text mean nothing, but an identifier must stay unchanged.
            let text = if field.ends_with("Id") { text } else { text.trim() };
            if text.trim().is_empty() {
                errors.push(format!("{field} cannot be empty"));
                continue;
            }
            if let Some(reason) = field_fault(field, text, context) {
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
            ocr_match: kept.get("ocrMatch").and_then(|text| parse_flag(text)),
            texts: kept,
            files,
            sandbox: context.sandbox,
            via_bearer: context.bearer_session.is_some(),
        };
        if let Some(session) = context.bearer_session {
            submission.bind_to_session(session)?;
        }
        Ok(submission)
    }

    /// Binds the submission to a session. Missing ids are filled in; ids that were sent must agree with the
    /// session's.
    ///
    /// # Errors
    /// 400 naming every field that differs.
    pub fn bind_to_session(&mut self, session: &SessionBinding) -> Result<(), Refusal> {
        let bound = [
            ("flowId", &session.flow_id),
            ("externalUserId", &session.external_user_id),
            ("groupingId", &session.grouping_id),
            ("sessionId", &session.session_id),
        ];
        // UUIDs compare without letter case; a merchant's label does not.
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

    /// The value of a text field, if it was sent or filled in from the session.
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

    /// The Flow's configuration for personal fields, by `country`, else `nationality`, else
    /// `documentCountry`.
    pub fn personal_configuration(&self, flow: &Flow) -> Configuration {
        flow.configuration(
            ["country", "nationality", "documentCountry"]
                .iter()
                .find_map(|field| self.get(field)),
        )
    }

    /// The Flow's configuration for documents, by `documentCountry`, else `country`, else `nationality`.
    pub fn document_configuration(&self, flow: &Flow) -> Configuration {
        flow.configuration(
            ["documentCountry", "country", "nationality"]
                .iter()
                .find_map(|field| self.get(field)),
        )
    }

    /// The code with which a sandbox submission requests to fail (`lastName` = `SANDBOX-<code>`).
    pub fn forced_code(&self) -> Option<Code> {
        let number = self
            .get("lastName")
            .filter(|_| self.sandbox)?
            .strip_prefix("SANDBOX-")?;
        Code::from_number(number.parse().ok()?)
    }
}

/// The fault of a merchant's label for an applicant, which is not empty.
pub(crate) fn external_user_id_fault(text: &str) -> Option<&'static str> {
    if text.chars().count() > MAX_EXTERNAL_USER_ID {
        Some("must have at most 500 characters")
    } else if text.chars().any(char::is_control) {
        Some("must not contain control characters")
    } else {
        None
    }
}

/// The fault of a field's text, which is not empty.
fn field_fault(field: &str, text: &str, context: &SubmissionContext<'_>) -> Option<&'static str> {
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
        "dob" => birth_date_fault(text, context.today),
        "phone" if !is_phone(text) => Some("must be a phone number in international format with a leading +"),
        "email" if !is_email(text) => Some("must be an email address"),
        "country" | "nationality" | "documentCountry" if known_country(text, context.sandbox).is_none() => {
            Some("must be an ISO 3166-1 alpha-3 country code")
        }
        "documentTypes" if document_types(text).is_none() => {
            Some("must be a comma-separated list of PASSPORT, DRIVERS, ID_CARD, RESIDENCY_CARD")
        }
        "ocrMatch" if parse_flag(text).is_none() => Some("must be true or false"),
        _ if text.chars().any(char::is_control) => Some("must not contain control characters"),
        _ => None,
    }
}

/// What is wrong with a date of birth, if anything. `today` is in UTC.
pub(crate) fn birth_date_fault(text: &str, today: Date) -> Option<&'static str> {
    match dates::parse_us(text) {
        None => Some("must be a date in the format MM/DD/YYYY"),
        Some(date) if date > today => Some("must not be in the future"),
        Some(date) if dates::age_on(today, date) > 150 => Some("must be within the last 150 years"),
        Some(_) => None,
    }
}

fn parse_flag(text: &str) -> Option<bool> {
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

/// Whether the text has an existing country calling code and an E.164 length. Whether the number is assigned
/// is not checked, because numbering plans change faster than tables.
fn is_phone(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let only_phone_characters = text.bytes().all(|b| b.is_ascii_digit() || b"+ -().".contains(&b));
    text.starts_with('+')
        && only_phone_characters
        && (7..=15).contains(&digits)
        && phonenumber::parse(None, text).is_ok()
}

/// Whether the text is an ordinary email address, without display name and with a full domain.
pub fn is_email(text: &str) -> bool {
    let options = email_address::Options::default()
        .without_display_text()
        .without_domain_literal();
    text.len() <= 254
        && email_address::EmailAddress::parse_with_options(text, options.with_required_tld()).is_ok()
}

#[cfg(test)]
pub(crate) mod tests;
