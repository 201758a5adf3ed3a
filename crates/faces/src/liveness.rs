//! Presentation attack detection (PAD) from one picture, without a network: does the picture itself look like a picture of
//! a picture? Cues are periodic patterns (moiré, pixel grids, halftone), missing colour, and geometry.
//!
//! What it can say is limited, and it says so: `not_live` needs a cue that real faces practically never show; whatever is
//! doubtful is `impossible`. It is no substitute for an active challenge, and a clean recapture passes it.

use imaging::{Luma, Picture};
use serde::Serialize;

use crate::reading::{Face, FaceReading};
use crate::spectrum::{PATCH, mean_power, peak};

/// The three outcomes of ISO/IEC 30107-3's terms: bona fide, attack, and no decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LivenessOutcome {
    /// Nothing speaks against a live person.
    Live,
    /// A picture of a picture (2104).
    NotLive,
    /// Cannot be told (2105).
    Impossible,
}

/// What the check found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Liveness {
    /// The verdict.
    pub outcome: LivenessOutcome,
    /// 0 (attack) to 1 (nothing speaks against a live person). Not a probability.
    pub score: f32,
    /// Why the outcome is not `live`: `moire`, `suspicious-pattern`, `no-colour`, `no-face`, `several-faces`,
    /// `face-too-small`, `poor-quality`.
    pub reasons: Vec<&'static str>,
    /// What was measured, where there was a face to measure.
    pub cues: Option<Cues>,
}

/// Patterns from here on are `not_live`.
///
/// Measured in November 2026: 67 photographs of real and rendered faces reach 3.4 at most; re-encoded, enlarged, sharpened
/// and reduced (318 pictures) 3.6. None is called an attack: BPCER 0 of 67 (95 % confidence: at most 4.4 %), 0 of 385 with
/// the variants. Rendered recaptures: halftone prints 7.3–9.2 (20 of 20 caught), screens at three of four distances 6.1–8.7
/// (28 of 28 caught), at the fourth 2.3–5.2 (most pass). Clean prints without a pattern pass.
const PATTERN_NOT_LIVE: f32 = 5.0;
/// Patterns from here on are doubtful.
const PATTERN_DOUBTFUL: f32 = 4.0;
/// Mean distance of a pixel from grey below which a picture has no colour.
const MIN_COLOUR: f32 = 3.0;
/// The spectrum needs a face of some pixels.
const MIN_FACE_SIDE: f32 = PATCH as f32;
/// Patches along a side of the face.
const PATCHES: usize = 5;

/// Measures of a face that tell attacks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cues {
    /// How far the strongest periodic pattern stands out of its surroundings, natural logarithm of power.
    pub pattern: f32,
    /// Mean difference between a pixel's largest and smallest channel, 0–255.
    pub colour: f32,
}

pub(crate) fn check(picture: &Picture, reading: &FaceReading) -> Liveness {
    let impossible = |reason| Liveness {
        outcome: LivenessOutcome::Impossible,
        score: 0.5,
        reasons: vec![reason],
        cues: None,
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

/// The verdict over the cues.
fn judge(cues: &Cues) -> Liveness {
    let reason = if cues.pattern >= PATTERN_NOT_LIVE {
        Some((LivenessOutcome::NotLive, "moire"))
    } else if cues.pattern >= PATTERN_DOUBTFUL {
        Some((LivenessOutcome::Impossible, "suspicious-pattern"))
    } else if cues.colour < MIN_COLOUR {
        Some((LivenessOutcome::Impossible, "no-colour"))
    } else {
        None
    };
    let pattern = ((cues.pattern - 2.0) / (PATTERN_NOT_LIVE - 2.0)).clamp(0.0, 1.0);
    let (outcome, reasons) = reason.map_or((LivenessOutcome::Live, vec![]), |(outcome, why)| {
        (outcome, vec![why])
    });
    Liveness {
        outcome,
        score: 1.0 - pattern,
        reasons,
        cues: Some(*cues),
    }
}

/// Measures the inside of a face; `None` when it is too small.
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
    let inside = picture.crop(region[0], region[1], region[2] - region[0], region[3] - region[1])?;
    let whole = [0, 0, inside.width, inside.height];
    let luma = peak(&mean_power(&inside.luma(), whole, PATCHES)?);
    let chroma = peak(&mean_power(&red_minus_green(&inside), whole, PATCHES)?);
    let spread = |p: &[u8]| {
        p.iter()
            .max()
            .zip(p.iter().min())
            .map_or(0.0, |(high, low)| f32::from(high - low))
    };
    let colour = inside.pixels.chunks_exact(3).map(spread).sum::<f32>() / (inside.pixels.len() / 3) as f32;
    Some(Cues {
        pattern: luma.max(chroma),
        colour,
    })
}

/// A colour difference as a plane: screens' sub-pixels show here where skin is smooth.
fn red_minus_green(picture: &Picture) -> Luma {
    let difference = |p: &[u8]| (128 + (i16::from(p[0]) - i16::from(p[1])) / 2) as u8;
    let pixels = picture.pixels.chunks_exact(3).map(difference).collect();
    Luma {
        width: picture.width,
        height: picture.height,
        pixels,
    }
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
                LivenessOutcome::Live,
                None,
            ),
            (
                Cues {
                    pattern: PATTERN_DOUBTFUL,
                    colour: 40.0,
                },
                LivenessOutcome::Impossible,
                Some("suspicious-pattern"),
            ),
            (
                Cues {
                    pattern: PATTERN_NOT_LIVE,
                    colour: 40.0,
                },
                LivenessOutcome::NotLive,
                Some("moire"),
            ),
            (
                Cues {
                    pattern: 2.5,
                    colour: 0.5,
                },
                LivenessOutcome::Impossible,
                Some("no-colour"),
            ),
        ];
        for (cues, outcome, reason) in cases {
            let liveness = judge(&cues);
            assert_eq!(liveness.outcome, outcome);
            assert_eq!(liveness.reasons.first().copied(), reason);
            assert!((0.0..=1.0).contains(&liveness.score));
        }
    }

    #[test]
    fn without_a_face_nothing_can_be_told() {
        let liveness = check(&Picture::filled(64, 64, [90; 3]), &FaceReading::default());
        assert_eq!(
            (liveness.outcome, liveness.reasons),
            (LivenessOutcome::Impossible, vec!["no-face"])
        );
    }
}
