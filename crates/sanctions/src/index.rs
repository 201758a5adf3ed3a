//! The file that holds an index: sections of bytes with a checksum for each block, written once and never changed.
//!
//! It is read in place, from memory or mapped from a disk. A block is checked when it is first read; a page that the
//! system drops and reads from the disk again is not checked again. A section that ends too early, a wrong checksum or a file that changed meanwhile makes the index damaged, and reads then give nothing.
//! So whoever searches asks [`IndexFile::check`] afterwards: only then is an answer whole. What the sections mean is
//! known by their readers alone.

mod table;
mod writer;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mapped_file::MappedFile;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

pub(crate) use self::table::{TableBuilder, values};
pub(crate) use self::writer::IndexWriter;

/// The version of the layout. It is part of every file's beginning.
const MAGIC: [u8; 16] = *b"BONAFIDE-INDEX-4";

/// The bytes that one checksum covers.
const BLOCK: usize = 1 << 14;

/// The parts of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// What is needed to open it: lists, sets of texts, kinds of tokens.
    Head,
    /// What only the hits of a search show.
    Details,
    /// One record for each entity.
    Entities,
    /// What a score needs of an entity beside its names.
    Facts,
    /// The distinct names' tokens.
    Names,
    /// The entities of each distinct name.
    Bearers,
    /// One record for each word.
    Words,
    /// The shape of each word.
    Shapes,
    /// The words' texts.
    Texts,
    /// The names of each word.
    Postings,
    /// The first word of each skeleton.
    Skeletons,
    /// Entities with wallets of sanctioned subjects.
    Wallets,
    /// Words by text.
    ByText,
    /// Skeletons by their letters.
    BySkeleton,
    /// Skeletons by their letters with one difference.
    ByPattern,
    /// Names by acronym.
    ByAcronym,
    /// Entities by weak alias.
    ByWeakAlias,
    /// Entities by number.
    ByIdentifier,
    /// Entities by wallet.
    ByWallet,
    /// Entities by id.
    ById,
    /// The names as OFAC's search compares them, in the order of their entities.
    WrittenNames,
    /// The texts of these names.
    WrittenTexts,
}

const SECTIONS: usize = Section::WrittenTexts as usize + 1;

/// The last bytes of a file.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Footer {
    /// First byte and length of each section.
    sections: [[U64; 2]; SECTIONS],
    /// First byte of the blocks' checksums, which end where the footer begins.
    sums: U64,
    /// The checksum of the blocks' checksums.
    sums_sum: U32,
    /// The checksum of the footer up to here.
    sum: U32,
    magic: [u8; 16],
}

/// The index cannot be used: its file is cut, changed or damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the index of the sanctions lists is damaged, and is built again when the lists are loaded next")]
pub struct IndexDamaged;

/// The bytes of an index.
enum Bytes {
    Memory(Vec<u8>),
    /// A file, and where it was.
    Mapped(MappedFile, PathBuf),
}

/// An index, opened.
pub(crate) struct IndexFile {
    bytes: Bytes,
    sections: [Range<usize>; SECTIONS],
    sums: Range<usize>,
    /// One bit for each block that was checked.
    checked: Box<[AtomicU64]>,
    damaged: AtomicBool,
}

impl IndexFile {
    /// Opens an index in memory.
    pub(crate) fn in_memory(bytes: Vec<u8>) -> Result<IndexFile, IndexDamaged> {
        IndexFile::open(Bytes::Memory(bytes))
    }

    /// Maps the file of an index. A damaged one is invalid data.
    pub(crate) fn mapped(path: &Path) -> io::Result<IndexFile> {
        let mapped = MappedFile::open(File::open(path)?)?;
        let damaged = |damage| io::Error::new(io::ErrorKind::InvalidData, damage);
        IndexFile::open(Bytes::Mapped(mapped, path.to_owned())).map_err(damaged)
    }

    fn open(bytes: Bytes) -> Result<IndexFile, IndexDamaged> {
        let all: &[u8] = match &bytes {
            Bytes::Memory(bytes) => bytes,
            Bytes::Mapped(file, _) => file,
        };
        let (_, footer) = Footer::ref_from_suffix(all).map_err(|_| IndexDamaged)?;
        let (footed, _) = footer.as_bytes().split_at(size_of::<Footer>() - 20);
        let end = all.len() - size_of::<Footer>();
        let at = |place: U64| usize::try_from(place.get()).map_err(|_| IndexDamaged);
        let sums = at(footer.sums)?..end;
        let blocks = sums.start.div_ceil(BLOCK);
        let is_whole = footer.magic == MAGIC
            && crc32fast::hash(footed) == footer.sum.get()
            && sums.start <= end
            && sums.len() == 4 * blocks
            && all
                .get(sums.clone())
                .is_some_and(|sums| crc32fast::hash(sums) == footer.sums_sum.get());
        if !is_whole {
            return Err(IndexDamaged);
        }
        let mut sections: [Range<usize>; SECTIONS] = [const { 0..0 }; SECTIONS];
        for (section, [start, len]) in sections.iter_mut().zip(&footer.sections) {
            let (start, len) = (at(*start)?, at(*len)?);
            *section = start
                ..start
                    .checked_add(len)
                    .filter(|end| *end <= sums.start)
                    .ok_or(IndexDamaged)?;
        }
        Ok(IndexFile {
            sections,
            sums,
            checked: (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            damaged: AtomicBool::new(false),
            bytes,
        })
    }

    /// Whether all that was read so far is as it was written. A damaged file is deleted, so that whoever opens the index
    /// next builds it again.
    pub(crate) fn check(&self) -> Result<(), IndexDamaged> {
        let Bytes::Mapped(file, path) = &self.bytes else {
            return if self.damaged.load(Ordering::Relaxed) {
                Err(IndexDamaged)
            } else {
                Ok(())
            };
        };
        if file.is_intact() && !self.damaged.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.damage();
        if file.is_at(path) {
            // If it stays, the next one to open it finds it damaged too.
            let _ = std::fs::remove_file(path);
        }
        Err(IndexDamaged)
    }

    /// Checks every block.
    pub(crate) fn check_whole(&self) -> Result<(), IndexDamaged> {
        for start in (0..self.sums.start).step_by(BLOCK) {
            let _ = self.bytes(start..(start + BLOCK).min(self.sums.start));
        }
        self.check()
    }

    /// Bytes of a section, by their place in it; none if the index is damaged.
    pub(crate) fn read(&self, section: Section, range: Range<usize>) -> &[u8] {
        let Range { start, end } = self.sections[section as usize];
        let range = start.saturating_add(range.start)..start.saturating_add(range.end);
        if range.start > range.end || range.end > end {
            return self.damage();
        }
        self.bytes(range)
    }

    /// The bytes of a whole section.
    pub(crate) fn whole(&self, section: Section) -> &[u8] {
        self.bytes(self.sections[section as usize].clone())
    }

    /// A section's length in bytes.
    pub(crate) fn len(&self, section: Section) -> usize {
        self.sections[section as usize].len()
    }

    /// How many records a section has.
    pub(crate) fn count<T>(&self, section: Section) -> usize {
        self.len(section) / size_of::<T>()
    }

    /// One record of a section of records; none if the index is damaged.
    pub(crate) fn record<T>(&self, section: Section, at: usize) -> Option<&T>
    where
        T: FromBytes + KnownLayout + Immutable + Unaligned,
    {
        T::ref_from_bytes(self.read(section, at * size_of::<T>()..(at + 1) * size_of::<T>())).ok()
    }

    /// Consecutive records of a section of records; none if the index is damaged.
    pub(crate) fn records<T>(&self, section: Section, range: Range<usize>) -> &[T]
    where
        T: FromBytes + KnownLayout + Immutable + Unaligned,
    {
        let bytes = self.read(section, range.start * size_of::<T>()..range.end * size_of::<T>());
        <[T]>::ref_from_bytes(bytes).unwrap_or_default()
    }

    /// Makes the index damaged: what it says contradicts itself.
    pub(crate) fn damage(&self) -> &'static [u8] {
        self.damaged.store(true, Ordering::Relaxed);
        &[]
    }

    fn all(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Memory(bytes) => bytes,
            Bytes::Mapped(file, _) => file,
        }
    }

    /// Bytes of the file, after their blocks were checked.
    fn bytes(&self, range: Range<usize>) -> &[u8] {
        let blocks = range.start / BLOCK..range.end.div_ceil(BLOCK);
        for block in blocks {
            let checked = self
                .checked
                .get(block / 64)
                .map_or(0, |bits| bits.load(Ordering::Relaxed));
            if checked >> (block % 64) & 1 == 0 && !self.check_block(block) {
                return self.damage();
            }
        }
        self.all().get(range).unwrap_or_else(|| self.damage())
    }

    #[cold]
    fn check_block(&self, block: usize) -> bool {
        let all = self.all();
        let end = ((block + 1) * BLOCK).min(self.sums.start);
        let place = self.sums.start + 4 * block;
        let (Some(bytes), Some(sum)) = (all.get(block * BLOCK..end), all.get(place..place + 4)) else {
            return false;
        };
        let is_right = crc32fast::hash(bytes).to_le_bytes() == sum;
        if let Some(bits) = self.checked.get(block / 64).filter(|_| is_right) {
            bits.fetch_or(1 << (block % 64), Ordering::Relaxed);
        }
        is_right
    }
}

#[cfg(test)]
#[path = "index/tests.rs"]
mod tests;
