//! The browser files of the hosted page: the repository's `web/` folder, embedded in the program, and the
//! optional guidance runtime from the model folder. A debug build reads `web/` from disk at each request.
//!
//! It serves no other file and no directory listing. Files are hashed and compressed once
//! (`http_server::files`), not with each request.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::LazyLock;

use axum::extract::State;
use axum::http::header::ACCESS_CONTROL_ALLOW_ORIGIN;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::Response;
use bytes::Bytes;
use http_server::error::Rejection;
use http_server::files::{self, File};
use http_server::path::PathText;
use rust_embed::{EmbeddedFile, RustEmbed};
use service::problem::Problem;
use service::{App, Shared};
use sha2::{Digest, Sha256};
use tokio::task::spawn_blocking;

#[derive(RustEmbed)]
#[folder = "../../web/verify/"]
struct Verify;

#[derive(RustEmbed)]
#[folder = "../../web/locales/"]
struct Locales;

#[derive(RustEmbed)]
#[folder = "../../web/embed/"]
struct Embed;

/// Merchants' pages load `bonafide.js` without a version in its address, so it is cached only briefly.
const FIVE_MINUTES: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// A file of `web/`, such as `verify/main.js`.
pub fn file(path: &str) -> Option<EmbeddedFile> {
    let (folder, name) = path.split_once('/')?;
    match folder {
        "verify" => Verify::get(name),
        "locales" => Locales::get(name),
        "embed" => Embed::get(name),
        _ => None,
    }
}

/// A file's address. The version is a path segment, so that modules' relative imports include it.
pub fn address(path: &str, version: &str) -> String {
    format!("/verify/assets/@{version}/{path}")
}

/// A template of the page. Empty if the program has no such file.
pub fn template(path: &str) -> String {
    file(path)
        .map(|file| String::from_utf8_lossy(&file.data).into_owned())
        .unwrap_or_default()
}

/// The names of the locale files, without `.json`.
#[cfg(test)]
pub(crate) fn locales() -> Vec<String> {
    Locales::iter()
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect()
}

/// A hash of all files, which is part of their addresses, so that browsers load a new program's files again.
pub fn version() -> String {
    static EMBEDDED: LazyLock<String> = LazyLock::new(hash_all);
    // A debug build's files can change while it runs.
    if cfg!(debug_assertions) {
        hash_all()
    } else {
        EMBEDDED.clone()
    }
}

fn hash_all() -> String {
    let mut names: Vec<String> = Verify::iter().map(|name| format!("verify/{name}")).collect();
    names.extend(Locales::iter().map(|name| format!("locales/{name}")));
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

/// The page's modules in two groups, each loaded at once. Otherwise, the browser would discover imports only
/// one level at a time.
#[derive(Clone)]
pub struct Modules {
    /// Modules of the first screen: the entry script and its static imports, direct and indirect.
    pub first: Vec<String>,
    /// Modules that only later screens need. They load while the person reads the first screen.
    pub later: Vec<String>,
}

/// The modules, found through their imports.
pub fn modules() -> Modules {
    static EMBEDDED: LazyLock<Modules> = LazyLock::new(find_all_modules);
    if cfg!(debug_assertions) {
        find_all_modules()
    } else {
        EMBEDDED.clone()
    }
}

fn find_all_modules() -> Modules {
    let first = find_modules("verify/main.js");
    let mut later = find_modules("verify/screens/later.js");
    later.retain(|module| !first.contains(module));
    Modules { first, later }
}

fn find_modules(entry: &str) -> Vec<String> {
    let mut found = vec![entry.to_owned()];
    let mut next = 0;
    while let Some(module) = found.get(next).cloned() {
        next += 1;
        let Some(file) = file(&module) else { continue };
        for import in imports(&String::from_utf8_lossy(&file.data)) {
            let path = resolve_path(&module, import);
            if !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}

/// The relative paths in a module's `import … from "./…"` lines. Dynamic imports (`import(…)`) are not
/// included, because the module loads them later.
fn imports(source: &str) -> impl Iterator<Item = &str> {
    source
        .lines()
        .filter(|line| {
            ["import ", "export ", "} from "]
                .iter()
                .any(|word| line.starts_with(word))
        })
        .filter_map(|line| {
            line.split_once("from \"")
                .or_else(|| line.split_once("import \""))
        })
        .filter_map(|(_, rest)| rest.split('"').next().filter(|path| path.starts_with('.')))
}

/// Resolves a relative path against the file that contains it.
fn resolve_path(file: &str, path: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// `GET /verify/assets/{*path}`: a file of `web/`. The version is the path's first segment, as in
/// `/verify/assets/@VERSION/verify/main.js`, or the parameter `?v=`. Modules import each other by relative
/// addresses, which would lose `?v=`.
pub async fn asset(PathText(path): PathText, uri: Uri, headers: HeaderMap) -> Result<Response, Rejection> {
    let versioned = path.strip_prefix('@').and_then(|path| path.split_once('/'));
    let (claimed, path) = match versioned {
        Some((version, path)) => (Some(version), path),
        None => (version_of(&uri), path.as_str()),
    };
    // The page's template is not served as a file.
    let file = (!path.ends_with(".html"))
        .then(|| file(path))
        .flatten()
        .ok_or_else(absent)?;
    let caching = files::cache_control(claimed, &version());
    Ok(prepared(path, file).respond(caching, &headers))
}

/// A hashed and compressed file. `path` is its name, and determines the media type.
pub fn prepared(path: &str, file: EmbeddedFile) -> File {
    let hash = hex::encode(&file.metadata.sha256_hash()[..16]);
    files::get_or_prepare(path, &hash, || {
        File::new(media_type(path), bytes(file.data), &hash).compressed()
    })
}

/// `GET /bonafide.js` and `/bonafide.d.ts`: the script that merchants embed in their own pages, and its
/// types.
pub async fn embed(uri: Uri, headers: HeaderMap) -> Result<Response, Rejection> {
    let path = format!("embed{}", uri.path());
    let file = file(&path).ok_or_else(absent)?;
    let mut response = prepared(&path, file).respond(FIVE_MINUTES, &headers);
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("cross-origin"),
    );
    Ok(response)
}

/// `GET /verify/assets/guidance/{file}`: the runtime and model of camera guidance, from the folder `web` in
/// the model folder. If they are absent the response is 404, and the page works without guidance. Browsers
/// revalidate these files, because their addresses have no version.
pub async fn guidance(
    State(app): State<Shared>,
    PathText(name): PathText,
    headers: HeaderMap,
) -> Result<Response, Rejection> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if name.starts_with('.') || !name.chars().all(plain) {
        return Err(absent().into());
    }
    let path = guidance_dir(&app).ok_or_else(absent)?.join(&name);
    let found = tokio::fs::metadata(&path).await.map_err(|_| absent())?;
    let changed = found.modified().map_err(Problem::internal)?;
    let stamp = format!("{} {changed:?}", found.len());
    let prepare = move || {
        let key = format!("guidance/{name}");
        files::try_get_or_prepare(&key, &stamp, || {
            let bytes = std::fs::read(&path)?;
            let hash = hex::encode(&Sha256::digest(&bytes)[..16]);
            Ok(File::new(media_type(&name), bytes.into(), &hash).compressed())
        })
    };
    let file = spawn_blocking(prepare).await.map_err(Problem::internal)?;
    Ok(file
        .map_err(|_: std::io::Error| absent())?
        .respond(files::REVALIDATE, &headers))
}

fn guidance_dir(app: &App) -> Option<PathBuf> {
    inference::find_models_dir(app.config.models.as_deref()).map(|dir| dir.join("web"))
}

/// Static data of a release build is not copied.
fn bytes(data: Cow<'static, [u8]>) -> Bytes {
    match data {
        Cow::Borrowed(data) => Bytes::from_static(data),
        Cow::Owned(data) => Bytes::from(data),
    }
}

fn absent() -> Problem {
    Problem::not_found("No such file")
}

/// The version in `?v=`.
pub fn version_of(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("v="))
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "wasm" => "application/wasm",
        "ts" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_folder_is_served() {
        assert!(file("verify/page.html").is_some() && file("locales/en.json").is_some());
        for path in [
            "",
            "verify",
            "verify/",
            "package.json",
            "tests/x.mjs",
            "verify/../package.json",
            "locales/../../Cargo.toml",
        ] {
            assert!(file(path).is_none(), "{path}");
        }
    }

    #[test]
    fn modules_are_found_through_their_imports() {
        let source = "import a from \"./a.js\";\nimport \"../b.js\";\nconst c = import(\"./c.js\");\n\
            // import d from \"./d.js\"\nimport {\n  e,\n} from \"./e.js\";\nexport { f } from \"./f.js\";\nimport g from \"g\";";
        assert_eq!(
            imports(source).collect::<Vec<_>>(),
            ["./a.js", "../b.js", "./e.js", "./f.js"]
        );
        assert_eq!(
            resolve_path("verify/screens/open.js", "../api.js"),
            "verify/api.js"
        );
        assert_eq!(
            resolve_path("verify/main.js", "./screens/open.js"),
            "verify/screens/open.js"
        );
        let Modules { first, later } = modules();
        for path in first.iter().chain(&later) {
            assert!(file(path).is_some(), "{path}");
        }
        let [open, details] = ["open", "details"].map(|screen| format!("verify/screens/{screen}.js"));
        assert!(first.contains(&open) && !first.contains(&details), "{first:?}");
        assert!(later.contains(&details) && !later.contains(&open), "{later:?}");
    }
}
