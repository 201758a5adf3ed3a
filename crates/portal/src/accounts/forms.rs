//! Shared parts of this area's forms: field errors, secrets, and the sender's device and address. It decides
//! nothing.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use axum_extra::extract::CookieJar;
use http_server::gate::ClientAddress;
use portal_accounts::devices::{Browser, Device, SignedIn};
use portal_accounts::{Fault, passkeys};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use service::problem::Problem;
use service::{App, Shared};
use store::staff::StaffMember;

use crate::page;
use crate::session::{self, Member};

/// The errors of a form, by field.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults(pub(super) Vec<Fault>);

impl Faults {
    /// The text key of a field's error; empty if the field has none.
    pub(super) fn of(&self, field: &str) -> &'static str {
        self.0
            .iter()
            .find(|fault| fault.field == field)
            .map_or("", |fault| fault.text)
    }

    /// A single error.
    pub(super) fn one(field: &'static str, text: &'static str) -> Self {
        Faults(vec![Fault::new(field, text)])
    }
}

/// What a form can take as a member's proof of identity.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProofKind {
    /// Codes are the usual way: the member has an authenticator app, or passkeys of another address.
    pub(super) has_app: bool,
    /// The member has a passkey that works at this installation's address.
    pub(super) has_passkey: bool,
}

impl ProofKind {
    pub(super) fn of(member: &Member) -> Self {
        Self::new(member.has_totp, member.has_passkey, member.has_usable_passkey)
    }

    /// The same for a member who has only given the password.
    pub(super) async fn of_half(app: &App, staff: &StaffMember) -> Result<Self, Problem> {
        let is_usable = staff.has_passkey && passkeys::is_any_usable(app, staff.id).await?;
        Ok(Self::new(staff.has_totp, staff.has_passkey, is_usable))
    }

    fn new(has_totp: bool, has_passkey: bool, has_usable_passkey: bool) -> Self {
        ProofKind {
            has_app: has_totp || (has_passkey && !has_usable_passkey),
            has_passkey: has_usable_passkey,
        }
    }
}

/// A password or code from a form. Its `Debug` output never shows it.
#[derive(Default, Deserialize)]
#[serde(from = "String")]
pub(super) struct Hidden(pub(super) SecretString);

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Hidden(text.into())
    }
}

/// A rejected form, shown again with its errors: status 400.
pub(super) fn render_rejected(template: impl askama::Template) -> Result<Response, Problem> {
    Ok((StatusCode::BAD_REQUEST, page::html(template)?).into_response())
}

/// Sets a new session's cookie and redirects to a path.
pub(super) fn enter(app: &App, token: &SecretString, path: &str) -> Response {
    let jar = CookieJar::new().add(session::cookie(app, token.expose_secret().to_owned()));
    (jar, Redirect::to(path)).into_response()
}

/// Sets a new session's cookie, and the one by which the browser is recognised, and redirects to a path.
pub(super) fn enter_signed_in(app: &App, signed_in: &SignedIn, path: &str) -> Response {
    let response = enter(app, &signed_in.session, path);
    let cookie = session::browser_cookie(app, signed_in.browser.expose_secret().to_owned());
    (CookieJar::new().add(cookie), response).into_response()
}

/// The browser and IP address that a request comes from.
pub(super) struct Visitor {
    pub(super) browser: Browser,
    pub(super) address: IpAddr,
}

impl FromRequestParts<Shared> for Visitor {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Self::Rejection> {
        let ClientAddress(address) = ClientAddress::from_request_parts(parts, app).await?;
        let agent = parts
            .headers
            .get(USER_AGENT)
            .and_then(|agent| agent.to_str().ok());
        Ok(Visitor {
            browser: Browser {
                device: Device::of(agent, address),
                token: session::browser_token(app, &parts.headers),
            },
            address,
        })
    }
}
