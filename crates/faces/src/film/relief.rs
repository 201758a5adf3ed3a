//! Depth from the moves of points: what the nose moved more than the face around it.
//!
//! The moves of a flat or bent picture are nearly quadratic in the place of a point, and so are those of a face
//! without its nose. The module fits them by the points of the face, and measures how far the tip of the nose is
//! from there. It knows nothing of pictures and never decides what is a head.

use imaging::Point;
use serde::{Deserialize, Serialize};

/// Coefficients of a quadratic in two variables.
const TERMS: usize = 6;
/// The fewest points of the face around the nose.
const MIN_FACE: usize = 18;
/// The fewest of them on each side of the tip of the nose: left, right, above and below.
const MIN_ASIDE: usize = 4;
/// The fewest points of the tip of the nose.
const MIN_TIP: usize = 3;
/// Rounds of fitting, each with less weight for points that did not fit the one before.
const ROUNDS: usize = 8;
/// A point this many deviations from the fit has no weight.
const REACH: f64 = 4.7;
/// The least deviation, in eye distances. A fit to better than this is a coincidence.
const MIN_DEVIATION: f64 = 0.004;
/// A normal distribution's standard deviation by its median of absolute values (of two dimensions).
const BY_MEDIAN: f64 = 0.85;

/// How far the tip of the nose is from where the face around it moved, in eye distances of the reference. A head
/// that turns by 20–30° has .09–.15, a flat or bent picture less than .03.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Relief {
    /// Positive to the picture's right.
    pub lateral: f32,
    /// Positive downwards.
    pub vertical: f32,
}

/// The part of a face that a point is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Part {
    /// Anywhere but the nose.
    Face,
    /// The nose, but not its tip.
    Nose,
    /// The tip of the nose, which is nearest to the camera.
    Tip,
}

/// A point with its place in the reference and now, in picture pixels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Moved {
    pub(super) from: Point,
    pub(super) to: Point,
    pub(super) part: Part,
}

/// The relief of points, or `None` if too few are left or they do not surround the nose. `eyes` is the distance
/// of the eyes in the reference, in pixels.
pub(super) fn relief(points: &[Moved], eyes: f32) -> Option<Relief> {
    let of = |part| points.iter().filter(move |point| point.part == part);
    let (face, tip): (Vec<&Moved>, Vec<&Moved>) = (of(Part::Face).collect(), of(Part::Tip).collect());
    if face.len() < MIN_FACE || tip.len() < MIN_TIP || eyes.is_nan() || eyes <= 1.0 {
        return None;
    }
    let centre = Point::new(
        median(tip.iter().map(|point| f64::from(point.from.x)).collect())? as f32,
        median(tip.iter().map(|point| f64::from(point.from.y)).collect())? as f32,
    );
    let enough = |is_aside: &dyn Fn(&Moved) -> bool| face.iter().filter(|p| is_aside(p)).count() >= MIN_ASIDE;
    let surrounded = enough(&|p| p.from.x < centre.x)
        && enough(&|p| p.from.x > centre.x)
        && enough(&|p| p.from.y < centre.y)
        && enough(&|p| p.from.y > centre.y);
    if !surrounded {
        return None;
    }
    let scaled =
        |at: Point| [at.x - centre.x, at.y - centre.y].map(|value| f64::from(value) / f64::from(eyes));
    let samples: Vec<Sample> = face
        .iter()
        .map(|point| Sample {
            terms: terms(scaled(point.from)),
            to: scaled(point.to),
        })
        .collect();
    let fit = Fit::robust(&samples)?;
    let misses: Vec<[f64; 2]> = tip
        .iter()
        .map(|point| fit.miss(&terms(scaled(point.from)), scaled(point.to)))
        .collect();
    let [lateral, vertical] =
        [0, 1].map(|axis| median(misses.iter().map(|miss| miss[axis]).collect()).map(|value| value as f32));
    let relief = Relief {
        lateral: lateral?,
        vertical: vertical?,
    };
    (relief.lateral.is_finite() && relief.vertical.is_finite()).then_some(relief)
}

struct Sample {
    terms: [f64; TERMS],
    to: [f64; 2],
}

fn terms([x, y]: [f64; 2]) -> [f64; TERMS] {
    [1.0, x, y, x * x, x * y, y * y]
}

/// Two quadratics, for the place across and down.
struct Fit([[f64; TERMS]; 2]);

impl Fit {
    /// Fits all samples, and then again with weights by how far each is from the fit (Tukey's biweight).
    fn robust(samples: &[Sample]) -> Option<Self> {
        let mut weights = vec![1.0; samples.len()];
        let mut fit = Self::weighted(samples, &weights)?;
        for round in 0..ROUNDS {
            let misses: Vec<f64> = samples
                .iter()
                .map(|sample| {
                    let [across, down] = fit.miss(&sample.terms, sample.to);
                    across.hypot(down)
                })
                .collect();
            let deviation = (median(misses.clone())? * BY_MEDIAN).max(MIN_DEVIATION);
            // The first fits are bent by the outliers, so they exclude only the farthest.
            let reach = REACH * deviation * if round < 2 { 2.0 } else { 1.0 };
            for (weight, miss) in weights.iter_mut().zip(&misses) {
                let share = (miss / reach).min(1.0);
                *weight = (1.0 - share * share).powi(2);
            }
            fit = Self::weighted(samples, &weights)?;
        }
        let used = weights.iter().filter(|weight| **weight > 0.1).count();
        (used >= MIN_FACE / 2).then_some(fit)
    }

    fn weighted(samples: &[Sample], weights: &[f64]) -> Option<Self> {
        // The normal equations, with both right sides.
        let mut rows = [[0.0; TERMS + 2]; TERMS];
        for (sample, weight) in samples.iter().zip(weights) {
            for (row, own) in rows.iter_mut().zip(sample.terms) {
                for (value, other) in row.iter_mut().zip(sample.terms.iter().chain(&sample.to)) {
                    *value += weight * own * other;
                }
            }
        }
        solve(rows)
    }

    fn miss(&self, terms: &[f64; TERMS], to: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|axis| {
            let expected: f64 = self.0[axis].iter().zip(terms).map(|(a, b)| a * b).sum();
            to[axis] - expected
        })
    }
}

/// Solves the equations by elimination with pivots; `None` if they do not determine the answer.
fn solve(mut rows: [[f64; TERMS + 2]; TERMS]) -> Option<Fit> {
    for column in 0..TERMS {
        let best =
            (column..TERMS).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, best);
        let pivot = rows[column];
        if !pivot[column].is_finite() || pivot[column].abs() < 1e-7 {
            return None;
        }
        for (number, row) in rows.iter_mut().enumerate() {
            if number != column {
                let factor = row[column] / pivot[column];
                row.iter_mut()
                    .zip(pivot)
                    .for_each(|(value, own)| *value -= factor * own);
            }
        }
    }
    let solution = |right: usize| std::array::from_fn(|i| rows[i][right] / rows[i][i]);
    Some(Fit([solution(TERMS), solution(TERMS + 1)]))
}

/// The median; `None` of nothing or of what is not finite.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    let lower = if values.len().is_multiple_of(2) {
        values[middle - 1]
    } else {
        upper
    };
    let median = f64::midpoint(lower, upper);
    median.is_finite().then_some(median)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Distance of the camera, in eye distances.
    const CAMERA: f32 = 6.0;

    /// The points of a face in eye distances: a grid, whose middle is the nose with its tip.
    fn grid() -> Vec<([f32; 2], Part)> {
        let mut points = Vec::new();
        for row in -8..=9 {
            for column in -6..=6 {
                let (x, y) = (column as f32 * 0.14, row as f32 * 0.14);
                let part = match x.abs().max(y.abs()) {
                    near if near < 0.15 => Part::Tip,
                    near if near < 0.45 => Part::Nose,
                    _ => Part::Face,
                };
                points.push(([x, y], part));
            }
        }
        points
    }

    /// What a camera sees of the grid on a surface of depth `z(x, y)`, before and after turning it by the angles
    /// (degrees) about the vertical and the horizontal axis. 100 px for an eye distance.
    fn turned(z: impl Fn(f32, f32) -> f32, yaw: f32, pitch: f32) -> Vec<Moved> {
        let see = |[x, y, z]: [f32; 3]| {
            let by = 100.0 * CAMERA / (CAMERA - z);
            Point::new(240.0 + x * by, 300.0 + y * by)
        };
        let ((sy, cy), (sp, cp)) = (yaw.to_radians().sin_cos(), pitch.to_radians().sin_cos());
        let turn = |[x, y, z]: [f32; 3]| {
            let (x, z) = (x * cy + z * sy, z * cy - x * sy);
            [x, y * cp + z * sp, z * cp - y * sp]
        };
        let moved = |([x, y], part): ([f32; 2], Part)| {
            let at = [x, y, z(x, y)];
            Moved {
                from: see(at),
                to: see(turn(at)),
                part,
            }
        };
        grid().into_iter().map(moved).collect()
    }

    /// The depth of a head: an ellipsoid and a nose that is a third of an eye distance high.
    fn head(x: f32, y: f32) -> f32 {
        let round = 1.0 - (x / 1.25).powi(2) - (y / 1.9).powi(2);
        let nose = 0.33 * (-(x / 0.24).powi(2) - (y / 0.4).powi(2)).exp();
        1.2 * round.max(0.0).sqrt() + nose
    }

    #[test]
    fn a_head_has_relief_to_the_side_it_turns_to() {
        for (yaw, pitch) in [(18.0, 0.0), (-20.0, 0.0), (26.0, 5.0), (-35.0, -4.0)] {
            let found = relief(&turned(head, yaw, pitch), 100.0).expect("enough points");
            assert!(found.lateral * yaw.signum() > 0.05, "{found:?} for {yaw}°");
            assert!(found.lateral.abs() < 0.25, "{found:?} for {yaw}°");
        }
        for pitch in [-20.0, 20.0] {
            let found = relief(&turned(head, 0.0, pitch), 100.0).expect("enough points");
            assert!(
                found.vertical * pitch > 0.0 && found.vertical.abs() > 0.05,
                "{found:?}"
            );
            assert!(found.lateral.abs() < 0.01, "{found:?}");
        }
    }

    #[test]
    fn flat_and_bent_pictures_have_none() {
        for yaw in [-58, -35, -20, 0, 20, 35, 58] {
            for pitch in [-40, -15, 0, 15, 40] {
                for bend in [0.0_f32, 0.15, -0.15, 0.3] {
                    let surface = |x: f32, _: f32| {
                        if bend == 0.0 {
                            0.0
                        } else {
                            ((1.0 - (x * bend).powi(2)).sqrt() - 1.0) / bend
                        }
                    };
                    let points = turned(surface, yaw as f32, pitch as f32);
                    let found = relief(&points, 100.0).expect("enough points");
                    assert!(
                        found.lateral.abs() < 0.03 && found.vertical.abs() < 0.03,
                        "{found:?} for {yaw}°, {pitch}°, {bend}"
                    );
                }
            }
        }
    }

    #[test]
    fn points_that_went_astray_change_little() {
        let mut points = turned(head, 24.0, 0.0);
        let before = relief(&points, 100.0).expect("enough points");
        for (number, point) in points
            .iter_mut()
            .enumerate()
            .filter(|(number, _)| number % 6 == 0)
        {
            point.to.x += if number % 4 == 0 { 30.0 } else { -18.0 };
            point.to.y += 11.0;
        }
        let after = relief(&points, 100.0).expect("enough points");
        assert!(
            (before.lateral - after.lateral).abs() < 0.02,
            "{before:?} {after:?}"
        );
    }

    #[test]
    fn too_few_points_have_no_relief() {
        let points = turned(head, 24.0, 0.0);
        let without = |keep: &dyn Fn(&Moved) -> bool| {
            relief(
                &points
                    .iter()
                    .copied()
                    .filter(|point| keep(point))
                    .collect::<Vec<_>>(),
                100.0,
            )
        };
        assert!(without(&|_| true).is_some());
        assert_eq!(without(&|point| point.part != Part::Tip), None);
        assert_eq!(without(&|point| point.part != Part::Face), None);
        assert_eq!(
            without(&|point| point.part != Part::Face || point.from.x < 240.0),
            None
        );
        assert_eq!(relief(&points, 0.0), None);
        assert_eq!(relief(&points, f32::NAN), None);
        assert_eq!(relief(&[], 100.0), None);
    }

    fn any_coordinate() -> impl Strategy<Value = f32> {
        prop_oneof![-50_f32..500.0, Just(100.0), any::<f32>()]
    }

    proptest! {
        #[test]
        fn any_points_give_a_finite_relief_or_none(
            places in prop::collection::vec(
                (any_coordinate(), any_coordinate(), any_coordinate(), any_coordinate(), 0..5), 0..130),
            eyes in any_coordinate(),
        ) {
            let points: Vec<Moved> = places
                .into_iter()
                .map(|(x, y, to_x, to_y, part)| Moved {
                    from: Point::new(x, y),
                    to: Point::new(to_x, to_y),
                    part: match part { 0 => Part::Tip, 1 => Part::Nose, _ => Part::Face },
                })
                .collect();
            if let Some(found) = relief(&points, eyes) {
                prop_assert!(found.lateral.is_finite() && found.vertical.is_finite());
            }
        }
    }
}
