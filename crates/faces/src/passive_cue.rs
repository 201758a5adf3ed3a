//! The passive cue: whether one picture looks like a picture of a picture. It uses periodic patterns (moiré, pixel
//! grids, halftone) and missing colour, without a built-in neural network. A custom model can add its score
//! ([`crate::PadScore`]). It can turn `live` and `impossible` into `not_live`, but never the reverse. The cue does not
//! prove that a living person is present: most clean prints and some screens pass it. The challenge is the defence
//! against presentation attacks (PAD).
//!
//! Data formats still call the outcomes `live`, `not_live` and `impossible`. `not_live` needs a pattern that real faces
//! practically never have; doubtful cases are `impossible`.

use std::borrow::Cow;

use imaging::Picture;
use imaging::spectrum::{PATCH, mean_power, patches_of, peak};
use serde::{Deserialize, Serialize};

use crate::pad_model::PadScore;
use crate::reading::{Face, FaceReading};

/// The three outcomes in ISO/IEC 30107-3 terms: bona fide, attack, and no decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CueOutcome {
    /// No evidence of an attack.
    #[serde(rename = "live")]
    NoAttack,
    /// A picture of a picture (2104).
    #[serde(rename = "not_live")]
    Attack,
    /// The picture does not allow a decision (2105).
    #[serde(rename = "impossible")]
    Undecided,
}

/// The passive cue of one picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassiveCue {
    /// The outcome.
    pub outcome: CueOutcome,
    /// From 0 (attack) to 1 (no evidence of an attack). This is not a probability.
    pub score: f32,
    /// Why the outcome is not `live`: `moire`, `suspicious-pattern`, `no-colour`, `no-face`, `several-faces`,
    /// `face-too-small`, `poor-quality`, `pad-model`.
    pub reasons: Vec<Cow<'static, str>>,
    /// The measurements; `None` if there was no suitable face.
    pub cues: Option<Cues>,
    /// The score of the custom model; `None` if none is in use, or there was no suitable face.
    pub model: Option<PadScore>,
}

/// From this pattern strength on, the outcome is `not_live`.
///
/// Measured in November 2026: 67 photographs of real and rendered faces reach at most 3.4. Re-encoded,
/// enlarged, sharpened and reduced variants (318 pictures) reach 3.6. None is classified as an attack: BPCER
/// is 0 of 67 (95 % confidence: at most 4.4 %), and 0 of 385 with the variants.
///
/// Rendered recaptures: halftone prints reach 7.3–9.2 (20 of 20 detected). Screens reach 6.1–8.7 at three of
/// four distances (28 of 28 detected) and 2.3–5.2 at the fourth (most pass). Clean prints without a pattern
/// pass.
const PATTERN_NOT_LIVE: f32 = 5.0;
/// From this pattern strength on, the outcome is `impossible`.
const PATTERN_DOUBTFUL: f32 = 4.0;
/// Below this mean distance of a pixel from grey, a picture has no colour.
const MIN_COLOUR: f32 = 3.0;
/// The smallest side of a face, in pixels, from which the spectrum can be calculated.
const MIN_FACE_SIDE: f32 = PATCH as f32;
/// The largest number of patches along a side of the face.
const PATCHES: usize = 5;

/// Measurements of a face that indicate attacks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cues {
    /// The height of the strongest periodic pattern above its surroundings, as the natural logarithm of
    /// power.
    pub pattern: f32,
    /// Mean difference between a pixel's largest and smallest channel, 0–255.
    pub colour: f32,
}

/// The reasons of [`PassiveCue::reasons`].
const REASONS: [&str; 8] = [
    "moire",
    "suspicious-pattern",
    "no-colour",
    "no-face",
    "several-faces",
    "face-too-small",
    "poor-quality",
    PAD_MODEL,
];
/// The reason if a custom model classifies the picture as an attack.
const PAD_MODEL: &str = "pad-model";

impl PassiveCue {
    /// Whether this crate can produce this result: known reasons and finite measures. Results from another
    /// process may contain anything.
    pub fn is_plausible(&self) -> bool {
        let cues = self
            .cues
            .is_none_or(|cues| cues.pattern.is_finite() && cues.colour.is_finite());
        let reasons = self.reasons.iter().all(|reason| REASONS.contains(&&**reason));
        let model = self.model.as_ref().is_none_or(PadScore::is_plausible);
        cues && model && reasons && self.reasons.len() <= REASONS.len() && (0.0..=1.0).contains(&self.score)
    }

    /// The cue with the score of a custom model.
    pub(crate) fn with_model(mut self, score: PadScore) -> Self {
        if score.is_attack() {
            self.outcome = CueOutcome::Attack;
            self.score = 0.0;
            self.reasons.push(PAD_MODEL.into());
        }
        self.model = Some(score);
        self
    }
}

pub(crate) fn check(picture: &Picture, reading: &FaceReading) -> PassiveCue {
    let impossible = |reason: &'static str| PassiveCue {
        outcome: CueOutcome::Undecided,
        score: 0.5,
        reasons: vec![reason.into()],
        cues: None,
        model: None,
    };
    let mut significant = reading.significant();
    let Some(face) = significant.next() else {
        return impossible("no-face");
    };
    if significant.next().is_some() {
        return impossible("several-faces");
    }
    if face.quality.iter().any(|issue| issue.blocking) {
        return impossible("poor-quality");
    }
    match cues(picture, face) {
        Some(cues) => judge(&cues),
        None => impossible("face-too-small"),
    }
}

/// Decides the outcome from the cues.
fn judge(cues: &Cues) -> PassiveCue {
    let reason = if cues.pattern >= PATTERN_NOT_LIVE {
        Some((CueOutcome::Attack, "moire"))
    } else if cues.pattern >= PATTERN_DOUBTFUL {
        Some((CueOutcome::Undecided, "suspicious-pattern"))
    } else if cues.colour < MIN_COLOUR {
        Some((CueOutcome::Undecided, "no-colour"))
    } else {
        None
    };
    let pattern = ((cues.pattern - 2.0) / (PATTERN_NOT_LIVE - 2.0)).clamp(0.0, 1.0);
    let (outcome, reasons) = reason.map_or((CueOutcome::NoAttack, vec![]), |(outcome, why)| {
        (outcome, vec![why.into()])
    });
    PassiveCue {
        outcome,
        score: 1.0 - pattern,
        reasons,
        cues: Some(*cues),
        model: None,
    }
}

/// Measures the area of a face; `None` if it is too small.
pub(crate) fn cues(picture: &Picture, face: &Face) -> Option<Cues> {
    let [left, top, width, height] = face.bounds;
    if width.min(height) < MIN_FACE_SIDE {
        return None;
    }
    let clipped = |value: f32, most: u32| value.clamp(0.0, most as f32) as u32;
    let region = [
        clipped(left, picture.width),
        clipped(top, picture.height),
        clipped(left + width, picture.width),
        clipped(top + height, picture.height),
    ];
    let patches = patches_of(picture, region, PATCHES);
    let luma = peak(&mean_power(picture, &patches, Picture::luma)?);
    let chroma = peak(&mean_power(picture, &patches, Picture::red_minus_green)?);
    Some(Cues {
        pattern: luma.max(chroma),
        colour: colour(picture, region),
    })
}

/// The mean difference between a pixel's largest and smallest channel in a region that is not empty.
fn colour(picture: &Picture, [left, top, right, bottom]: [u32; 4]) -> f32 {
    let spread = |[red, green, blue]: [u8; 3]| {
        let (high, low) = (red.max(green).max(blue), red.min(green).min(blue));
        u64::from(high - low)
    };
    let columns = left as usize * 3..right as usize * 3;
    let of_row = |y| {
        let (pixels, _) = picture.row(y)[columns.clone()].as_chunks::<3>();
        pixels.iter().copied().map(spread).sum::<u64>()
    };
    let total: u64 = (top..bottom).map(of_row).sum();
    total as f32 / ((right - left) as f32 * (bottom - top) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_strong_pattern_is_an_attack() {
        let cases = [
            (
                Cues {
                    pattern: 2.5,
                    colour: 40.0,
                },
                CueOutcome::NoAttack,
                None,
            ),
            (
                Cues {
                    pattern: PATTERN_DOUBTFUL,
                    colour: 40.0,
                },
                CueOutcome::Undecided,
                Some("suspicious-pattern"),
            ),
            (
                Cues {
                    pattern: PATTERN_NOT_LIVE,
                    colour: 40.0,
                },
                CueOutcome::Attack,
                Some("moire"),
            ),
            (
                Cues {
                    pattern: 2.5,
                    colour: 0.5,
                },
                CueOutcome::Undecided,
                Some("no-colour"),
            ),
        ];
        for (cues, outcome, reason) in cases {
            let cue = judge(&cues);
            assert_eq!(cue.outcome, outcome);
            assert_eq!(cue.reasons.first().map(|found| &**found), reason);
            assert!((0.0..=1.0).contains(&cue.score));
        }
    }

    #[test]
    fn an_own_model_adds_an_attack_and_takes_none_away() {
        let cues = |pattern| Cues {
            pattern,
            colour: 40.0,
        };
        let score = |score| PadScore {
            model: "acme-pad".into(),
            version: "0123456789ab".into(),
            score,
            attack_below: 0.5,
        };
        for (pattern, model, outcome, reasons) in [
            (2.5, 0.9, CueOutcome::NoAttack, &[][..]),
            (2.5, 0.1, CueOutcome::Attack, &["pad-model"]),
            (
                PATTERN_DOUBTFUL,
                0.9,
                CueOutcome::Undecided,
                &["suspicious-pattern"],
            ),
            (
                PATTERN_DOUBTFUL,
                0.1,
                CueOutcome::Attack,
                &["suspicious-pattern", "pad-model"],
            ),
            (PATTERN_NOT_LIVE, 0.9, CueOutcome::Attack, &["moire"]),
            (PATTERN_NOT_LIVE, 0.1, CueOutcome::Attack, &["moire", "pad-model"]),
        ] {
            let cue = judge(&cues(pattern)).with_model(score(model));
            assert_eq!(
                (cue.outcome, cue.reasons.as_slice()),
                (
                    outcome,
                    &*reasons
                        .iter()
                        .map(|reason| Cow::from(*reason))
                        .collect::<Vec<_>>()
                )
            );
            assert!(cue.is_plausible());
            assert_eq!(cue.model.map(|model| model.score), Some(model));
        }
    }

    #[test]
    fn without_a_face_nothing_can_be_told() {
        let cue = check(&Picture::filled(64, 64, [90; 3]), &FaceReading::default());
        assert_eq!(
            (cue.outcome, cue.reasons),
            (CueOutcome::Undecided, vec!["no-face".into()])
        );
    }
}
