//! The description of an OpenSanctions data set (`index.json`): its version and the checksums of its files.

use serde::Deserialize;

use crate::publishers::OPEN_SANCTIONS_FILE;

/// What a data set's description states about [`OPEN_SANCTIONS_FILE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Description {
    /// The version, such as `20240527134702-zbn`.
    version: Option<String>,
    /// SHA-1 or SHA-256 in hexadecimal.
    checksum: Option<String>,
}

#[derive(Deserialize)]
struct Index {
    version: Option<String>,
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: String,
    checksum: Option<String>,
}

/// Reads a description; `None` if it has another form or does not list the file.
pub(crate) fn describe(text: &[u8]) -> Option<Description> {
    let index: Index = serde_json::from_slice(text).ok()?;
    let mut resources = index.resources.into_iter();
    let file = resources.find(|resource| resource.name == OPEN_SANCTIONS_FILE)?;
    let is_safe = |version: &String| {
        (1..=40).contains(&version.len()) && version.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    Some(Description {
        version: index.version.filter(is_safe),
        checksum: file.checksum.filter(|checksum| !checksum.is_empty()),
    })
}

impl Description {
    /// Whether a file has the described checksum, if there is one.
    pub(crate) fn is_of(&self, sha1: &[u8], sha256: &[u8]) -> bool {
        self.checksum.as_ref().is_none_or(|expected| {
            let is = |bytes: &[u8]| {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                expected.eq_ignore_ascii_case(&digits)
            };
            is(sha1) || is(sha256)
        })
    }

    /// The file's name with the version, so that deltas fit the imported list.
    pub(crate) fn file_name(&self, list: &str) -> String {
        match &self.version {
            Some(version) => format!("{list}.{version}.{OPEN_SANCTIONS_FILE}"),
            None => format!("{list}.{OPEN_SANCTIONS_FILE}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions() {
        let text = br#"{"name": "sanctions", "version": "20240527134702-zbn", "resources": [
            {"name": "names.txt", "checksum": "00"},
            {"name": "entities.ftm.json", "checksum": "AB", "url": "https://example.org"}]}"#;
        let found = describe(text).unwrap();
        assert_eq!(
            found.file_name("sanctions"),
            "sanctions.20240527134702-zbn.entities.ftm.json"
        );
        assert!(found.is_of(&[0xab], &[1]) && found.is_of(&[1], &[0xab]) && !found.is_of(&[1], &[2]));
        let plain =
            describe(br#"{"version": "../x", "resources": [{"name": "entities.ftm.json"}]}"#).unwrap();
        assert_eq!(plain.file_name("a"), "a.entities.ftm.json");
        assert!(plain.is_of(&[1], &[2]));
        for other in [
            "",
            "[]",
            "{}",
            "<html>",
            r#"{"resources": [{"name": "names.txt"}]}"#,
        ] {
            assert_eq!(describe(other.as_bytes()), None, "{other}");
        }
    }
}
