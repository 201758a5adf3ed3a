//! Which listed names share enough words with a query's name. It reads no name and scores no pair.

use super::bounds::{Covered, NameBounds};
use super::dictionary::Dictionary;
use super::outline::Outline;
use super::records::Posting;
use crate::name::Name;

/// A listed word with what it covers of a query's name.
#[derive(Clone, Copy)]
struct FoundWord {
    word: u32,
    covered: Covered,
}

/// A listed name with what its words cover.
struct FoundName {
    name: u32,
    outline: Outline,
    covered: Covered,
}

/// The names that may reach the least score of some bounds, as far as the similar words of its units find them, in
/// ascending order. A unit is a bit set of tokens with the words that resemble them.
///
/// A name is found by the words that resemble the query's, and what they cover bounds its score; see [`NameBounds`]. The
/// bound grows with the tokens. So if all tokens of some units together cannot reach the least score, no name is worth
/// looking at that is found by words of these units alone. These are chosen from those that most names have; their names
/// are only counted if another word finds them too. So are those of `initials`, with the tokens for which each listed
/// initial may stand.
pub(super) fn names_with(
    words: Dictionary<'_>,
    name: &Name,
    bounds: &mut NameBounds<'_>,
    units: &[(u64, Vec<u32>)],
    initials: &[(u64, Vec<u32>)],
) -> Vec<u32> {
    let mut costs: Vec<(usize, u64)> = (0..name.tokens.len()).map(|at| (0, 1 << at)).collect();
    for (covers, similar) in units {
        let names: usize = similar.iter().map(|word| words.names(*word).len()).sum();
        for (sum, bit) in &mut costs {
            *sum += if covers & *bit == 0 { 0 } else { names };
        }
    }
    costs.retain(|(names, _)| *names > 0);
    let is_split = |bit: u64| units.iter().filter(|(covers, _)| *covers == bit).count() > 1;
    let too_little = bounds.tokens_that_need_others(costs, is_split);
    let (alone, others): (Vec<FoundWord>, Vec<FoundWord>) = found_words(units)
        .into_iter()
        .partition(|word| word.covered.tokens & !too_little != 0);
    let mut found: Vec<FoundName> = Vec::new();
    for FoundWord { word, covered } in alone {
        found.extend(words.names(word).iter().map(|posting| FoundName {
            name: posting.name.get(),
            outline: posting.outline,
            covered,
        }));
    }
    // The names of each word are sorted, which a stable sort makes use of.
    found.sort_by_key(|found| found.name);
    found.dedup_by(|next, name| {
        let is_same = next.name == name.name;
        if is_same {
            name.covered.add(next.covered);
        }
        is_same
    });
    for word in others.into_iter().chain(found_words(initials)) {
        add_cover(&mut found, words.names(word.word), word.covered);
    }
    found.retain(|name| bounds.may_reach_with(name.covered, name.outline));
    found.into_iter().map(|found| found.name).collect()
}

/// What each word of the units covers.
fn found_words(units: &[(u64, Vec<u32>)]) -> Vec<FoundWord> {
    let of_unit = |(tokens, similar): &(u64, Vec<u32>)| {
        let covered = Covered::by_word(*tokens);
        let words = similar.iter().map(move |word| FoundWord { word: *word, covered });
        words.collect::<Vec<_>>()
    };
    let mut words: Vec<FoundWord> = units.iter().flat_map(of_unit).collect();
    words.sort_by_key(|found| found.word);
    words.dedup_by(|next, found| {
        let is_same = next.word == found.word;
        if is_same {
            found.covered.same_word(next.covered);
        }
        is_same
    });
    words
}

/// Adds what a word covers to the names that were found and are among its own. Both are sorted; a name that contains the
/// word twice is among its names twice.
fn add_cover(found: &mut [FoundName], mut postings: &[Posting], covered: Covered) {
    let is_few = found.len() * 16 < postings.len();
    for name in found {
        let before = match is_few {
            true => postings.partition_point(|posting| posting.name.get() < name.name),
            false => postings
                .iter()
                .take_while(|posting| posting.name.get() < name.name)
                .count(),
        };
        postings = &postings[before..];
        while let Some((_, rest)) = postings
            .split_first()
            .filter(|(posting, _)| posting.name.get() == name.name)
        {
            name.covered.add(covered);
            postings = rest;
        }
    }
}
