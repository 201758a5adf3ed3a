//! A head as a mesh of triangles with a depth buffer and a perspective camera. Its depths are typical ones at
//! landmarks, with a thin-plate spline between them. The photograph is interpolated with cubic weights, also for neck
//! and shoulders.
//!
//! [`crate::smooth`] draws heads of another shape in another way. Thresholds are chosen with one and reported with the
//! other.

use crate::canvas::{Canvas, Rgb};
use crate::depths::Surface;
use crate::geometry::{Rotation, Vector, added, cross, dot, subtracted, unit};
use crate::photograph::Photograph;
use crate::random::Random;
use crate::raster::{Grid, Vertex, draw_grid};
use crate::view::View;

/// Half the head's width at heights, both in eye distances, for a chin at 1.75.
const OUTLINE: [[f32; 2]; 15] = [
    [-1.7, 0.0],
    [-1.68, 0.22],
    [-1.62, 0.44],
    [-1.45, 0.74],
    [-1.1, 1.0],
    [-0.6, 1.1],
    [0.0, 1.12],
    [0.5, 1.1],
    [0.9, 1.03],
    [1.2, 0.9],
    [1.45, 0.7],
    [1.62, 0.48],
    [1.74, 0.27],
    [1.8, 0.12],
    [1.82, 0.0],
];
/// Half the width of neck and shoulders at heights below the chin.
const SHOULDERS: [[f32; 2]; 7] = [
    [-0.6, 0.62],
    [0.15, 0.64],
    [0.45, 0.75],
    [0.7, 1.3],
    [0.95, 2.1],
    [1.5, 2.6],
    [4.0, 2.8],
];
const ROWS: usize = 64;
/// Columns of the front, and of the back on each side.
const FRONT: usize = 46;
const BACK: usize = 7;
const BACK_DEPTH: f32 = 1.45;
/// The head turns about this point.
const PIVOT: Vector = [0.0, 0.85, 1.15];

/// The shape of one head.
#[derive(Debug, Clone)]
pub(crate) struct MeshHead {
    photograph: Photograph,
    head: Grid,
    normals: Vec<Vector>,
    shoulders: Grid,
    /// The camera's distance in eye distances.
    distance: f32,
    lamp: Vector,
    lamp_share: f32,
    cloth: Rgb,
}

impl MeshHead {
    pub(crate) fn new(photograph: Photograph, seed: u64) -> Self {
        let mut random = Random::new(seed, 0x3e54);
        let head = head(&photograph, &mut random);
        let normals = normals(&head);
        let shoulders = shoulders(&photograph);
        let grey = random.between(0.02, 0.4);
        Self {
            head,
            normals,
            shoulders,
            distance: random.between(6.0, 9.5),
            lamp: unit([random.between(-1.0, 1.0), random.between(-1.0, 0.0), -0.8]),
            lamp_share: random.between(0.05, 0.25),
            cloth: std::array::from_fn(|_| grey * random.between(0.6, 1.4)),
            photograph,
        }
    }

    /// Draws the head and the shoulders.
    pub(crate) fn draw(&self, canvas: &mut Canvas, view: &View) {
        let texture = &self.photograph.texture;
        let screen = view.light;
        draw_grid(
            canvas,
            &self.shoulders,
            view,
            self.distance,
            |[u, v], [facing, _]| {
                let colour = if texture.contains(u, v) {
                    texture.cubic(u, v)
                } else {
                    self.cloth
                };
                Some(std::array::from_fn(|i| {
                    colour[i] * (1.0 + 0.6 * screen[i] * facing)
                }))
            },
        );
        let turn = Rotation::of(view.pose);
        let mut grid = self.head.clone();
        for (vertex, normal) in grid.vertices.iter_mut().zip(&self.normals) {
            vertex.at = added(turn.apply(subtracted(vertex.at, PIVOT)), PIVOT);
            let towards = turn.apply(*normal);
            let change = dot(towards, self.lamp).max(0.0) - dot(*normal, self.lamp).max(0.0);
            vertex.light = [(-towards[2]).max(0.0), 1.0 + self.lamp_share * change];
        }
        draw_grid(canvas, &grid, view, self.distance, |[u, v], [facing, room]| {
            let colour = texture.cubic(u, v);
            Some(std::array::from_fn(|i| colour[i] * (room + screen[i] * facing)))
        });
    }
}

/// The value of a table at a place, linear between its rows.
fn interpolated(table: &[[f32; 2]], at: f32) -> f32 {
    let next = table.partition_point(|[place, _]| *place < at);
    match (
        next.checked_sub(1).and_then(|before| table.get(before)),
        table.get(next),
    ) {
        (Some([y0, v0]), Some([y1, v1])) => v0 + (v1 - v0) * (at - y0) / (y1 - y0).max(1e-6),
        (Some([_, value]), None) | (None, Some([_, value])) => *value,
        (None, None) => 0.0,
    }
}

/// The surface of the head: a row of the grid for each height, from its back on the left over the face to the right.
fn head(photograph: &Photograph, random: &mut Random) -> Grid {
    let surface = Surface::of_person(random);
    let hair = random.between(0.0, 0.12);
    let wide = photograph.half_width / 1.1;
    let columns = FRONT + 1 + 2 * BACK;
    let mut vertices = Vec::with_capacity((ROWS + 1) * columns);
    for row in 0..=ROWS {
        // Rows are denser at the top and at the chin, where the outline is round.
        let share = 0.5 - 0.5 * (row as f32 / ROWS as f32 * std::f32::consts::PI).cos();
        let y = -1.7 + share * 3.52;
        let half = interpolated(&OUTLINE, y);
        // The part above the eyes grows with the forehead, the part below with the chin.
        let stretch = if y < 0.0 {
            photograph.above / 1.05
        } else {
            photograph.below / 1.75
        };
        let high = if y < 0.0 {
            1.0 + hair * (-y / 1.7).powi(2)
        } else {
            1.0
        };
        for column in 0..columns {
            let side = (column as f32 - (columns - 1) as f32 / 2.0) / (FRONT as f32 / 2.0);
            let (place, behind) = if side.abs() <= 1.0 {
                ((side * std::f32::consts::FRAC_PI_2).sin(), 0.0)
            } else {
                let angle =
                    (side.abs() - 1.0) * FRONT as f32 / 2.0 / BACK as f32 * std::f32::consts::FRAC_PI_2;
                (side.signum() * angle.cos(), angle.sin())
            };
            let seen = [place * half, y];
            let edge = if behind > 0.0 {
                side.signum() * half
            } else {
                seen[0]
            };
            let depth = surface.depth(edge, y) + behind * BACK_DEPTH * (0.4 + 0.6 * half / 1.12);
            let bulge = 1.0 + hair * (behind * 1.6).min(1.0) * ((0.5 - y) / 1.2).clamp(0.0, 1.0);
            let at = [seen[0] * wide * bulge, y * stretch * high, depth];
            // What the photograph does not show has the colours inside of the edge, mirrored.
            let shown = [
                if behind > 0.0 {
                    side.signum() * half * (0.97 - 0.25 * behind)
                } else {
                    seen[0] * 0.97
                },
                y.max(-1.62),
            ];
            let shown_depth = surface.depth(shown[0], y);
            vertices.push(Vertex {
                at,
                texture: photograph.place([shown[0] * wide, shown[1] * stretch, shown_depth]),
                light: [0.0; 2],
            });
        }
    }
    Grid { columns, vertices }
}

/// The outward direction at each point of the head.
fn normals(grid: &Grid) -> Vec<Vector> {
    let (columns, rows) = (grid.columns, grid.vertices.len() / grid.columns);
    let at = |row: usize, column: usize| grid.vertices[row * columns + column].at;
    (0..grid.vertices.len())
        .map(|place| {
            let (row, column) = (place / columns, place % columns);
            let across = subtracted(
                at(row, (column + 1).min(columns - 1)),
                at(row, column.saturating_sub(1)),
            );
            let down = subtracted(
                at((row + 1).min(rows - 1), column),
                at(row.saturating_sub(1), column),
            );
            // Towards the camera on the front of the head.
            unit(cross(down, across))
        })
        .collect()
}

fn shoulders(photograph: &Photograph) -> Grid {
    let columns = 25;
    let mut vertices = Vec::new();
    for row in 0..=24 {
        let y = -0.6 + row as f32 / 24.0 * 4.6;
        let half = interpolated(&SHOULDERS, y);
        for column in 0..columns {
            let side = column as f32 / (columns - 1) as f32 * 2.0 - 1.0;
            let round = (1.0 - side * side).max(0.0).sqrt();
            let place = [side * half, photograph.below + y, 1.5 - 0.75 * round];
            vertices.push(Vertex {
                at: place,
                texture: photograph.flat_place([place[0] * 0.94, place[1]]),
                light: [round, 1.0],
            });
        }
    }
    Grid { columns, vertices }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_linear_between_rows_and_end_at_their_ends() {
        assert_eq!(interpolated(&OUTLINE, 0.25), 1.11);
        assert_eq!(interpolated(&OUTLINE, -9.0), 0.0);
        assert_eq!(interpolated(&SHOULDERS, 9.0), 2.8);
        assert_eq!(interpolated(&[], 1.0), 0.0);
    }
}
