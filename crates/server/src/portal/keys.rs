//! API keys of the account and mode: shown without secrets, made, given new secrets, revoked. A new secret is shown once.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use secrecy::ExposeSecret;
use store::credentials::{Credential, NewCredential};
use store::merchants::MerchantStatus;

use super::page::{Page, done, html};
use super::permissions::Action;
use super::routes::Routes;
use super::session::Member;
use crate::app::{Shared, keys};
use crate::error::Problem;
use crate::http::path::PathText;

/// This area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/keys", Action::ViewKeys, list)
        .post("/portal/keys", Action::ViewKeys, create)
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

async fn list(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Problem> {
    let keys = keys::list(&app, &member.caller()?).await?;
    let sleeps = !member.sandbox && member.merchant()?.status != MerchantStatus::Approved;
    html(ListPage { page, keys, sleeps })
}

#[derive(Template)]
#[template(path = "portal/keys/shown.html")]
struct ShownPage {
    page: Page,
    key: String,
    secret: String,
    /// The secret before works on for a while.
    rotated: bool,
}

fn shown(page: Page, made: &NewCredential, rotated: bool) -> Result<Response, Problem> {
    html(ShownPage {
        page,
        key: made.key.clone(),
        secret: made.secret.expose_secret().to_owned(),
        rotated,
    })
}

async fn create(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Problem> {
    shown(page, &keys::create(&app, &member.caller()?).await?, false)
}

async fn rotate(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(key): PathText,
) -> Result<Response, Problem> {
    shown(page, &keys::rotate(&app, &member.caller()?, &key).await?, true)
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
) -> Result<Response, Problem> {
    let known = keys::list(&app, &member.caller()?).await?;
    if !known
        .iter()
        .any(|each| each.key == key && each.revoked_at.is_none())
    {
        return Err(Problem::not_found("No such API key"));
    }
    html(RevokePage { page, key })
}

async fn revoke(
    State(app): State<Shared>,
    member: Member,
    PathText(key): PathText,
) -> Result<Response, Problem> {
    keys::revoke(&app, &member.caller()?, &key).await?;
    Ok(done("/portal/keys", "revoked"))
}
