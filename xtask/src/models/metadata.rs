//! Adds metadata to an ONNX file. The file's network stays as it is.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_added_to_those_of_the_file() {
        let mut file = Vec::new();
        append(&mut file, "a", "1");
        append(&mut file, "b", "2");
        let found = Metadata::decode(&file[..]).unwrap().metadata_props;
        let keys: Vec<&str> = found.iter().map(Entry::key).collect();
        assert_eq!(keys, ["a", "b"]);
    }
}
