//! Private keys, seeds and their like, which people paste where an address belongs.
//!
//! Recognised by form, so that a mistyped one is recognised too: whoever gets `Some` must refuse the text without
//! keeping, showing or logging it. A raw private key of 64 hexadecimal digits looks like any transaction hash and cannot
//! be told from one.

use bs58::Alphabet;
use ring::signature::Ed25519KeyPair;

use crate::address::{self, MAX_LENGTH};

/// What kind of secret the text is or looks like, if it is no address of any chain. Space around it does not hide it.
pub fn recognise(text: &str) -> Option<&'static str> {
    let text = text.trim();
    // Reading base58 takes time by the square of the length, and no secret is longer.
    if text.len() > MAX_LENGTH {
        return None;
    }
    let kind = words(text)
        .or_else(|| strkey(text))
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

/// BIP 39: 12 to 24 words, by threes.
fn words(text: &str) -> Option<&'static str> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let is_word =
        |word: &&str| (3..=8).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_alphabetic());
    let phrase = matches!(words.len(), 12 | 15 | 18 | 21 | 24) && words.iter().all(is_word);
    phrase.then_some("the words of a wallet's seed")
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
        82 => Some("an extended public key, which shows every address of its wallet"),
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
