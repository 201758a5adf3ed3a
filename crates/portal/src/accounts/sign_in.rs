//! Sign-in, the second factor, renewed proof of identity, and sign-out.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use axum_extra::extract::{CookieJar, Form};
use http_server::error::Rejection;
use portal_accounts::passkeys;
use portal_accounts::signing_in::{self, SignIn};
use serde::Deserialize;
use service::problem::Problem;
use service::{App, Shared};
use store::portal_sessions::{self, ActiveSession, Stage};

use super::forms::{Faults, Hidden, ProofKind, Visitor, enter, enter_signed_in, render_rejected};
use super::letters;
use crate::page::{Page, html};
use crate::routes::{safe_next, with_next};
use crate::session::{self, Member};

/// The path to continue to afterwards.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Next {
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "portal/accounts/sign_in.html")]
pub(super) struct SignInPage {
    page: Page,
    pub(super) faults: Faults,
    email: String,
    next: String,
    can_sign_up: bool,
    offers_passkeys: bool,
}

impl SignInPage {
    pub(super) fn new(app: &App, page: Page, next: Option<&str>) -> Self {
        SignInPage {
            page,
            faults: Faults::default(),
            email: String::new(),
            next: safe_next(next).to_owned(),
            can_sign_up: app.config.sign_up_allowed(),
            offers_passkeys: passkeys::are_possible(app),
        }
    }
}

/// `GET /portal/sign-in`
pub(super) async fn page(
    State(app): State<Shared>,
    member: Option<Member>,
    Query(Next { next }): Query<Next>,
    page: Page,
) -> Result<Response, Rejection> {
    if member.is_some() {
        return Ok(Redirect::to(safe_next(next.as_deref())).into_response());
    }
    Ok(html(SignInPage::new(&app, page, next.as_deref()))?)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct SignInForm {
    email: String,
    password: Hidden,
    next: String,
}

/// `POST /portal/sign-in`
pub(super) async fn submit(
    State(app): State<Shared>,
    page: Page,
    visitor: Visitor,
    Form(form): Form<SignInForm>,
) -> Result<Response, Rejection> {
    let outcome = signing_in::with_password(
        &app,
        &form.email,
        &form.password.0,
        &visitor.browser,
        visitor.address,
    )
    .await?;
    let next = safe_next(Some(&form.next));
    Ok(match outcome {
        SignIn::Done(signed_in) => {
            letters::signed_in(&app, &page, &signed_in, &visitor.browser);
            enter_signed_in(&app, &signed_in, next)
        }
        SignIn::CodeNeeded(token) => enter(&app, &token, &with_next("/portal/sign-in/code", next)),
        SignIn::Wrong => {
            return Ok(render_rejected(SignInPage {
                faults: Faults::one("form", "accounts.fault.sign_in"),
                email: form.email,
                ..SignInPage::new(&app, page, Some(next))
            })?);
        }
    })
}

/// Finds the session of a member who has entered the password but not yet the second factor.
async fn find_half_signed_in(app: &App, headers: &HeaderMap) -> Result<Option<ActiveSession>, Problem> {
    let Some(token) = session::token(app, headers) else {
        return Ok(None);
    };
    let found = portal_sessions::find(&mut app.db.read().await?, &token).await?;
    Ok(found.filter(|found| found.stage == Stage::Password))
}

#[derive(Template)]
#[template(path = "portal/accounts/code.html")]
struct CodePage {
    page: Page,
    faults: Faults,
    next: String,
    asks: ProofKind,
}

/// `GET /portal/sign-in/code`
pub(super) async fn code_page(
    State(app): State<Shared>,
    Query(Next { next }): Query<Next>,
    page: Page,
    headers: HeaderMap,
) -> Result<Response, Rejection> {
    let next = safe_next(next.as_deref()).to_owned();
    let Some(half) = find_half_signed_in(&app, &headers).await? else {
        return Ok(Redirect::to(&with_next("/portal/sign-in", &next)).into_response());
    };
    Ok(html(CodePage {
        page,
        faults: Faults::default(),
        next,
        asks: ProofKind::of_half(&app, &half.staff).await?,
    })?)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CodeForm {
    code: String,
    next: String,
}

/// `POST /portal/sign-in/code`
pub(super) async fn code(
    State(app): State<Shared>,
    page: Page,
    visitor: Visitor,
    headers: HeaderMap,
    Form(form): Form<CodeForm>,
) -> Result<Response, Rejection> {
    let next = safe_next(Some(&form.next)).to_owned();
    let Some(half) = find_half_signed_in(&app, &headers).await? else {
        return Ok(Redirect::to(&with_next("/portal/sign-in", &next)).into_response());
    };
    match signing_in::with_code(&app, &half, &form.code, &visitor.browser, visitor.address).await? {
        Some(signed_in) => {
            letters::signed_in(&app, &page, &signed_in, &visitor.browser);
            Ok(enter_signed_in(&app, &signed_in, &next))
        }
        None => Ok(render_rejected(CodePage {
            page,
            faults: Faults::one("code", "accounts.fault.code"),
            next,
            asks: ProofKind::of_half(&app, &half.staff).await?,
        })?),
    }
}

/// `POST /portal/sign-out`
pub(super) async fn sign_out(State(app): State<Shared>, member: Member) -> Result<Response, Rejection> {
    signing_in::sign_out(&app, member.staff_id, member.session_id).await?;
    let jar = CookieJar::new().add(session::no_cookie(&app));
    Ok((jar, Redirect::to("/portal/sign-in")).into_response())
}

#[derive(Template)]
#[template(path = "portal/accounts/prove.html")]
struct ProvePage {
    page: Page,
    faults: Faults,
    next: String,
    asks: ProofKind,
}

/// `GET /portal/prove`
pub(super) async fn prove_page(
    Query(Next { next }): Query<Next>,
    member: Member,
    page: Page,
) -> Result<Response, Rejection> {
    Ok(html(ProvePage {
        page,
        faults: Faults::default(),
        next: safe_next(next.as_deref()).to_owned(),
        asks: ProofKind::of(&member),
    })?)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ProveForm {
    proof: Hidden,
    next: String,
}

/// `POST /portal/prove`
pub(super) async fn prove(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    visitor: Visitor,
    Form(form): Form<ProveForm>,
) -> Result<Response, Rejection> {
    let next = safe_next(Some(&form.next)).to_owned();
    let (staff_id, session_id) = (member.staff_id, member.session_id);
    match signing_in::prove(&app, staff_id, session_id, &form.proof.0, visitor.address).await? {
        Some(token) => Ok(enter(&app, &token, &next)),
        None => Ok(render_rejected(ProvePage {
            page,
            faults: Faults::one("proof", "accounts.fault.proof"),
            next,
            asks: ProofKind::of(&member),
        })?),
    }
}
