//! The tokens by which a name is indexed, and the highest score that a name with some of them could reach. It scores no
//! pair.

use crate::compare::{ORGANISATION, PERSON};
use crate::name::{Name, TokenKind};

/// Positions of the tokens by which a name is indexed: its words, else its numbers, else all tokens.
pub(super) fn indexed_places(name: &Name) -> Vec<usize> {
    let of = |kinds: &[TokenKind]| -> Vec<usize> {
        let places = name
            .tokens
            .iter()
            .enumerate()
            .filter(|(_, t)| kinds.contains(&t.kind));
        places.map(|(i, _)| i).collect()
    };
    let words = of(&[TokenKind::Word]);
    if !words.is_empty() {
        return words;
    }
    let numbers = of(&[TokenKind::Number]);
    if numbers.is_empty() {
        of(&[TokenKind::Initial, TokenKind::Particle])
    } else {
        numbers
    }
}

/// An upper bound for the score of a name that shares these tokens. They match fully, and the other name
/// merely lacks the rest.
pub(super) fn best_possible_score(name: &Name, covers: u64) -> f32 {
    let (mut shared, mut missing, mut words) = (0.0, 0.0, 0);
    for (i, token) in name.tokens.iter().enumerate() {
        match token.kind {
            _ if covers >> i & 1 == 1 => {
                // Family names weigh more where the list separates them.
                shared += token
                    .weight
                    .max(if name.person { 1.3 * token.weight } else { 0.0 });
                words += 1;
            }
            // Initials and particles may match without a lookup.
            TokenKind::Initial | TokenKind::Particle => shared += token.weight,
            TokenKind::Number => shared += token.weight,
            TokenKind::Word => missing += token.surplus,
        }
    }
    let cost = match (name.person, words) {
        (true, 1) => ORGANISATION.query,
        (true, _) => PERSON.query,
        _ => ORGANISATION.query,
    };
    shared / (shared + missing * cost)
}
