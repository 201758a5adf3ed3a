//! Measures the frames of a film of a face: how many faces, the pose, colours, and the depth that the moves of pixels
//! show.
//!
//! This module decides nothing about a person; `verification` does. It keeps nothing between calls: the caller stores
//! the [`Track`] with the last frame.

mod colour;
mod corners;
mod flow;
#[cfg(test)]
mod pictures;
mod relief;
mod track;

use imaging::Picture;
use serde::{Deserialize, Serialize};

use self::colour::Grid;
use self::flow::Pyramid;
pub use self::relief::Relief;
pub use self::track::Track;
use crate::align::dlib_chip;
use crate::detector::{Detection, Search};
use crate::embedder::{Views, embed};
use crate::embedding::Embedding;
use crate::engine::{FaceEngine, WIDE_MARGIN, measure, part_inside};
use crate::error::FaceError;
use crate::kind::PictureKind;
use crate::mesh::{MIN_FACE_PROBABILITY, Mesh, Place, Pose};
use crate::quality::{self, QualityIssue};
use crate::significance::{BACKGROUND_SIDE, foreground};
use crate::texture::Texture;

/// At most this many detections of a frame are confirmed by a mesh.
const MAX_MESHES: usize = 4;
/// A detection whose centre is in the followed face's box, enlarged by this share on each side, is that face.
const SAME_FACE: f32 = 0.1;
/// A detection below this share of the least side of a foreground face cannot be one. The detector's boxes are
/// smaller than the mesh's.
const DETECTED_SIDE: f32 = 0.7;

/// What is measured of one frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilmFrame {
    /// The frame's width in pixels.
    pub width: u32,
    /// The frame's height in pixels.
    pub height: u32,
    /// Significant faces in the frame; a small face in the background does not count. While a face is followed, every
    /// fourth frame is searched for others.
    pub faces: u32,
    /// The followed face, or else the largest. `None` without a face.
    pub face: Option<FilmedFace>,
    /// Mean absolute difference to the frame before in grey levels (0–255), over at most 64 × 64 cells: 0 for the same
    /// picture, 255 for one of another size. `None` for the first frame.
    pub change: Option<f32>,
    /// The share of those cells whose mean is the same as in the frame before, and neither black nor white, 0–1. `None`
    /// for the first frame.
    pub unchanged: Option<f32>,
    /// Mean colour of the background, which is neither head nor shoulders: red, green, blue in linear light, 0–1.
    /// Without a face, of the whole frame.
    pub background_rgb: [f32; 3],
}

/// What is measured of the face of a frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilmedFace {
    /// The orientation of the head in degrees: yaw is positive when the nose points to the picture's right, pitch when
    /// it points down.
    pub pose: Pose,
    /// The distance between the eyes' centres in pixels, as if the head faced the camera.
    pub inter_eye_px: f32,
    /// The centre of the face's box, as shares of the frame's width and height.
    pub centre: [f32; 2],
    /// The share of the face's box that is inside the frame.
    pub part_inside: f32,
    /// The share of the reference's points that are still followed. `None` without a track.
    pub tracked: Option<f32>,
    /// Depth by followed pixels, in eye distances of the reference. `None` without a track or with too few points.
    pub relief: Option<Relief>,
    /// Mean colour of the skin of cheeks and forehead: red, green, blue in linear light, 0–1.
    pub face_rgb: [f32; 3],
    /// Whether the face has no blocking issue as a selfie. Not known, and `false`, while a face is followed, except in
    /// the reference frame.
    pub usable: bool,
    /// Quality issues as a selfie, in the order of severity.
    pub issues: Vec<QualityIssue>,
    /// The embedding by the built-in networks, if it was requested for this frame and the face can be embedded. It is
    /// computed without the mirror image, so it is comparable only with embeddings of films.
    pub embedding: Option<Embedding>,
    /// The texture. Faces with an embedding have one.
    pub texture: Option<Texture>,
}

/// How frames are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FilmRequest {
    /// Whether the first frame of the call becomes the new reference, from which points are followed.
    pub restart: bool,
    /// Bit i requests an embedding of frame i.
    pub embed: u64,
}

/// The frame before, as far as the next one needs it.
struct Before {
    grid: Grid,
    track: Option<Followed>,
}

/// A track with the frame that it belongs to.
struct Followed {
    track: Track,
    pyramid: Pyramid,
}

impl FaceEngine {
    /// Measures frames in their order. `before` is the last frame of the previous call with the track that it
    /// returned. Several calls give what one call with all their frames gives.
    ///
    /// Points are followed while exactly one face is in the frame, and frames have one size. Otherwise the track ends,
    /// and only a call with [`FilmRequest::restart`] begins another.
    ///
    /// # Errors
    /// Fails when a model does not run. Any pixels give measurements.
    pub fn film(
        &self,
        before: Option<(&Picture, &Track)>,
        frames: &[Picture],
        request: FilmRequest,
    ) -> Result<(Vec<FilmFrame>, Option<Track>), FaceError> {
        let mut before = before.map(|(picture, track)| {
            let grey = picture.luma();
            Before {
                grid: Grid::of(&grey),
                track: (track.is_plausible() && track.size() == (picture.width, picture.height)).then(|| {
                    Followed {
                        track: track.clone(),
                        pyramid: Pyramid::of(&grey),
                    }
                }),
            }
        });
        let mut measured = Vec::with_capacity(frames.len());
        for (number, picture) in frames.iter().enumerate() {
            let embeds =
                u32::try_from(number).is_ok_and(|bit| request.embed.checked_shr(bit).unwrap_or(0) & 1 == 1);
            let (frame, after) = self.film_frame(before, picture, request.restart && number == 0, embeds)?;
            measured.push(frame);
            before = Some(after);
        }
        let track = before.and_then(|last| last.track).map(|followed| followed.track);
        Ok((measured, track))
    }

    fn film_frame(
        &self,
        before: Option<Before>,
        picture: &Picture,
        restart: bool,
        embeds: bool,
    ) -> Result<(FilmFrame, Before), FaceError> {
        let size = (picture.width, picture.height);
        let grey = picture.luma();
        let grid = Grid::of(&grey);
        let change = before.as_ref().map(|before| grid.difference(&before.grid));
        let unchanged = before.as_ref().map(|before| grid.unchanged(&before.grid));
        let followed = before
            .and_then(|before| before.track)
            .filter(|followed| followed.track.size() == size);

        let place = followed.as_ref().map(|followed| followed.track.face());
        let searches = restart
            || followed
                .as_ref()
                .is_none_or(|followed| followed.track.must_search());
        let found = self.faces_of(picture, place, searches)?;
        let track = match (&found.main, followed) {
            (Some(mesh), followed)
                if found.count == 1 && (restart || (followed.is_some() && found.is_same)) =>
            {
                let pyramid = Pyramid::of(&grey);
                let track = match followed {
                    Some(followed) if !restart => followed.track.followed(&followed.pyramid, &pyramid, mesh),
                    _ => Track::start(size, mesh, &pyramid),
                };
                track.map(|track| Followed {
                    track: track.searched(found.was_searched),
                    pyramid,
                })
            }
            _ => None,
        };
        let face = match &found.main {
            // The quality matters where a selfie can be taken: before a face is followed.
            Some(mesh) => {
                Some(self.filmed_face(picture, mesh, track.as_ref(), embeds, restart || place.is_none())?)
            }
            None => None,
        };
        let frame = FilmFrame {
            width: size.0,
            height: size.1,
            faces: found.count,
            face,
            change,
            unchanged,
            background_rgb: colour::background(picture, found.main.as_ref().map(Mesh::bounds)),
        };
        Ok((frame, Before { grid, track }))
    }

    fn filmed_face(
        &self,
        picture: &Picture,
        mesh: &Mesh,
        followed: Option<&Followed>,
        embeds: bool,
        judges: bool,
    ) -> Result<FilmedFace, FaceError> {
        let chip = (embeds || judges).then(|| dlib_chip(picture, mesh)).flatten();
        let issues = chip
            .as_ref()
            .filter(|_| judges)
            .map(|chip| quality::issues(&measure(picture, mesh, chip), PictureKind::Selfie));
        let embedding = match &chip {
            Some(chip) if embeds => {
                let version = &self.built_in_version;
                embed(&self.models, version, picture, mesh, chip, Views::Plain)?
            }
            _ => None,
        };
        let texture = match (&embedding, &chip) {
            (Some(_), Some(chip)) => Some(Texture::of(chip)),
            _ => None,
        };
        let [left, top, right, bottom] = mesh.bounds();
        let middle = |low: f32, high: f32, length: u32| f32::midpoint(low, high) / length as f32;
        Ok(FilmedFace {
            pose: mesh.pose(),
            inter_eye_px: mesh.inter_eye(),
            centre: [
                middle(left, right, picture.width),
                middle(top, bottom, picture.height),
            ],
            part_inside: part_inside(mesh.bounds(), picture),
            tracked: followed.map(|followed| followed.track.share()),
            relief: followed.and_then(|followed| followed.track.relief()),
            face_rgb: colour::skin(picture, mesh),
            usable: issues
                .as_ref()
                .is_some_and(|issues| !issues.iter().any(|issue| issue.blocking)),
            issues: issues.unwrap_or_default(),
            embedding,
            texture,
        })
    }

    /// The faces of a frame. A followed face is looked for at `place`, where it was in the frame before. The detector
    /// searches the whole frame once, and a mesh confirms what it finds elsewhere. Without `searches` it does so only
    /// if the followed face is not there.
    fn faces_of(
        &self,
        picture: &Picture,
        place: Option<Place>,
        searches: bool,
    ) -> Result<FoundFaces, FaceError> {
        let same = match place {
            Some(place) => Some(Mesh::at(&self.models, picture, place)?)
                .filter(|mesh| mesh.face_probability >= MIN_FACE_PROBABILITY),
            None => None,
        };
        if !searches && same.is_some() {
            return Ok(FoundFaces {
                count: 1,
                main: same,
                is_same: true,
                was_searched: false,
            });
        }
        let search = Search::new(&self.models, picture);
        let mut detections = search.frame(0, 0.0)?;
        if detections.is_empty() && same.is_none() {
            detections = search.frame(0, WIDE_MARGIN)?;
        }
        let largest = detections
            .iter()
            .map(|detection| detection.side)
            .fold(0.0, f32::max);
        let largest = same
            .as_ref()
            .map_or(largest, |mesh| largest.max(mesh.side() * DETECTED_SIDE));
        detections.retain(|found| {
            found.side >= largest * BACKGROUND_SIDE * DETECTED_SIDE
                && same.as_ref().is_none_or(|mesh| !is_in(found, mesh.bounds()))
        });
        detections.sort_by(|a, b| b.side.total_cmp(&a.side));
        let mut meshes: Vec<Mesh> = Vec::new();
        for found in detections.iter().take(MAX_MESHES) {
            let mesh = Mesh::of(&self.models, picture, found)?;
            if mesh.face_probability >= MIN_FACE_PROBABILITY
                && !meshes
                    .iter()
                    .chain(&same)
                    .any(|other| other.covers(&mesh) || mesh.covers(other))
            {
                meshes.push(mesh);
            }
        }
        let mut sides: Vec<f32> = meshes.iter().chain(&same).map(Mesh::side).collect();
        sides.sort_by(|a, b| b.total_cmp(a));
        let largest = sides.first().copied().unwrap_or(0.0);
        let same = same.filter(|mesh| mesh.side() >= BACKGROUND_SIDE * largest);
        let is_same = same.is_some();
        let main = same.or_else(|| meshes.into_iter().max_by(|a, b| a.side().total_cmp(&b.side())));
        Ok(FoundFaces {
            count: u32::try_from(foreground(&sides)).unwrap_or(u32::MAX),
            main,
            is_same,
            was_searched: true,
        })
    }
}

struct FoundFaces {
    /// Significant faces.
    count: u32,
    /// The followed face, or else the largest.
    main: Option<Mesh>,
    /// Whether `main` is the followed face.
    is_same: bool,
    /// Whether the detector searched the frame.
    was_searched: bool,
}

/// Whether a detection's centre is in this box (left, top, right, bottom), which is slightly enlarged.
fn is_in(found: &Detection, [left, top, right, bottom]: [f32; 4]) -> bool {
    let (aside, above) = ((right - left) * SAME_FACE, (bottom - top) * SAME_FACE);
    (left - aside..right + aside).contains(&found.centre.x)
        && (top - above..bottom + above).contains(&found.centre.y)
}
