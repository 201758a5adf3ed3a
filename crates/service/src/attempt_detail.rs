//! The sealed `detail` of an attempt's log, for reviewers: every measure behind the result, its position on
//! the pictures, and the hits that did not count. [`super::verify`] writes it. Only [`super::held_faces`]
//! changes it: when an approval finds similar faces, when it proves a held face, and when a decline takes the
//! face back. The module decides nothing.

use std::collections::BTreeMap;

pub use documents::fraud_signs::{FraudKind, FraudSign};
use documents::reading::DocumentReading;
use engine_process::PictureInfo;
use faces::{Embedding, Face, FaceReading, PadScore};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::attempts::Attempt;
use uuid::Uuid;
use verification::applicant_info::ApplicantInfo;
use verification::challenge::Report;
use verification::evidence::ExpectedComparison;
use verification::hold::Hold;
use verification::judge::expected;
use verification::names::ScreenedName;
use verification::rescreening::AttemptNames;
use verification::reuse::PictureReuse;
use verification::screening::ScreeningHit;

use crate::problem::{Kind, Problem};

/// The maximum number of recorded text lines per picture.
const MOST_LINES: usize = 120;
/// The maximum number of recorded faces per picture.
const MOST_FACES: usize = 8;

/// The `detail` of an attempt. Members that an older version did not write are empty.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Detail {
    /// The applicant's data, for the applicant's record.
    pub info: ApplicantInfo,
    /// One text per stage that failed.
    pub reasons: Vec<String>,
    /// Why the attempt was held for review, where no failure code applies.
    pub holds: Vec<Hold>,
    /// The failure code that a sandbox submission requested.
    pub forced: Option<u16>,
    /// The document types that the Flow required.
    pub required_documents: Vec<String>,
    /// Milliseconds per stage.
    pub timing_ms: BTreeMap<String, f64>,
    /// The measures of the engines.
    pub seen: Measures,
    /// Sanctions hits that did not count, because a reviewer found earlier that they do not mean this person.
    pub suppressed: Vec<ScreeningHit>,
    /// The score from which a list entry matched, 0–1.
    pub screening_threshold: Option<f64>,
    /// The profile, unless it was the standard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screening_profile: Option<String>,
    /// The submitted name and the names on the documents.
    pub names: Vec<ScreenedName>,
    /// The face was proven and identified. Later attempts of the same face are screened under these names
    /// too.
    pub face_identified: bool,
    /// The face was proven, and it is certainly the face of the person to whom the attempt belongs.
    pub face_proven: bool,
    /// The face that a hold left unproven, until an approval proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_face: Option<HeldFace>,
    /// The held face that an approval bound to the person, until the attempt is declined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_face: Option<HeldFace>,
    /// The Flow or the account required a decision by two people.
    pub four_eyes: bool,
    /// Known people whose faces are similar.
    pub similar: Vec<SimilarFace>,
    /// Why a hit that would decide in a smaller account is held for review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<UndecidedSearch>,
    /// Pictures that were in earlier attempts under another `externalUserId`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reuses: Vec<PictureReuse>,
    /// The comparison with the person whom the merchant expects. It may be another person's data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedComparison>,
    /// Submitted fields whose value is the one that was read from the document before the submission.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taken_from_document: Vec<String>,
}

impl Detail {
    /// An attempt's measures, or 503 if this version cannot read them.
    pub fn of(attempt: &Attempt) -> Result<Self, Problem> {
        serde_json::from_str(&attempt.detail).map_err(|error| {
            unreadable(
                attempt.log_id,
                "detail",
                &verification::json::describe_without_values(&error),
            )
        })
    }

    /// The part that is stored beside the record for ongoing screening.
    pub(crate) fn attempt_names(&self) -> AttemptNames {
        AttemptNames {
            names: self.names.clone(),
            identified: self.face_identified,
        }
    }

    /// [`Detail::attempt_names`] as it is stored.
    pub(crate) fn names_record(&self) -> Result<String, Problem> {
        serde_json::to_string(&self.attempt_names()).map_err(Problem::internal)
    }
}

/// The members of [`Detail`] that a person's export contains: all but the reasons of a reviewer, other people's
/// data, and biometric templates.
const EXPORTED: [&str; 14] = [
    "faceIdentified",
    "faceProven",
    "forced",
    "fourEyes",
    "info",
    "names",
    "reasons",
    "requiredDocuments",
    "screeningProfile",
    "screeningThreshold",
    "seen",
    "suppressed",
    "takenFromDocument",
    "timingMs",
];

/// An attempt's measures as its person may receive them. Members that this version does not know are left
/// out, because they could be templates.
///
/// # Errors
/// 503 if this version cannot read the record.
pub(crate) fn for_its_person(attempt: &Attempt) -> Result<Value, Problem> {
    exported(&attempt.detail).map_err(|error| {
        let fault = verification::json::describe_without_values(&error);
        unreadable(attempt.log_id, "detail", &fault)
    })
}

/// The members of [`Detail`] that reviewers see beyond [`EXPORTED`]: their own reasons, and what concerns other people.
const REVIEWED: [&str; 5] = ["expected", "holds", "reuses", "similar", "undecided"];

/// An attempt's measures as reviewers may receive them: without biometric templates, and without members that this
/// version does not know.
///
/// # Errors
/// 503 if this version cannot read the record.
pub(crate) fn for_reviewers(attempt: &Attempt) -> Result<Value, Problem> {
    let read = || -> serde_json::Result<Value> {
        let mut members: serde_json::Map<String, Value> = serde_json::from_str(&attempt.detail)?;
        members.retain(|name, _| EXPORTED.contains(&name.as_str()) || REVIEWED.contains(&name.as_str()));
        Ok(members.into())
    };
    read().map_err(|error| {
        let fault = verification::json::describe_without_values(&error);
        unreadable(attempt.log_id, "detail", &fault)
    })
}

fn exported(detail: &str) -> serde_json::Result<Value> {
    let mut members: serde_json::Map<String, Value> = serde_json::from_str(detail)?;
    // An expected person who was confirmed is this one. Any other may be somebody else.
    let is_own = |expected: &Value| {
        let compared = ExpectedComparison::deserialize(expected).ok();
        compared.is_some_and(|compared| expected::difference(&compared).is_none())
    };
    let has_own = members.get("expected").is_some_and(is_own);
    members.retain(|name, _| EXPORTED.contains(&name.as_str()) || (has_own && name == "expected"));
    Ok(members.into())
}

/// 503: this version cannot read a part of an attempt's record. `fault` must contain no value of the record.
pub fn unreadable(log_id: i64, part: &str, fault: &impl std::fmt::Display) -> Problem {
    let text = format!(
        "The record of attempt {log_id} cannot be read. A newer version may have written it; an operator finds the reason in the log"
    );
    Problem::unavailable(text).because(format!("attempt {log_id}, {part}: {fault}"))
}

/// A face in an attempt's detail: the embedding with its model's version, in hexadecimal.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HeldFace(String);

/// Without the embedding, which is biometric data.
impl std::fmt::Debug for HeldFace {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("HeldFace")
    }
}

impl From<&Embedding> for HeldFace {
    fn from(face: &Embedding) -> Self {
        HeldFace(hex::encode(face.to_bytes()))
    }
}

impl HeldFace {
    /// The embedding.
    ///
    /// # Errors
    /// A conflict if an earlier version stored it in a format that can no longer be compared.
    pub(crate) fn embedding(&self) -> Result<Embedding, Problem> {
        let bytes = hex::decode(&self.0).map_err(Problem::internal)?;
        Embedding::from_bytes(&bytes).map_err(|_| face_outdated())
    }
}

/// The face of an attempt was read by another model than the known faces.
pub(crate) fn face_outdated() -> Problem {
    let text = "The face model was replaced after this attempt, so its face cannot be compared with the known ones. Decline the \
                attempt and ask the applicant to verify again.";
    Problem::new(Kind::Conflict, text).named("face_outdated")
}

/// A known person with a similar face.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SimilarFace {
    /// The person's facemap id. It may have become an alias since.
    pub facemap_id: Uuid,
    /// Similarity, 0–100.
    pub similarity: f32,
}

/// A search among so many faces that a stranger could be as similar as the nearest one
/// (`docs/decisions/0051-search-by-account-size.md`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndecidedSearch {
    /// The account's enrolled faces at the time.
    pub faces: usize,
    /// The similarity, 0–100, from which a search among them decides.
    pub deciding_similarity: f32,
}

/// The measures of the engines.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Measures {
    /// Every submitted picture, by its field (`passportFront`, `selfie`, …).
    pub pictures: BTreeMap<String, PictureMeasures>,
    /// The passive cue of the selfie. Stored under the name that it had first.
    #[serde(rename = "liveness")]
    pub passive_cue: Option<PassiveCueMeasures>,
    /// The session's liveness challenge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Report>,
    /// The documents, in the order of the submission.
    pub documents: Vec<DocumentMeasures>,
    /// Submitted data compared with the documents' data, whether or not the Flow requires it.
    pub fields: Vec<FieldComparison>,
    /// The similarity from which faces match.
    pub match_threshold: f32,
    /// The similarity from which, up to the match threshold, a person reviews the attempt.
    pub review_threshold: f32,
    /// The versions of the models that were used, by name ([`inference::Models::versions`]).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, String>,
}

/// One picture. Boxes are left, top, width, height as fractions of the upright picture, 0–1.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PictureMeasures {
    /// `processed`, or why it could not be decoded.
    pub state: String,
    /// `image/jpeg`, …
    pub format: String,
    /// Width in pixels, as submitted.
    pub width: u32,
    /// Height in pixels, as submitted.
    pub height: u32,
    /// The page that was read of a PDF, from 0.
    pub page: Option<u32>,
    /// What a document's picture appears to show.
    pub kind: Option<String>,
    /// Quality issues: code and advice.
    pub issues: Vec<(String, String)>,
    /// The faces on it, largest first.
    pub faces: Vec<FaceMeasures>,
    /// The text lines that were read.
    pub lines: Vec<RecordedLine>,
    /// The machine-readable zone.
    pub mrz: Option<MrzMeasures>,
    /// Each barcode's symbology and the kind of its payload.
    pub barcodes: Vec<String>,
    /// The signs of fraud that were looked for, raised or not; their boxes are fractions like the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fraud: Vec<FraudSign>,
}

/// One face.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FaceMeasures {
    /// Its position.
    #[serde(rename = "box")]
    pub bounds: [f32; 4],
    /// The detector's score, 0–1.
    pub score: f32,
    /// Whether it counts, because it is neither in the background nor a ghost portrait.
    pub significant: bool,
    /// Pixels between the eyes.
    pub inter_eye_px: f32,
    /// Quality issues: code and advice.
    pub issues: Vec<(String, String)>,
}

/// One line of text.
#[derive(Clone, Serialize, Deserialize)]
pub struct RecordedLine {
    /// Its position.
    #[serde(rename = "box")]
    pub bounds: [f32; 4],
    /// The text that was read.
    pub text: String,
    /// Confidence, 0–1.
    pub confidence: f32,
    /// Whether it belongs to the machine-readable zone.
    pub mrz: bool,
}

/// A machine-readable zone.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MrzMeasures {
    /// `TD1`, `TD2`, `TD3`, …
    pub format: String,
    /// As printed.
    pub lines: Vec<String>,
    /// Whether every check digit is correct.
    pub valid: bool,
    /// The check digits that are wrong.
    pub failed_checks: Vec<Value>,
    /// Unusual properties.
    pub warnings: Vec<Value>,
    /// How much likelier this reading is than the next one, in nats.
    pub margin: Option<f32>,
}

/// The passive cue.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PassiveCueMeasures {
    /// `live`, `not_live` or `impossible`.
    pub outcome: Value,
    /// 0 (attack) to 1; not a probability.
    pub score: f32,
    /// Why it is not `live`.
    pub reasons: Vec<String>,
    /// The strongest periodic pattern, and the mean colour.
    pub cues: Option<(f32, f32)>,
    /// The selfie is the same picture as the document's.
    pub same_picture: bool,
    /// The score of the custom model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<PadScore>,
}

/// One document.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentMeasures {
    /// `PASSPORT`, …
    pub document_type: String,
    /// The similarity of the selfie to its portrait, 0–100.
    pub similarity: Option<f64>,
    /// Whether its sides belong to the same document; `None`: they have no data in common.
    pub sides_agree: Option<bool>,
    /// The data of the machine-readable zone, by field.
    pub mrz: BTreeMap<String, String>,
    /// The data of the barcode, by field.
    pub barcode: BTreeMap<String, String>,
    /// The data of the visual zone, by field.
    pub visual: BTreeMap<String, String>,
}

/// One submitted field compared with one source.
#[derive(Clone, Serialize, Deserialize)]
pub struct FieldComparison {
    /// The field's name in the submission.
    pub field: String,
    /// `MRZ`, `PDF417` or `OCR`.
    pub source: String,
    /// The value that was read; `None` if there was none.
    pub extracted: Option<String>,
    /// Whether the values agree.
    #[serde(rename = "match")]
    pub matches: Option<bool>,
    /// How well they agree, 0–100.
    pub score: f64,
}

impl PictureMeasures {
    /// A picture that could not be decoded.
    pub fn undecoded(code: &str) -> Self {
        PictureMeasures {
            state: code.to_owned(),
            ..Self::default()
        }
    }

    /// A decoded picture, before the engines read it.
    pub fn decoded(info: &PictureInfo) -> Self {
        PictureMeasures {
            state: "processed".into(),
            format: info.format.media_type().to_owned(),
            width: info.source_width,
            height: info.source_height,
            page: info.page,
            ..Self::default()
        }
    }

    /// Adds the faces of a picture with this size in pixels.
    pub fn add_faces(&mut self, reading: &FaceReading, size: (u32, u32)) {
        let seen = |face: &Face| FaceMeasures {
            bounds: relative(face.bounds, size),
            score: face.score,
            significant: face.significant,
            inter_eye_px: face.inter_eye_px,
            issues: face
                .quality
                .iter()
                .map(|issue| (issue.code.clone().into_owned(), issue.advice.clone().into_owned()))
                .collect(),
        };
        self.faces = reading.faces.iter().take(MOST_FACES).map(seen).collect();
    }

    /// Adds the text, MRZ and barcodes of a picture with this size in pixels.
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
            .map(|line| RecordedLine {
                bounds: relative(line.bounds, size),
                confidence: line.confidence,
                mrz: is_mrz(&line.text),
                text: line.text.clone(),
            })
            .collect();
        self.mrz = mrz.map(|mrz| MrzMeasures {
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
        self.add_fraud_signs(&reading.fraud, size);
    }

    /// Adds signs of fraud, whose boxes are in pixels of a picture of this size.
    pub fn add_fraud_signs(&mut self, signs: &[FraudSign], size: (u32, u32)) {
        self.fraud.extend(signs.iter().map(|sign| FraudSign {
            bounds: sign.bounds.map(|bounds| relative(bounds, size)),
            ..sign.clone()
        }));
    }
}

/// A value as JSON, such as an enum's name.
fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Converts a box from pixels to fractions of the picture.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The members of [`Detail`] that no export contains: why a reviewer decides (`holds`), data that may be other
    /// people's (`expected`, `reuses`, `similar`), and biometric templates, possibly of a person whose picture was stolen.
    const WITHHELD: [&str; 7] = [
        "boundFace",
        "expected",
        "heldFace",
        "holds",
        "reuses",
        "similar",
        "undecided",
    ];

    #[test]
    fn an_export_contains_no_template_and_a_new_member_must_be_assigned() {
        let whole = serde_json::to_value(Detail {
            held_face: Some(HeldFace("00".into())),
            bound_face: Some(HeldFace("00".into())),
            screening_profile: Some("strict".into()),
            reuses: vec![PictureReuse {
                file: "selfie".into(),
                likeness: verification::reuse::Likeness::Exact,
                log_id: 1,
                earlier_file: "selfie".into(),
            }],
            undecided: Some(UndecidedSearch {
                faces: 1_000,
                deciding_similarity: 90.0,
            }),
            expected: Some(ExpectedComparison {
                person: serde_json::from_str(r#"{"firstName":"Ada","lastName":"Byron"}"#).unwrap(),
                documents: Vec::new(),
            }),
            taken_from_document: vec!["dob".into()],
            ..Detail::default()
        })
        .unwrap();
        let exported = exported(&whole.to_string()).unwrap();
        let names =
            |value: &Value| -> BTreeSet<String> { value.as_object().unwrap().keys().cloned().collect() };
        let set = |names: &[&str]| -> BTreeSet<String> { names.iter().map(ToString::to_string).collect() };
        assert_eq!(names(&exported), set(&EXPORTED));
        assert_eq!(names(&whole), &set(&EXPORTED) | &set(&WITHHELD));
    }

    #[test]
    fn only_a_confirmed_expected_person_is_exported() {
        for (matches, is_exported) in [(true, true), (false, false)] {
            let said = |field: &str| serde_json::json!({"field": field, "source": "MRZ", "found": "x", "match": matches, "score": 100.0, "isReliable": true});
            let fields = [said("firstName"), said("lastName")];
            let person = serde_json::json!({"firstName": "Ada", "lastName": "Byron"});
            let detail = serde_json::json!({"expected": {"person": person, "documents": [fields]}});
            let exported = exported(&detail.to_string()).unwrap();
            assert_eq!(exported.get("expected").is_some(), is_exported, "{exported}");
        }
    }

    #[test]
    fn an_export_of_an_unreadable_record_is_refused() {
        exported(r#""heldFace": "00ff""#).unwrap_err();
        exported("[]").unwrap_err();
    }
}
