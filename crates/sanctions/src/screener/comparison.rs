//! What each profile finds for one query, side by side. It decides nothing.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::found::{Added, Found, FoundHit};
use super::ofac_search::{ofac_least, ofac_queries};
use super::{ScreenOptions, Screener, SearchError};
use crate::entity::is_sanctioned;
use crate::profile::Profile;
use crate::query::Query;

/// A listed entity that a profile finds.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedHit {
    /// The entity's id in its list.
    pub id: String,
    /// The name to display.
    pub caption: String,
    /// Whether the entity is sanctioned.
    pub matched: bool,
    /// The datasets that contain the entity.
    pub datasets: Vec<String>,
    /// The score, 0–1, if it reaches the threshold.
    pub standard: Option<f64>,
    /// What the score would be if nothing lowered it ([`Profile::Strict`]), 0–1, if that reaches the threshold.
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
    /// The number of entities whose score is a hit: the standard, the strict one, OFAC's.
    pub totals: [usize; 3],
    /// The score (0–1) from which names are hits.
    pub threshold: f64,
    /// The score (0–100) from which names are hits by OFAC's score.
    pub ofac_least: u8,
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
        // Each of these also finds what the standard does.
        let found = [Profile::Strict, Profile::Ofac].map(|profile| {
            let options = ScreenOptions {
                profile,
                ..options.clone()
            };
            self.search(&entity, &options, None)
        });
        let [strict, _] = &found;
        let of_standard = strict.hits.iter().filter(|hit| hit.added.is_none());
        let standard: FxHashMap<u32, f64> = of_standard.map(|hit| (hit.entity, hit.score)).collect();
        let strict_hits = strict.hits.iter();
        let strict: FxHashMap<u32, f64> = strict_hits
            .map(|hit| (hit.entity, self.strict_score(strict, hit)))
            .collect();
        let least = ofac_least(options.threshold);
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
        let by_ofac = rows.iter().filter(|(_, hit)| hit.ofac >= least).count();
        self.check()?;
        Ok(ProfileComparison {
            total: rows.len(),
            hits: rows.into_iter().map(|(_, hit)| hit).take(options.limit).collect(),
            totals: [standard.len(), strict.len(), by_ofac],
            threshold: options.threshold,
            ofac_least: least,
        })
    }

    fn strict_score(&self, found: &Found, hit: &FoundHit) -> f64 {
        if let Some(Added::Strict(score)) = hit.added.as_deref() {
            return *score;
        }
        let pair = hit.pair.and_then(|pair| found.pairs.get(pair as usize));
        let name = pair.and_then(|pair| self.listed_name(pair));
        let how = (Profile::Strict, false);
        let scored = self.score(&found.subjects, hit.entity, pair.zip(name.as_ref()), how);
        scored.score.max(hit.score)
    }
}
