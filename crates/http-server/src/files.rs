//! Files on their way to a browser: hashed and compressed once, answered with 304 where the browser has them. It knows no file by name.
//!
//! What is kept prepared is made of embedded files and of files on disk, by their hash or stamp; nothing of it comes from the database.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::Write;
use std::sync::{LazyLock, PoisonError, RwLock};

use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

/// What is addressed with its version never changes.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// What is not is asked for again, and mostly answered with 304.
pub const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");

/// How long an answer may be kept: for ever, if the address names the version that it has.
pub fn caching(claimed: Option<&str>, version: &str) -> HeaderValue {
    if claimed == Some(version) {
        FOR_EVER
    } else {
        ASK_AGAIN
    }
}

/// A file that is ready to be sent.
#[derive(Clone)]
pub struct File {
    media_type: HeaderValue,
    bytes: Bytes,
    gzip: Option<Bytes>,
    tag: HeaderValue,
}

impl File {
    /// A file as it is; `hash` changes with it.
    pub fn new(media_type: &str, bytes: Bytes, hash: &str) -> File {
        File {
            media_type: HeaderValue::from_str(media_type)
                .unwrap_or(HeaderValue::from_static("application/octet-stream")),
            bytes,
            gzip: None,
            // Weak, since the bytes are sent compressed or not.
            tag: HeaderValue::from_str(&format!("W/\"{hash}\""))
                .unwrap_or(HeaderValue::from_static("W/\"\"")),
        }
    }

    /// The file with its compressed form, if that is smaller.
    #[must_use]
    pub fn compressed(self) -> File {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let gzip = encoder.write_all(&self.bytes).and_then(|()| encoder.finish());
        let gzip = gzip.ok().filter(|gzip| gzip.len() < self.bytes.len());
        File {
            gzip: gzip.map(Bytes::from),
            ..self
        }
    }

    /// The file, or 304 when the browser has it.
    pub fn answer(&self, caching: HeaderValue, asked: &HeaderMap) -> Response {
        let words = |name: HeaderName| {
            asked
                .get_all(name)
                .iter()
                .filter_map(|value| value.to_str().ok())
                .flat_map(|value| value.split(','))
        };
        let is_known = words(IF_NONE_MATCH).any(|tag| tag.trim().as_bytes() == self.tag.as_bytes());
        let mut response = match &self.gzip {
            _ if is_known => StatusCode::NOT_MODIFIED.into_response(),
            Some(gzip) if words(ACCEPT_ENCODING).any(takes_gzip) => (
                [(CONTENT_ENCODING, HeaderValue::from_static("gzip"))],
                gzip.clone(),
            )
                .into_response(),
            _ => self.bytes.clone().into_response(),
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, self.media_type.clone());
        headers.insert(CACHE_CONTROL, caching);
        headers.insert(ETAG, self.tag.clone());
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if self.gzip.is_some() {
            headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        }
        response
    }
}

/// Whether one part of an `Accept-Encoding` takes gzip: not with the weight 0.
fn takes_gzip(part: &str) -> bool {
    let (name, weight) = part.split_once(';').unwrap_or((part, ""));
    let weight = weight
        .trim()
        .strip_prefix("q=")
        .and_then(|q| q.parse::<f32>().ok());
    name.trim().eq_ignore_ascii_case("gzip") && weight != Some(0.0)
}

/// The file of this name, prepared unless it was before, from what bore the same stamp.
pub fn prepared(name: &str, stamp: &str, prepare: impl FnOnce() -> File) -> File {
    let prepare = || Ok::<_, Infallible>(prepare());
    match try_prepared(name, stamp, prepare) {
        Ok(file) => file,
        Err(never) => match never {},
    }
}

/// [`prepared`], where preparing can fail. There are as many names as there are files, so the memory is bounded.
///
/// # Errors
/// What `prepare` answers.
pub fn try_prepared<E>(
    name: &str,
    stamp: &str,
    prepare: impl FnOnce() -> Result<File, E>,
) -> Result<File, E> {
    static PREPARED: LazyLock<RwLock<HashMap<String, (String, File)>>> = LazyLock::new(RwLock::default);
    let known = PREPARED
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .get(name)
        .cloned();
    if let Some((of, file)) = known
        && of == stamp
    {
        return Ok(file);
    }
    let file = prepare()?;
    PREPARED
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(name.to_owned(), (stamp.to_owned(), file.clone()));
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn asked(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn a_known_tag_is_answered_without_the_bytes() {
        let file = |hash| File::new("text/plain", Bytes::from_static(b"x"), hash);
        let fresh = file("1").answer(ASK_AGAIN, &HeaderMap::new());
        assert_eq!(
            (fresh.status(), &fresh.headers()[CACHE_CONTROL]),
            (StatusCode::OK, &ASK_AGAIN)
        );
        let tag = fresh.headers()[ETAG].to_str().unwrap();
        let asked = asked(IF_NONE_MATCH, &format!("\"other\", {tag}"));
        assert_eq!(
            file("1").answer(ASK_AGAIN, &asked).status(),
            StatusCode::NOT_MODIFIED
        );
        assert_eq!(file("2").answer(ASK_AGAIN, &asked).status(), StatusCode::OK);
    }

    #[test]
    fn what_shrinks_is_sent_compressed_to_who_takes_it() {
        let file =
            |bytes: &'static [u8]| File::new("text/plain", Bytes::from_static(bytes), "1").compressed();
        for (accepted, expected) in [
            ("gzip", true),
            ("br;q=1.0, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip;q=0.000, br", false),
            ("identity", false),
            ("x-gzip", false),
        ] {
            let answer = file(&[b'a'; 1_000]).answer(ASK_AGAIN, &asked(ACCEPT_ENCODING, accepted));
            assert_eq!(
                answer.headers().contains_key(CONTENT_ENCODING),
                expected,
                "{accepted}"
            );
            assert_eq!(answer.headers()[VARY], "accept-encoding");
        }
        let small = file(b"a").answer(ASK_AGAIN, &asked(ACCEPT_ENCODING, "gzip"));
        assert!(!small.headers().contains_key(CONTENT_ENCODING));
    }

    #[test]
    fn only_the_named_version_is_kept_for_ever() {
        assert_eq!(caching(Some("1"), "1"), FOR_EVER);
        for claimed in [None, Some(""), Some("2")] {
            assert_eq!(caching(claimed, "1"), ASK_AGAIN);
        }
    }

    #[test]
    fn a_file_is_prepared_once() {
        let file = |text: &'static str| {
            move || Ok(File::new("text/plain", Bytes::from_static(text.as_bytes()), text))
        };
        let stored = |stamp: &str, text| {
            try_prepared::<io::Error>("test", stamp, file(text))
                .unwrap()
                .bytes
        };
        assert_eq!(stored("1", "first"), "first");
        assert_eq!(stored("1", "again"), "first");
        assert_eq!(stored("2", "changed"), "changed");
    }
}
