//! What happened on a chain: transactions, what they moved and between whom, in the shapes that every source gives.
//!
//! Describes only: where transactions come from is [`crate::source`]'s, who stands behind a party [`crate::cluster`]'s.

use std::ops::AddAssign;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::amount::Amount;

/// A party on a chain: an address in canonical text. Fixtures may use any names.
pub type Party = Arc<str>;
/// A transaction's id in canonical text.
pub type TxId = Arc<str>;

/// Where a transaction stands in its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The block's height.
    pub height: u64,
    /// The place in the block.
    pub index: u32,
}

impl Position {
    /// The last place of a block.
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
    /// The transaction that made the output.
    pub transaction: TxId,
    /// The output's number there.
    pub output: u32,
    /// Who held it, if its script names an address.
    pub party: Option<Party>,
    /// What it was worth.
    pub amount: Amount,
}

/// A made output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Who holds it, if its script names an address.
    pub party: Option<Party>,
    /// What it is worth.
    pub amount: Amount,
}

/// A movement between accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Who paid; nobody for newly made money.
    pub from: Option<Party>,
    /// Who was paid; nobody for what was burnt.
    pub to: Option<Party>,
    /// How much.
    pub amount: Amount,
    /// The token's contract; `None`: the chain's own money.
    pub asset: Option<Arc<str>>,
}

/// What a transaction moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Movement {
    /// Outputs were spent and made.
    Outputs {
        /// Whether the money is newly mined (then there are no inputs).
        coinbase: bool,
        /// What was spent.
        inputs: Vec<Input>,
        /// What was made.
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
    /// Where it stands; `None` until it is in a block.
    pub position: Option<Position>,
    /// Its block's time, milliseconds since 1970.
    pub time: Option<i64>,
    /// What was paid for it, in the chain's own money.
    pub fee: Option<Amount>,
    /// Who paid the fee, on account chains.
    pub fee_payer: Option<Party>,
    /// What it moved.
    pub movement: Movement,
    /// What only some chains say, as the contract names it (`solBalChange`, `listSigner`, …).
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl Transaction {
    /// A transaction of spent and made outputs.
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

    /// What everybody concerned received and sent, in the chain's own money.
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

    /// Whom it moved nothing but tokens for: no coin of theirs, and no fee that they paid.
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

    /// Everyone who paid or was paid, each once, in order of their text.
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

    /// Orders transactions as they happened: those in no block last, equals by id.
    pub fn order(&self) -> (bool, Option<Position>, &str) {
        (self.position.is_none(), self.position, &self.id)
    }
}

/// Counters that an index keeps for an address, whatever part of its history was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Everything ever received.
    pub received: Amount,
    /// Everything ever spent.
    pub sent: Amount,
    /// Transactions.
    pub transactions: u64,
}

impl AddAssign<&Totals> for Totals {
    fn add_assign(&mut self, more: &Totals) {
        self.received += &more.received;
        self.sent += &more.sent;
        self.transactions += more.transactions;
    }
}

/// A transaction of these inputs and outputs, for tests.
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
