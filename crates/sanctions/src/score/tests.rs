//! Tables of scores of pairs.

use super::*;
use crate::entity::{Identifier, Schema};
use crate::subject::canonical_identifier;

fn person(name: &str) -> Entity {
    Entity {
        schema: Schema::Person,
        names: vec![name.into()],
        ..Entity::default()
    }
}

fn born(date: &str) -> Entity {
    Entity {
        birth_dates: vec![date.parse().unwrap()],
        ..person("Anders Lindqvist")
    }
}

#[test]
fn dates_qualify() {
    for (a, b, score) in [
        ("1970-05-02", "1970-05-02", 1.0),
        ("1970-05-02", "1970", 1.0),
        ("1970-05-02", "1970-02-05", 0.88),
        ("1970-05-02", "1970-05-03", 0.75),
        ("1970-05-02", "1971-05-02", 0.9),
        ("1970", "1971", 0.85),
        ("1970", "1985", 0.65),
        ("1970", "1968/1972", 1.0),
    ] {
        assert_eq!(score_pair(&born(a), &born(b)).score, score, "{a} {b}");
    }
}

#[test]
fn common_names_rank_below_supported_ones() {
    let with = |name: &str, country: &str, date: &str| Entity {
        birth_dates: date.parse().into_iter().collect(),
        countries: Some(country.to_owned())
            .filter(|c| !c.is_empty())
            .into_iter()
            .collect(),
        ..person(name)
    };
    for (query, listed, score) in [
        (with("Maria Gomez", "", ""), with("Maria Gomez", "", ""), 0.95),
        (with("Maria Gomez", "es", ""), with("Maria Gomez", "es", ""), 1.0),
        (
            with("Maria Gomez", "", "1970"),
            with("Maria Gomez", "", "1970-05-02"),
            1.0,
        ),
        (with("Maria Gomez", "es", ""), with("Maria Gomez", "cl", ""), 0.75),
        (
            with("Maria Quillfeather", "", ""),
            with("Maria Quillfeather", "", ""),
            1.0,
        ),
    ] {
        assert_eq!(score_pair(&query, &listed).score, score, "{query:?}");
    }
}

#[test]
fn empty_names_match_nothing() {
    for name in ["", "...", "—", "''"] {
        assert_eq!(score_pair(&person(name), &person(name)).score, 0.0, "{name}");
    }
}

#[test]
fn wallets_compare_by_their_encoding() {
    for (a, b, same) in [
        (
            "0xABCDEF0123456789abcdef0123456789ABCDEF01",
            "0xabcdef0123456789abcdef0123456789abcdef01",
            true,
        ),
        (
            "BC1QINVENTEDXXXXXXXXXXXXXXXXX",
            "bc1qinventedxxxxxxxxxxxxxxxxx",
            true,
        ),
        (
            "1InventedBase58AddressXXXXXXXXXXXX",
            "1inventedbase58addressxxxxxxxxxxxx",
            false,
        ),
    ] {
        let wallet = |w: &str| Entity {
            schema: Schema::CryptoWallet,
            wallets: vec![w.into()],
            ..Entity::default()
        };
        assert_eq!(score_pair(&wallet(a), &wallet(b)).matched, same, "{a}");
    }
}

#[test]
fn identifiers_match_whatever_their_punctuation() {
    let with = |kind, value: &str| Entity {
        identifiers: vec![Identifier {
            kind,
            value: value.into(),
        }],
        ..person("X")
    };
    let a = with(IdentifierKind::Passport, "AB 12345-67");
    let mut b = with(IdentifierKind::Other, "ab1234567");
    b.names = vec!["Quite Different".into()];
    assert_eq!(score_pair(&a, &b).score, 0.85);
    assert_eq!(canonical_identifier("0000"), None);
    assert_eq!(canonical_identifier("--"), None);
    for (written, canonical) in [
        ("IMO 9074729", "9074729"),
        ("imo:9074729", "9074729"),
        ("IMO 90747291", "IMO90747291"),
        ("IMOTEST1", "IMOTEST1"),
    ] {
        assert_eq!(canonical_identifier(written).as_deref(), Some(canonical));
    }
}

#[test]
fn weak_aliases_match_exactly_only() {
    let listed = Entity {
        weak_aliases: vec!["Big Bear".into()],
        ..person("Anders Lindqvist")
    };
    assert_eq!(score_pair(&person("Bear Big"), &listed).score, 0.8);
    assert!(!score_pair(&person("Big Bears"), &listed).matched);
}

#[test]
fn explains_by_token() {
    let answer = score_pair(&person("Anders Q. Lindquist"), &person("Lindqvist, Anders"));
    let names = &answer.explanation[0];
    assert_eq!(names.feature, "name_match");
    assert_eq!(names.tokens[0].candidate, "anders");
    assert!(
        names
            .tokens
            .iter()
            .any(|t| t.query == "q" && t.candidate.is_empty())
    );
}
