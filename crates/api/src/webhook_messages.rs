//! The webhook messages in the OpenAPI document. `service::events` writes them; nothing here runs.

use serde_json::Value;
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

/// What a message about a verification states. It contains no personal data except your own label.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", title = "VerificationEventData")]
#[allow(dead_code, reason = "read by the derive only")]
pub struct VerificationEventData {
    /// Your label for the person.
    #[schema(example = "user-1")]
    external_user_id: String,
    /// The group; null without one.
    grouping_id: Option<Uuid>,
    /// The Flow.
    flow_id: Uuid,
    /// The hosted session; null without one.
    session_id: Option<Uuid>,
    /// The person.
    facemap_id: Uuid,
    /// The attempt's number in the account's log.
    #[schema(example = 17)]
    log_id: i64,
    /// Counts the events of one registration. Messages may arrive in another order.
    #[schema(minimum = 1, example = 1)]
    sequence: i64,
    /// The attempt's status: `approved`, `declined`, `failed` or `pending`.
    #[schema(pattern = "^(approved|declined|failed|pending)$", example = "approved")]
    status: String,
    /// Whether the status is `approved`.
    success: bool,
    /// The failure codes.
    codes: Vec<u16>,
    /// Whether a sandbox key or link made the attempt.
    is_sandbox: bool,
}

/// A message about a verification.
#[derive(ToSchema)]
#[schema(title = "VerificationMessage")]
#[allow(dead_code, reason = "read by the derive only")]
pub struct VerificationMessage {
    /// The type of the event.
    #[schema(
        rename = "type",
        pattern = "^verification\\.(completed|review_required|review_decided|rescreened)$",
        example = "verification.completed"
    )]
    kind: String,
    /// When it happened (ISO 8601).
    #[schema(example = "2026-11-21T10:00:00.000Z")]
    timestamp: String,
    /// What happened.
    data: VerificationEventData,
}

/// A test message, which you request.
#[derive(ToSchema)]
#[schema(title = "WebhookTestMessage")]
#[allow(dead_code, reason = "read by the derive only")]
pub struct TestMessage {
    /// Always `webhook.test`.
    #[schema(rename = "type", pattern = "^webhook\\.test$", example = "webhook.test")]
    kind: String,
    /// When it was requested (ISO 8601).
    timestamp: String,
    /// Says that it is a test.
    #[schema(value_type = Object)]
    data: Value,
}

macro_rules! message {
    ($name:ident, $path:literal, $id:literal, $body:ty, $summary:literal) => {
        #[doc = $summary]
        ///
        /// It is signed by the scheme of Standard Webhooks: verify `webhook-signature` over the bytes of the body. Any 2xx
        /// within 15 seconds accepts it. Otherwise it is sent again.
        #[utoipa::path(post, path = $path, operation_id = $id, tag = "Webhooks", request_body = $body,
            params(("webhook-id" = Uuid, Header, description = "The id of the event, the same in every try"),
                ("webhook-timestamp" = i64, Header, description = "When this try was sent, in seconds since 1970"),
                ("webhook-signature" = String, Header, description = "`v1,` and the signature in Base64; during a rotation of the secret, two of them with a space between", example = "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=")),
            responses((status = 204, description = "Your server accepts the message"),
                (status = 410, description = "Your server wants no further messages at this address")))]
        #[allow(dead_code, reason = "read by the derive only")]
        fn $name() {}
    };
}

message!(
    completed,
    "/verification.completed",
    "onVerificationCompleted",
    VerificationMessage,
    " A verification ended: it passed or failed."
);
message!(
    review_required,
    "/verification.review_required",
    "onReviewRequired",
    VerificationMessage,
    " A reviewer must decide."
);
message!(
    review_decided,
    "/verification.review_decided",
    "onReviewDecided",
    VerificationMessage,
    " A reviewer decided."
);
message!(
    rescreened,
    "/verification.rescreened",
    "onRescreened",
    VerificationMessage,
    " A changed list flags an approved person."
);
message!(
    test,
    "/webhook.test",
    "onWebhookTest",
    TestMessage,
    " A test that you requested."
);

/// The messages, as paths. The program's router moves them to `webhooks`.
#[derive(OpenApi)]
#[openapi(
    paths(completed, review_required, review_decided, rescreened, test),
    components(schemas(VerificationMessage, VerificationEventData, TestMessage))
)]
pub struct WebhookMessages;
