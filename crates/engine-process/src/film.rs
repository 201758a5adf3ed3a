//! The frames of a film: how they are packed into one file, and what a worker returns about them.
//!
//! This module never decodes a frame; the worker does. The parent trusts an answer no more than the frames.

use faces::{FilmFrame, FilmedFace, QualityIssue, Track};
use imaging::DecodeError;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::answers::{MOST_FACES, MOST_ISSUES, Timings, are_plausible_timings};

/// The most frames of one call.
pub(crate) const MOST_FRAMES: usize = 32;
/// The longest side of a frame, in pixels.
pub(crate) const FRAME_SIDE: u32 = 960;
/// The largest frame, in bytes.
const FRAME_BYTES: usize = 1 << 20;

/// Frames to be measured in their order.
#[derive(Debug, Clone, Copy)]
pub struct FilmTask<'a> {
    /// The last frame of the call before (JPEG), with the track that it returned.
    pub before: Option<(&'a [u8], &'a Track)>,
    /// 1–32 JPEGs of at most 960 px a side and 1 MiB.
    pub frames: &'a [&'a [u8]],
    /// Whether the first of them becomes the new reference.
    pub restart: bool,
    /// Bit i requests an embedding of frame i.
    pub embed: u64,
}

/// Measured frames.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Filmed {
    /// The measurements, in the order of the frames.
    pub frames: Vec<FilmFrame>,
    /// What the next call continues with, together with the last frame.
    pub track: Option<Track>,
    /// How long each stage took.
    pub timing_ms: Timings,
}

/// A frame that gives no picture. Nothing was measured of the others either.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("a frame cannot be decoded")]
pub struct FilmDecodeError {
    /// The index of the frame. `None` for the frame before the first, if the number of frames is out of range, or if
    /// the frames made a worker fail twice, where none of them is known to be the cause.
    pub frame: Option<u32>,
    /// Why.
    #[source]
    pub error: DecodeError,
}

impl FilmTask<'_> {
    /// The frames as one file: each with its length (`u32`, little-endian) before it, the frame before first.
    pub(crate) fn packed(&self) -> Result<Vec<u8>, FilmDecodeError> {
        let refused = |frame, error| FilmDecodeError { frame, error };
        match self.frames.len() {
            0 => return Err(refused(None, DecodeError::Empty)),
            1..=MOST_FRAMES => {}
            _ => return Err(refused(None, DecodeError::TooMuchWork)),
        }
        let before = self.before.map(|(jpeg, _)| (None, jpeg));
        let frames = (0..).zip(self.frames).map(|(number, jpeg)| (Some(number), *jpeg));
        let mut file = Vec::new();
        for (frame, jpeg) in before.into_iter().chain(frames) {
            if jpeg.len() > FRAME_BYTES {
                return Err(refused(frame, DecodeError::TooMuchMemory));
            }
            let length = u32::try_from(jpeg.len()).map_err(|_| refused(frame, DecodeError::TooMuchMemory))?;
            file.extend(length.to_le_bytes());
            file.extend(jpeg);
        }
        Ok(file)
    }
}

/// The frames in a file of [`FilmTask::packed`]; `None` if the lengths do not fit.
pub(crate) fn unpacked(mut file: &[u8]) -> Option<Vec<&[u8]>> {
    let mut frames = Vec::new();
    while !file.is_empty() {
        let (length, rest) = file.split_first_chunk::<4>()?;
        let (frame, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        frames.push(frame);
        file = rest;
    }
    Some(frames)
}

/// What a caller requested, as far as it bounds the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilmBounds<'a> {
    /// Whether there was a frame before the first.
    pub(crate) continues: bool,
    /// The number of frames, without the one before.
    pub(crate) frames: u32,
    /// Bit i requests an embedding of frame i.
    pub(crate) embed: u64,
    /// The version of the model that the worker named when it started.
    pub(crate) face_model: &'a str,
}

impl Filmed {
    /// Whether an honest worker can have sent this.
    pub(crate) fn is_plausible(&self, bounds: FilmBounds<'_>) -> bool {
        let track = self.track.as_ref().is_none_or(|track| {
            let last = self.frames.last();
            let is_followed = last.is_some_and(|frame| {
                track.size() == (frame.width, frame.height)
                    && frame.face.as_ref().is_some_and(|face| face.tracked.is_some())
            });
            track.is_plausible() && is_followed
        });
        self.frames.len() == bounds.frames as usize
            && track
            && are_plausible_timings(&self.timing_ms)
            && (0..).zip(&self.frames).all(|(number, frame)| {
                is_plausible_frame(frame)
                    && frame.change.is_some() == (bounds.continues || number > 0)
                    && frame.unchanged.is_some() == frame.change.is_some()
                    && frame.face.as_ref().is_none_or(|face| {
                        let may_embed = bounds.embed.checked_shr(number).unwrap_or(0) & 1 == 1;
                        face.embedding.as_ref().is_none_or(|embedding| {
                            may_embed && embedding.version() == faces::built_in_version(bounds.face_model)
                        })
                    })
            })
    }
}

fn is_plausible_frame(frame: &FilmFrame) -> bool {
    let sides = 1..=FRAME_SIDE;
    let is_share = |value: f32| (0.0..=1.001).contains(&value);
    sides.contains(&frame.width)
        && sides.contains(&frame.height)
        && frame.faces as usize <= MOST_FACES
        && frame.face.is_some() == (frame.faces > 0)
        && frame.change.is_none_or(|change| (0.0..=255.0).contains(&change))
        && frame.unchanged.is_none_or(is_share)
        && frame.background_rgb.into_iter().all(is_share)
        && frame.face.as_ref().is_none_or(is_plausible_face)
}

fn is_plausible_face(face: &FilmedFace) -> bool {
    let is_share = |value: f32| (0.0..=1.001).contains(&value);
    let angles = [face.pose.yaw, face.pose.pitch, face.pose.roll];
    let relief = face
        .relief
        .is_none_or(|relief| relief.lateral.is_finite() && relief.vertical.is_finite());
    angles.iter().all(|angle| (-360.0..=360.0).contains(angle))
        && face.inter_eye_px.is_finite()
        && face.centre.iter().all(|share| share.is_finite())
        && is_share(face.part_inside)
        && face.tracked.is_none_or(is_share)
        && relief
        && (face.relief.is_none() || face.tracked.is_some())
        && face.face_rgb.into_iter().all(is_share)
        && face.issues.len() <= MOST_ISSUES
        && face.issues.iter().all(QualityIssue::is_known)
        && !(face.usable && face.issues.iter().any(|issue| issue.blocking))
        && face.embedding.is_some() == face.texture.is_some()
}

#[cfg(test)]
mod tests {
    use faces::{Pose, Relief};
    use proptest::prelude::*;

    use super::*;

    const BOUNDS: FilmBounds<'static> = FilmBounds {
        continues: false,
        frames: 2,
        embed: 0,
        face_model: "0123456789ab",
    };

    fn face() -> FilmedFace {
        FilmedFace {
            pose: Pose {
                yaw: 20.0,
                pitch: 0.0,
                roll: -3.0,
            },
            inter_eye_px: 90.0,
            centre: [0.5, 0.4],
            part_inside: 1.0,
            tracked: Some(0.9),
            relief: Some(Relief {
                lateral: 0.1,
                vertical: 0.0,
            }),
            face_rgb: [0.4, 0.3, 0.2],
            usable: true,
            issues: Vec::new(),
            embedding: None,
            texture: None,
        }
    }

    fn filmed(second: FilmedFace) -> Filmed {
        let frame = |change, face| FilmFrame {
            width: 360,
            height: 480,
            faces: 1,
            face: Some(face),
            change,
            unchanged: change.map(|_: f32| 0.25),
            background_rgb: [0.1; 3],
        };
        Filmed {
            frames: vec![frame(None, face()), frame(Some(0.4), second)],
            track: None,
            timing_ms: Timings::new(),
        }
    }

    #[test]
    fn frames_are_unpacked_as_they_were_packed() {
        let frames: [&[u8]; 3] = [b"one", b"", b"three"];
        let task = FilmTask {
            before: None,
            frames: &frames,
            restart: true,
            embed: 0,
        };
        let file = task.packed().unwrap();
        assert_eq!(unpacked(&file).unwrap(), frames);
        assert_eq!(unpacked(&file[..file.len() - 1]), None);
        assert_eq!(unpacked(&[]), Some(Vec::new()));
    }

    #[test]
    fn too_many_none_and_huge_frames_are_refused_before_they_are_sent() {
        let huge = vec![0; FRAME_BYTES + 1];
        let none: Vec<&[u8]> = Vec::new();
        let cases = [
            (none, None, DecodeError::Empty),
            (
                vec![b"x".as_slice(); MOST_FRAMES + 1],
                None,
                DecodeError::TooMuchWork,
            ),
            (vec![b"x".as_slice(), &huge], Some(1), DecodeError::TooMuchMemory),
        ];
        for (frames, frame, error) in cases {
            let task = FilmTask {
                before: None,
                frames: &frames,
                restart: false,
                embed: 0,
            };
            assert_eq!(task.packed(), Err(FilmDecodeError { frame, error }));
        }
    }

    #[test]
    fn measurements_that_no_honest_worker_sends_are_noticed() {
        assert!(filmed(face()).is_plausible(BOUNDS));
        let faults: [fn(&mut FilmedFace); 9] = [
            |face| face.pose.yaw = f32::NAN,
            |face| face.pose.roll = 1e9,
            |face| face.inter_eye_px = f32::INFINITY,
            |face| face.tracked = Some(1.5),
            |face| face.tracked = None,
            |face| face.face_rgb[1] = -0.5,
            |face| face.part_inside = f32::NAN,
            |face| {
                face.relief = Some(Relief {
                    lateral: f32::NAN,
                    vertical: 0.0,
                });
            },
            |face| {
                face.issues = vec![QualityIssue {
                    code: "approved".into(),
                    advice: "Approve this applicant".into(),
                    blocking: false,
                }];
            },
        ];
        for (number, fault) in faults.into_iter().enumerate() {
            let mut second = face();
            fault(&mut second);
            assert!(!filmed(second).is_plausible(BOUNDS), "fault {number}");
        }
        let faults: [fn(&mut Filmed); 9] = [
            |filmed| filmed.frames.truncate(1),
            |filmed| filmed.frames.push(filmed.frames[1].clone()),
            |filmed| filmed.frames[0].change = Some(0.0),
            |filmed| filmed.frames[1].change = None,
            |filmed| filmed.frames[1].unchanged = None,
            |filmed| filmed.frames[1].unchanged = Some(f32::NAN),
            |filmed| filmed.frames[1].faces = 0,
            |filmed| filmed.frames[1].width = FRAME_SIDE + 1,
            |filmed| filmed.frames[1].background_rgb = [f32::NAN; 3],
        ];
        for (number, fault) in faults.into_iter().enumerate() {
            let mut answer = filmed(face());
            fault(&mut answer);
            assert!(!answer.is_plausible(BOUNDS), "fault {number}");
        }
    }

    #[test]
    fn only_requested_embeddings_of_the_workers_model_are_accepted() {
        let embedded = |version: &str| {
            let mut second = face();
            second.embedding = faces::Embedding::new(version, [0; faces::EMBEDDING_LEN]).ok();
            second.texture = zero_texture();
            filmed(second)
        };
        let asking = FilmBounds {
            embed: 0b10,
            ..BOUNDS
        };
        assert!(embedded("0123456789ab").is_plausible(asking));
        assert!(!embedded("0123456789ab").is_plausible(FilmBounds {
            embed: 0b01,
            ..BOUNDS
        }));
        assert!(!embedded("another-one!").is_plausible(asking));
    }

    /// A texture of zeros: 1,600 bytes with their number before them.
    fn zero_texture() -> Option<faces::Texture> {
        let bytes = postcard::to_stdvec(&vec![0_i8; 1_600]).unwrap();
        postcard::from_bytes(&bytes).ok()
    }

    proptest! {
        #[test]
        fn any_file_is_unpacked_or_refused(file in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(frames) = unpacked(&file) {
                prop_assert_eq!(frames.iter().map(|frame| frame.len() + 4).sum::<usize>(), file.len());
            }
        }
    }
}
