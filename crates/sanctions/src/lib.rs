//! Sanctions screening: it imports lists, indexes them, and returns scored hits with explanations.
//!
//! [`import()`](import::import) reads the authorities' lists, [`ListStore`] stores them on disk, [`Screener`]
//! screens queries in memory, and [`score_pair`] scores two entities. The engine is synchronous, uses neither
//! HTTP nor a database, never logs, and never repeats the search in an error. Without a usable list it fails
//! with [`ScreenError::Unavailable`] and never reports a person as clear.

mod align;
mod batch;
pub mod changes;
mod common_names;
mod compare;
mod countries;
pub mod customer_results;
pub mod customers;
mod demo;
mod distance;
pub mod entity;
pub mod example;
pub mod freshness;
pub mod import;
mod index;
mod kept;
mod last_import;
mod name;
mod ofac_score;
mod profile;
mod query;
pub mod score;
mod screener;
pub mod store;
mod subject;
mod syllables;
mod tables;
mod text;
mod word_forms;

pub use batch::{answer_line, answer_pair_line};
pub use demo::demo_list;
pub use entity::{Entity, Gender, Identifier, IdentifierKind, PartialDate, Properties, Schema};
pub use example::{Example, ExampleError};
pub use import::{Guards, ImportError, ImportReport, List, ListFormat, Source};
pub use ofac_score::ofac_score;
pub use profile::{OFAC_LEAST_SCORE, Profile};
pub use query::{Query, QueryError, QueryIdentifier};
pub use score::{DEFAULT_THRESHOLD, Explanation, PairScore, TokenMatch, score_pair};
pub use screener::{
    ComparedHit, EntitySearch, Hit, IndexDamaged, ListEntry, ListedWallet, ProfileComparison, ScreenOptions,
    ScreenResult, Screener, SearchError, Total, WordMemory,
};
pub use store::{ListStatus, ListStore, ScreenError, StoreError};
