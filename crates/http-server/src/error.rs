//! The one place where a [`Problem`] becomes a response.
//!
//! Handlers return a [`Rejection`] without a body, and [`render`] gives each family of endpoints its own
//! shape (`docs/decisions/0002-error-bodies-by-family.md`, contract §7). The cause of a problem is logged
//! with the request id and never sent.

use axum::extract::Request;
use axum::http::header::{ALLOW, AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Json, Response};
use serde_json::{Map, Value, json};
use service::problem::{Family, Kind, Problem};

/// The error type of handlers, extractors and middleware.
#[derive(Clone, Debug)]
pub struct Rejection(pub Problem);

impl<E: Into<Problem>> From<E> for Rejection {
    fn from(error: E) -> Self {
        Rejection(error.into())
    }
}

impl IntoResponse for Rejection {
    /// A bare status that carries the problem; [`render`] writes the body.
    fn into_response(self) -> Response {
        let mut response = self.0.status(Family::System).into_response();
        response.extensions_mut().insert(self.0);
        response
    }
}

fn body(problem: &Problem, family: Family, status: StatusCode) -> Value {
    let mut body = Map::new();
    let message = Value::from(problem.message());
    if family == Family::Yente {
        return json!({"detail": detail(problem)});
    }
    match (family, problem.kind()) {
        (Family::GroupsAndFlows | Family::LinkAndPoll | Family::Verify, Kind::Unauthenticated) => {
            body.insert("error".into(), message);
        }
        (Family::GroupsAndFlows, _) | (Family::Verify, Kind::WrongCredentials) => {
            body.insert("message".into(), message);
        }
        (Family::Monitoring, Kind::Unauthenticated | Kind::WrongCredentials) => {
            body.insert("message".into(), message);
        }
        (Family::Verify | Family::Monitoring, _) => {
            body.insert("success".into(), json!(false));
            body.insert("message".into(), message);
        }
        (Family::Applicants, _) => {
            body.insert("code".into(), json!(status.as_u16()));
            body.insert("description".into(), message);
        }
        (Family::LinkAndPoll | Family::Exchange | Family::Yente | Family::System, _) => {
            body.insert("error".into(), json!(problem.word(family)));
            body.insert("message".into(), message);
        }
    }
    if family == Family::Monitoring {
        if let Some(reason) = problem.name() {
            body.insert("reason".into(), json!(reason));
        }
        if let Some(id) = problem.query_id() {
            body.insert("queryId".into(), json!(id));
        }
    }
    if let Some(country) = problem.blocked_country() {
        body.insert("detectedCountry".into(), json!(country));
    }
    if let Some(can_renew) = problem.can_renew() {
        body.insert("canRenew".into(), json!(can_renew));
    }
    if !problem.errors().is_empty() {
        body.insert("errors".into(), json!(problem.errors()));
    }
    Value::Object(body)
}

/// The member `detail` of yente's errors: a text, or one object per faulty field. An error such as
/// `query.limit - must be a number` names the field before the hyphen.
fn detail(problem: &Problem) -> Value {
    if problem.errors().is_empty() {
        return problem.message().into();
    }
    let fault = |error: &String| {
        let (field, text) = error.split_once(" - ").unwrap_or(("", error));
        let place: Vec<&str> = field.split('.').filter(|part| !part.is_empty()).collect();
        json!({"type": "value_error", "loc": place, "msg": text})
    };
    problem.errors().iter().map(fault).collect()
}

/// Middleware: turns a [`Problem`] that a handler or extractor returned into the family's body.
pub async fn render(request: Request, next: Next) -> Response {
    let family = Family::of(request.uri().path());
    let challenge = challenge(family, request.headers());
    let mut response = next.run(request).await;
    let Some(problem) = response.extensions_mut().remove::<Problem>() else {
        return response;
    };
    let status = problem.status(family);
    problem.log(status);
    let mut rendered = (status, Json(body(&problem, family, status))).into_response();
    let headers = rendered.headers_mut();
    // The new response retains the rate-limit and `Allow` headers that inner layers set.
    for (name, value) in response.headers() {
        if name.as_str().starts_with("ratelimit-") || name == ALLOW {
            headers.insert(name.clone(), value.clone());
        }
    }
    if let Some(wait) = problem.wait() {
        headers.insert(RETRY_AFTER, HeaderValue::from(wait));
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    rendered
}

/// The value of `WWW-Authenticate` for a 401. A request with a bearer token must not get a Basic challenge,
/// because browsers would open their own password dialog.
fn challenge(family: Family, headers: &HeaderMap) -> &'static str {
    let scheme = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.as_bytes().get(..6));
    if family == Family::Exchange || scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer")) {
        "Bearer realm=\"bonafide\""
    } else {
        "Basic realm=\"bonafide\", charset=\"UTF-8\""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_its_shape() {
        let wrong = Problem::new(Kind::WrongCredentials, "m");
        let missing = Problem::new(Kind::Unauthenticated, "m");
        let invalid = Problem::validation(vec!["a - b".into()]);
        let used = Problem::new(Kind::Gone, "m").named("token_used");
        let blocked = Problem::geo_blocked(Some("DE"));
        let no_score = Problem::not_found("m")
            .named("no_source")
            .with_query_id(uuid::Uuid::nil());
        for (problem, family, status, expected) in [
            (&missing, Family::GroupsAndFlows, 401, json!({"error": "m"})),
            (&wrong, Family::GroupsAndFlows, 400, json!({"message": "m"})),
            (
                &invalid,
                Family::GroupsAndFlows,
                400,
                json!({"message": "Validation failed", "errors": ["a - b"]}),
            ),
            (&missing, Family::LinkAndPoll, 401, json!({"error": "m"})),
            (
                &wrong,
                Family::LinkAndPoll,
                400,
                json!({"error": "invalid_credentials", "message": "m"}),
            ),
            (
                &wrong,
                Family::Exchange,
                401,
                json!({"error": "invalid_token", "message": "m"}),
            ),
            (
                &used,
                Family::Exchange,
                410,
                json!({"error": "token_used", "message": "m"}),
            ),
            (
                &blocked,
                Family::Exchange,
                403,
                json!({
                    "error": "geo_blocked", "detectedCountry": "DE",
                    "message": "Verification is not available in your country",
                }),
            ),
            (&missing, Family::Verify, 401, json!({"error": "m"})),
            (&wrong, Family::Verify, 401, json!({"message": "m"})),
            (
                &invalid,
                Family::Verify,
                400,
                json!({"success": false, "message": "Validation failed", "errors": ["a - b"]}),
            ),
            (
                &missing,
                Family::Applicants,
                401,
                json!({"code": 401, "description": "m"}),
            ),
            (
                &wrong,
                Family::Applicants,
                401,
                json!({"code": 401, "description": "m"}),
            ),
            (&missing, Family::Monitoring, 401, json!({"message": "m"})),
            (&wrong, Family::Monitoring, 401, json!({"message": "m"})),
            (
                &invalid,
                Family::Monitoring,
                400,
                json!({"success": false, "message": "Validation failed", "errors": ["a - b"]}),
            ),
            (
                &no_score,
                Family::Monitoring,
                404,
                json!({
                    "success": false, "message": "m", "reason": "no_source",
                    "queryId": "00000000-0000-0000-0000-000000000000",
                }),
            ),
            (&missing, Family::Yente, 401, json!({"detail": "m"})),
            (&wrong, Family::Yente, 401, json!({"detail": "m"})),
            (&Problem::invalid("m"), Family::Yente, 400, json!({"detail": "m"})),
            (
                &Problem::validation(vec!["query.limit - is text".into()]),
                Family::Yente,
                422,
                json!({"detail": [{"type": "value_error", "loc": ["query", "limit"], "msg": "is text"}]}),
            ),
        ] {
            let got = problem.status(family);
            assert_eq!(
                (got.as_u16(), body(problem, family, got)),
                (status, expected),
                "{family:?}"
            );
        }
    }

    #[test]
    fn a_cause_is_never_sent() {
        let problem = Problem::from(store::Error::Unreadable("attempt status"));
        for family in [
            Family::Verify,
            Family::GroupsAndFlows,
            Family::System,
            Family::Applicants,
            Family::Yente,
        ] {
            let sent = body(&problem, family, problem.status(family)).to_string();
            assert!(!sent.contains("attempt status"), "{sent}");
        }
    }
}
