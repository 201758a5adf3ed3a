//! API keys of the account and mode: shown without secrets, made, given new secrets, revoked. A new secret is shown once.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http_server::error::Rejection;
use http_server::path::PathText;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use service::permissions::Action;
use service::problem::Problem;
use service::{App, Shared, keys};
use store::credentials::{Credential, NewCredential};
use store::merchants::MerchantStatus;

use super::page::{Page, done, html};
use super::routes::Routes;
use super::session::Member;
use super::shown;

/// This area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/keys", Action::ViewKeys, list)
        .post("/portal/keys", Action::ViewKeys, create)
        .get(MADE, Action::ViewKeys, made)
        .post("/portal/keys/{key}/rotate", Action::ViewKeys, rotate)
        .get("/portal/keys/{key}/revoke", Action::ViewKeys, ask_revoke)
        .post("/portal/keys/{key}/revoke", Action::ViewKeys, revoke)
}

#[derive(Template)]
#[template(path = "portal/keys/list.html")]
struct ListPage {
    page: Page,
    keys: Vec<Credential>,
    /// Live keys work when the account is approved.
    sleeps: bool,
}

impl ListPage {
    /// Until when the secret before the current one works.
    fn both_until(&self, key: &Credential) -> Option<i64> {
        key.previous_until.filter(|until| *until > self.page.now())
    }
}

async fn list(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Rejection> {
    let keys = keys::list(&app, &member.caller()?).await?;
    let sleeps = !member.sandbox && member.merchant()?.status != MerchantStatus::Approved;
    Ok(html(ListPage { page, keys, sleeps })?)
}

/// Where a new secret is shown.
const MADE: &str = "/portal/keys/made";

/// A secret, shown this once.
#[derive(Serialize, Deserialize)]
struct Made {
    key: String,
    secret: String,
    /// The secret before works on for a while.
    rotated: bool,
}

#[derive(Template)]
#[template(path = "portal/keys/shown.html")]
struct ShownPage {
    page: Page,
    made: Made,
}

/// On to the page that shows a secret.
async fn show(app: &App, member: &Member, made: &NewCredential, rotated: bool) -> Result<Response, Problem> {
    let made = Made {
        key: made.key.clone(),
        secret: made.secret.expose_secret().to_owned(),
        rotated,
    };
    shown::keep(app, member, MADE, &made).await?;
    Ok(Redirect::to(MADE).into_response())
}

/// The secret that was just made; shown before, it is not there any more.
async fn made(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Rejection> {
    match shown::take(&app, &member, MADE).await? {
        Some(made) => Ok(html(ShownPage { page, made })?),
        None => Ok(Redirect::to("/portal/keys").into_response()),
    }
}

async fn create(State(app): State<Shared>, member: Member) -> Result<Response, Rejection> {
    let made = keys::create(&app, &member.caller()?).await?;
    Ok(show(&app, &member, &made, false).await?)
}

async fn rotate(
    State(app): State<Shared>,
    member: Member,
    PathText(key): PathText,
) -> Result<Response, Rejection> {
    let made = keys::rotate(&app, &member.caller()?, &key).await?;
    Ok(show(&app, &member, &made, true).await?)
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
    let known = keys::list(&app, &member.caller()?).await?;
    if !known
        .iter()
        .any(|each| each.key == key && each.revoked_at.is_none())
    {
        return Err(Problem::not_found("No such API key").into());
    }
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
