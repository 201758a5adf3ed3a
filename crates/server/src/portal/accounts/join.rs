//! One-time links, opening an account, and forgotten passwords.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use axum_extra::extract::Form;
use serde::Deserialize;
use store::invitations::Kind;

use super::{Faults, Hidden, Visitor, again, enter};
use crate::app::accounts::joining::{self, Newcomer, Shown};
use crate::app::mail::Letter;
use crate::app::{App, Shared};
use crate::error::Problem;
use crate::http::path::PathText;
use crate::portal::page::{Page, done, html};
use crate::portal::session::Member;

/// Newcomers are offered a second factor first.
const FIRST_PAGE: &str = "/portal/account/totp";

#[derive(Template)]
#[template(path = "portal/accounts/join.html")]
struct JoinPage {
    page: Page,
    shown: Shown,
    faults: Faults,
    name: String,
    email: String,
}

impl JoinPage {
    fn new(page: Page, shown: Shown) -> Self {
        JoinPage {
            email: shown.invitation.email.clone().unwrap_or_default(),
            page,
            shown,
            faults: Faults::default(),
            name: String::new(),
        }
    }

    fn is_operator(&self) -> bool {
        self.shown.invitation.kind == Kind::Operator
    }

    fn merchant(&self) -> &str {
        self.shown.merchant.as_deref().unwrap_or_default()
    }

    fn role(&self) -> String {
        let role = self.shown.invitation.role.as_deref().unwrap_or_default();
        self.page.word("role", role)
    }
}

#[derive(Template)]
#[template(path = "portal/accounts/new_password.html")]
struct NewPasswordPage {
    page: Page,
    faults: Faults,
}

/// `GET /portal/join/{token}`
pub(super) async fn page(
    State(app): State<Shared>,
    PathText(token): PathText,
    page: Page,
) -> Result<Response, Problem> {
    let shown = joining::look(&app, &token).await?;
    if shown.invitation.kind == Kind::Password {
        return html(NewPasswordPage {
            page,
            faults: Faults::default(),
        });
    }
    html(JoinPage::new(page, shown))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NewcomerForm {
    company: String,
    name: String,
    email: String,
    password: Hidden,
}

impl NewcomerForm {
    fn newcomer(&self) -> Newcomer {
        Newcomer {
            email: self.email.clone(),
            name: self.name.clone(),
            password: self.password.0.clone(),
        }
    }
}

/// `POST /portal/join/{token}`
pub(super) async fn submit(
    State(app): State<Shared>,
    PathText(token): PathText,
    page: Page,
    visitor: Visitor,
    Form(form): Form<NewcomerForm>,
) -> Result<Response, Problem> {
    let shown = joining::look(&app, &token).await?;
    if shown.invitation.kind == Kind::Password {
        return match joining::set_password(&app, &token, &form.password.0).await? {
            Ok(()) => Ok(done("/portal/sign-in", "password_set")),
            Err(faults) => again(NewPasswordPage {
                page,
                faults: Faults(faults),
            }),
        };
    }
    match joining::join(&app, &token, form.newcomer(), &visitor.device).await? {
        Ok(session) => Ok(enter(&app, &session, FIRST_PAGE)),
        Err(faults) => again(JoinPage {
            faults: Faults(faults),
            name: form.name,
            email: shown.invitation.email.clone().unwrap_or(form.email),
            ..JoinPage::new(page, shown)
        }),
    }
}

/// `POST /portal/join/{token}/accept`
pub(super) async fn accept(
    State(app): State<Shared>,
    PathText(token): PathText,
    member: Member,
) -> Result<Response, Problem> {
    let session = joining::join_signed_in(&app, &token, member.staff_id, member.session_id).await?;
    Ok(enter(&app, &session, "/portal"))
}

#[derive(Template)]
#[template(path = "portal/accounts/sign_up.html")]
struct SignUpPage {
    page: Page,
    faults: Faults,
    company: String,
    name: String,
    email: String,
}

fn sign_up_only_where_allowed(app: &App) -> Result<(), Problem> {
    if app.config.sign_up_allowed() {
        return Ok(());
    }
    Err(Problem::not_found(
        "Accounts are opened by invitation here: ask whoever runs this installation",
    ))
}

/// `GET /portal/sign-up`
pub(super) async fn sign_up_page(State(app): State<Shared>, page: Page) -> Result<Response, Problem> {
    sign_up_only_where_allowed(&app)?;
    html(SignUpPage {
        page,
        faults: Faults::default(),
        company: String::new(),
        name: String::new(),
        email: String::new(),
    })
}

/// `POST /portal/sign-up`
pub(super) async fn sign_up(
    State(app): State<Shared>,
    page: Page,
    visitor: Visitor,
    Form(form): Form<NewcomerForm>,
) -> Result<Response, Problem> {
    sign_up_only_where_allowed(&app)?;
    let newcomer = form.newcomer();
    match joining::sign_up(&app, &form.company, newcomer, &visitor.device, visitor.address).await? {
        Ok(session) => Ok(enter(&app, &session, FIRST_PAGE)),
        Err(faults) => again(SignUpPage {
            page,
            faults: Faults(faults),
            company: form.company,
            name: form.name,
            email: form.email,
        }),
    }
}

#[derive(Template)]
#[template(path = "portal/accounts/forgot.html")]
struct ForgotPage {
    page: Page,
    can_mail: bool,
    sent: bool,
}

/// `GET /portal/forgot`
pub(super) async fn forgot_page(State(app): State<Shared>, page: Page) -> Result<Response, Problem> {
    html(ForgotPage {
        page,
        can_mail: app.mailer.is_some(),
        sent: false,
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ForgotForm {
    email: String,
}

/// `POST /portal/forgot`: the same answer, at once, whether the address has an account or not.
pub(super) async fn forgot(
    State(app): State<Shared>,
    page: Page,
    visitor: Visitor,
    Form(form): Form<ForgotForm>,
) -> Result<Response, Problem> {
    if app.mailer.is_some()
        && let Some((link, to)) = joining::forgotten(&app, &form.email, visitor.address).await?
    {
        let url = format!("{}{}", app.public_url, link.path);
        let letter = Letter {
            to,
            subject: page.t("accounts.mail.password.subject"),
            text: page.tf("accounts.mail.password.text", &[("link", &url)]),
        };
        post(&app, letter);
    }
    html(ForgotPage {
        page,
        can_mail: app.mailer.is_some(),
        sent: true,
    })
}

/// Sends a letter behind the answer's back, which must not tell by its time whether there was one.
fn post(app: &Shared, letter: Letter) {
    let app = Arc::clone(app);
    tokio::spawn(async move {
        if let Some(mailer) = &app.mailer {
            mailer.send(letter).await;
        }
    });
}
