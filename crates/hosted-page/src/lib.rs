//! The hosted verification page: what is served to browsers. What the page calls afterwards is [`exchange`] and [`endpoints`].
//!
//! Nothing here changes anything: pages are looked at by mail scanners and link previews too.

pub mod assets;
pub mod bodies;
pub mod endpoints;
pub mod exchange;
pub mod locale;
pub mod page;
pub mod template;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use http_server::gate;
use service::Shared;
use tower_http::compression::CompressionLayer;

/// The page and its files.
pub fn router(app: Shared) -> Router<Shared> {
    Router::new()
        .route("/verify", get(page::page))
        .route_layer(from_fn_with_state(app, gate::visitors))
        .layer(CompressionLayer::new())
        .route("/verify/logo/{shortId}", get(page::logo))
        .route("/verify/assets/guidance/{file}", get(assets::guidance))
        .route("/verify/assets/{*path}", get(assets::asset))
        .route("/bonafide.js", get(assets::embed))
        .route("/bonafide.d.ts", get(assets::embed))
}
