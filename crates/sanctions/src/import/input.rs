//! Input of all list readers: files that are hashed while they are read, lines of bounded length, and a count
//! of rejects.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};

use sha2::{Digest, Sha256};

use super::list::{ImportError, ListFormat, Reject, Use, ValueCount};

/// Maximum number of rejects stored with line and reason; the rest are only counted.
const MAX_REJECTS: usize = 200;

/// Maximum size in bytes of a line or XML event in memory.
pub(super) const MAX_RECORD: usize = 4 << 20;

/// Maximum number of names of values that are counted. Lists have about a hundred.
const MAX_NAMES: usize = 1_000;

/// Counts rows and values, and stores the first rejects.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) rows: u64,
    pub(crate) rejected: u64,
    pub(super) rejects: Vec<Reject>,
    values: BTreeMap<(String, Use), u64>,
}

impl Tally {
    /// Counts a value by its element or column, its attribute (or an empty text), and what became of it. Empty values
    /// count as nothing.
    pub(super) fn value(&mut self, element: &str, attribute: &str, value: &str, used: Use) {
        if value.is_empty() {
            return;
        }
        let name = match attribute {
            "" => element.to_owned(),
            attribute => format!("{element}@{attribute}"),
        };
        let key = (name, used);
        if self.values.len() < MAX_NAMES || self.values.contains_key(&key) {
            *self.values.entry(key).or_default() += 1;
        }
    }

    /// The error of an XML list that cannot be read further, near the record that was read last.
    pub(super) fn damaged(&self, name: &str, reason: String) -> ImportError {
        ImportError::Damaged {
            name: name.into(),
            record: self.rows,
            reason,
        }
    }

    /// The counts, by name.
    pub(super) fn values(&self) -> Vec<ValueCount> {
        let count = |((name, used), count): (&(String, Use), &u64)| ValueCount {
            name: name.clone(),
            used: *used,
            count: *count,
        };
        self.values.iter().map(count).collect()
    }

    pub(crate) fn reject(&mut self, line: u64, reason: impl Into<String>) {
        self.rejected += 1;
        if self.rejects.len() < MAX_REJECTS {
            self.rejects.push(Reject {
                line,
                reason: reason.into(),
            });
        }
    }
}

/// Computes the SHA-256 of everything read through it.
pub(super) struct Hashing<R> {
    inner: R,
    hash: Sha256,
}

impl<R> Hashing<R> {
    /// Reads from `inner`, starting with an empty hash.
    pub(super) fn new(inner: R) -> Hashing<R> {
        Hashing {
            inner,
            hash: Sha256::new(),
        }
    }

    /// The SHA-256 in hexadecimal.
    pub(super) fn finish(self) -> String {
        hex::encode(self.hash.finalize())
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = self.inner.read(buffer)?;
        self.hash.update(&buffer[..len]);
        Ok(len)
    }
}

/// A file while it is read.
pub(super) type Input = BufReader<Hashing<std::io::Take<Box<dyn Read>>>>;

/// The format of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    OfacXml,
    UnXml,
    EuXml,
    EuCsv,
    AuXlsx,
    CslCsv,
    UkXml,
    UkCsv,
    ChXml,
    CaXml,
    Ftm,
    FtmDelta,
    SimpleCsv,
    OfacPrimary,
    OfacAliases,
    OfacAddresses,
    OfacComments,
}

impl FileKind {
    pub(super) fn format(self) -> ListFormat {
        match self {
            FileKind::OfacXml => ListFormat::OfacAdvancedXml,
            FileKind::UnXml => ListFormat::UnXml,
            FileKind::EuXml => ListFormat::EuXml,
            FileKind::EuCsv => ListFormat::EuCsv,
            FileKind::AuXlsx => ListFormat::AuXlsx,
            FileKind::CslCsv => ListFormat::CslCsv,
            FileKind::UkXml => ListFormat::UkXml,
            FileKind::UkCsv => ListFormat::UkCsv,
            FileKind::ChXml => ListFormat::ChXml,
            FileKind::CaXml => ListFormat::CaXml,
            FileKind::Ftm => ListFormat::FollowTheMoney,
            FileKind::FtmDelta => ListFormat::FollowTheMoneyDelta,
            FileKind::SimpleCsv => ListFormat::SimpleCsv,
            _ => ListFormat::OfacCsv,
        }
    }
}

/// Reads one line of at most [`MAX_RECORD`] bytes; `false` at the end. The content of a longer line becomes
/// `!`.
pub(crate) fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    let mut any = false;
    let mut too_long = false;
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            break;
        }
        any = true;
        let end = buffer.iter().position(|b| *b == b'\n');
        let take = end.map_or(buffer.len(), |e| e + 1);
        too_long |= line.len() + take > MAX_RECORD;
        if !too_long {
            line.extend_from_slice(&buffer[..take]);
        }
        input.consume(take);
        if end.is_some() {
            break;
        }
    }
    if too_long {
        line.clear();
        line.extend_from_slice(b"!");
    }
    Ok(any)
}
