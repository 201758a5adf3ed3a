//! Aligns the tokens of two names: equal and similar words, joined words, initials, acronyms and slips of the pen.
//!
//! It weighs nothing and gives no score; see [`crate::compare`].

use smallvec::SmallVec;

use crate::distance;
use crate::name::{NamePart, NameRef, TokenKind, TokenRef};
use crate::word_forms::{Signature, WordForms};

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

/// Factor for a given name that matches a family name.
const EXCHANGED_ROLE_FACTOR: f32 = 0.68;
/// Similarity of an initial to a name that begins with it.
const INITIAL_SIMILARITY: f32 = 0.9;
/// Similarity of two words that differ in one letter and are matched only by the rest of the name.
pub(crate) const SLIP_SIMILARITY: f32 = 0.59;
/// Similarity of an acronym to the words that it abbreviates.
const ACRONYM_SIMILARITY: f32 = 0.9;
/// Factor for two words written as one.
pub(crate) const JOINED_WORDS_FACTOR: f32 = 0.97;
/// Similarity from which a word counts as exact: another spelling or transliteration of the same name.
pub(crate) const EXACT: f32 = 0.84;

/// Aligns the tokens of two names: the most similar pairs first, each token at most once.
pub(crate) fn align(
    query: &NameRef<'_>,
    candidate: &NameRef<'_>,
    mut similarity: impl FnMut(usize, usize) -> f32,
) -> Comparison {
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
            if alike > SLIP_SIMILARITY {
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
    if !query.person && !candidate.person {
        inner_acronyms(q, c, &mut free, &mut pairs);
    }
    slips(q, c, &mut free, &mut pairs);
    Comparison { score: 0.0, pairs }
}

pub(crate) fn word_forms<'a>(token: &TokenRef<'a>) -> WordForms<'a> {
    WordForms {
        text: token.text,
        sound: token.sound,
        script: token.script,
        signature: token.signature,
    }
}

pub(crate) fn vec_true(len: usize) -> SmallVec<[bool; 16]> {
    SmallVec::from_elem(true, len)
}

/// Which tokens are still unmatched.
pub(crate) struct UnmatchedTokens {
    pub(crate) q: SmallVec<[bool; 16]>,
    pub(crate) c: SmallVec<[bool; 16]>,
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
fn joined_words(
    q: &[TokenRef<'_>],
    c: &[TokenRef<'_>],
    free: &mut UnmatchedTokens,
    pairs: &mut SmallVec<[Pair; 8]>,
) {
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

pub(crate) fn joined_signature(parts: &[TokenRef<'_>]) -> Signature {
    parts
        .iter()
        .fold(Signature::default(), |sum, t| sum.plus(&t.signature))
}

/// Whether some words may be written as another one, by the letters and the signature of both.
pub(crate) fn may_be_joined(parts: (usize, &Signature), one: (usize, &Signature)) -> bool {
    parts.0.abs_diff(one.0) <= 2 && one.0 >= 4 && parts.1.least_cost(one.1) <= distance::budget(one.0)
}

/// The similarity of some words and another one that may join them.
pub(crate) fn joined(parts: &[TokenRef<'_>], one: &TokenRef<'_>) -> Option<f32> {
    let len: usize = parts.iter().map(|t| t.text.len()).sum();
    let words = parts
        .iter()
        .chain([one])
        .all(|t| matches!(t.kind, TokenKind::Word | TokenKind::Particle));
    let signature = joined_signature(parts);
    if !words || !may_be_joined((len, &signature), (one.text.len(), &one.signature)) {
        return None;
    }
    let text: String = parts.iter().map(|t| t.text).collect();
    let sound: String = parts.iter().map(|t| t.sound).collect();
    let script = parts[0].script;
    let alike = distance::similarity(
        &WordForms {
            text: &text,
            sound: &sound,
            script,
            signature,
        },
        &word_forms(one),
    ) * JOINED_WORDS_FACTOR;
    (alike >= 0.75).then_some(alike)
}

/// Matches two words that differ in one letter if the rest of the name identifies its bearer. Alone, such words are
/// different: "Tim" and "Tom".
fn slips(
    q: &[TokenRef<'_>],
    c: &[TokenRef<'_>],
    free: &mut UnmatchedTokens,
    pairs: &mut SmallVec<[Pair; 8]>,
) {
    let is_anchor = |pair: &Pair| {
        let (a, b) = (&q[pair.query.0], &c[pair.candidate.0]);
        pair.similarity >= EXACT && (pair.query.1 > 1 || pair.candidate.1 > 1 || (a.telling && b.telling))
    };
    if !pairs.iter().any(is_anchor) {
        return;
    }
    for (i, a) in q.iter().enumerate() {
        for (j, b) in c.iter().enumerate() {
            if free.q[i] && free.c[j] && is_slip(a, b) {
                return free.take(pairs, (i, 1), (j, 1), SLIP_SIMILARITY);
            }
        }
    }
}

/// Whether two words may be one word with a slip of the pen.
fn is_slip(a: &TokenRef<'_>, b: &TokenRef<'_>) -> bool {
    let words = a.kind == TokenKind::Word && b.kind == TokenKind::Word && a.script == b.script;
    words
        && a.original.is_empty()
        && (distance::differs_in_one_letter(a.text.as_bytes(), b.text.as_bytes())
            || distance::similarity(&word_forms(a), &word_forms(b)) > 0.0)
}

/// Matches a word of one name to the words of the other that it abbreviates: "UN" and "United Nations".
fn inner_acronyms(
    q: &[TokenRef<'_>],
    c: &[TokenRef<'_>],
    free: &mut UnmatchedTokens,
    pairs: &mut SmallVec<[Pair; 8]>,
) {
    let abbreviates = |one: &TokenRef<'_>, many: &[TokenRef<'_>]| {
        let initials = many
            .iter()
            .filter(|t| t.kind == TokenKind::Word)
            .filter_map(|t| t.text.bytes().next());
        one.kind == TokenKind::Word && many.iter().all(|t| t.text.len() > 2) && initials.eq(one.text.bytes())
    };
    for i in (0..q.len()).filter(|i| (2..=5).contains(&q[*i].text.len())) {
        let len = q[i].text.len();
        for j in 0..(c.len() + 1).saturating_sub(len) {
            if free.q[i] && free.c[j..j + len].iter().all(|f| *f) && abbreviates(&q[i], &c[j..j + len]) {
                free.take(pairs, (i, 1), (j, len), ACRONYM_SIMILARITY);
            }
        }
    }
    for j in (0..c.len()).filter(|j| (2..=5).contains(&c[*j].text.len())) {
        let len = c[j].text.len();
        for i in 0..(q.len() + 1).saturating_sub(len) {
            if free.c[j] && free.q[i..i + len].iter().all(|f| *f) && abbreviates(&c[j], &q[i..i + len]) {
                free.take(pairs, (i, len), (j, 1), ACRONYM_SIMILARITY);
            }
        }
    }
}

/// Matches initials of one name to words of the other. Family names come last.
fn initials(
    q: &[TokenRef<'_>],
    c: &[TokenRef<'_>],
    free: &mut UnmatchedTokens,
    pairs: &mut SmallVec<[Pair; 8]>,
) {
    let stands_for = |initial: &TokenRef<'_>, word: &TokenRef<'_>| {
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
