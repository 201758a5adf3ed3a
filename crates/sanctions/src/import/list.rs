//! The results of an import: a list of entities, the rows that could not be used, and errors.
//!
//! This module has types only; each format has its own reader.

use serde::{Deserialize, Serialize};

use crate::entity::Entity;

/// Prefix of a remark on the place of birth.
pub(super) const BORN_IN: &str = "Place of birth: ";
/// Prefix of a remark on the day of listing.
pub(super) const LISTED_ON: &str = "Listed on ";

/// The formats that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListFormat {
    /// OFAC's advanced XML (`sdn_advanced.xml`, `cons_advanced.xml`).
    OfacAdvancedXml,
    /// OFAC's legacy CSV: `sdn.csv` or `cons_prim.csv`, with separate files for aliases, addresses and
    /// comments.
    OfacCsv,
    /// The consolidated list of the United Nations Security Council.
    UnXml,
    /// OpenSanctions' `entities.ftm.json`: one FollowTheMoney entity per line.
    FollowTheMoney,
    /// OpenSanctions' `targets.simple.csv`.
    SimpleCsv,
    /// The European Union's consolidated list of financial sanctions, XML 1.1.
    EuXml,
    /// The European Union's consolidated list of financial sanctions, CSV 1.1.
    EuCsv,
    /// The UK Sanctions List, XML.
    UkXml,
    /// The UK Sanctions List, CSV.
    UkCsv,
    /// The whole list of Switzerland's SECO.
    ChXml,
    /// Canada's consolidated list of autonomous sanctions.
    CaXml,
    /// Australia's Consolidated List, an Excel workbook.
    AuXlsx,
    /// The United States' Consolidated Screening List, CSV.
    CslCsv,
    /// OpenSanctions' `entities.delta.json`: changes of a list in use.
    FollowTheMoneyDelta,
}

impl ListFormat {
    /// Whether OpenSanctions publishes the format.
    pub fn is_open_sanctions(self) -> bool {
        use ListFormat::{FollowTheMoney, FollowTheMoneyDelta, SimpleCsv};
        matches!(self, FollowTheMoney | FollowTheMoneyDelta | SimpleCsv)
    }

    /// Whether a list in this format is screened only for accounts that chose it. Formats that every version could
    /// import are screened for all accounts.
    pub fn needs_choice(self) -> bool {
        match self {
            ListFormat::OfacAdvancedXml
            | ListFormat::OfacCsv
            | ListFormat::UnXml
            | ListFormat::FollowTheMoney
            | ListFormat::FollowTheMoneyDelta
            | ListFormat::SimpleCsv => false,
            ListFormat::EuXml
            | ListFormat::EuCsv
            | ListFormat::UkXml
            | ListFormat::UkCsv
            | ListFormat::ChXml
            | ListFormat::CaXml
            | ListFormat::AuXlsx
            | ListFormat::CslCsv => true,
        }
    }
}

/// What an import made of a value. The greatest use counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// Neither compared nor kept.
    #[default]
    Unused,
    /// Kept as a remark, which is shown and not compared.
    Kept,
    /// Compared with queries, or decides how others are.
    Compared,
}

/// How often a list has a value of a name, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueCount {
    /// The element, `element@attribute`, or the column.
    pub name: String,
    /// What became of the values.
    #[serde(rename = "use")]
    pub used: Use,
    /// The number of values that are not empty.
    pub count: u64,
}

/// A list as an authority published it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List {
    /// The dataset's name, such as `us_ofac_sdn` or `un_sc_sanctions`.
    pub name: String,
    /// The publisher's date or version, else the beginning of the file's SHA-256.
    pub version: String,
    /// The entities in the order of the file.
    pub entities: Vec<Entity>,
}

/// A row that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reject {
    /// Line number (CSV, JSON lines) or record number (XML), from 1.
    pub line: u64,
    /// The reason, without the row's content.
    pub reason: String,
}

/// Why an import failed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file could not be read.
    #[error("cannot read {name}: {source}")]
    Read {
        /// The file.
        name: String,
        /// What went wrong.
        source: std::io::Error,
    },
    /// The content has none of the known formats.
    #[error("{0} is no list in a format that is known here")]
    UnknownFormat(String),
    /// The file is something else that operators often have instead of a list.
    #[error("{name} is {what}")]
    OtherFile {
        /// The file.
        name: String,
        /// What it is, and how to get the list.
        what: &'static str,
    },
    /// The files do not belong to one list, or a required file is missing.
    #[error("{0}")]
    Incomplete(String),
    /// The content is truncated or not well formed.
    #[error("{name} is damaged near record {record}: {reason}")]
    Damaged {
        /// The file.
        name: String,
        /// The record number, from 1.
        record: u64,
        /// What is wrong, without content.
        reason: String,
    },
    /// The file has no usable entity.
    #[error("{0} holds no entity")]
    Empty(String),
}
