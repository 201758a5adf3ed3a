//! Rows of label files in any format. Each row is checked and becomes labels, or a reject with its reason.
//!
//! An address that cannot exist is rejected, never guessed, and no reason repeats it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{DEFAULT_CONFIDENCE, Label, taxonomy};
use crate::address::Address;
use crate::category::Category;
use crate::currency::Currency;
use crate::secret;

/// The number of rejects that are listed; further ones are only counted.
const REJECTS_TOLD: usize = 20;
/// The number of unknown categories that are listed.
const UNKNOWN_TOLD: usize = 100;
/// The longest name or source in characters; longer ones are cut.
const MAX_TEXT: usize = 200;

/// A label with its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRow {
    /// The chain.
    pub currency: Currency,
    /// The address in canonical form.
    pub address: String,
    /// The label.
    pub label: Label,
}

/// A row that cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reject {
    /// The row's number in the file, from 1.
    pub row: usize,
    /// The reason. It never contains the address, which may be a private key.
    pub reason: String,
}

/// The content of a label file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelImport {
    /// The valid rows.
    pub rows: Vec<LabelRow>,
    /// The number of rejected rows.
    pub rejected: usize,
    /// The first rejected rows.
    pub rejects: Vec<Reject>,
    /// Unknown words for categories, with the number of valid rows that have each. Only the first hundred are
    /// listed.
    pub unknown_categories: BTreeMap<String, usize>,
}

/// Why a file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// The file has an unknown format, or is broken as a whole.
    #[error("is no label file (TagPack YAML, CSV with a header, or JSON lines): {0}")]
    Form(String),
}

/// A row with the file's values.
#[derive(Debug, Default)]
pub(super) struct Raw<'a> {
    pub(super) chain: &'a str,
    pub(super) address: &'a str,
    pub(super) name: &'a str,
    /// Words for the category, in our or another taxonomy.
    pub(super) words: Vec<&'a str>,
    pub(super) source: &'a str,
    pub(super) confidence: Option<u8>,
    pub(super) valid_from: Option<i64>,
    pub(super) valid_to: Option<i64>,
}

impl LabelImport {
    pub(super) fn reject(&mut self, row: usize, reason: impl Into<String>) {
        self.rejected += 1;
        if self.rejects.len() < REJECTS_TOLD {
            let reason = reason.into();
            self.rejects.push(Reject { row, reason });
        }
    }

    pub(super) fn accept(&mut self, row: usize, raw: &Raw<'_>) {
        let address = match address(raw.chain, raw.address) {
            Ok(address) => address,
            Err(reason) => return self.reject(row, reason),
        };
        let texts = [("name", raw.name), ("source", raw.source)];
        let words = raw.words.iter().map(|word| ("category", *word));
        for (field, text) in texts.into_iter().chain(words) {
            if let Some(kind) = secret::find_in_free_text(text) {
                return self.reject(row, format!("{field} - {}", secret::refusal(kind)));
            }
        }
        let name = short(raw.name);
        if name.is_empty() {
            return self.reject(row, "no name");
        }
        if let (Some(from), Some(to)) = (raw.valid_from, raw.valid_to)
            && to < from
        {
            return self.reject(row, "valid_to - is before valid_from");
        }
        for word in &raw.words {
            self.note_unknown(word);
        }
        for category in taxonomy::categories(raw.words.iter().copied(), &name) {
            if category == Category::Unattributed {
                return self.reject(row, "the category says that nothing is known");
            }
            self.rows.push(LabelRow {
                currency: address.currency,
                address: address.canonical.clone(),
                label: Label {
                    name: name.clone(),
                    category,
                    source: short(raw.source),
                    confidence: raw.confidence.unwrap_or(DEFAULT_CONFIDENCE).min(100),
                    valid_from: raw.valid_from,
                    valid_to: raw.valid_to,
                    // A file is never an authority's list, even if it claims to be one.
                    authority: false,
                },
            });
        }
    }
}

impl LabelImport {
    fn note_unknown(&mut self, word: &str) {
        let word = short(word);
        if word.is_empty() || taxonomy::category(&word).is_some() {
            return;
        }
        let room = self.unknown_categories.len() < UNKNOWN_TOLD;
        match self.unknown_categories.get_mut(&word) {
            Some(rows) => *rows += 1,
            None if room => {
                self.unknown_categories.insert(word, 1);
            }
            None => {}
        }
    }
}

fn short(text: &str) -> String {
    text.trim()
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_TEXT)
        .collect()
}

/// The address on the named chain. For a token's name, the address's syntax determines the chain.
fn address(chain: &str, text: &str) -> Result<Address, String> {
    let text = text.trim();
    if taxonomy::is_token(chain) {
        return [Currency::Eth, Currency::Trx, Currency::Btc, Currency::Sol]
            .into_iter()
            .find_map(|currency| Address::parse(currency, text).ok())
            .ok_or_else(|| "address - is of no chain that the token lives on".to_owned());
    }
    let Some(currency) = taxonomy::chain(chain) else {
        let named = secret::code(chain.trim()).map_or(String::new(), |code| format!(": {code}"));
        return Err(format!("currency - not known here{named}"));
    };
    Address::parse(currency, text).map_err(|error| format!("address - {error}"))
}
