//! Interprets a score. Only this module distinguishes "nothing was found" from "nothing is known". A low
//! score is called low only if so much of the money was traced that the rest could not raise it much. Pure
//! functions.

use serde_json::Value;
use store::monitoring::Screening;

/// The lowest score of note.
const NOTED: f64 = 25.0;
/// The lowest grave score.
const GRAVE: f64 = 60.0;

/// How much of the money was traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
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

impl Seen {
    const ALL: [Seen; 4] = [Seen::Nothing, Seen::Stale, Seen::NothingMoved, Seen::Money];

    /// Its name in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Seen::Nothing => "nothing",
            Seen::Stale => "stale",
            Seen::NothingMoved => "nothing_moved",
            Seen::Money => "money",
        }
    }

    /// The value with this name in the store.
    fn named(name: &str) -> Option<Seen> {
        Seen::ALL.into_iter().find(|seen| seen.as_str() == name)
    }

    /// Reads from a response's `exposures` how much was traced, and the highest score that the rest could
    /// cause; `None` if they do not state it.
    pub fn of(exposures: &Value) -> Option<(Seen, f64)> {
        let coverage = &exposures["coverage"];
        let bound = coverage["scoreUpperBound"].as_f64()?;
        let moved = |of: &Value| {
            let parts = ["attributed", "unattributed", "unresolved"];
            parts
                .iter()
                .any(|part| of[part].as_f64().is_some_and(|part| part > 0.0))
        };
        let seen = if !exposures["asOfBlock"].is_u64() {
            Seen::Nothing
        } else if coverage["stale"] == true {
            Seen::Stale
        } else if moved(coverage) || moved(&coverage["outgoing"]) {
            Seen::Money
        } else {
            Seen::NothingMoved
        };
        Some((seen, bound))
    }
}

/// The interpretation of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
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

impl Verdict {
    /// Interprets a score by how much was traced.
    pub fn new(score: Option<f64>, seen: Option<(Seen, f64)>) -> Verdict {
        match (score, seen) {
            (None, _) => Verdict::NoAnswer,
            (Some(score), _) if score >= GRAVE => Verdict::Grave,
            (Some(score), _) if score >= NOTED => Verdict::Noted,
            (_, None) => Verdict::Untold,
            (_, Some((Seen::Nothing, _))) => Verdict::NotTraced,
            (_, Some((Seen::Stale, _))) => Verdict::Stale,
            (_, Some((Seen::NothingMoved, _))) => Verdict::NothingMoved,
            (_, Some((Seen::Money, bound))) if bound >= NOTED => Verdict::Insufficient,
            (_, Some((Seen::Money, _))) => Verdict::Low,
        }
    }

    /// Interprets a stored screening. Earlier versions stored the coverage in `exposures` only.
    pub fn of(screening: &Screening, exposures: &Value) -> Verdict {
        let kept = screening
            .seen
            .as_ref()
            .and_then(|(word, bound)| Some((Seen::named(word)?, *bound)));
        Verdict::new(screening.score, kept.or_else(|| Seen::of(exposures)))
    }

    /// Its name in the texts' keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::NoAnswer => "no_answer",
            Verdict::Grave => "grave",
            Verdict::Noted => "noted",
            Verdict::Low => "low",
            Verdict::NotTraced => "not_traced",
            Verdict::NothingMoved => "nothing_moved",
            Verdict::Stale => "stale",
            Verdict::Insufficient => "insufficient",
            Verdict::Untold => "untold",
        }
    }

    /// The colour. Only a score that is known to be low is green; unknown ones have none.
    pub fn colour(self) -> &'static str {
        match self {
            Verdict::Grave => "bad",
            Verdict::Noted => "warn",
            Verdict::Low => "good",
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
            (None, None, Verdict::NoAnswer),
            (Some(100.0), seen(Seen::Nothing, 100.0), Verdict::Grave),
            (Some(60.0), None, Verdict::Grave),
            (Some(59.999), seen(Seen::Money, 60.0), Verdict::Noted),
            (Some(25.0), seen(Seen::Stale, 100.0), Verdict::Noted),
            (Some(24.999), seen(Seen::Money, 24.999), Verdict::Low),
            (Some(24.999), seen(Seen::Money, 25.0), Verdict::Insufficient),
            (Some(0.0), seen(Seen::Money, 0.0), Verdict::Low),
            (Some(0.0), seen(Seen::Money, 100.0), Verdict::Insufficient),
            (Some(0.0), seen(Seen::Nothing, 100.0), Verdict::NotTraced),
            // An account's own profile may bound the score of an untraced address; it stays untraced.
            (Some(0.0), seen(Seen::Nothing, 0.0), Verdict::NotTraced),
            (Some(0.0), seen(Seen::NothingMoved, 0.0), Verdict::NothingMoved),
            (Some(0.0), seen(Seen::Stale, 0.0), Verdict::Stale),
            (Some(0.0), None, Verdict::Untold),
        ] {
            let found = Verdict::new(score, known);
            assert_eq!(found, verdict, "{score:?} {known:?}");
            assert_eq!(found.colour() == "good", verdict == Verdict::Low, "{verdict:?}");
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
                Some((Seen::Nothing, 100.0)),
            ),
            (
                json!({"asOfBlock": 7, "coverage": coverage(40.0, 0.0, false)}),
                Some((Seen::Money, 7.5)),
            ),
            (
                json!({"asOfBlock": 7, "coverage": coverage(0.0, 100.0, false)}),
                Some((Seen::Money, 7.5)),
            ),
            (
                json!({"asOfBlock": 7, "coverage": coverage(0.0, 0.0, false)}),
                Some((Seen::NothingMoved, 7.5)),
            ),
            (
                json!({"asOfBlock": 7, "coverage": coverage(0.0, 0.0, true)}),
                Some((Seen::Stale, 7.5)),
            ),
        ] {
            assert_eq!(Seen::of(&exposures), seen, "{exposures}");
        }
    }

    #[test]
    fn a_name_is_read_back() {
        let mut names = Seen::ALL.map(Seen::as_str).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Seen::ALL.len());
        for seen in Seen::ALL {
            assert_eq!(Seen::named(seen.as_str()), Some(seen));
        }
    }
}
