//! Face embeddings, and the distance between two of them.
//!
//! An embedding has the numbers of the built-in networks and, if a custom embedder is in use, its numbers too. Two
//! faces are compared by the custom embedder if both have its numbers, and otherwise by the built-in networks. So a
//! face that was enrolled before the custom embedder is still found.
//!
//! Each part includes the version of its models, so that numbers of different models are never compared. Embeddings are
//! personal data, so `Debug` omits the numbers.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The number of values that each of the two networks computes.
pub(crate) const NETWORK_LEN: usize = 128;
/// The number of values in an embedding: SFace's, then dlib's.
pub const EMBEDDING_LEN: usize = 2 * NETWORK_LEN;
/// The length of a model version: hexadecimal digits of the models' hashes.
const VERSION_BYTES: usize = 12;
/// The length of [`Embedding::to_bytes`] without a custom embedder.
const BUILT_IN_BYTES: usize = VERSION_BYTES + EMBEDDING_LEN * size_of::<i16>();
/// Separates the two versions of an embedding with a custom part.
const AND: char = '+';
/// The lengths that the custom part may have.
pub(crate) const OWN_LENGTHS: std::ops::RangeInclusive<usize> = 32..=1_024;
/// The largest Euclidean length of the custom part, so that a product of two fits into 32 bits.
const MAX_OWN_LENGTH: f32 = 2.0;

/// The values of 1.0. The numbers of both networks are within ±1, the range is ±2.
pub(crate) const ONE: f32 = 16_384.0;
/// Two embeddings of one picture are within this distance. It was measured on 550 faces with detectors and meshes whose
/// files differ only in rounding: median 0.005, 99 % within 0.036, at most 0.062. The nearest faces of two different
/// pictures, frames between which the head turned by 2°, are 0.11 apart.
const SAME_PICTURE: f32 = 0.1;
/// The weight of dlib's values in a distance; SFace's weight is 1. See `similarity` for how it was chosen.
const DLIB_WEIGHT: f32 = 1.2;

/// A face as 256 numbers of 16 bits, and those of the custom embedder. Faces of one person are close together
/// (Euclidean distance, see [`distance`]). Whole numbers make every distance exact, and the same on every machine.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SerializedEmbedding", into = "SerializedEmbedding")]
pub struct Embedding {
    /// The version of the built-in networks, and after a plus sign that of the custom embedder.
    version: String,
    values: [i16; EMBEDDING_LEN],
    /// Empty without a custom embedder.
    own: Vec<i16>,
}

/// These bytes or numbers are not an embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "not a face embedding, which is a model version of {VERSION_BYTES} characters and {EMBEDDING_LEN} numbers of 16 \
     bits, optionally followed by those of a custom embedder with {} to {} numbers",
    OWN_LENGTHS.start(), OWN_LENGTHS.end()
)]
pub struct InvalidEmbedding;

impl Embedding {
    /// Creates an embedding of the built-in networks from their version (12 ASCII characters) and their numbers.
    ///
    /// # Errors
    /// Fails if the version has another length or other characters.
    pub fn new(version: &str, values: [i16; EMBEDDING_LEN]) -> Result<Self, InvalidEmbedding> {
        if !is_version(version) {
            return Err(InvalidEmbedding);
        }
        Ok(Self {
            version: version.to_owned(),
            values,
            own: Vec::new(),
        })
    }

    /// Adds the part of a custom embedder: its version (12 ASCII characters) and its numbers, 16,384 for 1.0.
    ///
    /// # Errors
    /// Fails if the version has another length or other characters, or the numbers are too few, too many or too large.
    pub fn with_own(self, version: &str, own: Vec<i16>) -> Result<Self, InvalidEmbedding> {
        let squares: i64 = own.iter().map(|&value| i64::from(value).pow(2)).sum();
        let is_short = squares as f64 <= f64::from(MAX_OWN_LENGTH * ONE).powi(2);
        if !is_version(version) || !OWN_LENGTHS.contains(&own.len()) || !is_short {
            return Err(InvalidEmbedding);
        }
        Ok(Self {
            version: format!("{}{AND}{version}", self.built_in_version()),
            own,
            ..self
        })
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

    /// The version of the models that computed the embedding: that of the built-in networks, followed by a plus sign and
    /// that of the custom embedder if there was one.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The version of the built-in networks.
    pub fn built_in_version(&self) -> &str {
        built_in_version(&self.version)
    }

    /// The version of the custom embedder and its numbers.
    pub fn own(&self) -> Option<(&str, &[i16])> {
        own_version(&self.version).map(|version| (version, self.own.as_slice()))
    }

    /// The numbers of the built-in networks, 16,384 for 1.0.
    pub fn values(&self) -> &[i16; EMBEDDING_LEN] {
        &self.values
    }

    /// The storage format: the version of the built-in networks and their numbers as little-endian 16-bit integers, then
    /// the same of the custom embedder if there was one.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes =
            Vec::with_capacity(BUILT_IN_BYTES + VERSION_BYTES + self.own.len() * size_of::<i16>());
        let mut add = |version: &str, values: &[i16]| {
            bytes.extend_from_slice(version.as_bytes());
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        };
        add(self.built_in_version(), &self.values);
        if let Some((version, values)) = self.own() {
            add(version, values);
        }
        bytes
    }

    /// Reads the format of [`Embedding::to_bytes`].
    ///
    /// # Errors
    /// Fails if the bytes are no embedding, or one of the earlier format: 128 floats after a version of hexadecimal
    /// digits alone, which has the same length.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidEmbedding> {
        let (built_in, own) = bytes.split_at_checked(BUILT_IN_BYTES).ok_or(InvalidEmbedding)?;
        let (version, values) = part(built_in)?;
        if version.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(InvalidEmbedding);
        }
        let embedding = Self::new(version, values.try_into().map_err(|_| InvalidEmbedding)?)?;
        if own.is_empty() {
            return Ok(embedding);
        }
        let (version, values) = part(own)?;
        embedding.with_own(version, values)
    }
}

fn is_version(text: &str) -> bool {
    text.len() == VERSION_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The version of the built-in networks in an embedding's version.
pub fn built_in_version(version: &str) -> &str {
    version.split_once(AND).map_or(version, |(built_in, _)| built_in)
}

/// The version of the custom embedder in an embedding's version.
pub(crate) fn own_version(version: &str) -> Option<&str> {
    version.split_once(AND).map(|(_, own)| own)
}

/// Whether an embedding's version includes a custom embedder.
pub fn has_own_part(version: &str) -> bool {
    own_version(version).is_some()
}

/// Whether faces of these versions have a model in common, by which [`distance`] compares them.
pub fn are_comparable(a: &str, b: &str) -> bool {
    built_in_version(a) == built_in_version(b)
        || own_version(a).is_some_and(|version| own_version(b) == Some(version))
}

/// The version of an embedding with both parts.
pub(crate) fn joint_version(built_in: &str, own: &str) -> String {
    format!("{built_in}{AND}{own}")
}

/// A version and its numbers.
fn part(bytes: &[u8]) -> Result<(&str, Vec<i16>), InvalidEmbedding> {
    let (version, rest) = bytes.split_at_checked(VERSION_BYTES).ok_or(InvalidEmbedding)?;
    let version = str::from_utf8(version).map_err(|_| InvalidEmbedding)?;
    let (numbers, surplus) = rest.as_chunks::<2>();
    if !surplus.is_empty() {
        return Err(InvalidEmbedding);
    }
    Ok((
        version,
        numbers.iter().map(|&number| i16::from_le_bytes(number)).collect(),
    ))
}

impl std::fmt::Debug for Embedding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Embedding({})", self.version())
    }
}

/// The Euclidean distance of two faces: 0 for the same picture, about 0.8 for the same person, about 1.7 for strangers.
/// It is that of the custom embedder, scaled by its calibration, if both faces have its numbers, and otherwise that of
/// the built-in networks.
///
/// The distance is infinite between embeddings without a model in common, so they never match.
pub fn distance(a: &Embedding, b: &Embedding) -> f32 {
    if let (Some((version, a)), Some((other, b))) = (a.own(), b.own())
        && version == other
        && a.len() == b.len()
    {
        return exact_distance(a, b);
    }
    built_in_distance(a, b)
}

/// The distance by the built-in networks alone, even if there is a custom embedder; infinite between versions.
pub fn built_in_distance(a: &Embedding, b: &Embedding) -> f32 {
    if a.built_in_version() == b.built_in_version() {
        exact_distance(&a.values, &b.values)
    } else {
        f32::INFINITY
    }
}

/// Whether two embeddings are of one stored picture, which was embedded twice with at most different rounding.
pub fn is_of_same_picture(a: &Embedding, b: &Embedding) -> bool {
    built_in_distance(a, b) <= SAME_PICTURE
}

/// The distance between two faces' numbers from one model.
pub(crate) fn exact_distance(a: &[i16], b: &[i16]) -> f32 {
    let squares = a.iter().zip(b).map(|(&a, &b)| {
        let difference = i64::from(i32::from(a) - i32::from(b));
        difference * difference
    });
    // The sum has at most 42 bits, so the conversion to 64-bit floats is exact.
    ((squares.sum::<i64>() as f64).sqrt() / f64::from(ONE)) as f32
}

/// The serde format of an embedding.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SerializedEmbedding {
    /// As [`Embedding::version`].
    version: String,
    /// The numbers of the built-in networks, then those of the custom embedder.
    values: Vec<i16>,
}

impl From<Embedding> for SerializedEmbedding {
    fn from(embedding: Embedding) -> Self {
        Self {
            version: embedding.version,
            values: [&embedding.values[..], &embedding.own].concat(),
        }
    }
}

impl TryFrom<SerializedEmbedding> for Embedding {
    type Error = InvalidEmbedding;

    fn try_from(stored: SerializedEmbedding) -> Result<Self, InvalidEmbedding> {
        let (values, own) = stored.values.split_first_chunk().ok_or(InvalidEmbedding)?;
        let embedding = Self::new(built_in_version(&stored.version), *values)?;
        match own_version(&stored.version) {
            Some(version) => embedding.with_own(version, own.to_vec()),
            None if own.is_empty() => Ok(embedding),
            None => Err(InvalidEmbedding),
        }
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

    /// Embeddings of one picture are at most 0.062 apart, those of two neighbouring frames of a film at least 0.11.
    #[test]
    fn one_picture_is_told_from_the_next_one() {
        let face = embedding("0123456789ar", 0);
        for (distance, same) in [(0.0, true), (0.062, true), (0.11, false)] {
            let value = (distance / (EMBEDDING_LEN as f32).sqrt() * ONE).round() as i16;
            let other = embedding("0123456789ar", value);
            assert_eq!(is_of_same_picture(&face, &other), same, "{distance}");
        }
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
        assert!(Embedding::from_bytes(&bytes[..BUILT_IN_BYTES - 1]).is_err());
        assert!(Embedding::from_bytes(&[&bytes[..], &[0; 2]].concat()).is_err());
        assert!(Embedding::new("short", [0; EMBEDDING_LEN]).is_err());
        let floats = [0.1_f32; 128].map(f32::to_le_bytes).concat();
        let earlier = [&b"0123456789ab"[..], &floats].concat();
        assert_eq!(earlier.len(), BUILT_IN_BYTES);
        assert!(
            Embedding::from_bytes(&earlier).is_err(),
            "the format before this one"
        );
        for values in ["[1]", "[40000]", "[0.5]"] {
            let text = format!(r#"{{"version":"0123456789ar","values":{values}}}"#);
            assert!(serde_json::from_str::<Embedding>(&text).is_err(), "{values}");
        }
    }

    fn with_own(version: &str, fill: i16, own_version: &str, own: i16) -> Embedding {
        embedding(version, fill)
            .with_own(own_version, vec![own; 64])
            .expect("valid")
    }

    #[test]
    fn the_own_embedder_decides_where_both_faces_have_its_numbers() {
        let known = with_own("0123456789ar", 0, "ffff00001111", 0);
        for (what, other, expected) in [
            (
                "both parts",
                with_own("0123456789ar", 1024, "ffff00001111", 2048),
                1.0,
            ),
            ("an earlier face", embedding("0123456789ar", 1024), 1.0),
            (
                "the same picture",
                with_own("0123456789ar", 0, "ffff00001111", 0),
                0.0,
            ),
            (
                "another custom embedder",
                with_own("0123456789ar", 512, "ffff00002222", 2048),
                0.5,
            ),
            (
                "other built-in networks",
                with_own("ba9876543210", 512, "ffff00001111", 2048),
                1.0,
            ),
            (
                "nothing in common",
                with_own("ba9876543210", 0, "ffff00002222", 0),
                f32::INFINITY,
            ),
            (
                "an earlier model's face",
                embedding("ba9876543210", 0),
                f32::INFINITY,
            ),
        ] {
            assert_eq!(
                are_comparable(known.version(), other.version()),
                expected.is_finite()
            );
            assert_eq!(distance(&known, &other), expected, "{what}");
            assert_eq!(distance(&other, &known), expected, "{what}, the other way round");
        }
    }

    #[test]
    fn an_own_part_is_kept_and_named() {
        let face = with_own("0123456789ar", 4096, "ffff00001111", -3);
        assert_eq!(face.version(), "0123456789ar+ffff00001111");
        assert_eq!(face.built_in_version(), "0123456789ar");
        assert_eq!(face.own(), Some(("ffff00001111", &[-3; 64][..])));
        assert_eq!(Embedding::from_bytes(&face.to_bytes()), Ok(face.clone()));
        let json = serde_json::to_string(&face).expect("serialises");
        assert_eq!(serde_json::from_str::<Embedding>(&json).expect("parses"), face);
        let bytes = face.to_bytes();
        for cut in [
            BUILT_IN_BYTES + 1,
            BUILT_IN_BYTES + VERSION_BYTES,
            bytes.len() - 1,
        ] {
            assert!(Embedding::from_bytes(&bytes[..cut]).is_err(), "{cut}");
        }
        let plain = || embedding("0123456789ar", 0);
        for (version, own) in [
            ("short", vec![0; 64]),
            ("ffff00001111", vec![0; 31]),
            ("ffff00001111", vec![0; 1_025]),
            ("ffff00001111", vec![i16::MAX; 64]),
        ] {
            assert!(plain().with_own(version, own).is_err(), "{version}");
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
        fn any_bytes_are_refused_or_kept_exactly(bytes in proptest::collection::vec(any::<u8>(), 0..BUILT_IN_BYTES + 120)) {
            if let Ok(face) = Embedding::from_bytes(&bytes) {
                prop_assert_eq!(face.to_bytes(), bytes);
            }
        }
    }
}
