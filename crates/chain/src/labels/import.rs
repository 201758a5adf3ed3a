//! Parses label files: TagPack YAML, CSV, and JSON lines. The first line determines the format.
//!
//! An address that cannot exist is rejected with its row and the reason, never guessed; the other rows are
//! imported.

use std::io::Read;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::rows::{ImportError, LabelImport, Raw};
use super::tagpack;

/// The largest label file in bytes.
const MAX_FILE: u64 = 512 * 1024 * 1024;
/// Reads a label file.
///
/// # Errors
/// [`ImportError`] when the file as a whole cannot be used. A single bad row is a reject, not an error.
pub fn read(input: impl Read) -> Result<LabelImport, ImportError> {
    let mut text = Vec::new();
    input.take(MAX_FILE + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(ImportError::Form("larger than 512 MiB".into()));
    }
    let text = String::from_utf8(text).map_err(|_| ImportError::Form("not UTF-8".into()))?;
    let text = text.trim_start_matches('\u{feff}');
    let first = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    let imported = if first.trim_start().starts_with('{') {
        json_lines(text)
    } else if first.contains(',') && !first.contains(": ") {
        table(text)?
    } else {
        tagpack::read(text)?
    };
    Ok(imported)
}

/// A row; aliases are the other names of columns and members in common files.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(alias = "currency", alias = "network", borrow)]
    chain: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    address: std::borrow::Cow<'a, str>,
    #[serde(alias = "label", borrow)]
    name: std::borrow::Cow<'a, str>,
    #[serde(default)]
    category: Option<String>,
    #[serde(default, alias = "abuse")]
    flag: Option<String>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    confidence: Option<u8>,
    #[serde(default, alias = "validFrom")]
    valid_from: Option<String>,
    #[serde(default, alias = "validTo")]
    valid_to: Option<String>,
}

impl LabelImport {
    fn line(&mut self, row: usize, line: &Line<'_>) {
        let time = |text: &Option<String>| text.as_deref().filter(|t| !t.trim().is_empty()).map(time);
        let bounds = (
            time(&line.valid_from).transpose(),
            time(&line.valid_to).transpose(),
        );
        let (Ok(valid_from), Ok(valid_to)) = bounds else {
            return self.reject(row, "valid_from, valid_to - neither YYYY-MM-DD nor ISO 8601");
        };
        if line.confidence.is_some_and(|confidence| confidence > 100) {
            return self.reject(row, "confidence - above 100");
        }
        self.accept(
            row,
            &Raw {
                chain: &line.chain,
                address: &line.address,
                name: &line.name,
                words: line
                    .category
                    .iter()
                    .chain(&line.flag)
                    .map(String::as_str)
                    .collect(),
                source: line.source.as_deref().unwrap_or_default(),
                confidence: line.confidence,
                valid_from,
                valid_to,
            },
        );
    }
}

fn json_lines(text: &str) -> LabelImport {
    let mut imported = LabelImport::default();
    for (row, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str::<Line<'_>>(line) {
            Ok(line) => imported.line(row, &line),
            // serde_json's error may quote the text.
            Err(error) => imported.reject(row, format!("not a label (column {})", error.column())),
        }
    }
    imported
}

fn table(text: &str) -> Result<LabelImport, ImportError> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let headers = reader
        .headers()
        .map_err(|_| ImportError::Form("the header cannot be read".into()))?
        .iter()
        .map(|name| name.to_ascii_lowercase())
        .collect::<csv::StringRecord>();
    for (column, names) in [
        ("address", &["address"][..]),
        ("currency", &["currency", "chain", "network"]),
        ("name", &["name", "label"]),
    ] {
        if !headers.iter().any(|header| names.contains(&header)) {
            return Err(ImportError::Form(format!("the header has no column {column}")));
        }
    }
    let mut imported = LabelImport::default();
    let mut record = csv::StringRecord::new();
    let mut row = 1;
    loop {
        row += 1;
        match reader.read_record(&mut record) {
            Ok(false) => return Ok(imported),
            Ok(true) => match record.deserialize::<Line<'_>>(Some(&headers)) {
                Ok(line) => imported.line(row, &line),
                Err(_) => imported.reject(row, "a column is missing or has a value of the wrong type"),
            },
            Err(_) => imported.reject(row, "cannot be read"),
        }
    }
}

/// Parses a day (its beginning in UTC) or an instant, as milliseconds since 1970.
///
/// # Errors
/// When the text is neither.
pub fn time(text: &str) -> Result<i64, jiff::Error> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at.as_millisecond());
    }
    let date: Date = text.parse()?;
    Ok(date.to_zoned(TimeZone::UTC)?.timestamp().as_millisecond())
}
