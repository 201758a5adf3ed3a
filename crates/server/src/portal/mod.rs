//! The portal: server-rendered pages for merchants' staff and for operators. Handlers are thin; what happens is `app`'s.
//!
//! Every route is declared with the action it is ([`routes::Routes`]); nothing here is reachable without its guard.

mod accounts;
pub mod assets;
pub mod error;
pub mod nav;
pub mod page;
pub mod permissions;
pub mod review;
pub mod routes;
pub mod session;
pub mod texts;

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{any, get};
use tower_http::compression::CompressionLayer;
use tower_http::csrf::CsrfLayer;

use self::routes::{Routes, Row};
use crate::app::Shared;
use crate::error::Problem;

/// All routes, area by area.
fn all() -> Routes {
    let routes = accounts::routes(Routes::default());
    review::routes(routes)
}

/// Every route with its action, for tests that go through all of them.
pub fn table() -> Vec<Row> {
    all().rows().to_vec()
}

/// The portal.
pub fn router(app: Shared) -> Router<Shared> {
    let lost = || async { Problem::not_found("There is no such page") };
    all()
        .into_router()
        .route("/portal/{*rest}", any(lost))
        .layer(CsrfLayer::new())
        .layer(from_fn(error::layer))
        .layer(from_fn_with_state(app, session::layer))
        .layer(from_fn(secure))
        .route("/portal/assets/{*path}", get(assets::asset))
        .layer(CompressionLayer::new())
}

/// Middleware: nothing of the portal is cached, framed, or runs what the page itself brings along.
async fn secure(request: Request, next: Next) -> Response {
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
        connect-src 'self'; form-action 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'";
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-store"),
        // The guard sends people back to where they were.
        (REFERRER_POLICY, "same-origin"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
    ] {
        // A handler that serves files or frames has stricter or other words of its own.
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
