//! What a screening is asked for and answers: hits with their scores and reasons, best first.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::entity::{Properties, Schema};
use crate::score::{DEFAULT_THRESHOLD, Explanation};

/// What to search for and how much to answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenOptions {
    /// Lowest score of a hit, 0–1.
    pub threshold: f64,
    /// Most hits answered; `total` counts them all.
    pub limit: usize,
    /// Only entities of one of these datasets; empty for all.
    pub datasets: Vec<String>,
}

impl Default for ScreenOptions {
    fn default() -> ScreenOptions {
        ScreenOptions {
            threshold: DEFAULT_THRESHOLD,
            limit: 20,
            datasets: Vec::new(),
        }
    }
}

/// A listed entity that the query may mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// The entity's id in its list.
    pub id: String,
    /// The name to show.
    pub caption: String,
    /// What it is.
    pub schema: Schema,
    /// 0–1.
    pub score: f64,
    /// Whether the score reaches the threshold asked for; true for every hit answered.
    #[serde(rename = "match")]
    pub matched: bool,
    /// The datasets that list it.
    pub datasets: Vec<String>,
    /// Why it is listed.
    pub topics: Vec<String>,
    /// The authority's programmes.
    pub programs: Vec<String>,
    /// What the list says of it, compared or not; see [`crate::Entity::properties`].
    pub properties: Properties,
    /// What the score is made of; see [`crate::PairScore::features`].
    pub features: BTreeMap<String, f64>,
    /// The same in words, by token.
    pub explanation: Vec<Explanation>,
}

/// How many hits there are; always exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Total {
    /// All hits, answered or not.
    pub value: usize,
    /// `eq`: the value is exact.
    pub relation: &'static str,
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScreenResult {
    /// The best hits first; of equal ones, by id.
    pub results: Vec<Hit>,
    /// How many there are.
    pub total: Total,
    /// The lists searched and their versions.
    pub lists: BTreeMap<String, String>,
    /// The values that were used, flattened.
    pub query_params: BTreeMap<String, String>,
}
