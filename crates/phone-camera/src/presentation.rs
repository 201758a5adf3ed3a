//! What is held before the camera instead of a document: the document itself, its copy in grey, or a screen that shows
//! it.
//!
//! The sensor has one colour filter per pixel, so the fine pattern of a screen becomes waves of false colour (moiré), as
//! in photographs. What screens and copiers do differs between makes: pitch, dots, tint and sharpness are drawn at
//! random within the bounds of the constants.

use imaging::{Homography, Picture, Point};

use crate::blur;
use crate::photograph::{FlatDocument, Photographed};
use crate::random::Random;
use crate::table;

/// What is photographed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Presentation {
    /// The document.
    Original,
    /// A screen that shows the document.
    Screen,
    /// A copy without colour on white paper, half of them with a copier's dots.
    Photocopy,
}

impl Presentation {
    /// Every presentation, in the order of reports.
    pub const ALL: [Self; 3] = [Self::Original, Self::Screen, Self::Photocopy];

    /// Its name in reports, such as `photocopy`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Screen => "screen",
            Self::Photocopy => "photocopy",
        }
    }
}

/// The document's width in pixels of the photograph: a picture of 12 megapixels holds 4000.
const WIDTH: (f32, f32) = (1200.0, 3400.0);
/// The document's width in pixels of the screen.
const SHOWN_WIDTH: (f32, f32) = (600.0, 1400.0);
/// The lens: a Gaussian of this deviation, in pixels of the photograph.
const LENS: (f32, f32) = (0.4, 0.9);
/// The part of a sub-pixel's width, and of a pixel's height, that shines.
const SHINING: (f32, f32) = (0.7, 0.95);
/// The distance of a copier's dots, in parts of the document's width: 85 to 150 lines per inch on 125 mm.
const DOTS: (f32, f32) = (1.0 / 740.0, 1.0 / 420.0);
/// The deviation of the sensor's noise, in grey levels.
const NOISE: (f32, f32) = (0.8, 3.0);
/// Screens and pictures encode light by about this power.
const GAMMA: f32 = 2.2;
/// The table that shows around the document, in parts of its width.
const MARGIN: f32 = 0.06;

/// Photographs a document, its copy, or a screen that shows it, from nearly above. The same seed gives the same camera
/// for each presentation. Returns `None` if the document has no extent.
pub fn present(document: &FlatDocument, presentation: Presentation, seed: u64) -> Option<Photographed> {
    let mut camera = Random::new(seed, 0x5ce4e);
    let mut object = Random::new(seed, 0x0b1ec7 + presentation as u64);
    let flat = &document.picture;
    let width = camera.between(WIDTH.0, WIDTH.1);
    let height = width * flat.height as f32 / flat.width as f32;
    if !(height.is_finite() && height >= 1.0) {
        return None;
    }
    let corners = corners(width, height, &mut camera);
    let size = extent(&corners);
    let lens = camera.between(LENS.0, LENS.1);
    let scene = match presentation {
        Presentation::Original | Presentation::Photocopy => {
            let sheet = flat.resized(width as u32, height as u32);
            let sheet = if presentation == Presentation::Photocopy {
                photocopy(&sheet, &mut object)
            } else {
                sheet
            };
            let mut scene = table::plain(size.0, size.1, &mut object);
            table::lay(&mut scene, &sheet, corners);
            blur::gaussian(&scene, lens)
        }
        Presentation::Screen => shown(flat, corners, size, lens, &mut object)?,
    };
    let noise = camera.between(NOISE.0, NOISE.1);
    let light = std::array::from_fn(|_| camera.between(0.9, 1.04));
    Some(Photographed {
        picture: through_sensor(&scene, light, noise, &mut camera),
        jpeg_quality: camera.between(82.0, 96.0) as u8,
        corners,
    })
}

/// The document's corners before the camera, in the photograph.
fn corners(width: f32, height: f32, random: &mut Random) -> [Point; 4] {
    let angle = random.between(-0.12, 0.12);
    let (lean_x, lean_y) = (random.between(-0.06, 0.06), random.between(-0.06, 0.06));
    let turned = [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)].map(|(x, y)| {
        let depth = 1.0 + lean_x * x + lean_y * y;
        let (x, y) = (x * width / depth, y * height / depth);
        Point::new(
            x * angle.cos() - y * angle.sin(),
            x * angle.sin() + y * angle.cos(),
        )
    });
    let least = |of: fn(&Point) -> f32| turned.iter().map(of).fold(f32::MAX, f32::min);
    let (left, top) = (least(|p| p.x), least(|p| p.y));
    turned.map(|p| Point::new(p.x - left + MARGIN * width, p.y - top + MARGIN * width))
}

/// The photograph's size.
fn extent(corners: &[Point; 4]) -> (u32, u32) {
    let most = |of: fn(&Point) -> f32| corners.iter().map(of).fold(0.0, f32::max);
    let least = |of: fn(&Point) -> f32| corners.iter().map(of).fold(f32::MAX, f32::min);
    let side = |of: fn(&Point) -> f32| (most(of) + least(of)).ceil() as u32;
    (side(|p| p.x), side(|p| p.y))
}

/// A copy without colour: its contrast is harder, and the paper has a tint. Half of all copies have dots.
fn photocopy(sheet: &Picture, random: &mut Random) -> Picture {
    let contrast = random.between(1.0, 1.5);
    let tint: [f32; 3] = std::array::from_fn(|_| random.between(0.94, 1.0));
    let (ink, paper) = (random.between(15.0, 45.0), random.between(225.0, 250.0));
    let period = sheet.width as f32 * random.between(DOTS.0, DOTS.1);
    let has_dots = random.between(0.0, 1.0) < 0.5;
    let angle = random.between(0.6, 0.9);
    let (cos, sin) = (angle.cos(), angle.sin());
    let mut copy = sheet.clone();
    let width = copy.width as usize;
    for (at, pixel) in copy.pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
        let [red, green, blue] = pixel.map(f32::from);
        let grey = (0.299 * red + 0.587 * green + 0.114 * blue) / 255.0;
        let mut light = ((grey - 0.5) * contrast + 0.6).clamp(0.0, 1.0);
        if has_dots {
            let (x, y) = ((at % width) as f32, (at / width) as f32);
            let wave = |along: f32| (std::f32::consts::TAU * along / period).cos();
            let dot = 0.5 + 0.25 * (wave(x * cos + y * sin) + wave(y * cos - x * sin));
            // A dot is inked where the tone is darker than the screen's threshold, with a soft edge.
            light = ((light - dot) * 4.0 + 0.5).clamp(0.0, 1.0) * light.min(0.5) * 2.0
                + light * (1.0 - light.min(0.5) * 2.0);
        }
        *pixel = tint.map(|tint| ((ink + (paper - ink) * light) * tint + 0.5) as u8);
    }
    copy
}

/// A screen that shows the document on an even ground: each of its pixels is three upright stripes.
fn shown(
    flat: &Picture,
    corners: [Point; 4],
    size: (u32, u32),
    lens: f32,
    random: &mut Random,
) -> Option<Picture> {
    /// Places per pixel and direction at which the screen's light is gathered.
    const STEPS: i32 = 4;
    let width = random.between(SHOWN_WIDTH.0, SHOWN_WIDTH.1).round();
    let height = (width * flat.height as f32 / flat.width as f32).round().max(1.0);
    let image = flat.resized(width as u32, height as u32);
    let ground = random.between(20.0, 250.0) as u8;
    let shining = random.between(SHINING.0, SHINING.1);
    let gain = random.between(0.75, 1.0) * 3.0 / (shining * shining);
    let black = random.between(0.004, 0.02);
    let on_screen = [
        Point::new(0.0, 0.0),
        Point::new(width, 0.0),
        Point::new(width, height),
        Point::new(0.0, height),
    ];
    let map = Homography::between(corners, on_screen)?;
    let linear: Vec<f32> = (0..256).map(|value| (value as f32 / 255.0).powf(GAMMA)).collect();
    let gathered: Vec<(f32, f32, f32)> = (0..STEPS * STEPS)
        .map(|step| {
            let at = |step: i32| ((step as f32 + 0.5) / STEPS as f32 - 0.5) * 4.0 * (lens + 0.3);
            let (x, y) = (at(step % STEPS), at(step / STEPS));
            let spread = lens * lens + 0.09;
            (x, y, (-0.5 * (x * x + y * y) / spread).exp())
        })
        .collect();
    let total: f32 = gathered.iter().map(|(.., weight)| weight).sum();
    let mut scene = Picture::filled(size.0, size.1, [0; 3]);
    for y in 0..size.1 {
        for x in 0..size.0 {
            let place = |dx: f32, dy: f32| map.apply(Point::new(x as f32 + 0.5 + dx, y as f32 + 0.5 + dy));
            let (here, across, down) = (place(0.0, 0.0), place(1.0, 0.0), place(0.0, 1.0));
            let (ux, vx) = (across.x - here.x, across.y - here.y);
            let (uy, vy) = (down.x - here.x, down.y - here.y);
            let mut light = [0.0_f32; 3];
            for &(dx, dy, weight) in &gathered {
                let (u, v) = (here.x + dx * ux + dy * uy, here.y + dx * vx + dy * vy);
                let (column, row) = (u.floor(), v.floor());
                let stripe = ((u - column) * 3.0).min(2.999);
                let dark = 0.5 * (1.0 - shining);
                let is_lit = |place: f32| (dark..1.0 - dark).contains(&place);
                if is_lit(stripe.fract()) && is_lit(v - row) {
                    let channel = stripe as usize;
                    let inside = (0.0..width).contains(&column) && (0.0..height).contains(&row);
                    let value = if inside {
                        image.pixel(column as u32, row as u32)[channel]
                    } else {
                        ground
                    };
                    light[channel] += weight * linear[usize::from(value)];
                }
            }
            let at = (y as usize * size.0 as usize + x as usize) * 3;
            for (target, light) in scene.pixels[at..at + 3].iter_mut().zip(light) {
                let light = black + gain * light / total;
                *target = (light.min(1.0).powf(1.0 / GAMMA) * 255.0 + 0.5) as u8;
            }
        }
    }
    Some(scene)
}

/// What a sensor records, with one colour per pixel (red, green and green, blue), from which the others are
/// interpolated.
fn through_sensor(scene: &Picture, light: [f32; 3], noise: f32, random: &mut Random) -> Picture {
    let (width, height) = (scene.width as usize, scene.height as usize);
    let channel = |x: usize, y: usize| match (x % 2, y % 2) {
        (0, 0) => 0,
        (1, 1) => 2,
        _ => 1,
    };
    let mut raw = Vec::with_capacity(width * height);
    for y in 0..height {
        for x in 0..width {
            let of = channel(x, y);
            let value = f32::from(scene.pixels[(y * width + x) * 3 + of]);
            raw.push(value * light[of] + noise * random.normal());
        }
    }
    let mut picture = scene.clone();
    for y in 0..height {
        for x in 0..width {
            let (mut sums, mut counts) = ([0.0_f32; 3], [0.0_f32; 3]);
            for ny in y.saturating_sub(1)..(y + 2).min(height) {
                for nx in x.saturating_sub(1)..(x + 2).min(width) {
                    let of = channel(nx, ny);
                    let is_corner = nx != x && ny != y;
                    // A pixel's own colour is as recorded; green comes from the four beside it.
                    let counts_here = if of == channel(x, y) {
                        nx == x && ny == y
                    } else {
                        of != 1 || !is_corner
                    };
                    if counts_here {
                        sums[of] += raw[ny * width + nx];
                        counts[of] += 1.0;
                    }
                }
            }
            let at = (y * width + x) * 3;
            for of in 0..3 {
                // `as` saturates.
                picture.pixels[at + of] = (sums[of] / counts[of].max(1.0) + 0.5) as u8;
            }
        }
    }
    picture
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> FlatDocument {
        let mut picture = Picture::filled(300, 210, [235, 215, 190]);
        for y in 170..190 {
            picture.pixels[(y * 300 + 20) * 3..(y * 300 + 280) * 3].fill(40);
        }
        FlatDocument {
            picture,
            zone: [20.0, 170.0, 260.0, 20.0],
            capital_height: 6.0,
        }
    }

    #[test]
    fn each_presentation_shows_the_document_at_the_same_place() {
        let all = Presentation::ALL.map(|what| present(&document(), what, 3).unwrap());
        for shown in &all {
            assert_eq!(shown.corners, all[0].corners);
            let flat =
                [(0.0, 0.0), (300.0, 0.0), (300.0, 210.0), (0.0, 210.0)].map(|(x, y)| Point::new(x, y));
            let map = Homography::between(flat, shown.corners).unwrap();
            let grey = |x: f32, y: f32| {
                let at = map.apply(Point::new(x, y));
                u32::from(shown.picture.pixel(at.x as u32, at.y as u32)[1])
            };
            assert!(grey(150.0, 100.0) > grey(150.0, 180.0) + 40);
        }
    }

    #[test]
    fn a_copy_has_no_colour_and_a_screen_has_a_pattern() {
        let spread = |what| {
            let shown = present(&document(), what, 8).unwrap();
            let (x, y) = (shown.picture.width / 2, shown.picture.height / 2);
            let patch = shown.picture.crop(x, y, 64, 64).unwrap();
            let [red, .., blue] = [0, 1, 2].map(|of| {
                patch
                    .pixels
                    .iter()
                    .skip(of)
                    .step_by(3)
                    .map(|value| f32::from(*value))
                    .sum::<f32>()
                    / 4096.0
            });
            let luma = patch.luma();
            let mean = luma.pixels.iter().map(|value| f32::from(*value)).sum::<f32>() / 4096.0;
            let variance = luma
                .pixels
                .iter()
                .map(|value| (f32::from(*value) - mean).powi(2))
                .sum::<f32>()
                / 4096.0;
            (red - blue, variance.sqrt())
        };
        let (original, screen, copy) = (
            spread(Presentation::Original),
            spread(Presentation::Screen),
            spread(Presentation::Photocopy),
        );
        assert!(original.0 > copy.0 + 15.0, "{original:?} {copy:?}");
        assert!(screen.1 > original.1 + 2.0, "{screen:?} {original:?}");
    }

    #[test]
    fn a_seed_gives_the_same_pixels() {
        let of = |seed| present(&document(), Presentation::Screen, seed).unwrap().picture;
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }
}
