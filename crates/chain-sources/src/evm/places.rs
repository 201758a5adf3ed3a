//! The positions of an address's transactions, the result of every way of searching for them.

use std::collections::BTreeMap;

/// Transaction hashes by block height and index in the block.
pub(super) type Places = BTreeMap<(u64, u64), String>;
