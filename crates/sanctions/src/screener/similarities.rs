//! The similarities of listed words to the words of a query's name. It knows no whole listed name.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::dictionary::Dictionary;
use super::shape::{QueryShape, Shape};
use crate::name::{Name, TokenKind, TokenRef};
use crate::{align, compare};

/// The words of a query's name with the similarities that were needed.
pub(super) struct Similarities<'a> {
    words: Dictionary<'a>,
    /// Whether the name is read as a person's.
    person: bool,
    tokens: Vec<Similar<'a>>,
    /// Whether words are tokens of the query written as one, by the place and number of the tokens.
    joined: FxHashMap<((usize, usize), u32), bool>,
}

/// A token of the query.
struct Similar<'a> {
    token: TokenRef<'a>,
    shape: QueryShape<'a>,
    known: FxHashMap<u32, f32>,
}

impl<'a> Similarities<'a> {
    pub(super) fn new(words: Dictionary<'a>, name: &'a Name) -> Similarities<'a> {
        let tokens = name.tokens.iter().map(|token| {
            let token = token.view();
            Similar {
                shape: QueryShape::of(&token),
                token,
                known: FxHashMap::default(),
            }
        });
        Similarities {
            words,
            person: name.person,
            tokens: tokens.collect(),
            joined: FxHashMap::default(),
        }
    }

    /// Whether a listed word may be some tokens written as one; see [`align::joined`].
    pub(super) fn is_joined(&mut self, (at, len): (usize, usize), word: u32) -> bool {
        let Similarities {
            words,
            tokens,
            joined,
            ..
        } = self;
        *joined.entry(((at, len), word)).or_insert_with(|| {
            let parts: SmallVec<[TokenRef<'_>; 4]> = tokens
                .iter()
                .skip(at)
                .take(len)
                .map(|similar| similar.token)
                .collect();
            let listed = words.token(word);
            listed.is_none_or(|listed| align::joined(&parts, &listed).is_some())
        })
    }

    /// The known similarities to a token, which its search extends: equal words and variants of a given name must be
    /// among them.
    pub(super) fn known(&mut self, at: usize) -> &mut FxHashMap<u32, f32> {
        &mut self.tokens[at].known
    }

    /// The [`compare::token_similarity`] of a token that was searched and a listed word; both are of the kind
    /// [`TokenKind::Word`].
    pub(super) fn of(&mut self, at: usize, word: u32, shape: Option<&Shape>) -> f32 {
        let Similar {
            token,
            shape: own,
            known,
        } = &mut self.tokens[at];
        debug_assert_eq!(token.kind, TokenKind::Word);
        if let Some(similarity) = known.get(&word) {
            return *similarity;
        }
        if !shape
            .or_else(|| self.words.shape(word))
            .is_some_and(|shape| own.may_resemble(shape))
        {
            return 0.0;
        }
        let listed = self.words.token(word);
        let similarity = listed.map_or(0.0, |listed| {
            compare::token_similarity(token, &listed, self.person)
        });
        known.insert(word, similarity);
        similarity
    }
}
