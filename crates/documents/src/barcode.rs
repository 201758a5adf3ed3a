//! Barcodes in a picture: finding, deskewing and decoding. Never understands a payload: that is `aamva`'s.
//!
//! PDF417 (ISO/IEC 15438), the symbology of North American licences. Libraries read it within about 3° of upright;
//! hand-held photographs are tilted more. So [`regions`] finds areas of parallel stripes and their direction,
//! [`guards`] finds the start and stop patterns along the stripes of such an area turned upright and fits the symbol's
//! quadrilateral through them, and what the quadrilateral holds, cut out square, goes to `rxing` in [`symbol`].

mod guards;
mod regions;
#[cfg(test)]
mod specimen;
mod symbol;

use std::time::{Duration, Instant};

use imaging::{Homography, Luma, Picture, Point};

/// A barcode as decoded: what it says, not what that means.
#[derive(Debug, Clone, PartialEq)]
pub struct RawBarcode {
    /// `PDF417`.
    pub symbology: &'static str,
    /// The payload as text; bytes beyond ASCII as ISO 8859-1 unless the symbol names another character set.
    pub text: String,
    /// The payload's bytes.
    pub bytes: Vec<u8>,
    /// Top-left, top-right, bottom-right, bottom-left corner as the symbol is read, in pixels of the picture.
    pub corners: [Point; 4],
}

/// Pictures with no more pixels than this are also read as they are, enlarged, in case they are all barcode.
const SMALL_PICTURE: u32 = 400_000;
/// Longest side of the picture that is read as a whole when nothing else helped.
const WHOLE_SIDE: u32 = 1600;

/// Reads every PDF417 symbol in a picture, at any tilt, turned or mirrored, within a time budget.
///
/// The budget is checked between attempts, of which each takes some milliseconds; what was read until then is returned.
pub fn read_barcodes(picture: &Picture, budget: Duration) -> Vec<RawBarcode> {
    let deadline = Instant::now() + budget;
    let luma = picture.luma();
    let mut found: Vec<RawBarcode> = Vec::new();
    for region in regions::find(&luma) {
        if Instant::now() > deadline {
            return found;
        }
        let already = found
            .iter()
            .any(|barcode| encloses(&barcode.corners, region.centre));
        if !already && let Some(barcode) = read_region(&luma, &region, deadline) {
            found.push(barcode);
        }
    }
    if found.is_empty() && Instant::now() < deadline {
        found.extend(read_whole(&luma));
    }
    found
}

/// Turns a region upright, straightens the symbol in it by its guards, and decodes it.
fn read_region(luma: &Luma, region: &regions::Region, deadline: Instant) -> Option<RawBarcode> {
    let (upright, to_picture) = region.upright(luma);
    for quad in guards::find(&upright) {
        for (width, height) in quad.sizes() {
            if Instant::now() > deadline {
                return None;
            }
            let Some((square, to_upright)) = quad.square(&upright, width, height) else {
                continue;
            };
            // A mirrored symbol has its rows in reverse order once its start pattern is on the left.
            for flip in [false, true] {
                let Some(text) = symbol::decode(&square, flip) else {
                    continue;
                };
                let to_picture = to_upright.then(&to_picture);
                let corners = rectangle(width, height).map(|corner| to_picture.apply(corner));
                return Some(raw(text, if flip { flipped(corners) } else { corners }));
            }
        }
    }
    let text = symbol::decode(&upright, false)?;
    let corners = rectangle(upright.width, upright.height);
    Some(raw(text, corners.map(|corner| to_picture.apply(corner))))
}

/// Reads a picture that is all barcode, or whose barcode is too odd to be found: as it is, and enlarged.
fn read_whole(luma: &Luma) -> Option<RawBarcode> {
    let longest = luma.width.max(luma.height);
    let mut scales = vec![f64::from(WHOLE_SIDE.min(longest)) / f64::from(longest)];
    if luma.width * luma.height <= SMALL_PICTURE {
        scales.extend([2.0, 3.0]);
    }
    scales.into_iter().find_map(|scale| {
        let side = |length: u32| (f64::from(length) * scale).round() as u32;
        let text = symbol::decode(&padded(&luma.resized(side(luma.width), side(luma.height))), false)?;
        Some(raw(text, rectangle(luma.width, luma.height)))
    })
}

/// A white border: symbols cut to their edge lack their quiet zone.
fn padded(luma: &Luma) -> Luma {
    const BORDER: u32 = 16;
    let shift = Homography([
        [1.0, 0.0, -f64::from(BORDER)],
        [0.0, 1.0, -f64::from(BORDER)],
        [0.0, 0.0, 1.0],
    ]);
    luma.warp(&shift, luma.width + 2 * BORDER, luma.height + 2 * BORDER, 255)
}

fn raw(text: String, corners: [Point; 4]) -> RawBarcode {
    let latin1: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    let bytes = latin1.unwrap_or_else(|| text.as_bytes().to_vec());
    RawBarcode {
        symbology: "PDF417",
        text,
        bytes,
        corners,
    }
}

fn rectangle(width: u32, height: u32) -> [Point; 4] {
    let (w, h) = (width as f32, height as f32);
    [
        Point::new(0.0, 0.0),
        Point::new(w, 0.0),
        Point::new(w, h),
        Point::new(0.0, h),
    ]
}

fn flipped([a, b, c, d]: [Point; 4]) -> [Point; 4] {
    [d, c, b, a]
}

/// Whether a point lies inside a convex quadrilateral.
fn encloses(corners: &[Point; 4], point: Point) -> bool {
    let side = |i: usize| {
        let (a, b) = (corners[i], corners[(i + 1) % 4]);
        (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x)
    };
    (0..4).all(|i| side(i) > 0.0) || (0..4).all(|i| side(i) < 0.0)
}
