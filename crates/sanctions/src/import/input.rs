//! Input of all list readers: files that are hashed while they are read, lines of bounded length, and a count
//! of rejects.

use std::io::{BufRead, BufReader, Read};

use sha2::{Digest, Sha256};

use super::list::{ListFormat, Reject};

/// Maximum number of rejects stored with line and reason; the rest are only counted.
const MAX_REJECTS: usize = 200;

/// Maximum size in bytes of a line or XML event in memory.
pub(super) const MAX_RECORD: usize = 4 << 20;

/// Counts rows and stores the first rejects.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) rows: u64,
    pub(crate) rejected: u64,
    pub(super) rejects: Vec<Reject>,
}

impl Tally {
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
    Ftm,
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
            FileKind::Ftm => ListFormat::FollowTheMoney,
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
