//! What each profile finds: never less than the standard, and by OFAC's score what comparing every name would find.

use proptest::prelude::*;

use super::search_tests::index_of;
use super::*;
use crate::entity::{Gender, Schema};
use crate::ofac_score::{OfacQuery, written_names};
use crate::profile::{OFAC_LEAST_SCORE, Profile};

const NAMES: [&str; 12] = [
    "LINDQVIST, Anders",
    "LINDQUIST, Anders Erik",
    "Anders Lindqvist",
    "Maria Gomez",
    "GOMEZ, Maria del Carmen",
    "Mari Gomes",
    "Okonjima",
    "OKONJIMA-BELL, Ossian",
    "Xi Okonjima",
    "J.P. Lindqvist",
    "ANDERSON SHIPPING LLC",
    "Андерс Линдквист",
];

fn person(number: usize, (name, year, country, gender): (usize, u16, usize, usize)) -> Entity {
    Entity {
        id: number.to_string(),
        schema: Schema::Person,
        caption: NAMES[name].to_owned(),
        names: vec![NAMES[name].to_owned()],
        given_names: [vec![], vec!["Anders".to_owned(), "Lindqvist".to_owned()]][number % 2].clone(),
        family_names: [vec![], vec!["Lindqvist".to_owned(), "Okonjima".to_owned()]][number / 2 % 2].clone(),
        birth_dates: year.to_string().parse().into_iter().collect(),
        countries: vec![["fr", "de"][country].to_owned()],
        gender: [None, Some(Gender::Male), Some(Gender::Female)][gender],
        ..Entity::default()
    }
}

fn query(name: &str, year: u16) -> Query {
    Query {
        schema: Some("Person".into()),
        name: Some(name.to_owned()),
        dob: Some(year.to_string()),
        country: Some("FRA".into()),
        gender: Some("male".into()),
        ..Query::default()
    }
}

fn scores(screener: &Screener, query: &Query, profile: Profile) -> BTreeMap<String, f64> {
    let options = ScreenOptions {
        limit: usize::MAX,
        profile,
        ..ScreenOptions::default()
    };
    let found = screener.screen(query, &options).unwrap().results;
    found.into_iter().map(|hit| (hit.id, hit.score)).collect()
}

/// OFAC's score of an entity, without an index.
fn ofac_score_of(name: &str, entity: &Entity) -> u8 {
    let query = OfacQuery::new(name);
    let names = written_names(entity);
    let scores = query
        .iter()
        .flat_map(|query| names.iter().map(|listed| query.score(listed)));
    scores.max().unwrap_or(0)
}

proptest! {
    #[test]
    fn no_profile_excuses_a_hit(
        listed in prop::collection::vec((0..NAMES.len(), 1950_u16..1953, 0..2_usize, 0..3_usize), 1..20),
        name in prop::sample::select(&NAMES[..]),
        year in 1950_u16..1953,
    ) {
        let listed: Vec<Entity> = listed.into_iter().enumerate().map(|(at, facts)| person(at, facts)).collect();
        let screener = index_of(listed.clone());
        let query = query(name, year);
        let standard = scores(&screener, &query, Profile::Standard);
        for profile in [Profile::Strict, Profile::Ofac] {
            let found = scores(&screener, &query, profile);
            for (id, score) in &standard {
                prop_assert_eq!(found.get(id), Some(score), "{:?} {}", profile, id);
            }
        }
        // The limit cuts what a profile adds.
        for profile in [Profile::Strict, Profile::Ofac] {
            let options = ScreenOptions { limit: standard.len(), profile, ..ScreenOptions::default() };
            let first = screener.screen(&query, &options).unwrap().results;
            let first: BTreeMap<String, f64> = first.into_iter().map(|hit| (hit.id, hit.score)).collect();
            prop_assert_eq!(&first, &standard);
        }
        // What an added hit would score is what the index scores.
        let entity = query.to_entity().unwrap();
        let options = ScreenOptions { threshold: 0.3, limit: usize::MAX, ..ScreenOptions::default() };
        let (found, subjects) = (screener.search(&entity, &options, None), search::readings(&entity));
        for hit in &found.hits {
            prop_assert_eq!(screener.score_of_stated_names(&subjects, hit.entity, false).score, hit.score);
        }
        // Every name compared, without an index.
        let ofac = scores(&screener, &query, Profile::Ofac);
        for entity in &listed {
            let score = ofac_score_of(name, entity);
            let expected = score >= OFAC_LEAST_SCORE || standard.contains_key(&entity.id);
            prop_assert_eq!(ofac.contains_key(&entity.id), expected, "{} {}", entity.caption, score);
        }
        let options = ScreenOptions { limit: 100, ..ScreenOptions::default() };
        let compared = screener.compare_profiles(&query, &options).unwrap();
        let strict = scores(&screener, &query, Profile::Strict);
        for hit in &compared.hits {
            prop_assert_eq!(hit.standard, standard.get(&hit.id).copied());
            prop_assert_eq!(hit.strict.is_some(), strict.contains_key(&hit.id));
            prop_assert!(hit.strict >= hit.standard);
            let number: usize = hit.id.parse().unwrap();
            prop_assert_eq!(hit.ofac, ofac_score_of(name, &listed[number]));
        }
        let by_ofac = listed.iter().filter(|entity| ofac_score_of(name, entity) >= OFAC_LEAST_SCORE).count();
        prop_assert_eq!(compared.totals, [standard.len(), strict.len(), by_ofac]);
        let any: std::collections::BTreeSet<&String> = strict.keys().chain(ofac.keys()).collect();
        prop_assert_eq!(compared.total, any.len());
    }
}

#[test]
fn strict_excuses_no_hit_by_what_contradicts() {
    let screener = index_of(vec![person(0, (0, 1990, 1, 2))]);
    let query = query("Anders Lindqvist", 1950);
    assert!(scores(&screener, &query, Profile::Standard).is_empty());
    // The score stays what it is, and a feature says what it would be.
    let options = ScreenOptions {
        profile: Profile::Strict,
        ..ScreenOptions::default()
    };
    let found = screener.screen(&query, &options).unwrap().results;
    assert_eq!(found[0].features["strict_match"], 1.0);
    assert!(
        found[0].score < 0.5 && found[0].features["birth_year_disjoint"] < 0.0,
        "{found:?}"
    );
}

#[test]
fn ofac_shows_what_it_compared() {
    let screener = index_of(vec![person(0, (10, 1990, 1, 0)), person(1, (7, 1950, 0, 1))]);
    let options = ScreenOptions {
        profile: Profile::Ofac,
        ..ScreenOptions::default()
    };
    // One name of two: our score is low, OFAC's is not.
    let found = screener.screen(&query("Bell", 1950), &options).unwrap();
    assert_eq!(found.results.len(), 1, "{found:?}");
    let hit = &found.results[0];
    assert_eq!(hit.features["ofac_match"], 1.0);
    assert!(hit.score < 0.7 && hit.features["name_match"] < 0.7, "{hit:?}");
    let shown = hit
        .explanation
        .iter()
        .find(|part| part.feature == "ofac_match")
        .unwrap();
    assert_eq!(
        (shown.query.as_str(), shown.candidate.as_str()),
        ("BELL", "OKONJIMA-BELL, OSSIAN")
    );
    // A higher threshold counts for OFAC's score too.
    let higher = ScreenOptions {
        threshold: 0.99,
        ..options
    };
    assert!(
        screener
            .screen(&query("Bel", 1950), &higher)
            .unwrap()
            .results
            .is_empty()
    );
}

/// What was decided of a hit that a profile added does not hide that the entry resembles the person more now.
#[test]
fn a_hit_that_a_profile_adds_ranks_below_the_same_hit_once_it_is_one_of_the_standard() {
    let mut entity = person(0, (7, 1950, 0, 1));
    let query = query("Xi Okonjima", 1950);
    for profile in [Profile::Strict, Profile::Ofac] {
        entity.names = vec!["OKONJIMA, Barnaby".to_owned()];
        let before = scores(&index_of(vec![entity.clone()]), &query, profile);
        entity.names.push("Xi Okonjima".to_owned());
        let after = scores(&index_of(vec![entity.clone()]), &query, profile);
        assert!(
            before.get("0").is_none_or(|before| *before < 0.7),
            "{profile:?}: {before:?}"
        );
        assert_eq!(after["0"], 1.0, "{profile:?}");
    }
}

/// An index that lacks the end of its written names gives no answer.
#[test]
fn damaged_names_are_no_answer() {
    let list = List {
        name: "invented".into(),
        version: "1".into(),
        entities: vec![person(0, (0, 1950, 0, 0))],
    };
    let mut bytes = lists_in_memory([list]).unwrap();
    let text = b"LINDQVIST, ANDERS";
    let at = bytes.windows(text.len()).rposition(|part| part == text).unwrap();
    bytes[at] = b'X';
    let screener = Screener::open(IndexFile::in_memory(bytes).unwrap());
    let answers = screener.map(|screener| {
        let options = ScreenOptions {
            profile: Profile::Ofac,
            ..ScreenOptions::default()
        };
        let query = query("Anders Lindqvist", 1950);
        (
            screener.screen(&query, &options).is_err(),
            screener.compare_profiles(&query, &options).is_err(),
        )
    });
    assert!(matches!(answers, Err(_) | Ok((true, true))), "{answers:?}");
}
