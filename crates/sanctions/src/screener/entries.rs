//! The entries of the index one by one, and a search whose caller selects hits before any is explained.
//!
//! It changes no score and no order of [`Screener::screen`].

use super::found::Found;
use super::listed::ListedEntity;
use super::{ScreenOptions, Screener};
use crate::entity::{Entity, Properties, Schema};
use crate::index::{Section, values};
use crate::score::PairScore;

/// A listed entity, borrowed from the index.
#[derive(Clone, Copy)]
pub struct ListEntry<'a>(ListedEntity<'a>);

impl<'a> ListEntry<'a> {
    /// The entity's id in its list.
    pub fn id(self) -> &'a str {
        self.0.id()
    }

    /// The name to display.
    pub fn caption(self) -> &'a str {
        self.0.caption()
    }

    /// The kind of subject.
    pub fn schema(self) -> Schema {
        self.0.schema()
    }

    /// The datasets that contain the entity. The last one is the list's own name.
    pub fn datasets(self) -> &'a [String] {
        self.0.datasets()
    }

    /// Whether the entry is in one of these lists itself.
    pub fn is_of(self, lists: &[String]) -> bool {
        self.datasets().last().is_some_and(|list| lists.contains(list))
    }

    /// Why the entity is listed; empty for lists of sanctions, which state no topics.
    pub fn topics(self) -> &'a [String] {
        self.0.topics()
    }

    /// The authority's programmes.
    pub fn programs(self) -> &'a [String] {
        self.0.programs()
    }

    /// Countries and nationalities, sorted: lower-case ISO 3166 alpha-2.
    pub fn countries(self) -> &'a [String] {
        self.0.countries()
    }

    /// The list's data about the entity; see [`Entity::properties`]. They are read at each call.
    pub fn properties(self) -> Properties {
        self.0.properties()
    }
}

/// All hits of a search, without explanations.
pub struct EntitySearch<'a> {
    screener: &'a Screener,
    found: Found,
}

impl<'a> EntitySearch<'a> {
    /// The hits: score and entry, in the order of [`Screener::screen`].
    pub fn hits(&self) -> impl Iterator<Item = (f64, ListEntry<'a>)> {
        let screener = self.screener;
        let hits = self.found.hits.iter();
        hits.map(|hit| (hit.score, ListEntry(screener.entity(hit.entity))))
    }

    /// Explains the score of the hit at a position of [`EntitySearch::hits`]; `None`: there is no such hit.
    pub fn explain(&self, position: usize) -> Option<PairScore> {
        let hit = self.found.hits.get(position)?;
        Some(self.screener.explained(&self.found, hit))
    }
}

impl Screener {
    /// Every entry of these lists. An entry that another list has from one of them as its source does not count.
    pub fn entries<'a>(&'a self, lists: &'a [String]) -> impl Iterator<Item = ListEntry<'a>> {
        let entries = (0..self.len() as u32).map(|number| ListEntry(self.entity(number)));
        entries.filter(|entry| entry.is_of(lists))
    }

    /// The entries of these lists with an id, in their order.
    pub fn entries_with_id<'a>(
        &'a self,
        id: &'a str,
        lists: &'a [String],
    ) -> impl Iterator<Item = ListEntry<'a>> {
        let entries = values(&self.file, Section::ById, id).map(|number| ListEntry(self.entity(number)));
        entries.filter(move |entry| entry.id() == id && entry.is_of(lists))
    }

    /// Whether an entry of any list has a dataset, which may be a list's own name.
    pub fn has_dataset(&self, dataset: &str, lists: &[String]) -> bool {
        let is_it = |set: &&Vec<String>| {
            set.last().is_some_and(|list| lists.contains(list)) && set.iter().any(|name| name == dataset)
        };
        self.head.sets.iter().any(|set| is_it(&set))
    }

    /// Searches all names, dates, countries, numbers and wallets of an entity. The limit of the options does not count.
    pub fn search_entity(&self, entity: &Entity, options: &ScreenOptions) -> EntitySearch<'_> {
        EntitySearch {
            screener: self,
            found: self.search(entity, options, None),
        }
    }
}
