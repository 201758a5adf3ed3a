//! Crypto addresses and transactions: what can exist on each chain, what is known about it, where its money came from,
//! and a risk score that can be recomputed from its own detail (`decisions.md` §9).
//!
//! Never does HTTP or SQL: histories come through a trait, which the server implements.

pub mod address;
pub mod amount;
pub mod batch;
pub mod category;
pub mod cluster;
pub mod currency;
pub mod evm;
pub mod freshness;
mod gcd;
pub mod graph;
pub mod hash;
mod hint;
pub mod ingest;
pub mod labels;
pub mod ondemand;
pub mod parts;
pub mod picture;
pub mod pool;
pub mod profile;
pub mod query;
pub mod rpc;
pub mod sandbox;
pub mod score;
pub mod screen;
pub mod secret;
pub mod source;
pub mod trace;
pub mod upstream;
pub mod vectors;
