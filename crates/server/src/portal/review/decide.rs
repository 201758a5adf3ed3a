//! What reviewers do with an attempt: claims, decisions, notes, a new link, "not this person". What is refused comes back as the same
//! page with the reason on it, and everything typed.

use axum::extract::{Path, State};
use axum::response::Response;
use axum_extra::extract::Form;
use serde::Deserialize;
use store::reason_templates;
use uuid::Uuid;
use verification::status::Decision;

use super::applicant::{Extra, refused, render};
use super::queue::{escaped, harmless};
use super::reasons::MAX_REASON;
use crate::app::reviews::{self, Outcome, Wish};
use crate::app::{Shared, sessions, suppressions};
use crate::error::Problem;
use crate::portal::page::{Page, done};
use crate::portal::session::Member;

/// A decision, or a word on one.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct DecisionForm {
    /// The state that was looked at.
    version: Option<i64>,
    reason: String,
    /// A kept reason, used where nothing was typed.
    template: String,
    q: String,
}

/// Where the page is, with the queue that one came from.
fn path(log_id: i64, q: &str) -> String {
    match harmless(q).as_str() {
        "" => format!("/portal/applicants/{log_id}"),
        q => format!("/portal/applicants/{log_id}?q={}", escaped(q)),
    }
}

async fn decide(
    app: Shared,
    page: Page,
    member: Member,
    log_id: i64,
    decision: Decision,
    form: DecisionForm,
) -> Result<Response, Problem> {
    let reason = reason(&app, &member, &form).await?;
    let actor = member.actor();
    let wish = Wish {
        log_id,
        decision,
        reason: reason.as_deref(),
        actor: &actor,
        staff_id: Some(member.staff_id),
        version: form.version,
    };
    let decided = if reason
        .as_ref()
        .is_some_and(|reason| reason.chars().count() > MAX_REASON)
    {
        Err(Problem::invalid(format!(
            "reason - must have at most {MAX_REASON} characters"
        )))
    } else {
        reviews::decide(&app.db, member.scope()?, &wish).await
    };
    let past = match decision {
        Decision::Approve => "approved",
        Decision::Decline => "declined",
        Decision::Reopen => "reopened",
    };
    match decided {
        Ok(Outcome::Decided(_)) => Ok(done(&path(log_id, &form.q), past)),
        Ok(Outcome::Proposed) => Ok(done(&path(log_id, &form.q), "proposed")),
        Err(problem) => {
            let extra = Extra {
                reason: form.reason,
                q: form.q,
                ..Extra::default()
            };
            refused(&app, page, &member, log_id, &problem, extra).await
        }
    }
}

/// What was typed, else the kept reason that was chosen.
async fn reason(app: &Shared, member: &Member, form: &DecisionForm) -> Result<Option<String>, Problem> {
    let typed = form.reason.trim();
    if !typed.is_empty() {
        return Ok(Some(typed.to_owned()));
    }
    let Ok(id) = Uuid::parse_str(&form.template) else {
        return Ok(None);
    };
    let kept = reason_templates::list(&mut app.db.read().await?, member.scope()?.merchant_id).await?;
    Ok(kept
        .into_iter()
        .find(|reason| reason.id == id)
        .map(|reason| reason.body))
}

/// `POST /portal/applicants/{logId}/approve`
pub async fn approve(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(log_id): Path<i64>,
    Form(form): Form<DecisionForm>,
) -> Result<Response, Problem> {
    decide(app, page, member, log_id, Decision::Approve, form).await
}

/// `POST /portal/applicants/{logId}/decline`
pub async fn decline(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(log_id): Path<i64>,
    Form(form): Form<DecisionForm>,
) -> Result<Response, Problem> {
    decide(app, page, member, log_id, Decision::Decline, form).await
}

/// `POST /portal/applicants/{logId}/reopen`
pub async fn reopen(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(log_id): Path<i64>,
    Form(form): Form<DecisionForm>,
) -> Result<Response, Problem> {
    decide(app, page, member, log_id, Decision::Reopen, form).await
}

async fn second(
    app: Shared,
    page: Page,
    member: Member,
    log_id: i64,
    confirmed: bool,
    form: DecisionForm,
) -> Result<Response, Problem> {
    let actor = member.actor();
    let by = (member.staff_id, actor.as_str());
    let said = reviews::second(&app.db, member.scope()?, log_id, confirmed, by, form.version).await;
    match said {
        Ok(_) => {
            let key = if confirmed { "confirmed" } else { "rejected" };
            Ok(done(&path(log_id, &form.q), key))
        }
        Err(problem) => {
            let extra = Extra {
                q: form.q,
                ..Extra::default()
            };
            refused(&app, page, &member, log_id, &problem, extra).await
        }
    }
}

/// `POST /portal/applicants/{logId}/confirm`: a second person agrees.
pub async fn confirm(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(log_id): Path<i64>,
    Form(form): Form<DecisionForm>,
) -> Result<Response, Problem> {
    second(app, page, member, log_id, true, form).await
}

/// `POST /portal/applicants/{logId}/reject`: a second person does not agree, or the first one withdraws.
pub async fn reject(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(log_id): Path<i64>,
    Form(form): Form<DecisionForm>,
) -> Result<Response, Problem> {
    second(app, page, member, log_id, false, form).await
}

/// From which queue one comes.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct ClaimForm {
    q: String,
}

async fn claimed(
    app: Shared,
    page: Page,
    member: Member,
    log_id: i64,
    take_over: bool,
    form: ClaimForm,
) -> Result<Response, Problem> {
    let actor = member.actor();
    let by = (member.staff_id, actor.as_str());
    if reviews::claim(&app.db, member.scope()?, log_id, by, take_over).await? {
        return Ok(done(&path(log_id, &form.q), "claimed"));
    }
    let extra = Extra {
        q: form.q,
        ..Extra::default()
    };
    let faster = Problem::new(crate::error::Kind::Conflict, page.t("review.claim.faster"));
    refused(&app, page, &member, log_id, &faster, extra).await
}

/// `POST /portal/applicants/{logId}/claim`
pub async fn claim(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(log_id): Path<i64>,
    Form(form): Form<ClaimForm>,
) -> Result<Response, Problem> {
    claimed(app, page, member, log_id, false, form).await
}

/// `POST /portal/applicants/{logId}/take-over`
pub async fn take_over(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(log_id): Path<i64>,
    Form(form): Form<ClaimForm>,
) -> Result<Response, Problem> {
    claimed(app, page, member, log_id, true, form).await
}

/// `POST /portal/applicants/{logId}/release`
pub async fn release(
    State(app): State<Shared>,
    member: Member,
    Path(log_id): Path<i64>,
    Form(form): Form<ClaimForm>,
) -> Result<Response, Problem> {
    reviews::release(&app.db, member.scope()?, log_id, member.staff_id).await?;
    Ok(done(&path(log_id, &form.q), "released"))
}

/// A note.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct NoteForm {
    note: String,
    q: String,
}

/// `POST /portal/applicants/{logId}/notes`
pub async fn note(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(log_id): Path<i64>,
    Form(form): Form<NoteForm>,
) -> Result<Response, Problem> {
    let actor = member.actor();
    let by = (member.staff_id, actor.as_str());
    match reviews::add_note(&app.db, member.scope()?, log_id, by, &form.note).await {
        Ok(()) => Ok(done(&path(log_id, &form.q), "noted")),
        Err(problem) => {
            let extra = Extra {
                note: form.note,
                q: form.q,
                ..Extra::default()
            };
            refused(&app, page, &member, log_id, &problem, extra).await
        }
    }
}

/// `POST /portal/applicants/{logId}/link`: a new link for the same applicant, Group and Flow. It is a secret, so it is shown at once and
/// never put into an address.
pub async fn link(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(log_id): Path<i64>,
    Form(form): Form<ClaimForm>,
) -> Result<Response, Problem> {
    let made = sessions::link_again(&app, member.scope()?, log_id, &member.actor()).await;
    let mut extra = Extra {
        q: form.q,
        ..Extra::default()
    };
    match made {
        Ok(link) => {
            extra.link = Some(link);
            render(&app, page, &member, log_id, extra).await
        }
        Err(problem) => refused(&app, page, &member, log_id, &problem, extra).await,
    }
}

/// A hit that does not mean the applicant.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct SuppressForm {
    hit: String,
    why: String,
    q: String,
}

/// `POST /portal/applicants/{logId}/not-this-person`
pub async fn not_this_person(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(log_id): Path<i64>,
    Form(form): Form<SuppressForm>,
) -> Result<Response, Problem> {
    let actor = member.actor();
    let by = (member.staff_id, actor.as_str());
    match suppressions::suppress(&app.db, member.scope()?, log_id, &form.hit, &form.why, by).await {
        Ok(()) => Ok(done(&path(log_id, &form.q), "suppressed")),
        Err(problem) => {
            let extra = Extra {
                q: form.q,
                ..Extra::default()
            };
            refused(&app, page, &member, log_id, &problem, extra).await
        }
    }
}
