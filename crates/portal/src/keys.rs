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
use service::key_restrictions::{Endpoints, KeyRestrictions, RestrictionError};
use service::keys::GraceHours;
use service::permissions::Action;
use service::problem::Problem;
use service::{App, Shared, keys};
use store::credentials::{Credential, NewCredential};
use store::merchants::MerchantStatus;

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
        .get("/portal/keys/{key}/revoke", Action::ViewKeys, ask_revoke)
        .post("/portal/keys/{key}/revoke", Action::ViewKeys, revoke)
}

#[derive(Template)]
#[template(path = "portal/keys/list.html")]
struct ListPage {
    page: Page,
    keys: Vec<Row>,
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
}

impl From<Credential> for Row {
    fn from(key: Credential) -> Self {
        Row {
            restrictions: KeyRestrictions::from_json(&key.restrictions).ok(),
            key,
        }
    }
}

async fn list(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Rejection> {
    let keys = keys::list(&app, &member.caller()?).await?;
    let keys = keys.into_iter().map(Row::from).collect();
    let sleeps = !member.sandbox && member.merchant()?.status != MerchantStatus::Approved;
    Ok(html(ListPage { page, keys, sleeps })?)
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
        let text = self.fault.as_ref().map(ToString::to_string).unwrap_or_default();
        let (wrong, reason) = text.split_once(" - ").unwrap_or_default();
        if wrong == field {
            reason.to_owned()
        } else {
            String::new()
        }
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
