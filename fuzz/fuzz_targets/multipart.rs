//! Reads multipart bodies as `POST /v2/idv/verify` does. Their boundary is `X`.
#![no_main]

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;
use http_server::form;

fuzz_target!(|body: &[u8]| {
    let fields = form::Fields {
        texts: &["firstName", "lastName"],
        files: &["selfie", "passportFront"],
    };
    let mut headers = HeaderMap::new();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("multipart/form-data; boundary=X"),
    );
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else {
        return;
    };
    let Ok(folder) = tempfile::tempdir() else { return };
    let body = Body::from(body.to_vec());
    let _ = runtime.block_on(form::read(&headers, body, &fields, folder.path()));
});
