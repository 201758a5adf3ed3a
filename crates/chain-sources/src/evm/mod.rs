//! Nodes of Ethereum's kind, over JSON-RPC: blocks for the graph ([`EvmNode`]) and histories on demand ([`Evm`]), both read
//! into the same transactions by the same code.
//!
//! A transaction is a row of transfers: its own value, then what contracts moved inside it (from traces), then tokens (from
//! ERC-20 `Transfer` logs). Block rewards, withdrawals of validators and wrapping of coins are no transfers: money from there
//! is unknown. Amounts are 256-bit integers throughout.

#[cfg(test)]
mod log_tests;
mod logs;
mod node;
mod otterscan;
#[cfg(test)]
mod otterscan_tests;
mod places;
#[cfg(test)]
mod played;
mod provider;
mod quantity;
#[cfg(test)]
mod tests;
mod trace;
mod transaction;

pub use self::node::EvmNode;
pub use self::provider::Evm;
