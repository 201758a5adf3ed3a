//! An old decision made again, with the labels, the block and the profile of its day, and what came out otherwise.

use chain::labels::Labels;
use chain::profile::Profile;
use chain::query::Query;
use chain::screen::Request;
use serde::Serialize;
use serde_json::{Map, Value, json};
use store::monitoring::Screening;

use super::kept::Evidence;
use super::read;
use crate::app::chain_sources::ChainSources;

/// So many differences are told.
const MOST_CHANGES: usize = 100;
/// Numbers nearer than this are one.
const NEAR: f64 = 1e-9;

/// A decision and what it would be again.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Replay {
    /// Whether score and exposures are the same.
    pub same: bool,
    /// The score then.
    pub score: f64,
    /// The score again; `None` when there was no answer.
    pub score_again: Option<f64>,
    /// Why there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// The labels of which time (ISO 8601).
    pub at: String,
    /// Up to which block; absent where nothing was traced.
    pub as_of_block: Option<u64>,
    /// By which version of the profile.
    pub profile_version: u64,
    /// Members of the exposures that differ, by JSON Pointer, at most a hundred. The label set's version names all labels,
    /// later ones included, and is told although it does not count.
    pub changed: Vec<Change>,
}

/// A member that differs.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Change {
    /// Its JSON Pointer.
    pub member: String,
    /// Then; null: absent.
    pub then: Value,
    /// Again; null: absent.
    pub again: Value,
}

impl Evidence {
    /// By which version of the account's profile it was decided.
    pub(crate) fn profile_version(&self) -> Option<u32> {
        u32::try_from(self.exposures["profileVersion"].as_u64()?).ok()
    }
}

/// Makes a decision again. Reads sources: blocks.
pub(crate) fn replay(
    screening: &Screening,
    evidence: &Evidence,
    profile: &Profile,
    labels: &dyn Labels,
    chains: &ChainSources,
) -> Replay {
    let mut replay = Replay {
        same: false,
        score: evidence.score,
        score_again: None,
        failed: None,
        at: crate::api::time::iso(evidence.at),
        as_of_block: evidence.exposures["asOfBlock"].as_u64(),
        profile_version: evidence.profile_version().unwrap_or_default().into(),
        changed: Vec::new(),
    };
    let Some(query) = asked(screening) else {
        replay.failed = Some("the query cannot be read any more".to_owned());
        return replay;
    };
    let mut request = Request::new(query.currency, query.subject());
    request.at = evidence.at;
    request.as_of_block = replay.as_of_block;
    request.options = profile.options();
    let again = match chains.own(labels, profile, &request) {
        Ok(screen) => screen,
        Err(error) => {
            replay.failed = Some(error.to_string());
            return replay;
        }
    };
    let exposures = serde_json::to_value(again.detail.exposures()).unwrap_or_default();
    replay.score_again = Some(again.score.value());
    differences("", &evidence.exposures, &exposures, &mut replay.changed);
    replay.same = near(evidence.score, again.score.value())
        && replay
            .changed
            .iter()
            .all(|change| change.member == "/labelSetVersion");
    replay.changed.truncate(MOST_CHANGES);
    replay
}

fn asked(screening: &Screening) -> Option<Query> {
    let body: Map<String, Value> = serde_json::from_value(json!({
        "type": screening.kind,
        "query": screening.query,
        "currency": screening.currency,
    }))
    .ok()?;
    read(&body).ok()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= NEAR
}

fn differences(member: &str, then: &Value, again: &Value, found: &mut Vec<Change>) {
    match (then, again) {
        (Value::Object(a), Value::Object(b)) => {
            let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let (a, b) = (a.get(name), b.get(name));
                let of = |value: Option<&Value>| value.cloned().unwrap_or_default();
                differences(&format!("{member}/{name}"), &of(a), &of(b), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (place, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{member}/{place}"), a, b, found);
            }
        }
        (Value::Number(a), Value::Number(b))
            if near(a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default()) => {}
        _ if then == again => {}
        _ => found.push(Change {
            member: member.to_owned(),
            then: then.clone(),
            again: again.clone(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named() {
        let then = json!({"a": 1.0, "b": [1, 2], "c": {"d": "x"}, "e": 5});
        let again = json!({"a": 1.000_000_000_000_1, "b": [1, 3], "c": {"d": "y"}, "f": 6});
        let mut found = Vec::new();
        differences("", &then, &again, &mut found);
        let members: Vec<&str> = found.iter().map(|change| change.member.as_str()).collect();
        assert_eq!(members, ["/b/1", "/c/d", "/e", "/f"]);
        assert_eq!((&found[2].then, &found[2].again), (&json!(5), &Value::Null));
    }
}
