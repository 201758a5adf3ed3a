//! Interprets a crypto risk score (`docs/operators/risk-scores.md`). Only this module distinguishes "nothing
//! was found" from "nothing is known". A low score is called low only if so much of the money was traced that
//! the rest could not raise it much. Pure functions.

use serde_json::Value;

/// The lowest score of note.
const NOTED: f64 = 25.0;
/// The lowest grave score.
const GRAVE: f64 = 60.0;

/// How much of the money was traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceCoverage {
    /// No money was followed; only labels of the address itself were used.
    Nothing,
    /// Money was followed up to a block that was already old.
    Stale,
    /// The source knows the chain, and no native coins moved here. Tokens are not followed, and may have
    /// moved.
    NothingMoved,
    /// Money was followed.
    Money,
}

impl TraceCoverage {
    const ALL: [TraceCoverage; 4] = [
        TraceCoverage::Nothing,
        TraceCoverage::Stale,
        TraceCoverage::NothingMoved,
        TraceCoverage::Money,
    ];

    /// Its name in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            TraceCoverage::Nothing => "nothing",
            TraceCoverage::Stale => "stale",
            TraceCoverage::NothingMoved => "nothing_moved",
            TraceCoverage::Money => "money",
        }
    }

    /// The value with this name in the store.
    fn named(name: &str) -> Option<TraceCoverage> {
        TraceCoverage::ALL.into_iter().find(|seen| seen.as_str() == name)
    }

    /// Reads from a response's `exposures` how much was traced, and the highest score that the rest could
    /// cause; `None` if they do not state it.
    pub fn of(exposures: &Value) -> Option<(TraceCoverage, f64)> {
        let coverage = &exposures["coverage"];
        let bound = coverage["scoreUpperBound"].as_f64()?;
        let moved = |of: &Value| {
            let parts = ["attributed", "unattributed", "unresolved"];
            parts
                .iter()
                .any(|part| of[part].as_f64().is_some_and(|part| part > 0.0))
        };
        let seen = if !exposures["asOfBlock"].is_u64() {
            TraceCoverage::Nothing
        } else if coverage["stale"] == true {
            TraceCoverage::Stale
        } else if moved(coverage) || moved(&coverage["outgoing"]) {
            TraceCoverage::Money
        } else {
            TraceCoverage::NothingMoved
        };
        Some((seen, bound))
    }
}

/// The interpretation of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RiskAssessment {
    /// There is no score.
    NoAnswer,
    /// Much risk was found.
    Grave,
    /// Risk was found.
    Noted,
    /// Little risk was found, and the rest could not raise the score to one of note.
    Low,
    /// Labels of the address show little risk; no money was followed.
    NotTraced,
    /// No native coins moved here, and tokens are not followed, so there is no basis for a judgement.
    NothingMoved,
    /// Little risk was found up to a block that was already old.
    Stale,
    /// Little risk was found, but the rest could raise the score to one of note.
    Insufficient,
    /// Little risk was found by a vendor that does not report its coverage.
    Untold,
}

impl RiskAssessment {
    /// Interprets a score by how much was traced.
    pub fn new(score: Option<f64>, seen: Option<(TraceCoverage, f64)>) -> RiskAssessment {
        match (score, seen) {
            (None, _) => RiskAssessment::NoAnswer,
            (Some(score), _) if score >= GRAVE => RiskAssessment::Grave,
            (Some(score), _) if score >= NOTED => RiskAssessment::Noted,
            (_, None) => RiskAssessment::Untold,
            (_, Some((TraceCoverage::Nothing, _))) => RiskAssessment::NotTraced,
            (_, Some((TraceCoverage::Stale, _))) => RiskAssessment::Stale,
            (_, Some((TraceCoverage::NothingMoved, _))) => RiskAssessment::NothingMoved,
            (_, Some((TraceCoverage::Money, bound))) if bound >= NOTED => RiskAssessment::Insufficient,
            (_, Some((TraceCoverage::Money, _))) => RiskAssessment::Low,
        }
    }

    /// Interprets a stored screening from its score, its coverage column (name and upper bound of the score)
    /// and its `exposures`. Earlier versions stored the coverage in `exposures` only.
    pub fn of_stored(score: Option<f64>, coverage: Option<(&str, f64)>, exposures: &Value) -> RiskAssessment {
        let traced = match coverage {
            // A name that this version does not know says nothing, so the score cannot become "low".
            Some((name, bound)) => TraceCoverage::named(name).map(|coverage| (coverage, bound)),
            None => TraceCoverage::of(exposures),
        };
        RiskAssessment::new(score, traced)
    }

    /// Its name in the texts' keys.
    pub fn as_str(self) -> &'static str {
        match self {
            RiskAssessment::NoAnswer => "no_answer",
            RiskAssessment::Grave => "grave",
            RiskAssessment::Noted => "noted",
            RiskAssessment::Low => "low",
            RiskAssessment::NotTraced => "not_traced",
            RiskAssessment::NothingMoved => "nothing_moved",
            RiskAssessment::Stale => "stale",
            RiskAssessment::Insufficient => "insufficient",
            RiskAssessment::Untold => "untold",
        }
    }

    /// The colour. Only a score that is known to be low is green; unknown ones have none.
    pub fn colour(self) -> &'static str {
        match self {
            RiskAssessment::Grave => "bad",
            RiskAssessment::Noted => "warn",
            RiskAssessment::Low => "good",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_seen_is_called_low() {
        let seen = |seen, bound| Some((seen, bound));
        for (score, known, verdict) in [
            (None, None, RiskAssessment::NoAnswer),
            (
                Some(100.0),
                seen(TraceCoverage::Nothing, 100.0),
                RiskAssessment::Grave,
            ),
            (Some(60.0), None, RiskAssessment::Grave),
            (
                Some(59.999),
                seen(TraceCoverage::Money, 60.0),
                RiskAssessment::Noted,
            ),
            (
                Some(25.0),
                seen(TraceCoverage::Stale, 100.0),
                RiskAssessment::Noted,
            ),
            (
                Some(24.999),
                seen(TraceCoverage::Money, 24.999),
                RiskAssessment::Low,
            ),
            (
                Some(24.999),
                seen(TraceCoverage::Money, 25.0),
                RiskAssessment::Insufficient,
            ),
            (Some(0.0), seen(TraceCoverage::Money, 0.0), RiskAssessment::Low),
            (
                Some(0.0),
                seen(TraceCoverage::Money, 100.0),
                RiskAssessment::Insufficient,
            ),
            (
                Some(0.0),
                seen(TraceCoverage::Nothing, 100.0),
                RiskAssessment::NotTraced,
            ),
            // An account's own profile may bound the score of an untraced address; it stays untraced.
            (
                Some(0.0),
                seen(TraceCoverage::Nothing, 0.0),
                RiskAssessment::NotTraced,
            ),
            (
                Some(0.0),
                seen(TraceCoverage::NothingMoved, 0.0),
                RiskAssessment::NothingMoved,
            ),
            (Some(0.0), seen(TraceCoverage::Stale, 0.0), RiskAssessment::Stale),
            (Some(0.0), None, RiskAssessment::Untold),
        ] {
            let found = RiskAssessment::new(score, known);
            assert_eq!(found, verdict, "{score:?} {known:?}");
            assert_eq!(
                found.colour() == "good",
                verdict == RiskAssessment::Low,
                "{verdict:?}"
            );
        }
    }

    #[test]
    fn exposures_say_what_was_seen() {
        let coverage = |part: f64, out: f64, stale: bool| {
            json!({"attributed": 0.0, "unattributed": part, "unresolved": 0.0, "scoreUpperBound": 7.5, "stale": stale,
                "outgoing": {"attributed": 0.0, "unattributed": 0.0, "unresolved": out}})
        };
        for (exposures, seen) in [
            (json!({}), None),
            (
                json!({"coverage": {"unresolved": 100.0, "scoreUpperBound": 100.0}}),
                Some((TraceCoverage::Nothing, 100.0)),
            ),
            (
                json!({"asOfBlock": 7, "coverage": coverage(40.0, 0.0, false)}),
                Some((TraceCoverage::Money, 7.5)),
            ),
            (
                json!({"asOfBlock": 7, "coverage": coverage(0.0, 100.0, false)}),
                Some((TraceCoverage::Money, 7.5)),
            ),
            (
                json!({"asOfBlock": 7, "coverage": coverage(0.0, 0.0, false)}),
                Some((TraceCoverage::NothingMoved, 7.5)),
            ),
            (
                json!({"asOfBlock": 7, "coverage": coverage(0.0, 0.0, true)}),
                Some((TraceCoverage::Stale, 7.5)),
            ),
        ] {
            assert_eq!(TraceCoverage::of(&exposures), seen, "{exposures}");
        }
    }

    #[test]
    fn a_name_is_read_back() {
        let mut names = TraceCoverage::ALL.map(TraceCoverage::as_str).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TraceCoverage::ALL.len());
        for seen in TraceCoverage::ALL {
            assert_eq!(TraceCoverage::named(seen.as_str()), Some(seen));
        }
    }

    #[test]
    fn a_coverage_of_a_newer_version_is_never_called_low() {
        let exposures = json!({"asOfBlock": 1, "coverage": {"scoreUpperBound": 0.0, "attributed": 1.0}});
        for (coverage, expected) in [
            (None, RiskAssessment::Low),
            (Some(("money", 0.0)), RiskAssessment::Low),
            (Some(("half_traced", 0.0)), RiskAssessment::Untold),
        ] {
            assert_eq!(
                RiskAssessment::of_stored(Some(0.0), coverage, &exposures),
                expected
            );
        }
    }
}
