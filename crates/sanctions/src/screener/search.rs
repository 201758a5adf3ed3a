//! Finds the listed entities that a query may concern, scores them and puts them into order. It explains none.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use zerocopy::FromBytes as _;

use super::found::{Found, FoundHit, ReadName};
use super::memory::WordMemory;
use super::pair_bound::{ListedToken, PairBound};
use super::postings::names_with;
use super::records::{self, Bearer, NameHeader, TokenRecord};
use super::similarities::Similarities;
use super::{ScreenOptions, Screener};
use crate::compare;
use crate::entity::{Entity, Schema, is_sanctioned};
use crate::index::{Section, values};
use crate::name::{Name, NameRef, TokenKind, TokenRef};
use crate::score::{self, BestName, MAX_QUALIFIER_GAIN, PairScore};
use crate::subject::{Subject, sorted_words};

/// A listed entity to score.
#[derive(Clone, Copy, Default)]
struct Candidate {
    /// The score of its best pair of names, and which of its names that is.
    score: f32,
    place: u16,
    /// The best pair of names, if one is similar at all.
    pair: Option<u32>,
}

/// A search while it collects what to score.
struct Collected<'a> {
    entity: &'a Entity,
    options: &'a ScreenOptions,
    /// The listed sets of datasets that are wanted; `None`: all.
    wanted: Option<Vec<bool>>,
    /// Entities that share a weak alias, an identifier or a wallet with the query.
    exact: FxHashSet<u32>,
    pairs: Vec<ReadName>,
    candidates: FxHashMap<u32, Candidate>,
}

impl Collected<'_> {
    /// Whether an entity with a name of this score may be a hit. It gains no more than the qualifiers of names give.
    /// Scores are rounded.
    fn may_reach(&self, score: f32) -> bool {
        f64::from(score + MAX_QUALIFIER_GAIN) + 0.001 >= self.options.threshold
    }
}

impl Screener {
    /// The hits of an entity.
    pub(super) fn search(
        &self,
        entity: &Entity,
        options: &ScreenOptions,
        mut memory: Option<&mut WordMemory>,
    ) -> Found {
        let subjects = readings(entity);
        let is_wanted = |set: &Vec<String>| options.datasets.iter().any(|dataset| set.contains(dataset));
        let mut found = Collected {
            entity,
            options,
            wanted: (!options.datasets.is_empty()).then(|| self.head.sets.iter().map(is_wanted).collect()),
            exact: subjects
                .iter()
                .flat_map(|subject| self.exact_candidates(subject))
                .collect(),
            pairs: Vec::new(),
            candidates: FxHashMap::default(),
        };
        for (reading, subject) in subjects.iter().enumerate() {
            let has_dates = !subject.facts.birth_dates.is_empty();
            let least = options.threshold as f32 - if has_dates { MAX_QUALIFIER_GAIN } else { 0.0 };
            for (at, name) in subject.names.iter().enumerate() {
                self.collect_names((reading, at, name), least, &mut found, memory.as_deref_mut());
            }
        }
        for id in &found.exact {
            let schema = self.entity(*id).schema();
            let is_compatible =
                entity.schema.is_compatible_with(schema) || entity.schema == Schema::CryptoWallet;
            if is_compatible && self.is_wanted(&found, *id) {
                found.candidates.entry(*id).or_default();
            }
        }
        self.scored(subjects, found)
    }

    fn is_wanted(&self, found: &Collected<'_>, entity: u32) -> bool {
        let is_wanted = |wanted: &Vec<bool>| wanted.get(self.entity(entity).dataset_set()).copied();
        found
            .wanted
            .as_ref()
            .is_none_or(|wanted| is_wanted(wanted).unwrap_or(false))
    }

    /// Compares a name with the listed names that resemble it, and collects their bearers.
    fn collect_names(
        &self,
        (reading, query, name): (usize, usize, &Name),
        least: f32,
        found: &mut Collected<'_>,
        memory: Option<&mut WordMemory>,
    ) {
        let view = name.view();
        let mut bound = None;
        let mut similarities = Similarities::new(self.words(), name);
        let schemata = records::SCHEMATA.map(|schema| found.entity.schema.is_compatible_with(schema));
        for name_id in self.candidates(name, least, &mut similarities, memory) {
            let Some(header) = self.name_header(name_id) else {
                continue;
            };
            let is_compatible = |bearer: &&Bearer| {
                let known = schemata.get(usize::from(bearer.schema));
                known.is_some_and(|known| *known) && self.is_wanted(found, bearer.entity.get())
            };
            let bearers: SmallVec<[&Bearer; 4]> = self.bearers(header).iter().filter(is_compatible).collect();
            if bearers.is_empty() {
                continue;
            }
            let has_exact = bearers
                .iter()
                .any(|bearer| found.exact.contains(&bearer.entity.get()));
            if view.person && header.person != 0 && least > 0.0 && !has_exact {
                let bound = bound.get_or_insert_with(|| PairBound::new(name.view()));
                let tokens = self.listed_tokens(name_id, header);
                // The comparison finds out what is damaged.
                if !tokens.is_empty() && !bound.may_reach(&tokens, &mut similarities, least) {
                    continue;
                }
            }
            let (candidate, words) = self.name(name_id, header);
            if candidate.tokens.is_empty() {
                continue;
            }
            let person = name.person && candidate.person;
            let comparison = compare::compare_with(&view, &candidate, |i, j| {
                let (a, b) = (&view.tokens[i], &candidate.tokens[j]);
                if a.kind == TokenKind::Word && b.kind == TokenKind::Word && person == name.person {
                    return similarities.of(i, words[j], None);
                }
                compare::token_similarity(a, b, person)
            });
            let (score, pair) = (comparison.score, found.pairs.len() as u32);
            let mut is_used = false;
            for bearer in bearers {
                let entity = bearer.entity.get();
                if !found.may_reach(score) && !found.exact.contains(&entity) {
                    continue;
                }
                let place = bearer.place.get();
                let known = found.candidates.entry(entity).or_default();
                let of_same_name = known.pair.and_then(|pair| found.pairs.get(pair as usize));
                let is_same_name =
                    of_same_name.is_some_and(|pair| (pair.reading, pair.best.query) == (reading, query));
                let is_earlier = score == known.score && is_same_name && place < known.place;
                // The index has names in the order of their first bearers, which must not matter.
                if score > known.score || is_earlier {
                    (known.score, known.place, known.pair) = (score, place, Some(pair));
                    is_used = true;
                }
            }
            if is_used {
                let best = BestName {
                    comparison,
                    query,
                    candidate: name_id as usize,
                };
                found.pairs.push(ReadName { reading, best });
            }
        }
    }

    fn bearers(&self, header: &NameHeader) -> &[Bearer] {
        let first = header.first_bearer.get() as usize;
        self.file
            .records(Section::Bearers, first..first + header.bearers.get() as usize)
    }

    /// What the index knows of the tokens of a listed name before their letters; nothing if the index is damaged.
    pub(super) fn listed_tokens(&self, name: u32, header: &NameHeader) -> SmallVec<[ListedToken<'_>; 8]> {
        let words = self.words();
        let listed_token = |record: &TokenRecord| {
            let style = self.head.styles.get(usize::from(record.style.get()))?;
            let word = record.word.get();
            Some(ListedToken {
                word,
                kind: records::kind(style.kind)?,
                style,
                shape: words.shape(word)?,
            })
        };
        let records = self.tokens(name, header);
        let tokens: SmallVec<[ListedToken<'_>; 8]> = records.iter().filter_map(listed_token).collect();
        // A bound has one bit for each token; names have fewer.
        if tokens.len() == records.len() && tokens.len() <= u64::BITS as usize {
            tokens
        } else {
            SmallVec::new()
        }
    }

    /// Explains the score of a hit.
    pub(super) fn explained(&self, found: &Found, hit: &FoundHit) -> PairScore {
        let pair = hit.pair.and_then(|pair| found.pairs.get(pair as usize));
        let name = pair.and_then(|pair| self.listed_name(pair));
        self.score(&found.subjects, hit.entity, pair.zip(name.as_ref()), true)
    }

    /// The score of a listed entity with its best pair of names.
    fn score(
        &self,
        subjects: &[Subject],
        entity: u32,
        pair: Option<(&ReadName, &NameRef<'_>)>,
        explain: bool,
    ) -> PairScore {
        let listed = self.entity(entity).facts();
        match pair {
            Some((ReadName { reading, best }, name)) => score::score_subjects(
                &subjects[*reading],
                &listed.with_name(Some(name)),
                Some(best),
                explain,
            ),
            None => score::score_subjects(&subjects[0], &listed.with_name(None), None, explain),
        }
    }

    /// The listed name of a pair of names.
    fn listed_name(&self, pair: &ReadName) -> Option<NameRef<'_>> {
        let best = &pair.best;
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
        name
    }

    fn scored(&self, subjects: Vec<Subject>, found: Collected<'_>) -> Found {
        let Collected {
            options,
            pairs,
            candidates,
            ..
        } = found;
        // Each name is read once.
        let mut candidates: Vec<(Option<u32>, u32)> = candidates
            .into_iter()
            .map(|(entity, candidate)| (candidate.pair, entity))
            .collect();
        candidates.sort_unstable();
        let mut hits: Vec<FoundHit> = Vec::new();
        for of_pair in candidates.chunk_by(|a, b| a.0 == b.0) {
            let names = of_pair[0].0.and_then(|pair| pairs.get(pair as usize));
            let listed = names.and_then(|pair| self.listed_name(pair));
            let names = names.zip(listed.as_ref());
            for (pair, entity) in of_pair {
                let score = self.score(&subjects, *entity, names, false).score;
                if score >= options.threshold {
                    hits.push(FoundHit {
                        score,
                        entity: *entity,
                        pair: *pair,
                    });
                }
            }
        }
        // The limit never cuts a match in favour of a politically exposed person. Scores have four decimals.
        hits.sort_by_cached_key(|FoundHit { score, entity, .. }| {
            let listed = self.entity(*entity);
            let (is_match, score) = (is_sanctioned(listed.topics()), (score * 10_000.0).round() as u32);
            (Reverse(is_match), Reverse(score), listed.id(), *entity)
        });
        Found {
            subjects,
            pairs,
            hits,
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
        similarities: &mut Similarities<'_>,
        mut memory: Option<&mut WordMemory>,
    ) -> Vec<u32> {
        let words = self.words();
        let mut units: Vec<(u64, Vec<u32>)> = Vec::new();
        for unit in self.units(name) {
            let known = unit.place.map(|at| similarities.known(at));
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
        // A listed initial stands for any word that begins with it, but finds no name alone.
        let letters = name.tokens.iter().enumerate().filter_map(|(at, token)| {
            let letter = token.text.get(..1).filter(|_| token.kind == TokenKind::Word)?;
            Some((1 << at, words.initials(letter).collect()))
        });
        let initials: Vec<(u64, Vec<u32>)> = letters.collect();
        let mut found = names_with(words, name, least, &units, &initials);
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
            found.sort_unstable();
            found.dedup();
        }
        found
    }

    pub(super) fn name_header(&self, name: u32) -> Option<&NameHeader> {
        let at = name as usize;
        NameHeader::ref_from_bytes(self.file.read(Section::Names, at..at + size_of::<NameHeader>())).ok()
    }

    /// The tokens of a listed name.
    fn tokens(&self, name: u32, header: &NameHeader) -> &[TokenRecord] {
        let [tokens, _, _] = header.parts(name as usize);
        <[TokenRecord]>::ref_from_bytes(self.file.read(Section::Names, tokens)).unwrap_or_default()
    }

    /// A listed name and the dictionary's word of each of its tokens.
    fn name<'a>(&'a self, name: u32, header: &NameHeader) -> (NameRef<'a>, SmallVec<[u32; 8]>) {
        let [_, forms, acronym] = header
            .parts(name as usize)
            .map(|range| self.file.read(Section::Names, range));
        let words = self.words();
        let records = self.tokens(name, header);
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

/// The ways to read the query's names: as a person's, as an organisation's, or both if its schema allows
/// either.
fn readings(entity: &Entity) -> Vec<Subject> {
    match entity.schema {
        Schema::Person => vec![Subject::of(entity, true)],
        Schema::LegalEntity | Schema::Thing => vec![Subject::of(entity, true), Subject::of(entity, false)],
        _ => vec![Subject::of(entity, false)],
    }
}
