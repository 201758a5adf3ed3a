//! Ongoing screening: the names under which an approved person is looked at again, and which hits are news.
//!
//! This module screens nobody. An alert changes no status: only a person's decision does.

use serde::{Deserialize, Serialize};

use crate::names::{ScreenedName, distinct};
use crate::screening::ScreeningHit;
use crate::suppression::score;

/// The names under which an attempt was screened, as they are stored beside its record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AttemptNames {
    /// The names, the submitted one first.
    pub names: Vec<ScreenedName>,
    /// The attempt proved the person's face.
    pub identified: bool,
}

/// The names of an approved person: those of the approved attempts, and of every attempt that proved the person's
/// face. Each element states whether the attempt is approved.
pub fn names_of_person(attempts: impl IntoIterator<Item = (bool, AttemptNames)>) -> Vec<ScreenedName> {
    let counting = attempts
        .into_iter()
        .filter(|(is_approved, attempt)| *is_approved || attempt.identified);
    distinct(counting.flat_map(|(_, attempt)| attempt.names))
}

/// A hit that is known about a person: it was found when the person was approved, or a reviewer decided on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownHit {
    /// The entry's id in its list.
    pub id: String,
    /// The lists that contained the entry.
    pub datasets: Vec<String>,
    /// See [`score`].
    pub score: i64,
    /// Whether it flagged the person.
    pub matched: bool,
}

/// Why a hit is news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The entry was not known, or a further list contains it now, or only now it is one of sanctions.
    New,
    /// The entry resembles the person more than the known hit did, whose score this is.
    Stronger(i64),
}

/// Whether a hit flags an approved person for the first time, or more strongly than a known one.
pub fn news(known: &[KnownHit], hit: &ScreeningHit) -> Option<News> {
    if !hit.matched {
        return None;
    }
    let same = |known: &&KnownHit| known.matched && known.id == hit.id;
    // The best known score of each list that contains the entry.
    let of_list = |list: &String| {
        let listed = known
            .iter()
            .filter(same)
            .filter(|known| known.datasets.contains(list));
        listed.map(|known| known.score).max()
    };
    let weakest = hit.datasets.iter().map(of_list).min().flatten();
    match weakest {
        None => Some(News::New),
        Some(known) if score(hit) > known => Some(News::Stronger(known)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screening::tests::hit;

    fn known(id: &str, datasets: &[&str], score: i64) -> KnownHit {
        KnownHit {
            id: id.into(),
            datasets: datasets.iter().map(|list| (*list).to_owned()).collect(),
            score,
            matched: true,
        }
    }

    #[test]
    fn a_hit_is_news_unless_it_was_known_as_strong_in_each_of_its_lists() {
        let unflagged = KnownHit {
            matched: false,
            ..known("pep", &["os"], 9000)
        };
        let seen = [
            known("a", &["ofac"], 8000),
            known("a", &["ofac"], 7500),
            known("b", &["un", "os"], 9000),
            unflagged,
        ];
        let possible = ScreeningHit {
            matched: false,
            ..hit("new", &["ofac"], 0.99)
        };
        for (what, hit, expected) in [
            ("known, weaker", hit("a", &["ofac"], 0.75), None),
            ("known, as strong", hit("a", &["ofac"], 0.8), None),
            ("stronger", hit("a", &["ofac"], 0.81), Some(News::Stronger(8000))),
            ("of another list", hit("a", &["eu"], 0.7), Some(News::New)),
            (
                "of a further list",
                hit("a", &["ofac", "eu"], 0.7),
                Some(News::New),
            ),
            ("of fewer lists", hit("b", &["os"], 0.9), None),
            ("unknown", hit("c", &["ofac"], 0.7), Some(News::New)),
            (
                "a politically exposed person is sanctioned",
                hit("pep", &["os"], 0.9),
                Some(News::New),
            ),
            ("no list", hit("a", &[], 0.9), Some(News::New)),
            ("unknown, but no match", possible, None),
        ] {
            assert_eq!(news(&seen, &hit), expected, "{what}");
        }
    }

    #[test]
    fn names_of_approved_attempts_and_of_the_proven_face_count() {
        let attempt = |name: &str, identified: bool| AttemptNames {
            names: vec![ScreenedName::of_form(
                |field| (field == "lastName").then_some(name),
                None,
            )],
            identified,
        };
        let names = names_of_person([
            (true, attempt("Approved", false)),
            (false, attempt("Stranger", false)),
            (false, attempt("Declined", true)),
            (true, attempt("approved", true)),
        ]);
        let names: Vec<&str> = names.iter().map(|name| name.name.as_str()).collect();
        assert_eq!(names, ["Approved", "Declined"]);
    }
}
