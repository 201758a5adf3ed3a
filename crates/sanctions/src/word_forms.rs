//! The forms of a word that are compared. It compares nothing.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::text::Script;

/// How often each class of sounds occurs in a word. It rules out most pairs of words without an edit
/// distance.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
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

    /// A lower bound, in tenths, for [`crate::distance::edit_cost`] of two sounds without doubled letters. `with_j`: one
    /// of them has a `j`.
    ///
    /// A class that one sound has more often counts on its side. Each letter by which the longer sound exceeds the other
    /// is added, which costs at least six. Each further difference on the side with fewer is replaced: a vowel by
    /// another for at least four, a consonant by another or by a vowel for at least five, but `i` and `j` for two.
    pub(crate) fn least_edit_cost(&self, other: &Signature, with_j: bool) -> u16 {
        let more = |a: &Signature, b: &Signature| -> (u16, u16) {
            let differences: [u8; 16] = std::array::from_fn(|i| a.0[i].saturating_sub(b.0[i]));
            let sum = |of: &[u8]| of.iter().map(|n| u16::from(*n)).sum();
            (sum(&differences[..5]), sum(&differences[5..]))
        };
        let (a, b) = (more(self, other), more(other, self));
        let (added, (vowels, consonants)) = match (a.0 + a.1, b.0 + b.1) {
            (x, y) if x < y => (y - x, a),
            (x, y) => (x - y, b),
        };
        6 * added
            + if with_j {
                2 * (vowels + consonants)
            } else {
                4 * vowels + 5 * consonants
            }
    }

    /// A lower bound, in tenths, for the cost of reading a word written without short vowels as another word. Only a
    /// change between two of these groups of consonants, or one that is added, changes their counts. It costs at
    /// least ten tenths, or six between the first group and the other sounds, and may change two groups.
    pub(crate) fn least_pronunciation_cost(&self, other: &Signature) -> u16 {
        const KG: (usize, usize) = (5, 5);
        const TD: (usize, usize) = (7, 7);
        const MN: (usize, usize) = (9, 10);
        const LR: (usize, usize) = (11, 12);
        let count = |signature: &Signature, (first, last): (usize, usize)| -> u16 {
            signature.0[first..=last].iter().map(|n| u16::from(*n)).sum()
        };
        let differs = |group| count(self, group).abs_diff(count(other, group));
        let others = differs(TD).max(differs(MN)).max(differs(LR));
        (6 * differs(KG)).max(10 * others)
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
