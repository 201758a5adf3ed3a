//! Tables of numbers by key in an index: a key is a hash of 64 bits, of which 32 are stored and the first choose a
//! bucket. Two keys may be confused once in four billion cases. That adds a candidate, which is then scored like any.

use std::io::{self, Write};

use xxhash_rust::xxh3::xxh3_64;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{IndexFile, IndexWriter, Section};

/// The number of keys in a bucket, on average at most.
const PER_BUCKET: usize = 4;

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Entry {
    /// The last half of the key's hash.
    hash: U32,
    value: U32,
}

/// Collects the values of keys.
#[derive(Default)]
pub(crate) struct TableBuilder(Vec<(u64, u32)>);

impl TableBuilder {
    /// Adds a value of a key. A key may have many.
    pub(crate) fn add(&mut self, key: &str, value: u32) {
        self.0.push((xxh3_64(key.as_bytes()), value));
    }

    /// Writes the table: the exponent of the number of buckets, where each begins, and the entries.
    pub(crate) fn write<W: Write>(mut self, section: Section, to: &mut IndexWriter<W>) -> io::Result<()> {
        self.0.sort_unstable();
        self.0.dedup();
        let exponent = (self.0.len() / PER_BUCKET).next_power_of_two().trailing_zeros();
        let mut starts: Vec<U32> = vec![exponent.into()];
        let mut entries = self
            .0
            .iter()
            .map(|(hash, _)| bucket(*hash, exponent))
            .enumerate()
            .peekable();
        for at in 0..1_usize << exponent {
            while entries.next_if(|(_, bucket)| *bucket < at).is_some() {}
            let start = entries.peek().map_or(self.0.len(), |(place, _)| *place);
            starts.push((start as u32).into());
        }
        starts.push((self.0.len() as u32).into());
        to.begin(section)?;
        to.add(section, starts.as_bytes())?;
        let entry = |(hash, value): &(u64, u32)| Entry {
            hash: (*hash as u32).into(),
            value: (*value).into(),
        };
        for part in self.0.chunks(4096) {
            let part: Vec<Entry> = part.iter().map(entry).collect();
            to.add(section, part.as_bytes())?;
        }
        Ok(())
    }
}

fn bucket(hash: u64, exponent: u32) -> usize {
    hash.checked_shr(64 - exponent).unwrap_or(0) as usize
}

/// The values of a key in a table, in ascending order.
pub(crate) fn values<'a>(
    file: &'a IndexFile,
    section: Section,
    key: &str,
) -> impl Iterator<Item = u32> + use<'a> {
    let hash = xxh3_64(key.as_bytes());
    let exponent = file
        .record::<U32>(section, 0)
        .map_or(0, |exponent| exponent.get().min(31));
    let at = 1 + bucket(hash, exponent);
    let range = match file.records::<U32>(section, at..at + 2) {
        [start, end] => start.get() as usize..end.get() as usize,
        _ => 0..0,
    };
    // The entries follow the starts, and an entry is as long as two of them.
    let first = 4 * ((1 << exponent) + 2);
    let bytes = file.read(section, first + 8 * range.start..first + 8 * range.end);
    let entries = <[Entry]>::ref_from_bytes(bytes).unwrap_or_default();
    let of_key = entries
        .iter()
        .filter(move |entry| entry.hash.get() == hash as u32);
    of_key.map(|entry| entry.value.get())
}
