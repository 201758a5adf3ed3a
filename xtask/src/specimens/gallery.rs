//! Renders passports and selfies of the people in a folder of pictures, for measurements that need many
//! different faces (`make faults`). It takes one picture of each person, whoever the folder says it shows, and
//! never writes into that folder. Its pictures are for local runs and are never committed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::{Context, Result, ensure};
use faces::{Embedding, FaceEngine, PictureKind, distance};
use imaging::{Limits, Picture};
use inference::Models;
use serde_json::{Value, json};

use super::camera;
use super::canvas::Fonts;
use super::cast::further_person;
use super::documents::{self, PORTRAIT};
use super::face::{Studio, View};
use super::moment::Moment;
use super::mrz;

/// The smallest distance between the eyes of a usable face, in pixels. A selfie needs more, so smaller faces
/// are enlarged.
const SMALLEST: f32 = 38.0;
/// The distance between the eyes in a selfie: at least, at most, and for each pixel of the picture.
const SELFIE: (f32, f32, f32) = (66.0, 140.0, 1.5);
/// Two faces closer than this could count as one person. It is beyond the band in which the server sees a
/// near-duplicate.
const APART: f32 = faces::IDENTIFICATION_BAND + 0.04;
/// The most people that are rendered: so many names there are.
const MOST: usize = 400;

/// A face that was found.
struct Found {
    picture: Arc<Picture>,
    left: [f32; 2],
    right: [f32; 2],
}

/// Renders everyone found below `folder`, with an `index.json` like that of the specimens.
pub(crate) fn run(folder: &Path, out: &Path, models: &Path) -> Result<()> {
    let people = find_people(&pictures(folder)?, models)?;
    ensure!(
        !people.is_empty(),
        "{} has no picture of a large enough face",
        folder.display()
    );
    fs::create_dir_all(out).with_context(|| format!("creating {}", out.display()))?;
    let (studio, fonts) = (Studio::open(models)?, Fonts::load()?);
    let mut index: Vec<Value> = Vec::new();
    for (number, found) in people.iter().enumerate() {
        match render(number, found, &studio, &fonts, out) {
            Ok(specimen) => index.push(specimen),
            Err(error) => eprintln!("specimens: face {number} is left out: {error:#}"),
        }
    }
    fs::write(out.join("index.json"), serde_json::to_string_pretty(&index)?)?;
    eprintln!("specimens: {} people in {}", index.len(), out.display());
    Ok(())
}

/// All files below a folder, in the order of their paths.
fn pictures(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// One face of each person in the pictures.
fn find_people(files: &[PathBuf], models: &Path) -> Result<Vec<Found>> {
    let engine = FaceEngine::new(Arc::new(Models::open(models, 1)?));
    let next = Mutex::new(files.iter().enumerate());
    let all: Mutex<Vec<(usize, Found, Embedding)>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Ok(Some((place, file))) = next.lock().map(|mut files| files.next()) else {
                return;
            };
            let found = faces_of(&engine, file);
            if let Ok(mut all) = all.lock() {
                all.extend(
                    found
                        .into_iter()
                        .map(|(found, embedding)| (place, found, embedding)),
                );
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut all = all.into_inner().unwrap_or_default();
    all.sort_by_key(|(place, _, _)| *place);
    let mut people: Vec<(Found, Embedding)> = Vec::new();
    for (_, found, embedding) in all {
        let is_new = people
            .iter()
            .all(|(_, other)| distance(other, &embedding) > APART);
        if is_new && people.len() < MOST {
            people.push((found, embedding));
        }
    }
    Ok(people.into_iter().map(|(found, _)| found).collect())
}

/// The usable faces of a file. A file that is no picture has none.
fn faces_of(engine: &FaceEngine, file: &Path) -> Vec<(Found, Embedding)> {
    let Ok(bytes) = fs::read(file) else {
        return Vec::new();
    };
    let Ok(decoded) = imaging::decode(&bytes, &Limits::default()) else {
        return Vec::new();
    };
    let picture = Arc::new(decoded.picture);
    let Ok(reading) = engine.analyse(&picture, PictureKind::Selfie) else {
        return Vec::new();
    };
    reading
        .significant()
        .filter(|face| face.inter_eye_px >= SMALLEST)
        .filter(|face| {
            let mut blocking = face.quality.iter().filter(|issue| issue.blocking);
            blocking.all(|issue| issue.code == "face-too-small")
        })
        .filter_map(|face| {
            let eyes = [face.eyes.right, face.eyes.left].map(|eye| [eye.x, eye.y]);
            let [left, right] = eyes;
            let found = Found {
                picture: Arc::clone(&picture),
                left,
                right,
            };
            // A face that lies on its side cannot be turned towards the camera.
            let is_upright = right[0] - left[0] > (right[1] - left[1]).abs();
            face.embedding
                .clone()
                .filter(|_| is_upright)
                .map(|embedding| (found, embedding))
        })
        .collect()
}

/// Writes a person's passport and selfie. Returns the entry of the index.
fn render(number: usize, found: &Found, studio: &Studio, fonts: &Fonts, out: &Path) -> Result<Value> {
    let holder = further_person(number);
    let sitter = studio.sit(&found.picture, found.left, found.right)?;
    let seed = 1_000 * (number as u64 + 100);
    let [width, height] = PORTRAIT;
    let portrait = sitter.picture(
        &View {
            width,
            height,
            eye_distance: 96.0,
            eyes_at: [0.5, 0.44],
            turn: [0.0, 0.0],
            moment: None,
            wall: Some([214, 216, 222]),
        },
        seed,
    );
    let [dx, dy] = [0, 1].map(|axis| found.right[axis] - found.left[axis]);
    let (least, most, growth) = SELFIE;
    let eye_distance = (dx.hypot(dy) * growth).clamp(least, most);
    let selfie = sitter.picture(
        &View {
            width: (720.0 * eye_distance / 140.0) as u32,
            height: (960.0 * eye_distance / 140.0) as u32,
            eye_distance,
            eyes_at: [0.49, 0.42],
            turn: sitter.towards_camera(10.0, 3.0),
            moment: Some(Moment::new(seed + 30)),
            wall: Some([186, 178, 164]),
        },
        seed + 20,
    );
    let lines = mrz::td3(&holder);
    let page = documents::passport(fonts, &holder, Some(&lines), &portrait);
    let name = format!("face-{number:03}");
    let files = [
        ("passportFront", camera::photograph(&page, seed + 1)?),
        ("selfie", camera::jpeg(&selfie, 87)?),
    ];
    let mut names = serde_json::Map::new();
    for (field, bytes) in files {
        let file = format!("{name}-{field}.jpg");
        fs::write(out.join(&file), bytes).with_context(|| format!("writing {file}"))?;
        names.insert(field.to_owned(), Value::from(file));
    }
    let first = holder
        .given
        .split_once(' ')
        .map_or(holder.given, |(first, _)| first);
    let mut fields = json!({
        "firstName": first, "lastName": holder.surname, "dob": holder.born.american(),
        "country": mrz::STATE, "nationality": mrz::STATE,
        "documentTypes": "PASSPORT", "documentCountry": mrz::STATE,
    });
    if let Some((_, middle)) = holder.given.split_once(' ') {
        fields["middleName"] = Value::from(middle);
    }
    Ok(json!({"name": name, "expect": "pass", "flow": "passport", "fields": fields, "files": names}))
}
