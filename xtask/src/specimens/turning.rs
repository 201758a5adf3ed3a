//! Views of a specimen's head that turns and nods, for browser tests of the liveness challenge. A test shows them to
//! the page as a camera's pictures.

use std::sync::Arc;

use anyhow::{Context, Result};
use faces::{FaceEngine, PictureKind, Pose};
use films::{FRAME_SIZE, Head, Photograph, Room, View};
use imaging::Limits;
use inference::Models;

/// The files' JPEG quality.
const QUALITY: u8 = 92;
/// The farthest turn and nod, and the step between two views, in degrees.
const TURN: i32 = 30;
const NOD: i32 = 20;
const STEP: i32 = 2;

/// Draws the views from a selfie: `head-yaw-<degrees>.jpg` and `head-pitch-<degrees>.jpg`.
pub(crate) fn views(models: &std::path::Path, selfie: &[u8]) -> Result<Vec<(String, Vec<u8>)>> {
    let engine = FaceEngine::new(Arc::new(Models::open(models, 1)?));
    let picture = imaging::decode(selfie, &Limits::default())?.picture;
    let reading = engine.analyse(&picture, PictureKind::Selfie)?;
    let face = reading.main().context("no face in the selfie")?;
    let head = Head::mesh(
        &Photograph::new(&picture, face).context("a face without extent")?,
        1,
    );
    let room = Room::drawn(FRAME_SIZE[0], FRAME_SIZE[1], 1);
    let yaws = (-TURN..=TURN)
        .step_by(STEP as usize)
        .map(|degrees| ("yaw", degrees));
    let pitches = (-NOD..=NOD)
        .step_by(STEP as usize)
        .map(|degrees| ("pitch", degrees));
    yaws.chain(pitches)
        .map(|(axis, degrees)| {
            let angle = degrees as f32;
            let pose = match axis {
                "yaw" => Pose {
                    yaw: angle,
                    pitch: 0.0,
                    roll: 0.0,
                },
                _ => Pose {
                    yaw: 0.0,
                    pitch: angle,
                    roll: 0.0,
                },
            };
            let view = View {
                pose,
                ..View::FRONTAL
            };
            let jpeg = imaging::encode_jpeg(&head.picture(&room, &view, 7), QUALITY);
            Ok((
                format!("head-{axis}-{degrees}.jpg"),
                jpeg.context("a view that JPEG cannot hold")?,
            ))
        })
        .collect()
}
