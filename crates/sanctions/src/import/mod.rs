//! Reads the authorities' lists from whole files in bounded memory: OFAC's advanced XML and legacy CSV, the consolidated
//! XML of the United Nations, the European Union, Switzerland and Canada, the European Union's CSV, the UK Sanctions List
//! as XML and CSV, Australia's workbook, the United States' Consolidated Screening List, and OpenSanctions' FollowTheMoney
//! lines, nested or not, their deltas, and `targets.simple.csv`.
//!
//! A bad row is counted and reported with its line; its content is never guessed. Nothing here changes the
//! active lists: [`check_guards`] decides whether a list may become active, and [`crate::store`] activates
//! it.

mod au_xlsx;
mod ca_xml;
mod ch_xml;
mod csl_csv;
mod csv_kind;
mod csv_tables;
mod dates;
mod eu_csv;
mod eu_xml;
mod ftm;
mod ftm_delta;
mod ftm_nested;
mod ftm_properties;
mod input;
mod list;
mod ofac_csv;
mod ofac_xml;
mod record;
mod simple_csv;
mod slug;
mod uk;
mod un_xml;
mod xlsx;
mod xml;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::changes::{ChangeKind, changes};
use crate::freshness::Stale;

pub(crate) use ftm_properties::{entity_of_properties, take_property};
pub(crate) use input::read_line;
use input::{FileKind, Hashing, Input, Tally};
pub use list::{ImportError, List, ListFormat, Reject, Use, ValueCount};

/// Largest file in bytes: OFAC's advanced XML has 121 MB, OpenSanctions' default collection about 4 GB.
const MAX_BYTES: u64 = 8 << 30;
/// The differences from the previous version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// The previous version.
    pub from: String,
    /// Entities that are new.
    pub added: usize,
    /// Entities whose data changed.
    pub changed: usize,
    /// Entities that are no longer listed.
    pub removed: usize,
}

impl Diff {
    /// Compares two versions of a list by entity id.
    pub fn between(before: &List, after: &List) -> Diff {
        let changes = changes(&before.entities, &after.entities);
        let count = |kind: ChangeKind| changes.iter().filter(|change| change.kind == kind).count();
        Diff {
            from: before.version.clone(),
            added: count(ChangeKind::Added),
            changed: count(ChangeKind::Changed),
            removed: count(ChangeKind::Removed),
        }
    }
}

/// The report of an import.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    /// The list's name.
    pub list: String,
    /// The list's version.
    pub version: String,
    /// The format that was read.
    pub format: ListFormat,
    /// Number of records of subjects in the files.
    pub rows: u64,
    /// Number of entities made from them.
    pub entities: usize,
    /// Number of rows that could not be used.
    pub rejected: u64,
    /// The first rejects, with line and reason.
    pub rejects: Vec<Reject>,
    /// What became of each kind of value, for formats whose readers count them.
    pub values: Vec<ValueCount>,
    /// SHA-256 of each file by file name.
    pub sha256: BTreeMap<String, String>,
    /// Differences from the previous version, if the store has one.
    pub diff: Option<Diff>,
    /// SHA-256 of the entities, set when the store has written them.
    pub digest: String,
    /// How many times in a row an import found the version that was already active, set by the store.
    pub unchanged: u32,
}

/// A file to import.
pub struct Source {
    /// The file name, for messages and to distinguish OFAC's two lists.
    pub name: String,
    reader: Box<dyn Read>,
}

impl Source {
    /// A file that is read from any reader.
    pub fn new(name: impl Into<String>, reader: impl Read + 'static) -> Source {
        Source {
            name: name.into(),
            reader: Box::new(reader),
        }
    }

    /// Opens a file.
    pub fn open(path: &Path) -> Result<Source, ImportError> {
        let name = path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned();
        match std::fs::File::open(path) {
            Ok(file) => Ok(Source::new(name, file)),
            Err(source) => Err(ImportError::Read { name, source }),
        }
    }
}

/// Imports one list from its files; only OFAC's CSV has several. Without `format`, the content determines the
/// format. A delta is refused, because no list is in use here.
pub fn import(sources: Vec<Source>, format: Option<ListFormat>) -> Result<(List, ImportReport), ImportError> {
    import_onto(sources, format, |_| None)
}

/// Imports like [`import`]. `base` returns the list in use of a name, which a delta changes.
pub(crate) fn import_onto(
    sources: Vec<Source>,
    format: Option<ListFormat>,
    base: impl FnOnce(&str) -> Option<List>,
) -> Result<(List, ImportReport), ImportError> {
    let mut inputs: Vec<(String, FileKind, Input)> = Vec::with_capacity(sources.len());
    for source in sources {
        let hashing = Hashing::new(source.reader.take(MAX_BYTES));
        let mut input = BufReader::with_capacity(1 << 16, hashing);
        let kind = sniff(&mut input).map_err(|e| ImportError::Read {
            name: source.name.clone(),
            source: e,
        })?;
        let kind = match (kind, format) {
            (Some(kind), None) => kind,
            (Some(kind), Some(format)) if kind.format() == format => kind,
            (_, Some(ListFormat::FollowTheMoney)) => FileKind::Ftm,
            (_, Some(ListFormat::FollowTheMoneyDelta)) => FileKind::FtmDelta,
            (_, Some(ListFormat::UnXml)) => FileKind::UnXml,
            (_, Some(ListFormat::OfacAdvancedXml)) => FileKind::OfacXml,
            (_, Some(ListFormat::EuXml)) => FileKind::EuXml,
            (_, Some(ListFormat::EuCsv)) => FileKind::EuCsv,
            (_, Some(ListFormat::AuXlsx)) => FileKind::AuXlsx,
            (_, Some(ListFormat::CslCsv)) => FileKind::CslCsv,
            (_, Some(ListFormat::UkXml)) => FileKind::UkXml,
            (_, Some(ListFormat::UkCsv)) => FileKind::UkCsv,
            (_, Some(ListFormat::ChXml)) => FileKind::ChXml,
            (_, Some(ListFormat::CaXml)) => FileKind::CaXml,
            _ => {
                let name = source.name;
                return Err(match other_file(input.buffer()) {
                    Some(what) => ImportError::OtherFile { name, what },
                    None => ImportError::UnknownFormat(name),
                });
            }
        };
        inputs.push((source.name, kind, input));
    }
    let Some((name, kind, _)) = inputs.first() else {
        return Err(ImportError::Incomplete("no file was given".into()));
    };
    let (name, format) = (name.clone(), kind.format());
    if inputs.iter().any(|(_, k, _)| k.format() != format)
        || (inputs.len() > 1 && format != ListFormat::OfacCsv)
    {
        return Err(ImportError::Incomplete("the files are not one list".into()));
    }
    let mut tally = Tally::default();
    let mut list = match format {
        ListFormat::OfacCsv => ofac_csv::read(&mut inputs, &mut tally)?,
        _ => {
            let input = &mut inputs[0].2;
            match format {
                ListFormat::OfacAdvancedXml => ofac_xml::read(&name, input, &mut tally)?,
                ListFormat::UnXml => un_xml::read(&name, input, &mut tally)?,
                ListFormat::EuXml => eu_xml::read(&name, input, &mut tally)?,
                ListFormat::EuCsv => eu_csv::read(&name, input, &mut tally)?,
                ListFormat::AuXlsx => au_xlsx::read(&name, input, &mut tally)?,
                ListFormat::CslCsv => csl_csv::read(&name, input, &mut tally)?,
                ListFormat::UkXml => uk::read_xml(&name, input, &mut tally)?,
                ListFormat::UkCsv => uk::read_csv(&name, input, &mut tally)?,
                ListFormat::ChXml => ch_xml::read(&name, input, &mut tally)?,
                ListFormat::CaXml => ca_xml::read(&name, input, &mut tally)?,
                ListFormat::FollowTheMoney => ftm::read(&name, input, &mut tally)?,
                ListFormat::FollowTheMoneyDelta => ftm_delta::read(&name, input, &mut tally, base)?,
                _ => simple_csv::read(&name, input, &mut tally)?,
            }
        }
    };
    if list.entities.is_empty() {
        return Err(ImportError::Empty(name));
    }
    for entity in &mut list.entities {
        entity.settle();
    }
    let mut sha256 = BTreeMap::new();
    for (name, _, mut input) in inputs {
        // The parser may stop before the end of the file, but the hash must cover the whole file.
        std::io::copy(&mut input, &mut std::io::sink()).map_err(|source| ImportError::Read {
            name: name.clone(),
            source,
        })?;
        sha256.insert(name, input.into_inner().finish());
    }
    if list.version.is_empty() {
        let first = sha256.values().next().map_or("", String::as_str);
        list.version = format!("sha256-{}", &first[..first.len().min(12)]);
    }
    let report = ImportReport {
        list: list.name.clone(),
        version: list.version.clone(),
        format,
        rows: tally.rows,
        entities: list.entities.len(),
        rejected: tally.rejected,
        values: tally.values(),
        rejects: tally.rejects,
        sha256,
        diff: None,
        digest: String::new(),
        unchanged: 0,
    };
    Ok((list, report))
}

/// Detects the format by the beginning of the content without consuming it.
fn sniff(input: &mut Input) -> std::io::Result<Option<FileKind>> {
    let start = input.fill_buf()?;
    if start.starts_with(b"PK\x03\x04") {
        return Ok(Some(FileKind::AuXlsx));
    }
    let start = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
    let head = String::from_utf8_lossy(&start[..start.len().min(1 << 14)]);
    let text = head.trim_start();
    if text.starts_with('<') {
        let has = |tag: &str| text.contains(tag);
        return Ok(match () {
            () if has("<CONSOLIDATED_LIST") => Some(FileKind::UnXml),
            () if has("<Designations") => Some(FileKind::UkXml),
            () if has("/fsd/export") || has("<sanctionEntity") => Some(FileKind::EuXml),
            () if has("<swiss-sanctions-list") => Some(FileKind::ChXml),
            () if has("<data-set") && has("<record") => Some(FileKind::CaXml),
            () if has("<Sanctions") => Some(FileKind::OfacXml),
            () => None,
        });
    }
    if let Some(object) = text.strip_prefix('{') {
        let is_delta = object.trim_start().starts_with("\"op\"");
        return Ok(Some(if is_delta {
            FileKind::FtmDelta
        } else {
            FileKind::Ftm
        }));
    }
    Ok(csv_kind::sniff(text))
}

/// What a file without a list's format often is, by its beginning, and how to get the list.
fn other_file(start: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(&start[..start.len().min(1 << 10)]).to_lowercase();
    match start {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
            Some("a text in UTF-16: download it again, or save it as UTF-8")
        }
        [0xD0, 0xCF, 0x11, 0xE0, ..] => Some(
            "an Excel workbook of the old form (.xls), which no publisher updates: download the .xlsx file",
        ),
        [0x1F, 0x8B, ..] | [b'B', b'Z', b'h', ..] | [0x28, 0xB5, 0x2F, 0xFD, ..] => {
            Some("compressed: unpack it first")
        }
        _ if text.trim_start().starts_with("<!doctype html") || text.contains("<html") => Some(
            "a web page: the publisher's address has changed or requires a sign-in; open it in a browser",
        ),
        _ => None,
    }
}

/// Why an imported list must not become active.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportRefusal {
    /// The file's SHA-256 is not the one that the publisher states.
    #[error("the file's SHA-256 is not the expected one")]
    Checksum,
    /// The list would lose too many entities at once.
    #[error("the list shrinks from {before} to {after} entities, more than the allowed {percent} %")]
    Shrinks {
        /// Number of entities in the active version.
        before: usize,
        /// Number of entities in the new version.
        after: usize,
        /// The allowed loss in percent.
        percent: u8,
    },
    /// The version is older than the active one.
    #[error("version {new} is older than the active {active}")]
    Older {
        /// The new version.
        new: String,
        /// The active version.
        active: String,
    },
    /// The file has another list than the expected one.
    #[error("the file does not contain the list {expected}: check its address or name")]
    OtherList {
        /// The expected list.
        expected: String,
    },
    /// The publisher still offers the version that was rolled back.
    #[error(
        "this version was rolled back. It becomes active only if you import its file with `bonafide lists import`, or once the publisher replaces it"
    )]
    RolledBack,
    /// The list is already too old for screening.
    #[error(transparent)]
    Stale(Box<Stale>),
    /// Too many rows could not be used.
    #[error("{rejected} of {rows} rows could not be used")]
    Rejects {
        /// Number of rows that could not be used.
        rejected: u64,
        /// Number of all rows.
        rows: u64,
    },
}

/// The limits that [`check_guards`] applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guards {
    /// Maximum share of entities that a list may lose at once, in percent.
    pub max_shrink_percent: u8,
    /// Maximum share of rejected rows, in percent.
    pub max_reject_percent: u8,
    /// The publisher's SHA-256 in hexadecimal, as in `sdn_advanced_checksum.txt`.
    pub expected_sha256: Option<String>,
    /// Version and number of entities of the installation's lists, by name. They override those in the
    /// folder.
    pub installed: BTreeMap<String, (String, usize)>,
    /// The list that the files must have; `None`: any.
    pub expected_list: Option<String>,
    /// SHA-256 of the entities (hexadecimal) of versions that must not become active again, by list.
    pub rolled_back: BTreeMap<String, String>,
}

impl Default for Guards {
    fn default() -> Guards {
        Guards {
            max_shrink_percent: 20,
            max_reject_percent: 5,
            expected_sha256: None,
            installed: BTreeMap::new(),
            expected_list: None,
            rolled_back: BTreeMap::new(),
        }
    }
}

/// Checks whether an imported list may replace the active one. `active` is the active version and its entity
/// count.
pub fn check_guards(
    report: &ImportReport,
    active: Option<(&str, usize)>,
    guards: &Guards,
) -> Result<(), ImportRefusal> {
    if let Some(expected) = &guards.expected_sha256 {
        // Publishers state "SHA256(file) = hash" or only the hash.
        let expected = expected
            .rsplit(['=', ' '])
            .find(|t| !t.trim().is_empty())
            .unwrap_or("")
            .trim();
        if !report
            .sha256
            .values()
            .any(|hash| hash.eq_ignore_ascii_case(expected))
        {
            return Err(ImportRefusal::Checksum);
        }
    }
    if report.rejected * 100 > report.rows.max(1) * u64::from(guards.max_reject_percent) {
        return Err(ImportRefusal::Rejects {
            rejected: report.rejected,
            rows: report.rows,
        });
    }
    let Some((version, before)) = active else {
        return Ok(());
    };
    let dated = |v: &str| v.len() >= 8 && v.starts_with(|c: char| c.is_ascii_digit());
    if dated(version) && dated(&report.version) && *report.version < *version {
        return Err(ImportRefusal::Older {
            new: report.version.clone(),
            active: version.to_owned(),
        });
    }
    let (after, percent) = (report.entities, guards.max_shrink_percent);
    if after * 100 < before * (100 - usize::from(percent.min(100))) {
        return Err(ImportRefusal::Shrinks {
            before,
            after,
            percent,
        });
    }
    Ok(())
}

#[cfg(test)]
mod au_tests;
#[cfg(test)]
mod country_tests;
#[cfg(test)]
mod ftm_tests;
#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;
