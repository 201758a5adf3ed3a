//! FaceMesh: 468 points of a face, and the outline, eyes and pose calculated from them. The model runs twice:
//! the eyes and the centre from the first run set the window of the second. This module never measures colour
//! or sharpness.
//!
//! Points are in picture pixels, and z has the same unit, smaller towards the camera. Indices are
//! MediaPipe's.

use imaging::{Picture, Point};
use inference::{Input, ModelName, Models};
use serde::{Deserialize, Serialize};

use crate::detector::Detection;
use crate::error::FaceError;
use crate::window::Window;

/// The mesh's input side in pixels.
const SIZE: u32 = 192;
const POINTS: usize = 468;
/// The window's side as a multiple of the face's, as in the model's training.
const MARGIN: f32 = 1.5;

/// The probability from which the mesh confirms a face.
pub(crate) const MIN_FACE_PROBABILITY: f32 = 0.5;

/// Outer and inner corner of the person's right eye (on the left in a picture that is not mirrored).
const RIGHT_EYE: [usize; 2] = [33, 133];
/// Outer and inner corner of the person's left eye.
const LEFT_EYE: [usize; 2] = [263, 362];
/// Upper and lower lid of each eye, two pairs each: right, left.
const LIDS: [[[usize; 2]; 2]; 2] = [[[160, 144], [158, 153]], [[385, 380], [387, 373]]];
const FOREHEAD: usize = 10;
const CHIN: usize = 152;
/// The points of dlib's template: left eye outer and inner corner, right eye outer and inner corner, base of the
/// nose.
const DLIB_POINTS: [usize; 5] = [263, 362, 33, 133, 2];
const NOSE_TIP: usize = 1;
/// Right and left corner of the mouth.
const MOUTH: [usize; 2] = [61, 291];

/// The orientation of the head, in degrees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// To the side: positive when the nose points to the picture's right.
    pub yaw: f32,
    /// Up and down: positive when the nose points down.
    pub pitch: f32,
    /// In the picture's plane: positive when tilted clockwise for the viewer.
    pub roll: f32,
}

/// Where a face is: a square around it, upright by the eyes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// In picture pixels.
    pub(crate) centre: Point,
    /// Picture pixels along a side.
    pub(crate) side: f32,
    /// In radians, clockwise for the viewer.
    pub(crate) angle: f32,
}

/// The points of one face.
#[derive(Clone)]
pub(crate) struct Mesh {
    points: Vec<[f32; 3]>,
    /// The model's probability that the window contains a face.
    pub(crate) face_probability: f32,
}

impl Mesh {
    /// Computes the mesh of a detected face.
    pub(crate) fn of(models: &Models, picture: &Picture, found: &Detection) -> Result<Self, FaceError> {
        let rough = Window::square(found.centre, found.side * MARGIN, found.angle, SIZE);
        let first = Self::run_in_window(models, picture, &rough)?;
        match first.place() {
            Some(refined) if first.face_probability >= MIN_FACE_PROBABILITY / 2.0 => {
                Self::at(models, picture, refined)
            }
            _ => Ok(first),
        }
    }

    /// Computes the mesh of a face whose place is known, with one run of the model.
    pub(crate) fn at(models: &Models, picture: &Picture, place: Place) -> Result<Self, FaceError> {
        let window = Window::square(place.centre, place.side, place.angle, SIZE);
        Self::run_in_window(models, picture, &window)
    }

    fn run_in_window(models: &Models, picture: &Picture, window: &Window) -> Result<Self, FaceError> {
        let view = window.cut(picture);
        let data: Vec<f32> = view
            .pixels
            .iter()
            .map(|&value| f32::from(value) / 255.0)
            .collect();
        let shape = [1, SIZE as usize, SIZE as usize, 3];
        let answers = models.run(
            ModelName::FaceMesh,
            Input {
                shape: &shape,
                data: &data,
            },
        )?;
        let unexpected = || FaceError::UnexpectedAnswer(ModelName::FaceMesh.as_str());
        let of_length = |length: usize| answers.iter().find(|answer| answer.data.len() == length);
        let raw = of_length(POINTS * 3).ok_or_else(unexpected)?;
        let flag = of_length(1).ok_or_else(unexpected)?.data[0];
        let scale = window.scale();
        let point = |p: &[f32]| {
            let at = window.apply(Point::new(p[0], p[1]));
            [at.x, at.y, p[2] * scale]
        };
        let points: Vec<[f32; 3]> = raw.data.chunks_exact(3).map(point).collect();
        let finite = points.iter().flatten().all(|value| value.is_finite());
        // With a probability of zero the face is not confirmed, so the points are never used.
        Ok(Self {
            points,
            face_probability: if finite && flag.is_finite() { flag } else { 0.0 },
        })
    }

    /// Where the next run of the model looks for this face: upright by the eyes, centred on the points.
    pub(crate) fn place(&self) -> Option<Place> {
        let angle = self.roll();
        let (sin, cos) = angle.sin_cos();
        let turned = |p: &[f32; 3]| (p[0] * cos + p[1] * sin, p[1] * cos - p[0] * sin);
        let [left, top, right, bottom] = bounds(self.points.iter().map(turned));
        let side = (right - left).max(bottom - top) * MARGIN;
        let (x, y) = ((left + right) / 2.0, (top + bottom) / 2.0);
        let centre = Point::new(x * cos - y * sin, y * cos + x * sin);
        (side.is_finite() && side > 1.0).then_some(Place { centre, side, angle })
    }

    /// The side of a square with the area of the face's box, in pixels.
    pub(crate) fn side(&self) -> f32 {
        let [left, top, right, bottom] = self.bounds();
        ((right - left) * (bottom - top)).max(0.0).sqrt()
    }

    /// Whether a face that is no larger than this one is the same face, or a part of it mistaken for a face.
    /// That is so if the point between its eyes is inside this face's box.
    pub(crate) fn covers(&self, smaller: &Self) -> bool {
        let [left, top, right, bottom] = self.bounds();
        let [a, b] = smaller.eyes();
        let (x, y) = ((a.x + b.x) / 2.0, (a.y + b.y) / 2.0);
        (left..right).contains(&x) && (top..bottom).contains(&y)
    }

    pub(crate) fn point(&self, index: usize) -> Point {
        let [x, y, _] = self.points[index];
        Point::new(x, y)
    }

    /// The face's outline as left, top, right, bottom.
    pub(crate) fn bounds(&self) -> [f32; 4] {
        bounds(self.points.iter().map(|p| (p[0], p[1])))
    }

    /// The centres of the person's right and left eye.
    pub(crate) fn eyes(&self) -> [Point; 2] {
        [RIGHT_EYE, LEFT_EYE].map(|[outer, inner]| {
            let (a, b) = (self.point(outer), self.point(inner));
            Point::new((a.x + b.x) / 2.0, (a.y + b.y) / 2.0)
        })
    }

    /// The distance between the eyes' centres in space: the distance in pixels if the head faced the camera.
    pub(crate) fn inter_eye(&self) -> f32 {
        let middle = |[outer, inner]: [usize; 2]| scaled(added(self.points[outer], self.points[inner]), 0.5);
        length(subtracted(middle(LEFT_EYE), middle(RIGHT_EYE)))
    }

    /// The five points for dlib's chip, in the order of its template.
    pub(crate) fn dlib_points(&self) -> [Point; 5] {
        DLIB_POINTS.map(|index| self.point(index))
    }

    /// The five points for SFace's chip, in the order of its template.
    pub(crate) fn sface_points(&self) -> [Point; 5] {
        let ([right, left], [mouth_right, mouth_left]) = (self.eyes(), MOUTH.map(|index| self.point(index)));
        [right, left, self.point(NOSE_TIP), mouth_right, mouth_left]
    }

    /// The openness of each eye: lid distance over eye width, right then left. About 0.3 is open, below 0.12
    /// closed.
    pub(crate) fn eye_openness(&self) -> [f32; 2] {
        let eye = |corners: [usize; 2], lids: [[usize; 2]; 2]| {
            let across = |[a, b]: [usize; 2]| length(subtracted(self.points[a], self.points[b]));
            (across(lids[0]) + across(lids[1])) / (2.0 * across(corners)).max(1e-3)
        };
        [eye(RIGHT_EYE, LIDS[0]), eye(LEFT_EYE, LIDS[1])]
    }

    fn roll(&self) -> f32 {
        let (right, left) = (self.point(RIGHT_EYE[0]), self.point(LEFT_EYE[0]));
        (left.y - right.y).atan2(left.x - right.x)
    }

    /// The head's pose, calculated from the eye line and the line from forehead to chin.
    pub(crate) fn pose(&self) -> Pose {
        let roll = self.roll();
        let (sin, cos) = roll.sin_cos();
        let upright = |[x, y, z]: [f32; 3]| [x * cos + y * sin, y * cos - x * sin, z];
        let across = upright(subtracted(self.points[LEFT_EYE[0]], self.points[RIGHT_EYE[0]]));
        let down = upright(subtracted(self.points[CHIN], self.points[FOREHEAD]));
        // The side of the eye line that is opposite the nose's direction is farther from the camera.
        let yaw = across[2].atan2(across[0]);
        let pitch = down[2].atan2(down[1].hypot(down[0]));
        Pose {
            yaw: yaw.to_degrees(),
            pitch: pitch.to_degrees(),
            roll: roll.to_degrees(),
        }
    }
}

fn bounds(points: impl Iterator<Item = (f32, f32)>) -> [f32; 4] {
    let none = [f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
    points.fold(none, |[l, t, r, b], (x, y)| {
        [l.min(x), t.min(y), r.max(x), b.max(y)]
    })
}

fn added(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn subtracted(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn scaled(a: [f32; 3], by: f32) -> [f32; 3] {
    a.map(|value| value * by)
}

fn length(a: [f32; 3]) -> f32 {
    a.iter().map(|value| value * value).sum::<f32>().sqrt()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A mesh with only the points that the geometry uses. It is a frontal face with 100 px between the eyes'
    /// centres, turned about the vertical axis and then rolled.
    pub(crate) fn synthetic(yaw: f32, roll: f32, openness: f32) -> Mesh {
        let mut points = vec![[0.0; 3]; POINTS];
        let mut set = |index: usize, x: f32, y: f32| {
            let (sin, cos) = yaw.to_radians().sin_cos();
            let (x3, z3) = (x * cos, x * sin);
            let (rs, rc) = roll.to_radians().sin_cos();
            points[index] = [300.0 + x3 * rc - y * rs, 300.0 + x3 * rs + y * rc, z3];
        };
        set(RIGHT_EYE[0], -70.0, 0.0);
        set(RIGHT_EYE[1], -30.0, 0.0);
        set(LEFT_EYE[0], 70.0, 0.0);
        set(LEFT_EYE[1], 30.0, 0.0);
        for (eye, x) in [(0, -50.0), (1, 50.0)] {
            for (pair, dx) in [(0, -8.0), (1, 8.0)] {
                set(LIDS[eye][pair][0], x + dx, -20.0 * openness);
                set(LIDS[eye][pair][1], x + dx, 20.0 * openness);
            }
        }
        set(FOREHEAD, 0.0, -90.0);
        set(CHIN, 0.0, 150.0);
        set(2, 0.0, 60.0);
        let rest = [300.0, 300.0, 0.0];
        points
            .iter_mut()
            .filter(|p| **p == [0.0; 3])
            .for_each(|p| *p = rest);
        Mesh {
            points,
            face_probability: 1.0,
        }
    }

    #[test]
    fn pose_is_measured_from_the_points() {
        for (yaw, roll) in [
            (0.0, 0.0),
            (25.0, 0.0),
            (-40.0, 0.0),
            (0.0, 30.0),
            (15.0, -120.0),
            (10.0, 170.0),
        ] {
            let pose = synthetic(yaw, roll, 0.3).pose();
            assert!((pose.yaw - yaw).abs() < 0.5, "{pose:?} for yaw {yaw}");
            assert!((pose.roll - roll).abs() < 0.5, "{pose:?} for roll {roll}");
            assert!(pose.pitch.abs() < 0.5);
        }
    }

    #[test]
    fn the_distance_between_the_eyes_does_not_shrink_when_the_head_turns() {
        for yaw in [0.0, 30.0, -50.0] {
            assert!((synthetic(yaw, 12.0, 0.3).inter_eye() - 100.0).abs() < 0.1);
        }
    }

    #[test]
    fn eyes_open_and_close() {
        for openness in [0.05, 0.3] {
            for measured in synthetic(20.0, 30.0, openness).eye_openness() {
                assert!((measured - openness).abs() < 0.02, "{measured} for {openness}");
            }
        }
    }

    #[test]
    fn the_second_window_is_upright_and_around_the_face() {
        let mesh = synthetic(0.0, 30.0, 0.3);
        let place = mesh.place().expect("a face with an extent");
        assert!((place.angle.to_degrees() - 30.0).abs() < 0.1);
        assert!(place.side > 170.0 * MARGIN);
    }
}
