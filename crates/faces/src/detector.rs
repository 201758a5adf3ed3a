//! BlazeFace, which finds candidates for faces. The input is windows onto the picture. The output is boxes
//! with a score and an angle, in pixels of the picture, with overlapping boxes merged.
//!
//! This module never confirms a face; the mesh does.

use std::f32::consts::FRAC_PI_2;

use imaging::{Picture, Point};
use inference::{Input, ModelName, Models};

use crate::error::FaceError;
use crate::restore::restored;
use crate::window::Window;

/// The detector's input side in pixels.
const SIZE: u32 = 256;
/// Numbers per anchor: score, box centre and size, and six points (x, y).
const ROW: usize = 17;
/// The anchor grids: cells along a side, and anchors per cell.
const GRIDS: [(usize, usize); 2] = [(16, 2), (8, 6)];
/// The number of rows in the model's output.
const ANCHORS: usize = 16 * 16 * 2 + 8 * 8 * 6;
/// Boxes whose intersection exceeds this share of their union are one face.
const SAME_BY_UNION: f32 = 0.3;
/// A box with more than this share inside a better one is the same face, because tiles cut faces at their
/// edges.
const SAME_BY_INSIDE: f32 = 0.6;

/// The score from which a box may be a face. Dogs and printed patterns score up to 0.59.
pub(crate) const MIN_SCORE: f32 = 0.65;
/// The smallest face that the detector finds, as a share of the window's side: 20 of 256 pixels.
pub(crate) const MIN_DETECTABLE_SIDE: f32 = 0.08;
/// Larger pictures are searched in a copy reduced to this longer side. Three tiles per side then suffice for
/// the smallest face that is significant.
const SEARCH_SIDE: u32 = 1280;

/// A candidate for a face, in picture pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Detection {
    /// The centre of the box, which extends from the brows to the chin.
    pub(crate) centre: Point,
    /// The box's longer side.
    pub(crate) side: f32,
    /// The face's rotation in the picture, in radians clockwise, calculated from the eyes.
    pub(crate) angle: f32,
    /// 0–1.
    pub(crate) score: f32,
}

/// A square of the detector's input that shows a window onto the searched copy.
struct Pane {
    left: f32,
    top: f32,
    size: f32,
    window: Window,
}

impl Pane {
    /// The whole input.
    fn whole(window: Window) -> Self {
        Self {
            left: 0.0,
            top: 0.0,
            size: SIZE as f32,
            window,
        }
    }

    fn contains(&self, point: Point) -> bool {
        (self.left..self.left + self.size).contains(&point.x)
            && (self.top..self.top + self.size).contains(&point.y)
    }

    /// Maps a point of the input to the searched copy.
    fn apply(&self, point: Point) -> Point {
        self.window
            .apply(Point::new(point.x - self.left, point.y - self.top))
    }
}

/// A picture prepared for detection. It is reduced once for all windows.
pub(crate) struct Search<'a> {
    models: &'a Models,
    small: Picture,
    /// All of `small` in one upright window.
    overview: Picture,
    /// Picture pixels per pixel of `small`.
    scale: f32,
    /// Whether each window's contrast is restored before it is searched; see [`Search::restored`].
    restores: bool,
}

impl<'a> Search<'a> {
    pub(crate) fn new(models: &'a Models, picture: &Picture) -> Self {
        let longest = picture.width.max(picture.height);
        let scale = (longest as f32 / SEARCH_SIDE as f32).max(1.0);
        let reduced = |length: u32| (length as f32 / scale).round() as u32;
        let small = picture.resized(reduced(picture.width), reduced(picture.height));
        Self {
            models,
            overview: whole(&small, 0, 0.0, SIZE).cut(&small),
            small,
            scale,
            restores: false,
        }
    }

    /// The same search with the contrast of each window restored. It finds faded portraits on bright cards.
    pub(crate) fn restored(mut self) -> Self {
        self.restores = true;
        self
    }

    /// Detects faces in the whole picture, turned clockwise by `quarter_turns`. `margin` is the window's
    /// extra width as a share of the picture's longer side. A face that fills the picture is only detected
    /// with space around it.
    pub(crate) fn frame(&self, quarter_turns: u32, margin: f32) -> Result<Vec<Detection>, FaceError> {
        let window = whole(&self.small, quarter_turns, margin, SIZE);
        if margin > 0.0 {
            return self.detect_in_window(window);
        }
        self.detect(self.overview.rotated(quarter_turns), &[Pane::whole(window)])
    }

    /// Detects faces in four views of the whole picture at half the size of [`Search::frame`], which are joined into one
    /// input: turned clockwise by one, two and three quarters, and upright with the margin `margin`.
    pub(crate) fn other_frames(&self, margin: f32) -> Result<Vec<Detection>, FaceError> {
        let half = SIZE / 2;
        let turnable = self.overview.resized(half, half);
        let inner = (half as f32 / (1.0 + margin)).round() as u32;
        let mut wide = Picture::filled(half, half, [0; 3]);
        let border = (half - inner) / 2;
        paste(&mut wide, &self.overview.resized(inner, inner), (border, border));
        let views = [
            (turnable.rotated(1), 1, 0.0),
            (turnable.rotated(2), 2, 0.0),
            (turnable.rotated(3), 3, 0.0),
            (wide, 0, margin),
        ];
        let mut joined = Picture::filled(SIZE, SIZE, [0; 3]);
        let places = [(0, 0), (half, 0), (0, half), (half, half)];
        let panes = views.iter().zip(places).map(|((view, turns, margin), place)| {
            paste(&mut joined, view, place);
            Pane {
                left: place.0 as f32,
                top: place.1 as f32,
                size: half as f32,
                window: whole(&self.small, *turns, *margin, half),
            }
        });
        let panes: Vec<Pane> = panes.collect();
        self.detect(joined, &panes)
    }

    /// The longer side of the picture in its pixels.
    pub(crate) fn longer_side(&self) -> f32 {
        self.small.width.max(self.small.height) as f32 * self.scale
    }

    /// The shorter side of the picture in its pixels.
    pub(crate) fn shorter_side(&self) -> f32 {
        self.small.width.min(self.small.height) as f32 * self.scale
    }

    /// Detects faces in square tiles with sides of `fraction` of the shorter side, which overlap by at least
    /// a third.
    pub(crate) fn tiles(&self, quarter_turns: u32, fraction: f32) -> Result<Vec<Detection>, FaceError> {
        let (width, height) = (self.small.width as f32, self.small.height as f32);
        let side = width.min(height) * fraction;
        let mut found = Vec::new();
        for y in tile_centres(height, side) {
            for x in tile_centres(width, side) {
                found.extend(self.detect_in_window(Window::square(
                    Point::new(x, y),
                    side,
                    turned(quarter_turns),
                    SIZE,
                ))?);
            }
        }
        Ok(found)
    }

    fn detect_in_window(&self, window: Window) -> Result<Vec<Detection>, FaceError> {
        self.detect(window.cut(&self.small), &[Pane::whole(window)])
    }

    /// Runs the detector on an input that consists of `panes`.
    fn detect(&self, view: Picture, panes: &[Pane]) -> Result<Vec<Detection>, FaceError> {
        let view = if self.restores { restored(&view) } else { view };
        let data: Vec<f32> = view
            .pixels
            .iter()
            .map(|&value| f32::from(value) / 127.5 - 1.0)
            .collect();
        let shape = [1, SIZE as usize, SIZE as usize, 3];
        let answer = self.models.run(
            ModelName::FaceDetector,
            Input {
                shape: &shape,
                data: &data,
            },
        )?;
        let rows = answer
            .first()
            .map(|tensor| tensor.data.as_slice())
            .unwrap_or_default();
        if rows.len() != ANCHORS * ROW {
            return Err(FaceError::UnexpectedAnswer(ModelName::FaceDetector.as_str()));
        }
        let mut found = suppress_duplicates(decode(rows, panes));
        for detection in &mut found {
            detection.centre = Point::new(detection.centre.x * self.scale, detection.centre.y * self.scale);
            detection.side *= self.scale;
        }
        Ok(found)
    }
}

/// The square window onto all of a picture, with an extra width of `margin` of its longer side.
fn whole(picture: &Picture, quarter_turns: u32, margin: f32, size: u32) -> Window {
    let (width, height) = (picture.width as f32, picture.height as f32);
    Window::square(
        Point::new(width / 2.0, height / 2.0),
        width.max(height) * (1.0 + margin),
        turned(quarter_turns),
        size,
    )
}

/// Copies `part`, which fits there, onto a picture.
fn paste(onto: &mut Picture, part: &Picture, (left, top): (u32, u32)) {
    let stride = onto.width as usize * 3;
    let rows = onto.pixels.chunks_exact_mut(stride).skip(top as usize);
    for (row, y) in rows.zip(0..part.height) {
        let source = part.row(y);
        row[left as usize * 3..][..source.len()].copy_from_slice(source);
    }
}

/// The window angle, in radians, at which the picture appears turned clockwise by `quarter_turns`.
fn turned(quarter_turns: u32) -> f32 {
    -FRAC_PI_2 * (quarter_turns % 4) as f32
}

/// The centres of tiles of `side` along `length`, evenly spread from edge to edge.
fn tile_centres(length: f32, side: f32) -> Vec<f32> {
    let step = side * 2.0 / 3.0;
    let count = ((length - side) / step).ceil().clamp(0.0, 8.0) as usize + 1;
    let room = (length - side).max(0.0);
    let at = |i: usize| {
        if count == 1 {
            length / 2.0
        } else {
            side / 2.0 + room * i as f32 / (count - 1) as f32
        }
    };
    (0..count).map(at).collect()
}

/// The anchors' centres in the model's order, in pixels of its input.
fn anchors() -> impl Iterator<Item = Point> {
    GRIDS.into_iter().flat_map(|(cells, per_cell)| {
        let stride = SIZE as f32 / cells as f32;
        (0..cells * cells * per_cell).map(move |i| {
            let cell = i / per_cell;
            Point::new(
                stride * ((cell % cells) as f32 + 0.5),
                stride * ((cell / cells) as f32 + 0.5),
            )
        })
    })
}

/// Decodes the rows with sufficient scores into boxes in pixels of the searched copy. A box belongs to the pane that
/// contains its centre.
fn decode(rows: &[f32], panes: &[Pane]) -> Vec<Detection> {
    let boxes = rows.chunks_exact(ROW).zip(anchors()).filter_map(|(row, anchor)| {
        let score = 1.0 / (1.0 + (-row[0]).exp());
        if score < MIN_SCORE || row.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let point = |at: usize| Point::new(row[at] + anchor.x, row[at + 1] + anchor.y);
        let side = row[3].max(row[4]);
        let inside = |value: f32| value.clamp(0.0, SIZE as f32 - 1.0);
        let centre = point(1);
        let centre = Point::new(inside(centre.x), inside(centre.y));
        let pane = panes.iter().find(|pane| pane.contains(centre))?;
        let (right_eye, left_eye) = (pane.apply(point(5)), pane.apply(point(7)));
        let angle = (left_eye.y - right_eye.y).atan2(left_eye.x - right_eye.x);
        (side > 1.0).then(|| Detection {
            centre: pane.apply(point(1)),
            side: side * pane.window.scale(),
            angle,
            score,
        })
    });
    boxes.collect()
}

/// Non-maximum suppression: of several detections of one face, the best remains.
pub(crate) fn suppress_duplicates(mut detections: Vec<Detection>) -> Vec<Detection> {
    detections.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut kept: Vec<Detection> = Vec::new();
    for detection in detections {
        if !kept.iter().any(|better| same_face(better, &detection)) {
            kept.push(detection);
        }
    }
    kept
}

fn same_face(a: &Detection, b: &Detection) -> bool {
    let overlap = |a_middle: f32, b_middle: f32| {
        let low = (a_middle - a.side / 2.0).max(b_middle - b.side / 2.0);
        let high = (a_middle + a.side / 2.0).min(b_middle + b.side / 2.0);
        (high - low).max(0.0)
    };
    let shared = overlap(a.centre.x, b.centre.x) * overlap(a.centre.y, b.centre.y);
    let (area_a, area_b) = (a.side * a.side, b.side * b.side);
    shared > SAME_BY_UNION * (area_a + area_b - shared) || shared > SAME_BY_INSIDE * area_a.min(area_b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f32, y: f32, side: f32, score: f32) -> Detection {
        Detection {
            centre: Point::new(x, y),
            side,
            angle: 0.0,
            score,
        }
    }

    #[test]
    fn anchors_follow_the_models_grids() {
        let all: Vec<Point> = anchors().collect();
        assert_eq!(all.len(), ANCHORS);
        let cases = [
            (0, 8.0, 8.0),
            (1, 8.0, 8.0),
            (2, 24.0, 8.0),
            (511, 248.0, 248.0),
            (512, 16.0, 16.0),
            (895, 240.0, 240.0),
        ];
        for (i, x, y) in cases {
            assert_eq!(all[i], Point::new(x, y), "anchor {i}");
        }
    }

    #[test]
    fn a_row_is_decoded_relative_to_its_anchor_and_window() {
        let mut rows = vec![0.0; ANCHORS * ROW];
        rows.chunks_exact_mut(ROW).for_each(|row| row[0] = -9.0);
        // Anchor 2 is at (24, 8). Its box has side 40 around (30, 12), with the eyes level.
        rows[2 * ROW..2 * ROW + 9].copy_from_slice(&[4.0, 6.0, 4.0, 40.0, 38.0, 0.0, 0.0, 12.0, 0.0]);
        rows[9 * ROW] = f32::NAN;
        rows[10 * ROW..10 * ROW + 4].copy_from_slice(&[9.0, f32::INFINITY, 0.0, 40.0]);
        let window = Window::square(Point::new(256.0, 256.0), 512.0, 0.0, SIZE);
        let found = decode(&rows, &[Pane::whole(window)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].centre.distance(Point::new(60.0, 24.0)) < 1e-3);
        assert!((found[0].side - 80.0).abs() < 1e-3 && found[0].angle.abs() < 1e-5 && found[0].score > 0.98);
    }

    #[test]
    fn a_box_belongs_to_the_pane_of_its_centre() {
        let mut rows = vec![0.0; ANCHORS * ROW];
        rows.chunks_exact_mut(ROW).for_each(|row| row[0] = -9.0);
        // Anchor 2 · 18 is at (40, 24) of the left pane, and anchor 2 · 26 at (168, 24), (40, 24) of the right one.
        for cell in [18, 26] {
            rows[2 * cell * ROW..2 * cell * ROW + 5].copy_from_slice(&[4.0, 0.0, 0.0, 30.0, 30.0]);
        }
        let half = SIZE / 2;
        let window = |turns| Window::square(Point::new(50.0, 50.0), 100.0, turned(turns), half);
        let panes = [(0.0, 0), (half as f32, 1)].map(|(left, turns)| Pane {
            left,
            top: 0.0,
            size: half as f32,
            window: window(turns),
        });
        let found = decode(&rows, &panes);
        let centres = [0, 1].map(|turns| window(turns).apply(Point::new(40.0, 24.0)));
        assert_eq!(found.len(), 2);
        for (face, centre) in found.iter().zip(centres) {
            assert!(face.centre.distance(centre) < 1e-3 && (face.side - 30.0 / 1.28).abs() < 1e-3);
        }
    }

    #[test]
    fn one_face_seen_several_times_is_kept_once() {
        let face = at(100.0, 100.0, 60.0, 0.9);
        let others = [
            at(104.0, 97.0, 64.0, 0.8),
            at(110.0, 90.0, 25.0, 0.99),
            at(300.0, 100.0, 60.0, 0.7),
        ];
        let kept = suppress_duplicates([vec![face], others.to_vec()].concat());
        assert_eq!(kept, [others[1], others[2]]);
    }

    #[test]
    fn tiles_cover_everything_and_overlap() {
        for (length, side) in [(100.0, 100.0), (100.0, 60.0), (1280.0, 360.0), (50.0, 80.0)] {
            let centres = tile_centres(length, side);
            assert!(
                centres[0] - side / 2.0 <= 0.0 && centres[centres.len() - 1] + side / 2.0 >= length - 1e-3
            );
            assert!(centres.windows(2).all(|pair| pair[1] - pair[0] <= side * 0.67));
        }
        assert!(tile_centres(1e9, 1.0).len() <= 9);
    }
}
