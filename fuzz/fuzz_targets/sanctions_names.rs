//! Compares two entities, with names in any script, as the screening of an applicant does.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| {
    let _ = sanctions::answer_pair_line(line);
    // Outside JSON, the fuzzer reaches the comparison of names more often.
    if let Some((one, other)) = line.split_once('\n') {
        let entity = |name: &str| serde_json::json!({"schema": "Person", "properties": {"name": [name]}});
        let pair = serde_json::json!({"query": entity(one), "candidate": entity(other)});
        let _ = sanctions::answer_pair_line(&pair.to_string());
    }
});
