//! What is looked up for a name. It scores no pair.

use super::Screener;
use super::bounds::looked_up_places;
use super::spelling::respelled;
use crate::name::{Name, Token, TokenKind};
use crate::text;

/// A part of the query's name to look up, and a bit set of the tokens that it covers.
pub(super) struct LookupUnit {
    pub(super) token: Token,
    pub(super) covers: u64,
    /// The token's position, if the unit is exactly that token.
    pub(super) place: Option<usize>,
}

impl Screener {
    /// The units to look up for a name: its words, neighbouring words joined, and words split into two known
    /// words.
    pub(super) fn units(&self, name: &Name) -> Vec<LookupUnit> {
        let mut units: Vec<LookupUnit> = Vec::new();
        let places: Vec<usize> = looked_up_places(name);
        for at in &places {
            let token = &name.tokens[*at];
            units.push(LookupUnit {
                token: token.clone(),
                covers: 1 << at,
                place: Some(*at),
            });
            if token.original.is_empty() {
                self.split(token, 1 << at, &mut units);
            } else {
                // A Han or Hangul name without spaces begins with the family name, so all other characters
                // are the given name.
                let rest: String = token.original.chars().skip(1).collect();
                for word in text::words(&rest) {
                    let sound = text::sound(&word.text);
                    let given = respelled(token, &word.text, sound);
                    let whole = respelled(token, &token.text, token.sound.to_string());
                    units.extend([
                        LookupUnit {
                            token: given,
                            covers: 1 << at,
                            place: None,
                        },
                        LookupUnit {
                            token: whole,
                            covers: 1 << at,
                            place: None,
                        },
                    ]);
                }
            }
        }
        for len in 2..=4 {
            for span in (0..name.tokens.len().saturating_sub(len - 1)).map(|i| i..i + len) {
                let tokens = &name.tokens[span.clone()];
                if tokens.iter().any(|t| {
                    !matches!(t.kind, TokenKind::Word | TokenKind::Particle) || !t.original.is_empty()
                }) {
                    continue;
                }
                let text: String = tokens.iter().map(|t| &*t.text).collect();
                if (4..=40).contains(&text.len()) {
                    let sound: String = tokens.iter().map(|t| &*t.sound).collect();
                    let token = Token {
                        kind: TokenKind::Word,
                        ..respelled(&tokens[0], &text, sound)
                    };
                    units.push(LookupUnit {
                        token,
                        covers: span.fold(0, |bits, i| bits | 1 << i),
                        place: None,
                    });
                }
            }
        }
        units
    }

    /// Whether the lists contain a word.
    fn knows(&self, word: &str) -> bool {
        let of_whole = || self.whole.as_ref().is_some_and(|whole| whole.words().knows(word));
        self.words().knows(word) || of_whole()
    }

    fn split(&self, token: &Token, covers: u64, units: &mut Vec<LookupUnit>) {
        for at in 2..token.text.len().saturating_sub(1) {
            let (a, b) = token.text.split_at(at);
            if a.len().max(b.len()) >= 4 && self.knows(a) && self.knows(b) {
                for half in [a, b] {
                    let token = respelled(token, half, text::sound(half));
                    units.push(LookupUnit {
                        token,
                        covers,
                        place: None,
                    });
                }
            }
        }
    }
}
