//! Types of sanctions screening: the hits of a list search, as responses contain them and as they are read
//! back from stored responses.
//!
//! A hit without a deciding member (`id`, `match`, `score`, `datasets`) is refused, because a default would
//! clear a person. This module searches nothing; [`crate::suppression`] decides which hits count.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::name_source::{FurtherName, MatchedName};

/// The outcome of sanctions screening.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Screening {
    /// Hits: matches first, each kind by falling score.
    pub results: Vec<ScreeningHit>,
    /// Number of hits, including those beyond [`Screening::results`].
    pub total: usize,
    /// Whether any hit is a match, including hits beyond [`Screening::results`].
    pub matched: bool,
    /// The flattened query values that were searched.
    pub query_params: BTreeMap<String, String>,
    /// Versions of the lists by name.
    pub lists: BTreeMap<String, String>,
    /// The names that were searched in addition to the submitted one.
    pub further_names: Vec<FurtherName>,
}

impl Screening {
    /// Whether the person is flagged (2702).
    #[must_use]
    pub fn is_match(&self) -> bool {
        self.matched || self.results.iter().any(|hit| hit.matched)
    }

    /// Hits that are counted in [`Screening::total`] but not contained in [`Screening::results`].
    #[must_use]
    pub fn unlisted(&self) -> usize {
        self.total.saturating_sub(self.results.len())
    }
}

/// One element of `kycResults.results`: a list entry that resembles the person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScreeningHit {
    /// The entry's id in its list.
    pub id: String,
    /// The entry's name.
    pub caption: String,
    /// The entry's FollowTheMoney schema, such as `Person`.
    pub schema: String,
    /// Similarity of entry and person, 0–1.
    #[serde(deserialize_with = "score")]
    pub score: f64,
    /// Whether the hit flags the person (2702).
    #[serde(rename = "match")]
    pub matched: bool,
    /// The lists that contain the entry.
    pub datasets: Vec<String>,
    /// Why the entry is listed, such as `sanction`. This and all following members are absent from a hit that
    /// a sandbox submission forces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topics: Option<Vec<String>>,
    /// The authority's programmes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<Vec<String>>,
    /// Everything that the list states about the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<BTreeMap<String, Vec<String>>>,
    /// The parts of the score by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<BTreeMap<String, f64>>,
    /// The parts of the score with the values that were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Vec<Explanation>>,
    /// Every name that found the entry. Empty for hits that older versions recorded.
    #[serde(default, rename = "matchedNames", skip_serializing_if = "Vec::is_empty")]
    pub matched_names: Vec<MatchedName>,
}

/// One part of a hit's score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The part's name, as in [`ScreeningHit::features`].
    pub feature: String,
    /// The part's contribution to the score.
    pub score: f64,
    /// The person's value.
    pub query: String,
    /// The entry's value.
    pub candidate: String,
    /// For names: the words that correspond to each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<TokenMatch>,
}

/// Words of the person's name and the words of the entry's name that correspond to them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenMatch {
    /// The person's words; empty if the entry's words have no counterpart.
    pub query: String,
    /// The entry's words; empty if the person's words have no counterpart.
    pub candidate: String,
    /// Similarity of the words, 0–1.
    pub similarity: f64,
}

impl ScreeningHit {
    /// The hit of a match that a sandbox submission forces.
    pub(crate) fn forced() -> Self {
        Self {
            id: "sandbox-2702".into(),
            caption: "SANDBOX-2702".into(),
            schema: "Person".into(),
            score: 1.0,
            matched: true,
            datasets: vec!["sandbox".into()],
            topics: None,
            programs: None,
            properties: None,
            features: None,
            explanation: None,
            matched_names: Vec::new(),
        }
    }

    /// Why the entry is listed; empty if the list states nothing.
    #[must_use]
    pub fn topics(&self) -> &[String] {
        self.topics.as_deref().unwrap_or_default()
    }

    /// The list's values of a property; empty if the list states nothing.
    #[must_use]
    pub fn property(&self, name: &str) -> &[String] {
        let values = self.properties.as_ref().and_then(|all| all.get(name));
        values.map_or(&[], Vec::as_slice)
    }
}

fn score<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let score = f64::deserialize(deserializer)?;
    match (0.0..=1.0).contains(&score) {
        true => Ok(score),
        false => Err(serde::de::Error::custom("the score is not between 0 and 1")),
    }
}

/// `kycResults.status`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KycStatus {
    /// No hit flags the person.
    Clear,
    /// A hit flags the person (2702).
    Match,
}

/// `kycResults` in a stored response.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredScreening {
    /// The outcome that the response reported.
    pub status: KycStatus,
    /// Hits: matches first, each kind by falling score.
    pub results: Vec<ScreeningHit>,
    /// Number of hits, including those beyond [`StoredScreening::results`].
    #[serde(deserialize_with = "count")]
    pub total: usize,
    /// The flattened query values that were searched.
    #[serde(default)]
    pub query_params: BTreeMap<String, String>,
    /// Versions of the lists by name.
    #[serde(default)]
    pub lists: BTreeMap<String, String>,
    /// The names that were searched in addition to the submitted one.
    #[serde(default)]
    pub further_names: Vec<FurtherName>,
}

fn count<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    #[derive(Deserialize)]
    struct Total {
        value: usize,
    }
    Total::deserialize(deserializer).map(|total| total.value)
}

/// The screening in a stored response cannot be read. The text contains no value of the response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the screening in the stored response cannot be read: {0}")]
pub struct UnreadableScreening(String);

impl StoredScreening {
    /// Reads the screening from a stored response's JSON.
    ///
    /// # Errors
    /// [`UnreadableScreening`] if the response or a hit cannot be read, or if the status contradicts the
    /// hits.
    pub fn of_response(response: &str) -> Result<Self, UnreadableScreening> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Response {
            kyc_results: StoredScreening,
        }
        let Response { kyc_results: read } = serde_json::from_str(response)
            .map_err(|error| UnreadableScreening(crate::json::describe_without_values(&error)))?;
        let contradicts = match read.status {
            KycStatus::Clear => read.results.iter().any(|hit| hit.matched),
            KycStatus::Match => read.results.is_empty(),
        };
        match contradicts || read.total < read.results.len() {
            true => Err(UnreadableScreening(
                "its status or total contradicts its hits".into(),
            )),
            false => Ok(read),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A hit with the members that decide.
    pub(crate) fn hit(id: &str, datasets: &[&str], score: f64) -> ScreeningHit {
        ScreeningHit {
            id: id.into(),
            caption: "Ada Quill".into(),
            schema: "Person".into(),
            score,
            matched: true,
            datasets: datasets.iter().map(|&name| name.into()).collect(),
            topics: None,
            programs: None,
            properties: None,
            features: None,
            explanation: None,
            matched_names: Vec::new(),
        }
    }

    fn whole() -> Value {
        json!({
            "id": "ofac-36", "caption": "QUILL, Ada", "schema": "Person", "score": 0.8124, "match": true,
            "datasets": ["us_ofac_sdn"], "topics": ["sanction"], "programs": [], "properties": {"birthDate": ["1950"]},
            "features": {"name_match": 1.0},
            "explanation": [
                {"feature": "name_match", "score": 0.9, "query": "ada quill", "candidate": "quill ada",
                    "tokens": [{"query": "ada", "candidate": "ada", "similarity": 1.0}]},
                {"feature": "country_mismatch", "score": -0.2, "query": "de", "candidate": "cu"}],
        })
    }

    #[test]
    fn a_hit_is_written_as_it_was_read() {
        let short = json!({"id": "sandbox-2702", "caption": "SANDBOX-2702", "schema": "Person", "score": 1.0,
            "match": true, "datasets": ["sandbox"]});
        for written in [whole(), short] {
            let text = written.to_string();
            let hit: ScreeningHit = serde_json::from_str(&text).expect("a hit");
            assert_eq!(serde_json::to_string(&hit).expect("JSON"), text);
        }
    }

    #[test]
    fn a_hit_without_a_deciding_member_is_refused() {
        for member in ["id", "match", "score", "datasets", "caption", "schema"] {
            let mut hit = whole();
            hit.as_object_mut().expect("an object").remove(member);
            assert!(serde_json::from_value::<ScreeningHit>(hit).is_err(), "{member}");
        }
        for (member, value) in [
            ("match", json!("true")),
            ("match", Value::Null),
            ("score", json!("0.9")),
            ("score", json!(1.5)),
            ("score", json!(-0.1)),
            ("datasets", json!("us_ofac_sdn")),
            ("datasets", Value::Null),
            ("id", json!(36)),
            ("topics", json!("sanction")),
            ("explanation", json!([{"feature": "name_match"}])),
        ] {
            let mut hit = whole();
            hit[member] = value.clone();
            assert!(
                serde_json::from_value::<ScreeningHit>(hit).is_err(),
                "{member}: {value}"
            );
        }
        let mut newer = whole();
        newer["matchedName"] = json!("Ada Quill");
        assert!(
            serde_json::from_value::<ScreeningHit>(newer).is_ok(),
            "of a newer version"
        );
    }

    #[test]
    fn a_stored_response_is_read_or_refused() {
        let response = |status: &str, results: Value, total: Value| {
            json!({"success": true, "kycResults": {"status": status, "results": results, "total": total,
                "queryParams": {"name": "Ada Quill"}, "lists": {"demo": "1"}}})
            .to_string()
        };
        let total = |value: usize| json!({"value": value, "relation": "eq"});
        let mut possible = whole();
        possible["match"] = json!(false);
        for (what, response, hits) in [
            ("clear", response("clear", json!([]), total(0)), 0),
            ("a match", response("match", json!([whole()]), total(1)), 1),
            (
                "more than listed",
                response("match", json!([whole()]), total(30)),
                1,
            ),
            (
                "a hit that flags nobody",
                response("clear", json!([possible]), total(1)),
                1,
            ),
        ] {
            let read = StoredScreening::of_response(&response).expect(what);
            assert_eq!(read.results.len(), hits, "{what}");
        }
        let mut renamed = whole();
        let hit = renamed.as_object_mut().expect("an object");
        hit.remove("match");
        hit.insert("isMatch".into(), json!(true));
        let cut = response("match", json!([whole()]), total(1));
        for (what, response) in [
            ("nothing", String::new()),
            ("an empty object", "{}".into()),
            ("cut off", cut[..cut.len() - 40].into()),
            ("a renamed member", response("match", json!([renamed]), total(1))),
            (
                "no results",
                r#"{"kycResults":{"status":"clear","total":{"value":0}}}"#.into(),
            ),
            ("results that are null", response("clear", Value::Null, total(0))),
            ("an unknown status", response("cleared", json!([]), total(0))),
            (
                "a status that the hits contradict",
                response("clear", json!([whole()]), total(1)),
            ),
            ("a match without a hit", response("match", json!([]), total(0))),
            (
                "fewer hits than listed",
                response("match", json!([whole()]), total(0)),
            ),
            ("no total", response("match", json!([whole()]), Value::Null)),
        ] {
            let error = StoredScreening::of_response(&response)
                .expect_err(what)
                .to_string();
            assert!(
                !error.contains("Quill") && !error.contains("QUILL"),
                "{what}: {error}"
            );
        }
    }
}
