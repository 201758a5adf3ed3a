//! The wallets of sanctioned subjects in the lists, as labels. It decides nothing about an address.

use chain::currency::Currency;
use chain::labels::{Label, LabelIndex, Labels as _, sanctions_labels};
use sanctions::{IndexDamaged, Screener};

use super::lists::Wallets;

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

impl Wallets {
    /// The version of the listed wallets with the names of the lists that count. The same wallets have the same version.
    pub fn content_version(&self) -> String {
        format!("{} {}", self.index.version(), self.lists.join(" "))
    }
}
