//! Draws grids of textured points with a perspective camera and a depth buffer.

use crate::canvas::{Canvas, Rgb};
use crate::geometry::Vector;
use crate::view::View;

/// A point of a grid.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Vertex {
    /// Place relative to the camera's axis, in eye distances; z = 0 is where the eyes are.
    pub(crate) at: Vector,
    /// What the shader gets, interpolated: two coordinates, and two shares of light.
    pub(crate) texture: [f32; 2],
    pub(crate) light: [f32; 2],
}

/// Points in rows; four neighbours are two triangles.
#[derive(Debug, Clone)]
pub(crate) struct Grid {
    pub(crate) columns: usize,
    pub(crate) vertices: Vec<Vertex>,
}

/// A point on the frame: pixels, the reciprocal of the distance, and the attributes divided by the distance.
#[derive(Clone, Copy)]
struct Corner {
    x: f32,
    y: f32,
    near: f32,
    attributes: [f32; 4],
}

/// Draws a grid from a camera `distance` eye distances away. The shader gives the colour for texture coordinates and
/// shares of light, or `None` for a hole.
pub(crate) fn draw_grid(
    canvas: &mut Canvas,
    grid: &Grid,
    view: &View,
    distance: f32,
    shader: impl Fn([f32; 2], [f32; 2]) -> Option<Rgb>,
) {
    let [at_x, at_y] = view.centre();
    let corners: Vec<Corner> = grid
        .vertices
        .iter()
        .map(|vertex| {
            let near = 1.0 / (distance + vertex.at[2]).max(0.2);
            let scale = view.eye_px * distance * near;
            Corner {
                x: at_x + vertex.at[0] * scale,
                y: at_y + vertex.at[1] * scale,
                near,
                attributes: [
                    vertex.texture[0] * near,
                    vertex.texture[1] * near,
                    vertex.light[0] * near,
                    vertex.light[1] * near,
                ],
            }
        })
        .collect();
    let rows = corners.len() / grid.columns.max(1);
    for row in 1..rows {
        for column in 1..grid.columns {
            let at = |r: usize, c: usize| corners[r * grid.columns + c];
            let (a, b) = (at(row - 1, column - 1), at(row - 1, column));
            let (c, d) = (at(row, column - 1), at(row, column));
            triangle(canvas, [a, b, c], distance, &shader);
            triangle(canvas, [d, c, b], distance, &shader);
        }
    }
}

fn triangle(
    canvas: &mut Canvas,
    [a, b, c]: [Corner; 3],
    distance: f32,
    shader: impl Fn([f32; 2], [f32; 2]) -> Option<Rgb>,
) {
    let area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
    if !area.is_finite() || area.abs() < 1e-6 {
        return;
    }
    let low = |p: f32, q: f32, r: f32| (p.min(q).min(r) - 0.5).floor().max(0.0) as usize;
    let high =
        |p: f32, q: f32, r: f32, end: usize| ((p.max(q).max(r) + 0.5).ceil().max(0.0) as usize).min(end);
    let (left, top) = (low(a.x, b.x, c.x), low(a.y, b.y, c.y));
    let (right, bottom) = (
        high(a.x, b.x, c.x, canvas.width),
        high(a.y, b.y, c.y, canvas.height),
    );
    for y in top..bottom {
        let py = y as f32 + 0.5;
        for x in left..right {
            let px = x as f32 + 0.5;
            let wb = ((px - a.x) * (c.y - a.y) - (py - a.y) * (c.x - a.x)) / area;
            let wc = ((b.x - a.x) * (py - a.y) - (b.y - a.y) * (px - a.x)) / area;
            let wa = 1.0 - wb - wc;
            // Edges belong to both triangles, so that no pixel between them is missed.
            if wa < -1e-4 || wb < -1e-4 || wc < -1e-4 {
                continue;
            }
            let near = wa * a.near + wb * b.near + wc * c.near;
            let depth = 1.0 / near;
            if depth - distance >= canvas.depth[y * canvas.width + x] {
                continue;
            }
            let value =
                |i: usize| (wa * a.attributes[i] + wb * b.attributes[i] + wc * c.attributes[i]) * depth;
            if let Some(colour) = shader([value(0), value(1)], [value(2), value(3)]) {
                canvas.set(x, y, depth - distance, colour);
            }
        }
    }
}
