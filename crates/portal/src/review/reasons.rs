//! Reason templates: reasons that an account's reviewers often need, stored here and offered with each
//! decision.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum_extra::extract::Form;
use http_server::error::Rejection;
use serde::Deserialize;
use service::problem::Problem;
use service::{Shared, review_tools};
use store::reason_templates::{self, ReasonTemplate};
use uuid::Uuid;
use verification::status::Decision;
use verification::status::MAX_REASON;

use crate::page::{Page, done, html};
use crate::session::Member;

const PATH: &str = "/portal/queue/reasons";
/// The decisions that have templates, in the order in which they are offered.
pub const DECISIONS: [Decision; 3] = [Decision::Decline, Decision::Approve, Decision::Reopen];

#[derive(Template)]
#[template(path = "portal/reasons.html")]
struct ReasonsPage {
    page: Page,
    reasons: Vec<ReasonTemplate>,
    decisions: [Decision; 3],
    /// The rejected form, and why it was rejected.
    sent: NewReason,
    fault: Option<String>,
}

async fn render(
    app: &Shared,
    page: Page,
    member: &Member,
    sent: NewReason,
    fault: Option<String>,
) -> Result<Response, Rejection> {
    let reasons = reason_templates::list(&mut app.db.read().await?, member.scope()?.merchant_id).await?;
    let is_refused = fault.is_some();
    let mut response = html(ReasonsPage {
        page,
        reasons,
        decisions: DECISIONS,
        sent,
        fault,
    })?;
    if is_refused {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    Ok(response)
}

/// `GET /portal/queue/reasons`
pub async fn page(State(app): State<Shared>, page: Page, member: Member) -> Result<Response, Rejection> {
    render(&app, page, &member, NewReason::default(), None).await
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
    page: Page,
    member: Member,
    Form(form): Form<NewReason>,
) -> Result<Response, Rejection> {
    let body = form.body.trim();
    let decision = match form.decision.parse::<Decision>() {
        Ok(decision) if !body.is_empty() && body.chars().count() <= MAX_REASON => decision,
        _ => {
            let fault = page.t("review.reasons.wrong");
            return render(&app, page, &member, form, Some(fault)).await;
        }
    };
    let merchant_id = member.scope()?.merchant_id;
    match review_tools::add_reason(&app.db, merchant_id, decision, body).await {
        Err(store::Error::LimitReached) => {
            let fault = page.t1("review.reasons.most", "n", review_tools::MOST_REASONS);
            render(&app, page, &member, form, Some(fault)).await
        }
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
) -> Result<Response, Rejection> {
    let merchant_id = member.scope()?.merchant_id;
    if review_tools::remove_reason(&app.db, merchant_id, form.id).await? {
        Ok(done(PATH, "deleted"))
    } else {
        Err(Problem::not_found("There is no such reason").into())
    }
}
