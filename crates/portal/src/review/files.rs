//! An attempt's images: re-encoded pixels to view, and originals to download. A browser never opens an
//! uploaded file within the portal.

use axum::extract::{Path, Query, State};
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use http_server::error::Rejection;
use imaging::Format;
use serde::Deserialize;
use serde_json::json;
use service::problem::{Kind, Problem};
use service::{Shared, applicant_view, pictures};

use crate::session::Member;

/// How the file is requested.
#[derive(Deserialize)]
pub struct FileQuery {
    /// Set if the original is to be downloaded.
    #[serde(default)]
    download: Option<u8>,
}

/// `GET /portal/applicants/{logId}/files/{name}`
pub async fn file(
    State(app): State<Shared>,
    member: Member,
    Path((log_id, name)): Path<(i64, String)>,
    Query(query): Query<FileQuery>,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let (bytes, kind, disposition) = if query.download == Some(1) {
        let original = pictures::original(&app, scope, log_id, &name).await?;
        let (kind, ending) = match original.format {
            Some(Format::Jpeg) => ("image/jpeg", "jpg"),
            Some(Format::Png) => ("image/png", "png"),
            Some(Format::Webp) => ("image/webp", "webp"),
            Some(Format::Bmp) => ("image/bmp", "bmp"),
            Some(Format::Pdf) => ("application/octet-stream", "pdf"),
            None => ("application/octet-stream", "bin"),
        };
        let disposition = format!("attachment; filename=\"{log_id}-{name}.{ending}\"");
        (original.bytes.to_vec(), kind, disposition)
    } else {
        let picture = pictures::shown(&app, scope, log_id, &name).await?;
        let picture = picture.ok_or_else(|| {
            Problem::new(
                Kind::NotSupported,
                "This file cannot be displayed as a picture. You can save it",
            )
        })?;
        (
            picture,
            "image/jpeg",
            format!("inline; filename=\"{log_id}-{name}.jpg\""),
        )
    };
    let detail = json!({"file": name, "saved": query.download == Some(1)});
    applicant_view::record_view(&app, scope, &member.actor(), &log_id.to_string(), &detail).await?;
    let disposition = HeaderValue::from_str(&disposition).map_err(Problem::internal)?;
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(kind)),
        (CONTENT_DISPOSITION, disposition),
        (
            CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("sandbox; default-src 'none'"),
        ),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, bytes).into_response())
}
