//! The exact face index, which finds the known faces within a distance of a face. It compares every face, so
//! it never misses one. Two lower bounds of the distance exclude almost every stranger before the exact comparison:
//!
//! 1. The distance between SFace's halves in 8-bit numbers, whose error is bounded. It excludes 94 of 100 strangers.
//! 2. That distance together with the distance between the first of dlib's values. After it, 2 of 10,000 strangers
//!    are left.
//!
//! These shares are of 67,866 pairs of faces in photographs, all farther apart than 1.35, in a search within
//! [`crate::IDENTIFICATION_BAND`].
//!
//! An index has embeddings of the built-in networks of one version in one scope; the caller has one index per account
//! and mode, behind its own lock. The index ignores the part of a custom embedder. It persists nothing and contains no
//! data about persons. Ids are facemap ids, and one id may have several embeddings.

use thiserror::Error;
use uuid::Uuid;

use crate::embedding::{EMBEDDING_LEN, Embedding, NETWORK_LEN, ONE, exact_distance};

/// The embedding's units in one 8-bit unit, 0.005. SFace's numbers are within ±0.5; the bytes cover ±0.635.
const STEP: f32 = 0.005 * ONE;
/// More than the rounding of the bounds' 32-bit floats, in the embedding's units.
const ROUNDING: f32 = 1.0;
/// The number of dlib's values in the second bound. Fewer are read faster, because the memory's speed is the limit.
const DLIB_BOUND_LEN: usize = NETWORK_LEN / 2;

type Exact = [i16; EMBEDDING_LEN];
type Coarse = [i8; NETWORK_LEN];

/// A known face near the searched face.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The facemap that the face belongs to.
    pub facemap: Uuid,
    /// Its distance (see [`crate::distance`]).
    pub distance: f32,
    /// Whether only the custom embedder found it; such a hit decides nothing by itself.
    pub by_own: bool,
}

/// The embedding was computed by another model than those in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the face was embedded by another model than the index holds")]
pub struct ModelMismatch;

/// Faces by facemap id; see the module's documentation.
#[derive(Debug, Default, Clone)]
pub struct FaceIndex {
    /// The model's version, set by the first face.
    version: Option<String>,
    ids: Vec<Uuid>,
    exact: Vec<Exact>,
    coarse: Vec<Coarse>,
    /// The largest distance between SFace's half of an embedding and its 8-bit form, in the embedding's units, over
    /// all faces ever inserted.
    worst_error: f32,
}

impl FaceIndex {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of embeddings.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether the index has no embeddings.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Adds a face to a facemap id.
    ///
    /// # Errors
    /// Fails if the index has faces of another model.
    pub fn insert(&mut self, facemap: Uuid, face: &Embedding) -> Result<(), ModelMismatch> {
        if self.is_empty() {
            self.version = Some(face.built_in_version().to_owned());
        } else if self.version.as_deref() != Some(face.built_in_version()) {
            return Err(ModelMismatch);
        }
        let (coarse, error) = quantised(face.values());
        self.worst_error = self.worst_error.max(error);
        self.ids.push(facemap);
        self.exact.push(*face.values());
        self.coarse.push(coarse);
        Ok(())
    }

    /// Removes every face of a facemap and returns their number.
    pub fn remove(&mut self, facemap: Uuid) -> usize {
        let before = self.len();
        let mut at = 0;
        while at < self.ids.len() {
            if self.ids[at] == facemap {
                self.ids.swap_remove(at);
                self.exact.swap_remove(at);
                self.coarse.swap_remove(at);
            } else {
                at += 1;
            }
        }
        before - self.len()
    }

    /// Finds every facemap with a face at a distance of at most `within`, nearest first. Each facemap occurs
    /// once, with its nearest face.
    ///
    /// # Errors
    /// Fails if the index has faces of another model.
    pub fn search(&self, face: &Embedding, within: f32) -> Result<Vec<Hit>, ModelMismatch> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        if self.version.as_deref() != Some(face.built_in_version()) {
            return Err(ModelMismatch);
        }
        let (coarse, error) = quantised(face.values());
        // The loops are also compiled for wider registers; the machine's features select the version.
        let mut hits = pulp::Arch::new().dispatch(Scan {
            index: self,
            query: face.values(),
            // Widened once here instead of once per face.
            coarse: coarse.map(i16::from),
            error: (error + self.worst_error) * 1.0001 + ROUNDING,
            within,
        });
        hits.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        let mut seen = std::collections::HashSet::new();
        hits.retain(|hit| seen.insert(hit.facemap));
        Ok(hits)
    }
}

/// SFace's half of an embedding in 8-bit numbers, and the distance between the two in the embedding's units.
fn quantised(values: &Exact) -> (Coarse, f32) {
    let mut coarse = [0; NETWORK_LEN];
    let mut squared_error = 0.0;
    for (place, &value) in coarse.iter_mut().zip(values) {
        // `as` saturates, so numbers out of range only increase the error.
        *place = (f32::from(value) / STEP).round() as i8;
        squared_error += (f32::from(value) - f32::from(*place) * STEP).powi(2);
    }
    (coarse, squared_error.sqrt())
}

/// The comparison of a face with every face of an index.
struct Scan<'a> {
    index: &'a FaceIndex,
    query: &'a Exact,
    coarse: [i16; NETWORK_LEN],
    /// The most by which an 8-bit distance can differ from SFace's half of the exact one, in the embedding's units.
    error: f32,
    within: f32,
}

impl pulp::WithSimd for Scan<'_> {
    type Output = Vec<Hit>;

    // Loops, not `filter` and `collect`: those are functions that the compiler does not inline here, and outside
    // this function it compiles them for the narrow registers of every machine.
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<Hit> {
        // By the triangle inequality, no face beyond this 8-bit distance can be within `within`.
        let reach = (self.within * ONE + self.error) / STEP;
        let limit = if reach >= 0.0 { (reach * reach) as i32 } else { -1 };
        let mut near = Vec::new();
        for (at, coarse) in self.index.coarse.iter().enumerate() {
            let squared = coarse_distance(&self.coarse, coarse);
            if squared <= limit {
                near.push((at, squared));
            }
        }

        let limit = (self.within * ONE + ROUNDING).powi(2);
        let dlib = dlib_start(self.query);
        let mut hits = Vec::new();
        for (at, squared) in near {
            let exact = &self.index.exact[at];
            let sface = ((squared as f32).sqrt() * STEP - self.error).max(0.0);
            if sface * sface + least_squared_distance(dlib, dlib_start(exact)) > limit {
                continue;
            }
            let distance = exact_distance(self.query, exact);
            if distance <= self.within {
                let facemap = self.index.ids[at];
                hits.push(Hit {
                    facemap,
                    distance,
                    by_own: false,
                });
            }
        }
        hits
    }
}

/// The squared distance, at most 128 · 255². It cannot overflow, so `wrapping` only avoids overflow checks in
/// debug builds.
#[inline(always)]
fn coarse_distance(query: &[i16; NETWORK_LEN], candidate: &Coarse) -> i32 {
    let mut sum = 0i32;
    for (&a, &b) in query.iter().zip(candidate) {
        let difference = i32::from(a.wrapping_sub(i16::from(b)));
        sum = sum.wrapping_add(difference.wrapping_mul(difference));
    }
    sum
}

/// The values in the second bound.
#[inline(always)]
fn dlib_start(values: &Exact) -> &[i16] {
    &values[NETWORK_LEN..][..DLIB_BOUND_LEN]
}

/// A lower bound of the squared distance, computed with numbers of 16 bits alone. A sum or difference that saturates
/// and a square that is rounded down only lower it.
#[inline(always)]
fn least_squared_distance(a: &[i16], b: &[i16]) -> f32 {
    let mut sums = [0u16; 16];
    for (a, b) in a.as_chunks().0.iter().zip(b.as_chunks().0) {
        for ((sum, &a), &b) in sums.iter_mut().zip::<&[i16; 16]>(a).zip::<&[i16; 16]>(b) {
            let difference = i32::from(a.saturating_sub(b));
            *sum = sum.saturating_add((difference.wrapping_mul(difference) >> 16) as u16);
        }
    }
    let mut total = 0u32;
    for sum in sums {
        total = total.wrapping_add(u32::from(sum));
    }
    total as f32 * 65_536.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::embedding::distance;

    const MODEL: &str = "0123456789ab";

    fn face(values: Exact) -> Embedding {
        Embedding::new(MODEL, values).expect("valid")
    }

    /// Pseudo-random numbers, the same for each seed.
    fn noise(seed: u64) -> Embedding {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        face([0; EMBEDDING_LEN].map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (((state >> 40) as f32 / (1u64 << 24) as f32 * 0.4 - 0.2) * ONE) as i16
        }))
    }

    fn scaled(seed: u64, by: f32) -> Embedding {
        face(noise(seed).values().map(|value| (f32::from(value) * by) as i16))
    }

    #[test]
    fn faces_are_found_nearest_first_and_once_per_facemap() {
        let mut index = FaceIndex::new();
        let (anna, bert) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let near = |by: i16| face(noise(7).values().map(|value| value + by));
        index.insert(bert, &near(400)).expect("same model");
        index.insert(anna, &near(200)).expect("same model");
        index.insert(anna, &near(300)).expect("same model");
        index.insert(Uuid::from_u128(3), &noise(8)).expect("same model");
        let hits = index.search(&noise(7), 0.4).expect("same model");
        assert_eq!(
            hits.iter().map(|hit| hit.facemap).collect::<Vec<_>>(),
            [anna, bert]
        );
        assert!((hits[0].distance - 200.0 / ONE * 16.0).abs() < 1e-4);
        assert_eq!(index.remove(anna), 2);
        assert_eq!(index.remove(anna), 0);
        assert_eq!(index.search(&noise(7), 0.4).expect("same model").len(), 1);
        assert_eq!(index.len(), 2);
    }

    #[test]
    fn models_do_not_mix() {
        let mut index = FaceIndex::new();
        let other = Embedding::new("ba9876543210", [0; EMBEDDING_LEN]).expect("valid");
        assert_eq!(index.search(&other, 1.0), Ok(Vec::new()));
        index.insert(Uuid::nil(), &noise(1)).expect("first");
        assert_eq!(index.insert(Uuid::nil(), &other), Err(ModelMismatch));
        assert_eq!(index.search(&other, 1.0), Err(ModelMismatch));
        index.remove(Uuid::nil());
        index
            .insert(Uuid::nil(), &other)
            .expect("an empty index takes any model");
    }

    #[test]
    fn odd_reaches_find_nothing_or_everything() {
        let mut index = FaceIndex::new();
        index.insert(Uuid::nil(), &noise(1)).expect("first");
        for (within, found) in [(-1.0, 0), (f32::NAN, 0), (f32::INFINITY, 1), (1e9, 1)] {
            assert_eq!(
                index.search(&noise(2), within).expect("same model").len(),
                found,
                "{within}"
            );
        }
    }

    /// Pseudo-random numbers at the ends of the range.
    fn extreme(seed: u64) -> Embedding {
        face(
            noise(seed)
                .values()
                .map(|value| if value < 0 { i16::MIN } else { i16::MAX }),
        )
    }

    /// A face that differs from another only in a range of numbers. If it is the range of a bound, the bound has to
    /// be almost the exact distance.
    fn differing(from: &Embedding, range: std::ops::Range<usize>, seed: u64, by: f32) -> Embedding {
        let mut values = *from.values();
        for (value, change) in values[range.clone()]
            .iter_mut()
            .zip(&scaled(seed, by).values()[range])
        {
            *value = value.saturating_add(*change);
        }
        face(values)
    }

    #[test]
    fn the_largest_error_of_rounding_is_within_the_bound() {
        // Both are rounded by half a step, away from each other.
        let query = face([41; EMBEDDING_LEN]);
        let mut values = *query.values();
        values[..NETWORK_LEN].fill(-41);
        let other = face(values);
        let mut index = FaceIndex::new();
        index.insert(Uuid::nil(), &other).expect("same model");
        let within = distance(&query, &other);
        assert_eq!(index.search(&query, within).expect("same model").len(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// The bounds never exclude a near face, even one whose numbers are out of the 8-bit range, and a removal
        /// leaves every other face. The searched distance is exactly that of a face.
        #[test]
        fn the_search_is_exact(
            kinds in proptest::collection::vec((any::<u64>(), 0..10u8, 0.0f32..1.0), 1..40),
            removed in proptest::collection::vec(0usize..40, 0..20),
            scale in 0.1f32..6.0,
            is_query_extreme in prop::bool::weighted(0.1),
            farthest: prop::sample::Index,
        ) {
            let query = if is_query_extreme { extreme(99) } else { scaled(99, scale) };
            let mut faces: Vec<_> = kinds
                .iter()
                .map(|&(seed, kind, by)| match kind {
                    0 => extreme(seed),
                    1 => scaled(seed, scale),
                    2..5 => differing(&query, 0..NETWORK_LEN, seed, by),
                    5..8 => differing(&query, NETWORK_LEN..NETWORK_LEN + DLIB_BOUND_LEN, seed, by),
                    _ => differing(&query, 0..EMBEDDING_LEN, seed, by),
                })
                .enumerate()
                .map(|(id, face)| (Uuid::from_u128(id as u128), face))
                .collect();
            let within = distance(&query, &farthest.get(&faces).1);
            let mut index = FaceIndex::new();
            for (id, face) in &faces {
                index.insert(*id, face).expect("same model");
            }
            for id in removed {
                let id = Uuid::from_u128(id as u128);
                let before = faces.len();
                faces.retain(|(known, _)| *known != id);
                prop_assert_eq!(index.remove(id), before - faces.len());
            }
            let mut expected: Vec<_> = faces
                .iter()
                .map(|(id, face)| (*id, distance(&query, face)))
                .filter(|(_, distance)| *distance <= within)
                .collect();
            let mut found: Vec<_> = index
                .search(&query, within)
                .expect("same model")
                .iter()
                .map(|hit| (hit.facemap, hit.distance))
                .collect();
            expected.sort_by_key(|(id, _)| *id);
            found.sort_by_key(|(id, _)| *id);
            prop_assert_eq!(found, expected);
        }

        /// Also for numbers whose squares or sums saturate.
        #[test]
        fn the_least_squared_distance_is_a_lower_bound(
            pairs in proptest::collection::vec((any::<i16>(), any::<i16>()), DLIB_BOUND_LEN),
        ) {
            let (a, b): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
            let exact: i64 = pairs.iter().map(|&(a, b)| (i64::from(a) - i64::from(b)).pow(2)).sum();
            prop_assert!(f64::from(least_squared_distance(&a, &b)) <= exact as f64);
        }
    }
}
