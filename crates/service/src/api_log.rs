//! The API log: every authenticated call, written beside the requests' own path, shown in the portal, gone after its days.
//!
//! **What is kept of a call.** Method, route, status, time, key and request id always. Of Groups, Flows, document
//! requirements and transaction monitoring the address and both JSON bodies, 16 kB of each. Everything else may hold
//! what belongs to a person: there bodies are kept as [`masked`] and answers only when they are refusals, which name
//! fields and no content. A verification is referred to by its log id: what was sent and answered lies with the attempt,
//! under the person's key, so that erasing the person erases it here too. Never kept: headers, files, the answers that
//! hold links or tokens.

use std::time::Duration;

use node::api_calls::dropped;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::Db;
use store::api_log::{self, Call};
use tokio::sync::mpsc::Receiver;

pub use node::api_calls::{ApiLog, Recorded};

/// Most that is kept of one body, in bytes.
pub const MAX_BODY: usize = 16 * 1024;
/// Calls written in one transaction at most.
const BATCH: usize = 512;
/// How long calls are gathered, so that a busy database is asked seldom.
const GATHER: Duration = Duration::from_millis(200);

/// What was said in a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Exchange {
    /// Path and query, or the route's pattern where they may name a person.
    pub address: String,
    /// What was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Body>,
    /// What was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Body>,
    /// The verification that it led to, which holds both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_id: Option<i64>,
}

/// A body, or its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// Its text; [`MAX_BODY`] bytes at most.
    pub text: String,
    /// How long it was, in bytes.
    pub bytes: u64,
}

impl Body {
    /// As much of a body as is kept.
    pub fn of(beginning: &[u8], bytes: u64) -> Self {
        let kept = &beginning[..beginning.len().min(MAX_BODY)];
        Body {
            text: String::from_utf8_lossy(kept).into_owned(),
            bytes,
        }
    }

    /// Whether this is only its beginning.
    pub fn is_cut(&self) -> bool {
        self.bytes > MAX_BODY as u64
    }
}

/// Writes what is handed in, in batches, until stopped.
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

/// What still waits.
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

/// Members whose values say nothing of a person: ids of ours, codes, statuses, words of fixed lists, texts of ours.
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

/// What stands for a value that is not shown.
pub const MASK: &str = "•••";

/// JSON with every text and number masked but those of members that say nothing of a person. Structure, truth values and
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

/// A form's fields as they are kept: texts masked, of files only how long they are.
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

/// Removes calls older than their days; answers how many.
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
