//! The portal: server-rendered pages for merchants' staff and for operators. Handlers are thin: `service`
//! implements the use cases.
//!
//! Every route is declared with its action ([`routes::Routes`]). No page is reachable without its guard.

mod accounts;
pub mod alerts;
pub mod api_log;
mod applicant_invitations;
mod areas;
pub mod assets;
pub mod audit;
pub mod branding;
pub mod chart;
pub mod csv;
pub mod dashboard;
pub mod error;
mod file_cache;
pub mod filters;
pub mod flows;
#[cfg(test)]
mod four_eyes_tests;
mod frame;
pub mod groups;
mod handler;
pub mod insight;
mod invitation_import;
pub mod keys;
pub mod links;
mod list_boxes;
pub mod monitoring;
pub mod nav;
pub mod operator;
pub mod page;
pub mod privacy;
pub mod proposal;
pub mod review;
pub mod routes;
pub mod screening;
mod screening_file;
mod screening_profiles;
pub mod screening_report;
pub mod sealed_search;
pub mod second;
pub mod session;
pub mod show_once;
pub mod texts;
mod wallet_alerts;
pub mod webhooks;

use std::time::Instant;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{any, get};
use tower_http::compression::CompressionLayer;
use tower_http::csrf::CsrfLayer;

pub use self::areas::table;
use http_server::error::Rejection;
use service::Shared;
use service::problem::Problem;

/// The portal's router, with its middleware.
pub fn router(app: Shared) -> Router<Shared> {
    let lost = || async { Rejection(Problem::not_found("There is no such page")) };
    areas::all()
        .into_router()
        .route("/portal/{*rest}", any(lost))
        // This comes before the layers, so that they render 405 as a portal page too.
        .method_not_allowed_fallback(|| async { StatusCode::METHOD_NOT_ALLOWED })
        .layer(CsrfLayer::new())
        .layer(from_fn(error::layer))
        .layer(from_fn_with_state(app, session::layer))
        .layer(from_fn(secure))
        .route("/portal/assets/{*path}", get(assets::asset))
        .layer(CompressionLayer::new())
}

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// Middleware: sets security headers. Responses are not cached or framed, and pages run no inline scripts.
async fn secure(request: Request, next: Next) -> Response {
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
        connect-src 'self'; form-action 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'";
    let begun = Instant::now();
    let mut response = next.run(request).await;
    // The timing is only for members, because it could reveal to a stranger whether an address has an
    // account.
    let is_for_member = response.extensions().get::<session::ForMember>().is_some();
    let took = format!("app;dur={:.1}", begun.elapsed().as_secs_f64() * 1_000.0);
    let headers = response.headers_mut();
    // The server's own time in milliseconds, for benchmarks and browsers' developer tools.
    if is_for_member {
        headers.extend(HeaderValue::try_from(took).map(|took| (SERVER_TIMING, took)));
    }
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-store"),
        // The guard uses the referrer to send readers back to the page they came from.
        (REFERRER_POLICY, "same-origin"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
    ] {
        // Handlers that serve files or frames set their own values.
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
