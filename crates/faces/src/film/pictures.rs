//! Pictures for the tests of this module: a texture without end, seen through any map. They are no faces.

use imaging::Picture;

/// A picture that shows a smooth random texture. `map` gives the place in the texture of each pixel's centre.
pub(super) fn textured(width: u32, height: u32, map: impl Fn(f32, f32) -> (f32, f32)) -> Picture {
    let mut pixels = Vec::with_capacity((width * height * 3) as usize);
    for row in 0..height {
        for column in 0..width {
            let (x, y) = map(column as f32 + 0.5, row as f32 + 0.5);
            let coarse = noise(x / 17.0, y / 17.0, 1) - 0.5;
            let fine = noise(x / 5.0, y / 5.0, 2) - 0.5;
            pixels.extend([(128.0 + 110.0 * coarse + 70.0 * fine).clamp(0.0, 255.0) as u8; 3]);
        }
    }
    Picture::new(width, height, pixels).expect("the right size")
}

/// Random values at whole places, and smooth ones between them.
fn noise(x: f32, y: f32, seed: u32) -> f32 {
    let (left, top) = (x.floor(), y.floor());
    let smooth = |t: f32| t * t * (3.0 - 2.0 * t);
    let (fx, fy) = (smooth(x - left), smooth(y - top));
    let value = |dx: i32, dy: i32| {
        let (x, y) = ((left as i32 + dx) as u32, (top as i32 + dy) as u32);
        let mut hash = seed ^ x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77);
        hash = (hash ^ (hash >> 15)).wrapping_mul(0x2c1b_3c6d);
        hash = (hash ^ (hash >> 12)).wrapping_mul(0x297a_2d39);
        ((hash ^ (hash >> 15)) >> 8) as f32 / (1 << 24) as f32
    };
    let upper = value(0, 0) + (value(1, 0) - value(0, 0)) * fx;
    let lower = value(0, 1) + (value(1, 1) - value(0, 1)) * fx;
    upper + (lower - upper) * fy
}
