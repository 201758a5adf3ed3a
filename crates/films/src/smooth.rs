//! A head as a smooth body: an ellipsoid with analytic bumps and hollows, hit by parallel rays. The colours are the
//! photograph's, interpolated linearly.
//!
//! [`crate::mesh`] draws heads of another shape in another way. Thresholds are chosen with one and reported with the
//! other.

use crate::canvas::{Canvas, Rgb};
use crate::geometry::{Rotation, Vector, added, dot, subtracted, unit};
use crate::photograph::Photograph;
use crate::random::Random;
use crate::view::View;

/// Bumps and hollows: centre (x, y), radii, height towards the camera. Eye distances.
const RELIEF: [([f32; 2], [f32; 2], f32); 16] = [
    // Nose: bridge, ridge, tip, wings.
    ([0.0, 0.15], [0.17, 0.35], 0.16),
    ([0.0, 0.45], [0.19, 0.28], 0.2),
    ([0.0, 0.62], [0.25, 0.14], 0.24),
    ([-0.21, 0.64], [0.12, 0.12], 0.13),
    ([0.21, 0.64], [0.12, 0.12], 0.13),
    // Eye sockets and brows.
    ([-0.48, 0.0], [0.28, 0.17], -0.12),
    ([0.48, 0.0], [0.28, 0.17], -0.12),
    ([-0.42, -0.3], [0.36, 0.14], 0.06),
    ([0.42, -0.3], [0.36, 0.14], 0.06),
    // Cheek bones.
    ([-0.68, 0.42], [0.32, 0.25], 0.07),
    ([0.68, 0.42], [0.32, 0.25], 0.07),
    // Mouth, the fold below it, chin.
    ([0.0, 1.08], [0.45, 0.3], 0.17),
    ([0.0, 1.33], [0.32, 0.08], -0.05),
    ([0.0, 1.56], [0.34, 0.22], 0.26),
    ([0.0, 1.55], [0.75, 0.4], 0.12),
    // Forehead.
    ([0.0, -0.75], [0.8, 0.5], 0.06),
];
/// Relief is stored for x from −`EXTENT` to `EXTENT` and y likewise, this many cells an eye distance.
const CELLS: f32 = 48.0;
const EXTENT: f32 = 2.4;
/// The deepest relief: rays start this far before the ellipsoid.
const TALLEST: f32 = 0.55;
/// The step of a ray, in eye distances.
const STEP: f32 = 0.05;
/// The head turns about this point: inside the neck.
const PIVOT: Vector = [0.0, 0.7, 1.35];

/// The shape of one head.
#[derive(Debug, Clone)]
pub(crate) struct SmoothHead {
    photograph: Photograph,
    /// Centre and half axes of the ellipsoid.
    centre: Vector,
    axes: Vector,
    relief: Vec<f32>,
    side: usize,
    /// The direction to the room's main light, and its share.
    lamp: Vector,
    lamp_share: f32,
    cloth: [Rgb; 2],
    stripe: f32,
}

impl SmoothHead {
    pub(crate) fn new(photograph: Photograph, seed: u64) -> Self {
        let mut random = Random::new(seed, 0x5300);
        let top = -photograph.above * random.between(1.45, 1.6);
        let bottom = photograph.below * 1.03;
        let axes = [
            photograph.half_width * random.between(1.02, 1.08),
            (bottom - top) / 2.0,
            random.between(1.3, 1.5),
        ];
        let centre_y = f32::midpoint(top, bottom);
        // The eyes lie in the plane z = 0.
        let at_eyes = (1.0 - (0.5 / axes[0]).powi(2) - (centre_y / axes[1]).powi(2)).max(0.1);
        let centre = [0.0, centre_y, axes[2] * at_eyes.sqrt() - 0.08];
        let (nose, rest) = (random.between(0.85, 1.15), random.between(0.85, 1.15));
        let stretch = photograph.below / 1.75;
        let side = (2.0 * EXTENT * CELLS) as usize;
        let mut relief = vec![0.0; side * side];
        for (at, height) in relief.iter_mut().enumerate() {
            let x = (at % side) as f32 / CELLS - EXTENT;
            let y = ((at / side) as f32 / CELLS - EXTENT) / stretch;
            let inside = 1.0 - (x / axes[0]).powi(2) - ((y * stretch - centre_y) / axes[1]).powi(2);
            let taper = (inside * 6.0).clamp(0.0, 1.0);
            for (number, ([cx, cy], [rx, ry], tall)) in RELIEF.into_iter().enumerate() {
                let (u, v) = ((x - cx) / rx, (y - cy) / ry);
                let scale = if number < 5 { nose } else { rest };
                *height += scale * tall * (-u * u - v * v).exp() * taper;
            }
        }
        let cloth = std::array::from_fn(|_| {
            let grey = random.between(0.02, 0.5);
            std::array::from_fn(|_| grey * random.between(0.5, 1.5))
        });
        Self {
            photograph,
            centre,
            axes,
            relief,
            side,
            lamp: unit([random.between(-1.0, 1.0), random.between(-1.2, -0.2), -0.7]),
            lamp_share: random.between(0.05, 0.25),
            cloth,
            stripe: random.between(6.0, 24.0),
        }
    }

    fn relief_at(&self, x: f32, y: f32) -> f32 {
        let (u, v) = ((x + EXTENT) * CELLS, (y + EXTENT) * CELLS);
        let last = (self.side - 2) as f32;
        if !(u >= 0.0 && v >= 0.0 && u < last && v < last) {
            return 0.0;
        }
        let (column, row) = (u as usize, v as usize);
        let (fx, fy) = (u - column as f32, v - row as f32);
        let at = row * self.side + column;
        let (a, b) = (self.relief[at], self.relief[at + 1]);
        let (c, d) = (self.relief[at + self.side], self.relief[at + self.side + 1]);
        let (upper, lower) = (a + (b - a) * fx, c + (d - c) * fx);
        upper + (lower - upper) * fy
    }

    /// How far a point is inside the head along z: positive inside.
    fn inside(&self, [x, y, z]: Vector) -> f32 {
        let (u, v) = (x / self.axes[0], (y - self.centre[1]) / self.axes[1]);
        let e = 1.0 - u * u - v * v;
        if e <= 0.0 {
            return -1.0;
        }
        let half = self.axes[2] * e.sqrt();
        let front = self.centre[2] - half - self.relief_at(x, y);
        (z - front).min(self.centre[2] + half - z)
    }

    /// Where a ray enters the head; `None` if it passes.
    fn hit(&self, from: Vector, direction: Vector) -> Option<Vector> {
        // The ellipsoid, enlarged to hold the relief.
        let grown = [self.axes[0] + 0.02, self.axes[1] + 0.02, self.axes[2] + TALLEST];
        let o: Vector = std::array::from_fn(|i| (from[i] - self.centre[i]) / grown[i]);
        let d: Vector = std::array::from_fn(|i| direction[i] / grown[i]);
        let (a, b, c) = (dot(d, d), dot(o, d), dot(o, o) - 1.0);
        let root = b * b - a * c;
        if root <= 0.0 {
            return None;
        }
        let (start, end) = ((-b - root.sqrt()) / a, (-b + root.sqrt()) / a);
        let at = |t: f32| added(from, direction.map(|value| value * t));
        let mut t = start;
        while t < end {
            if self.inside(at(t)) > 0.0 {
                let (mut low, mut high) = (t - STEP, t);
                for _ in 0..5 {
                    let middle = f32::midpoint(low, high);
                    if self.inside(at(middle)) > 0.0 {
                        high = middle;
                    } else {
                        low = middle;
                    }
                }
                return Some(at(high));
            }
            t += STEP;
        }
        None
    }

    /// The outward direction at a point of the surface.
    fn normal(&self, [x, y, z]: Vector) -> Vector {
        let (u, v) = (x / self.axes[0], (y - self.centre[1]) / self.axes[1]);
        let w = (z - self.centre[2]) / self.axes[2];
        let round = [u / self.axes[0], v / self.axes[1], w / self.axes[2]];
        if z > self.centre[2] {
            return unit(round);
        }
        const D: f32 = 0.03;
        let slope_x = (self.relief_at(x + D, y) - self.relief_at(x - D, y)) / (2.0 * D);
        let slope_y = (self.relief_at(x, y + D) - self.relief_at(x, y - D)) / (2.0 * D);
        let base = (-round[2]).max(0.05);
        unit([round[0] - slope_x * base, round[1] - slope_y * base, round[2]])
    }

    /// Draws the head and the shoulders.
    pub(crate) fn draw(&self, canvas: &mut Canvas, view: &View) {
        let turn = Rotation::of(view.pose);
        let direction = turn.undo([0.0, 0.0, 1.0]);
        let [at_x, at_y] = view.centre();
        for y in 0..canvas.height {
            for x in 0..canvas.width {
                let seen = [
                    (x as f32 + 0.5 - at_x) / view.eye_px,
                    (y as f32 + 0.5 - at_y) / view.eye_px,
                    0.0,
                ];
                if let Some((depth, colour)) = self.body(seen, view) {
                    canvas.set(x, y, depth, colour);
                }
                if seen[1] > 3.2 || seen[1] < -3.4 || seen[0].abs() > 3.0 {
                    continue;
                }
                let from = added(turn.undo(subtracted(seen, PIVOT)), PIVOT);
                let Some(point) = self.hit(from, direction) else {
                    continue;
                };
                let depth = added(turn.apply(subtracted(point, PIVOT)), PIVOT)[2];
                let [u, v] = self.photograph.place(point);
                let colour = self.photograph.texture.bilinear(u, v);
                let normal = self.normal(point);
                let towards = turn.apply(normal);
                // The photograph has its own shading; only the change by turning is added.
                let change = dot(towards, self.lamp).max(0.0) - dot(normal, self.lamp).max(0.0);
                let room = 1.0 + self.lamp_share * change;
                let facing = (-towards[2]).max(0.0);
                let lit = std::array::from_fn(|i| colour[i] * (room + view.light[i] * facing));
                canvas.set(x, y, depth, lit);
            }
        }
    }

    /// Neck and shoulders, which don't turn: distance and colour.
    fn body(&self, [x, y, _]: Vector, view: &View) -> Option<(f32, Rgb)> {
        let neck = {
            let across = x / (0.58 + 0.05 * (y - self.photograph.below).powi(2));
            let e = 1.0 - across * across;
            (e > 0.0 && y > self.photograph.below * 0.7).then(|| {
                let below_chin = (y - self.photograph.below + 0.3).clamp(0.0, 1.0);
                let shade = (0.3 + 0.3 * e.sqrt()) * (0.7 + 0.3 * below_chin);
                (
                    1.75 - 0.7 * e.sqrt(),
                    self.photograph.skin.map(|value| value * shade),
                    e.sqrt(),
                )
            })
        };
        let torso = {
            let (u, v) = (x / 3.0, (y - self.photograph.below - 2.75) / 2.1);
            let e = 1.0 - u * u - v * v;
            (e > 0.0).then(|| {
                let stripe = ((y * 1.3 + x * 0.2) * self.stripe).sin() > 0.6;
                let cloth = self.cloth[usize::from(stripe)];
                let shade = 0.6 + 0.4 * e.sqrt();
                (2.0 - 1.1 * e.sqrt(), cloth.map(|value| value * shade), e.sqrt())
            })
        };
        let (depth, colour, facing) = match (neck, torso) {
            (Some(neck), Some(torso)) => {
                if neck.0 < torso.0 {
                    neck
                } else {
                    torso
                }
            }
            (neck, torso) => neck.or(torso)?,
        };
        Some((
            depth,
            std::array::from_fn(|i| colour[i] * (1.0 + 0.7 * view.light[i] * facing)),
        ))
    }
}
