//! `bonafide parse-aamva --batch`: answers each line of JSON with one line.

use std::io::Read;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{LONGEST, parse_aamva, parse_aamva_text};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    file: Option<String>,
    payload: Option<String>,
}

/// Answers `{"file"}` or `{"payload"}` with `{"file", "error", "aamva"}`. Errors are in the object's `error`.
pub fn answer_line(line: &str) -> String {
    let (file, answer) = match serde_json::from_str(line) {
        Ok(Request {
            file: Some(file),
            payload: None,
        }) => {
            let answer = answer_file(&file);
            (Some(file), answer)
        }
        Ok(Request {
            file: None,
            payload: Some(payload),
        }) => (
            None,
            parse_aamva_text(&payload).map_err(|e| (e.code(), e.to_string())),
        ),
        Ok(_) => (
            None,
            Err(("bad_input", "expected either \"file\" or \"payload\"".to_owned())),
        ),
        Err(e) => (None, Err(("bad_input", format!("not a question: {e}")))),
    };
    let (error, aamva) = match answer {
        Ok(aamva) => (Value::Null, json!(aamva)),
        Err((code, message)) => (json!({ "code": code, "message": message }), Value::Null),
    };
    json!({ "file": file, "error": error, "aamva": aamva }).to_string()
}

fn answer_file(path: &str) -> Result<crate::reading::Aamva, (&'static str, String)> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(LONGEST as u64 + 1).read_to_end(&mut bytes))
        .map_err(|e| ("unreadable_file", e.to_string()))?;
    parse_aamva(&bytes).map_err(|e| (e.code(), e.to_string()))
}
