//! Converts distances to similarities and verdicts: the calibrated curve, its thresholds, and the
//! measurements. All default thresholds about identity are in this module.
//!
//! # Calibration
//!
//! Measured in November 2026 with this engine's recipe: SFace and dlib's network on chips whose contrast is restored,
//! each with its mirror image, the squared distances weighted 1 to 1.44. The weight and the thresholds were chosen on
//! the pairs of the second column: 531 rendered portraits of documents (160–340 px high; clean, worn, and screened in
//! equal parts) of 94 people against 175 photographs, which are 2,126 pairs of one person (16 people with several
//! photographs) and 74,215 of two. The columns on the right show the same photographs among themselves, as far as they
//! pass the quality rules but for their size, and ORL's grey pictures of 20 men at a quarter of their size (8 px
//! between the eyes), which no quality rule would let through. They were seen when the threshold was chosen.
//! `bonafide eval faces --portraits` renders portraits by another program; `docs/measurements-engines.md` has its
//! figures.
//!
//! FMR is the share of pairs of two people within a distance; its limit is Clopper–Pearson, two-sided 95 %, with pairs
//! assumed to be independent, which they are not quite. FNMR is the share of pairs of one person beyond it.
//!
//! | distance | similarity | FMR, portraits | FMR at most | FNMR, portraits (clean, worn, screened) | photographs: false matches of 4,797, FNMR | ORL: false matches of 18,810, FNMR |
//! |---|---|---|---|---|---|---|
//! | 1.05 | 86 | 0 | 5.0e-5 | 18.6 % (7.0, 32.6, 16.4) | 0, 5.9 % | 0, 23.1 % |
//! | 1.20 | 81 | 0 | 5.0e-5 | 2.5 % (1.0, 5.1, 1.4) | 0, 0.3 % | 0, 4.4 % |
//! | **1.23** | **80** | **0** | **5.0e-5** | **1.3 % (0.4, 2.6, 1.0)** | **0, 0** | **5, 2.6 %** |
//! | 1.26 | 75 | 9.4e-5 | 1.9e-4 | 0.6 % (0.3, 1.1, 0.4) | 0, 0 | 14, 1.8 % |
//! | 1.30 | 69 | 3.0e-4 | 4.5e-4 | 0.2 % (0.1, 0.4, 0.1) | 0, 0 | 64, 0.8 % |
//! | 1.36 | 60 | 9.6e-4 | 1.2e-3 | 0.05 % | 0, 0 | 331, 0.3 % |
//! | 1.45 | 40 | 5.8e-3 | 6.4e-3 | 0 | 27, 0 | 2,309, 0 |
//! | 1.74 | 5 | 0.58 | – | 0 | 2,818, 0 | 18,207, 0 |
//!
//! The default threshold is where none of the 74,215 pairs matches falsely. The limit of 5.0e-5 is optimistic, because
//! the threshold was chosen on these pairs, and because they are repeated comparisons of at most 4,371 pairs of people.
//! Left out are six portraits without a face, each portrait's own photograph, and pairs within one collection that
//! does not say who its people are. All false matches up to 1.26 are of two men of one age
//! and origin. Among relatives the FMR is higher; twins match.
//!
//! Restoring the chips lowers the FNMR at the threshold: 3.5 % without (worn 7.5 %), 2.2 % with contrast alone,
//! 1.7 % with the grain removed as well (both at 1.22), with no false match more.
//!
//! # Search (1:N)
//!
//! Every face of an account can cause a false match, so a search needs a far smaller distance. At 1.05 no pair of two
//! people is within 0.2 of matching. From 1.36 to 1.26 the measured FMR falls tenfold in 0.1; continued like that, it
//! would be about 1e-6 to 1e-7 at 1.05. **That is an extrapolation**: the pairs show only that it is below 5.0e-5. So
//! in a large account a hit at 1.05 decides nothing: `verification::identity::search_decides` has the rule, with a more
//! cautious bound. If the embedding changes, measure its bound again.

/// The default similarity from which two pictures show one person.
pub const MATCH_SIMILARITY: f32 = 80.0;
/// Between this similarity and [`MATCH_SIMILARITY`], a reviewer should decide (2202). Below it the faces
/// differ (2201, 2204).
pub const REVIEW_SIMILARITY: f32 = 60.0;
/// The distance up to which a face found in a search is the same person (1:N). It is far stricter than for
/// 1:1, because every face of the gallery can cause a false match.
pub const IDENTIFICATION_DISTANCE: f32 = 1.05;
/// Two pictures of one face show one moment, because one is a copy of the other, if they are within one of these
/// distances and their textures correlate at least as much as the number beside it; see [`is_copy`].
const COPIES: [(f32, f32); 3] = [(0.35, -1.0), (0.47, 0.84), (IDENTIFICATION_DISTANCE, 0.90)];
/// Up to this distance, a face found in a search is a near-duplicate that a reviewer should check.
pub const IDENTIFICATION_BAND: f32 = 1.20;

/// Whether one of two pictures of a face is a copy of the other: cropped, enlarged, mirrored, brightened, printed or
/// photographed again. `built_in_distance` is their [`built_in_distance`](crate::built_in_distance), for which the limits were
/// measured, and `texture` their [`Texture::correlation`](crate::Texture::correlation).
///
/// # Measurement
///
/// November 2026. The limits were chosen on the pictures that they are reported on, so they are optimistic. Of 354
/// pairs of photographs of one person (16 people, television and press; four pairs that are one photograph twice left
/// out), none is called a copy; the 95 % limit is 1.0 %. Of 144 copies of the portraits of 16 rendered passports, in
/// nine ways, 141 are: a grey copy and two brightened ones are not.
pub fn is_copy(built_in_distance: f32, texture: f32) -> bool {
    COPIES
        .iter()
        .any(|&(within, alike)| built_in_distance <= within && texture >= alike)
}

/// The knots of the curve, as distance and similarity. The curve is linear between them.
const CURVE: [(f32, f32); 8] = [
    (0.0, 100.0),
    (0.80, 95.0),
    (1.23, 80.0),
    (1.36, 60.0),
    (1.45, 40.0),
    (1.53, 25.0),
    (1.74, 5.0),
    (2.0, 0.0),
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
        for beyond in [2.0, 5.0, f32::INFINITY, f32::NAN] {
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
            (1.05, Identification::Same),
            (1.06, Identification::NearDuplicate),
            (1.21, Identification::Unknown),
        ];
        for (distance, identification) in distances.into_iter().chain([(f32::NAN, Identification::Unknown)]) {
            assert_eq!(Identification::of(distance), identification, "{distance}");
        }
    }

    proptest! {
        #[test]
        fn nearer_is_never_less_similar(a in 0.0f32..3.0, b in 0.0f32..3.0) {
            prop_assert!((0.0..=100.0).contains(&similarity(a)));
            if a <= b {
                prop_assert!(similarity(a) >= similarity(b));
            }
        }
    }
}
