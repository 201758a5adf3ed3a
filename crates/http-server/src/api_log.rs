//! Records every authenticated call in the API log. `service::api_log` documents how much of each call is
//! retained.
//!
//! It never waits for the log, never changes the request or the response, and reads no request header except
//! the content type.

use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use chain::query::DEFAULT_LABEL;
use chain::secret;
use hyper::body::{Frame, SizeHint};
use serde_json::Value;
use service::Shared;
use service::api_log::{Body as KeptBody, Exchange, MAX_BODY, masked};
use service::problem::Family;
use store::Scope;
use store::api_log::{Call, CallSummary};
use uuid::Uuid;

use super::json::is_json;
use super::request_id::X_REQUEST_ID;

/// Facts about a call that the gate and the handler contribute to its log entry.
#[derive(Clone, Debug, Default)]
pub struct CallContext(Arc<CallContextFields>);

#[derive(Debug, Default)]
struct CallContextFields {
    caller: OnceLock<(Scope, String)>,
    form: OnceLock<Value>,
}

impl CallContext {
    /// Sets the account, the mode and the API key (or session). A call without them is not recorded.
    pub fn set_caller(&self, scope: Scope, key: &str) {
        let _ = self.0.caller.set((scope, key.to_owned()));
    }

    /// Sets the summary of the submitted form, as the log retains it.
    pub fn set_form(&self, summary: Value) {
        let _ = self.0.form.set(summary);
    }
}

impl<S: Sync> FromRequestParts<S> for CallContext {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(parts.extensions.get::<CallContext>().cloned().unwrap_or_default())
    }
}

/// A response extension: the log number of the verification that the response reports.
#[derive(Clone, Copy, Debug)]
pub struct AttemptLogId(pub i64);

/// How much of a call the log retains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallRetention {
    /// Address and bodies.
    Whole,
    /// Address and bodies, but the bodies are masked if the caller set a label, because a label may name a
    /// person.
    MaskedIfLabelled,
    /// The path, the masked request body, and the response body of a refused call.
    Masked,
    /// Like [`CallRetention::Masked`], but with the route's pattern instead of the path.
    MaskedWithoutPath,
    /// The path only. The names of members and the texts of errors may be personal too.
    Path,
}

fn retention_of(route: &str) -> CallRetention {
    match (Family::of(route), route) {
        (Family::GroupsAndFlows, _) | (_, "/v2/idv/document-requirements") => CallRetention::Whole,
        // Their responses have labels of earlier screenings.
        (
            _,
            "/v2/public/transaction-monitoring/alerts"
            | "/v2/public/transaction-monitoring/screenings"
            | "/v2/public/transaction-monitoring/{queryId}",
        ) => CallRetention::Masked,
        (Family::Monitoring, _) => CallRetention::MaskedIfLabelled,
        (Family::Yente, _) => CallRetention::Path,
        (_, "/v2/reports/applicants/byExternalUserId/{externalUserId}") => CallRetention::MaskedWithoutPath,
        _ => CallRetention::Masked,
    }
}

/// The route of a challenge's frames.
const FRAMES: &str = "/v2/sdk/session/challenge/frames";

/// Middleware around everything that makes the response, so it records the response that the caller receives.
pub async fn layer(State(app): State<Shared>, mut request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let Some(route) = route.map(|path| path.as_str().to_owned()) else {
        return next.run(request).await;
    };
    // Frames come many times a second and say nothing to a developer.
    if Family::of(&route) == Family::System || route == FRAMES {
        return next.run(request).await;
    }
    let keeps = retention_of(&route);
    let address = match keeps {
        CallRetention::Whole | CallRetention::MaskedIfLabelled => {
            request.uri().path_and_query().map(|address| address.to_string())
        }
        CallRetention::Masked | CallRetention::Path => Some(request.uri().path().to_owned()),
        CallRetention::MaskedWithoutPath => None,
    };
    let address = address
        .filter(|address| secret::recognise(address).is_none())
        .unwrap_or_else(|| route.clone());
    let method = request.method().to_string();
    let notes = CallContext::default();
    request.extensions_mut().insert(notes.clone());
    let seen = Arc::new(Mutex::new(BodyPrefix::default()));
    if request
        .headers()
        .get("content-type")
        .is_some_and(|kind| kind.to_str().is_ok_and(is_json))
    {
        request = request.map(|body| {
            Body::new(PrefixRecorder {
                body,
                prefix: Arc::clone(&seen),
            })
        });
    }
    let (id, started) = (Uuid::now_v7(), Instant::now());
    let at = jiff::Timestamp::now().as_millisecond();
    let mut response = next.run(request).await;
    let Some((scope, key)) = notes.0.caller.get().cloned() else {
        return response;
    };
    let ms = i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
    let sent = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    let refused = response.status().as_u16() >= 400;
    let answer = match keeps {
        CallRetention::Masked | CallRetention::MaskedWithoutPath if !refused => None,
        CallRetention::Path => None,
        _ => retained_response_body(&mut response, keeps).await,
    };
    let exchange = Exchange {
        address,
        request: sent.kept(keeps).or_else(|| {
            let form = notes.0.form.get().filter(|form| !contains_secret(form));
            form.map(as_body)
        }),
        response: answer,
        log_id: response
            .extensions()
            .get::<AttemptLogId>()
            .map(|attempt| attempt.0),
    };
    let header = response.headers().get(X_REQUEST_ID);
    let line = CallSummary {
        id,
        request_id: header
            .and_then(|id| id.to_str().ok())
            .unwrap_or_default()
            .to_owned(),
        at,
        method,
        route,
        status: response.status().as_u16(),
        ms,
        key,
    };
    match serde_json::to_string(&exchange) {
        Ok(exchange) => app.api_log.record(Call {
            scope,
            summary: line,
            exchange,
        }),
        Err(error) => tracing::warn!(%error, "a call could not be written down for the API log"),
    }
    response
}

/// The response body as the log retains it, if all of it is in memory. The response itself stays as it was.
async fn retained_response_body(response: &mut Response, keeps: CallRetention) -> Option<KeptBody> {
    let bytes = response.body().size_hint().exact()?;
    let body = std::mem::take(response.body_mut());
    let whole = axum::body::to_bytes(body, usize::MAX).await.ok()?;
    let kept = match keeps {
        CallRetention::MaskedIfLabelled => mask_if_labelled(&whole, bytes),
        CallRetention::Whole | CallRetention::Masked | CallRetention::MaskedWithoutPath => {
            mask_if_secret(&whole, bytes)
        }
        CallRetention::Path => None,
    };
    *response.body_mut() = Body::from(whole);
    kept.filter(|kept| kept.bytes > 0)
}

/// Whether a name or text in the value looks like a private key or another secret.
fn contains_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => secret::recognise(text).is_some(),
        Value::Array(items) => items.iter().any(contains_secret),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| secret::recognise(name).is_some() || contains_secret(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn as_body(value: &Value) -> KeptBody {
    let text = value.to_string();
    KeptBody::of(text.as_bytes(), text.len() as u64)
}

/// The unchanged body, or the masked body if it contains a secret that was pasted by mistake, which no log
/// may retain.
fn mask_if_secret(body: &[u8], bytes: u64) -> Option<KeptBody> {
    let beginning = &body[..body.len().min(MAX_BODY)];
    let is_safe = match chain::json::parse(beginning) {
        Ok(value) => !contains_secret(&value),
        Err(_) => secret::recognise(&String::from_utf8_lossy(beginning)).is_none(),
    };
    match is_safe {
        true => Some(KeptBody::of(beginning, bytes)),
        false => as_masked(beginning),
    }
}

/// The unchanged body, or the masked body if the caller labelled the query: a label may name a person, and an
/// erasure does not reach the log. A body that is not JSON cannot be checked, so the log does not retain it.
fn mask_if_labelled(body: &[u8], bytes: u64) -> Option<KeptBody> {
    let value = chain::json::parse(body).ok()?;
    match value["label"].as_str() {
        None | Some(DEFAULT_LABEL) => mask_if_secret(body, bytes),
        Some(_) => as_masked(body),
    }
}

/// The masked body. `None` if it is not JSON, or if a secret remains, because masking retains the members'
/// names and some values.
fn as_masked(body: &[u8]) -> Option<KeptBody> {
    let masked = masked(&chain::json::parse(body).ok()?);
    (!contains_secret(&masked)).then(|| as_body(&masked))
}

/// The beginning of a body that a handler read, and the number of bytes that it read.
#[derive(Default)]
struct BodyPrefix {
    beginning: Vec<u8>,
    bytes: u64,
}

impl BodyPrefix {
    fn kept(&self, keeps: CallRetention) -> Option<KeptBody> {
        match keeps {
            _ if self.bytes == 0 => None,
            CallRetention::Path => None,
            CallRetention::Whole => mask_if_secret(&self.beginning, self.bytes),
            CallRetention::MaskedIfLabelled => mask_if_labelled(&self.beginning, self.bytes),
            CallRetention::Masked | CallRetention::MaskedWithoutPath => as_masked(&self.beginning),
        }
    }
}

/// A body that copies its beginning while a handler reads it.
struct PrefixRecorder {
    body: Body,
    prefix: Arc<Mutex<BodyPrefix>>,
}

impl HttpBody for PrefixRecorder {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(data) = frame.data_ref()
        {
            let mut seen = self.prefix.lock().unwrap_or_else(PoisonError::into_inner);
            let room = MAX_BODY.saturating_sub(seen.beginning.len()).min(data.len());
            seen.beginning.extend_from_slice(&data[..room]);
            seen.bytes += data.len() as u64;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_configuration_and_chains_are_kept_whole() {
        for (route, kept) in [
            ("/v2/public/groups", CallRetention::Whole),
            ("/v2/public/flows/{flowId}", CallRetention::Whole),
            (
                "/v2/public/transaction-monitoring",
                CallRetention::MaskedIfLabelled,
            ),
            ("/v2/public/transaction-monitoring/alerts", CallRetention::Masked),
            (
                "/v2/public/transaction-monitoring/screenings",
                CallRetention::Masked,
            ),
            (
                "/v2/public/transaction-monitoring/{queryId}",
                CallRetention::Masked,
            ),
            ("/v2/reports/attempts", CallRetention::Masked),
            ("/v2/sdk/session/links", CallRetention::Masked),
            ("/v2/idv/document-requirements", CallRetention::Whole),
            ("/v2/idv/verify", CallRetention::Masked),
            ("/v2/yente/match/{dataset}", CallRetention::Path),
            ("/v2/sdk/session/web-sdk-link", CallRetention::Masked),
            (
                "/v2/sdk/session/verification-result/{sessionId}",
                CallRetention::Masked,
            ),
            ("/v2/reports/applicants/{facemapId}", CallRetention::Masked),
            (
                "/v2/reports/applicants/byExternalUserId/{externalUserId}",
                CallRetention::MaskedWithoutPath,
            ),
        ] {
            assert_eq!(retention_of(route), kept, "{route}");
        }
    }

    #[test]
    fn a_labelled_query_is_masked() {
        let kept = |body: Value| {
            let text = body.to_string();
            mask_if_labelled(text.as_bytes(), text.len() as u64).map(|body| body.text)
        };
        for open in [
            json!({"query": "1A1z"}),
            json!({"query": "1A1z", "label": DEFAULT_LABEL}),
        ] {
            assert_eq!(kept(open.clone()), Some(open.to_string()));
        }
        let named = kept(json!({"query": "1A1z", "label": "ann@example.com", "queryId": "q"})).unwrap();
        assert_eq!(
            named,
            json!({"query": "•••", "label": "•••", "queryId": "q"}).to_string()
        );
        assert_eq!(mask_if_labelled(b"{\"label\": \"ann@example.com\"", 28), None);
        // To `serde_json`, this would be the JSON within the text.
        let hidden = r#"{"$serde_json::private::RawValue": "{\"label\": \"ann@example.com\"}"}"#;
        assert_eq!(mask_if_labelled(hidden.as_bytes(), 1), None);
    }

    #[test]
    fn a_pasted_key_is_not_kept() {
        let key = "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ";
        let seed = "legal winner thank year wave sausage worth useful legal winner thank yellow";
        let kept = |body: String, keeps| {
            let seen = BodyPrefix {
                bytes: body.len() as u64,
                beginning: body.into_bytes(),
            };
            seen.kept(keeps).map(|body| body.text)
        };
        let (head, tail) = key.split_at(28);
        for secret in [
            key,
            &format!("Ann's {key}"),
            seed,
            &format!("{head}\n{tail}"),
            &format!("{head} {tail}"),
            &format!("{head}\u{200b}{tail}"),
        ] {
            for body in [
                json!({"type": "address", "query": secret}),
                json!({"label": secret, "query": "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}),
                json!({"currency": secret}),
                json!({secret: 1}),
                json!([[secret]]),
            ] {
                for keeps in [CallRetention::Whole, CallRetention::Masked] {
                    let text = kept(body.to_string(), keeps).unwrap_or_default();
                    assert!(!text.contains(secret) && !text.contains(tail), "{text}");
                }
                let answered = mask_if_secret(body.to_string().as_bytes(), 1);
                assert!(answered.is_none_or(|kept| !kept.text.contains(secret) && !kept.text.contains(tail)));
                // This is not JSON, as if it were truncated.
                let cut = format!("{body}{{").replace("\\n", "\n");
                assert_eq!(kept(cut, CallRetention::Whole), None);
            }
        }
        let plain = json!({"query": "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "label": "Ann"}).to_string();
        assert_eq!(kept(plain.clone(), CallRetention::Whole), Some(plain));
    }
}
