//! `/v2/public/transaction-monitoring/screenings` and `/{queryId}`: the stored screenings of addresses and transactions.

use axum::extract::{RawQuery, State};
use axum::response::Json;
use chain::currency::Currency;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::path::PathText;
use http_server::query;
use serde::Serialize;
use service::monitoring::{self, ScreeningFilter};
use service::problem::Problem;
use service::{Shared, time};
use store::monitoring::Screening;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::monitoring::MonitoringErrors;

/// The number of screenings on a page, unless the caller sends another.
const LIMIT: u16 = 50;
/// The highest number.
const MOST: u16 = 100;

/// A stored screening.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "WalletScreening")]
pub struct WalletScreeningBody {
    /// Its id.
    pub query_id: Uuid,
    /// `address` or `transaction`.
    #[serde(rename = "type")]
    #[schema(pattern = "^(address|transaction)$")]
    pub kind: String,
    /// The address or transaction as it was sent.
    pub query: String,
    /// The chain's code.
    pub currency: String,
    /// Your label.
    pub label: String,
    /// The score; null if the screening failed.
    #[schema(minimum = 0, maximum = 100)]
    pub score: Option<f64>,
    /// The HTTP status of the response.
    #[schema(minimum = 200, maximum = 599)]
    pub status: u16,
    /// Why it failed, or why its score comes from labels alone; null otherwise.
    pub failure: Option<String>,
    /// When it was made (ISO 8601).
    pub created_at: String,
}

/// A stored screening and its response.
#[derive(Serialize, ToSchema)]
#[schema(title = "WholeWalletScreening")]
pub struct WholeWalletScreeningBody {
    /// As in the list of screenings.
    pub screening: WalletScreeningBody,
    /// The response, as it was sent; null if the screening failed.
    #[schema(value_type = Option<Object>)]
    pub response: Option<serde_json::Value>,
}

/// A page of screenings, newest first.
#[derive(Serialize, ToSchema)]
#[schema(title = "WalletScreenings")]
pub struct WalletScreeningsBody {
    /// The screenings.
    pub screenings: Vec<WalletScreeningBody>,
    /// The value of `before` for the next page; null on the last page.
    pub next: Option<Uuid>,
}

impl From<Screening> for WalletScreeningBody {
    fn from(stored: Screening) -> Self {
        WalletScreeningBody {
            query_id: stored.id,
            kind: stored.kind,
            query: stored.query,
            currency: stored.currency,
            label: stored.label,
            score: stored.score,
            status: stored.status,
            failure: stored.failure,
            created_at: time::iso(stored.created_at),
        }
    }
}

/// List your screenings, newest first.
#[utoipa::path(get, path = "/v2/public/transaction-monitoring/screenings", operation_id = "listScreenings", tag = "Transaction monitoring",
    security(("basic" = [])),
    params(("query" = Option<String>, Query, description = "Only screenings of this address or transaction, in any of its forms"),
        ("currency" = Option<String>, Query, description = "Only screenings on this chain", pattern = "^(btc|eth|ltc|bch|bsv|xrp|xlm|doge|dash|zec|etc|bsc|ada|stx|xdc|sys|sol|trx)$", example = "btc"),
        ("label" = Option<String>, Query, description = "Only screenings with exactly this label"),
        ("limit" = Option<u16>, Query, description = "The number of screenings on a page; 50 if absent", minimum = 1, maximum = 100),
        ("before" = Option<Uuid>, Query, description = "`next` of the previous page")),
    responses((status = 200, description = "A page of screenings", body = WalletScreeningsBody), MonitoringErrors))]
pub async fn list(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    RawQuery(raw): RawQuery,
) -> Result<Json<WalletScreeningsBody>, Rejection> {
    let query = query::parse(raw.as_deref().unwrap_or_default())?;
    let mut errors = query.unknown(&["query", "currency", "label", "limit", "before"]);
    let currency = query.get("currency").and_then(|code| {
        let found = Currency::ALL.into_iter().find(|currency| currency.code() == code);
        if found.is_none() {
            let codes = Currency::ALL.map(Currency::code).join(", ");
            errors.push(format!("currency - must be one of {codes}"));
        }
        found
    });
    let (limit, before) = query.page(LIMIT, MOST, &mut errors);
    if !errors.is_empty() {
        return Err(Problem::validation(errors).into());
    }
    let filter = ScreeningFilter {
        text: query.get("query"),
        currency,
        label: query.get("label"),
        before,
    };
    let page = monitoring::list(&app, caller.scope, &filter, limit).await?;
    Ok(Json(WalletScreeningsBody {
        screenings: page.screenings.into_iter().map(Into::into).collect(),
        next: page.next,
    }))
}

/// Get a screening and its response.
#[utoipa::path(get, path = "/v2/public/transaction-monitoring/{queryId}", operation_id = "getScreening", tag = "Transaction monitoring",
    security(("basic" = [])),
    params(("queryId" = Uuid, Path, description = "As the screening answered")),
    responses((status = 200, description = "The screening", body = WholeWalletScreeningBody), MonitoringErrors))]
pub async fn get(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(id): PathText,
) -> Result<Json<WholeWalletScreeningBody>, Rejection> {
    let stored = match Uuid::parse_str(&id) {
        Ok(id) => monitoring::find(&app, caller.scope, id).await?,
        Err(_) => None,
    };
    let stored = stored.ok_or_else(|| Problem::not_found("No screening has this queryId"))?;
    let response = match stored.response.is_empty() {
        true => None,
        false => Some(serde_json::from_str(&stored.response).map_err(Problem::internal)?),
    };
    Ok(Json(WholeWalletScreeningBody {
        screening: stored.into(),
        response,
    }))
}
