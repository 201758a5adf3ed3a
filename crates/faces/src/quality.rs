//! Checks whether a face is suitable for comparison: size, sharpness, exposure, pose, eyes, completeness.
//! Each issue has advice for the person in front of the camera.
//!
//! This module never judges who the person is or whether the face is alive.

use std::borrow::Cow;

use imaging::Luma;
use serde::{Deserialize, Serialize};

use crate::kind::PictureKind;
use crate::mesh::Pose;

/// A property that makes a face hard to compare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QualityIssue {
    /// The code of the issue: `face-too-small`, `blurred`, `too-dark`, `too-bright`, `low-contrast`,
    /// `turned-away`, `tilted`, `eyes-closed` or `cut-off`.
    pub code: Cow<'static, str>,
    /// What the person can do about it.
    pub advice: Cow<'static, str>,
    /// Whether the face must not be compared at all. Other issues only lower the reliability.
    pub blocking: bool,
}

/// The measurements of a face.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FaceMeasurements {
    /// Distance between the eyes' centres in pixels.
    pub(crate) inter_eye: f32,
    pub(crate) pose: Pose,
    /// Lid distance over eye width of the more open eye.
    pub(crate) eye_openness: f32,
    /// Share of the face's box that is inside the picture.
    pub(crate) inside: f32,
    pub(crate) light: Light,
}

/// Light and sharpness of a face's aligned chip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Light {
    /// Mean grey, 0–255.
    pub(crate) mean: f32,
    /// Standard deviation of the grey.
    pub(crate) contrast: f32,
    /// Energy of the finest detail relative to the contrast: 0 if blurred.
    pub(crate) sharpness: f32,
    /// Share of the pixels that are nearly white.
    pub(crate) burnt: f32,
}

/// The smallest distance between the eyes. It is 60 px for a selfie, because its camera can do better, and
/// less for a document's portrait, which is printed small. A portrait that is also faded needs more pixels.
/// Measured on 33 clean portraits with 24–27 px: 5 of 191 pairs of one person are beyond the default threshold, none of
/// 3,175 of two people within it; with a coarse screen 74 of 197, and none of 3,169.
const MIN_INTER_EYE_SELFIE: f32 = 60.0;
const MIN_INTER_EYE_DOCUMENT: f32 = 24.0;
const MIN_INTER_EYE_FADED: f32 = 30.0;
/// A portrait with less contrast is faded.
const FADED: f32 = 25.0;
const MIN_SHARPNESS: f32 = 0.004;
const MIN_MEAN: f32 = 40.0;
const MAX_MEAN: f32 = 225.0;
const MAX_BURNT: f32 = 0.35;
/// A faded portrait's contrast is restored before it is compared; a person can find better light instead.
const MIN_CONTRAST_SELFIE: f32 = 12.0;
const MIN_CONTRAST_DOCUMENT: f32 = 5.0;
const MAX_YAW: f32 = 40.0;
const MAX_PITCH: f32 = 35.0;
const MAX_ROLL: f32 = 35.0;
const MIN_EYE_OPENNESS: f32 = 0.1;
const MIN_INSIDE: f32 = 0.9;

/// Code, advice and whether the issue is blocking, in the order of severity.
const ISSUES: [(&str, &str, bool); 9] = [
    (
        "face-too-small",
        "Move closer, or use a picture with more pixels.",
        true,
    ),
    ("cut-off", "Keep the whole face inside the picture.", true),
    ("turned-away", "Look straight into the camera.", true),
    ("blurred", "Hold still and let the camera focus.", true),
    ("too-dark", "Find more light.", true),
    ("too-bright", "Avoid glare and strong light.", true),
    ("low-contrast", "Find even light from the front.", true),
    ("tilted", "Hold the camera upright.", false),
    ("eyes-closed", "Keep the eyes open.", false),
];

impl QualityIssue {
    /// Whether this crate can produce this issue. Issues from another process may contain any text.
    pub fn is_known(&self) -> bool {
        ISSUES.contains(&(&*self.code, &*self.advice, self.blocking))
    }
}

/// The issues of a face, in the order of severity.
pub(crate) fn issues(measured: &FaceMeasurements, kind: PictureKind) -> Vec<QualityIssue> {
    let FaceMeasurements {
        inter_eye,
        pose,
        eye_openness,
        inside,
        light,
    } = *measured;
    let selfie = kind == PictureKind::Selfie;
    let (min_inter_eye, min_contrast) = match kind {
        PictureKind::Selfie => (MIN_INTER_EYE_SELFIE, MIN_CONTRAST_SELFIE),
        PictureKind::Document if light.contrast < FADED => (MIN_INTER_EYE_FADED, MIN_CONTRAST_DOCUMENT),
        PictureKind::Document => (MIN_INTER_EYE_DOCUMENT, MIN_CONTRAST_DOCUMENT),
    };
    let found = [
        inter_eye < min_inter_eye,
        inside < MIN_INSIDE,
        pose.yaw.abs() > MAX_YAW || pose.pitch.abs() > MAX_PITCH,
        light.sharpness < MIN_SHARPNESS,
        light.mean < MIN_MEAN,
        light.mean > MAX_MEAN || light.burnt > MAX_BURNT,
        light.contrast < min_contrast,
        selfie && pose.roll.abs() > MAX_ROLL,
        selfie && eye_openness < MIN_EYE_OPENNESS,
    ];
    let issues = found.into_iter().zip(ISSUES).filter(|(found, _)| *found);
    issues
        .map(|(_, (code, advice, blocking))| QualityIssue {
            code: code.into(),
            advice: advice.into(),
            blocking,
        })
        .collect()
}

impl Light {
    /// Measures the centre of an aligned chip, which is face regardless of hair and background.
    pub(crate) fn of(chip: &Luma) -> Self {
        let (left, top) = (chip.width / 5, chip.height / 5);
        let (right, bottom) = (chip.width - left, chip.height * 9 / 10);
        let grey = |x: u32, y: u32| f32::from(chip.pixel(x, y));
        let places = (top..bottom).flat_map(|y| (left..right).map(move |x| (x, y)));
        let (mut count, mut sum, mut squares, mut fine, mut burnt) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (x, y) in places {
            let value = grey(x, y);
            let laplacian = 4.0 * value - grey(x - 1, y) - grey(x + 1, y) - grey(x, y - 1) - grey(x, y + 1);
            count += 1.0;
            sum += value;
            squares += value * value;
            fine += laplacian * laplacian;
            burnt += f32::from(u8::from(value > 250.0));
        }
        let mean = sum / count;
        let variance = (squares / count - mean * mean).max(0.0);
        Self {
            mean,
            contrast: variance.sqrt(),
            sharpness: fine / count / variance.max(1.0),
            burnt: burnt / count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: FaceMeasurements = FaceMeasurements {
        inter_eye: 120.0,
        pose: Pose {
            yaw: 3.0,
            pitch: -4.0,
            roll: 1.0,
        },
        eye_openness: 0.3,
        inside: 1.0,
        light: Light {
            mean: 130.0,
            contrast: 45.0,
            sharpness: 0.1,
            burnt: 0.01,
        },
    };

    #[test]
    fn every_fault_is_named_and_a_good_face_has_none() {
        let pose = |yaw, pitch, roll| FaceMeasurements {
            pose: Pose { yaw, pitch, roll },
            ..GOOD
        };
        let light = |light| FaceMeasurements { light, ..GOOD };
        let cases: [(FaceMeasurements, PictureKind, &[&str]); 16] = [
            (GOOD, PictureKind::Selfie, &[]),
            (
                FaceMeasurements {
                    inter_eye: 45.0,
                    ..GOOD
                },
                PictureKind::Selfie,
                &["face-too-small"],
            ),
            (
                FaceMeasurements {
                    inter_eye: 45.0,
                    ..GOOD
                },
                PictureKind::Document,
                &[],
            ),
            (
                FaceMeasurements {
                    inter_eye: 20.0,
                    ..GOOD
                },
                PictureKind::Document,
                &["face-too-small"],
            ),
            (
                FaceMeasurements {
                    inter_eye: 26.0,
                    ..GOOD
                },
                PictureKind::Document,
                &[],
            ),
            (
                FaceMeasurements {
                    inter_eye: 26.0,
                    light: Light {
                        contrast: 11.0,
                        ..GOOD.light
                    },
                    ..GOOD
                },
                PictureKind::Document,
                &["face-too-small"],
            ),
            (
                FaceMeasurements { inside: 0.7, ..GOOD },
                PictureKind::Selfie,
                &["cut-off"],
            ),
            (pose(-60.0, 0.0, 0.0), PictureKind::Selfie, &["turned-away"]),
            (pose(0.0, 50.0, 0.0), PictureKind::Selfie, &["turned-away"]),
            (pose(0.0, 0.0, 90.0), PictureKind::Selfie, &["tilted"]),
            (pose(0.0, 0.0, 90.0), PictureKind::Document, &[]),
            (
                FaceMeasurements {
                    eye_openness: 0.02,
                    ..GOOD
                },
                PictureKind::Selfie,
                &["eyes-closed"],
            ),
            (
                light(Light {
                    sharpness: 0.0,
                    ..GOOD.light
                }),
                PictureKind::Selfie,
                &["blurred"],
            ),
            (
                light(Light {
                    mean: 20.0,
                    ..GOOD.light
                }),
                PictureKind::Selfie,
                &["too-dark"],
            ),
            (
                light(Light {
                    burnt: 0.6,
                    ..GOOD.light
                }),
                PictureKind::Selfie,
                &["too-bright"],
            ),
            (
                light(Light {
                    contrast: 4.0,
                    ..GOOD.light
                }),
                PictureKind::Selfie,
                &["low-contrast"],
            ),
        ];
        for (measured, kind, expected) in cases {
            let codes: Vec<_> = issues(&measured, kind)
                .into_iter()
                .map(|issue| issue.code)
                .collect();
            assert_eq!(codes, expected, "{measured:?}");
        }
    }

    #[test]
    fn blur_and_darkness_are_measured() {
        let board = |light: u8, cell: u32| {
            let pixels = (0..150 * 150).map(|i| {
                if (i % 150 / cell + i / 150 / cell).is_multiple_of(2) {
                    light
                } else {
                    0
                }
            });
            Light::of(&Luma {
                width: 150,
                height: 150,
                pixels: pixels.collect(),
            })
        };
        assert!(board(200, 2).sharpness > 5.0 * board(200, 15).sharpness);
        assert!(board(60, 2).mean < MIN_MEAN && board(200, 2).mean > MIN_MEAN);
        let flat = Light::of(&Luma::filled(150, 150, 255));
        assert!(flat.sharpness == 0.0 && flat.contrast == 0.0 && flat.burnt == 1.0);
    }
}
