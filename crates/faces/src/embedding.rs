//! Face embeddings, and the distance between two of them.
//!
//! An embedding includes the version of its model, so that embeddings of different models are never compared.
//! Embeddings are personal data, so `Debug` omits the numbers.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The number of values in an embedding.
pub const EMBEDDING_LEN: usize = 128;
/// The length of a model version: hexadecimal digits of a hash.
const VERSION_BYTES: usize = 12;
/// The length of [`Embedding::to_bytes`].
pub const EMBEDDING_BYTES: usize = VERSION_BYTES + EMBEDDING_LEN * size_of::<f32>();

/// A face as 128 numbers. Faces of one person are close together (Euclidean distance, see [`distance`]).
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SerializedEmbedding", into = "SerializedEmbedding")]
pub struct Embedding {
    version: [u8; VERSION_BYTES],
    values: [f32; EMBEDDING_LEN],
}

/// SerializedEmbedding bytes or numbers are not an embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "not a face embedding: a model version of {VERSION_BYTES} characters and {EMBEDDING_LEN} finite numbers"
)]
pub struct InvalidEmbedding;

impl Embedding {
    /// Creates an embedding from a model's version (12 ASCII characters, `Models::version`) and its numbers.
    ///
    /// # Errors
    /// Fails if the version has another length or other characters, or a number is not finite.
    pub fn new(version: &str, values: [f32; EMBEDDING_LEN]) -> Result<Self, InvalidEmbedding> {
        let ascii = version.bytes().all(|byte| byte.is_ascii_graphic());
        match version.as_bytes().try_into() {
            Ok(version) if ascii && values.iter().all(|value| value.is_finite()) => {
                Ok(Self { version, values })
            }
            _ => Err(InvalidEmbedding),
        }
    }

    /// The version of the model that computed the embedding.
    pub fn version(&self) -> &str {
        // `new` accepts only ASCII.
        str::from_utf8(&self.version).unwrap_or_default()
    }

    /// The numbers.
    pub fn values(&self) -> &[f32; EMBEDDING_LEN] {
        &self.values
    }

    /// The storage format: the version, then the numbers as little-endian `f32`.
    pub fn to_bytes(&self) -> [u8; EMBEDDING_BYTES] {
        let mut bytes = [0; EMBEDDING_BYTES];
        bytes[..VERSION_BYTES].copy_from_slice(&self.version);
        for (place, value) in bytes[VERSION_BYTES..].chunks_exact_mut(4).zip(self.values) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    /// Reads the format of [`Embedding::to_bytes`].
    ///
    /// # Errors
    /// Fails if the bytes are no embedding.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidEmbedding> {
        let (version, rest) = bytes.split_at_checked(VERSION_BYTES).ok_or(InvalidEmbedding)?;
        let version = str::from_utf8(version).map_err(|_| InvalidEmbedding)?;
        let (numbers, surplus) = rest.as_chunks::<4>();
        let values = numbers
            .iter()
            .map(|&number| f32::from_le_bytes(number))
            .collect::<Vec<_>>();
        let values = values.try_into().map_err(|_| InvalidEmbedding)?;
        if surplus.is_empty() {
            Self::new(version, values)
        } else {
            Err(InvalidEmbedding)
        }
    }
}

impl std::fmt::Debug for Embedding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Embedding({})", self.version())
    }
}

/// The Euclidean distance of two faces: 0 for the same picture, about 0.3 for the same person, about 0.8 for
/// strangers.
///
/// The distance is infinite between embeddings of different models, so they never match.
pub fn distance(a: &Embedding, b: &Embedding) -> f32 {
    if a.version != b.version {
        return f32::INFINITY;
    }
    squared_distance(&a.values, &b.values).sqrt()
}

pub(crate) fn squared_distance(a: &[f32; EMBEDDING_LEN], b: &[f32; EMBEDDING_LEN]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The serde format of an embedding.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SerializedEmbedding {
    version: String,
    values: Vec<f32>,
}

impl From<Embedding> for SerializedEmbedding {
    fn from(embedding: Embedding) -> Self {
        Self {
            version: embedding.version().to_owned(),
            values: embedding.values.to_vec(),
        }
    }
}

impl TryFrom<SerializedEmbedding> for Embedding {
    type Error = InvalidEmbedding;

    fn try_from(stored: SerializedEmbedding) -> Result<Self, InvalidEmbedding> {
        Self::new(
            &stored.version,
            stored.values.try_into().map_err(|_| InvalidEmbedding)?,
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn embedding(version: &str, fill: f32) -> Embedding {
        Embedding::new(version, [fill; EMBEDDING_LEN]).expect("valid")
    }

    #[test]
    fn distance_is_euclidean_within_a_model_and_infinite_across() {
        let (a, b) = (embedding("0123456789ab", 0.0), embedding("0123456789ab", 0.5));
        assert!((distance(&a, &b) - 0.5 * 128f32.sqrt()).abs() < 1e-5);
        assert_eq!(distance(&a, &a), 0.0);
        assert_eq!(distance(&a, &embedding("ba9876543210", 0.0)), f32::INFINITY);
    }

    #[test]
    fn bytes_and_json_round_trip_and_nothing_else_is_accepted() {
        let face = embedding("0123456789ab", 0.25);
        assert_eq!(Embedding::from_bytes(&face.to_bytes()), Ok(face.clone()));
        let json = serde_json::to_string(&face).expect("serialises");
        assert_eq!(serde_json::from_str::<Embedding>(&json).expect("parses"), face);
        let bytes = face.to_bytes();
        assert!(Embedding::from_bytes(&bytes[..EMBEDDING_BYTES - 1]).is_err());
        assert!(Embedding::from_bytes(&[&bytes[..], &[0; 4]].concat()).is_err());
        let mut nan = bytes;
        nan[VERSION_BYTES..VERSION_BYTES + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        assert!(Embedding::from_bytes(&nan).is_err());
        assert!(Embedding::new("short", [0.0; EMBEDDING_LEN]).is_err());
        assert!(serde_json::from_str::<Embedding>(r#"{"version":"0123456789ab","values":[1.0]}"#).is_err());
    }

    #[test]
    fn debug_shows_no_numbers() {
        assert_eq!(
            format!("{:?}", embedding("0123456789ab", 0.25)),
            "Embedding(0123456789ab)"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_kept_exactly(bytes in proptest::collection::vec(any::<u8>(), 0..EMBEDDING_BYTES + 9)) {
            if let Ok(face) = Embedding::from_bytes(&bytes) {
                prop_assert_eq!(face.to_bytes().to_vec(), bytes);
            }
        }
    }
}
