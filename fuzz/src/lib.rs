//! What several fuzz targets share. A target finds panics, hangs and floods of memory; it asserts little else.

use std::io::Cursor;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;

/// Lets decoders panic: `imaging` catches that, answers with a typed error, and runs in a process of its own. What is
/// left to find are hangs, floods of memory, and panics outside that net, which still end the process.
pub fn forgive_decoders() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// Decodes bytes that claim the format.
pub fn decode(format: imaging::Format, bytes: &[u8]) {
    if imaging::sniff(bytes) != Some(format) {
        return;
    }
    let limits = imaging::Limits {
        max_pixels: 4_000_000,
        max_page_pixels: 1_000_000,
        time: Duration::from_secs(10),
        ..imaging::Limits::default()
    };
    if let Ok(decoded) = imaging::decode(bytes, &limits) {
        let picture = decoded.picture;
        assert_eq!(
            picture.pixels.len(),
            picture.width as usize * picture.height as usize * 3
        );
    }
}

/// Imports bytes as a list of the format.
pub fn import(format: sanctions::ListFormat, bytes: &[u8]) {
    let source = sanctions::Source::new("sdn.csv", Cursor::new(bytes.to_vec()));
    let _ = sanctions::import::import(vec![source], Some(format));
}

/// Reads a body as `POST /v2/idv/verify` does.
pub fn multipart(body: &[u8]) {
    let fields = server::http::form::Fields {
        texts: &["firstName", "lastName"],
        files: &["selfie", "passportFront"],
    };
    let mut headers = HeaderMap::new();
    headers.insert(
        CONTENT_TYPE,
        axum::http::HeaderValue::from_static("multipart/form-data; boundary=X"),
    );
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else {
        return;
    };
    let Ok(folder) = tempfile::tempdir() else { return };
    let _ = runtime.block_on(server::http::form::read(
        &headers,
        Body::from(body.to_vec()),
        &fields,
        folder.path(),
    ));
}
