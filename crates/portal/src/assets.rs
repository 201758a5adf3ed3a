//! The portal's browser files from `web/portal/`, embedded in the program. A debug build reads them from disk
//! at each request.

use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use hosted_page::assets::{prepared, version_of};
use http_server::error::Rejection;
use http_server::files;
use http_server::path::PathText;
use rust_embed::{EmbeddedFile, RustEmbed};
use service::problem::Problem;
use sha2::{Digest, Sha256};

use super::file_cache::FileCache;

#[derive(RustEmbed)]
#[folder = "../../web/portal/"]
struct Files;

/// A file, such as `portal.css`.
pub fn file(path: &str) -> Option<EmbeddedFile> {
    Files::get(path)
}

/// Every file's name.
pub fn names() -> impl Iterator<Item = String> {
    Files::iter().map(String::from)
}

/// A hash of all files, which is part of their addresses. It changes when any file does.
pub fn version() -> String {
    static HASHED: FileCache<String> = FileCache::new(hash_all);
    HASHED.get()
}

fn hash_all() -> String {
    let mut names: Vec<String> = names().filter(|name| !name.starts_with("locales/")).collect();
    names.sort_unstable();
    let mut hash = Sha256::new();
    for name in names {
        hash.update(&name);
        if let Some(file) = file(&name) {
            hash.update(file.metadata.sha256_hash());
        }
    }
    hex::encode(&hash.finalize()[..8])
}

/// `GET /portal/assets/{path}`. Locale files are not served, because the server renders all texts.
pub async fn asset(PathText(path): PathText, uri: Uri, headers: HeaderMap) -> Result<Response, Rejection> {
    let found = Some(path.as_str())
        .filter(|path| !path.starts_with("locales/"))
        .and_then(file);
    let file = found.ok_or_else(|| Problem::not_found("No such file"))?;
    let caching = files::cache_control(version_of(&uri), &version());
    Ok(prepared(&format!("portal/{path}"), file).respond(caching, &headers))
}
