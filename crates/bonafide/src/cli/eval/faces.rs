//! `bonafide eval faces`: compares faces within and between people, and counts faces.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use faces::{Embedding, Face, FaceEngine, FaceReading, MATCH_SIMILARITY, PictureKind, distance, similarity};
use imaging::{Limits, Picture};
use serde_json::{Value, json};

use super::det::{self, Curve};
use super::figures::{Report, rounded, share, tar_at_far, upper_limit};
use super::files::pictures_below;
use super::peer::{self, Compared, Peer, Sample};
use super::portraits::{self, Print};
use crate::cli::engines::ModelsArg;
use crate::cli::errors::Unusable;

/// `bonafide eval faces`.
#[derive(Args)]
pub(super) struct Faces {
    /// A folder of people: each folder in it has pictures of one person, alone.
    folder: Option<PathBuf>,
    /// A folder of pictures whose names end in the number of faces, as in `group_4.jpg`. Other pictures are
    /// only checked for errors.
    #[arg(long)]
    counts: Option<PathBuf>,
    /// Also print each picture as a document's portrait (well, worn, and with a coarse screen), photograph it, and
    /// compare it with the person's other pictures.
    #[arg(long, requires = "folder")]
    portraits: bool,
    /// Keep the pictures of printed portraits in this folder.
    #[arg(long, requires = "portraits")]
    keep: Option<PathBuf>,
    /// Also embed the pictures with this program, and measure both engines on the same pairs.
    #[arg(long, value_name = "PROGRAM", requires = "folder")]
    beside: Option<PathBuf>,
    /// Write the DET curves of all comparisons to this SVG file.
    #[arg(long, requires = "folder")]
    det: Option<PathBuf>,
    #[command(flatten)]
    models: ModelsArg,
}

impl Faces {
    pub(super) fn measure(&self) -> anyhow::Result<Report> {
        if self.folder.is_none() && self.counts.is_none() {
            return Err(Unusable("name a folder of people, or --counts FOLDER".into()).into());
        }
        let engine = self.models.faces()?;
        let mut report = Report::new();
        if let Some(folder) = &self.folder {
            self.compare(&engine, folder, &mut report)?;
        }
        if let Some(folder) = &self.counts {
            report.insert("counts".into(), counts(&engine, folder)?);
        }
        Ok(report)
    }
}

/// Decodes a file and analyses its faces. The error is the code of the problem.
pub(in crate::cli) fn analyse_faces(
    engine: &FaceEngine,
    file: &Path,
) -> Result<(Picture, FaceReading), &'static str> {
    let bytes = std::fs::read(file).map_err(|_| "unreadable")?;
    let picture = imaging::decode(&bytes, &Limits::default())
        .map_err(|error| error.code())?
        .picture;
    let reading = engine
        .analyse(&picture, PictureKind::Selfie)
        .map_err(|error| error.code())?;
    Ok((picture, reading))
}

/// A person's picture with its face.
struct Photograph {
    person: PathBuf,
    file: PathBuf,
    face: Face,
    embedding: Embedding,
}

/// The photographs that have a face, and the names of those without one.
fn photographs(engine: &FaceEngine, folder: &Path, files: &[PathBuf]) -> (Vec<Photograph>, Vec<Value>) {
    let (mut found, mut without_face) = (Vec::new(), Vec::new());
    for file in files {
        let face = analyse_faces(engine, file)
            .ok()
            .and_then(|(_, reading)| reading.main().cloned());
        let embedding = face.as_ref().and_then(|face| face.embedding.clone());
        match (face, embedding, file.parent()) {
            (Some(face), Some(embedding), Some(person)) => found.push(Photograph {
                person: person.to_owned(),
                face,
                embedding,
                file: file.clone(),
            }),
            _ => without_face.push(json!(file.strip_prefix(folder).unwrap_or(file))),
        }
    }
    (found, without_face)
}

/// A peer's embeddings of the pictures of a folder of people.
struct Beside<'a> {
    program: &'a Path,
    files: &'a [PathBuf],
    peer: Peer,
}

impl<'a> Beside<'a> {
    /// The pictures with the embeddings of both engines.
    fn samples(&'a self, photographs: &'a [Photograph]) -> Vec<Sample<'a>> {
        let ours: BTreeMap<&Path, &Embedding> = photographs
            .iter()
            .map(|photograph| (photograph.file.as_path(), &photograph.embedding))
            .collect();
        let sample = |(file, theirs): (&'a PathBuf, &'a Option<Vec<f32>>)| Sample {
            person: file.parent().unwrap_or(file),
            ours: ours.get(file.as_path()).copied(),
            theirs: theirs.as_ref(),
        };
        self.files.iter().zip(&self.peer.embeddings).map(sample).collect()
    }

    /// Inserts the section beside another one.
    fn insert(&self, report: &mut Report, section: &str, figures: Value) {
        report.insert(format!("{section} beside {}", self.peer.name), figures);
    }

    /// Both engines on all pairs of pictures.
    fn compare(&self, photographs: &[Photograph]) -> Compared {
        let samples = self.samples(photographs);
        let pairs = samples
            .iter()
            .enumerate()
            .flat_map(|(at, one)| samples[at + 1..].iter().map(|other| (*one, *other)));
        peer::compare(&self.peer, pairs)
    }

    /// Both engines on printed portraits, each with the other pictures. The files and our embeddings are in the order of
    /// the photographs.
    fn compare_portraits(
        &self,
        photographs: &[Photograph],
        files: &[PathBuf],
        portraits: &[Option<Embedding>],
    ) -> anyhow::Result<Compared> {
        let peer = Peer::embed(self.program, files)?;
        let samples = self.samples(photographs);
        let printed = photographs.iter().zip(portraits).zip(&peer.embeddings);
        let pairs = printed.flat_map(|((shown, ours), theirs)| {
            let portrait = Sample {
                person: &shown.person,
                ours: ours.as_ref(),
                theirs: theirs.as_ref(),
            };
            let others = self
                .files
                .iter()
                .zip(&samples)
                .filter(|(file, _)| **file != shown.file);
            others.map(move |(_, other)| (portrait, *other))
        });
        Ok(peer::compare(&peer, pairs))
    }
}

/// A name for a section, with the distances within and between people.
type Distances = (String, Vec<f32>, Vec<f32>);

impl Faces {
    /// Compares the pictures of a folder of people, and writes the DET curves.
    fn compare(&self, engine: &FaceEngine, folder: &Path, report: &mut Report) -> anyhow::Result<()> {
        let files = pictures_below(folder)?;
        let before = peer::processor_time();
        let (photographs, without_face) = photographs(engine, folder, &files);
        let processor = peer::processor_time() - before;
        let mut people: BTreeMap<&Path, Vec<Embedding>> = BTreeMap::new();
        for photograph in &photographs {
            let faces = people.entry(&photograph.person).or_default();
            faces.push(photograph.embedding.clone());
        }
        let people: Vec<Vec<Embedding>> = people.into_values().collect();
        let (genuine, impostor) = pairs(&people);
        let mut figures = json!({
            "people": people.len(),
            "pictures": photographs.len() + without_face.len(),
            "withoutFace": without_face,
        });
        if let (Some(report), Value::Object(figures)) =
            (figures.as_object_mut(), verdicts(&genuine, &impostor))
        {
            report.extend(figures);
        }
        report.insert("comparisons".into(), figures);
        let beside = match &self.beside {
            Some(program) => Some(Beside {
                program,
                files: &files,
                peer: Peer::embed(program, &files)?,
            }),
            None => None,
        };
        let mut curves: Vec<Distances> = vec![("photographs".into(), genuine, impostor)];
        if let Some(beside) = &beside {
            let mut compared = beside.compare(&photographs);
            if let (Some(figures), Value::Object(effort)) = (
                compared.figures.as_object_mut(),
                peer::effort(&beside.peer, processor, files.len()),
            ) {
                figures.extend(effort);
            }
            beside.insert(report, "comparisons", compared.figures);
            let name = format!("photographs {}", beside.peer.name);
            curves.push((name, compared.genuine, compared.impostor));
        }
        if self.portraits {
            // The other program reads the portraits from files.
            let temporary = match &beside {
                Some(_) if self.keep.is_none() => Some(tempfile::tempdir()?),
                _ => None,
            };
            let kept = temporary.as_ref().map(tempfile::TempDir::path);
            let folder = self.keep.as_deref().or(kept);
            for print in Print::ALL {
                let beside = beside.as_ref();
                curves.extend(compare_portraits(
                    engine,
                    &photographs,
                    print,
                    folder,
                    beside,
                    report,
                )?);
            }
        }
        if let Some(file) = &self.det {
            let curves: Vec<Curve<'_>> = curves
                .iter()
                .map(|(name, genuine, impostor)| Curve {
                    name,
                    genuine,
                    impostor,
                })
                .collect();
            det::write(file, det::COMPARISONS, &curves)?;
        }
        Ok(())
    }
}

/// Compares every picture's printed portrait with the person's other pictures and with those of other people. If there
/// is a folder, the portraits are kept in it.
///
/// An honest person is refused if the portrait has no usable face, or is beyond the default threshold.
fn compare_portraits(
    engine: &FaceEngine,
    photographs: &[Photograph],
    print: Print,
    folder: Option<&Path>,
    beside: Option<&Beside<'_>>,
    report: &mut Report,
) -> anyhow::Result<Vec<Distances>> {
    let (mut genuine, mut impostor, mut honest) = (Vec::new(), Vec::new(), 0);
    let (mut files, mut embeddings) = (Vec::new(), Vec::new());
    let mut unusable = 0;
    for (number, shown) in photographs.iter().enumerate() {
        let others = photographs.iter().filter(|other| other.file != shown.file);
        let of_person = others
            .clone()
            .filter(|other| other.person == shown.person)
            .count() as u64;
        honest += of_person;
        let picture = imaging::decode(&std::fs::read(&shown.file)?, &Limits::default())?.picture;
        let document = portraits::photographed(&picture, &shown.face, print, number as u64)?;
        if let Some(folder) = folder {
            let file = folder.join(format!("{number:04}-{}.jpg", print.as_str()));
            std::fs::write(&file, &document)
                .with_context(|| format!("{} cannot be written", file.display()))?;
            files.push(file);
        }
        let document = imaging::decode(&document, &Limits::default())?.picture;
        let reading = engine.analyse(&document, PictureKind::Document)?;
        let portrait = reading.main().filter(|face| face.is_usable());
        let portrait = portrait.and_then(|face| face.embedding.clone());
        embeddings.push(portrait.clone());
        let Some(portrait) = &portrait else {
            unusable += 1;
            continue;
        };
        for other in others {
            let list = if other.person == shown.person {
                &mut genuine
            } else {
                &mut impostor
            };
            list.push(distance(portrait, &other.embedding));
        }
    }
    let accepted = genuine
        .iter()
        .filter(|distance| similarity(**distance) >= MATCH_SIMILARITY);
    let refused = honest - accepted.count() as u64;
    let mut figures = json!({
        "portraits": photographs.len(),
        "withoutUsableFace": unusable,
        "honestPairs": honest,
        "refusedHonest": refused,
        "refusedHonestRate": rounded(share(refused, honest)),
        "refusedHonestRateAtMost": rounded(upper_limit(refused, honest)),
    });
    if let (Some(all), Value::Object(verdicts)) = (figures.as_object_mut(), verdicts(&genuine, &impostor)) {
        all.extend(verdicts);
    }
    let name = format!("portraits {}", print.as_str());
    report.insert(name.clone(), figures);
    let mut curves = vec![(name.clone(), genuine, impostor)];
    if let Some(beside) = beside {
        let compared = beside.compare_portraits(photographs, &files, &embeddings)?;
        beside.insert(report, &name, compared.figures);
        let name = format!("{name} {}", beside.peer.name);
        curves.push((name, compared.genuine, compared.impostor));
    }
    Ok(curves)
}

/// The distances of all genuine pairs, and of all impostor pairs.
fn pairs(people: &[Vec<Embedding>]) -> (Vec<f32>, Vec<f32>) {
    let faces: Vec<(usize, &Embedding)> = people
        .iter()
        .enumerate()
        .flat_map(|(person, faces)| faces.iter().map(move |face| (person, face)))
        .collect();
    let (mut genuine, mut impostor) = (Vec::new(), Vec::new());
    for (at, (person, face)) in faces.iter().enumerate() {
        for (other, second) in &faces[at + 1..] {
            let list = if person == other {
                &mut genuine
            } else {
                &mut impostor
            };
            list.push(distance(face, second));
        }
    }
    (genuine, impostor)
}

/// The shares of the nearest pairs of two people whose largest distance is reported.
const NEAREST: [f64; 5] = [0.0001, 0.001, 0.01, 0.1, 0.5];
/// The deciding distances of a search at which missed pairs of one person are reported.
const SEARCHED: [f32; 5] = [1.05, 0.99, 0.84, 0.70, 0.56];

/// The error rates of these distances at the default threshold, the TAR at a FAR of 0.1 %, and the figures that matter
/// in a search: how near strangers come, and how many pairs of one person a smaller distance misses.
fn verdicts(genuine: &[f32], impostor: &[f32]) -> Value {
    let matches = |distances: &[f32]| {
        let matched = distances
            .iter()
            .filter(|distance| similarity(**distance) >= MATCH_SIMILARITY);
        matched.count() as u64
    };
    let (same, others) = (genuine.len() as u64, impostor.len() as u64);
    let (false_matches, false_non_matches) = (matches(impostor), same - matches(genuine));
    let tar = tar_at_far(genuine, impostor, 0.001);
    let mut figures = json!({
        "genuinePairs": same,
        "impostorPairs": others,
        "falseMatches": false_matches,
        "falseMatchRate": rounded(share(false_matches, others)),
        "falseMatchRateAtMost": rounded(upper_limit(false_matches, others)),
        "falseNonMatches": false_non_matches,
        "falseNonMatchRate": rounded(share(false_non_matches, same)),
        "tarAtFar0.001": rounded(tar.map(|(tar, _)| tar)),
        "distanceAtFar0.001": rounded(tar.map(|(_, threshold)| f64::from(threshold))),
    });
    if let Some(figures) = figures.as_object_mut() {
        figures.extend(search_figures(genuine, impostor));
    }
    figures
}

/// The distances of the nearest pairs of two people, and the pairs of one person that a search misses.
fn search_figures(genuine: &[f32], impostor: &[f32]) -> Report {
    let mut impostor = impostor.to_vec();
    impostor.sort_by(f32::total_cmp);
    let at = |at: usize| rounded(impostor.get(at).map(|distance| f64::from(*distance)));
    let mut figures = Report::new();
    figures.insert("impostorNearest".into(), json!(at(0)));
    for share in NEAREST {
        // A share of less than one pair has no distance.
        let count = (impostor.len() as f64 * share).floor() as usize;
        let distance = count.checked_sub(1).and_then(at);
        figures.insert(format!("impostorNearest{share}"), json!(distance));
    }
    for distance in SEARCHED {
        let missed = genuine.iter().filter(|found| **found > distance).count() as u64;
        let rate = rounded(share(missed, genuine.len() as u64));
        figures.insert(format!("missedAt{distance}"), json!(rate));
    }
    figures
}

fn counts(engine: &FaceEngine, folder: &Path) -> anyhow::Result<Value> {
    let (mut labelled, mut right) = (0, 0);
    let mut wrong = Vec::new();
    let mut errors: BTreeMap<&str, u64> = BTreeMap::new();
    for file in pictures_below(folder)? {
        let name = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
        let found = match analyse_faces(engine, &file) {
            Ok((_, reading)) => reading.significant().count() as u64,
            Err(code) => {
                *errors.entry(code).or_default() += 1;
                continue;
            }
        };
        if let Some(expected) = count_in_name(&file) {
            labelled += 1;
            if found == expected {
                right += 1;
            } else {
                wrong.push(format!("{name}: {found} instead of {expected}"));
            }
        }
    }
    Ok(json!({
        "pictures": labelled,
        "right": right,
        "rightShare": rounded(share(right, labelled)),
        "wrong": wrong,
        "unreadableByCode": errors,
    }))
}

/// The number of faces in a file's name: four for `…_4.jpg`.
fn count_in_name(file: &Path) -> Option<u64> {
    file.file_stem()?.to_str()?.rsplit_once('_')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_in_names() {
        for (name, count) in [
            ("000_5.jpg", Some(5)),
            ("a/b_12.png", Some(12)),
            ("001_A.jpg", None),
            ("7.jpg", None),
            ("x_.jpg", None),
        ] {
            assert_eq!(count_in_name(Path::new(name)), count, "{name}");
        }
    }

    #[test]
    fn pairs_are_made_within_and_between_people() {
        let face = |at: usize| {
            let mut values = [0; faces::EMBEDDING_LEN];
            values[at] = 16_384;
            Embedding::new("test-version", values).unwrap()
        };
        let people = vec![
            vec![face(0), face(0), face(0)],
            vec![face(1), face(1)],
            vec![face(2)],
        ];
        let (genuine, impostor) = pairs(&people);
        assert_eq!((genuine.len(), impostor.len()), (3 + 1, 3 * 2 + 3 + 2));
        let verdicts = verdicts(&genuine, &impostor);
        assert_eq!(verdicts["falseMatches"], json!(0));
        assert_eq!(verdicts["falseNonMatches"], json!(0));
        assert_eq!(verdicts["tarAtFar0.001"], json!(1.0));
        // Exactly 1 - 0.05^(1/11).
        assert_eq!(verdicts["falseMatchRateAtMost"], json!(0.2384));
        let apart = verdicts["impostorNearest"].clone();
        assert!(apart.as_f64() > Some(1.23), "{apart}");
        assert_eq!(verdicts["impostorNearest0.5"], apart);
        assert_eq!(verdicts["impostorNearest0.01"], json!(null), "less than one pair");
        assert_eq!(verdicts["missedAt1.05"], json!(0.0));
    }
}
