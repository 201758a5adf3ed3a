//! Handlers without their types. axum's service stack is compiled for each type of handler. Behind one type it
//! is compiled once, for all pages. The module has no rule of its own.

use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use service::Shared;

type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler of any type.
#[derive(Clone)]
pub(crate) struct AnyHandler(Arc<dyn Fn(Request, Shared) -> Answer + Send + Sync>);

impl AnyHandler {
    pub(crate) fn new<H, T>(handler: H) -> Self
    where
        H: Handler<T, Shared>,
        T: 'static,
    {
        AnyHandler(Arc::new(move |request, app| {
            Box::pin(handler.clone().call(request, app))
        }))
    }
}

/// Tells axum's implementations of [`Handler`] and this one apart.
pub(crate) enum Untyped {}

impl Handler<Untyped, Shared> for AnyHandler {
    type Future = Answer;

    fn call(self, request: Request, app: Shared) -> Answer {
        (self.0)(request, app)
    }
}
