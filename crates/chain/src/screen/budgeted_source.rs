//! One screening's view of a source. It caches what was read, and limits reading to a budget.
//!
//! The budget counts inputs, outputs and transfers, which determine time and memory. It does not depend on a
//! clock, so the same screening always ends at the same point.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::source::{History, Movement, Party, Source, SourceError, Tip, Transaction, TxId, Window};

type Histories = FxHashMap<(Party, usize), (Window, History)>;

pub(super) struct BudgetedSource<'a> {
    source: &'a dyn Source,
    left: AtomicUsize,
    transactions: Mutex<FxHashMap<TxId, Arc<Transaction>>>,
    histories: Mutex<Histories>,
    /// Histories that contain only joint spends.
    together: Mutex<Histories>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn entries(transaction: &Transaction) -> usize {
    1 + match &transaction.movement {
        Movement::Outputs { inputs, outputs, .. } => inputs.len() + outputs.len(),
        Movement::Transfers(transfers) => transfers.len(),
    }
}

impl<'a> BudgetedSource<'a> {
    pub(super) fn new(source: &'a dyn Source, budget: usize) -> BudgetedSource<'a> {
        BudgetedSource {
            source,
            left: AtomicUsize::new(budget),
            transactions: Mutex::default(),
            histories: Mutex::default(),
            together: Mutex::default(),
        }
    }

    /// Whether anything may still be read. The read that exceeds the budget succeeds and is the last one.
    fn open(&self) -> Result<(), SourceError> {
        if self.left.load(Ordering::Relaxed) == 0 {
            return Err(SourceError::Budget);
        }
        Ok(())
    }

    fn spend(&self, cost: usize) {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(cost), Ordering::Relaxed);
    }

    fn known(histories: &Mutex<Histories>, party: &str, window: Window) -> Option<History> {
        locked(histories)
            .get(&(Party::from(party), window.limit))
            .filter(|(of, _)| *of == window)
            .map(|(_, history)| history.clone())
    }

    fn kept(
        &self,
        histories: &Mutex<Histories>,
        party: &str,
        window: Window,
        read: impl FnOnce() -> Result<History, SourceError>,
    ) -> Result<History, SourceError> {
        self.open()?;
        let history = match Self::known(histories, party, window) {
            Some(history) => history,
            None => {
                let history = read()?;
                // The first blocks of Bitcoin have transactions with equal ids; the latest one counts.
                let mut known = locked(&self.transactions);
                for transaction in history.transactions.iter().rev() {
                    let id = transaction.id.clone();
                    known.entry(id).or_insert_with(|| Arc::clone(transaction));
                }
                drop(known);
                let key = (Party::from(party), window.limit);
                locked(histories).insert(key, (window, history.clone()));
                history
            }
        };
        self.spend(history.transactions.iter().map(|read| entries(read)).sum());
        Ok(history)
    }
}

impl Source for BudgetedSource<'_> {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn is_whole(&self) -> bool {
        self.source.is_whole()
    }

    fn tip(&self) -> Result<Tip, SourceError> {
        self.source.tip()
    }

    fn height_at(&self, time: i64) -> Result<u64, SourceError> {
        self.source.height_at(time)
    }

    fn trace_history(&self, party: &str, window: Window) -> Result<History, SourceError> {
        self.kept(&self.histories, party, window, || {
            self.source.trace_history(party, window)
        })
    }

    fn history(&self, party: &str, window: Window) -> Result<History, SourceError> {
        self.kept(&self.histories, party, window, || {
            self.source.history(party, window)
        })
    }

    fn joint_spends(&self, party: &str, window: Window) -> Result<History, SourceError> {
        self.kept(&self.together, party, window, || {
            let Some(mut history) = Self::known(&self.histories, party, window) else {
                return self.source.joint_spends(party, window);
            };
            history.retain_joint_spends(party);
            Ok(history)
        })
    }

    fn transaction(&self, id: &str) -> Result<Arc<Transaction>, SourceError> {
        self.open()?;
        let known = locked(&self.transactions).get(id).cloned();
        let transaction = match known {
            Some(transaction) => transaction,
            None => {
                let transaction = self.source.transaction(id)?;
                locked(&self.transactions).insert(transaction.id.clone(), Arc::clone(&transaction));
                transaction
            }
        };
        self.spend(entries(&transaction));
        Ok(transaction)
    }

    fn spender(&self, id: &str, output: u32) -> Result<Option<Arc<Transaction>>, SourceError> {
        self.open()?;
        let spender = self.source.spender(id, output)?;
        self.spend(1 + spender.as_deref().map_or(0, entries));
        Ok(spender)
    }

    fn spends(&self, id: &str) -> Result<Vec<Option<TxId>>, SourceError> {
        self.open()?;
        let spends = self.source.spends(id)?;
        self.spend(1 + spends.len());
        Ok(spends)
    }
}
