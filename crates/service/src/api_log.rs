//! The API log: every authenticated call, for the portal. Calls are written outside the requests and deleted
//! after the configured days.
//!
//! **What is recorded of a call.**
//!
//! - Method, route, status, time, key and request id: always.
//! - For Groups, Flows, document requirements and transaction monitoring: the address and both JSON bodies,
//!   at most 16 KiB of each.
//! - For all other endpoints, whose content may be personal: request bodies as [`masked`], and responses only
//!   if they are refusals, which name fields but no content.
//! - For a verification: its log id. Request and response are stored with the attempt under the person's key,
//!   so erasing the person erases them too.
//! - Never: headers, files, or responses that contain links or tokens.

use std::time::Duration;

use node::api_calls::dropped;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::Db;
use store::api_log::{self, Call};
use tokio::sync::mpsc::Receiver;

pub use node::api_calls::{ApiLog, Recorded};

/// The maximum recorded size of a body, in bytes.
pub const MAX_BODY: usize = 16 * 1024;
/// The maximum number of calls written in one transaction.
const BATCH: usize = 512;
/// How long calls are collected before they are written, to reduce the load on the database.
const GATHER: Duration = Duration::from_millis(200);

/// What was sent in a call, and the response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Exchange {
    /// Path and query, or the route's pattern if they may identify a person.
    pub address: String,
    /// The request's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Body>,
    /// The response's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Body>,
    /// The verification that the call led to. Its attempt contains both bodies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_id: Option<i64>,
}

/// A body, or its beginning if it is long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// Its text, at most [`MAX_BODY`] bytes.
    pub text: String,
    /// The length of the whole body, in bytes.
    pub bytes: u64,
}

impl Body {
    /// The recorded part of a body.
    pub fn of(beginning: &[u8], bytes: u64) -> Self {
        let kept = &beginning[..beginning.len().min(MAX_BODY)];
        Body {
            text: String::from_utf8_lossy(kept).into_owned(),
            bytes,
        }
    }

    /// Whether only the beginning is recorded.
    pub fn is_cut(&self) -> bool {
        self.bytes > MAX_BODY as u64
    }
}

/// Writes queued calls in batches until it is stopped.
pub async fn write_all(db: Db, mut recorded: Recorded) {
    let (stop, mut batch) = (recorded.stop, Vec::new());
    loop {
        let stopping = stop.is_cancelled();
        let gathered = tokio::select! {
            () = stop.cancelled(), if !stopping => 0,
            gathered = recorded.calls.recv_many(&mut batch, BATCH), if !stopping => gathered,
            else => gathered_at_last(&mut recorded.calls, &mut batch),
        };
        if gathered > 0 {
            write(&db, &batch).await;
            batch.clear();
        } else if stopping {
            return;
        }
        if gathered < BATCH {
            let _ = tokio::time::timeout(GATHER, stop.cancelled()).await;
        }
    }
}

/// Takes a last batch of the calls that are still queued.
fn gathered_at_last(calls: &mut Receiver<Call>, batch: &mut Vec<Call>) -> usize {
    while let (true, Ok(call)) = (batch.len() < BATCH, calls.try_recv()) {
        batch.push(call);
    }
    batch.len()
}

async fn write(db: &Db, calls: &[Call]) {
    if let Err(error) = try_write(db, calls).await {
        tracing::warn!(%error, "the API log could not be written");
        dropped(calls.len());
    }
}

async fn try_write(db: &Db, calls: &[Call]) -> Result<(), store::Error> {
    let keys = api_log::keys(&mut db.read().await?, calls).await?;
    store::transaction!(db.traffic(), |tx| -> Result<(), store::Error> {
        api_log::insert(tx, &keys, calls).await
    })
}

/// Members whose values are not personal: our ids, codes, statuses, words of fixed lists, and our texts.
const OPEN_MEMBERS: [&str; 49] = [
    "action",
    "biometricType",
    "bytes",
    "code",
    "codes",
    "completed_at",
    "createdAt",
    "created_at",
    "currency",
    "description",
    "documentTypes",
    "documentUploadType",
    "documents_processed",
    "duration_seconds",
    "error",
    "errors",
    "expires_in",
    "facemapId",
    "field",
    "flowId",
    "flowName",
    "groupId",
    "groupingId",
    "kind",
    "lastActive",
    "logId",
    "merchantId",
    "message",
    "metadata",
    "mrz_type",
    "ms",
    "queryId",
    "reasons",
    "registrationCnt",
    "relation",
    "report",
    "requiredDocuments",
    "score",
    "sdkStatus",
    "sdk_id",
    "sessionId",
    "session_id",
    "similarityScore",
    "source",
    "stage",
    "status",
    "step",
    "type",
    "version",
];

/// Replaces a masked value.
pub const MASK: &str = "•••";

/// JSON in which every text and number is masked, except values of [`OPEN_MEMBERS`]. Structure, booleans and
/// nulls stay.
pub fn masked(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(name, value)| (name.clone(), masked_member(name, value)))
                .collect(),
        ),
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::String(_) | Value::Number(_) => MASK.into(),
        Value::Null | Value::Bool(_) => value.clone(),
    }
}

fn masked_member(name: &str, value: &Value) -> Value {
    match value {
        Value::String(_) | Value::Number(_) if is_open(name) => value.clone(),
        Value::Array(items) if is_open(name) => {
            let item = |item: &Value| match item {
                Value::String(_) | Value::Number(_) => item.clone(),
                deeper => masked(deeper),
            };
            items.iter().map(item).collect()
        }
        deeper => masked(deeper),
    }
}

fn is_open(name: &str) -> bool {
    OPEN_MEMBERS.binary_search(&name).is_ok()
}

/// A form's fields as they are recorded: texts are masked, and of files only the size is recorded.
pub fn form_summary<'a>(
    texts: impl IntoIterator<Item = (&'a String, &'a String)>,
    files: impl IntoIterator<Item = (&'a String, u64)>,
) -> Value {
    let texts = texts
        .into_iter()
        .map(|(name, text)| (name.clone(), masked_member(name, &Value::from(text.as_str()))));
    let files = files
        .into_iter()
        .map(|(name, bytes)| (name.clone(), serde_json::json!({ "bytes": bytes })));
    Value::Object(texts.chain(files).collect::<Map<_, _>>())
}

/// Deletes calls older than the configured days, and returns how many.
pub async fn sweep(app: &crate::App) -> Result<u64, store::Error> {
    const AT_ONCE: i64 = 5_000;
    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
    let before = jiff::Timestamp::now().as_millisecond() - i64::from(app.config.api_log_days) * DAY_MS;
    let mut swept = 0;
    loop {
        let deleted = store::transaction!(app.db.traffic(), |tx| -> Result<u64, store::Error> {
            api_log::sweep(tx, before, AT_ONCE).await
        })?;
        swept += deleted;
        if deleted < AT_ONCE.unsigned_abs() {
            return Ok(swept);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_in_order() {
        assert!(OPEN_MEMBERS.is_sorted());
    }

    #[test]
    fn what_may_be_of_a_person_is_masked() {
        let answer = json!({
            "success": false, "externalUserId": "anna@example.com", "code": 2702, "codes": [2702, 2101],
            "facemapId": "f", "age": 43, "mrz_data": {"surname": "ERIKSSON", "birth": null},
            "results": [{"caption": "Anna", "score": 0.9}], "reasons": ["x", {"name": "y"}],
        });
        assert_eq!(
            masked(&answer),
            json!({
                "success": false, "externalUserId": MASK, "code": 2702, "codes": [2702, 2101],
                "facemapId": "f", "age": MASK, "mrz_data": {"surname": MASK, "birth": null},
                "results": [{"caption": MASK, "score": 0.9}], "reasons": ["x", {"name": MASK}],
            })
        );
        assert_eq!(masked(&json!("ERIKSSON")), json!(MASK));
    }

    #[test]
    fn of_a_form_names_and_sizes_are_kept() {
        let texts = [("flowId", "1"), ("firstName", "Anna")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        let texts: std::collections::BTreeMap<_, _> = texts.into();
        let selfie = "selfie".to_owned();
        assert_eq!(
            form_summary(&texts, [(&selfie, 12)]),
            json!({"flowId": "1", "firstName": MASK, "selfie": {"bytes": 12}})
        );
    }

    #[test]
    fn bodies_are_bounded() {
        let long = vec![b'a'; MAX_BODY + 1];
        let body = Body::of(&long, long.len() as u64);
        assert_eq!((body.text.len(), body.is_cut()), (MAX_BODY, true));
        let body = Body::of(b"{}", 2);
        assert_eq!((body.text.as_str(), body.is_cut()), ("{}", false));
    }
}
