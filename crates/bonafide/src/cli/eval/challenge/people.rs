//! The people of a folder, each with the best frontal photograph. Half of them are for choosing thresholds and the
//! other half for reporting.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use faces::{Face, FaceEngine};
use films::Photograph;

use crate::cli::eval::faces::analyse_faces;
use crate::cli::eval::files::pictures_below;

/// Fewer pixels between the eyes make blurred films.
const MIN_INTER_EYE: f32 = 45.0;
/// A photograph with a larger turn, nod or tilt is not frontal, in degrees. The mesh measures nods of up to 20° in
/// frontal photographs.
const MAX_YAW: f32 = 12.0;
const PITCH: std::ops::RangeInclusive<f32> = -12.0..=24.0;
const MAX_ROLL: f32 = 25.0;

/// Which people are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Half {
    /// The first, third, fifth person by the name of the folder: to choose thresholds.
    Choose,
    /// The others.
    #[default]
    Report,
    /// Everybody.
    All,
}

impl Half {
    fn includes(self, place: usize) -> bool {
        match self {
            Self::Choose => place.is_multiple_of(2),
            Self::Report => !place.is_multiple_of(2),
            Self::All => true,
        }
    }
}

/// The people with a good photograph, and the names of those without.
pub(super) fn people(
    engine: &FaceEngine,
    folder: &Path,
    half: Half,
) -> anyhow::Result<(Vec<Photograph>, Vec<String>)> {
    let mut files: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for file in pictures_below(folder)? {
        if let Some(person) = file.parent() {
            files.entry(person.to_owned()).or_default().push(file);
        }
    }
    let (mut found, mut without) = (Vec::new(), Vec::new());
    for (place, (person, files)) in files.into_iter().enumerate() {
        if !half.includes(place) {
            continue;
        }
        match best(engine, &files) {
            Some(photograph) => found.push(photograph),
            None => without.push(
                person
                    .strip_prefix(folder)
                    .unwrap_or(&person)
                    .display()
                    .to_string(),
            ),
        }
    }
    Ok((found, without))
}

/// The frontal photograph with the most pixels between the eyes.
fn best(engine: &FaceEngine, files: &[PathBuf]) -> Option<Photograph> {
    let mut best: Option<(f32, Photograph)> = None;
    for file in files {
        let Ok((picture, reading)) = analyse_faces(engine, file) else {
            continue;
        };
        let Some(face) = reading.main().filter(|face| is_good(face)) else {
            continue;
        };
        if best
            .as_ref()
            .is_none_or(|(pixels, _)| face.inter_eye_px > *pixels)
            && let Some(photograph) = Photograph::new(&picture, face)
        {
            best = Some((face.inter_eye_px, photograph));
        }
    }
    best.map(|(_, photograph)| photograph)
}

/// Whether a face is frontal, large and sharp enough to be filmed. A small face is no fault here.
fn is_good(face: &Face) -> bool {
    let is_blocked = |code: &str, blocking: bool| blocking && code != "face-too-small";
    face.inter_eye_px >= MIN_INTER_EYE
        && face.pose.yaw.abs() <= MAX_YAW
        && PITCH.contains(&face.pose.pitch)
        && face.pose.roll.abs() <= MAX_ROLL
        && !face
            .quality
            .iter()
            .any(|issue| is_blocked(&issue.code, issue.blocking))
}
