//! The headers of a response that a page of the portal shows in a frame.

use axum::http::header::{CONTENT_SECURITY_POLICY, X_FRAME_OPTIONS};
use axum::http::{HeaderMap, HeaderValue};

/// Permits the portal's own pages to show this response in a frame.
pub(crate) fn frame_by_self(headers: &mut HeaderMap) {
    const POLICY: &str =
        "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'self'; base-uri 'none'";
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
}
