//! Transactions, their movements and parties, in the types that every source returns.
//!
//! This module only describes them: [`crate::source`] provides transactions and [`crate::cluster`] finds
//! holders.

use std::ops::AddAssign;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::amount::Amount;

/// A party on a chain: an address in canonical text. Fixtures may use any names.
pub type Party = Arc<str>;
/// A transaction's id in canonical text.
pub type TxId = Arc<str>;

/// The position of a transaction in its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The block's height.
    pub height: u64,
    /// The index in the block.
    pub index: u32,
}

impl Position {
    /// The last position of a block.
    pub const fn end_of(height: u64) -> Position {
        Position {
            height,
            index: u32::MAX,
        }
    }
}

/// A spent output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The transaction that created the output.
    pub transaction: TxId,
    /// The output's number there.
    pub output: u32,
    /// The owner, if the script contains an address.
    pub party: Option<Party>,
    /// The amount.
    pub amount: Amount,
}

/// A created output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The owner, if the script contains an address.
    pub party: Option<Party>,
    /// The amount.
    pub amount: Amount,
}

/// A transfer between accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The sender; none for newly created money.
    pub from: Option<Party>,
    /// The recipient; none for burnt money.
    pub to: Option<Party>,
    /// How much.
    pub amount: Amount,
    /// The token's contract; `None` for the chain's own money.
    pub asset: Option<Arc<str>>,
}

/// The movements of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Movement {
    /// Outputs were spent and created.
    Outputs {
        /// Whether the money is newly mined; there are no inputs then.
        coinbase: bool,
        /// The spent outputs.
        inputs: Vec<Input>,
        /// The created outputs.
        outputs: Vec<Output>,
    },
    /// Balances changed, in this order.
    Transfers(Vec<Transfer>),
}

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Its id.
    pub id: TxId,
    /// The position; `None` until the transaction is in a block.
    pub position: Option<Position>,
    /// The block's time in milliseconds since 1970.
    pub time: Option<i64>,
    /// The fee in the chain's own money.
    pub fee: Option<Amount>,
    /// The account that paid the fee, on account chains.
    pub fee_payer: Option<Party>,
    /// The movements.
    pub movement: Movement,
    /// Members that only some chains have, by the contract's names (`solBalChange`, `listSigner`, …).
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl Transaction {
    /// A transaction that spends and creates outputs. The fee is the difference, unless it is a coinbase.
    pub fn of_outputs(id: TxId, inputs: Vec<Input>, outputs: Vec<Output>) -> Transaction {
        let paid: Amount = inputs.iter().map(|input| &input.amount).sum();
        let made: Amount = outputs.iter().map(|output| &output.amount).sum();
        let coinbase = inputs.is_empty();
        Transaction {
            id,
            position: None,
            time: None,
            fee: (!coinbase).then(|| paid.saturating_sub(&made)),
            fee_payer: None,
            movement: Movement::Outputs {
                coinbase,
                inputs,
                outputs,
            },
            extra: serde_json::Map::new(),
        }
    }

    /// A transaction between accounts.
    pub fn of_transfers(id: TxId, transfers: Vec<Transfer>) -> Transaction {
        Transaction {
            id,
            position: None,
            time: None,
            fee: None,
            fee_payer: None,
            movement: Movement::Transfers(transfers),
            extra: serde_json::Map::new(),
        }
    }

    /// The amounts that each party received and sent, in the chain's own money.
    pub fn sides(&self) -> FxHashMap<&Party, Totals> {
        let mut sides: FxHashMap<&Party, Totals> = FxHashMap::default();
        match &self.movement {
            Movement::Outputs { inputs, outputs, .. } => {
                for input in inputs {
                    if let Some(party) = &input.party {
                        sides.entry(party).or_default().sent += &input.amount;
                    }
                }
                for output in outputs {
                    if let Some(party) = &output.party {
                        sides.entry(party).or_default().received += &output.amount;
                    }
                }
            }
            Movement::Transfers(transfers) => {
                for transfer in transfers {
                    let native = transfer.asset.is_none();
                    if let Some(party) = &transfer.from {
                        let side = sides.entry(party).or_default();
                        if native {
                            side.sent += &transfer.amount;
                        }
                    }
                    if let Some(party) = &transfer.to {
                        let side = sides.entry(party).or_default();
                        if native {
                            side.received += &transfer.amount;
                        }
                    }
                }
            }
        }
        for side in sides.values_mut() {
            side.transactions = 1;
        }
        sides
    }

    /// The parties for which the transaction moved only tokens: no coins, and no fee that they paid.
    pub fn only_tokens(&self) -> FxHashSet<&Party> {
        let Movement::Transfers(transfers) = &self.movement else {
            return FxHashSet::default();
        };
        let parties = |tokens: bool| {
            let moved = transfers
                .iter()
                .filter(move |moved| moved.asset.is_some() == tokens);
            moved.flat_map(|moved| moved.from.iter().chain(&moved.to))
        };
        let mut only: FxHashSet<&Party> = parties(true).collect();
        if !only.is_empty() {
            for party in parties(false).chain(&self.fee_payer) {
                only.remove(party);
            }
        }
        only
    }

    /// All parties that sent or received, each once, sorted by text.
    pub fn parties(&self) -> Vec<Party> {
        let mut parties: Vec<Party> = match &self.movement {
            Movement::Outputs { inputs, outputs, .. } => {
                let inputs = inputs.iter().filter_map(|input| input.party.clone());
                inputs
                    .chain(outputs.iter().filter_map(|output| output.party.clone()))
                    .collect()
            }
            Movement::Transfers(transfers) => transfers
                .iter()
                .flat_map(|transfer| [transfer.from.clone(), transfer.to.clone()])
                .flatten()
                .collect(),
        };
        parties.sort();
        parties.dedup();
        parties
    }

    /// The sort key of transactions: by position, unconfirmed ones last, then by id.
    pub fn order(&self) -> (bool, Option<Position>, &str) {
        (self.position.is_none(), self.position, &self.id)
    }
}

/// An index's counters for an address. They cover its whole history, not only the requested part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The amount ever received.
    pub received: Amount,
    /// The amount ever sent.
    pub sent: Amount,
    /// The number of transactions.
    pub transactions: u64,
}

impl AddAssign<&Totals> for Totals {
    fn add_assign(&mut self, more: &Totals) {
        self.received += &more.received;
        self.sent += &more.sent;
        self.transactions += more.transactions;
    }
}

/// A transaction with these inputs and outputs, for tests.
#[cfg(test)]
pub(crate) fn of_parties(inputs: &[(&str, u64)], outputs: &[(&str, u64)]) -> Transaction {
    let inputs = inputs
        .iter()
        .zip(0u32..)
        .map(|((party, amount), output)| Input {
            transaction: "before".into(),
            output,
            party: Some((*party).into()),
            amount: (*amount).into(),
        })
        .collect();
    let outputs = outputs
        .iter()
        .map(|(party, amount)| Output {
            party: Some((*party).into()),
            amount: (*amount).into(),
        })
        .collect();
    Transaction::of_outputs("t".into(), inputs, outputs)
}
