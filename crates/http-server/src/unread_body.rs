//! Reads the rest of a small body that a refusal left unread, so that the connection stays usable. Otherwise
//! the server would have to close it, and the client's next request on it would be lost.

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

/// The most bytes that are read and discarded. For a larger rest, closing the connection is cheaper.
const MAX_BYTES: usize = 256 * 1024;
/// How long the client may take to send the rest.
const READ_TIMEOUT: Duration = Duration::from_secs(1);

/// Middleware: lends the body to the handler, and reads the rest of it after the handler has responded.
pub async fn layer(request: Request, next: Next) -> Response {
    // A client that waits for `100 Continue` has not sent its body yet.
    if request.body().is_end_stream() || request.headers().contains_key(EXPECT) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = Arc::new(Mutex::new(body));
    let lent = Body::new(SharedBody(Arc::clone(&body)));
    let response = next.run(Request::from_parts(parts, lent)).await;
    // A handler may still be reading the body in the background.
    if let Some(body) = Arc::into_inner(body) {
        let body = body.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !body.is_end_stream() {
            let _ = tokio::time::timeout(READ_TIMEOUT, Limited::new(body, MAX_BYTES).collect()).await;
        }
    }
    response
}

/// A body that the middleware shares with the handler.
struct SharedBody(Arc<Mutex<Body>>);

impl HttpBody for SharedBody {
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
