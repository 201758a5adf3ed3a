//! Face embeddings, and the distance between two of them.
//!
//! An embedding includes the version of its models, so that embeddings of different models are never compared.
//! Embeddings are personal data, so `Debug` omits the numbers.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The number of values that each of the two networks computes.
pub(crate) const NETWORK_LEN: usize = 128;
/// The number of values in an embedding: SFace's, then dlib's.
pub const EMBEDDING_LEN: usize = 2 * NETWORK_LEN;
/// The length of a model version: hexadecimal digits of the models' hashes.
const VERSION_BYTES: usize = 12;
/// The length of [`Embedding::to_bytes`].
pub const EMBEDDING_BYTES: usize = VERSION_BYTES + EMBEDDING_LEN * size_of::<i16>();

/// The values of 1.0. The numbers of both networks are within ±1, the range is ±2.
pub(crate) const ONE: f32 = 16_384.0;
/// The weight of dlib's values in a distance; SFace's weight is 1. See `similarity` for how it was chosen.
const DLIB_WEIGHT: f32 = 1.2;

/// A face as 256 numbers of 16 bits. Faces of one person are close together (Euclidean distance, see
/// [`distance`]). Whole numbers make every distance exact, and the same on every machine.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SerializedEmbedding", into = "SerializedEmbedding")]
pub struct Embedding {
    version: [u8; VERSION_BYTES],
    values: [i16; EMBEDDING_LEN],
}

/// These bytes or numbers are not an embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "not a face embedding: a model version of {VERSION_BYTES} characters and {EMBEDDING_LEN} numbers of 16 bits"
)]
pub struct InvalidEmbedding;

impl Embedding {
    /// Creates an embedding from its models' version (12 ASCII characters) and its numbers.
    ///
    /// # Errors
    /// Fails if the version has another length or other characters.
    pub fn new(version: &str, values: [i16; EMBEDDING_LEN]) -> Result<Self, InvalidEmbedding> {
        let ascii = version.bytes().all(|byte| byte.is_ascii_graphic());
        match version.as_bytes().try_into() {
            Ok(version) if ascii => Ok(Self { version, values }),
            _ => Err(InvalidEmbedding),
        }
    }

    /// Joins what the two networks computed. SFace's values are scaled to length 1 first, because that network
    /// tells people apart by direction alone.
    ///
    /// # Errors
    /// Fails as [`Embedding::new`] does, if a value is not finite, or if SFace's values have no direction.
    pub(crate) fn of_networks(
        version: &str,
        sface: &[f32; NETWORK_LEN],
        dlib: &[f32; NETWORK_LEN],
    ) -> Result<Self, InvalidEmbedding> {
        let length = sface.iter().map(|value| value * value).sum::<f32>().sqrt();
        let mut values = [0; EMBEDDING_LEN];
        let scaled = sface
            .iter()
            .map(|value| value / length)
            .chain(dlib.iter().map(|value| value * DLIB_WEIGHT));
        for (place, value) in values.iter_mut().zip(scaled) {
            if !value.is_finite() {
                return Err(InvalidEmbedding);
            }
            // `as` saturates; no network's value comes near the range's ends.
            *place = (value * ONE).round() as i16;
        }
        Self::new(version, values)
    }

    /// The version of the models that computed the embedding.
    pub fn version(&self) -> &str {
        // `new` accepts only ASCII.
        str::from_utf8(&self.version).unwrap_or_default()
    }

    /// The numbers, 16,384 for 1.0.
    pub fn values(&self) -> &[i16; EMBEDDING_LEN] {
        &self.values
    }

    /// The storage format: the version, then the numbers as little-endian 16-bit integers.
    pub fn to_bytes(&self) -> [u8; EMBEDDING_BYTES] {
        let mut bytes = [0; EMBEDDING_BYTES];
        bytes[..VERSION_BYTES].copy_from_slice(&self.version);
        for (place, value) in bytes[VERSION_BYTES..].chunks_exact_mut(2).zip(self.values) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    /// Reads the format of [`Embedding::to_bytes`].
    ///
    /// # Errors
    /// Fails if the bytes are no embedding, or one of the earlier format: 128 floats after a version of hexadecimal
    /// digits alone, which has the same length.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidEmbedding> {
        let (version, rest) = bytes.split_at_checked(VERSION_BYTES).ok_or(InvalidEmbedding)?;
        let version = str::from_utf8(version).map_err(|_| InvalidEmbedding)?;
        if version.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(InvalidEmbedding);
        }
        let (numbers, surplus) = rest.as_chunks::<2>();
        let values = numbers
            .iter()
            .map(|&number| i16::from_le_bytes(number))
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

/// The Euclidean distance of two faces: 0 for the same picture, about 0.8 for the same person, about 1.7 for
/// strangers.
///
/// The distance is infinite between embeddings of different models, so they never match.
pub fn distance(a: &Embedding, b: &Embedding) -> f32 {
    if a.version != b.version {
        return f32::INFINITY;
    }
    exact_distance(&a.values, &b.values)
}

/// The distance of the numbers.
pub(crate) fn exact_distance(a: &[i16; EMBEDDING_LEN], b: &[i16; EMBEDDING_LEN]) -> f32 {
    let squares = a.iter().zip(b).map(|(&a, &b)| {
        let difference = i64::from(i32::from(a) - i32::from(b));
        difference * difference
    });
    // The sum has at most 41 bits, so the conversion to 64-bit floats is exact.
    ((squares.sum::<i64>() as f64).sqrt() / f64::from(ONE)) as f32
}

/// The serde format of an embedding.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SerializedEmbedding {
    version: String,
    values: Vec<i16>,
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

    fn embedding(version: &str, fill: i16) -> Embedding {
        Embedding::new(version, [fill; EMBEDDING_LEN]).expect("valid")
    }

    #[test]
    fn distance_is_euclidean_within_a_model_and_infinite_across() {
        let (a, b) = (embedding("0123456789ar", 0), embedding("0123456789ar", 1024));
        assert!((distance(&a, &b) - 1.0).abs() < 1e-6);
        assert_eq!(distance(&a, &a), 0.0);
        assert_eq!(distance(&a, &embedding("ba9876543210", 0)), f32::INFINITY);
        let far = [
            embedding("0123456789ar", i16::MIN),
            embedding("0123456789ar", i16::MAX),
        ];
        assert!((distance(&far[0], &far[1]) - 64.0).abs() < 0.01);
    }

    #[test]
    fn the_networks_are_joined_by_direction_and_weight() {
        let (mut sface, mut dlib) = ([0.0; NETWORK_LEN], [0.0; NETWORK_LEN]);
        (sface[3], sface[4], dlib[0]) = (6.0, 8.0, -0.5);
        let joined = Embedding::of_networks("0123456789ar", &sface, &dlib).expect("valid");
        let value = |at: usize| f32::from(joined.values()[at]) / ONE;
        for (at, expected) in [(2, 0.0), (3, 0.6), (4, 0.8), (NETWORK_LEN, -0.5 * DLIB_WEIGHT)] {
            assert!((value(at) - expected).abs() < 1e-4, "{at}");
        }
        for bad in [0.0, f32::NAN, f32::INFINITY] {
            assert!(
                Embedding::of_networks("0123456789ar", &[bad; NETWORK_LEN], &dlib).is_err(),
                "{bad}"
            );
        }
        assert!(Embedding::of_networks("0123456789ar", &sface, &[f32::NAN; NETWORK_LEN]).is_err());
    }

    #[test]
    fn bytes_and_json_round_trip_and_nothing_else_is_accepted() {
        let face = embedding("0123456789ar", 4096);
        assert_eq!(Embedding::from_bytes(&face.to_bytes()), Ok(face.clone()));
        let json = serde_json::to_string(&face).expect("serialises");
        assert_eq!(serde_json::from_str::<Embedding>(&json).expect("parses"), face);
        let bytes = face.to_bytes();
        assert!(Embedding::from_bytes(&bytes[..EMBEDDING_BYTES - 1]).is_err());
        assert!(Embedding::from_bytes(&[&bytes[..], &[0; 2]].concat()).is_err());
        assert!(Embedding::new("short", [0; EMBEDDING_LEN]).is_err());
        let floats = [0.1_f32; 128].map(f32::to_le_bytes).concat();
        let earlier = [&b"0123456789ab"[..], &floats].concat();
        assert_eq!(earlier.len(), EMBEDDING_BYTES);
        assert!(
            Embedding::from_bytes(&earlier).is_err(),
            "the format before this one"
        );
        for values in ["[1]", "[40000]", "[0.5]"] {
            let text = format!(r#"{{"version":"0123456789ar","values":{values}}}"#);
            assert!(serde_json::from_str::<Embedding>(&text).is_err(), "{values}");
        }
    }

    #[test]
    fn debug_shows_no_numbers() {
        assert_eq!(
            format!("{:?}", embedding("0123456789ar", 7)),
            "Embedding(0123456789ar)"
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
