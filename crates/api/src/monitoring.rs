//! `/v2/public/transaction-monitoring` (contract §4.9).

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Json, Response};
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::idempotency::{Reply, key_of};
use http_server::json::JsonObject;
use http_server::openapi::{FailureBody, MessageBody, NoScoreBody};
use http_server::path::PathText;
use http_server::query;
use serde::Serialize;
use serde_json::Value;
use service::idempotency::{self, ClaimOutcome};
use service::problem::Problem;
use service::{Shared, monitoring};
use utoipa::{IntoResponses, ToSchema};
use uuid::Uuid;

/// The address or transaction to screen.
#[derive(ToSchema)]
#[allow(dead_code, reason = "read by the derive only; chain::query reads the body")]
pub struct ScreeningRequest {
    /// `address` (KYA) or `transaction` (KYT).
    #[schema(rename = "type", pattern = "^(address|transaction)$")]
    kind: String,
    /// The address or transaction hash.
    #[schema(min_length = 1, max_length = 255, pattern = "^[A-Za-z0-9:_-]+$")]
    query: String,
    /// The code of the chain: btc, eth, ltc, bch, bsv, xrp, xlm, doge, dash, zec, etc, bsc, ada, stx, xdc,
    /// sys, sol, trx.
    currency: String,
    /// `simple` returns the score only; `detailed` also returns its explanation.
    #[schema(pattern = "^(simple|detailed)$", default = "simple", nullable)]
    report: Option<String>,
    /// Your label for this query.
    #[schema(max_length = 255, default = "API Query", nullable)]
    label: Option<String>,
}

/// A name and its category.
#[derive(Serialize, ToSchema)]
pub struct EntityBody {
    /// The name.
    pub name: String,
    /// The category.
    pub category: String,
}

/// A party of a transaction and its amount.
#[derive(Serialize, ToSchema)]
pub struct MovedBody {
    /// The address; null if the script contains none.
    pub address: Option<String>,
    /// In the native currency, as a decimal string.
    pub amount: String,
}

/// The result. A simple report has the first six members. A detailed one also has those that the chain
/// provides.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the contract's names, §4.9")]
#[schema(title = "ScreeningResult")]
pub struct ScreeningBody {
    /// The id of this query.
    pub query_id: Uuid,
    /// `address` or `transaction`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The address or transaction as it was sent.
    pub query: String,
    /// The chain's code.
    pub currency: String,
    /// 0 (no known risk) to 100 (sanctioned).
    #[schema(minimum = 0, maximum = 100)]
    pub score: f64,
    /// The caller's label.
    pub label: String,
    /// The synced source has no history of the address.
    pub new_address: Option<bool>,
    pub entities: Option<Vec<EntityBody>>,
    pub flags: Option<Vec<EntityBody>>,
    #[schema(value_type = Option<Object>)]
    pub cluster: Option<Value>,
    pub first_seen_receiving: Option<String>,
    pub first_seen_sending: Option<String>,
    pub last_seen_receiving: Option<String>,
    pub last_seen_sending: Option<String>,
    pub received_amount: Option<String>,
    pub sent_amount: Option<String>,
    pub balance: Option<String>,
    pub number_of_transactions: Option<u64>,
    pub received_transactions: Option<u64>,
    pub sent_transactions: Option<u64>,
    /// Its name in your account's address book; absent if it is not listed there.
    pub organization_label_name: Option<String>,
    /// Transactions: the lowest severity of a source.
    pub low: Option<f64>,
    pub median: Option<f64>,
    pub average: Option<f64>,
    pub high: Option<f64>,
    pub timestamp: Option<String>,
    pub amount: Option<String>,
    pub amount_fiat: Option<String>,
    pub fees: Option<String>,
    pub fees_fiat: Option<String>,
    pub inputs: Option<Vec<MovedBody>>,
    pub outputs: Option<Vec<MovedBody>>,
    /// The basis for recomputing the score: by entity, by flag, by rank, and the part that was not seen.
    #[schema(value_type = Option<Object>)]
    pub exposures: Option<Value>,
}

/// The error responses of transaction monitoring.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum MonitoringErrors {
    /// Validation failed (see `errors`), or the currency is not supported (`message` lists the valid ones)
    #[response(status = 400)]
    Invalid(FailureBody),
    /// Missing or wrong credentials
    #[response(status = 401)]
    Unauthenticated(MessageBody),
    /// The merchant may not do this
    #[response(status = 403)]
    Forbidden(FailureBody),
    /// Address or transaction not found or not yet processed; `reason` states which. Or no stored screening has the `queryId`
    #[response(status = 404)]
    NotFound(NoScoreBody),
    /// Another request with this Idempotency-Key is in progress or took over, or its response was erased
    #[response(status = 409)]
    Conflict(FailureBody),
    /// The Idempotency-Key came with another body
    #[response(status = 422)]
    Mismatch(FailureBody),
    /// Too many requests
    #[response(status = 429)]
    RateLimited(FailureBody),
    /// An internal error
    #[response(status = 500)]
    Internal(FailureBody),
    /// The risk provider sent an invalid response
    #[response(status = 502)]
    BadGateway(NoScoreBody),
    /// The risk provider, the lists or the labels cannot be reached
    #[response(status = 503)]
    Unavailable(NoScoreBody),
    /// The risk provider timed out
    #[response(status = 504)]
    GatewayTimeout(NoScoreBody),
}

/// Screen an address or a transaction.
#[utoipa::path(post, path = "/v2/public/transaction-monitoring", operation_id = "screenTransaction", tag = "Transaction monitoring",
    security(("basic" = [])),
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 hours")),
    request_body = ScreeningRequest,
    responses((status = 200, description = "The score, and what explains it", body = ScreeningBody), MonitoringErrors))]
pub async fn screen(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
    body: JsonObject,
) -> Result<Reply, Rejection> {
    let operation = "POST /v2/public/transaction-monitoring";
    let claim = match idempotency::start(&app, caller.scope, key_of(&headers), operation, &body.bytes).await?
    {
        ClaimOutcome::Fresh(claim) => claim,
        ClaimOutcome::Answered(answer) => return Ok(Reply(answer)),
    };
    let query = monitoring::read(&body.object)?;
    let screened = monitoring::screen(&app, &caller, Uuid::now_v7(), query, claim).await;
    Ok(Reply(screened?))
}

/// A party in the picture.
#[derive(ToSchema)]
#[allow(dead_code, reason = "read by the derive only; chain::picture writes it")]
pub struct PictureNode {
    /// An address, an entity, or `others`.
    name: String,
    /// Its category, if known.
    category: Option<String>,
    /// Hops from the screened address or transaction: negative for sources, positive for destinations.
    column: i32,
    /// The severity of its category in the account's risk profile.
    #[schema(minimum = 0, maximum = 100)]
    severity: u8,
    /// Its share of the money, in percent.
    percentage: f64,
}

/// A flow of money between two parties.
#[derive(ToSchema)]
#[allow(dead_code, reason = "read by the derive only; chain::picture writes it")]
pub struct PictureLink {
    /// The index of the paying node in `nodes`.
    from: usize,
    /// The index of the paid node in `nodes`.
    to: usize,
    /// Its share of the money, in percent.
    percentage: f64,
}

/// The flow of money that led to a score.
#[derive(ToSchema)]
#[allow(dead_code, reason = "read by the derive only; chain::picture writes it")]
pub struct PictureBody {
    /// The screened address or transaction, and all parties found.
    nodes: Vec<PictureNode>,
    /// The flows of money between them.
    links: Vec<PictureLink>,
}

/// Draw the flow that led to a screening's score.
#[utoipa::path(get, path = "/v2/public/transaction-monitoring/{queryId}/picture", operation_id = "getScreeningPicture", tag = "Transaction monitoring",
    security(("basic" = [])),
    params(("queryId" = Uuid, Path, description = "As the screening answered"),
        ("format" = Option<String>, Query, description = "`json` (the default) or `svg`", pattern = "^(json|svg)$")),
    responses((status = 200, description = "The flow", content(
        (PictureBody = "application/json"), (String = "image/svg+xml"))), MonitoringErrors))]
pub async fn picture(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(id): PathText,
    RawQuery(raw): RawQuery,
) -> Result<Response, Rejection> {
    let query = query::parse(raw.as_deref().unwrap_or_default())?;
    let svg = match query.get("format") {
        None | Some("json") => false,
        Some("svg") => true,
        Some(_) => return Err(Problem::validation(vec!["format - must be json or svg".into()]).into()),
    };
    let picture = match Uuid::parse_str(&id) {
        Ok(id) => monitoring::picture(&app, caller.scope, id).await?,
        Err(_) => None,
    };
    let picture = picture.ok_or_else(|| Problem::not_found("No screening with a score has this queryId"))?;
    if !svg {
        return Ok(Json(picture).into_response());
    }
    let headers = [
        (CONTENT_TYPE, "image/svg+xml"),
        // If a browser opens the SVG directly, a label in it can neither run scripts nor load anything.
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
    ];
    Ok((headers, picture.svg()).into_response())
}
