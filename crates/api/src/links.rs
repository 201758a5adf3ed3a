//! `/v2/sdk/session/links`: the account's one-time links, listed and revoked. `sessions` creates them.

use axum::extract::{RawQuery, State};
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::openapi::{ErrorAndMessageBody, LinkAndPollErrors};
use http_server::path::PathText;
use http_server::query;
use serde::Serialize;
use service::problem::Problem;
use service::time::iso;
use service::{Shared, reports, sessions};
use store::link_tokens::{LinkFilter, ListedLink};
use utoipa::ToSchema;
use uuid::Uuid;

/// The number of links on a page, unless the caller sends another.
const LIMIT: u16 = 50;
/// The highest number.
const MOST: u16 = 100;

/// A link without its URL, which only its creation returns.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(title = "ListedLink")]
pub struct ListedLinkBody {
    /// The id of the link.
    pub link_id: Uuid,
    /// Your label for the applicant.
    pub user_id: String,
    /// The Group.
    pub group_id: Uuid,
    /// The Flow.
    pub flow_id: Uuid,
    /// `open`; `used`: the applicant opened it; `expired` or `revoked`: nobody opened it before.
    #[schema(pattern = "^(open|used|expired|revoked)$")]
    pub state: String,
    /// When it was created (ISO 8601).
    pub created_at: String,
    /// Until when it can be opened (ISO 8601); of a revoked link: until when it could be.
    pub expires_at: String,
    /// When it was opened (ISO 8601); null if it was not.
    pub used_at: Option<String>,
    /// When it was revoked (ISO 8601); null if it was not.
    pub revoked_at: Option<String>,
}

/// A page of links, newest first.
#[derive(Serialize, ToSchema)]
#[schema(title = "ListedLinks")]
pub struct ListedLinksBody {
    /// The links.
    pub links: Vec<ListedLinkBody>,
    /// The value of `before` for the next page; null on the last page.
    pub next: Option<String>,
}

impl From<ListedLink> for ListedLinkBody {
    fn from(link: ListedLink) -> Self {
        ListedLinkBody {
            link_id: link.id,
            user_id: link.user_id,
            group_id: link.group_id,
            flow_id: link.flow_id,
            state: link.state.as_str().into(),
            created_at: iso(link.created_at),
            expires_at: iso(link.expires_at),
            used_at: link.used_at.map(iso),
            revoked_at: link.revoked_at.map(iso),
        }
    }
}

/// List your one-time links, newest first.
///
/// Links are listed for 30 days after they expire.
#[utoipa::path(get, path = "/v2/sdk/session/links", operation_id = "listSessionLinks", tag = "Sessions", security(("basic" = [])),
    params(("state" = Option<String>, Query, description = "Only links in this state; all if absent", pattern = "^(open|used|expired|revoked)$"),
        ("userId" = Option<String>, Query, description = "Only links for this applicant"),
        ("flowId" = Option<Uuid>, Query, description = "Only links of this Flow"),
        ("limit" = Option<u16>, Query, description = "The number of links on a page; 50 if absent", minimum = 1, maximum = 100),
        ("before" = Option<String>, Query, description = "`next` of the previous page", pattern = "^[0-9]{1,13}\\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")),
    responses((status = 200, description = "A page of links", body = ListedLinksBody), LinkAndPollErrors))]
pub async fn list(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    RawQuery(raw): RawQuery,
) -> Result<Json<ListedLinksBody>, Rejection> {
    let query = query::parse(raw.as_deref().unwrap_or_default())?;
    let mut errors = query.unknown(&["state", "userId", "flowId", "limit", "before"]);
    let (limit, after) = query.page_by_time(LIMIT, MOST, &mut errors);
    let filter = LinkFilter {
        state: query.read("state", "open, used, expired or revoked", &mut errors),
        user_id: query.get("userId"),
        flow_id: query.read("flowId", "a UUID", &mut errors),
        after,
    };
    if !errors.is_empty() {
        return Err(Problem::validation(errors).into());
    }
    let page = reports::links(&app, caller.scope, &filter, limit).await?;
    let last = page.entries.last().filter(|_| page.has_more);
    Ok(Json(ListedLinksBody {
        next: last.map(|last| query::cursor(last.created_at, last.id)),
        links: page.entries.into_iter().map(ListedLinkBody::from).collect(),
    }))
}

/// Revoke a link that nobody has opened.
///
/// Revoking a link again changes nothing.
#[utoipa::path(post, path = "/v2/sdk/session/links/{linkId}/revoke", operation_id = "revokeSessionLink", tag = "Sessions", security(("basic" = [])),
    params(("linkId" = String, Path, description = "The `linkId`")),
    responses(
        (status = 200, description = "The revoked link", body = ListedLinkBody),
        (status = 404, description = "No such link in the account", body = ErrorAndMessageBody),
        (status = 409, description = "`link_used`: it was opened; `link_expired`: it has expired", body = ErrorAndMessageBody),
        LinkAndPollErrors))]
pub async fn revoke(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(id): PathText,
) -> Result<Json<ListedLinkBody>, Rejection> {
    let revoked = sessions::revoke_link(&app, &caller, &id).await?;
    Ok(Json(revoked.into()))
}
