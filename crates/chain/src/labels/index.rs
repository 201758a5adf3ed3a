//! Stores half a million labels in little memory: each text once, rows of fixed size, and a hash table of row
//! numbers.

use std::collections::HashMap;
use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;
use sha2::{Digest as _, Sha256};

use super::{Label, Labels, gravest_first, is_valid_at};
use crate::category::Category;
use crate::currency::Currency;

/// Labels by chain and canonical address. The index is immutable, so threads can share it.
#[derive(Default)]
pub struct LabelIndex {
    /// All addresses, concatenated.
    addresses: String,
    /// Names and sources, each once.
    texts: Vec<Box<str>>,
    /// Sorted by chain and address, so that the labels of one address are adjacent.
    rows: Vec<Row>,
    /// The number of an address's first row plus one; 0 is an empty slot. The length is a power of two.
    table: Vec<u32>,
    version: String,
}

#[derive(Clone, Copy)]
struct Row {
    start: u32,
    name: u32,
    source: u32,
    length: u8,
    currency: Currency,
    category: Category,
    confidence: u8,
    authority: bool,
    /// `i64::MIN` and `i64::MAX` mean no bound.
    from: i64,
    to: i64,
}

impl LabelIndex {
    /// Builds the index. Its version is a hash of the rows, which are sorted by chain and address. Addresses
    /// of more than 255 bytes are left out.
    pub fn new(rows: impl IntoIterator<Item = (Currency, String, Label)>) -> LabelIndex {
        let mut rows: Vec<(Currency, String, Label)> = rows.into_iter().collect();
        rows.retain(|(_, address, _)| address.len() <= usize::from(u8::MAX));
        rows.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let mut index = LabelIndex::default();
        let mut known: HashMap<String, u32, FxBuildHasher> = HashMap::default();
        let mut hash = Sha256::new();
        let mut last: Option<(Currency, String, u32)> = None;
        for (currency, address, label) in rows {
            for text in [&address, &label.name, &label.source] {
                hash.update((text.len() as u64).to_le_bytes());
                hash.update(text.as_bytes());
            }
            let (from, to) = (
                label.valid_from.unwrap_or(i64::MIN),
                label.valid_to.unwrap_or(i64::MAX),
            );
            hash.update([
                currency as u8,
                label.category as u8,
                label.confidence,
                u8::from(label.authority),
            ]);
            hash.update(from.to_le_bytes());
            hash.update(to.to_le_bytes());
            let length = address.len() as u8;
            let start = match &last {
                Some((c, a, start)) if *c == currency && *a == address => *start,
                _ => {
                    let start = index.addresses.len() as u32;
                    index.addresses.push_str(&address);
                    last = Some((currency, address, start));
                    start
                }
            };
            let mut intern = |text: String| match known.get(&text) {
                Some(id) => *id,
                None => {
                    let id = index.texts.len() as u32;
                    index.texts.push(text.as_str().into());
                    known.insert(text, id);
                    id
                }
            };
            let (name, source) = (intern(label.name), intern(label.source));
            index.rows.push(Row {
                start,
                name,
                source,
                length,
                currency,
                category: label.category,
                confidence: label.confidence,
                authority: label.authority,
                from,
                to,
            });
        }
        index.version = hex::encode(&hash.finalize()[..6]);
        index.addresses.shrink_to_fit();
        index.rows.shrink_to_fit();
        index.texts.shrink_to_fit();
        index.fill_table();
        index
    }

    fn fill_table(&mut self) {
        let size = (self.rows.len() * 2).next_power_of_two().max(2);
        let mut table = vec![0_u32; size];
        let mut before = None;
        for (at, row) in self.rows.iter().enumerate() {
            if before == Some(row.start) {
                continue;
            }
            before = Some(row.start);
            let mut place = place(row.currency, self.address(row), size);
            while table[place] != 0 {
                place = (place + 1) & (size - 1);
            }
            table[place] = at as u32 + 1;
        }
        self.table = table;
    }

    fn address(&self, row: &Row) -> &str {
        let start = row.start as usize;
        &self.addresses[start..start + usize::from(row.length)]
    }

    fn rows(&self, chain: Currency, address: &str) -> &[Row] {
        if self.table.is_empty() {
            return &[];
        }
        let mut place = place(chain, address, self.table.len());
        loop {
            let Some(first) = (self.table[place] as usize).checked_sub(1) else {
                return &[];
            };
            let row = &self.rows[first];
            if row.currency == chain && self.address(row) == address {
                let same = self.rows[first..]
                    .iter()
                    .take_while(|r| r.start == row.start)
                    .count();
                return &self.rows[first..first + same];
            }
            place = (place + 1) & (self.table.len() - 1);
        }
    }

    fn label(&self, row: &Row) -> Label {
        Label {
            name: self.texts[row.name as usize].to_string(),
            category: row.category,
            source: self.texts[row.source as usize].to_string(),
            confidence: row.confidence,
            valid_from: (row.from != i64::MIN).then_some(row.from),
            valid_to: (row.to != i64::MAX).then_some(row.to),
            authority: row.authority,
        }
    }

    /// Whether an address has any label that is valid at a time.
    pub fn contains(&self, chain: Currency, address: &str, at: i64) -> bool {
        self.rows(chain, address).iter().any(|row| row.is_valid_at(at))
    }

    /// The number of labels, including ended ones.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The index's memory in bytes.
    pub fn bytes(&self) -> usize {
        let texts: usize = self
            .texts
            .iter()
            .map(|text| text.len() + size_of::<Box<str>>())
            .sum();
        self.addresses.capacity()
            + texts
            + self.rows.capacity() * size_of::<Row>()
            + self.table.capacity() * size_of::<u32>()
    }
}

impl Row {
    fn is_valid_at(&self, at: i64) -> bool {
        let bound = |value: i64, none: i64| (value != none).then_some(value);
        is_valid_at(bound(self.from, i64::MIN), bound(self.to, i64::MAX), at)
    }
}

impl Labels for LabelIndex {
    fn labels(&self, chain: Currency, address: &str, at: i64) -> Vec<Label> {
        let mut labels: Vec<Label> = self
            .rows(chain, address)
            .iter()
            .filter(|row| row.is_valid_at(at))
            .map(|row| self.label(row))
            .collect();
        gravest_first(&mut labels);
        labels
    }

    fn version(&self) -> String {
        self.version.clone()
    }
}

fn place(currency: Currency, address: &str, size: usize) -> usize {
    FxBuildHasher.hash_one((currency as u8, address)) as usize & (size - 1)
}
