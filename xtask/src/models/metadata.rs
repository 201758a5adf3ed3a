//! Reads the metadata of an ONNX file and adds to it. The file's network stays as it is.

use anyhow::{Context, Result};
use prost::Message;

/// The part of ONNX's `ModelProto` that has the metadata.
#[derive(Clone, PartialEq, Message)]
struct Metadata {
    #[prost(message, repeated, tag = "14")]
    metadata_props: Vec<Entry>,
}

/// ONNX's `StringStringEntryProto`.
#[derive(Clone, PartialEq, Message)]
struct Entry {
    #[prost(string, optional, tag = "1")]
    key: Option<String>,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

/// Appends an entry. Protocol buffers read the fields of concatenated messages as those of one message.
pub(super) fn append(file: &mut Vec<u8>, key: &str, value: &str) {
    let entry = Entry {
        key: Some(key.to_owned()),
        value: Some(value.to_owned()),
    };
    let metadata = Metadata {
        metadata_props: vec![entry],
    };
    file.extend(metadata.encode_to_vec());
}

/// The last value of a key.
pub(super) fn value(file: &[u8], key: &str) -> Option<String> {
    let entries = Metadata::decode(file).ok()?.metadata_props;
    entries.into_iter().rev().find(|entry| entry.key() == key)?.value
}

/// The key of an encoded entry.
pub(super) fn key(entry: &[u8]) -> Result<String> {
    let entry = Entry::decode(entry).context("reading an entry of the metadata")?;
    Ok(entry.key.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_added_to_those_of_the_file() {
        let mut file = Vec::new();
        append(&mut file, "a", "1");
        append(&mut file, "b", "2");
        assert_eq!(value(&file, "a").as_deref(), Some("1"));
        assert_eq!(value(&file, "b").as_deref(), Some("2"));
        assert_eq!(value(&file, "c"), None);
    }
}
