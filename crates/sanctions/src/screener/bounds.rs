//! The tokens by which a name is indexed, and the highest score that a name with some of them could reach. It scores no
//! pair.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::outline::{self, Outline};
use super::pair_bound::{Unmatched, least_cost};
use crate::compare::{self, ORGANISATION, PERSON};
use crate::name::{FAMILY_WEIGHT, Name, Token, TokenKind};

/// Positions of the tokens that are looked up for a name: its words, else its numbers, else all tokens.
pub(super) fn looked_up_places(name: &Name) -> Vec<usize> {
    let words = places(name, &[TokenKind::Word]);
    if !words.is_empty() {
        return words;
    }
    let numbers = places(name, &[TokenKind::Number]);
    if numbers.is_empty() {
        places(name, &[TokenKind::Initial, TokenKind::Particle])
    } else {
        numbers
    }
}

/// Positions of the tokens that find a listed name: its words with the initials, which stand for words of a query.
pub(super) fn finding_places(name: &Name) -> Vec<usize> {
    let words = places(name, &[TokenKind::Word, TokenKind::Initial]);
    match words.iter().any(|at| name.tokens[*at].kind == TokenKind::Word) {
        true => words,
        false => looked_up_places(name),
    }
}

fn places(name: &Name, kinds: &[TokenKind]) -> Vec<usize> {
    let places = name
        .tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| kinds.contains(&token.kind));
    places.map(|(at, _)| at).collect()
}

/// What listed words, or a name with such words, cover of a query's name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Covered {
    /// A bit set of the query's tokens that may match.
    pub(super) tokens: u64,
    /// How many of them match at most: a listed word matches one token, or several that it joins.
    pub(super) most: u16,
    /// The number of listed words.
    pub(super) words: u16,
}

impl Covered {
    /// What one listed word covers.
    pub(super) fn by_word(tokens: u64) -> Covered {
        Covered {
            tokens,
            most: tokens.count_ones() as u16,
            words: 1,
        }
    }

    /// What one listed word covers that both found.
    pub(super) fn same_word(&mut self, other: Covered) {
        self.tokens |= other.tokens;
        self.most = self.most.max(other.most);
    }

    /// What further listed words cover as well.
    pub(super) fn add(&mut self, other: Covered) {
        self.tokens |= other.tokens;
        self.most = self.most.saturating_add(other.most);
        self.words = self.words.saturating_add(other.words);
    }

    fn has(self, at: usize) -> bool {
        self.tokens >> at & 1 == 1
    }

    /// How many tokens match at most.
    fn matches(self) -> usize {
        (self.tokens.count_ones() as usize).min(usize::from(self.most))
    }

    /// Listed words that are more than the tokens, so a token may be written as several words.
    fn further_words(self) -> usize {
        usize::from(self.words).saturating_sub(self.tokens.count_ones() as usize)
    }
}

/// The bounds of what listed names may score against a query's name, by the words that find them.
///
/// Not counted is what these words do not show: spaces in other places, acronyms of some words, slips of the pen in a name
/// that nothing else finds, and similar words that the index does not find and that begin with very different letters. A
/// name that only these lift above the threshold is not found.
pub(super) struct NameBounds<'a> {
    name: &'a Name,
    least: f32,
    /// Whether outlines tell anything about this name.
    is_described: bool,
    /// The letter with which each token begins, and those with which its other spellings may begin.
    letters: SmallVec<[(u32, u32); 8]>,
    known: FxHashMap<Covered, bool>,
    outlined: FxHashMap<(Covered, OutlinedBy), bool>,
}

/// What a bound needs of a name's outline.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct OutlinedBy {
    /// The whole words.
    words: u8,
    /// It has other tokens.
    has_small_parts: bool,
    /// A listed word begins like one of the query's that nothing covers. They may be similar, or one of them may be
    /// written as several words.
    begins_alike: bool,
    /// A bit set of the query's initials that may stand for a word.
    initials: u64,
}

impl<'a> NameBounds<'a> {
    pub(super) fn new(name: &'a Name, least: f32) -> NameBounds<'a> {
        NameBounds {
            name,
            // Sums of floats differ in their last digits.
            least: least - 0.001,
            is_described: outline::describes(name),
            letters: name
                .tokens
                .iter()
                .map(|token| {
                    let letter = outline::letter(&token.text).unwrap_or(u32::MAX);
                    (letter, outline::letters_alike(&token.text))
                })
                .collect(),
            known: FxHashMap::default(),
            outlined: FxHashMap::default(),
        }
    }

    /// Tokens that no name reaches the least score with that shares these alone, as many as there are, out of those that
    /// cost the most. So every name is found by what covers another token. A token that is split may be written as two
    /// words.
    pub(super) fn tokens_that_need_others(
        &mut self,
        mut costs: Vec<(usize, u64)>,
        is_split: impl Fn(u64) -> bool,
    ) -> u64 {
        costs.sort_unstable_by_key(|(cost, bit)| (Reverse(*cost), *bit));
        let mut too_little = 0_u64;
        for (_, bit) in costs {
            let tokens = too_little | bit;
            let bits = (0..u64::BITS).map(|at| tokens & 1 << at).filter(|bit| *bit != 0);
            let split = bits.filter(|bit| is_split(*bit)).count() as u16;
            let most = tokens.count_ones() as u16;
            let words = most + split;
            if !self.may_reach(Covered { tokens, most, words }) {
                too_little = tokens;
            }
        }
        too_little
    }

    /// Whether a name of which words cover this much may reach the least score.
    pub(super) fn may_reach(&mut self, covered: Covered) -> bool {
        if let Some(known) = self.known.get(&covered) {
            return *known;
        }
        let may_reach = self.best_possible_score(covered) >= self.least;
        self.known.insert(covered, may_reach);
        may_reach
    }

    /// The same with the name's outline.
    pub(super) fn may_reach_with(&mut self, covered: Covered, outline: Outline) -> bool {
        if !self.may_reach(covered) {
            return false;
        }
        if !self.is_described || !outline.is_known() {
            return true;
        }
        let mut by = OutlinedBy {
            words: outline.words() as u8,
            has_small_parts: outline.has_small_parts(),
            begins_alike: false,
            initials: 0,
        };
        for (at, (letter, alike)) in self.letters.iter().enumerate() {
            if covered.has(at) {
                continue;
            }
            match self.name.tokens[at].kind {
                TokenKind::Initial if outline.letters() & letter != 0 => by.initials |= 1 << at,
                TokenKind::Initial => {}
                _ => by.begins_alike |= outline.letters() & alike != 0,
            }
        }
        let (name, least) = (self.name, self.least);
        *self
            .outlined
            .entry((covered, by))
            .or_insert_with(|| best_score_of_outlined(name, covered, by) >= least)
    }

    /// An upper bound for the score of a name that shares these tokens. They match fully, and the other name merely
    /// lacks the rest. If there are more of them than match, the heaviest count as shared, and those that would cost the
    /// most as not missing.
    fn best_possible_score(&self, covered: Covered) -> f32 {
        let name = self.name;
        let is_choice = |(at, token): &(usize, &Token)| covered.has(*at) && token.kind == TokenKind::Word;
        let (mut shared_words, mut present_words) = (covered.tokens, covered.tokens);
        if covered.tokens.count_ones() as usize > covered.matches() {
            let heaviest = |weight: fn(&Token) -> f32| {
                let mut words: Vec<(usize, &Token)> =
                    name.tokens.iter().enumerate().filter(is_choice).collect();
                words.sort_by(|a, b| weight(b.1).total_cmp(&weight(a.1)));
                words
                    .iter()
                    .take(covered.matches())
                    .fold(0_u64, |bits, (at, _)| bits | 1 << at)
            };
            (shared_words, present_words) = (heaviest(|token| token.weight), heaviest(|token| token.surplus));
        }
        let mut shared = covered.further_words() as f32 * FAMILY_WEIGHT;
        let mut missing = 0.0;
        for (i, token) in name.tokens.iter().enumerate() {
            match token.kind {
                TokenKind::Word => {
                    shared += if shared_words >> i & 1 == 1 {
                        full_weight(name, token)
                    } else {
                        0.0
                    };
                    missing += if present_words >> i & 1 == 1 {
                        0.0
                    } else {
                        token.surplus
                    };
                }
                // Initials, particles and numbers may match without a lookup.
                _ => shared += full_weight(name, token),
            }
        }
        let is_one_word = covered.matches() == 1 && covered.further_words() == 0;
        let cost = match name.person {
            true if !is_one_word => PERSON.query,
            _ => ORGANISATION.query,
        };
        shared / (shared + missing * cost)
    }
}

/// The greatest weight of a token that matches: family names weigh more where the list separates them.
fn full_weight(name: &Name, token: &Token) -> f32 {
    match token.kind {
        TokenKind::Word | TokenKind::Initial if name.person => token.weight.max(FAMILY_WEIGHT),
        _ => token.weight,
    }
}

/// An upper bound for the score of two people's names, the listed one by its outline: its whole words that neither cover a
/// token nor match an initial match nothing, but for one that begins like a word of the query or differs from it in one
/// letter. See [`super::pair_bound`] for the cost of those that match nothing.
fn best_score_of_outlined(name: &Name, covered: Covered, by: OutlinedBy) -> f32 {
    let matching = u32::from(covered.words) + by.initials.count_ones();
    let mut unmatched = u32::from(by.words).saturating_sub(matching);
    if by.begins_alike && (unmatched > 1 || unmatched == 1 && by.has_small_parts) {
        return 1.0;
    }
    let mut weight = covered.further_words() as f32 * FAMILY_WEIGHT;
    let mut rest = Unmatched::default();
    let (mut words, mut is_telling) = (SmallVec::<[(f32, f32, f32); 8]>::new(), false);
    for (at, token) in name.tokens.iter().enumerate() {
        let left = compare::weight_left(token.kind, &*token.text == "abd", token.weight);
        match token.kind {
            TokenKind::Word if covered.has(at) => {
                words.push((full_weight(name, token), left, token.surplus));
                is_telling |= token.telling;
            }
            TokenKind::Initial if !covered.has(at) && by.initials >> at & 1 == 0 => {
                rest.add(left, token.surplus);
            }
            TokenKind::Word => rest.add(left, token.surplus),
            _ => weight += full_weight(name, token),
        }
    }
    // Of the words that are covered, the heaviest match.
    let least_of = |values: &mut dyn Iterator<Item = f32>| values.fold(f32::INFINITY, f32::min);
    let heaviest = words.iter().map(|word| word.0).fold(0.0, f32::max);
    let left = least_of(&mut words.iter().map(|word| word.1));
    let surplus = least_of(&mut words.iter().map(|word| word.2));
    let matches = covered.matches().min(words.len());
    weight += heaviest * matches as f32;
    for _ in matches..words.len() {
        rest.add(left, surplus);
    }
    let is_joined = covered.most > covered.words || covered.further_words() > 0;
    if (by.begins_alike || is_telling || is_joined) && unmatched > 0 && !rest.is_empty() {
        // One more pair.
        weight += FAMILY_WEIGHT;
        rest = rest.without_one();
        unmatched -= 1;
    }
    let listed = Unmatched::of_words(unmatched);
    let candidate_cost = compare::candidate_cost(if is_telling || is_joined { 1.0 } else { 0.0 });
    weight / (weight + least_cost([rest, listed], candidate_cost))
}
