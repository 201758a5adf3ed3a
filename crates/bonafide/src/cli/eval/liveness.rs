//! `bonafide eval liveness`: error rates as defined by ISO/IEC 30107-3: APCER per attack type, BPCER, and
//! non-response rates.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use faces::{CueOutcome, FaceEngine, PassiveCue};
use serde_json::{Value, json};

use super::det::{self, Curve};
use super::faces::analyse_faces;
use super::figures::{Report, rounded, share, upper_limit};
use super::files::pictures_below;
use crate::cli::engines::ModelsArg;
use crate::cli::errors::Unusable;

/// `bonafide eval liveness`.
#[derive(Args)]
pub(super) struct Liveness {
    /// A folder of pictures of live people.
    #[arg(long)]
    live: Option<PathBuf>,
    /// A folder of attacks; each folder in it is named after its attack type.
    #[arg(long)]
    attacks: Option<PathBuf>,
    /// Write the DET curve of the score for each attack type to this SVG file.
    #[arg(long, requires = "live", requires = "attacks")]
    det: Option<PathBuf>,
    #[command(flatten)]
    models: ModelsArg,
}

impl Liveness {
    pub(super) fn measure(&self) -> anyhow::Result<Report> {
        if self.live.is_none() && self.attacks.is_none() {
            return Err(Unusable("name --live FOLDER, --attacks FOLDER, or both".into()).into());
        }
        let engine = self.models.faces()?;
        let mut report = Report::new();
        let mut live = Outcomes::default();
        if let Some(folder) = &self.live {
            for file in pictures_below(folder)? {
                live.add(check(&engine, &file)?.as_ref());
            }
            report.insert("live".into(), live.live());
        }
        let mut types: BTreeMap<String, Outcomes> = BTreeMap::new();
        if let Some(folder) = &self.attacks {
            for file in pictures_below(folder)? {
                let outcomes = types.entry(attack_type(folder, &file)).or_default();
                outcomes.add(check(&engine, &file)?.as_ref());
            }
        }
        if let Some(file) = &self.det {
            let curves: Vec<Curve<'_>> = types
                .iter()
                .map(|(name, outcomes)| Curve {
                    name,
                    genuine: &live.distances,
                    impostor: &outcomes.distances,
                })
                .collect();
            det::write(file, det::PRESENTATIONS, &curves)?;
        }
        report.extend(
            types
                .into_iter()
                .map(|(name, outcomes)| (name, outcomes.attack())),
        );
        Ok(report)
    }
}

/// The attack type: the name of the file's folder directly below the folder of all attacks.
fn attack_type(folder: &Path, file: &Path) -> String {
    let below = file.strip_prefix(folder).unwrap_or(file);
    let name = below
        .parent()
        .map(|parent| parent.display().to_string())
        .unwrap_or_default();
    format!("attack {}", if name.is_empty() { "(no folder)" } else { &name })
}

/// The passive cue; `None` if the file is not an image or has no face.
fn check(engine: &FaceEngine, file: &Path) -> anyhow::Result<Option<PassiveCue>> {
    match analyse_faces(engine, file) {
        Ok((picture, reading)) if reading.main().is_some() => {
            Ok(Some(engine.passive_cue(&picture, &reading)?))
        }
        _ => Ok(None),
    }
}

#[derive(Default)]
struct Outcomes {
    live: u64,
    not_live: u64,
    untold: u64,
    /// 1 − score of every presentation whose face was measured: the custom model's score, if one is in use.
    distances: Vec<f32>,
}

impl Outcomes {
    fn add(&mut self, checked: Option<&PassiveCue>) {
        *match checked.map(|checked| checked.outcome) {
            Some(CueOutcome::NoAttack) => &mut self.live,
            Some(CueOutcome::Attack) => &mut self.not_live,
            Some(CueOutcome::Undecided) | None => &mut self.untold,
        } += 1;
        let score = checked.and_then(|checked| match &checked.model {
            Some(model) => Some(model.score),
            None => checked.cues.map(|_| checked.score),
        });
        self.distances.extend(score.map(|score| 1.0 - score));
    }

    fn presentations(&self) -> u64 {
        self.live + self.not_live + self.untold
    }

    /// The figures of bona fide presentations. BPCER counts those classified as attacks.
    fn live(&self) -> Value {
        let all = self.presentations();
        json!({
            "presentations": all,
            "bpcer": rounded(share(self.not_live, all)),
            "bpcerAtMost": rounded(upper_limit(self.not_live, all)),
            "nonResponse": rounded(share(self.untold, all)),
        })
    }

    /// The figures of attack presentations. APCER counts those classified as bona fide.
    fn attack(&self) -> Value {
        let all = self.presentations();
        json!({
            "presentations": all,
            "apcer": rounded(share(self.live, all)),
            "apcerAtMost": rounded(upper_limit(self.live, all)),
            "nonResponse": rounded(share(self.untold, all)),
        })
    }
}

#[cfg(test)]
mod tests {
    use faces::Cues;

    use super::*;

    #[test]
    fn rates_are_of_all_presentations() {
        let mut outcomes = Outcomes::default();
        for (outcome, times) in [
            (Some(CueOutcome::NoAttack), 5),
            (Some(CueOutcome::Attack), 3),
            (Some(CueOutcome::Undecided), 1),
            (None, 1),
        ] {
            let checked = outcome.map(|outcome| PassiveCue {
                outcome,
                score: 0.75,
                reasons: Vec::new(),
                cues: (outcome != CueOutcome::Undecided).then_some(Cues {
                    pattern: 1.0,
                    colour: 9.0,
                }),
                model: None,
            });
            (0..times).for_each(|_| outcomes.add(checked.as_ref()));
        }
        assert_eq!(outcomes.distances, [0.25; 8]);
        assert_eq!(outcomes.live()["bpcer"], json!(0.3));
        assert_eq!(outcomes.attack()["apcer"], json!(0.5));
        assert_eq!(outcomes.attack()["nonResponse"], json!(0.2));
    }

    #[test]
    fn attacks_are_typed_by_their_folder() {
        let folder = Path::new("/x");
        for (file, name) in [
            ("/x/print/1.jpg", "attack print"),
            ("/x/screen/phone/2.jpg", "attack screen/phone"),
            ("/x/3.jpg", "attack (no folder)"),
        ] {
            assert_eq!(attack_type(folder, Path::new(file)), name);
        }
    }
}
