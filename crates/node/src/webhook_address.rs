//! Detects webhook URLs that can never receive an event, without resolving their hosts. A PUT accepts them (contract §6),
//! so the portal, the command line and `doctor` point them out. It connects to nothing.

use std::net::IpAddr;

use clap::Args;
use reqwest::Url;

use crate::public_address::is_public;

/// Names that lead to this machine or the local network by definition (RFC 6761, RFC 6762, RFC 8375; ICANN reserves
/// `internal`).
const LOCAL_NAMES: [&str; 4] = ["localhost", "local", "internal", "home.arpa"];

/// Hosts that may receive webhooks.
#[derive(Args, Clone, Debug, Default)]
pub struct WebhookHosts {
    /// Hosts that may receive webhooks although their addresses are not public.
    #[arg(long, env = "BONAFIDE_WEBHOOK_ALLOW_HOSTS", value_delimiter = ',')]
    webhook_allow_hosts: Vec<String>,
}

impl WebhookHosts {
    /// Whether a host may receive webhooks even if its address is private.
    pub fn allow(&self, host: &str) -> bool {
        self.webhook_allow_hosts
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(host))
    }
}

/// Why no event is ever sent to a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressFault {
    /// It cannot be read, or names no host or port.
    #[error("the address is not a complete URL")]
    Incomplete,
    /// It is neither HTTPS nor the sandbox's HTTP.
    #[error("live events are sent to https addresses only")]
    NotHttps,
    /// It leads to this machine or a private network, and no operator allowed its host.
    #[error("the host's address is not public; an operator can allow it (--webhook-allow-hosts)")]
    NotPublic,
}

impl AddressFault {
    /// The fault's name in text keys.
    pub fn as_str(self) -> &'static str {
        match self {
            AddressFault::Incomplete => "incomplete",
            AddressFault::NotHttps => "not_https",
            AddressFault::NotPublic => "not_public",
        }
    }
}

/// A URL that may receive events, if its host resolves to public addresses.
#[derive(Debug)]
pub struct Destination {
    /// The URL.
    pub url: Url,
    /// Its host, without the brackets of an IPv6 address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whether an operator allowed the host, even if its address is private.
    pub is_allowed: bool,
}

impl Destination {
    /// Checks a URL without resolving its host.
    ///
    /// # Errors
    /// No event can ever be sent there.
    pub fn check(url: &str, sandbox: bool, is_allowed: impl Fn(&str) -> bool) -> Result<Self, AddressFault> {
        let url = Url::parse(url).map_err(|_| AddressFault::Incomplete)?;
        let host = url.host_str().ok_or(AddressFault::Incomplete)?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let port = url.port_or_known_default().ok_or(AddressFault::Incomplete)?;
        if !(url.scheme() == "https" || sandbox && url.scheme() == "http") {
            return Err(AddressFault::NotHttps);
        }
        let destination = Destination {
            is_allowed: is_allowed(&host),
            url,
            host,
            port,
        };
        match destination.address() {
            Some(address) => destination.admit(address)?,
            None if destination.is_allowed => {}
            None if is_local_name(&destination.host) => return Err(AddressFault::NotPublic),
            None => {}
        }
        Ok(destination)
    }

    /// The host, if it is an address and not a name.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Checks an address of the host.
    ///
    /// # Errors
    /// It is not public, and no operator allowed the host.
    pub fn admit(&self, address: IpAddr) -> Result<(), AddressFault> {
        match self.is_allowed || is_public(address) {
            true => Ok(()),
            false => Err(AddressFault::NotPublic),
        }
    }
}

fn is_local_name(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    LOCAL_NAMES.iter().any(|local| {
        host.strip_suffix(local)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undeliverable_urls_are_detected() {
        use AddressFault::{Incomplete, NotHttps, NotPublic};
        for (url, sandbox, expected) in [
            ("https://merchant.example/hook", false, None),
            ("https://merchant.example:8443/hook", false, None),
            ("http://merchant.example/hook", true, None),
            ("http://merchant.example/hook", false, Some(NotHttps)),
            ("ftp://merchant.example/hook", true, Some(NotHttps)),
            ("merchant.example/hook", false, Some(Incomplete)),
            ("mailto:hooks@merchant.example", true, Some(Incomplete)),
            ("https://10.0.0.7/hook", false, Some(NotPublic)),
            ("https://93.184.216.34/hook", false, None),
            ("https://[::1]/hook", false, Some(NotPublic)),
            ("https://[fd00::7]/hook", true, Some(NotPublic)),
            ("https://localhost:9/hook", true, Some(NotPublic)),
            ("https://shop.LOCALHOST./hook", false, Some(NotPublic)),
            ("https://nas.local/hook", false, Some(NotPublic)),
            ("https://local.example/hook", false, None),
            ("https://notlocal/hook", false, None),
            ("https://10.0.0.8/hook", false, None),
            ("http://queue.internal/hook", true, None),
            ("http://10.0.0.8/hook", false, Some(NotHttps)),
        ] {
            let allowed = |host: &str| matches!(host, "10.0.0.8" | "queue.internal");
            assert_eq!(Destination::check(url, sandbox, allowed).err(), expected, "{url}");
        }
    }
}
