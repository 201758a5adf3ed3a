//! Follows points from one picture to the next by their grey values (pyramidal Lucas–Kanade), and drops a point
//! whose way back does not end where it began.
//!
//! This module knows nothing of faces. It never reports a point that it could not find again.

use imaging::{Luma, Point};

use super::corners::Corners;

/// Levels of a pyramid; each has half the side of the one before.
const LEVELS: usize = 3;
/// Pixels on each side of a point in its window.
const RADIUS: usize = 7;
const SIDE: usize = 2 * RADIUS + 1;
const PIXELS: f32 = (SIDE * SIDE) as f32;
/// The values stored for each row of a window, so that whole registers are processed. Those beyond the window are zero.
const ROW: usize = 16;
const WINDOW: usize = SIDE * ROW;
/// Sums are computed in this many parts.
const LANES: usize = 8;
/// The side of a window with one more pixel on each side, from which gradients are computed, and the length of its
/// rows.
const WIDE: usize = SIDE + 2;
const WIDE_ROW: usize = 24;
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
    pub(super) fn of(grey: &Luma) -> Self {
        let longest = grey.width.max(grey.height);
        let scale = (longest as f32 / LONGEST as f32).max(1.0);
        let first = if scale > 1.0 {
            let reduced = |length: u32| (length as f32 / scale).round() as u32;
            Level::of(&grey.resized(reduced(grey.width), reduced(grey.height)))
        } else {
            Level::of(grey)
        };
        let mut levels = vec![first.smoothed()];
        for _ in 1..LEVELS {
            let half = levels.last().and_then(Level::halved);
            levels.extend(half.map(|half| half.smoothed()));
        }
        Self { levels, scale }
    }

    /// How well the windows around the points of an area (left, top, right, bottom, in picture pixels) can be followed; see
    /// [`MIN_TEXTURE`]. `None` without such points.
    pub(super) fn corners(&self, area: [f32; 4]) -> Option<Corners> {
        let level = self.levels.first()?;
        let area = area.map(|value| value / self.scale);
        Corners::of(&level.values, (level.width, level.height), area, SIDE)
    }

    /// Picture pixels per pixel in which a window is measured.
    pub(super) fn scale(&self) -> f32 {
        self.scale
    }

    /// Where the point `from` (picture pixels) of this picture is in the next one, which must have the same size.
    /// `None` if it is not found, or not found back.
    pub(super) fn follow(&self, next: &Self, from: Point) -> Option<Point> {
        let start = Point::new(from.x / self.scale, from.y / self.scale);
        let to = pulp::Arch::new().dispatch(ThereAndBack {
            before: self,
            now: next,
            start,
        })?;
        Some(Point::new(to.x * self.scale, to.y * self.scale))
    }
}

/// Searches there and back with the widest registers of this machine. Everything that it calls is inlined, because the
/// compiler compiles other functions for the registers that every machine has.
struct ThereAndBack<'a> {
    before: &'a Pyramid,
    now: &'a Pyramid,
    start: Point,
}

impl pulp::WithSimd for ThereAndBack<'_> {
    type Output = Option<Point>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Option<Point> {
        let to = search(self.before, self.now, self.start)?;
        let back = search(self.now, self.before, to)?;
        (back.distance(self.start) <= MAX_RETURN_ERROR).then_some(to)
    }
}

/// Finds a point of `before` in `now`, from coarse to fine.
#[inline(always)]
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

/// A window's differences from its mean, and its gradients'.
struct Template {
    values: [f32; WINDOW],
    across: [f32; WINDOW],
    down: [f32; WINDOW],
    mean: f32,
    deviation: f32,
    /// Sums of products of gradients: across², across·down, down².
    sums: [f32; 3],
    /// Sums of products of the values and each gradient.
    own: [f32; 2],
}

impl Template {
    #[inline(always)]
    fn of(level: &Level, at: Point) -> Self {
        let mut wide = [0.0; WIDE * WIDE_ROW];
        level.sample::<WIDE_ROW>(at, WIDE, &mut wide);
        let mut template = Self {
            values: [0.0; WINDOW],
            across: [0.0; WINDOW],
            down: [0.0; WINDOW],
            mean: 0.0,
            deviation: 0.0,
            sums: [0.0; 3],
            own: [0.0; 2],
        };
        for y in 0..SIDE {
            let row = |y: usize| &wide[y * WIDE_ROW..][..WIDE_ROW];
            let (above, own, below) = (row(y), row(y + 1), row(y + 2));
            let values = &mut template.values[y * ROW..][..ROW];
            values.copy_from_slice(&own[1..=ROW]);
            let across = &mut template.across[y * ROW..][..ROW];
            for x in 0..ROW {
                across[x] = (own[x + 2] - own[x]) / 2.0;
            }
            let down = &mut template.down[y * ROW..][..ROW];
            for x in 0..ROW {
                down[x] = (below[x + 1] - above[x + 1]) / 2.0;
            }
        }
        // Light that rises or falls everywhere moves nothing: values and gradients count from their means.
        template.mean = centre(&mut template.values);
        centre(&mut template.across);
        centre(&mut template.down);
        let (values, across, down) = (&template.values, &template.across, &template.down);
        template.deviation = (product(values, values) / PIXELS).sqrt();
        template.sums = [
            product(across, across),
            product(across, down),
            product(down, down),
        ];
        template.own = [product(values, across), product(values, down)];
        template
    }

    /// The smaller eigenvalue of the mean products of gradients.
    fn texture(&self) -> f32 {
        let [a, b, c] = self.sums.map(|sum| sum / PIXELS);
        f32::midpoint(a, c) - ((a - c) / 2.0).hypot(b)
    }

    #[inline(always)]
    fn find(&self, next: &Level, at: Point, shift: Point) -> Found {
        let [a, b, c] = self.sums;
        let determinant = a * c - b * b;
        if self.texture() < MIN_TEXTURE || determinant <= 0.0 {
            return Found::NoTexture;
        }
        let mut moved = shift;
        let mut window = [0.0; WINDOW];
        let mut correlation = 0.0;
        for _ in 0..STEPS {
            let place = Point::new(at.x + moved.x, at.y + moved.y);
            if !next.contains(place) {
                return Found::Lost;
            }
            next.sample::<ROW>(place, SIDE, &mut window);
            let Compared {
                deviation,
                product,
                across,
                down,
            } = self.compared(&window);
            let gain = (self.deviation / deviation.max(1e-3)).clamp(GAIN.0, GAIN.1);
            let [right, below] = [self.own[0] - across * gain, self.own[1] - down * gain];
            correlation = product / (PIXELS * self.deviation * deviation).max(1e-3);
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

    /// Compares a window with this one. The mean of the template's values and gradients is zero, so the window's own mean
    /// adds nothing to the products.
    #[inline(always)]
    fn compared(&self, window: &[f32; WINDOW]) -> Compared {
        let zero = [0.0; LANES];
        let (mut sums, mut squares, mut products) = (zero, zero, zero);
        let (mut across, mut down) = (zero, zero);
        let parts = |values| <[f32]>::as_chunks::<LANES>(values).0;
        let (window, own) = (parts(window), parts(&self.values));
        let (gx, gy) = (parts(&self.across), parts(&self.down));
        for part in 0..WINDOW / LANES {
            let inside = if part % 2 == 0 { &[1.0; LANES] } else { &INSIDE };
            for lane in 0..LANES {
                // A value near zero keeps the squares exact.
                let value = (window[part][lane] - self.mean) * inside[lane];
                sums[lane] += value;
                squares[lane] += value * value;
                products[lane] += own[part][lane] * value;
                across[lane] += gx[part][lane] * value;
                down[lane] += gy[part][lane] * value;
            }
        }
        let sum = |lanes: [f32; LANES]| lanes.iter().sum::<f32>();
        let mean = sum(sums) / PIXELS;
        Compared {
            deviation: (sum(squares) / PIXELS - mean * mean).max(0.0).sqrt(),
            product: sum(products),
            across: sum(across),
            down: sum(down),
        }
    }
}

/// A window against a template: its standard deviation, and the sums of products with the template's values and gradients.
struct Compared {
    deviation: f32,
    product: f32,
    across: f32,
    down: f32,
}

/// The second half of a stored row, whose last value is beyond the window.
const INSIDE: [f32; LANES] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0];

/// Subtracts the mean and returns it. Values beyond the window become zero.
#[inline(always)]
fn centre(values: &mut [f32; WINDOW]) -> f32 {
    let parts = values.as_chunks_mut::<LANES>().0;
    let mut sums = [0.0; LANES];
    for (number, part) in parts.iter().enumerate() {
        let inside = if number % 2 == 0 { &[1.0; LANES] } else { &INSIDE };
        for lane in 0..LANES {
            sums[lane] += part[lane] * inside[lane];
        }
    }
    let mean = sums.iter().sum::<f32>() / PIXELS;
    for (number, part) in parts.iter_mut().enumerate() {
        let inside = if number % 2 == 0 { &[1.0; LANES] } else { &INSIDE };
        for lane in 0..LANES {
            part[lane] = (part[lane] - mean) * inside[lane];
        }
    }
    mean
}

/// The sum of products.
#[inline(always)]
fn product(a: &[f32; WINDOW], b: &[f32; WINDOW]) -> f32 {
    let (a, b) = (a.as_chunks::<LANES>().0, b.as_chunks::<LANES>().0);
    let mut sums = [0.0; LANES];
    for part in 0..WINDOW / LANES {
        for lane in 0..LANES {
            sums[lane] += a[part][lane] * b[part][lane];
        }
    }
    sums.iter().sum()
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
        let weighted = |before: f32, own: f32, after: f32| (before + 2.0 * own + after) / 4.0;
        let mut rows = vec![0.0; self.values.len()];
        for (source, target) in self.values.chunks_exact(width).zip(rows.chunks_exact_mut(width)) {
            let last = width - 1;
            target[0] = weighted(source[0], source[0], source[1.min(last)]);
            target[last] = weighted(source[last.saturating_sub(1)], source[last], source[last]);
            for (near, value) in source.windows(3).zip(target.iter_mut().skip(1)) {
                *value = weighted(near[0], near[1], near[2]);
            }
        }
        let mut values = vec![0.0; rows.len()];
        let row = |y: usize| &rows[y * width..][..width];
        for (y, target) in values.chunks_exact_mut(width).enumerate() {
            let (above, own, below) = (row(y.saturating_sub(1)), row(y), row((y + 1).min(height - 1)));
            for (((value, above), own), below) in target.iter_mut().zip(above).zip(own).zip(below) {
                *value = weighted(*above, *own, *below);
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

    /// Samples `side` rows of `R` values around `at`, one pixel apart; the first `side` of each are the window's, and the
    /// others follow on the right. Beyond the edge, the edge's values repeat.
    #[inline(always)]
    fn sample<const R: usize>(&self, at: Point, side: usize, values: &mut [f32]) {
        let half = side as f32 / 2.0;
        let (x, y) = (at.x - half, at.y - half);
        let (left, top) = (x.floor(), y.floor());
        let (fx, fy) = (x - left, y - top);
        let (left, top) = (left as isize, top as isize);
        let weights = [(1.0 - fx) * (1.0 - fy), fx * (1.0 - fy), (1.0 - fx) * fy, fx * fy];
        let inside =
            left >= 0 && top >= 0 && left as usize + R < self.width && top as usize + side < self.height;
        let row = |y: isize| y.clamp(0, self.height as isize - 1) as usize * self.width;
        for number in 0..side {
            let y = top + number as isize;
            let target = &mut values[number * R..][..R];
            let (upper, lower) = (row(y), row(y + 1));
            if inside {
                let (upper, lower) = (
                    &self.values[upper + left as usize..],
                    &self.values[lower + left as usize..],
                );
                let (upper, upper_next) = (&upper[..R], &upper[1..=R]);
                let (lower, lower_next) = (&lower[..R], &lower[1..=R]);
                for x in 0..R {
                    target[x] = upper[x] * weights[0]
                        + upper_next[x] * weights[1]
                        + lower[x] * weights[2]
                        + lower_next[x] * weights[3];
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

    use imaging::Picture;

    use super::*;
    use crate::film::pictures::textured;

    fn pyramid(picture: &Picture) -> Pyramid {
        Pyramid::of(&picture.luma())
    }

    #[test]
    fn points_follow_a_picture_that_moves_by_parts_of_a_pixel() {
        for (dx, dy) in [(0.0, 0.0), (0.4, -0.3), (3.3, 2.6), (-9.5, 7.2), (18.0, -14.0)] {
            let before = pyramid(&textured(200, 160, |x, y| (x, y)));
            let now = pyramid(&textured(200, 160, |x, y| (x - dx, y - dy)));
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
        let at = pyramid(&picture).follow(&pyramid(&bright), Point::new(60.0, 60.0));
        assert!(at.expect("found").distance(Point::new(60.0, 60.0)) < 0.1);
    }

    #[test]
    fn what_is_gone_or_has_no_texture_is_not_found() {
        let picture = pyramid(&textured(120, 120, |x, y| (x, y)));
        let other = pyramid(&textured(120, 120, |x, y| (x + 5_000.0, y - 900.0)));
        let flat = pyramid(&Picture::filled(120, 120, [90; 3]));
        let at = Point::new(60.0, 60.0);
        assert_eq!(picture.follow(&other, at), None);
        assert_eq!(picture.follow(&flat, at), None);
        assert_eq!(flat.follow(&flat, at), None);
        assert_eq!(picture.follow(&picture, Point::new(-1.0, 60.0)), None);
        assert_eq!(picture.follow(&picture, Point::new(f32::NAN, 60.0)), None);
    }

    #[test]
    fn the_score_of_a_window_is_that_of_its_template() {
        let picture = pyramid(&textured(120, 90, |x, y| (x, y)));
        let corners = picture.corners([0.0, 0.0, 120.0, 90.0]).expect("an area");
        for (x, y) in [
            (60.5, 40.5),
            (20.1, 70.9),
            (7.5, 7.2),
            (2.5, 88.5),
            (119.5, 0.5),
            (33.0, 44.0),
        ] {
            let (at, score) = corners.near(Point::new(x, y)).expect("inside");
            assert!(
                (at.x - x).abs() <= 0.5 && (at.y - y).abs() <= 0.5,
                "{at:?} near {x}, {y}"
            );
            let template = Template::of(&picture.levels[0], at).texture();
            assert!(
                (score - template).abs() <= 1e-3 * template.max(1.0),
                "{at:?}: {score}, {template}"
            );
        }
        for (x, y) in [
            (200.0, 40.0),
            (-0.9, 40.0),
            (120.4, 40.0),
            (60.0, -3.0),
            (f32::NAN, 1.0),
        ] {
            assert!(
                corners
                    .near(Point::new(x, y))
                    .is_none_or(|(at, _)| at.x < 120.0 && at.y > 0.0),
                "{x}, {y}"
            );
        }
    }

    #[test]
    fn a_large_picture_is_followed_in_its_own_pixels() {
        let before = pyramid(&textured(960, 700, |x, y| (x / 4.0, y / 4.0)));
        let now = pyramid(&textured(960, 700, |x, y| ((x - 9.0) / 4.0, (y + 6.0) / 4.0)));
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
                pyramid(&Picture::new(width, height, pixels.collect()).expect("the right size"))
            };
            let (before, now) = (noise(seed), noise(seed ^ 1));
            let corners = before.corners([0.0, 0.0, width as f32, height as f32]);
            let near = corners.and_then(|corners| corners.near(Point::new(x, y)));
            let is_sound = near.is_none_or(|(at, score)| {
                (0.0..width as f32).contains(&at.x) && (0.0..height as f32).contains(&at.y) && score.is_finite()
            });
            prop_assert!(is_sound);
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
            let tiny = pyramid(&textured(width, height, |x, y| (x, y)));
            let _ = tiny.follow(&tiny, Point::new(width as f32 / 2.0, height as f32 / 2.0));
        }
        let small = pyramid(&textured(40, 40, |x, y| (x, y)));
        let other = pyramid(&textured(90, 40, |x, y| (x, y)));
        assert_eq!(small.follow(&other, Point::new(20.0, 20.0)), None);
    }
}
