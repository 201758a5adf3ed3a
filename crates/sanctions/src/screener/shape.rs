//! What rules out most pairs of words before they are compared. It compares no letters and gives no similarity.

use std::cell::OnceCell;

use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::records;
use crate::name::{TokenKind, TokenRef};
use crate::text::{self, Script};
use crate::word_forms::{Signature, Spelling};
use crate::{distance, syllables};

/// The letters of a text or a sound that a shape holds.
const LETTERS: usize = 16;

/// What is known of a word before all its letters are compared. A search reads hundreds of shapes for each similar word,
/// so a shape is small, has the form that it has in an index, and fills a line of the processor's cache.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Shape {
    signature: Signature,
    /// The first letters of the text and of the sound.
    text: [u8; LETTERS],
    sound: [u8; LETTERS],
    /// A hash of what all romanisations of a Chinese or Korean word share; 0 in other scripts.
    reading: U32,
    script: u8,
    is_word: u8,
    has_patterns: u8,
    /// Bytes of the text and of the sound.
    len: u8,
    sound_len: u8,
    /// Consonants of the sound.
    consonants: u8,
    /// The first sound as a romanisation of Chinese and of Korean; 0 without one.
    first_chinese: u8,
    first_korean: u8,
    /// The sound has a `j`, which may be an `i` in another word.
    has_j: u8,
    /// The sound has a doubled letter, as only joined words do.
    has_double: u8,
    unused: [u8; 2],
}

impl Shape {
    /// `has_patterns`: other words that differ in one consonant find it.
    pub(super) fn of(token: &TokenRef<'_>, has_patterns: bool) -> Shape {
        let reading = match token.script {
            Script::Han => hash(syllables::chinese(token.text)),
            Script::Hangul => hash(syllables::korean_consonants(token.text)),
            _ => 0,
        };
        let sound = token.sound.as_bytes();
        Shape {
            signature: token.signature,
            text: first_letters(token.text),
            sound: first_letters(token.sound),
            reading: reading.into(),
            script: token.script as u8,
            is_word: u8::from(token.kind == TokenKind::Word),
            has_patterns: u8::from(has_patterns),
            len: clamped(token.text.len()),
            sound_len: clamped(sound.len()),
            first_chinese: syllables::chinese(token.text).next().unwrap_or(0),
            first_korean: syllables::korean_consonants(token.text).next().unwrap_or(0),
            consonants: clamped(text::skeleton(token.sound).len()),
            has_j: u8::from(sound.contains(&b'j')),
            has_double: u8::from(sound.windows(2).any(|pair| pair[0] == pair[1])),
            unused: [0; 2],
        }
    }

    /// Whether a word that differs in one consonant finds it.
    pub(super) fn has_patterns(&self) -> bool {
        self.has_patterns != 0
    }

    /// The signature of the sound.
    pub(super) fn signature(&self) -> Signature {
        self.signature
    }

    /// The bytes of the text; `None` if they are too many to be counted.
    pub(super) fn len(&self) -> Option<usize> {
        (self.len < u8::MAX).then_some(usize::from(self.len))
    }

    /// Whether the word's text may be this one.
    pub(super) fn may_be_text(&self, text: &str) -> bool {
        self.len == clamped(text.len()) && self.text == first_letters(text)
    }

    /// Whether the word's text may begin with a letter.
    pub(super) fn may_begin_with(&self, letter: Option<u8>) -> bool {
        self.text.first().copied() == letter
    }

    /// Whether the word's text may begin like another, as far as the shorter one goes.
    pub(super) fn may_begin_like(&self, text: &str) -> bool {
        let len = usize::from(self.len).min(text.len()).min(LETTERS);
        self.text[..len] == text.as_bytes()[..len]
    }

    /// Whether the text may differ from another one in one letter; see [`distance::differs_in_one_letter`].
    pub(super) fn may_differ_in_one_letter(&self, text: &str) -> bool {
        let own = self.text();
        usize::from(self.len).abs_diff(text.len()) <= 1
            && own.is_none_or(|own| distance::differs_in_one_letter(own, text.as_bytes()))
    }

    /// Whether the text may have a `j`.
    pub(super) fn may_have_j(&self) -> bool {
        self.text.contains(&b'j') || usize::from(self.len) > LETTERS
    }

    /// The text, if the shape holds all its letters.
    pub(super) fn text(&self) -> Option<&[u8]> {
        self.text.get(..usize::from(self.len))
    }

    pub(super) fn script(&self) -> Script {
        records::script(self.script).unwrap_or(Script::Alphabetic)
    }

    /// The forms of a word in an alphabet, if the shape holds all their letters.
    fn spelling(&self) -> Option<Spelling<'_>> {
        Some(Spelling {
            text: self.text()?,
            sound: self.sound()?,
            signature: self.signature,
        })
    }

    /// The sound, if the shape holds all its letters.
    fn sound(&self) -> Option<&[u8]> {
        self.sound.get(..usize::from(self.sound_len))
    }

    /// Whether the sound is compared only in part, so that its signature proves nothing.
    fn is_cut(&self) -> bool {
        usize::from(self.sound_len) > distance::MAX_LEN
    }

    /// Whether this word, written without short vowels, may be the other.
    fn may_be_read_as(&self, spoken: &Shape) -> bool {
        let limit = distance::abjad_limit(usize::from(self.consonants.min(spoken.consonants)));
        let is_cut = self.is_cut() || spoken.is_cut();
        (is_cut || self.signature.least_pronunciation_cost(&spoken.signature) <= limit)
            && match (self.sound(), spoken.sound()) {
                (Some(written), Some(spoken)) => distance::pronunciation_cost(written, spoken) <= limit,
                _ => true,
            }
    }

    /// Whether two texts may differ in one place only, by at most three letters; see [`crate::distance::similarity`].
    fn may_be_one_slip(&self, other: &Shape) -> bool {
        let (a, b) = (usize::from(self.len), usize::from(other.len));
        let longer = a.max(b);
        if a.abs_diff(b) > 3 {
            return false;
        }
        if longer > LETTERS || a.min(b) == 0 {
            return true;
        }
        let (x, y) = (u128::from_le_bytes(self.text), u128::from_le_bytes(other.text));
        let same_start = ((x ^ y).trailing_zeros() / 8) as usize;
        // The last letters of both at the same place.
        let (x, y) = (x << (8 * (LETTERS - a)), y << (8 * (LETTERS - b)));
        let same_end = ((x ^ y).leading_zeros() / 8) as usize;
        longer <= same_start + same_end + 3
    }

    /// Whether the cost of turning one sound into the other may be within a limit, in tenths.
    fn may_sound_alike(&self, other: &Shape, limit: u16) -> bool {
        let is_unbounded = |shape: &Shape| shape.has_double != 0 || shape.is_cut();
        is_unbounded(self)
            || is_unbounded(other)
            || self
                .signature
                .least_edit_cost(&other.signature, self.has_j != 0 || other.has_j != 0)
                <= limit
    }
}

/// The shape of a word that is looked up.
pub(super) struct QueryShape<'a> {
    own: Shape,
    text: &'a str,
    /// The word read as a romanisation of Chinese and of Korean, once that was asked for.
    chinese: OnceCell<u32>,
    korean: OnceCell<u32>,
}

impl<'a> QueryShape<'a> {
    pub(super) fn of(token: &TokenRef<'a>) -> QueryShape<'a> {
        QueryShape {
            own: Shape::of(token, false),
            text: token.text,
            chinese: OnceCell::new(),
            korean: OnceCell::new(),
        }
    }

    fn chinese(&self) -> u32 {
        *self.chinese.get_or_init(|| hash(syllables::chinese(self.text)))
    }

    fn korean(&self) -> u32 {
        *self
            .korean
            .get_or_init(|| hash(syllables::korean_consonants(self.text)))
    }

    /// Whether [`crate::compare::token_similarity`] of a listed word of this shape may be above 0. It may return
    /// `false` for equal words and for variants of a given name, which are found by their text.
    pub(super) fn may_resemble(&self, listed: &Shape) -> bool {
        let own = &self.own;
        if listed.is_word == 0 {
            return false;
        }
        match (own.script(), listed.script()) {
            (Script::Abjad, Script::Abjad) => true,
            (Script::Abjad, _) => own.may_be_read_as(listed),
            (_, Script::Abjad) => listed.may_be_read_as(own),
            // Two Chinese or two Korean words are compared by character.
            (Script::Han, Script::Han) | (Script::Hangul, Script::Hangul) => true,
            (Script::Han, Script::Hangul) => self.korean() == listed.reading.get(),
            (Script::Hangul, _) => own.first_korean == listed.first_korean,
            (Script::Han, _) => own.first_chinese == listed.first_chinese,
            (_, Script::Han) => self.chinese() == listed.reading.get(),
            (_, Script::Hangul) => self.korean() == listed.reading.get(),
            _ => self.may_be_spelling_of(listed),
        }
    }

    fn may_be_spelling_of(&self, listed: &Shape) -> bool {
        let own = &self.own;
        let limit = distance::budget(usize::from(own.len.min(listed.len)));
        own.signature.least_cost(&listed.signature) <= limit
            && (own.may_sound_alike(listed, limit.saturating_sub(2)) || own.may_be_one_slip(listed))
            && match (own.spelling(), listed.spelling()) {
                (Some(own), Some(listed)) => {
                    own.text == listed.text || distance::may_be_one_word(&own, &listed)
                }
                _ => true,
            }
    }
}

fn first_letters(text: &str) -> [u8; LETTERS] {
    let mut letters = [0; LETTERS];
    for (place, letter) in letters.iter_mut().zip(text.bytes()) {
        *place = letter;
    }
    letters
}

/// Longer words than 255 bytes count as that long: every budget is the same from 13 letters on.
fn clamped(len: usize) -> u8 {
    u8::try_from(len).unwrap_or(u8::MAX)
}

fn hash(sounds: impl Iterator<Item = u8>) -> u32 {
    let sounds: SmallVec<[u8; 32]> = sounds.collect();
    xxh3_64(&sounds) as u32
}
