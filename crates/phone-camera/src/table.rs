//! What lies around a document: a table, plain or cluttered with papers that carry lines like those of text.

use imaging::{Homography, Picture, Point};

use crate::random::Random;

/// Papers on a cluttered table.
const PAPERS: usize = 7;

/// A table of one colour.
pub(crate) fn plain(width: u32, height: u32, random: &mut Random) -> Picture {
    Picture::filled(width, height, colour(random))
}

/// A table with papers at any angle. Their lines have words, but no letters.
pub(crate) fn cluttered(width: u32, height: u32, random: &mut Random) -> Picture {
    let mut table = plain(width, height, random);
    for _ in 0..PAPERS {
        let paper = paper(width / 3, random);
        let centre = Point::new(
            random.between(0.0, width as f32),
            random.between(0.0, height as f32),
        );
        let angle = random.between(-3.0, 3.0);
        let corners = [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)].map(|(x, y)| {
            let (x, y) = (x * paper.width as f32, y * paper.height as f32);
            Point::new(
                centre.x + x * angle.cos() - y * angle.sin(),
                centre.y + x * angle.sin() + y * angle.cos(),
            )
        });
        lay(&mut table, &paper, corners);
    }
    table
}

/// Lays a picture on another one, with its corners (from top left, clockwise) at these places. Corners on a line show
/// nothing.
pub(crate) fn lay(on: &mut Picture, picture: &Picture, corners: [Point; 4]) {
    let flat = [
        Point::new(0.0, 0.0),
        Point::new(picture.width as f32, 0.0),
        Point::new(picture.width as f32, picture.height as f32),
        Point::new(0.0, picture.height as f32),
    ];
    let Some(map) = Homography::between(corners, flat) else {
        return;
    };
    let (left, right) = extent(corners.map(|corner| corner.x), on.width);
    let (top, bottom) = extent(corners.map(|corner| corner.y), on.height);
    let inside = |at: Point| {
        (0.0..picture.width as f32).contains(&at.x) && (0.0..picture.height as f32).contains(&at.y)
    };
    for y in top..bottom {
        for x in left..right {
            let at = map.apply(Point::new(x as f32 + 0.5, y as f32 + 0.5));
            if inside(at) {
                let target = (y as usize * on.width as usize + x as usize) * 3;
                on.pixels[target..target + 3].copy_from_slice(&bilinear(picture, at));
            }
        }
    }
}

/// The first and one past the last pixel that coordinates touch.
fn extent(coordinates: [f32; 4], limit: u32) -> (u32, u32) {
    let low = coordinates.into_iter().fold(f32::MAX, f32::min).max(0.0);
    let high = coordinates.into_iter().fold(0.0, f32::max).min(limit as f32);
    (low as u32, high.ceil() as u32)
}

fn bilinear(picture: &Picture, at: Point) -> [u8; 3] {
    let (x, y) = ((at.x - 0.5).max(0.0), (at.y - 0.5).max(0.0));
    let (left, top) = (x as u32, y as u32);
    let (right, bottom) = (
        (left + 1).min(picture.width - 1),
        (top + 1).min(picture.height - 1),
    );
    let (fx, fy) = (x - left as f32, y - top as f32);
    let [a, b, c, d] = [(left, top), (right, top), (left, bottom), (right, bottom)]
        .map(|(x, y)| picture.pixel(x, y).map(f32::from));
    std::array::from_fn(|channel| {
        let upper = a[channel] + (b[channel] - a[channel]) * fx;
        let lower = c[channel] + (d[channel] - c[channel]) * fx;
        (upper + (lower - upper) * fy + 0.5) as u8
    })
}

fn colour(random: &mut Random) -> [u8; 3] {
    let light = random.between(50.0, 150.0);
    std::array::from_fn(|_| (light + random.between(-18.0, 18.0)) as u8)
}

/// A sheet with lines of words.
fn paper(width: u32, random: &mut Random) -> Picture {
    let height = (width as f32 * random.between(0.5, 1.4)) as u32;
    let shade = random.between(200.0, 250.0) as u8;
    let mut sheet = Picture::filled(width, height, [shade; 3]);
    let pitch = (width as f32 * random.between(0.03, 0.06)).max(6.0);
    let mut y = 2.0 * pitch;
    while y + 2.0 * pitch < height as f32 {
        let mut x = 1.5 * pitch;
        let end = width as f32 * random.between(0.5, 0.95);
        while x < end {
            let word = pitch * random.between(0.8, 4.0);
            strokes(&mut sheet, [x, y, word.min(end - x), 0.55 * pitch], random);
            x += word + 0.5 * pitch;
        }
        y += pitch * 1.5;
    }
    sheet
}

/// Upright and level strokes, as dense as those of letters.
fn strokes(sheet: &mut Picture, [x, y, width, height]: [f32; 4], random: &mut Random) {
    let thick = (height * 0.16).max(1.0);
    let mut at = x;
    while at < x + width {
        let letter = height * random.between(0.35, 0.75);
        fill(sheet, [at, y, thick, height]);
        let bar = y + height * random.between(0.0, 0.85);
        fill(sheet, [at, bar, letter, thick]);
        at += letter + thick;
    }
}

fn fill(sheet: &mut Picture, [x, y, width, height]: [f32; 4]) {
    let (right, bottom) = (
        ((x + width) as u32).min(sheet.width),
        ((y + height) as u32).min(sheet.height),
    );
    for row in y as u32..bottom {
        for column in x as u32..right {
            let at = (row as usize * sheet.width as usize + column as usize) * 3;
            sheet.pixels[at..at + 3].fill(45);
        }
    }
}
