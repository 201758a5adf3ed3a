use proptest::prelude::*;

use super::*;

/// Examples from the specifications: BIP 173/350, CashAddr, EIP-55, CIP-19, SEP-23, XLS-5d, SIP-005, ZIP
/// 316/320.
const VALID: &[(Currency, &str, &str)] = &[
    (Currency::Btc, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "p2pkh"),
    (Currency::Btc, "3P14159f73E4gFr7JterCCQh9QjiTjiZrG", "p2sh"),
    (
        Currency::Btc,
        "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
        "p2wpkh",
    ),
    (
        Currency::Btc,
        "bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3",
        "p2wsh",
    ),
    (
        Currency::Btc,
        "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
        "p2tr",
    ),
    (Currency::Btc, "BC1SW50QGDZ25J", "witness_v16"),
    (
        Currency::Bch,
        "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a",
        "p2pkh",
    ),
    (
        Currency::Bch,
        "ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq",
        "p2sh",
    ),
    (
        Currency::Bch,
        "1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu",
        "p2pkh_legacy",
    ),
    (
        Currency::Eth,
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "account",
    ),
    (
        Currency::Xdc,
        "xdc5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "account",
    ),
    (
        Currency::Sys,
        "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
        "account",
    ),
    (Currency::Xrp, "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh", "classic"),
    (
        Currency::Xrp,
        "X7AcgcsBL6XDcUb289X4mJ8djcdyKaB5hJDWMArnXr61cqZ",
        "x-address",
    ),
    (
        Currency::Xlm,
        "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ",
        "account",
    ),
    (
        Currency::Xlm,
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK",
        "muxed",
    ),
    (
        Currency::Ada,
        "addr1qx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3n0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2wywfgse35a3x",
        "base",
    ),
    (
        Currency::Ada,
        "addr1gx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer5pnz75xxcrzqf96k",
        "pointer",
    ),
    (
        Currency::Ada,
        "addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzers66hrl8",
        "enterprise",
    ),
    (
        Currency::Ada,
        "stake1uyehkck0lajq8gr28t9uxnuvgcqrc6070x3k9r8048z8y5gh6ffgw",
        "stake",
    ),
    (
        Currency::Ada,
        "Ae2tdPwUPEZ18ZjTLnLVr9CEvUEUX4eW1LBHbxxxJgxdAYHrDeSCSbCxrvx",
        "byron",
    ),
    (
        Currency::Stx,
        "SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7",
        "p2pkh",
    ),
    (
        Currency::Sol,
        "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
        "account",
    ),
    (Currency::Trx, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "account"),
    (Currency::Zec, "t1VmmGiyjVNeCjxDZzg7vZmd99WyzVby9yC", "p2pkh"),
    (Currency::Zec, "tex1s2rt77ggv6q989lr49rkgzmh5slsksa9khdgte", "tex"),
];

#[test]
fn the_specifications_examples_are_read() {
    for (currency, text, kind) in VALID {
        let address = Address::parse(*currency, text).unwrap_or_else(|e| panic!("{currency} {text}: {e}"));
        assert_eq!(address.kind.name(), *kind, "{text}");
        let again = Address::parse(*currency, &address.canonical).unwrap();
        assert_eq!(
            again.canonical, address.canonical,
            "the canonical form is its own"
        );
    }
}

#[test]
fn encodings_of_one_account_have_one_canonical_form() {
    let canonical = |currency, text| Address::parse(currency, text).unwrap().canonical;
    for (currency, a, b) in [
        (
            Currency::Bch,
            "1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu",
            "QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A",
        ),
        (
            Currency::Zec,
            "tex1s2rt77ggv6q989lr49rkgzmh5slsksa9khdgte",
            "t1VmmGiyjVNeCjxDZzg7vZmd99WyzVby9yC",
        ),
        (
            Currency::Xrp,
            "X7AcgcsBL6XDcUb289X4mJ8djcdyKaB5hJDWMArnXr61cqZ",
            "r9cZA1mLK5R5Am25ArfXFmqgNwjZgnfk59",
        ),
        (
            Currency::Xlm,
            "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK",
            "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ",
        ),
        (
            Currency::Xdc,
            "xdc5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
            "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED",
        ),
    ] {
        assert_eq!(canonical(currency, a), canonical(currency, b));
    }
    // Litecoin's script hashes with Bitcoin's version are the same scripts.
    let address = Address::parse(Currency::Btc, "3P14159f73E4gFr7JterCCQh9QjiTjiZrG").unwrap();
    assert!(canonical(Currency::Ltc, "3P14159f73E4gFr7JterCCQh9QjiTjiZrG").starts_with('M'));
    assert_eq!(address.script().unwrap().len(), 23);
}

#[test]
fn what_cannot_exist_is_explained() {
    for (currency, text, part) in [
        (Currency::Btc, "", "is empty"),
        (
            Currency::Btc,
            "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb",
            "wrong checksum",
        ),
        (
            Currency::Btc,
            "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfN0",
            "base58 does not have",
        ),
        (
            Currency::Btc,
            "mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn",
            "test network",
        ),
        (
            Currency::Btc,
            "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx",
            "test network",
        ),
        (
            Currency::Btc,
            "bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4",
            "bech32 does not have",
        ),
        (
            Currency::Btc,
            "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh",
            "another witness version",
        ),
        (
            Currency::Btc,
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
            "is an address of Ethereum, Ethereum Classic, BNB Smart Chain, XDC Network or Syscoin, not of Bitcoin",
        ),
        (
            Currency::Eth,
            "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
            "lacks its prefix",
        ),
        (
            Currency::Eth,
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD",
            "wrong checksum",
        ),
        (
            Currency::Eth,
            "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
            "of TRON, not of Ethereum",
        ),
        (
            Currency::Stx,
            "ST2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKQYAC0RQ",
            "test network",
        ),
        (
            Currency::Sys,
            "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
            "is an address of Bitcoin, not of Syscoin",
        ),
        (
            Currency::Xlm,
            "TBU2RRGLXH3E5CQHTD3ODLDF2BWDCYUSSBLLZ5GNW7JXHDIYKXZWHXL7",
            "pre-authorised",
        ),
    ] {
        let error = Address::parse(currency, text).unwrap_err().to_string();
        assert!(error.contains(part), "{currency} {text}: {error}");
    }
    assert!(Address::parse(Currency::Btc, &"1".repeat(10_000)).is_err());
}

/// Published example keys: Bitcoin wiki, BIP 32, BIP 38, XRPL documentation, SEP-23.
#[test]
fn secrets_are_refused_and_not_repeated() {
    for text in [
        "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ",
        // A mistyped key is as secret as a correct one.
        "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTK",
        "KwdMAjGmerYanjeui5SHS7JkmpZvVipYvB2LJGU1ZxJwYvP98617",
        "6PRVWUbkzzsbcVac2qwfssoUJAN1Xhrg6bNk8J7Nzm5H7kxEbn2Nh2ZoGg",
        "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi",
        "sn259rEFXrQrWyx3Q7XneWcwV6dfL",
        "sEdTM1uX8pu2do5XvTnutH6HsouMaM2",
        "SBU2RRGLXH3E5CQHTD3ODLDF2BWDCYUSSBLLZ5GNW7JXHDIYKXZWHOKR",
    ] {
        for currency in Currency::ALL {
            let error = Address::parse(currency, text).unwrap_err();
            assert!(
                matches!(error, AddressError::Secret(_)),
                "{currency} {text}: {error}"
            );
            assert!(!error.to_string().contains(text));
        }
    }
}

/// Builds unified addresses with the receivers that ZIP 316 allows and forbids.
#[test]
fn unified_addresses_hold_what_the_specification_allows() {
    use ::bech32::{Bech32m, Hrp};
    let build = |items: &[(u8, usize)]| {
        let mut bytes: Vec<u8> = items
            .iter()
            .flat_map(|(kind, length)| [vec![*kind, *length as u8], vec![*kind ^ 0x5a; *length]].concat())
            .collect();
        bytes.extend(b"u\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        ::bech32::encode::<Bech32m>(Hrp::parse("u").unwrap(), &zcash::jumbled(bytes)).unwrap()
    };
    let valid = |items: &[(u8, usize)]| {
        let text = build(items);
        match Address::parse(Currency::Zec, &text) {
            Ok(address) => {
                assert_eq!((address.kind, address.canonical), (Kind::Unified, text));
                true
            }
            Err(_) => false,
        }
    };
    assert!(valid(&[(0, 20), (2, 43)]) && valid(&[(2, 43), (3, 43)]) && valid(&[(1, 20), (3, 43)]));
    assert!(valid(&[(3, 43), (0x20, 7)]), "unknown receivers are passed over");
    for wrong in [
        &[(0, 20)][..],
        &[(0, 20), (1, 20), (3, 43)],
        &[(3, 43), (2, 43)],
        &[(2, 43), (2, 43)],
        &[(2, 42), (3, 43)],
        &[(0, 21), (3, 43)],
        &[(3, 43), (0xe0, 7)],
    ] {
        assert!(!valid(wrong), "{wrong:?}");
    }
}

#[test]
fn a_bare_public_key_is_shown_as_its_hash() {
    // The output of the first block.
    let key = "04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5f";
    let script = [&[65], hex::decode(key).unwrap().as_slice(), &[0xac]].concat();
    let address = Address::of_script(Currency::Btc, &script).unwrap();
    assert_eq!(address.canonical, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
    assert!(Address::of_script(Currency::Btc, &[0x6a, 1, 2]).is_none());
    assert!(Address::of_script(Currency::Eth, &script).is_none());
}

/// Whether one wrong character is always detected. Solana and EVM addresses in one case have no checksum.
fn is_checksummed(address: &Address, text: &str) -> bool {
    let hex = text.trim_start_matches("0x").trim_start_matches("xdc");
    let one_case = hex == hex.to_lowercase() || hex == hex.to_uppercase();
    address.currency != Currency::Sol && !(address.kind == Kind::Account && text.len() <= 43 && one_case)
}

proptest! {
    #[test]
    fn scripts_and_addresses_are_each_others(hash in any::<[u8; 20]>(), long in any::<[u8; 32]>(), version in 0_u8..=16) {
        let push = if version == 0 { 0 } else { 0x50 + version };
        let scripts = [
            [&[0x76, 0xa9, 20], hash.as_slice(), &[0x88, 0xac]].concat(),
            [&[0xa9, 20], hash.as_slice(), &[0x87]].concat(),
            [&[0xaa, 32], long.as_slice(), &[0x87]].concat(),
            [&[push, 32], long.as_slice()].concat(),
            [&[0, 20], hash.as_slice()].concat(),
        ];
        for currency in Currency::ALL {
            for script in &scripts {
                if let Some(address) = Address::of_script(currency, script) {
                    prop_assert_eq!(address.script(), Some(script.clone()));
                    let read = Address::parse(currency, &address.canonical).unwrap();
                    prop_assert_eq!(read, address);
                }
            }
        }
    }

    #[test]
    fn accounts_round_trip(account in any::<[u8; 20]>()) {
        for currency in Currency::ALL.into_iter().filter(|c| c.is_evm()) {
            let address = Address::evm(currency, account);
            prop_assert_eq!(&Address::parse(currency, &address.canonical).unwrap(), &address);
            let lower = address.canonical.to_lowercase();
            prop_assert_eq!(&Address::parse(currency, &lower).unwrap(), &address);
        }
    }

    #[test]
    fn one_wrong_character_is_always_noticed(which in 0..VALID.len(), at in any::<prop::sample::Index>(), to in 33_u8..127) {
        let (currency, text, _) = VALID[which];
        let address = Address::parse(currency, text).unwrap();
        prop_assume!(is_checksummed(&address, text));
        let at = at.index(text.len());
        let mut bytes = text.as_bytes().to_vec();
        // Case is free in some encodings. EIP-55's checksum consists only of case and has at most four bits
        // per letter.
        prop_assume!(!bytes[at].eq_ignore_ascii_case(&to));
        prop_assume!(!currency.is_evm());
        bytes[at] = to;
        let changed = String::from_utf8(bytes).unwrap();
        prop_assert!(Address::parse(currency, &changed).is_err(), "{} {}", currency, changed);
    }

    #[test]
    fn nothing_hostile_breaks_a_parser(text in "\\PC{0,300}", which in 0..VALID.len(), cut in any::<prop::sample::Index>()) {
        for currency in Currency::ALL {
            let _ = Address::parse(currency, &text);
            let _ = crate::hash::TransactionHash::parse(currency, &text);
        }
        let valid = VALID[which].1;
        let _ = Address::parse(VALID[which].0, &valid[..cut.index(valid.len())]);
    }

    #[test]
    fn scripts_of_strangers_break_nothing(script in prop::collection::vec(any::<u8>(), 0..80)) {
        for currency in Currency::ALL {
            let _ = Address::of_script(currency, &script);
        }
    }
}
