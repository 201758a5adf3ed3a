//! The reviewers' forms on the applicant page: claims, decisions, notes, "not this person", and a new link. A
//! rejected form returns the same page with the error next to its field and everything that was typed.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum_extra::extract::Form;
use service::permissions::Action;
use service::problem::{Kind, Problem};
use service::reviews::{self, DecisionRequest, Outcome, SecondOutcome};
use service::suppressions::{self, SetAsideOutcome};
use service::{Shared, dispositions, sessions};
use store::reason_templates;
use uuid::Uuid;
use verification::status::Decision;

use super::applicant::{address, render_refusal};
use super::forms::ReviewForm;
use super::queue::{escaped, sanitise_filters};
use crate::page::{Page, done};
use crate::proposal::redirect_after_proposal;
use crate::routes::Routes;
use crate::session::Member;
use crate::show_once;

/// The action of a form.
#[derive(Clone, Copy)]
enum Act {
    Decide(Decision),
    /// The second person's answer. `false` rejects the proposal, or withdraws it if it is the sender's own.
    Second(bool),
    Claim {
        take_over: bool,
    },
    Release,
    Note,
    Conclude,
    NotThisPerson,
    Link,
}

/// Every form: its path, the permission it needs, and its action.
const FORMS: [(&str, Action, Act); 12] = [
    (
        "/portal/applicants/{logId}/approve",
        Action::Decide,
        Act::Decide(Decision::Approve),
    ),
    (
        "/portal/applicants/{logId}/decline",
        Action::Decide,
        Act::Decide(Decision::Decline),
    ),
    (
        "/portal/applicants/{logId}/reopen",
        Action::Reopen,
        Act::Decide(Decision::Reopen),
    ),
    (
        "/portal/applicants/{logId}/confirm",
        Action::Decide,
        Act::Second(true),
    ),
    (
        "/portal/applicants/{logId}/reject",
        Action::Decide,
        Act::Second(false),
    ),
    (
        "/portal/applicants/{logId}/claim",
        Action::Decide,
        Act::Claim { take_over: false },
    ),
    (
        "/portal/applicants/{logId}/take-over",
        Action::Decide,
        Act::Claim { take_over: true },
    ),
    ("/portal/applicants/{logId}/release", Action::Decide, Act::Release),
    ("/portal/applicants/{logId}/notes", Action::Decide, Act::Note),
    (
        "/portal/applicants/{logId}/disposition",
        Action::Decide,
        Act::Conclude,
    ),
    (
        "/portal/applicants/{logId}/not-this-person",
        Action::Suppress,
        Act::NotThisPerson,
    ),
    ("/portal/applicants/{logId}/link", Action::MakeLinks, Act::Link),
];

/// Adds the routes of the forms.
pub fn routes(routes: Routes) -> Routes {
    FORMS.into_iter().fold(routes, |routes, (path, action, act)| {
        let handler = move |State(app): State<Shared>,
                            page: Page,
                            member: Member,
                            Path(log_id): Path<i64>,
                            Form(form): Form<ReviewForm>| async move {
            let result = carry_out(&app, &member, log_id, act, &form).await;
            match result {
                Ok(response) => Ok(response),
                Err(problem) => render_refusal(&app, page, &member, log_id, &problem, form).await,
            }
        };
        routes.post(path, action, handler)
    })
}

async fn carry_out(
    app: &Shared,
    member: &Member,
    log_id: i64,
    act: Act,
    form: &ReviewForm,
) -> Result<Response, Problem> {
    let (scope, actor) = (member.scope()?, member.actor());
    let by = (member.staff_id, actor.as_str());
    let here = match sanitise_filters(&form.q).as_str() {
        "" => address(log_id),
        q => format!("{}?q={}", address(log_id), escaped(q)),
    };
    let key = match act {
        Act::Decide(decision) => {
            let reason = reason(app, member, form, decision).await?;
            let wish = DecisionRequest {
                log_id,
                decision,
                reason: reason.as_deref(),
                actor: &actor,
                staff_id: Some(member.staff_id),
                reviewer: None,
                version: Some(form.reviewed()?),
                dispositions: &[],
            };
            match (
                reviews::decide(&app.db, &app.faces, scope, &wish).await?,
                decision,
            ) {
                (Outcome::Proposed, _) => {
                    return redirect_after_proposal(app, member, &here, (Action::Decide, "proposed")).await;
                }
                (_, Decision::Approve) => "approved",
                (_, Decision::Decline) => "declined",
                (_, Decision::Reopen) => "reopened",
            }
        }
        Act::Second(agrees) => {
            let version = Some(form.reviewed()?);
            let outcome = reviews::second(&app.db, &app.faces, scope, log_id, agrees, by, version).await?;
            match outcome {
                SecondOutcome::Dropped => "rejected",
                SecondOutcome::Adopted => "adopted",
                SecondOutcome::Decided(_) => "confirmed",
            }
        }
        Act::Claim { take_over } => {
            if !reviews::claim(&app.db, scope, log_id, by, take_over).await? {
                let text = "A colleague claimed this attempt a moment ago";
                return Err(Problem::new(Kind::Conflict, text).named("claimed_faster"));
            }
            "claimed"
        }
        Act::Release => {
            reviews::release(&app.db, scope, log_id, member.staff_id).await?;
            "released"
        }
        Act::Note => {
            reviews::add_note(&app.db, scope, log_id, by, &form.note).await?;
            "noted"
        }
        Act::Conclude => {
            let row = (
                form.hit.as_str(),
                form.disposition.as_str(),
                form.because.as_str(),
            );
            dispositions::conclude(&app.db, scope, log_id, row, &actor).await?;
            "disposed"
        }
        Act::NotThisPerson => {
            match suppressions::suppress(&app.db, scope, log_id, &form.hit, &form.why, by).await? {
                SetAsideOutcome::Done => "suppressed",
                SetAsideOutcome::Proposed => {
                    let confirms = (Action::Suppress, "change_proposed");
                    return redirect_after_proposal(app, member, &here, confirms).await;
                }
            }
        }
        Act::Link => {
            let link = sessions::link_again(app, scope, log_id, &actor).await?;
            show_once::set(app, member, &address(log_id), &link).await?;
            return Ok(Redirect::to(&here).into_response());
        }
    };
    Ok(done(&here, key))
}

/// The typed reason, or else the chosen template if it belongs to this decision.
async fn reason(
    app: &Shared,
    member: &Member,
    form: &ReviewForm,
    decision: Decision,
) -> Result<Option<String>, Problem> {
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
        .find(|reason| reason.id == id && reason.decision == decision)
        .map(|reason| reason.body))
}
