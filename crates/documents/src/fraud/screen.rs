//! Whether a screen was photographed: its pixels are a regular pattern nearly everywhere on the page.
//!
//! Print has fine patterns too (guilloches, rasters), but not on most of a page. A screen whose pixels are much finer than
//! the camera's, or one out of focus, shows no pattern and is not found.

use imaging::spectrum::{PATCH, patch_peaks, patches_of};
use imaging::{Picture, Point};

use super::PrintArea;

/// From this height of the pattern on, the sign is raised.
pub(super) const LIMIT: f32 = 4.8;
/// The picture is also reduced so many times, because moiré may be coarser than the screen's pixels.
const REDUCTIONS: [u32; 2] = [1, 2];
/// The largest number of patches along a side of the page.
const PATCHES: usize = 8;
/// With fewer patches, what most of them show may be what is printed there.
const LEAST_PATCHES: usize = 6;
/// One patch in so many may show a lower pattern than the measure, or none, as where a screen is over-exposed.
const FAINT_PATCHES: usize = 4;

/// The height of the pattern; `None` if the page is too small for a measure.
pub(super) fn pattern(picture: &Picture, area: &PrintArea) -> Option<f32> {
    let heights = REDUCTIONS.map(|reduction| reduced_pattern(picture, area, reduction));
    heights.into_iter().flatten().reduce(f32::max)
}

/// The height of the pattern in the picture reduced so many times.
fn reduced_pattern(picture: &Picture, area: &PrintArea, reduction: u32) -> Option<f32> {
    let [left, top, right, bottom] = area.region(picture.width, picture.height);
    let size = (right.checked_sub(left)?, bottom.checked_sub(top)?);
    let (page, _) = picture.crop_reduced((left, top), size, reduction as f32)?;
    let on_picture = |at: u32, from: u32| from as f32 + reduction as f32 * (at as f32 + PATCH as f32 / 2.0);
    let mut patches = patches_of(&page, [0, 0, page.width, page.height], PATCHES);
    patches.retain(|&(x, y)| area.contains(Point::new(on_picture(x, left), on_picture(y, top))));
    if patches.len() < LEAST_PATCHES {
        return None;
    }
    let luma = of_most(patch_peaks(&page, &patches, Picture::luma))?;
    let colour = of_most(patch_peaks(&page, &patches, Picture::red_minus_green))?;
    Some(luma.max(colour))
}

/// What all but one in [`FAINT_PATCHES`] patches reach.
fn of_most(mut heights: Vec<f32>) -> Option<f32> {
    let faint = heights.len() / FAINT_PATCHES;
    heights.sort_unstable_by(f32::total_cmp);
    heights.get(faint).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ocr::Quad;

    const SIDE: u32 = 640;

    fn area() -> PrintArea {
        let middle = Point::new(SIDE as f32 / 2.0, SIDE as f32 / 2.0);
        let page = Quad::around(middle, Point::new(1.0, 0.0), SIDE as f32, SIDE as f32);
        PrintArea::around([page].iter(), 1.0).unwrap()
    }

    /// A page whose pixel at (x, y) is this colour, with some noise.
    fn page(colour: impl Fn(f32, f32) -> [f32; 3]) -> Picture {
        let mut picture = Picture::filled(SIDE, SIDE, [0; 3]);
        let mut noise = 7_u32;
        for (at, pixel) in picture.pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let (x, y) = ((at as u32 % SIDE) as f32, (at as u32 / SIDE) as f32);
            *pixel = colour(x, y).map(|value| {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (value + (noise >> 24) as f32 / 32.0) as u8
            });
        }
        picture
    }

    #[test]
    fn only_a_pattern_of_the_whole_page_is_a_screen() {
        let grid = |x: f32, y: f32| 14.0 * (1.9 * x + 0.1 * y).sin() + 14.0 * (1.9 * y - 0.1 * x).sin();
        let cases: [(&str, bool, Picture); 7] = [
            ("plain paper", false, page(|_, _| [210.0; 3])),
            ("a screen's pixels", true, page(|x, y| [180.0 + grid(x, y); 3])),
            (
                "its colours alone",
                true,
                page(|x, _| {
                    [
                        180.0 + 14.0 * (1.3 * x).sin(),
                        180.0 - 14.0 * (1.3 * x).sin(),
                        180.0,
                    ]
                }),
            ),
            (
                "coarse moiré",
                true,
                page(|x, y| [180.0 + 14.0 * (0.27 * x + 0.22 * y).sin(); 3]),
            ),
            (
                "moiré that changes over the page",
                true,
                page(|x, y| [180.0 + 14.0 * (0.9 * x + 0.3 * y + 0.0003 * x * (x + y)).sin(); 3]),
            ),
            (
                "a pattern in a corner",
                false,
                page(|x, y| {
                    if x + y < 400.0 {
                        [180.0 + grid(x, y); 3]
                    } else {
                        [180.0; 3]
                    }
                }),
            ),
            (
                "lines whose direction changes",
                false,
                page(|x, y| [180.0 + 20.0 * (0.004 * (x * x + y * y)).sin(); 3]),
            ),
        ];
        for (name, expected, picture) in cases {
            let measure = pattern(&picture, &area()).unwrap();
            assert_eq!(measure >= LIMIT, expected, "{name}: {measure}");
        }
    }

    #[test]
    fn a_small_page_has_no_measure() {
        let picture = Picture::filled(200, 200, [200; 3]);
        assert_eq!(pattern(&picture, &area()), None);
    }
}
