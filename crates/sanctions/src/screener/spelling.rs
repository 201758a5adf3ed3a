//! Index keys for alternative spellings: words with one consonant missing, exchanged or replaced.

use crate::name::{Token, TokenRef};
use crate::text::Script;
use crate::word_forms::Signature;

/// A copy of a token with another text in an alphabet.
pub(super) fn respelled(like: &Token, text: &str, sound: String) -> Token {
    Token {
        text: text.into(),
        signature: Signature::of(&sound),
        sound: sound.into(),
        original: "".into(),
        ..like.clone()
    }
}

/// Whether a word is long enough that one of its consonants may differ.
pub(super) fn allows_one_difference(token: &TokenRef<'_>, skeleton: &str) -> bool {
    let long = token.text.len() >= 5 || (token.script == Script::Abjad && skeleton.len() >= 4);
    long && !skeleton.starts_with('=') && skeleton.len() >= 2
}

/// The skeleton without each of its consonants.
pub(super) fn without_one_consonant(skeleton: &str) -> impl Iterator<Item = String> {
    let alike = |i: usize| i > 0 && skeleton.as_bytes()[i] == skeleton.as_bytes()[i - 1];
    let places = (0..skeleton.len()).filter(move |i| !alike(*i));
    places.map(move |i| [&skeleton[..i], &skeleton[i + 1..]].concat())
}

/// The skeleton with each of its consonants replaced by `?`.
pub(super) fn with_wildcard(skeleton: &str) -> impl Iterator<Item = String> {
    (0..skeleton.len()).map(move |i| [&skeleton[..i], "?", &skeleton[i + 1..]].concat())
}

/// The skeleton with each pair of different neighbours exchanged.
pub(super) fn with_exchanged_neighbours(skeleton: &str) -> impl Iterator<Item = String> {
    let places = (1..skeleton.len()).filter(move |i| skeleton.as_bytes()[i - 1] != skeleton.as_bytes()[*i]);
    places.map(move |i| {
        let (a, b) = (&skeleton[i - 1..i], &skeleton[i..=i]);
        [&skeleton[..i - 1], b, a, &skeleton[i + 1..]].concat()
    })
}
