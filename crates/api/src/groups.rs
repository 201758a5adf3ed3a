//! `/v2/public/groups` (contract §4.1).

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::StatusCode;
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::idempotency::{Reply, key_of};
use http_server::json::JsonObject;
use http_server::openapi::{GroupsAndFlowsErrors, MessageBody};
use http_server::path::PathText;
use serde::{Deserialize, Serialize};
use service::idempotency::{self, Answer, ClaimOutcome};
use service::time::iso;
use service::{Shared, groups};
use store::groups::Group;
use utoipa::ToSchema;
use uuid::Uuid;

/// A named collection of Flows.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupBody {
    /// The Group.
    pub group_id: Uuid,
    /// Unique in the account.
    pub name: String,
    /// Free text.
    pub description: Option<String>,
    /// `active` or `inactive`.
    pub status: String,
    /// The Flows in the Group.
    pub flows: Vec<GroupFlowBody>,
    /// When it was created (ISO 8601, UTC, milliseconds).
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// A Flow of a Group.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupFlowBody {
    /// The Flow.
    pub flow_id: Uuid,
    /// Its name.
    pub name: String,
}

/// All Groups, most recently created first.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct GroupListBody {
    /// The Groups.
    pub groups: Vec<GroupBody>,
}

/// A Group to create.
#[derive(ToSchema)]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::group reads the body"
)]
pub struct NewGroupBody {
    /// Unique in the account.
    #[schema(
        min_length = 1,
        max_length = 100,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"
    )]
    name: String,
    /// Free text.
    #[schema(max_length = 500, pattern = r"^[^\u0000]*$", nullable)]
    description: Option<String>,
    /// `active` unless sent.
    #[schema(pattern = "^(active|inactive)$", default = "active", nullable = false)]
    status: Option<String>,
    /// The Flows. Ids of other accounts are ignored.
    #[schema(rename = "flowIds", min_items = 1)]
    flow_ids: Vec<String>,
}

/// The changes to a Group. Omitted members stay unchanged.
#[derive(ToSchema)]
#[allow(
    dead_code,
    reason = "read by the derive only; verification::group reads the body"
)]
pub struct GroupChangesBody {
    /// Unique in the account.
    #[schema(
        min_length = 1,
        max_length = 100,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$",
        nullable = false
    )]
    name: Option<String>,
    /// Null clears it.
    #[schema(max_length = 500, pattern = r"^[^\u0000]*$", nullable)]
    description: Option<String>,
    /// `active` or `inactive`.
    #[schema(pattern = "^(active|inactive)$", nullable = false)]
    status: Option<String>,
    /// Replaces the whole list.
    #[schema(rename = "flowIds", nullable = false)]
    flow_ids: Option<Vec<String>>,
}

impl From<Group> for GroupBody {
    fn from(group: Group) -> Self {
        GroupBody {
            group_id: group.id,
            name: group.name,
            description: group.description,
            status: group.status.as_str().into(),
            flows: group
                .flows
                .into_iter()
                .map(|flow| GroupFlowBody {
                    flow_id: flow.id,
                    name: flow.name,
                })
                .collect(),
            created_at: iso(group.created_at),
            updated_at: iso(group.updated_at),
        }
    }
}

/// List all Groups, most recently created first.
#[utoipa::path(get, path = "/v2/public/groups", operation_id = "listGroups", tag = "Groups", security(("basic" = [])),
    responses((status = 200, description = "All Groups", body = GroupListBody), GroupsAndFlowsErrors))]
pub async fn list(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<GroupListBody>, Rejection> {
    let groups = groups::list(&app, caller.scope).await?;
    Ok(Json(GroupListBody {
        groups: groups.into_iter().map(GroupBody::from).collect(),
    }))
}

/// Create a Group.
#[utoipa::path(post, path = "/v2/public/groups", operation_id = "createGroup", tag = "Groups", security(("basic" = [])),
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 hours",
        min_length = 1, max_length = 255, pattern = r"^[\t -~]*[!-~][\t -~]*$", nullable = false)),
    request_body = NewGroupBody,
    responses(
        (status = 201, description = "Created", body = GroupBody),
        (status = 409, description = "The name is taken", body = MessageBody),
        (status = 408, description = "The body did not arrive in time", body = MessageBody),
        (status = 413, description = "The body is larger than 1 MB", body = MessageBody),
        (status = 422, description = "The Idempotency-Key came with another body", body = MessageBody),
        GroupsAndFlowsErrors))]
pub async fn create(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
    body: JsonObject,
) -> Result<Reply, Rejection> {
    let claim = match idempotency::start(
        &app,
        caller.scope,
        key_of(&headers),
        "POST /v2/public/groups",
        &body.bytes,
    )
    .await?
    {
        ClaimOutcome::Fresh(claim) => claim,
        ClaimOutcome::Answered(answer) => return Ok(Reply(answer)),
    };
    let answer = |group| Answer::json(StatusCode::CREATED, &GroupBody::from(group));
    let result = groups::create(&app, &caller, &body.object, &claim, answer).await;
    Ok(Reply(claim.settle(result)?))
}

/// One Group.
#[utoipa::path(get, path = "/v2/public/groups/{groupId}", operation_id = "getGroup", tag = "Groups", security(("basic" = [])),
    params(("groupId" = String, Path, description = "The Group")),
    responses(
        (status = 200, description = "The Group", body = GroupBody),
        (status = 404, description = "No such Group in the account", body = MessageBody),
        GroupsAndFlowsErrors))]
pub async fn get(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(id): PathText,
) -> Result<Json<GroupBody>, Rejection> {
    Ok(Json(groups::get(&app, caller.scope, &id).await?.into()))
}

/// Change a Group.
#[utoipa::path(put, path = "/v2/public/groups/{groupId}", operation_id = "updateGroup", tag = "Groups", security(("basic" = [])),
    params(("groupId" = String, Path, description = "The Group")),
    request_body = GroupChangesBody,
    responses(
        (status = 200, description = "The changed Group", body = GroupBody),
        (status = 404, description = "No such Group in the account", body = MessageBody),
        (status = 408, description = "The body did not arrive in time", body = MessageBody),
        (status = 409, description = "The name is taken", body = MessageBody),
        (status = 413, description = "The body is larger than 1 MB", body = MessageBody),
        GroupsAndFlowsErrors))]
pub async fn update(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(id): PathText,
    body: JsonObject,
) -> Result<Json<GroupBody>, Rejection> {
    Ok(Json(
        groups::update(&app, &caller, &id, &body.object).await?.into(),
    ))
}

/// Delete a Group; its Flows remain.
#[utoipa::path(delete, path = "/v2/public/groups/{groupId}", operation_id = "deleteGroup", tag = "Groups", security(("basic" = [])),
    params(("groupId" = String, Path, description = "The Group")),
    responses(
        (status = 200, description = "Deleted", body = MessageBody),
        (status = 404, description = "No such Group in the account", body = MessageBody),
        GroupsAndFlowsErrors))]
pub async fn delete(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(id): PathText,
) -> Result<Json<MessageBody>, Rejection> {
    groups::delete(&app, &caller, &id).await?;
    Ok(Json(MessageBody {
        message: "group deleted successfully".into(),
        errors: None,
    }))
}
