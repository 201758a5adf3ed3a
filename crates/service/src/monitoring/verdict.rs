//! What may be concluded from a score: the one place that tells "nothing was found" from "nothing is known". A low score is called low
//! only where so much of the money was seen that the rest could not make it much higher. Pure.

use serde_json::Value;
use store::monitoring::Screening;

/// From here on a score is of note.
const NOTED: f64 = 25.0;
/// From here on it is grave.
const GRAVE: f64 = 60.0;

/// How much was seen of the money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// No money was followed: labels of the address itself said all there is.
    Nothing,
    /// Money was followed up to a block that was old by then.
    Stale,
    /// The source knows the chain, and none of its own coins moved here. Tokens are not followed, and may have.
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

    /// The one that has this name in the store.
    fn named(name: &str) -> Option<Seen> {
        Seen::ALL.into_iter().find(|seen| seen.as_str() == name)
    }

    /// What an answer's `exposures` say was seen, and the highest score that the rest could make; `None` where they do not say.
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

/// What may be concluded from a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is no score.
    NoAnswer,
    /// Much risk was found.
    Grave,
    /// Risk was found.
    Noted,
    /// Little risk was found, and the rest could not make it of note.
    Low,
    /// Little is known against the address itself; no money was followed.
    NotTraced,
    /// None of the chain's own coins moved here, and tokens are not followed: there is nothing to judge by.
    NothingMoved,
    /// Little was found up to a block that was old by then.
    Stale,
    /// Little was found, and the rest could make it of note.
    Insufficient,
    /// Little was found by somebody who does not say how much was seen.
    Untold,
}

impl Verdict {
    /// What follows from a score and from what was seen.
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

    /// What follows from a kept screening. Earlier versions kept what was seen in `exposures` only.
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

    /// Its colour. Only what is known to be low is green; what is not known has none.
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
            // A profile of one's own may bound what was never traced; it stays untraced.
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
