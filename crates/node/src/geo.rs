//! Finds the country of a visitor's address (`docs/decisions/0007-visitor-country.md`) in the operator's
//! database, or else in a built-in table of the registries' allocations. It makes no network request and
//! stores no address. The operator's database is a file that is read at start.

use std::net::IpAddr;
use std::path::Path;

use anyhow::Context;
use maxminddb::{Reader, path};
use reference::{Country, country};

use super::public_address::is_public;

/// Finds countries by IP address.
pub struct Geo {
    database: Option<Reader<Vec<u8>>>,
}

impl Geo {
    /// Reads a database in MaxMind's format, if one is configured.
    pub fn open(file: Option<&Path>) -> anyhow::Result<Self> {
        let Some(file) = file else {
            return Ok(Geo { database: None });
        };
        std::fs::read(file)
            .map_err(anyhow::Error::from)
            .and_then(Self::from_bytes)
            .with_context(|| format!("--geo-database {} cannot be read", file.display()))
    }

    /// Reads the bytes of a database in MaxMind's format.
    ///
    /// # Errors
    /// When they are not such a database.
    pub fn from_bytes(bytes: Vec<u8>) -> anyhow::Result<Self> {
        Ok(Geo {
            database: Some(Reader::from_source(bytes)?),
        })
    }

    /// The address's country. `None` for private and reserved addresses, and for those that the database does
    /// not contain.
    pub fn country(&self, address: IpAddr) -> Option<&'static Country> {
        let address = address.to_canonical();
        if !is_public(address) {
            return None;
        }
        match &self.database {
            Some(database) => country(&recorded(database, address)?),
            None => country(iptocc::country_code(address)?),
        }
    }
}

/// The country code that a database records for an address. GeoIP2 and GeoLite2 nest the code; other
/// databases have it at the top level.
fn recorded(database: &Reader<Vec<u8>>, address: IpAddr) -> Option<String> {
    let found = database.lookup(address).ok()?;
    let paths = [
        &path!["country", "iso_code"][..],
        &path!["registered_country", "iso_code"],
        &path!["country_code"],
        &path!["country"],
    ];
    paths
        .iter()
        .find_map(|path| found.decode_path::<String>(path).ok().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(geo: &Geo, address: &str) -> Option<&'static str> {
        geo.country(address.parse().unwrap())
            .map(|country| country.alpha2)
    }

    const NOWHERE: [&str; 14] = [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "172.16.0.1",
        "169.254.1.1",
        "100.64.0.1",
        "203.0.113.9",
        "0.0.0.0",
        "255.255.255.255",
        "::1",
        "fe80::1",
        "fd00::1",
        "2001:db8::1",
        "::ffff:10.0.0.1",
    ];

    #[test]
    fn the_built_in_table() {
        let geo = Geo::open(None).unwrap();
        for (address, country) in [
            ("8.8.8.8", "US"),
            ("::ffff:8.8.8.8", "US"),
            ("2001:4860:4860::8888", "US"),
            ("193.0.6.139", "NL"),
        ] {
            assert_eq!(found(&geo, address), Some(country), "{address}");
        }
        for address in NOWHERE {
            assert_eq!(found(&geo, address), None, "{address}");
        }
    }

    /// A database in MaxMind's format whose every address has one record: the data section's bytes.
    fn database(record: &[u8]) -> Vec<u8> {
        // One node, both of whose 24-bit records point to the record after the 16 zero bytes.
        let mut bytes = vec![0, 0, 17, 0, 0, 17];
        bytes.extend([0; 16]);
        bytes.extend(record);
        bytes.extend(b"\xab\xcd\xefMaxMind.com\xe9");
        let text = |text: &str| [&[0x40 + text.len() as u8], text.as_bytes()].concat();
        for (key, value) in [
            ("node_count", vec![0xc1, 1]),
            ("record_size", vec![0xa1, 24]),
            ("ip_version", vec![0xa1, 6]),
            ("database_type", text("Test")),
            ("languages", vec![0x00, 0x04]),
            ("binary_format_major_version", vec![0xa1, 2]),
            ("binary_format_minor_version", vec![0xa0]),
            ("build_epoch", vec![0x01, 0x02, 1]),
            ("description", vec![0xe0]),
        ] {
            bytes.extend(text(key));
            bytes.extend(value);
        }
        bytes
    }

    #[test]
    fn a_database_wins_and_private_addresses_stay_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("geo.mmdb");
        for (record, country) in [
            (&b"\xe1\x47country\xe1\x48iso_code\x42DE"[..], Some("DE")),
            (b"\xe1\x52registered_country\xe1\x48iso_code\x42FR", Some("FR")),
            (b"\xe1\x4ccountry_code\x42it", Some("IT")),
            (b"\xe1\x47country\x42ES", Some("ES")),
            (b"\xe1\x47country\x42EU", None),
            (b"\xe1\x43asn\xa1\x01", None),
        ] {
            std::fs::write(&file, database(record)).unwrap();
            let geo = Geo::open(Some(&file)).unwrap();
            for address in ["8.8.8.8", "2001:4860:4860::8888"] {
                assert_eq!(found(&geo, address), country, "{record:?}");
            }
            for address in NOWHERE {
                assert_eq!(found(&geo, address), None, "{address}");
            }
        }
        std::fs::write(&file, "nonsense").unwrap();
        assert!(Geo::open(Some(&file)).is_err());
        assert!(Geo::open(Some(&folder.path().join("absent"))).is_err());
    }
}
