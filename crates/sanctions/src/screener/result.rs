//! The options and the result of a screening: hits with scores and explanations, best first.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::entity::{Properties, Schema};
use crate::index::IndexDamaged;
use crate::profile::Profile;
use crate::query::QueryError;
use crate::score::{DEFAULT_THRESHOLD, Explanation};

/// Why a search gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The query is refused.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The lists cannot be searched now.
    #[error(transparent)]
    Index(#[from] IndexDamaged),
}

/// The options of a screening.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenOptions {
    /// Minimum score of a hit, 0–1.
    pub threshold: f64,
    /// Maximum number of hits in the result. `total` counts all hits.
    pub limit: usize,
    /// Datasets to search; empty for all.
    pub datasets: Vec<String>,
    /// Which entries are hits.
    pub profile: Profile,
}

impl Default for ScreenOptions {
    fn default() -> ScreenOptions {
        ScreenOptions {
            threshold: DEFAULT_THRESHOLD,
            limit: 20,
            datasets: Vec::new(),
            profile: Profile::Standard,
        }
    }
}

/// A listed entity that the query may mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// The entity's id in its list.
    pub id: String,
    /// The name to display.
    pub caption: String,
    /// The kind of subject.
    pub schema: Schema,
    /// The score, 0–1.
    pub score: f64,
    /// Whether the hit flags the subject: the entity is sanctioned ([`is_sanctioned`](crate::entity::is_sanctioned)).
    #[serde(rename = "match")]
    pub matched: bool,
    /// The datasets that contain the entity.
    pub datasets: Vec<String>,
    /// Why the entity is listed.
    pub topics: Vec<String>,
    /// The authority's programmes.
    pub programs: Vec<String>,
    /// The list's data about the entity; see [`crate::Entity::properties`].
    pub properties: Properties,
    /// The parts of the score; see [`crate::PairScore::features`].
    pub features: BTreeMap<String, f64>,
    /// The same parts with the compared values and tokens.
    pub explanation: Vec<Explanation>,
}

/// The number of hits, always exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Total {
    /// All hits, including those beyond the limit.
    pub value: usize,
    /// `eq`: the value is exact.
    pub relation: &'static str,
}

/// The result of a screening.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScreenResult {
    /// The hits: matches first, each kind by falling score; equal scores are sorted by id.
    pub results: Vec<Hit>,
    /// The number of hits.
    pub total: Total,
    /// Versions of the lists that were searched, by name.
    pub lists: BTreeMap<String, String>,
    /// The flattened query values that were searched.
    pub query_params: BTreeMap<String, String>,
}
