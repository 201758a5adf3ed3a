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

/// Places of classes of sounds.
const K: usize = 5;
const SIBILANT: usize = 6;
const M: usize = 9;
const N: usize = 10;
const L: usize = 11;
const R: usize = 12;
const H: usize = 14;
/// All bits of some classes: vowels, consonants, hard consonants, and the others.
const VOWELS: u128 = (1 << 40) - 1;
const CONSONANTS: u128 = !VOWELS;
const HARD: u128 = 0xff00_00ff_ffff_ffff_ffff_ff00_0000_0000;
const SOFT: u128 = !HARD;
/// The highest bit of each class.
const HIGHEST: u128 = u128::from_le_bytes([0x80; 16]);
/// A class occurs so often at most, which leaves its highest bit free.
const MOST: u8 = 0x7f;

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
            counts[place] = (counts[place] + 1).min(MOST);
        }
        Signature(counts)
    }

    /// What these signatures differ by, in tenths: two for each vowel, three for each consonant, but at least six for
    /// consonants. Words that differ by more than their budget are different words. It is a lower bound for the edit
    /// distance of two sounds unless a vowel and a consonant, such as `u` and `v`, replace each other.
    pub(crate) fn least_cost(&self, other: &Signature) -> u16 {
        // The greater of two counts exceeds the other, which exceeds nothing.
        let differs = self.more_than(other) | other.more_than(self);
        let consonants = 3 * sum(differs & CONSONANTS);
        2 * sum(differs & VOWELS) + if consonants > 0 { consonants.max(6) } else { 0 }
    }

    /// By how much each class is more frequent here, in the byte of its place.
    fn more_than(&self, other: &Signature) -> u128 {
        let (own, other) = (u128::from_le_bytes(self.0), u128::from_le_bytes(other.0));
        // No byte borrows from the next one.
        let difference = (own | HIGHEST).wrapping_sub(other);
        let is_more = difference & HIGHEST;
        difference & (is_more - (is_more >> 7))
    }

    /// A lower bound, in tenths, for [`crate::distance::edit_cost`] of two sounds without doubled letters. `with_j`: one
    /// of them has a `j`, which a vowel may replace for two.
    ///
    /// A class that one sound has more often counts on its side. Hard consonants are added or replaced for ten, but `m`
    /// by `n` and `l` by `r` for eight, and `k` by a sibilant or `h` for six. Of those that both sides have more often,
    /// one of each side may be replaced by the other, and a further one by a soft sound. Each further soft sound, a
    /// vowel, `f`, `v` or `h`, is replaced or added for at least four.
    pub(crate) fn least_edit_cost(&self, other: &Signature, with_j: bool) -> u16 {
        let (a, b) = (self.more_than(other), other.more_than(self));
        let (hard, soft) = ((sum(a & HARD), sum(b & HARD)), (sum(a & SOFT), sum(b & SOFT)));
        if with_j {
            return 2 * (hard.0 + soft.0).max(hard.1 + soft.1);
        }
        let pairs = |x: usize, y: usize| count(a, x).min(count(b, y)) + count(a, y).min(count(b, x));
        let cheaper = 2 * (pairs(M, N) + pairs(L, R)) + 4 * (pairs(K, SIBILANT) + pairs(K, H));
        let further = soft.0.max(soft.1).saturating_sub(hard.0.abs_diff(hard.1));
        (10 * hard.0.max(hard.1)).saturating_sub(cheaper) + 4 * further
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
        Signature(std::array::from_fn(|i| {
            self.0[i].saturating_add(other.0[i]).min(MOST)
        }))
    }
}

/// The sum of the bytes; a lower number if it is above 255 in one half.
fn sum(bytes: u128) -> u16 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let half = |half: u64| (half.wrapping_mul(ONES) >> 56) as u16;
    half(bytes as u64) + half((bytes >> 64) as u64)
}

/// The byte of a class.
fn count(bytes: u128, place: usize) -> u16 {
    (bytes >> (8 * place)) as u16 & 0xff
}

/// The forms of a word in an alphabet.
#[derive(Clone, Copy)]
pub(crate) struct Spelling<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) sound: &'a [u8],
    pub(crate) signature: Signature,
}

impl<'a> WordForms<'a> {
    /// The forms that count if both words are in an alphabet.
    pub(crate) fn spelling(&self) -> Spelling<'a> {
        Spelling {
            text: self.text.as_bytes(),
            sound: self.sound.as_bytes(),
            signature: self.signature,
        }
    }
}

/// A word with the forms that [`crate::distance::similarity`] needs.
pub(crate) struct WordForms<'a> {
    pub(crate) text: &'a str,
    pub(crate) sound: &'a str,
    pub(crate) script: Script,
    pub(crate) signature: Signature,
}
