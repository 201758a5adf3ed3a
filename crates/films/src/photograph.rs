//! A frontal photograph of a person with its face's place and size: the colours of every renderer.

use faces::Face;
use imaging::{Picture, Point};

use crate::canvas::{Rgb, Texture};
use crate::geometry::{Rotation, Vector};

/// The photograph is reduced to at most this many pixels between the eyes.
const MAX_UNIT: f32 = 150.0;
/// A pose beyond this many degrees is measured badly, or isn't frontal.
const MAX_POSE: f32 = 20.0;
/// Parts that are farther back than this (eye distances) are not seen in a photograph. They have the colours of the
/// nearest part that is.
const SEEN_DEPTH: f32 = 0.35;
/// Fewer pixels between the eyes would give no face.
const MIN_UNIT: f32 = 4.0;

/// A person's photograph.
#[derive(Debug, Clone)]
pub struct Photograph {
    pub(crate) texture: Texture,
    /// The point between the eyes in pixels.
    eyes: [f32; 2],
    /// Pixels per eye distance.
    unit: f32,
    pose: Rotation,
    /// Direction from the eye on the left to the one on the right: cosine and sine.
    level: [f32; 2],
    /// Half the face's width, and its height above and below the eyes, in eye distances.
    pub(crate) half_width: f32,
    pub(crate) above: f32,
    pub(crate) below: f32,
    /// The mean colour of the cheeks.
    pub(crate) skin: Rgb,
}

impl Photograph {
    /// A photograph with the reading of its face. `None` if the face has no extent.
    pub fn new(picture: &Picture, face: &Face) -> Option<Self> {
        let (right, left) = (face.eyes.right, face.eyes.left);
        let (level, measured) = (right.distance(left), face.inter_eye_px);
        if !(level.is_finite() && level > MIN_UNIT && face.bounds.iter().all(|value| value.is_finite())) {
            return None;
        }
        let unit = if (level..level * 1.3).contains(&measured) {
            measured
        } else {
            level
        };
        let reduction = (unit / MAX_UNIT).max(1.0);
        let side = |length: u32| ((length as f32 / reduction).round() as u32).max(1);
        let reduced = picture.resized(side(picture.width), side(picture.height));
        let middle = Point::new(f32::midpoint(right.x, left.x), f32::midpoint(right.y, left.y));
        let [_, top, width, height] = face.bounds;
        let within = |degrees: f32| {
            if degrees.is_finite() {
                degrees.clamp(-MAX_POSE, MAX_POSE)
            } else {
                0.0
            }
        };
        let pose = faces::Pose {
            yaw: within(face.pose.yaw),
            pitch: within(face.pose.pitch),
            roll: (left.y - right.y).atan2(left.x - right.x).to_degrees(),
        };
        let mut photograph = Self {
            texture: Texture::of(&reduced),
            eyes: [middle.x / reduction, middle.y / reduction],
            unit: unit / reduction,
            pose: Rotation::of(pose),
            level: [(left.x - right.x) / level, (left.y - right.y) / level],
            half_width: (width / unit / 2.0).clamp(0.95, 1.25),
            above: ((middle.y - top) / unit).clamp(0.85, 1.35),
            below: ((top + height - middle.y) / unit).clamp(1.45, 1.95),
            skin: [0.5; 3],
        };
        photograph.skin = photograph.cheeks();
        Some(photograph)
    }

    /// The position in the photograph of a point of the head, in pixels.
    pub(crate) fn place(&self, point: Vector) -> [f32; 2] {
        let [x, y, _] = self.pose.apply([point[0], point[1], point[2].min(SEEN_DEPTH)]);
        [self.eyes[0] + self.unit * x, self.eyes[1] + self.unit * y]
    }

    /// The position in the photograph, in pixels, of a place on the photograph as a flat sheet with the eyes level, in
    /// eye distances.
    pub(crate) fn flat_place(&self, [x, y]: [f32; 2]) -> [f32; 2] {
        let [cos, sin] = self.level;
        [
            self.eyes[0] + self.unit * (x * cos - y * sin),
            self.eyes[1] + self.unit * (x * sin + y * cos),
        ]
    }

    /// The photograph's edges around the point between the eyes, in eye distances: left, top, right, bottom.
    pub(crate) fn edges(&self) -> [f32; 4] {
        [
            -self.eyes[0] / self.unit,
            -self.eyes[1] / self.unit,
            (self.texture.width as f32 - self.eyes[0]) / self.unit,
            (self.texture.height as f32 - self.eyes[1]) / self.unit,
        ]
    }

    /// The same person with the photograph's colours changed, pixel by pixel. `change` gets the place in eye distances
    /// from the point between the eyes.
    pub(crate) fn changed(&self, change: impl Fn([f32; 2], Rgb) -> Rgb) -> Self {
        let mut changed = self.clone();
        let width = changed.texture.width;
        for (at, pixel) in changed.texture.pixels.iter_mut().enumerate() {
            let (x, y) = ((at % width) as f32, (at / width) as f32);
            *pixel = change(
                [(x - self.eyes[0]) / self.unit, (y - self.eyes[1]) / self.unit],
                *pixel,
            );
        }
        changed
    }

    /// The same photograph with fewer pixels: about `unit` between the eyes.
    pub(crate) fn coarser(&self, unit: f32) -> Self {
        let factor = (self.unit / unit).max(1.0);
        let (width, height) = (
            ((self.texture.width as f32 / factor) as usize).max(1),
            ((self.texture.height as f32 / factor) as usize).max(1),
        );
        let reach = factor.ceil() as usize;
        let mut pixels = Vec::with_capacity(width * height);
        for y in 0..height {
            for x in 0..width {
                let (left, top) = ((x as f32 * factor) as usize, (y as f32 * factor) as usize);
                let (mut sum, mut count) = ([0.0; 3], 0.0);
                for row in top..(top + reach).min(self.texture.height) {
                    for pixel in &self.texture.pixels[row * self.texture.width..]
                        [left..(left + reach).min(self.texture.width)]
                    {
                        sum = std::array::from_fn(|i| sum[i] + pixel[i]);
                        count += 1.0;
                    }
                }
                pixels.push(sum.map(|value| value / f32::max(count, 1.0)));
            }
        }
        Self {
            texture: Texture {
                width,
                height,
                pixels,
            },
            eyes: self.eyes.map(|value| value / factor),
            unit: self.unit / factor,
            ..self.clone()
        }
    }

    fn cheeks(&self) -> Rgb {
        let mut sum = [0.0; 3];
        let places = [-0.5, -0.4, 0.4, 0.5]
            .into_iter()
            .flat_map(|x| [0.5, 0.6, 0.7].map(|y| [x, y, 0.0]));
        for place in places {
            let [x, y] = self.place(place);
            let colour = self.texture.bilinear(x, y);
            sum = std::array::from_fn(|i| sum[i] + colour[i] / 12.0);
        }
        sum
    }
}
