//! What a search knows of a listed name before it reads the name. It compares no letters but the first ones.

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::name::{Name, Token, TokenKind};

/// The bits of a name's outline: 26 for the letters with which its tokens begin, four for the number of its whole words,
/// one each for whether the outline describes the name and whether it has other tokens than whole words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub(super) struct Outline(U32);

/// The first of the bits for the number of words, and the highest number.
const WORDS: u32 = 26;
const MOST_WORDS: usize = 15;
const DESCRIBES: u32 = 1 << 30;
const HAS_SMALL_PARTS: u32 = 1 << 31;

impl Outline {
    pub(super) fn of(name: &Name) -> Outline {
        let words = name.tokens.iter().filter(|token| is_whole_word(token)).count();
        let letters = name
            .tokens
            .iter()
            .try_fold(0, |letters, token| Some(letters | letter(&token.text)?));
        match letters {
            Some(letters) if describes(name) => {
                let small_parts = if words < name.tokens.len() {
                    HAS_SMALL_PARTS
                } else {
                    0
                };
                let words = (words.min(MOST_WORDS) as u32) << WORDS;
                Outline((letters | words | DESCRIBES | small_parts).into())
            }
            _ => Outline(0.into()),
        }
    }

    /// Whether the outline tells anything; see [`describes`].
    pub(super) fn is_known(self) -> bool {
        self.0.get() & DESCRIBES != 0
    }

    /// The number of whole words, or at least 15; see [`is_whole_word`].
    pub(super) fn words(self) -> u32 {
        self.0.get() >> WORDS & MOST_WORDS as u32
    }

    /// Whether the name has other tokens than whole words.
    pub(super) fn has_small_parts(self) -> bool {
        self.0.get() & HAS_SMALL_PARTS != 0
    }

    /// The letters with which tokens begin; see [`letter`].
    pub(super) fn letters(self) -> u32 {
        self.0.get() & ((1 << WORDS) - 1)
    }
}

/// Whether a token counts fully if nothing matches it: no initial, no particle, no "Abdul".
fn is_whole_word(token: &Token) -> bool {
    token.kind == TokenKind::Word && token.weight >= 1.0 && token.surplus >= 1.0
}

/// Whether an outline describes a name well enough to rule it out: people's names of several tokens, none of which is
/// compared by its Chinese or Korean characters.
pub(super) fn describes(name: &Name) -> bool {
    name.person && name.tokens.len() > 1 && name.tokens.iter().all(|token| token.original.is_empty())
}

/// The bits of the letters with which other spellings of a word may begin; see [`letter`].
pub(super) fn letters_alike(text: &str) -> u32 {
    const CLASSES: [&str; 8] = ["aeiouyjh", "ckgqh", "sxzjct", "fvwu", "bp", "dt", "lr", "mn"];
    let bits = |class: &str| class.bytes().fold(0, |bits, letter| bits | 1 << (letter - b'a'));
    let own = text.bytes().next().filter(u8::is_ascii_lowercase);
    // A digit may be written in words.
    let Some(own) = own else { return u32::MAX };
    let classes = CLASSES.iter().filter(|class| class.as_bytes().contains(&own));
    classes.fold(1 << (own - b'a'), |all, class| all | bits(class))
}

/// The bit of a word's first letter; `None` if it begins with none of a to z.
pub(super) fn letter(text: &str) -> Option<u32> {
    let first = text.bytes().next().filter(u8::is_ascii_lowercase)?;
    Some(1 << (first - b'a'))
}
