//! No bound rules out a name that the comparison of two names finds similar, and what a search finds does not depend on
//! the order of the lists.

use proptest::prelude::*;

use std::collections::BTreeMap;

use super::bounds::{Covered, NameBounds};
use super::outline::Outline;
use super::pair_bound::PairBound;
use super::similarities::Similarities;
use super::*;
use crate::align::SLIP_SIMILARITY;
use crate::compare;
use crate::entity::{Gender, Schema};
use crate::name::{KnownNameParts, Name, Token, TokenKind, prepare};
use crate::score::score_pair;

fn person(id: &str, names: &[&str]) -> Entity {
    Entity {
        id: id.into(),
        schema: Schema::Person,
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Entity::default()
    }
}

pub(super) fn index_of(entities: Vec<Entity>) -> Screener {
    Screener::new([List {
        name: "invented".into(),
        version: "1".into(),
        entities,
    }])
}

/// The ids of the hits of a person's name, with the listed names that matched.
fn hits(screener: &Screener, name: &str) -> Vec<(String, String)> {
    let query: Query = serde_json::from_value(serde_json::json!({"schema": "Person", "name": name})).unwrap();
    let found = screener.screen(&query, &ScreenOptions::default()).unwrap();
    let hit = |hit: &Hit| (hit.id.clone(), hit.explanation[0].candidate.clone());
    found.results.iter().map(hit).collect()
}

#[test]
fn no_spelling_hides_a_listed_name() {
    for (query, listed) in [
        ("Quillon Ahmed Okonjima", "OKONJIMA, Ahmed Q."),
        ("Hijazi Mohamad", "HEJAZI, Mohammad"),
        ("Hejazi Mohamad", "HIJAZI, Mohammad"),
        ("Yuriy Petrov", "Jurij Petrov"),
        ("Jurij Petrov", "Yuriy Petrov"),
        ("Ali Aly Quillfeather", "Ali Quillfeather"),
        ("Ac Ha", "Acha"),
        ("Sinwar, Yhya", "SINWAR, Yahya"),
        ("يحيى السنوار", "Yahya al-Sinwar"),
        ("Heidai, Reza", "Heidari, Reza"),
        ("Tajideen, Huayn", "TAJIDEEN, Husayn"),
        ("Okonjima, Aveyev", "Okonjima, Avdeyev"),
        ("王 曲", "Wang Chu"),
        ("Wang Chu", "王 曲"),
        ("J. Smith", "Smith, John"),
        ("Mohamed Hassan Elsayed", "Mohamed Hassan El Sayed"),
        ("Mohamed Hassan Kaddafi", "Mohamed Hassan Qad Dafi"),
        ("Mohamed Hassan Kalashnikov", "Mohamed Hassan Karashmikov"),
        ("Luz, Maria", "Luzmaria Mario Gomez Perez Soto"),
        ("Quillfeather, Tim", "Quillfeather, Tomas Tim"),
    ] {
        let mut screener = index_of(vec![
            person("a", &[listed]),
            person("b", &["Zebulon Quartermain"]),
        ]);
        for few in [0, FEW] {
            screener.few = few;
            assert_eq!(hits(&screener, query).len(), 1, "{query}, {listed}, {few}");
        }
    }
}

#[test]
fn an_initial_stands_for_a_word_that_others_bear() {
    let mut entities = vec![person("a", &["Okonjima, Q."])];
    let others = ["Quillon Abbas", "Quillon Brown", "Quillon Costa"];
    entities.extend(others.iter().map(|name| person(name, &[name])));
    assert_eq!(hits(&index_of(entities), "Quilon Okonjima").len(), 1);
}

#[test]
fn a_part_finds_what_the_whole_compares_because_a_word_is_rare() {
    let others = (0..60).map(|number| person(&format!("tim {number}"), &[&format!("Tim Okonjima{number}")]));
    let changed = person("changed", &["Quillfeather, Tom"]);
    let list = |entities: Vec<Entity>| List {
        name: "invented".into(),
        version: "1".into(),
        entities,
    };
    let all: Vec<Entity> = others.chain([changed.clone()]).collect();
    let whole = Arc::new(Screener::new([list(all)]));
    assert_eq!(hits(&whole, "Quillfeather, Tim").len(), 1);
    let part = Screener::of_parts(Arc::clone(&whole), [list(vec![changed])]);
    assert_eq!(hits(&part, "Quillfeather, Tim").len(), 1);
}

#[test]
fn everybody_with_a_name_is_found_whatever_the_order_of_the_lists() {
    let entities = vec![
        person("a", &["Maria Quillfeather"]),
        person("b", &["Quillfeather Maria", "Maria Quillfeather"]),
        person("c", &["Maria Quillfeather", "Quillfeather Maria"]),
    ];
    let mut expected = hits(&index_of(entities.clone()), "Maria Quillfeather");
    assert_eq!(expected.len(), 3);
    assert_eq!(
        expected[1].1, "quillfeather maria",
        "the first of equally good names"
    );
    assert_eq!(expected[2].1, "maria quillfeather");
    for turn in [1, 2] {
        let mut turned = entities.clone();
        turned.rotate_left(turn);
        let mut found = hits(&index_of(turned), "Maria Quillfeather");
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }
}

const PARTS: [&str; 44] = [
    "Anna",
    "Maria",
    "Mario",
    "Marie",
    "John",
    "Juan",
    "Ivan",
    "Giovanni",
    "J.",
    "A.",
    "M",
    "Li",
    "Lee",
    "Kim",
    "bin",
    "al",
    "van",
    "Abdul",
    "Abdullah",
    "Aziz",
    "Abdulaziz",
    "Quillfeather",
    "Quillfether",
    "Quill",
    "Feather",
    "Okonjima",
    "Okonjimas",
    "Tam",
    "Sin",
    "Tams",
    "In",
    "Ahmed",
    "Mohammed",
    "Mohamad",
    "Hijazi",
    "Hejazi",
    "Xiaoming",
    "王小明",
    "王",
    "小明",
    "김영희",
    "Younghee",
    "محمد",
    "علي",
];

fn name() -> impl Strategy<Value = (Name, String)> {
    let words = prop::collection::vec(prop::sample::select(&PARTS[..]), 1..5);
    (words, any::<bool>()).prop_filter_map("nothing to compare", |(words, has_comma)| {
        let text = match words.split_first() {
            Some((family, given)) if has_comma && !given.is_empty() => {
                format!("{family}, {}", given.join(" "))
            }
            _ => words.join(" "),
        };
        Some((prepare(&text, Schema::Person, &KnownNameParts::default())?, text))
    })
}

/// A person with dates of birth, a country and a gender, or without.
fn qualities() -> impl Strategy<Value = Entity> {
    let dates = prop::collection::vec(
        prop::sample::select(&["1961-02-03", "1961", "1962-03-02", "1970-05"][..]),
        0..3,
    );
    let countries = prop::collection::vec(prop::sample::select(&["de", "fr"][..]), 0..2);
    let gender = prop::option::of(prop::sample::select(
        &[Gender::Male, Gender::Female, Gender::Other][..],
    ));
    (dates, countries, gender).prop_map(|(dates, countries, gender)| Entity {
        schema: Schema::Person,
        birth_dates: dates.into_iter().map(|date| date.parse().unwrap()).collect(),
        countries: countries.into_iter().map(String::from).collect(),
        gender,
        ..Entity::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]
    #[test]
    fn a_hit_has_the_score_of_its_pair(
        listed in prop::collection::vec((name(), name(), qualities()), 1..12),
        (query, of_query) in (name(), qualities()),
        threshold in prop::sample::select(&[0.0, 0.3, 0.7][..]),
        few in prop::sample::select(&[0, FEW][..]),
    ) {
        let entities = listed.into_iter().enumerate().map(|(number, ((_, first), (_, second), qualities))| Entity {
            names: vec![first, second],
            ..Entity { id: number.to_string(), ..qualities }
        });
        let entities: Vec<Entity> = entities.collect();
        let mut screener = index_of(entities.clone());
        screener.few = few;
        let query = Entity { names: vec![query.1], ..of_query };
        let options = ScreenOptions { threshold, limit: usize::MAX, ..ScreenOptions::default() };
        for (score, entry) in screener.search_entity(&query, &options).hits() {
            let entity = entities.iter().find(|entity| entity.id == entry.id()).unwrap();
            // The index may find only one of the names, or none.
            let names = [&entity.names[..], &entity.names[..1], &entity.names[1..], &[]];
            let mut scores = names.map(|names| {
                let listed = Entity { names: names.to_vec(), ..entity.clone() };
                score_pair(&query, &listed).score
            }).into_iter();
            prop_assert!(scores.any(|of_names| of_names == score), "{:?} {:?} {score}", query.names, entity.names);
        }
    }

    #[test]
    fn no_outline_rules_out_what_a_comparison_finds((query, text) in name(), (listed, listed_text) in name()) {
        let score = compare::compare(&query.view(), &listed.view()).score;
        let screener = index_of(vec![person("a", &[&listed_text])]);
        let words = screener.words();
        let outline = Outline::of(&listed);
        let mut covered: Option<Covered> = None;
        let mut by_word: BTreeMap<u32, Covered> = BTreeMap::new();
        for unit in screener.units(&query) {
            for word in words.similar_words(&unit.token.view(), true, None) {
                let by = Covered::by_word(unit.covers);
                by_word.entry(word).and_modify(|known| known.same_word(by)).or_insert(by);
            }
        }
        for by in by_word.into_values() {
            covered = Some(covered.map_or(by, |mut covered| { covered.add(by); covered }));
        }
        let Some(covered) = covered else { return Ok(()) };
        // What the index does not find at all, no bound can know.
        let is_found = |at: usize| covered.tokens >> at & 1 == 1;
        let unfound = query.tokens.iter().enumerate().filter(|(at, token)| {
            let is_similar = |other: &Token| compare::token_similarity(&token.view(), &other.view(), true) > SLIP_SIMILARITY;
            let stands_for = |other: &Token| other.kind == TokenKind::Initial && token.text.starts_with(&*other.text);
            token.kind == TokenKind::Word
                && !is_found(*at)
                && listed.tokens.iter().any(|other| is_similar(other) || stands_for(other))
        });
        prop_assume!(unfound.count() == 0);
        let mut bounds = NameBounds::new(&query, score);
        if score > 0.0 && bounds.may_reach(covered) {
            prop_assert!(bounds.may_reach_with(covered, outline), "{text} | {listed_text}: {score}");
        }
    }

    #[test]
    fn no_name_scores_more_than_its_bound((query, text) in name(), (listed, listed_text) in name()) {
        let score = compare::compare(&query.view(), &listed.view()).score;
        let screener = index_of(vec![person("a", &[&listed_text])]);
        let mut similarities = Similarities::new(screener.words(), &query);
        for unit in screener.units(&query) {
            let known = unit.place.map(|at| similarities.known(at));
            screener.words().similar_words(&unit.token.view(), true, known);
        }
        let header = screener.name_header(0).unwrap();
        let listed = screener.listed_tokens(0, header);
        prop_assert!(!listed.is_empty());
        let bound = PairBound::new(query.view());
        if score > 0.0 {
            prop_assert!(bound.may_reach(&listed, &mut similarities, score), "{text} | {listed_text}: {score}");
        }
    }
}
