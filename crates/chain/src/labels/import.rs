//! Label files: TagPack YAML, CSV, and JSON lines; which one it is, its first characters say.
//!
//! An address that cannot exist is rejected with its place in the file and the reason, never guessed; the rest counts.

use std::collections::BTreeMap;
use std::io::Read;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::{DEFAULT_CONFIDENCE, Label, tagpack, taxonomy};
use crate::address::Address;
use crate::category::Category;
use crate::currency::Currency;
use crate::secret;

/// The largest label file that is read.
const MAX_FILE: u64 = 512 * 1024 * 1024;
/// How many rejects are told apart; more are only counted.
const REJECTS_TOLD: usize = 20;
/// How many unknown categories are told apart.
const UNKNOWN_TOLD: usize = 100;
/// The longest name or source that is kept.
const MAX_TEXT: usize = 200;

/// One label and the address that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRow {
    /// The chain.
    pub currency: Currency,
    /// The address, canonical.
    pub address: String,
    /// What is said.
    pub label: Label,
}

/// A row that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reject {
    /// Which row of the file, from 1.
    pub row: usize,
    /// Why. Never the address itself, which may be a private key.
    pub reason: String,
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The readable rows.
    pub rows: Vec<LabelRow>,
    /// How many were not.
    pub rejected: usize,
    /// Some of them.
    pub rejects: Vec<Reject>,
    /// Words for categories that mean nothing here, and how many readable rows have each; the first hundred of them.
    pub unknown_categories: BTreeMap<String, usize>,
}

/// Why a file is no label file.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// It is of none of the known forms, or broken as a whole.
    #[error("is no label file (TagPack YAML, CSV with a header, or JSON lines): {0}")]
    Form(String),
}

/// A row as a file gives it.
#[derive(Debug, Default)]
pub(super) struct Raw<'a> {
    pub(super) chain: &'a str,
    pub(super) address: &'a str,
    pub(super) name: &'a str,
    /// Words for what it is, in our or another taxonomy.
    pub(super) words: Vec<&'a str>,
    pub(super) source: &'a str,
    pub(super) confidence: Option<u8>,
    pub(super) valid_from: Option<i64>,
    pub(super) valid_to: Option<i64>,
}

impl Imported {
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
            if let Some(kind) = secret::within(text) {
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
                    // A file is no authority's list, whatever it says of itself.
                    authority: false,
                },
            });
        }
    }
}

impl Imported {
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

/// The address, on the chain that is named or, for a token, where its syntax says.
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

/// Reads a label file.
///
/// # Errors
/// [`ImportError`] when nothing of it can be used; single bad rows are rejects.
pub fn read(input: impl Read) -> Result<Imported, ImportError> {
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

/// A column or member, under the names that files use for it.
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

impl Imported {
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

fn json_lines(text: &str) -> Imported {
    let mut imported = Imported::default();
    for (row, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str::<Line<'_>>(line) {
            Ok(line) => imported.line(row, &line),
            // serde_json's texts may quote what they stumbled over.
            Err(error) => imported.reject(row, format!("not a label (column {})", error.column())),
        }
    }
    imported
}

fn table(text: &str) -> Result<Imported, ImportError> {
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
    let mut imported = Imported::default();
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

/// Milliseconds since 1970 of a day (its beginning, UTC) or an instant.
///
/// # Errors
/// When it is neither.
pub fn time(text: &str) -> Result<i64, jiff::Error> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at.as_millisecond());
    }
    let date: Date = text.parse()?;
    Ok(date.to_zoned(TimeZone::UTC)?.timestamp().as_millisecond())
}
