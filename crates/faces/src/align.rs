//! Aligns a face by five points to dlib's 150² chip, and computes the embedding from the chip.
//!
//! dlib's network was trained on faces cut out this way (`get_face_chip_details(shape, 150, 0.25)` with its
//! 5-point shape). Any other alignment lowers the accuracy.

use imaging::{Picture, Point};
use inference::{Input, ModelName, Models};

use crate::embedding::{EMBEDDING_LEN, Embedding};
use crate::error::FaceError;
use crate::window::Window;

/// Side of the chip in pixels.
pub(crate) const CHIP: u32 = 150;
/// Space on each side of the template, as a share of its size.
const PADDING: f32 = 0.25;
/// The positions of the five points in a face, from dlib's `image_transforms/interpolation.h`.
const TEMPLATE: [(f32, f32); 5] = [
    (0.859_567_46, 0.213_498_15),
    (0.646_060_5, 0.228_967_44),
    (0.120_575_06, 0.213_727_45),
    (0.334_085_06, 0.229_064_24),
    (0.490_112_3, 0.627_797_5),
];

/// Each face is embedded slightly smaller and slightly larger than the template. The mean depends less on the
/// exact position of the five points than the template's own embedding.
const ZOOMS: [f32; 2] = [0.95, 1.05];

/// The aligned chip of a face, as dlib cuts it out, or `None` if its points coincide.
pub(crate) fn chip(picture: &Picture, points: &[Point; 5]) -> Option<Picture> {
    zoomed_chip(picture, points, 1.0)
}

/// The chip with the face enlarged by `zoom` about its centre.
fn zoomed_chip(picture: &Picture, points: &[Point; 5], zoom: f32) -> Option<Picture> {
    let place = |value: f32| ((value + PADDING) / (1.0 + 2.0 * PADDING) - 0.5) * zoom * CHIP as f32;
    let middle = CHIP as f32 / 2.0 + 0.5;
    let template = TEMPLATE.map(|(x, y)| Point::new(middle + place(x), middle + place(y)));
    Some(Window::fit(&template, points, CHIP)?.cut(picture))
}

/// The embedding of a face: the mean over its zooms and their mirror images, which reduces the effects of
/// pose, light and alignment. `None` if its points coincide.
pub(crate) fn embed(
    models: &Models,
    picture: &Picture,
    points: &[Point; 5],
) -> Result<Option<Embedding>, FaceError> {
    let mut data = Vec::with_capacity(2 * ZOOMS.len() * 3 * CHIP as usize * CHIP as usize);
    for zoom in ZOOMS {
        let Some(chip) = zoomed_chip(picture, points, zoom) else {
            return Ok(None);
        };
        for view in [&chip, &chip.mirrored()] {
            for channel in 0..3 {
                data.extend(
                    view.pixels
                        .iter()
                        .skip(channel)
                        .step_by(3)
                        .map(|&value| f32::from(value)),
                );
            }
        }
    }
    let views = 2 * ZOOMS.len();
    let shape = [views, 3, CHIP as usize, CHIP as usize];
    let answer = models.run(
        ModelName::FaceEmbedding,
        Input {
            shape: &shape,
            data: &data,
        },
    )?;
    let unexpected = || FaceError::UnexpectedAnswer(ModelName::FaceEmbedding.as_str());
    let all = answer
        .first()
        .filter(|tensor| tensor.data.len() == views * EMBEDDING_LEN)
        .ok_or_else(unexpected)?;
    let mut values = [0.0; EMBEDDING_LEN];
    for view in all.data.chunks_exact(EMBEDDING_LEN) {
        values
            .iter_mut()
            .zip(view)
            .for_each(|(mean, value)| *mean += value / views as f32);
    }
    Embedding::new(models.version(ModelName::FaceEmbedding), values)
        .map(Some)
        .map_err(|_| unexpected())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chip_puts_the_points_where_dlib_expects_them() {
        // Each pixel's colour encodes its column and row. The five points are placed like the template, at
        // 300 pixels per unit.
        let pixels = (0..600 * 600)
            .flat_map(|i| [(i % 600 / 4) as u8, (i / 600 / 4) as u8, 0])
            .collect();
        let picture = Picture::new(600, 600, pixels).expect("the right size");
        let points = TEMPLATE.map(|(x, y)| Point::new(120.0 + 300.0 * x, 150.0 + 300.0 * y));
        let chip = chip(&picture, &points).expect("distinct points");
        for ((x, y), point) in TEMPLATE.into_iter().zip(points) {
            let place = |value: f32| ((value + PADDING) * 100.0) as u32;
            let [column, row, _] = chip.pixel(place(x), place(y));
            assert!(
                (f32::from(column) * 4.0 - point.x).abs() < 6.0,
                "{column} for {}",
                point.x
            );
            assert!((f32::from(row) * 4.0 - point.y).abs() < 8.0);
        }
    }

    #[test]
    fn points_in_one_place_have_no_chip() {
        assert!(chip(&Picture::filled(9, 9, [0; 3]), &[Point::new(4.0, 4.0); 5]).is_none());
    }
}
