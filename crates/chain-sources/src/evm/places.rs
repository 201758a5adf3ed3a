//! Where an address's transactions are, as every way of searching for them reports it.

use std::collections::BTreeMap;

/// Transactions by place, which an address takes part in.
pub(super) type Places = BTreeMap<(u64, u64), String>;
