//! A cache of fetched data that returns only what must still be true. Settled transactions stay valid;
//! everything else is valid while the newest block is the same.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chain::source::{History, Movement, Tip, Transaction, TxId};
use rustc_hash::FxHashMap;

/// The number of blocks above a transaction from which its position is final.
const SETTLED: u64 = 6;
/// The capacity of each map's younger half. Its unit is the input, output or transfer of a transaction, the
/// transaction of a history, or the output of a spends list.
const ROOM: usize = 500_000;

/// A map that drops values that were not used recently: when the younger half is full, the older half is
/// dropped.
struct Halves<V> {
    young: FxHashMap<Arc<str>, V>,
    old: FxHashMap<Arc<str>, V>,
    weight: usize,
}

impl<V> Default for Halves<V> {
    fn default() -> Self {
        Halves {
            young: FxHashMap::default(),
            old: FxHashMap::default(),
            weight: 0,
        }
    }
}

impl<V: Clone> Halves<V> {
    fn get(&mut self, key: &str, weigh: impl Fn(&V) -> usize) -> Option<V> {
        if let Some(value) = self.young.get(key) {
            return Some(value.clone());
        }
        let (key, value) = self.old.remove_entry(key)?;
        self.put(key, value.clone(), weigh(&value));
        Some(value)
    }

    fn put(&mut self, key: Arc<str>, value: V, weight: usize) {
        self.weight += weight;
        if self.weight > ROOM {
            self.old = std::mem::take(&mut self.young);
            self.weight = weight;
        }
        self.young.insert(key, value);
    }
}

/// A value that was fetched while `tip` was the newest block.
#[derive(Clone)]
struct Fetched<T> {
    value: T,
    tip: String,
    limit: usize,
}

/// All fetched data.
#[derive(Default)]
pub(super) struct Cache {
    tip: Option<(Tip, Instant)>,
    transactions: Halves<Fetched<Arc<Transaction>>>,
    histories: Halves<Fetched<Arc<History>>>,
    /// Histories without tokens. They are separate from the others, or an answer would depend on earlier
    /// queries.
    without_tokens: Halves<Fetched<Arc<History>>>,
    spends: Halves<Fetched<Vec<Option<TxId>>>>,
}

fn parts(transaction: &Transaction) -> usize {
    1 + match &transaction.movement {
        Movement::Outputs { inputs, outputs, .. } => inputs.len() + outputs.len(),
        Movement::Transfers(transfers) => transfers.len(),
    }
}

impl Cache {
    pub(super) fn tip(&self, age: Duration) -> Option<Tip> {
        self.tip
            .as_ref()
            .filter(|(_, since)| since.elapsed() < age)
            .map(|(tip, _)| tip.clone())
    }

    pub(super) fn set_tip(&mut self, tip: Tip) {
        self.tip = Some((tip, Instant::now()));
    }

    pub(super) fn transaction(&mut self, id: &str, tip: &Tip) -> Option<Arc<Transaction>> {
        let found = self.transactions.get(id, |found| parts(&found.value))?;
        let settled = found
            .value
            .position
            .is_some_and(|position| position.height + SETTLED <= tip.height);
        (settled || found.tip == tip.hash).then_some(found.value)
    }

    pub(super) fn keep_transaction(&mut self, transaction: Arc<Transaction>, tip: &Tip) {
        let weight = parts(&transaction);
        let fetched = Fetched {
            value: transaction.clone(),
            tip: tip.hash.clone(),
            limit: 0,
        };
        self.transactions.put(transaction.id.clone(), fetched, weight);
    }

    fn histories(&mut self, without_tokens: bool) -> &mut Halves<Fetched<Arc<History>>> {
        if without_tokens {
            &mut self.without_tokens
        } else {
            &mut self.histories
        }
    }

    pub(super) fn history(
        &mut self,
        party: &str,
        tip: &Tip,
        limit: usize,
        without_tokens: bool,
    ) -> Option<Arc<History>> {
        let weigh = |found: &Fetched<Arc<History>>| found.value.transactions.len() + 1;
        let found = self.histories(without_tokens).get(party, weigh)?;
        let fits = found.tip == tip.hash && (found.limit >= limit || found.value.complete);
        fits.then_some(found.value)
    }

    pub(super) fn keep_history(
        &mut self,
        party: &str,
        history: Arc<History>,
        limit: usize,
        tip: &Tip,
        without_tokens: bool,
    ) {
        let weight = history.transactions.len() + 1;
        let fetched = Fetched {
            value: history,
            tip: tip.hash.clone(),
            limit,
        };
        self.histories(without_tokens).put(party.into(), fetched, weight);
    }

    pub(super) fn spends(&mut self, id: &str, tip: &Tip) -> Option<Vec<Option<TxId>>> {
        let found = self.spends.get(id, |found| found.value.len() + 1)?;
        (found.tip == tip.hash).then_some(found.value)
    }

    pub(super) fn keep_spends(&mut self, id: &str, spends: Vec<Option<TxId>>, tip: &Tip) {
        let weight = spends.len() + 1;
        self.spends.put(
            id.into(),
            Fetched {
                value: spends,
                tip: tip.hash.clone(),
                limit: 0,
            },
            weight,
        );
    }
}
