//! The search of all listed names by OFAC's score. It knows no other score.

use rustc_hash::{FxHashMap, FxHashSet};

use super::found::{Added, FoundHit, OfacMatch};
use super::written_names::WrittenName;
use super::{ScreenOptions, Screener};
use crate::entity::Entity;
use crate::index::Section;
use crate::ofac_score::OfacQuery;
use crate::profile::{OFAC_LEAST_SCORE, Profile};
use crate::score::{self, BestName, PairScore};
use crate::subject::{Subject, full_names};

/// The names of a query that OFAC's search would compare.
pub(super) fn ofac_queries(entity: &Entity) -> Vec<OfacQuery> {
    full_names(entity)
        .iter()
        .filter_map(|name| OfacQuery::new(name))
        .collect()
}

impl Screener {
    fn written_names(&self) -> &[WrittenName] {
        let all = self.file.count::<WrittenName>(Section::WrittenNames);
        self.file.records(Section::WrittenNames, 0..all)
    }

    fn written(&self, name: &WrittenName) -> &str {
        let start = name.text.get() as usize;
        let bytes = self
            .file
            .read(Section::WrittenTexts, start..start + usize::from(name.len.get()));
        std::str::from_utf8(bytes).unwrap_or_else(|_| {
            self.file.damage();
            ""
        })
    }

    /// The entities that OFAC's search would show with so much, `least` over 0, each with its best name.
    pub(super) fn ofac_matches(
        &self,
        entity: &Entity,
        least: u8,
        wants: impl Fn(u32) -> bool,
    ) -> FxHashMap<u32, OfacMatch> {
        let queries = ofac_queries(entity);
        let mut best: FxHashMap<u32, OfacMatch> = FxHashMap::default();
        for name in self.written_names() {
            let number = name.entity.get();
            if let Some(found) = self.ofac_match(&queries, name, least)
                && best.get(&number).is_none_or(|known| found.score > known.score)
                && wants(number)
            {
                best.insert(number, found);
            }
        }
        best
    }

    /// The score that OFAC's search would show for an entity, whatever it is.
    pub(super) fn ofac_score_of(&self, queries: &[OfacQuery], number: u32) -> u8 {
        let names = self.written_names();
        let first = names.partition_point(|name| name.entity.get() < number);
        let names = names[first..]
            .iter()
            .take_while(|name| name.entity.get() == number);
        let scores = names.filter_map(|name| Some(self.ofac_match(queries, name, 1)?.score));
        scores.max().unwrap_or(0)
    }

    fn ofac_match(&self, queries: &[OfacQuery], name: &WrittenName, least: u8) -> Option<OfacMatch> {
        let sketch = name.sketch();
        let mut best: Option<OfacMatch> = None;
        for query in queries {
            let Some(promising) = query.may_reach(sketch, least) else {
                continue;
            };
            let listed = self.written(name);
            let score = query.score_of(listed, promising);
            if score >= least && best.as_ref().is_none_or(|best| score > best.score) {
                best = Some(OfacMatch {
                    score,
                    query: query.form().to_owned(),
                    listed: listed.to_owned(),
                });
            }
        }
        best
    }

    /// Adds the hits that OFAC's search would show beside those that are known.
    pub(super) fn add_ofac_matches(
        &self,
        entity: &Entity,
        options: &ScreenOptions,
        subjects: &[Subject],
        wants: impl Fn(u32) -> bool,
        hits: &mut Vec<FoundHit>,
    ) {
        let known: FxHashSet<u32> = hits.iter().map(|hit| hit.entity).collect();
        let matches = self.ofac_matches(entity, ofac_least(options.threshold), |number| {
            !known.contains(&number) && wants(number)
        });
        hits.extend(matches.into_iter().map(|(number, ofac)| FoundHit {
            score: self.score_of_stated_names(subjects, number, false).score,
            entity: number,
            pair: None,
            added: Some(Box::new(Added::Ofac(ofac))),
        }));
    }

    /// The standard score of an entity by its names as the list states them, whether or not the index finds it.
    pub(super) fn score_of_stated_names(
        &self,
        subjects: &[Subject],
        number: u32,
        explain: bool,
    ) -> PairScore {
        let entity = self.entity(number);
        let listed = Subject::of(&entity.stated_names(), false);
        let mut best: Option<(&Subject, BestName)> = None;
        for subject in subjects {
            if let Some(pair) = score::best_name(&subject.names, &listed.names) {
                let known = best.as_ref().map_or(0.0, |(_, known)| known.comparison.score);
                if pair.comparison.score > known {
                    best = Some((subject, pair));
                }
            }
        }
        let facts = entity.facts();
        let how = (Profile::Standard, explain);
        match best {
            Some((subject, best)) => {
                let name = listed.names[best.candidate].view();
                score::score_subjects(subject, &facts.with_name(Some(&name)), Some(&best), how)
            }
            None => score::score_subjects(&subjects[0], &facts.with_name(None), None, how),
        }
    }
}

/// The score (0–100) from which a name is a hit by OFAC's score.
pub(super) fn ofac_least(threshold: f64) -> u8 {
    let threshold = (threshold * 100.0).ceil().clamp(0.0, 100.0) as u8;
    threshold.max(OFAC_LEAST_SCORE)
}
