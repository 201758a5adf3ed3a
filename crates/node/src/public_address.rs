//! Determines which IP addresses are public, because a merchant's URL may only lead to those. Callers resolve
//! a name once and pin its address, so that a second answer of the name server cannot lead elsewhere (DNS
//! rebinding). This module connects to nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to the public internet (IANA special-purpose registries).
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = match address.octets() {
        // This network, private, shared (RFC 6598), loopback, link-local (cloud metadata).
        [0 | 10 | 127, ..] | [192, 168, ..] | [169, 254, ..] => true,
        [100, second, ..] => (64..128).contains(&second),
        [172, second, ..] => (16..32).contains(&second),
        // IETF protocols, documentation, 6to4 relays, benchmarking.
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 51, 100, _] | [203, 0, 113, _] => true,
        [198, 18 | 19, ..] => true,
        // Multicast, reserved, broadcast.
        [first, ..] => first >= 224,
    };
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // NAT64 and 6to4 lead to the IPv4 address that they contain.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x2002, high, low, ..] => embedded(high, low),
        // IETF protocols (Teredo among them), documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        // Global unicast is 2000::/3; everything else is local, multicast or not assigned.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_internet_is_public() {
        for (address, public) in [
            ("93.184.216.34", true),
            ("100.63.255.255", true),
            ("172.32.0.1", true),
            ("223.255.255.254", true),
            ("2606:4700::1111", true),
            ("64:ff9b::5db8:d822", true),
            ("::ffff:93.184.216.34", true),
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("100.64.0.1", false),
            ("127.0.0.1", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.0.0.1", false),
            ("192.0.2.1", false),
            ("192.168.1.1", false),
            ("198.18.0.1", false),
            ("203.0.113.9", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:10.0.0.1", false),
            ("64:ff9b::a00:1", false),
            ("2002:7f00:1::", false),
            ("2001:0:1::", false),
            ("2001:db8::1", false),
            ("fc00::1", false),
            ("fe80::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
        }
    }
}
