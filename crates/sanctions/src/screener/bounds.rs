//! The tokens by which a name is indexed, and the highest score that a name with some of them could reach. It scores no
//! pair.

use crate::compare::{ORGANISATION, PERSON};
use crate::name::{Name, Token, TokenKind};

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

/// An upper bound for the score of a name that shares at most `most` of these tokens. They match fully, and the other
/// name merely lacks the rest. If there are more of them, the heaviest count as shared, and those that would cost the
/// most as not missing.
///
/// Not counted is what the words that find a name do not show: slips of the pen, spaces in other places, acronyms of some
/// words, and that a word written as two weighs twice. A name that only these lift above the threshold is not found.
pub(super) fn best_possible_score(name: &Name, covers: u64, most: u32) -> f32 {
    let is_covered = |at: usize| covers >> at & 1 == 1;
    let is_choice = |(at, token): &(usize, &Token)| is_covered(*at) && token.kind == TokenKind::Word;
    let (mut shared_words, mut present_words) = (covers, covers);
    if covers.count_ones() > most {
        let heaviest = |weight: fn(&Token) -> f32| {
            let mut words: Vec<(usize, &Token)> = name.tokens.iter().enumerate().filter(is_choice).collect();
            words.sort_by(|a, b| weight(b.1).total_cmp(&weight(a.1)));
            words
                .iter()
                .take(most as usize)
                .fold(0_u64, |bits, (at, _)| bits | 1 << at)
        };
        (shared_words, present_words) = (heaviest(|token| token.weight), heaviest(|token| token.surplus));
    }
    let (mut shared, mut missing) = (0.0, 0.0);
    for (i, token) in name.tokens.iter().enumerate() {
        // Family names weigh more where the list separates them.
        let full = token
            .weight
            .max(if name.person { 1.3 * token.weight } else { 0.0 });
        match token.kind {
            TokenKind::Word => {
                shared += if shared_words >> i & 1 == 1 { full } else { 0.0 };
                missing += if present_words >> i & 1 == 1 {
                    0.0
                } else {
                    token.surplus
                };
            }
            _ if is_covered(i) => shared += full,
            // Initials, particles and numbers may match without a lookup.
            TokenKind::Initial | TokenKind::Particle | TokenKind::Number => shared += token.weight,
        }
    }
    let cost = match (name.person, covers.count_ones().min(most)) {
        (true, 1) => ORGANISATION.query,
        (true, _) => PERSON.query,
        _ => ORGANISATION.query,
    };
    shared / (shared + missing * cost)
}
