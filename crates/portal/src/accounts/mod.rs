//! Pages of who enters the portal: signing in, joining, one's own account, a merchant's staff and its application.

mod account;
mod application;
mod join;
mod sign_in;
mod sign_up;
mod staff;

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use axum_extra::extract::CookieJar;
use http_server::gate::ClientAddress;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use service::accounts::Fault;
use service::accounts::devices::Device;
use service::permissions::Action;
use service::problem::Problem;
use service::{App, Shared};

use super::routes::{MODE, Routes};
use super::{page, session};

/// Its routes.
pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/sign-in", Action::Public, sign_in::page)
        .post("/portal/sign-in", Action::Public, sign_in::submit)
        .get("/portal/sign-in/code", Action::Public, sign_in::code_page)
        .post("/portal/sign-in/code", Action::Public, sign_in::code)
        .post("/portal/sign-out", Action::SignedIn, sign_in::out)
        .get("/portal/prove", Action::SignedIn, sign_in::prove_page)
        .post("/portal/prove", Action::SignedIn, sign_in::prove)
        .get("/portal/join/{token}", Action::Public, join::page)
        .post("/portal/join/{token}", Action::Public, join::submit)
        .post("/portal/join/{token}/accept", Action::SignedIn, join::accept)
        .get("/portal/sign-up", Action::Public, sign_up::page)
        .post("/portal/sign-up", Action::Public, sign_up::ask)
        .get("/portal/sign-up/{token}", Action::Public, sign_up::open_page)
        .post("/portal/sign-up/{token}", Action::Public, sign_up::open)
        .get("/portal/forgot", Action::Public, join::forgot_page)
        .post("/portal/forgot", Action::Public, join::forgot)
        .get("/portal/account", Action::SignedIn, account::page)
        .post("/portal/account/name", Action::SignedIn, account::rename)
        .post("/portal/account/email", Action::SignedIn, account::change_email)
        .post(
            "/portal/account/password",
            Action::SignedIn,
            account::change_password,
        )
        .get("/portal/account/totp", Action::SignedIn, account::totp_page)
        .post("/portal/account/totp", Action::SignedIn, account::totp_on)
        .post("/portal/account/totp/off", Action::SignedIn, account::totp_off)
        .post(
            "/portal/account/second-factor",
            Action::RequireSecondFactor,
            account::require_second_factor,
        )
        .get(
            "/portal/account/recovery",
            Action::SignedIn,
            account::recovery_page,
        )
        .post(
            "/portal/account/recovery",
            Action::SignedIn,
            account::renew_recovery,
        )
        .post(
            "/portal/account/sessions/end-all",
            Action::SignedIn,
            account::end_all,
        )
        .post(
            "/portal/account/sessions/{id}/end",
            Action::SignedIn,
            account::end_one,
        )
        .post("/portal/account/choose", Action::SignedIn, account::choose)
        .post(MODE, Action::ViewDashboard, account::mode)
        .get("/portal/staff", Action::ManageStaff, staff::page)
        .post("/portal/staff/invite", Action::ManageStaff, staff::invite)
        .post("/portal/staff/{id}/role", Action::ManageStaff, staff::set_role)
        .post(
            "/portal/staff/{id}/access",
            Action::ManageStaff,
            staff::set_access,
        )
        .post(
            "/portal/staff/{id}/password",
            Action::ManageStaff,
            staff::password_link,
        )
        .post(
            "/portal/staff/invitations/{id}/revoke",
            Action::ManageStaff,
            staff::revoke,
        )
        .get("/portal/application", Action::Apply, application::page)
        .post("/portal/application", Action::Apply, application::submit)
}

/// What is wrong with a form, field by field.
#[derive(Clone, Debug, Default)]
struct Faults(Vec<Fault>);

impl Faults {
    /// The key of what is wrong with a field; empty when nothing is.
    fn of(&self, field: &str) -> &'static str {
        self.0
            .iter()
            .find(|fault| fault.field == field)
            .map_or("", |fault| fault.text)
    }

    /// One fault.
    fn one(field: &'static str, text: &'static str) -> Self {
        Faults(vec![Fault::new(field, text)])
    }
}

/// A password or a code in a form: it is not printed.
#[derive(Default, Deserialize)]
#[serde(from = "String")]
struct Hidden(SecretString);

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Hidden(text.into())
    }
}

/// A form that is shown again with what is wrong in it: 400.
fn again(template: impl askama::Template) -> Result<Response, Problem> {
    Ok((StatusCode::BAD_REQUEST, page::html(template)?).into_response())
}

/// On to a path with a session's new token.
fn enter(app: &App, token: &SecretString, path: &str) -> Response {
    let jar = CookieJar::new().add(session::cookie(app, token.expose_secret().to_owned()));
    (jar, Redirect::to(path)).into_response()
}

/// Where a request comes from.
struct Visitor {
    device: Device,
    address: IpAddr,
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
            device: Device::of(agent, address),
            address,
        })
    }
}
