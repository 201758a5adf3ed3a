//! The page that compares two people, and the form that merges them. The rules are in `service::merging`.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum_extra::extract::Form;
use http_server::error::Rejection;
use serde::Deserialize;
use service::merging::{self, Comparison, MergeOutcome, MergeRequest, Shown, Side};
use service::permissions::Action;
use service::problem::{Family, Problem};
use service::{Shared, applicant_view};
use store::people as store_people;
use store::registrations::Registration;
use uuid::Uuid;
use verification::identity::MergeObstacle;

use super::fields::iso_date;
use crate::page::{Page, done, html};
use crate::proposal::redirect_after_proposal;
use crate::session::Member;

/// One of the two people.
struct Column {
    /// The key of the heading.
    heading: &'static str,
    facemap_id: String,
    name: String,
    dob: String,
    selfie: Option<i64>,
    created_at: i64,
    registrations: Vec<Row>,
}

struct Row {
    registration: Registration,
    group: Option<String>,
    /// Whether the merge ends it.
    ends: bool,
}

#[derive(Template)]
#[template(path = "portal/merge.html")]
struct MergePage {
    page: Page,
    facemap_id: String,
    with: String,
    columns: Vec<Column>,
    similarity: Option<String>,
    /// The key of the reason why the two cannot be merged.
    obstacle: Option<&'static str>,
    ends_any: bool,
    asks_two: bool,
    version: String,
    reason: String,
    /// The field at fault (empty if none in particular), and the error.
    fault: Option<(&'static str, String)>,
}

impl MergePage {
    fn fault(&self, field: &str) -> Option<&str> {
        let fault = self.fault.as_ref().filter(|(at, _)| *at == field);
        fault.map(|(_, text)| text.as_str())
    }
}

/// The other person: a facemap id, which is no personal data.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct With {
    with: String,
}

/// The form that merges.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct MergeForm {
    with: String,
    version: String,
    reason: String,
}

/// `GET /portal/people/{facemapId}/merge?with=FACEMAP`
pub async fn page(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(facemap_id): Path<Uuid>,
    Query(query): Query<With>,
) -> Result<Response, Rejection> {
    let form = MergeForm {
        with: query.with,
        ..MergeForm::default()
    };
    Ok(render(&app, page, &member, facemap_id, form, None).await?)
}

/// `POST /portal/people/{facemapId}/merge`
pub async fn merge(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(facemap_id): Path<Uuid>,
    Form(form): Form<MergeForm>,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    find(&app, &member, facemap_id).await?;
    let by = (member.staff_id, member.actor());
    let merged = match other(&form.with) {
        Ok(with) => {
            let request = MergeRequest {
                people: (facemap_id, with),
                version: &form.version,
                reason: &form.reason,
            };
            merging::merge(&app.db, scope, &request, (by.0, &by.1)).await
        }
        Err(problem) => Err(problem),
    };
    match merged {
        Ok(MergeOutcome::Merged(kept)) => Ok(done(&format!("/portal/people/{kept}"), "merged")),
        Ok(MergeOutcome::Proposed) => {
            let confirms = (Action::MergePeople, "change_proposed");
            let path = format!("/portal/people/{facemap_id}");
            Ok(redirect_after_proposal(&app, &member, &path, confirms).await?)
        }
        Err(problem) => Ok(refuse(&app, page, &member, facemap_id, form, problem).await?),
    }
}

/// The same page with the rejected form and the reason.
async fn refuse(
    app: &Shared,
    page: Page,
    member: &Member,
    facemap_id: Uuid,
    form: MergeForm,
    problem: Problem,
) -> Result<Response, Problem> {
    let status = problem.status(Family::System);
    if ![
        StatusCode::BAD_REQUEST,
        StatusCode::CONFLICT,
        StatusCode::FORBIDDEN,
    ]
    .contains(&status)
    {
        return Err(problem);
    }
    let mut response = render(app, page, member, facemap_id, form, Some(problem)).await?;
    *response.status_mut() = status;
    Ok(response)
}

fn other(with: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(with.trim()).map_err(|_| {
        Problem::invalid("with - must be the facemap ID of the other person").named("merge_with")
    })
}

/// The person's current facemap; 404 if there is no such person in the account.
async fn find(app: &Shared, member: &Member, facemap_id: Uuid) -> Result<Uuid, Problem> {
    let mut conn = app.db.read().await?;
    store_people::resolve(&mut conn, member.scope()?, facemap_id)
        .await?
        .map(|person| person.facemap_id)
        .ok_or_else(|| Problem::not_found("There is no such person"))
}

async fn render(
    app: &Shared,
    page: Page,
    member: &Member,
    facemap_id: Uuid,
    form: MergeForm,
    problem: Option<Problem>,
) -> Result<Response, Problem> {
    let scope = member.scope()?;
    let facemap_id = find(app, member, facemap_id).await?;
    let (compared, wrong) = match other(&form.with) {
        // Nobody has been named yet.
        Err(_) if form.with.is_empty() => (None, None),
        Err(wrong) => (None, Some(wrong)),
        Ok(with) => match merging::compare(app, scope, (facemap_id, with), &member.actor()).await {
            Ok(compared) => (Some(compared), None),
            Err(wrong) if wrong.status(Family::System) == StatusCode::NOT_FOUND => {
                (None, Some(wrong.named("merge_with")))
            }
            Err(wrong) if wrong.status(Family::System) == StatusCode::BAD_REQUEST => (None, Some(wrong)),
            Err(failed) => return Err(failed),
        },
    };
    let fault = problem.or(wrong).map(|problem| {
        let field = match problem.word(Family::System) {
            "merge_with" | "merge_same" => "with",
            "people_reason" | "reason_length" => "reason",
            _ => "",
        };
        (field, page.refusal(&problem))
    });
    let groups = match &compared {
        Some(compared) => {
            let both = [&compared.pair.kept, &compared.pair.merged].into_iter();
            let registered = both.flat_map(|side| &side.registrations);
            let ids = registered
                .filter_map(|registration| registration.grouping_id)
                .collect();
            applicant_view::group_names(&mut app.db.read().await?, scope, ids).await?
        }
        None => BTreeMap::new(),
    };
    let ended = compared
        .as_ref()
        .and_then(|compared| compared.ended.as_ref().ok());
    let response = html(MergePage {
        facemap_id: facemap_id.to_string(),
        columns: compared
            .as_ref()
            .map(|compared| columns(compared, &groups))
            .unwrap_or_default(),
        similarity: compared
            .as_ref()
            .and_then(|compared| compared.similarity)
            .map(|similarity| format!("{similarity:.1}")),
        obstacle: compared
            .as_ref()
            .and_then(|compared| compared.ended.as_ref().err())
            .map(obstacle_key),
        ends_any: ended.is_some_and(|ended| !ended.is_empty()),
        asks_two: compared.as_ref().is_some_and(|compared| compared.asks_two),
        version: compared
            .as_ref()
            .map(|compared| compared.pair.version())
            .unwrap_or_default(),
        with: form.with,
        reason: form.reason,
        fault,
        page,
    })?;
    Ok(response)
}

fn obstacle_key(obstacle: &MergeObstacle) -> &'static str {
    match obstacle {
        MergeObstacle::Unproven => "refused.merge_unproven",
        MergeObstacle::Undecided => "refused.merge_undecided",
        MergeObstacle::BothApproved => "refused.merge_both_approved",
    }
}

fn columns(compared: &Comparison, groups: &BTreeMap<Uuid, String>) -> Vec<Column> {
    let ended = compared.ended.as_deref().unwrap_or_default();
    let column = |heading, side: &Side, shown: &Shown| Column {
        heading,
        facemap_id: side.person.facemap_id.to_string(),
        name: shown.name.clone(),
        dob: iso_date(&shown.dob),
        selfie: shown.selfie,
        created_at: side.person.created_at,
        registrations: side
            .registrations
            .iter()
            .map(|registration| Row {
                group: registration
                    .grouping_id
                    .map(|id| groups.get(&id).cloned().unwrap_or_else(|| id.to_string())),
                ends: ended.contains(&registration.id),
                registration: registration.clone(),
            })
            .collect(),
    };
    let [kept, merged] = &compared.shown;
    vec![
        column("people.merge.kept", &compared.pair.kept, kept),
        column("people.merge.merged", &compared.pair.merged, merged),
    ]
}
