//! Finds submitted pictures in earlier attempts of other applicants of the account and mode, and records the pictures
//! of an attempt for later ones. `verification::reuse` has the rule; this module compares and stores.
//!
//! Both run inside the recording transaction, in the account's serial step. So of two attempts that are recorded at
//! the same time, the later one finds the earlier one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use faces::{Texture, is_same_picture};
use imaging::PerceptualHash;
use store::picture_fingerprints::{self, EarlierPicture, PictureIndex};
use store::{DataKey, Scope, Tx};
use uuid::Uuid;
use verification::reuse::{Likeness, PictureReuse};

use crate::attempt_detail::unreadable;
use crate::problem::Problem;

/// The most earlier pictures that an attempt records for each of its pictures.
const MOST_RECORDED: usize = 5;
/// The version of [`Fingerprint::to_bytes`].
const VERSION: u8 = 1;

/// What recognises a picture. It is personal data, so `Debug` omits it.
#[derive(Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// SHA-256 of the pixels.
    pub pixels: [u8; 32],
    /// The perceptual hash, which finds candidates.
    pub perceptual: PerceptualHash,
    /// The texture of the main face, which confirms them. A picture without it is found by its pixels only, because
    /// two documents of one type look alike.
    pub texture: Option<Texture>,
}

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fingerprint(..)")
    }
}

impl Fingerprint {
    fn index(&self) -> PictureIndex {
        PictureIndex {
            pixels: self.pixels,
            bands: self.texture.as_ref().map(|_| self.perceptual.bands()),
        }
    }

    /// Version, pixels, perceptual hash, texture.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.pixels);
        bytes.extend(self.perceptual.to_bytes());
        let cells: Vec<i8> = self.texture.clone().map(Vec::from).unwrap_or_default();
        bytes.extend(cells.into_iter().map(i8::cast_unsigned));
        bytes
    }

    /// `None` for bytes that this version did not write.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let ([version], rest) = bytes.split_first_chunk()?;
        let (pixels, rest) = rest.split_first_chunk()?;
        let (perceptual, cells) = rest.split_first_chunk()?;
        let cells: Vec<i8> = cells.iter().map(|cell| cell.cast_signed()).collect();
        let texture = match cells.is_empty() {
            true => None,
            false => Some(Texture::try_from(cells).ok()?),
        };
        (*version == VERSION).then_some(Fingerprint {
            pixels: *pixels,
            perceptual: PerceptualHash::from_bytes(*perceptual),
            texture,
        })
    }

    fn likeness(&self, earlier: &Self) -> Option<Likeness> {
        if self.pixels == earlier.pixels {
            return Some(Likeness::Exact);
        }
        let correlation = self.texture.as_ref()?.correlation(earlier.texture.as_ref()?);
        let distance = self.perceptual.distance(earlier.perceptual);
        is_same_picture(distance, correlation).then_some(Likeness::Similar)
    }
}

/// The pictures of an attempt by their fields.
pub type Fingerprints = BTreeMap<String, Fingerprint>;

/// Which of these pictures are in earlier attempts under another `externalUserId`: for each picture the same pixels
/// first, then the newest. The caller has taken the account's face lock.
///
/// # Errors
/// 503 if this version cannot read a fingerprint that may be of the same picture.
pub async fn find(
    tx: &mut Tx,
    scope: Scope,
    external_user_id: &str,
    pictures: &Fingerprints,
) -> Result<Vec<PictureReuse>, Problem> {
    let mut reuses = Vec::new();
    for (file, picture) in pictures {
        let found = picture_fingerprints::find(tx, scope, &picture.index(), external_user_id).await?;
        reuses.extend(compare(file, picture, &found)?);
    }
    Ok(reuses)
}

fn compare(
    file: &str,
    picture: &Fingerprint,
    found: &[EarlierPicture],
) -> Result<Vec<PictureReuse>, Problem> {
    let mut reuses = Vec::new();
    for earlier in found {
        let fingerprint = Fingerprint::from_bytes(&earlier.fingerprint)
            .ok_or_else(|| unreadable(earlier.log_id, "fingerprint", &"unknown format"))?;
        reuses.extend(picture.likeness(&fingerprint).map(|likeness| PictureReuse {
            file: file.to_owned(),
            likeness,
            log_id: earlier.log_id,
            earlier_file: earlier.file.clone(),
        }));
    }
    reuses.sort_by_key(|reuse| (reuse.likeness, Reverse(reuse.log_id)));
    reuses.truncate(MOST_RECORDED);
    Ok(reuses)
}

/// Records the pictures of an attempt that was inserted in the same transaction, with its id and key.
pub async fn record(
    tx: &mut Tx,
    scope: Scope,
    attempt: (Uuid, &DataKey),
    pictures: &Fingerprints,
) -> Result<(), Problem> {
    for (file, picture) in pictures {
        let (index, bytes) = (picture.index(), picture.to_bytes());
        picture_fingerprints::insert(tx, scope, attempt, file, &index, &bytes).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;

    fn texture(seed: u32) -> Texture {
        let mut state = seed;
        let cells: Vec<i8> = (0..1_600)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as i8 / 2
            })
            .collect();
        Texture::try_from(cells).expect("the right size")
    }

    fn picture(pixels: u8, bits: u8, texture: Option<Texture>) -> Fingerprint {
        let mut hash = [0x55; 32];
        for byte in hash.iter_mut().take(usize::from(bits)) {
            *byte ^= 1;
        }
        Fingerprint {
            pixels: [pixels; 32],
            perceptual: PerceptualHash::from_bytes(hash),
            texture,
        }
    }

    #[test]
    fn a_picture_is_the_same_by_its_pixels_or_by_hash_and_face() {
        let face = || Some(texture(1));
        let far = Fingerprint {
            perceptual: PerceptualHash::from_bytes([0xaa; 32]),
            ..picture(2, 0, face())
        };
        // the earlier picture → its likeness to picture 1 with face 1
        let rows = [
            ("the same pixels", picture(1, 0, face()), Some(Likeness::Exact)),
            (
                "the same pixels, another face read",
                picture(1, 0, None),
                Some(Likeness::Exact),
            ),
            ("a copy", picture(2, 9, face()), Some(Likeness::Similar)),
            ("another face", picture(2, 9, Some(texture(2))), None),
            ("no face", picture(2, 0, None), None),
            ("another picture of it", far, None),
        ];
        for (name, earlier, expected) in rows {
            assert_eq!(picture(1, 0, face()).likeness(&earlier), expected, "{name}");
        }
        let back = picture(1, 0, None);
        assert_eq!(back.likeness(&picture(2, 0, None)), None, "backs look alike");
    }

    #[test]
    fn bytes_round_trip_and_others_are_refused() {
        for known in [picture(1, 3, None), picture(1, 3, Some(texture(1)))] {
            let bytes = known.to_bytes();
            assert_eq!(Fingerprint::from_bytes(&bytes).as_ref(), Some(&known));
            let newer = [&[VERSION + 1], &bytes[1..]].concat();
            for other in [newer.as_slice(), &bytes[..40], &[], &[&bytes[..], &[0]].concat()] {
                assert_eq!(Fingerprint::from_bytes(other), None);
            }
        }
    }

    #[test]
    fn the_same_pixels_and_the_newest_come_first() {
        let earlier = |log_id, picture: &Fingerprint| EarlierPicture {
            log_id,
            file: "selfie".into(),
            fingerprint: Zeroizing::new(picture.to_bytes()),
        };
        let (exact, alike) = (picture(1, 0, Some(texture(1))), picture(2, 4, Some(texture(1))));
        let other = picture(3, 4, Some(texture(2)));
        let mut found: Vec<EarlierPicture> = (10..20).map(|log_id| earlier(log_id, &alike)).collect();
        found.extend([earlier(3, &exact), earlier(4, &other), earlier(5, &exact)]);
        let numbers: Vec<i64> = compare("selfie", &exact, &found)
            .expect("readable")
            .iter()
            .map(|reuse| reuse.log_id)
            .collect();
        assert_eq!(numbers, [5, 3, 19, 18, 17]);
        let newer = EarlierPicture {
            fingerprint: Zeroizing::new(vec![9; 65]),
            ..earlier(1, &exact)
        };
        assert!(
            compare("selfie", &exact, &[newer]).is_err(),
            "refused, not passed over"
        );
    }
}
