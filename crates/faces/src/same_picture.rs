//! Whether two pictures with a face are one picture: a file that was resized, encoded again or slightly cropped.
//! [`is_copy`](crate::is_copy) answers another question: whether a face was copied from any picture.

/// Two pictures are one if their perceptual hashes differ in at most so many of 256 bits, and the textures of their
/// faces correlate at least as much as the number beside it.
const SAME: [(u32, f32); 2] = [(12, 0.80), (72, 0.90)];

/// Whether two pictures are one. `distance` is that of their perceptual hashes, and `texture` the correlation of their
/// main faces ([`Texture::correlation`](crate::Texture::correlation)).
///
/// Neither measure suffices alone. Pictures of one person in one place can have similar hashes, and two photographs of
/// one face can have similar textures.
///
/// # Measurement
///
/// November 2026, `cargo run -p faces --example reuse_table`. The limits were chosen on 102 photographs. Of
/// their 351 pairs of one person, none is nearer than 79 bits or has a texture above 0.885; four pairs that are one
/// photograph twice are left out. `docs/measurements-engines.md` has the figures of 91 other photographs.
///
/// ORL's grey pictures of 23 × 28 pixels show the limit: 11 of 360 pairs of one person in one place are called the same
/// picture. Such small faces are no usable faces, so the server never compares them. No burst of one camera was measured.
pub fn is_same_picture(distance: u32, texture: f32) -> bool {
    SAME.iter()
        .any(|&(within, alike)| distance <= within && texture >= alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_farther_the_hashes_the_more_alike_the_faces_must_be() {
        for (distance, texture, expected) in [
            (0, 1.0, true),
            (12, 0.80, true),
            (12, 0.79, false),
            (13, 0.89, false),
            (13, 0.90, true),
            (72, 0.90, true),
            (73, 1.0, false),
            (0, f32::NAN, false),
        ] {
            assert_eq!(
                is_same_picture(distance, texture),
                expected,
                "{distance} {texture}"
            );
        }
    }
}
