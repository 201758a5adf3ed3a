//! What each profile finds for one query, side by side. It decides nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::found::Found;
use super::ofac_search::ofac_queries;
use super::search::ofac_least;
use super::{ScreenOptions, Screener, SearchError};
use crate::entity::{Schema, is_sanctioned};
use crate::profile::Profile;
use crate::query::Query;

/// A listed entity that a profile finds.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedHit {
    /// The entity's id in its list.
    pub id: String,
    /// The name to display.
    pub caption: String,
    /// The kind of subject.
    pub schema: Schema,
    /// Whether the entity is sanctioned.
    pub matched: bool,
    /// The datasets that contain the entity.
    pub datasets: Vec<String>,
    /// The score of [`Profile::Standard`], 0–1; `None`: it is below the threshold.
    pub standard: Option<f64>,
    /// The score of [`Profile::Strict`], 0–1; `None`: it is below the threshold.
    pub strict: Option<f64>,
    /// The score that OFAC's search would show, 0–100, whether or not it is a hit.
    pub ofac: u8,
}

/// What the profiles find for one query.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileComparison {
    /// What any profile finds: sanctioned entities first, then by the greatest of their scores.
    pub hits: Vec<ComparedHit>,
    /// The number of entities that any profile finds, also beyond the limit.
    pub total: usize,
    /// The number of hits of each profile, in the order of [`Profile::ALL`].
    pub totals: [usize; Profile::ALL.len()],
    /// The score (0–1) from which names are hits.
    pub threshold: f64,
    /// The score (0–100) from which names are hits by OFAC's score.
    pub ofac_least: u8,
    /// Versions of the lists that were searched, by name.
    pub lists: BTreeMap<String, String>,
}

impl Screener {
    /// Screens one query by each profile. The profile of the options does not count.
    ///
    /// # Errors
    /// As [`Screener::screen`].
    pub fn compare_profiles(
        &self,
        query: &Query,
        options: &ScreenOptions,
    ) -> Result<ProfileComparison, SearchError> {
        let entity = query.to_entity()?;
        let found = Profile::ALL.map(|profile| {
            let options = ScreenOptions {
                profile,
                ..options.clone()
            };
            self.search(&entity, &options, None)
        });
        let totals = [0, 1, 2].map(|at| found.get(at).map_or(0, |found: &Found| found.hits.len()));
        let [standard, strict, _] = [0, 1, 2].map(|at| {
            let hits = found.get(at).into_iter().flat_map(|found| &found.hits);
            hits.map(|hit| (hit.entity, hit.score))
                .collect::<FxHashMap<u32, f64>>()
        });
        let entities: BTreeSet<u32> = found
            .iter()
            .flat_map(|found| &found.hits)
            .map(|hit| hit.entity)
            .collect();
        let queries = ofac_queries(&entity);
        let mut rows: Vec<(u32, ComparedHit)> = Vec::with_capacity(entities.len());
        for number in entities {
            let listed = self.entity(number);
            rows.push((
                listed.place_by_id(),
                ComparedHit {
                    id: listed.id().to_owned(),
                    caption: listed.caption().to_owned(),
                    schema: listed.schema(),
                    matched: is_sanctioned(listed.topics()),
                    datasets: listed.datasets().to_vec(),
                    standard: standard.get(&number).copied(),
                    strict: strict.get(&number).copied(),
                    ofac: self.ofac_score_of(&queries, number),
                },
            ));
        }
        let best = |hit: &ComparedHit| {
            let scores = [hit.standard, hit.strict, Some(f64::from(hit.ofac) / 100.0)];
            (scores.into_iter().flatten().fold(0.0, f64::max) * 10_000.0).round() as u32
        };
        rows.sort_by_cached_key(|(place, hit)| (Reverse(hit.matched), Reverse(best(hit)), *place));
        self.check()?;
        Ok(ProfileComparison {
            total: rows.len(),
            hits: rows.into_iter().map(|(_, hit)| hit).take(options.limit).collect(),
            totals,
            threshold: options.threshold,
            ofac_least: ofac_least(options.threshold),
            lists: self.head.lists.clone(),
        })
    }
}
