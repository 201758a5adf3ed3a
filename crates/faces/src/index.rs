//! The exact face index, which finds the known faces within a distance of a face. It compares every face, so
//! it never misses one. A pass over SFace's half in 8-bit numbers, whose error is bounded, comes before the exact
//! comparison: that half alone is farther apart for almost every two strangers.
//!
//! An index has one model's embeddings in one scope; the caller has one index per account and mode, behind
//! its own lock. The index persists nothing and contains no data about persons. Ids are facemap ids, and one
//! id may have several embeddings.

use thiserror::Error;
use uuid::Uuid;

use crate::embedding::{EMBEDDING_LEN, Embedding, NETWORK_LEN, ONE, exact_distance};

/// The embedding's units in one 8-bit unit, 0.005. SFace's numbers are within ±0.5; the bytes cover ±0.635.
const STEP: f32 = 0.005 * ONE;

type Exact = [i16; EMBEDDING_LEN];
type Coarse = [i8; NETWORK_LEN];

/// A known face near the searched face.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The facemap that the face belongs to.
    pub facemap: Uuid,
    /// Its distance (see [`crate::distance`]).
    pub distance: f32,
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
            self.version = Some(face.version().to_owned());
        } else if self.version.as_deref() != Some(face.version()) {
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
        if self.version.as_deref() != Some(face.version()) {
            return Err(ModelMismatch);
        }
        let (query, error) = quantised(face.values());
        // By the triangle inequality, no face beyond this 8-bit distance can be within `within`. The last
        // term covers rounding.
        let reach = (within * ONE + error + self.worst_error) / STEP + 0.01;
        let limit = if reach >= 0.0 { (reach * reach) as i32 } else { -1 };
        let mut hits: Vec<Hit> = near(&query, &self.coarse, limit)
            .into_iter()
            .map(|at| Hit {
                facemap: self.ids[at],
                distance: exact_distance(face.values(), &self.exact[at]),
            })
            .filter(|hit| hit.distance <= within)
            .collect();
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

/// The indices whose squared 8-bit distance is at most `limit`.
fn near(query: &Coarse, coarse: &[Coarse], limit: i32) -> Vec<usize> {
    // The loop is also compiled for wider registers; the machine's features select the version.
    pulp::Arch::new().dispatch(Scan { query, coarse, limit })
}

struct Scan<'a> {
    query: &'a Coarse,
    coarse: &'a [Coarse],
    limit: i32,
}

impl pulp::WithSimd for Scan<'_> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<usize> {
        let candidates = self.coarse.iter().enumerate();
        candidates
            .filter(|(_, candidate)| coarse_distance(self.query, candidate) <= self.limit)
            .map(|(at, _)| at)
            .collect()
    }
}

/// The squared distance, at most 128 · 255². It cannot overflow, so `wrapping` only avoids overflow checks in
/// debug builds.
#[inline(always)]
fn coarse_distance(a: &Coarse, b: &Coarse) -> i32 {
    let mut sum = 0i32;
    for (&a, &b) in a.iter().zip(b) {
        let difference = i32::from(i16::from(a).wrapping_sub(i16::from(b)));
        sum = sum.wrapping_add(difference.wrapping_mul(difference));
    }
    sum
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// The 8-bit pass never misses a face, even one whose numbers are out of its range.
        #[test]
        fn the_search_is_exact(seeds in proptest::collection::vec(any::<u64>(), 1..40), scale in 0.1f32..6.0, within in 0.0f32..4.0) {
            let faces: Vec<Embedding> = seeds.iter().map(|&seed| scaled(seed, scale)).collect();
            let mut index = FaceIndex::new();
            for (id, face) in faces.iter().enumerate() {
                index.insert(Uuid::from_u128(id as u128), face).expect("same model");
            }
            let query = scaled(99, scale);
            let expected = faces.iter().filter(|face| distance(&query, face) <= within).count();
            prop_assert_eq!(index.search(&query, within).expect("same model").len(), expected);
        }
    }
}
