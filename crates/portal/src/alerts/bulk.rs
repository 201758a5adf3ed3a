//! One decision on several alerts. Each alert is decided by itself: a refused one never prevents the others.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum_extra::extract::Form;
use http_server::error::Rejection;
use service::Shared;
use service::alerts::{self, AlertDecision};
use service::four_eyes::pages::Members;
use service::permissions::Action;
use service::problem::{Family, Problem};
use service::suppressions::SetAsideOutcome;

use super::bulk_form::{BulkForm, BulkOutcome};
use super::list;
use super::parts::{FILTERS, HERE, field_at_fault, parse_before, parse_conclusion, refusal};
use crate::filters::Filters;
use crate::page::Page;
use crate::session::Member;
use crate::show_once;

/// `POST /portal/alerts/decide`
pub(super) async fn decide(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Form(form): Form<BulkForm>,
) -> Result<Response, Rejection> {
    let query = form.query();
    let filters = Filters::read(Some(&query), &FILTERS)?;
    let before = parse_before(Some(&query))?;
    match decide_each(&app, &page, &member, &form).await {
        Ok(outcome) => {
            show_once::set(&app, &member, HERE, &outcome).await?;
            let onward = before.map(|id| id.to_string());
            let position: Vec<(&str, &str)> = onward.iter().map(|id| ("before", id.as_str())).collect();
            Ok(Redirect::to(&filters.address(HERE, &position)).into_response())
        }
        Err(problem) => {
            let status = problem.status(Family::System);
            if status != StatusCode::BAD_REQUEST {
                return Err(problem.into());
            }
            let fault = (field_at_fault(&problem), refusal(&page, &problem));
            list::render_refusal(&app, page, &member, (filters, before), form, (status, fault)).await
        }
    }
}

async fn decide_each(
    app: &Shared,
    page: &Page,
    member: &Member,
    form: &BulkForm,
) -> Result<BulkOutcome, Problem> {
    let (scope, actor) = (member.scope()?, member.actor());
    let choices = form.choices()?;
    let conclusion = parse_conclusion(member, &form.conclusion, &form.why)?;
    let decision = AlertDecision {
        conclusion,
        reason: form.reason.trim(),
        seen: None,
    };
    let mut outcome = BulkOutcome {
        decided: 0,
        proposed: 0,
        refused: 0,
        reasons: BTreeMap::new(),
        is_alone: false,
    };
    for (id, seen) in choices {
        let decision = AlertDecision {
            seen: Some(seen),
            ..decision
        };
        match alerts::decide(&app.db, scope, id, &decision, (member.staff_id, &actor)).await {
            Ok(SetAsideOutcome::Done) => outcome.decided += 1,
            Ok(SetAsideOutcome::Proposed) => outcome.proposed += 1,
            // A missing reason concerns the form, so nothing has been decided yet.
            Err(problem) if !field_at_fault(&problem).is_empty() => return Err(problem),
            Err(problem) if problem.status(Family::System).is_client_error() => {
                outcome.refused += 1;
                *outcome.reasons.entry(refusal(page, &problem)).or_default() += 1;
            }
            Err(problem) => return Err(problem),
        }
    }
    if outcome.proposed > 0 {
        let members = Members::of(&mut app.db.read().await?, scope.merchant_id).await?;
        outcome.is_alone = members.is_alone(member.staff_id, Action::Suppress);
    }
    Ok(outcome)
}
