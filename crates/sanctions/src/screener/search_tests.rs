//! No bound rules out a name that the comparison of two names finds similar, and what a search finds does not depend on
//! the order of the lists.

use proptest::prelude::*;

use super::pair_bound::PairBound;
use super::similarities::Similarities;
use super::*;
use crate::compare;
use crate::entity::Schema;
use crate::name::{KnownNameParts, Name, prepare};

fn person(id: &str, names: &[&str]) -> Entity {
    Entity {
        id: id.into(),
        schema: Schema::Person,
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Entity::default()
    }
}

fn index_of(entities: Vec<Entity>) -> Screener {
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
fn neither_an_initial_nor_a_j_nor_a_space_hides_a_listed_name() {
    for (query, listed) in [
        ("Quillon Ahmed Okonjima", "OKONJIMA, Ahmed Q."),
        ("Hijazi Mohamad", "HEJAZI, Mohammad"),
        ("Hejazi Mohamad", "HIJAZI, Mohammad"),
        ("Yuriy Petrov", "Jurij Petrov"),
        ("Jurij Petrov", "Yuriy Petrov"),
        ("Ali Aly Quillfeather", "Ali Quillfeather"),
        ("Ac Ha", "Acha"),
    ] {
        let screener = index_of(vec![
            person("a", &[listed]),
            person("b", &["Zebulon Quartermain"]),
        ]);
        assert_eq!(hits(&screener, query).len(), 1, "{query}, {listed}");
    }
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
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
