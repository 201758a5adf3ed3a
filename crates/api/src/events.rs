//! `GET /v2/reports/events`: the webhook events of the account, so that receivers can recover missed ones.

use axum::extract::{RawQuery, State};
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::openapi::ApplicantErrors;
use http_server::query;
use serde::Serialize;
use serde_json::Value;
use service::problem::Problem;
use service::{Shared, events, time};
use store::outbox::{self, EventFilter, EventState};
use utoipa::ToSchema;
use uuid::Uuid;

/// The number of events on a page, unless the caller sends another.
const LIMIT: u16 = 50;
/// The highest number.
const MOST: u16 = 100;

/// The delivery of an event.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookDeliveryBody {
    /// `waiting`: a try is still to come; `delivered`; `given_up`: no further try follows.
    #[schema(pattern = "^(waiting|delivered|given_up)$")]
    pub state: &'static str,
    /// How many tries have begun.
    #[schema(minimum = 0)]
    pub tries: i64,
    /// The time of the next try (ISO 8601); null if none follows.
    pub next_try_at: Option<String>,
    /// When your server accepted it (ISO 8601); null if it did not.
    pub delivered_at: Option<String>,
    /// The HTTP status of the last try; null if your server did not answer.
    pub status: Option<i64>,
    /// The error of the last try; null without one.
    pub error: Option<String>,
}

/// A webhook event.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "WebhookEvent")]
pub struct WebhookEventBody {
    /// The id of the event: `webhook-id` of its messages.
    pub event_id: Uuid,
    /// Its type, such as `verification.completed`.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it happened (ISO 8601).
    pub timestamp: String,
    /// The Flow.
    pub flow_id: Uuid,
    /// The `data` of its messages; null if it cannot be decrypted any more.
    #[schema(value_type = Option<Object>)]
    pub data: Option<Value>,
    /// Its delivery.
    pub delivery: WebhookDeliveryBody,
}

/// A page of events, newest first.
#[derive(Serialize, ToSchema)]
#[schema(title = "WebhookEvents")]
pub struct WebhookEventsBody {
    /// The events.
    pub events: Vec<WebhookEventBody>,
    /// The value of `before` for the next page; null on the last page.
    pub next: Option<Uuid>,
}

fn body((event, data): (EventState, Option<Value>)) -> WebhookEventBody {
    WebhookEventBody {
        event_id: event.id,
        timestamp: time::iso(event.created_at),
        flow_id: event.flow_id,
        data,
        delivery: WebhookDeliveryBody {
            state: event.progress().as_str(),
            tries: event.tries,
            next_try_at: event.next_try_at.map(time::iso),
            delivered_at: event.delivered_at.map(time::iso),
            status: event.last_status,
            error: event.last_error,
        },
        kind: event.kind,
    }
}

/// List your webhook events, newest first.
///
/// An event is listed for 30 days after it happened, or longer while a try is still to come. Erasing the person deletes it.
#[utoipa::path(get, path = "/v2/reports/events", operation_id = "listEvents", tag = "Webhooks",
    security(("basic" = [])),
    params(("type" = Option<String>, Query, description = "Only events of this type; all if absent", pattern = "^(verification\\.(completed|review_required|review_decided|rescreened)|webhook\\.test)$"),
        ("flowId" = Option<Uuid>, Query, description = "Only events of this Flow"),
        ("state" = Option<String>, Query, description = "Only events whose delivery is in this state", pattern = "^(waiting|delivered|given_up)$"),
        ("limit" = Option<u16>, Query, description = "The number of events on a page; 50 if absent", minimum = 1, maximum = 100),
        ("before" = Option<Uuid>, Query, description = "`next` of the previous page")),
    responses((status = 200, description = "A page of events", body = WebhookEventsBody), ApplicantErrors))]
pub async fn list(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    RawQuery(raw): RawQuery,
) -> Result<Json<WebhookEventsBody>, Rejection> {
    let query = query::parse(raw.as_deref().unwrap_or_default())?;
    let mut errors = query.unknown(&["type", "flowId", "state", "limit", "before"]);
    let kind = query.get("type").and_then(|word| {
        let kind = events::KINDS.into_iter().find(|kind| *kind == word);
        if kind.is_none() {
            errors.push(format!("type - must be one of {}", events::KINDS.join(", ")));
        }
        kind
    });
    let flow_id = query.read("flowId", "a UUID", &mut errors);
    let progress = query.read("state", "waiting, delivered or given_up", &mut errors);
    let (limit, before) = query.page(LIMIT, MOST, &mut errors);
    if !errors.is_empty() {
        return Err(Problem::validation(errors).into());
    }
    let filter = EventFilter {
        flow_id,
        progress,
        before,
        kind,
    };
    let mut conn = app.db.read().await.map_err(Problem::from)?;
    let (found, has_more) = outbox::find_with_bodies(&mut conn, caller.scope, &filter, limit)
        .await
        .map_err(Problem::from)?;
    let next = found.last().filter(|_| has_more).map(|(event, _)| event.id);
    Ok(Json(WebhookEventsBody {
        events: found
            .into_iter()
            .map(|(event, text)| body((event, text.and_then(|text| events::data_of(&text)))))
            .collect(),
        next,
    }))
}
