//! Pictures of a head on flat or bent sheets: prints, cut-outs, documents, screens.

use faces::Pose;

use crate::canvas::{Canvas, Rgb, Texture, linear};
use crate::geometry::{Rotation, Vector, added, subtracted, unit};
use crate::photograph::Photograph;
use crate::raster::{Grid, Vertex, draw_grid};
use crate::view::View;

/// The camera's distance from a sheet, in eye distances.
const DISTANCE: f32 = 7.0;
const COLUMNS: usize = 33;
const ROWS: usize = 33;
/// A bent sheet covers at most this angle on each side of its axis, in radians.
const MAX_ANGLE: f32 = 1.35;
/// White paper around a print, in eye distances.
const MARGIN: f32 = 0.15;

/// How a print is bent around a cylinder with a radius in eye distances. Its middle is nearest to the camera.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bend {
    Flat,
    /// The cylinder's axis is vertical, as of a print held round a face.
    Upright(f32),
    /// The cylinder's axis is horizontal.
    Level(f32),
}

/// What is cut from a print.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cut {
    /// Nothing: the whole photograph with a margin.
    Whole,
    /// All but the face, and holes for the eyes.
    MaskWithHoles,
}

/// A sheet's surface: edges (left, top, right, bottom) around the point that turns, in eye distances, and its bend.
struct Surface {
    edges: [f32; 4],
    bend: Bend,
    turns_about: Vector,
}

impl Surface {
    /// The grid of the sheet in this pose. Its texture coordinates are places on the sheet in eye distances.
    fn grid(&self, pose: Pose) -> Grid {
        let turn = Rotation::of(pose);
        let [left, top, right, bottom] = self.edges;
        let mut vertices = Vec::with_capacity(COLUMNS * ROWS);
        for row in 0..ROWS {
            for column in 0..COLUMNS {
                let share = |at: usize, of: usize| at as f32 / (of - 1) as f32;
                let x = left + (right - left) * share(column, COLUMNS);
                let y = top + (bottom - top) * share(row, ROWS);
                let (place, normal) = match self.bend {
                    Bend::Flat => ([x, y, 0.0], [0.0, 0.0, -1.0]),
                    Bend::Upright(radius) => {
                        let angle = (x / radius).clamp(-MAX_ANGLE, MAX_ANGLE);
                        let (sin, cos) = angle.sin_cos();
                        ([radius * sin, y, radius * (1.0 - cos)], [sin, 0.0, -cos])
                    }
                    Bend::Level(radius) => {
                        let angle = ((y - 0.4) / radius).clamp(-MAX_ANGLE, MAX_ANGLE);
                        let (sin, cos) = angle.sin_cos();
                        ([x, 0.4 + radius * sin, radius * (1.0 - cos)], [0.0, sin, -cos])
                    }
                };
                let turned = turn.apply(normal);
                let at = added(turn.apply(subtracted(place, self.turns_about)), self.turns_about);
                vertices.push(Vertex {
                    at,
                    texture: [x, y],
                    light: [
                        turned[2].abs(),
                        0.9 + 0.1 * unit([0.4, -0.5, -0.7])[0] * turned[0],
                    ],
                });
            }
        }
        Grid {
            columns: COLUMNS,
            vertices,
        }
    }
}

/// Draws a print of a photograph. `nearer` moves it towards the camera, in eye distances; it turns about
/// `turns_about`.
pub(crate) fn draw_print(
    canvas: &mut Canvas,
    view: &View,
    photograph: &Photograph,
    (bend, cut): (Bend, Cut),
    turns_about: Vector,
    nearer: f32,
) {
    let [left, top, right, bottom] = photograph.edges();
    let reach = match bend {
        Bend::Upright(radius) => (radius * MAX_ANGLE).min(2.6),
        _ => 2.6,
    };
    let tall = match bend {
        Bend::Level(radius) => (radius * MAX_ANGLE).min(2.8),
        _ => 2.8,
    };
    let margin = if cut == Cut::Whole { MARGIN } else { 0.0 };
    let edges = [
        left.max(-reach) - margin,
        top.max(0.4 - tall) - margin,
        right.min(reach) + margin,
        bottom.min(0.4 + tall) + margin,
    ];
    let surface = Surface {
        edges,
        bend,
        turns_about,
    };
    let mut grid = surface.grid(view.pose);
    for vertex in &mut grid.vertices {
        vertex.at[2] -= nearer;
    }
    let (texture, paper) = (&photograph.texture, linear([228, 228, 224]));
    draw_grid(canvas, &grid, view, DISTANCE, |[x, y], [facing, room]| {
        if cut == Cut::MaskWithHoles && is_cut_away(photograph, x, y) {
            return None;
        }
        let on_paper =
            x < edges[0] + margin || y < edges[1] + margin || x > edges[2] - margin || y > edges[3] - margin;
        let [u, v] = photograph.flat_place([x, y]);
        let colour = if on_paper { paper } else { texture.bilinear(u, v) };
        Some(std::array::from_fn(|i| {
            colour[i] * (room + view.light[i] * facing)
        }))
    });
}

/// Whether a place of a mask is outside the face or in the hole of an eye.
fn is_cut_away(photograph: &Photograph, x: f32, y: f32) -> bool {
    let (top, bottom) = (-photograph.above, photograph.below);
    let (u, v) = (
        x / photograph.half_width,
        (y - f32::midpoint(top, bottom)) / ((bottom - top) / 2.0),
    );
    let (eye_x, eye_y) = ((x.abs() - 0.5) / 0.24, y / 0.11);
    u * u + v * v > 1.0 || eye_x * eye_x + eye_y * eye_y < 1.0
}

/// A screen that shows frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    /// Light of the screen's white in comparison with the room's.
    pub(crate) brightness: Rgb,
    /// The share of other light that its glass reflects.
    pub(crate) reflection: f32,
    /// The frame's size on the screen, in comparison with the frame that the camera takes.
    pub(crate) size: f32,
}

/// Draws a screen with a frame. In the middle pose the frame on the screen fits the camera's frame at size 1.
pub(crate) fn draw_screen(canvas: &mut Canvas, view: &View, shown: &Texture, screen: Screen) {
    let (width, height) = (shown.width as f32, shown.height as f32);
    let scale = screen.size / view.eye_px;
    let (half, tall) = (width / 2.0 * scale, height / 2.0 * scale);
    let bezel = 0.12;
    let surface = Surface {
        edges: [-half - bezel, -tall - bezel, half + bezel, tall + bezel],
        bend: Bend::Flat,
        turns_about: [0.0; 3],
    };
    let grid = surface.grid(view.pose);
    let glass = |i: usize| screen.reflection * (0.25 + view.light[i]);
    draw_grid(canvas, &grid, view, DISTANCE, |[x, y], [facing, _]| {
        let inside = x.abs() < half && y.abs() < tall;
        let colour = if inside {
            shown.bilinear((x + half) / scale, (y + tall) / scale)
        } else {
            [0.01; 3]
        };
        Some(std::array::from_fn(|i| {
            colour[i] * screen.brightness[i] * (0.6 + 0.4 * facing) + glass(i)
        }))
    });
}
