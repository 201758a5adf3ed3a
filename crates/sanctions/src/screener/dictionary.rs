//! The distinct words of the listed names, with the names that contain each, and the search for the words that resemble
//! one. It knows no whole name and scores none.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use zerocopy::IntoBytes as _;
use zerocopy::little_endian::U32;

use super::records::{self, Posting, WordRecord};
use super::shape::{QueryShape, Shape};
use super::spelling::{
    self, WITHOUT_CONSONANTS, allows_one_difference, allows_one_more, with_exchanged_neighbours,
    with_wildcard, without_one_consonant,
};
use crate::index::{IndexFile, IndexWriter, Section, TableBuilder, values};
use crate::name::{NamePart, Token, TokenKind, TokenRef};
use crate::text::Script;
use crate::{compare, tables, text};

/// The most similar words that are remembered, about 80 MB. Further words are searched each time.
const MOST: usize = 10_000_000;

/// Words with their similarity to one word, in order of the words.
type Similar = Arc<[(u32, f32)]>;

/// What the similarity of a word depends on: its kind, script, text and original text, and whether it is a common part
/// of people's names.
type Key = (TokenKind, Script, Box<str>, Box<str>, bool);

/// A word that is being collected.
struct NewWord {
    token: Token,
    /// The names by which it is found; none if it is only a part of names.
    names: Vec<Posting>,
}

/// Collects the words of the listed names.
#[derive(Default)]
pub(super) struct DictionaryBuilder {
    words: Vec<NewWord>,
    ids: FxHashMap<Key, u32>,
}

impl DictionaryBuilder {
    /// The number of a name's word for [`DictionaryBuilder::find`] and [`DictionaryBuilder::write`].
    pub(super) fn number(&mut self, token: &Token) -> u32 {
        let (text, original) = (token.text.clone(), token.original.clone());
        let key = (token.kind, token.script, text, original, token.common);
        *self.ids.entry(key).or_insert_with(|| {
            self.words.push(NewWord {
                token: token.clone(),
                names: Vec::new(),
            });
            self.words.len() as u32 - 1
        })
    }

    /// A word finds a name, as often as the name contains it.
    pub(super) fn find(&mut self, word: u32, name: Posting) {
        self.words[word as usize].names.push(name);
    }

    /// Writes the dictionary. Returns the number of each added word. Words that find names come first, those with the same skeleton one after the other.
    pub(super) fn write<W: Write>(mut self, to: &mut IndexWriter<W>) -> io::Result<Vec<u32>> {
        self.ids = FxHashMap::default();
        let added = (0..).zip(self.words);
        let mut words: Vec<(bool, String, u32, NewWord)> = added
            .map(|(added, word)| {
                (
                    word.names.is_empty(),
                    text::skeleton(&word.token.sound),
                    added,
                    word,
                )
            })
            .collect();
        words.sort_by(|a, b| (a.0, &a.1, &a.3.token.text, a.2).cmp(&(b.0, &b.1, &b.3.token.text, b.2)));
        let mut numbers = vec![0; words.len()];
        let mut indexed = 0;
        let (mut by_text, mut by_skeleton, mut by_pattern) = (
            TableBuilder::default(),
            TableBuilder::default(),
            TableBuilder::default(),
        );
        let mut skeletons: Vec<U32> = Vec::new();
        let mut patterned: Option<u32> = None;
        let mut last: Option<&str> = None;
        let mut others: Vec<String> = Vec::new();
        for (number, (is_part, skeleton, added, word)) in (0..).zip(&words) {
            numbers[*added as usize] = number;
            if *is_part {
                continue;
            }
            indexed = number + 1;
            by_text.add(&word.token.text, number);
            if last != Some(skeleton) {
                by_skeleton.add(skeleton, skeletons.len() as u32);
                skeletons.push(number.into());
                last = Some(skeleton);
                others.clear();
            }
            let of_skeleton = skeletons.len() as u32 - 1;
            let readings = spelling::keys_of_readings(word.token.script, &word.token.text);
            let without_consonants = skeleton.starts_with(WITHOUT_CONSONANTS);
            let without_consonants = without_consonants.then(|| WITHOUT_CONSONANTS.to_owned());
            for key in readings.into_iter().chain(without_consonants) {
                by_skeleton.add(&key, of_skeleton);
            }
            for other in text::other_skeletons(&word.token.text, word.token.script, skeleton) {
                if !others.contains(&other) {
                    by_skeleton.add(&key_of_j(&other), of_skeleton);
                    others.push(other);
                }
            }
            if allows_one_more(&word.token.view(), skeleton) && patterned != Some(of_skeleton) {
                patterned = Some(of_skeleton);
                if skeleton.len() == 1 {
                    by_pattern.add(WITHOUT_CONSONANTS, of_skeleton);
                } else {
                    for key in without_one_consonant(skeleton).chain(with_wildcard(skeleton)) {
                        by_pattern.add(&key, of_skeleton);
                    }
                }
            }
        }
        skeletons.push(indexed.into());
        to.section(Section::Skeletons, skeletons.as_bytes())?;
        by_text.write(Section::ByText, to)?;
        by_skeleton.write(Section::BySkeleton, to)?;
        by_pattern.write(Section::ByPattern, to)?;
        let mut texts: Vec<u8> = Vec::new();
        let mut records: Vec<WordRecord> = Vec::with_capacity(words.len());
        let mut first_name = 0_u32;
        for (_, _, _, NewWord { token, names }) in &words {
            let too_long = || io::Error::other("a word of the lists is too long");
            let len = |text: &str| u16::try_from(text.len()).map_err(|_| too_long());
            records.push(WordRecord {
                text: u32::try_from(texts.len()).map_err(|_| too_long())?.into(),
                text_len: len(&token.text)?.into(),
                sound_len: len(&token.sound)?.into(),
                original_len: len(&token.original)?.into(),
                first_name: first_name.into(),
                names: (names.len() as u32).into(),
                kind: token.kind as u8,
                script: token.script as u8,
                common: u8::from(token.common),
            });
            first_name += names.len() as u32;
            for text in [&token.text, &token.sound, &token.original] {
                texts.extend_from_slice(text.as_bytes());
            }
        }
        to.section(Section::Words, records.as_bytes())?;
        to.section(Section::Texts, &texts)?;
        to.begin(Section::Shapes)?;
        for (_, skeleton, _, word) in &words {
            let has_patterns = allows_one_more(&word.token.view(), skeleton);
            to.add(
                Section::Shapes,
                Shape::of(&word.token.view(), has_patterns).as_bytes(),
            )?;
        }
        to.begin(Section::Postings)?;
        for (_, _, _, word) in &words {
            to.add(Section::Postings, word.names.as_bytes())?;
        }
        Ok(numbers)
    }
}

/// The words of the listed names in an index. Words with the same skeleton have consecutive numbers.
#[derive(Clone, Copy)]
pub(super) struct Dictionary<'a> {
    pub(super) file: &'a IndexFile,
    pub(super) remembered: &'a SimilarWords,
}

/// Which words of a skeleton may resemble another word: bits for all of them, those that allow one difference, and those
/// with a `j`.
#[derive(Clone, Copy)]
struct Near(u8);

impl Near {
    const ALL: Near = Near(1);
    const WITH_PATTERNS: Near = Near(2);
    const WITH_J: Near = Near(4);

    fn or(self, other: Near) -> Near {
        Near(self.0 | other.0)
    }

    fn means(self, shape: &Shape) -> bool {
        let has = |near: Near| self.0 & near.0 != 0;
        has(Near::ALL)
            || has(Near::WITH_PATTERNS) && shape.has_patterns()
            || has(Near::WITH_J) && shape.may_have_j()
    }
}

/// The key of the skeletons that have this further one; see [`text::other_skeletons`]. No skeleton has a `j`.
fn key_of_j(other: &str) -> String {
    format!("j{other}")
}

/// The similar words of listed words that were looked up: in a name of another kind, and in a person's name. Only what
/// concerns listed words is remembered, so no other word of a query stays in memory.
#[derive(Default)]
pub(super) struct SimilarWords {
    shards: [Mutex<FxHashMap<(u32, bool), Similar>>; 16],
    /// How many similar words are remembered.
    len: AtomicUsize,
}

impl SimilarWords {
    fn get(&self, key: (u32, bool), search: impl FnOnce() -> Similar) -> Similar {
        let shard = &self.shards[key.0 as usize % self.shards.len()];
        let lock = || shard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return Arc::clone(known);
        }
        let found = search();
        if self.len.fetch_add(found.len(), Ordering::Relaxed) < MOST {
            lock().insert(key, Arc::clone(&found));
        }
        found
    }
}

impl<'a> Dictionary<'a> {
    /// The word of this number, as a token without a place in a name.
    pub(super) fn token(self, word: u32) -> Option<TokenRef<'a>> {
        let record: &WordRecord = self.file.record(Section::Words, word as usize)?;
        let lens = [record.text_len, record.sound_len, record.original_len].map(|len| usize::from(len.get()));
        let start = record.text.get() as usize;
        let bytes = self
            .file
            .read(Section::Texts, start..start + lens.iter().sum::<usize>());
        let texts = std::str::from_utf8(bytes).ok().filter(|_| lens[0] > 0)?;
        let (text, rest) = texts.split_at_checked(lens[0])?;
        let (sound, original) = rest.split_at_checked(lens[1])?;
        Some(Token {
            text,
            sound,
            original,
            signature: self.shape(word)?.signature(),
            script: records::script(record.script)?,
            kind: records::kind(record.kind)?,
            role: NamePart::Unknown,
            weight: 0.0,
            surplus: 0.0,
            telling: false,
            common: record.common != 0,
        })
    }

    /// What is known of a word before its letters are compared.
    pub(super) fn shape(self, word: u32) -> Option<&'a Shape> {
        self.file.record(Section::Shapes, word as usize)
    }

    /// The names that contain a word, in ascending order. A name that contains it twice is there twice.
    pub(super) fn names(self, word: u32) -> &'a [Posting] {
        let record = self.file.record::<WordRecord>(Section::Words, word as usize);
        let range = record.map_or(0..0, |record| {
            let first = record.first_name.get() as usize;
            first..first + record.names.get() as usize
        });
        self.file.records(Section::Postings, range)
    }

    /// Whether a listed name contains a word of this text.
    pub(super) fn knows(self, text: &str) -> bool {
        self.with_text(text).next().is_some()
    }

    /// The words of this text, in every script.
    pub(super) fn with_text(self, text: &str) -> impl Iterator<Item = u32> + use<'a, '_> {
        values(self.file, Section::ByText, text)
            .filter(move |word| self.token(*word).is_some_and(|listed| listed.text == text))
    }

    /// The listed initials of this letter.
    pub(super) fn initials(self, letter: &str) -> impl Iterator<Item = u32> + use<'a, '_> {
        let is_initial = move |word: &u32| {
            let listed = self.token(*word);
            listed.is_some_and(|listed| listed.kind == TokenKind::Initial)
        };
        self.with_text(letter).filter(is_initial)
    }

    /// The words with any similarity to this one, in order. `known` receives similarities.
    pub(super) fn similar_words(
        self,
        token: &TokenRef<'_>,
        person: bool,
        known: Option<&mut FxHashMap<u32, f32>>,
    ) -> Vec<u32> {
        let is_same = |word: &u32| {
            self.token(*word).is_some_and(|listed| {
                listed.kind == token.kind
                    && listed.script == token.script
                    && listed.sound == token.sound
                    && listed.original == token.original
                    && listed.common == token.common
            })
        };
        let similar = match self.with_text(token.text).find(is_same) {
            Some(word) => self.remembered.get((word, person), || self.search(token, person)),
            None => self.search(token, person),
        };
        if let Some(known) = known {
            known.extend(similar.iter().copied());
        }
        similar.iter().map(|(word, _)| *word).collect()
    }

    /// Adds the words to `known` that [`Dictionary::similar_words`] would find by their text: equal ones and variants of
    /// a given name.
    pub(super) fn equal_words(self, token: &TokenRef<'_>, person: bool, known: &mut FxHashMap<u32, f32>) {
        let variants = variants(token, person);
        let texts = std::iter::once(token.text).chain(variants.iter().map(|text| &**text));
        let found = texts.flat_map(|text| self.with_text(text));
        known.extend(found.map(|word| (word, self.similarity(token, word, person))));
    }

    fn search(self, token: &TokenRef<'_>, person: bool) -> Similar {
        let mut found: Vec<u32> = self.with_text(token.text).collect();
        let same = found.clone();
        if token.kind == TokenKind::Word {
            let query = QueryShape::of(token);
            for (skeleton, near) in self.near_skeletons(token) {
                let words = self.of_skeleton(skeleton);
                let shapes: &[Shape] = self
                    .file
                    .records(Section::Shapes, words.start as usize..words.end as usize);
                let similar = words
                    .zip(shapes)
                    .filter(|(_, shape)| near.means(shape) && query.may_resemble(shape));
                found.extend(similar.map(|(word, _)| word));
            }
        }
        let variants = variants(token, person);
        let mut found: Vec<(u32, f32)> = found
            .into_iter()
            .map(|word| (word, self.similarity(token, word, person)))
            .collect();
        found.retain(|(word, similarity)| *similarity > 0.0 || same.contains(word));
        let of_variants = variants.iter().flat_map(|text| self.with_text(text));
        found.extend(of_variants.map(|word| (word, self.similarity(token, word, person))));
        found.sort_unstable_by_key(|(word, _)| *word);
        found.dedup_by_key(|(word, _)| *word);
        found.into()
    }

    fn similarity(self, token: &TokenRef<'_>, word: u32, person: bool) -> f32 {
        self.token(word)
            .map_or(0.0, |listed| compare::token_similarity(token, &listed, person))
    }

    /// The words of a skeleton.
    fn of_skeleton(self, skeleton: u32) -> Range<u32> {
        let at = skeleton as usize;
        match self.file.records::<U32>(Section::Skeletons, at..at + 2) {
            [start, end] => start.get()..end.get(),
            _ => 0..0,
        }
    }

    /// The skeletons of words that may resemble one, each once, and which of their words are meant.
    fn near_skeletons(self, token: &TokenRef<'_>) -> Vec<(u32, Near)> {
        let skeleton = text::skeleton(token.sound);
        let mut near: Vec<(u32, Near)> = Vec::new();
        let find = |key: &str| values(self.file, Section::BySkeleton, key);
        let exact = |key: &str| find(key).map(|number| (number, Near::ALL));
        let with_patterns = |key: &str| {
            let skeletons = values(self.file, Section::ByPattern, key);
            skeletons.map(|number| (number, Near::WITH_PATTERNS))
        };
        near.extend(exact(&skeleton));
        let readings = spelling::keys_of_same_reading(token.script, token.text);
        near.extend(readings.iter().flat_map(|key| exact(key)));
        if skeleton.starts_with(WITHOUT_CONSONANTS) {
            near.extend(exact(WITHOUT_CONSONANTS));
            near.extend(with_patterns(WITHOUT_CONSONANTS).filter(|_| token.text.len() >= 5));
        }
        near.extend(find(&key_of_j(&skeleton)).map(|number| (number, Near::WITH_J)));
        for other in text::other_skeletons(token.text, token.script, &skeleton) {
            near.extend(exact(&other));
        }
        if allows_one_difference(token, &skeleton) {
            // Keys for a consonant that only the query has, for two exchanged consonants, and for a replaced consonant.
            // A consonant that only the listed word has follows.
            let keys = without_one_consonant(&skeleton).chain(with_exchanged_neighbours(&skeleton));
            near.extend(keys.flat_map(|key| exact(&key)));
            near.extend(with_wildcard(&skeleton).flat_map(|key| with_patterns(&key)));
        }
        if allows_one_more(token, &skeleton) {
            near.extend(with_patterns(&skeleton));
            near.extend(exact(WITHOUT_CONSONANTS).filter(|_| skeleton.len() == 1));
        }
        near.sort_unstable_by_key(|(skeleton, _)| *skeleton);
        near.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = kept.1.or(next.1);
            }
            is_same
        });
        near
    }
}

/// The variants of a given name.
fn variants(token: &TokenRef<'_>, person: bool) -> Vec<&'static str> {
    match token.kind {
        TokenKind::Word if person => tables::given_name_variants(token.text),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entity::Schema;
    use crate::name::{KnownNameParts, prepare};
    use crate::screener::outline::Outline;

    fn token(word: &str) -> Option<Token> {
        let name = prepare(word, Schema::Company, &KnownNameParts::default())?;
        name.tokens
            .into_iter()
            .next()
            .filter(|token| token.kind == TokenKind::Word)
    }

    fn posting(name: u32) -> Posting {
        let outline = Outline::of(&prepare("a", Schema::Company, &KnownNameParts::default()).unwrap());
        Posting {
            name: name.into(),
            outline,
        }
    }

    fn written(builder: DictionaryBuilder) -> (IndexFile, Vec<u32>) {
        let mut writer = IndexWriter::new(Vec::new());
        let numbers = builder.write(&mut writer).unwrap();
        (IndexFile::in_memory(writer.finish().unwrap()).unwrap(), numbers)
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
                    let word = builder.number(&token);
                    builder.find(word, posting(name));
                }
            }
            let (file, _) = written(builder);
            let remembered = SimilarWords::default();
            let dictionary = Dictionary { file: &file, remembered: &remembered };
            let query = query.view();
            let mut expected: Vec<u32> = Vec::new();
            for (skeleton, near) in dictionary.near_skeletons(&query) {
                expected.extend(dictionary.of_skeleton(skeleton).filter(|word| {
                    let shape: &Shape = file.record(Section::Shapes, *word as usize).unwrap();
                    near.means(shape)
                        && dictionary.similarity(&query, *word, person) > 0.0
                }));
            }
            // The second time the dictionary remembers.
            for _ in 0..2 {
                let mut known = FxHashMap::default();
                let found = dictionary.similar_words(&query, person, Some(&mut known));
                for word in &expected {
                    prop_assert!(found.contains(word), "{first} {:?}", dictionary.token(*word).unwrap().text);
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
            let (query, listed) = (query.view(), listed.view());
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
        assert!(compare::token_similarity(&query.view(), &listed.view(), true) > 0.0);
        let mut builder = DictionaryBuilder::default();
        let word = builder.number(&listed);
        builder.find(word, posting(0));
        let (file, numbers) = written(builder);
        let remembered = SimilarWords::default();
        let dictionary = Dictionary {
            file: &file,
            remembered: &remembered,
        };
        let found = dictionary.similar_words(&query.view(), true, None);
        assert_eq!(found, [numbers[word as usize]]);
    }
}
