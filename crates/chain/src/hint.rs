//! Explains texts that people send instead of an address or a transaction hash, and what to send. Such texts
//! are links, names, the other of the two, or have invisible characters.
//!
//! It only explains refused texts and never accepts or repeats one. [`crate::secret`] recognises secrets.

use crate::address::{MAX_LENGTH, exists_anywhere};
use crate::currency::Currency;

const PAGE: &str = "is a link to a page: send only the address or the transaction hash in it";
const PAYMENT: &str = "is a payment link: send only the address in it, without the name and colon before it and without \
                       what follows from `?`, `@` or `/` on";
const NAME: &str = "is a name that stands for an address: look the address up, and send that";
const INVOICE: &str = "is a Lightning invoice, which names no address of the chain";
const UNSEEN: &str =
    "has spaces, line breaks or invisible characters around it or in it: send it without them";
const HASH: &str = "has the form of a transaction hash: send it with type `transaction` (a raw private key has that form \
                    too: never send one to anybody)";
const SIGNATURE: &str = "has the form of a Solana transaction's signature: send it with type `transaction`";

/// Schemes of payment links, in addition to the chains' codes (BIP 21, ERC-681, SEP-7, CIP-13, Solana Pay,
/// …).
const SCHEMES: [&str; 18] = [
    "bitcoin",
    "bitcoinsv",
    "cardano",
    "dogecoin",
    "ethereum",
    "lightning",
    "litecoin",
    "ripple",
    "solana",
    "stacks",
    "stellar",
    "syscoin",
    "tron",
    "web+cardano",
    "web+stellar",
    "xinfin",
    "xrpl",
    "zcash",
];

/// Explains a text that is not an address.
pub(crate) fn instead_of_address(text: &str) -> Option<&'static str> {
    let is_signature = || {
        (86..=88).contains(&text.len()) && bs58::decode(text).into_vec().is_ok_and(|bytes| bytes.len() == 64)
    };
    match explain(text) {
        Some(hint) => Some(hint),
        None if is_hash(text) => Some(HASH),
        None => is_signature().then_some(SIGNATURE),
    }
}

/// Explains a text that is neither an address nor a hash.
pub(crate) fn explain(text: &str) -> Option<&'static str> {
    let seen: String = text.chars().filter(|c| !is_unseen(*c)).take(MAX_LENGTH).collect();
    if seen.len() < text.len() && (exists_anywhere(&seen) || is_hash(&seen)) {
        return Some(UNSEEN);
    }
    let seen = seen.to_ascii_lowercase();
    if let Some((scheme, rest)) = seen.split_once(':') {
        let is_payment = match scheme {
            "http" | "https" => return Some(PAGE),
            // Bitcoin Cash's addresses also have this prefix.
            "bitcoincash" => rest.contains('?'),
            _ => SCHEMES.contains(&scheme) || scheme.parse::<Currency>().is_ok(),
        };
        return is_payment.then_some(PAYMENT);
    }
    let is_invoice = |amount: &str| amount.starts_with(|c: char| c.is_ascii_digit());
    if seen.strip_prefix("lnbc").is_some_and(is_invoice) {
        return Some(INVOICE);
    }
    match seen.split_once('/') {
        Some((host, _)) => is_host(host).then_some(PAGE),
        None => is_host(seen.rsplit(['@', '*']).next()?).then_some(NAME),
    }
}

/// Whether a character is white space or invisible.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn is_hash(text: &str) -> bool {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

/// `example.org`, `name.eth`.
fn is_host(text: &str) -> bool {
    let part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    text.rsplit_once('.').is_some_and(|(name, last)| {
        name.split('.').all(part) && last.len() >= 2 && last.bytes().all(|b| b.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;
    use crate::hash::TransactionHash;

    const BTC: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
    const ETH: &str = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    const TXID: &str = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b";

    #[test]
    fn what_is_pasted_instead_is_explained() {
        let either = |text: String, hint: &'static str| (text, Some(hint), Some(hint));
        for (text, address, hash) in [
            either(format!("bitcoin:{BTC}?amount=0.5&label=me"), PAYMENT),
            either(format!("bitcoin:{BTC}"), PAYMENT),
            either(format!("BITCOIN:{BTC}"), PAYMENT),
            either(format!("ethereum:{ETH}@1"), PAYMENT),
            either(format!("ethereum:{ETH}/transfer?address={ETH}"), PAYMENT),
            either(format!("eth:{ETH}"), PAYMENT),
            either(
                "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a?amount=1".into(),
                PAYMENT,
            ),
            either(
                format!("solana:mvines9iiHiQTysrwkJjGf2gb9Ex9jXJX8ns3qwf2kN?amount={}", 1),
                PAYMENT,
            ),
            either(format!("https://mempool.space/address/{BTC}"), PAGE),
            either(format!("etherscan.io/address/{ETH}#internaltx"), PAGE),
            either(format!("www.blockchain.com/btc/tx/{TXID}"), PAGE),
            either("vitalik.eth".into(), NAME),
            either("bob*example.org".into(), NAME),
            either("bob@wallet.example.org".into(), NAME),
            either(
                "lnbc2500u1pvjluezpp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypq".into(),
                INVOICE,
            ),
            either(format!(" {BTC}\n"), UNSEEN),
            either(format!("\u{feff}{BTC}\u{200b}"), UNSEEN),
            either(format!("{} {}", &BTC[..9], &BTC[9..]), UNSEEN),
            either(format!("{TXID}\t"), UNSEEN),
            (TXID.into(), Some(HASH), None),
            (format!("0x{TXID}"), Some(HASH), None),
            (bs58::encode([7; 64]).into_string(), Some(SIGNATURE), None),
            ("not an address".into(), None, None),
            ("".into(), None, None),
            // Wrong in another way, which other errors explain.
            (format!("{}b", &BTC[..33]), None, None),
            (
                "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6b".into(),
                None,
                None,
            ),
        ] {
            assert_eq!(
                (instead_of_address(&text), explain(&text)),
                (address, hash),
                "{text}"
            );
            for currency in [Currency::Btc, Currency::Eth, Currency::Xrp] {
                let refused = Address::parse(currency, &text).unwrap_err().to_string();
                assert!(address.is_none_or(|hint| refused == hint), "{text}: {refused}");
                if let Some(hint) = hash {
                    let refused = TransactionHash::parse(currency, &text).unwrap_err().to_string();
                    assert_eq!(refused, hint, "{text}");
                }
            }
        }
    }

    #[test]
    fn what_exists_needs_no_hint() {
        assert!(
            Address::parse(
                Currency::Bch,
                "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a"
            )
            .is_ok()
        );
        assert!(TransactionHash::parse(Currency::Btc, TXID).is_ok());
        let error = TransactionHash::parse(Currency::Btc, ETH)
            .unwrap_err()
            .to_string();
        assert!(error.contains("is an address, not a transaction hash"), "{error}");
    }
}
