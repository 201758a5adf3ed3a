//! From distance to similarity and verdict: the calibrated curve, its thresholds, and what was measured. The only place
//! where a threshold about identity stands.
//!
//! # Calibration
//!
//! Measured in November 2026 with this engine on 254 faces of at least 30 px between the eyes, from seven unrelated
//! collections (television stills, press and stock photographs, selfies): 371 pairs of one person (17 people), 25,320 pairs
//! of different people. The false-match rate (FMR) is the part of the latter within a distance, with its upper limit
//! (Clopper–Pearson, two-sided 95 %, pairs taken as independent, which they are not quite); FNMR is the part of the former
//! beyond it.
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
//! The default threshold aims at an FMR of 1e-4: 25,320 pairs cannot prove it, they say that it is below 1.5e-4 for
//! *unrelated* people. Among people of one age, sex and origin it is higher (the nearest two of 31 pairs of young women
//! photographed together lie at 0.53), among relatives higher still. Faces with fewer pixels than the quality rules ask for
//! lie nearer together: of 20 men's grey portraits with 10 px between the eyes, 1 % of the pairs of different men lie within
//! 0.50. They must not be compared.

/// The similarity from which two pictures show one person, by default.
pub const MATCH_SIMILARITY: f32 = 80.0;
/// Below [`MATCH_SIMILARITY`] and from here on, a person should look (2202); below it the faces differ (2201, 2204).
pub const REVIEW_SIMILARITY: f32 = 60.0;
/// The distance up to which a searched face is the same person (1:N): far stricter than 1:1, since every face of the
/// gallery is a chance to be wrong.
pub const IDENTIFICATION_DISTANCE: f32 = 0.40;
/// Up to this distance a selfie's face and a document's portrait are one picture, not two pictures of one person.
///
/// Measured in November 2026 on the rendered specimens. The 28 selfies that show the holder lie at 0.075 or more from the
/// portrait, although each is the portrait's own photograph with the head turned. Of 14 portraits cut from the picture of a
/// passport, 12 lie within it, also when they are enlarged twice. Blurred, brightened or photographed copies lie beyond.
pub const COPY_DISTANCE: f32 = 0.05;
/// Up to this distance a searched face is a near-duplicate that a person should look at.
pub const IDENTIFICATION_BAND: f32 = 0.50;

/// Knots of the curve: distance, similarity. Straight lines between them.
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

/// The similarity, 0–100, of faces at a distance: falling, without jumps. A distance that is not a number gives 0.
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

/// What a similarity means for a one-to-one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchVerdict {
    /// One person.
    Match,
    /// Below the threshold but near it: 2202, a person should look.
    Review,
    /// Different people: 2201 or 2204.
    NoMatch,
}

impl MatchVerdict {
    /// The verdict at the default thresholds.
    pub fn of(similarity: f32) -> Self {
        Self::at(similarity, MATCH_SIMILARITY, REVIEW_SIMILARITY)
    }

    /// The verdict at a Flow's own thresholds: `Match` from `match_from` on, `Review` from `review_from` on.
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

/// What the distance to the nearest known face means (1:N).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identification {
    /// The same person.
    Same,
    /// A near-duplicate: a new person until somebody has looked.
    NearDuplicate,
    /// Nobody known.
    Unknown,
}

impl Identification {
    /// What a distance means.
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
