//! Typical depths of a face at landmarks, and the surface through them: a thin-plate spline.
//!
//! The landmarks are an own table of rounded anthropometric proportions. It has nothing in common with the shape of
//! [`crate::smooth`] or with the geometry of any face mesh model.

use crate::random::Random;

/// A landmark on the middle line or on the picture's right side: x, y, z in eye distances. Those with x > 0 are
/// mirrored.
const LANDMARKS: [[f32; 3]; 51] = [
    // Nose.
    [0.0, -0.05, -0.12],
    [0.0, 0.25, -0.32],
    [0.0, 0.48, -0.47],
    [0.0, 0.6, -0.53],
    [0.14, 0.6, -0.44],
    [0.26, 0.63, -0.22],
    [0.36, 0.63, -0.06],
    [0.22, 0.32, -0.1],
    [0.0, 0.76, -0.31],
    [0.28, 0.82, -0.13],
    // Mouth and chin.
    [0.0, 0.93, -0.32],
    [0.0, 1.05, -0.27],
    [0.0, 1.15, -0.31],
    [0.4, 1.05, -0.09],
    [0.0, 1.32, -0.2],
    [0.0, 1.55, -0.26],
    [0.3, 1.55, -0.11],
    [0.0, 1.72, -0.09],
    // Eyes and brows.
    [0.26, 0.02, -0.02],
    [0.5, 0.0, -0.03],
    [0.74, 0.0, 0.1],
    [0.5, 0.2, -0.03],
    [0.5, -0.14, -0.07],
    [0.25, -0.28, -0.17],
    [0.5, -0.33, -0.13],
    [0.78, -0.25, 0.02],
    [0.0, -0.28, -0.2],
    // Forehead.
    [0.0, -0.7, -0.15],
    [0.5, -0.7, -0.04],
    [0.85, -0.65, 0.28],
    [0.0, -1.2, 0.07],
    [0.55, -1.2, 0.22],
    // Cheeks.
    [0.75, 0.4, 0.05],
    [0.95, 0.3, 0.32],
    [0.55, 0.7, 0.0],
    [0.75, 0.9, 0.2],
    [0.5, 1.3, 0.08],
    [0.9, 0.7, 0.38],
    [0.92, 0.0, 0.34],
    // Edge, from the top of the head to the chin.
    [0.0, -1.7, 0.7],
    [0.4, -1.64, 0.7],
    [0.72, -1.45, 0.75],
    [1.0, -1.1, 0.78],
    [1.1, -0.6, 0.82],
    [1.12, 0.0, 0.88],
    [1.08, 0.6, 0.86],
    [1.0, 1.0, 0.75],
    [0.75, 1.4, 0.5],
    [0.45, 1.65, 0.25],
    [0.2, 1.78, 0.12],
    [0.0, 1.82, 0.1],
];

/// The face's surface: depth at each place.
pub(crate) struct Surface {
    points: Vec<[f64; 2]>,
    /// A weight for each point, then the plane's three coefficients.
    weights: Vec<f64>,
}

impl Surface {
    /// One person's surface: the landmarks vary a little.
    pub(crate) fn of_person(random: &mut Random) -> Self {
        let (nose, relief) = (random.between(0.88, 1.12), random.between(0.92, 1.08));
        let mut points = Vec::new();
        let mut depths = Vec::new();
        for (number, [x, y, z]) in LANDMARKS.into_iter().enumerate() {
            let scale = if (1..7).contains(&number) { nose } else { relief };
            let z = f64::from(z * scale + 0.012 * random.normal());
            for side in if x > 0.0 { &[1.0, -1.0][..] } else { &[1.0] } {
                points.push([f64::from(x * side), f64::from(y)]);
                depths.push(z);
            }
        }
        let weights = solve(&points, &depths);
        Self { points, weights }
    }

    /// The depth at a place in eye distances.
    pub(crate) fn depth(&self, x: f32, y: f32) -> f32 {
        let at = [f64::from(x), f64::from(y)];
        let count = self.points.len();
        let plane = self.weights[count] + self.weights[count + 1] * at[0] + self.weights[count + 2] * at[1];
        let bend: f64 = self
            .points
            .iter()
            .zip(&self.weights)
            .map(|(point, weight)| weight * kernel(*point, at))
            .sum();
        (plane + bend) as f32
    }
}

fn kernel(a: [f64; 2], b: [f64; 2]) -> f64 {
    let squared = (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2);
    if squared > 1e-12 {
        0.5 * squared * squared.ln()
    } else {
        0.0
    }
}

/// The weights of the spline through the points, by Gaussian elimination with partial pivoting.
fn solve(points: &[[f64; 2]], depths: &[f64]) -> Vec<f64> {
    let count = points.len();
    let size = count + 3;
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(size);
    for (point, depth) in points.iter().zip(depths) {
        let mut row: Vec<f64> = points.iter().map(|other| kernel(*point, *other)).collect();
        row.extend([1.0, point[0], point[1], *depth]);
        rows.push(row);
    }
    for k in 0..3 {
        let mut row: Vec<f64> = points.iter().map(|[x, y]| [1.0, *x, *y][k]).collect();
        row.extend([0.0; 4]);
        rows.push(row);
    }
    for column in 0..size {
        let pivot = (column..size).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()));
        rows.swap(column, pivot.unwrap_or(column));
        let head = rows[column].clone();
        for row in rows.iter_mut().skip(column + 1) {
            let factor = row[column] / head[column];
            for (cell, above) in row.iter_mut().zip(&head).skip(column) {
                *cell -= factor * above;
            }
        }
    }
    let mut weights = vec![0.0; size];
    for at in (0..size).rev() {
        let known: f64 = (at + 1..size).map(|k| rows[at][k] * weights[k]).sum();
        weights[at] = (rows[at][size] - known) / rows[at][at];
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_surface_goes_through_the_landmarks_and_the_nose_stands_out() {
        let surface = Surface::of_person(&mut Random::new(1, 1));
        for [x, y, z] in LANDMARKS {
            assert!(
                (surface.depth(x, y) - z).abs() < 0.15,
                "{x} {y}: {}",
                surface.depth(x, y)
            );
        }
        assert!(surface.depth(0.0, 0.61) < surface.depth(0.5, 0.7) - 0.35);
        for y in -15..18 {
            for x in -10..=10 {
                let depth = surface.depth(x as f32 / 10.0, y as f32 / 10.0);
                assert!((-0.8..1.6).contains(&depth), "{x} {y}: {depth}");
            }
        }
    }
}
