//! Simulates a phone's picture of a document on a table: slight perspective, uneven light, noise, JPEG.

use anyhow::{Context, Result};
use imaging::{Homography, Picture, Point};

/// The picture of a document on a table, as a JPEG file. The same seed gives the same bytes.
pub(crate) fn photograph(document: &Picture, seed: u64) -> Result<Vec<u8>> {
    let mut random = Random(seed);
    let (width, height) = (document.width as f32, document.height as f32);
    let (scene_width, scene_height) = (
        document.width + document.width / 7,
        document.height + document.height / 6,
    );
    let (left, top) = (width / 14.0, height / 12.0);
    let mut corner = |x: f32, y: f32| {
        Point::new(
            left + x + random.within(0.018) * width,
            top + y + random.within(0.018) * width,
        )
    };
    let corners = [
        corner(0.0, 0.0),
        corner(width, 0.0),
        corner(width, height),
        corner(0.0, height),
    ];
    let flat = [
        Point::new(0.0, 0.0),
        Point::new(width, 0.0),
        Point::new(width, height),
        Point::new(0.0, height),
    ];
    let map = Homography::between(corners, flat).context("the corners of a document lie on a line")?;
    let table = [
        74 + random.up_to(40),
        62 + random.up_to(30),
        54 + random.up_to(30),
    ];
    let mut scene = document.warp(&map, scene_width, scene_height, table);
    light(
        &mut scene,
        [random.within(0.10), random.within(0.10)],
        2.2,
        &mut random,
    );
    jpeg(&scene, 90)
}

/// Applies light that falls off along `slope` (share of brightness from edge to edge), and sensor noise with
/// this standard deviation in grey levels.
pub(crate) fn light(picture: &mut Picture, slope: [f32; 2], noise: f32, random: &mut Random) {
    let (width, height) = (picture.width as usize, picture.height as f32);
    for (y, row) in picture.pixels.chunks_exact_mut(width * 3).enumerate() {
        let down = 1.0 + slope[1] * (y as f32 / height - 0.5);
        for (x, pixel) in row.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let factor = down + slope[0] * (x as f32 / width as f32 - 0.5);
            let grain = random.gaussian() * noise;
            *pixel = pixel.map(|channel| (f32::from(channel) * factor + grain) as u8);
        }
    }
}

pub(crate) fn jpeg(picture: &Picture, quality: u8) -> Result<Vec<u8>> {
    imaging::encode_jpeg(picture, quality).context("encoding a JPEG")
}

/// A deterministic random generator (SplitMix64), which gives the same numbers on every machine and with all
/// library versions.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from −`limit` to `limit`.
    pub(crate) fn within(&mut self, limit: f32) -> f32 {
        ((self.next() >> 40) as f32 / (1_u64 << 23) as f32 - 1.0) * limit
    }

    fn up_to(&mut self, limit: u8) -> u8 {
        (self.next() % u64::from(limit)) as u8
    }

    /// An approximately normal number (mean 0, deviation 1): the sum of four uniform ones.
    fn gaussian(&mut self) -> f32 {
        let bits = self.next();
        let sum: u64 = (0..4).map(|part| bits >> (16 * part) & 0xffff).sum();
        (sum as f32 / 65536.0 - 2.0) * 1.732
    }
}
