//! The hosted verification page and its files. The page then calls [`exchange`] and [`endpoints`].
//!
//! Fetching the page or a file uses up nothing, because mail scanners and link previews fetch them too. It writes
//! only that an origin was refused.

pub mod assets;
pub mod bodies;
pub mod challenge;
pub mod embedding;
pub mod endpoints;
pub mod exchange;
pub mod invitation;
pub mod locale;
pub mod page;
pub mod reading;
pub mod template;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use http_server::gate;
use service::Shared;
use tower_http::compression::CompressionLayer;

/// The routes of the page and its files.
pub fn router(app: Shared) -> Router<Shared> {
    Router::new()
        .route("/verify", get(page::page))
        .route_layer(from_fn_with_state(app, gate::limit_page))
        .layer(CompressionLayer::new())
        .route("/verify/logo/{shortId}", get(page::logo))
        .route("/verify/assets/guidance/{file}", get(assets::guidance))
        .route("/verify/assets/{*path}", get(assets::asset))
        .route("/bonafide.js", get(assets::embed))
        .route("/bonafide.d.ts", get(assets::embed))
}
