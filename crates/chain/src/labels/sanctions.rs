//! Wallets of sanctioned parties, straight from the imported lists: the syntax says on which chains they are, for
//! authorities' currency tags name tokens.

use super::Label;
use crate::address::Address;
use crate::category::Category;
use crate::currency::Currency;

/// A wallet on a sanctions list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedWallet<'a> {
    /// As the list prints it, or as screening normalised it.
    pub address: &'a str,
    /// The sanctioned party.
    pub party: &'a str,
    /// The list's name.
    pub list: &'a str,
}

/// Labels for each chain on which a listed wallet can exist: the same key rules the address on all of them. Nothing for
/// an address of a chain that is not screened here.
pub fn sanctions_labels(wallet: &ListedWallet<'_>) -> Vec<(Currency, String, Label)> {
    let label = Label {
        name: wallet.party.to_owned(),
        category: Category::Sanctions,
        source: wallet.list.to_owned(),
        confidence: 100,
        valid_from: None,
        valid_to: None,
        authority: true,
    };
    Currency::ALL
        .into_iter()
        .filter_map(|currency| Address::parse(currency, wallet.address).ok())
        .map(|address| (address.currency, address.canonical, label.clone()))
        .collect()
}
