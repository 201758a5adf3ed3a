//! Shared parts of the CSV formats: detecting the format by the first row, and reading rows with their line
//! numbers.

use std::io::BufRead;

use csv::{ByteRecord, ReaderBuilder};

use super::input::{FileKind, Tally};
use super::list::ImportError;

/// Maximum number of bytes without a line break.
const MAX_RECORD: usize = 1 << 20;

/// Detects a CSV format by the first row.
pub(super) fn sniff(text: &str) -> Option<FileKind> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let mut row = csv::StringRecord::new();
    if !reader.read_record(&mut row).ok()? {
        return None;
    }
    let numeric = |i: usize| {
        row.get(i)
            .is_some_and(|f| !f.is_empty() && f.trim().bytes().all(|b| b.is_ascii_digit()))
    };
    let header = |name: &str| row.iter().any(|f| f.trim().eq_ignore_ascii_case(name));
    if header("schema") && header("aliases") && header("id") {
        return Some(FileKind::SimpleCsv);
    }
    let is_dated = row.get(0).is_some_and(|first| first.starts_with("Report Date:"));
    if is_dated || (header("Unique ID") && header("OFSI Group ID")) {
        return Some(FileKind::UkCsv);
    }
    // Some mirrors add a row with column names.
    let mirror = row.len() >= 11 && header("name") && (header("id") || header("ent_num"));
    match row.len() {
        11 | 12 if numeric(0) || mirror => Some(FileKind::OfacPrimary),
        5 if numeric(0) && numeric(1) => Some(FileKind::OfacAliases),
        6 if numeric(0) && numeric(1) => Some(FileKind::OfacAddresses),
        2 if numeric(0) => Some(FileKind::OfacComments),
        _ => None,
    }
}

/// Calls `each` with every row and its line number. Unreadable rows are rejected. Fields that are not UTF-8
/// are read as Latin-1, the encoding of older files.
pub(super) fn rows(
    name: &str,
    input: impl BufRead,
    tally: &mut Tally,
    mut each: impl FnMut(&[String], u64, &mut Tally),
) -> Result<(), ImportError> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(Bounded {
            inner: input,
            quiet: 0,
        });
    let mut row = ByteRecord::new();
    let mut fields: Vec<String> = Vec::new();
    loop {
        match reader.read_byte_record(&mut row) {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(error) => match error.into_kind() {
                csv::ErrorKind::Io(source) => {
                    return Err(ImportError::Read {
                        name: name.into(),
                        source,
                    });
                }
                _ => {
                    tally.reject(reader.position().line(), "not readable as CSV");
                    continue;
                }
            },
        }
        let line = row.position().map_or(0, csv::Position::line);
        // Some files end with the CP/M end-of-file character.
        if row.len() == 1
            && row
                .iter()
                .all(|f| f.iter().all(|b| *b == 0x1A || b.is_ascii_whitespace()))
        {
            continue;
        }
        fields.clear();
        fields.extend(row.iter().map(text));
        each(&fields, line, tally);
    }
}

fn text(field: &[u8]) -> String {
    match std::str::from_utf8(field) {
        Ok(text) => text.trim().to_owned(),
        Err(_) => field
            .iter()
            .map(|b| char::from(*b))
            .collect::<String>()
            .trim()
            .to_owned(),
    }
}

/// Fails after a megabyte without a line break, because an unclosed quote would otherwise swallow the file.
struct Bounded<R> {
    inner: R,
    quiet: usize,
}

impl<R: BufRead> std::io::Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = self.inner.read(buffer)?;
        match buffer[..len].iter().rposition(|b| *b == b'\n') {
            Some(at) => self.quiet = len - at,
            None => self.quiet += len,
        }
        if self.quiet > MAX_RECORD {
            return Err(std::io::Error::other("a line of megabytes"));
        }
        Ok(len)
    }
}
