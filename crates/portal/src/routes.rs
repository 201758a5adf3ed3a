//! Collects the portal's routes with their actions. Every handler gets its guard here, so no route can lack
//! one.

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get, post};
use http_server::body;
use http_server::error::Rejection;
use service::Shared;
use service::permissions::{Action, Grantee};
use service::problem::{Kind, Problem};
use store::merchants::MerchantStatus;

use super::handler::AnyHandler;
use super::session::{self, Member};

/// The form that switches between live data and the sandbox. Of the forms that need a role in the account, it
/// is the only one that works while the account is suspended.
pub(super) const MODE: &str = "/portal/mode";

/// The page that sets up a second factor.
pub(super) const SECOND_FACTOR: &str = "/portal/account/totp";
/// The pages for a member who lacks a required second factor: set it up, choose another account, or sign out.
const BEFORE_SECOND_FACTOR: [&str; 7] = [
    SECOND_FACTOR,
    "/portal/account/passkeys",
    "/portal/account/passkeys/new",
    "/portal/prove",
    "/portal/account/recovery",
    "/portal/account/choose",
    "/portal/sign-out",
];

/// The largest form, in bytes: the Flow editor with an override for every country.
const MAX_FORM: usize = 2 * 1024 * 1024;
/// The largest form on a public route, in bytes: sign-in, invitations, sign-up.
const MAX_STRANGERS_FORM: usize = 64 * 1024;

/// A route, for tests that check all of them.
#[derive(Clone, Debug)]
pub struct Row {
    /// GET or POST.
    pub method: Method,
    /// The path's pattern.
    pub path: &'static str,
    /// The action, which determines who may use the route.
    pub action: Action,
}

/// Collects routes and their guards.
#[derive(Default)]
pub struct Routes {
    router: Router<Shared>,
    rows: Vec<Row>,
}

impl Routes {
    /// Adds a page (GET).
    pub fn get<H, T>(self, path: &'static str, action: Action, handler: H) -> Self
    where
        H: Handler<T, Shared>,
        T: 'static,
    {
        self.add(path, action, Method::GET, get(AnyHandler::new(handler)))
    }

    /// Adds a form (POST).
    pub fn post<H, T>(self, path: &'static str, action: Action, handler: H) -> Self
    where
        H: Handler<T, Shared>,
        T: 'static,
    {
        self.add(path, action, Method::POST, post(AnyHandler::new(handler)))
    }

    fn add(
        mut self,
        path: &'static str,
        action: Action,
        method: Method,
        handler: MethodRouter<Shared>,
    ) -> Self {
        self.rows.push(Row { method, path, action });
        let guarded = handler.route_layer(from_fn(move |request: Request, next: Next| {
            guard(action, request, next)
        }));
        self.router = self.router.route(path, guarded);
        self
    }

    /// The routes collected so far.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The router, in which every route has its guard.
    pub fn into_router(self) -> Router<Shared> {
        self.router
    }
}

async fn guard(action: Action, request: Request, next: Next) -> Response {
    if let Some(refused) = refusal(action, &request) {
        return refused;
    }
    let (parts, sent) = request.into_parts();
    let limit = if action.who() == Grantee::Anybody {
        MAX_STRANGERS_FORM
    } else {
        MAX_FORM
    };
    match body::whole(sent, limit).await {
        Ok(form) => next.run(Request::from_parts(parts, form.into())).await,
        Err(problem) => Rejection(problem).into_response(),
    }
}

/// The refusal of a request that may not continue, if any.
fn refusal(action: Action, request: &Request) -> Option<Response> {
    if action.who() == Grantee::Anybody {
        return None;
    }
    let is_page = request.method() == Method::GET;
    // Where the reader wanted to go, or the page that a form was sent from.
    let here = || {
        let path = request
            .uri()
            .path_and_query()
            .map(|target| target.as_str().to_owned());
        let from = if is_page {
            path
        } else {
            session::same_site_referrer(request.headers())
        };
        from.unwrap_or_else(|| "/portal".into())
    };
    let Some(member) = request.extensions().get::<Member>() else {
        return Some(if is_page {
            Redirect::to(&with_next("/portal/sign-in", &here())).into_response()
        } else {
            Rejection(Problem::new(
                Kind::Unauthenticated,
                "Your session has ended. Sign in again",
            ))
            .into_response()
        });
    };
    match member.lacks_second_factor() {
        Ok(true) if !BEFORE_SECOND_FACTOR.contains(&request.uri().path()) => {
            return Some(Redirect::to(SECOND_FACTOR).into_response());
        }
        Ok(_) => {}
        Err(problem) => return Some(Rejection(problem).into_response()),
    }
    if matches!(action.who(), Grantee::Roles(_)) && member.merchant.is_none() {
        return Some(Redirect::to("/portal/account").into_response());
    }
    if !member.may(action) {
        return Some(
            Rejection(Problem::new(Kind::Forbidden, "Your role does not allow this")).into_response(),
        );
    }
    let is_suspended = member
        .merchant
        .as_ref()
        .is_some_and(|merchant| merchant.status == MerchantStatus::Suspended);
    // The pages of a suspended account remain readable, live and sandbox.
    if is_suspended && matches!(action.who(), Grantee::Roles(_)) && !is_page && request.uri().path() != MODE {
        let text = "The merchant account is suspended";
        return Some(Rejection(Problem::new(Kind::Forbidden, text)).into_response());
    }
    let is_asked = action.needs_proof() && !member.is_proven();
    is_asked.then(|| Redirect::to(&with_next("/portal/prove", &here())).into_response())
}

/// The address `path?next=…`, from which the reader continues to `next`.
pub fn with_next(path: &str, next: &str) -> String {
    let mut encoded = String::with_capacity(next.len());
    for byte in next.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    format!("{path}?next={encoded}")
}

/// The path that `next` may lead to: one of the portal on this host, or else the portal's first page.
pub fn safe_next(next: Option<&str>) -> &str {
    match next {
        Some(next)
            if (next == "/portal" || next.starts_with("/portal/") || next.starts_with("/portal?"))
                && !next.contains(['\\', '\r', '\n', '\t'])
                && !next.contains("//")
                && !next.contains("/..") =>
        {
            next
        }
        _ => "/portal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_never_leaves_the_portal() {
        for good in ["/portal", "/portal/queue?status=pending", "/portal?x=1"] {
            assert_eq!(safe_next(Some(good)), good);
        }
        for bad in [
            "https://evil.example",
            "//evil.example",
            "/portal//evil.example",
            "/portalx",
            "/portal/../v2",
            "/portal/\\evil.example",
            "javascript:alert(1)",
            "/portal/\r\nset-cookie: a=b",
            "",
        ] {
            assert_eq!(safe_next(Some(bad)), "/portal", "{bad:?}");
        }
        assert_eq!(safe_next(None), "/portal");
        assert_eq!(
            with_next("/portal/prove", "/portal/keys?a=b&c"),
            "/portal/prove?next=/portal/keys%3Fa%3Db%26c"
        );
    }
}
