//! Esplora (Blockstream's and mempool.space's index): addresses, transactions with the outputs that they
//! spent, and spends, over REST.

use std::sync::Arc;

use chain::address::Address;
use chain::amount::Amount;
use chain::currency::Currency;
use chain::source::{History, Input, Output, Party, Position, SourceError, Tip, Totals, Transaction, TxId};
use serde::Deserialize;

use super::{Calls, Provider};

/// Confirmed transactions on a page of an address's history.
const PAGE: usize = 25;

/// An Esplora server.
pub struct Esplora {
    currency: Currency,
    base: String,
}

#[derive(Deserialize)]
struct Status {
    confirmed: bool,
    block_height: Option<u64>,
    block_time: Option<i64>,
}

#[derive(Deserialize)]
struct EsploraOutput {
    scriptpubkey: String,
    #[serde(default)]
    value: u64,
}

#[derive(Deserialize)]
struct EsploraInput {
    txid: String,
    vout: u32,
    prevout: Option<EsploraOutput>,
    #[serde(default)]
    is_coinbase: bool,
}

#[derive(Deserialize)]
struct EsploraTransaction {
    txid: String,
    vin: Vec<EsploraInput>,
    vout: Vec<EsploraOutput>,
    status: Status,
}

#[derive(Deserialize)]
struct Stats {
    funded_txo_sum: u64,
    spent_txo_sum: u64,
    tx_count: u64,
}

#[derive(Deserialize)]
struct Counted {
    chain_stats: Stats,
}

#[derive(Deserialize)]
struct Spend {
    spent: bool,
    txid: Option<String>,
    status: Option<Status>,
}

#[derive(Deserialize)]
struct EsploraBlock {
    id: String,
    height: u64,
    timestamp: i64,
}

impl Esplora {
    /// A server with its base URL, such as `http://localhost:3000`.
    pub fn new(currency: Currency, base: &str) -> Esplora {
        Esplora {
            currency,
            base: base.trim_end_matches('/').to_owned(),
        }
    }

    fn party(&self, script: &str) -> Option<Party> {
        let script = hex::decode(script).ok()?;
        Address::of_script(self.currency, &script).map(|address| address.canonical.into())
    }

    fn built(&self, told: EsploraTransaction) -> Transaction {
        let outputs = told
            .vout
            .iter()
            .map(|held| Output {
                party: self.party(&held.scriptpubkey),
                amount: held.value.into(),
            })
            .collect();
        let inputs = told
            .vin
            .iter()
            .filter(|spent| !spent.is_coinbase)
            .map(|spent| Input {
                transaction: spent.txid.as_str().into(),
                output: spent.vout,
                party: spent
                    .prevout
                    .as_ref()
                    .and_then(|held| self.party(&held.scriptpubkey)),
                amount: spent
                    .prevout
                    .as_ref()
                    .map_or_else(Amount::default, |held| held.value.into()),
            })
            .collect();
        let mut transaction = Transaction::of_outputs(told.txid.as_str().into(), inputs, outputs);
        if told.status.confirmed {
            // The server does not state the position within the block.
            transaction.position = told
                .status
                .block_height
                .map(|height| Position { height, index: 0 });
            transaction.time = told.status.block_time.map(|seconds| seconds.saturating_mul(1000));
        }
        transaction
    }

    fn page(
        &self,
        calls: &Calls<'_>,
        party: &str,
        after: Option<&str>,
    ) -> Result<Vec<EsploraTransaction>, SourceError> {
        let after = after.map(|id| format!("/{id}")).unwrap_or_default();
        calls.get(format!("{}/address/{party}/txs/chain{after}", self.base))
    }
}

impl Provider for Esplora {
    fn name(&self) -> &str {
        "esplora"
    }

    fn tip(&self, calls: &Calls<'_>) -> Result<Tip, SourceError> {
        let blocks: Vec<EsploraBlock> = calls.get(format!("{}/blocks", self.base))?;
        let newest = blocks.into_iter().max_by_key(|block| block.height);
        let newest = newest.ok_or_else(|| SourceError::Nonsense("it has no block".to_owned()))?;
        Ok(Tip {
            height: newest.height,
            hash: newest.id,
            time: Some(newest.timestamp.saturating_mul(1000)),
        })
    }

    fn history(&self, calls: &Calls<'_>, party: &str, limit: usize) -> Result<History, SourceError> {
        let mut transactions: Vec<Arc<Transaction>> = Vec::new();
        let mut complete = false;
        while transactions.len() < limit {
            let last = transactions.last().map(|transaction| transaction.id.clone());
            let page = match self.page(calls, party, last.as_deref()) {
                // The part of a long history that was fetched is still useful.
                Err(SourceError::Budget) if last.is_some() => break,
                page => page?,
            };
            let count = page.len();
            let newer = transactions.len();
            transactions.extend(page.into_iter().map(|told| Arc::new(self.built(told))));
            if count < PAGE {
                complete = true;
                break;
            }
            if transactions[newer..]
                .iter()
                .any(|transaction| Some(&transaction.id) == last.as_ref())
            {
                return Err(SourceError::Nonsense("its pages repeat".to_owned()));
            }
        }
        if transactions.len() > limit {
            transactions.truncate(limit);
            complete = false;
        }
        let totals = if complete {
            None
        } else {
            let counted: Counted = calls.get(format!("{}/address/{party}", self.base))?;
            let stats = counted.chain_stats;
            Some(Totals {
                received: stats.funded_txo_sum.into(),
                sent: stats.spent_txo_sum.into(),
                transactions: stats.tx_count,
            })
        };
        transactions.sort_by(|a, b| a.order().cmp(&b.order()));
        Ok(History {
            transactions,
            complete,
            totals,
            tokens_unseen_to: None,
        })
    }

    fn transaction(&self, calls: &Calls<'_>, id: &str) -> Result<Transaction, SourceError> {
        let told: EsploraTransaction = calls.get(format!("{}/tx/{id}", self.base))?;
        if told.txid != id {
            return Err(SourceError::Nonsense(
                "another transaction than was asked for".to_owned(),
            ));
        }
        Ok(self.built(told))
    }

    fn spends(&self, calls: &Calls<'_>, id: &str) -> Result<Vec<Option<TxId>>, SourceError> {
        let spends: Vec<Spend> = calls.get(format!("{}/tx/{id}/outspends", self.base))?;
        let confirmed =
            |spend: &Spend| spend.spent && spend.status.as_ref().is_some_and(|status| status.confirmed);
        Ok(spends
            .into_iter()
            .map(|spend| {
                if confirmed(&spend) {
                    spend.txid.map(Into::into)
                } else {
                    None
                }
            })
            .collect())
    }
}
