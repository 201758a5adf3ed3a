//! Which listed names share enough words with a query's name. It reads no name and scores no pair.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use zerocopy::little_endian::U32;

use super::bounds::best_possible_score;
use super::dictionary::Dictionary;
use crate::name::Name;

/// What a listed word, or a name with such words, covers of a query's name.
#[derive(Clone, Copy)]
struct Cover {
    /// The word's or name's number.
    of: u32,
    /// A bit set of the query's tokens that it may match.
    tokens: u64,
    /// How many of them it matches at most: a word matches one token, or several that it joins.
    most: u32,
}

/// The names that may score at least `least` against a name, as far as the similar words of its units find them, in
/// ascending order. A unit is a bit set of tokens with the words that resemble them.
///
/// A name is found by the words that resemble the query's, and scores at most [`best_possible_score`] of what they
/// cover. That bound grows with the tokens. So if all tokens of some units together cannot reach `least`, no name is
/// worth looking at that is found by words of these units alone. These are chosen from those that most names have; their
/// names are only counted if another word finds them too. So are those of `initials`, with the tokens for which each
/// listed initial may stand.
pub(super) fn names_with(
    words: Dictionary<'_>,
    name: &Name,
    least: f32,
    units: &[(u64, Vec<u32>)],
    initials: &[(u64, Vec<u32>)],
) -> Vec<u32> {
    let too_little = tokens_that_find_nothing_alone(words, name, least, units);
    let covers = covers_of_words(units);
    let (alone, others): (Vec<Cover>, Vec<Cover>) = covers
        .into_iter()
        .partition(|cover| cover.tokens & !too_little != 0);
    let mut found: Vec<Cover> = Vec::new();
    for word in alone {
        found.extend(words.names(word.of).iter().map(|name| Cover {
            of: name.get(),
            ..word
        }));
    }
    // The names of each word are sorted, which a stable sort makes use of.
    found.sort_by_key(|cover| cover.of);
    found.dedup_by(|next, name| {
        let is_same = next.of == name.of;
        if is_same {
            name.tokens |= next.tokens;
            name.most += next.most;
        }
        is_same
    });
    for word in others.into_iter().chain(covers_of_words(initials)) {
        add_cover(&mut found, words.names(word.of), word);
    }
    let mut known: FxHashMap<(u64, u32), bool> = FxHashMap::default();
    found.retain(|cover| {
        let covered = (cover.tokens, cover.most);
        *known
            .entry(covered)
            .or_insert_with(|| best_possible_score(name, cover.tokens, cover.most) >= least)
    });
    found.into_iter().map(|cover| cover.of).collect()
}

/// The tokens that a name cannot reach `least` with, out of those that most names have.
fn tokens_that_find_nothing_alone(
    words: Dictionary<'_>,
    name: &Name,
    least: f32,
    units: &[(u64, Vec<u32>)],
) -> u64 {
    let mut cost: Vec<(usize, u64)> = (0..name.tokens.len()).map(|at| (0, 1 << at)).collect();
    for (covers, similar) in units {
        let names: usize = similar.iter().map(|word| words.names(*word).len()).sum();
        for (sum, bit) in &mut cost {
            *sum += if covers & *bit == 0 { 0 } else { names };
        }
    }
    cost.sort_unstable_by_key(|(names, bit)| (Reverse(*names), *bit));
    let mut too_little = 0_u64;
    for (_, bit) in cost.iter().take_while(|(names, _)| *names > 0) {
        let tokens = too_little | bit;
        if best_possible_score(name, tokens, tokens.count_ones()) < least {
            too_little = tokens;
        }
    }
    too_little
}

/// What each word of the units covers.
fn covers_of_words(units: &[(u64, Vec<u32>)]) -> Vec<Cover> {
    let of_unit = |(tokens, similar): &(u64, Vec<u32>)| {
        let (tokens, most) = (*tokens, tokens.count_ones());
        let covers = similar.iter().map(move |word| Cover {
            of: *word,
            tokens,
            most,
        });
        covers.collect::<Vec<_>>()
    };
    let mut covers: Vec<Cover> = units.iter().flat_map(of_unit).collect();
    covers.sort_by_key(|cover| cover.of);
    covers.dedup_by(|next, word| {
        let is_same = next.of == word.of;
        if is_same {
            word.tokens |= next.tokens;
            word.most = word.most.max(next.most);
        }
        is_same
    });
    covers
}

/// Adds what a word covers to the names that were found and are among its own. Both are sorted; a name that contains the
/// word twice is among its names twice.
fn add_cover(found: &mut [Cover], mut names: &[U32], word: Cover) {
    let is_few = found.len() * 16 < names.len();
    for cover in found {
        let before = match is_few {
            true => names.partition_point(|name| name.get() < cover.of),
            false => names.iter().take_while(|name| name.get() < cover.of).count(),
        };
        names = &names[before..];
        while let Some((_, rest)) = names.split_first().filter(|(name, _)| name.get() == cover.of) {
            cover.tokens |= word.tokens;
            cover.most += word.most;
            names = rest;
        }
    }
}
