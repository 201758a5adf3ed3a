//! Decides which faces of a picture are significant. A person in the background and an ID card's ghost
//! portrait are not.

use crate::embedding::{Embedding, built_in_distance};

/// A face whose side is below this share of the largest face's side is in the background.
pub(crate) const BACKGROUND_SIDE: f32 = 0.4;
/// In a document, a smaller face within this distance of the main portrait is the same portrait printed
/// again. Ghost images are faint, tinted and screened, so their distance is larger than that of a second
/// photograph of the person.
const GHOST_DISTANCE: f32 = 1.40;
/// The largest side of a ghost image, relative to the portrait.
const GHOST_SIDE: f32 = 1.0;

/// The data of a face that decides its significance.
pub(crate) struct FaceCandidate<'a> {
    /// The face's side in pixels.
    pub(crate) side: f32,
    pub(crate) embedding: Option<&'a Embedding>,
}

/// The number of faces that are too large to be background, by their sides (largest first).
pub(crate) fn foreground(sides: &[f32]) -> usize {
    let largest = sides.first().copied().unwrap_or(0.0);
    sides
        .iter()
        .take_while(|&&side| side >= BACKGROUND_SIDE * largest)
        .count()
}

/// Whether the face at `index` repeats the first face.
pub(crate) fn is_ghost(faces: &[FaceCandidate<'_>], index: usize) -> bool {
    let (Some(main), Some(face)) = (faces.first(), faces.get(index)) else {
        return false;
    };
    let (Some(a), Some(b)) = (main.embedding, face.embedding) else {
        return false;
    };
    index > 0 && face.side <= GHOST_SIDE * main.side && built_in_distance(a, b) <= GHOST_DISTANCE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::{EMBEDDING_LEN, ONE};

    #[test]
    fn small_faces_are_background() {
        let cases: [(&[f32], usize); 5] = [
            (&[], 0),
            (&[200.0], 1),
            (&[200.0, 120.0, 79.0], 2),
            (&[50.0, 49.0, 45.0, 30.0], 4),
            (&[400.0, 60.0, 59.0], 1),
        ];
        for (sides, expected) in cases {
            assert_eq!(foreground(sides), expected, "{sides:?}");
        }
    }

    #[test]
    fn a_repeated_portrait_is_a_ghost_and_another_person_is_not() {
        let face = |first: f32| {
            let mut values = [0; EMBEDDING_LEN];
            values[0] = (first * ONE) as i16;
            Embedding::new("0123456789ab", values).expect("valid")
        };
        let (portrait, ghost, stranger) = (face(0.0), face(1.3), face(1.7));
        let seen = |side: f32, embedding| FaceCandidate {
            side,
            embedding: Some(embedding),
        };
        let faces = [
            seen(200.0, &portrait),
            seen(90.0, &ghost),
            seen(90.0, &stranger),
            FaceCandidate {
                side: 90.0,
                embedding: None,
            },
        ];
        let ghosts: Vec<bool> = (0..5).map(|i| is_ghost(&faces, i)).collect();
        assert_eq!(ghosts, [false, true, false, false, false]);
    }
}
