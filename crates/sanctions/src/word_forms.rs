//! The forms of a word that are compared. It compares nothing.

use crate::text::Script;

/// How often each class of sounds occurs in a word. It rules out most pairs of words without an edit
/// distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signature([u8; 16]);

impl Signature {
    pub(crate) fn of(sound: &str) -> Signature {
        let mut counts = [0u8; 16];
        for b in sound.bytes() {
            let place = match b {
                b'a' => 0,
                b'e' => 1,
                b'i' | b'y' => 2,
                b'o' => 3,
                b'u' | b'w' => 4,
                b'k' | b'g' | b'q' | b'c' => 5,
                b's' | b'S' | b'j' | b'x' | b'z' => 6,
                b't' | b'd' => 7,
                b'p' | b'b' => 8,
                b'm' => 9,
                b'n' => 10,
                b'l' => 11,
                b'r' => 12,
                b'f' | b'v' => 13,
                b'h' => 14,
                _ => 15,
            };
            counts[place] = counts[place].saturating_add(1);
        }
        Signature(counts)
    }

    /// A lower bound, in tenths, for the edit distance of two words with these signatures. Changing the count
    /// of a vowel class costs at least two tenths. Changing consonant counts costs at least three tenths each
    /// and six in total.
    pub(crate) fn least_cost(&self, other: &Signature) -> u16 {
        let differs = |i: usize| u16::from(self.0[i].abs_diff(other.0[i]));
        let consonants = 3 * (5..16).map(differs).sum::<u16>();
        2 * (0..5).map(differs).sum::<u16>() + if consonants > 0 { consonants.max(6) } else { 0 }
    }

    /// The signature of two words joined together.
    pub(crate) fn plus(&self, other: &Signature) -> Signature {
        Signature(std::array::from_fn(|i| self.0[i].saturating_add(other.0[i])))
    }
}

/// A word with the forms that [`crate::distance::similarity`] needs.
pub(crate) struct WordForms<'a> {
    pub(crate) text: &'a str,
    pub(crate) sound: &'a str,
    pub(crate) script: Script,
    pub(crate) signature: Signature,
}
