//! Sign-up by a stranger: the request, and the link that proves the email address.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use axum_extra::extract::Form;
use http_server::error::Rejection;
use http_server::path::PathText;
use portal_accounts::sign_up::{self, SignUpEmail};
use serde::Deserialize;
use service::mail::Letter;
use service::{App, Shared};
use store::sign_ups::SignUp;

use super::forms::{Faults, Hidden, Visitor, enter_signed_in, render_rejected};
use super::join::FIRST_PAGE;
use super::letters::post;
use crate::page::{Page, html};

#[derive(Template)]
#[template(path = "portal/accounts/sign_up.html")]
struct AskPage {
    page: Page,
    faults: Faults,
    company: String,
    email: String,
    can_mail: bool,
    asked: bool,
}

impl AskPage {
    fn new(app: &App, page: Page) -> Self {
        AskPage {
            page,
            faults: Faults::default(),
            company: String::new(),
            email: String::new(),
            can_mail: app.mailer.is_some(),
            asked: false,
        }
    }
}

/// `GET /portal/sign-up`
pub(super) async fn page(State(app): State<Shared>, page: Page) -> Result<Response, Rejection> {
    sign_up::only_where_allowed(&app)?;
    Ok(html(AskPage::new(&app, page))?)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AskForm {
    company: String,
    email: String,
}

/// `POST /portal/sign-up`: the response and its timing do not reveal whether the address has an account.
pub(super) async fn ask(
    State(app): State<Shared>,
    page: Page,
    visitor: Visitor,
    Form(form): Form<AskForm>,
) -> Result<Response, Rejection> {
    match sign_up::request_account(&app, &form.company, &form.email, visitor.address).await? {
        Ok(answer) => {
            if let Some((to, answer)) = answer {
                post(&app, letter(&app, &page, to, &answer));
            }
            Ok(html(AskPage {
                asked: true,
                ..AskPage::new(&app, page)
            })?)
        }
        Err(faults) => Ok(render_rejected(AskPage {
            faults: Faults(faults),
            company: form.company,
            email: form.email,
            ..AskPage::new(&app, page)
        })?),
    }
}

fn letter(app: &App, page: &Page, to: String, answer: &SignUpEmail) -> Letter {
    let (text, path) = match answer {
        SignUpEmail::Link(path) => ("accounts.mail.sign_up.text", path.as_str()),
        SignUpEmail::AccountExists => ("accounts.mail.sign_up.known", "/portal/sign-in"),
    };
    let link = format!("{}{path}", app.public_url);
    Letter {
        to,
        subject: page.t("accounts.mail.sign_up.subject"),
        text: page.tf(text, &[("link", &link)]),
    }
}

#[derive(Template)]
#[template(path = "portal/accounts/open.html")]
struct OpenPage {
    page: Page,
    faults: Faults,
    asked: SignUp,
    name: String,
}

/// `GET /portal/sign-up/{token}`
pub(super) async fn open_page(
    State(app): State<Shared>,
    PathText(token): PathText,
    page: Page,
) -> Result<Response, Rejection> {
    Ok(html(OpenPage {
        page,
        faults: Faults::default(),
        asked: sign_up::read_request(&app, &token).await?,
        name: String::new(),
    })?)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct OpenForm {
    name: String,
    password: Hidden,
}

/// `POST /portal/sign-up/{token}`
pub(super) async fn open(
    State(app): State<Shared>,
    PathText(token): PathText,
    page: Page,
    visitor: Visitor,
    Form(form): Form<OpenForm>,
) -> Result<Response, Rejection> {
    let asked = sign_up::read_request(&app, &token).await?;
    match sign_up::open_account(&app, &token, &form.name, &form.password.0, &visitor.browser).await? {
        Ok(signed_in) => Ok(enter_signed_in(&app, &signed_in, FIRST_PAGE)),
        Err(faults) => Ok(render_rejected(OpenPage {
            page,
            faults: Faults(faults),
            asked,
            name: form.name,
        })?),
    }
}
