//! The search for people, and the page of one person.
//!
//! The search is posted and then sealed into the address of its results. No address contains a name, and the
//! results page can be reloaded.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use axum_extra::extract::Form;
use http_server::error::Rejection;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::alerts::Finding;
use service::people::{self, Search};
use service::permissions::Action;
use service::problem::Problem;
use service::{Shared, applicant_view};
use store::alerts::AlertState;
use store::attempts;
use store::suppressions::{self, Suppression};
use store::{people as store_people, registrations};
use uuid::Uuid;
use verification::status::AttemptStatus;

use super::fields::iso_date;
use super::timeline::{self, Event};
use crate::page::{Page, done, html};
use crate::sealed_search::{self, Sealed};
use crate::session::Member;

/// The most attempts that a person's page lists.
const MOST_ATTEMPTS: i64 = 200;

#[derive(Template)]
#[template(path = "portal/people.html")]
struct PeoplePage {
    page: Page,
    text: String,
    error: String,
    searched: bool,
    found: Vec<Row>,
    more: bool,
    log_id: Option<i64>,
}

struct Row {
    facemap_id: String,
    name: String,
    dob: String,
    proven: bool,
    /// Each registration's label and status.
    registrations: Vec<(String, Option<AttemptStatus>)>,
    last_active: i64,
    log_id: Option<i64>,
}

impl PeoplePage {
    fn of(page: Page, text: String, error: String, searched: Option<Search>) -> Self {
        let is_searched = searched.is_some();
        let search = searched.unwrap_or_default();
        PeoplePage {
            page,
            text,
            error,
            searched: is_searched,
            more: search.more,
            log_id: search.log_id,
            found: search
                .people
                .into_iter()
                .map(|found| Row {
                    facemap_id: found.person.facemap_id.to_string(),
                    name: people::name(&found.info),
                    dob: found.info.dob.as_deref().map(iso_date).unwrap_or_default(),
                    proven: found.person.proven,
                    last_active: found
                        .registrations
                        .first()
                        .map_or(found.person.created_at, |registration| registration.last_active),
                    registrations: found
                        .registrations
                        .iter()
                        .map(|registration| (registration.external_user_id.clone(), registration.status))
                        .collect(),
                    log_id: found.log_id,
                })
                .collect(),
        }
    }
}

/// The search form.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub struct SearchForm {
    text: String,
}

/// The kind of sealed search; see [`sealed_search`](super::super::sealed_search).
const SEARCH: &str = "people search";

/// `POST /portal/people`
pub async fn search(
    State(app): State<Shared>,
    member: Member,
    Form(form): Form<SearchForm>,
) -> Result<Response, Rejection> {
    Ok(sealed_search::redirect_to_search(&app, &member, "/portal/people", SEARCH, &form).await?)
}

/// `GET /portal/people`
pub async fn page(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Query(query): Query<Sealed>,
) -> Result<Response, Rejection> {
    let Some(form) = sealed_search::open::<SearchForm>(&app, &member, SEARCH, &query.sealed).await? else {
        return Ok(html(PeoplePage::of(page, String::new(), String::new(), None))?);
    };
    let scope = member.scope()?;
    let found = match people::search(&app, scope, &form.text).await {
        Ok(found) => found,
        Err(problem) if problem.status(service::problem::Family::System).as_u16() == 400 => {
            let error = page.t1("people.wrong", "n", people::MAX_TEXT);
            let mut response = html(PeoplePage::of(page, form.text, error, None))?;
            *response.status_mut() = axum::http::StatusCode::BAD_REQUEST;
            return Ok(response);
        }
        Err(problem) => return Err(problem.into()),
    };
    // One audit row for all results of a page. It records whose data was shown, not the search text.
    let shown: Vec<_> = found.people.iter().map(|found| found.person.facemap_id).collect();
    if !shown.is_empty() {
        applicant_view::record_view(
            &app,
            scope,
            &member.actor(),
            "search",
            &json!({"facemapIds": shown}),
        )
        .await?;
    }
    Ok(html(PeoplePage::of(page, form.text, String::new(), Some(found)))?)
}

#[derive(Template)]
#[template(path = "portal/person.html")]
struct PersonPage {
    page: Page,
    facemap_id: String,
    name: String,
    proven: bool,
    created_at: i64,
    aliases: Vec<Uuid>,
    registrations: Vec<registrations::Registration>,
    groups: BTreeMap<Uuid, String>,
    events: Vec<Event>,
    suppressions: Vec<(Suppression, String)>,
    alerts: Vec<AlertRow>,
    may_suppress: bool,
    may_merge: bool,
    may_erase: bool,
    may_export: bool,
}

/// An alert about the person.
struct AlertRow {
    id: Uuid,
    state: AlertState,
    /// The listing's name, or the list's name if this version cannot read the alert.
    caption: String,
    list: String,
    opened_at: i64,
}

impl PersonPage {
    /// A Group's name, or its ID if it was deleted.
    fn group(&self, id: &Uuid) -> String {
        self.groups.get(id).cloned().unwrap_or_else(|| id.to_string())
    }
}

/// `GET /portal/people/{facemapId}`; the ID may be an alias.
pub async fn person(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(facemap_id): Path<Uuid>,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let mut conn = app.db.read().await?;
    let person = store_people::resolve(&mut conn, scope, facemap_id)
        .await?
        .ok_or_else(|| Problem::not_found("There is no such person"))?;
    let facemap_id = person.facemap_id;
    let all = registrations::of_facemap(&mut conn, scope, facemap_id).await?;
    let tried = attempts::summaries_of_facemap(&mut conn, scope, facemap_id, MOST_ATTEMPTS).await?;
    let known = people::identifying_attempt(&mut conn, scope, &person).await?;
    let set_aside = suppressions::of_person(&mut conn, scope, facemap_id).await?;
    let names =
        applicant_view::staff_names(&mut conn, set_aside.iter().map(|entry| entry.staff_id).collect())
            .await?;
    let alerts = store::alerts::of_person(&mut conn, scope, facemap_id).await?;
    let aliases = store_people::aliases(&mut conn, scope, facemap_id).await?;
    let in_groups = all.iter().filter_map(|registration| registration.grouping_id);
    let groups = applicant_view::group_names(&mut conn, scope, in_groups.collect()).await?;
    drop(conn);
    applicant_view::record_view(&app, scope, &member.actor(), &facemap_id.to_string(), &json!({})).await?;
    let name = known
        .map(|(_, detail)| people::name(&detail.info))
        .unwrap_or_default();
    Ok(html(PersonPage {
        facemap_id: facemap_id.to_string(),
        name,
        proven: person.proven,
        created_at: person.created_at,
        aliases,
        events: timeline::of_person(&page, &all, &tried, None, &groups),
        groups,
        registrations: all,
        suppressions: set_aside
            .into_iter()
            .map(|entry| {
                let who = names.get(&entry.staff_id).cloned().unwrap_or_default();
                (entry, who)
            })
            .collect(),
        alerts: alerts
            .into_iter()
            .map(|alert| AlertRow {
                id: alert.id,
                state: alert.state,
                caption: Finding::of(&alert)
                    .map_or_else(|_| alert.list.clone(), |finding| finding.hit.caption),
                list: alert.list,
                opened_at: alert.opened_at,
            })
            .collect(),
        may_suppress: member.may(Action::Suppress),
        may_merge: member.may(Action::MergePeople),
        may_erase: member.may(Action::ErasePerson),
        may_export: member.may(Action::ExportPerson),
        page,
    })?)
}

/// A suppressed listing that is to count again.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct RestoreForm {
    list: String,
    entry: String,
}

/// `POST /portal/people/{facemapId}/listings/restore`
pub async fn restore_listing(
    State(app): State<Shared>,
    member: Member,
    Path(facemap_id): Path<Uuid>,
    Form(form): Form<RestoreForm>,
) -> Result<Response, Rejection> {
    let listing = (form.list.as_str(), form.entry.as_str());
    service::suppressions::restore_listing(&app.db, member.scope()?, facemap_id, listing, &member.actor())
        .await?;
    Ok(done(&format!("/portal/people/{facemap_id}"), "restored"))
}
