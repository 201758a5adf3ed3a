//! JPEG decoding that refuses incomplete files.
//!
//! Most decoders fill the missing part of a truncated JPEG with grey and report no error. This module
//! therefore walks the file's markers first. They give the size before anything is allocated, the number of
//! scans, and whether the picture's end is present. Then `zune-jpeg` decodes in strict mode.

use image::metadata::Orientation;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::decoded::{StoredPicture, check_size};
use crate::error::DecodeError;
use crate::limits::Limits;
use crate::origin::FileOrigin;
use crate::picture::Picture;

/// Encoders write about 10 scans. Each scan may need a pass over the whole picture.
const MAX_SCANS: usize = 100;

/// More bytes than the decoder reads ahead (8).
const READ_AHEAD: usize = 12;

/// Decodes a baseline, extended or progressive JPEG: grey, YCbCr, RGB, CMYK or YCCK.
pub(crate) fn decode(mut file: Vec<u8>, limits: &Limits) -> Result<StoredPicture, DecodeError> {
    let survey = survey(&file)?;
    check_size(survey.width, survey.height, limits)?;
    if survey.scans > MAX_SCANS {
        return Err(DecodeError::TooManyScans);
    }
    // Data after the picture (a second picture, a maker's trailer, a polyglot's other half) is ignored. In a
    // sequential JPEG the end marker is removed, too. After that marker the decoder accepts missing data, but
    // it fails if it runs out of data. A truncated picture with an added end marker is therefore refused.
    if survey.sequential {
        file.truncate(survey.end);
        file.resize(survey.end + READ_AHEAD, 0);
    } else {
        file.truncate(survey.end + 2);
    }
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(u16::MAX.into())
        .set_max_height(u16::MAX.into())
        .jpeg_set_max_scans(MAX_SCANS)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file.as_slice()), options);
    let pixels = decoder.decode().map_err(error)?;
    let picture = Picture::new(survey.width, survey.height, pixels).ok_or(DecodeError::Damaged)?;
    let orientation = decoder.exif().and_then(|exif| Orientation::from_exif_chunk(exif));
    let mut origin = FileOrigin::default();
    if let Some(exif) = decoder.exif() {
        origin.add_exif(exif);
    }
    if let Some(xmp) = decoder.xmp() {
        origin.add_xmp(xmp);
    }
    Ok(StoredPicture {
        picture,
        origin,
        luma_steps: survey.luma_steps,
        exif_orientation: orientation.map_or(1, Orientation::to_exif),
    })
}

/// The properties of a JPEG that its markers state.
#[derive(Debug, PartialEq, Eq)]
struct Survey {
    width: u32,
    height: u32,
    scans: usize,
    /// Whether the JPEG is not progressive: each sample is coded once, in order.
    sequential: bool,
    /// The offset of the end marker (EOI).
    end: usize,
    /// The first component's quantisation table, row by row.
    luma_steps: Option<[u16; 64]>,
}

/// Walks the markers of a JPEG from start to end (ITU-T T.81 annex B).
fn survey(file: &[u8]) -> Result<Survey, DecodeError> {
    let mut frame: Option<(u32, u32, bool)> = None;
    let mut scans = 0;
    let mut luma_steps = None;
    let mut tables = [None; 4];
    let mut first_component = None;
    let mut at = 2;
    loop {
        // A marker is one or more bytes 0xFF, then a byte that is neither 0xFF nor 0.
        at += find(&file[at.min(file.len())..], |pair| {
            pair[0] == 0xFF && !matches!(pair[1], 0x00 | 0xFF)
        })
        .ok_or(DecodeError::Truncated)?;
        let marker = file[at + 1];
        match marker {
            0xD9 => break,
            0x01 | 0xD0..=0xD8 => {
                at += 2;
                continue;
            }
            _ => {}
        }
        let length = file.get(at + 2..at + 4).ok_or(DecodeError::Truncated)?;
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let segment = file
            .get(at + 4..at + 2 + length.max(2))
            .ok_or(DecodeError::Truncated)?;
        match marker {
            0xC0..=0xC2 => {
                let &[_precision, h1, h0, w1, w0, ref components @ ..] = segment else {
                    return Err(DecodeError::Damaged);
                };
                // The number of components, then of the first one its name, its sampling and its table.
                first_component = components.get(3).copied();
                let [height, width] = [[h1, h0], [w1, w0]].map(|side| u32::from(u16::from_be_bytes(side)));
                if frame.replace((width, height, marker != 0xC2)).is_some() {
                    return Err(DecodeError::Damaged);
                }
            }
            // DHT, JPG and DAC are in the same range as the frames of lossless, hierarchical and arithmetic
            // coding.
            0xC3..=0xCF if !matches!(marker, 0xC4 | 0xC8 | 0xCC) => return Err(DecodeError::Unsupported),
            0xDB => read_tables(segment, &mut tables),
            0xDA => {
                // Tables after the first scan are not those of its coefficients.
                if scans == 0 {
                    luma_steps = first_component.and_then(|table| *tables.get(usize::from(table))?);
                }
                scans += 1;
            }
            _ => {}
        }
        at += 2 + length.max(2);
    }
    let (width, height, sequential) = frame.filter(|_| scans > 0).ok_or(DecodeError::Damaged)?;
    Ok(Survey {
        width,
        height,
        scans,
        sequential,
        end: at,
        luma_steps,
    })
}

/// Reads the quantisation tables of a segment (ITU-T T.81 §B.2.4.1). An incomplete one is left to the decoder.
fn read_tables(mut segment: &[u8], tables: &mut [Option<[u16; 64]>; 4]) {
    while let Some((head, rest)) = segment.split_first() {
        let width = if head >> 4 == 0 { 1 } else { 2 };
        let Some((values, others)) = rest.split_at_checked(64 * width) else {
            return;
        };
        let steps = values
            .chunks(width)
            .map(|value| value.iter().fold(0, |step, byte| step << 8 | u16::from(*byte)));
        let mut table = [0; 64];
        for (at, step) in ZIGZAG.iter().zip(steps) {
            // A decoder refuses 0, and nothing may divide by it here.
            table[usize::from(*at)] = step.max(1);
        }
        if let Some(kept) = tables.get_mut(usize::from(head & 15)) {
            *kept = Some(table);
        }
        segment = others;
    }
}

/// The places of a table's values in their order in a file (ITU-T T.81 figure A.6).
const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
    14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39,
    46, 53, 60, 61, 54, 47, 55, 62, 63,
];

fn find(file: &[u8], test: impl Fn(&[u8]) -> bool) -> Option<usize> {
    file.windows(2).position(test)
}

fn error(error: DecodeErrors) -> DecodeError {
    match error {
        DecodeErrors::Unsupported(_) => DecodeError::Unsupported,
        DecodeErrors::ExhaustedData
        | DecodeErrors::IoErrors(_)
        | DecodeErrors::FormatStatic("Premature end of buffer") => DecodeError::Truncated,
        _ => DecodeError::Damaged,
    }
}
