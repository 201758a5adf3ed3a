//! What an attempt's log keeps for reviewers, in its sealed `detail`: every measure behind a verdict, where on the pictures it was
//! found, and what was screened but not counted. [`super::verify`] writes it. Only [`super::held_faces`] changes it, when an approval
//! looks at a held face or a decline takes it back. It never decides anything.

use std::collections::BTreeMap;

use documents::reading::DocumentReading;
use faces::{Embedding, Face, FaceReading};
use imaging::Decoded;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::attempts::Attempt;
use uuid::Uuid;
use verification::applicant_info::ApplicantInfo;
use verification::hold::Hold;
use verification::names::ScreenedName;
use verification::screening::ScreeningHit;

use crate::problem::Problem;

/// Lines of text whose place is kept of a picture.
const MOST_LINES: usize = 120;
/// Faces whose measures are kept of a picture.
const MOST_FACES: usize = 8;

/// The `detail` of an attempt. What an older version did not write is empty.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Detail {
    /// For the applicant's record.
    pub info: ApplicantInfo,
    /// One text per stage that failed.
    pub reasons: Vec<String>,
    /// Why the attempt was held although no code applies.
    pub holds: Vec<Hold>,
    /// The code that a sandbox submission asked for.
    pub forced: Option<u16>,
    /// The document types that the Flow asked for.
    pub required_documents: Vec<String>,
    /// Milliseconds a stage.
    pub timing_ms: BTreeMap<String, f64>,
    /// What the engines saw.
    pub seen: Seen,
    /// Sanctions hits that were found before not to mean this person, and did not count.
    pub suppressed: Vec<ScreeningHit>,
    /// Score from which a list entry matched, 0–1.
    pub screening_threshold: Option<f64>,
    /// The attempt's own names: the submitted one and those on documents.
    pub names: Vec<ScreenedName>,
    /// The face was proven and identified: later attempts of the same face are screened under these names, too.
    pub face_identified: bool,
    /// The face was proven, and it is beyond doubt the face of the person to whom the attempt belongs.
    pub face_proven: bool,
    /// The face that a hold left unproven, until an approval proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_face: Option<HeldFace>,
    /// The held face that an approval bound to the person, until the attempt is declined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_face: Option<HeldFace>,
    /// The Flow or the account required two people's decision.
    pub four_eyes: bool,
    /// Known faces near this one.
    pub similar: Vec<SimilarFace>,
}

impl Detail {
    /// An attempt's measures, or 503 if this version cannot read them.
    pub fn of(attempt: &Attempt) -> Result<Self, Problem> {
        serde_json::from_str(&attempt.detail)
            .map_err(|error| unreadable(attempt.log_id, "detail", &verification::json::fault(&error)))
    }
}

/// 503: a part of an attempt's record that this version cannot read. The fault contains no value of the record.
pub fn unreadable(log_id: i64, part: &str, fault: &impl std::fmt::Display) -> Problem {
    let text = format!(
        "The record of attempt {log_id} cannot be read. A newer version may have written it; an operator finds the reason in the log"
    );
    Problem::unavailable(text).because(format!("attempt {log_id}, {part}: {fault}"))
}

/// A face as the attempt's detail keeps it: the embedding with its model's version, in hexadecimal.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HeldFace(String);

impl From<&Embedding> for HeldFace {
    fn from(face: &Embedding) -> Self {
        HeldFace(hex::encode(face.to_bytes()))
    }
}

impl HeldFace {
    /// The embedding.
    pub(crate) fn embedding(&self) -> Result<Embedding, Problem> {
        let bytes = hex::decode(&self.0).map_err(Problem::internal)?;
        Embedding::from_bytes(&bytes).map_err(Problem::internal)
    }
}

/// A known person whose face is near.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SimilarFace {
    /// Whose; it may have become an alias since.
    pub facemap_id: Uuid,
    /// 0–100.
    pub similarity: f32,
}

/// What the engines saw.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Seen {
    /// Every picture that was sent, by its field (`passportFront`, `selfie`, …).
    pub pictures: BTreeMap<String, PictureSeen>,
    /// The passive check of the selfie.
    pub liveness: Option<LivenessSeen>,
    /// Each document, in the order of the submission.
    pub documents: Vec<DocumentSeen>,
    /// Submitted data held against the documents', whether or not the Flow asks for it.
    pub fields: Vec<FieldSeen>,
    /// Similarity from which faces matched.
    pub match_threshold: f32,
    /// Similarity from which, up to the match, a person looks.
    pub review_threshold: f32,
}

/// One picture. Boxes are left, top, width, height as parts of the upright picture, 0–1.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PictureSeen {
    /// `processed`, or why it could not be decoded.
    pub state: String,
    /// `image/jpeg`, …
    pub format: String,
    /// Pixels, as sent.
    pub width: u32,
    /// Pixels, as sent.
    pub height: u32,
    /// Of a PDF: the page that was looked at, from 0.
    pub page: Option<u32>,
    /// What it seems to show (documents).
    pub kind: Option<String>,
    /// What made it hard to read: code and advice.
    pub issues: Vec<(String, String)>,
    /// The faces on it, largest first.
    pub faces: Vec<FaceSeen>,
    /// The lines that were read.
    pub lines: Vec<LineSeen>,
    /// The machine-readable zone.
    pub mrz: Option<MrzSeen>,
    /// What barcodes there are, and what became of them.
    pub barcodes: Vec<String>,
}

/// One face.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FaceSeen {
    /// Where.
    #[serde(rename = "box")]
    pub bounds: [f32; 4],
    /// The detector's score, 0–1.
    pub score: f32,
    /// Whether it counts: neither background nor a ghost portrait.
    pub significant: bool,
    /// Pixels between the eyes.
    pub inter_eye_px: f32,
    /// What is wrong with it: code and advice.
    pub issues: Vec<(String, String)>,
}

/// One line of text.
#[derive(Clone, Serialize, Deserialize)]
pub struct LineSeen {
    /// Where.
    #[serde(rename = "box")]
    pub bounds: [f32; 4],
    /// What it says.
    pub text: String,
    /// 0–1.
    pub confidence: f32,
    /// It belongs to the machine-readable zone.
    pub mrz: bool,
}

/// A machine-readable zone.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MrzSeen {
    /// `TD1`, `TD2`, `TD3`, …
    pub format: String,
    /// As printed.
    pub lines: Vec<String>,
    /// Every check digit holds.
    pub valid: bool,
    /// The check digits that do not hold.
    pub failed_checks: Vec<Value>,
    /// What is unusual.
    pub warnings: Vec<Value>,
    /// How much likelier these lines are than the next reading, in nats.
    pub margin: Option<f32>,
}

/// The passive liveness check.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LivenessSeen {
    /// `live`, `not_live` or `impossible`.
    pub outcome: Value,
    /// 0 (attack) to 1; not a probability.
    pub score: f32,
    /// Why it is not `live`.
    pub reasons: Vec<String>,
    /// The strongest periodic pattern, and the mean colour.
    pub cues: Option<(f32, f32)>,
    /// The selfie is the very picture of the document.
    pub same_picture: bool,
}

/// One document.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSeen {
    /// `PASSPORT`, …
    pub document_type: String,
    /// The selfie compared with its portrait, 0–100.
    pub similarity: Option<f64>,
    /// Whether its sides belong together; none: nothing that both say.
    pub sides_agree: Option<bool>,
    /// What the machine-readable zone says, by field.
    pub mrz: BTreeMap<String, String>,
    /// What the barcode says, by field.
    pub barcode: BTreeMap<String, String>,
    /// What the visual zone says, by field.
    pub visual: BTreeMap<String, String>,
}

/// One submitted field held against one source.
#[derive(Clone, Serialize, Deserialize)]
pub struct FieldSeen {
    /// The submission's name of it.
    pub field: String,
    /// `MRZ`, `PDF417` or `OCR`.
    pub source: String,
    /// What was read; none when nothing was.
    pub extracted: Option<String>,
    /// Whether they agree.
    #[serde(rename = "match")]
    pub matches: Option<bool>,
    /// How well, 0–100.
    pub score: f64,
}

impl PictureSeen {
    /// A picture that could not be decoded.
    pub fn undecoded(code: &str) -> Self {
        PictureSeen {
            state: code.to_owned(),
            ..Self::default()
        }
    }

    /// A decoded picture, before anything was found on it.
    pub fn decoded(decoded: &Decoded) -> Self {
        PictureSeen {
            state: "processed".into(),
            format: decoded.format.media_type().to_owned(),
            width: decoded.source_width,
            height: decoded.source_height,
            page: decoded.page,
            ..Self::default()
        }
    }

    /// Adds the faces found on a picture of these pixels.
    pub fn add_faces(&mut self, reading: &FaceReading, size: (u32, u32)) {
        let seen = |face: &Face| FaceSeen {
            bounds: relative(face.bounds, size),
            score: face.score,
            significant: face.significant,
            inter_eye_px: face.inter_eye_px,
            issues: face
                .quality
                .iter()
                .map(|issue| (issue.code.to_owned(), issue.advice.to_owned()))
                .collect(),
        };
        self.faces = reading.faces.iter().take(MOST_FACES).map(seen).collect();
    }

    /// Adds what was read on a picture of these pixels.
    pub fn add_reading(&mut self, reading: &DocumentReading, size: (u32, u32)) {
        self.kind = json(&reading.kind).as_str().map(str::to_owned);
        self.issues = reading
            .quality
            .iter()
            .map(|issue| (issue.code.clone(), issue.advice.clone()))
            .collect();
        let mrz = reading.mrz.as_ref();
        let is_mrz = |text: &str| {
            text.matches('<').count() >= 2
                || mrz.is_some_and(|mrz| mrz.lines.iter().any(|line| line == text.trim()))
        };
        self.lines = reading
            .text
            .iter()
            .take(MOST_LINES)
            .map(|line| LineSeen {
                bounds: relative(line.bounds, size),
                confidence: line.confidence,
                mrz: is_mrz(&line.text),
                text: line.text.clone(),
            })
            .collect();
        self.mrz = mrz.map(|mrz| MrzSeen {
            format: mrz.format.as_str().to_owned(),
            lines: mrz.lines.clone(),
            valid: mrz.valid,
            failed_checks: mrz.failed_checks.iter().map(json).collect(),
            warnings: mrz.warnings.iter().map(json).collect(),
            margin: mrz.margin.filter(|margin| margin.is_finite()),
        });
        self.barcodes = reading
            .barcodes
            .iter()
            .map(|barcode| {
                format!(
                    "{} {}",
                    barcode.symbology,
                    json(&barcode.payload).as_str().unwrap_or_default()
                )
            })
            .collect();
    }
}

/// A value's word.
fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// A box in pixels as parts of the picture.
fn relative([left, top, width, height]: [f32; 4], (across, down): (u32, u32)) -> [f32; 4] {
    let (across, down) = (across.max(1) as f32, down.max(1) as f32);
    [left / across, top / down, width / across, height / down].map(|part| {
        if part.is_finite() {
            part.clamp(-1.0, 2.0)
        } else {
            0.0
        }
    })
}
