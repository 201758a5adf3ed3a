//! Parses JSON bodies and query strings of requests. An accepted body means the same to every other JSON reader
//! in the server, which read it again from the database.
#![no_main]

use http_server::{json, query};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(value) = json::parse(bytes) {
        assert!(depth(&value) <= json::MAX_DEPTH);
        assert_eq!(serde_json::from_slice::<Value>(bytes).ok(), Some(value));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = (query::parse(text), json::is_json(text));
    }
});
