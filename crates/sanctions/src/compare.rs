//! Compares two prepared names: aligns their tokens, then weighs matching, contradicting and surplus parts.
//!
//! A word that only one name has costs little. A word that faces a different word in the other name
//! contradicts it, and costs much. Dates, countries and lists are not considered here; see [`crate::score`].

use smallvec::SmallVec;

use crate::distance::{self, Signature, WordForms};
use crate::name::{Name, NamePart, Token, TokenKind};
use crate::tables::{self, LegalForm};
use crate::text::Script;

/// A span of the query's tokens matched to a span of the candidate's. A span is a start and a length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    pub(crate) query: (usize, usize),
    pub(crate) candidate: (usize, usize),
    pub(crate) similarity: f32,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparison {
    /// The score, 0–1.
    pub(crate) score: f32,
    pub(crate) pairs: SmallVec<[Pair; 8]>,
}

/// The costs of unmatched parts, per unit of their weight.
pub(crate) struct Costs {
    /// Cost of a part of the query that the candidate lacks.
    pub(crate) query: f32,
    /// Cost of a part of the candidate that the query lacks.
    pub(crate) candidate: f32,
    /// Cost of a part of one name that faces a different part of the other.
    pub(crate) contradiction: f32,
}

/// People and lists often omit parts of a name, so omissions cost little.
pub(crate) const PERSON: Costs = Costs {
    query: 0.4,
    candidate: 0.2,
    contradiction: 2.2,
};
/// Every word of an organisation's name counts, most of all in the query.
pub(crate) const ORGANISATION: Costs = Costs {
    query: 0.9,
    candidate: 0.3,
    contradiction: 2.0,
};

/// Factor for a given name that matches a family name.
const EXCHANGED_ROLE_FACTOR: f32 = 0.8;
/// Factor for "A bin B" against "B bin A".
const EXCHANGED_BIN_FACTOR: f32 = 0.65;
/// Factor for legal forms that exclude each other.
const OTHER_FORM_FACTOR: f32 = 0.68;
/// Similarity of an initial to a name that begins with it.
const INITIAL_SIMILARITY: f32 = 0.9;
/// Similarity of a given name to its short form or variant.
const VARIANT_SIMILARITY: f32 = 0.88;
/// Factor for two words written as one.
const JOINED_WORDS_FACTOR: f32 = 0.97;

/// Compares a query's name with a candidate's.
pub(crate) fn compare(query: &Name, candidate: &Name) -> Comparison {
    let person = query.person && candidate.person;
    compare_with(query, candidate, |i, j| {
        token_similarity(&query.tokens[i], &candidate.tokens[j], person)
    })
}

/// [`compare`] with a given function for the similarity of two tokens, by their places in query and
/// candidate.
pub(crate) fn compare_with(
    query: &Name,
    candidate: &Name,
    similarity: impl FnMut(usize, usize) -> f32,
) -> Comparison {
    let mut found = align(query, candidate, similarity);
    found.score = weigh(query, candidate, &found.pairs);
    if found.score < 0.95
        && let Some(whole) = compare_without_spaces(query, candidate).filter(|w| w.score > found.score)
    {
        found = whole;
    }
    if query.person && candidate.person && exchanged_bin(query, candidate) {
        found.score *= EXCHANGED_BIN_FACTOR;
    }
    if has_other_form(&query.forms, &candidate.forms) {
        found.score *= OTHER_FORM_FACTOR;
    }
    found.score = found.score.clamp(0.0, 1.0);
    found
}

fn side(token: &Token) -> WordForms<'_> {
    WordForms {
        text: &token.text,
        sound: &token.sound,
        script: token.script,
        signature: token.signature,
    }
}

/// Similarity of two tokens, 0–1, without regard to their place in the name.
pub(crate) fn token_similarity(a: &Token, b: &Token, person: bool) -> f32 {
    if !a.original.is_empty() && a.script == b.script {
        return same_script(&a.original, &b.original);
    }
    if a.text == b.text {
        return 1.0;
    }
    if a.kind != TokenKind::Word || b.kind != TokenKind::Word {
        return 0.0;
    }
    let alike = distance::similarity(&side(a), &side(b));
    if person && alike < VARIANT_SIMILARITY && tables::same_given_name(&a.text, &b.text) {
        VARIANT_SIMILARITY
    } else {
        alike
    }
}

/// Similarity of two Han or two Hangul texts, compared by character, because romanisation would hide
/// differences.
fn same_script(a: &str, b: &str) -> f32 {
    let (a, b): (SmallVec<[char; 16]>, SmallVec<[char; 16]>) = (a.chars().collect(), b.chars().collect());
    let longer = a.len().max(b.len());
    if longer == 0 {
        return 0.0;
    }
    let differing = a.iter().zip(&b).filter(|(x, y)| x != y).count() + longer - a.len().min(b.len());
    let alike = 1.0 - 1.6 * differing as f32 / longer as f32;
    if alike < 0.5 { 0.0 } else { alike }
}

fn align(query: &Name, candidate: &Name, mut similarity: impl FnMut(usize, usize) -> f32) -> Comparison {
    let (q, c) = (&query.tokens, &candidate.tokens);
    let mut options: SmallVec<[(f32, usize, usize); 24]> = SmallVec::new();
    for (i, a) in q.iter().enumerate() {
        for (j, b) in c.iter().enumerate() {
            let mut alike = similarity(i, j);
            let exchanged = matches!(
                (a.role, b.role),
                (NamePart::Given, NamePart::Family) | (NamePart::Family, NamePart::Given)
            );
            if exchanged && alike > 0.0 {
                alike *= EXCHANGED_ROLE_FACTOR;
            }
            if alike > 0.0 {
                options.push((alike, i, j));
            }
        }
    }
    // Best first. Between equals, the pair whose places differ less comes first.
    options.sort_by(|x, y| {
        let places = |o: &(f32, usize, usize)| o.1.abs_diff(o.2);
        y.0.total_cmp(&x.0)
            .then(places(x).cmp(&places(y)))
            .then((x.1, x.2).cmp(&(y.1, y.2)))
    });
    let mut pairs: SmallVec<[Pair; 8]> = SmallVec::new();
    let mut free = UnmatchedTokens {
        q: vec_true(q.len()),
        c: vec_true(c.len()),
    };
    for (similarity, i, j) in options {
        if free.q[i] && free.c[j] {
            free.take(&mut pairs, (i, 1), (j, 1), similarity);
        }
    }
    joined_words(q, c, &mut free, &mut pairs);
    initials(q, c, &mut free, &mut pairs);
    Comparison { score: 0.0, pairs }
}

fn vec_true(len: usize) -> SmallVec<[bool; 16]> {
    SmallVec::from_elem(true, len)
}

/// Which tokens are still unmatched.
struct UnmatchedTokens {
    q: SmallVec<[bool; 16]>,
    c: SmallVec<[bool; 16]>,
}

impl UnmatchedTokens {
    fn take(
        &mut self,
        pairs: &mut SmallVec<[Pair; 8]>,
        query: (usize, usize),
        candidate: (usize, usize),
        similarity: f32,
    ) {
        self.q[query.0..query.0 + query.1].fill(false);
        self.c[candidate.0..candidate.0 + candidate.1].fill(false);
        pairs.push(Pair {
            query,
            candidate,
            similarity,
        });
    }
}

/// Matches words that one name joins and the other separates: "Good Will" and "Goodwill".
fn joined_words(q: &[Token], c: &[Token], free: &mut UnmatchedTokens, pairs: &mut SmallVec<[Pair; 8]>) {
    for len in [2, 3, 4] {
        for (i, parts) in q.windows(len).enumerate() {
            for (j, one) in c.iter().enumerate() {
                if free.q[i..i + len].iter().all(|f| *f)
                    && free.c[j]
                    && let Some(alike) = joined(parts, one)
                {
                    free.take(pairs, (i, len), (j, 1), alike);
                }
            }
        }
        for (j, parts) in c.windows(len).enumerate() {
            for (i, one) in q.iter().enumerate() {
                if free.c[j..j + len].iter().all(|f| *f)
                    && free.q[i]
                    && let Some(alike) = joined(parts, one)
                {
                    free.take(pairs, (i, 1), (j, len), alike);
                }
            }
        }
    }
}

fn joined_signature(parts: &[Token]) -> Signature {
    parts
        .iter()
        .fold(Signature::default(), |sum, t| sum.plus(&t.signature))
}

fn joined(parts: &[Token], one: &Token) -> Option<f32> {
    let len: usize = parts.iter().map(|t| t.text.len()).sum();
    let words = parts
        .iter()
        .chain([one])
        .all(|t| matches!(t.kind, TokenKind::Word | TokenKind::Particle));
    if !words || len.abs_diff(one.text.len()) > 2 || one.text.len() < 4 {
        return None;
    }
    let signature = joined_signature(parts);
    if signature.least_cost(&one.signature) > distance::budget(one.text.len()) {
        return None;
    }
    let text: String = parts.iter().map(|t| &*t.text).collect();
    let sound: String = parts.iter().map(|t| &*t.sound).collect();
    let script = parts[0].script;
    let alike = distance::similarity(
        &WordForms {
            text: &text,
            sound: &sound,
            script,
            signature,
        },
        &side(one),
    ) * JOINED_WORDS_FACTOR;
    (alike >= 0.75).then_some(alike)
}

/// Matches initials of one name to words of the other. Family names come last.
fn initials(q: &[Token], c: &[Token], free: &mut UnmatchedTokens, pairs: &mut SmallVec<[Pair; 8]>) {
    let stands_for = |initial: &Token, word: &Token| {
        initial.kind == TokenKind::Initial
            && word.kind == TokenKind::Word
            && word.text.as_bytes()[0] == initial.text.as_bytes()[0]
    };
    for family in [false, true] {
        for (i, a) in q.iter().enumerate() {
            for (j, b) in c.iter().enumerate() {
                let fits = stands_for(a, b) && (b.role == NamePart::Family) == family
                    || stands_for(b, a) && (a.role == NamePart::Family) == family;
                if fits && free.q[i] && free.c[j] {
                    free.take(pairs, (i, 1), (j, 1), INITIAL_SIMILARITY);
                }
            }
        }
    }
}

/// Sums of the weights of matched and unmatched tokens.
struct Sums {
    matched: f32,
    total: f32,
    query_left: f32,
    query_surplus: f32,
    candidate_left: f32,
    candidate_surplus: f32,
}

fn sums(query: &Name, candidate: &Name, pairs: &[Pair]) -> Sums {
    let (q, c) = (&query.tokens, &candidate.tokens);
    let mut s = Sums {
        matched: 0.0,
        total: 0.0,
        query_left: 0.0,
        query_surplus: 0.0,
        candidate_left: 0.0,
        candidate_surplus: 0.0,
    };
    let mut free = UnmatchedTokens {
        q: vec_true(q.len()),
        c: vec_true(c.len()),
    };
    for pair in pairs {
        let (qs, cs) = (
            pair.query.0..pair.query.0 + pair.query.1,
            pair.candidate.0..pair.candidate.0 + pair.candidate.1,
        );
        let weight = |tokens: &[Token]| tokens.iter().map(|t| t.weight).sum::<f32>();
        let weight = weight(&q[qs.clone()]).max(weight(&c[cs.clone()]));
        s.matched += weight * pair.similarity;
        s.total += weight;
        free.q[qs].fill(false);
        free.c[cs].fill(false);
    }
    // Particles contradict nothing, so they add to the surplus only.
    let left = |tokens: &[Token], free: &[bool]| {
        let open = tokens.iter().zip(free).filter(|(_, f)| **f).map(|(t, _)| t);
        open.fold((0.0, 0.0), |(left, surplus), t| match t.kind {
            TokenKind::Particle => (left, surplus + t.surplus),
            _ => (left + t.weight, surplus + t.surplus),
        })
    };
    (s.query_left, s.query_surplus) = left(q, &free.q);
    (s.candidate_left, s.candidate_surplus) = left(c, &free.c);
    s
}

/// Turns an alignment into a score: matched weight / (total weight of matched parts + cost of the rest).
fn weigh(query: &Name, candidate: &Name, pairs: &[Pair]) -> f32 {
    let s = sums(query, candidate, pairs);
    if s.total == 0.0 {
        return 0.0;
    }
    let person = query.person && candidate.person;
    let mut costs = if person { PERSON } else { ORGANISATION };
    if person {
        raise_single_word_costs(query, candidate, pairs, &mut costs);
    }
    let contradiction = s.query_left.min(s.candidate_left);
    let rest = |left: f32, surplus: f32| {
        if left > 0.0 {
            surplus * (left - contradiction) / left
        } else {
            surplus
        }
    };
    let cost = contradiction * costs.contradiction
        + rest(s.query_left, s.query_surplus) * costs.query
        + rest(s.candidate_left, s.candidate_surplus) * costs.candidate;
    s.matched / (s.total + cost)
}

/// Raises the costs if only one word matches. Such a word must be exact and uncommon to identify a longer
/// name.
fn raise_single_word_costs(query: &Name, candidate: &Name, pairs: &[Pair], costs: &mut Costs) {
    let mut words = pairs.iter().filter(|p| {
        let word = |t: &Token| t.kind == TokenKind::Word && t.weight > 0.5;
        query.tokens[p.query.0..p.query.0 + p.query.1].iter().any(word) && p.similarity > 0.0
    });
    let (Some(pair), None) = (words.next(), words.next()) else {
        return;
    };
    if pair.query.1 > 1 || pair.candidate.1 > 1 {
        return;
    }
    costs.query = 0.9;
    let token = &query.tokens[pair.query.0];
    let telling = pair.similarity >= 0.95
        && token.text.len() >= 5
        && !tables::GIVEN_NAME_GROUPS.contains_key(&*token.text)
        && candidate.tokens[pair.candidate.0].role != NamePart::Given;
    if !telling {
        costs.candidate = 0.6;
    }
}

/// Compares the whole names without their spaces, and as acronyms.
fn compare_without_spaces(query: &Name, candidate: &Name) -> Option<Comparison> {
    let (q, c) = (&query.tokens, &candidate.tokens);
    let all = |similarity: f32| Comparison {
        score: similarity,
        pairs: SmallVec::from_slice(&[Pair {
            query: (0, q.len()),
            candidate: (0, c.len()),
            similarity,
        }]),
    };
    let acronym = |one: &Name, many: &Name| {
        let mut words = one
            .tokens
            .iter()
            .filter(|t| t.kind == TokenKind::Word && t.surplus > 0.3);
        let only = words.next().filter(|_| words.next().is_none());
        many.acronym.len() >= 3 && only.is_some_and(|t| t.text == many.acronym)
    };
    if !query.person && !candidate.person && (acronym(query, candidate) || acronym(candidate, query)) {
        return Some(all(0.8));
    }
    let han = |tokens: &[Token]| tokens.iter().any(|t| !t.original.is_empty());
    if han(q) && han(c) {
        let text = |tokens: &[Token]| tokens.iter().map(|t| &*t.original).collect::<String>();
        return Some(all(same_script(&text(q), &text(c))));
    }
    let spaced = q.len() == c.len() && !han(q) && !han(c);
    if spaced || (q.len() > 1 && c.len() > 1 && !han(q) && !han(c)) {
        return None;
    }
    let join = |tokens: &[Token], from: usize| -> (String, String) {
        let order = tokens[from..].iter().chain(&tokens[..from]);
        order.fold((String::new(), String::new()), |(t, s), token| {
            (t + &token.text, s + &token.sound)
        })
    };
    let script = |tokens: &[Token]| {
        if tokens.iter().any(|t| t.script == Script::Abjad) {
            Script::Abjad
        } else {
            Script::Alphabetic
        }
    };
    let mut best = 0.0f32;
    // Han names have no spaces and begin with the family name, so the last word may also come first.
    for (qfrom, from) in [(0, 0), (0, c.len() - 1), (q.len() - 1, 0)] {
        let ((qt, qs), (ct, cs)) = (join(q, qfrom), join(c, from));
        if ct.len().min(qt.len()) < 4 {
            continue;
        }
        let a = WordForms {
            text: &qt,
            sound: &qs,
            script: script(q),
            signature: joined_signature(q),
        };
        let b = WordForms {
            text: &ct,
            sound: &cs,
            script: script(c),
            signature: joined_signature(c),
        };
        best = best.max(distance::similarity(&a, &b) * JOINED_WORDS_FACTOR);
    }
    (best >= 0.8).then(|| all(best))
}

/// Whether one name is "A bin B" and the other "B bin A".
fn exchanged_bin(query: &Name, candidate: &Name) -> bool {
    fn around_bin(name: &Name) -> Option<(&Token, &Token)> {
        let at = name
            .tokens
            .iter()
            .position(|t| t.kind == TokenKind::Particle && &*t.text == "bin")?;
        let son = name.tokens[..at]
            .iter()
            .rev()
            .find(|t| t.kind == TokenKind::Word)?;
        let father = name.tokens[at + 1..].iter().find(|t| t.kind == TokenKind::Word)?;
        Some((son, father))
    }
    let (Some((a, b)), Some((x, y))) = (around_bin(query), around_bin(candidate)) else {
        return false;
    };
    let alike = |s: &Token, t: &Token| token_similarity(s, t, true) > 0.7;
    alike(a, y) && alike(b, x) && !alike(a, x)
}

fn has_other_form(a: &[LegalForm], b: &[LegalForm]) -> bool {
    let telling = |forms: &[LegalForm]| {
        forms
            .iter()
            .copied()
            .filter(|f| *f != LegalForm::Plain)
            .collect::<SmallVec<[LegalForm; 4]>>()
    };
    let (a, b) = (telling(a), telling(b));
    !a.is_empty() && !b.is_empty() && !a.iter().any(|f| b.contains(f))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Schema;
    use crate::name::{KnownNameParts, prepare};

    fn score(schema: Schema, a: &str, b: &str) -> f32 {
        let read = |n| prepare(n, schema, &KnownNameParts::default()).unwrap();
        compare(&read(a), &read(b)).score
    }

    #[test]
    fn people() {
        for (a, b) in [
            ("Anders Lindqvist", "Lindqvist, Anders"),
            ("Jon Smith", "John Smith"),
            ("J. Smith", "John Smith"),
            ("Ivan Petrov", "Иван Петров"),
            ("Ivan Petrov", "Ivan Sergeevich Petrov"),
            ("محمد علي", "Mohamed Ali"),
            ("AbdulAziz al Rahmani", "'Abd al-Aziz al-Rahmani"),
            ("Wang Xiaoming", "王 小明"),
            ("王小明", "Wang Xiaoming"),
            ("Xiaoming Wang", "王小明"),
        ] {
            let s = score(Schema::Person, a, b);
            assert!(s >= 0.7, "{a} / {b}: {s}");
        }
        for (a, b) in [
            ("Anders Lindqvist", "Anders Holm"),
            ("Hassan Karim Ali Omar", "Hassan Karim Ali Nabil"),
            ("Salem bin Tariq", "Tariq bin Salem"),
            ("John", "John Smith"),
            ("Karl O. Meyer", "Karl Joachim Meyer"),
            ("王小明", "王小红"),
        ] {
            let s = score(Schema::Person, a, b);
            assert!(s < 0.7, "{a} / {b}: {s}");
        }
    }

    #[test]
    fn organisations() {
        for (a, b) in [
            ("Nordwind Reederei Aktiengesellschaft", "Nordwind Reederei AG"),
            ("OOO Zarya", "Общество с ограниченной ответственностью \"Заря\""),
            ("Good Will Company", "Goodwill Company"),
            ("NLA", "Northern Liberation Army"),
            ("First Brigade", "1st Brigade"),
        ] {
            let s = score(Schema::Company, a, b);
            assert!(s >= 0.7, "{a} / {b}: {s}");
        }
        for (a, b) in [
            ("Zarya Bank LLC", "Zarya Bank JSC"),
            ("Northern Systems Inc.", "Northern Industries Inc."),
            ("Management Company", "Westfield Management Company"),
            ("Ltd", "Limited Harvest Ltd"),
            ("Star 3", "Star"),
        ] {
            let s = score(Schema::Company, a, b);
            assert!(s < 0.7, "{a} / {b}: {s}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_names_compare_within_bounds(a in "\\PC{0,60}", b in "\\PC{0,60}", org in proptest::bool::ANY) {
            let schema = if org { Schema::Company } else { Schema::Person };
            let read = |n: &str| prepare(n, schema, &KnownNameParts::default());
            if let (Some(x), Some(y)) = (read(&a), read(&b)) {
                let s = compare(&x, &y).score;
                proptest::prop_assert!((0.0..=1.0).contains(&s));
                proptest::prop_assert_eq!(compare(&x, &x).score, 1.0);
            }
        }
    }
}
