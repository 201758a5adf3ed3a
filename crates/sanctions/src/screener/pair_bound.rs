//! The highest score that two people's names could reach, from what an index knows of the listed one without its
//! letters. It compares no names.
//!
//! [`compare::compare`] divides the weight of the tokens that match by that weight and the cost of the rest. Here all
//! tokens that may match count fully, of each pair the heavier one, and the cost is the least of those that surely match
//! nothing; see [`least_cost`]. The bound grows with the weight and falls with the cost.

use smallvec::SmallVec;

use super::records::TokenStyle;
use super::shape::Shape;
use super::similarities::Similarities;
use crate::align::{self, EXACT, SLIP_SIMILARITY};
use crate::name::{NameRef, TokenKind, TokenRef};
use crate::text::Script;
use crate::word_forms::Signature;
use crate::{compare, distance, syllables};

/// A token of a listed name.
pub(super) struct ListedToken<'a> {
    pub(super) word: u32,
    pub(super) kind: TokenKind,
    pub(super) style: &'a TokenStyle,
    pub(super) shape: &'a Shape,
}

/// What an alignment may match of two names.
#[derive(Default)]
struct MayMatch {
    /// Bit sets of tokens.
    query: u64,
    listed: u64,
    /// Some words may match as one.
    joined: bool,
    /// A pair may allow two words that differ in one letter.
    anchor: bool,
    /// Two words may differ in one letter.
    slip: bool,
    /// The greatest similarity of two telling words.
    telling: f32,
}

/// A person's name of a query, with what all its bounds need.
pub(super) struct PairBound<'a> {
    query: NameRef<'a>,
    /// Whether a token is Chinese or Korean, and the script of the whole name.
    is_east_asian: bool,
    script: Script,
    /// All tokens together: their length, signature, and text, which may also begin with the last token.
    len: usize,
    signature: Signature,
    texts: [String; 2],
    /// Two to four tokens together, with their length and signature.
    joined: SmallVec<[(usize, usize, usize, Signature); 6]>,
}

impl<'a> PairBound<'a> {
    pub(super) fn new(query: NameRef<'a>) -> PairBound<'a> {
        let tokens = &query.tokens;
        let len = |tokens: &[TokenRef<'_>]| tokens.iter().map(|token| token.text.len()).sum::<usize>();
        let last = tokens.len().saturating_sub(1);
        let texts = [0, last].map(|from| {
            let order = tokens[from..].iter().chain(&tokens[..from]);
            order.map(|token| token.text).collect()
        });
        let joined = (2..=4).flat_map(|count| {
            let spans = tokens.windows(count).enumerate();
            spans.map(move |(at, parts)| (at, count, len(parts), align::joined_signature(parts)))
        });
        PairBound {
            is_east_asian: tokens.iter().any(|token| !token.original.is_empty()),
            script: script_of(tokens.iter().map(|token| token.script)),
            len: len(tokens),
            signature: align::joined_signature(tokens),
            texts,
            joined: joined.collect(),
            query,
        }
    }

    /// Whether the name may score at least `least` against another person's.
    pub(super) fn may_reach(
        &self,
        listed: &[ListedToken<'_>],
        similarities: &mut Similarities<'_>,
        least: f32,
    ) -> bool {
        let may = self.may_match(listed, similarities);
        let mut matched: SmallVec<[f32; 16]> = SmallVec::new();
        let (mut counts, mut rest) = ([0_usize; 2], [Unmatched::default(); 2]);
        let mut add = |side: usize, matches: bool, left: f32, weight: f32, surplus: f32| {
            if matches {
                matched.push(weight);
                counts[side] += 1;
            } else {
                rest[side].add(left, surplus);
            }
        };
        for (at, token) in self.query.tokens.iter().enumerate() {
            let left = compare::weight_left(token.kind, token.text == "abd", token.weight);
            add(0, may.query >> at & 1 == 1, left, token.weight, token.surplus);
        }
        for (at, token) in listed.iter().enumerate() {
            let is_abdul = token.shape.may_be_text("abd");
            let left = compare::weight_left(token.kind, is_abdul, token.style.weight);
            add(
                1,
                may.listed >> at & 1 == 1,
                left,
                token.style.weight,
                token.style.surplus,
            );
        }
        let mut pairs = counts[0].min(counts[1]);
        if may.anchor && may.slip {
            // One more pair, of words that match nothing else.
            matched.push(rest[0].heaviest.max(rest[1].heaviest));
            pairs += 1;
            rest = rest.map(Unmatched::without_one);
        }
        let weight: f32 = if may.joined {
            matched.iter().sum()
        } else {
            // Each pair counts with one of its tokens.
            matched.sort_unstable_by(|a, b| b.total_cmp(a));
            matched.iter().take(pairs).sum()
        };
        // Nothing matches if the weight is 0. Sums of floats differ in their last digits.
        let bound = weight / (weight + least_cost(rest, compare::candidate_cost(may.telling)));
        bound + 0.001 >= least || self.may_match_as_a_whole(listed)
    }

    /// What [`align::align`] may match. Roles only lower similarities.
    fn may_match(&self, listed: &[ListedToken<'_>], similarities: &mut Similarities<'_>) -> MayMatch {
        let query = &self.query;
        let mut may = MayMatch::default();
        for (i, own) in query.tokens.iter().enumerate() {
            for (j, other) in listed.iter().enumerate() {
                let matches = match (own.kind, other.kind) {
                    (TokenKind::Word, TokenKind::Word) => {
                        let similarity = similarities.of(i, other.word, Some(other.shape));
                        if own.telling && other.style.telling {
                            may.anchor |= similarity >= EXACT;
                            may.telling = may.telling.max(similarity);
                        }
                        may.slip |= similarity > 0.0 || other.shape.may_differ_in_one_letter(own.text);
                        similarity > SLIP_SIMILARITY
                    }
                    (TokenKind::Initial, TokenKind::Word) | (TokenKind::Word, TokenKind::Initial) => {
                        other.shape.may_begin_with(own.text.as_bytes().first().copied())
                    }
                    _ => other.shape.may_be_text(own.text),
                };
                if matches {
                    may.query |= 1 << i;
                    may.listed |= 1 << j;
                }
            }
        }
        for (at, len, letters, signature) in &self.joined {
            for (j, one) in listed.iter().enumerate() {
                let parts = (Some(*letters), *signature);
                if may_be_joined(parts, (one.shape.len(), one.shape.signature()))
                    && similarities.is_joined((*at, *len), one.word)
                {
                    may.join((*at, *len), (j, 1));
                }
            }
        }
        for len in 2..=listed.len().min(4) {
            for (j, parts) in listed.windows(len).enumerate() {
                let parts = together(parts);
                for (i, one) in query.tokens.iter().enumerate() {
                    if may_be_joined(parts, (Some(one.text.len()), one.signature)) {
                        may.join((i, 1), (j, len));
                    }
                }
            }
        }
        may
    }

    /// Whether the names may be similar without their spaces; see [`compare::compare`].
    fn may_match_as_a_whole(&self, listed: &[ListedToken<'_>]) -> bool {
        let (counts, last) = (
            (self.query.tokens.len(), listed.len()),
            listed.len().saturating_sub(1),
        );
        let is_east_asian = |script| matches!(script, Script::Han | Script::Hangul);
        let is_listed_east_asian = listed.iter().any(|token| is_east_asian(token.shape.script()));
        let (Some(len), signature) = together(listed) else {
            return true;
        };
        let begins_alike = || {
            let (own, other) = (self.query.tokens.first(), listed.first());
            own.zip(other)
                .is_some_and(|(own, other)| other.shape.may_begin_like(own.text))
        };
        if self.is_east_asian && is_listed_east_asian
            || counts.0 == counts.1 && self.len == len && begins_alike()
        {
            return true;
        }
        if !self.is_east_asian && !is_listed_east_asian {
            let is_alone = (counts.0 == 1) != (counts.1 == 1);
            let script = script_of(listed.iter().map(|token| token.shape.script()));
            let is_alphabetic = (self.script, script) == (Script::Alphabetic, Script::Alphabetic);
            let limit = distance::budget(self.len.min(len));
            // Equal letters are equal whatever their sounds.
            let may_be_alike = self.len == len || self.signature.least_cost(&signature) <= limit;
            return is_alone && (!is_alphabetic || may_be_alike);
        }
        let text_from = |from: usize| {
            let order = listed.get(from..)?.iter().chain(listed.get(..from)?);
            let mut text = String::new();
            for token in order {
                text += std::str::from_utf8(token.shape.text()?).ok()?;
            }
            Some(text)
        };
        let script = if self.is_east_asian {
            self.script
        } else {
            script_of(listed.iter().map(|token| token.shape.script()))
        };
        let (Some(first), Some(turned)) = (text_from(0), text_from(last)) else {
            return true;
        };
        let pairs = [
            (&self.texts[0], &first),
            (&self.texts[0], &turned),
            (&self.texts[1], &first),
        ];
        !is_east_asian(script)
            || pairs
                .iter()
                .any(|(own, other)| own == other || syllables::may_be_similar(own, script, other))
    }
}

impl MayMatch {
    fn join(&mut self, query: (usize, usize), listed: (usize, usize)) {
        let bits = |(at, len): (usize, usize)| ((1_u64 << len) - 1) << at;
        self.query |= bits(query);
        self.listed |= bits(listed);
        (self.joined, self.anchor, self.telling) = (true, true, 1.0);
    }
}

/// The tokens of a name that surely match nothing.
#[derive(Clone, Copy, Default)]
pub(super) struct Unmatched {
    /// Their weights against the other name's, and as surplus.
    left: f32,
    surplus: f32,
    /// The greatest of each.
    heaviest: f32,
    most_surplus: f32,
}

impl Unmatched {
    /// Whole words without a further weight.
    pub(super) fn of_words(count: u32) -> Unmatched {
        let mut unmatched = Unmatched::default();
        (0..count).for_each(|_| unmatched.add(1.0, 1.0));
        unmatched
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left == 0.0
    }

    pub(super) fn add(&mut self, left: f32, surplus: f32) {
        (self.left, self.surplus) = (self.left + left, self.surplus + surplus);
        (self.heaviest, self.most_surplus) = (self.heaviest.max(left), self.most_surplus.max(surplus));
    }

    /// If one of them matches after all.
    pub(super) fn without_one(self) -> Unmatched {
        Unmatched {
            left: (self.left - self.heaviest).max(0.0),
            surplus: (self.surplus - self.most_surplus).max(0.0),
            ..Unmatched::default()
        }
    }

    /// The surplus of the name if this much of its weight contradicts the other name.
    fn rest(&self, contradiction: f32) -> f32 {
        if self.left > 0.0 {
            self.surplus * (1.0 - contradiction / self.left).max(0.0)
        } else {
            0.0
        }
    }
}

/// The least cost of the tokens of query and candidate that surely match nothing. Further unmatched tokens only add to
/// it. Of both names' weights, at least the lesser contradicts the other name, and at most both do; the rest is surplus.
/// Between the two the cost is convex with no further corner, so the cost of one of them is the least.
pub(super) fn least_cost([query, candidate]: [Unmatched; 2], candidate_cost: f32) -> f32 {
    let cost = |contradiction: f32| {
        contradiction * compare::PERSON.contradiction
            + query.rest(contradiction) * compare::PERSON.query
            + candidate.rest(contradiction) * candidate_cost
    };
    cost(query.left.min(candidate.left)).min(cost(query.left.max(candidate.left)))
}

/// The script of a name: the first one that is no alphabet; see [`compare::compare`].
fn script_of(mut scripts: impl Iterator<Item = Script>) -> Script {
    scripts
        .find(|script| *script != Script::Alphabetic)
        .unwrap_or(Script::Alphabetic)
}

/// The length and the signature of listed words together; no length if it is not known.
fn together(tokens: &[ListedToken<'_>]) -> (Option<usize>, Signature) {
    let len = tokens.iter().map(|token| token.shape.len()).sum();
    let signatures = tokens.iter().map(|token| token.shape.signature());
    (
        len,
        signatures.fold(Signature::default(), |sum, one| sum.plus(&one)),
    )
}

/// Whether some words may be written as another one. A length that is not known may be any.
fn may_be_joined(parts: (Option<usize>, Signature), one: (Option<usize>, Signature)) -> bool {
    match (parts.0, one.0) {
        (Some(parts_len), Some(one_len)) => align::may_be_joined((parts_len, &parts.1), (one_len, &one.1)),
        _ => true,
    }
}
