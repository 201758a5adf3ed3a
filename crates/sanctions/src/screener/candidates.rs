//! Which listed names a search compares with a query's name. It compares none.

use super::Screener;
use super::bounds::NameBounds;
use super::lookup::LookupUnit;
use super::memory::WordMemory;
use super::postings::names_with;
use super::similarities::Similarities;
use crate::index::{Section, values};
use crate::name::{Name, Token, TokenKind};

impl Screener {
    /// The names that may score at least `least` against this one, in ascending order.
    pub(super) fn candidates(
        &self,
        name: &Name,
        least: f32,
        similarities: &mut Similarities<'_>,
        mut memory: Option<&mut WordMemory>,
    ) -> Vec<u32> {
        let words = self.words();
        let mut bounds = NameBounds::new(name, least);
        let units = self.units(name);
        // In a part of the lists, words are not as frequent as in the whole. What the whole finds by some of the words is
        // found by any of them.
        let is_part = self.whole.is_some();
        let too_little = match is_part {
            true => 0,
            false => self.tokens_of_many_names(name, &mut bounds, &units),
        };
        let (finders, others): (Vec<LookupUnit>, Vec<LookupUnit>) =
            units.into_iter().partition(|unit| unit.covers & !too_little != 0);
        let mut similar = |unit: LookupUnit, similarities: &mut Similarities<'_>| {
            let known = unit.place.map(|at| similarities.known(at));
            let token = unit.token.view();
            let similar = match (memory.as_deref_mut(), known) {
                // Joined words are seldom the same twice.
                (Some(memory), Some(known)) => {
                    memory.similar_words(&unit.token, name.person, known, |known| {
                        words.similar_words(&token, name.person, Some(known))
                    })
                }
                (_, known) => words.similar_words(&token, name.person, known),
            };
            (unit.covers, similar)
        };
        let mut found: Vec<(u64, Vec<u32>)> = Vec::new();
        found.extend(finders.into_iter().map(|unit| similar(unit, similarities)));
        let similar_words = found.iter().flat_map(|(_, similar)| similar);
        let names: usize = similar_words.map(|word| words.names(*word).len()).sum();
        let mut names = if names > self.few && !is_part {
            found.extend(others.into_iter().map(|unit| similar(unit, similarities)));
            // A listed initial stands for any word that begins with it, but finds no name alone.
            let letters = name.tokens.iter().enumerate().filter_map(|(at, token)| {
                let letter = token.text.get(..1).filter(|_| token.kind == TokenKind::Word)?;
                Some((1 << at, words.initials(letter).collect()))
            });
            let initials: Vec<(u64, Vec<u32>)> = letters.collect();
            names_with(words, name, &mut bounds, &found, &initials)
        } else {
            for unit in others {
                if let Some(at) = unit.place {
                    words.equal_words(&unit.token.view(), name.person, similarities.known(at));
                }
            }
            let similar_words = found.iter().flat_map(|(_, similar)| similar);
            let names = similar_words.flat_map(|word| words.names(*word));
            let names = names.map(|posting| posting.name.get());
            sorted(names.chain(self.by_initials(name, too_little)).collect())
        };
        if !name.person {
            names.extend(self.by_acronym(name));
            names = sorted(names);
        }
        names
    }

    /// The tokens of many names that need others; see [`NameBounds::tokens_that_need_others`].
    fn tokens_of_many_names(&self, name: &Name, bounds: &mut NameBounds<'_>, units: &[LookupUnit]) -> u64 {
        let words = self.words();
        let cost = |(at, token): (usize, &Token)| {
            let listed = words.with_text(&token.text);
            (listed.map(|word| words.names(word).len()).sum(), 1 << at)
        };
        let costs = name.tokens.iter().enumerate().map(cost).collect();
        let is_split = |bit: u64| units.iter().filter(|unit| unit.covers == bit).count() > 1;
        bounds.tokens_that_need_others(costs, is_split)
    }

    /// Names with an initial for a word that finds names, and with one of the other words.
    fn by_initials(&self, name: &Name, others: u64) -> Vec<u32> {
        let words = self.words();
        let (mut initials, mut rest): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        for (at, token) in name.tokens.iter().enumerate() {
            if others >> at & 1 == 1 {
                rest.extend(words.with_text(&token.text));
            } else if let Some(letter) = token.text.get(..1).filter(|_| token.kind == TokenKind::Word) {
                initials.extend(words.initials(letter));
            }
        }
        let mut found = Vec::new();
        for (initial, word) in initials
            .iter()
            .flat_map(|initial| rest.iter().map(move |word| (initial, word)))
        {
            let (mut fewer, mut more) = (words.names(*initial), words.names(*word));
            if fewer.len() > more.len() {
                (fewer, more) = (more, fewer);
            }
            let names = fewer.iter().map(|posting| posting.name.get());
            found.extend(
                names.filter(|name| more.binary_search_by_key(name, |other| other.name.get()).is_ok()),
            );
        }
        found
    }

    /// Names that an organisation's name abbreviates, or that abbreviate it.
    fn by_acronym(&self, name: &Name) -> Vec<u32> {
        let words = self.words();
        let of_acronym = name
            .tokens
            .iter()
            .flat_map(|token| values(&self.file, Section::ByAcronym, &token.text));
        let mut found: Vec<u32> = of_acronym.collect();
        let only = if let [only] = &name.tokens[..] {
            &*only.text
        } else {
            ""
        };
        for text in [only, &*name.acronym] {
            let listed = words.with_text(text).flat_map(|word| words.names(word));
            found.extend(listed.map(|posting| posting.name.get()));
        }
        found
    }
}

/// Each number once, in ascending order.
fn sorted(mut numbers: Vec<u32>) -> Vec<u32> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
