//! The search of the lists' index. It finds every listed name that could reach the threshold, scores it and explains the
//! hits.
//!
//! Candidates share words with the query, by spelling, by sound or with one different consonant. A name is
//! discarded only if it could not reach the threshold even with full scores for the shared words, never to
//! limit their number. What the index finds never changes; a new version of a list needs a new [`Screener`].

mod bounds;
mod builder;
mod dictionary;
mod entries;
mod listed;
mod lookup;
mod memory;
#[cfg(test)]
mod parts_tests;
mod records;
mod result;
mod shape;
mod spelling;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use zerocopy::FromBytes as _;
use zerocopy::little_endian::U32;

use self::bounds::best_possible_score;
use self::builder::Head;
pub(crate) use self::builder::IndexBuilder;
use self::dictionary::{Dictionary, SimilarWords};
pub use self::entries::{EntitySearch, ListEntry};
use self::listed::ListedEntity;
pub use self::memory::WordMemory;
use self::records::{EntityRecord, NameHeader, TokenRecord};
pub use self::result::{Hit, ScreenOptions, ScreenResult, SearchError, Total};
use crate::compare;
use crate::entity::{Entity, Schema, is_sanctioned};
use crate::import::List;
pub use crate::index::IndexDamaged;
use crate::index::{IndexFile, Section, values};
use crate::name::{Name, NameRef, TokenKind, TokenRef};
use crate::query::Query;
use crate::score::{self, BestName, MAX_QUALIFIER_GAIN, PairScore};
use crate::subject::{Subject, sorted_words};

/// Cached similarities: for each token of one query name, by dictionary word.
struct SimilarityCache(Vec<FxHashMap<u32, f32>>);

/// The index of lists that queries are screened against.
pub struct Screener {
    file: IndexFile,
    head: Head,
    remembered: SimilarWords,
    /// The index of whole lists of which this one has a part. Its words are known here too.
    whole: Option<Arc<Screener>>,
}

impl Default for Screener {
    fn default() -> Screener {
        Screener::new([])
    }
}

/// A listed wallet and its owner.
#[derive(Clone, Debug)]
pub struct ListedWallet<'a> {
    /// The address in its comparison form: hexadecimal, bech32 and cashaddr in lower case.
    pub address: String,
    /// The owner's name.
    pub caption: &'a str,
    /// The lists that contain the owner.
    pub datasets: &'a [String],
}

/// The best pair of names, after the index of the query's reading that it belongs to.
type ReadName = (usize, BestName);

/// A score, the listed entity, and their best pair of names.
type ScoredCandidate = (f64, u32, Option<ReadName>);

/// Listed entities to score, with their best pair of names.
type Candidates = BTreeMap<u32, Option<ReadName>>;

impl Screener {
    /// Builds the index of these lists in memory.
    #[expect(
        clippy::expect_used,
        reason = "only more than 4 GB of names do not fit, which no memory of lists holds"
    )]
    pub fn new(lists: impl IntoIterator<Item = List>) -> Screener {
        let bytes = lists_in_memory(lists).expect("the lists fit into an index");
        let file = IndexFile::in_memory(bytes).expect("it was just written");
        Screener::open(file).expect("it was just written")
    }

    /// The index in a file that [`IndexBuilder`] wrote.
    pub(crate) fn open(file: IndexFile) -> Result<Screener, IndexDamaged> {
        let head = postcard::from_bytes(file.whole(Section::Head)).unwrap_or_else(|_| {
            file.damage();
            Head::default()
        });
        file.check()?;
        Ok(Screener {
            file,
            head,
            remembered: SimilarWords::default(),
            whole: None,
        })
    }

    /// Builds the index of parts of the lists of another index. A query finds the entities of the parts with the same
    /// scores as in `whole`.
    pub fn of_parts(whole: Arc<Screener>, parts: impl IntoIterator<Item = List>) -> Screener {
        let mut screener = Screener::new(parts);
        screener.whole = Some(whole);
        screener
    }

    /// Whether the index is whole. An answer counts only if this is asked after it.
    ///
    /// # Errors
    /// When the index's file was cut, changed or damaged.
    pub fn check(&self) -> Result<(), IndexDamaged> {
        self.whole.as_ref().map_or(Ok(()), |whole| whole.check())?;
        self.file.check()
    }

    /// The lists and their versions.
    pub fn lists(&self) -> &BTreeMap<String, String> {
        &self.head.lists
    }

    /// Every listed wallet of a sanctioned subject. Wallets of entities listed for another reason are
    /// omitted.
    ///
    /// # Errors
    /// When the index is damaged, so that wallets may be missing.
    pub fn wallets(&self) -> Result<Vec<ListedWallet<'_>>, IndexDamaged> {
        let numbers = self
            .file
            .records::<U32>(Section::Wallets, 0..self.file.count::<U32>(Section::Wallets));
        let of_entity = |number: &U32| {
            let entity = self.entity(number.get());
            let wallets = entity.facts().facts.wallets;
            wallets.into_iter().map(move |address| ListedWallet {
                address,
                caption: entity.caption(),
                datasets: entity.datasets(),
            })
        };
        let found = numbers.iter().flat_map(of_entity).collect();
        self.check()?;
        Ok(found)
    }

    /// The number of listed entities.
    pub fn len(&self) -> usize {
        self.file.count::<EntityRecord>(Section::Entities)
    }

    /// Whether no entity is listed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn words(&self) -> Dictionary<'_> {
        Dictionary {
            file: &self.file,
            remembered: &self.remembered,
        }
    }

    fn entity(&self, number: u32) -> ListedEntity<'_> {
        ListedEntity::new(&self.file, &self.head, number)
    }

    /// Screens one query. The same query and lists always give the same result.
    pub fn screen(&self, query: &Query, options: &ScreenOptions) -> Result<ScreenResult, SearchError> {
        let entity = query.to_entity()?;
        let (subjects, candidates) = self.candidate_pairs(&entity, options, None);
        let hits = self.hits(&subjects, candidates, options);
        let result = self.result(query, &entity, &subjects, hits, options);
        self.check()?;
        Ok(result)
    }

    /// [`Screener::screen`] of one of many queries, faster: `memory` belongs to this index. `None`: nothing was found.
    pub fn screen_one_of_many(
        &self,
        query: &Query,
        options: &ScreenOptions,
        memory: &mut WordMemory,
    ) -> Result<Option<ScreenResult>, SearchError> {
        let entity = query.to_entity()?;
        let (subjects, candidates) = self.candidate_pairs(&entity, options, Some(memory));
        let hits = self.hits(&subjects, candidates, options);
        let found = !hits.is_empty();
        let result = found.then(|| self.result(query, &entity, &subjects, hits, options));
        self.check()?;
        Ok(result)
    }

    /// The readings of an entity, and the listed entities to score.
    fn candidate_pairs(
        &self,
        entity: &Entity,
        options: &ScreenOptions,
        mut memory: Option<&mut WordMemory>,
    ) -> (Vec<Subject>, Candidates) {
        let subjects = readings(entity);
        // The best pair of names for each candidate entity.
        let mut candidates: Candidates = BTreeMap::new();
        let wanted = WantedDatasets::of(self, options);
        for (reading, subject) in subjects.iter().enumerate() {
            let least = options.threshold as f32
                - if subject.facts.birth_dates.is_empty() {
                    0.0
                } else {
                    MAX_QUALIFIER_GAIN
                };
            for (at, name) in subject.names.iter().enumerate() {
                let view = name.view();
                let mut memo = SimilarityCache(vec![FxHashMap::default(); name.tokens.len()]);
                for name_id in self.candidates(name, least, &mut memo, memory.as_deref_mut()) {
                    let Some(header) = self.name_header(name_id) else {
                        continue;
                    };
                    let listed = header.entity.get();
                    let is_compatible = records::schema(header.schema)
                        .is_some_and(|schema| entity.schema.is_compatible_with(schema));
                    if !is_compatible || !wanted.contains(self.entity(listed)) {
                        continue;
                    }
                    let (candidate, words) = self.name(name_id, header);
                    if candidate.tokens.is_empty() {
                        continue;
                    }
                    let person = name.person && candidate.person;
                    let comparison = compare::compare_with(&view, &candidate, |i, j| {
                        let (a, b) = (&view.tokens[i], &candidate.tokens[j]);
                        if a.kind != TokenKind::Word || person != name.person {
                            return compare::token_similarity(a, b, person);
                        }
                        let known = memo.0[i].entry(words[j]);
                        *known.or_insert_with(|| compare::token_similarity(a, b, person))
                    });
                    let best = candidates.entry(listed).or_default();
                    if comparison.score > best.as_ref().map_or(0.0, |(_, b)| b.comparison.score) {
                        *best = Some((
                            reading,
                            BestName {
                                comparison,
                                query: at,
                                candidate: name_id as usize,
                            },
                        ));
                    }
                }
            }
            for id in self.exact_candidates(subject) {
                let listed = self.entity(id);
                let is_compatible = entity.schema.is_compatible_with(listed.schema())
                    || entity.schema == Schema::CryptoWallet;
                if is_compatible && wanted.contains(listed) {
                    candidates.entry(id).or_default();
                }
            }
        }
        (subjects, candidates)
    }

    fn score(&self, subjects: &[Subject], (id, best): (u32, &Option<ReadName>), explain: bool) -> PairScore {
        let listed = self.entity(id).facts();
        let Some((reading, best)) = best else {
            return score::score_subjects(&subjects[0], &listed.with_name(None), None, explain);
        };
        let name_id = best.candidate as u32;
        let name = self
            .name_header(name_id)
            .map(|header| self.name(name_id, header).0);
        // Only a page that was lost since the names were compared makes the name shorter.
        let is_whole = |name: &NameRef<'_>| {
            let mut pairs = best.comparison.pairs.iter();
            pairs.all(|pair| pair.candidate.0 + pair.candidate.1 <= name.tokens.len())
        };
        let name = name.filter(is_whole);
        if name.is_none() {
            self.file.damage();
        }
        let best = Some(best).filter(|_| name.is_some());
        score::score_subjects(&subjects[*reading], &listed.with_name(name), best, explain)
    }

    /// The hits in their order.
    fn hits(
        &self,
        subjects: &[Subject],
        candidates: Candidates,
        options: &ScreenOptions,
    ) -> Vec<ScoredCandidate> {
        let exact: FxHashSet<u32> = subjects
            .iter()
            .flat_map(|subject| self.exact_candidates(subject))
            .collect();
        // What matches by its name alone gains no more than the qualifiers of names give. Scores are rounded.
        let may_reach = |best: &Option<ReadName>| {
            let name = best.as_ref().map_or(0.0, |(_, best)| best.comparison.score);
            f64::from(name + MAX_QUALIFIER_GAIN) + 0.001 >= options.threshold
        };
        let mut hits: Vec<ScoredCandidate> = candidates
            .into_iter()
            .filter(|(id, best)| may_reach(best) || exact.contains(id))
            .map(|(id, best)| (self.score(subjects, (id, &best), false).score, id, best))
            .filter(|(score, _, _)| *score >= options.threshold)
            .collect();
        // The limit never cuts a match in favour of a politically exposed person. Scores have four decimals.
        hits.sort_by_cached_key(|(score, number, _)| {
            let listed = self.entity(*number);
            let (is_match, score) = (is_sanctioned(listed.topics()), (score * 10_000.0).round() as u32);
            (Reverse(is_match), Reverse(score), listed.id().to_owned(), *number)
        });
        hits
    }

    fn result(
        &self,
        query: &Query,
        entity: &Entity,
        subjects: &[Subject],
        mut hits: Vec<ScoredCandidate>,
        options: &ScreenOptions,
    ) -> ScreenResult {
        let total = Total {
            value: hits.len(),
            relation: "eq",
        };
        hits.truncate(options.limit);
        let results = hits.into_iter().map(|(_, id, best)| {
            let scored = self.score(subjects, (id, &best), true);
            let listed = self.entity(id);
            Hit {
                id: listed.id().to_owned(),
                caption: listed.caption().to_owned(),
                schema: listed.schema(),
                score: scored.score,
                matched: is_sanctioned(listed.topics()),
                datasets: listed.datasets().to_vec(),
                topics: listed.topics().to_vec(),
                programs: listed.programs().to_vec(),
                properties: listed.properties(),
                features: scored.features,
                explanation: scored.explanation,
            }
        });
        ScreenResult {
            results: results.collect(),
            total,
            lists: self.head.lists.clone(),
            query_params: query.flattened(entity),
        }
    }

    /// Entities that share a weak alias, an identifier or a wallet with the query.
    fn exact_candidates(&self, subject: &Subject) -> FxHashSet<u32> {
        let facts = &subject.facts;
        let find = |section, key: &str| values(&self.file, section, key);
        let aliases = subject
            .names
            .iter()
            .flat_map(|name| find(Section::ByWeakAlias, &sorted_words(name)));
        let identifiers = facts
            .identifiers
            .iter()
            .flat_map(|(_, value)| find(Section::ByIdentifier, value));
        let wallets = facts
            .wallets
            .iter()
            .flat_map(|wallet| find(Section::ByWallet, wallet));
        aliases.chain(identifiers).chain(wallets).collect()
    }

    /// The names that may score at least `least` against this one, in ascending order.
    fn candidates(
        &self,
        name: &Name,
        least: f32,
        memo: &mut SimilarityCache,
        mut memory: Option<&mut WordMemory>,
    ) -> Vec<u32> {
        let words = self.words();
        let mut units: Vec<(u64, Vec<u32>)> = Vec::new();
        for unit in self.units(name) {
            let known = unit.place.map(|at| &mut memo.0[at]);
            let token = unit.token.view();
            let similar = match (memory.as_deref_mut(), known) {
                // Joined words are seldom the same twice.
                (Some(memory), Some(known)) => {
                    memory.similar_words(&unit.token, name.person, known, |known| {
                        words.similar_words(&token, name.person, Some(known))
                    })
                }
                (_, known) => words.similar_words(&token, name.person, known),
            };
            units.push((unit.covers, similar));
        }
        let mut found = names_with(words, name, least, &units);
        if !name.person {
            let of_acronym = name
                .tokens
                .iter()
                .flat_map(|token| values(&self.file, Section::ByAcronym, &token.text));
            found.extend(of_acronym);
            let only = if let [only] = &name.tokens[..] {
                &*only.text
            } else {
                ""
            };
            for text in [only, &*name.acronym] {
                let listed = words.with_text(text).flat_map(|word| words.names(word));
                found.extend(listed.map(|name| name.get()));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn name_header(&self, name: u32) -> Option<&NameHeader> {
        let at = name as usize;
        NameHeader::ref_from_bytes(self.file.read(Section::Names, at..at + size_of::<NameHeader>())).ok()
    }

    /// A listed name and the dictionary's word of each of its tokens.
    fn name<'a>(&'a self, name: u32, header: &NameHeader) -> (NameRef<'a>, SmallVec<[u32; 8]>) {
        let [tokens, forms, acronym] = header
            .parts(name as usize)
            .map(|range| self.file.read(Section::Names, range));
        let words = self.words();
        let records = <[TokenRecord]>::ref_from_bytes(tokens).unwrap_or_default();
        let token = |record: &TokenRecord| {
            let style = self.head.styles.get(usize::from(record.style.get()))?;
            Some(TokenRef {
                role: records::name_part(style.role)?,
                weight: style.weight,
                surplus: style.surplus,
                telling: style.telling,
                ..words.token(record.word.get())?
            })
        };
        let tokens: SmallVec<[TokenRef<'_>; 8]> = records.iter().filter_map(token).collect();
        let (known_forms, known_acronym) = (records::forms(forms), std::str::from_utf8(acronym));
        let is_whole =
            tokens.len() == records.len() && known_forms.len() == forms.len() && known_acronym.is_ok();
        if !is_whole || tokens.is_empty() {
            self.file.damage();
        }
        let name = NameRef {
            tokens,
            forms: known_forms,
            person: header.person != 0,
            acronym: known_acronym.unwrap_or(""),
        };
        (name, records.iter().map(|record| record.word.get()).collect())
    }
}

/// The names that may score at least `least` against a name, as far as the similar words of its units find them. A unit
/// is a bit set of tokens with the words that resemble them.
///
/// A name is found by the units that it shares with the query, and scores at most [`best_possible_score`] of their
/// tokens. That bound grows with the tokens. So if all tokens of some units together cannot reach `least`, no name is
/// worth looking at that is found by these units alone. These are chosen from those that most names have; their names
/// are only counted if another unit finds them too.
fn names_with(words: Dictionary<'_>, name: &Name, least: f32, units: &[(u64, Vec<u32>)]) -> Vec<u32> {
    let mut cost: Vec<(usize, u64)> = (0..name.tokens.len()).map(|at| (0, 1 << at)).collect();
    for (covers, similar) in units {
        let names: usize = similar.iter().map(|word| words.names(*word).len()).sum();
        for (sum, bit) in &mut cost {
            *sum += if covers & *bit == 0 { 0 } else { names };
        }
    }
    cost.sort_unstable_by_key(|(names, bit)| (Reverse(*names), *bit));
    let mut too_little = 0_u64;
    for (_, bit) in cost.iter().take_while(|(names, _)| *names > 0) {
        if best_possible_score(name, too_little | bit) < least {
            too_little |= bit;
        }
    }
    let mut covered: FxHashMap<u32, u64> = FxHashMap::default();
    let finds_alone = |covers: u64| covers & !too_little != 0;
    for (covers, similar) in units.iter().filter(|(covers, _)| finds_alone(*covers)) {
        for name in similar.iter().flat_map(|word| words.names(*word)) {
            *covered.entry(name.get()).or_default() |= covers;
        }
    }
    let mut found: Vec<(u32, u64)> = covered.into_iter().collect();
    found.sort_unstable();
    for (covers, similar) in units.iter().filter(|(covers, _)| !finds_alone(*covers)) {
        for word in similar {
            add_cover(&mut found, words.names(*word), *covers);
        }
    }
    let reaches = found
        .into_iter()
        .filter(|(_, covers)| best_possible_score(name, *covers) >= least);
    reaches.map(|(id, _)| id).collect()
}

/// Adds what a unit covers to the names that were found and are among its own. Both are sorted.
fn add_cover(found: &mut [(u32, u64)], mut names: &[U32], covers: u64) {
    if found.len() * 16 < names.len() {
        for (id, covered) in found {
            names = &names[names.partition_point(|name| name.get() < *id)..];
            if names.first().is_some_and(|name| name.get() == *id) {
                *covered |= covers;
            }
        }
        return;
    }
    let mut names = names.iter().map(|name| name.get()).peekable();
    for (id, covered) in found {
        while names.next_if(|name| name < id).is_some() {}
        if names.peek() == Some(id) {
            *covered |= covers;
        }
    }
}

/// Which sets of datasets a search wants.
struct WantedDatasets(Option<Vec<bool>>);

impl WantedDatasets {
    fn of(screener: &Screener, options: &ScreenOptions) -> WantedDatasets {
        let is_wanted = |set: &Vec<String>| options.datasets.iter().any(|dataset| set.contains(dataset));
        let all = options.datasets.is_empty();
        WantedDatasets((!all).then(|| screener.head.sets.iter().map(is_wanted).collect()))
    }

    fn contains(&self, entity: ListedEntity<'_>) -> bool {
        self.0.as_ref().is_none_or(|wanted| {
            wanted
                .get(entity.dataset_set())
                .is_some_and(|is_wanted| *is_wanted)
        })
    }
}

/// The index of lists as bytes.
fn lists_in_memory(lists: impl IntoIterator<Item = List>) -> std::io::Result<Vec<u8>> {
    let mut builder = IndexBuilder::new(Vec::new())?;
    for list in lists {
        builder.begin_list(&list.name, &list.version);
        for entity in &list.entities {
            builder.add(&list.name, entity)?;
        }
    }
    builder.finish()
}

/// The ways to read the query's names: as a person's, as an organisation's, or both if its schema allows
/// either.
fn readings(entity: &Entity) -> Vec<Subject> {
    match entity.schema {
        Schema::Person => vec![Subject::of(entity, true)],
        Schema::LegalEntity | Schema::Thing => vec![Subject::of(entity, true), Subject::of(entity, false)],
        _ => vec![Subject::of(entity, false)],
    }
}
