//! Pictures in linear light, and the camera that makes 8-bit pictures and JPEGs of them.
//!
//! Linear light is needed because the screen's light is added to the room's.

use std::sync::LazyLock;

use imaging::Picture;

use crate::random::Random;

/// Linear light of a pixel: red, green, blue. 1 is white in the room's light; the screen's light can exceed it.
pub(crate) type Rgb = [f32; 3];

static LINEAR: LazyLock<[f32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|value| {
        let v = value as f32 / 255.0;
        if v <= 0.04045 {
            v / 12.92
        } else {
            ((v + 0.055) / 1.055).powf(2.4)
        }
    })
});

const STEPS: usize = 4096;
static ENCODED: LazyLock<Vec<f32>> = LazyLock::new(|| {
    let encode = |v: f32| {
        if v <= 0.003_130_8 {
            v * 12.92
        } else {
            1.055 * v.powf(1.0 / 2.4) - 0.055
        }
    };
    (0..=STEPS)
        .map(|step| encode(step as f32 / STEPS as f32) * 255.0)
        .collect()
});

/// The linear light of an 8-bit sRGB colour.
pub(crate) fn linear(colour: [u8; 3]) -> Rgb {
    colour.map(|value| LINEAR[usize::from(value)])
}

/// The sRGB value 0–255 of linear light, not rounded.
fn encoded(light: f32) -> f32 {
    ENCODED[(light.clamp(0.0, 1.0) * STEPS as f32) as usize]
}

/// Pixels in linear light.
#[derive(Debug, Clone)]
pub(crate) struct Texture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pixels: Vec<Rgb>,
}

impl Texture {
    pub(crate) fn of(picture: &Picture) -> Self {
        let pixels = picture.pixels.as_chunks::<3>().0.iter().map(|&p| linear(p));
        Self {
            width: picture.width as usize,
            height: picture.height as usize,
            pixels: pixels.collect(),
        }
    }

    fn at(&self, x: i32, y: i32) -> Rgb {
        let x = x.clamp(0, self.width as i32 - 1) as usize;
        let y = y.clamp(0, self.height as i32 - 1) as usize;
        self.pixels[y * self.width + x]
    }

    /// Whether a position is inside.
    pub(crate) fn contains(&self, x: f32, y: f32) -> bool {
        x >= 0.0 && y >= 0.0 && x < self.width as f32 && y < self.height as f32
    }

    /// The colour at a position, from the four pixels around it. Beyond the edge it is the edge's.
    pub(crate) fn bilinear(&self, x: f32, y: f32) -> Rgb {
        let (x, y) = (x - 0.5, y - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let (fx, fy) = (x - left, y - top);
        let (left, top) = (left as i32, top as i32);
        let (a, b) = (self.at(left, top), self.at(left.saturating_add(1), top));
        let below = top.saturating_add(1);
        let (c, d) = (self.at(left, below), self.at(left.saturating_add(1), below));
        std::array::from_fn(|i| {
            let upper = a[i] + (b[i] - a[i]) * fx;
            let lower = c[i] + (d[i] - c[i]) * fx;
            upper + (lower - upper) * fy
        })
    }

    /// The colour at a position, from the sixteen pixels around it (Catmull-Rom).
    pub(crate) fn cubic(&self, x: f32, y: f32) -> Rgb {
        let (x, y) = (x - 0.5, y - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let (across, down) = (weights(x - left), weights(y - top));
        let (left, top) = (left as i32, top as i32);
        let mut sum = [0.0; 3];
        for (row, wy) in down.into_iter().enumerate() {
            for (column, wx) in across.into_iter().enumerate() {
                let pixel = self.at(
                    left.saturating_add(column as i32 - 1),
                    top.saturating_add(row as i32 - 1),
                );
                for channel in 0..3 {
                    sum[channel] += pixel[channel] * wx * wy;
                }
            }
        }
        sum.map(|value| value.max(0.0))
    }
}

/// Catmull-Rom weights of four neighbours.
fn weights(t: f32) -> [f32; 4] {
    let (t2, t3) = (t * t, t * t * t);
    [
        0.5 * (-t3 + 2.0 * t2 - t),
        0.5 * (3.0 * t3 - 5.0 * t2 + 2.0),
        0.5 * (-3.0 * t3 + 4.0 * t2 + t),
        0.5 * (t3 - t2),
    ]
}

/// A frame that is being drawn: colours and distances.
#[derive(Debug, Clone)]
pub(crate) struct Canvas {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pixels: Vec<Rgb>,
    /// Distance of each pixel from the camera; infinite where only the background is.
    pub(crate) depth: Vec<f32>,
}

impl Canvas {
    pub(crate) fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            height,
            pixels: vec![[0.0; 3]; width * height],
            depth: vec![f32::INFINITY; width * height],
        }
    }

    /// Sets a pixel if nothing nearer is there.
    pub(crate) fn set(&mut self, x: usize, y: usize, depth: f32, colour: Rgb) {
        let at = y * self.width + x;
        if depth < self.depth[at] {
            self.depth[at] = depth;
            self.pixels[at] = colour;
        }
    }

    pub(crate) fn into_texture(self) -> Texture {
        Texture {
            width: self.width,
            height: self.height,
            pixels: self.pixels,
        }
    }
}

/// A camera: how soft and noisy its pictures are.
#[derive(Debug, Clone)]
pub(crate) struct Camera {
    /// The weight of each neighbour in a blur of three pixels, 0–⅓.
    softness: f32,
    /// Standard deviation of the noise in 8-bit steps at middle grey.
    noise: f32,
    /// White balance.
    balance: Rgb,
    /// Noise of deviation 1, to be read from any place.
    grains: Vec<f32>,
}

const GRAINS: usize = 1 << 14;

impl Camera {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed, 0xca3e);
        Self {
            softness: random.between(0.08, 0.2),
            noise: random.between(1.0, 3.0),
            balance: [random.between(0.95, 1.06), 1.0, random.between(0.93, 1.07)],
            grains: (0..GRAINS).map(|_| random.normal()).collect(),
        }
    }

    /// The camera without a sensor's noise.
    pub(crate) fn without_noise(mut self) -> Self {
        self.noise = 0.0;
        self
    }

    /// The 8-bit picture of a drawn frame. `exposure` multiplies the light; `seed` chooses the noise.
    pub(crate) fn expose(&self, canvas: &Canvas, exposure: f32, seed: u64) -> Picture {
        let (width, height) = (canvas.width, canvas.height);
        let soft = |previous: Rgb, this: Rgb, next: Rgb| -> Rgb {
            std::array::from_fn(|i| this[i] + self.softness * (previous[i] + next[i] - 2.0 * this[i]))
        };
        let mut rows = Vec::with_capacity(width * height);
        for row in canvas.pixels.chunks_exact(width) {
            rows.extend(
                (0..width).map(|x| soft(row[x.saturating_sub(1)], row[x], row[(x + 1).min(width - 1)])),
            );
        }
        let gain = self.balance.map(|balance| balance * exposure);
        let mut random = Random::new(seed, 0x9a19);
        let mut pixels = Vec::with_capacity(width * height * 3);
        for y in 0..height {
            let (above, below) = (y.saturating_sub(1) * width, (y + 1).min(height - 1) * width);
            let (mut grain, step) = (random.below(GRAINS), random.below(64) * 2 + 1);
            for x in 0..width {
                let colour = soft(rows[above + x], rows[y * width + x], rows[below + x]);
                grain = (grain + step) % GRAINS;
                let common = self.grains[grain];
                for channel in 0..3 {
                    let own = self.grains[(grain + 1 + channel) % GRAINS];
                    let value =
                        encoded(colour[channel] * gain[channel]) + self.noise * (0.8 * common + 0.5 * own);
                    pixels.push((value + 0.5).clamp(0.0, 255.0) as u8);
                }
            }
        }
        Picture {
            width: width as u32,
            height: height as u32,
            pixels,
        }
    }
}

/// The most bytes of an encoded frame.
pub const MAX_FRAME_BYTES: usize = 15_000;

/// Encodes the frames of a film as JPEGs of at most [`MAX_FRAME_BYTES`], as the hosted page does: the quality falls when
/// a frame doesn't fit, and rises slowly while there is room.
#[derive(Debug, Clone)]
pub struct FrameEncoder {
    quality: u8,
}

/// The qualities that are used.
const QUALITIES: (u8, u8) = (5, 85);
/// The quality rises while frames use less than this share of their limit.
const ROOM: f32 = 0.85;

impl Default for FrameEncoder {
    fn default() -> Self {
        Self { quality: 70 }
    }
}

impl FrameEncoder {
    /// The next frame's JPEG. `None` if even the lowest quality doesn't fit, or a side exceeds JPEG's limit.
    pub fn encode(&mut self, frame: &Picture) -> Option<Vec<u8>> {
        loop {
            let bytes = imaging::encode_jpeg(frame, self.quality)?;
            let share = bytes.len() as f32 / MAX_FRAME_BYTES as f32;
            if share <= 1.0 {
                self.quality += u8::from(share < ROOM && self.quality < QUALITIES.1);
                return Some(bytes);
            }
            if self.quality == QUALITIES.0 {
                return None;
            }
            let step = f32::from(self.quality) * (1.0 - share.powf(-0.8));
            self.quality = self.quality.saturating_sub((step as u8).max(2)).max(QUALITIES.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_survives_the_camera() {
        let mut canvas = Canvas::new(32, 32);
        canvas.pixels.fill(linear([200, 100, 50]));
        let mut camera = Camera::new(1);
        (camera.noise, camera.balance) = (0.0, [1.0; 3]);
        let pixel = camera.expose(&canvas, 1.0, 1).pixel(16, 16);
        for (got, wanted) in pixel.into_iter().zip([200, 100, 50]) {
            assert!(i32::from(got).abs_diff(wanted) <= 1, "{pixel:?}");
        }
    }

    #[test]
    fn frames_of_pure_noise_fit_too() {
        let mut random = Random::new(5, 5);
        let pixels = (0..360 * 480 * 3).map(|_| random.next() as u8).collect();
        let frame = Picture::new(360, 480, pixels).unwrap();
        let mut encoder = FrameEncoder::default();
        let bytes = encoder.encode(&frame);
        assert!(bytes.is_none_or(|bytes| bytes.len() <= MAX_FRAME_BYTES));
        let low = encoder.quality;
        let flat = encoder.encode(&Picture::filled(360, 480, [90, 80, 70])).unwrap();
        assert!(flat.len() < 6_000 && encoder.quality == low + 1);
    }

    #[test]
    fn both_filters_agree_on_a_ramp() {
        let texture = Texture {
            width: 8,
            height: 8,
            pixels: (0..64).map(|i| [(i % 8) as f32; 3]).collect(),
        };
        for x in [2.0, 3.3, 5.1] {
            assert!((texture.bilinear(x, 4.0)[0] - (x - 0.5)).abs() < 1e-4);
            assert!((texture.cubic(x, 4.0)[0] - (x - 0.5)).abs() < 1e-4);
        }
        for far in [f32::NAN, 1e30, -1e30] {
            let _ = (texture.bilinear(far, far), texture.cubic(far, far));
        }
    }
}
