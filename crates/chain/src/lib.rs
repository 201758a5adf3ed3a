//! Screening of crypto addresses and transactions: their forms on each chain, labels, the origin of money,
//! and a risk score. The score can be recomputed from its own detail (`docs/decisions/0019-risk-score.md`).
//!
//! This crate never opens a socket or a database. Histories come through the trait [`source::Source`], which
//! the crate `chain-sources` implements for nodes, indexes and its own graph. The only files that it reads
//! are labels and fixtures.

pub mod address;
pub mod amount;
pub mod batch;
pub mod category;
pub mod cluster;
pub mod coinjoin;
pub mod currency;
pub mod fixture;
pub mod freshness;
mod gcd;
pub mod hash;
mod hint;
pub mod json;
pub mod labels;
pub mod later_listing;
pub mod parts;
pub mod picture;
pub mod pool;
pub mod profile;
pub mod query;
pub mod sandbox;
pub mod score;
pub mod screen;
pub mod secret;
pub mod source;
pub mod trace;
pub mod transaction;
pub mod vectors;
