//! Index keys for alternative spellings: words with one consonant missing, exchanged or replaced, and words of another
//! script that are read alike.

use smallvec::{SmallVec, smallvec};

use crate::name::{Token, TokenRef};
use crate::syllables;
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
    skeleton.len() >= 2 && allows_one_more(token, skeleton)
}

/// Whether a word is long enough that another may have one consonant more.
pub(super) fn allows_one_more(token: &TokenRef<'_>, skeleton: &str) -> bool {
    let long = token.text.len() >= 5 || (token.script == Script::Abjad && skeleton.len() >= 4);
    long && !skeleton.starts_with(WITHOUT_CONSONANTS)
}

/// How the skeleton of a word without consonants begins. Alone, it is the key of all such words.
pub(super) const WITHOUT_CONSONANTS: &str = "=";

/// The keys of a listed word by its readings: Chinese and Korean words, and what may be their romanisations. Two such
/// words are similar only if they share a key; see [`syllables::similarity`].
pub(super) fn keys_of_readings(script: Script, text: &str) -> SmallVec<[String; 2]> {
    match script {
        Script::Abjad => SmallVec::new(),
        Script::Han => smallvec![chinese(text), romanised_korean(text)],
        Script::Hangul => smallvec![korean(text)],
        Script::Alphabetic => smallvec![romanised_chinese(text), romanised_korean(text)],
    }
}

/// The keys by which a word finds listed words of the same reading in another script.
pub(super) fn keys_of_same_reading(script: Script, text: &str) -> SmallVec<[String; 2]> {
    match script {
        Script::Abjad => SmallVec::new(),
        Script::Han => smallvec![romanised_chinese(text), korean(text)],
        Script::Hangul => smallvec![romanised_korean(text)],
        Script::Alphabetic => smallvec![chinese(text), korean(text)],
    }
}

fn chinese(text: &str) -> String {
    key('(', syllables::chinese(text))
}

fn romanised_chinese(text: &str) -> String {
    key('<', syllables::chinese(text))
}

fn korean(text: &str) -> String {
    key(')', syllables::korean_consonants(text))
}

fn romanised_korean(text: &str) -> String {
    key('>', syllables::korean_consonants(text))
}

/// No skeleton begins with such a sign.
fn key(sign: char, sounds: impl Iterator<Item = u8>) -> String {
    std::iter::once(sign).chain(sounds.map(char::from)).collect()
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
