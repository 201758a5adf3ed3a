//! Another moment of a sitter: light from one side, another expression, and skin as it looks on another day. A selfie is
//! drawn in another moment than the document's portrait, although the project has one photograph of each sitter. The
//! server would otherwise be right to call the selfie a copy of the portrait.
//!
//! Places are in eye distances from the point between the eyes: x to the right of the picture, y down.

use imaging::Picture;

use super::camera::Random;

/// Light that comes from everywhere, as a share.
const AMBIENT: f32 = 0.45;
/// How much spots of the skin lighten or darken it at most, and their size in eye distances.
const SPOTS: f32 = 0.06;
const SPOT_SIZE: f32 = 0.17;

/// Bumps and hollows of a face: centre, radii, height. Nose, eye sockets, cheek bones, chin, lips.
const RELIEF: [([f32; 2], [f32; 2], f32); 9] = [
    ([0.0, 0.45], [0.16, 0.42], 0.20),
    ([0.0, 0.66], [0.24, 0.13], 0.12),
    ([-0.5, 0.0], [0.27, 0.18], -0.11),
    ([0.5, 0.0], [0.27, 0.18], -0.11),
    ([-0.68, 0.42], [0.3, 0.22], 0.07),
    ([0.68, 0.42], [0.3, 0.22], 0.07),
    ([0.0, 1.5], [0.32, 0.18], 0.09),
    ([0.0, 1.08], [0.36, 0.1], 0.05),
    ([0.0, 1.28], [0.3, 0.06], -0.05),
];
/// The roundness of the head: curvature across and down.
const ROUNDNESS: [f32; 2] = [0.5, 0.16];

/// A moment, chosen by a seed.
pub(crate) struct Moment {
    seed: u64,
    /// The direction to the light, of length 1.
    light: [f32; 3],
    /// How far the corners of the mouth rise, the lips part, and the brows rise, in eye distances.
    expression: [f32; 3],
}

impl Moment {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random(seed ^ 0x006d_6f6d_656e_7473);
        let side = if random.within(1.0) < 0.0 { -1.0 } else { 1.0 };
        let [x, y, z] = [
            side * (0.68 + random.within(0.1)),
            -0.3 + random.within(0.15),
            0.6,
        ];
        let length = (x * x + y * y + z * z).sqrt();
        let smile = if random.within(1.0) < 0.0 { -0.07 } else { 0.06 };
        Self {
            seed,
            light: [x / length, y / length, z / length],
            expression: [
                smile + random.within(0.015),
                0.05 + random.within(0.02),
                0.05 + random.within(0.03),
            ],
        }
    }

    /// How far a point of the face moves with the expression.
    pub(crate) fn displacement(&self, x: f32, y: f32) -> [f32; 2] {
        let near =
            |cx: f32, cy: f32, radius: f32| (-((x - cx).powi(2) + (y - cy).powi(2)) / radius.powi(2)).exp();
        let [smile, parted, brows] = self.expression;
        let corners = near(-0.42, 1.08, 0.2) - near(0.42, 1.08, 0.2);
        let mouth = near(-0.42, 1.08, 0.2) + near(0.42, 1.08, 0.2);
        [
            -corners * smile * 0.8,
            -mouth * smile + near(0.0, 1.35, 0.4) * parted
                - (near(-0.5, -0.3, 0.32) + near(0.5, -0.3, 0.32)) * brows,
        ]
    }

    /// Applies light and skin to a picture whose point between the eyes is at `eyes`.
    pub(crate) fn apply(&self, picture: &mut Picture, eyes: [f32; 2], eye_distance: f32) {
        let spots = self.spots(picture, eye_distance);
        let front = self.brightness(0.0, -0.5);
        let width = picture.width as usize;
        for (at, pixel) in picture.pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let x = ((at % width) as f32 - eyes[0]) / eye_distance;
            let y = ((at / width) as f32 - eyes[1]) / eye_distance;
            let skin = 1.0 + SPOTS * (f32::from(spots.pixels[at * 3]) / 127.5 - 1.0);
            let factor = self.brightness(x, y) / front * skin;
            *pixel = pixel.map(|value| (f32::from(value) * factor) as u8);
        }
    }

    /// The light that a place of the face sends to the camera, 0–1.
    fn brightness(&self, x: f32, y: f32) -> f32 {
        let (mut dx, mut dy) = (
            -ROUNDNESS[0] * x.clamp(-1.3, 1.3),
            -ROUNDNESS[1] * (y - 0.4).clamp(-1.6, 1.6),
        );
        for ([cx, cy], [rx, ry], height) in RELIEF {
            let (u, v) = ((x - cx) / rx, (y - cy) / ry);
            let bump = height * (-u * u - v * v).exp();
            dx -= 2.0 * u / rx * bump;
            dy -= 2.0 * v / ry * bump;
        }
        let length = (dx * dx + dy * dy + 1.0).sqrt();
        let [lx, ly, lz] = self.light;
        let falls = (lz - dx * lx - dy * ly) / length;
        AMBIENT + (1.0 - AMBIENT) * falls.max(0.0)
    }

    /// Soft spots over the whole picture.
    fn spots(&self, picture: &Picture, eye_distance: f32) -> Picture {
        let mut random = Random(self.seed ^ 0x0073_706f_7473);
        let cells = |length: u32| ((length as f32 / (SPOT_SIZE * eye_distance)) as u32).max(2);
        let (columns, rows) = (cells(picture.width), cells(picture.height));
        let pixels = (0..columns * rows).flat_map(|_| [(127.5 + random.within(127.0)) as u8; 3]);
        // The size is right by construction.
        let coarse = Picture::new(columns, rows, pixels.collect());
        coarse.map_or_else(
            || Picture::filled(picture.width, picture.height, [127; 3]),
            |coarse| coarse.resized(picture.width, picture.height),
        )
    }
}
