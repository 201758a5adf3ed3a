//! The batch formats of `detect-faces`, `compare-faces` and `check-liveness`: each line of JSON is answered
//! with one line.
//!
//! An error in a line or its file becomes an `error` object in the answer. Nothing panics, and no line stops
//! the batch.

use std::fs::File;
use std::io::Read;
use std::time::Instant;

use imaging::{Limits, Picture};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::embedding::{built_in_distance, distance};
use crate::engine::FaceEngine;
use crate::error::FaceError;
use crate::kind::PictureKind;
use crate::reading::{Face, FaceReading};
use crate::similarity::{MatchVerdict, is_copy, similarity};

/// Larger files are refused.
const MAX_FILE_BYTES: u64 = 64 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneFile {
    file: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TwoFiles {
    a: String,
    b: String,
}

/// Why a line has no result: a stable code and a text for the reader.
struct Failure {
    code: &'static str,
    message: String,
}

impl From<FaceError> for Failure {
    fn from(error: FaceError) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
        }
    }
}

impl Failure {
    fn bad_line(error: &serde_json::Error) -> Self {
        Self {
            code: "bad-input",
            message: format!("the line is not what the command takes: {error}"),
        }
    }

    fn json(&self) -> Value {
        json!({ "code": self.code, "message": self.message })
    }
}

/// Answers `{"file"}` with
/// `{"file", "error", "faces": [{"box", "score", "significant", "quality", …}], "timingMs"}`.
pub fn detect_faces_line(engine: &FaceEngine, line: &str) -> String {
    let answer = |file: Value, result: Result<Value, Failure>, timing: Value| {
        let (faces, error) = split(result, json!([]));
        json!({ "file": file, "error": error, "faces": faces, "timingMs": timing })
    };
    one_file(line, answer, |file, clock| {
        let (_, reading) = read(engine, file, clock)?;
        Ok(reading.faces.iter().map(face_json).collect())
    })
}

/// Answers `{"a", "b"}` with
/// `{"a", "b", "error", "similarity", "distance", "match", "texture", "copy", "timingMs"}`. It compares each
/// picture's largest significant face at the default threshold. `texture` is the correlation of their textures, and
/// `copy` says whether one is a copy of the other.
pub fn compare_faces_line(engine: &FaceEngine, line: &str) -> String {
    let mut clock = StageTimer::start();
    let (names, result) = match serde_json::from_str::<TwoFiles>(line) {
        Ok(files) => {
            let result = compare(engine, &files, &mut clock);
            ([files.a, files.b].map(Value::String), result)
        }
        Err(error) => ([Value::Null, Value::Null], Err(Failure::bad_line(&error))),
    };
    let [a, b] = names;
    let (measured, error) = split(result.map(Some), None);
    let similarity = measured.map(|measured| similarity(measured.distance));
    json!({
        "a": a,
        "b": b,
        "error": error,
        "similarity": similarity,
        "distance": measured.map(|measured| measured.distance),
        "match": similarity.map(|similarity| MatchVerdict::of(similarity) == MatchVerdict::Match),
        "texture": measured.map(|measured| measured.texture),
        "copy": measured.map(|measured| is_copy(measured.built_in_distance, measured.texture)),
        "timingMs": clock.json(),
    })
    .to_string()
}

/// Answers `{"file"}` with `{"file", "error", "outcome", "score", "reasons", "model", "timingMs"}`. `model` is the
/// score of the custom model, or null.
pub fn check_liveness_line(engine: &FaceEngine, line: &str) -> String {
    let answer = |file: Value, result: Result<Value, Failure>, timing: Value| {
        let (cue, error) = split(result, json!({}));
        json!({
            "file": file,
            "error": error,
            "outcome": cue["outcome"],
            "score": cue["score"],
            "reasons": cue.get("reasons").cloned().unwrap_or_else(|| json!([])),
            "model": cue["model"],
            "timingMs": timing,
        })
    };
    one_file(line, answer, |file, clock| {
        let (picture, reading) = read(engine, file, clock)?;
        let cue = clock.time("liveness", || engine.passive_cue(&picture, &reading))?;
        Ok(json!(cue))
    })
}

fn one_file(
    line: &str,
    answer: impl FnOnce(Value, Result<Value, Failure>, Value) -> Value,
    work: impl FnOnce(&str, &mut StageTimer) -> Result<Value, Failure>,
) -> String {
    let mut clock = StageTimer::start();
    let (file, result) = match serde_json::from_str::<OneFile>(line) {
        Ok(OneFile { file }) => {
            let result = work(&file, &mut clock);
            (Value::String(file), result)
        }
        Err(error) => (Value::Null, Err(Failure::bad_line(&error))),
    };
    answer(file, result, clock.json()).to_string()
}

/// Splits a result into its value (or a default) and the `error` member.
fn split<T>(result: Result<T, Failure>, otherwise: T) -> (T, Value) {
    match result {
        Ok(value) => (value, Value::Null),
        Err(failure) => (otherwise, failure.json()),
    }
}

/// How two faces compare.
#[derive(Clone, Copy)]
struct Compared {
    distance: f32,
    built_in_distance: f32,
    /// The correlation of their textures.
    texture: f32,
}

fn compare(engine: &FaceEngine, files: &TwoFiles, clock: &mut StageTimer) -> Result<Compared, Failure> {
    let [a, b] = [("a", &files.a), ("b", &files.b)].map(|(side, file)| {
        let (_, reading) = read(engine, file, clock)?;
        let face = reading.main();
        face.and_then(|face| Some((face.embedding.clone()?, face.texture.clone()?)))
            .ok_or_else(|| Failure {
                code: "no-face",
                message: format!("no face found in `{side}`"),
            })
    });
    let ((a, texture_a), (b, texture_b)) = (a?, b?);
    Ok(Compared {
        distance: distance(&a, &b),
        built_in_distance: built_in_distance(&a, &b),
        texture: texture_a.correlation(&texture_b),
    })
}

/// Decodes the file's picture and finds its faces.
fn read(engine: &FaceEngine, file: &str, clock: &mut StageTimer) -> Result<(Picture, FaceReading), Failure> {
    let picture = clock.time("decode", || decode(file))?;
    let reading = clock.time("faces", || engine.analyse(&picture, PictureKind::Selfie))?;
    Ok((picture, reading))
}

fn decode(file: &str) -> Result<Picture, Failure> {
    let unreadable = |_| Failure {
        code: "unreadable",
        message: "the file cannot be read".to_owned(),
    };
    let opened = File::open(file).map_err(unreadable)?;
    if !opened.metadata().map_err(unreadable)?.is_file() {
        return Err(Failure {
            code: "unreadable",
            message: "not a file".to_owned(),
        });
    }
    let mut bytes = Vec::new();
    opened
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Failure {
            code: "too-large",
            message: format!("the file exceeds {MAX_FILE_BYTES} bytes"),
        });
    }
    let decoded = imaging::decode(&bytes, &Limits::default());
    decoded.map(|decoded| decoded.picture).map_err(|error| Failure {
        code: error.code(),
        message: error.to_string(),
    })
}

fn face_json(face: &Face) -> Value {
    let eye = |point: imaging::Point| json!([point.x, point.y]);
    json!({
        "box": face.bounds,
        "score": face.score,
        "significant": face.significant,
        "quality": face.quality,
        "interEyePx": face.inter_eye_px,
        "eyes": { "right": eye(face.eyes.right), "left": eye(face.eyes.left) },
        "pose": face.pose,
    })
}

/// Milliseconds per stage, and in total.
struct StageTimer {
    start: Instant,
    stages: serde_json::Map<String, Value>,
}

impl StageTimer {
    fn start() -> Self {
        Self {
            start: Instant::now(),
            stages: serde_json::Map::new(),
        }
    }

    /// Runs a stage and adds its time to the stage's total.
    fn time<T>(&mut self, stage: &str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        let before = self.stages.get(stage).and_then(Value::as_f64).unwrap_or(0.0);
        self.stages
            .insert(stage.to_owned(), json!(before + milliseconds(start)));
        result
    }

    fn json(mut self) -> Value {
        self.stages
            .insert("total".to_owned(), json!(milliseconds(self.start)));
        Value::Object(self.stages)
    }
}

fn milliseconds(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 1e5).round() / 100.0
}
