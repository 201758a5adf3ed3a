//! One photograph: the scene before the camera, its lens, its light and its file.

use std::f32::consts::TAU;

use imaging::{Picture, Point};

use crate::blur;
use crate::condition::Condition;
use crate::random::Random;
use crate::table;

/// A flat picture of a document, such as a scan.
#[derive(Debug, Clone)]
pub struct FlatDocument {
    /// The document from edge to edge.
    pub picture: Picture,
    /// The box around its machine-readable zone: left, top, width and height in pixels.
    pub zone: [f32; 4],
    /// The height of the zone's capitals in pixels.
    pub capital_height: f32,
}

/// A photograph.
#[derive(Debug, Clone)]
pub struct Photographed {
    /// Its pixels, before its file is written.
    pub picture: Picture,
    /// The JPEG quality of the file, 1–100.
    pub jpeg_quality: u8,
    /// The document's corners in it, from its own top left, clockwise.
    pub corners: [Point; 4],
}

/// The usual height of the zone's capitals, in pixels.
const CAPITAL_HEIGHT: f32 = 24.0;
/// The least and most of `SmallPrint`.
const SMALL_CAPITALS: (f32, f32) = (8.0, 18.0);
/// Width and height of a phone's picture, for the conditions about the document's share of it.
const FRAME: (u32, u32) = (4000, 3000);
/// The share of the frame's width or height that a document fills in `FullFrame`.
const FILLED: f32 = 0.85;
/// A document is never drawn wider or higher than this.
const MOST_SIDE: f32 = 5000.0;
/// The standard deviation of a usual sensor's noise, and that of a dark room, in grey levels.
const NOISE: f32 = 1.5;
const DARK_NOISE: f32 = 14.0;
/// The camera's distance in widths of the document, from afar and from close by.
const FAR: f32 = 2.5;
const NEAR: f32 = 1.6;
const QUALITY: u8 = 90;

/// Photographs a document. Returns `None` if the document has no extent.
pub fn photograph(document: &FlatDocument, condition: Condition, seed: u64) -> Option<Photographed> {
    let mut random = Random::new(seed, condition as u64);
    let (sheet, zone) = resized(document, condition, &mut random)?;
    let (width, height) = (sheet.width as f32, sheet.height as f32);
    let corners = placed(width, height, condition, &mut random);
    let (mut scene, corners) = scene(&sheet, zone, corners, condition, &mut random);
    let on_picture = |point: Point| -> Option<Point> {
        let flat = [
            Point::new(0.0, 0.0),
            Point::new(width, 0.0),
            Point::new(width, height),
            Point::new(0.0, height),
        ];
        Some(imaging::Homography::between(flat, corners)?.apply(point))
    };
    match condition {
        Condition::Gaussian2 => scene = blur::gaussian(&scene, 2.0),
        Condition::Gaussian4 => scene = blur::gaussian(&scene, 4.0),
        Condition::Motion9 => scene = blur::motion(&scene, 9.0, random.between(0.0, TAU)),
        Condition::Motion13 => scene = blur::motion(&scene, 13.0, random.between(0.0, TAU)),
        Condition::Glare => {
            let [left, top, zone_width, zone_height] = zone;
            let spot = Point::new(
                left + zone_width * random.between(0.03, 0.97),
                top + zone_height * random.between(0.1, 0.9),
            );
            glare(
                &mut scene,
                on_picture(spot)?,
                CAPITAL_HEIGHT * random.between(1.0, 1.5),
            );
        }
        Condition::Shadow => shadow(&mut scene, &mut random),
        _ => {}
    }
    let noise = if condition == Condition::Noise {
        DARK_NOISE
    } else {
        NOISE
    };
    expose(&mut scene, noise, &mut random);
    Some(Photographed {
        picture: scene,
        jpeg_quality: if condition == Condition::HardJpeg {
            10
        } else {
            QUALITY
        },
        corners,
    })
}

/// The document and its zone at the size at which the camera sees it.
fn resized(
    document: &FlatDocument,
    condition: Condition,
    random: &mut Random,
) -> Option<(Picture, [f32; 4])> {
    let flat = &document.picture;
    let wanted = match condition {
        Condition::SmallPrint => random.between(SMALL_CAPITALS.0, SMALL_CAPITALS.1) / document.capital_height,
        Condition::FullFrame => {
            let [across, down] = [(FRAME.0, flat.width), (FRAME.1, flat.height)]
                .map(|(frame, side)| frame as f32 / side as f32);
            FILLED * across.min(down)
        }
        Condition::SixtyPercent => 0.6 * FRAME.0 as f32 / flat.width as f32,
        Condition::ThirtyFivePercent => 0.35 * FRAME.0 as f32 / flat.width as f32,
        _ => CAPITAL_HEIGHT / document.capital_height,
    };
    let scale = wanted.min(MOST_SIDE / flat.width.max(flat.height) as f32);
    if !(wanted.is_finite() && wanted > 0.0) {
        return None;
    }
    let side = |length: u32| ((length as f32 * scale).round() as u32).max(1);
    let sheet = flat.resized(side(flat.width), side(flat.height));
    Some((sheet, document.zone.map(|value| value * scale)))
}

/// The document's corners before the camera, about its middle.
fn placed(width: f32, height: f32, condition: Condition, random: &mut Random) -> [Point; 4] {
    let flat =
        [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)].map(|(x, y)| Point::new(x * width, y * height));
    let turned = |points: [Point; 4], radians: f32| {
        let (sin, cos) = radians.sin_cos();
        points.map(|p| Point::new(p.x * cos - p.y * sin, p.x * sin + p.y * cos))
    };
    let tilted = |degrees: f32, axis: f32, distance: f32| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        // Turned so that the axis is level, tilted about it, and turned back.
        let points = turned(flat, -axis).map(|p| {
            let depth = distance * width + p.y * sin;
            let scale = distance * width / depth;
            Point::new(p.x * scale, p.y * cos * scale)
        });
        turned(points, axis)
    };
    match condition {
        Condition::Turned => turned(flat, random.between(0.0, TAU)),
        Condition::Tilted => {
            let degrees = random.between(10.0, 30.0);
            tilted(degrees, random.between(0.0, TAU), FAR)
        }
        Condition::StrongPerspective => {
            let degrees = random.between(42.0, 50.0);
            tilted(degrees, random.between(0.0, TAU), NEAR)
        }
        _ => turned(flat, random.between(-0.03, 0.03)),
    }
}

/// The document on a table, and where its corners are.
fn scene(
    sheet: &Picture,
    zone: [f32; 4],
    corners: [Point; 4],
    condition: Condition,
    random: &mut Random,
) -> (Picture, [Point; 4]) {
    let least = |of: fn(&Point) -> f32| corners.iter().map(of).fold(f32::MAX, f32::min);
    let most = |of: fn(&Point) -> f32| corners.iter().map(of).fold(f32::MIN, f32::max);
    let (left, top) = (least(|p| p.x), least(|p| p.y));
    let (wide, high) = (most(|p| p.x) - left, most(|p| p.y) - top);
    let by = |points: [Point; 4], x: f32, y: f32| points.map(|p| Point::new(p.x + x, p.y + y));
    match condition {
        Condition::FullFrame => {
            let mut scene = table::plain(FRAME.0, FRAME.1, random);
            let corners = by(
                corners,
                (FRAME.0 as f32 - wide) / 2.0 - left,
                (FRAME.1 as f32 - high) / 2.0 - top,
            );
            table::lay(&mut scene, sheet, corners);
            (scene, corners)
        }
        Condition::SixtyPercent | Condition::ThirtyFivePercent => {
            // A high document needs a higher frame.
            let frame = (FRAME.0, FRAME.1.max((high * 1.1) as u32));
            let (x, y) = (
                random.between(0.0, frame.0 as f32 - wide),
                random.between(0.0, frame.1 as f32 - high),
            );
            let mut scene = table::cluttered(frame.0, frame.1, random);
            let corners = by(corners, x - left, y - top);
            table::lay(&mut scene, sheet, corners);
            (scene, corners)
        }
        Condition::SideBySide => {
            let margin = 0.05 * wide;
            let size = ((2.0 * wide + 3.0 * margin) as u32, (high + 2.0 * margin) as u32);
            let mut scene = table::plain(size.0, size.1, random);
            let places = [margin - left, 2.0 * margin + wide - left];
            let own = usize::from(random.between(0.0, 1.0) < 0.5);
            let (here, there) = (places[own], places[1 - own]);
            table::lay(
                &mut scene,
                &other_side(sheet, zone),
                by(corners, there, margin - top),
            );
            let corners = by(corners, here, margin - top);
            table::lay(&mut scene, sheet, corners);
            (scene, corners)
        }
        _ => {
            let margin = 0.06 * wide;
            let mut scene = table::plain((wide + 2.0 * margin) as u32, (high + 2.0 * margin) as u32, random);
            let corners = by(corners, margin - left, margin - top);
            table::lay(&mut scene, sheet, corners);
            (scene, corners)
        }
    }
}

/// A side without a machine-readable zone: the zone has the colour above it.
fn other_side(sheet: &Picture, [left, top, width, height]: [f32; 4]) -> Picture {
    let mut side = sheet.clone();
    let above = (top - 0.15 * height).clamp(0.0, sheet.height as f32 - 1.0) as u32;
    let margin = 0.2 * height;
    let columns = (left - margin).max(0.0) as u32..((left + width + margin) as u32).min(sheet.width);
    let rows = (top - margin).max(0.0) as u32..((top + height + margin) as u32).min(sheet.height);
    let middle = sheet.pixel(((left + width / 2.0) as u32).min(sheet.width - 1), above);
    for y in rows {
        for x in columns.clone() {
            let at = (y as usize * side.width as usize + x as usize) * 3;
            side.pixels[at..at + 3].copy_from_slice(&middle);
        }
    }
    side
}

/// A round spot that is white in its middle and has a soft edge.
fn glare(scene: &mut Picture, centre: Point, radius: f32) {
    for_each(scene, |x, y, pixel| {
        let distance = Point::new(x, y).distance(centre) / radius;
        let share = (1.6 - distance).clamp(0.0, 1.0);
        pixel.map(|value| value + (255.0 - value) * share)
    });
}

/// Half of the scene is darker, beyond a line at any angle through its middle.
fn shadow(scene: &mut Picture, random: &mut Random) {
    let angle = random.between(0.0, TAU);
    let dark = random.between(0.35, 0.55);
    let middle = (scene.width as f32 / 2.0, scene.height as f32 / 2.0);
    for_each(scene, |x, y, pixel| {
        let beyond = (x - middle.0) * angle.cos() + (y - middle.1) * angle.sin();
        let share = (beyond / 6.0).clamp(0.0, 1.0);
        pixel.map(|value| value * (1.0 - share * (1.0 - dark)))
    });
}

/// Uneven light and the sensor's noise.
fn expose(scene: &mut Picture, noise: f32, random: &mut Random) {
    let slope = [random.between(-0.12, 0.12), random.between(-0.12, 0.12)];
    let (width, height) = (scene.width as f32, scene.height as f32);
    for_each(scene, |x, y, pixel| {
        let light = 1.0 + slope[0] * (x / width - 0.5) + slope[1] * (y / height - 0.5);
        pixel.map(|value| value * light + noise * random.normal())
    });
}

/// Replaces each pixel by what `change` makes of its column, row and colour.
fn for_each(scene: &mut Picture, mut change: impl FnMut(f32, f32, [f32; 3]) -> [f32; 3]) {
    let width = scene.width as usize;
    for (at, pixel) in scene.pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
        let (x, y) = ((at % width) as f32, (at / width) as f32);
        // `as` saturates.
        *pixel = change(x, y, pixel.map(f32::from)).map(|value| (value + 0.5) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// White, with a dark zone near its lower edge.
    fn document() -> FlatDocument {
        let mut picture = Picture::filled(600, 420, [235; 3]);
        for y in 350..390 {
            picture.pixels[(y * 600 + 30) * 3..(y * 600 + 570) * 3].fill(40);
        }
        FlatDocument {
            picture,
            zone: [30.0, 350.0, 540.0, 40.0],
            capital_height: 12.0,
        }
    }

    #[test]
    fn every_condition_shows_the_document_where_it_says() {
        for condition in Condition::ALL {
            {
                let photographed = photograph(&document(), condition, 5).unwrap();
                let [a, b, c, d] = photographed.corners;
                let name = condition.as_str();
                let inside = |p: &Point| {
                    (-1.0..photographed.picture.width as f32 + 1.0).contains(&p.x)
                        && (-1.0..photographed.picture.height as f32 + 1.0).contains(&p.y)
                };
                assert!(photographed.corners.iter().all(inside), "{name}");
                let flat =
                    [(0.0, 0.0), (600.0, 0.0), (600.0, 420.0), (0.0, 420.0)].map(|(x, y)| Point::new(x, y));
                let map = imaging::Homography::between(flat, [a, b, c, d]).unwrap();
                let grey = |x: f32, y: f32| {
                    let at = map.apply(Point::new(x, y));
                    u32::from(photographed.picture.pixel(at.x as u32, at.y as u32)[1])
                };
                // Above the zone it is much lighter than in it, even under glare, which covers one place at most.
                let lighter = [100.0, 300.0, 500.0].map(|x| grey(x, 300.0) > grey(x, 370.0) + 40);
                let seen = lighter.iter().filter(|seen| **seen).count();
                assert!(
                    seen == 3 || (condition == Condition::Glare && seen == 2),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_pixels_and_another_seed_others() {
        let of = |seed| photograph(&document(), Condition::Noise, seed).unwrap().picture;
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn the_zone_is_as_large_as_is_said() {
        let width = |condition, seed| {
            let [a, b, ..] = photograph(&document(), condition, seed).unwrap().corners;
            a.distance(b)
        };
        assert!((width(Condition::Straight, 1) - 1200.0).abs() < 2.0);
        assert!((width(Condition::ThirtyFivePercent, 1) - 1400.0).abs() < 2.0);
        assert!((width(Condition::SixtyPercent, 1) - 2400.0).abs() < 2.0);
        let small = width(Condition::SmallPrint, 1);
        assert!((400.0..900.0).contains(&small), "{small}");
    }

    #[test]
    fn a_document_without_extent_gives_no_picture() {
        let mut flat = document();
        flat.capital_height = 0.0;
        assert!(photograph(&flat, Condition::Straight, 1).is_none());
    }

    #[test]
    fn names_are_found_again() {
        for condition in Condition::ALL {
            assert_eq!(Condition::named(condition.as_str()), Some(condition));
        }
        assert_eq!(Condition::named("upside-down"), None);
    }
}
