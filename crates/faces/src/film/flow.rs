//! Follows points from one picture to the next by their grey values (pyramidal Lucas–Kanade), and drops a point
//! whose way back does not end where it began.
//!
//! This module knows nothing of faces. It never reports a point that it could not find again.

use imaging::{Luma, Picture, Point};

/// Levels of a pyramid; each has half the side of the one before.
const LEVELS: usize = 3;
/// Pixels on each side of a point in its window.
const RADIUS: usize = 7;
const SIDE: usize = 2 * RADIUS + 1;
/// A window with one more pixel on each side, from which gradients are computed.
const WIDE: usize = SIDE + 2;
/// Larger pictures are reduced so that neither side exceeds this many pixels: a window then covers the same part
/// of a face, and a frame costs the same time.
const LONGEST: u32 = 640;
/// Steps per level.
const STEPS: usize = 12;
/// A step of less than this many pixels is the last one.
const SMALL_STEP: f32 = 0.02;
/// The farthest from its beginning that a point may return, in pixels of the pyramid.
const MAX_RETURN_ERROR: f32 = 0.5;
/// The farthest that a point may be moved in one level, in pixels of that level.
const MAX_MOVE: f32 = 12.0;
/// The least mean square of the grey level's slope in the direction in which it changes least. A window with less
/// has no texture to follow.
pub(super) const MIN_TEXTURE: f32 = 0.6;
/// The least correlation of a window with what it is found as.
const MIN_CORRELATION: f32 = 0.5;
/// The limits of a change of contrast from one picture to the next.
const GAIN: (f32, f32) = (0.5, 2.0);

/// A picture in grey at several scales.
pub(super) struct Pyramid {
    levels: Vec<Level>,
    /// Picture pixels per pixel of the first level.
    scale: f32,
}

struct Level {
    width: usize,
    height: usize,
    values: Vec<f32>,
}

impl Pyramid {
    pub(super) fn of(picture: &Picture) -> Self {
        let longest = picture.width.max(picture.height);
        let scale = (longest as f32 / LONGEST as f32).max(1.0);
        let grey = picture.luma();
        let grey = if scale > 1.0 {
            let reduced = |length: u32| (length as f32 / scale).round() as u32;
            grey.resized(reduced(grey.width), reduced(grey.height))
        } else {
            grey
        };
        let mut levels = vec![Level::of(&grey).smoothed()];
        for _ in 1..LEVELS {
            let half = levels.last().and_then(Level::halved);
            levels.extend(half.map(|half| half.smoothed()));
        }
        Self { levels, scale }
    }

    /// How well a window around `at` (picture pixels) can be followed; see [`MIN_TEXTURE`].
    pub(super) fn texture(&self, at: Point) -> f32 {
        let at = Point::new(at.x / self.scale, at.y / self.scale);
        let level = &self.levels[0];
        if level.contains(at) {
            Template::of(level, at).texture()
        } else {
            0.0
        }
    }

    /// Picture pixels per pixel in which a window is measured.
    pub(super) fn scale(&self) -> f32 {
        self.scale
    }

    /// Where the point `from` (picture pixels) of this picture is in the next one, which must have the same size.
    /// `None` if it is not found, or not found back.
    pub(super) fn follow(&self, next: &Self, from: Point) -> Option<Point> {
        let start = Point::new(from.x / self.scale, from.y / self.scale);
        let to = search(self, next, start)?;
        let back = search(next, self, to)?;
        (back.distance(start) <= MAX_RETURN_ERROR).then(|| Point::new(to.x * self.scale, to.y * self.scale))
    }
}

/// Finds a point of `before` in `now`, from coarse to fine.
fn search(before: &Pyramid, now: &Pyramid, start: Point) -> Option<Point> {
    let finest = before.levels.first()?;
    if !finest.contains(start) {
        return None;
    }
    // The move so far, in pixels of the current level.
    let mut shift = Point::default();
    let levels = before.levels.iter().zip(&now.levels).enumerate().rev();
    for (number, (level, next)) in levels {
        if (level.width, level.height) != (next.width, next.height) {
            return None;
        }
        let by = (1 << number) as f32;
        let at = Point::new(start.x / by, start.y / by);
        let template = Template::of(level, at);
        match template.find(next, at, shift) {
            Found::At(found, correlation) => {
                shift = found;
                if number == 0 && correlation < MIN_CORRELATION {
                    return None;
                }
            }
            // A coarse level without texture leaves the search to the next one.
            Found::NoTexture if number > 0 => {}
            Found::NoTexture | Found::Lost => return None,
        }
        if number > 0 {
            shift = Point::new(shift.x * 2.0, shift.y * 2.0);
        }
    }
    let found = Point::new(start.x + shift.x, start.y + shift.y);
    finest.contains(found).then_some(found)
}

enum Found {
    /// Moved by this much, with this correlation.
    At(Point, f32),
    NoTexture,
    Lost,
}

/// A window with its mean, and its gradients.
struct Template {
    values: [f32; SIDE * SIDE],
    across: [f32; SIDE * SIDE],
    down: [f32; SIDE * SIDE],
    deviation: f32,
    /// Sums of products of gradients: across², across·down, down².
    sums: [f32; 3],
}

impl Template {
    fn of(level: &Level, at: Point) -> Self {
        let mut wide = [0.0; WIDE * WIDE];
        level.sample(at, WIDE, &mut wide);
        let mut template = Self {
            values: [0.0; SIDE * SIDE],
            across: [0.0; SIDE * SIDE],
            down: [0.0; SIDE * SIDE],
            deviation: 0.0,
            sums: [0.0; 3],
        };
        for y in 0..SIDE {
            for x in 0..SIDE {
                let (i, w) = (y * SIDE + x, (y + 1) * WIDE + x + 1);
                template.values[i] = wide[w];
                template.across[i] = (wide[w + 1] - wide[w - 1]) / 2.0;
                template.down[i] = (wide[w + WIDE] - wide[w - WIDE]) / 2.0;
            }
        }
        // Light that rises or falls everywhere moves nothing: values and gradients count from their means.
        template.deviation = centred(&mut template.values);
        centred(&mut template.across);
        centred(&mut template.down);
        for (gx, gy) in template.across.iter().zip(&template.down) {
            template.sums[0] += gx * gx;
            template.sums[1] += gx * gy;
            template.sums[2] += gy * gy;
        }
        template
    }

    /// The smaller eigenvalue of the mean products of gradients.
    fn texture(&self) -> f32 {
        let [a, b, c] = self.sums.map(|sum| sum / (SIDE * SIDE) as f32);
        f32::midpoint(a, c) - ((a - c) / 2.0).hypot(b)
    }

    fn find(&self, next: &Level, at: Point, shift: Point) -> Found {
        let [a, b, c] = self.sums;
        let determinant = a * c - b * b;
        if self.texture() < MIN_TEXTURE || determinant <= 0.0 {
            return Found::NoTexture;
        }
        let mut moved = shift;
        let mut window = [0.0; SIDE * SIDE];
        let mut correlation = 0.0;
        for _ in 0..STEPS {
            let place = Point::new(at.x + moved.x, at.y + moved.y);
            if !next.contains(place) {
                return Found::Lost;
            }
            next.sample(place, SIDE, &mut window);
            let deviation = centred(&mut window);
            let gain = (self.deviation / deviation.max(1e-3)).clamp(GAIN.0, GAIN.1);
            let (mut right, mut below, mut product) = (0.0, 0.0, 0.0);
            let gradients = self.across.iter().zip(&self.down);
            for ((value, own), (gx, gy)) in window.iter().zip(&self.values).zip(gradients) {
                let difference = own - value * gain;
                right += difference * gx;
                below += difference * gy;
                product += own * value;
            }
            correlation = product / ((SIDE * SIDE) as f32 * self.deviation * deviation).max(1e-3);
            let step = Point::new(
                (c * right - b * below) / determinant,
                (a * below - b * right) / determinant,
            );
            moved = Point::new(moved.x + step.x, moved.y + step.y);
            let far = moved.distance(shift);
            if far.is_nan() || far > MAX_MOVE {
                return Found::Lost;
            }
            if step.x.hypot(step.y) < SMALL_STEP {
                break;
            }
        }
        Found::At(moved, correlation)
    }
}

/// Subtracts the mean, and returns the standard deviation.
fn centred(values: &mut [f32; SIDE * SIDE]) -> f32 {
    let count = values.len() as f32;
    let mean = values.iter().sum::<f32>() / count;
    let mut squares = 0.0;
    for value in values.iter_mut() {
        *value -= mean;
        squares += *value * *value;
    }
    (squares / count).sqrt()
}

impl Level {
    fn of(grey: &Luma) -> Self {
        Self {
            width: grey.width as usize,
            height: grey.height as usize,
            values: grey.pixels.iter().map(|&value| f32::from(value)).collect(),
        }
    }

    fn contains(&self, at: Point) -> bool {
        (0.0..self.width as f32).contains(&at.x) && (0.0..self.height as f32).contains(&at.y)
    }

    /// Weighted means with the neighbours, 1:2:1 in both directions.
    fn smoothed(&self) -> Self {
        let (width, height) = (self.width, self.height);
        let mut rows = vec![0.0; self.values.len()];
        for (source, target) in self.values.chunks_exact(width).zip(rows.chunks_exact_mut(width)) {
            for x in 0..width {
                let (left, right) = (source[x.saturating_sub(1)], source[(x + 1).min(width - 1)]);
                target[x] = (left + 2.0 * source[x] + right) / 4.0;
            }
        }
        let mut values = vec![0.0; rows.len()];
        let row = |y: usize| &rows[y * width..][..width];
        for (y, target) in values.chunks_exact_mut(width).enumerate() {
            let (above, own, below) = (row(y.saturating_sub(1)), row(y), row((y + 1).min(height - 1)));
            for (x, value) in target.iter_mut().enumerate() {
                *value = (above[x] + 2.0 * own[x] + below[x]) / 4.0;
            }
        }
        Self {
            width,
            height,
            values,
        }
    }

    /// Means of 2 × 2 pixels; `None` if nothing would be left.
    fn halved(&self) -> Option<Self> {
        let (width, height) = (self.width / 2, self.height / 2);
        if width == 0 || height == 0 {
            return None;
        }
        let mut values = Vec::with_capacity(width * height);
        for y in 0..height {
            let upper = &self.values[2 * y * self.width..][..self.width];
            let lower = &self.values[(2 * y + 1) * self.width..][..self.width];
            let pairs = upper.chunks_exact(2).zip(lower.chunks_exact(2));
            values.extend(pairs.take(width).map(|(a, b)| (a[0] + a[1] + b[0] + b[1]) / 4.0));
        }
        Some(Self {
            width,
            height,
            values,
        })
    }

    /// Samples `side` × `side` values around `at`, one pixel apart. Beyond the edge, the edge's values repeat.
    fn sample(&self, at: Point, side: usize, values: &mut [f32]) {
        let half = side as f32 / 2.0;
        let (x, y) = (at.x - half, at.y - half);
        let (left, top) = (x.floor(), y.floor());
        let (fx, fy) = (x - left, y - top);
        let (left, top) = (left as isize, top as isize);
        let weights = [(1.0 - fx) * (1.0 - fy), fx * (1.0 - fy), (1.0 - fx) * fy, fx * fy];
        let inside =
            left >= 0 && top >= 0 && left as usize + side < self.width && top as usize + side < self.height;
        let row = |y: isize| y.clamp(0, self.height as isize - 1) as usize * self.width;
        for (y, target) in (top..).zip(values.chunks_exact_mut(side)) {
            let (upper, lower) = (row(y), row(y + 1));
            if inside {
                let upper = &self.values[upper + left as usize..][..side + 1];
                let lower = &self.values[lower + left as usize..][..side + 1];
                for (x, value) in target.iter_mut().enumerate() {
                    *value = upper[x] * weights[0]
                        + upper[x + 1] * weights[1]
                        + lower[x] * weights[2]
                        + lower[x + 1] * weights[3];
                }
            } else {
                let column = |x: isize| x.clamp(0, self.width as isize - 1) as usize;
                for (x, value) in (left..).zip(target.iter_mut()) {
                    let (near, far) = (column(x), column(x + 1));
                    *value = self.values[upper + near] * weights[0]
                        + self.values[upper + far] * weights[1]
                        + self.values[lower + near] * weights[2]
                        + self.values[lower + far] * weights[3];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::film::pictures::textured;

    #[test]
    fn points_follow_a_picture_that_moves_by_parts_of_a_pixel() {
        for (dx, dy) in [(0.0, 0.0), (0.4, -0.3), (3.3, 2.6), (-9.5, 7.2), (18.0, -14.0)] {
            let before = Pyramid::of(&textured(200, 160, |x, y| (x, y)));
            let now = Pyramid::of(&textured(200, 160, |x, y| (x - dx, y - dy)));
            let mut followed = 0;
            for (x, y) in [
                (60.0, 60.0),
                (100.0, 80.0),
                (140.0, 90.0),
                (83.0, 104.0),
                (120.0, 60.0),
            ] {
                let Some(at) = before.follow(&now, Point::new(x, y)) else {
                    continue;
                };
                let error = at.distance(Point::new(x + dx, y + dy));
                assert!(error < 0.2, "{error} px for a move by {dx}, {dy}");
                followed += 1;
            }
            assert!(followed >= 4, "{followed} of 5 for a move by {dx}, {dy}");
        }
    }

    #[test]
    fn a_change_of_light_moves_nothing() {
        let picture = textured(120, 120, |x, y| (x, y));
        let mut bright = picture.clone();
        for value in &mut bright.pixels {
            *value = (f32::from(*value) * 0.7 + 60.0) as u8;
        }
        let at = Pyramid::of(&picture).follow(&Pyramid::of(&bright), Point::new(60.0, 60.0));
        assert!(at.expect("found").distance(Point::new(60.0, 60.0)) < 0.1);
    }

    #[test]
    fn what_is_gone_or_has_no_texture_is_not_found() {
        let picture = Pyramid::of(&textured(120, 120, |x, y| (x, y)));
        let other = Pyramid::of(&textured(120, 120, |x, y| (x + 5_000.0, y - 900.0)));
        let flat = Pyramid::of(&Picture::filled(120, 120, [90; 3]));
        let at = Point::new(60.0, 60.0);
        assert_eq!(picture.follow(&other, at), None);
        assert_eq!(picture.follow(&flat, at), None);
        assert_eq!(flat.follow(&flat, at), None);
        assert_eq!(picture.follow(&picture, Point::new(-1.0, 60.0)), None);
        assert_eq!(picture.follow(&picture, Point::new(f32::NAN, 60.0)), None);
    }

    #[test]
    fn a_large_picture_is_followed_in_its_own_pixels() {
        let before = Pyramid::of(&textured(960, 700, |x, y| (x / 4.0, y / 4.0)));
        let now = Pyramid::of(&textured(960, 700, |x, y| ((x - 9.0) / 4.0, (y + 6.0) / 4.0)));
        let at = before.follow(&now, Point::new(500.0, 300.0)).expect("found");
        assert!(at.distance(Point::new(509.0, 294.0)) < 0.5, "{at:?}");
    }

    proptest! {
        #[test]
        fn any_picture_and_point_is_answered_within_the_picture(
            width in 1_u32..90,
            height in 1_u32..90,
            seed in any::<u32>(),
            x in prop_oneof![-20_f32..110.0, any::<f32>()],
            y in prop_oneof![-20_f32..110.0, any::<f32>()],
        ) {
            let noise = |mut state: u32| {
                let pixels = (0..width * height * 3).map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 24) as u8
                });
                Pyramid::of(&Picture::new(width, height, pixels.collect()).expect("the right size"))
            };
            let (before, now) = (noise(seed), noise(seed ^ 1));
            prop_assert!(before.texture(Point::new(x, y)).is_finite());
            for next in [&before, &now] {
                if let Some(at) = before.follow(next, Point::new(x, y)) {
                    prop_assert!((0.0..width as f32).contains(&at.x) && (0.0..height as f32).contains(&at.y));
                }
            }
        }
    }

    #[test]
    fn narrow_and_tiny_pictures_are_answered() {
        for (width, height) in [(1, 1), (1, 5_000), (5_000, 1), (3, 2), (20_000, 7)] {
            let pyramid = Pyramid::of(&textured(width, height, |x, y| (x, y)));
            let _ = pyramid.follow(&pyramid, Point::new(width as f32 / 2.0, height as f32 / 2.0));
        }
        let small = Pyramid::of(&textured(40, 40, |x, y| (x, y)));
        let other = Pyramid::of(&textured(90, 40, |x, y| (x, y)));
        assert_eq!(small.follow(&other, Point::new(20.0, 20.0)), None);
    }
}
