//! Text detection: scales the picture for the detector, and the regions back to the picture's pixels.

use imaging::{Picture, Point};
use inference::{Input, ModelName};

use super::{Ocr, OcrError, TextRegion, regions};

/// The largest factor by which small pictures are enlarged, because more enlargement reveals no more text.
const MAX_ENLARGEMENT: f32 = 3.0;
/// The detector's sides are multiples of this.
const STRIDE: u32 = 32;

impl Ocr {
    /// Finds regions of text, in pixels of `picture`. The detector receives the picture with its longer side
    /// scaled to about `side` pixels. The time grows with the area (736 × 544: 130 ms on one
    /// core).
    ///
    /// # Errors
    /// Fails when the model does not run, or its output does not have the input's size.
    pub fn detect(&self, picture: &Picture, side: u32) -> Result<Vec<TextRegion>, OcrError> {
        let longest = picture.width.max(picture.height) as f32;
        let scale = (side as f32 / longest).min(MAX_ENLARGEMENT);
        let fit = |length: u32| {
            let strides = (length as f32 * scale / STRIDE as f32).round() as u32;
            strides.clamp(1, side.div_ceil(STRIDE)) * STRIDE
        };
        let (width, height) = (fit(picture.width), fit(picture.height));
        let input = detector_planes(&picture.resized(width, height));
        let (w, h) = (width as usize, height as usize);
        let output = self.models.run(
            ModelName::TextDetector,
            Input {
                shape: &[1, 3, h, w],
                data: &input,
            },
        )?;
        let map = output.first().map_or(&[][..], |tensor| &tensor.data);
        if map.len() != w * h {
            return Err(OcrError::Alphabet);
        }
        let (sx, sy) = (
            picture.width as f32 / width as f32,
            picture.height as f32 / height as f32,
        );
        let regions = regions::regions(map, w, h)
            .into_iter()
            .map(|(quad, score)| TextRegion {
                quad: quad.map(|p| Point::new(p.x * sx, p.y * sy)),
                score,
            });
        Ok(regions.collect())
    }
}

/// The input of the detector: planes of blue, green and red, less PaddleOCR's means and divided by its deviations.
fn detector_planes(picture: &Picture) -> Vec<f32> {
    [(2, 0.485, 0.229), (1, 0.456, 0.224), (0, 0.406, 0.225)]
        .into_iter()
        .flat_map(|(channel, mean, deviation): (usize, f32, f32)| {
            let (factor, offset) = (1.0 / (255.0 * deviation), mean / deviation);
            picture
                .pixels
                .chunks_exact(3)
                .map(move |p| f32::from(p[channel]) * factor - offset)
        })
        .collect()
}
