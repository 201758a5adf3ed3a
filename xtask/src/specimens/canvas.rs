//! Draws filled shapes, fine lines, text and pasted pictures on RGB pixels. Coordinates are pixels from the
//! top left. Shapes and text outside the canvas are clipped; a pasted picture must fit.

use ab_glyph::{Font, FontVec, PxScale, ScaleFont, point};
use anyhow::{Context, Result};
use imaging::Picture;

pub(crate) type Colour = [u8; 3];

pub(crate) const BLACK: Colour = [22, 22, 26];

/// The fonts of Debian's `fonts-dejavu-core` and `fonts-ocr-b`.
pub(crate) struct Fonts {
    pub(crate) label: FontVec,
    pub(crate) value: FontVec,
    pub(crate) ocr_b: FontVec,
}

impl Fonts {
    pub(crate) fn load() -> Result<Self> {
        let font = |path: &str, package: &str| {
            std::fs::read(path)
                .ok()
                .and_then(|bytes| FontVec::try_from_vec(bytes).ok())
                .with_context(|| format!("no font at {path}: apt-get install {package}"))
        };
        Ok(Self {
            label: font(
                "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
                "fonts-dejavu-core",
            )?,
            value: font(
                "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf",
                "fonts-dejavu-core",
            )?,
            ocr_b: font("/usr/share/fonts/opentype/ocr-b/OCRB.otf", "fonts-ocr-b")?,
        })
    }
}

pub(crate) struct Canvas {
    pub(crate) picture: Picture,
}

impl Canvas {
    pub(crate) fn new(width: u32, height: u32, colour: Colour) -> Self {
        Self {
            picture: Picture::filled(width, height, colour),
        }
    }

    /// Mixes a colour into a pixel: a share of 0 changes nothing, 1 replaces the colour.
    pub(crate) fn blend(&mut self, x: i32, y: i32, colour: Colour, share: f32) {
        let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else {
            return;
        };
        if x >= self.picture.width || y >= self.picture.height {
            return;
        }
        let at = (y as usize * self.picture.width as usize + x as usize) * 3;
        for (channel, new) in self.picture.pixels[at..at + 3].iter_mut().zip(colour) {
            *channel = (f32::from(*channel) + (f32::from(new) - f32::from(*channel)) * share).round() as u8;
        }
    }

    pub(crate) fn rectangle(&mut self, x: i32, y: i32, width: i32, height: i32, colour: Colour, share: f32) {
        for y in y..y + height {
            for x in x..x + width {
                self.blend(x, y, colour, share);
            }
        }
    }

    pub(crate) fn paste(&mut self, x: u32, y: u32, picture: &Picture) {
        let length = picture.width as usize * 3;
        for row in 0..picture.height {
            let at = ((y + row) as usize * self.picture.width as usize + x as usize) * 3;
            self.picture.pixels[at..at + length].copy_from_slice(picture.row(row));
        }
    }

    /// Draws interlaced waves over the whole sheet, as on security paper.
    pub(crate) fn guilloche(&mut self, colours: [Colour; 2], seed: f32) {
        let (width, height) = (self.picture.width as f32, self.picture.height as f32);
        for (family, colour) in colours.into_iter().enumerate() {
            let turn = if family == 0 { 1.0 } else { -1.0 };
            for line in 0..36 {
                let level = height * (line as f32 / 36.0);
                for x in 0..self.picture.width {
                    let phase = x as f32 / width * std::f32::consts::TAU;
                    let wave = (phase * 3.0 * turn + seed + line as f32 * 0.13).sin() * 26.0
                        + (phase * 7.0 - seed * turn).sin() * 9.0;
                    let y = level + wave;
                    let (row, part) = (y.floor(), y - y.floor());
                    self.blend(x as i32, row as i32, colour, 0.30 * (1.0 - part));
                    self.blend(x as i32, row as i32 + 1, colour, 0.30 * part);
                }
            }
        }
    }

    /// Draws text on a baseline; `height` is the font's size in pixels.
    pub(crate) fn text(
        &mut self,
        font: &FontVec,
        height: f32,
        x: f32,
        baseline: f32,
        colour: Colour,
        text: &str,
    ) {
        let scaled = font.as_scaled(PxScale::from(height));
        let mut at = x;
        for character in text.chars() {
            self.glyph(font, height, at, baseline, colour, character);
            at += scaled.h_advance(font.glyph_id(character));
        }
    }

    /// Draws text at a fixed pitch, as an MRZ is printed.
    pub(crate) fn pitched(
        &mut self,
        font: &FontVec,
        pitch: f32,
        x: f32,
        baseline: f32,
        colour: Colour,
        text: &str,
    ) {
        let height = pitch / font.as_scaled(PxScale::from(1.0)).h_advance(font.glyph_id('0'));
        for (position, character) in text.chars().enumerate() {
            self.glyph(
                font,
                height,
                x + position as f32 * pitch,
                baseline,
                colour,
                character,
            );
        }
    }

    fn glyph(&mut self, font: &FontVec, height: f32, x: f32, baseline: f32, colour: Colour, character: char) {
        let glyph = font
            .glyph_id(character)
            .with_scale_and_position(PxScale::from(height), point(x, baseline));
        if let Some(outline) = font.outline_glyph(glyph) {
            let bounds = outline.px_bounds();
            outline.draw(|dx, dy, share| {
                self.blend(
                    bounds.min.x as i32 + dx as i32,
                    bounds.min.y as i32 + dy as i32,
                    colour,
                    share.min(1.0),
                );
            });
        }
    }
}
