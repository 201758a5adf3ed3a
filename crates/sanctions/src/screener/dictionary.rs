//! The distinct words of the listed names, with the names that contain each, and the search for the words that resemble
//! one. It knows no whole name and scores none.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::shape::{QueryShape, Shape};
use super::spelling::{
    allows_one_difference, with_exchanged_neighbours, with_wildcard, without_one_consonant,
};
use crate::name::{Token, TokenKind};
use crate::text::Script;
use crate::{compare, tables, text};

/// A distinct word of the listed names, with the names that contain it.
struct DictionaryWord {
    token: Token,
    names: Vec<u32>,
}

/// Collects the words of the listed names.
#[derive(Default)]
pub(super) struct DictionaryBuilder {
    words: Vec<DictionaryWord>,
    ids: FxHashMap<(Script, Box<str>, Box<str>), u32>,
}

/// The words of the listed names. Words with the same skeleton have consecutive numbers.
#[derive(Default)]
pub(super) struct Dictionary {
    words: Vec<DictionaryWord>,
    /// The shape of each word. A search reads many shapes and few words.
    shapes: Vec<Shape>,
    by_text: FxHashMap<Box<str>, Vec<u32>>,
    /// The words of each skeleton.
    skeletons: Vec<Range<u32>>,
    by_skeleton: FxHashMap<Box<str>, u32>,
    /// Skeletons of longer words, by the skeleton without one of its consonants, and with `?` in place of one.
    by_pattern: FxHashMap<Box<str>, Vec<u32>>,
}

impl DictionaryBuilder {
    /// Adds a word of a name, and returns its number for [`DictionaryBuilder::build`].
    pub(super) fn add(&mut self, token: &Token, name: u32) -> u32 {
        let key = (token.script, token.text.clone(), token.original.clone());
        let word = *self.ids.entry(key).or_insert_with(|| {
            self.words.push(DictionaryWord {
                token: token.clone(),
                names: Vec::new(),
            });
            self.words.len() as u32 - 1
        });
        let names = &mut self.words[word as usize].names;
        if names.last() != Some(&name) {
            names.push(name);
        }
        word
    }

    /// The dictionary, and the number in it of each added word.
    pub(super) fn build(self) -> (Dictionary, Vec<u32>) {
        let mut order: Vec<(String, u32, DictionaryWord)> = (0..)
            .zip(self.words)
            .map(|(added, word)| (text::skeleton(&word.token.sound), added, word))
            .collect();
        order.sort_by(|a, b| (&a.0, &a.2.token.text, a.1).cmp(&(&b.0, &b.2.token.text, b.1)));
        let mut numbers = vec![0; order.len()];
        let mut dictionary = Dictionary::default();
        for (skeleton, added, mut word) in order {
            let id = dictionary.words.len() as u32;
            numbers[added as usize] = id;
            word.names.shrink_to_fit();
            dictionary.push(id, &skeleton, word);
        }
        (dictionary, numbers)
    }
}

impl Dictionary {
    fn push(&mut self, id: u32, skeleton: &str, word: DictionaryWord) {
        self.by_text.entry(word.token.text.clone()).or_default().push(id);
        let next = self.skeletons.len() as u32;
        let number = *self.by_skeleton.entry(skeleton.into()).or_insert(next);
        match self.skeletons.last_mut().filter(|_| number != next) {
            Some(words) => words.end = id + 1,
            None => self.skeletons.push(id..id + 1),
        }
        let has_patterns = allows_one_difference(&word.token, skeleton);
        if has_patterns {
            for key in without_one_consonant(skeleton).chain(with_wildcard(skeleton)) {
                let of_pattern = self.by_pattern.entry(key.into()).or_default();
                if of_pattern.last() != Some(&number) {
                    of_pattern.push(number);
                }
            }
        }
        self.shapes.push(Shape::of(&word.token, has_patterns));
        self.words.push(word);
    }

    /// The word of this number.
    pub(super) fn token(&self, word: u32) -> &Token {
        &self.words[word as usize].token
    }

    /// The names that contain a word.
    pub(super) fn names(&self, word: u32) -> &[u32] {
        &self.words[word as usize].names
    }

    /// Whether a listed name contains a word of this text.
    pub(super) fn knows(&self, text: &str) -> bool {
        self.by_text.contains_key(text)
    }

    /// The words of this text, in every script.
    pub(super) fn with_text(&self, text: &str) -> &[u32] {
        self.by_text.get(text).map_or(&[], Vec::as_slice)
    }

    /// The words with any similarity to this one, in order. `known` remembers similarities for the caller.
    pub(super) fn similar_words(
        &self,
        token: &Token,
        person: bool,
        known: Option<&mut FxHashMap<u32, f32>>,
    ) -> Vec<u32> {
        let mut unused = FxHashMap::default();
        let known = known.unwrap_or(&mut unused);
        let mut found: Vec<u32> = self.with_text(&token.text).to_vec();
        if token.kind == TokenKind::Word {
            let query = QueryShape::of(token);
            for (skeleton, by_pattern) in self.near_skeletons(token) {
                let words = self.skeletons[skeleton as usize].clone();
                let shapes = &self.shapes[words.start as usize..words.end as usize];
                for (word, shape) in words.zip(shapes) {
                    if (by_pattern && !shape.has_patterns()) || !query.may_resemble(shape) {
                        continue;
                    }
                    let similarity = compare::token_similarity(token, self.token(word), person);
                    if similarity > 0.0 {
                        known.insert(word, similarity);
                        found.push(word);
                    }
                }
            }
            if person {
                let variants = tables::given_name_variants(&token.text);
                found.extend(variants.iter().flat_map(|v| self.with_text(v)));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The skeletons of words that may resemble one, each once, and whether only words that allow one difference are
    /// meant.
    fn near_skeletons(&self, token: &Token) -> Vec<(u32, bool)> {
        let skeleton = text::skeleton(&token.sound);
        let mut near: Vec<(u32, bool)> = Vec::new();
        let exact = |key: &str| self.by_skeleton.get(key).map(|number| (*number, false));
        near.extend(exact(&skeleton));
        if allows_one_difference(token, &skeleton) {
            let pattern = |key: &str| {
                let skeletons = self.by_pattern.get(key).into_iter().flatten();
                skeletons.map(|number| (*number, true))
            };
            // Keys for a consonant that only the query has, for two exchanged consonants, for a consonant that only
            // the listed word has, and for a replaced consonant.
            let keys = without_one_consonant(&skeleton).chain(with_exchanged_neighbours(&skeleton));
            near.extend(keys.filter_map(|key| exact(&key)));
            near.extend(pattern(&skeleton));
            near.extend(with_wildcard(&skeleton).flat_map(|key| pattern(&key).collect::<Vec<_>>()));
        }
        near.sort_unstable();
        near.dedup_by_key(|(skeleton, _)| *skeleton);
        near
    }
}
