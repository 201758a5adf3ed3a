//! The list of all routes, and the OpenAPI document.

use std::sync::LazyLock;

use api::webhook_messages::WebhookMessages;
use api::{
    acts, applicants, attempts, docs, document_requirements, events, evidence, flows, groups, health,
    invitations, links, lists, monitoring, screenings, sessions, verify, wallet_alerts, wallet_screenings,
    yente,
};
use axum::extract::DefaultBodyLimit;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use axum::{
    Extension, Router,
    response::{IntoResponse, Redirect},
};
use bytes::Bytes;
use hosted_page::{challenge, endpoints as hosted, exchange, invitation, reading};
use http_server::error::{self, Rejection};
use http_server::openapi::{DescribedPaths, Frame};
use http_server::{api_log, gate, no_store, request_id, security_headers, unread_body};
use serde_json::Value;
use service::Shared;
use service::problem::{Kind, Problem};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Routes that need a merchant's key or, where the contract permits it, a session's token.
fn gated() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(groups::list, groups::create))
        .routes(routes!(groups::get, groups::update, groups::delete))
        .routes(routes!(flows::list))
        .routes(routes!(flows::get, flows::update, flows::delete))
        .routes(routes!(verify::verify))
        .routes(routes!(document_requirements::get))
        .routes(routes!(applicants::list))
        .routes(routes!(applicants::by_external_user_id_query))
        .routes(routes!(applicants::by_external_user_id))
        .routes(routes!(applicants::by_facemap_id))
        .routes(routes!(attempts::list))
        .routes(routes!(attempts::get))
        .routes(routes!(evidence::get))
        .routes(routes!(evidence::file))
        .routes(routes!(acts::decide))
        .routes(routes!(acts::add_note))
        .routes(routes!(acts::erase))
        .routes(routes!(acts::export))
        .routes(routes!(screenings::list))
        .routes(routes!(screenings::alerts))
        .routes(routes!(lists::list))
        .routes(routes!(events::list))
        .routes(routes!(sessions::link))
        .routes(routes!(sessions::poll))
        .routes(routes!(links::list))
        .routes(routes!(links::revoke))
        .routes(routes!(invitations::list, invitations::create))
        .routes(routes!(invitations::get))
        .routes(routes!(invitations::revoke))
        .routes(routes!(invitations::remind))
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
        .routes(routes!(reading::read))
        .routes(routes!(challenge::begin))
        .routes(routes!(challenge::frames))
        .merge(
            OpenApiRouter::new()
                .routes(routes!(hosted::documents))
                .layer(CompressionLayer::new()),
        )
        .routes(routes!(monitoring::screen))
        .routes(routes!(monitoring::picture))
        .routes(routes!(wallet_alerts::list))
        .routes(routes!(wallet_screenings::list))
        .routes(routes!(wallet_screenings::get))
        .merge(
            OpenApiRouter::new()
                .routes(routes!(yente::matching::match_entities))
                .routes(routes!(yente::searching::search))
                .routes(routes!(yente::entities::entity))
                .routes(routes!(yente::catalog::catalog))
                .routes(routes!(yente::algorithms::algorithms))
                .route("/v2/yente/manifest", get(yente::catalog::catalog))
                .route(
                    "/v2/yente/entities/{entity_id}/adjacent",
                    get(yente::entities::adjacent),
                )
                .route(
                    "/v2/yente/entities/{entity_id}/adjacent/{property}",
                    get(yente::entities::adjacent),
                )
                .layer(CompressionLayer::new()),
        )
}

/// Public routes.
fn open() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(yente::health::healthz))
        .routes(routes!(yente::health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(document))
        .route("/", get(|| async { Redirect::temporary("/docs") }))
}

/// Routes that need a one-time token. They are rate-limited by address.
fn by_token() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(exchange::exchange))
        .routes(routes!(hosted::preview))
        .routes(routes!(invitation::preview))
        .routes(routes!(invitation::open))
        .routes(routes!(invitation::renew))
        .routes(routes!(hosted::claim))
}

/// The described routes.
fn described() -> utoipa::openapi::OpenApi {
    let (_, document) = OpenApiRouter::with_openapi(Frame::openapi())
        .merge(gated())
        .merge(by_token())
        .merge(open())
        .split_for_parts();
    document
}

/// The OpenAPI document of all routes and webhook messages.
///
/// # Errors
/// Never with the routes of this program; a test writes the document.
pub fn openapi() -> serde_json::Result<Value> {
    let mut messages = WebhookMessages::openapi();
    let webhooks = std::mem::take(&mut messages.paths.paths);
    let mut document = described();
    document.merge(messages);
    let mut document = serde_json::to_value(document)?;
    // utoipa has no webhooks. Their names are paths there.
    let webhooks = webhooks.into_iter().map(|(path, item)| {
        let name = path.trim_start_matches('/').to_owned();
        Ok((name, serde_json::to_value(item)?))
    });
    document["webhooks"] = Value::Object(webhooks.collect::<serde_json::Result<_>>()?);
    Ok(document)
}

/// `GET /openapi.json`: the document, serialised once.
async fn document() -> Result<impl IntoResponse, Rejection> {
    static DOCUMENT: LazyLock<Result<Bytes, serde_json::Error>> =
        LazyLock::new(|| serde_json::to_vec(&openapi()?).map(Bytes::from));
    let document = DOCUMENT.as_ref().map_err(Problem::internal)?;
    Ok(([(CONTENT_TYPE, "application/json")], document.clone()))
}

/// The documented paths of merchants' endpoints.
fn described_paths() -> DescribedPaths {
    let paths = described().paths.paths;
    let of_merchants = paths.into_keys().filter(|path| path.starts_with("/v2/"));
    DescribedPaths(of_merchants.collect())
}

/// The router of the whole service.
pub fn router(app: Shared) -> Router {
    let (gated, _) = gated().split_for_parts();
    let (by_token, _) = by_token().split_for_parts();
    let (open, _) = open().split_for_parts();
    gated
        .route_layer(from_fn_with_state(app.clone(), gate::layer))
        .merge(by_token.route_layer(from_fn_with_state(app.clone(), gate::limit_exchange)))
        .merge(open)
        .merge(hosted_page::router(app.clone()))
        .merge(portal::router(app.clone()).layer(Extension(described_paths())))
        .with_state(app.clone())
        .merge(docs::router(app.clone()))
        .fallback(|| async { Rejection(Problem::not_found("No such path")) })
        .method_not_allowed_fallback(|| async {
            Rejection(Problem::new(
                Kind::MethodNotAllowed,
                "This path does not have this method",
            ))
        })
        // `http_server::body` and `http_server::form` limit bodies where they are read.
        .layer(DefaultBodyLimit::disable())
        .layer(CatchPanicLayer::custom(|_: Box<dyn std::any::Any + Send>| {
            Rejection(Problem::internal("a handler panicked")).into_response()
        }))
        .layer(from_fn(error::render))
        .layer(from_fn(no_store::layer))
        .layer(from_fn_with_state(app.clone(), security_headers::layer))
        .layer(from_fn(request_id::layer))
        .layer(from_fn_with_state(app, api_log::layer))
        .layer(from_fn(unread_body::layer))
}
