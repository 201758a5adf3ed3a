//! Limits the connections of each host, so that one host cannot use all of the server's connections.
//! Addresses are grouped as in [`visitor`]: a whole IPv6 /64 is one host. No address is ever logged, and the
//! counts contain no copy of the database.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use service::visitor::visitor;

/// Whether an address belongs to a trusted proxy, which forwards the requests of others.
pub fn is_proxy(address: IpAddr, trusted: &[IpAddr]) -> bool {
    trusted.contains(&address.to_canonical())
}

/// The pause between two warnings that a host has reached its limit.
const WARN_AGAIN: Duration = Duration::from_secs(60);

/// The number of open connections of each host.
pub struct HostConnections {
    /// The most connections per host.
    most: usize,
    /// Trusted proxies: one address there is many hosts, so their connections are not counted.
    proxies: Vec<IpAddr>,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    open: HashMap<IpAddr, usize>,
    warned: Option<Instant>,
}

impl HostConnections {
    /// Starts with no connections. The limit is per host, and 0 means no limit.
    pub fn new(most: usize, proxies: Vec<IpAddr>) -> Self {
        HostConnections {
            most: if most == 0 { usize::MAX } else { most },
            proxies,
            counts: Mutex::default(),
        }
    }

    /// Counts a connection until the returned guard is dropped. `None`: the host has reached its limit.
    pub fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<ConnectionSlot> {
        let host = (!is_proxy(peer, &self.proxies)).then(|| visitor(peer));
        if let Some(host) = host {
            let mut counts = self.counts();
            let open = counts.open.entry(host).or_default();
            if *open >= self.most {
                turned_away(&mut counts);
                return None;
            }
            *open += 1;
        }
        Some(ConnectionSlot {
            hosts: Arc::clone(self),
            host,
        })
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn turned_away(counts: &mut Counts) {
    metrics::counter!("bonafide_connections_refused_total").increment(1);
    if counts.warned.is_none_or(|warned| warned.elapsed() > WARN_AGAIN) {
        counts.warned = Some(Instant::now());
        tracing::warn!(
            "a host has reached the limit of connections per host; if it is your reverse proxy, \
             add it to --trusted-proxies"
        );
    }
}

/// A connection of a host, counted until this is dropped.
pub struct ConnectionSlot {
    hosts: Arc<HostConnections>,
    /// `None` for a connection through a proxy, which is not counted.
    host: Option<IpAddr>,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let Some(host) = self.host else { return };
        let mut counts = self.hosts.counts();
        if let Some(open) = counts.open.get_mut(&host) {
            *open -= 1;
            if *open == 0 {
                counts.open.remove(&host);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn each_host_has_its_own_places_and_gives_them_back() {
        let hosts = Arc::new(HostConnections::new(2, vec![]));
        let mut held: Vec<_> = ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "2001:db8::ff:2"]
            .map(|peer| hosts.admit(address(peer)).unwrap())
            .into();
        for full in ["192.0.2.1", "2001:db8:0:0:1::"] {
            assert!(hosts.admit(address(full)).is_none(), "{full}");
        }
        for free in ["192.0.2.2", "2001:db8:0:1::1"] {
            assert!(hosts.admit(address(free)).is_some(), "{free}");
        }
        held.remove(0);
        held.extend(hosts.admit(address("192.0.2.1")));
        assert_eq!(held.len(), 4, "its place was free again");
        held.clear();
        assert!(hosts.counts().open.is_empty(), "who has left is forgotten");
    }

    #[test]
    fn proxies_are_not_counted_and_nobody_where_it_is_off() {
        for (most, peer) in [(1, "10.0.0.1"), (1, "::ffff:10.0.0.1"), (0, "192.0.2.1")] {
            let hosts = Arc::new(HostConnections::new(most, vec![address("10.0.0.1")]));
            let held: Vec<_> = (0..100).filter_map(|_| hosts.admit(address(peer))).collect();
            assert_eq!(held.len(), 100, "{most} {peer}");
        }
    }
}
