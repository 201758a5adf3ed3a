//! The rule that scales an embedder's distances. A pure function.
//!
//! All thresholds were chosen for the distances of the built-in networks (`faces::similarity`). The scale is the smallest
//! that places no larger share of strangers within certain distances than the built-in networks do. With enough pairs,
//! this share is measured; at the thresholds, it is extrapolated with a normal distribution. If an embedder's strangers
//! spread more widely, the scale is larger and more genuine pairs fail to match. The reported half then shows whether
//! the extrapolation was right.

use faces::IDENTIFICATION_DISTANCE;
use inference::own::SCALES;

/// Shares of strangers, and the distances within which the built-in networks place them, measured on 74,215 pairs
/// (`docs/measurements-engines.md`).
const STRANGERS: [(f64, f32); 3] = [(0.01, 1.472), (0.001, 1.363), (0.0001, 1.265)];
/// The mean and the standard deviation of all strangers' distances.
const MEAN: f64 = 1.715;
const DEVIATION: f64 = 0.099;
/// A share is reliable if it contains at least this many pairs.
const RELIABLE: f64 = 10.0;
/// The distance of the default threshold ([`faces::MATCH_SIMILARITY`]). A test checks that they agree.
const MATCHING: f32 = 1.23;

/// Why there is no scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoScale {
    /// There are too few pairs, or a distance is not a number.
    #[error("there are too few pairs of two people")]
    TooFew,
    /// The distances of strangers spread so widely that no threshold excludes them.
    #[error(
        "the distances between two people spread so widely that no threshold separates them. Either `input` in the \
         declaration is wrong, or the model was not trained for faces"
    )]
    TooWide,
}

/// The scale for an embedder with these distances of strangers, of numbers of length 1.
pub(super) fn scale(mut strangers: Vec<f32>) -> Result<f32, NoScale> {
    strangers.sort_by(f32::total_cmp);
    let count = strangers.len() as f64;
    if count * STRANGERS[0].0 < RELIABLE || strangers.iter().any(|distance| !distance.is_finite()) {
        return Err(NoScale::TooFew);
    }
    let mean = strangers.iter().copied().map(f64::from).sum::<f64>() / count;
    let squares = strangers
        .iter()
        .map(|distance| (f64::from(*distance) - mean).powi(2));
    let deviation = (squares.sum::<f64>() / count).sqrt();
    // After scaling, each distance of this embedder must be at least the built-in one beside it.
    let measured = STRANGERS
        .into_iter()
        .filter(|(share, _)| count * share >= RELIABLE)
        .filter_map(|(share, distance)| {
            // `as` rounds down.
            let own = strangers.get((count * share) as usize)?;
            Some((f64::from(*own), f64::from(distance)))
        });
    let extrapolated = [MATCHING, IDENTIFICATION_DISTANCE]
        .map(f64::from)
        .map(|distance| (mean - deviation * (MEAN - distance) / DEVIATION, distance));
    let mut scale = 0.0_f64;
    for (own, distance) in measured.chain(extrapolated) {
        if own <= 0.0 {
            return Err(NoScale::TooWide);
        }
        scale = scale.max(distance / own);
    }
    let scale = scale as f32;
    if SCALES.contains(&scale) {
        Ok(scale)
    } else {
        Err(NoScale::TooWide)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A normal distribution's quantiles.
    fn normal(count: usize, mean: f64, deviation: f64) -> Vec<f32> {
        // Sums of twelve uniform numbers, in order of a fixed generator.
        let mut state = 3_u64;
        let mut uniform = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..count)
            .map(|_| {
                let sum: f64 = (0..12).map(|_| uniform()).sum();
                (mean + deviation * (sum - 6.0)) as f32
            })
            .collect()
    }

    #[test]
    fn the_matching_distance_is_the_default_threshold() {
        assert!((faces::similarity(MATCHING) - faces::MATCH_SIMILARITY).abs() < 1e-3);
    }

    #[test]
    fn strangers_like_those_of_the_built_in_networks_keep_their_distances() {
        for (mean, deviation) in [(1.715, 0.099), (1.372, 0.0792)] {
            let found = f64::from(scale(normal(20_000, mean, deviation)).expect("scales"));
            let expected = 1.715 / mean;
            assert!((found - expected).abs() < 0.02, "{found} for {mean}");
        }
    }

    #[test]
    fn no_deciding_distance_lets_more_strangers_in() {
        for (mean, deviation) in [(1.41, 0.06), (1.41, 0.1), (1.3, 0.09)] {
            let strangers = normal(50_000, mean, deviation);
            let scale = scale(strangers.clone()).expect("scales");
            for (share, distance) in STRANGERS {
                let within = strangers.iter().filter(|own| **own * scale < distance).count();
                let most = share.max(10.0 / 50_000.0) * 50_000.0;
                assert!(
                    within as f64 <= most,
                    "{within} within {distance}: {mean} ± {deviation}"
                );
            }
        }
        let narrow = scale(normal(20_000, 1.41, 0.04)).expect("scales");
        let wide = scale(normal(20_000, 1.41, 0.12)).expect("scales");
        assert!(narrow < wide, "{narrow} {wide}");
    }

    #[test]
    fn what_cannot_be_scaled_is_refused() {
        assert_eq!(scale(vec![1.4; 999]), Err(NoScale::TooFew));
        assert_eq!(scale(vec![f32::NAN; 5_000]), Err(NoScale::TooFew));
        assert_eq!(scale(vec![0.0; 5_000]), Err(NoScale::TooWide));
        assert_eq!(scale(normal(5_000, 1.0, 0.4)), Err(NoScale::TooWide));
    }
}
