//! JSON-RPC for nodes: one call or a batch. Faults that a node reports are distinct from failures to reach
//! it, and numbers remain texts.
//!
//! A node's error messages are not repeated, because they may contain the query or a credential.

use std::path::PathBuf;

use chain::source::SourceError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::base64::base64;
use crate::ondemand::{Calls, HttpRequest, HttpResponse};

/// Calls in one batch; nodes accept a hundred and more.
const BATCH: usize = 50;
/// The id of the first line (`server.version`) on a bare connection.
const HELLO: &str = "hello";

/// Why a call gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RpcError {
    /// The node answered with an error of this code.
    Fault(i64),
    /// The node could not be reached, or its response was not valid.
    Source(SourceError),
}

impl From<SourceError> for RpcError {
    fn from(error: SourceError) -> RpcError {
        RpcError::Source(error)
    }
}

impl From<RpcError> for SourceError {
    fn from(error: RpcError) -> SourceError {
        match error {
            RpcError::Fault(code) => SourceError::Nonsense(format!("it answered with error {code}")),
            RpcError::Source(error) => error,
        }
    }
}

/// A node that speaks JSON-RPC.
#[derive(Clone)]
pub struct Rpc {
    url: String,
    credentials: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Fault {
    code: i64,
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<Fault>,
    id: Option<Value>,
}

impl Reply<'_> {
    fn read<T: DeserializeOwned>(self) -> Result<T, RpcError> {
        if let Some(fault) = self.error {
            return Err(RpcError::Fault(fault.code));
        }
        let result = self.result.map_or("null", RawValue::get);
        serde_json::from_str(result).map_err(|error| RpcError::Source(untold(&error)))
    }
}

/// What is wrong with a response's shape, without the values that serde would quote.
pub(crate) fn untold(error: &serde_json::Error) -> SourceError {
    let text = error.to_string();
    let field = text
        .strip_prefix("missing field `")
        .and_then(|rest| rest.split('`').next());
    SourceError::Nonsense(format!(
        "{} is missing or of another type",
        field.unwrap_or("a member")
    ))
}

impl Rpc {
    /// A node at a URL, which may contain `user:password@`. `tcp://host:port` is a bare connection with one
    /// message per line; `ssl://` (or `tls://`) is the same over TLS.
    pub fn new(url: impl Into<String>) -> Rpc {
        Rpc {
            url: url.into(),
            credentials: None,
        }
    }

    /// Adds a file that contains `user:password`, such as bitcoind's `.cookie`. It is read for every request,
    /// because a restarted node writes a new one.
    pub fn with_credentials(self, file: Option<PathBuf>) -> Rpc {
        Rpc {
            credentials: file,
            ..self
        }
    }

    /// Sends a call, or an array of calls; returns the bytes of the reply, or of the array of replies.
    fn send(&self, calls: &Calls<'_>, body: &Value) -> Result<Vec<u8>, SourceError> {
        let mut request = HttpRequest::get(self.url.clone(), std::time::Duration::ZERO);
        if is_bare(&self.url) {
            return lines(calls, request, body);
        }
        request.body = Some(body.to_string());
        if let Some(file) = &self.credentials {
            let text = std::fs::read(file).map_err(|error| {
                SourceError::Unreachable(format!("its credentials in {}: {error}", file.display()))
            })?;
            let value = format!("Basic {}", base64(text.trim_ascii()));
            request.headers.push(("authorization".to_owned(), value));
        }
        // bitcoind answers faults with status 500, or 404 for an unknown method.
        let is_answer = |answer: &HttpResponse| match answer.status {
            200 => true,
            400 | 404 | 500 => {
                serde_json::from_slice::<Reply<'_>>(&answer.body).is_ok_and(|reply| reply.error.is_some())
            }
            _ => false,
        };
        calls.send_accepting(request, &is_answer)
    }

    /// Calls a method.
    ///
    /// # Errors
    /// The node's fault, or why it could not be queried.
    pub fn call<T: DeserializeOwned>(
        &self,
        calls: &Calls<'_>,
        method: &str,
        params: Value,
    ) -> Result<T, RpcError> {
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params});
        let answer = self.send(calls, &body)?;
        let reply: Reply<'_> = serde_json::from_slice(&answer).map_err(|_| not_json())?;
        reply.read()
    }

    /// Makes many calls in batches of a size that any node accepts. Returns the results in the order of the
    /// calls.
    ///
    /// # Errors
    /// As [`Rpc::call`], with the first fault.
    pub fn batch<T: DeserializeOwned>(
        &self,
        calls: &Calls<'_>,
        asked: &[(&str, Value)],
    ) -> Result<Vec<T>, RpcError> {
        let mut all = Vec::with_capacity(asked.len());
        for chunk in asked.chunks(BATCH) {
            for answer in self.each(calls, chunk)? {
                all.push(answer?);
            }
        }
        Ok(all)
    }

    /// Makes all calls in one batch. Returns one result per call, in the order of the calls.
    ///
    /// # Errors
    /// When the batch as a whole failed: the node's fault about it, or why the node could not be queried.
    pub fn each<T: DeserializeOwned>(
        &self,
        calls: &Calls<'_>,
        asked: &[(&str, Value)],
    ) -> Result<Vec<Result<T, RpcError>>, RpcError> {
        if let [(method, params)] = asked {
            return match self.call(calls, method, params.clone()) {
                Err(error @ RpcError::Source(_)) => Err(error),
                answer => Ok(vec![answer]),
            };
        }
        let body: Value = (0u64..)
            .zip(asked)
            .map(|(id, (method, params))| {
                json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            })
            .collect();
        let answer = self.send(calls, &body)?;
        if let Ok(Reply {
            error: Some(fault), ..
        }) = serde_json::from_slice(&answer)
        {
            return Err(RpcError::Fault(fault.code));
        }
        let replies: Vec<Reply<'_>> = serde_json::from_slice(&answer).map_err(|_| not_json())?;
        let mut ordered: Vec<Option<Reply<'_>>> = asked.iter().map(|_| None).collect();
        for reply in replies {
            let id = reply.id.as_ref().and_then(Value::as_u64);
            let place = id.and_then(|id| ordered.get_mut(usize::try_from(id).ok()?));
            *place.ok_or_else(wrong_batch)? = Some(reply);
        }
        let read = |reply: Option<Reply<'_>>| Ok(reply.ok_or_else(wrong_batch)?.read());
        ordered.into_iter().map(read).collect()
    }
}

/// Whether a URL is one of a bare connection.
pub fn is_bare(url: &str) -> bool {
    ["tcp://", "ssl://", "tls://"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
}

/// Sends calls over a bare connection, as Electrum servers expect them: one line per call and per reply, in
/// any order.
fn lines(calls: &Calls<'_>, mut request: HttpRequest, body: &Value) -> Result<Vec<u8>, SourceError> {
    // Electrum servers expect `server.version` before any other call.
    let hello =
        json!({"jsonrpc": "2.0", "id": HELLO, "method": "server.version", "params": ["Bonafide", "1.4"]});
    let asked = body.as_array().map_or(std::slice::from_ref(body), Vec::as_slice);
    let sent: Vec<String> = std::iter::once(&hello)
        .chain(asked)
        .map(Value::to_string)
        .collect();
    request.body = Some(sent.join("\n"));
    let answer = calls.send(request)?;
    let mut replies: Vec<&[u8]> = answer.split(|byte| *byte == b'\n').collect();
    replies.retain(|line| {
        let reply = serde_json::from_slice::<Reply<'_>>(line);
        !line.is_empty() && !reply.is_ok_and(|reply| reply.id == Some(HELLO.into()))
    });
    if body.is_array() {
        Ok([b"[", replies.join(&b","[..]).as_slice(), b"]"].concat())
    } else {
        Ok(replies.first().copied().unwrap_or_default().to_vec())
    }
}

fn not_json() -> RpcError {
    SourceError::Nonsense("no JSON-RPC answer".to_owned()).into()
}

fn wrong_batch() -> RpcError {
    SourceError::Nonsense("other answers than were asked for".to_owned()).into()
}
