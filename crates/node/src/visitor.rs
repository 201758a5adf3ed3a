//! Who counts as one visitor in rate limits and counts of failed sign-ins. This module keeps no counts.

use std::net::IpAddr;

/// The visitor behind an address, for limits. An IPv6 /64 counts as one visitor, because one customer has all
/// of it.
pub fn visitor(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            [a, b, c, d, 0, 0, 0, 0].into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_is_one_visitor() {
        let counted = |address: &str| visitor(address.parse().unwrap()).to_string();
        assert_eq!(counted("2a00:1450:4001:80e:1:2:3:4"), "2a00:1450:4001:80e::");
        assert_eq!(counted("93.184.216.34"), "93.184.216.34");
        assert_eq!(counted("::ffff:93.184.216.34"), "93.184.216.34");
    }
}
