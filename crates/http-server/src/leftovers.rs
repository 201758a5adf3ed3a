//! Reads what a refusal left unread of a small body, so that the connection can go on. Without it the server would have
//! to hang up, and whatever the client sends next over the connection would be lost with it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::header::EXPECT;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Frame, SizeHint};

/// Most that is read and thrown away; beyond it hanging up is cheaper.
const MOST: usize = 256 * 1024;
/// How long the client may take to send it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Middleware: lends the body to the handler and reads the rest of it when there is an answer.
pub async fn layer(request: Request, next: Next) -> Response {
    // Who waits for leave to send a body has not sent it.
    if request.body().is_end_stream() || request.headers().contains_key(EXPECT) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = Arc::new(Mutex::new(body));
    let lent = Body::new(Lent(Arc::clone(&body)));
    let response = next.run(Request::from_parts(parts, lent)).await;
    // Unless somebody still reads it.
    if let Some(body) = Arc::into_inner(body) {
        let body = body.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !body.is_end_stream() {
            let _ = tokio::time::timeout(PATIENCE, Limited::new(body, MOST).collect()).await;
        }
    }
    response
}

/// A body that comes back.
struct Lent(Arc<Mutex<Body>>);

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut body = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Pin::new(&mut *body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).size_hint()
    }
}
