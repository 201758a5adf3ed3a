//! Ethereum-like nodes over JSON-RPC: blocks for the graph ([`EvmNode`]) and histories on demand ([`Evm`]).
//! The same code turns both into transactions.
//!
//! A transaction is a list of transfers. Its own value comes first, then the values that contracts
//! transferred inside it (from traces), then tokens (from ERC-20 `Transfer` logs). Block rewards, withdrawals
//! of validators and wrapping of coins are not transfers, so money from there has an unknown source. Amounts
//! are 256-bit integers throughout.

#[cfg(test)]
mod fake_node;
#[cfg(test)]
mod log_tests;
mod logs;
mod node;
mod otterscan;
#[cfg(test)]
mod otterscan_tests;
mod places;
mod provider;
mod quantity;
#[cfg(test)]
mod tests;
mod trace;
mod transaction;

pub use self::node::EvmNode;
pub use self::provider::Evm;
