//! Faces for the specimens. They are cut out of the installed package's sample photographs, and turned by
//! their mesh for the selfie. The repository contains only the positions of the eyes in those photographs.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use imaging::{Homography, Limits, Picture, Point};
use inference::{Input, Manifest, ModelName, Models};

use super::camera::{self, Random};
use super::moment::Moment;

/// A face in a sample photograph: the photograph's number, then the centres of the eye on its left and on its
/// right. All have 68 px or more between the eyes, and all are different people.
const SITTERS: [(usize, [f32; 2], [f32; 2]); 20] = [
    (6, [322.0, 610.0], [422.0, 599.0]),
    (6, [1534.0, 374.0], [1628.0, 396.0]),
    (6, [1227.0, 430.0], [1325.0, 431.0]),
    (6, [702.0, 456.0], [795.0, 450.0]),
    (3, [630.0, 433.0], [722.0, 434.0]),
    (3, [1119.0, 321.0], [1215.0, 341.0]),
    (4, [708.0, 151.0], [776.0, 187.0]),
    (5, [845.0, 193.0], [917.0, 205.0]),
    (5, [1150.0, 296.0], [1229.0, 295.0]),
    (5, [1440.0, 511.0], [1525.0, 495.0]),
    (5, [422.0, 993.0], [528.0, 981.0]),
    (1, [443.0, 457.0], [518.0, 458.0]),
    (4, [1319.0, 232.0], [1384.0, 269.0]),
    (4, [320.0, 318.0], [390.0, 285.0]),
    (5, [677.0, 515.0], [745.0, 516.0]),
    (4, [1010.0, 279.0], [1078.0, 288.0]),
    (2, [1487.0, 280.0], [1568.0, 255.0]),
    (1, [874.0, 554.0], [944.0, 515.0]),
    (2, [949.0, 339.0], [1033.0, 338.0]),
    (3, [1553.0, 413.0], [1652.0, 405.0]),
];

/// The sample photographs, and the models with the face mesh.
pub(crate) struct Studio {
    photographs: Vec<Picture>,
    models: Models,
}

/// A face with its mesh, in pixels of its photograph.
pub(crate) struct Sitter<'a> {
    photograph: &'a Picture,
    eyes: Point,
    eye_distance: f32,
    /// Direction from the left to the right eye of the picture: cosine and sine.
    level: [f32; 2],
    mesh: Vec<[f32; 3]>,
    /// Positive if the face looks to the right of the picture.
    facing: f32,
}

/// The view of a sitter.
pub(crate) struct View {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) eye_distance: f32,
    /// The position of the point between the eyes, as shares of width and height.
    pub(crate) eyes_at: [f32; 2],
    /// The head's rotation about its vertical axis and its nod, in degrees.
    pub(crate) turn: [f32; 2],
    /// Another moment than the photograph's; `None` draws the photograph's own.
    pub(crate) moment: Option<Moment>,
    /// The colour of the wall behind the sitter; `None` retains the photograph's background.
    pub(crate) wall: Option<[u8; 3]>,
}

/// The map to the photograph is calculated on a grid of this many pixels, and interpolated between.
const CELL: usize = 8;

impl Studio {
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        let models = Models::open(dir, 1)?;
        let manifest = Manifest::read(dir)?;
        let photographs = (1..=6)
            .map(|number| {
                let bytes = std::fs::read(manifest.file(dir, &format!("sample{number}"))?)?;
                Ok(imaging::decode(&bytes, &Limits::default())?.picture)
            })
            .collect::<Result<_>>()
            .context("reading the sample photographs")?;
        Ok(Self { photographs, models })
    }

    /// Computes the mesh of a sitter from the sample photographs.
    pub(crate) fn sitter(&self, number: usize) -> Result<Sitter<'_>> {
        let (photograph, left, right) = SITTERS[number];
        self.sit(&self.photographs[photograph - 1], left, right)
            .with_context(|| format!("sitter {number}"))
    }

    /// Computes the mesh of the face with these eyes, which are on the left and on the right of the picture.
    pub(crate) fn sit<'a>(
        &self,
        photograph: &'a Picture,
        left: [f32; 2],
        right: [f32; 2],
    ) -> Result<Sitter<'a>> {
        const SIDE: u32 = 192;
        let [dx, dy] = [right[0] - left[0], right[1] - left[1]];
        let eye_distance = dx.hypot(dy);
        let level = [dx / eye_distance, dy / eye_distance];
        let eyes = Point::new((left[0] + right[0]) / 2.0, (left[1] + right[1]) / 2.0);
        // The mesh needs an upright face in a window 1.5 times its size.
        let scale = eye_distance * 3.4 / SIDE as f32;
        let place = |x: f32, y: f32| {
            let (x, y) = (
                (x - SIDE as f32 / 2.0) * scale,
                (y - SIDE as f32 / 2.0) * scale + eye_distance * 0.5,
            );
            Point::new(
                eyes.x + level[0] * x - level[1] * y,
                eyes.y + level[1] * x + level[0] * y,
            )
        };
        let end = SIDE as f32;
        let corners = [place(0.0, 0.0), place(end, 0.0), place(end, end), place(0.0, end)];
        let map = Homography::from_rectangle(SIDE, SIDE, corners).context("a face without extent")?;
        let face = photograph.warp(&map, SIDE, SIDE, [0; 3]);
        let data: Vec<f32> = face
            .pixels
            .iter()
            .map(|&value| f32::from(value) / 255.0)
            .collect();
        let outputs = self.models.run(
            ModelName::FaceMesh,
            Input {
                shape: &[1, 192, 192, 3],
                data: &data,
            },
        )?;
        let [points, flag] = outputs.as_slice() else {
            anyhow::bail!("FaceMesh gave {} outputs", outputs.len())
        };
        ensure!(flag.data[0] > 0.5, "no face where it should be");
        let mesh: Vec<[f32; 3]> = points
            .data
            .as_chunks::<3>()
            .0
            .iter()
            .map(|&[x, y, z]| {
                let at = place(x, y);
                [at.x, at.y, z * scale]
            })
            .collect();
        // The position of the tip of the nose between the two edges of the face.
        let across =
            |point: usize| (mesh[point][0] - eyes.x) * level[0] + (mesh[point][1] - eyes.y) * level[1];
        let facing = across(1) - (across(234) + across(454)) / 2.0;
        Ok(Sitter {
            photograph,
            eyes,
            eye_distance,
            level,
            mesh,
            facing,
        })
    }
}

impl Sitter<'_> {
    /// The turn that moves the head `degrees` towards the camera and nods it by `nod` degrees.
    pub(crate) fn towards_camera(&self, degrees: f32, nod: f32) -> [f32; 2] {
        [if self.facing > 0.0 { -degrees } else { degrees }, nod]
    }

    /// Draws a view with light and noise. The same seed gives the same pixels.
    pub(crate) fn picture(&self, view: &View, seed: u64) -> Picture {
        let mut random = Random(seed);
        let mut sharp = self.resample(view);
        if let Some(moment) = &view.moment {
            let eyes = [
                view.eyes_at[0] * view.width as f32,
                view.eyes_at[1] * view.height as f32,
            ];
            moment.apply(&mut sharp, eyes, view.eye_distance);
        }
        let mut picture = match view.wall {
            Some(wall) => self.before_wall(&sharp, view, wall),
            None => sharp,
        };
        camera::light(
            &mut picture,
            [random.within(0.22), random.within(0.12)],
            1.6,
            &mut random,
        );
        picture
    }

    /// The photograph resampled for this view, with the head turned.
    fn resample(&self, view: &View) -> Picture {
        let moves = self.moves(view);
        let (columns, rows) = (view.width as usize / CELL + 2, view.height as usize / CELL + 2);
        let nodes: Vec<Point> = (0..columns * rows)
            .map(|node| {
                self.source(
                    view,
                    &moves,
                    (node % columns * CELL) as f32,
                    (node / columns * CELL) as f32,
                )
            })
            .collect();
        let mut picture = Picture::filled(view.width, view.height, [0; 3]);
        // The four corners of a cell decide the source of its pixels.
        for row in 0..rows - 1 {
            for column in 0..columns - 1 {
                let node = row * columns + column;
                let quad = [
                    nodes[node],
                    nodes[node + 1],
                    nodes[node + columns + 1],
                    nodes[node + columns],
                ];
                self.fill_cell(&mut picture, column * CELL, row * CELL, quad);
            }
        }
        picture
    }

    fn fill_cell(&self, picture: &mut Picture, left: usize, top: usize, quad: [Point; 4]) {
        let photograph = self.photograph;
        let (width, height) = (photograph.width as usize, photograph.height as usize);
        let at = |from: f32, to: f32, share: f32| from + (to - from) * share;
        for y in top..(top + CELL).min(picture.height as usize) {
            let down = (y - top) as f32 / CELL as f32;
            let (x0, y0) = (at(quad[0].x, quad[3].x, down), at(quad[0].y, quad[3].y, down));
            let (x1, y1) = (at(quad[1].x, quad[2].x, down), at(quad[1].y, quad[2].y, down));
            for x in left..(left + CELL).min(picture.width as usize) {
                let across = (x - left) as f32 / CELL as f32;
                let from_x = at(x0, x1, across).clamp(0.0, (width - 2) as f32);
                let from_y = at(y0, y1, across).clamp(0.0, (height - 2) as f32);
                let (column, row) = (from_x as usize, from_y as usize);
                let (share_x, share_y) = (from_x - column as f32, from_y - row as f32);
                let source = (row * width + column) * 3;
                let target = (y * picture.width as usize + x) * 3;
                for channel in 0..3 {
                    let value = |offset: usize| f32::from(photograph.pixels[source + offset + channel]);
                    let upper = at(value(0), value(3), share_x);
                    let lower = at(value(width * 3), value(width * 3 + 3), share_x);
                    picture.pixels[target + channel] = (at(upper, lower, share_y) + 0.5) as u8;
                }
            }
        }
    }

    /// Maps a point of the view to the photograph.
    fn source(&self, view: &View, moves: &[([f32; 2], [f32; 2])], x: f32, y: f32) -> Point {
        let scale = self.eye_distance / view.eye_distance;
        let x = (x - view.eyes_at[0] * view.width as f32) * scale;
        let y = (y - view.eyes_at[1] * view.height as f32) * scale;
        let [cos, sin] = self.level;
        let (x, y) = (self.eyes.x + cos * x - sin * y, self.eyes.y + sin * x + cos * y);
        // The displacement is the mean of the nearby mesh points', and fades away from the face.
        let reach = (self.eye_distance * 0.28).powi(2) * 2.0;
        let (mut sum, mut weights) = ([0.0; 2], 0.6);
        for ([to_x, to_y], by) in moves {
            let squared = (x - to_x).powi(2) + (y - to_y).powi(2);
            if squared < reach * 6.0 {
                let weight = (-squared / reach).exp();
                weights += weight;
                sum = [sum[0] + by[0] * weight, sum[1] + by[1] * weight];
            }
        }
        Point::new(x - sum[0] / weights, y - sum[1] / weights)
    }

    /// The position of each mesh point after the head's turn and the change of expression, with its displacement.
    fn moves(&self, view: &View) -> Vec<([f32; 2], [f32; 2])> {
        let [turn, nod] = view.turn;
        let count = self.mesh.len() as f32;
        let centre: [f32; 3] =
            std::array::from_fn(|axis| self.mesh.iter().map(|point| point[axis]).sum::<f32>() / count);
        let [cos, sin] = self.level;
        let (turn, nod) = (turn.to_radians(), nod.to_radians());
        self.mesh
            .iter()
            .map(|point| {
                let [dx, dy, z] = std::array::from_fn(|axis| point[axis] - centre[axis]);
                let (x, y) = (cos * dx + sin * dy, cos * dy - sin * dx);
                let [shift_x, shift_y] = view.moment.as_ref().map_or([0.0; 2], |moment| {
                    let [dx, dy] = [point[0] - self.eyes.x, point[1] - self.eyes.y];
                    let place =
                        [cos * dx + sin * dy, cos * dy - sin * dx].map(|value| value / self.eye_distance);
                    moment
                        .displacement(place[0], place[1])
                        .map(|value| value * self.eye_distance)
                });
                let by_x = x * (turn.cos() - 1.0) - z * turn.sin() + shift_x;
                let by_y = y * (nod.cos() - 1.0) - z * nod.sin() + shift_y;
                let by = [cos * by_x - sin * by_y, sin * by_x + cos * by_y];
                ([point[0] + by[0], point[1] + by[1]], by)
            })
            .collect()
    }

    /// Draws head and shoulders in front of a wall. Other pixels are replaced by a blurred copy of
    /// themselves, mixed with the wall's colour.
    fn before_wall(&self, sharp: &Picture, view: &View, wall: [u8; 3]) -> Picture {
        let coarse = sharp
            .resized(view.width / 60, view.height / 60)
            .resized(view.width, view.height);
        let mut picture = sharp.clone();
        let width = view.width as usize;
        let (eyes_x, eyes_y) = (
            view.eyes_at[0] * view.width as f32,
            view.eyes_at[1] * view.height as f32,
        );
        for (index, pixel) in picture.pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let x = ((index % width) as f32 - eyes_x) / view.eye_distance;
            let y = ((index / width) as f32 - eyes_y) / view.eye_distance;
            let share = outline(x, y);
            if share < 1.0 {
                for channel in 0..3 {
                    let soft = f32::from(coarse.pixels[index * 3 + channel]) * 0.25
                        + f32::from(wall[channel]) * 0.75;
                    pixel[channel] = (soft + (f32::from(pixel[channel]) - soft) * share) as u8;
                }
            }
        }
        picture
    }
}

/// The weight of a pixel: 1 inside head and shoulders, 0 outside, with a soft edge. The unit is the eye
/// distance, and the origin is the point between the eyes.
fn outline(x: f32, y: f32) -> f32 {
    let head = (x / 1.45).powi(2) + ((y - 0.25) / 1.95).powi(2);
    // This is the area from the chin down to the shoulders.
    let shoulders = if y > 1.5 {
        (x / (1.1 + (y - 1.5) * 0.9)).powi(2)
    } else {
        9.0
    };
    ((1.35 - head.min(shoulders)) / 0.5).clamp(0.0, 1.0)
}
