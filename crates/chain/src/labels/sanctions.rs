//! Labels for wallets of sanctioned parties from the imported lists. The address's syntax determines the
//! chains, because authorities' currency tags name tokens.

use super::Label;
use crate::address::Address;
use crate::category::Category;
use crate::currency::Currency;

/// The labels of a listed wallet, one for each chain on which it can exist. The same key controls the address
/// on all of them. Empty for an address of no supported chain. The label's source is the list's name.
pub fn sanctions_labels(wallet: &str, party: &str, list: &str) -> Vec<(Currency, String, Label)> {
    let label = Label {
        name: party.to_owned(),
        category: Category::Sanctions,
        source: list.to_owned(),
        confidence: 100,
        valid_from: None,
        valid_to: None,
        authority: true,
    };
    Currency::ALL
        .into_iter()
        .filter_map(|currency| Address::parse(currency, wallet).ok())
        .map(|address| (address.currency, address.canonical, label.clone()))
        .collect()
}
