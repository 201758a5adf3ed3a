//! Finds the countries of addresses in a database in MaxMind's format, which operators download.
#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use node::geo::Geo;

const ADDRESSES: [IpAddr; 4] = [
    IpAddr::V4(std::net::Ipv4Addr::new(8, 8, 8, 8)),
    IpAddr::V4(std::net::Ipv4Addr::new(193, 0, 6, 139)),
    IpAddr::V6(std::net::Ipv6Addr::new(0x2001, 0x4860, 0, 0, 0, 0, 0, 1)),
    IpAddr::V6(std::net::Ipv6Addr::new(0x2a00, 0x1450, 0, 0, 0, 0, 0xffff, 1)),
];

fuzz_target!(|bytes: &[u8]| {
    let Ok(geo) = Geo::from_bytes(bytes.to_vec()) else { return };
    for address in ADDRESSES {
        let _ = geo.country(address);
    }
});
