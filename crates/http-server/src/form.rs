//! Reads `multipart/form-data` bodies as streams: short texts into memory, files through [`Spill`]. Unknown
//! parts are discarded.
//!
//! Only the shape is checked here: at most 64 parts, no repeated field, 10 MB a file
//! (`docs/decisions/0010-order-of-verification.md`). This module does not interpret the fields.

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use service::problem::{Kind, Problem};
use service::spill::Spill;
use service::upload::{File, MAX_FILE_BYTES};
use tokio::sync::Mutex;

/// The most parts that a form may have.
pub const MAX_PARTS: usize = 64;
/// The longest text field in bytes, far above the limits of the verification rules.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;
/// The most bytes that are read of one body, including the rest that is drained after an error. Draining lets
/// the response reach a client that is still sending.
const MAX_BODY_BYTES: u64 = 160 * 1024 * 1024;
/// How long a client may take to send a form.
const TIMEOUTS: Timeouts = Timeouts {
    pause: Duration::from_secs(30),
    total: Duration::from_secs(300),
};
/// The value of an allowance without a limit.
const UNLIMITED: u64 = u64::MAX;
/// The most bytes between two parts, headers included. One network chunk may contain more than a header.
const MAX_PART_HEADER: u64 = 1024 * 1024;
/// How long the rest of a refused body is read before the connection is closed.
const DRAIN: Duration = Duration::from_secs(15);

/// How long a client may take to send a body.
#[derive(Clone, Copy)]
struct Timeouts {
    /// The longest pause between two chunks.
    pause: Duration,
    /// The longest time for the whole body.
    total: Duration,
}

/// The known fields of a form.
#[derive(Default)]
pub struct Form {
    /// Text fields by name.
    pub texts: BTreeMap<String, String>,
    /// Files by field name.
    pub files: BTreeMap<String, File>,
}

/// The fields that a form may have. Parts with other names are discarded.
pub struct Fields<'a> {
    /// Names of text fields.
    pub texts: &'a [&'a str],
    /// Names of file fields.
    pub files: &'a [&'a str],
}

type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, axum::Error>> + Send>>;

/// The body, which outlives its parser so that the rest can be drained after an error.
struct Source {
    /// The remaining chunks, and the number of bytes read so far.
    chunks: Mutex<(Chunks, u64)>,
    /// The bytes that may still be read before the next part begins, because the parser buffers all of them.
    /// It is outside the lock, because a waiting read has that locked.
    allowance: AtomicU64,
    /// The longest wait for a chunk.
    pause: Duration,
}

type SharedSource = Arc<Source>;

/// Reads the whole body. Errors of shape are reported together, except those that stop the reading.
pub async fn read(
    headers: &HeaderMap,
    body: Body,
    fields: &Fields<'_>,
    spill_dir: &Path,
) -> Result<Form, Problem> {
    read_within(TIMEOUTS, headers, body, fields, spill_dir).await
}

async fn read_within(
    patience: Timeouts,
    headers: &HeaderMap,
    body: Body,
    fields: &Fields<'_>,
    spill_dir: &Path,
) -> Result<Form, Problem> {
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let chunks = Box::pin(body.into_data_stream()) as Chunks;
    let source = Arc::new(Source {
        chunks: Mutex::new((chunks, 0)),
        allowance: AtomicU64::new(UNLIMITED),
        pause: patience.pause,
    });
    let result = match multer::parse_boundary(content_type) {
        Ok(boundary) => {
            let multipart = multer::Multipart::new(bounded(Arc::clone(&source)), boundary);
            let parts = read_parts(multipart, &source, fields, spill_dir);
            tokio::time::timeout(patience.total, parts)
                .await
                .unwrap_or_else(|_| Err(late()))
        }
        Err(_) => {
            let fault = "body - Content-Type must be multipart/form-data with a boundary";
            Err(Problem::validation(vec![fault.into()]))
        }
    };
    if result.is_err() {
        // A client that is still sending would see a closed connection instead of the response.
        source.allowance.store(UNLIMITED, Ordering::Relaxed);
        let drain = async {
            while bounded(Arc::clone(&source))
                .next()
                .await
                .is_some_and(|chunk| chunk.is_ok())
            {}
        };
        let _ = tokio::time::timeout(DRAIN, drain).await;
    }
    result
}

/// The body's chunks, limited in total size and in pauses, from a source that outlives the parser.
fn bounded(source: SharedSource) -> impl Stream<Item = Result<Bytes, BodyFault>> + Send + 'static {
    Box::pin(futures_util::stream::unfold(source, |shared| async move {
        // The parser buffers everything that is ready. Yielding makes it parse each chunk before it gets the
        // next one.
        tokio::task::yield_now().await;
        let mut chunks = shared.chunks.lock().await;
        let next = match tokio::time::timeout(shared.pause, chunks.0.next()).await {
            Err(_) => Some(Err(BodyFault::Paused)),
            Ok(None) => None,
            Ok(Some(Err(error))) => Some(Err(BodyFault::Broken(error.to_string()))),
            Ok(Some(Ok(chunk))) => Some(shared.count(&mut chunks.1, &chunk).map(|()| chunk)),
        };
        drop(chunks);
        next.map(|item| (item, shared))
    }))
}

impl Source {
    fn count(&self, read: &mut u64, chunk: &Bytes) -> Result<(), BodyFault> {
        let bytes = chunk.len() as u64;
        *read += bytes;
        if *read > MAX_BODY_BYTES {
            return Err(BodyFault::TooLarge);
        }
        let take = |left: u64| {
            if left == UNLIMITED {
                Some(left)
            } else {
                left.checked_sub(bytes)
            }
        };
        match self
            .allowance
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
        {
            Ok(_) => Ok(()),
            Err(_) => Err(BodyFault::EndlessHeader),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum BodyFault {
    #[error("the sender paused too long")]
    Paused,
    #[error("the body is too large")]
    TooLarge,
    #[error("a part's header does not end")]
    EndlessHeader,
    #[error("the body broke off: {0}")]
    Broken(String),
}

async fn read_parts(
    mut multipart: multer::Multipart<'static>,
    source: &SharedSource,
    fields: &Fields<'_>,
    spill_dir: &Path,
) -> Result<Form, Problem> {
    let mut form = Form::default();
    let mut faults = Vec::new();
    let mut parts = 0;
    loop {
        source.allowance.store(MAX_PART_HEADER, Ordering::Relaxed);
        let Some(mut part) = multipart.next_field().await.map_err(|error| unreadable(&error))? else {
            break;
        };
        source.allowance.store(UNLIMITED, Ordering::Relaxed);
        parts += 1;
        if parts > MAX_PARTS {
            return Err(Problem::validation(vec![format!(
                "body - has more than {MAX_PARTS} parts"
            )]));
        }
        let Some(name) = part.name().map(str::to_owned) else {
            faults.push(format!("body - part {parts} has no field name"));
            skip(part).await?;
            continue;
        };
        let is_file = fields.files.contains(&name.as_str());
        if !is_file && !fields.texts.contains(&name.as_str()) {
            skip(part).await?;
            continue;
        }
        if form.texts.contains_key(&name) || form.files.contains_key(&name) {
            let fault = format!("{name} - is sent more than once; send it once");
            if !faults.contains(&fault) {
                faults.push(fault);
            }
            skip(part).await?;
            continue;
        }
        if is_file {
            let mut file = File {
                content: Spill::new(),
                too_large: false,
            };
            while let Some(chunk) = part.chunk().await.map_err(|error| unreadable(&error))? {
                file.too_large |= file.content.len() + chunk.len() as u64 > MAX_FILE_BYTES;
                if !file.too_large {
                    file.content.write(&chunk, spill_dir).map_err(not_kept)?;
                }
            }
            form.files.insert(name, file);
        } else {
            let mut bytes = Vec::new();
            while let Some(chunk) = part.chunk().await.map_err(|error| unreadable(&error))? {
                bytes.extend_from_slice(
                    &chunk[..chunk
                        .len()
                        .min(MAX_TEXT_BYTES + 1 - bytes.len().min(MAX_TEXT_BYTES + 1))],
                );
            }
            if bytes.len() > MAX_TEXT_BYTES {
                faults.push(format!("{name} - is longer than {MAX_TEXT_BYTES} bytes"));
            }
            let text = String::from_utf8(bytes).unwrap_or_else(|_| {
                faults.push(format!("{name} - is not valid UTF-8"));
                String::new()
            });
            form.texts.insert(name, text);
        }
    }
    if faults.is_empty() {
        Ok(form)
    } else {
        Err(Problem::validation(faults))
    }
}

/// Reads a part to its end and discards it.
async fn skip(mut part: multer::Field<'static>) -> Result<(), Problem> {
    while part.chunk().await.map_err(|error| unreadable(&error))?.is_some() {}
    Ok(())
}

fn late() -> Problem {
    Problem::new(Kind::Timeout, "The body did not arrive in time")
}

fn unreadable(error: &multer::Error) -> Problem {
    if let multer::Error::StreamReadFailed(inner) = error
        && let Some(fault) = inner.downcast_ref::<BodyFault>()
    {
        return match fault {
            BodyFault::Paused => late(),
            BodyFault::EndlessHeader => Problem::validation(vec![
                "body - is not valid multipart/form-data: a part's header does not end".into(),
            ]),
            BodyFault::TooLarge => Problem::new(
                Kind::TooLarge,
                format!("The body is larger than {MAX_BODY_BYTES} bytes"),
            ),
            BodyFault::Broken(_) => Problem::invalid("The body broke off before its end"),
        };
    }
    Problem::validation(vec![format!("body - is not valid multipart/form-data: {error}")])
}

/// 503: the server cannot store a file of the request, usually because the disk is full.
fn not_kept(error: std::io::Error) -> Problem {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Problem::disk_full(error),
        _ => Problem::unavailable("The server cannot store the request's files; please try again shortly")
            .because(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const FIELDS: Fields<'static> = Fields {
        texts: &["a", "b"],
        files: &["f"],
    };

    /// A body in chunks, as a network delivers it.
    fn chunked(body: impl Into<Bytes>) -> Body {
        let body: Bytes = body.into();
        let chunks: Vec<Result<Bytes, std::io::Error>> = body
            .chunks(64 * 1024)
            .map(|chunk| Ok(Bytes::copy_from_slice(chunk)))
            .collect();
        Body::from_stream(futures_util::stream::iter(chunks))
    }

    async fn form(body: impl Into<Bytes>) -> Result<Form, String> {
        let mut headers = HeaderMap::new();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("multipart/form-data; boundary=X"),
        );
        read(&headers, chunked(body), &FIELDS, &std::env::temp_dir())
            .await
            .map_err(|problem| format!("{problem:?}"))
    }

    fn part(name: &str, content: &str) -> String {
        format!("--X\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{content}\r\n")
    }

    #[tokio::test]
    async fn a_file_that_the_disk_does_not_take_can_be_sent_again() {
        let mut headers = HeaderMap::new();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("multipart/form-data; boundary=X"),
        );
        let body = format!("{}--X--\r\n", part("f", &"x".repeat(3 << 20)));
        let folder = tempfile::tempdir().unwrap();
        // A missing folder simulates a full disk, because both give an error of the operating system.
        let missing = folder.path().join("missing");
        let refused = read(&headers, chunked(body), &FIELDS, &missing).await;
        let problem = refused.err().expect("nothing can be kept");
        assert_eq!(problem.kind(), service::problem::Kind::Unavailable);
    }

    #[tokio::test]
    async fn known_fields_are_kept_and_unknown_ones_ignored() {
        let mut form = form(format!(
            "{}{}{}--X--\r\n",
            part("a", "1"),
            part("zzz", "2"),
            part("f", "bytes")
        ))
        .await
        .unwrap();
        assert_eq!(form.texts, BTreeMap::from([("a".into(), "1".into())]));
        assert_eq!(form.files.get_mut("f").unwrap().content.read().unwrap(), b"bytes");
    }

    #[tokio::test]
    async fn faults_of_shape_are_named() {
        let many = format!(
            "{}--X--\r\n",
            (0..100_000)
                .map(|i| part(&format!("x{i}"), ""))
                .collect::<String>()
        );
        for (body, text) in [
            (
                format!("{}{}--X--\r\n", part("a", "1"), part("a", "2")),
                "a - is sent more than once",
            ),
            (many, "more than 64 parts"),
            (
                "--X\r\nContent-Disposition form-data\r\n\r\n1\r\n--X--\r\n".to_owned(),
                "not valid multipart",
            ),
            (
                "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1".to_owned(),
                "not valid multipart",
            ),
            (String::new(), "not valid multipart"),
            (
                format!("{}--X--\r\n", part("a", &"y".repeat(MAX_TEXT_BYTES + 1))),
                "a - is longer",
            ),
        ] {
            let error = form(body).await.err().unwrap();
            assert!(error.contains(text), "{text}: {error}");
        }
        let mut bad = part("a", "").into_bytes();
        bad.truncate(bad.len() - 2);
        bad.extend_from_slice(b"\xff\xfe\r\n--X--\r\n");
        assert!(form(bad).await.err().unwrap().contains("a - is not valid UTF-8"));
    }

    #[tokio::test]
    async fn a_body_that_stops_or_trickles_is_given_up() {
        let begun = || futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from(part("f", "")))]);
        let byte = futures_util::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Some((Ok(Bytes::from_static(b"x")), ()))
        });
        let mut headers = HeaderMap::new();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("multipart/form-data; boundary=X"),
        );
        for (body, pause, whole) in [
            (
                Body::from_stream(begun().chain(futures_util::stream::pending())),
                50,
                60_000,
            ),
            (Body::from_stream(begun().chain(byte.take(40))), 60_000, 50),
        ] {
            let patience = Timeouts {
                pause: Duration::from_millis(pause),
                total: Duration::from_millis(whole),
            };
            let given_up = read_within(patience, &headers, body, &FIELDS, &std::env::temp_dir()).await;
            assert_eq!(given_up.err().unwrap().kind(), Kind::Timeout);
        }
    }

    #[tokio::test]
    async fn a_file_of_ten_megabytes_passes_and_one_byte_more_is_marked() {
        for (extra, too_large) in [(0, false), (1, true)] {
            let content = "z".repeat(MAX_FILE_BYTES as usize + extra);
            let form = form(format!("{}--X--\r\n", part("f", &content))).await.unwrap();
            assert_eq!(form.files["f"].too_large, too_large);
        }
    }
}
