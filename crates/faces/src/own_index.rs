//! The exact index of faces that the custom embedder measured, and both indexes together.
//!
//! The built-in networks search every face as if there were no custom embedder, because only their search distance was
//! measured on enough pairs to decide. The custom embedder adds the faces that only it finds similar, for a person to
//! decide.
//!
//! Embeddings of custom embedders have any length, so their index compares every face as a whole. It persists nothing
//! and contains no data about persons.

use std::collections::HashSet;

use uuid::Uuid;

use crate::embedding::{Embedding, ONE, built_in_version, exact_distance, own_version};
use crate::index::{FaceIndex, Hit, ModelMismatch};

/// The known faces, for searches of faces of one model version.
#[derive(Debug, Default, Clone)]
pub struct KnownFaces {
    /// As [`Embedding::version`].
    version: String,
    built_in: FaceIndex,
    own: OwnIndex,
}

impl KnownFaces {
    /// No faces yet. Searches will be for faces of this version.
    pub fn new(version: &str) -> Self {
        Self {
            version: version.to_owned(),
            ..Self::default()
        }
    }

    /// The version of the faces that can be searched for.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The number of faces that the built-in networks can compare.
    pub fn len(&self) -> usize {
        self.built_in.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a face to a facemap id. Returns `false` for a face that has no model in common with the searches.
    ///
    /// # Errors
    /// Fails if the custom part has another length than those before, although its model is the same.
    pub fn insert(&mut self, facemap: Uuid, face: &Embedding) -> Result<bool, ModelMismatch> {
        let mut is_known = false;
        if let Some((version, values)) = face.own()
            && own_version(&self.version) == Some(version)
        {
            self.own.insert(facemap, values)?;
            is_known = true;
        }
        if built_in_version(&self.version) == face.built_in_version() {
            self.built_in.insert(facemap, face)?;
            is_known = true;
        }
        Ok(is_known)
    }

    /// Removes every face of a facemap.
    pub fn remove(&mut self, facemap: Uuid) {
        self.built_in.remove(facemap);
        self.own.remove(facemap);
    }

    /// Finds every facemap with a face at a distance of at most `within`, each once, with its nearest face. Those that the
    /// built-in networks find come first, then those that only the custom embedder finds, each group nearest first.
    ///
    /// # Errors
    /// Fails if the face has another version than the searches.
    pub fn search(&self, face: &Embedding, within: f32) -> Result<Vec<Hit>, ModelMismatch> {
        if face.version() != self.version {
            return Err(ModelMismatch);
        }
        let mut hits = self.built_in.search(face, within)?;
        let mut known: HashSet<Uuid> = hits.iter().map(|hit| hit.facemap).collect();
        if let Some((_, values)) = face.own() {
            let mut more = self.own.search(values, within)?;
            more.sort_by(|a, b| a.distance.total_cmp(&b.distance));
            more.retain(|hit| known.insert(hit.facemap));
            hits.extend(more);
        }
        Ok(hits)
    }
}

/// Faces with the numbers of one custom embedder.
#[derive(Debug, Default, Clone)]
struct OwnIndex {
    ids: Vec<Uuid>,
    /// The numbers of all faces in turn.
    values: Vec<i16>,
    /// The squared length of each face's numbers.
    squares: Vec<i32>,
    /// How many numbers a face has; 0 before the first face.
    length: usize,
}

impl OwnIndex {
    fn insert(&mut self, facemap: Uuid, values: &[i16]) -> Result<(), ModelMismatch> {
        if self.ids.is_empty() {
            self.length = values.len();
        }
        if values.is_empty() || self.length != values.len() {
            return Err(ModelMismatch);
        }
        self.ids.push(facemap);
        self.values.extend_from_slice(values);
        self.squares.push(product(values, values));
        Ok(())
    }

    fn remove(&mut self, facemap: Uuid) {
        for at in (0..self.ids.len()).rev() {
            if self.ids[at] == facemap {
                self.ids.swap_remove(at);
                self.squares.swap_remove(at);
                let last = self.values.len() - self.length;
                self.values.copy_within(last.., at * self.length);
                self.values.truncate(last);
            }
        }
    }

    fn search(&self, face: &[i16], within: f32) -> Result<Vec<Hit>, ModelMismatch> {
        if self.ids.is_empty() {
            return Ok(Vec::new());
        }
        if face.len() != self.length {
            return Err(ModelMismatch);
        }
        let near = pulp::Arch::new().dispatch(Scan {
            index: self,
            face,
            square: product(face, face),
            // Rounded up, because the exact distance follows.
            limit: (f64::from(within) * f64::from(ONE)).powi(2) as i64 + 1,
        });
        let exact = |at: usize| {
            let known = &self.values[at * self.length..][..self.length];
            Hit {
                facemap: self.ids[at],
                distance: exact_distance(face, known),
                by_own: true,
            }
        };
        Ok(near
            .into_iter()
            .map(exact)
            .filter(|hit| hit.distance <= within)
            .collect())
    }
}

/// The comparison of a face with every face of an index.
struct Scan<'a> {
    index: &'a OwnIndex,
    face: &'a [i16],
    square: i32,
    limit: i64,
}

impl pulp::WithSimd for Scan<'_> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<usize> {
        let mut near = Vec::new();
        for (at, known) in self.index.values.chunks_exact(self.index.length).enumerate() {
            let both = i64::from(self.square) + i64::from(self.index.squares[at]);
            if both - 2 * i64::from(product(self.face, known)) <= self.limit {
                near.push(at);
            }
        }
        near
    }
}

/// The scalar product. It fits into 32 bits, because `Embedding::with_own` limits the length of both.
#[inline(always)]
fn product(a: &[i16], b: &[i16]) -> i32 {
    let mut sum = 0i32;
    for (&a, &b) in a.iter().zip(b) {
        sum = sum.wrapping_add(i32::from(a).wrapping_mul(i32::from(b)));
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::embedding::{EMBEDDING_LEN, distance};

    const BUILT_IN: &str = "0123456789ar";
    const OWN: &str = "ffff00001111";
    const BOTH: &str = "0123456789ar+ffff00001111";

    fn plain(fill: i16) -> Embedding {
        Embedding::new(BUILT_IN, [fill; EMBEDDING_LEN]).expect("valid")
    }

    fn own(fill: i16, own: Vec<i16>) -> Embedding {
        plain(fill).with_own(OWN, own).expect("valid")
    }

    #[test]
    fn the_built_in_networks_find_as_ever_and_the_own_embedder_adds() {
        let mut known = KnownFaces::new(BOTH);
        let [early, renewed, alike, far] = [1, 2, 3, 4].map(Uuid::from_u128);
        assert_eq!(known.insert(early, &plain(512)), Ok(true));
        assert_eq!(known.insert(renewed, &own(256, vec![4096; 64])), Ok(true));
        assert_eq!(known.insert(alike, &own(4096, vec![2048; 64])), Ok(true));
        assert_eq!(known.insert(far, &own(4096, vec![4096; 64])), Ok(true));
        let foreign = Embedding::new("ba9876543210", [0; EMBEDDING_LEN]).expect("valid");
        assert_eq!(known.insert(far, &foreign), Ok(false));
        assert_eq!(known.len(), 4);
        let face = own(0, vec![0; 64]);
        let found: Vec<(Uuid, f32, bool)> = known
            .search(&face, 1.2)
            .expect("searches")
            .into_iter()
            .map(|hit| (hit.facemap, hit.distance, hit.by_own))
            .collect();
        assert_eq!(
            found,
            [(renewed, 0.25, false), (early, 0.5, false), (alike, 1.0, true)]
        );
        known.remove(renewed);
        known.remove(alike);
        assert_eq!(known.search(&face, 1.2).expect("searches").len(), 1);
        assert_eq!(known.search(&plain(0), 1.2), Err(ModelMismatch));
    }

    #[test]
    fn without_an_own_embedder_its_faces_are_compared_by_the_built_in_networks() {
        let mut known = KnownFaces::new(BUILT_IN);
        known
            .insert(Uuid::from_u128(1), &own(512, vec![9; 64]))
            .expect("inserts");
        let hits = known.search(&plain(0), 1.2).expect("searches");
        assert_eq!(hits[0].distance, 0.5);
    }

    #[test]
    fn a_part_of_another_length_is_refused() {
        let mut known = KnownFaces::new(BOTH);
        known
            .insert(Uuid::from_u128(1), &own(0, vec![1; 64]))
            .expect("inserts");
        assert_eq!(
            known.insert(Uuid::from_u128(2), &own(0, vec![1; 65])),
            Err(ModelMismatch)
        );
        assert_eq!(known.search(&own(0, vec![1; 65]), 1.0), Err(ModelMismatch));
    }

    proptest! {
        #[test]
        fn every_face_within_the_distance_is_found(
            faces in proptest::collection::vec(proptest::collection::vec(-1_800i16..1_800, 33), 1..20),
            removed in 0usize..20,
            within in 0.0f32..1.6,
        ) {
            let faces: Vec<Embedding> = faces.into_iter().map(|values| own(0, values)).collect();
            // Of other built-in networks, so that the custom embedder alone finds them.
            let other = |face: &Embedding| {
                let (version, values) = face.own().expect("has one");
                Embedding::new("ba9876543210", [0; EMBEDDING_LEN])
                    .and_then(|plain| plain.with_own(version, values.to_vec()))
                    .expect("valid")
            };
            let mut known = KnownFaces::new(BOTH);
            for (number, face) in faces.iter().enumerate() {
                known.insert(Uuid::from_u128(number as u128), &other(face)).expect("inserts");
            }
            known.remove(Uuid::from_u128(removed as u128));
            let hits = known.search(&faces[0], within).expect("searches");
            for (number, face) in faces.iter().enumerate().filter(|(number, _)| *number != removed) {
                let expected = distance(&faces[0], face);
                let hit = hits.iter().find(|hit| hit.facemap == Uuid::from_u128(number as u128));
                prop_assert_eq!(hit.map(|hit| hit.distance), (expected <= within).then_some(expected));
            }
        }
    }
}
