//! The pages on which members add, use and remove passkeys. The browser's part is `web/portal/passkeys.js`.

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Redirect, Response};
use axum_extra::extract::Form;
use http_server::error::Rejection;
use http_server::path::PathText;
use portal_accounts::passkeys::{self, CeremonyOptions};
use portal_accounts::signing_in;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use service::problem::Problem;
use service::{App, Shared};

use super::account::{HERE, RECOVERY, render_account, required_by};
use super::forms::{Faults, Visitor, enter, enter_signed_in, render_rejected};
use super::letters::{self, browser_name, security_changed};
use super::sign_in::SignInPage;
use crate::page::{Page, done, html};
use crate::routes::safe_next;
use crate::session::Member;
use crate::show_once;

/// A question for the page's script.
#[derive(Serialize)]
struct Asked {
    options: Box<RawValue>,
    ceremony: String,
}

/// `GET /portal/passkey/options`: a question for any passkey of this site, as JSON for the page's script.
pub(super) async fn options(State(app): State<Shared>) -> Result<Response, Rejection> {
    if !passkeys::are_possible(&app) {
        return Ok(Redirect::to("/portal/sign-in").into_response());
    }
    let CeremonyOptions { options, ceremony } = passkeys::start_authentication(&app).await?;
    let options = RawValue::from_string(options).map_err(Problem::internal)?;
    let body = Json(Asked { options, ceremony });
    Ok(([(CACHE_CONTROL, "no-store")], body).into_response())
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct SignInForm {
    answer: String,
    next: String,
}

/// `POST /portal/sign-in/passkey`
pub(super) async fn sign_in(
    State(app): State<Shared>,
    page: Page,
    visitor: Visitor,
    Form(form): Form<SignInForm>,
) -> Result<Response, Rejection> {
    let next = safe_next(Some(&form.next));
    match signing_in::with_passkey(&app, &form.answer, &visitor.browser, visitor.address).await? {
        Some(signed_in) => {
            letters::signed_in(&app, &page, &signed_in, &visitor.browser);
            Ok(enter_signed_in(&app, &signed_in, next))
        }
        None => {
            let mut rejected = SignInPage::new(&app, page, Some(next));
            rejected.faults = Faults::one("form", "accounts.fault.passkey");
            Ok(render_rejected(rejected)?)
        }
    }
}

#[derive(Template)]
#[template(path = "portal/accounts/passkey.html")]
struct NewPasskeyPage {
    page: Page,
    faults: Faults,
    name: String,
    /// The chosen account's name, if it requires a second factor that the member has not set up.
    required_by: Option<String>,
    /// `None` if the member has as many passkeys as allowed.
    question: Option<CeremonyOptions>,
}

impl NewPasskeyPage {
    async fn of(app: &App, page: Page, member: &Member, name: String) -> Result<Self, Problem> {
        Ok(NewPasskeyPage {
            page,
            faults: Faults::default(),
            name,
            required_by: required_by(member)?,
            question: passkeys::start_registration(app, member.staff_id, member.session_id).await?,
        })
    }
}

/// `GET /portal/account/passkeys/new`
pub(super) async fn new_page(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    visitor: Visitor,
) -> Result<Response, Rejection> {
    if !passkeys::are_possible(&app) {
        return Ok(Redirect::to(HERE).into_response());
    }
    let device = &visitor.browser.device;
    let name = browser_name(&page, &device.browser, &device.system);
    Ok(html(NewPasskeyPage::of(&app, page, &member, name).await?)?)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NewPasskeyForm {
    name: String,
    answer: String,
}

/// `POST /portal/account/passkeys`
pub(super) async fn add(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    Form(form): Form<NewPasskeyForm>,
) -> Result<Response, Rejection> {
    let (staff_id, session_id) = (member.staff_id, member.session_id);
    let added = match passkeys::add(&app, staff_id, session_id, &form.name, &form.answer).await? {
        Ok(added) => added,
        Err(faults) => {
            return Ok(render_rejected(NewPasskeyPage {
                faults: Faults(faults),
                ..NewPasskeyPage::of(&app, page, &member, form.name).await?
            })?);
        }
    };
    security_changed(&app, &page, &member.email, "passkey_added");
    match added.recovery {
        Some(codes) => {
            show_once::set(&app, &member, RECOVERY, &codes).await?;
            Ok(enter(&app, &added.token, RECOVERY))
        }
        None => Ok(enter(&app, &added.token, &format!("{HERE}?done=passkey_added"))),
    }
}

/// `POST /portal/account/passkeys/{id}/remove`
pub(super) async fn remove(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let id = id
        .parse()
        .map_err(|_| Problem::not_found("There is no such passkey"))?;
    match passkeys::remove(&app, member.staff_id, member.session_id, id).await? {
        Ok(()) => {
            security_changed(&app, &page, &member.email, "passkey_removed");
            Ok(done(HERE, "passkey_removed"))
        }
        Err(faults) => render_account(&app, page, member, Faults(faults)).await,
    }
}
