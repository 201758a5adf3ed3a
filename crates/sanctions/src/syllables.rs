//! Compares Chinese and Korean words with romanised ones. A different letter in a syllable makes a different word there,
//! so only the customary romanisations of one reading are similar.
//!
//! This module compares no two words of one script; see [`crate::distance`].

use crate::text::Script;
use crate::word_forms::WordForms;

/// Similarity of a word and another romanisation of its reading.
const SAME_READING: f32 = 0.92;

/// The letters of a romanisation with the sound that each stands for, the longer ones first.
type Rules = [(&'static str, u8)];

/// Similarity of two words, of which at least one is Chinese or Korean.
pub(crate) fn similarity(a: &WordForms<'_>, b: &WordForms<'_>) -> f32 {
    if a.script == Script::Abjad || b.script == Script::Abjad {
        return 0.0;
    }
    if a.text == b.text {
        return 1.0;
    }
    let is = |script| a.script == script || b.script == script;
    let equal = if is(Script::Hangul) {
        let long = a.text.len().min(b.text.len()) >= 6 && !is(Script::Han);
        once_each(sounds(a.text, KOREAN)).eq(once_each(sounds(b.text, KOREAN)))
            || long && korean_consonants(a.text).eq(korean_consonants(b.text))
    } else {
        chinese(a.text).eq(chinese(b.text))
    };
    if equal { SAME_READING } else { 0.0 }
}

/// Whether [`similarity`] of a Chinese or Korean text and another one, which is not both, may be above 0.
pub(crate) fn may_be_similar(text: &str, script: Script, other: &str) -> bool {
    match script {
        Script::Hangul => korean_consonants(text).eq(korean_consonants(other)),
        _ => chinese(text).eq(chinese(other)),
    }
}

/// What all customary romanisations of one Chinese reading share.
pub(crate) fn chinese(text: &str) -> impl Iterator<Item = u8> {
    sounds(text, CHINESE)
}

/// What all customary romanisations of one Korean reading share, without the vowel that Hangul writes after each
/// consonant of a foreign name. Words that sound the same have the same.
pub(crate) fn korean_consonants(text: &str) -> impl Iterator<Item = u8> {
    once_each(sounds(text, KOREAN).filter(|sound| *sound != b'o'))
}

/// What all customary romanisations of one reading share.
fn sounds<'a>(text: &'a str, rules: &'a Rules) -> impl Iterator<Item = u8> + 'a {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.bytes().next()?;
        let (len, sound) = rules
            .iter()
            .find(|(from, _)| from.as_bytes()[0] == first && rest.starts_with(from))
            .map_or((1, first), |(from, to)| (from.len(), *to));
        rest = &rest[len..];
        Some(sound)
    })
}

/// The sounds without repetitions of the previous one.
fn once_each(sounds: impl Iterator<Item = u8>) -> impl Iterator<Item = u8> {
    let mut last = 0;
    sounds.filter(move |sound| std::mem::replace(&mut last, *sound) != *sound)
}

/// Revised Romanisation, McCune-Reischauer without its marks, and the spellings of passports.
const KOREAN: &Rules = &[
    ("yeo", b'Y'),
    ("you", b'Y'),
    ("yo", b'Y'),
    ("yu", b'Y'),
    ("eo", b'o'),
    ("eu", b'o'),
    ("oo", b'o'),
    ("ou", b'o'),
    ("u", b'o'),
    ("ae", b'e'),
    ("ai", b'e'),
    ("ay", b'e'),
    ("ee", b'i'),
    ("yi", b'i'),
    ("ch", b'j'),
    ("sh", b's'),
    ("kk", b'k'),
    ("g", b'k'),
    ("b", b'p'),
    ("v", b'p'),
    ("f", b'p'),
    ("d", b't'),
    ("l", b'r'),
    ("w", b'o'),
];

/// Pinyin and Wade-Giles without its apostrophes.
const CHINESE: &Rules = &[
    ("zh", b'C'),
    ("ch", b'C'),
    ("j", b'C'),
    ("q", b'C'),
    ("hs", b'S'),
    ("sh", b'S'),
    ("x", b'S'),
    ("ts", b'Z'),
    ("tz", b'Z'),
    ("z", b'Z'),
    ("c", b'Z'),
    ("ung", b'U'),
    ("ong", b'U'),
    ("ien", b'E'),
    ("ian", b'E'),
    ("ieh", b'I'),
    ("ie", b'I'),
    ("ueh", b'V'),
    ("ue", b'V'),
    ("eh", b'e'),
    ("ih", b'i'),
    ("uo", b'o'),
    ("r", b'R'),
    ("g", b'k'),
    ("b", b'p'),
    ("d", b't'),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_forms::Signature;

    fn alike(script: Script, a: &str, b: &str) -> f32 {
        let word = |text, script| WordForms {
            text,
            sound: text,
            script,
            signature: Signature::default(),
        };
        similarity(&word(a, script), &word(b, Script::Alphabetic))
    }

    #[test]
    fn one_reading_has_several_romanisations() {
        for (script, a, b) in [
            (Script::Han, "zhang", "chang"),
            (Script::Han, "xian", "hsien"),
            (Script::Han, "guodong", "kuotung"),
            (Script::Hangul, "yongsu", "youngsoo"),
            (Script::Hangul, "chol", "cheol"),
            (Script::Hangul, "jongsu", "chongsu"),
            (Script::Hangul, "alpeuledeu", "alfred"),
        ] {
            assert!(alike(script, a, b) > 0.9, "{a} {b}");
        }
    }

    #[test]
    fn another_syllable_is_another_word() {
        for (script, a, b) in [
            (Script::Han, "zhiqiang", "zhiqing"),
            (Script::Han, "jia", "jie"),
            (Script::Han, "xiuyun", "xiaojun"),
            (Script::Hangul, "songjin", "dongjin"),
            (Script::Hangul, "mijong", "myong"),
            (Script::Hangul, "jongsu", "yongsu"),
        ] {
            assert_eq!(alike(script, a, b), 0.0, "{a} {b}");
        }
    }
}
