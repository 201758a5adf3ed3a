//! Reasons that an account's reviewers need again and again: kept here, offered where they decide.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use axum_extra::extract::Form;
use serde::Deserialize;
use store::reason_templates::{self, ReasonTemplate};
use uuid::Uuid;

use crate::app::Shared;
use crate::error::Problem;
use crate::portal::page::{Page, done, html};
use crate::portal::session::Member;

const PATH: &str = "/portal/queue/reasons";
/// Reasons that an account may keep.
const MOST: i64 = 50;
/// Longest reason, in characters.
pub const MAX_REASON: usize = 1_000;
const DECISIONS: [&str; 3] = ["decline", "approve", "reopen"];

#[derive(Template)]
#[template(path = "portal/reasons.html")]
struct ReasonsPage {
    page: Page,
    reasons: Vec<ReasonTemplate>,
    decisions: [&'static str; 3],
}

/// `GET /portal/queue/reasons`
pub async fn page(State(app): State<Shared>, page: Page, member: Member) -> Result<Response, Problem> {
    let reasons = reason_templates::list(&mut app.db.read().await?, member.scope()?.merchant_id).await?;
    html(ReasonsPage {
        page,
        reasons,
        decisions: DECISIONS,
    })
}

/// A new reason.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct NewReason {
    decision: String,
    body: String,
}

/// `POST /portal/queue/reasons`
pub async fn add(
    State(app): State<Shared>,
    member: Member,
    Form(form): Form<NewReason>,
) -> Result<Response, Problem> {
    let body = form.body.trim();
    if body.is_empty() || body.chars().count() > MAX_REASON {
        return Err(Problem::invalid(format!(
            "body - must have 1 to {MAX_REASON} characters"
        )));
    }
    if !DECISIONS.contains(&form.decision.as_str()) {
        return Err(Problem::invalid("decision - must be decline, approve or reopen"));
    }
    let merchant_id = member.scope()?.merchant_id;
    let added = store::transaction!(app.db, |tx| -> Result<Uuid, store::Error> {
        reason_templates::add(tx, merchant_id, &form.decision, body, MOST).await
    });
    match added {
        Err(store::Error::LimitReached) => Err(Problem::invalid(format!(
            "There are {MOST} reasons already: delete one first"
        ))),
        added => {
            added?;
            Ok(done(PATH, "created"))
        }
    }
}

/// A reason to delete.
#[derive(Deserialize)]
pub struct OldReason {
    id: Uuid,
}

/// `POST /portal/queue/reasons/delete`
pub async fn remove(
    State(app): State<Shared>,
    member: Member,
    Form(form): Form<OldReason>,
) -> Result<Response, Problem> {
    let merchant_id = member.scope()?.merchant_id;
    let removed = store::transaction!(app.db, |tx| -> Result<bool, store::Error> {
        reason_templates::remove(tx, merchant_id, form.id).await
    })?;
    if removed {
        Ok(done(PATH, "deleted"))
    } else {
        Err(Problem::not_found("There is no such reason"))
    }
}
