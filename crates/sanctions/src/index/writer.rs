//! Writes an index from its first to its last byte. It knows no section's content.

use std::io::{self, Write};

use zerocopy::IntoBytes as _;
use zerocopy::little_endian::{U32, U64};

use super::{BLOCK, Footer, MAGIC, SECTIONS, Section};

/// Writes the sections one after the other.
pub(crate) struct IndexWriter<W> {
    out: W,
    /// Bytes written.
    len: u64,
    sections: [[U64; 2]; SECTIONS],
    sums: Vec<U32>,
    block: crc32fast::Hasher,
}

impl<W: Write> IndexWriter<W> {
    pub(crate) fn new(out: W) -> IndexWriter<W> {
        IndexWriter {
            out,
            len: 0,
            sections: [[U64::ZERO; 2]; SECTIONS],
            sums: Vec::new(),
            block: crc32fast::Hasher::new(),
        }
    }

    /// Begins a section at a multiple of 64 bytes. What is written until the next begins belongs to it.
    pub(crate) fn begin(&mut self, section: Section) -> io::Result<()> {
        let padding = self.len.next_multiple_of(64) - self.len;
        self.put(&[0; 64][..padding as usize])?;
        self.sections[section as usize] = [self.len.into(), U64::ZERO];
        Ok(())
    }

    /// Adds to the section that began last. Returns the length that the section had before.
    pub(crate) fn add(&mut self, section: Section, bytes: &[u8]) -> io::Result<u64> {
        let [_, len] = &mut self.sections[section as usize];
        let before = len.get();
        *len = (before + bytes.len() as u64).into();
        self.put(bytes)?;
        Ok(before)
    }

    /// Writes a whole section.
    pub(crate) fn section(&mut self, section: Section, bytes: &[u8]) -> io::Result<()> {
        self.begin(section)?;
        self.add(section, bytes)?;
        Ok(())
    }

    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        while !bytes.is_empty() {
            let left = BLOCK - (self.len % BLOCK as u64) as usize;
            let (now, rest) = bytes.split_at(left.min(bytes.len()));
            self.block.update(now);
            self.len += now.len() as u64;
            if self.len.is_multiple_of(BLOCK as u64) {
                self.end_block();
            }
            bytes = rest;
        }
        Ok(())
    }

    fn end_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        self.sums.push(block.finalize().into());
    }

    /// Writes the checksums and the footer.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        if !self.len.is_multiple_of(BLOCK as u64) {
            self.end_block();
        }
        let mut footer = Footer {
            sections: self.sections,
            sums: self.len.into(),
            sums_sum: crc32fast::hash(self.sums.as_bytes()).into(),
            sum: U32::ZERO,
            magic: MAGIC,
        };
        footer.sum = crc32fast::hash(&footer.as_bytes()[..size_of::<Footer>() - 20]).into();
        self.out.write_all(self.sums.as_bytes())?;
        self.out.write_all(footer.as_bytes())?;
        Ok(self.out)
    }
}
