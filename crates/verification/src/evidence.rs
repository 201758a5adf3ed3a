//! What the engines found, as plain data: the input of [`crate::judge`]. The server fills it in from the
//! engines' readings. Nothing here decides an outcome.

use std::collections::BTreeSet;

use reference::DocumentType;
use serde::{Deserialize, Serialize};

use crate::expected::ExpectedPerson;
use crate::hold::Hold;

/// All findings about one submission.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// One per declared document, in the order of the submission.
    pub documents: Vec<DocumentEvidence>,
    /// The selfie, if one was sent.
    pub selfie: Option<SelfieEvidence>,
    /// Submitted data compared with document data, even if the Flow does not require it; `None` without a
    /// document.
    pub comparison: Option<Comparison>,
    /// Doubts about the selfie that only a reviewer can settle.
    pub selfie_doubts: BTreeSet<Hold>,
    /// A document's picture has signs of fraud. Always false in a Flow that does not look for them.
    pub has_fraud_signs: bool,
    /// The comparison with the person whom the merchant expects, if the link names one.
    pub expected: Option<ExpectedComparison>,
}

impl Evidence {
    /// The same evidence with one more doubt about the selfie.
    #[must_use]
    pub fn with_doubt(&self, doubt: Hold) -> Self {
        let mut evidence = self.clone();
        evidence.selfie_doubts.insert(doubt);
        evidence
    }
}

/// How far a picture could be processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureState {
    /// The picture was decoded and examined.
    Processed,
    /// The picture cannot be decoded, or is a refused PDF (2003, 2103).
    Corrupted,
    /// The picture was decoded but is unusable (2002, 2102). It is illegible, its portrait or face is too
    /// poor to compare, or an engine failed on it.
    Unprocessable,
}

/// Whether a picture shows the declared document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PictureContent {
    /// Nothing contradicts the declared document.
    #[default]
    Declared,
    /// The picture certainly shows another type of document, or none (2404).
    Other,
}

/// One side of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SideEvidence {
    /// How far the picture could be processed.
    pub state: PictureState,
    /// Whether it shows the declared document.
    pub content: PictureContent,
    /// Number of significant faces; the rules read it for the front only.
    pub faces: usize,
}

/// Findings about one document.
#[derive(Clone, Debug)]
pub struct DocumentEvidence {
    /// The declared type.
    pub document_type: DocumentType,
    /// The side with the photo; `None` if it was not sent.
    pub front: Option<SideEvidence>,
    /// The other side; `None` if it was not sent.
    pub back: Option<SideEvidence>,
    /// The machine-readable zone, on either side.
    pub mrz: MrzFinding,
    /// The PDF417 barcode, on either side.
    pub barcode: BarcodeFinding,
    /// Data that OCR read in the visual zone.
    pub visual: DocumentData,
    /// Whether front and back agree.
    pub sides: Consistency,
    /// Comparison of the selfie with the front's portrait; `None` if either has no face.
    pub portrait_match: Option<FaceMatch>,
}

/// The result of searching for a machine-readable zone.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one per document, never in bulk")]
pub enum MrzFinding {
    /// No MRZ lines were found.
    NotFound,
    /// MRZ lines were found, but no data could be read from them.
    Unreadable,
    /// The MRZ was read.
    Read(MrzRead),
}

/// A machine-readable zone that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct MrzRead {
    /// The MRZ format, such as `TD1`, `TD2` or `TD3`.
    pub format: String,
    /// Every check digit is correct.
    pub valid: bool,
    /// The rules may rely on the reading: the picture shows it clearly, or another source of the document
    /// states the same names and number, if only those are uncertain.
    pub accepted: bool,
    /// The data of the zone. The issuer is the code as printed (`D`).
    pub data: DocumentData,
}

/// The result of searching for a PDF417 barcode.
#[derive(Clone, Debug, PartialEq)]
pub enum BarcodeFinding {
    /// No barcode was found.
    NotFound,
    /// The barcode cannot be decoded, or its content claims the AAMVA standard and violates it.
    Unreadable,
    /// The barcode was decoded, but its content follows no supported standard.
    Opaque,
    /// Data of a licence or card. The issuer is an alpha-3 code.
    Read(DocumentData),
}

/// Data about a document and its holder from one source. A field that was not read is `None`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct DocumentData {
    /// All given names.
    pub given_names: Option<String>,
    /// Family name.
    pub surname: Option<String>,
    /// Document number without separators.
    pub document_number: Option<String>,
    /// Issuing state: a code of ICAO 9303-3 §5.
    pub issuer: Option<String>,
    /// Nationality: a code of ICAO 9303-3 §5.
    pub nationality: Option<String>,
    /// `YYYY-MM-DD`, or only its known beginning.
    pub birth_date: Option<String>,
    /// `YYYY-MM-DD`.
    pub expiry_date: Option<String>,
    /// `M`, `F` or `X`.
    pub sex: Option<String>,
    /// The source may have cut off the end of a name for lack of room.
    pub name_may_be_truncated: bool,
}

impl std::fmt::Debug for DocumentData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DocumentData(..)")
    }
}

/// Whether the two sides of a document agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consistency {
    /// Only one side was read, or the sides have no field in common.
    #[default]
    Unknown,
    /// The sides agree.
    Consistent,
    /// The sides contradict each other (2505, 2506).
    Mismatch,
}

/// A one-to-one comparison of faces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaceMatch {
    /// Similarity, 0–100.
    pub similarity: f64,
    /// The verdict at the Flow's thresholds.
    pub verdict: MatchVerdict,
}

/// The verdict on a similarity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchVerdict {
    /// The faces belong to different people (2201, 2204).
    NoMatch,
    /// The similarity is in the review band (2202).
    BelowThreshold,
    /// The faces belong to one person.
    Match,
}

/// Findings about the selfie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelfieEvidence {
    /// How far the picture could be processed. A face too poor to compare makes it
    /// [`PictureState::Unprocessable`].
    pub state: PictureState,
    /// Number of significant faces.
    pub faces: usize,
    /// What the passive cue says.
    pub passive_cue: PassiveCue,
    /// Result of the active liveness challenge.
    pub challenge: Challenge,
}

/// Whether the selfie looks like a picture of a picture. A cue, not proof that a person is present: most
/// clean prints pass it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassiveCue {
    /// No sign of an attack.
    NoAttack,
    /// The selfie is a picture of a picture (2104).
    Attack,
    /// No result (2105).
    Undecided,
}

/// The hosted page's challenge, as the server checked it; see [`crate::challenge`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Challenge {
    /// The selfie is no frame of a challenge that ended well.
    #[default]
    Absent,
    /// The challenge was passed.
    Passed,
    /// The challenge was left to a person, whose hold says so.
    InReview,
}

/// Submitted data compared with document data.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Each field with each source that could contain it.
    pub fields: Vec<ComparedField>,
    /// Warnings for the reader, in plain words.
    pub warnings: Vec<String>,
}

/// One submitted field compared with one source.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedField {
    /// The field's name in the submission.
    pub field: String,
    /// The source of the document's value.
    pub source: Source,
    /// The submitted value.
    pub submitted: String,
    /// The value that was read; `None` if nothing was read.
    pub extracted: Option<String>,
    /// Whether the values agree; `None` if nothing was read.
    #[serde(rename = "match")]
    pub matches: Option<bool>,
    /// How well the values agree, 0–100.
    pub score: f64,
    /// The rules may rely on the comparison: the source is not the MRZ, or the MRZ reading is accepted.
    #[serde(skip)]
    pub is_reliable: bool,
}

/// The expected person compared with the documents.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedComparison {
    /// Whom the merchant expects.
    pub person: ExpectedPerson,
    /// For each document, each expected field with each source.
    pub documents: Vec<Vec<ExpectedField>>,
}

/// One expected value compared with one source.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedField {
    /// `firstName`, `lastName` or `dob`.
    pub field: String,
    /// The part of the document.
    pub source: Source,
    /// The value there; `None` if there is none.
    pub found: Option<String>,
    /// Whether the values agree; `None` if that is unclear.
    #[serde(rename = "match")]
    pub matches: Option<bool>,
    /// How well the values agree, 0–100.
    pub score: f64,
    /// Whether results may rely on the source.
    pub is_reliable: bool,
}

/// Without the values, which are personal.
impl std::fmt::Debug for ExpectedField {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ExpectedField")
            .field("field", &self.field)
            .field("source", &self.source)
            .field("matches", &self.matches)
            .finish_non_exhaustive()
    }
}

/// The part of a document from which a value was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The machine-readable zone.
    #[serde(rename = "MRZ")]
    Mrz,
    /// The PDF417 barcode.
    #[serde(rename = "PDF417")]
    Pdf417,
    /// The visual zone.
    #[serde(rename = "OCR")]
    Ocr,
}

impl Source {
    /// `MRZ`, `PDF417` or `OCR`.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Mrz => "MRZ",
            Source::Pdf417 => "PDF417",
            Source::Ocr => "OCR",
        }
    }
}
