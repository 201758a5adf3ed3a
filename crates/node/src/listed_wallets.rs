//! The wallets of sanctioned subjects in the lists, as labels. It decides nothing about an address.

use std::sync::Arc;

use chain::currency::Currency;
use chain::labels::{Label, LabelIndex, LabelRow, Labels as _, sanctions_labels};
use sanctions::{IndexDamaged, Screener};

use crate::config::DataConfig;

/// The listed wallets that count for one account.
pub struct Wallets {
    /// Labels whose source is the list's name, of all lists.
    pub index: Arc<LabelIndex>,
    /// The names of the lists that count.
    pub lists: Vec<String>,
    /// The lists that count, with their versions.
    pub versions: String,
    /// The listed wallets of earlier days, for a query about such a day.
    pub past: Option<PastWallets>,
}

impl Wallets {
    /// The labels that the lists that count give an address at a time. Without a past, their current labels.
    pub fn labels(&self, chain: Currency, address: &str, at: i64) -> Vec<Label> {
        let mut found = self.index.labels(chain, address, at);
        if let Some(past) = &self.past {
            found.retain(|label| !past.lists.contains(&label.source));
            found.extend(past.index.labels(chain, address, at));
        }
        found.retain(|label| self.lists.contains(&label.source));
        found
    }

    /// The version of the listed wallets with the names of the lists that count. The same wallets have the same version.
    pub fn content_version(&self) -> String {
        format!("{} {}", self.index.version(), self.lists.join(" "))
    }
}

/// The wallets that were recorded at each import of a list.
pub struct PastWallets {
    index: LabelIndex,
    /// The lists whose wallets were recorded.
    lists: Vec<String>,
}

impl PastWallets {
    /// Reads the recorded wallets.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn open(data: &DataConfig) -> anyhow::Result<PastWallets> {
        let history = data.wallet_history()?;
        Ok(PastWallets {
            index: history.load()?,
            lists: history.status()?.into_iter().map(|set| set.set).collect(),
        })
    }

    /// Records which wallets the lists in use name from a time (ms) on. The wallets of a list's first record
    /// also count for all time before it.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn remember(data: &DataConfig, now: i64) -> anyhow::Result<()> {
        let (store, history) = (data.list_store()?, data.wallet_history()?);
        let lists: Vec<String> = store.status()?.into_iter().map(|list| list.list).collect();
        for gone in history.status()?.iter().filter(|set| !lists.contains(&set.set)) {
            history.replace(&gone.set, Vec::new(), now, None)?;
        }
        // Wallets of lists that cannot be used are not recorded.
        let Ok(screener) = store.load() else { return Ok(()) };
        let rows: Vec<LabelRow> = wallet_rows(&screener)?
            .into_iter()
            .map(|(currency, address, label)| LabelRow {
                currency,
                address,
                label,
            })
            .collect();
        for list in &lists {
            let of_list = rows.iter().filter(|row| row.label.source == *list).cloned();
            history.replace(list, of_list.collect(), now, None)?;
        }
        Ok(())
    }
}

/// The labels of every listed wallet, one for each list that contains it.
pub(crate) fn wallet_labels(screener: &Screener) -> Result<LabelIndex, IndexDamaged> {
    Ok(LabelIndex::new(wallet_rows(screener)?))
}

/// The same, as rows.
pub(crate) fn wallet_rows(screener: &Screener) -> Result<Vec<(Currency, String, Label)>, IndexDamaged> {
    let is_list = |name: &&String| screener.lists().contains_key(*name);
    let labels = screener.wallets()?.into_iter().flat_map(|wallet| {
        let lists = wallet.datasets.iter().filter(is_list);
        lists
            .flat_map(|list| sanctions_labels(&wallet.address, wallet.caption, list))
            .collect::<Vec<_>>()
    });
    Ok(labels.collect())
}
