//! What a search of many names remembers of their words. It changes no result.

use rustc_hash::FxHashMap;

use crate::name::{NamePart, Token, TokenKind};
use crate::text::Script;

/// The most similar and compared words that are remembered, about 160 MB. Further words are looked up each time.
const MOST: usize = 20_000_000;

/// The similar words of the index for words that were looked up. It belongs to one [`Screener`](super::Screener).
#[derive(Default)]
pub struct WordMemory {
    known: FxHashMap<Key, Known>,
    /// How many similar and compared words `known` has.
    len: usize,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    text: Box<str>,
    sound: Box<str>,
    original: Box<str>,
    script: Script,
    role: NamePart,
    is_word: bool,
    is_person: bool,
}

struct Known {
    /// The similar words.
    found: Box<[u32]>,
    /// Words that were compared, with their similarity.
    compared: Box<[(u32, f32)]>,
}

impl WordMemory {
    /// The similar words of a token; `look_up` finds them the first time, and adds the similarities to `compared`.
    pub(super) fn similar_words(
        &mut self,
        token: &Token,
        is_person: bool,
        compared: &mut FxHashMap<u32, f32>,
        look_up: impl FnOnce(&mut FxHashMap<u32, f32>) -> Vec<u32>,
    ) -> Vec<u32> {
        let key = Key {
            text: (&*token.text).into(),
            sound: (&*token.sound).into(),
            original: (&*token.original).into(),
            script: token.script,
            role: token.role,
            is_word: token.kind == TokenKind::Word,
            is_person,
        };
        if let Some(known) = self.known.get(&key) {
            compared.extend(known.compared.iter().copied());
            return known.found.to_vec();
        }
        let found = look_up(compared);
        // Each word costs something, even if nothing resembles it.
        let len = found.len() + compared.len() + 20;
        if self.len + len <= MOST {
            self.len += len;
            let known = Known {
                found: found.as_slice().into(),
                compared: compared
                    .iter()
                    .map(|(word, similarity)| (*word, *similarity))
                    .collect(),
            };
            self.known.insert(key, known);
        }
        found
    }
}
