//! Finds the listed entities that a query may concern, scores them and puts them into order. It explains none.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use zerocopy::FromBytes as _;

use super::found::{Added, Found, FoundHit, ReadName};
use super::memory::WordMemory;
use super::pair_bound::{ListedToken, PairBound};
use super::records::{self, Bearer, BornWhen, NameHeader, TokenRecord};
use super::similarities::Similarities;
use super::{ScreenOptions, Screener};
use crate::compare;
use crate::entity::{Entity, PartialDate, Schema, is_sanctioned};
use crate::index::{Section, values};
use crate::name::{Name, NameRef, TokenKind, TokenRef};
use crate::profile::Profile;
use crate::score::{self, BestName, Listed, PairScore};
use crate::subject::{Facts, Qualities, Subject, sorted_words};

/// A listed entity to score.
#[derive(Clone, Copy, Default)]
struct Candidate {
    /// The score of its best pair of names, and which of its names that is.
    score: f32,
    place: u16,
    /// The best pair of names, if one is similar at all, and the bearer of its listed name.
    pair: Option<u32>,
    bearer: u32,
}

/// A bearer of a name that may be a hit.
struct Contender<'a> {
    bearer: &'a Bearer,
    /// Its place among all bearers.
    number: u32,
    /// The score that its name must reach.
    least: f32,
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
    /// Whether entities with a set of datasets are wanted.
    fn wants(&self, datasets: usize) -> bool {
        let wanted = self.wanted.as_ref();
        wanted.is_none_or(|wanted| wanted.get(datasets).copied().unwrap_or(false))
    }
}

/// Scores are rounded.
const ROUNDING: f32 = 0.001;

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
            let facts = &subject.facts;
            for (at, name) in subject.names.iter().enumerate() {
                self.collect_names((reading, at, name), facts, &mut found, memory.as_deref_mut());
            }
        }
        for id in &found.exact {
            let schema = self.entity(*id).schema();
            let is_compatible =
                entity.schema.is_compatible_with(schema) || entity.schema == Schema::CryptoWallet;
            if is_compatible && found.wants(self.entity(*id).dataset_set()) {
                found.candidates.entry(*id).or_default();
            }
        }
        self.scored(subjects, found)
    }

    /// Compares a name with the listed names that resemble it, and collects their bearers.
    fn collect_names(
        &self,
        (reading, query, name): (usize, usize, &Name),
        facts: &Facts,
        found: &mut Collected<'_>,
        memory: Option<&mut WordMemory>,
    ) {
        let least = found.options.threshold as f32 - score::most_gained(facts);
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
                known.is_some_and(|known| *known)
            };
            let first = header.first_bearer.get();
            let bearers = self.bearers(header).iter().zip(first..);
            let contenders = bearers.filter(|(bearer, _)| is_compatible(bearer));
            let contenders =
                contenders.filter_map(|(bearer, number)| self.contender(number, bearer, facts, found));
            let contenders: SmallVec<[Contender<'_>; 4]> = contenders.collect();
            let least = contenders
                .iter()
                .map(|contender| contender.least)
                .fold(f32::INFINITY, f32::min);
            if contenders.is_empty() {
                continue;
            }
            if view.person && header.person != 0 && least > 0.0 {
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
            for Contender {
                bearer,
                number,
                least,
            } in contenders
            {
                if score < least {
                    continue;
                }
                let entity = bearer.entity.get();
                let place = bearer.place.get();
                let known = found.candidates.entry(entity).or_default();
                let of_same_name = known.pair.and_then(|pair| found.pairs.get(pair as usize));
                let is_same_name =
                    of_same_name.is_some_and(|pair| (pair.reading, pair.best.query) == (reading, query));
                let is_earlier = score == known.score && is_same_name && place < known.place;
                // The index has names in the order of their first bearers, which must not matter.
                if score > known.score || is_earlier {
                    *known = Candidate {
                        score,
                        place,
                        pair: Some(pair),
                        bearer: number,
                    };
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

    /// A bearer with the score that the name must reach so that the bearer is a hit; `None` if no name reaches it.
    fn contender<'a>(
        &self,
        number: u32,
        bearer: &'a Bearer,
        facts: &Facts,
        found: &Collected<'_>,
    ) -> Option<Contender<'a>> {
        if !found.wants(bearer.datasets.get() as usize) {
            return None;
        }
        let least = match bearer.born_when() {
            // An exact match is a hit whatever its name.
            _ if found.exact.contains(&bearer.entity.get()) => 0.0,
            // So is everything if no score is too low.
            _ if found.options.threshold <= 0.0 => 0.0,
            BornWhen::Several => found.options.threshold as f32 - score::most_gained(facts) - ROUNDING,
            BornWhen::Unknown => self.least_of(bearer, &[], facts, found),
            BornWhen::Once(date) => self.least_of(bearer, &[date], facts, found),
        };
        (least <= 1.0).then_some(Contender {
            bearer,
            number,
            least,
        })
    }

    fn least_of(
        &self,
        bearer: &Bearer,
        birth_dates: &[PartialDate],
        facts: &Facts,
        found: &Collected<'_>,
    ) -> f32 {
        let added =
            score::most_qualifiers_add(facts, self.qualities(bearer, birth_dates), found.options.profile);
        found.options.threshold as f32 - added - ROUNDING
    }

    fn qualities<'a>(&'a self, bearer: &Bearer, birth_dates: &'a [PartialDate]) -> Qualities<'a> {
        let countries = self.head.sets.get(bearer.countries.get() as usize);
        Qualities {
            birth_dates,
            countries: countries.map_or(&[], Vec::as_slice),
            gender: bearer.gender(),
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
        let names = pair.zip(name.as_ref());
        let how = (Profile::Standard, true);
        match hit.added.as_deref() {
            None => self.score(&found.subjects, hit.entity, names, how),
            Some(Added::Strict(score)) => {
                let scored = self.score(&found.subjects, hit.entity, names, how);
                let compared = scored
                    .explanation
                    .iter()
                    .find(|part| part.feature == "name_match" || part.feature == "weak_alias_match");
                let (query, candidate) = compared.map_or_else(Default::default, |compared| {
                    (compared.query.clone(), compared.candidate.clone())
                });
                scored.with_feature("strict_match", *score, &query, &candidate)
            }
            Some(Added::Ofac(ofac)) => {
                let scored = self.score_of_stated_names(&found.subjects, hit.entity, true);
                let score = f64::from(ofac.score) / 100.0;
                scored.with_feature("ofac_match", score, &ofac.query, &ofac.listed)
            }
        }
    }

    /// The score of a bearer that matches by its name alone; `None` if the entity's facts are needed.
    fn score_of_name(
        &self,
        subjects: &[Subject],
        bearer: u32,
        (pair, name): (&ReadName, &NameRef<'_>),
        profile: Profile,
    ) -> Option<f64> {
        let bearer: &Bearer = self.file.record(Section::Bearers, bearer as usize)?;
        let (known, date);
        let birth_dates: &[PartialDate] = match bearer.born_when() {
            BornWhen::Unknown => &[],
            BornWhen::Once(only) => {
                known = only;
                date = [known];
                &date
            }
            BornWhen::Several => return None,
        };
        let listed = Listed {
            name: Some(name),
            weak_aliases: &[],
            qualities: self.qualities(bearer, birth_dates),
            identifiers: &[],
            wallets: &[],
        };
        let how = (profile, false);
        Some(score::score_subjects(&subjects[pair.reading], &listed, Some(&pair.best), how).score)
    }

    /// The score of a listed entity with its best pair of names.
    pub(super) fn score(
        &self,
        subjects: &[Subject],
        entity: u32,
        pair: Option<(&ReadName, &NameRef<'_>)>,
        how: (Profile, bool),
    ) -> PairScore {
        let listed = self.entity(entity).facts();
        match pair {
            Some((ReadName { reading, best }, name)) => score::score_subjects(
                &subjects[*reading],
                &listed.with_name(Some(name)),
                Some(best),
                how,
            ),
            None => score::score_subjects(&subjects[0], &listed.with_name(None), None, how),
        }
    }

    /// The listed name of a pair of names.
    pub(super) fn listed_name(&self, pair: &ReadName) -> Option<NameRef<'_>> {
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
        let (options, exact, pairs) = (found.options, &found.exact, &found.pairs);
        // Each name is read once.
        let mut candidates: Vec<(Option<u32>, u32, u32)> = found
            .candidates
            .iter()
            .map(|(entity, candidate)| (candidate.pair, *entity, candidate.bearer))
            .collect();
        candidates.sort_unstable();
        let mut hits: Vec<FoundHit> = Vec::new();
        for of_pair in candidates.chunk_by(|a, b| a.0 == b.0) {
            let names = of_pair[0].0.and_then(|pair| pairs.get(pair as usize));
            let listed = names.and_then(|pair| self.listed_name(pair));
            let names = names.zip(listed.as_ref());
            for (pair, entity, bearer) in of_pair {
                let quick = names.filter(|_| !exact.contains(entity));
                let score_by = |profile| {
                    let quick =
                        quick.and_then(|names| self.score_of_name(&subjects, *bearer, names, profile));
                    quick.unwrap_or_else(|| self.score(&subjects, *entity, names, (profile, false)).score)
                };
                let mut hit = FoundHit {
                    score: score_by(Profile::Standard),
                    entity: *entity,
                    pair: *pair,
                    added: None,
                };
                if hit.score < options.threshold {
                    if options.profile != Profile::Strict {
                        continue;
                    }
                    let strict = score_by(Profile::Strict);
                    if strict < options.threshold {
                        continue;
                    }
                    hit.added = Some(Box::new(Added::Strict(strict)));
                }
                hits.push(hit);
            }
        }
        if options.profile == Profile::Ofac {
            let wants = |entity| {
                let listed = self.entity(entity);
                found.entity.schema.is_compatible_with(listed.schema()) && found.wants(listed.dataset_set())
            };
            self.add_ofac_matches(found.entity, options, &subjects, wants, &mut hits);
        }
        // The limit never cuts a match in favour of a politically exposed person, nor a match of the standard in favour of
        // one that a profile adds. Scores have four decimals.
        hits.sort_by_cached_key(|hit| {
            let listed = self.entity(hit.entity);
            let is_match = is_sanctioned(listed.topics());
            let score = (hit.score * 10_000.0).round() as u32;
            let place = (listed.place_by_id(), hit.entity);
            (Reverse(is_match), hit.added.is_some(), Reverse(score), place)
        });
        Found {
            subjects,
            pairs: found.pairs,
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
pub(super) fn readings(entity: &Entity) -> Vec<Subject> {
    match entity.schema {
        Schema::Person => vec![Subject::of(entity, true)],
        Schema::LegalEntity | Schema::Thing => vec![Subject::of(entity, true), Subject::of(entity, false)],
        _ => vec![Subject::of(entity, false)],
    }
}
