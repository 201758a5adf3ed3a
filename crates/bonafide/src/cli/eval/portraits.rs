//! Renders the portrait of an identity document from a photograph: printed well, worn, or printed with a coarse
//! screen, on a card, and photographed by a phone. `bonafide eval faces --portraits` compares the result with other
//! photographs of the person.
//!
//! It writes no file, and the same photograph always gives the same pictures. The matcher's threshold was chosen on
//! the pictures of another renderer.

use std::f32::consts::TAU;

use anyhow::Context;
use faces::Face;
use imaging::{Homography, Picture, Point};

/// How a portrait was printed and what happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Print {
    /// Continuous tones, hardly faded.
    Clean,
    /// Faded, yellowed, scratched, under lines of a security pattern.
    Worn,
    /// A coarse screen of coloured dots.
    Screened,
}

impl Print {
    pub(super) const ALL: [Self; 3] = [Self::Clean, Self::Worn, Self::Screened];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Worn => "worn",
            Self::Screened => "screened",
        }
    }
}

/// The heights of portraits in pixels of the phone's picture.
const HEIGHTS: (f32, f32) = (160.0, 340.0);
/// The portrait's width by its height (ICAO 9303-3: 35 × 45 mm), and by the distance between the eyes.
const ASPECT: f32 = 35.0 / 45.0;
const WIDTH_BY_EYES: f32 = 3.7;
/// The eyes' height in the portrait, as a share from the top.
const EYE_LEVEL: f32 = 0.46;
/// The card's colour, and the wall's behind a person whose photograph ends too early.
const CARD: [u8; 3] = [226, 222, 206];
const WALL: [u8; 3] = [205, 208, 214];

/// A phone's picture of a document with the face's portrait.
pub(super) fn photographed(
    picture: &Picture,
    face: &Face,
    print: Print,
    seed: u64,
) -> anyhow::Result<Vec<u8>> {
    let mut random = Random(seed ^ (print as u64).wrapping_mul(0x51ed_270b));
    let height = random.between(HEIGHTS.0, HEIGHTS.1);
    let mut portrait = portrait(picture, face, height);
    match print {
        Print::Clean => tone(&mut portrait, [0.94, 0.93, 0.92], 8.0, 0.9),
        Print::Worn => {
            let fade = random.between(0.42, 0.68);
            let floor = random.between(40.0, 70.0);
            tone(
                &mut portrait,
                [fade, fade * 0.97, fade * 0.86],
                floor,
                random.between(0.3, 0.7),
            );
            lines(&mut portrait, &mut random);
            scratches(&mut portrait, &mut random);
        }
        Print::Screened => {
            let colour = if random.between(0.0, 1.0) < 0.5 { 0.0 } else { 0.8 };
            tone(&mut portrait, [0.9, 0.9, 0.9], 14.0, colour);
            portrait = screened(&portrait, random.between(2.2, 3.6), &mut random);
        }
    }
    let softness = match print {
        Print::Clean => 1.1,
        Print::Worn => random.between(1.2, 1.7),
        Print::Screened => random.between(1.1, 1.4),
    };
    let mut scene = on_card(&soften(&portrait, softness), &mut random);
    let noise = if print == Print::Clean { 2.0 } else { 4.0 };
    let glare = if print == Print::Clean {
        0.0
    } else {
        random.between(0.0, 46.0)
    };
    light(&mut scene, noise, glare, &mut random);
    let quality = random.between(70.0, 90.0) as u8;
    imaging::encode_jpeg(&scene, quality).context("encoding a JPEG")
}

/// The face cut out as in a document, upright, `height` pixels high.
fn portrait(picture: &Picture, face: &Face, height: f32) -> Picture {
    let (right, left) = (face.eyes.right, face.eyes.left);
    let width = height * ASPECT;
    // Photograph pixels per portrait pixel. The photograph is reduced first, so that sampling doesn't alias.
    let scale = right.distance(left).max(1.0) * WIDTH_BY_EYES / width;
    let reduction = scale.max(1.0);
    let reduced = picture.resized(
        (picture.width as f32 / reduction).round() as u32,
        (picture.height as f32 / reduction).round() as u32,
    );
    let angle = (left.y - right.y).atan2(left.x - right.x);
    let scale = scale / reduction;
    let (cos, sin) = (scale * angle.cos(), scale * angle.sin());
    let middle = Point::new(
        f32::midpoint(left.x, right.x) / reduction,
        f32::midpoint(left.y, right.y) / reduction,
    );
    let (at_x, at_y) = (width / 2.0, height * EYE_LEVEL);
    let map = Homography([
        [cos, -sin, middle.x - cos * at_x + sin * at_y].map(f64::from),
        [sin, cos, middle.y - sin * at_x - cos * at_y].map(f64::from),
        [0.0, 0.0, 1.0],
    ]);
    reduced.warp(&map, width as u32, height as u32, WALL)
}

/// Scales each channel, lifts the darkest tone to `floor`, and keeps this share of the colour.
fn tone(picture: &mut Picture, gains: [f32; 3], floor: f32, colour: f32) {
    for pixel in picture.pixels.as_chunks_mut::<3>().0 {
        let grey = pixel.iter().map(|&value| f32::from(value)).sum::<f32>() / 3.0;
        for (value, gain) in pixel.iter_mut().zip(gains) {
            let shown = grey + (f32::from(*value) - grey) * colour;
            *value = (floor + shown * gain * (255.0 - floor) / 255.0) as u8;
        }
    }
}

/// Waves of thin coloured lines, as security printing lays them over a portrait.
fn lines(picture: &mut Picture, random: &mut Random) {
    let width = picture.width as usize;
    for _ in 0..3 {
        let (period, swing, wave) = (
            random.between(7.0, 15.0),
            random.between(3.0, 14.0),
            random.between(40.0, 120.0),
        );
        let (phase, share) = (random.between(0.0, TAU), random.between(0.1, 0.25));
        let colour = [0; 3].map(|_: u8| random.between(70.0, 190.0));
        for (at, pixel) in picture.pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let (x, y) = ((at % width) as f32, (at / width) as f32);
            let height = y + swing * (TAU * x / wave + phase).sin();
            if height.rem_euclid(period) < 1.3 {
                for (value, colour) in pixel.iter_mut().zip(colour) {
                    *value = (f32::from(*value) * (1.0 - share) + colour * share) as u8;
                }
            }
        }
    }
}

/// Straight light scratches.
fn scratches(picture: &mut Picture, random: &mut Random) {
    let (width, height) = (picture.width as f32, picture.height as f32);
    for _ in 0..6 {
        let (mut x, mut y) = (random.between(0.0, width), random.between(0.0, height));
        let angle = random.between(0.0, TAU);
        for _ in 0..random.between(20.0, 120.0) as u32 {
            (x, y) = (x + angle.cos(), y + angle.sin());
            if x < 0.0 || y < 0.0 || x >= width || y >= height {
                break;
            }
            let at = (y as usize * picture.width as usize + x as usize) * 3;
            for value in &mut picture.pixels[at..at + 3] {
                *value = value.saturating_add(38);
            }
        }
    }
}

/// The portrait as a print of dots, one screen for each ink, with `period` pixels between dots.
fn screened(portrait: &Picture, period: f32, random: &mut Random) -> Picture {
    // Printed at three times the size, so that dots are round, and seen by the phone at the size of the portrait.
    const FINE: u32 = 3;
    let mut fine = portrait.resized(portrait.width * FINE, portrait.height * FINE);
    let angles = [15.0_f32, 75.0, 45.0].map(|degrees| (degrees + random.between(-4.0, 4.0)).to_radians());
    let width = fine.width as usize;
    let turn = TAU / (period * FINE as f32);
    for (at, pixel) in fine.pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
        let (x, y) = ((at % width) as f32, (at / width) as f32);
        for (value, angle) in pixel.iter_mut().zip(angles) {
            let (sin, cos) = angle.sin_cos();
            let wave = ((x * cos + y * sin) * turn).cos() + ((y * cos - x * sin) * turn).cos();
            let paper = (f32::from(*value) / 255.0 - 0.5 + wave / 4.6) * 7.0;
            *value = (255.0 / (1.0 + (-paper).exp())) as u8;
        }
    }
    fine.resized(portrait.width, portrait.height)
}

/// Loses detail finer than `factor` pixels.
fn soften(picture: &Picture, factor: f32) -> Picture {
    let reduced = |length: u32| (length as f32 / factor).round() as u32;
    picture
        .resized(reduced(picture.width), reduced(picture.height))
        .resized(picture.width, picture.height)
}

/// The portrait on a card that lies slightly turned before the camera.
fn on_card(portrait: &Picture, random: &mut Random) -> Picture {
    let (width, height) = (portrait.width as f32, portrait.height as f32);
    let (scene_width, scene_height) = (width * 2.6, height * 1.6);
    let (left, top) = (width * 0.22, height * 0.3);
    let mut corner = |x: f32, y: f32| {
        Point::new(
            left + x + random.between(-0.03, 0.03) * width,
            top + y + random.between(-0.03, 0.03) * width,
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
    match Homography::between(corners, flat) {
        Some(map) => portrait.warp(&map, scene_width as u32, scene_height as u32, CARD),
        None => portrait.clone(),
    }
}

/// Sensor noise with this deviation, and a reflection of this brightness.
fn light(picture: &mut Picture, noise: f32, glare: f32, random: &mut Random) {
    let (width, height) = (picture.width as usize, picture.height as f32);
    let (x0, y0) = (random.between(0.0, width as f32), random.between(0.0, height));
    let radius = height * random.between(0.15, 0.4);
    for (at, pixel) in picture.pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
        let (x, y) = ((at % width) as f32 - x0, (at / width) as f32 - y0);
        let shine = glare * (-(x * x + y * y) / (2.0 * radius * radius)).exp();
        let grain = (random.between(-1.0, 1.0) + random.between(-1.0, 1.0)) * noise * 1.22;
        for value in pixel {
            *value = (f32::from(*value) + shine + grain) as u8;
        }
    }
}

/// The same numbers on every machine (SplitMix64).
struct Random(u64);

impl Random {
    fn between(&mut self, low: f32, high: f32) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        low + (high - low) * ((mixed >> 40) as f32 / (1_u64 << 24) as f32)
    }
}
