//! What the forms of this area share: their faults, secrets in them, and who sent them. It decides nothing.

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
use service::problem::Problem;
use service::{App, Shared};

use crate::{page, session};

/// What is wrong with a form, field by field.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults(pub(super) Vec<Fault>);

impl Faults {
    /// The key of what is wrong with a field; empty when nothing is.
    pub(super) fn of(&self, field: &str) -> &'static str {
        self.0
            .iter()
            .find(|fault| fault.field == field)
            .map_or("", |fault| fault.text)
    }

    /// One fault.
    pub(super) fn one(field: &'static str, text: &'static str) -> Self {
        Faults(vec![Fault::new(field, text)])
    }
}

/// A password or a code in a form: it is not printed.
#[derive(Default, Deserialize)]
#[serde(from = "String")]
pub(super) struct Hidden(pub(super) SecretString);

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Hidden(text.into())
    }
}

/// A form that is shown again with what is wrong in it: 400.
pub(super) fn again(template: impl askama::Template) -> Result<Response, Problem> {
    Ok((StatusCode::BAD_REQUEST, page::html(template)?).into_response())
}

/// On to a path with a session's new token.
pub(super) fn enter(app: &App, token: &SecretString, path: &str) -> Response {
    let jar = CookieJar::new().add(session::cookie(app, token.expose_secret().to_owned()));
    (jar, Redirect::to(path)).into_response()
}

/// Where a request comes from.
pub(super) struct Visitor {
    pub(super) device: Device,
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
            device: Device::of(agent, address),
            address,
        })
    }
}
