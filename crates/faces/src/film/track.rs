//! What is followed from frame to frame: points that were placed on a face in the reference frame.
//!
//! The face's mesh decides only where points are placed, and which of them are on the nose. Where they are later is
//! measured by their grey values alone, because a mesh shows relief on any picture of a face.

use imaging::Point;
use serde::{Deserialize, Serialize};

use super::corners::Corners;
use super::flow::{MIN_TEXTURE, Pyramid};
use super::relief::{Moved, Part, Relief, relief};
use crate::mesh::{Mesh, Place};

/// The most points of a track.
const MAX_POINTS: usize = 120;
/// Fewer points are no track.
const MIN_POINTS: usize = 24;
/// How far a point may be moved to a place with more texture, in eye distances.
const SEARCH: f32 = 0.06;
/// Steps of that search on each side.
const SEARCH_STEPS: i32 = 2;
/// The least distance of two points, in eye distances.
const APART: f32 = 0.045;
/// One frame in this many is searched for other faces.
const SEARCHED_EVERY: u8 = 4;
/// The largest coordinate of a plausible track, in pixels. Frames are smaller.
const MAX_COORDINATE: f32 = 100_000.0;

/// Points of the mesh on the tip of the nose: its front, and its underside with the nostrils' edges.
const TIP: [usize; 26] = [
    1, 4, 19, 94, 44, 274, 45, 275, 125, 354, 5, 51, 281, 237, 457, 220, 440, 134, 363, 141, 370, 241, 461,
    195, 218, 438,
];
/// Points on the rest of the nose: its bridge and its sides, which are left out of the fit.
const NOSE: [usize; 12] = [6, 197, 196, 419, 3, 248, 131, 360, 48, 278, 115, 344];
/// Points everywhere else, from the brows outwards. The outline is left out: it is another part of the head after a
/// turn.
const FACE: [usize; 118] = [
    // Eyes and brows.
    33, 263, 133, 362, 70, 300, 105, 334, 107, 336, 46, 276, 55, 285, 52, 282, 63, 293, 66, 296, 65, 295, 53,
    283, 130, 359, 243, 463, 226, 446, 190, 414, 110, 339, 27, 257, 23, 253, // Mouth and chin.
    61, 291, 0, 17, 37, 267, 84, 314, 40, 270, 91, 321, 57, 287, 164, 18, 199, 200, 175, 83, 313, 182, 406,
    194, 418, 204, 424, 32, 262, 208, 428, 167, 393, 165, 391, 92, 322, // Cheeks.
    50, 280, 205, 425, 36, 266, 101, 330, 187, 411, 117, 346, 118, 347, 119, 348, 203, 423, 206, 426, 207,
    427, 216, 436, 212, 432, 123, 352, 147, 376, 214, 434, // Forehead.
    9, 8, 151, 108, 337, 69, 299, 104, 333, 67, 297,
];
/// The most points on the nose, its tip included; the rest is for the face.
const MAX_NOSE: usize = 36;

/// What is followed from frame to frame. It belongs to the frame that it was returned with, and is at most 3,000
/// bytes of postcard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Track {
    /// The size of the frames, in pixels.
    size: (u32, u32),
    /// Where the face is in the last frame.
    face: Place,
    /// The distance of the eyes in the reference, in pixels of space.
    eyes: f32,
    /// Frames since the detector last searched a whole frame, which it does every fourth time.
    #[serde(default)]
    unsearched: u8,
    /// For servers of versions before `unsearched`: whether the last frame was searched.
    #[serde(default)]
    searched: bool,
    /// Points that were placed in the reference.
    placed: u32,
    /// Points that are still followed.
    points: Vec<Moved>,
}

impl Track {
    /// Whether the next frame is to be searched for other faces.
    pub(super) fn must_search(&self) -> bool {
        self.unsearched + 1 >= SEARCHED_EVERY
    }

    /// The track, with whether the detector searched its frame.
    pub(super) fn searched(self, searched: bool) -> Self {
        let unsearched = if searched {
            0
        } else {
            self.unsearched.saturating_add(1)
        };
        Self {
            unsearched,
            searched,
            ..self
        }
    }

    /// Whether every number is one that [`crate::FaceEngine::film`] can have returned.
    pub fn is_plausible(&self) -> bool {
        let is_near = |value: f32| value.abs() <= MAX_COORDINATE;
        let Place { centre, side, angle } = self.face;
        self.unsearched < SEARCHED_EVERY
            && (self.points.len()..=MAX_POINTS).contains(&(self.placed as usize))
            && self.placed as usize >= MIN_POINTS
            && [centre.x, centre.y, side, angle, self.eyes]
                .into_iter()
                .all(is_near)
            && side > 0.0
            && self.eyes > 0.0
            && self
                .points
                .iter()
                .flat_map(|point| [point.from.x, point.from.y, point.to.x, point.to.y])
                .all(is_near)
    }

    /// Places points on a face. `None` if it has too little texture.
    pub(super) fn start(size: (u32, u32), mesh: &Mesh, pyramid: &Pyramid) -> Option<Self> {
        let (face, eyes) = (mesh.place()?, mesh.inter_eye());
        let [left, top, right, bottom] = mesh.bounds();
        let space = eyes * SEARCH;
        let mut places = Places {
            corners: pyramid.corners([left - space, top - space, right + space, bottom + space])?,
            scale: pyramid.scale(),
            eyes,
            points: Vec::new(),
        };
        places.add(mesh, &TIP, Part::Tip, MAX_NOSE);
        places.add(mesh, &NOSE, Part::Nose, MAX_NOSE);
        places.add(mesh, &FACE, Part::Face, MAX_POINTS);
        let points = places.points;
        let track = Self {
            size,
            face,
            eyes,
            unsearched: 0,
            searched: true,
            placed: u32::try_from(points.len()).unwrap_or(u32::MAX),
            points,
        };
        track.is_plausible().then_some(track)
    }

    /// Follows the points to the next frame, where the face is that `mesh` shows. `None` if the face has no extent.
    pub(super) fn followed(mut self, before: &Pyramid, now: &Pyramid, mesh: &Mesh) -> Option<Self> {
        self.face = mesh.place()?;
        self.points.retain_mut(|point| {
            let found = before.follow(now, point.to);
            point.to = found.unwrap_or(point.to);
            found.is_some()
        });
        self.is_plausible().then_some(self)
    }

    /// Width and height of the frames, in pixels.
    pub fn size(&self) -> (u32, u32) {
        self.size
    }

    pub(super) fn face(&self) -> Place {
        self.face
    }

    /// The share of the placed points that are still followed.
    pub(super) fn share(&self) -> f32 {
        self.points.len() as f32 / self.placed as f32
    }

    pub(super) fn relief(&self) -> Option<Relief> {
        relief(&self.points, self.eyes)
    }
}

/// Points that are being placed.
struct Places {
    corners: Corners,
    /// Picture pixels per pixel of the corners.
    scale: f32,
    /// The distance of the eyes, in pixels.
    eyes: f32,
    points: Vec<Moved>,
}

impl Places {
    /// Adds a point near each of the mesh's, until there are `most` altogether.
    fn add(&mut self, mesh: &Mesh, indices: &[usize], part: Part, most: usize) {
        for &index in indices {
            if self.points.len() >= most {
                return;
            }
            if let Some(from) = self.best_near(mesh.point(index)) {
                self.points.push(Moved { from, to: from, part });
            }
        }
    }

    /// The place with the most texture near a point, and not near a point that is placed already.
    fn best_near(&self, middle: Point) -> Option<Point> {
        let step = self.eyes * SEARCH / SEARCH_STEPS as f32;
        let apart = (self.eyes * APART).max(2.0 * self.scale);
        let steps = || -SEARCH_STEPS..=SEARCH_STEPS;
        let places = steps().flat_map(|x| steps().map(move |y| (x as f32 * step, y as f32 * step)));
        places
            .map(|(x, y)| Point::new(middle.x + x, middle.y + y))
            .filter_map(|place| {
                let (at, texture) = self
                    .corners
                    .near(Point::new(place.x / self.scale, place.y / self.scale))?;
                Some((Point::new(at.x * self.scale, at.y * self.scale), texture))
            })
            .filter(|(place, _)| {
                self.points
                    .iter()
                    .all(|point| point.from.distance(*place) >= apart)
            })
            .filter(|(_, texture)| *texture >= MIN_TEXTURE)
            .max_by(|(_, a), (_, b)| a.total_cmp(b))
            .map(|(place, _)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(points: usize) -> Track {
        let point = Moved {
            from: Point::new(479.9, 853.9),
            to: Point::new(479.9, 853.9),
            part: Part::Tip,
        };
        Track {
            size: (u32::MAX, u32::MAX),
            face: Place {
                centre: Point::new(240.0, 400.0),
                side: 300.0,
                angle: -0.1,
            },
            eyes: 90.0,
            unsearched: 0,
            searched: true,
            placed: MAX_POINTS as u32,
            points: vec![point; points],
        }
    }

    #[test]
    fn the_largest_track_takes_less_than_3000_bytes_and_is_read_as_written() {
        let largest = track(MAX_POINTS);
        let bytes = postcard::to_stdvec(&largest).expect("serialises");
        assert!(bytes.len() <= 3_000, "{}", bytes.len());
        assert_eq!(postcard::from_bytes::<Track>(&bytes).expect("parses"), largest);
    }

    #[test]
    fn a_track_of_an_earlier_version_is_read() {
        let mut json = serde_json::to_value(track(30)).expect("serialises");
        json.as_object_mut()
            .expect("an object")
            .remove("unsearched")
            .expect("a member");
        let read: Track = serde_json::from_value(json).expect("parses");
        assert_eq!(read, track(30));
    }

    #[test]
    fn numbers_that_no_frame_gives_are_noticed() {
        assert!(track(MAX_POINTS).is_plausible() && track(0).is_plausible());
        let faults: [fn(&mut Track); 8] = [
            |track| track.unsearched = SEARCHED_EVERY,
            |track| track.points.push(track.points[0]),
            |track| track.placed = 3,
            |track| track.placed = u32::MAX,
            |track| track.eyes = f32::NAN,
            |track| track.face.side = -1.0,
            |track| track.face.centre.x = 1e30,
            |track| track.points[7].to.y = f32::INFINITY,
        ];
        for (number, fault) in faults.into_iter().enumerate() {
            let mut changed = track(MAX_POINTS);
            fault(&mut changed);
            assert!(!changed.is_plausible(), "fault {number}");
        }
    }

    #[test]
    fn landmarks_are_used_once() {
        let mut all: Vec<usize> = [&TIP[..], &NOSE, &FACE].concat();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
