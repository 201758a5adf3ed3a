use proptest::prelude::*;

use super::*;
use crate::address::Address;

const BTC: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
const TRX: &str = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
const DAY: i64 = 86_400_000;

fn read_ok(text: &str) -> LabelImport {
    read(text.as_bytes()).unwrap()
}

fn label(name: &str, category: Category, confidence: u8) -> Label {
    Label {
        name: name.into(),
        category,
        source: "test".into(),
        confidence,
        valid_from: None,
        valid_to: None,
        authority: false,
    }
}

#[test]
fn tagpacks_inherit_and_translate() {
    let pack = format!(
        "title: Pack\ncreator: me\nconfidence: web_crawl\nlabel: Hacked Exchange\nsource: https://example.org\ncategory: exchange\nlastmod: 2021-01-01\n\
         tags:\n- address: {BTC}\n  currency: BTC\n  abuse: service_hack\n- address: {TRX}\n  currency: USDT\n  label: 2020\n  category: mixing_service\n  confidence: ownership\n\
         - address: {BTC}x\n  currency: BTC\n- address: {BTC}\n  currency: XMR\n"
    );
    let imported = read_ok(&pack);
    let got: Vec<_> = imported
        .rows
        .iter()
        .map(|row| {
            (
                row.currency,
                row.label.name.as_str(),
                row.label.category,
                row.label.confidence,
            )
        })
        .collect();
    assert_eq!(
        got,
        [
            (Currency::Btc, "Hacked Exchange", Category::StolenFunds, 20),
            (Currency::Btc, "Hacked Exchange", Category::Exchange, 20),
            (Currency::Trx, "2020", Category::Mixer, 100),
        ]
    );
    assert_eq!(imported.rejected, 2);
    assert!(imported.rejects.iter().all(|reject| !reject.reason.contains(BTC)));
}

#[test]
fn tables_and_lines_say_the_same() {
    let table = format!(
        "currency,address,name,category,source,confidence,valid_from,valid_to\nbtc,{BTC},Satoshi,mining,me,90,2020-01-01,2021-01-01T00:00:00Z\n\
         btc,{BTC},Bad,mining,me,900,,\nbtc,{BTC},Bad,mining,me,9,yesterday,\nbtc,,,,,,,\n"
    );
    let lines = format!(
        "{{\"chain\":\"btc\",\"address\":\"{BTC}\",\"label\":\"Satoshi\",\"category\":\"mining\",\"source\":\"me\",\"confidence\":90,\"validFrom\":\"2020-01-01\",\"validTo\":\"2021-01-01\"}}\nnonsense\n"
    );
    let (table, lines) = (read_ok(&table), read_ok(&lines));
    assert_eq!(table.rows, lines.rows);
    assert_eq!((table.rows.len(), table.rejected, lines.rejected), (1, 3, 1));
    let label = &table.rows[0].label;
    assert_eq!(
        (label.valid_from, label.valid_to),
        (Some(18_262 * DAY), Some(18_628 * DAY))
    );
}

#[test]
fn what_is_no_label_file_is_refused() {
    for text in [
        "",
        "x",
        "a,b\n1,2",
        "title: x\n",
        "tags: 7",
        "\u{0}",
        "[1,2]",
        "&a [*a, *a]",
    ] {
        let result = read(text.as_bytes());
        assert!(
            result.is_err() || result.is_ok_and(|imported| imported.rows.is_empty()),
            "{text:?}"
        );
    }
    assert!(read(&b"\xff\xfe"[..]).is_err());
}

#[test]
fn private_keys_in_label_files_are_not_told() {
    let key = "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ";
    let imported = read_ok(&format!("chain,address,name\nbtc,{key},me\n"));
    assert!(imported.rejects[0].reason.contains("secret"));
    assert!(!imported.rejects[0].reason.contains(key));
    let swapped = read_ok(&format!("chain,address,name\n{key},{BTC},me\nxmr,{BTC},me\n"));
    assert!(!swapped.rejects[0].reason.contains(key));
    assert!(swapped.rejects[1].reason.contains("xmr"));
    // Secrets in any text of a row are rejected. The reject names row and field and does not repeat the
    // secret.
    let seed = "legal winner thank year wave sausage worth useful legal winner thank yellow";
    for secret in [key, &format!("Ann's {key}"), seed] {
        let row = |name, category, source| format!("btc,{BTC},{name},{category},{source}\n");
        let rows = [
            row(secret, "scam", "me"),
            row("A", secret, "me"),
            row("A", "scam", secret),
            row("A", "scam", "me"),
        ];
        let imported = read_ok(&format!("chain,address,name,category,source\n{}", rows.concat()));
        assert_eq!((imported.rows.len(), imported.rejected), (1, 3));
        for (reject, (row, field)) in
            imported
                .rejects
                .iter()
                .zip([(2, "name"), (3, "category"), (4, "source")])
        {
            assert_eq!(reject.row, row);
            assert!(
                reject.reason.starts_with(&format!("{field} - is a secret")),
                "{}",
                reject.reason
            );
        }
        assert!(!format!("{imported:?}").contains(secret));
    }
}

#[test]
fn categories_are_understood_however_they_are_spelt() {
    for (words, category) in [
        (
            &[
                "mixer",
                "Mixers",
                "MIXER",
                " mixing service ",
                "Mixing-Service",
                "tumblers",
            ][..],
            Category::Mixer,
        ),
        (
            &[
                "darknet_market",
                "Darknet Market",
                "darknet-markets",
                "DarknetMarket",
                "dark web",
            ],
            Category::DarknetMarket,
        ),
        (
            &["exchange_high_risk", "High-Risk Exchange", "no-KYC exchanges"],
            Category::ExchangeHighRisk,
        ),
        (
            &["terrorism financing", "Terrorist-Financing"],
            Category::TerrorismFinancing,
        ),
        (&["sanctions", "Sanctioned"], Category::Sanctions),
        (&["coinjoin", "CoinJoin", "coin_join"], Category::Coinjoin),
        (
            &["other", "Wallet Service", "payment-processors"],
            Category::Other,
        ),
    ] {
        for word in words {
            assert_eq!(taxonomy::category(word), Some(category), "{word}");
        }
    }
    for word in ["", "s", "-", "mixxer", "микшер", "cybercrime (other)"] {
        assert_eq!(taxonomy::category(word), None, "{word}");
    }
}

#[test]
fn unknown_categories_are_counted_and_refuse_nothing() {
    let imported = read_ok(&format!(
        "chain,address,name,category,flag\nbtc,{BTC},A,mixxer,\nbtc,{BTC},B,Mixxer,\nbtc,{BTC},C,mixxer,scam\nbtc,{BTC},D,shop,\n\
         btc,{BTC},E,,\nbtc,x,F,nonsense,\n"
    ));
    let unknown: Vec<_> = imported.unknown_categories.iter().collect();
    assert_eq!(unknown, [(&"Mixxer".to_owned(), &1), (&"mixxer".to_owned(), &2)]);
    let categories: Vec<_> = imported.rows.iter().map(|row| row.label.category).collect();
    let other = Category::Other;
    assert_eq!(categories, [other, other, Category::Scam, other, other]);
    let many: String = (0..5000).map(|n| format!("btc,{BTC},A,kind {n}\n")).collect();
    let imported = read_ok(&format!("chain,address,name,category\n{many}"));
    assert_eq!(
        (imported.rows.len(), imported.unknown_categories.len()),
        (5000, 100)
    );
}

#[test]
fn the_gravest_and_surest_first_and_only_what_holds() {
    let mut ended = label("Old", Category::Sanctions, 100);
    ended.valid_to = Some(10 * DAY);
    let mut authority = label("OFAC", Category::Sanctions, 100);
    authority.authority = true;
    let rows = [
        label("Kraken", Category::Exchange, 50),
        label("Mixer", Category::Mixer, 20),
        label("Mixer", Category::Mixer, 60),
        ended,
        authority,
    ]
    .map(|label| (Currency::Btc, BTC.to_owned(), label));
    let index = LabelIndex::new(rows.clone());
    let now = 20 * DAY;
    let order = |at| {
        let labels = index.labels(Currency::Btc, BTC, at);
        labels
            .iter()
            .map(|l| (l.name.clone(), l.confidence))
            .collect::<Vec<_>>()
    };
    let name = |name: &str, confidence| (name.to_owned(), confidence);
    let expected = [
        name("OFAC", 100),
        name("Mixer", 60),
        name("Mixer", 20),
        name("Kraken", 50),
    ];
    assert_eq!(order(now), expected);
    assert_eq!(order(9 * DAY).len(), 5);
    assert_eq!(order(10 * DAY), expected);
    assert!(index.labels(Currency::Bsv, BTC, now).is_empty(), "another chain");
    assert!(index.labels(Currency::Btc, "", now).is_empty());
    let mut reversed = rows;
    reversed.reverse();
    assert_eq!(
        LabelIndex::new(reversed).labels(Currency::Btc, BTC, now),
        index.labels(Currency::Btc, BTC, now)
    );
}

#[test]
fn a_set_imported_again_remembers() {
    let folder = tempfile::tempdir().unwrap();
    let store = LabelStore::open(folder.path()).unwrap();
    assert!(store.load().unwrap().is_empty());
    let file = |names: &[&str]| {
        let rows: String = names
            .iter()
            .map(|name| format!("btc,{BTC},{name},scam\n"))
            .collect();
        format!("chain,address,name,category\n{rows}")
    };
    let report = store
        .import("my set", file(&["A", "B"]).as_bytes(), 10 * DAY)
        .unwrap();
    assert_eq!((report.labels, report.added, report.ended), (2, 2, 0));
    let said = store.load().unwrap().labels(Currency::Btc, BTC, 11 * DAY);
    assert!(said.iter().all(|label| label.source == "my set"), "{said:?}");
    let before = store.fingerprint().unwrap();
    let report = store
        .import("my set", file(&["B", "C", "D"]).as_bytes(), 20 * DAY)
        .unwrap();
    assert_eq!((report.labels, report.added, report.ended), (3, 2, 1));
    assert_ne!(store.fingerprint().unwrap(), before);
    let index = store.load().unwrap();
    let names = |at| {
        let labels = index.labels(Currency::Btc, BTC, at);
        let mut names: Vec<_> = labels.into_iter().map(|label| label.name).collect();
        names.sort();
        names.concat()
    };
    assert_eq!(
        [5 * DAY, 15 * DAY, 25 * DAY, i64::MAX].map(names),
        ["", "AB", "BCD", "BCD"]
    );
    let status = store.status().unwrap();
    assert_eq!((status.len(), status[0].labels, status[0].ended), (1, 4, 1));
    assert!(store.import("my set", &b"x"[..], 30 * DAY).is_err());
    assert_eq!(store.load().unwrap().len(), 4, "a bad file changes nothing");
    assert!(store.remove("my set").unwrap() && !store.remove("my set").unwrap());
}

#[test]
fn listed_wallets_are_routed_by_syntax() {
    let chains = |address| {
        sanctions_labels(address, "P", "L")
            .into_iter()
            .map(|(currency, _, label)| {
                assert!(label.authority);
                currency.code()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(chains(TRX), ["trx"]);
    assert_eq!(chains(BTC), ["btc", "bch", "bsv"]);
    assert_eq!(
        chains("0xdac17f958d2ee523a2206206994597c13d831ec7"),
        ["eth", "etc", "bsc", "xdc", "sys"]
    );
    assert!(chains("not an address").is_empty());
}

#[test]
fn a_label_holds_from_its_first_to_its_last_moment() {
    let mut passing = label("Passing", Category::Mixer, 50);
    (passing.valid_from, passing.valid_to) = (Some(10), Some(20));
    assert_eq!(
        [9, 10, 19, 20].map(|at| passing.is_valid_at(at)),
        [false, true, true, false]
    );
    let now = jiff::Timestamp::now().as_millisecond();
    let asked = crate::screen::Request::new(Currency::Btc, crate::screen::Subject::Address(BTC)).at;
    assert!(
        (now..now + 60_000).contains(&asked),
        "unless told, a request is about now"
    );
}

#[test]
fn only_an_authoritys_list_sanctions() {
    let old = label("Sanctioned Exchange", Category::Sanctions, 90);
    let mixer = label("Mixy", Category::Mixer, 40);
    let mut listed = label("Listed", Category::Sanctions, 100);
    listed.authority = true;
    let categories = |said: &[&Label]| {
        let all = combine_labels(said.iter().map(|label| (*label).clone()).collect());
        all.iter()
            .map(|label| (label.name.clone(), label.category))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        categories(&[&old, &mixer]),
        [
            ("Mixy".to_owned(), Category::Mixer),
            ("Sanctioned Exchange".to_owned(), Category::Other)
        ]
    );
    assert_eq!(
        categories(&[&old, &mixer, &listed])[1],
        ("Sanctioned Exchange".to_owned(), Category::Sanctions)
    );
    let file = read_ok(&format!(
        "chain,address,name,category\nbtc,{BTC},Sanctioned Exchange,exchange\n"
    ));
    let index = LabelIndex::new(
        file.rows
            .into_iter()
            .map(|row| (row.currency, row.address, row.label)),
    );
    let both = CombinedLabels(vec![&index]).labels(Currency::Btc, BTC, 0);
    assert_eq!(
        both.iter().map(|l| l.category).collect::<Vec<_>>(),
        [Category::Exchange, Category::Other]
    );
}

#[test]
fn other_networks_are_not_ethereum() {
    let address = "0xdac17f958d2ee523a2206206994597c13d831ec7";
    let imported = read_ok(&format!(
        "chain,address,name\narb,{address},Bridge\neth,{address},Bridge\n"
    ));
    assert_eq!((imported.rows.len(), imported.rejected), (1, 1));
}

proptest! {
    #[test]
    fn every_label_is_found_under_its_own_address(accounts in prop::collection::vec(any::<[u8; 20]>(), 0..60)) {
        let rows = accounts.iter().enumerate().map(|(at, account)| {
            let address = Address::evm(Currency::Eth, *account);
            (Currency::Eth, address.canonical, label(&at.to_string(), Category::Scam, 50))
        });
        let index = LabelIndex::new(rows);
        for (at, account) in accounts.iter().enumerate() {
            let address = Address::evm(Currency::Eth, *account).canonical;
            let labels = index.labels(Currency::Eth, &address, 0);
            prop_assert!(labels.iter().any(|label| label.name == at.to_string()));
            prop_assert!(index.contains(Currency::Eth, &address, 0));
        }
    }

    #[test]
    fn nothing_hostile_breaks_the_reader(text in "\\PC{0,200}") {
        let _ = read(text.as_bytes());
        let _ = read(format!("tags:\n- {text}").as_bytes());
        let _ = read(format!("currency,address,name\n{text}").as_bytes());
    }
}
