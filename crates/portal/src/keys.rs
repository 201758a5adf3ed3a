//! API keys of the account and mode: listed without secrets, created, rotated, and revoked. A new secret is
//! shown once.

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
use super::show_once;

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/keys", Action::ViewKeys, list)
        .post("/portal/keys", Action::ViewKeys, create)
        .get(NEW_SECRET_PATH, Action::ViewKeys, new_secret_page)
        .post("/portal/keys/{key}/rotate", Action::ViewKeys, rotate)
        .get("/portal/keys/{key}/revoke", Action::ViewKeys, ask_revoke)
        .post("/portal/keys/{key}/revoke", Action::ViewKeys, revoke)
}

#[derive(Template)]
#[template(path = "portal/keys/list.html")]
struct ListPage {
    page: Page,
    keys: Vec<Credential>,
    /// Whether live keys do not work yet because the account is not approved.
    sleeps: bool,
}

impl ListPage {
    /// The time (ms) until which the previous secret also works, if it still does.
    fn both_until(&self, key: &Credential) -> Option<i64> {
        key.previous_until.filter(|until| *until > self.page.now())
    }
}

async fn list(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Rejection> {
    let keys = keys::list(&app, &member.caller()?).await?;
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
    /// Whether the key was rotated, so that its previous secret works for a while.
    rotated: bool,
}

#[derive(Template)]
#[template(path = "portal/keys/shown.html")]
struct ShownPage {
    page: Page,
    made: NewSecret,
}

/// Redirects to the page that shows a new secret.
async fn show(app: &App, member: &Member, made: &NewCredential, rotated: bool) -> Result<Response, Problem> {
    let made = NewSecret {
        key: made.key.clone(),
        secret: made.secret.expose_secret().to_owned(),
        rotated,
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
