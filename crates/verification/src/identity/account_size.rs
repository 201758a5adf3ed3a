//! How near a face found by a search must be to decide, by the number of faces that the account has enrolled
//! (`docs/decisions/0051-search-by-account-size.md`).
//!
//! A search compares a face with every enrolled one, so its false candidates grow with the account. A hit decides only
//! where the upper bound of the false-match rate at its distance, times the number of enrolled faces, allows at most
//! one false candidate in 1,000 searches. The numbers belong to one version of the embedding; a new embedding needs new
//! measurements.

/// At most one false candidate in so many searches.
const SEARCHES_PER_FALSE_CANDIDATE: f64 = 1_000.0;
/// The largest distance at which no measured pair of two people matched: 0 of 74,215 rendered portraits against
/// photographs (`docs/measurements-engines.md`).
const MEASURED_DISTANCE: f32 = 1.23;
/// The two-sided 95 % limit of those pairs.
const MEASURED_BOUND: f64 = 5.0e-5;
/// The factor by which the extrapolated bound falls over each [`STEP`] of distance.
///
/// Between neighbouring rows of the measured table, from 1.45 down to 1.26, the rates fall by 7 to 18 in 0.1, and their
/// upper limits by 5.1 to 8.6. So a straight line in the logarithm that falls by 5 is flatter than every measured part.
/// It stays above the rates as long as their fall does not become slower than it ever was in the measurement. A normal
/// distribution falls ever faster.
const FALL: f64 = 5.0;
/// See [`FALL`].
const STEP: f32 = 0.1;

/// An upper bound of the false-match rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FalseMatchBound {
    /// The rate.
    pub rate: f64,
    /// Whether the measured pairs themselves show the bound. Otherwise it continues their trend, and no measurement
    /// supports it.
    pub is_measured: bool,
}

/// The upper bound of the rate at which faces of two people are within a distance; `None` beyond the measured distance.
#[must_use]
pub fn false_match_bound(distance: f32) -> Option<FalseMatchBound> {
    // NaN is beyond every distance.
    let is_within = distance <= MEASURED_DISTANCE;
    is_within.then(|| {
        let steps = f64::from(MEASURED_DISTANCE - distance.max(0.0)) / f64::from(STEP);
        FalseMatchBound {
            rate: MEASURED_BOUND / FALL.powf(steps),
            is_measured: distance >= MEASURED_DISTANCE,
        }
    })
}

/// The largest distance at which a hit decides in an account with so many enrolled faces. It may be negative: then no
/// hit decides.
#[must_use]
pub fn deciding_distance(enrolled_faces: usize) -> f32 {
    let allowed = 1.0 / (SEARCHES_PER_FALSE_CANDIDATE * (enrolled_faces.max(1) as f64));
    let steps = (MEASURED_BOUND / allowed).ln() / FALL.ln();
    (f64::from(MEASURED_DISTANCE) - steps.max(0.0) * f64::from(STEP)) as f32
}

/// Whether a hit at this distance decides in an account with so many enrolled faces.
#[must_use]
pub fn search_decides(enrolled_faces: usize, distance: f32) -> bool {
    let bound = false_match_bound(distance).map(|bound| bound.rate * enrolled_faces as f64);
    bound.is_some_and(|candidates| candidates * SEARCHES_PER_FALSE_CANDIDATE <= 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The table of `docs/decisions/0051-search-by-account-size.md`.
    #[test]
    fn the_deciding_distance_falls_with_the_account() {
        for (faces, distance) in [
            (0, 1.23),
            (20, 1.23),
            (100, 1.13),
            (362, 1.05),
            (1_000, 0.99),
            (10_000, 0.84),
            (100_000, 0.70),
            (1_000_000, 0.56),
            (10_000_000, 0.41),
        ] {
            let found = deciding_distance(faces);
            assert!((found - distance).abs() < 0.006, "{faces}: {found}");
        }
        assert!(!search_decides(usize::MAX, 0.0), "no account is without limit");
    }

    #[test]
    fn only_the_bound_at_the_measured_distance_is_measured() {
        for (distance, rate, is_measured) in [
            (1.23, 5.0e-5, true),
            (1.13, 1.0e-5, false),
            (1.05, 2.76e-6, false),
            (0.99, 1.05e-6, false),
            (0.84, 9.4e-8, false),
            (0.70, 9.9e-9, false),
            (0.56, 1.04e-9, false),
        ] {
            let bound = false_match_bound(distance).unwrap();
            assert_eq!(bound.is_measured, is_measured, "{distance}");
            assert!(
                (bound.rate / rate - 1.0).abs() < 0.02,
                "{distance}: {}",
                bound.rate
            );
        }
        for beyond in [1.24, 1.5, f32::INFINITY, f32::NAN] {
            assert_eq!(false_match_bound(beyond), None, "{beyond}");
            assert!(!search_decides(1, beyond), "{beyond}");
        }
    }

    #[test]
    fn the_line_falls_no_faster_than_any_measured_part() {
        // distance, rate and its upper limit, from the table in `faces::similarity`
        let measured: [(f64, f64, f64); 4] = [
            (1.26, 9.4e-5, 1.9e-4),
            (1.30, 3.0e-4, 4.5e-4),
            (1.36, 9.6e-4, 1.2e-3),
            (1.45, 5.8e-3, 6.4e-3),
        ];
        for rows in measured.windows(2) {
            let ((near, rate, limit), (far, more, higher)) = (rows[0], rows[1]);
            for fall in [more / rate, higher / limit] {
                let in_a_step = fall.powf(f64::from(STEP) / (far - near));
                assert!(FALL < in_a_step, "{near} to {far}: {in_a_step}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_nearer_hit_or_a_smaller_account_decides_no_less(
            faces in 1usize..100_000_000, fewer in 1usize..100_000_000, at in 0.0f32..1.3, nearer in 0.0f32..1.3
        ) {
            let decides = search_decides(faces, at);
            prop_assert!(!decides || search_decides(faces.min(fewer), at.min(nearer)));
            let limit = deciding_distance(faces);
            prop_assert!((at - limit).abs() < 1e-4 || decides == (at <= limit), "{faces} {at} {limit}");
        }
    }
}
