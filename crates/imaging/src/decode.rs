//! Decodes one file into one upright picture.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use crate::decoded::{Decoded, StoredPicture};
use crate::error::DecodeError;
use crate::format::{Format, sniff};
use crate::limits::Limits;
use crate::{jpeg, pdf, raster};

/// Stack of the decoding thread: hostile PDFs nest deeply. Only pages of the stack that are used take memory.
const STACK_BYTES: usize = 64 << 20;

/// Decodes one file of a supported format within the limits.
///
/// A PDF gives its first page that is not blank, from [`Limits::from_page`] on.
///
/// A separate thread does the work. This limits time and stack, and a panic in a decoder becomes
/// [`DecodeError::Crashed`]. After [`DecodeError::Unfinished`] that thread continues until it ends. A
/// server therefore decodes untrusted files in engine workers, which end then.
///
/// # Errors
/// [`DecodeError`] for every file that does not give a whole picture.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Decoded, DecodeError> {
    if bytes.is_empty() {
        return Err(DecodeError::Empty);
    }
    let format = sniff(bytes).ok_or(DecodeError::UnknownFormat)?;
    let (file, caps) = (bytes.to_vec(), limits.clone());
    let (sender, receiver) = channel();
    thread::Builder::new()
        .name("decode".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // After a time-out the receiver no longer exists.
            let _ = sender.send(decode_as(format, file, &caps));
        })
        .map_err(|_| DecodeError::Unfinished)?;
    receiver
        .recv_timeout(limits.time)
        .unwrap_or_else(|missing| match missing {
            RecvTimeoutError::Timeout => Err(DecodeError::Unfinished),
            RecvTimeoutError::Disconnected => Err(DecodeError::Crashed),
        })
}

fn decode_as(format: Format, file: Vec<u8>, limits: &Limits) -> Result<Decoded, DecodeError> {
    match format {
        Format::Jpeg => jpeg::decode(file, limits).map(|stored| upright(stored, format, limits)),
        Format::Png | Format::Webp | Format::Bmp => {
            raster::decode(&file, format, limits).map(|stored| upright(stored, format, limits))
        }
        Format::Pdf => pdf::decode(file, limits),
    }
}

fn upright(stored: StoredPicture, format: Format, limits: &Limits) -> Decoded {
    let StoredPicture {
        picture,
        exif_orientation,
        origin,
        luma_steps,
    } = stored;
    let (source_width, source_height) = (picture.width, picture.height);
    let picture = match limits.max_side {
        Some(max_side) => picture.reduced(max_side),
        None => picture,
    };
    let picture = picture.oriented(exif_orientation);
    Decoded {
        picture,
        format,
        source_width,
        source_height,
        exif_orientation,
        page: None,
        pages: None,
        origin,
        luma_steps,
    }
}
