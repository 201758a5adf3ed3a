//! Wallets of sanctioned parties, straight from the imported lists: the syntax says on which chains they are, for
//! authorities' currency tags name tokens.

use super::Label;
use crate::address::Address;
use crate::category::Category;
use crate::currency::Currency;

/// Labels for each chain on which a listed wallet can exist: the same key rules the address on all of them. Nothing for
/// an address of a chain that is not screened here. The source is the list's name.
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
