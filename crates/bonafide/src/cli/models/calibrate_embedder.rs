//! Calibrates an embedder: chooses the scale of its distances with an operator's pictures of people.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, bail};
use faces::{EMBEDDER_RECIPE, Embedding, MatchVerdict, similarity};
use inference::own::{EmbedderCalibration, OwnModel, Pairs};
use jiff::Timestamp;

use super::figures::{of_embedder, warn_of_better_built_in};
use super::labelled::parts;
use super::opened::Opened;
use super::scale::scale;
use super::threshold::chosen;
use crate::cli::errors::Unusable;
use crate::cli::eval::det::{self, Curve};
use crate::cli::eval::files::pictures_below;
use crate::cli::output::{note, print_line};

/// What each half must have at least, for a meaningful scale: people with two pictures, and pairs of two people.
const LEAST_PEOPLE: usize = 10;
const LEAST_STRANGERS: usize = 1_000;

/// An operator's pictures of people.
pub(super) struct EmbedderPictures<'a> {
    /// A folder for each person.
    pub(super) people: &'a Path,
    /// Where to draw the DET curves.
    pub(super) det: Option<&'a Path>,
}

/// A picture's person, and its face as both embedders measure it; `None` without one face of good quality.
struct Seen {
    person: String,
    face: Option<Face>,
}

struct Face {
    /// The custom embedder's numbers, of length 1.
    own: Vec<f32>,
    built_in: Embedding,
}

/// The distances of the pairs of some people.
#[derive(Default)]
struct Distances {
    genuine: Vec<f32>,
    impostor: Vec<f32>,
}

impl EmbedderPictures<'_> {
    pub(super) fn run(&self, opened: &Opened, model: &OwnModel) -> anyhow::Result<()> {
        let name = &model.declaration().name;
        let seen = pictures_below(self.people)?
            .into_iter()
            .map(|file| self.see(opened, model, &file))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let (calibration, reported) = calibrated(&seen, model.declaration_sha256())?;
        if let Some(file) = self.det {
            draw(file, name, &reported)?;
        }
        opened.folder.calibrate(name, &calibration)?;
        print_line(&of_embedder(&calibration).to_string())?;
        warn_of_better_built_in(&calibration);
        if let Some(matches) = calibration.leaks() {
            note!(
                "The model matches {matches} of {} pairs of two people, more than the default threshold allows and \
                 more than the built-in networks match, so it cannot be used. Calibrate it with more people, or use \
                 another model.",
                calibration.own.impostor
            );
            return Ok(());
        }
        match calibration.blindness() {
            Some(missed) => note!(
                "The model does not match {:.0} % of the pairs of one person, so it cannot be used. Either `input` in \
                 its declaration is wrong, or the model was not trained for faces.",
                missed * 100.0
            ),
            None => note!("Calibrated. Next: bonafide models use {name}"),
        }
        Ok(())
    }

    fn see(&self, opened: &Opened, model: &OwnModel, file: &Path) -> anyhow::Result<Seen> {
        let named = parts(self.people, file);
        let [person, _] = named.as_slice() else {
            return Err(Unusable(format!(
                "--people: {} is not in a person's folder; arrange the pictures as FOLDER/PERSON/FILE",
                file.display()
            ))
            .into());
        };
        let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
        // An unreadable file is no evidence about the model, so it is an error.
        let decoded = imaging::decode(&bytes, &imaging::Limits::default())
            .with_context(|| file.display().to_string())?;
        let face = opened
            .engine
            .own_direction(model, &decoded.picture)
            .with_context(|| file.display().to_string())?
            .map(|(own, built_in)| Face { own, built_in });
        Ok(Seen {
            person: person.clone(),
            face,
        })
    }
}

/// Chooses the scale with half of the people, and counts the pairs of the others. Also returns the distances of the
/// reported half, by the custom embedder and by the built-in networks.
fn calibrated(
    seen: &[Seen],
    declaration_sha256: &str,
) -> anyhow::Result<(EmbedderCalibration, [Distances; 2])> {
    let people: BTreeSet<&str> = seen.iter().map(|seen| seen.person.as_str()).collect();
    let chosen = chosen(&people);
    let (choose, report): (Vec<&Seen>, Vec<&Seen>) = seen
        .iter()
        .partition(|seen| chosen.contains(seen.person.as_str()));
    for half in [&choose, &report] {
        require_enough(half)?;
    }
    let strangers = distances(&choose, by_own).impostor;
    let scale = scale(strangers).map_err(|fault| anyhow::anyhow!("--people: {fault}"))?;
    let mut own = distances(&report, by_own);
    for distance in own.genuine.iter_mut().chain(&mut own.impostor) {
        *distance *= scale;
    }
    let built_in = distances(&report, |a, b| faces::distance(&a.built_in, &b.built_in));
    let calibration = EmbedderCalibration {
        declaration_sha256: declaration_sha256.to_owned(),
        recipe: EMBEDDER_RECIPE,
        made_at: Timestamp::now().to_string(),
        scale,
        people_chosen: chosen.len() as u64,
        people_reported: (people.len() - chosen.len()) as u64,
        unmeasured: report.iter().filter(|seen| seen.face.is_none()).count() as u64,
        own: pairs(&own),
        built_in: pairs(&built_in),
    };
    Ok((calibration, [own, built_in]))
}

fn require_enough(half: &[&Seen]) -> anyhow::Result<()> {
    let mut pictures: BTreeMap<&str, usize> = BTreeMap::new();
    for seen in half.iter().filter(|seen| seen.face.is_some()) {
        *pictures.entry(&seen.person).or_default() += 1;
    }
    let people = pictures.values().filter(|count| **count >= 2).count();
    let all: usize = pictures.values().sum();
    let same: usize = pictures.values().map(|count| count * (count - 1) / 2).sum();
    let strangers = (all * all.saturating_sub(1) / 2).saturating_sub(same);
    if people < LEAST_PEOPLE || strangers < LEAST_STRANGERS {
        bail!(
            "--people: one half has {people} people with two pictures that show one face of good quality, and \
             {strangers} pairs of two people. Each half needs at least {LEAST_PEOPLE} people and {LEAST_STRANGERS} \
             pairs; 200 people and 100,000 pairs are better. Add people"
        );
    }
    Ok(())
}

fn by_own(a: &Face, b: &Face) -> f32 {
    let squares = a.own.iter().zip(&b.own).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f32>().sqrt()
}

fn distances(seen: &[&Seen], distance: impl Fn(&Face, &Face) -> f32) -> Distances {
    let faces: Vec<(&str, &Face)> = seen
        .iter()
        .filter_map(|seen| Some((seen.person.as_str(), seen.face.as_ref()?)))
        .collect();
    let mut found = Distances::default();
    for (at, (person, face)) in faces.iter().enumerate() {
        for (other_person, other) in &faces[at + 1..] {
            let list = if person == other_person {
                &mut found.genuine
            } else {
                &mut found.impostor
            };
            list.push(distance(face, other));
        }
    }
    found
}

fn pairs(distances: &Distances) -> Pairs {
    let matches = |list: &[f32]| {
        let is_match = |distance: &&f32| MatchVerdict::of(similarity(**distance)) == MatchVerdict::Match;
        list.iter().filter(is_match).count() as u64
    };
    let (genuine, impostor) = (distances.genuine.len() as u64, distances.impostor.len() as u64);
    Pairs {
        genuine,
        false_non_matches: genuine - matches(&distances.genuine),
        impostor,
        false_matches: matches(&distances.impostor),
    }
}

/// Draws the DET curves of the reported half.
fn draw(file: &Path, name: &str, [own, built_in]: &[Distances; 2]) -> anyhow::Result<()> {
    let curves = [(name, own), ("built-in", built_in)].map(|(name, distances)| Curve {
        name,
        genuine: &distances.genuine,
        impostor: &distances.impostor,
    });
    det::write(file, det::COMPARISONS, &curves)
}

#[cfg(test)]
mod tests {
    use faces::EMBEDDING_LEN;

    use super::*;

    /// Pictures of people whose faces point in directions of their own, with this much noise.
    fn pictures(people: u32, each: u32, noise: f32) -> Vec<Seen> {
        let mut state = 7_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
        };
        let mut seen = Vec::new();
        for person in 0..people {
            let own: Vec<f32> = (0..128).map(|_| random()).collect();
            for _ in 0..each {
                let numbers: Vec<f32> = own.iter().map(|value| value + noise * random()).collect();
                let length = numbers.iter().map(|value| value * value).sum::<f32>().sqrt();
                let fill = i16::try_from(person * 50).unwrap();
                seen.push(Seen {
                    person: format!("person {person}"),
                    face: Some(Face {
                        own: numbers.iter().map(|value| value / length).collect(),
                        built_in: Embedding::new("0123456789ar", [fill; EMBEDDING_LEN]).unwrap(),
                    }),
                });
            }
        }
        seen
    }

    #[test]
    fn a_model_that_tells_people_apart_is_measured_on_the_other_half() {
        let mut seen = pictures(40, 3, 0.4);
        seen.push(Seen {
            person: "person 0".into(),
            face: None,
        });
        let (calibration, reported) = calibrated(&seen, "x").unwrap();
        assert_eq!((calibration.people_chosen, calibration.people_reported), (20, 20));
        assert_eq!(
            (calibration.own.genuine, calibration.own.false_non_matches),
            (60, 0)
        );
        assert_eq!(
            (calibration.own.impostor, calibration.own.false_matches),
            (1_710, 0)
        );
        assert_eq!(calibration.blindness(), None);
        let nearest = reported[0].impostor.iter().copied().fold(f32::INFINITY, f32::min);
        assert!(nearest > 1.23, "{nearest}");
        assert_eq!(calibration.built_in.genuine, 60);
    }

    #[test]
    fn a_model_that_recognises_nobody_is_blind_or_cannot_be_scaled() {
        let (calibration, _) = calibrated(&pictures(40, 3, 60.0), "x").unwrap();
        assert!(calibration.blindness().is_some(), "{calibration:?}");
    }

    #[test]
    fn too_few_people_are_refused() {
        for (people, each) in [(10, 8), (60, 1), (20, 2)] {
            let error = calibrated(&pictures(people, each, 0.1), "x")
                .err()
                .unwrap()
                .to_string();
            assert!(error.contains("--people") && error.contains("1000"), "{error}");
        }
    }
}
