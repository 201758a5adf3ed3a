//! What an import gives: a list of entities in one of the formats, the rows that could not be used, and errors.
//!
//! Types alone; each format has its own reader.

use serde::{Deserialize, Serialize};

use crate::entity::Entity;

/// How a remark on the place of birth begins.
pub(super) const BORN_IN: &str = "Place of birth: ";

/// The formats that we read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListFormat {
    /// OFAC's advanced XML (`sdn_advanced.xml`, `cons_advanced.xml`).
    OfacAdvancedXml,
    /// OFAC's legacy CSV: `sdn.csv` or `cons_prim.csv` and, beside it, aliases, addresses and comments.
    OfacCsv,
    /// The consolidated list of the United Nations' Security Council.
    UnXml,
    /// OpenSanctions' `entities.ftm.json`: one FollowTheMoney entity a line.
    FollowTheMoney,
    /// OpenSanctions' `targets.simple.csv`.
    SimpleCsv,
}

/// A list as an authority published it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List {
    /// The dataset's name, such as `us_ofac_sdn` or `un_sc_sanctions`.
    pub name: String,
    /// The publisher's date or version; else the beginning of the file's SHA-256.
    pub version: String,
    /// In the order of the file.
    pub entities: Vec<Entity>,
}

/// A row that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reject {
    /// Line (CSV, JSON lines) or number of the record (XML), from 1.
    pub line: u64,
    /// Why, without the row's content.
    pub reason: String,
}

/// Why nothing could be imported.
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
    /// The content is none of the formats.
    #[error("{0} is no list in a format that is known here")]
    UnknownFormat(String),
    /// The files do not belong together, or one that is needed is missing.
    #[error("{0}")]
    Incomplete(String),
    /// The content breaks off or is not well formed.
    #[error("{name} is damaged near record {record}: {reason}")]
    Damaged {
        /// The file.
        name: String,
        /// The number of the record, from 1.
        record: u64,
        /// What is wrong, without content.
        reason: String,
    },
    /// No entity came of it.
    #[error("{0} holds no entity")]
    Empty(String),
}
