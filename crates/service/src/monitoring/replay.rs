//! Replays a stored decision with the labels, the block and the profile of its day, and reports the
//! differences. The command line and the portal both use this module.

use std::sync::Arc;

use chain::labels::Labels;
use chain::profile::Profile;
use chain::query::Query;
use chain::score::{Request, Screen, screen_labels};
use chain::source::SourceError;
use chain_sources::sources::ChainSources;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use store::monitoring::Screening;
use store::{Conn, Scope};

use super::replay_error::ReplayError;
use super::stored_screenings::{BY_LABELS, Evidence};
use super::{ReadProfileError, profile, read};
use crate::App;
use crate::caller::Caller;
use crate::labels::AccountLabels;
use crate::merchants;
use crate::problem::Problem;

/// The maximum number of reported differences.
const MOST_CHANGES: usize = 100;
/// Numbers that differ by no more than this count as equal.
const NEAR: f64 = 1e-9;
/// Members that describe the source and the current knowledge, not the result. They are reported but do not
/// count as differences. Tokens do not affect the score.
const REPORTED_ONLY: [&str; 3] = [
    "/labelSetVersion",
    "/source",
    "/coverage/tokenTransfersIncomplete",
];
/// Members that describe how fresh the source was when it was queried. They are ignored, because they cannot
/// be compared later.
const FRESHNESS_MEMBERS: [&str; 2] = ["/asOfTime", "/coverage/stale"];

/// A decision and its replay.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// Whether score and exposures are the same.
    pub same: bool,
    /// The original score.
    pub score: f64,
    /// The replayed score; `None` if the replay failed.
    pub score_again: Option<f64>,
    /// Why the replay failed.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_words")]
    pub failed: Option<ReplayError>,
    /// The time whose labels were used (ISO 8601).
    pub at: String,
    /// The block up to which money was followed; absent if nothing was traced.
    pub as_of_block: Option<u64>,
    /// Why the source gave no answer originally, as a word, if only labels decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_failed: Option<String>,
    /// The profile's version.
    pub profile_version: u32,
    /// Members of the exposures that differ, by JSON Pointer, at most a hundred. They include members that do
    /// not count: the label set's version, which names later labels too, and the chain's source.
    pub changed: Vec<Change>,
}

fn in_words<S: serde::Serializer>(failed: &Option<ReplayError>, serializer: S) -> Result<S::Ok, S::Error> {
    match failed {
        Some(reason) => serializer.collect_str(reason),
        None => serializer.serialize_none(),
    }
}

/// A member that differs.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Its JSON Pointer.
    pub member: String,
    /// The original value; null: absent.
    pub then: Value,
    /// The replayed value; null: absent.
    pub again: Value,
}

/// A stored decision with its evidence and profile.
pub struct Decision {
    screening: Screening,
    evidence: Evidence,
    profile: Profile,
}

impl Decision {
    /// Reads the evidence of a screening's score, and the profile of its day.
    ///
    /// # Errors
    /// When the store fails. The inner error: why it cannot be replayed.
    pub async fn read(
        conn: &mut Conn,
        scope: Scope,
        screening: Screening,
    ) -> Result<Result<Decision, ReplayError>, store::Error> {
        let evidence = match Evidence::read(conn, scope, &screening).await? {
            Ok(evidence) => evidence,
            Err(reason) => return Ok(Err(reason)),
        };
        let kept = profile(conn, scope.merchant_id, evidence.profile_version()).await;
        Ok(match kept {
            Ok(Some(profile)) => Ok(Decision {
                screening,
                evidence,
                profile,
            }),
            Ok(None) => Err(ReplayError::ProfileGone),
            Err(ReadProfileError::Unreadable(_)) => Err(ReplayError::ProfileUnreadable),
            Err(ReadProfileError::Store(error)) => return Err(error),
        })
    }

    /// The chain.
    pub fn currency(&self) -> &str {
        &self.screening.currency
    }

    /// Whether money was followed, so that a replay needs a source.
    pub fn is_traced(&self) -> bool {
        self.evidence.source() != BY_LABELS
    }

    /// Replays the decision. Reads sources, so it blocks.
    pub fn replay(&self, labels: Result<&dyn Labels, String>, chains: &ChainSources) -> Replay {
        let mut replay = Replay {
            same: false,
            score: self.evidence.score,
            score_again: None,
            failed: None,
            at: crate::time::iso(self.evidence.at),
            as_of_block: self.evidence.block(),
            source_failed: self.screening.failure.clone(),
            profile_version: self.profile.version,
            changed: Vec::new(),
        };
        let screened = labels
            .map_err(ReplayError::NoLabels)
            .and_then(|labels| self.screen(labels, chains));
        match screened {
            Ok(screen) => replay.compare(&self.evidence, &screen),
            Err(reason) => replay.failed = Some(reason),
        }
        replay
    }

    fn screen(&self, labels: &dyn Labels, chains: &ChainSources) -> Result<Screen, ReplayError> {
        let query = stored_query(&self.screening).ok_or(ReplayError::Unreadable)?;
        let mut request = Request::new(query.currency, query.subject());
        request.at = self.evidence.at;
        request.as_of_block = self.evidence.block();
        request.options = self.profile.options();
        if !self.is_traced() {
            // No source was queried, or it failed (`Screening::failed`). Its current answer would make
            // another decision.
            return Ok(screen_labels(labels, &self.profile, &request));
        }
        let gone = || ReplayError::SourceGone(self.evidence.source().to_owned());
        let screen = match chains.own(labels, &self.profile, &request) {
            Err(SourceError::NotFound) => return Err(gone()),
            screen => screen?,
        };
        match (&screen.failed, screen.detail.exposures().as_of_block) {
            // Labels replaced a source that failed or that no longer exists.
            (Some(SourceError::NotFound), _) | (None, None) => Err(gone()),
            (Some(failed), _) => Err(failed.clone().into()),
            (None, Some(block)) if Some(block) < request.as_of_block => Err(ReplayError::Behind(block)),
            (None, Some(_)) => Ok(screen),
        }
    }
}

impl Replay {
    fn compare(&mut self, then: &Evidence, again: &Screen) {
        let exposures = serde_json::to_value(again.detail.exposures()).unwrap_or_default();
        let score = again.score.value();
        self.score_again = Some(score);
        differences("", &then.exposures, &exposures, &mut self.changed);
        self.changed
            .retain(|change| !FRESHNESS_MEMBERS.contains(&change.member.as_str()));
        let counts = |change: &Change| !REPORTED_ONLY.contains(&change.member.as_str());
        self.same = near(then.score, score) && !self.changed.iter().any(counts);
        self.changed.truncate(MOST_CHANGES);
    }
}

/// Replays a stored screening within the limits of new screenings, on the server with the graphs. The inner
/// error: why it cannot be replayed.
///
/// # Errors
/// 503 if too many screenings are under way; when the store fails.
pub async fn replay_screening(
    app: &Arc<App>,
    caller: &Caller,
    screening: Screening,
) -> Result<Result<Replay, ReplayError>, Problem> {
    let decision = match Decision::read(&mut app.db.read().await?, caller.scope, screening).await? {
        Ok(decision) => decision,
        Err(reason) => return Ok(Err(reason)),
    };
    let permit = app.screenings.permit().await?;
    let (app, scope) = (Arc::clone(app), caller.scope);
    let settings = merchants::settings(&caller.merchant)?;
    // If the lists are unusable, the labels below return the error.
    let _ = app.lists.confirm(&app.db).await;
    let replayed = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let labels = AccountLabels::for_past_day(&app.labels, &app.lists, scope, &settings);
        let labels = labels.as_ref().map(|labels| labels as &dyn Labels);
        decision.replay(labels.map_err(ToString::to_string), &app.chains)
    });
    replayed.await.map(Ok).map_err(Problem::internal)
}

fn stored_query(screening: &Screening) -> Option<Query> {
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
