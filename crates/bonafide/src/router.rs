//! Every route, in one list.

use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use axum::{
    Router,
    response::{IntoResponse, Redirect},
};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::openapi::Frame;
use crate::api::{
    applicants, docs, document_requirements, flows, groups, health, hosted, monitoring, openapi, sessions,
    verify,
};
use crate::app::Shared;
use crate::error::{self, Kind, Problem};
use crate::http::{api_log, gate, leftovers, no_store, request_id};
use crate::portal;
use crate::websdk;

/// Routes behind the gate: a merchant's key (or, where the contract says so, a session's token).
fn gated() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(groups::list, groups::create))
        .routes(routes!(groups::get, groups::update, groups::delete))
        .routes(routes!(flows::list))
        .routes(routes!(flows::get, flows::update, flows::delete))
        .routes(routes!(verify::verify))
        .routes(routes!(document_requirements::get))
        .routes(routes!(applicants::by_external_user_id_query))
        .routes(routes!(applicants::by_external_user_id))
        .routes(routes!(applicants::by_facemap_id))
        .routes(routes!(sessions::link))
        .routes(routes!(sessions::poll))
        .route("/v2/sdk/session/verification-result", get(sessions::poll_nothing))
        .route(
            "/v2/sdk/session/verification-result/",
            get(sessions::poll_nothing),
        )
        .routes(routes!(hosted::current))
        .routes(routes!(hosted::consent))
        .routes(routes!(hosted::hand_off))
        .routes(routes!(hosted::reject))
        .routes(routes!(hosted::events))
        .merge(
            OpenApiRouter::new()
                .routes(routes!(hosted::documents))
                .layer(CompressionLayer::new()),
        )
        .routes(routes!(monitoring::screen))
        .routes(routes!(monitoring::picture))
}

/// Routes for everybody.
fn open() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(openapi::document))
        .route("/", get(|| async { Redirect::temporary("/docs") }))
}

/// Routes for whoever holds a one-time token, limited by address.
fn by_token() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(sessions::exchange))
        .routes(routes!(hosted::preview))
        .routes(routes!(hosted::claim))
}

/// The OpenAPI document.
pub fn openapi() -> utoipa::openapi::OpenApi {
    let (_, document) = OpenApiRouter::with_openapi(Frame::openapi())
        .merge(gated())
        .merge(by_token())
        .merge(open())
        .split_for_parts();
    document
}

/// The whole service.
pub fn router(app: Shared) -> Router {
    let (gated, _) = gated().split_for_parts();
    let (by_token, _) = by_token().split_for_parts();
    let (open, _) = open().split_for_parts();
    gated
        .route_layer(from_fn_with_state(app.clone(), gate::layer))
        .merge(by_token.route_layer(from_fn_with_state(app.clone(), gate::strangers)))
        .merge(open)
        .merge(websdk::router(app.clone()))
        .merge(portal::router(app.clone()))
        .with_state(app.clone())
        .merge(docs::router(app.clone()))
        .fallback(|| async { Problem::not_found("No such path") })
        .method_not_allowed_fallback(|| async {
            Problem::new(Kind::MethodNotAllowed, "This path does not have this method")
        })
        // Bodies are bounded where they are read: `http::body`, `http::form`.
        .layer(DefaultBodyLimit::disable())
        .layer(CatchPanicLayer::custom(|_: Box<dyn std::any::Any + Send>| {
            Problem::internal("a handler panicked").into_response()
        }))
        .layer(from_fn(error::render))
        .layer(from_fn(no_store::layer))
        .layer(from_fn(request_id::layer))
        .layer(from_fn_with_state(app, api_log::layer))
        .layer(from_fn(leftovers::layer))
}
