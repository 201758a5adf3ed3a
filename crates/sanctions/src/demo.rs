//! The sandbox's list. Its subjects are invented, so every kind of hit can be tried without a real list.
//!
//! It is not a sanctions list and is screened only if a caller adds it.

use crate::import::{self, List, Source};

/// Invented persons, an organisation, a company, a ship and a wallet.
const DEMO: &str = include_str!("../data/demo.ftm.json");

/// The list named `demo`. Its names are in `crates/sanctions/data/demo.ftm.json`.
pub fn demo_list() -> List {
    #[expect(
        clippy::expect_used,
        reason = "the file is part of the program, and a test reads it"
    )]
    let (mut list, _) = import::import(vec![Source::new("demo", DEMO.as_bytes())], None)
        .expect("the embedded list is well formed");
    list.version = "1".into();
    list
}

#[cfg(test)]
mod tests {
    use crate::{Query, ScreenOptions, Screener};

    #[test]
    fn every_demo_subject_is_found() {
        let list = super::demo_list();
        assert!(list.entities.len() >= 6 && list.entities.iter().all(|e| e.datasets == ["demo"]));
        let screener = Screener::new([list.clone()]);
        for entity in &list.entities {
            let query = Query {
                schema: Some(entity.schema.as_str().into()),
                name: entity.names.first().cloned(),
                wallet: entity.wallets.first().cloned(),
                ..Query::default()
            };
            let result = screener.screen(&query, &ScreenOptions::default()).unwrap();
            assert!(result.results.iter().any(|h| h.id == entity.id), "{}", entity.id);
        }
    }
}
