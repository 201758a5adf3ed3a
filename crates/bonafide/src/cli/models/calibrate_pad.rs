//! The calibration of a model for presentation attack detection: its threshold, from an operator's labelled pictures.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use faces::PAD_RECIPE;
use inference::own::{Calibration, OwnModel, Presentations};
use jiff::Timestamp;

use super::figures::{of_pad, warn_of_refusals};
use super::labelled::parts;
use super::opened::Opened;
use super::threshold::{chosen, threshold};
use crate::cli::errors::Unusable;
use crate::cli::eval::det::{self, Curve};
use crate::cli::eval::faces::analyse_faces;
use crate::cli::eval::files::pictures_below;
use crate::cli::output::{note, print_line};

/// The least people in each half; with fewer, a threshold is meaningless.
const LEAST_PEOPLE: usize = 5;

/// An operator's pictures, and the goal of the calibration.
pub(super) struct PadCalibration<'a> {
    /// Pictures of live people: a folder for each person.
    pub(super) live: &'a Path,
    /// Attacks: a folder for each type, and in it a folder for each person, named as among the live ones.
    pub(super) attacks: &'a Path,
    /// The share of live presentations that may be classified as attacks, 0–0.2.
    pub(super) bpcer: f64,
    /// Where to draw the DET curve of each type.
    pub(super) det: Option<&'a Path>,
}

/// A labelled picture.
struct Labelled {
    person: String,
    /// The attack's type; `None` for a live person.
    attack: Option<String>,
    file: PathBuf,
}

/// A labelled picture with its score; `None` without a face that can be measured.
struct Scored {
    person: String,
    attack: Option<String>,
    score: Option<f32>,
}

impl PadCalibration<'_> {
    pub(super) fn run(&self, opened: &Opened, model: &OwnModel) -> anyhow::Result<()> {
        if !(0.0..=0.2).contains(&self.bpcer) {
            return Err(Unusable("--bpcer: write a share from 0 to 0.2".into()).into());
        }
        let name = &model.declaration().name;
        let mut labelled = live(self.live)?;
        labelled.extend(attacks(self.attacks)?);
        let scored = labelled
            .into_iter()
            .map(|labelled| score(opened, model, labelled))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let calibration = calibrated(&scored, self.bpcer, model.declaration_sha256())?;
        if let Some(file) = self.det {
            draw(file, &scored, &calibration)?;
        }
        opened.folder.calibrate(name, &calibration)?;
        print_line(&of_pad(&calibration).to_string())?;
        warn_of_refusals(&calibration);
        match model_is_blind(&calibration) {
            Some(apcer) => note!(
                "The model classifies {apcer:.0} % of the attacks as live, even for the type that it detects best, so \
                 it cannot be used. Either `output.class` or `output.means` in its declaration is wrong, or the model \
                 was not made for such attacks."
            ),
            None => note!("Calibrated. Next: bonafide models use {name}"),
        }
        Ok(())
    }
}

fn model_is_blind(calibration: &Calibration) -> Option<f64> {
    calibration.blindness().map(|apcer| apcer * 100.0)
}

/// The pictures of live people, `FOLDER/PERSON/FILE`.
fn live(folder: &Path) -> anyhow::Result<Vec<Labelled>> {
    let label = |file: PathBuf| match parts(folder, &file).as_slice() {
        [person, _] => Ok(Labelled {
            person: person.clone(),
            attack: None,
            file,
        }),
        _ => Err(Unusable(format!(
            "--live: {} is not in a person's folder; arrange the pictures as FOLDER/PERSON/FILE",
            file.display()
        ))
        .into()),
    };
    pictures_below(folder)?.into_iter().map(label).collect()
}

/// The attacks, `FOLDER/TYPE/PERSON/FILE`.
fn attacks(folder: &Path) -> anyhow::Result<Vec<Labelled>> {
    let label = |file: PathBuf| {
        match parts(folder, &file).as_slice() {
        [attack, person, _] => Ok(Labelled {
            person: person.clone(),
            attack: Some(attack.clone()),
            file,
        }),
        _ => Err(Unusable(format!(
            "--attacks: {} is not in a person's folder of a type; arrange the pictures as FOLDER/TYPE/PERSON/FILE",
            file.display()
        ))
        .into()),
    }
    };
    pictures_below(folder)?.into_iter().map(label).collect()
}

fn score(opened: &Opened, model: &OwnModel, labelled: Labelled) -> anyhow::Result<Scored> {
    let name = || labelled.file.display().to_string();
    // An unreadable file is no evidence about the model, so it is an error.
    let (picture, reading) =
        analyse_faces(&opened.engine, &labelled.file).map_err(|code| anyhow!("{}: {code}", name()))?;
    let score = opened
        .engine
        .pad_score(model, &picture, &reading)
        .with_context(name)?;
    Ok(Scored {
        person: labelled.person,
        attack: labelled.attack,
        score,
    })
}

/// Chooses the threshold with half of the people, and counts the presentations of the others at it.
fn calibrated(scored: &[Scored], bpcer: f64, declaration_sha256: &str) -> anyhow::Result<Calibration> {
    let people: BTreeSet<&str> = scored.iter().map(|scored| scored.person.as_str()).collect();
    let chosen = chosen(&people);
    let (choose, report): (Vec<&Scored>, Vec<&Scored>) = scored
        .iter()
        .partition(|scored| chosen.contains(scored.person.as_str()));
    let with_face: [usize; 2] = [&choose, &report].map(|half| {
        let people: BTreeSet<&str> = half
            .iter()
            .filter(|scored| scored.attack.is_none() && scored.score.is_some())
            .map(|scored| scored.person.as_str())
            .collect();
        people.len()
    });
    if with_face.iter().any(|people| *people < LEAST_PEOPLE) {
        bail!(
            "--live: the halves have {} and {} people with a picture that shows one face of good quality. Each half \
             needs at least {LEAST_PEOPLE}; 100 are better. Add people",
            with_face[0],
            with_face[1]
        );
    }
    let of_live: Vec<&&Scored> = choose.iter().filter(|scored| scored.attack.is_none()).collect();
    let scores: Vec<f32> = of_live.iter().filter_map(|scored| scored.score).collect();
    let attack_below = threshold(&scores, of_live.len(), bpcer).context("no live picture has a score")?;
    let (mut live, mut attacks) = (Presentations::default(), BTreeMap::<String, Presentations>::new());
    for scored in &report {
        let counts = match &scored.attack {
            None => &mut live,
            Some(name) => attacks.entry(name.clone()).or_default(),
        };
        *match scored.score {
            None => &mut counts.unmeasured,
            Some(score) if score < attack_below => &mut counts.attacks,
            Some(_) => &mut counts.live,
        } += 1;
    }
    if attacks.values().all(|counts| counts.live + counts.attacks == 0) {
        bail!(
            "--attacks: no picture shows a person of the reported half with a face of good quality. Name the people's \
             folders as in --live, and add people"
        );
    }
    Ok(Calibration {
        declaration_sha256: declaration_sha256.to_owned(),
        recipe: PAD_RECIPE,
        made_at: Timestamp::now().to_string(),
        attack_below,
        bpcer_goal: bpcer,
        people_chosen: chosen.len() as u64,
        people_reported: (people.len() - chosen.len()) as u64,
        live,
        attacks,
    })
}

/// Draws the DET curves of the reported half.
fn draw(file: &Path, scored: &[Scored], calibration: &Calibration) -> anyhow::Result<()> {
    let people: BTreeSet<&str> = scored.iter().map(|scored| scored.person.as_str()).collect();
    let chosen = chosen(&people);
    let distances = |attack: Option<&String>| -> Vec<f32> {
        scored
            .iter()
            .filter(|scored| scored.attack.as_ref() == attack && !chosen.contains(scored.person.as_str()))
            .filter_map(|scored| scored.score.map(|score| -score))
            .collect()
    };
    let live = distances(None);
    let types: Vec<(&String, Vec<f32>)> = calibration
        .attacks
        .keys()
        .map(|name| (name, distances(Some(name))))
        .collect();
    let curves: Vec<Curve<'_>> = types
        .iter()
        .map(|(name, attacks)| Curve {
            name,
            genuine: &live,
            impostor: attacks,
        })
        .collect();
    det::write(file, det::PRESENTATIONS, &curves)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(person: &str, attack: Option<&str>, score: Option<f32>) -> Scored {
        Scored {
            person: person.into(),
            attack: attack.map(str::to_owned),
            score,
        }
    }

    #[test]
    fn the_people_of_the_figures_did_not_choose_the_threshold() {
        let names: Vec<String> = (0..20).map(|number| format!("p{number}")).collect();
        let people: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let chosen = chosen(&people);
        let mut all = Vec::new();
        for name in &names {
            // The live people of the reported half would give another threshold.
            let live = if chosen.contains(name.as_str()) { 0.8 } else { 0.7 };
            all.push(scored(name, None, Some(live)));
            all.push(scored(name, Some("print"), Some(0.1)));
            all.push(scored(name, Some("screen"), Some(0.9)));
            all.push(scored(name, Some("screen"), None));
        }
        let calibration = calibrated(&all, 0.01, "x").unwrap();
        assert_eq!(calibration.attack_below, 0.8);
        let counts = |live, attacks, unmeasured| Presentations {
            live,
            attacks,
            unmeasured,
        };
        assert_eq!(calibration.live, counts(0, 10, 0));
        assert_eq!(calibration.attacks["print"], counts(0, 10, 0));
        assert_eq!(calibration.attacks["screen"], counts(10, 0, 10));
        assert_eq!((calibration.people_chosen, calibration.people_reported), (10, 10));
    }

    #[test]
    fn too_few_people_or_attacks_are_refused() {
        let few: Vec<Scored> = (0..8)
            .flat_map(|number| {
                let name = format!("p{number}");
                [
                    scored(&name, None, Some(0.9)),
                    scored(&name, Some("print"), Some(0.1)),
                ]
            })
            .collect();
        let error = calibrated(&few, 0.01, "x").unwrap_err().to_string();
        assert!(error.contains("--live") && error.contains("4 and 4"), "{error}");
        let unattacked: Vec<Scored> = (0..20)
            .map(|number| scored(&format!("p{number}"), None, Some(0.9)))
            .chain([
                scored("p1", Some("print"), None),
                scored("p2", Some("print"), None),
            ])
            .collect();
        let error = calibrated(&unattacked, 0.01, "x").unwrap_err().to_string();
        assert!(error.contains("--attacks"), "{error}");
    }
}
