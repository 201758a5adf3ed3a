//! What the engines found, in plain data: the input of [`crate::judge`]. The server fills it in from the engines'
//! readings; nothing here says whether anybody passes.

use std::collections::BTreeSet;

use reference::DocumentType;
use serde::Serialize;

use crate::hold::Hold;

/// Everything that was found about one submission.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// One per declared document, in the order of the submission.
    pub documents: Vec<DocumentEvidence>,
    /// The selfie, if one was sent.
    pub selfie: Option<SelfieEvidence>,
    /// Submitted data held against the documents', whether or not the Flow compares; none without a document.
    pub comparison: Option<Comparison>,
    /// Doubts about the selfie that only a person can settle.
    pub selfie_doubts: BTreeSet<Hold>,
}

/// What became of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureState {
    /// It was decoded and looked at.
    Processed,
    /// It cannot be decoded, or is a PDF that is refused (2003, 2103).
    Corrupted,
    /// It was decoded but cannot be worked with: nothing legible, a portrait or face too poor to compare, or an engine
    /// gave it up (2002, 2102).
    Unprocessable,
}

/// What a picture shows, as far as can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shows {
    /// Nothing speaks against the declared document.
    #[default]
    Declared,
    /// Something else for certain: another type of document, or none (2404).
    Other,
}

/// One side of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SideEvidence {
    /// What became of the picture.
    pub state: PictureState,
    /// What it shows.
    pub shows: Shows,
    /// Significant faces; only the front's count is looked at.
    pub faces: usize,
}

/// One document.
#[derive(Clone, Debug)]
pub struct DocumentEvidence {
    /// Its declared type.
    pub document_type: DocumentType,
    /// The side with the photo; none when it was not sent.
    pub front: Option<SideEvidence>,
    /// The other side, if it was sent.
    pub back: Option<SideEvidence>,
    /// The machine-readable zone, on whichever side.
    pub mrz: MrzFinding,
    /// The PDF417 barcode, on whichever side.
    pub barcode: BarcodeFinding,
    /// What optical character recognition read in the visual zone.
    pub visual: DocumentData,
    /// Whether the two sides belong together.
    pub sides: Consistency,
    /// The selfie compared with the front's portrait; none when either has no face.
    pub portrait_match: Option<FaceMatch>,
}

/// A machine-readable zone.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one per document, never in bulk")]
pub enum MrzFinding {
    /// No lines of one.
    NotFound,
    /// Lines of one, of which no data could be made.
    Unreadable,
    /// It was read.
    Read(MrzRead),
}

/// A machine-readable zone that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct MrzRead {
    /// `TD1`, `TD2`, `TD3`, ….
    pub format: String,
    /// Every check digit holds.
    pub valid: bool,
    /// Verdicts may rely on the reading: the picture shows it clearly, or another source of the document confirms it.
    pub accepted: bool,
    /// What it says. The issuer is the code as printed (`D`).
    pub data: DocumentData,
}

/// A PDF417 barcode.
#[derive(Clone, Debug, PartialEq)]
pub enum BarcodeFinding {
    /// None.
    NotFound,
    /// One that cannot be decoded, or whose content claims the AAMVA standard and breaks it.
    Unreadable,
    /// Decoded, but its content is of no standard that we know.
    Opaque,
    /// A licence's or card's data. The issuer is an alpha-3 code.
    Read(DocumentData),
}

/// What a source says of a document and its holder; absent: not read.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct DocumentData {
    /// Every given name.
    pub given_names: Option<String>,
    /// Family name.
    pub surname: Option<String>,
    /// Without separators.
    pub document_number: Option<String>,
    /// Issuing state: a code of ICAO 9303-3 §5.
    pub issuer: Option<String>,
    /// A code of ICAO 9303-3 §5.
    pub nationality: Option<String>,
    /// `YYYY-MM-DD`, or its known beginning.
    pub birth_date: Option<String>,
    /// `YYYY-MM-DD`.
    pub expiry_date: Option<String>,
    /// `M`, `F` or `X`.
    pub sex: Option<String>,
    /// The end of a name may be missing, because the source has too little room for it.
    pub name_may_be_truncated: bool,
}

impl std::fmt::Debug for DocumentData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DocumentData(..)")
    }
}

/// Whether two sides belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consistency {
    /// One side only, or nothing that both say.
    #[default]
    Unknown,
    /// They agree.
    Consistent,
    /// They contradict each other (2505, 2506).
    Mismatch,
}

/// A one-to-one comparison of faces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaceMatch {
    /// 0–100.
    pub similarity: f64,
    /// What it means at the Flow's thresholds.
    pub verdict: MatchVerdict,
}

/// What a similarity means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchVerdict {
    /// Different people (2201, 2204).
    NoMatch,
    /// In the review band (2202).
    BelowThreshold,
    /// One person.
    Match,
}

/// The selfie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelfieEvidence {
    /// What became of the picture; a face too poor to compare makes it [`PictureState::Unprocessable`].
    pub state: PictureState,
    /// Significant faces.
    pub faces: usize,
    /// The passive check.
    pub liveness: Liveness,
    /// The active one.
    pub challenge: Challenge,
}

/// Whether a living person was in front of the camera.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// Nothing speaks against it.
    Live,
    /// A picture of a picture (2104).
    NotLive,
    /// It cannot be told (2105).
    Impossible,
}

/// The hosted page's sequence of head turns, as the server checked it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Challenge {
    /// None was made.
    #[default]
    Absent,
    /// Passed.
    Passed,
    /// Not passed.
    Failed,
}

/// Submitted data held against what documents say.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Each field with each source that could say something about it.
    pub fields: Vec<ComparedField>,
    /// What a reader should know, in plain words.
    pub warnings: Vec<String>,
}

/// One field held against one source.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedField {
    /// The submission's name of the field.
    pub field: String,
    /// Where the document's value was read.
    pub source: Source,
    /// What was submitted.
    pub submitted: String,
    /// What was read; none when nothing was.
    pub extracted: Option<String>,
    /// Whether they agree; none when nothing was read.
    #[serde(rename = "match")]
    pub matches: Option<bool>,
    /// How well, 0–100.
    pub score: f64,
    /// Verdicts may rely on it: the source is no MRZ, or an accepted one.
    #[serde(skip)]
    pub is_reliable: bool,
}

/// Where on a document a value was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Source {
    /// The machine-readable zone.
    #[serde(rename = "MRZ")]
    Mrz,
    /// The barcode.
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
