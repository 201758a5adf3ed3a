//! Sanctions screening: lists to an index to scored, explained hits.
//!
//! [`import()`](import::import) reads the lists of authorities, [`ListStore`] keeps them on disk, [`Screener`] answers
//! queries from memory, [`score_pair`] scores two entities. The engine is synchronous; it knows no HTTP and no
//! database, never logs, and never puts what was searched for into an error. Without a fresh list it refuses to answer
//! ([`ScreenError::Unavailable`]) rather than to call anybody clear.

mod batch;
mod compare;
mod countries;
mod demo;
mod distance;
pub mod entity;
pub mod import;
mod name;
mod query;
pub mod score;
mod screener;
pub mod store;
mod subject;
mod tables;
mod text;

pub use batch::{answer_line, answer_pair_line};
pub use demo::demo_list;
pub use entity::{Entity, Gender, Identifier, IdentifierKind, PartialDate, Properties, Schema};
pub use import::{Guards, ImportError, ImportReport, List, ListFormat, Source};
pub use query::{Query, QueryError, QueryIdentifier};
pub use score::{DEFAULT_THRESHOLD, Explanation, PairScore, TokenMatch, score_pair};
pub use screener::{Hit, ListedWallet, ScreenOptions, ScreenResult, Screener, Total};
pub use store::{ListStatus, ListStore, ScreenError, StoreError};
