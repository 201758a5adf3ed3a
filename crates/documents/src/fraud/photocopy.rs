//! Whether a copy without colour was photographed: all its colours are one tint of grey.
//!
//! The tint is that of paper and light, so it is estimated and removed first. A colour copy is not found, and print in a
//! single coloured ink cannot be told from a tint.

use imaging::{Picture, Point};

use super::PrintArea;

/// Below this difference from the tint, in grey levels, the sign is raised.
pub(super) const LIMIT: f32 = 7.0;
/// The share of the page's cells whose colour differs less than the measure.
const SHARE: f32 = 0.9;
/// Cells along the longer side of the page.
const CELLS: u32 = 160;
/// The least side of a cell in pixels, over which noise is averaged.
const LEAST_CELL: u32 = 6;
/// Cells with a channel above or below these have lost their colour to exposure.
const EXPOSED: std::ops::Range<f32> = 25.0..248.0;
/// With fewer cells the picture does not allow a measure.
const LEAST_CELLS: usize = 400;

/// How far the page's colours differ from one tint; `None` if the page is too small for a measure.
pub(super) fn colour(picture: &Picture, area: &PrintArea) -> Option<f32> {
    let cells = cells(picture, area);
    if cells.len() < LEAST_CELLS {
        return None;
    }
    let [red, blue] = [0, 2].map(|channel| residues(&cells, channel));
    let mut distances: Vec<f32> = red.iter().zip(&blue).map(|(r, b)| r.hypot(*b)).collect();
    let at = (distances.len() as f32 * SHARE) as usize;
    let (_, measure, _) = distances.select_nth_unstable_by(at, f32::total_cmp);
    Some(*measure)
}

/// The mean colours of cells that are spread evenly over the area.
fn cells(picture: &Picture, area: &PrintArea) -> Vec<[f32; 3]> {
    let [left, top, right, bottom] = area.region(picture.width, picture.height);
    let (width, height) = (right.saturating_sub(left), bottom.saturating_sub(top));
    let side = (width.max(height) / CELLS).max(LEAST_CELL);
    let middle = side as f32 / 2.0;
    let mut cells = Vec::new();
    for y in (top..bottom.saturating_sub(side - 1)).step_by(side as usize) {
        for x in (left..right.saturating_sub(side - 1)).step_by(side as usize) {
            if !area.contains(Point::new(x as f32 + middle, y as f32 + middle)) {
                continue;
            }
            let mut sums = [0_u32; 3];
            for row in y..y + side {
                let pixels = &picture.row(row)[x as usize * 3..(x + side) as usize * 3];
                for pixel in pixels.as_chunks::<3>().0 {
                    sums.iter_mut()
                        .zip(pixel)
                        .for_each(|(sum, value)| *sum += u32::from(*value));
                }
            }
            let mean = sums.map(|sum| sum as f32 / (side * side) as f32);
            if mean.iter().all(|value| EXPOSED.contains(value)) {
                cells.push(mean);
            }
        }
    }
    cells
}

/// How far each cell's channel is from the line that best tells it from green: grey under any light and on any paper
/// lies on it.
fn residues(cells: &[[f32; 3]], channel: usize) -> Vec<f32> {
    let count = cells.len() as f32;
    let mean = |of: usize| cells.iter().map(|cell| cell[of]).sum::<f32>() / count;
    let (green, other) = (mean(1), mean(channel));
    let (mut product, mut square) = (0.0, 0.0);
    for cell in cells {
        product += (cell[1] - green) * (cell[channel] - other);
        square += (cell[1] - green).powi(2);
    }
    let slope = if square > 0.0 { product / square } else { 1.0 };
    cells
        .iter()
        .map(|cell| cell[channel] - other - slope * (cell[1] - green))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ocr::Quad;

    const SIDE: u32 = 600;

    fn area(side: u32) -> PrintArea {
        let middle = Point::new(side as f32 / 2.0, side as f32 / 2.0);
        let page = Quad::around(middle, Point::new(1.0, 0.0), side as f32, side as f32);
        PrintArea::around([page].iter(), 1.0).unwrap()
    }

    /// A page with this colour for each level of grey from 0 to 1.
    fn page(colour: impl Fn(f32, u32) -> [f32; 3]) -> Picture {
        let mut picture = Picture::filled(SIDE, SIDE, [0; 3]);
        for (at, pixel) in picture.pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let (x, y) = (at as u32 % SIDE, at as u32 / SIDE);
            *pixel = colour(((x * 7 + y * 3) % 200) as f32 / 200.0, y).map(|value| value as u8);
        }
        picture
    }

    #[test]
    fn grey_of_any_tint_is_a_copy() {
        let cases: [(&str, bool, Picture); 3] = [
            ("grey", true, page(|grey, _| [40.0 + 180.0 * grey; 3])),
            (
                "grey on yellowish paper in warm light",
                true,
                page(|grey, _| {
                    [[40.0, 190.0], [36.0, 170.0], [30.0, 120.0]].map(|[ink, more]| ink + more * grey)
                }),
            ),
            (
                "a band of colour on a fifth of the page",
                false,
                page(|grey, y| {
                    let band = if y < SIDE / 5 { 40.0 } else { 0.0 };
                    [
                        60.0 + 120.0 * grey + band,
                        60.0 + 120.0 * grey,
                        60.0 + 120.0 * grey,
                    ]
                }),
            ),
        ];
        for (name, expected, picture) in cases {
            let measure = colour(&picture, &area(SIDE)).unwrap();
            assert_eq!(measure < LIMIT, expected, "{name}: {measure}");
        }
    }

    #[test]
    fn a_page_too_small_or_too_bright_has_no_measure() {
        let small = Picture::filled(60, 60, [200; 3]);
        assert_eq!(colour(&small, &area(SIDE)), None);
        let bright = Picture::filled(SIDE, SIDE, [255; 3]);
        assert_eq!(colour(&bright, &area(SIDE)), None);
    }
}
