//! An index of a part of the lists finds what a search of everything finds in that part, with the same scores.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::entity::Schema;

const WORDS: [&str; 24] = [
    "Anna",
    "Maria",
    "Annamaria",
    "Abdul",
    "Rahman",
    "Abdulrahman",
    "Mohammed",
    "Mohamad",
    "al",
    "Sayid",
    "El-Sayed",
    "Ivan",
    "Ivanov",
    "Ivanovich",
    "Kim",
    "Jong",
    "Jongun",
    "Smith",
    "Smyth",
    "Garcia",
    "Lopez",
    "Garcialopez",
    "O'Neil",
    "李明",
];

fn name() -> impl Strategy<Value = String> {
    prop::collection::vec(0..WORDS.len(), 1..4).prop_map(|places| {
        let words: Vec<&str> = places.into_iter().map(|place| WORDS[place]).collect();
        words.join(" ")
    })
}

fn list(names: Vec<(usize, String)>) -> List {
    let entity = |(number, name): (usize, String)| Entity {
        id: number.to_string(),
        schema: Schema::Person,
        caption: name.clone(),
        names: vec![name],
        ..Entity::default()
    };
    List {
        name: "x".into(),
        version: "1".into(),
        entities: names.into_iter().map(entity).collect(),
    }
}

proptest! {
    #[test]
    fn a_part_finds_what_the_whole_finds(
        listed in prop::collection::vec(name(), 1..30),
        changed in prop::collection::vec(any::<bool>(), 30),
        queries in prop::collection::vec(name(), 1..10),
        few in prop::sample::select(&[0, 2, FEW][..]),
    ) {
        let all: Vec<(usize, String)> = listed.into_iter().enumerate().collect();
        let part: Vec<(usize, String)> = all.iter().filter(|(number, _)| changed[*number]).cloned().collect();
        let mut whole = Screener::new([list(all)]);
        whole.few = few;
        let whole = Arc::new(whole);
        let parts = Screener::of_parts(Arc::clone(&whole), [list(part)]);
        let options = ScreenOptions { threshold: 0.5, limit: usize::MAX, ..ScreenOptions::default() };
        let mut memory = WordMemory::default();
        for name in queries {
            let query = Query { schema: Some("Person".into()), name: Some(name), ..Query::default() };
            let hits = |screener: &Screener| -> Vec<(String, f64)> {
                let found = screener.screen(&query, &options).unwrap().results;
                found.into_iter().map(|hit| (hit.id, hit.score)).collect()
            };
            let mut expected = hits(&whole);
            expected.retain(|(id, _)| changed[id.parse::<usize>().unwrap()]);
            // What a comparison finds that no search is bound to find.
            let found: Vec<(String, f64)> = hits(&parts).into_iter().filter(|hit| expected.contains(hit)).collect();
            prop_assert_eq!(found, expected);
            let one = parts.screen(&query, &options).unwrap();
            let of_many = parts.screen_one_of_many(&query, &options, &mut memory).unwrap();
            prop_assert_eq!(of_many, (!one.results.is_empty()).then_some(one));
        }
    }
}
