//! `bonafide read-document --batch`: answers each line of NDJSON with one line (docs: the command line's data
//! formats).
//!
//! It never panics and never stops the batch. An error contains only the file's name and what is wrong with
//! the file.

use std::io::Read;
use std::time::Instant;

use imaging::{DecodeError, Limits};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::read::{DocumentEngine, ReadError, ReadHints, milliseconds};
use crate::reading::DocumentReading;

/// Larger files are not read into memory. The limit is above the size of any permitted upload.
const MAX_FILE_BYTES: u64 = 64 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    file: String,
}

/// Why one file gave no reading.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error("the file cannot be read: {0}")]
    Io(std::io::ErrorKind),
    #[error("the file is larger than {} MiB", MAX_FILE_BYTES >> 20)]
    TooLarge,
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl FileError {
    fn code(&self) -> &'static str {
        match self {
            Self::Io(_) => "unreadable-file",
            Self::TooLarge => "too-large",
            Self::Decode(error) => error.code(),
            Self::Read(_) => "engine-failed",
        }
    }
}

/// Answers a line `{"file"}` with one line: the file's reading, with signs of fraud on request, or `error` with the
/// reason why there is none.
pub fn answer_line(engine: &DocumentEngine, line: &str, fraud_signs: bool) -> String {
    let answer = match serde_json::from_str::<Request>(line) {
        Ok(request) => match read_file(engine, &request.file, fraud_signs) {
            Ok(reading) => answer(json!(request.file), Value::Null, &reading),
            Err(error) => failure(json!(request.file), error.code(), &error.to_string()),
        },
        Err(error) => failure(Value::Null, "bad-line", &error.to_string()),
    };
    answer.to_string()
}

fn read_file(engine: &DocumentEngine, path: &str, fraud_signs: bool) -> Result<DocumentReading, FileError> {
    let start = Instant::now();
    let file = std::fs::File::open(path).map_err(|error| FileError::Io(error.kind()))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| FileError::Io(error.kind()))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(FileError::TooLarge);
    }
    let decoded = imaging::decode(&bytes, &Limits::default())?;
    let decoding = milliseconds(start.elapsed());
    let hints = ReadHints {
        fraud_signs,
        ..ReadHints::default()
    };
    let mut reading = engine.read_file(&decoded, &hints)?;
    reading.timing_ms.insert("decode".to_owned(), decoding);
    if let Some(total) = reading.timing_ms.get_mut("total") {
        *total += decoding;
    }
    Ok(reading)
}

fn answer(file: Value, error: Value, reading: &DocumentReading) -> Value {
    let mut answer = json!({ "file": file, "error": error });
    if let (Some(answer), Ok(Value::Object(reading))) =
        (answer.as_object_mut(), serde_json::to_value(reading))
    {
        answer.extend(reading);
    }
    answer
}

/// An answer without a reading, which has the same keys as one with a reading.
fn failure(file: Value, code: &str, message: &str) -> Value {
    answer(
        file,
        json!({ "code": code, "message": message }),
        &DocumentReading::default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_every_key_and_a_typed_error() {
        let failed = failure(json!("a.jpg"), "empty", "the file is empty");
        let keys: Vec<&String> = failed.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "file", "error", "kind", "mrz", "barcodes", "text", "fields", "visual", "quality", "fraud",
                "timingMs"
            ]
        );
        assert_eq!(failed["error"]["code"], "empty");
    }

    #[test]
    fn unknown_keys_are_refused() {
        assert!(serde_json::from_str::<Request>(r#"{"file":"a","hint":1}"#).is_err());
        assert!(serde_json::from_str::<Request>("{}").is_err());
    }
}
