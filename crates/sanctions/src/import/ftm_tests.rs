//! OpenSanctions' nested files and deltas, as small invented ones and damaged.

use std::io::Cursor;

use super::*;
use crate::entity::{IdentifierKind, Schema};

const NESTED: &str = r#"{"id":"Q-1","caption":"Zoltar Q","schema":"Person","properties":{"name":["Zoltar Q"],"topics":["sanction","role.pep"],"sanctions":[{"id":"s","schema":"Sanction","properties":{"program":["Demo"],"authority":["Ministry of Lanterns"],"startDate":["2024-01-02"],"reason":["Sold lanterns"],"recordId":["7"]}}],"addressEntity":[{"schema":"Address","properties":{"full":["Lamp 1, Uto"],"country":["no"],"city":["Uto"]}}],"passports":[{"schema":"Passport","properties":{"number":["X123456"]}}],"cryptoWallets":[{"schema":"CryptoWallet","properties":{"publicKey":["0xabcdef0123456789"]}}],"familyPerson":[{"schema":"Family","properties":{"relationship":["wife"],"relative":[{"id":"Q-2","caption":"Ana Q","schema":"Person","properties":{"name":["Ana Q"]}}]}}],"positionOccupancies":[{"schema":"Occupancy","properties":{"post":[{"schema":"Position","properties":{"name":["Minister"]}}]}}]},"last_seen":"2026-01-01T00:00:00"}"#;

fn read(name: &str, text: &str, base: Option<&List>) -> Result<(List, ImportReport), ImportError> {
    let source = Source::new(name, Cursor::new(text.as_bytes().to_vec()));
    import_onto(vec![source], None, |list| {
        base.filter(|base| base.name == list).cloned()
    })
}

#[test]
fn nested_targets() {
    let (list, report) = read("demo.targets.nested.json", NESTED, None).unwrap();
    let person = &list.entities[0];
    assert_eq!(
        (person.names.as_slice(), person.aliases.len()),
        (&["Zoltar Q".to_owned()][..], 0)
    );
    assert_eq!(
        (&person.programs[..], &person.countries[..]),
        (&["Demo".to_owned()][..], &["no".to_owned()][..])
    );
    assert_eq!(
        (person.identifiers[0].kind, person.identifiers[0].value.as_str()),
        (IdentifierKind::Passport, "X123456")
    );
    assert_eq!(person.wallets, ["0xabcdef0123456789"]);
    assert_eq!(
        person.remarks,
        [
            "Listed on 2024-01-02",
            "Authority: Ministry of Lanterns",
            "Reasons: Sold lanterns",
            "Address: Lamp 1, Uto",
            "familyPerson: Ana Q",
            "positionOccupancies: Minister",
        ]
    );
    let use_of = |name: &str| {
        report
            .values
            .iter()
            .find(|value| value.name == name)
            .map(|value| value.used)
    };
    for (name, used) in [
        ("sanctions@program", Use::Kept),
        ("sanctions@recordId", Use::Unused),
        ("addressEntity@country", Use::Compared),
        ("addressEntity@city", Use::Unused),
        ("passports@number", Use::Compared),
        ("familyPerson", Use::Kept),
        ("familyPerson@relationship", Use::Unused),
    ] {
        assert_eq!(use_of(name), Some(used), "{name}");
    }
}

const BASE: &str = r#"{"id":"a","schema":"Person","properties":{"name":["Zoltar Q"]},"last_seen":"2024-05-27T00:00:00"}
{"id":"b","schema":"Organization","properties":{"name":["Lantern Front"]}}
{"id":"w","schema":"CryptoWallet","properties":{"publicKey":["0xabcdef0123456789"],"holder":["a"]}}"#;

const DELTA: &str = r#"{"op":"MOD","entity":{"id":"a","schema":"Person","properties":{"name":["Zoltar Q"],"alias":["Zed"]}}}
{"op":"DEL","entity":{"id":"b"}}

{"op":"DEL","entity":{"id":"an-address"}}
{"op":"ADD","entity":{"id":"c","schema":"Person","properties":{"name":["Ana Q"]}}}
{"op":"ADD","entity":{"id":"addr","schema":"Address","properties":{"full":["Lamp 1"]}}}"#;

const DELTA_NAME: &str = "demo.20240527134702-zbn.20240527194702-wnk.delta.json";

fn base() -> List {
    read("demo.20240527134702-zbn.entities.ftm.json", BASE, None)
        .unwrap()
        .0
}

#[test]
fn a_delta_changes_the_list_in_use() {
    let base = base();
    assert_eq!(base.version, "2024-05-27T13:47:02-zbn");
    assert!(crate::freshness::published_at(&base.version).is_some());
    let (list, report) = read(DELTA_NAME, DELTA, Some(&base)).unwrap();
    assert_eq!(report.format, ListFormat::FollowTheMoneyDelta);
    assert_eq!(
        (list.name.as_str(), list.version.as_str()),
        ("demo", "2024-05-27T19:47:02-wnk")
    );
    assert_eq!((report.rows, report.entities, report.rejected), (5, 3, 0));
    let ids: Vec<&str> = list.entities.iter().map(|entity| entity.id.as_str()).collect();
    assert_eq!(ids, ["a", "w", "c"]);
    // The wallet is of an entity that the delta does not have.
    assert_eq!(
        (&list.entities[0].aliases[..], list.entities[0].wallets.len()),
        (&["Zed".to_owned()][..], 1)
    );
    let uses: Vec<(&str, Use)> = report
        .values
        .iter()
        .map(|value| (value.name.as_str(), value.used))
        .collect();
    assert_eq!(
        uses,
        [
            ("ADD", Use::Unused),
            ("ADD", Use::Compared),
            ("DEL", Use::Unused),
            ("DEL", Use::Compared),
            ("MOD", Use::Compared)
        ]
    );
    let without_wallet = r#"{"op":"DEL","entity":{"id":"w"}}"#;
    let (list, _) = read(
        "demo.20240527194702-wnk.20240528014702-pfh.delta.json",
        without_wallet,
        Some(&list),
    )
    .unwrap();
    assert!(
        list.entities
            .iter()
            .all(|entity| entity.schema == Schema::Person && entity.wallets.is_empty())
    );
}

#[test]
fn a_delta_that_was_imported_before_changes_nothing() {
    let (once, _) = read(DELTA_NAME, DELTA, Some(&base())).unwrap();
    let (twice, _) = read(DELTA_NAME, DELTA, Some(&once)).unwrap();
    assert_eq!(twice, once);
}

#[test]
fn a_delta_for_another_base_is_refused() {
    let base = base();
    let add = r#"{"op":"ADD","entity":{"id":"a","schema":"Person","properties":{"name":["Zoltar Q"]}}}"#;
    let change = add.replace("ADD", "MOD").replace("\"a\"", "\"x\"");
    for (name, text, base, reason) in [
        (DELTA_NAME, DELTA, None, "no such list is in use here"),
        (
            "demo.20240527194702-wnk.20240528014702-pfh.delta.json",
            DELTA,
            Some(&base),
            "version 2024-05-27T13:47:02-zbn is in use here",
        ),
        (
            "other.20240527134702-zbn.20240527194702-wnk.delta.json",
            DELTA,
            Some(&base),
            "no such list is in use here",
        ),
        (
            "entities.delta.json",
            DELTA,
            Some(&base),
            "name it LIST.VERSION.VERSION.delta.json",
        ),
        (
            "demo.20240527134702-zbn.delta.json",
            DELTA,
            Some(&base),
            "name it LIST.VERSION.VERSION.delta.json",
        ),
        (
            DELTA_NAME,
            add,
            Some(&base),
            "its line 1 adds an entity that the list has already",
        ),
        (
            DELTA_NAME,
            &change,
            Some(&base),
            "its line 1 changes an entity that the list lacks",
        ),
        (
            DELTA_NAME,
            &DELTA[..DELTA.len() - 9],
            Some(&base),
            "near record 6: no change of an entity",
        ),
        (
            DELTA_NAME,
            &DELTA.replace("DEL", "DROP"),
            Some(&base),
            "near record 2: no change of an entity",
        ),
    ] {
        let Err(error) = read(name, text, base) else {
            panic!("{name}: {reason}")
        };
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn versions_in_names() {
    for (name, versions) in [
        (
            "sanctions.20240527134702-zbn.entities.ftm.json",
            "2024-05-27T13:47:02-zbn",
        ),
        ("20240527134702-zbn", "2024-05-27T13:47:02-zbn"),
        ("sanctions.20249927134702-zbn.json", ""),
        ("sanctions.2024-05-27.json", ""),
        ("sanctions.20240527134702-.json", ""),
        ("sanctions.json", ""),
    ] {
        assert_eq!(ftm::stated_versions(name).join(" "), versions, "{name}");
    }
}

proptest::proptest! {
    #[test]
    fn damaged_lines_are_an_answer(at in 0usize..4000, byte in proptest::num::u8::ANY, cut in 0usize..4000, is_delta in proptest::bool::ANY) {
        let (text, format) = match is_delta {
            true => (DELTA, ListFormat::FollowTheMoneyDelta),
            false => (NESTED, ListFormat::FollowTheMoney),
        };
        let mut bytes = text.as_bytes().to_vec();
        let len = bytes.len();
        bytes[at % len] = byte;
        bytes.truncate(cut.max(50));
        let base = base();
        let _ = import_onto(vec![Source::new(DELTA_NAME, Cursor::new(bytes))], Some(format), |_| Some(base));
    }
}
