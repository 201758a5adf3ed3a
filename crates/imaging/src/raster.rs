//! Decodes PNG, WEBP and BMP with the `image` crate: it checks the size, decodes the pixels and converts them
//! to RGB.

use std::io::{Cursor, ErrorKind};

use image::codecs::bmp::BmpDecoder;
use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::{ColorType, ImageDecoder, ImageError};

use crate::decoded::{StoredPicture, check_size};
use crate::error::DecodeError;
use crate::format::Format;
use crate::limits::Limits;
use crate::origin::FileOrigin;
use crate::picture::Picture;

/// Decoded bytes allowed for each pixel of [`Limits::max_pixels`]: 8-bit RGBA.
const BYTES_PER_PIXEL: u64 = 4;

/// Decodes a PNG (the default image of an animation), a WEBP (the first frame of an animation) or a BMP.
pub(crate) fn decode(bytes: &[u8], format: Format, limits: &Limits) -> Result<StoredPicture, DecodeError> {
    let file = Cursor::new(bytes);
    let mut stored = match format {
        Format::Png => {
            let mut caps = image::Limits::no_limits();
            caps.max_alloc = Some(limits.max_pixels * BYTES_PER_PIXEL);
            PngDecoder::with_limits(file, caps)
                .map_err(error)
                .and_then(|decoder| read(decoder, limits))
        }
        Format::Webp if webp_is_cut(bytes) => Err(DecodeError::Truncated),
        Format::Webp => WebPDecoder::new(file)
            .map_err(error)
            .and_then(|decoder| read(decoder, limits)),
        _ => BmpDecoder::new(file)
            .map_err(error)
            .and_then(|decoder| read(decoder, limits)),
    }?;
    stored.origin.add_chunks(bytes, format);
    stored.luma_steps = (format != Format::Webp).then_some([1; 64]);
    Ok(stored)
}

/// Whether a WEBP is shorter than its RIFF header declares. The decoder would report it as damaged.
fn webp_is_cut(bytes: &[u8]) -> bool {
    let declared = bytes
        .get(4..8)
        .map(|size| u32::from_le_bytes([size[0], size[1], size[2], size[3]]));
    declared.is_none_or(|size| (bytes.len() as u64) < u64::from(size) + 8)
}

fn read(mut decoder: impl ImageDecoder, limits: &Limits) -> Result<StoredPicture, DecodeError> {
    let (width, height) = decoder.dimensions();
    check_size(width, height, limits)?;
    if decoder.total_bytes() > limits.max_pixels * BYTES_PER_PIXEL {
        return Err(DecodeError::TooMuchMemory);
    }
    let mut origin = FileOrigin::default();
    if let Ok(Some(exif)) = decoder.exif_metadata() {
        origin.add_exif(&exif);
    }
    // If the EXIF data is unreadable, only the orientation is lost.
    let exif_orientation = decoder
        .orientation()
        .map_or(1, image::metadata::Orientation::to_exif);
    let colour = decoder.color_type();
    let mut raw = vec![0; decoder.total_bytes() as usize];
    decoder.read_image(&mut raw).map_err(error)?;
    let pixels = to_rgb(raw, colour).ok_or(DecodeError::Unsupported)?;
    let picture = Picture::new(width, height, pixels).ok_or(DecodeError::Damaged)?;
    Ok(StoredPicture {
        picture,
        origin,
        luma_steps: None,
        exif_orientation,
    })
}

/// Converts any colour type to RGB8 on a white background, in place where that saves memory.
fn to_rgb(mut raw: Vec<u8>, colour: ColorType) -> Option<Vec<u8>> {
    if matches!(
        colour,
        ColorType::L16 | ColorType::La16 | ColorType::Rgb16 | ColorType::Rgba16
    ) {
        for at in 0..raw.len() / 2 {
            let sample = u32::from(u16::from_ne_bytes([raw[2 * at], raw[2 * at + 1]]));
            raw[at] = ((sample * 255 + 32_767) / 65_535) as u8;
        }
        raw.truncate(raw.len() / 2);
    }
    match colour.channel_count() {
        1 => Some(raw.iter().flat_map(|&grey| [grey; 3]).collect()),
        2 => Some(
            raw.chunks_exact(2)
                .flat_map(|p| [on_white(p[0], p[1]); 3])
                .collect(),
        ),
        3 => Some(raw),
        4 => {
            let pixels = raw.len() / 4;
            for at in 0..pixels {
                let alpha = raw[at * 4 + 3];
                for channel in 0..3 {
                    raw[at * 3 + channel] = on_white(raw[at * 4 + channel], alpha);
                }
            }
            raw.truncate(pixels * 3);
            Some(raw)
        }
        _ => None,
    }
}

fn on_white(sample: u8, alpha: u8) -> u8 {
    let (sample, alpha) = (u32::from(sample), u32::from(alpha));
    ((sample * alpha + 255 * (255 - alpha) + 127) / 255) as u8
}

/// Converts the library's error. Its text is dropped, because it may quote the file.
fn error(error: ImageError) -> DecodeError {
    match &error {
        ImageError::Unsupported(_) => DecodeError::Unsupported,
        ImageError::Limits(_) => DecodeError::TooMuchMemory,
        ImageError::IoError(io) if io.kind() == ErrorKind::UnexpectedEof => DecodeError::Truncated,
        _ if ended_early(&error) => DecodeError::Truncated,
        _ => DecodeError::Damaged,
    }
}

/// Whether the cause of an error is the end of the file.
fn ended_early(error: &(dyn std::error::Error + 'static)) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|io| io.kind() == ErrorKind::UnexpectedEof) || error.source().is_some_and(ended_early)
}
