//! One file to one upright picture: the way in.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use crate::error::DecodeError;
use crate::format::{Format, sniff};
use crate::limits::Limits;
use crate::picture::Picture;
use crate::{jpeg, pdf, raster};

/// Stack of the decoding thread: hostile PDFs nest deeply. Only what is touched takes memory.
const STACK_BYTES: usize = 64 << 20;

/// A decoded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The upright picture.
    pub picture: Picture,
    /// What the file was.
    pub format: Format,
    /// Width as stored, before [`Limits::max_side`] and EXIF orientation; of a PDF page as rendered.
    pub source_width: u32,
    /// Height as stored, likewise.
    pub source_height: u32,
    /// The EXIF orientation tag (1–8) that was applied; 1 where there is none.
    pub exif_orientation: u8,
    /// Which page of a PDF this is, counted from 0.
    pub page: Option<u32>,
    /// How many pages the PDF has.
    pub pages: Option<u32>,
}

/// Decodes one file of any of our formats within the limits.
///
/// A PDF gives its first page that is not blank, from [`Limits::from_page`] on.
///
/// The work is done on a thread of its own, so that time and stack have a bound and a panic inside a decoder becomes
/// [`DecodeError::Crashed`]. After [`DecodeError::Unfinished`] that thread still runs until it ends by itself: a
/// long-lived process decodes strangers' files through [`crate::worker`], whose process then ends.
///
/// # Errors
/// [`DecodeError`]: for every file that does not give a whole picture.
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
            // Nobody listens any more after a time-out.
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

/// A picture as the file stores it.
pub(crate) struct Stored {
    pub(crate) picture: Picture,
    pub(crate) exif_orientation: u8,
}

fn upright(stored: Stored, format: Format, limits: &Limits) -> Decoded {
    let Stored {
        picture,
        exif_orientation,
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
    }
}

/// Refuses a declared size before anything is allocated for it.
pub(crate) fn check_size(width: u32, height: u32, limits: &Limits) -> Result<(), DecodeError> {
    if width == 0 || height == 0 {
        return Err(DecodeError::Damaged);
    }
    if u64::from(width) * u64::from(height) > limits.max_pixels {
        return Err(DecodeError::TooManyPixels { width, height });
    }
    Ok(())
}
