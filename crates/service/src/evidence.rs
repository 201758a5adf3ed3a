//! Turns the readings of uploaded files into the evidence for the rules. Blocking work for the CPU pool: an
//! engine worker reads each file.
//!
//! Files are read one after the other, so that a verification occupies one worker. This module does not decide
//! whether an applicant passes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use documents::reading::{DocumentReading, MrzWarning, PayloadKind, field};
use engine_process::{EngineError, FaceWish, PictureInfo, Stage, Timings};
use faces::{CueOutcome, Embedding, Face, MATCH_SIMILARITY, REVIEW_SIMILARITY};
use imaging::DecodeError;
use reference::DocumentType;
use sha2::{Digest, Sha256};
use verification::evidence::{
    BarcodeFinding, Challenge, ComparedField, Consistency, DocumentData, DocumentEvidence, Evidence,
    FaceMatch, MatchVerdict, MrzFinding, MrzRead, PassiveCue, PictureState, SelfieEvidence, SideEvidence,
};
use verification::expected::ExpectedPerson;
use verification::picture::{self, Resemblance};
use verification::settings::{FraudSigns, Settings};
use verification::submission::{FileField, Side, Submission};

use super::App;
use super::attempt_detail::{
    DocumentMeasures, FieldComparison, FraudSign, Measures, PassiveCueMeasures, PictureMeasures,
};
use super::comparison;
use super::cpu::Abandoned;
use super::document_side::{self, ProcessedSide, SideWish};
use super::reuse::{Fingerprint, Fingerprints};
use crate::problem::Problem;
use crate::upload::File;

/// The results of the engines.
pub struct GatheredEvidence {
    /// The evidence for the rules. The caller adds the screening.
    pub evidence: Evidence,
    /// The selfie's face, if it is good enough to be compared.
    pub face: Option<Embedding>,
    /// SHA-256 of the selfie's file.
    pub selfie_hash: Option<[u8; 32]>,
    /// Milliseconds per stage.
    pub timings: BTreeMap<String, f64>,
    /// The measures behind the evidence, for reviewers.
    pub seen: Measures,
    /// The pictures that could be decoded, for comparison with other attempts.
    pub pictures: Fingerprints,
}

/// Publishes how long a stage of a verification took.
pub fn record_stage(stage: &'static str, took: Duration) {
    metrics::histogram!("bonafide_verify_stage_seconds", "stage" => stage).record(took.as_secs_f64());
}

/// Processes every declared document and the selfie.
pub fn gather_evidence(
    app: &App,
    submission: &Submission,
    (settings, expected): (&Settings, Option<&ExpectedPerson>),
    files: &mut BTreeMap<String, File>,
    gone: &Abandoned,
) -> Result<GatheredEvidence, Problem> {
    let mut gathered = GatheredEvidence {
        evidence: Evidence::default(),
        face: None,
        selfie_hash: None,
        timings: BTreeMap::new(),
        seen: Measures {
            match_threshold: match_from(settings),
            review_threshold: review_from(settings),
            ..Measures::default()
        },
        pictures: Fingerprints::new(),
    };
    let compare_expected =
        |readings: &[Vec<DocumentReading>]| expected.map(|person| comparison::expected(person, readings));
    if submission.document_types.is_empty() && !files.contains_key(FileField::Selfie.as_str()) {
        gathered.evidence.expected = compare_expected(&[]);
        return Ok(gathered);
    }
    let mut looker = EvidenceGatherer {
        app,
        files,
        gone,
        timings: &mut gathered.timings,
        seen: &mut gathered.seen,
        selfie_hash: &mut gathered.selfie_hash,
        pictures: &mut gathered.pictures,
        selfie: None,
        resemblance: Resemblance::default(),
        fraud_signs: settings.fraud_signs != FraudSigns::Off,
    };
    let (mut selfie, face) = looker.selfie()?;
    let mut readings: Vec<Vec<DocumentReading>> = Vec::new();
    for document_type in &submission.document_types {
        let (document, sides) = looker.document(*document_type, face.as_ref(), settings)?;
        gathered.evidence.documents.push(document);
        readings.push(sides);
    }
    let resemblance = looker.resemblance;
    if let Some(selfie) = &mut selfie {
        let doubt = picture::judge_resemblance(selfie, resemblance);
        gathered.evidence.selfie_doubts.extend(doubt);
    }
    if let Some(cue) = &mut gathered.seen.passive_cue {
        cue.same_picture = resemblance.is_document;
    }
    let mut signs = readings.iter().flatten().flat_map(|reading| &reading.fraud);
    gathered.evidence.has_fraud_signs = signs.any(|sign| sign.raised);
    let compared = (!readings.is_empty()).then(|| comparison::submitted(submission, &readings));
    gathered.seen.fields = compared
        .iter()
        .flat_map(|compared| &compared.fields)
        .map(field_seen)
        .collect();
    gathered.seen.documents = gathered.evidence.documents.iter().map(document_seen).collect();
    gathered.evidence.comparison = compared;
    gathered.evidence.expected = compare_expected(&readings);
    gathered.evidence.selfie = selfie;
    gathered.face = face.and_then(|face| face.embedding);
    // Every worker of a process has the same models, so this names those that read the files.
    if let Ok(Some(engines)) = app.engines.known() {
        gathered.seen.models = engines.models;
    }
    Ok(gathered)
}

struct EvidenceGatherer<'a> {
    app: &'a App,
    files: &'a mut BTreeMap<String, File>,
    gone: &'a Abandoned,
    timings: &'a mut BTreeMap<String, f64>,
    seen: &'a mut Measures,
    selfie_hash: &'a mut Option<[u8; 32]>,
    pictures: &'a mut Fingerprints,
    /// The fingerprint of the selfie's pixels.
    selfie: Option<[u8; 32]>,
    /// How much the selfie resembles the documents' pictures.
    resemblance: Resemblance,
    /// Whether documents are searched for signs of fraud.
    fraud_signs: bool,
}

impl EvidenceGatherer<'_> {
    fn selfie(&mut self) -> Result<(Option<SelfieEvidence>, Option<Face>), Problem> {
        let Some(file) = self.file(FileField::Selfie)? else {
            return Ok((None, None));
        };
        *self.selfie_hash = Some(Sha256::digest(&file).into());
        let mut selfie = SelfieEvidence {
            state: PictureState::Corrupted,
            faces: 0,
            passive_cue: PassiveCue::Undecided,
            challenge: Challenge::Absent,
        };
        let (gone, began) = (self.gone.clone(), Instant::now());
        let picture = match self.app.engines.selfie(&file, move || gone.is_set())? {
            Ok(picture) => picture,
            Err(error) => {
                self.record_undecoded(FileField::Selfie, &error, began);
                return Ok((Some(selfie), None));
            }
        };
        self.add_timings(&picture.timing_ms);
        self.selfie = Some(picture.info.fingerprint);
        let mut picture_seen = PictureMeasures::decoded(&picture.info);
        picture_seen.add_faces(&picture.faces, picture.info.size());
        self.record_picture(FileField::Selfie, picture_seen);
        self.record_fingerprint(FileField::Selfie, &picture.info, picture.usable_face());
        selfie.faces = picture.faces.significant().count();
        selfie.state = PictureState::Processed;
        let Some(checked) = &picture.passive_cue else {
            return Ok((Some(selfie), None));
        };
        let face = picture.usable_face().cloned();
        if face.is_none() {
            selfie.state = PictureState::Unprocessable;
        }
        selfie.passive_cue = match checked.outcome {
            CueOutcome::NoAttack => PassiveCue::NoAttack,
            CueOutcome::Attack => PassiveCue::Attack,
            CueOutcome::Undecided => PassiveCue::Undecided,
        };
        self.seen.passive_cue = Some(PassiveCueMeasures {
            // For reviewers only; the rules use the enum above.
            outcome: serde_json::to_value(checked.outcome).unwrap_or_default(),
            score: checked.score,
            reasons: checked
                .reasons
                .iter()
                .map(|reason| reason.clone().into_owned())
                .collect(),
            cues: checked.cues.map(|cues| (cues.pattern, cues.colour)),
            same_picture: false,
            model: checked.model.clone(),
        });
        Ok((Some(selfie), face))
    }

    fn document(
        &mut self,
        document_type: DocumentType,
        selfie: Option<&Face>,
        settings: &Settings,
    ) -> Result<(DocumentEvidence, Vec<DocumentReading>), Problem> {
        let mut front = self.side(document_type, Side::Front)?;
        let mut back = self.side(document_type, Side::Back)?;
        if let (true, Some(front), Some(back)) = (self.fraud_signs, &mut front, &mut back) {
            self.compare_print(document_type, Side::Front, front, &back.reading);
            self.compare_print(document_type, Side::Back, back, &front.reading);
        }
        let readings: Vec<&DocumentReading> = [&front, &back]
            .into_iter()
            .flatten()
            .map(|looked| &looked.reading)
            .collect();
        let portrait = front.as_ref().and_then(|looked| looked.portrait.as_ref());
        let portrait_match = match selfie.zip(portrait) {
            Some((selfie, portrait)) => self.compare_faces(selfie, portrait, settings),
            None => None,
        };
        let shown = [&front, &back].map(|side| side.as_ref().map(|looked| looked.side));
        let evidence = DocumentEvidence {
            portrait_match,
            ..of_readings(document_type, &readings, shown)
        };
        Ok((
            evidence,
            [front, back]
                .into_iter()
                .flatten()
                .map(|looked| looked.reading)
                .collect(),
        ))
    }

    /// Adds the contradictions of a side's print to the data on the other side, unless its own data show them.
    fn compare_print(
        &mut self,
        document_type: DocumentType,
        side: Side,
        printed: &mut ProcessedSide,
        other: &DocumentReading,
    ) {
        let mut signs = documents::contradictions(&printed.reading, other);
        signs.retain(|sign| {
            let is_same = |known: &FraudSign| known.kind == sign.kind && known.field == sign.field;
            !printed.reading.fraud.iter().any(is_same)
        });
        let picture =
            FileField::of(document_type, side).and_then(|field| self.seen.pictures.get_mut(field.as_str()));
        if let Some(picture) = picture {
            picture.add_fraud_signs(&signs, printed.size);
        }
        printed.reading.fraud.extend(signs);
    }

    /// Compares the selfie's face with a document's portrait, and notes whether it is the portrait itself.
    fn compare_faces(&mut self, selfie: &Face, portrait: &Face, settings: &Settings) -> Option<FaceMatch> {
        let (one, other) = (selfie.embedding.as_ref()?, portrait.embedding.as_ref()?);
        let texture = match (&selfie.texture, &portrait.texture) {
            (Some(selfie), Some(portrait)) => selfie.correlation(portrait),
            _ => 0.0,
        };
        self.resemblance.is_portrait |= faces::is_copy(faces::built_in_distance(one, other), texture);
        Some(judge_distance(faces::distance(one, other), settings))
    }

    /// Processes one side of a document. For a PDF it uses the first page that shows a document.
    fn side(&mut self, document_type: DocumentType, side: Side) -> Result<Option<ProcessedSide>, Problem> {
        let Some(field) = FileField::of(document_type, side) else {
            return Ok(None);
        };
        let Some(file) = self.file(field)? else {
            return Ok(None);
        };
        let wanted = SideWish {
            document_type,
            side,
            faces: match side {
                Side::Front => FaceWish::Embed,
                Side::Back => FaceWish::Ignore,
            },
            fraud_signs: self.fraud_signs,
        };
        let (app, gone, began) = (self.app, self.gone, Instant::now());
        let picture = document_side::read(&app.engines, &file, wanted, gone, |page| {
            self.add_timings(&page.timing_ms);
            self.resemblance.is_document |= self.selfie == Some(page.info.fingerprint);
        })?;
        let picture = match picture {
            Ok(picture) => picture,
            Err(error) => {
                self.record_undecoded(field, &error, began);
                return Ok(Some(ProcessedSide::undecoded()));
            }
        };
        let mut seen = PictureMeasures::decoded(&picture.info);
        let info = picture.info.clone();
        seen.add_reading(&picture.reading, info.size());
        if let Some(faces) = &picture.faces {
            seen.add_faces(faces, info.size());
        }
        let looked = ProcessedSide::of(picture, document_type, side);
        self.record_picture(field, seen);
        self.record_fingerprint(field, &info, looked.portrait.as_ref());
        Ok(Some(looked))
    }

    fn record_picture(&mut self, field: FileField, picture: PictureMeasures) {
        self.seen.pictures.insert(field.as_str().to_owned(), picture);
    }

    fn record_fingerprint(&mut self, field: FileField, info: &PictureInfo, face: Option<&Face>) {
        let fingerprint = Fingerprint {
            pixels: info.fingerprint,
            perceptual: info.perceptual,
            texture: face.and_then(|face| face.texture.clone()),
        };
        self.pictures.insert(field.as_str().to_owned(), fingerprint);
    }

    /// A field's file if it was submitted. It stops here if the caller has gone.
    fn file(&mut self, field: FileField) -> Result<Option<Vec<u8>>, Problem> {
        if self.gone.is_set() {
            return Err(EngineError::Abandoned.into());
        }
        let Some(file) = self.files.get_mut(field.as_str()) else {
            return Ok(None);
        };
        file.content.read().map(Some).map_err(Problem::internal)
    }

    fn add_timings(&mut self, timing_ms: &Timings) {
        for (stage, milliseconds) in timing_ms {
            let stage = stage.as_str();
            record_stage(stage, Duration::from_secs_f64(milliseconds / 1_000.0));
            *self.timings.entry(stage.to_owned()).or_default() += milliseconds;
        }
    }

    /// Records a file that gave no picture, and the time that this took.
    fn record_undecoded(&mut self, field: FileField, error: &DecodeError, since: Instant) {
        let milliseconds = since.elapsed().as_secs_f64() * 1_000.0;
        self.add_timings(&[(Stage::Decode, milliseconds)].into());
        self.record_picture(field, PictureMeasures::undecoded(error.code()));
    }
}

/// The evidence of a document's readings, front before back, and of its two pictures. Its portrait is not compared.
pub(super) fn of_readings(
    document_type: DocumentType,
    readings: &[&DocumentReading],
    [front, back]: [Option<SideEvidence>; 2],
) -> DocumentEvidence {
    DocumentEvidence {
        document_type,
        mrz: mrz(readings),
        barcode: barcode(readings),
        visual: visual(readings),
        sides: match readings {
            [front, back] => comparison::sides(front, back),
            _ => Consistency::default(),
        },
        portrait_match: None,
        front,
        back,
    }
}

fn match_from(settings: &Settings) -> f32 {
    settings
        .match_threshold
        .map_or(MATCH_SIMILARITY, |threshold| threshold as f32)
}

fn review_from(settings: &Settings) -> f32 {
    settings
        .review_band
        .map_or(REVIEW_SIMILARITY, |threshold| threshold as f32)
}

fn judge_distance(distance: f32, settings: &Settings) -> FaceMatch {
    let similarity = faces::similarity(distance);
    let verdict = match faces::MatchVerdict::at(similarity, match_from(settings), review_from(settings)) {
        faces::MatchVerdict::Match => MatchVerdict::Match,
        faces::MatchVerdict::Review => MatchVerdict::BelowThreshold,
        faces::MatchVerdict::NoMatch => MatchVerdict::NoMatch,
    };
    FaceMatch {
        similarity: f64::from(similarity),
        verdict,
    }
}

/// The MRZ to rely on: an accepted one before a valid one, and a valid one before any other.
pub(super) fn mrz(readings: &[&DocumentReading]) -> MrzFinding {
    let best = readings
        .iter()
        .filter_map(|reading| reading.mrz.as_ref())
        .max_by_key(|mrz| (comparison::is_accepted(mrz, readings), mrz.valid));
    best.map_or(MrzFinding::NotFound, |mrz| {
        let fields = &mrz.fields;
        MrzFinding::Read(MrzRead {
            format: mrz.format.as_str().to_owned(),
            valid: mrz.valid,
            accepted: comparison::is_accepted(mrz, readings),
            data: DocumentData {
                given_names: filled(&fields.given_names),
                surname: filled(&fields.surname),
                document_number: filled(&fields.document_number),
                issuer: filled(&fields.issuer),
                nationality: filled(&fields.nationality),
                birth_date: fields.birth_date.map(|date| date.to_string()),
                expiry_date: fields.expiry_date.map(|date| date.to_string()),
                sex: fields.sex.map(String::from),
                name_may_be_truncated: mrz.warnings.contains(&MrzWarning::NameMayBeTruncated),
            },
        })
    })
}

pub(super) fn barcode(readings: &[&DocumentReading]) -> BarcodeFinding {
    let barcodes = || {
        readings
            .iter()
            .flat_map(|reading| &reading.barcodes)
            .filter(|barcode| barcode.symbology == "PDF417")
    };
    if let Some(aamva) = barcodes().find_map(|barcode| barcode.aamva.as_ref()) {
        let given: Vec<&str> = aamva
            .first_name
            .iter()
            .chain(&aamva.middle_names)
            .map(String::as_str)
            .collect();
        return BarcodeFinding::Read(DocumentData {
            given_names: filled(&given.join(" ")),
            surname: aamva.last_name.clone(),
            document_number: aamva.document_number.clone(),
            issuer: aamva.country.clone(),
            nationality: None,
            birth_date: aamva.birth_date.map(|date| date.to_string()),
            expiry_date: aamva.expiry_date.map(|date| date.to_string()),
            sex: aamva.sex.map(String::from),
            name_may_be_truncated: !aamva.truncated.is_empty(),
        });
    }
    match barcodes()
        .map(|barcode| barcode.payload)
        .max_by_key(|payload| *payload == PayloadKind::Unknown)
    {
        None => BarcodeFinding::NotFound,
        Some(PayloadKind::Unknown) => BarcodeFinding::Opaque,
        Some(_) => BarcodeFinding::Unreadable,
    }
}

/// The data of the visual zones, of the first side that has it. All names are those of one side: a name of another one may
/// repeat part of them.
fn visual(readings: &[&DocumentReading]) -> DocumentData {
    let of = |reading: &DocumentReading, name: &str| Some(reading.visual.get(name)?.value.clone());
    let value = |name: &str| readings.iter().find_map(|reading| of(reading, name));
    let named = readings.iter().find(|side| {
        of(side, field::LAST_NAME)
            .or(of(side, field::FIRST_NAME))
            .is_some()
    });
    let name = |name: &str| of(named?, name);
    let given = [name(field::FIRST_NAME), name(field::MIDDLE_NAME)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ");
    DocumentData {
        given_names: filled(&given),
        surname: name(field::LAST_NAME),
        document_number: value(field::DOCUMENT_NUMBER),
        issuer: value(field::ISSUER),
        nationality: value(field::NATIONALITY),
        birth_date: value(field::BIRTH_DATE),
        expiry_date: value(field::EXPIRY_DATE),
        sex: value(field::SEX),
        name_may_be_truncated: false,
    }
}

/// A document's measures, for reviewers.
fn document_seen(document: &DocumentEvidence) -> DocumentMeasures {
    let said = |data: Option<&DocumentData>| data.map(by_field).unwrap_or_default();
    DocumentMeasures {
        document_type: document.document_type.as_str().to_owned(),
        similarity: document.portrait_match.map(|found| found.similarity),
        sides_agree: match document.sides {
            Consistency::Unknown => None,
            sides => Some(sides == Consistency::Consistent),
        },
        mrz: said(match &document.mrz {
            MrzFinding::Read(mrz) => Some(&mrz.data),
            _ => None,
        }),
        barcode: said(match &document.barcode {
            BarcodeFinding::Read(data) => Some(data),
            _ => None,
        }),
        visual: by_field(&document.visual),
    }
}

/// A source's data, by the field names of `documents`.
fn by_field(data: &DocumentData) -> BTreeMap<String, String> {
    let fields = [
        (field::FIRST_NAME, &data.given_names),
        (field::LAST_NAME, &data.surname),
        (field::BIRTH_DATE, &data.birth_date),
        (field::NATIONALITY, &data.nationality),
        (field::SEX, &data.sex),
        (field::DOCUMENT_NUMBER, &data.document_number),
        (field::ISSUER, &data.issuer),
        (field::EXPIRY_DATE, &data.expiry_date),
    ];
    fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)))
        .collect()
}

fn field_seen(compared: &ComparedField) -> FieldComparison {
    FieldComparison {
        field: compared.field.clone(),
        source: compared.source.as_str().to_owned(),
        extracted: compared.extracted.clone(),
        matches: compared.matches,
        score: compared.score,
    }
}

fn filled(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}
