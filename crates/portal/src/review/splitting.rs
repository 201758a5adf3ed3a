//! The page that splits a person in two. The rules are in `service::splitting`.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum_extra::extract::Form;
use http_server::error::Rejection;
use serde::Deserialize;
use service::permissions::Action;
use service::problem::{Family, Problem};
use service::splitting::{self, Divisible, SplitOutcome, SplitRequest, Unit};
use service::{Shared, applicant_view};
use uuid::Uuid;

use crate::page::{Page, done, html};
use crate::proposal::redirect_after_proposal;
use crate::session::Member;

#[derive(Template)]
#[template(path = "portal/split.html")]
struct SplitPage {
    page: Page,
    facemap_id: String,
    divisible: Divisible,
    groups: BTreeMap<Uuid, String>,
    version: String,
    sent: SplitForm,
    /// The field at fault (empty if none in particular), and the error.
    fault: Option<(&'static str, String)>,
}

impl SplitPage {
    fn fault(&self, field: &str) -> Option<&str> {
        let fault = self.fault.as_ref().filter(|(at, _)| *at == field);
        fault.map(|(_, text)| text.as_str())
    }

    /// A Group's name, or its ID if it was deleted.
    fn group(&self, id: &Uuid) -> String {
        self.groups.get(id).cloned().unwrap_or_else(|| id.to_string())
    }

    /// The form's field of a unit, and its value.
    fn field(&self, unit: &Unit) -> (&'static str, String) {
        match (&unit.registration, unit.attempts.first()) {
            (Some(registration), _) => ("registration", registration.id.to_string()),
            (None, Some(attempt)) => ("attempt", attempt.log_id.to_string()),
            (None, None) => ("attempt", String::new()),
        }
    }

    fn is_chosen(&self, unit: &Unit) -> bool {
        match (&unit.registration, unit.attempts.first()) {
            (Some(registration), _) => self.sent.registration.contains(&registration.id),
            (None, Some(attempt)) => self.sent.attempt.contains(&attempt.log_id),
            (None, None) => false,
        }
    }
}

/// The form that splits.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct SplitForm {
    registration: Vec<Uuid>,
    attempt: Vec<i64>,
    version: String,
    reason: String,
}

/// `GET /portal/people/{facemapId}/split`
pub async fn page(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(facemap_id): Path<Uuid>,
) -> Result<Response, Rejection> {
    Ok(render(&app, page, &member, facemap_id, SplitForm::default(), None).await?)
}

/// `POST /portal/people/{facemapId}/split`
pub async fn split(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(facemap_id): Path<Uuid>,
    Form(form): Form<SplitForm>,
) -> Result<Response, Rejection> {
    let request = SplitRequest {
        facemap_id,
        registrations: &form.registration,
        log_ids: &form.attempt,
        version: &form.version,
        reason: &form.reason,
    };
    let actor = member.actor();
    let outcome = splitting::split(&app, member.scope()?, &request, (member.staff_id, &actor)).await;
    match outcome {
        Ok(SplitOutcome::Split(new)) => Ok(done(&format!("/portal/people/{new}"), "split")),
        Ok(SplitOutcome::Proposed) => {
            let confirms = (Action::MergePeople, "change_proposed");
            let path = format!("/portal/people/{facemap_id}");
            Ok(redirect_after_proposal(&app, &member, &path, confirms).await?)
        }
        Err(problem) => {
            let status = problem.status(Family::System);
            let answers = [
                StatusCode::BAD_REQUEST,
                StatusCode::CONFLICT,
                StatusCode::FORBIDDEN,
            ];
            if !answers.contains(&status) {
                return Err(problem.into());
            }
            let mut response = render(&app, page, &member, facemap_id, form, Some(problem)).await?;
            *response.status_mut() = status;
            Ok(response)
        }
    }
}

async fn render(
    app: &Shared,
    page: Page,
    member: &Member,
    facemap_id: Uuid,
    sent: SplitForm,
    problem: Option<Problem>,
) -> Result<Response, Problem> {
    let scope = member.scope()?;
    let divisible = splitting::open(app, scope, facemap_id, &member.actor()).await?;
    let registrations = divisible
        .units
        .iter()
        .filter_map(|unit| unit.registration.as_ref());
    let ids = registrations
        .filter_map(|registration| registration.grouping_id)
        .collect();
    let groups = applicant_view::group_names(&mut app.db.read().await?, scope, ids).await?;
    let fault = problem.map(|problem| {
        let field = match problem.word(Family::System) {
            "split_nothing" | "split_all" => "unit",
            "people_reason" | "reason_length" => "reason",
            _ => "",
        };
        (field, page.refusal(&problem))
    });
    html(SplitPage {
        facemap_id: divisible.person.facemap_id.to_string(),
        version: divisible.version(),
        divisible,
        groups,
        sent,
        fault,
        page,
    })
}
