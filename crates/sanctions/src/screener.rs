//! The index in memory. It finds every listed name that could reach the threshold, scores it and explains the
//! hits.
//!
//! Candidates share words with the query, by spelling, by sound or with one different consonant. A name is
//! discarded only if it could not reach the threshold even with full scores for the shared words, never to
//! limit their number. What the index finds never changes; a new version of a list needs a new [`Screener`].

mod bounds;
mod dictionary;
mod entries;
mod lookup;
mod memory;
#[cfg(test)]
mod parts_tests;
mod result;
mod shape;
mod spelling;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::bounds::{best_possible_score, indexed_places};
use self::dictionary::{Dictionary, DictionaryBuilder};
pub use self::entries::{EntitySearch, ListEntry};
pub use self::memory::WordMemory;
pub use self::result::{Hit, ScreenOptions, ScreenResult, Total};
use crate::compare;
use crate::entity::{Entity, Schema, is_sanctioned};
use crate::import::List;
use crate::name::{Name, TokenKind};
use crate::query::{Query, QueryError};
use crate::score::{self, BestName, MAX_QUALIFIER_GAIN, PairScore};
use crate::subject::{Subject, sorted_words};

/// A listed entity in the index.
struct ListedEntity {
    id: String,
    caption: String,
    datasets: Vec<String>,
    topics: Vec<String>,
    programs: Vec<String>,
    /// The entity's [`crate::Properties`] as JSON, which is compact. Only those of hits are parsed.
    properties: Box<str>,
    subject: Subject,
}

/// A name of a listed entity.
struct ListedName {
    entity: u32,
    /// Position among the entity's names.
    place: u32,
    /// Dictionary word of each token, or [`NO_WORD`] for tokens that are not indexed.
    words: Box<[u32]>,
}

const NO_WORD: u32 = u32::MAX;

/// Cached similarities: for each token of one query name, by dictionary word.
struct SimilarityCache(Vec<FxHashMap<u32, f32>>);

/// The index of lists that queries are screened against.
#[derive(Default)]
pub struct Screener {
    lists: BTreeMap<String, String>,
    listed: Vec<ListedEntity>,
    names: Vec<ListedName>,
    words: Dictionary,
    by_acronym: FxHashMap<Box<str>, Vec<u32>>,
    by_weak_alias: FxHashMap<String, Vec<u32>>,
    by_identifier: FxHashMap<String, Vec<u32>>,
    by_wallet: FxHashMap<String, Vec<u32>>,
    /// The index of whole lists of which this one has a part. Its words are known here too.
    whole: Option<Arc<Screener>>,
}

/// A listed wallet and its owner.
#[derive(Clone, Copy, Debug)]
pub struct ListedWallet<'a> {
    /// The address in its comparison form: hexadecimal, bech32 and cashaddr in lower case.
    pub address: &'a str,
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
    /// Builds the index of these lists.
    pub fn new(lists: impl IntoIterator<Item = List>) -> Screener {
        let mut screener = Screener::default();
        let mut words = DictionaryBuilder::default();
        for list in lists {
            for mut entity in list.entities {
                // A caller can also select a list of many sources (an OpenSanctions collection) by its own
                // name. That name is the last one: it states the list with the entry.
                entity.datasets.retain(|dataset| *dataset != list.name);
                entity.datasets.push(list.name.clone());
                screener.add(entity, &mut words);
            }
            screener.lists.insert(list.name, list.version);
        }
        let (dictionary, numbers) = words.build();
        screener.words = dictionary;
        let added = screener.names.iter_mut().flat_map(|name| &mut name.words);
        for word in added.filter(|word| **word != NO_WORD) {
            *word = numbers[*word as usize];
        }
        screener
    }

    /// Builds the index of parts of the lists of another index. A query finds the entities of the parts with the same
    /// scores as in `whole`.
    pub fn of_parts(whole: Arc<Screener>, parts: impl IntoIterator<Item = List>) -> Screener {
        let mut screener = Screener::new(parts);
        screener.whole = Some(whole);
        screener
    }

    fn add(&mut self, entity: Entity, dictionary: &mut DictionaryBuilder) {
        let id = self.listed.len() as u32;
        let subject = Subject::of(&entity, false);
        for (place, name) in (0u32..).zip(&subject.names) {
            let name_id = self.names.len() as u32;
            let mut words = vec![NO_WORD; name.tokens.len()];
            for at in indexed_places(name) {
                words[at] = dictionary.add(&name.tokens[at], name_id);
            }
            self.names.push(ListedName {
                entity: id,
                place,
                words: words.into(),
            });
            if !name.acronym.is_empty() {
                self.by_acronym
                    .entry(name.acronym.clone())
                    .or_default()
                    .push(name_id);
            }
        }
        for alias in &subject.weak_aliases {
            self.by_weak_alias.entry(alias.clone()).or_default().push(id);
        }
        for (_, value) in &subject.facts.identifiers {
            self.by_identifier.entry(value.clone()).or_default().push(id);
        }
        for wallet in &subject.facts.wallets {
            self.by_wallet.entry(wallet.clone()).or_default().push(id);
        }
        // A map of texts always serialises. The properties are shown with a hit and affect no score.
        let properties = serde_json::to_string(&entity.properties()).unwrap_or_default();
        let Entity {
            id,
            caption,
            datasets,
            topics,
            programs,
            ..
        } = entity;
        self.listed.push(ListedEntity {
            id,
            caption,
            datasets,
            topics,
            programs,
            properties: properties.into(),
            subject,
        });
    }

    /// The lists and their versions.
    pub fn lists(&self) -> &BTreeMap<String, String> {
        &self.lists
    }

    /// Every listed wallet of a sanctioned subject. Wallets of entities listed for another reason are
    /// omitted.
    pub fn wallets(&self) -> impl Iterator<Item = ListedWallet<'_>> {
        let sanctioned = |listed: &&ListedEntity| is_sanctioned(&listed.topics);
        self.listed.iter().filter(sanctioned).flat_map(|listed| {
            listed.subject.facts.wallets.iter().map(|address| ListedWallet {
                address,
                caption: &listed.caption,
                datasets: &listed.datasets,
            })
        })
    }

    /// The number of listed entities.
    pub fn len(&self) -> usize {
        self.listed.len()
    }

    /// Whether no entity is listed.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// Screens one query. The same query and lists always give the same result.
    pub fn screen(&self, query: &Query, options: &ScreenOptions) -> Result<ScreenResult, QueryError> {
        let entity = query.to_entity()?;
        let (subjects, candidates) = self.candidate_pairs(&entity, options, None);
        let hits = self.hits(&subjects, candidates, options);
        Ok(self.result(query, &entity, &subjects, hits, options))
    }

    /// [`Screener::screen`] of one of many queries, faster: `memory` belongs to this index. `None`: nothing was found.
    pub fn screen_one_of_many(
        &self,
        query: &Query,
        options: &ScreenOptions,
        memory: &mut WordMemory,
    ) -> Result<Option<ScreenResult>, QueryError> {
        let entity = query.to_entity()?;
        let (subjects, candidates) = self.candidate_pairs(&entity, options, Some(memory));
        let hits = self.hits(&subjects, candidates, options);
        let found = !hits.is_empty();
        Ok(found.then(|| self.result(query, &entity, &subjects, hits, options)))
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
        for (reading, subject) in subjects.iter().enumerate() {
            let least = options.threshold as f32
                - if subject.facts.birth_dates.is_empty() {
                    0.0
                } else {
                    MAX_QUALIFIER_GAIN
                };
            for (at, name) in subject.names.iter().enumerate() {
                let mut memo = SimilarityCache(vec![FxHashMap::default(); name.tokens.len()]);
                for name_id in self.candidates(name, least, &mut memo, memory.as_deref_mut()) {
                    let ListedName {
                        entity: listed,
                        place,
                        words,
                    } = &self.names[name_id as usize];
                    let (listed, place) = (*listed, *place);
                    let other = &self.listed[listed as usize].subject;
                    if !entity.schema.is_compatible_with(other.schema) {
                        continue;
                    }
                    let candidate = &other.names[place as usize];
                    let person = name.person && candidate.person;
                    let comparison = compare::compare_with(name, candidate, |i, j| {
                        let (a, b) = (&name.tokens[i], &candidate.tokens[j]);
                        if words[j] == NO_WORD || a.kind != TokenKind::Word || person != name.person {
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
                                candidate: place as usize,
                            },
                        ));
                    }
                }
            }
            for id in self.exact_candidates(subject) {
                if entity
                    .schema
                    .is_compatible_with(self.listed[id as usize].subject.schema)
                    || entity.schema == Schema::CryptoWallet
                {
                    candidates.entry(id).or_default();
                }
            }
        }
        (subjects, candidates)
    }

    fn score(&self, subjects: &[Subject], (id, best): (u32, &Option<ReadName>), explain: bool) -> PairScore {
        let other = &self.listed[id as usize].subject;
        match best {
            Some((reading, best)) => score::score_subjects(&subjects[*reading], other, Some(best), explain),
            None => score::score_subjects(&subjects[0], other, None, explain),
        }
    }

    /// The hits in their order.
    fn hits(
        &self,
        subjects: &[Subject],
        candidates: Candidates,
        options: &ScreenOptions,
    ) -> Vec<ScoredCandidate> {
        let wanted = |id: u32| {
            let datasets = &self.listed[id as usize].datasets;
            options.datasets.is_empty() || options.datasets.iter().any(|d| datasets.contains(d))
        };
        let mut hits: Vec<ScoredCandidate> = candidates
            .into_iter()
            .filter(|(id, _)| wanted(*id))
            .map(|(id, best)| (self.score(subjects, (id, &best), false).score, id, best))
            .filter(|(score, _, _)| *score >= options.threshold)
            .collect();
        // The limit never cuts a match in favour of a politically exposed person.
        hits.sort_by(|a, b| {
            let listed = |hit: &ScoredCandidate| &self.listed[hit.1 as usize];
            is_sanctioned(&listed(b).topics)
                .cmp(&is_sanctioned(&listed(a).topics))
                .then_with(|| b.0.total_cmp(&a.0))
                .then_with(|| listed(a).id.cmp(&listed(b).id))
                .then(a.1.cmp(&b.1))
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
            let listed = &self.listed[id as usize];
            Hit {
                id: listed.id.clone(),
                caption: listed.caption.clone(),
                schema: listed.subject.schema,
                score: scored.score,
                matched: is_sanctioned(&listed.topics),
                datasets: listed.datasets.clone(),
                topics: listed.topics.clone(),
                programs: listed.programs.clone(),
                // This process wrote the JSON when it built the index.
                properties: serde_json::from_str(&listed.properties).unwrap_or_default(),
                features: scored.features,
                explanation: scored.explanation,
            }
        });
        ScreenResult {
            results: results.collect(),
            total,
            lists: self.lists.clone(),
            query_params: query.flattened(entity),
        }
    }

    /// Entities that share a weak alias, an identifier or a wallet with the query.
    fn exact_candidates(&self, subject: &Subject) -> FxHashSet<u32> {
        let facts = &subject.facts;
        let aliases = subject
            .names
            .iter()
            .filter_map(|n| self.by_weak_alias.get(&sorted_words(n)));
        let identifiers = facts
            .identifiers
            .iter()
            .filter_map(|(_, v)| self.by_identifier.get(v));
        let wallets = facts.wallets.iter().filter_map(|w| self.by_wallet.get(w));
        aliases
            .chain(identifiers)
            .chain(wallets)
            .flatten()
            .copied()
            .collect()
    }

    /// The names that may score at least `least` against this one.
    fn candidates(
        &self,
        name: &Name,
        least: f32,
        memo: &mut SimilarityCache,
        mut memory: Option<&mut WordMemory>,
    ) -> Vec<u32> {
        let mut covered: FxHashMap<u32, u64> = FxHashMap::default();
        for unit in self.units(name) {
            let known = unit.place.map(|at| &mut memo.0[at]);
            let similar = match (memory.as_deref_mut(), known) {
                // Joined words are seldom the same twice.
                (Some(memory), Some(known)) => {
                    memory.similar_words(&unit.token, name.person, known, |known| {
                        self.words.similar_words(&unit.token, name.person, Some(known))
                    })
                }
                (_, known) => self.words.similar_words(&unit.token, name.person, known),
            };
            for word in similar {
                for id in self.words.names(word) {
                    *covered.entry(*id).or_default() |= unit.covers;
                }
            }
        }
        let mut found: Vec<u32> = covered
            .into_iter()
            .filter(|(_, covers)| best_possible_score(name, *covers) >= least)
            .map(|(id, _)| id)
            .collect();
        if !name.person {
            found.extend(
                name.tokens
                    .iter()
                    .filter_map(|t| self.by_acronym.get(&t.text))
                    .flatten(),
            );
            if let [only] = &name.tokens[..] {
                let words = self.words.with_text(&only.text);
                found.extend(words.iter().flat_map(|w| self.words.names(*w)));
            }
            if !name.acronym.is_empty() {
                let words = self.words.with_text(&name.acronym);
                found.extend(words.iter().flat_map(|w| self.words.names(*w)));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
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
