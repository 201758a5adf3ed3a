//! The entries of the index one by one, and a search whose caller selects hits before any is explained.
//!
//! It changes no score and no order of [`Screener::screen`].

use super::records::{self, EntityRecord};
use super::{ScoredCandidate, ScreenOptions, Screener};
use crate::entity::{Entity, Properties, Schema};
use crate::index::{Section, values};
use crate::name::NameRef;
use crate::score::{Listed, PairScore};
use crate::subject::{Facts, Subject};

/// A listed entity of an index, by its number.
#[derive(Clone, Copy)]
pub(super) struct ListedEntity<'a> {
    screener: &'a Screener,
    record: Option<&'a EntityRecord>,
}

/// What a score needs of a listed entity.
pub(super) struct ListedFacts {
    pub(super) weak_aliases: Vec<String>,
    pub(super) facts: Facts,
}

impl ListedFacts {
    pub(super) fn with_name<'a>(&'a self, name: Option<NameRef<'a>>) -> Listed<'a> {
        Listed {
            name,
            weak_aliases: &self.weak_aliases,
            facts: &self.facts,
        }
    }
}

impl<'a> ListedEntity<'a> {
    pub(super) fn new(screener: &'a Screener, number: u32) -> ListedEntity<'a> {
        ListedEntity {
            screener,
            record: screener.file.record(Section::Entities, number as usize),
        }
    }

    fn facts_bytes(self) -> &'a [u8] {
        let range = self.record.map_or(0..0, |record| {
            let start = record.facts.get() as usize;
            start..start + record.facts_len.get() as usize
        });
        self.screener.file.read(Section::Facts, range)
    }

    fn details_bytes(self) -> &'a [u8] {
        let range = self.record.map_or(0..0, |record| {
            let start = record.details.get() as usize;
            start..start.saturating_add(record.details_len.get() as usize)
        });
        self.screener.file.read(Section::Details, range)
    }

    /// Reads a value at the beginning of bytes; the default if the index is damaged.
    fn decode<T: serde::Deserialize<'a> + Default>(self, bytes: &'a [u8]) -> T {
        let mut from = postcard::Deserializer::from_bytes(bytes);
        T::deserialize(&mut from).unwrap_or_else(|_| {
            self.screener.file.damage();
            T::default()
        })
    }

    fn set(self, number: impl Fn(&EntityRecord) -> u32) -> &'a [String] {
        let set = self
            .record
            .and_then(|record| self.screener.head.sets.get(number(record) as usize));
        set.map_or(&[], Vec::as_slice)
    }

    /// The number of its set of datasets.
    pub(super) fn dataset_set(self) -> usize {
        self.record
            .map_or(usize::MAX, |record| record.datasets.get() as usize)
    }

    pub(super) fn id(self) -> &'a str {
        self.decode(self.facts_bytes())
    }

    pub(super) fn caption(self) -> &'a str {
        self.decode(self.details_bytes())
    }

    pub(super) fn schema(self) -> Schema {
        self.record
            .and_then(|record| records::schema(record.schema))
            .unwrap_or_default()
    }

    pub(super) fn datasets(self) -> &'a [String] {
        self.set(|record| record.datasets.get())
    }

    pub(super) fn topics(self) -> &'a [String] {
        self.set(|record| record.topics.get())
    }

    pub(super) fn programs(self) -> &'a [String] {
        self.set(|record| record.programs.get())
    }

    pub(super) fn countries(self) -> &'a [String] {
        self.set(|record| record.countries.get())
    }

    pub(super) fn facts(self) -> ListedFacts {
        let (_, weak_aliases, facts): (&str, Vec<String>, Facts) = self.decode(self.facts_bytes());
        ListedFacts { weak_aliases, facts }
    }

    pub(super) fn properties(self) -> Properties {
        let (_, properties): (&str, Properties) = self.decode(self.details_bytes());
        properties
    }
}

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
    subjects: Vec<Subject>,
    hits: Vec<ScoredCandidate>,
}

impl<'a> EntitySearch<'a> {
    /// The hits: score and entry, in the order of [`Screener::screen`].
    pub fn hits(&self) -> impl Iterator<Item = (f64, ListEntry<'a>)> {
        let screener = self.screener;
        let entry = |id: u32| ListEntry(screener.entity(id));
        self.hits.iter().map(move |(score, id, _)| (*score, entry(*id)))
    }

    /// Explains the score of the hit at a position of [`EntitySearch::hits`]; `None`: there is no such hit.
    pub fn explain(&self, position: usize) -> Option<PairScore> {
        let (_, id, best) = self.hits.get(position)?;
        Some(self.screener.score(&self.subjects, (*id, best), true))
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
        let (subjects, candidates) = self.candidate_pairs(entity, options, None);
        let hits = self.hits(&subjects, candidates, options);
        EntitySearch {
            screener: self,
            subjects,
            hits,
        }
    }
}
