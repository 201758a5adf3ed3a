//! Parses addresses and transaction hashes of every chain. An accepted text has a canonical form that parses
//! to itself, and no error repeats the text.
#![no_main]

use chain::address::Address;
use chain::currency::Currency;
use chain::hash::TransactionHash;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for currency in Currency::ALL {
        match Address::parse(currency, text) {
            Ok(address) => {
                let again = Address::parse(currency, &address.canonical).map(|again| again.canonical);
                assert_eq!(again.as_ref(), Ok(&address.canonical));
                if let Some(script) = address.script() {
                    let paid = Address::of_script(currency, &script).map(|paid| paid.canonical);
                    assert_eq!(paid.as_ref(), Some(&address.canonical));
                }
            }
            Err(error) => assert!(text.len() < 20 || !error.to_string().contains(text)),
        }
        let _ = TransactionHash::parse(currency, text);
    }
});
