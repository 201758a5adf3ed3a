//! API keys of the account and mode: listed without secrets, created, restricted, rotated, and revoked. A new
//! secret is shown once.

use std::net::IpAddr;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum_extra::extract::Form;
use http_server::error::Rejection;
use http_server::gate::ClientAddress;
use http_server::path::PathText;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use service::key_permissions::{Candidate, KeyAct, KeyPermissions, PermissionError};
use service::key_restrictions::{Endpoints, KeyRestrictions, RestrictionError};
use service::keys::GraceHours;
use service::permissions::{self, Action, Role};
use service::problem::{Kind, Problem};
use service::settings::settings;
use service::{App, Shared, keys};
use store::credentials::{Credential, NewCredential};
use store::merchants::MerchantStatus;
use store::staff::Membership;
use uuid::Uuid;

use super::page::{Page, done, html};
use super::routes::Routes;
use super::session::Member;
use super::show_once;

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/keys", Action::ViewKeys, list)
        .post("/portal/keys", Action::ViewKeys, create)
        .get(NEW_SECRET_PATH, Action::ViewKeys, new_secret_page)
        .get("/portal/keys/{key}/rotate", Action::ViewKeys, ask_rotate)
        .post("/portal/keys/{key}/rotate", Action::ViewKeys, rotate)
        .get("/portal/keys/{key}/restrictions", Action::ViewKeys, restrictions)
        .post("/portal/keys/{key}/restrictions", Action::ViewKeys, restrict)
        .get("/portal/keys/{key}/permissions", Action::PermitKeys, permissions)
        .post("/portal/keys/{key}/permissions", Action::PermitKeys, permit)
        .get("/portal/keys/{key}/revoke", Action::ViewKeys, ask_revoke)
        .post("/portal/keys/{key}/revoke", Action::ViewKeys, revoke)
}

#[derive(Template)]
#[template(path = "portal/keys/list.html")]
struct ListPage {
    page: Page,
    keys: Vec<Row>,
    /// Whether the reader may grant permissions.
    may_permit: bool,
    /// Whether live keys do not work yet because the account is not approved.
    sleeps: bool,
}

impl ListPage {
    /// The time (ms) until which the previous secret also works, if it still does.
    fn both_until(&self, key: &Credential) -> Option<i64> {
        key.previous_until.filter(|until| *until > self.page.now())
    }
}

/// A key in the list.
struct Row {
    key: Credential,
    /// What it may do; `None` if that cannot be read.
    restrictions: Option<KeyRestrictions>,
    /// What it may do to people; `None` if that cannot be read.
    permissions: Option<KeyPermissions>,
}

impl From<Credential> for Row {
    fn from(key: Credential) -> Self {
        Row {
            restrictions: KeyRestrictions::from_json(&key.restrictions).ok(),
            permissions: KeyPermissions::from_json(&key.permissions).ok(),
            key,
        }
    }
}

async fn list(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Rejection> {
    let keys = keys::list(&app, &member.caller()?).await?;
    let keys = keys.into_iter().map(Row::from).collect();
    let sleeps = !member.sandbox && member.merchant()?.status != MerchantStatus::Approved;
    Ok(html(ListPage {
        page,
        keys,
        may_permit: member.may(Action::PermitKeys),
        sleeps,
    })?)
}

/// The page that shows a new secret.
const NEW_SECRET_PATH: &str = "/portal/keys/made";

/// A new secret, which is shown once.
#[derive(Serialize, Deserialize)]
struct NewSecret {
    key: String,
    secret: String,
    /// How long the previous secret still works, in hours; `None` for a new key.
    grace_hours: Option<u16>,
}

#[derive(Template)]
#[template(path = "portal/keys/shown.html")]
struct ShownPage {
    page: Page,
    made: NewSecret,
}

/// Redirects to the page that shows a new secret.
async fn show(
    app: &App,
    member: &Member,
    made: &NewCredential,
    grace_hours: Option<u16>,
) -> Result<Response, Problem> {
    let made = NewSecret {
        key: made.key.clone(),
        secret: made.secret.expose_secret().to_owned(),
        grace_hours,
    };
    show_once::set(app, member, NEW_SECRET_PATH, &made).await?;
    Ok(Redirect::to(NEW_SECRET_PATH).into_response())
}

/// Shows the new secret. If it was shown before, the reader goes back to the list.
async fn new_secret_page(
    State(app): State<Shared>,
    member: Member,
    page: Page,
) -> Result<Response, Rejection> {
    match show_once::take(&app, &member, NEW_SECRET_PATH).await? {
        Some(made) => Ok(html(ShownPage { page, made })?),
        None => Ok(Redirect::to("/portal/keys").into_response()),
    }
}

async fn create(State(app): State<Shared>, member: Member) -> Result<Response, Rejection> {
    let made = keys::create(&app, &member.caller()?).await?;
    Ok(show(&app, &member, &made, None).await?)
}

/// The grace periods to choose from, in hours.
const GRACE_HOURS: [u16; 4] = [0, 1, 24, GraceHours::MOST];

#[derive(Template)]
#[template(path = "portal/keys/rotate.html")]
struct RotatePage {
    page: Page,
    key: Credential,
    choices: [u16; 4],
    chosen: u16,
}

async fn ask_rotate(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(key): PathText,
) -> Result<Response, Rejection> {
    Ok(html(RotatePage {
        page,
        key: keys::active(&app, &member.caller()?, &key).await?,
        choices: GRACE_HOURS,
        chosen: GraceHours::default().get(),
    })?)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RotateForm {
    grace_hours: Option<u16>,
}

async fn rotate(
    State(app): State<Shared>,
    member: Member,
    PathText(key): PathText,
    Form(form): Form<RotateForm>,
) -> Result<Response, Rejection> {
    let chosen = form.grace_hours.unwrap_or(GraceHours::default().get());
    let grace = GraceHours::new(chosen).filter(|grace| GRACE_HOURS.contains(&grace.get()));
    let grace = grace.ok_or_else(|| {
        let text = format!("graceHours - must be one of {GRACE_HOURS:?}");
        Problem::validation(vec![text])
    })?;
    let caller = member.caller()?;
    // Without an earlier secret there is nothing to wait for.
    let had_secret = keys::active(&app, &caller, &key).await?.has_secret;
    let made = keys::rotate(&app, &caller, &key, grace).await?;
    Ok(show(&app, &member, &made, had_secret.then_some(grace.get())).await?)
}

#[derive(Template)]
#[template(path = "portal/keys/restrictions.html")]
struct RestrictionsPage {
    page: Page,
    key: String,
    groups: [Endpoints; 6],
    /// The names of the chosen groups.
    chosen: Vec<String>,
    addresses: String,
    /// Where this page's own request came from.
    own_address: IpAddr,
    /// Why the form was refused.
    fault: Option<RestrictionError>,
    /// Whether the stored restrictions cannot be read.
    unreadable: bool,
}

impl RestrictionsPage {
    fn is_chosen(&self, group: &Endpoints) -> bool {
        self.chosen.iter().any(|name| name == group.as_str())
    }

    /// The error of a field; empty if it has none.
    fn fault_of(&self, field: &str) -> String {
        fault_of(self.fault.as_ref(), field)
    }
}

async fn restrictions(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    ClientAddress(own_address): ClientAddress,
    PathText(key): PathText,
) -> Result<Response, Rejection> {
    let found = keys::active(&app, &member.caller()?, &key).await?;
    let stored = KeyRestrictions::from_json(&found.restrictions);
    let unreadable = stored.is_err();
    let stored = stored.unwrap_or_default();
    // Nothing is chosen for restrictions that cannot be read, so that saving the form unchanged allows nothing.
    let chosen = Endpoints::ALL
        .into_iter()
        .filter(|group| !unreadable && stored.allows(*group));
    Ok(html(RestrictionsPage {
        page,
        key: found.key,
        groups: Endpoints::ALL,
        chosen: chosen.map(|group| group.as_str().to_owned()).collect(),
        addresses: stored.networks().join("\n"),
        own_address,
        fault: None,
        unreadable,
    })?)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RestrictionsForm {
    endpoints: Vec<String>,
    addresses: String,
}

async fn restrict(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    ClientAddress(own_address): ClientAddress,
    PathText(key): PathText,
    Form(form): Form<RestrictionsForm>,
) -> Result<Response, Rejection> {
    let caller = member.caller()?;
    let key = keys::active(&app, &caller, &key).await?.key;
    let networks = form.addresses.split([',', '\n', '\r', ' ']);
    let networks = networks.filter(|text| !text.trim().is_empty());
    match KeyRestrictions::new(form.endpoints.iter().map(String::as_str), networks) {
        Ok(restrictions) => {
            keys::restrict(&app, &caller, &key, &restrictions).await?;
            Ok(done("/portal/keys", "restricted"))
        }
        Err(fault) => {
            let page = html(RestrictionsPage {
                page,
                key,
                groups: Endpoints::ALL,
                chosen: form.endpoints,
                addresses: form.addresses,
                own_address,
                fault: Some(fault),
                unreadable: false,
            })?;
            Ok((StatusCode::BAD_REQUEST, page).into_response())
        }
    }
}

/// A member whom a key may name.
struct Colleague {
    id: Uuid,
    name: String,
    role: String,
    /// Whether the member is chosen.
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "portal/keys/permissions.html")]
struct PermissionsPage {
    page: Page,
    key: String,
    acts: [KeyAct; 4],
    /// The names of the chosen acts.
    chosen: Vec<String>,
    colleagues: Vec<Colleague>,
    /// Whether the reader lacks a second factor, without which nothing is granted.
    lacks_factor: bool,
    /// Whether the account requires two people.
    needs_two: bool,
    /// Why the form was refused.
    fault: Option<PermissionError>,
    /// Whether the stored permissions cannot be read.
    unreadable: bool,
}

impl PermissionsPage {
    fn is_chosen(&self, act: &KeyAct) -> bool {
        self.chosen.iter().any(|name| name == act.as_str())
    }

    /// The error of a field; empty if it has none.
    fn fault_of(&self, field: &str) -> String {
        fault_of(self.fault.as_ref(), field)
    }
}

/// The reason of a fault if it concerns this field; otherwise empty.
fn fault_of(fault: Option<&impl ToString>, field: &str) -> String {
    let text = fault.map(ToString::to_string).unwrap_or_default();
    let (wrong, reason) = text.split_once(" - ").unwrap_or_default();
    if wrong == field {
        reason.to_owned()
    } else {
        String::new()
    }
}

/// The members whose role permits an act that names somebody, with the key's choice.
fn colleagues(page: &Page, members: Vec<Membership>, chosen: &[Uuid]) -> Vec<Colleague> {
    let is_able = |membership: &Membership| {
        let role = membership.role.parse::<Role>().ok();
        let mut actions = KeyAct::ALL.into_iter().filter_map(KeyAct::action);
        actions.any(|action| permissions::may(role, false, action))
    };
    members
        .into_iter()
        .filter(is_able)
        .map(|membership| Colleague {
            id: membership.member.id,
            role: page.word("role", &membership.role),
            name: membership.member.name,
            is_chosen: chosen.contains(&membership.member.id),
        })
        .collect()
}

async fn permissions(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(key): PathText,
) -> Result<Response, Rejection> {
    let caller = member.caller()?;
    let found = keys::active(&app, &caller, &key).await?;
    let stored = KeyPermissions::from_json(&found.permissions);
    let unreadable = stored.is_err();
    let stored = stored.unwrap_or_default();
    let members = keys::candidates(&app, &caller).await?;
    let chosen = stored.acts().iter().map(|act| act.as_str().to_owned());
    Ok(html(PermissionsPage {
        chosen: chosen.collect(),
        colleagues: colleagues(&page, members, stored.reviewers()),
        key: found.key,
        acts: KeyAct::ALL,
        lacks_factor: !member.has_second_factor(),
        needs_two: settings(member.merchant()?)?.four_eyes,
        fault: None,
        unreadable,
        page,
    })?)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PermissionsForm {
    acts: Vec<String>,
    reviewers: Vec<Uuid>,
}

async fn permit(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(key): PathText,
    Form(form): Form<PermissionsForm>,
) -> Result<Response, Rejection> {
    let caller = member.caller()?;
    let key = keys::active(&app, &caller, &key).await?.key;
    // The guard asked for a fresh proof, which is the second factor of whoever has one.
    if !member.has_second_factor() {
        let text =
            "Set up a second factor under Your account first: only an owner with one may permit a key to act";
        return Err(Problem::new(Kind::Forbidden, text).into());
    }
    let members = keys::candidates(&app, &caller).await?;
    let candidate = |membership: &Membership| Candidate {
        id: membership.member.id,
        role: membership.role.parse().ok(),
    };
    let candidates: Vec<Candidate> = members.iter().map(candidate).collect();
    let acts = form.acts.iter().map(String::as_str);
    match KeyPermissions::new(acts, form.reviewers.iter().copied(), &candidates) {
        Ok(permissions) => {
            keys::permit(&app, &caller, &key, &permissions).await?;
            Ok(done("/portal/keys", "permitted"))
        }
        Err(fault) => {
            let page = html(PermissionsPage {
                key,
                acts: KeyAct::ALL,
                chosen: form.acts,
                colleagues: colleagues(&page, members, &form.reviewers),
                lacks_factor: false,
                needs_two: settings(member.merchant()?)?.four_eyes,
                fault: Some(fault),
                unreadable: false,
                page,
            })?;
            Ok((StatusCode::BAD_REQUEST, page).into_response())
        }
    }
}

#[derive(Template)]
#[template(path = "portal/keys/revoke.html")]
struct RevokePage {
    page: Page,
    key: String,
}

async fn ask_revoke(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(key): PathText,
) -> Result<Response, Rejection> {
    let key = keys::active(&app, &member.caller()?, &key).await?.key;
    Ok(html(RevokePage { page, key })?)
}

async fn revoke(
    State(app): State<Shared>,
    member: Member,
    PathText(key): PathText,
) -> Result<Response, Rejection> {
    keys::revoke(&app, &member.caller()?, &key).await?;
    Ok(done("/portal/keys", "revoked"))
}
