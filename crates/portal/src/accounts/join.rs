//! Invitations and other one-time links, and the reset of forgotten passwords.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use axum_extra::extract::Form;
use http_server::error::Rejection;
use http_server::path::PathText;
use portal_accounts::joining::{self, LinkPreview, Newcomer};
use serde::Deserialize;
use service::Shared;
use service::mail::Letter;
use store::invitations::Kind;

use super::forms::{Faults, Hidden, Visitor, enter, enter_signed_in, render_rejected};
use super::letters::{self, post};
use crate::page::{Page, done, html};
use crate::session::Member;

/// A new member's first page, which offers to set up a second factor.
pub(super) const FIRST_PAGE: &str = "/portal/account/totp";

#[derive(Template)]
#[template(path = "portal/accounts/join.html")]
struct JoinPage {
    page: Page,
    shown: LinkPreview,
    faults: Faults,
    name: String,
    email: String,
}

impl JoinPage {
    fn new(page: Page, shown: LinkPreview) -> Self {
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

#[derive(Template)]
#[template(path = "portal/accounts/new_email.html")]
struct NewEmailPage {
    page: Page,
    email: String,
}

/// `GET /portal/join/{token}`
pub(super) async fn page(
    State(app): State<Shared>,
    PathText(token): PathText,
    page: Page,
) -> Result<Response, Rejection> {
    let shown = joining::preview_link(&app, &token).await?;
    match shown.invitation.kind {
        Kind::Password => Ok(html(NewPasswordPage {
            page,
            faults: Faults::default(),
        })?),
        Kind::Email => Ok(html(NewEmailPage {
            page,
            email: shown.invitation.email.unwrap_or_default(),
        })?),
        Kind::Member | Kind::Operator => Ok(html(JoinPage::new(page, shown))?),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NewcomerForm {
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
    member: Option<Member>,
    page: Page,
    visitor: Visitor,
    Form(form): Form<NewcomerForm>,
) -> Result<Response, Rejection> {
    let shown = joining::preview_link(&app, &token).await?;
    if shown.invitation.kind == Kind::Email {
        let former = joining::confirm_email(&app, &token).await?;
        let letter = Letter {
            to: former,
            subject: page.t("accounts.mail.email_changed.subject"),
            text: page.t("accounts.mail.email_changed.text"),
        };
        post(&app, letter);
        let next = member.map_or("/portal/sign-in", |_| "/portal/account");
        return Ok(done(next, "email_changed"));
    }
    if shown.invitation.kind == Kind::Password {
        return match joining::set_password(&app, &token, &form.password.0).await? {
            Ok(email) => {
                letters::security_changed(&app, &page, &email, "password_changed");
                Ok(done("/portal/sign-in", "password_set"))
            }
            Err(faults) => Ok(render_rejected(NewPasswordPage {
                page,
                faults: Faults(faults),
            })?),
        };
    }
    match joining::join(&app, &token, form.newcomer(), &visitor.browser).await? {
        Ok(signed_in) => Ok(enter_signed_in(&app, &signed_in, FIRST_PAGE)),
        Err(faults) => Ok(render_rejected(JoinPage {
            faults: Faults(faults),
            name: form.name,
            email: shown.invitation.email.clone().unwrap_or(form.email),
            ..JoinPage::new(page, shown)
        })?),
    }
}

/// `POST /portal/join/{token}/accept`
pub(super) async fn accept(
    State(app): State<Shared>,
    PathText(token): PathText,
    member: Member,
) -> Result<Response, Rejection> {
    let session = joining::join_signed_in(&app, &token, member.staff_id, member.session_id).await?;
    Ok(enter(&app, &session, "/portal"))
}

#[derive(Template)]
#[template(path = "portal/accounts/forgot.html")]
struct ForgotPage {
    page: Page,
    can_mail: bool,
    sent: bool,
}

/// `GET /portal/forgot`
pub(super) async fn forgot_page(State(app): State<Shared>, page: Page) -> Result<Response, Rejection> {
    Ok(html(ForgotPage {
        page,
        can_mail: app.mailer.is_some(),
        sent: false,
    })?)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ForgotForm {
    email: String,
}

/// `POST /portal/forgot`: the response and its timing do not reveal whether the address has an account.
pub(super) async fn forgot(
    State(app): State<Shared>,
    page: Page,
    visitor: Visitor,
    Form(form): Form<ForgotForm>,
) -> Result<Response, Rejection> {
    if app.mailer.is_some()
        && let Some((link, to)) = joining::request_password_link(&app, &form.email, visitor.address).await?
    {
        let url = format!("{}{}", app.public_url, link.path);
        let letter = Letter {
            to,
            subject: page.t("accounts.mail.password.subject"),
            text: page.tf("accounts.mail.password.text", &[("link", &url)]),
        };
        post(&app, letter);
    }
    Ok(html(ForgotPage {
        page,
        can_mail: app.mailer.is_some(),
        sent: true,
    })?)
}
