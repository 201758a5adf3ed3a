//! The page of one alert: the listing next to the person's data, what changed in the list, and the forms that claim,
//! decide and reopen. Opening it records the view of the attempt. It never changes the attempt.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum_extra::extract::Form;
use http_server::error::Rejection;
use sanctions::changes::{ChangeKind, FieldChange};
use serde::Deserialize;
use service::alerts::{self, AlertDecision, Conclusion, Finding};
use service::applicant_view::{self, View};
use service::four_eyes::{self, Change};
use service::permissions::Action;
use service::problem::{Family, Kind, Problem};
use service::suppressions::SetAsideOutcome;
use service::{Shared, actor, people, suppressions};
use store::Scope;
use store::alerts::{Alert, AlertState};
use uuid::Uuid;
use verification::status::AttemptStatus;

use super::parts::{field_at_fault, novelties, parse_conclusion, refusal, score_text};
use crate::page::{Page, done, html};
use crate::proposal::{redirect_after_proposal, version_missing};
use crate::review::hits::{self, Hit, PersonDetails};
use crate::session::Member;

/// The fields of all forms; each form sends some of them.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct AlertForm {
    /// The version of the alert that was reviewed; decisions require it.
    version: Option<i64>,
    /// `same_person` or `other_person`.
    conclusion: String,
    /// The detail that does not match, for `other_person`.
    why: String,
    /// The reason.
    reason: String,
    /// `true` takes the alert over from a colleague.
    take_over: String,
}

/// A field of the entry before and after the change.
struct ChangedField {
    name: String,
    from: Vec<String>,
    to: Vec<String>,
}

/// A decision on the alert.
struct MadeDecision {
    who: String,
    at: i64,
    reason: String,
}

#[derive(Template)]
#[template(path = "portal/alert.html")]
struct AlertPage {
    page: Page,
    id: Uuid,
    /// See [`Alert::changed_at`].
    version: i64,
    state: AlertState,
    opened_at: i64,
    changed_at: i64,
    list: String,
    list_version: String,
    score: String,
    hit: Option<Hit>,
    caption: String,
    news: Vec<String>,
    change: Option<ChangeKind>,
    fields: Vec<ChangedField>,
    known_score: Option<String>,
    log_id: i64,
    facemap_id: Uuid,
    external_user_id: String,
    name: String,
    status: AttemptStatus,
    /// Whether the person is approved, by this attempt or another.
    is_approved: bool,
    decided: Option<MadeDecision>,
    /// Who proposed to close it as another person, and when.
    proposed: Option<(String, i64)>,
    /// Who claimed it, and whether that is the reader.
    claim: Option<(String, bool)>,
    asks_two: bool,
    /// The attempt does not prove the person, so nothing is set aside for later attempts.
    unproven: bool,
    why: [&'static str; 5],
    /// The form as it was sent, if it was rejected.
    sent: AlertForm,
    /// The field at fault (empty if none in particular), and the error.
    fault: Option<(&'static str, String)>,
    may_decide: bool,
    may_suppress: bool,
    may_reopen: bool,
}

impl AlertPage {
    /// Whether the reader may decide now, because the alert is open and no colleague has claimed it.
    fn may_decide_now(&self) -> bool {
        let is_free = self.claim.as_ref().is_none_or(|(_, own)| *own);
        self.may_decide && is_free && self.state == AlertState::Open
    }

    /// A field's error, if it has one. Errors of a form that is not shown are shown at the top.
    fn fault(&self, field: &str) -> Option<&str> {
        let (at, text) = self.fault.as_ref()?;
        let at = if self.may_decide_now() { *at } else { "" };
        (at == field).then_some(text.as_str())
    }
}

fn unknown() -> Problem {
    Problem::not_found("No such alert")
}

fn address(id: Uuid) -> String {
    format!("{}/{id}", super::parts::HERE)
}

/// `GET /portal/alerts/{id}`
pub(super) async fn page(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(id): Path<Uuid>,
) -> Result<Response, Rejection> {
    render(&app, page, &member, id, AlertForm::default(), None).await
}

async fn render(
    app: &Shared,
    page: Page,
    member: &Member,
    id: Uuid,
    sent: AlertForm,
    fault: Option<(&'static str, String)>,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let mut conn = app.db.read().await?;
    let alert = store::alerts::get(&mut conn, scope, id)
        .await?
        .ok_or_else(unknown)?;
    let finding = Finding::of(&alert)?;
    let proposed = proposal(&mut conn, scope, &alert).await?;
    let decider = alert.decided_by.as_deref().and_then(actor::staff_id);
    let mentioned = [
        decider,
        alert.claimed_by,
        proposed.and_then(|(staff_id, _)| staff_id),
    ];
    let names = applicant_view::staff_names(&mut conn, mentioned.into_iter().flatten().collect()).await?;
    drop(conn);
    let view = applicant_view::open(app, scope, alert.log_id, &member.actor()).await?;
    let staff = |staff_id: Option<Uuid>| match staff_id {
        Some(id) => names.get(&id).cloned().unwrap_or_else(|| id.to_string()),
        None => page.t("second.command_line"),
    };
    let decided = alert.decided_by.as_ref().map(|by| MadeDecision {
        who: decider.map_or_else(|| by.clone(), |id| staff(Some(id))),
        at: alert.decided_at.unwrap_or(alert.changed_at),
        reason: alert.reason.clone().unwrap_or_default(),
    });
    let template = AlertPage {
        id,
        version: alert.changed_at,
        state: alert.state,
        opened_at: alert.opened_at,
        changed_at: alert.changed_at,
        score: score_text(alert.score),
        hit: comparison(&page, &view, &alert, &finding),
        caption: finding.hit.caption.clone(),
        news: novelties(&page, &finding),
        change: finding.change,
        fields: finding
            .fields
            .iter()
            .map(|change| changed_field(&page, change))
            .collect(),
        known_score: finding.known_score.map(score_text),
        log_id: alert.log_id,
        facemap_id: view.person.facemap_id,
        name: people::name(&view.detail.info),
        status: view.attempt.status,
        is_approved: alert.is_approved,
        decided,
        proposed: proposed.map(|(staff_id, at)| (staff(staff_id), at)),
        claim: alert
            .claimed_by
            .map(|id| (staff(Some(id)), id == member.staff_id)),
        asks_two: view.asks_two,
        unproven: view.suppressions.is_none(),
        why: suppressions::REASONS,
        sent,
        fault,
        may_decide: member.may(Action::Decide),
        may_suppress: member.may(Action::Suppress),
        may_reopen: member.may(Action::Reopen),
        list: alert.list,
        list_version: finding.version,
        external_user_id: alert.external_user_id,
        page,
    };
    Ok(html(template)?)
}

/// The listing next to the person's data.
fn comparison(page: &Page, view: &View, alert: &Alert, finding: &Finding) -> Option<Hit> {
    let set_aside = view.suppressions.as_deref().unwrap_or_default();
    let versions = BTreeMap::from([(alert.list.clone(), finding.version.clone())]);
    let known = PersonDetails::of(page, view);
    let found = std::slice::from_ref(&finding.hit);
    hits::hits(page, found, &known, set_aside, &versions)
        .into_iter()
        .next()
}

/// Who proposed to close an open alert as it is now, and when.
async fn proposal(
    conn: &mut store::Conn,
    scope: Scope,
    alert: &Alert,
) -> Result<Option<(Option<Uuid>, i64)>, Problem> {
    if alert.state != AlertState::Open {
        return Ok(None);
    }
    let closes = |change: &Change| matches!(change, Change::CloseAlert { alert: id, .. } if *id == alert.id);
    let all = four_eyes::pending_proposals(conn, scope).await?;
    let found = all.into_iter().find(|waiting| closes(&waiting.change));
    Ok(found.map(|waiting| (waiting.staff_id, waiting.at)))
}

fn changed_field(page: &Page, change: &FieldChange) -> ChangedField {
    let shown = |values: &[String]| -> Vec<String> {
        let is_place = matches!(change.field.as_str(), "countries" | "nationalities");
        values
            .iter()
            .map(|value| match change.field.as_str() {
                _ if is_place => hits::country_name(value),
                "topics" => page.word("review.topic", value),
                "schema" => page.word("screening.kind", value),
                _ => value.clone(),
            })
            .collect()
    };
    ChangedField {
        name: page.word("alerts.field", &change.field),
        from: shown(&change.from),
        to: shown(&change.to),
    }
}

/// The form that was sent.
#[derive(Clone, Copy)]
enum Act {
    Decide,
    Claim,
    Release,
    Reopen,
}

/// `POST /portal/alerts/{id}/decide`
pub(super) async fn decide(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(id): Path<Uuid>,
    Form(form): Form<AlertForm>,
) -> Result<Response, Rejection> {
    answer(&app, page, &member, (id, Act::Decide), form).await
}

/// `POST /portal/alerts/{id}/claim`
pub(super) async fn claim(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(id): Path<Uuid>,
    Form(form): Form<AlertForm>,
) -> Result<Response, Rejection> {
    answer(&app, page, &member, (id, Act::Claim), form).await
}

/// `POST /portal/alerts/{id}/release`
pub(super) async fn release(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(id): Path<Uuid>,
) -> Result<Response, Rejection> {
    answer(&app, page, &member, (id, Act::Release), AlertForm::default()).await
}

/// `POST /portal/alerts/{id}/reopen`
pub(super) async fn reopen(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(id): Path<Uuid>,
) -> Result<Response, Rejection> {
    answer(&app, page, &member, (id, Act::Reopen), AlertForm::default()).await
}

/// Carries out a form. A rejected one returns the page with the error next to its field and everything that was typed.
async fn answer(
    app: &Shared,
    page: Page,
    member: &Member,
    (id, act): (Uuid, Act),
    form: AlertForm,
) -> Result<Response, Rejection> {
    let problem = match carry_out(app, member, (id, act), &form).await {
        Ok(response) => return Ok(response),
        Err(problem) => problem,
    };
    let status = problem.status(Family::System);
    if !matches!(
        status,
        StatusCode::BAD_REQUEST | StatusCode::CONFLICT | StatusCode::FORBIDDEN
    ) {
        return Err(problem.into());
    }
    let fault = (field_at_fault(&problem), refusal(&page, &problem));
    let mut response = render(app, page, member, id, form, Some(fault)).await?;
    *response.status_mut() = status;
    Ok(response)
}

async fn carry_out(
    app: &Shared,
    member: &Member,
    (id, act): (Uuid, Act),
    form: &AlertForm,
) -> Result<Response, Problem> {
    let (scope, actor, here) = (member.scope()?, member.actor(), address(id));
    let by = (member.staff_id, actor.as_str());
    let key = match act {
        Act::Decide => {
            // An unknown alert is 404, whatever else is wrong with the form.
            let known = store::alerts::get(&mut app.db.read().await?, scope, id).await?;
            known.ok_or_else(unknown)?;
            let decision = AlertDecision {
                conclusion: parse_conclusion(member, &form.conclusion, &form.why)?,
                reason: form.reason.trim(),
                // Without the version a decision could apply to a hit that the reviewer never saw.
                seen: Some(form.version.ok_or_else(version_missing)?),
            };
            match alerts::decide(&app.db, scope, id, &decision, by).await? {
                SetAsideOutcome::Proposed => {
                    let confirms = (Action::Suppress, "change_proposed");
                    return redirect_after_proposal(app, member, &here, confirms).await;
                }
                SetAsideOutcome::Done => match decision.conclusion {
                    Conclusion::SamePerson => "alert_same_person",
                    Conclusion::OtherPerson(_) => "alert_other_person",
                },
            }
        }
        Act::Claim => {
            if !alerts::claim(&app.db, scope, id, by, form.take_over == "true").await? {
                let text = "A colleague claimed this alert a moment ago";
                return Err(Problem::new(Kind::Conflict, text).named("claimed_faster"));
            }
            "claimed"
        }
        Act::Release => {
            alerts::release(&app.db, scope, id, member.staff_id).await?;
            "released"
        }
        Act::Reopen => {
            alerts::reopen(&app.db, scope, id, &actor).await?;
            "alert_reopened"
        }
    };
    Ok(done(&here, key))
}
