//! What an API key may do: which endpoints it may call, and from which IP addresses. A key without restrictions may
//! call every endpoint from everywhere.
//!
//! This module only decides. `keys` stores the restrictions, and the HTTP server's gate applies them after the
//! secret was checked, so that nobody without the secret learns them.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::problem::{Family, Kind, Problem};

/// The most networks of one key.
pub const MAX_NETWORKS: usize = 50;

/// A group of endpoints that a key can be limited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoints {
    /// Groups and Flows.
    GroupsAndFlows,
    /// Links to the hosted page and the results of its sessions.
    HostedSessions,
    /// Verification and document requirements.
    Verification,
    /// Applicants.
    Applicants,
    /// Transaction monitoring.
    Monitoring,
    /// Searches of the sanctions lists, in the shape of yente's API.
    ListSearch,
}

impl Endpoints {
    /// Every group.
    pub const ALL: [Endpoints; 6] = [
        Endpoints::GroupsAndFlows,
        Endpoints::HostedSessions,
        Endpoints::Verification,
        Endpoints::Applicants,
        Endpoints::Monitoring,
        Endpoints::ListSearch,
    ];

    /// The name on the command line, in forms and in the stored restrictions.
    pub fn as_str(self) -> &'static str {
        match self {
            Endpoints::GroupsAndFlows => "groups-and-flows",
            Endpoints::HostedSessions => "hosted-sessions",
            Endpoints::Verification => "verification",
            Endpoints::Applicants => "applicants",
            Endpoints::Monitoring => "monitoring",
            Endpoints::ListSearch => "list-search",
        }
    }

    /// The group with this name.
    pub fn named(name: &str) -> Option<Self> {
        Endpoints::ALL.into_iter().find(|group| group.as_str() == name)
    }

    /// The group that a family of endpoints belongs to; `None`: keys are not used there.
    fn of(family: Family) -> Option<Self> {
        match family {
            Family::GroupsAndFlows => Some(Endpoints::GroupsAndFlows),
            Family::LinkAndPoll => Some(Endpoints::HostedSessions),
            Family::Verify => Some(Endpoints::Verification),
            Family::Applicants => Some(Endpoints::Applicants),
            Family::Monitoring => Some(Endpoints::Monitoring),
            Family::Yente => Some(Endpoints::ListSearch),
            Family::Exchange | Family::System => None,
        }
    }
}

/// The restrictions of a key. [`Default`] has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRestrictions {
    /// The groups that the key may call; `None`: all, also those of later versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    endpoints: Option<Vec<Endpoints>>,
    /// The networks that the key may be used from; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    networks: Vec<IpNet>,
}

/// Why restrictions are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestrictionError {
    /// No group of endpoints.
    #[error("endpoints - choose at least one; to stop a key entirely, revoke it")]
    NoEndpoints,
    /// A group that does not exist.
    #[error(
        "endpoints - {0:?} is unknown; use groups-and-flows, hosted-sessions, verification, applicants, monitoring or list-search"
    )]
    UnknownEndpoints(String),
    /// Neither an address nor a network.
    #[error(
        "addresses - {0:?} is not an IP address or network, such as 203.0.113.7, 203.0.113.0/24 or 2001:db8::/32"
    )]
    NoAddress(String),
    /// A network with bits outside its prefix, which is often a typing error.
    #[error("addresses - {given} has bits set after its prefix; use {network} or a single address")]
    HostBits {
        /// What was given.
        given: String,
        /// The network that it lies in.
        network: IpNet,
    },
    /// Too many networks.
    #[error(
        "addresses - at most {MAX_NETWORKS} per key; combine addresses into networks, such as 203.0.113.0/24"
    )]
    TooMany,
}

impl KeyRestrictions {
    /// Restrictions by the names of groups and the texts of addresses and networks. Naming all groups restricts nothing, and
    /// neither does an empty list of networks.
    ///
    /// # Errors
    /// Which name or text is wrong.
    pub fn new<'a>(
        endpoints: impl IntoIterator<Item = &'a str>,
        networks: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, RestrictionError> {
        let named = endpoints.into_iter().map(|name| {
            Endpoints::named(name.trim()).ok_or_else(|| RestrictionError::UnknownEndpoints(name.to_owned()))
        });
        let mut endpoints = named.collect::<Result<Vec<_>, _>>()?;
        endpoints.sort_unstable();
        endpoints.dedup();
        if endpoints.is_empty() {
            return Err(RestrictionError::NoEndpoints);
        }
        let mut networks = networks.into_iter().map(network).collect::<Result<Vec<_>, _>>()?;
        networks.sort_unstable();
        networks.dedup();
        if networks.len() > MAX_NETWORKS {
            return Err(RestrictionError::TooMany);
        }
        Ok(KeyRestrictions {
            endpoints: (endpoints != Endpoints::ALL).then_some(endpoints),
            networks,
        })
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] if it cannot be read. The key must not be used then, because nobody knows what it may do.
    pub fn from_json(text: &str) -> Result<Self, Problem> {
        // A struct could also be read from a list, whose missing members would allow everything.
        serde_json::from_str::<Map<String, Value>>(text)
            .and_then(|members| serde_json::from_value(Value::Object(members)))
            .map_err(|_| store::Error::Unreadable("restrictions of an API key").into())
    }

    /// The stored form.
    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// The groups that the key may call; `None`: all.
    pub fn endpoints(&self) -> Option<&[Endpoints]> {
        self.endpoints.as_deref()
    }

    /// The networks that the key may be used from; empty: all. A single address is shown without `/32` or `/128`.
    pub fn networks(&self) -> Vec<String> {
        let text = |network: &IpNet| match network.prefix_len() == network.max_prefix_len() {
            true => network.addr().to_string(),
            false => network.to_string(),
        };
        self.networks.iter().map(text).collect()
    }

    /// Whether the key may call a group of endpoints.
    pub fn allows(&self, group: Endpoints) -> bool {
        self.endpoints
            .as_ref()
            .is_none_or(|allowed| allowed.contains(&group))
    }

    /// Checks a call.
    ///
    /// # Errors
    /// [`Kind::Forbidden`], naming the restriction and how to change it.
    pub fn check(&self, family: Family, address: IpAddr) -> Result<(), Problem> {
        let group = Endpoints::of(family);
        if self.endpoints.is_some() && !group.is_some_and(|group| self.allows(group)) {
            let group = group.map_or("these", Endpoints::as_str);
            return Err(forbidden(format!("This API key may not call {group} endpoints")));
        }
        let address = address.to_canonical();
        if !self.networks.is_empty() && !self.networks.iter().any(|network| network.contains(&address)) {
            return Err(forbidden(format!("This API key may not be used from {address}")));
        }
        Ok(())
    }
}

fn forbidden(what: String) -> Problem {
    let text = format!("{what}. Change the key's restrictions in the portal, or use another key");
    Problem::new(Kind::Forbidden, text)
}

/// Reads an address or a network. An IPv4-mapped IPv6 address becomes the IPv4 address, as it does when a
/// call is checked.
fn network(text: &str) -> Result<IpNet, RestrictionError> {
    let text = text.trim();
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(IpNet::from(address.to_canonical()));
    }
    let network: IpNet = text
        .parse()
        .map_err(|_| RestrictionError::NoAddress(text.to_owned()))?;
    let network = unmapped(network);
    if network.trunc() != network {
        return Err(RestrictionError::HostBits {
            given: text.to_owned(),
            network: network.trunc(),
        });
    }
    Ok(network)
}

/// The IPv4 network of an IPv4-mapped one, which no call would match. Others remain.
fn unmapped(network: IpNet) -> IpNet {
    let (IpAddr::V4(address), Some(prefix)) = (
        network.addr().to_canonical(),
        network.prefix_len().checked_sub(96),
    ) else {
        return network;
    };
    Ipv4Net::new(address, prefix).map_or(network, IpNet::V4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: [&str; 6] = [
        "groups-and-flows",
        "hosted-sessions",
        "verification",
        "applicants",
        "monitoring",
        "list-search",
    ];

    #[test]
    fn restrictions_decide_calls() {
        let only_verify = KeyRestrictions::new(["verification"], []).unwrap();
        let office = KeyRestrictions::new(EVERYTHING, ["203.0.113.0/24", "2001:db8::1"]).unwrap();
        let mapped = KeyRestrictions::new(EVERYTHING, ["::ffff:203.0.113.0/120"]).unwrap();
        for (restrictions, family, address, allowed) in [
            (
                &KeyRestrictions::default(),
                Family::Monitoring,
                "198.51.100.1",
                true,
            ),
            (&only_verify, Family::Verify, "198.51.100.1", true),
            (&only_verify, Family::Monitoring, "198.51.100.1", false),
            (&only_verify, Family::Yente, "198.51.100.1", false),
            (&office, Family::Yente, "203.0.113.9", true),
            (&only_verify, Family::GroupsAndFlows, "198.51.100.1", false),
            (&only_verify, Family::System, "198.51.100.1", false),
            (&office, Family::Monitoring, "203.0.113.255", true),
            (&office, Family::Monitoring, "::ffff:203.0.113.9", true),
            (&office, Family::Monitoring, "203.0.114.0", false),
            (&office, Family::Verify, "2001:db8::1", true),
            (&office, Family::Verify, "2001:db8::2", false),
            (&mapped, Family::Verify, "203.0.113.200", true),
            (&mapped, Family::Verify, "203.0.114.1", false),
        ] {
            let checked = restrictions.check(family, address.parse().unwrap());
            assert_eq!(checked.is_ok(), allowed, "{restrictions:?} {family:?} {address}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let everything = || EVERYTHING.into_iter();
        for (endpoints, networks, part) in [
            (vec![], vec![], "at least one"),
            (vec!["verify"], vec![], "\"verify\" is unknown"),
            (
                everything().collect(),
                vec!["example.com"],
                "\"example.com\" is not an IP address",
            ),
            (
                everything().collect(),
                vec!["203.0.113.0/33"],
                "\"203.0.113.0/33\" is not",
            ),
            (everything().collect(), vec![""], "not an IP address"),
            (
                everything().collect(),
                vec!["203.0.113.7/24"],
                "use 203.0.113.0/24",
            ),
            (
                everything().collect(),
                vec!["::ffff:203.0.113.7/120"],
                "use 203.0.113.0/24",
            ),
        ] {
            let error = KeyRestrictions::new(endpoints, networks).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let many: Vec<String> = (0..=MAX_NETWORKS).map(|last| format!("10.0.0.{last}")).collect();
        let many = many.iter().map(String::as_str);
        assert_eq!(
            KeyRestrictions::new(EVERYTHING, many).unwrap_err(),
            RestrictionError::TooMany
        );
    }

    #[test]
    fn the_stored_form_is_read_again() {
        for (restrictions, stored) in [
            (KeyRestrictions::default(), "{}"),
            (KeyRestrictions::new(EVERYTHING, []).unwrap(), "{}"),
            (
                KeyRestrictions::new(["monitoring", "verification"], ["10.0.0.7", "10.0.0.7/32"]).unwrap(),
                r#"{"endpoints":["verification","monitoring"],"networks":["10.0.0.7/32"]}"#,
            ),
        ] {
            assert_eq!(restrictions.to_json(), stored);
            assert_eq!(KeyRestrictions::from_json(stored).unwrap(), restrictions);
        }
        for damaged in ["", "[]", r#"{"endpoints":["all"]}"#, r#"{"endpoint":[]}"#] {
            assert!(KeyRestrictions::from_json(damaged).is_err(), "{damaged}");
        }
    }

    #[test]
    fn every_group_has_one_name() {
        for group in Endpoints::ALL {
            assert_eq!(Endpoints::named(group.as_str()), Some(group));
            assert_eq!(serde_json::json!(group), group.as_str());
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken(name: String, text: String) {
            let _ = KeyRestrictions::new([name.as_str()], [text.as_str()]);
            let _ = KeyRestrictions::new(["monitoring"], [text.as_str()]);
        }
    }
}
