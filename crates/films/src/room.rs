//! What is behind a head: a drawn room, or a photograph. Nothing in a drawn room looks like a face.

use imaging::Picture;

use crate::canvas::{Canvas, Rgb, Texture, linear};
use crate::random::Random;

/// How much of the room is drawn beyond each side of the frame, in pixels, for a shaking camera.
const MARGIN: usize = 48;
/// The share of the screen's light that reaches the background, compared with the face.
const REACHED: f32 = 0.06;

/// A background.
#[derive(Debug, Clone)]
pub struct Room {
    texture: Texture,
    margin: f32,
}

impl Room {
    /// Draws a room for frames of `width` × `height`: a wall with shelves, a window, a picture, and things on shelves.
    pub fn drawn(width: u32, height: u32, seed: u64) -> Self {
        let mut random = Random::new(seed, 0x4007);
        let (width, height) = (width as usize + 2 * MARGIN, height as usize + 2 * MARGIN);
        let mut texture = wall(width, height, &mut random);
        if random.chance(0.6) {
            window(&mut texture, &mut random);
        }
        for _ in 0..random.below(3) {
            shelf(&mut texture, &mut random);
        }
        for _ in 0..random.below(4) {
            let side = random.between(30.0, 110.0);
            let size = [side, side * random.between(0.5, 1.6)];
            let at = [
                random.between(0.0, width as f32),
                random.between(0.0, height as f32),
            ];
            let colour = colour(&mut random, 0.05, 0.7);
            rectangle(&mut texture, at, size, colour);
            let inner = self::colour(&mut random, 0.1, 0.8);
            rectangle(
                &mut texture,
                [at[0] + 4.0, at[1] + 4.0],
                size.map(|s| s - 8.0),
                inner,
            );
        }
        let grain = random.between(0.01, 0.04);
        for pixel in &mut texture.pixels {
            let factor = 1.0 + grain * random.normal();
            *pixel = pixel.map(|value| (value * factor).max(0.0));
        }
        for _ in 0..1 + random.below(3) {
            texture = blurred(&texture);
        }
        Self {
            texture,
            margin: MARGIN as f32,
        }
    }

    /// A photograph as the background of frames of `width` × `height`: the part in its middle that fills them.
    pub fn photograph(picture: &Picture, width: u32, height: u32) -> Self {
        let (wide, high) = (width + 2 * MARGIN as u32, height + 2 * MARGIN as u32);
        let scale = (wide as f32 / picture.width as f32).max(high as f32 / picture.height as f32);
        let side = |length: u32, least: u32| ((length as f32 * scale).ceil() as u32).max(least);
        let resized = picture.resized(side(picture.width, wide), side(picture.height, high));
        let (left, top) = ((resized.width - wide) / 2, (resized.height - high) / 2);
        let cut = resized.crop(left, top, wide, high).unwrap_or(resized);
        Self {
            texture: blurred(&Texture::of(&cut)),
            margin: MARGIN as f32,
        }
    }

    /// Fills a frame with the room, moved by `shift` pixels and lit by the screen's `light`.
    pub(crate) fn draw(&self, canvas: &mut Canvas, shift: [f32; 2], light: Rgb) {
        let gain = light.map(|light| 1.0 + REACHED * light);
        let limit = self.margin - 2.0;
        let [dx, dy] = shift.map(|shift| {
            if shift.is_finite() {
                shift.clamp(-limit, limit)
            } else {
                0.0
            }
        });
        let (left, top) = (self.margin - dx, self.margin - dy);
        let (whole_x, whole_y) = (left.floor(), top.floor());
        let (fx, fy) = (left - whole_x, top - whole_y);
        let (whole_x, whole_y, stride) = (whole_x as usize, whole_y as usize, self.texture.width);
        canvas.depth.fill(f32::INFINITY);
        for (y, row) in canvas.pixels.chunks_exact_mut(canvas.width).enumerate() {
            let start = (whole_y + y) * stride + whole_x;
            for (x, pixel) in row.iter_mut().enumerate() {
                let at = start + x;
                let [a, b, c, d] =
                    [at, at + 1, at + stride, at + stride + 1].map(|at| self.texture.pixels[at]);
                *pixel = std::array::from_fn(|i| {
                    let upper = a[i] + (b[i] - a[i]) * fx;
                    let lower = c[i] + (d[i] - c[i]) * fx;
                    (upper + (lower - upper) * fy) * gain[i]
                });
            }
        }
    }
}

/// A colour of which each part is between `low` and `high` in linear light, not very saturated.
fn colour(random: &mut Random, low: f32, high: f32) -> Rgb {
    let grey = random.between(low, high);
    std::array::from_fn(|_| (grey * random.between(0.7, 1.3)).clamp(0.0, 1.0))
}

fn wall(width: usize, height: usize, random: &mut Random) -> Texture {
    let base = colour(random, 0.15, 0.6);
    let (across, down) = (random.between(-0.35, 0.35), random.between(-0.3, 0.3));
    // Wallpaper: stripes that are hardly visible.
    let (pitch, depth, slant) = (
        random.between(7.0, 40.0),
        random.between(0.0, 0.08),
        random.between(-0.5, 0.5),
    );
    let corner = random.between(-0.5, 1.5) * width as f32;
    let pixels = (0..width * height).map(|at| {
        let (x, y) = ((at % width) as f32, (at / width) as f32);
        let gradient = 1.0 + across * (x / width as f32 - 0.5) + down * (y / height as f32 - 0.5);
        let stripe = 1.0 + depth * ((x + slant * y) / pitch * std::f32::consts::TAU).sin();
        let side = if x < corner { 0.82 } else { 1.0 };
        base.map(|value| value * gradient * stripe * side)
    });
    Texture {
        width,
        height,
        pixels: pixels.collect(),
    }
}

fn window(texture: &mut Texture, random: &mut Random) {
    let (width, height) = (texture.width as f32, texture.height as f32);
    let side = if random.chance(0.5) { 0.0 } else { 0.62 };
    let at = [
        width * (side + random.between(-0.08, 0.1)),
        height * random.between(-0.05, 0.25),
    ];
    let size = [
        width * random.between(0.2, 0.36),
        height * random.between(0.3, 0.5),
    ];
    rectangle(
        texture,
        [at[0] - 5.0, at[1] - 5.0],
        size.map(|s| s + 10.0),
        linear([235, 232, 226]),
    );
    let sky = random.between(0.6, 1.0);
    rectangle(texture, at, size, [sky * 0.92, sky * 0.97, sky]);
    rectangle(
        texture,
        [at[0] + size[0] / 2.0 - 2.0, at[1]],
        [4.0, size[1]],
        linear([225, 222, 216]),
    );
}

fn shelf(texture: &mut Texture, random: &mut Random) {
    let width = texture.width as f32;
    let board = texture.height as f32 * random.between(0.15, 0.9);
    let (left, right) = (
        width * random.between(-0.1, 0.5),
        width * random.between(0.5, 1.1),
    );
    let mut x = left;
    while x < right {
        let (thick, tall) = (random.between(5.0, 18.0), random.between(30.0, 72.0));
        if random.chance(0.85) {
            let spine = colour(random, 0.02, 0.6);
            rectangle(texture, [x, board - tall], [thick - 1.0, tall], spine);
            let label = colour(random, 0.1, 0.9);
            rectangle(
                texture,
                [x + 2.0, board - tall * 0.8],
                [thick - 5.0, tall * 0.2],
                label,
            );
        }
        x += thick;
    }
    let wood = colour(random, 0.05, 0.4);
    rectangle(texture, [left, board], [right - left, 6.0], wood);
}

/// Fills a rectangle (left and top, then width and height), clipped to the texture.
fn rectangle(texture: &mut Texture, at: [f32; 2], size: [f32; 2], colour: Rgb) {
    let (left, top) = (at[0].max(0.0) as usize, at[1].max(0.0) as usize);
    let right = ((at[0] + size[0]).max(0.0) as usize).min(texture.width);
    let bottom = ((at[1] + size[1]).max(0.0) as usize).min(texture.height);
    for y in top..bottom {
        if left < right {
            texture.pixels[y * texture.width..][left..right].fill(colour);
        }
    }
}

/// The mean of each pixel's 3 × 3 neighbours.
fn blurred(texture: &Texture) -> Texture {
    let (width, height) = (texture.width, texture.height);
    let mean = |a: Rgb, b: Rgb, c: Rgb| -> Rgb { std::array::from_fn(|i| (a[i] + b[i] + c[i]) / 3.0) };
    let mut across = Vec::with_capacity(width * height);
    for row in texture.pixels.chunks_exact(width) {
        across
            .extend((0..width).map(|x| mean(row[x.saturating_sub(1)], row[x], row[(x + 1).min(width - 1)])));
    }
    let pixels = (0..width * height).map(|at| {
        let (x, y) = (at % width, at / width);
        let row = |y: usize| across[y * width + x];
        mean(row(y.saturating_sub(1)), row(y), row((y + 1).min(height - 1)))
    });
    Texture {
        width,
        height,
        pixels: pixels.collect(),
    }
}
