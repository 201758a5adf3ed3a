//! Replays an old decision at a form's request. The result is shown once on the screening's page and recorded
//! in the audit trail.

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http_server::error::Rejection;
use http_server::path::PathText;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::monitoring::{self, Change, Replay, ReplayError};
use service::permissions::Action;
use service::rates;
use service::{Shared, audit_trail};
use store::audit::Entry;

use super::super::page::Page;
use super::super::session::Member;
use super::super::show_once;
use super::formatting::{one_digit, plain};
use super::lookup::find;

/// The result of a replay as the page shows it.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct ReplayResult {
    /// When the decision was replayed (ms).
    pub made_at: i64,
    /// Why it could not be replayed, in the reader's language. If empty, the replay succeeded and the other
    /// fields apply.
    pub failed: String,
    /// Whether the replay gave the same result.
    pub same: bool,
    /// The original score.
    pub score: f64,
    /// The score of the replay.
    pub score_again: f64,
    /// The last block that was considered.
    pub as_of_block: Option<u64>,
    /// The version of the scoring profile.
    pub profile_version: u32,
    /// The differences.
    pub changed: Vec<Change>,
}

impl ReplayResult {
    fn failed(page: &Page, reason: &ReplayError) -> ReplayResult {
        ReplayResult {
            made_at: page.now(),
            failed: obstacle_text(page, reason),
            ..ReplayResult::default()
        }
    }

    fn of(page: &Page, replay: Replay) -> ReplayResult {
        ReplayResult {
            made_at: page.now(),
            failed: String::new(),
            same: replay.same,
            score: replay.score,
            score_again: replay.score_again.unwrap_or_default(),
            as_of_block: replay.as_of_block,
            profile_version: replay.profile_version,
            changed: replay.changed,
        }
    }

    /// Both scores, with enough digits to distinguish them.
    pub(super) fn scores(&self) -> (String, String) {
        match (one_digit(self.score), one_digit(self.score_again)) {
            (then, again) if self.same || then != again => (then, again),
            _ => (self.score.to_string(), self.score_again.to_string()),
        }
    }
}

/// Why a decision cannot be replayed, in the reader's language.
pub(super) fn obstacle_text(page: &Page, reason: &ReplayError) -> String {
    let key = format!("monitoring.not_again.{}", reason.word());
    match reason {
        ReplayError::SourceGone(source) => {
            let source = page.word("monitoring.source", source);
            page.tf(&key, &[("source", &source)])
        }
        ReplayError::Behind(block) => page.tf(&key, &[("block", &block.to_string())]),
        _ => page.t(&key),
    }
}

/// A difference as the page shows it.
pub(super) struct Difference {
    /// The member's name: `/contributions/0/points` becomes "Parts of the score 1, Points".
    pub member: String,
    /// The original value and the replayed one.
    pub values: [DisplayedValue; 2],
}

/// A value: on one line, or as its number of members with the full JSON.
pub(super) struct DisplayedValue {
    pub text: String,
    /// The full JSON; empty if `text` already shows the value.
    pub whole: String,
}

impl Difference {
    pub(super) fn of(page: &Page, change: &Change) -> Difference {
        Difference {
            member: member(page, &change.member),
            values: [
                DisplayedValue::of(page, &change.then),
                DisplayedValue::of(page, &change.again),
            ],
        }
    }
}

impl DisplayedValue {
    fn of(page: &Page, value: &Value) -> DisplayedValue {
        let members = match value {
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            one => {
                return DisplayedValue {
                    text: plain(one),
                    whole: String::new(),
                };
            }
        };
        DisplayedValue {
            text: page.t1("monitoring.entries", "n", members),
            whole: serde_json::to_string_pretty(value).unwrap_or_default(),
        }
    }
}

fn member(page: &Page, pointer: &str) -> String {
    let mut words = String::new();
    for part in pointer.split('/').skip(1) {
        let (between, word) = match part.parse::<usize>() {
            Ok(place) => (" ", place.saturating_add(1).to_string()),
            Err(_) => (", ", page.word("monitoring.member", part)),
        };
        if !words.is_empty() {
            words.push_str(between);
        }
        words.push_str(&word);
    }
    words
}

/// Replays a screening's decision and redirects to its page, which shows the result.
pub(super) async fn replay_decision(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let screening = find(&app, &member, &id).await?;
    let caller = member.caller()?;
    rates::check_screening_rate(&app, &caller, member.may(Action::Decide)).await?;
    let id = screening.id.to_string();
    let (again, outcome) = match monitoring::replay_screening(&app, &caller, screening).await? {
        Ok(Replay {
            failed: Some(reason), ..
        })
        | Err(reason) => {
            let outcome = json!({"failed": reason.word()});
            (ReplayResult::failed(&page, &reason), outcome)
        }
        Ok(replay) => {
            let outcome = json!({"same": replay.same});
            (ReplayResult::of(&page, replay), outcome)
        }
    };
    let entry = Entry {
        detail: &outcome.to_string(),
        ..caller.audit_entry("screening.repeated", &id)
    };
    audit_trail::write(&app.db, caller.scope, &entry).await?;
    let on = format!("/portal/monitoring/{id}");
    show_once::set(&app, &member, &on, &again).await?;
    Ok(Redirect::to(&format!("{on}#again")).into_response())
}
