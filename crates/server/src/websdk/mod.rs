//! The hosted verification page: what is served to browsers. What the page calls afterwards is `api/sessions.rs` and `api/hosted.rs`.
//!
//! Nothing here changes anything: pages are looked at by mail scanners and link previews too.

pub mod assets;
pub mod locale;
pub mod page;
pub mod template;
pub mod theme;

use axum::Router;
use axum::routing::get;
use tower_http::compression::CompressionLayer;

use crate::app::Shared;

/// The page and its files.
pub fn router() -> Router<Shared> {
    Router::new()
        .route("/verify", get(page::page))
        .route("/verify/logo/{shortId}", get(page::logo))
        .route("/verify/assets/guidance/{file}", get(assets::guidance))
        .route("/verify/assets/{*path}", get(assets::asset))
        .route("/bonafide.js", get(assets::embed))
        .route("/bonafide.d.ts", get(assets::embed))
        .layer(CompressionLayer::new())
}
