//! The search of all listed names by OFAC's score. It knows no other score.

use rustc_hash::FxHashMap;

use super::Screener;
use super::found::OfacMatch;
use super::written_names::WrittenName;
use crate::entity::{Entity, Schema};
use crate::index::Section;
use crate::ofac_score::OfacQuery;
use crate::subject::full_names;

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

    /// Whether an entity is of a kind that the query may mean.
    pub(super) fn is_compatible(&self, schema: Schema, number: u32) -> bool {
        schema.is_compatible_with(self.entity(number).schema())
    }
}
