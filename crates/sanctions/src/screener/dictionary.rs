//! The distinct words of the listed names, with the names that contain each, and the search for the words that resemble
//! one. It knows no whole name and scores none.

use std::ops::Range;
use std::sync::OnceLock;

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
    /// The similar words with their similarities, once the word was looked up: in a name of another kind, and in a
    /// person's name. Only listed words are remembered, so nothing of a query stays in memory.
    similar: [OnceLock<Similar>; 2],
}

/// Words with their similarity to one word, in order of the words.
type Similar = Box<[(u32, f32)]>;

/// What the similarity of a word depends on: its kind, script, text and original text, and whether it is a common part
/// of people's names.
type Key = (TokenKind, Script, Box<str>, Box<str>, bool);

/// Collects the words of the listed names.
#[derive(Default)]
pub(super) struct DictionaryBuilder {
    words: Vec<DictionaryWord>,
    ids: FxHashMap<Key, u32>,
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
        let (text, original) = (token.text.clone(), token.original.clone());
        let key = (token.kind, token.script, text, original, token.common);
        let word = *self.ids.entry(key).or_insert_with(|| {
            self.words.push(DictionaryWord {
                token: token.clone(),
                names: Vec::new(),
                similar: Default::default(),
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

    /// The words with any similarity to this one, in order. `known` receives similarities.
    pub(super) fn similar_words(
        &self,
        token: &Token,
        person: bool,
        known: Option<&mut FxHashMap<u32, f32>>,
    ) -> Vec<u32> {
        let is_same = |word: &&u32| {
            let listed = self.token(**word);
            listed.kind == token.kind
                && listed.script == token.script
                && listed.sound == token.sound
                && listed.original == token.original
                && listed.common == token.common
        };
        let searched;
        let similar = match self.with_text(&token.text).iter().find(is_same) {
            Some(word) => {
                let remembered = &self.words[*word as usize].similar[usize::from(person)];
                remembered.get_or_init(|| self.search(token, person))
            }
            None => {
                searched = self.search(token, person);
                &searched
            }
        };
        if let Some(known) = known {
            known.extend(similar.iter().copied());
        }
        similar.iter().map(|(word, _)| *word).collect()
    }

    fn search(&self, token: &Token, person: bool) -> Similar {
        let mut found: Vec<u32> = self.with_text(&token.text).to_vec();
        if token.kind == TokenKind::Word {
            let query = QueryShape::of(token);
            for (skeleton, by_pattern) in self.near_skeletons(token) {
                let words = self.skeletons[skeleton as usize].clone();
                let shapes = &self.shapes[words.start as usize..words.end as usize];
                let near = words
                    .zip(shapes)
                    .filter(|(_, shape)| (!by_pattern || shape.has_patterns()) && query.may_resemble(shape));
                found.extend(near.map(|(word, _)| word));
            }
        }
        let variants = match token.kind {
            TokenKind::Word if person => tables::given_name_variants(&token.text),
            _ => Vec::new(),
        };
        let mut found: Vec<(u32, f32)> = found
            .into_iter()
            .map(|word| (word, self.similarity(token, word, person)))
            .collect();
        let is_text = |word: u32| self.token(word).text == token.text;
        found.retain(|(word, similarity)| *similarity > 0.0 || is_text(*word));
        let of_variants = variants.iter().flat_map(|text| self.with_text(text));
        found.extend(of_variants.map(|word| (*word, self.similarity(token, *word, person))));
        found.sort_unstable_by_key(|(word, _)| *word);
        found.dedup_by_key(|(word, _)| *word);
        found.into()
    }

    fn similarity(&self, token: &Token, word: u32, person: bool) -> f32 {
        compare::token_similarity(token, self.token(word), person)
    }

    /// The skeletons of words that may resemble one, each once, and whether only words that allow one difference are
    /// meant.
    fn near_skeletons(&self, token: &Token) -> Vec<(u32, bool)> {
        let skeleton = text::skeleton(&token.sound);
        let mut near: Vec<(u32, bool)> = Vec::new();
        let exact = |key: &str| self.by_skeleton.get(key).map(|number| (*number, false));
        near.extend(exact(&skeleton));
        if allows_one_difference(token, &skeleton) {
            // Keys for a consonant that only the query has, for two exchanged consonants, for a consonant that only
            // the listed word has, and for a replaced consonant.
            let keys = without_one_consonant(&skeleton).chain(with_exchanged_neighbours(&skeleton));
            near.extend(keys.filter_map(|key| exact(&key)));
            let keys = std::iter::once(skeleton.clone()).chain(with_wildcard(&skeleton));
            let skeletons = keys.filter_map(|key| self.by_pattern.get(&*key)).flatten();
            near.extend(skeletons.map(|number| (*number, true)));
        }
        near.sort_unstable();
        near.dedup_by_key(|(skeleton, _)| *skeleton);
        near
    }
}
