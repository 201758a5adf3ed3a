//! The wallets of sanctioned subjects in the lists, as labels. It decides nothing about an address.

use chain::currency::Currency;
use chain::labels::{Label, LabelIndex, sanctions_labels};
use sanctions::Screener;

/// The labels of every listed wallet, one for each list that contains it.
pub(crate) fn wallet_labels(screener: &Screener) -> LabelIndex {
    LabelIndex::new(wallet_rows(screener))
}

/// The same, as rows.
pub(crate) fn wallet_rows(screener: &Screener) -> impl Iterator<Item = (Currency, String, Label)> {
    let is_list = |name: &&String| screener.lists().contains_key(*name);
    screener.wallets().flat_map(move |wallet| {
        let lists = wallet.datasets.iter().filter(is_list);
        lists.flat_map(move |list| sanctions_labels(&wallet.address, wallet.caption, list))
    })
}
