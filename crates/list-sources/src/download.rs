//! Downloads a list's file: a conditional request, streamed into an unnamed file, with limits of size and time, a
//! bounded number of tries, and HTTPS after every redirect.
//!
//! The file has no name, so a download that is interrupted leaves nothing behind. Nothing here reads its content.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use reqwest::header::{
    ETAG, HeaderMap, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, RETRY_AFTER,
};
use reqwest::redirect::Policy;
use reqwest::{Client, NoProxy, Proxy, Response, StatusCode};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;

use crate::address::{Address, has_user_info};
use crate::error::{FetchError, SettingError};
use crate::opensanctions::{self, Description};
use crate::publishers::OPEN_SANCTIONS_FILE;
use crate::sources::{ListSource, ListSourceConfig, Origin};

/// The most redirects that are followed.
const REDIRECTS: usize = 5;
/// The longest validator that is remembered, in bytes.
const LONGEST_VALIDATOR: usize = 200;
/// The largest description of an OpenSanctions data set, in bytes.
const LARGEST_INDEX: u64 = 16 << 20;

/// The limits of a download.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most bytes of a file. The largest list has about 4 GB.
    pub bytes: u64,
    /// The time for all tries together.
    pub time: Duration,
    /// The time without a byte after which a try has failed.
    pub silence: Duration,
    /// The number of tries.
    pub tries: u32,
    /// The pause before the second try. Each later one is four times as long.
    pub pause: Duration,
    /// The longest pause, also if the server requests a longer one.
    pub longest_pause: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            bytes: 8 << 30,
            time: Duration::from_mins(45),
            silence: Duration::from_mins(1),
            tries: 4,
            pause: Duration::from_secs(2),
            longest_pause: Duration::from_mins(2),
        }
    }
}

/// What a server stated about a file, to request it again only if it changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Validators {
    /// The header `ETag`.
    pub etag: Option<String>,
    /// The header `Last-Modified`.
    pub last_modified: Option<String>,
}

impl Validators {
    fn of(headers: &HeaderMap) -> Validators {
        let text = |name: HeaderName| {
            let value = headers.get(name)?.to_str().ok()?;
            (value.len() <= LONGEST_VALIDATOR).then(|| value.to_owned())
        };
        Validators {
            etag: text(ETAG),
            last_modified: text(LAST_MODIFIED),
        }
    }

    fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }
}

/// A stage of a download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A request is sent.
    Request(Address),
    /// Bytes arrived.
    Received {
        /// How many so far.
        bytes: u64,
        /// How many there are, if the server stated it.
        total: Option<u64>,
    },
    /// A try failed, and another one follows.
    Retry {
        /// Why it failed.
        why: String,
        /// The pause before the next one.
        pause: Duration,
    },
}

/// A downloaded file.
#[derive(Debug)]
pub struct Download {
    /// A name for its import.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: [u8; 32],
    /// What the server stated about it.
    pub validators: Validators,
    file: File,
}

impl Download {
    /// The file from its beginning. All readers of a download share one position.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn open(&self) -> std::io::Result<File> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }
}

/// The outcome of a download.
#[derive(Debug)]
pub enum Fetched {
    /// The server has the file of the given validators.
    Unchanged,
    /// A file.
    File(Download),
}

/// Downloads files.
pub struct Downloader {
    client: Client,
    limits: Limits,
}

/// A try that failed, and whether another one may succeed.
struct Failure {
    error: FetchError,
    retry: Option<Option<Duration>>,
}

impl Failure {
    fn last(error: FetchError) -> Failure {
        Failure { error, retry: None }
    }

    fn again(error: FetchError) -> Failure {
        Failure {
            error,
            retry: Some(None),
        }
    }
}

impl Downloader {
    /// Sets up the HTTP client with the settings' proxy.
    ///
    /// # Errors
    /// When the proxy's address cannot be used or TLS cannot be set up.
    pub fn new(config: &ListSourceConfig, limits: Limits) -> Result<Downloader, SettingError> {
        // If the process has a TLS implementation already, it serves too.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let only_https = Policy::custom(|attempt| {
            let is_allowed = attempt.url().scheme() == "https" && !has_user_info(attempt.url());
            match is_allowed && attempt.previous().len() <= REDIRECTS {
                true => attempt.follow(),
                false => attempt.error("this redirect is not followed"),
            }
        });
        let mut builder = Client::builder()
            .redirect(only_https)
            // It would contain the token of an address that redirects.
            .referer(false)
            .connect_timeout(limits.silence)
            .read_timeout(limits.silence)
            .user_agent(concat!("Bonafide/", env!("CARGO_PKG_VERSION")));
        let proxy = config
            .lists_proxy
            .as_ref()
            .map(|proxy| proxy.expose_secret().trim());
        if let Some(proxy) = proxy.filter(|proxy| !proxy.is_empty()) {
            let proxy = Proxy::all(proxy).map_err(|_| SettingError::Proxy)?;
            builder = builder.proxy(proxy.no_proxy(NoProxy::from_env()));
        }
        let client = builder
            .build()
            .map_err(|error| SettingError::Tls(cause(&error)))?;
        Ok(Downloader { client, limits })
    }

    /// Downloads a list's file into `folder`, without a name. With `known`, a file that the server has not changed is
    /// not sent again.
    ///
    /// # Errors
    /// Why there is no file, after the last try.
    pub async fn fetch(
        &self,
        source: &ListSource,
        known: Option<&Validators>,
        folder: &Path,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Fetched, FetchError> {
        let began = Instant::now();
        let mut pause = self.limits.pause;
        let mut tries = 1;
        let address = match &source.origin {
            Origin::File(address) | Origin::OpenSanctions(address) => address,
            Origin::NeedsToken(form) => {
                let list = source.list.clone();
                return Err(FetchError::NeedsToken { list, form });
            }
        };
        let too_slow = || FetchError::TooSlow {
            list: source.list.clone(),
            address: address.clone(),
            limit: self.limits.time,
        };
        loop {
            let left = self.limits.time.saturating_sub(began.elapsed());
            let tried = self.try_once(source, known, folder, progress);
            let failure = match tokio::time::timeout(left, tried).await {
                Err(_) => return Err(too_slow()),
                Ok(Ok(fetched)) => return Ok(fetched),
                Ok(Err(failure)) => failure,
            };
            let Some(requested) = failure.retry.filter(|_| tries < self.limits.tries) else {
                return Err(failure.error);
            };
            let wait = requested.map_or(pause, |requested| requested.max(pause));
            if wait > self.limits.longest_pause || began.elapsed() + wait >= self.limits.time {
                return Err(failure.error);
            }
            progress(Progress::Retry {
                why: failure.error.to_string(),
                pause: wait,
            });
            tokio::time::sleep(wait).await;
            pause = (pause * 4).min(self.limits.longest_pause);
            tries += 1;
        }
    }

    async fn try_once(
        &self,
        source: &ListSource,
        known: Option<&Validators>,
        folder: &Path,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Fetched, Failure> {
        let (address, described) = match &source.origin {
            Origin::File(address) => (address.clone(), None),
            Origin::OpenSanctions(data_set) => {
                let (address, described) = self.describe(source, data_set, progress).await?;
                (address, Some(described))
            }
            Origin::NeedsToken(form) => {
                let list = source.list.clone();
                return Err(Failure::last(FetchError::NeedsToken { list, form }));
            }
        };
        let response = self.request(source, &address, known, progress).await?;
        if response.status() == StatusCode::NOT_MODIFIED {
            return Ok(Fetched::Unchanged);
        }
        let validators = Validators::of(response.headers());
        let (file, bytes, sha256, sha1) = self.receive(source, &address, response, folder, progress).await?;
        let mut name = source.file_name();
        if let Some(described) = described {
            if !described.is_of(sha1.as_ref(), &sha256) {
                let list = source.list.clone();
                // The publisher may have replaced the file after its description was read.
                return Err(Failure::again(FetchError::Checksum { list, address }));
            }
            name = described.file_name(&source.list);
        }
        Ok(Fetched::File(Download {
            name,
            bytes,
            sha256,
            validators,
            file,
        }))
    }

    /// The address of an OpenSanctions data set's file, and its description.
    async fn describe(
        &self,
        source: &ListSource,
        data_set: &Address,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(Address, Description), Failure> {
        let part = |name: &str| {
            let url = data_set.url().join(name).ok();
            url.and_then(|url| Address::parse(url.as_str()).ok())
                .ok_or_else(|| {
                    Failure::last(FetchError::NoSource {
                        list: source.list.clone(),
                    })
                })
        };
        let index = part("index.json")?;
        let mut response = self.request(source, &index, None, progress).await?;
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| Failure::again(truncated(source, &index, body.len() as u64, &error)))?
        {
            if body.len() as u64 + chunk.len() as u64 > LARGEST_INDEX {
                return Err(Failure::last(too_large(source, &index, LARGEST_INDEX)));
            }
            body.extend_from_slice(&chunk);
        }
        let described = opensanctions::describe(&body).ok_or_else(|| {
            Failure::last(FetchError::Index {
                list: source.list.clone(),
                address: index,
            })
        })?;
        Ok((part(OPEN_SANCTIONS_FILE)?, described))
    }

    /// Sends a request; the response is 200, or 304 if `known` was given.
    async fn request(
        &self,
        source: &ListSource,
        address: &Address,
        known: Option<&Validators>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Response, Failure> {
        progress(Progress::Request(address.clone()));
        let known = known.filter(|known| !known.is_empty());
        let mut request = self.client.get(address.url().clone());
        if let Some(etag) = known.and_then(|known| known.etag.as_ref()) {
            request = request.header(IF_NONE_MATCH, etag);
        }
        if let Some(modified) = known.and_then(|known| known.last_modified.as_ref()) {
            request = request.header(IF_MODIFIED_SINCE, modified);
        }
        let list = source.list.clone();
        let response = request.send().await.map_err(|error| {
            let address = address.clone();
            if error.is_redirect() {
                return Failure::last(FetchError::Redirect {
                    list: list.clone(),
                    address,
                });
            }
            let why = cause(&error);
            Failure::again(FetchError::Unreachable {
                list: list.clone(),
                address,
                why,
            })
        })?;
        let status = response.status();
        if status == StatusCode::OK || (status == StatusCode::NOT_MODIFIED && known.is_some()) {
            return Ok(response);
        }
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            let address = address.clone();
            return Err(Failure::last(FetchError::Redirect { list, address }));
        }
        let error = FetchError::Status {
            list,
            address: address.clone(),
            status: status.as_u16(),
        };
        match status.as_u16() {
            408 | 425 | 429 | 500 | 502 | 503 | 504 => Err(Failure {
                error,
                retry: Some(retry_after(response.headers())),
            }),
            _ => Err(Failure::last(error)),
        }
    }

    /// Writes a response's body into an unnamed file. Returns the file, its size, SHA-256 and SHA-1.
    async fn receive(
        &self,
        source: &ListSource,
        address: &Address,
        mut response: Response,
        folder: &Path,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(File, u64, [u8; 32], ring::digest::Digest), Failure> {
        let disk = |error| {
            Failure::last(FetchError::Disk {
                list: source.list.clone(),
                source: error,
            })
        };
        let total = response.content_length();
        let limit = self.limits.bytes;
        if total.is_some_and(|total| total > limit) {
            return Err(Failure::last(too_large(source, address, limit)));
        }
        let mut file = tokio::fs::File::from_std(tempfile::tempfile_in(folder).map_err(disk)?);
        let mut sha256 = Sha256::new();
        // OpenSanctions states SHA-1 only. It protects against a damaged file; HTTPS protects against a forged one.
        let mut sha1 = ring::digest::Context::new(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY);
        let mut bytes = 0;
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) => return Err(Failure::again(truncated(source, address, bytes, &error))),
            };
            bytes += chunk.len() as u64;
            if bytes > limit {
                return Err(Failure::last(too_large(source, address, limit)));
            }
            sha256.update(&chunk);
            sha1.update(&chunk);
            file.write_all(&chunk).await.map_err(disk)?;
            progress(Progress::Received { bytes, total });
        }
        file.flush().await.map_err(disk)?;
        if bytes == 0 {
            let (list, address) = (source.list.clone(), address.clone());
            return Err(Failure::again(FetchError::Empty { list, address }));
        }
        Ok((
            file.into_std().await,
            bytes,
            sha256.finalize().into(),
            sha1.finish(),
        ))
    }
}

fn too_large(source: &ListSource, address: &Address, limit: u64) -> FetchError {
    FetchError::TooLarge {
        list: source.list.clone(),
        address: address.clone(),
        limit,
    }
}

fn truncated(source: &ListSource, address: &Address, bytes: u64, error: &reqwest::Error) -> FetchError {
    FetchError::Truncated {
        list: source.list.clone(),
        address: address.clone(),
        bytes,
        why: cause(error),
    }
}

/// The pause that a server requests in seconds. A date is ignored, because the clocks may differ.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The innermost cause of an error. The outer ones contain the address.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    // An error without a cause would show its address.
    match std::ptr::eq(
        std::ptr::from_ref(inner).cast::<()>(),
        std::ptr::from_ref(error).cast::<()>(),
    ) {
        true => "the request cannot be sent".to_owned(),
        false => inner.to_string(),
    }
}

#[cfg(test)]
#[path = "download_tests.rs"]
mod tests;
