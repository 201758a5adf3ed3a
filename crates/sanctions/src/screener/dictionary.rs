//! The distinct words of the listed names, with the names that contain each, and the search for the words that resemble
//! one. It knows no whole name and scores none.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    /// person's name. Only what concerns listed words is remembered, so no other word of a query stays in memory.
    similar: [OnceLock<Similar>; 2],
}

/// The most similar words that are remembered, about 80 MB. Further words are searched each time.
const MOST: usize = 10_000_000;

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
    /// How many similar words are remembered.
    remembered: AtomicUsize,
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
        let same = self.with_text(&token.text).iter().find(is_same);
        let place = same.map(|word| &self.words[*word as usize].similar[usize::from(person)]);
        let searched;
        let similar = match place.map(|place| (place, place.get())) {
            Some((_, Some(similar))) => similar,
            Some((place, None)) if self.remembered.load(Ordering::Relaxed) < MOST => {
                place.get_or_init(|| {
                    let similar = self.search(token, person);
                    self.remembered.fetch_add(similar.len(), Ordering::Relaxed);
                    similar
                })
            }
            _ => {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entity::Schema;
    use crate::name::{KnownNameParts, prepare};

    fn token(word: &str) -> Option<Token> {
        let name = prepare(word, Schema::Company, &KnownNameParts::default())?;
        name.tokens
            .into_iter()
            .next()
            .filter(|token| token.kind == TokenKind::Word)
    }

    fn word() -> impl Strategy<Value = String> {
        let words = prop_oneof![
            "[a-z]{2,9}",
            "[bdgklmnprst][aeiouy]{1,2}[bdgklmnprst]{1,2}[aeiou]?[nrslt]?",
            "(ba|de|go|li|mu|na|pe|ti|ro|su|da|ve|ki|lo){8,32}",
            "(chang|zhang|hsien|xian|kim|gim|park|bak|young|yong|su|soo){1,2}",
            "[محمدعليخالدسنيوفشر]{2,5}",
            "[王張李明國小康金]{1,3}",
            "[김박이영수철민]{1,3}",
        ];
        words.prop_map(String::from)
    }

    /// A word and others that differ from it in a few letters, some of them doubled or at the end of long words.
    fn words() -> impl Strategy<Value = (String, Vec<String>)> {
        let edits = prop::collection::vec((any::<prop::sample::Index>(), "[a-z]{1,3}", 0..5), 1..12);
        (word(), edits, prop::collection::vec(word(), 0..6)).prop_map(|(first, edits, mut words)| {
            words.extend(edits.into_iter().map(|(at, letters, how)| {
                let mut chars: Vec<char> = first.chars().collect();
                let at = at.index(chars.len());
                match how {
                    0 => drop(chars.splice(at..=at, letters.chars())),
                    1 => drop(chars.splice(at..at, letters.chars())),
                    2 => drop(chars.remove(at)),
                    3 => chars.insert(at, chars[at]),
                    _ => chars.extend(letters.chars().cycle().take(5)),
                }
                chars.into_iter().collect()
            }));
            (first, words)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]
        #[test]
        fn no_similar_word_of_a_near_skeleton_is_missed((first, others) in words(), person in any::<bool>()) {
            let Some(query) = token(&first) else { return Ok(()) };
            let mut builder = DictionaryBuilder::default();
            for (name, word) in (0..).zip(&others) {
                if let Some(token) = token(word) {
                    builder.add(&token, name);
                }
            }
            let (dictionary, _) = builder.build();
            let mut expected: Vec<u32> = Vec::new();
            for (skeleton, by_pattern) in dictionary.near_skeletons(&query) {
                expected.extend(dictionary.skeletons[skeleton as usize].clone().filter(|word| {
                    (!by_pattern || dictionary.shapes[*word as usize].has_patterns())
                        && dictionary.similarity(&query, *word, person) > 0.0
                }));
            }
            // The second time the dictionary remembers.
            for _ in 0..2 {
                let mut known = FxHashMap::default();
                let found = dictionary.similar_words(&query, person, Some(&mut known));
                for word in &expected {
                    prop_assert!(found.contains(word), "{first} {:?}", dictionary.token(*word).text);
                    prop_assert_eq!(known[word], dictionary.similarity(&query, *word, person));
                }
            }
        }

        #[test]
        fn joined_words_find_what_resembles_them(a in "[a-z]{2,6}", b in "[a-z]{2,6}") {
            let (Some(left), Some(right)) = (token(&a), token(&b)) else { return Ok(()) };
            let Some(listed) = token(&format!("{a}{b}")) else { return Ok(()) };
            let sound = format!("{}{}", left.sound, right.sound);
            let query = super::super::spelling::respelled(&left, &format!("{}{}", left.text, right.text), sound);
            let shapes = (QueryShape::of(&query), Shape::of(&listed, false));
            if query.text != listed.text && compare::token_similarity(&query, &listed, false) > 0.0 {
                prop_assert!(shapes.0.may_resemble(&shapes.1));
            }
        }
    }

    #[test]
    fn long_words_are_compared_by_their_beginning() {
        let long = "badegolimunapetirosudavekilomanupetibagodelumirosate";
        let (query, listed) = (token(long).unwrap(), token(&format!("{long}oaoao")).unwrap());
        assert!(compare::token_similarity(&query, &listed, true) > 0.0);
        let mut builder = DictionaryBuilder::default();
        let word = builder.add(&listed, 0);
        let (dictionary, numbers) = builder.build();
        let found = dictionary.similar_words(&query, true, None);
        assert_eq!(found, [numbers[word as usize]]);
    }
}
