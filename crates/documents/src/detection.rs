//! Detects text in a picture, and again at a larger scale where the document fills only part of it.
//!
//! It decides which part of the picture the text detector sees. It never reads text.

use imaging::{Picture, Point};

use crate::locate;
use crate::ocr::{Ocr, OcrError, Quad, TextRegion};

/// The picture's longer side, in pixels, as the text detector receives it.
const DETECTION_SIDE: u32 = 736;
/// If the text covers less than this share of the picture's longer side, detection is repeated on the text's
/// part.
const ZOOM_BELOW: f32 = 0.62;

/// Detects text. When the text fills only part of the picture, that part is detected again at a larger scale.
///
/// # Errors
/// Fails when a model does not run.
pub(crate) fn detect(ocr: &Ocr, picture: &Picture) -> Result<Vec<TextRegion>, OcrError> {
    let regions = ocr.detect(picture, DETECTION_SIDE)?;
    let Some([x, y, w, h]) = text_area(&regions) else {
        return Ok(regions);
    };
    let margin = 0.12 * w.max(h);
    let area = [x - margin, y - margin, w + 2.0 * margin, h + 2.0 * margin];
    if !is_worth_enlarging(picture, w.max(h)) {
        return Ok(regions);
    }
    Ok(detect_in(ocr, picture, area)?.unwrap_or(regions))
}

/// Detects text in a part of the picture: x, y, width, height. Returns its regions in the picture's pixels; `None` if
/// the part has no extent.
///
/// # Errors
/// Fails when a model does not run.
pub(crate) fn detect_in(
    ocr: &Ocr,
    picture: &Picture,
    [x, y, w, h]: [f32; 4],
) -> Result<Option<Vec<TextRegion>>, OcrError> {
    // `as` saturates.
    let (left, top) = (x.max(0.0) as u32, y.max(0.0) as u32);
    let (right, bottom) = ((x + w) as u32, (y + h) as u32);
    let part = picture.crop(left, top, right.saturating_sub(left), bottom.saturating_sub(top));
    let Some(part) = part else {
        return Ok(None);
    };
    let mut regions = ocr.detect(&part, DETECTION_SIDE)?;
    for region in &mut regions {
        region.quad = region
            .quad
            .map(|p| Point::new(p.x + left as f32, p.y + top as f32));
    }
    Ok(Some(regions))
}

/// Detects text again at a larger scale where the document of a zone with this first row is printed, if it fills only
/// part of the picture. Regions elsewhere remain.
///
/// # Errors
/// Fails when a model does not run.
pub(crate) fn detect_page(
    ocr: &Ocr,
    picture: &Picture,
    regions: Vec<TextRegion>,
    first_row: &Quad,
) -> Result<Vec<TextRegion>, OcrError> {
    let [x, y, w, h] = locate::page_above(first_row).bounds();
    if !is_worth_enlarging(picture, w.max(h)) {
        return Ok(regions);
    }
    let Some(closer) = detect_in(ocr, picture, [x, y, w, h])? else {
        return Ok(regions);
    };
    let is_outside = |region: &TextRegion| {
        let centre = region.quad.centre();
        !((x..x + w).contains(&centre.x) && (y..y + h).contains(&centre.y))
    };
    let others = regions.into_iter().filter(is_outside);
    Ok(closer.into_iter().chain(others).collect())
}

/// Whether a part of the picture that is so long shows more if it is detected alone.
pub(crate) fn is_worth_enlarging(picture: &Picture, length: f32) -> bool {
    let longest = picture.width.max(picture.height) as f32;
    length <= ZOOM_BELOW * longest && longest > DETECTION_SIDE as f32
}

/// The rectangle around all text: x, y, width, height.
fn text_area(regions: &[TextRegion]) -> Option<[f32; 4]> {
    regions.iter().map(|r| r.quad.bounds()).reduce(|a, b| {
        let (x, y) = (a[0].min(b[0]), a[1].min(b[1]));
        [
            x,
            y,
            (a[0] + a[2]).max(b[0] + b[2]) - x,
            (a[1] + a[3]).max(b[1] + b[3]) - y,
        ]
    })
}
