//! Recognises private keys, seeds and similar secrets, which people sometimes paste instead of an address.
//!
//! In a field for addresses they are recognised by form, so that mistyped ones are recognised too. In free
//! text, which may contain anything, checksums decide. A caller that receives `Some` must refuse the text and
//! must not store, show or log it. A raw private key of 64 hexadecimal digits cannot be distinguished from a
//! transaction hash.

mod refusal;

use std::sync::LazyLock;

use ::bech32::primitives::decode::CheckedHrpstring;
use ::bech32::{Bech32, Bech32m};
use bs58::Alphabet;
use ring::signature::Ed25519KeyPair;

use self::refusal::EXTENDED_PUBLIC_KEY;
pub use self::refusal::refusal;
use crate::address::{MAX_LENGTH, exists_anywhere};
use crate::hint::is_unseen;

/// The length of the shortest key, an XRP Ledger seed.
const SHORTEST_KEY: usize = 27;
/// The smallest number of words in a wallet's seed.
const FEWEST_WORDS: usize = 12;
const VIEWING_KEY: &str = "a Zcash viewing key";
const HEXADECIMAL: &str = "a private key in hexadecimal";
const SOLANA: &str = "a Solana key pair";
/// The English seed words, sorted (BIP 39,
/// <https://github.com/bitcoin/bips/blob/master/bip-0039/english.txt>).
static SEED_WORDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("secret/bip39_english.txt").lines().collect());

/// The kind of secret in a field for an address or hash, or of a text that looks like one. In addition to the
/// secrets of [`find_in_free_text`], it recognises mistyped ones, viewing keys, and any 12 to 24 words.
pub fn recognise(text: &str) -> Option<&'static str> {
    tokens(text)
        .find_map(key)
        .or_else(|| key(&without(text, is_unseen)))
        .or_else(|| find_in_free_text(text))
        .or_else(|| words(text))
}

/// The kind of a secret that moves money, if a free text certainly contains one. The secret may be among
/// other words or be interrupted by invisible characters.
pub fn find_in_free_text(text: &str) -> Option<&'static str> {
    let unbroken = without(text, |c| c != ' ' && is_unseen(c));
    let closed_up = without(&unbroken, is_unseen);
    tokens(text)
        .chain(tokens(&unbroken))
        .chain(tokens(&closed_up))
        .find_map(certain)
        .or_else(|| seed(text))
}

/// The words of a text, once split at `-` and `_` and once not, because some keys have a prefix with them.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let plain = |c: char| !c.is_ascii_alphanumeric();
    let joined = move |c: char| plain(c) && c != '-' && c != '_';
    text.split(joined).chain(text.split(plain))
}

fn without(text: &str, left_out: impl Fn(char) -> bool) -> String {
    text.chars().filter(|c| !left_out(*c)).collect()
}

/// The kind of secret that one word is or looks like, unless it is an address of any chain.
fn key(text: &str) -> Option<&'static str> {
    // Decoding base58 takes time quadratic in the length, and no secret is longer.
    if !(SHORTEST_KEY..=MAX_LENGTH).contains(&text.len()) {
        return None;
    }
    let kind = strkey(text)
        .or_else(|| bech32(text))
        .or_else(|| hexadecimal(text))
        .or_else(|| base58(text))?;
    (!exists_anywhere(text)).then_some(kind)
}

/// The kind of secret that one word certainly is: one that moves money and has a valid checksum.
fn certain(text: &str) -> Option<&'static str> {
    let base58 = |alphabet| {
        let decoded = bs58::decode(text).with_alphabet(alphabet).with_check(None);
        decoded.into_vec().is_ok()
    };
    let holds = |kind| match kind {
        EXTENDED_PUBLIC_KEY | VIEWING_KEY | HEXADECIMAL => false,
        // The pair is its own check: the second half is derived from the first.
        SOLANA => true,
        _ => {
            base58(Alphabet::BITCOIN)
                || base58(Alphabet::RIPPLE)
                || stellar_strkey::ed25519::PrivateKey::from_string(&text.to_ascii_uppercase()).is_ok()
                || CheckedHrpstring::new::<Bech32>(text).is_ok()
                || CheckedHrpstring::new::<Bech32m>(text).is_ok()
        }
    };
    key(text).filter(|kind| holds(*kind))
}

/// The text, if it is short and alphanumeric, so that an error may repeat it. Longer texts could be secrets.
pub fn code(text: &str) -> Option<&str> {
    let short = text.len() <= 12 && text.bytes().all(|b| b.is_ascii_alphanumeric());
    short.then_some(text)
}

/// The kind of a seed phrase.
const WORDS: &str = "the words of a wallet's seed";

/// A BIP 39 phrase: 12, 15, 18, 21 or 24 words in Latin letters of any language, also mistyped.
fn words(text: &str) -> Option<&'static str> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let is_word =
        |word: &&str| (3..=8).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_alphabetic());
    let phrase = matches!(words.len(), 12 | 15 | 18 | 21 | 24) && words.iter().all(is_word);
    phrase.then_some(WORDS)
}

/// Twelve consecutive words of BIP 39's English list, which no ordinary sentence has.
fn seed(text: &str) -> Option<&'static str> {
    let mut following = 0;
    let words = text
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|word| !word.is_empty());
    for word in words {
        let known = SEED_WORDS
            .binary_search(&word.to_ascii_lowercase().as_str())
            .is_ok();
        following = if known { following + 1 } else { 0 };
        if following == FEWEST_WORDS {
            return Some(WORDS);
        }
    }
    None
}

/// Stellar: `S` and 55 more characters of base32.
fn strkey(text: &str) -> Option<&'static str> {
    let base32 = |b: u8| matches!(b, b'A'..=b'Z' | b'2'..=b'7');
    let seed = text.len() == 56
        && text.starts_with(['S', 's'])
        && text.bytes().all(|b| base32(b.to_ascii_uppercase()));
    seed.then_some("a Stellar secret seed")
}

/// Human-readable parts of keys: Cardano's (CIP-5), Zcash's, Nostr's.
fn bech32(text: &str) -> Option<&'static str> {
    let (hrp, data) = text.rsplit_once('1')?;
    if data.len() < 20 || !data.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let hrp = hrp.to_ascii_lowercase();
    match hrp.as_str() {
        "xprv" | "ed25519_sk" | "ed25519e_sk" | "ed25519bip32_sk" => Some("a Cardano private key"),
        _ if hrp.ends_with("_sk") || hrp.ends_with("_xsk") => Some("a Cardano private key"),
        "secret-extended-key-main" | "secret-extended-key-test" | "secret-extended-key-regtest" => {
            Some("a Zcash spending key")
        }
        "uview" | "uviewtest" | "uivk" | "uivktest" | "zxviews" | "zxviewtestsapling" | "zivks" => {
            Some(VIEWING_KEY)
        }
        "nsec" => Some("a private key"),
        _ => None,
    }
}

/// Stacks writes private keys with a trailing `01`; nothing else has 66 digits.
fn hexadecimal(text: &str) -> Option<&'static str> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let all = digits.bytes().all(|b| b.is_ascii_hexdigit());
    (all && digits.len() == 66 && digits.ends_with("01")).then_some(HEXADECIMAL)
}

fn base58(text: &str) -> Option<&'static str> {
    if let Some(kind) = xrp_seed(text) {
        return Some(kind);
    }
    let bytes = bs58::decode(text).into_vec().ok()?;
    match bytes.len() {
        // Version, key, an optional mark for a compressed public key, checksum.
        37 => Some("a private key in wallet import format"),
        38 if bytes[33] == 1 => Some("a private key in wallet import format"),
        // One character more or fewer than the usual 51 or 52.
        36..=39
            if matches!(
                text.as_bytes()[0],
                b'5' | b'K' | b'L' | b'c' | b'9' | b'6' | b'7' | b'T' | b'Q' | b'X'
            ) =>
        {
            Some("a private key in wallet import format")
        }
        43 if text.starts_with("6P") => Some("an encrypted private key (BIP 38)"),
        // BIP 32: four bytes of version, depth, fingerprint, number, chain code, key. A private key begins
        // with 0.
        82 if bytes[45] == 0 => Some("an extended private key"),
        82 => Some(EXTENDED_PUBLIC_KEY),
        64 if is_solana_key(&bytes) => Some(SOLANA),
        // Zcash, Sprout.
        38 if bytes[..2] == [0xab, 0x36] => Some("a Zcash spending key"),
        71 if bytes[..3] == [0xa8, 0xab, 0xd3] => Some(VIEWING_KEY),
        _ => None,
    }
}

/// An XRP Ledger seed: `s` and a family seed of 16 bytes, or a longer one that begins with `sEd`.
fn xrp_seed(text: &str) -> Option<&'static str> {
    if !text.starts_with('s') || !(27..=33).contains(&text.len()) {
        return None;
    }
    let bytes = bs58::decode(text)
        .with_alphabet(Alphabet::RIPPLE)
        .into_vec()
        .ok()?;
    matches!(bytes.len(), 20..=24).then_some("an XRP Ledger seed")
}

/// Whether 64 bytes are a private key followed by its own public key, and not a signature.
fn is_solana_key(bytes: &[u8]) -> bool {
    let Some((private, public)) = bytes.split_at_checked(32) else {
        return false;
    };
    Ed25519KeyPair::from_seed_and_public_key(private, public).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published example keys: Bitcoin wiki, BIP 32, BIP 39, BIP 84, SEP-23, XRPL documentation.
    const WIF: &str = "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ";
    const SEED: &str = "legal winner thank year wave sausage worth useful legal winner thank yellow";
    const XPUB: &str = "xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8";
    const ZPUB: &str = "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs";

    #[test]
    fn secrets_are_found_in_free_text() {
        assert_eq!(SEED_WORDS.len(), 2048);
        for (text, part) in [
            (WIF.to_owned(), "wallet import format"),
            (format!("Ann's key: {WIF}, do not lose"), "wallet import format"),
            (format!("cold-wallet-{WIF}"), "wallet import format"),
            (format!("\u{200b}{WIF}\u{200b}"), "wallet import format"),
            (format!("{{\"label\":\"{WIF}\"}}"), "wallet import format"),
            (format!("bitcoin:{WIF}?amount=1"), "wallet import format"),
            (SEED.to_owned(), "seed"),
            (format!("My wallet: {}.", SEED.to_uppercase()), "seed"),
            (SEED.replace(' ', ", "), "seed"),
            ("sn259rEFXrQrWyx3Q7XneWcwV6dfL (XRP)".to_owned(), "XRP"),
            (
                "SBU2RRGLXH3E5CQHTD3ODLDF2BWDCYUSSBLLZ5GNW7JXHDIYKXZWHOKR".to_owned(),
                "Stellar",
            ),
            (
                format!("{}\n{}", &WIF[..20], &WIF[20..]),
                "wallet import format",
            ),
            (
                format!("Ann's {}\r\n{}, keep", &WIF[..20], &WIF[20..]),
                "wallet import format",
            ),
            (
                format!("{}\u{200b}{}", &WIF[..9], &WIF[9..]),
                "wallet import format",
            ),
            (
                format!("{} {}", &WIF[..30], &WIF[30..]),
                "wallet import format",
            ),
            (
                "6PRVWUbkzzsbcVac2qwfssoUJAN1Xhrg6bNk8J7Nzm5H7kxEbn2Nh2ZoGg".to_owned(),
                "BIP 38",
            ),
            (
                "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi".to_owned(),
                "extended private key",
            ),
            (
                "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5".to_owned(),
                "private key",
            ),
        ] {
            let kind = find_in_free_text(&text).unwrap_or_else(|| panic!("{text}"));
            assert!(kind.contains(part), "{text}: {kind}");
            assert_eq!(recognise(&text), Some(kind));
        }
    }

    #[test]
    fn what_only_looks_like_a_secret_may_stand_in_a_free_text() {
        let mistyped = format!("{}x{}", &WIF[..20], &WIF[21..]);
        for text in [
            mistyped.clone(),
            format!("{}\n{}", &mistyped[..30], &mistyped[30..]),
            "subscriptionpaymentreference".to_owned(),
            "TransferReferenceNumberFromBerninBranchTuesdayXYZ12".to_owned(),
            "SBU2RRGLXH3E5CQHTD3ODLDF2BWDCYUSSBLLZ5GNW7JXHDIYKXZWHOKA".to_owned(),
            "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe4".to_owned(),
            // A public key, compressed.
            "02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709e01".to_owned(),
            XPUB.to_owned(),
            ZPUB.to_owned(),
        ] {
            assert_eq!(find_in_free_text(&text), None, "{text}");
            assert!(recognise(&text).is_some(), "{text}");
        }
        assert_eq!(find_in_free_text(&format!("watch {XPUB}")), None);
    }

    #[test]
    fn what_labels_say_is_no_secret() {
        for text in [
            "",
            "API Query",
            "Payment by the new customer whom Berlin sent on Tuesday for order number seven",
            "payment from new customer about order number seven before next month started",
            "Order 9f86d081-884c-7d65-9a2f-eaa0c55ad015",
            "https://mempool.space/address/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
            "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b",
            "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a",
            "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG",
            "legal winner thank year wave sausage worth useful legal winner thank",
        ] {
            assert_eq!(find_in_free_text(text), None, "{text}");
        }
        assert!(find_in_free_text(&"z".repeat(4 << 20)).is_none());
    }

    #[test]
    fn a_public_key_is_explained_otherwise() {
        let public = refusal(recognise(XPUB).unwrap());
        assert!(
            public.contains("one of those addresses") && !public.contains("secret"),
            "{public}"
        );
        assert!(refusal(find_in_free_text(WIF).unwrap()).contains("never send it"));
    }
}
