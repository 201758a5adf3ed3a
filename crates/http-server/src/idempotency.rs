//! The HTTP side of idempotency: the `Idempotency-Key` header and the repeated responses.
//! `service::idempotency` implements the rules.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use service::idempotency::Answer;

use crate::api_log::AttemptLogId;

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header that marks a repeated response.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The request's idempotency key, not yet validated.
pub fn key_of(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(KEY).map(HeaderValue::as_bytes)
}

/// A response that a service made.
pub struct Reply(pub Answer);

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let Reply(answer) = self;
        let (status, attempt, is_replayed) = (answer.status(), answer.attempt(), answer.is_replayed());
        let mut response = Response::new(Body::from(answer.into_body()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if is_replayed {
            headers.insert(REPLAYED, HeaderValue::from_static("true"));
        }
        if let Some(log_id) = attempt {
            response.extensions_mut().insert(AttemptLogId(log_id));
        }
        response
    }
}
