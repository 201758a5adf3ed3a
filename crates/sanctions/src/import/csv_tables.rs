//! Reads rows of CSV files with their line numbers, whatever their columns mean. Rows below a header must have its number of fields; nothing is guessed for others.

use std::cell::Cell;
use std::io::BufRead;
use std::rc::Rc;

use csv::{ByteRecord, ReaderBuilder};

use super::input::Tally;
use super::list::ImportError;

/// Maximum number of bytes of a record.
const MAX_RECORD: usize = 1 << 20;

/// Calls `each` with every row and its line number. Unreadable rows are rejected. Fields that are not UTF-8
/// are read as Latin-1, the encoding of older files.
pub(super) fn rows(
    name: &str,
    input: impl BufRead,
    tally: &mut Tally,
    mut each: impl FnMut(&[String], u64, &mut Tally),
) -> Result<(), ImportError> {
    separated_rows(b',', name, input, tally, |fields, lines, tally| {
        each(fields, lines.0, tally);
        Ok(())
    })
}

/// Calls `header` with the first row and `each` with every other one that has as many fields, and its line number. Rows
/// with more or fewer fields are rejected. It fails if the last row is one of them, because then the file is cut off,
/// or if one has several lines, because then a quotation mark is not closed and whole rows are in it.
pub(super) fn rows_below_header<H>(
    separator: u8,
    name: &str,
    input: impl BufRead,
    tally: &mut Tally,
    header: impl FnOnce(&[String]) -> Result<H, ImportError>,
    mut each: impl FnMut(&mut H, &[String], u64, &mut Tally),
) -> Result<H, ImportError> {
    let mut header = Some(header);
    let mut head: Option<(H, usize)> = None;
    let mut cut_off = None;
    separated_rows(separator, name, input, tally, |fields, (first, last), tally| {
        if let Some(header) = header.take() {
            head = Some((header(fields)?, fields.len()));
            return Ok(());
        }
        let Some((head, columns)) = &mut head else {
            return Ok(());
        };
        cut_off = None;
        // Spreadsheet programs leave blank rows.
        if fields.iter().all(String::is_empty) {
            return Ok(());
        }
        if fields.len() == *columns {
            each(head, fields, first, tally);
            return Ok(());
        }
        let reason = format!("{} fields below a header of {columns}", fields.len());
        if last > first {
            let reason =
                format!("the row in lines {first} to {last} has {reason}: a quotation mark is not closed");
            return Err(tally.damaged(name, reason));
        }
        cut_off = Some(first);
        tally.rows += 1;
        tally.reject(first, reason);
        Ok(())
    })?;
    if let Some(line) = cut_off {
        let reason = format!("it breaks off in line {line}; download it again");
        return Err(tally.damaged(name, reason));
    }
    let head = head.map(|(head, _)| head);
    head.ok_or_else(|| ImportError::Empty(name.into()))
}

/// The error of a table without a column that its reader needs.
pub(super) fn lacks_column(name: &str, column: &str) -> ImportError {
    ImportError::Incomplete(format!(
        "{name} lacks the column {column}: import the file as its publisher offers it"
    ))
}

/// Calls `each` with every row and its first and last line.
fn separated_rows(
    separator: u8,
    name: &str,
    input: impl BufRead,
    tally: &mut Tally,
    mut each: impl FnMut(&[String], (u64, u64), &mut Tally) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let read = Rc::new(Cell::new(0));
    let mut reader = ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .from_reader(Bounded {
            inner: input,
            read: Rc::clone(&read),
        });
    let mut row = ByteRecord::new();
    let mut fields: Vec<String> = Vec::new();
    loop {
        match reader.read_byte_record(&mut row) {
            Ok(false) => return Ok(()),
            Ok(true) => read.set(0),
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
        // The reader stands after the row's line break.
        let last = reader.position().line().saturating_sub(1).max(line);
        each(&fields, (line, last), tally)?;
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

/// Fails after a megabyte without a new record, because an unclosed quote would otherwise swallow the file.
struct Bounded<R> {
    inner: R,
    /// The bytes that were read since the last record.
    read: Rc<Cell<usize>>,
}

impl<R: BufRead> std::io::Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = self.inner.read(buffer)?;
        self.read.set(self.read.get() + len);
        if self.read.get() > MAX_RECORD {
            return Err(std::io::Error::other(
                "a record of megabytes: a quotation mark is not closed",
            ));
        }
        Ok(len)
    }
}
