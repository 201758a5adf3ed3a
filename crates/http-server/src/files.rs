//! Serves files to browsers: each file is hashed and compressed once, and a browser that has the current
//! version gets 304. This module knows no file by name.
//!
//! The cache of prepared files contains embedded files and files on disk, by hash or time stamp. It never
//! contains data from the database.

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

/// For addresses that name the file's version: their content never changes.
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// For all other addresses: the browser asks again each time and usually gets 304.
pub const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

/// The `Cache-Control` of a file: immutable if the address names the file's current version.
pub fn cache_control(claimed: Option<&str>, version: &str) -> HeaderValue {
    if claimed == Some(version) {
        IMMUTABLE
    } else {
        REVALIDATE
    }
}

/// A file ready to be sent.
#[derive(Clone)]
pub struct File {
    media_type: HeaderValue,
    bytes: Bytes,
    gzip: Option<Bytes>,
    tag: HeaderValue,
}

impl File {
    /// An uncompressed file. `hash` identifies the bytes and becomes the ETag.
    pub fn new(media_type: &str, bytes: Bytes, hash: &str) -> File {
        File {
            media_type: HeaderValue::from_str(media_type)
                .unwrap_or(HeaderValue::from_static("application/octet-stream")),
            bytes,
            gzip: None,
            // The ETag is weak, because the same tag covers the compressed and the uncompressed bytes.
            tag: HeaderValue::from_str(&format!("W/\"{hash}\""))
                .unwrap_or(HeaderValue::from_static("W/\"\"")),
        }
    }

    /// Adds the gzip form if it is smaller.
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

    /// The response with the file, or 304 if `If-None-Match` in the request's headers names its ETag.
    pub fn respond(&self, caching: HeaderValue, asked: &HeaderMap) -> Response {
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

/// Whether one item of an `Accept-Encoding` header allows gzip. A weight of 0 forbids it.
fn takes_gzip(part: &str) -> bool {
    let (name, weight) = part.split_once(';').unwrap_or((part, ""));
    let weight = weight
        .trim()
        .strip_prefix("q=")
        .and_then(|q| q.parse::<f32>().ok());
    name.trim().eq_ignore_ascii_case("gzip") && weight != Some(0.0)
}

/// Returns the cached file of this name if it has the same stamp; otherwise prepares and caches it.
pub fn get_or_prepare(name: &str, stamp: &str, prepare: impl FnOnce() -> File) -> File {
    let prepare = || Ok::<_, Infallible>(prepare());
    match try_get_or_prepare(name, stamp, prepare) {
        Ok(file) => file,
        Err(never) => match never {},
    }
}

/// [`get_or_prepare`] for a preparation that can fail. The cache has one entry per file name, so its memory
/// is bounded.
///
/// # Errors
/// Those of `prepare`.
pub fn try_get_or_prepare<E>(
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
        let fresh = file("1").respond(REVALIDATE, &HeaderMap::new());
        assert_eq!(
            (fresh.status(), &fresh.headers()[CACHE_CONTROL]),
            (StatusCode::OK, &REVALIDATE)
        );
        let tag = fresh.headers()[ETAG].to_str().unwrap();
        let asked = asked(IF_NONE_MATCH, &format!("\"other\", {tag}"));
        assert_eq!(
            file("1").respond(REVALIDATE, &asked).status(),
            StatusCode::NOT_MODIFIED
        );
        assert_eq!(file("2").respond(REVALIDATE, &asked).status(), StatusCode::OK);
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
            let answer = file(&[b'a'; 1_000]).respond(REVALIDATE, &asked(ACCEPT_ENCODING, accepted));
            assert_eq!(
                answer.headers().contains_key(CONTENT_ENCODING),
                expected,
                "{accepted}"
            );
            assert_eq!(answer.headers()[VARY], "accept-encoding");
        }
        let small = file(b"a").respond(REVALIDATE, &asked(ACCEPT_ENCODING, "gzip"));
        assert!(!small.headers().contains_key(CONTENT_ENCODING));
    }

    #[test]
    fn only_the_named_version_is_kept_for_ever() {
        assert_eq!(cache_control(Some("1"), "1"), IMMUTABLE);
        for claimed in [None, Some(""), Some("2")] {
            assert_eq!(cache_control(claimed, "1"), REVALIDATE);
        }
    }

    #[test]
    fn a_file_is_prepared_once() {
        let file = |text: &'static str| {
            move || Ok(File::new("text/plain", Bytes::from_static(text.as_bytes()), text))
        };
        let stored = |stamp: &str, text| {
            try_get_or_prepare::<io::Error>("test", stamp, file(text))
                .unwrap()
                .bytes
        };
        assert_eq!(stored("1", "first"), "first");
        assert_eq!(stored("1", "again"), "first");
        assert_eq!(stored("2", "changed"), "changed");
    }
}
