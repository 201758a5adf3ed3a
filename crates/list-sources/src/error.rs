//! Why a list's file could not be fetched. Every text names the list and the fix, and none contains a query or token.

use std::time::Duration;

use crate::address::{Address, AddressError};

/// Why a setting cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// An address has no list's name.
    #[error("--list-address must be LIST=URL, such as un_sc_sanctions=https://example.org/consolidated.xml")]
    NoList,
    /// An address cannot be used.
    #[error("--list-address {list}=…: {error}")]
    Address {
        /// The list.
        list: String,
        /// What is wrong.
        error: AddressError,
    },
    /// The proxy's address cannot be used.
    #[error("--lists-proxy must be a URL such as http://proxy.example.org:3128")]
    Proxy,
    /// The HTTP client cannot be set up.
    #[error(
        "HTTPS cannot be set up ({0}): install the system's CA certificates, such as the package ca-certificates"
    )]
    Tls(String),
}

/// Why a list's file could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// No address of the list is known.
    #[error("no publisher of the list {list} is known: give its address with --list-address {list}=URL")]
    NoSource {
        /// The list.
        list: String,
    },
    /// The list's address contains a token that each subscriber gets.
    #[error(
        "the address of {list} contains a token that its publisher issues: give the whole address with --list-address {list}={form}"
    )]
    NeedsToken {
        /// The list.
        list: String,
        /// The form of the address.
        form: &'static str,
    },
    /// The server cannot be reached.
    #[error(
        "{list}: {address} cannot be reached ({why}): check the network, the proxy (--lists-proxy) and the address"
    )]
    Unreachable {
        /// The list.
        list: String,
        /// The address.
        address: Address,
        /// The cause.
        why: String,
    },
    /// The server took too long.
    #[error("{list}: {address} did not send the file within {} minutes: try again later", limit.as_secs().div_ceil(60))]
    TooSlow {
        /// The list.
        list: String,
        /// The address.
        address: Address,
        /// The limit.
        limit: Duration,
    },
    /// The server refuses.
    #[error("{list}: {address} answered with HTTP status {status}: {}", status_fix(*status))]
    Status {
        /// The list.
        list: String,
        /// The address.
        address: Address,
        /// The HTTP status.
        status: u16,
    },
    /// The server redirects to an address that is not followed.
    #[error(
        "{list}: {address} redirects to an address that is not HTTPS, or too often: give the file's new address with --list-address {list}=URL"
    )]
    Redirect {
        /// The list.
        list: String,
        /// The address.
        address: Address,
    },
    /// The file ended early.
    #[error("{list}: the file from {address} ended after {bytes} bytes ({why}): try again later")]
    Truncated {
        /// The list.
        list: String,
        /// The address.
        address: Address,
        /// The number of bytes that arrived.
        bytes: u64,
        /// The cause.
        why: String,
    },
    /// The file is too large.
    #[error(
        "{list}: the file at {address} has more than {limit} bytes, which no list has: check the address"
    )]
    TooLarge {
        /// The list.
        list: String,
        /// The address.
        address: Address,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file is empty.
    #[error("{list}: the file at {address} is empty: try again later")]
    Empty {
        /// The list.
        list: String,
        /// The address.
        address: Address,
    },
    /// The file's checksum is not the one that the publisher states.
    #[error(
        "{list}: the file from {address} does not have the checksum that its publisher states: try again later"
    )]
    Checksum {
        /// The list.
        list: String,
        /// The address.
        address: Address,
    },
    /// The publisher's description of the file cannot be read.
    #[error(
        "{list}: {address} does not describe the file in the expected form: give the file's own address with --list-address {list}=URL"
    )]
    Index {
        /// The list.
        list: String,
        /// The address of the description.
        address: Address,
    },
    /// The file cannot be written.
    #[error(
        "{list}: the downloaded file cannot be written ({source}): free space on the disk of the data folder"
    )]
    Disk {
        /// The list.
        list: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A folder has no file of the list.
    #[error("{list}: {folder} has no file named like {expected}")]
    NotInFolder {
        /// The list.
        list: String,
        /// The folder.
        folder: String,
        /// The expected names.
        expected: String,
    },
    /// A folder cannot be read.
    #[error("{folder} cannot be read: {source}")]
    Folder {
        /// The folder.
        folder: String,
        /// The cause.
        source: std::io::Error,
    },
}

fn status_fix(status: u16) -> &'static str {
    match status {
        401 | 403 => {
            "the publisher requires a sign-in or a token, or refuses this machine; check the address and its token"
        }
        404 | 410 => "the publisher has moved the file; give its new address with --list-address",
        429 | 500..=599 => "the publisher's server is overloaded or broken; try again later",
        _ => "check the address",
    }
}
