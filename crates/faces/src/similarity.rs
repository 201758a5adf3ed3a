//! Converts distances to similarities and verdicts: the calibrated curve, its thresholds, and the
//! measurements. All default thresholds about identity are in this module.
//!
//! # Calibration
//!
//! Measured in November 2026 with this engine on 254 faces of at least 30 px between the eyes. The faces are
//! from seven unrelated collections (television stills, press and stock photographs, selfies). They form 371
//! pairs of one person (17 people) and 25,320 pairs of different people.
//!
//! The false-match rate (FMR) is the share of the latter within a distance. Its upper limit is
//! Clopper–Pearson, two-sided 95 %, with pairs assumed to be independent, which they are not quite. The
//! false-non-match rate (FNMR) is the share of the former beyond the distance.
//!
//! | distance | similarity | FMR measured | FMR at most | FNMR measured |
//! |---|---|---|---|---|
//! | 0.40 | 91 | 0 | 1.5e-4 | 17.3 % |
//! | 0.45 | 86 | 0 | 1.5e-4 | 7.8 % |
//! | **0.51** | **80** | **0** | **1.5e-4** | **1.3 %** |
//! | 0.52 | 78 | 7.9e-5 | 2.9e-4 | 1.1 % |
//! | 0.54 | 73 | 2.8e-4 | 5.7e-4 | 0.8 % |
//! | 0.56 | 69 | 7.1e-4 | 1.1e-3 | 0.5 % |
//! | 0.60 | 60 | 4.4e-3 | 5.3e-3 | 0.3 % |
//! | 0.65 | 40 | 2.1e-2 | 2.3e-2 | 0 |
//! | 0.70 | 25 | 6.7e-2 | 7.0e-2 | 0 |
//! | 0.86 | 5 | 0.52 | – | 0 |
//!
//! The default threshold aims at an FMR of 1e-4. 25,320 pairs cannot prove it; they show that the FMR is
//! below 1.5e-4 for *unrelated* people. Among people of one age, sex and origin it is higher: the nearest two
//! of 31 pairs of young women photographed together have a distance of 0.53. Among relatives it is higher
//! still.
//!
//! Faces with fewer pixels than the quality rules require are closer together. Of 20 men's grey portraits
//! with 10 px between the eyes, 1 % of the pairs of different men are within 0.50. Such faces must not be
//! compared.

/// The default similarity from which two pictures show one person.
pub const MATCH_SIMILARITY: f32 = 80.0;
/// Between this similarity and [`MATCH_SIMILARITY`], a reviewer should decide (2202). Below it the faces
/// differ (2201, 2204).
pub const REVIEW_SIMILARITY: f32 = 60.0;
/// The distance up to which a face found in a search is the same person (1:N). It is far stricter than for
/// 1:1, because every face of the gallery can cause a false match.
pub const IDENTIFICATION_DISTANCE: f32 = 0.40;
/// Up to this distance, a selfie's face and a document's portrait are the same picture, not two pictures of
/// one person.
///
/// Measured in November 2026 on the rendered specimens. The 28 selfies that show the holder have distances of
/// 0.075 or more from the portrait. Each is the portrait's photograph with the head turned. Of 14 portraits
/// cut out of a passport's picture, 12 are within the limit, also when enlarged twofold. Blurred, brightened
/// or photographed copies are beyond it.
pub const COPY_DISTANCE: f32 = 0.05;
/// Up to this distance, a face found in a search is a near-duplicate that a reviewer should check.
pub const IDENTIFICATION_BAND: f32 = 0.50;

/// The knots of the curve, as distance and similarity. The curve is linear between them.
const CURVE: [(f32, f32); 8] = [
    (0.0, 100.0),
    (0.40, 91.0),
    (0.51, 80.0),
    (0.60, 60.0),
    (0.65, 40.0),
    (0.70, 25.0),
    (0.86, 5.0),
    (1.05, 0.0),
];

/// The similarity, 0–100, of faces at a distance. It falls continuously with the distance; NaN gives 0.
pub fn similarity(distance: f32) -> f32 {
    if distance <= 0.0 {
        return CURVE[0].1;
    }
    let between = CURVE.windows(2).find(|pair| distance <= pair[1].0);
    between.map_or(0.0, |pair| {
        let [(d0, s0), (d1, s1)] = [pair[0], pair[1]];
        s0 + (s1 - s0) * (distance - d0) / (d1 - d0)
    })
}

/// The verdict of a one-to-one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchVerdict {
    /// The same person.
    Match,
    /// The similarity is slightly below the threshold: 2202, a reviewer should decide.
    Review,
    /// Different people: 2201 or 2204.
    NoMatch,
}

impl MatchVerdict {
    /// The verdict at the default thresholds.
    pub fn of(similarity: f32) -> Self {
        Self::at(similarity, MATCH_SIMILARITY, REVIEW_SIMILARITY)
    }

    /// The verdict at a Flow's thresholds: `Match` from `match_from` on, `Review` from `review_from` on.
    pub fn at(similarity: f32, match_from: f32, review_from: f32) -> Self {
        if similarity >= match_from {
            Self::Match
        } else if similarity >= review_from {
            Self::Review
        } else {
            Self::NoMatch
        }
    }
}

/// The verdict of a search by the distance to the nearest known face (1:N).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identification {
    /// The same person.
    Same,
    /// A near-duplicate, which counts as a new person until a reviewer has decided.
    NearDuplicate,
    /// No known person.
    Unknown,
}

impl Identification {
    /// The verdict for a distance.
    pub fn of(distance: f32) -> Self {
        if distance <= IDENTIFICATION_DISTANCE {
            Self::Same
        } else if distance <= IDENTIFICATION_BAND {
            Self::NearDuplicate
        } else {
            Self::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_curve_meets_its_knots_and_ends() {
        for (distance, expected) in CURVE {
            assert!((similarity(distance) - expected).abs() < 1e-3);
        }
        assert_eq!(similarity(-1.0), 100.0);
        for beyond in [1.05, 5.0, f32::INFINITY, f32::NAN] {
            assert_eq!(similarity(beyond), 0.0);
        }
    }

    #[test]
    fn verdicts_and_identification_at_their_edges() {
        let verdicts = [
            (100.0, MatchVerdict::Match),
            (MATCH_SIMILARITY, MatchVerdict::Match),
        ];
        let below = [
            (79.9, MatchVerdict::Review),
            (REVIEW_SIMILARITY, MatchVerdict::Review),
            (59.9, MatchVerdict::NoMatch),
        ];
        for (similarity, verdict) in verdicts
            .into_iter()
            .chain(below)
            .chain([(f32::NAN, MatchVerdict::NoMatch)])
        {
            assert_eq!(MatchVerdict::of(similarity), verdict, "{similarity}");
        }
        let distances = [
            (0.4, Identification::Same),
            (0.41, Identification::NearDuplicate),
            (0.51, Identification::Unknown),
        ];
        for (distance, identification) in distances.into_iter().chain([(f32::NAN, Identification::Unknown)]) {
            assert_eq!(Identification::of(distance), identification, "{distance}");
        }
    }

    proptest! {
        #[test]
        fn nearer_is_never_less_similar(a in 0.0f32..2.0, b in 0.0f32..2.0) {
            prop_assert!((0.0..=100.0).contains(&similarity(a)));
            if a <= b {
                prop_assert!(similarity(a) >= similarity(b));
            }
        }
    }
}
