//! Parses requests to screen an address or a transaction, and looks for secrets in free text. No error repeats
//! the query, because it may be a private key.
#![no_main]

use chain::amount::Amount;
use chain::currency::Currency;
use chain::profile::Profile;
use chain::query::{Query, QueryError};
use chain::secret;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Value::Object(body)) = serde_json::from_slice(bytes) {
        match Query::parse(&body, &Currency::ALL) {
            Ok(query) => {
                let _ = (query.subject(), query.bytes());
            }
            Err(QueryError::Invalid(faults)) => {
                let query = body.get("query").and_then(Value::as_str).unwrap_or_default();
                let is_word = query.len() >= 20 && query.bytes().all(|byte| byte.is_ascii_alphanumeric());
                assert!(!is_word || faults.iter().all(|fault| !fault.contains(query)));
            }
            Err(QueryError::UnsupportedCurrency { .. }) => {}
        }
        // A risk profile that passes the checks can be stored and read again.
        if let Ok(profile) = serde_json::from_slice::<Profile>(bytes)
            && profile.check().is_ok()
        {
            let stored = serde_json::to_string(&profile).expect("a profile is written");
            assert_eq!(serde_json::from_str::<Profile>(&stored).ok().as_ref(), Some(&profile));
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = (secret::recognise(text), secret::find_in_free_text(text), secret::code(text));
        let _ = (Amount::from_units(text), Amount::from_hex(text));
        for decimals in [0, 8, 24] {
            if let Ok(amount) = Amount::from_coins(text, decimals) {
                assert_eq!(Amount::from_coins(&amount.to_coins(decimals), decimals).as_ref(), Ok(&amount));
            }
        }
    }
});
