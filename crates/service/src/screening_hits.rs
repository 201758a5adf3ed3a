//! Converts the list search's results to the rules' types, member by member. It decides nothing.

use sanctions::{Hit, ScreenResult};
use verification::screening::{Explanation, Screening, ScreeningHit, TokenMatch};

/// Converts a search result to the rules' type.
pub fn screening(result: ScreenResult) -> Screening {
    Screening {
        matched: result.results.iter().any(|hit| hit.matched),
        total: result.total.value,
        results: result.results.into_iter().map(hit).collect(),
        query_params: result.query_params,
        lists: result.lists,
        further_names: Vec::new(),
    }
}

/// Converts a hit to the rules' type.
pub fn hit(hit: Hit) -> ScreeningHit {
    ScreeningHit {
        id: hit.id,
        caption: hit.caption,
        schema: hit.schema.as_str().to_owned(),
        score: hit.score,
        matched: hit.matched,
        datasets: hit.datasets,
        topics: Some(hit.topics),
        programs: Some(hit.programs),
        properties: Some(hit.properties),
        features: Some(hit.features),
        explanation: Some(hit.explanation.into_iter().map(explanation).collect()),
        matched_names: Vec::new(),
    }
}

fn explanation(part: sanctions::Explanation) -> Explanation {
    let token = |token: sanctions::TokenMatch| TokenMatch {
        query: token.query,
        candidate: token.candidate,
        similarity: token.similarity,
    };
    Explanation {
        feature: part.feature,
        score: part.score,
        query: part.query,
        candidate: part.candidate,
        tokens: part.tokens.into_iter().map(token).collect(),
    }
}

#[cfg(test)]
mod tests {
    use sanctions::{Query, ScreenOptions, Screener, demo_list};

    use super::*;

    /// The contract's JSON is what the list search itself writes; a stored hit reads back as the same.
    #[test]
    fn a_hit_is_written_member_by_member_as_the_search_writes_it() {
        let list = demo_list();
        let names: Vec<String> = list
            .entities
            .iter()
            .flat_map(|entity| entity.names.iter().cloned())
            .collect();
        let screener = Screener::new(vec![list]);
        let mut compared = 0;
        for name in names {
            let query = Query {
                schema: Some("Person".into()),
                name: Some(name),
                dob: Some("1970-02-03".into()),
                country: Some("FRA".into()),
                ..Query::default()
            };
            let options = ScreenOptions {
                threshold: 0.3,
                ..ScreenOptions::default()
            };
            for found in screener.screen(&query, &options).unwrap().results {
                let expected = serde_json::to_string(&found).unwrap();
                let hit = hit(found);
                assert_eq!(serde_json::to_string(&hit).unwrap(), expected);
                assert_eq!(serde_json::from_str::<ScreeningHit>(&expected).unwrap(), hit);
                compared += 1;
            }
        }
        assert!(compared >= 3, "{compared} hits were compared");
    }
}
