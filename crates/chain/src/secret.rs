//! Private keys, seeds and their like, which people paste where an address belongs.
//!
//! Recognised by form, so that a mistyped one is recognised too: whoever gets `Some` must refuse the text without
//! keeping, showing or logging it. A raw private key of 64 hexadecimal digits looks like any transaction hash and cannot
//! be told from one.

use std::sync::LazyLock;

use bs58::Alphabet;
use ring::signature::Ed25519KeyPair;

use crate::address::{self, MAX_LENGTH};

/// The shortest text that is taken for a key: an XRP Ledger seed.
const SHORTEST_KEY: usize = 27;
/// The fewest words of a wallet's seed.
const FEWEST_WORDS: usize = 12;
/// A key that moves no money, and shows whose all of it is.
const EXTENDED_PUBLIC_KEY: &str = "an extended public key, which shows every address of its wallet";
/// Seeds' words in English, sorted (BIP 39, <https://github.com/bitcoin/bips/blob/master/bip-0039/english.txt>).
static SEED_WORDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("secret/bip39_english.txt").lines().collect());

/// What kind of secret stands where an address or a hash belongs: as [`within`], and any twelve to 24 words.
pub fn recognise(text: &str) -> Option<&'static str> {
    within(text).or_else(|| words(text))
}

/// What kind of secret a free text holds, alone or among other words, if it is no address of any chain.
pub fn within(text: &str) -> Option<&'static str> {
    let plain = |c: char| !c.is_ascii_alphanumeric();
    // Some keys begin with a name that has `-` or `_` in it.
    let joined = |c: char| plain(c) && c != '-' && c != '_';
    text.split(joined)
        .chain(text.split(plain))
        .find_map(key)
        .or_else(|| seed(text))
}

/// Why a field's text is refused; follows the field's name.
pub fn refusal(kind: &str) -> String {
    if kind == EXTENDED_PUBLIC_KEY {
        return format!("is {kind}: send one of those addresses, and keep the key to yourself");
    }
    format!(
        "is a secret or holds one ({kind}): never send it to anybody; move what it guards to a new key, for this one has \
         left its wallet"
    )
}

/// What kind of secret one word is or looks like.
fn key(text: &str) -> Option<&'static str> {
    // Reading base58 takes time by the square of the length, and no secret is longer.
    if !(SHORTEST_KEY..=MAX_LENGTH).contains(&text.len()) {
        return None;
    }
    let kind = strkey(text)
        .or_else(|| bech32(text))
        .or_else(|| hexadecimal(text))
        .or_else(|| base58(text))?;
    (!address::exists_anywhere(text)).then_some(kind)
}

/// The text, if it is a code or a word and too short for a secret: others are not repeated where a code was expected.
pub fn code(text: &str) -> Option<&str> {
    let short = text.len() <= 12 && text.bytes().all(|b| b.is_ascii_alphanumeric());
    short.then_some(text)
}

/// The words of a seed.
const WORDS: &str = "the words of a wallet's seed";

/// BIP 39: 12 to 24 words, by threes; of any language that is written so, and mistyped ones.
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

/// Twelve of BIP 39's English words one after the other, which no sentence has.
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
            Some("a Zcash viewing key")
        }
        "nsec" => Some("a private key"),
        _ => None,
    }
}

/// Stacks writes private keys with a trailing `01`; nothing else has 66 digits.
fn hexadecimal(text: &str) -> Option<&'static str> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let all = digits.bytes().all(|b| b.is_ascii_hexdigit());
    (all && digits.len() == 66 && digits.ends_with("01")).then_some("a private key in hexadecimal")
}

fn base58(text: &str) -> Option<&'static str> {
    if let Some(kind) = xrp_seed(text) {
        return Some(kind);
    }
    let bytes = bs58::decode(text).into_vec().ok()?;
    match bytes.len() {
        // Version, key, perhaps a mark for a compressed public key, checksum.
        37 => Some("a private key in wallet import format"),
        38 if bytes[33] == 1 => Some("a private key in wallet import format"),
        // One character too many or too few of the 51 or 52.
        36..=39
            if matches!(
                text.as_bytes()[0],
                b'5' | b'K' | b'L' | b'c' | b'9' | b'6' | b'7' | b'T' | b'Q' | b'X'
            ) =>
        {
            Some("a private key in wallet import format")
        }
        43 if text.starts_with("6P") => Some("an encrypted private key (BIP 38)"),
        // BIP 32: four bytes of version, depth, fingerprint, number, chain code, and the key, which 0 makes private.
        82 if bytes[45] == 0 => Some("an extended private key"),
        82 => Some(EXTENDED_PUBLIC_KEY),
        64 if is_solana_key(&bytes) => Some("a Solana key pair"),
        // Zcash, Sprout.
        38 if bytes[..2] == [0xab, 0x36] => Some("a Zcash spending key"),
        71 if bytes[..3] == [0xa8, 0xab, 0xd3] => Some("a Zcash viewing key"),
        _ => None,
    }
}

/// XRP Ledger: `s` and a family seed of 16 bytes, or `sEd` and more.
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
            (format!("watch {XPUB}"), "extended public key"),
            (ZPUB.to_owned(), "extended public key"),
        ] {
            let kind = within(&text).unwrap_or_else(|| panic!("{text}"));
            assert!(kind.contains(part), "{text}: {kind}");
            assert_eq!(recognise(&text), Some(kind));
        }
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
            assert_eq!(within(text), None, "{text}");
        }
        assert!(within(&"z".repeat(4 << 20)).is_none());
    }

    #[test]
    fn a_public_key_is_explained_otherwise() {
        let public = refusal(within(XPUB).unwrap());
        assert!(
            public.contains("one of those addresses") && !public.contains("secret"),
            "{public}"
        );
        assert!(refusal(within(WIF).unwrap()).contains("never send it"));
    }
}
