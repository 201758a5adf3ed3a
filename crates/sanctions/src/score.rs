//! Scores one query against one candidate. The best match of names, identifiers and wallets counts; birth
//! dates, countries and genders then adjust the score of names. Every score can be recomputed from its
//! features.
//!
//! This module selects no candidates; see [`crate::screener`].

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;
use smallvec::SmallVec;

use crate::align::Comparison;
use crate::compare;
use crate::entity::{Entity, Gender, IdentifierKind, PartialDate};
use crate::name::{Name, NameRef};
use crate::profile::Profile;
use crate::subject::{Facts, Qualities, Subject, sorted_words};

/// Score from which a candidate is a match, unless a caller sets another threshold.
pub const DEFAULT_THRESHOLD: f64 = 0.70;

/// Score of a weak alias, which matches only if the names are equal.
const WEAK_ALIAS: f32 = 0.8;

/// The deduction for a name that very many people bear, if neither a date of birth nor a country agrees. It ranks such
/// hits below those that more than a name supports.
const COMMON_NAME: f32 = -0.05;

/// One feature of a score with the values that were compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The feature's name, as in `features`.
    pub feature: String,
    /// The feature's contribution to the score; for a main feature, the score that it reaches alone.
    pub score: f64,
    /// The query's value.
    pub query: String,
    /// The candidate's value.
    pub candidate: String,
    /// For names: which parts correspond to each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<TokenMatch>,
}

/// A part of the query's name and the matching part of the candidate's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TokenMatch {
    /// The query's words, normalised; empty if the candidate's words have no counterpart.
    pub query: String,
    /// The candidate's words, normalised; empty if the query's words have no counterpart.
    pub candidate: String,
    /// Similarity of the words, 0–1.
    pub similarity: f64,
}

/// The score of a pair of entities.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairScore {
    /// The score, 0–1.
    pub score: f64,
    /// Whether the score reaches [`DEFAULT_THRESHOLD`].
    #[serde(rename = "match")]
    pub matched: bool,
    /// The parts of the score. The greatest main feature (`name_match`, `weak_alias_match`, `wallet_match`,
    /// `identifier_match`…) counts; qualifiers are added to the score of names. Empty unless the score is explained.
    pub features: BTreeMap<String, f64>,
    /// The same parts with the values that were compared.
    pub explanation: Vec<Explanation>,
}

impl PairScore {
    /// The same score with another feature, which explains why the pair is a hit and counts nothing in the score.
    pub(crate) fn with_feature(mut self, name: &str, score: f64, query: &str, candidate: &str) -> PairScore {
        self.features.insert(name.to_owned(), score);
        self.explanation.push(Explanation {
            feature: name.to_owned(),
            score,
            query: query.to_owned(),
            candidate: candidate.to_owned(),
            tokens: Vec::new(),
        });
        self
    }
}

/// A feature.
struct Feature {
    name: &'static str,
    score: f32,
    /// The values that were compared, if they are wanted.
    values: Option<Box<Values>>,
}

/// The values of query and candidate that were compared.
struct Values {
    query: String,
    candidate: String,
    tokens: Vec<TokenMatch>,
}

/// The features of a pair.
struct Features {
    list: SmallVec<[Feature; 4]>,
    /// Whether the values that were compared are wanted.
    explain: bool,
    profile: Profile,
}

impl Features {
    fn new(explain: bool, profile: Profile) -> Features {
        let list = SmallVec::new();
        Features {
            list,
            explain,
            profile,
        }
    }

    fn sum(&self) -> f32 {
        self.list.iter().map(|feature| feature.score).sum()
    }

    /// Adds a feature. `values` gives the query's and the candidate's value, in words.
    fn add<Q: ToString, C: ToString>(
        &mut self,
        name: &'static str,
        score: f32,
        values: impl FnOnce() -> (Q, C),
    ) {
        self.add_with_tokens(name, score, values, Vec::new);
    }

    fn add_with_tokens<Q: ToString, C: ToString>(
        &mut self,
        name: &'static str,
        score: f32,
        values: impl FnOnce() -> (Q, C),
        tokens: impl FnOnce() -> Vec<TokenMatch>,
    ) {
        if score < 0.0 && self.profile == Profile::Strict {
            return;
        }
        let values = self.explain.then(|| {
            let (query, candidate) = values();
            Box::new(Values {
                query: query.to_string(),
                candidate: candidate.to_string(),
                tokens: tokens(),
            })
        });
        self.list.push(Feature { name, score, values });
    }
}

/// The best pair of names of query and candidate; `query` and `candidate` are their positions.
#[derive(Clone, Debug, Default)]
pub(crate) struct BestName {
    pub(crate) comparison: Comparison,
    pub(crate) query: usize,
    pub(crate) candidate: usize,
}

pub(crate) fn best_name(query: &[Name], candidate: &[Name]) -> Option<BestName> {
    let mut best: Option<BestName> = None;
    for (i, q) in query.iter().enumerate() {
        for (j, c) in candidate.iter().enumerate() {
            let comparison = compare::compare(&q.view(), &c.view());
            if comparison.score > best.as_ref().map_or(0.0, |b| b.comparison.score) {
                best = Some(BestName {
                    comparison,
                    query: i,
                    candidate: j,
                });
            }
        }
    }
    best
}

/// Maximum gain of a name's score by qualifiers.
const MAX_QUALIFIER_GAIN: f32 = 0.1;

/// What any listed entity's qualifiers may add to the score of a query's name.
pub(crate) fn most_gained(query: &Facts) -> f32 {
    if query.birth_dates.is_empty() {
        0.0
    } else {
        MAX_QUALIFIER_GAIN
    }
}

/// What qualifiers add to the score of a name, at most: a low score gains nothing, and a common name may lose. The index
/// uses it to discard candidates.
pub(crate) fn most_qualifiers_add(query: &Facts, candidate: Qualities<'_>, profile: Profile) -> f32 {
    let mut qualifiers = Features::new(false, profile);
    add_qualifiers(query.qualities(), candidate, 1.0, &mut qualifiers);
    qualifiers.sum()
}

/// What a score needs of the listed side.
pub(crate) struct Listed<'a, 'n> {
    /// The name of the best pair.
    pub(crate) name: Option<&'a NameRef<'n>>,
    pub(crate) weak_aliases: &'a [String],
    pub(crate) qualities: Qualities<'a>,
    pub(crate) identifiers: &'a [(IdentifierKind, String)],
    pub(crate) wallets: &'a [String],
}

/// Computes a candidate's score. `best` is the best pair of names, if any is similar enough.
pub(crate) fn score_subjects(
    query: &Subject,
    candidate: &Listed<'_, '_>,
    best: Option<&BestName>,
    (profile, explain): (Profile, bool),
) -> PairScore {
    let mut main = Features::new(explain, profile);
    let best = best.filter(|b| b.comparison.score > 0.0);
    let pair = best
        .zip(candidate.name)
        .map(|(best, name)| (query.names[best.query].view(), name, best));
    if let Some((q, c, best)) = &pair {
        main.add_with_tokens(
            "name_match",
            best.comparison.score,
            || (words(q), words(c)),
            || token_matches(q, c, &best.comparison),
        );
    }
    let mut names = query.names.iter();
    let is_alias = |name: &String| candidate.weak_aliases.binary_search(name).is_ok();
    if !candidate.weak_aliases.is_empty()
        && let Some(alias) = names.find_map(|name| Some(sorted_words(name)).filter(is_alias))
    {
        main.add("weak_alias_match", WEAK_ALIAS, || (&alias, &alias));
    }
    let names = main.list.iter().map(|f| f.score).fold(0.0, f32::max);
    add_exact_matches(&query.facts, candidate, &mut main);
    let exact = main
        .list
        .iter()
        .filter(|f| !f.name.starts_with("name") && !f.name.starts_with("weak"));
    let exact = exact.map(|f| f.score).fold(0.0, f32::max);
    let mut qualifiers = Features::new(explain, profile);
    if names > 0.0 {
        add_qualifiers(
            query.facts.qualities(),
            candidate.qualities,
            names,
            &mut qualifiers,
        );
        let common = pair
            .as_ref()
            .is_some_and(|(q, c, _)| q.is_common() && c.is_common());
        if common && !agrees(query.facts.qualities(), candidate.qualities) {
            let name = main.list.first().and_then(|name| name.values.as_ref());
            let values = || {
                name.map_or_else(Default::default, |name| {
                    (name.query.clone(), name.candidate.clone())
                })
            };
            qualifiers.add("common_name", COMMON_NAME, values);
        }
    }
    let named = names + qualifiers.sum();
    let score = round(exact.max(named).clamp(0.0, 1.0));
    let matched = score >= DEFAULT_THRESHOLD;
    let features = main.list.into_iter().chain(qualifiers.list);
    let mut scored = PairScore {
        score,
        matched,
        features: BTreeMap::new(),
        explanation: Vec::new(),
    };
    for Feature { name, score, values } in features.filter(|_| explain) {
        let score = round(score);
        scored.features.insert(name.to_owned(), score);
        scored.explanation.extend(values.map(|values| Explanation {
            feature: name.to_owned(),
            score,
            query: values.query,
            candidate: values.candidate,
            tokens: values.tokens,
        }));
    }
    scored
}

/// Rounds to four decimals, which makes scores readable and the same on every machine.
fn round(score: f32) -> f64 {
    (f64::from(score) * 10_000.0).round() / 10_000.0
}

fn words(name: &NameRef<'_>) -> String {
    name.tokens.iter().map(|t| t.text).collect::<Vec<_>>().join(" ")
}

fn token_matches(query: &NameRef<'_>, candidate: &NameRef<'_>, comparison: &Comparison) -> Vec<TokenMatch> {
    let text = |name: &NameRef<'_>, (at, len): (usize, usize)| {
        name.tokens[at..at + len]
            .iter()
            .map(|t| t.text)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let mut pairs = comparison.pairs.clone();
    pairs.sort_by_key(|p| (p.query, p.candidate));
    let mut out: Vec<TokenMatch> = pairs
        .iter()
        .map(|p| TokenMatch {
            query: text(query, p.query),
            candidate: text(candidate, p.candidate),
            similarity: round(p.similarity),
        })
        .collect();
    let inside = |span: (usize, usize), i: usize| (span.0..span.0 + span.1).contains(&i);
    for i in (0..query.tokens.len()).filter(|i| !pairs.iter().any(|p| inside(p.query, *i))) {
        out.push(TokenMatch {
            query: text(query, (i, 1)),
            candidate: String::new(),
            similarity: 0.0,
        });
    }
    for i in (0..candidate.tokens.len()).filter(|i| !pairs.iter().any(|p| inside(p.candidate, *i))) {
        out.push(TokenMatch {
            query: String::new(),
            candidate: text(candidate, (i, 1)),
            similarity: 0.0,
        });
    }
    out
}

fn add_exact_matches(query: &Facts, candidate: &Listed<'_, '_>, main: &mut Features) {
    if let Some(wallet) = query.wallets.iter().find(|w| candidate.wallets.contains(w)) {
        main.add("wallet_match", 0.98, || (wallet, wallet));
    }
    let mut best: Option<(f32, &'static str, &String)> = None;
    for (kind, value) in &query.identifiers {
        for (other, _) in candidate.identifiers.iter().filter(|(_, v)| v == value) {
            let Some((score, name)) = identifier_weight(*kind, *other, value) else {
                continue;
            };
            if best.is_none_or(|b| score > b.0) {
                best = Some((score, name, value));
            }
        }
    }
    if let Some((score, name, value)) = best {
        main.add(name, score, || (value, value));
    }
}

/// Score and feature name of an equal number, by the kinds that both sides state; `None` if it proves too
/// little.
fn identifier_weight(a: IdentifierKind, b: IdentifierKind, value: &str) -> Option<(f32, &'static str)> {
    use IdentifierKind::{Bic, Imo, Inn, Isin, Lei, Ogrn};
    let kind = if a == b || b == IdentifierKind::Other {
        a
    } else {
        b
    };
    let differ = a != b && a != IdentifierKind::Other && b != IdentifierKind::Other;
    match kind {
        _ if differ && value.len() < 6 => None,
        _ if differ => Some((0.85, "identifier_match")),
        Isin => Some((0.98, "isin_match")),
        Lei => Some((0.95, "lei_match")),
        Inn => Some((0.95, "inn_match")),
        Ogrn => Some((0.95, "ogrn_match")),
        Imo => Some((0.95, "imo_match")),
        Bic => Some((0.95, "bic_match")),
        _ => Some((0.85, "identifier_match")),
    }
}

/// Whether a date of birth or a country supports the match of names.
fn agrees(query: Qualities<'_>, candidate: Qualities<'_>) -> bool {
    let mut dates = query
        .birth_dates
        .iter()
        .flat_map(|a| candidate.birth_dates.iter().map(move |b| (a, b)));
    query.countries.iter().any(|c| candidate.countries.contains(c))
        || dates.any(|(a, b)| compare_birth_dates(a, b).1 >= 0.0)
}

fn add_qualifiers(query: Qualities<'_>, candidate: Qualities<'_>, names: f32, out: &mut Features) {
    let list = |values: &[String]| values.join(" ");
    let (qc, cc) = (query.countries, candidate.countries);
    if !qc.is_empty() && !cc.is_empty() && !qc.iter().any(|c| cc.contains(c)) {
        out.add("country_mismatch", -0.2, || (list(qc), list(cc)));
    }
    let word = |g| if g == Gender::Male { "male" } else { "female" };
    match (query.gender, candidate.gender) {
        (Some(Gender::Other), _) | (_, Some(Gender::Other)) => {}
        (Some(a), Some(b)) if a != b => out.add("gender_mismatch", -0.2, || (word(a), word(b))),
        _ => {}
    }
    let pairs = query
        .birth_dates
        .iter()
        .flat_map(|a| candidate.birth_dates.iter().map(move |b| (a, b)));
    let judged = pairs.map(|(a, b)| (compare_birth_dates(a, b), a, b));
    // Each side's dates are alternatives, so the pair with the best score counts.
    if let Some(((name, score), a, b)) = judged.max_by(|x, y| x.0.1.total_cmp(&y.0.1)) {
        let agrees = score > 0.0;
        if score < 0.0 || (agrees && names >= 0.6) {
            out.add(name, score, || (a, b));
        }
    }
}

/// The feature and score of two dates of birth. A part that one of them lacks contradicts nothing.
fn compare_birth_dates(a: &PartialDate, b: &PartialDate) -> (&'static str, f32) {
    let years_apart = if a.last_year < b.first_year {
        b.first_year - a.last_year
    } else {
        a.first_year.saturating_sub(b.last_year)
    };
    let same_day = a.is_full() && b.is_full() && (a.month, a.day) == (b.month, b.day);
    let swapped = a.is_full() && b.is_full() && (a.month, a.day) == (b.day, b.month);
    let day_differs = a.is_full() && b.is_full() && !same_day;
    let month_differs = a.month != 0 && b.month != 0 && a.month != b.month;
    match years_apart {
        0 if same_day => ("birth_date_match", MAX_QUALIFIER_GAIN),
        0 if swapped => ("birth_day_swapped", -0.12),
        0 if day_differs || month_differs => ("birth_day_disjoint", -0.25),
        0 => ("birth_year_match", 0.0),
        // A mistyped digit, or a year derived from an age, leaves the rest of the date equal.
        _ if same_day => ("birth_year_disjoint", -0.1),
        1 => ("birth_year_disjoint", -0.15),
        2..=5 => ("birth_year_disjoint", -0.25),
        _ => ("birth_year_disjoint", -0.35),
    }
}

/// Scores a pair of entities.
pub fn score_pair(query: &Entity, candidate: &Entity) -> PairScore {
    if !query.schema.is_compatible_with(candidate.schema) {
        return PairScore {
            score: 0.0,
            matched: false,
            features: BTreeMap::new(),
            explanation: Vec::new(),
        };
    }
    // If one side is known to be a person, both names are read as people's names.
    let people = query.schema.is_person() || candidate.schema.is_person();
    let (query, candidate) = (Subject::of(query, people), Subject::of(candidate, people));
    let best = best_name(&query.names, &candidate.names);
    let name = best.as_ref().map(|best| candidate.names[best.candidate].view());
    let listed = Listed {
        name: name.as_ref(),
        weak_aliases: &candidate.weak_aliases,
        qualities: candidate.facts.qualities(),
        identifiers: &candidate.facts.identifiers,
        wallets: &candidate.facts.wallets,
    };
    score_subjects(&query, &listed, best.as_ref(), (Profile::Standard, true))
}
