//! The face engine: the order in which a picture is searched, and the data that is collected about each face.

use std::sync::Arc;

use imaging::Picture;
use inference::own::{ModelKind, OwnModel};
use inference::{ModelError, ModelName, Models};

use crate::align::dlib_chip;
use crate::detector::{Detection, MIN_DETECTABLE_SIDE, Search, suppress_duplicates};
use crate::embedder::{Views, embed};
use crate::embedding::{Embedding, joint_version};
use crate::error::FaceError;
use crate::kind::PictureKind;
use crate::mesh::{MIN_FACE_PROBABILITY, Mesh};
use crate::own_embedder::{self, EMBEDDER_RECIPE};
use crate::own_input::{failed, golden_photograph, suitable};
use crate::pad_model::{self, PAD_RECIPE, PadScore};
use crate::passive_cue::{self, PassiveCue};
use crate::quality::{self, FaceMeasurements, Light};
use crate::reading::{Eyes, Face, FaceReading};
use crate::significance::{BACKGROUND_SIDE, FaceCandidate, foreground, is_ghost};
use crate::texture::Texture;

/// At most this many detections are confirmed by a mesh, so that a crowd does not take seconds.
const MAX_MESHES: usize = 64;
/// At most this many faces are embedded.
const MAX_EMBEDDED: usize = 16;
/// Space around the picture, as a share of its side, when it is searched for a face that fills it.
pub(crate) const WIDE_MARGIN: f32 = 0.6;
/// Further margins if no face was found, for tiny pictures that a face fills.
const WIDER_MARGINS: [f32; 2] = [1.2, 2.0];
/// A letter that changes whenever faces are cut out or their views are averaged in another way. It is no hexadecimal
/// digit, by which this format is told from an earlier one.
const RECIPE: char = 'r';
/// A face with at least this score is plain to see.
const PLAIN_SCORE: f32 = 0.8;
/// The least side of a plain face in a selfie, as a share of the picture's longer side. The smallest face that is
/// significant beside it is then found in the same window.
const PLAIN_SIDE_SELFIE: f32 = MIN_DETECTABLE_SIDE / BACKGROUND_SIDE;
/// The least side of a plain face in a document, as the same share.
const PLAIN_SIDE_DOCUMENT: f32 = 0.1;
/// Sides of tiles as shares of the picture's shorter side.
const TILES: [f32; 2] = [0.7, 0.45];

/// The face engine. Clones are cheap, and threads can share it.
#[derive(Debug, Clone)]
pub struct FaceEngine {
    pub(crate) models: Arc<Models>,
    /// The version of the built-in networks.
    pub(crate) built_in_version: String,
    /// See [`FaceEngine::embedding_version`].
    version: String,
}

impl FaceEngine {
    /// Creates an engine from opened models.
    pub fn new(models: Arc<Models>) -> Self {
        let built_in_version = built_in_version(&models);
        let version = match models.embedder() {
            Some(model) => joint_version(&built_in_version, &own_embedder::version(model)),
            None => built_in_version.clone(),
        };
        Self {
            models,
            built_in_version,
            version,
        }
    }

    /// The version of the embeddings of pictures: it names the weights of both networks and the way of cutting out
    /// faces and, after a plus sign, the custom embedder in use. Numbers of different versions are never compared.
    /// Embeddings of films come from the built-in networks alone.
    pub fn embedding_version(&self) -> &str {
        &self.version
    }

    /// Finds the faces of a picture. A picture without a face gives a reading without faces, not an error.
    ///
    /// # Errors
    /// Fails when a model does not run.
    pub fn analyse(&self, picture: &Picture, kind: PictureKind) -> Result<FaceReading, FaceError> {
        let (faces, _) = self.faces(picture, kind, MAX_EMBEDDED)?;
        Ok(FaceReading { faces })
    }

    /// Finds the faces of a picture as [`Self::analyse`] does, and embeds none.
    ///
    /// # Errors
    /// Fails when a model does not run.
    pub fn find_only(&self, picture: &Picture, kind: PictureKind) -> Result<FaceReading, FaceError> {
        let (faces, _) = self.faces(picture, kind, 0)?;
        Ok(FaceReading { faces })
    }

    /// The faces of a picture, of which the largest `embedded` are embedded, and where each was found.
    fn faces(
        &self,
        picture: &Picture,
        kind: PictureKind,
        embedded: usize,
    ) -> Result<(Vec<Face>, Vec<ConfirmedFace>), FaceError> {
        let found = self.find(picture, kind)?;
        let sides: Vec<f32> = found.iter().map(|found| found.mesh.side()).collect();
        let in_foreground = foreground(&sides);

        let mut faces = Vec::with_capacity(found.len());
        for (place, found) in found.iter().enumerate() {
            faces.push(self.face(picture, kind, found, place < in_foreground, place < embedded)?);
        }
        if kind == PictureKind::Document {
            let seen: Vec<FaceCandidate<'_>> = faces
                .iter()
                .zip(&sides)
                .map(|(face, &side)| FaceCandidate {
                    side,
                    embedding: face.embedding.as_ref(),
                })
                .collect();
            let ghosts: Vec<bool> = (0..faces.len()).map(|place| is_ghost(&seen, place)).collect();
            for (face, ghost) in faces.iter_mut().zip(ghosts) {
                face.significant &= !ghost;
            }
        }
        Ok((faces, found))
    }

    /// Whether the picture's main face looks like a picture of a picture, also according to the custom model in use.
    ///
    /// # Errors
    /// Fails if the custom model does not run, or has no valid calibration.
    pub fn passive_cue(&self, picture: &Picture, reading: &FaceReading) -> Result<PassiveCue, FaceError> {
        let cue = passive_cue::check(picture, reading);
        let Some((model, face)) = self.models.pad().zip(suitable(reading)) else {
            return Ok(cue);
        };
        let calibration = model.calibration(PAD_RECIPE).map_err(ModelError::Own)?;
        Ok(cue.with_model(PadScore {
            model: model.declaration().name.clone(),
            version: model.version().to_owned(),
            score: pad_model::score(model, picture, face)?,
            attack_below: calibration.attack_below,
        }))
    }

    /// The score of a custom model for its calibration, so the model need not be in use. `None` without one significant
    /// face of good quality.
    ///
    /// # Errors
    /// Fails if the model does not run.
    pub fn pad_score(
        &self,
        model: &OwnModel,
        picture: &Picture,
        reading: &FaceReading,
    ) -> Result<Option<f32>, FaceError> {
        suitable(reading)
            .map(|face| pad_model::score(model, picture, face))
            .transpose()
    }

    /// The numbers of a custom embedder (scaled to length 1) for its calibration, so the embedder need not be in use,
    /// and the embedding of the built-in networks. `None` without one significant face of good quality.
    ///
    /// # Errors
    /// Fails if a model does not run.
    pub fn own_direction(
        &self,
        model: &OwnModel,
        picture: &Picture,
    ) -> Result<Option<(Vec<f32>, Embedding)>, FaceError> {
        let (faces, found) = self.faces(picture, PictureKind::Selfie, MAX_EMBEDDED)?;
        let reading = FaceReading { faces };
        let Some(face) = suitable(&reading) else {
            return Ok(None);
        };
        let place = reading.faces.iter().position(|other| std::ptr::eq(other, face));
        let mesh = place.and_then(|place| found.get(place)).map(|found| &found.mesh);
        let Some((mesh, embedding)) = mesh.zip(face.embedding.clone()) else {
            return Ok(None);
        };
        let direction = own_embedder::direction(model, picture, mesh)?;
        Ok(direction.map(|direction| (direction, embedding)))
    }

    /// Runs the golden tests of a custom model.
    ///
    /// # Errors
    /// Fails if it does not run, or gives a picture a result other than declared.
    pub fn check_golden(&self, model: &OwnModel) -> Result<(), FaceError> {
        let find = |picture: &Picture| self.analyse(picture, PictureKind::Selfie);
        match model.declaration().kind() {
            ModelKind::Pad => pad_model::check_golden(model, find),
            ModelKind::Embedder => own_embedder::check_golden(model, |name| {
                let (picture, _) = golden_photograph(model, name, find)?;
                let found = self.own_direction(model, &picture)?;
                let (direction, _) = found.ok_or_else(|| {
                    failed(model, format!("golden picture `{name}`: it cannot be embedded"))
                })?;
                Ok(direction)
            }),
        }
    }

    /// Checks that the custom models in use may decide: their calibrations are valid, and their golden tests pass.
    ///
    /// # Errors
    /// Fails if one may not decide.
    pub fn check_own_models(&self) -> Result<(), FaceError> {
        if let Some(model) = self.models.pad() {
            model.calibration(PAD_RECIPE).map_err(ModelError::Own)?;
        }
        if let Some(model) = self.models.embedder() {
            model
                .embedder_calibration(EMBEDDER_RECIPE)
                .map_err(ModelError::Own)?;
        }
        self.models.own().try_for_each(|model| self.check_golden(model))
    }

    /// Finds the faces of a picture, each once, largest first. A face that is plain to see shortens the search. If the
    /// mesh confirms no face of a short search, the whole search follows.
    fn find(&self, picture: &Picture, kind: PictureKind) -> Result<Vec<ConfirmedFace>, FaceError> {
        let search = Search::new(&self.models, picture);
        let found = search.frame(0, 0.0)?;
        let share = match kind {
            PictureKind::Selfie => PLAIN_SIDE_SELFIE,
            PictureKind::Document => PLAIN_SIDE_DOCUMENT,
        };
        let least = share * search.longer_side();
        if found.iter().any(|face| is_plain(face, least)) {
            let confirmed = self.confirmed(picture, beside_plain_face(&search, kind, found.clone())?)?;
            if !confirmed.is_empty() {
                return Ok(confirmed);
            }
        }
        self.confirmed(picture, everywhere(search, kind, found)?)
    }

    /// The detections that the mesh confirms, each face once, largest first.
    fn confirmed(
        &self,
        picture: &Picture,
        detections: Vec<Detection>,
    ) -> Result<Vec<ConfirmedFace>, FaceError> {
        let mut confirmed = Vec::new();
        for detection in detections.into_iter().take(MAX_MESHES) {
            let mesh = Mesh::of(&self.models, picture, &detection)?;
            if mesh.face_probability >= MIN_FACE_PROBABILITY {
                confirmed.push(ConfirmedFace { detection, mesh });
            }
        }
        confirmed.sort_by(|a, b| b.mesh.side().total_cmp(&a.mesh.side()));
        let mut distinct: Vec<ConfirmedFace> = Vec::new();
        for found in confirmed {
            if !distinct.iter().any(|larger| larger.mesh.covers(&found.mesh)) {
                distinct.push(found);
            }
        }
        Ok(distinct)
    }

    /// The embedding of a face with its chip for dlib's network, including that of the custom embedder in use. `None`
    /// if the points of its mesh coincide.
    fn embedding(
        &self,
        picture: &Picture,
        mesh: &Mesh,
        chip: &Picture,
    ) -> Result<Option<Embedding>, FaceError> {
        let embedding = embed(
            &self.models,
            &self.built_in_version,
            picture,
            mesh,
            chip,
            Views::Mirrored,
        )?;
        match (embedding, self.models.embedder()) {
            (Some(embedding), Some(model)) => own_embedder::with_own(model, picture, mesh, embedding),
            (embedding, _) => Ok(embedding),
        }
    }

    fn face(
        &self,
        picture: &Picture,
        kind: PictureKind,
        found: &ConfirmedFace,
        significant: bool,
        embedded: bool,
    ) -> Result<Face, FaceError> {
        let mesh = &found.mesh;
        let [left, top, right, bottom] = mesh.bounds();
        let chip = dlib_chip(picture, mesh);
        let embedding = match &chip {
            Some(chip) if significant && embedded => self.embedding(picture, mesh, chip)?,
            _ => None,
        };
        let texture = match (&embedding, &chip) {
            (Some(_), Some(chip)) => Some(Texture::of(chip)),
            _ => None,
        };
        let measured = chip.map(|chip| measure(picture, mesh, &chip));
        let [right_eye, left_eye] = mesh.eyes();
        Ok(Face {
            bounds: [left, top, right - left, bottom - top],
            score: found.detection.score,
            significant,
            eyes: Eyes {
                right: right_eye,
                left: left_eye,
            },
            pose: mesh.pose(),
            inter_eye_px: mesh.inter_eye(),
            quality: measured
                .map(|measured| quality::issues(&measured, kind))
                .unwrap_or_default(),
            embedding,
            texture,
        })
    }
}

/// Six digits of SFace's weights, five of dlib's, and the recipe. The mesh's weights are not in it.
fn built_in_version(models: &Models) -> String {
    let (sface, dlib) = (
        models.version(ModelName::SfaceEmbedding),
        models.version(ModelName::DlibEmbedding),
    );
    format!("{sface:.6}{dlib:.5}{RECIPE}")
}

/// A confirmed face.
struct ConfirmedFace {
    detection: Detection,
    mesh: Mesh,
}

/// Whether a face in the upright picture, with a side of at least `least` pixels, leaves no doubt that the picture is
/// upright and that no face fills it.
fn is_plain(face: &Detection, least: f32) -> bool {
    face.score >= PLAIN_SCORE && face.side >= least && quarter_turns(face.angle) == 0
}

/// The candidates for faces in a picture with a plain face. The search covers only faces that can be significant beside
/// it. A document is also searched for turned faces, at half the size, because a second person's face may have another
/// orientation than the portrait; a turned face below 0.16 of the picture's longer side is not found.
fn beside_plain_face(
    search: &Search<'_>,
    kind: PictureKind,
    mut found: Vec<Detection>,
) -> Result<Vec<Detection>, FaceError> {
    if kind == PictureKind::Document {
        found.extend(search.other_frames(WIDE_MARGIN)?);
    }
    // The largest tiles that suffice for the smallest significant face.
    let sufficient = BACKGROUND_SIDE * largest_side(&found) / MIN_DETECTABLE_SIDE;
    if sufficient < search.longer_side() {
        let fraction = sufficient / search.shorter_side();
        found.extend(search.tiles(0, fraction.clamp(TILES[1], 1.0))?);
    }
    Ok(suppress_duplicates(found))
}

/// Finds candidates for faces in all windows that can show one. The picture is searched upright, first as it is, which
/// gave `found`, and then with a margin for a face that fills it. Further windows depend on the kind of picture and on
/// the faces found.
fn everywhere(
    search: Search<'_>,
    kind: PictureKind,
    mut found: Vec<Detection>,
) -> Result<Vec<Detection>, FaceError> {
    found.extend(search.frame(0, WIDE_MARGIN)?);
    if kind == PictureKind::Document || found.is_empty() {
        for turn in 1..4 {
            found.extend(search.frame(turn, 0.0)?);
        }
    }
    // Smaller tiles are searched until no significant face can be too small to detect.
    let counts = BACKGROUND_SIDE * largest_side(&found);
    // A document has one orientation, which the best face found gives.
    let best = found.iter().max_by(|a, b| a.score.total_cmp(&b.score));
    let turn = best.map_or(0, |face| quarter_turns(face.angle));
    let mut seen = search.longer_side();
    for fraction in TILES {
        if counts >= MIN_DETECTABLE_SIDE * seen {
            break;
        }
        found.extend(search.tiles(turn, fraction)?);
        seen = fraction * search.shorter_side();
    }
    if found.is_empty() {
        for margin in WIDER_MARGINS {
            found.extend(search.frame(0, margin)?);
        }
    }
    if found.is_empty() && kind == PictureKind::Document {
        let search = search.restored();
        for turn in 0..4 {
            found.extend(search.tiles(turn, TILES[0])?);
        }
    }
    Ok(suppress_duplicates(found))
}

fn largest_side(found: &[Detection]) -> f32 {
    found.iter().map(|detection| detection.side).fold(0.0, f32::max)
}

/// The number of clockwise quarter turns that bring a face with this angle nearest to upright.
fn quarter_turns(angle: f32) -> u32 {
    let turns = (-angle / std::f32::consts::FRAC_PI_2).round() as i32;
    turns.rem_euclid(4) as u32
}

/// What decides a face's quality. `chip` is dlib's.
pub(crate) fn measure(picture: &Picture, mesh: &Mesh, chip: &Picture) -> FaceMeasurements {
    FaceMeasurements {
        inter_eye: mesh.inter_eye(),
        pose: mesh.pose(),
        eye_openness: mesh.eye_openness().into_iter().fold(0.0, f32::max),
        inside: part_inside(mesh.bounds(), picture),
        light: Light::of(&chip.luma()),
    }
}

/// The share of a box (left, top, right, bottom) that is inside the picture.
pub(crate) fn part_inside([left, top, right, bottom]: [f32; 4], picture: &Picture) -> f32 {
    let width = right.min(picture.width as f32) - left.max(0.0);
    let height = bottom.min(picture.height as f32) - top.max(0.0);
    let area = (right - left) * (bottom - top);
    if area > 0.0 {
        width.max(0.0) * height.max(0.0) / area
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turned_face_tells_how_to_turn_the_picture() {
        for (degrees, turns) in [
            (0.0, 0),
            (20.0, 0),
            (-20.0, 0),
            (-90.0, 1),
            (80.0, 3),
            (180.0, 2),
            (-179.0, 2),
        ] {
            assert_eq!(quarter_turns(f32::to_radians(degrees)), turns, "{degrees}");
        }
    }

    #[test]
    fn the_part_inside_is_a_part_of_the_area() {
        let picture = Picture::filled(100, 50, [0; 3]);
        let cases = [
            ([10.0, 10.0, 30.0, 30.0], 1.0),
            ([-10.0, 0.0, 10.0, 10.0], 0.5),
            ([200.0, 0.0, 300.0, 9.0], 0.0),
        ];
        for (bounds, part) in cases {
            assert_eq!(part_inside(bounds, &picture), part);
        }
    }
}
