//! Encodes pictures as JPEG and PNG, for stored copies, test specimens and tests.

use image::ExtendedColorType::Rgb8;
use image::ImageEncoder;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;

use crate::picture::Picture;

/// Encodes a picture as JPEG of `quality` 1–100. No metadata is written.
///
/// Returns `None` if a side exceeds JPEG's limit (65,535).
pub fn encode_jpeg(picture: &Picture, quality: u8) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut bytes, quality.clamp(1, 100));
    encoder
        .write_image(&picture.pixels, picture.width, picture.height, Rgb8)
        .ok()?;
    Some(bytes)
}

/// Encodes a picture as PNG, without loss. No metadata is written.
///
/// Returns `None` if the picture's size and pixels do not correspond.
pub fn encode_png(picture: &Picture) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes)
        .write_image(&picture.pixels, picture.width, picture.height, Rgb8)
        .ok()?;
    Some(bytes)
}
