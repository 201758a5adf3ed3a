//! Undoes what printing, wear and a camera did to a face's chip before it is embedded: it removes the finest grain
//! (screens of dots, sensor noise) and restores the contrast.
//!
//! Both embedding networks were trained on photographs. A faded or screened portrait is farther from the person's
//! photographs than another photograph is; see `similarity` for how much this step recovers.

use imaging::Picture;

/// The chip is reduced by this factor and enlarged again, which removes grain finer than about two pixels.
const DESCREEN: f32 = 1.3;
/// The grey levels between which most of a restored chip lies.
const DARK: f32 = 20.0;
const LIGHT: f32 = 235.0;
/// One in this many pixels may be darker or lighter.
const OUTLIERS: usize = 50;
/// A flatter chip than this many grey levels is not stretched further: it would show noise only.
const LEAST_RANGE: f32 = 20.0;

/// The restored chip. A picture of full contrast keeps its contrast.
pub(crate) fn restored(chip: &Picture) -> Picture {
    let mut smooth = descreened(chip);
    let [low, high] = range(&smooth);
    let gain = ((LIGHT - DARK) / (high - low).max(LEAST_RANGE)).max(1.0);
    let middle = f32::midpoint(low, high);
    for value in &mut smooth.pixels {
        // `as` saturates.
        *value = ((f32::from(*value) - middle) * gain + f32::midpoint(DARK, LIGHT)).round() as u8;
    }
    smooth
}

/// The chip without its finest grain.
fn descreened(chip: &Picture) -> Picture {
    let reduced = |length: u32| (length as f32 / DESCREEN).round() as u32;
    chip.resized(reduced(chip.width), reduced(chip.height))
        .resized(chip.width, chip.height)
}

/// The grey levels between which all but the outliers lie.
fn range(chip: &Picture) -> [f32; 2] {
    let mut counts = [0_usize; 256];
    let grey = chip.luma();
    for &value in &grey.pixels {
        counts[usize::from(value)] += 1;
    }
    let outliers = grey.pixels.len() / OUTLIERS;
    [
        reach(counts.iter().enumerate(), outliers),
        reach(counts.iter().enumerate().rev(), outliers),
    ]
}

/// The first level by which more than `outliers` pixels were counted.
fn reach<'a>(counts: impl Iterator<Item = (usize, &'a usize)>, outliers: usize) -> f32 {
    let mut sum = 0;
    for (level, count) in counts {
        sum += count;
        if sum > outliers {
            return level as f32;
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A checkerboard of two grey levels with cells of `cell` pixels.
    fn board(dark: u8, light: u8, cell: u32) -> Picture {
        let pixels = (0..120 * 120).flat_map(|i: u32| {
            let is_dark = (i % 120 / cell + i / 120 / cell).is_multiple_of(2);
            [if is_dark { dark } else { light }; 3]
        });
        Picture::new(120, 120, pixels.collect()).expect("the right size")
    }

    #[test]
    fn a_faded_print_gets_its_contrast_back() {
        for (dark, light) in [(90, 140), (20, 60), (180, 250)] {
            let restored = restored(&board(dark, light, 20));
            let [low, high] = range(&restored);
            assert!(
                (low - DARK).abs() <= 3.0 && (high - LIGHT).abs() <= 3.0,
                "{low}–{high}"
            );
        }
    }

    #[test]
    fn full_contrast_is_kept_and_no_noise_is_made_of_a_wall() {
        let [low, high] = range(&restored(&board(0, 255, 20)));
        assert!(low <= 5.0 && high >= 250.0, "{low}–{high}");
        let wall = restored(&board(120, 122, 20));
        let [low, high] = range(&wall);
        assert!(high - low <= 24.0, "{low}–{high}");
    }

    #[test]
    fn a_screen_of_dots_is_weakened() {
        let spread = |chip: &Picture| {
            let [low, high] = range(chip);
            high - low
        };
        let screened = board(40, 220, 1);
        let smooth = descreened(&screened);
        assert!(spread(&smooth) < 0.5 * spread(&screened));
    }
}
