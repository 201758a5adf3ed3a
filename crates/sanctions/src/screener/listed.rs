//! A listed entity as an index has it. It searches nothing.

use super::builder::Head;
use super::records::{self, EntityRecord};
use crate::entity::{Entity, Properties, Schema};
use crate::index::{IndexFile, Section};
use crate::name::NameRef;
use crate::score::Listed;
use crate::subject::Facts;

/// A listed entity of an index, by its number.
#[derive(Clone, Copy)]
pub(super) struct ListedEntity<'a> {
    file: &'a IndexFile,
    head: &'a Head,
    record: Option<&'a EntityRecord>,
}

/// What a score needs of a listed entity.
pub(super) struct ListedFacts {
    pub(super) weak_aliases: Vec<String>,
    pub(super) facts: Facts,
}

impl ListedFacts {
    pub(super) fn with_name<'a, 'n>(&'a self, name: Option<&'a NameRef<'n>>) -> Listed<'a, 'n> {
        Listed {
            name,
            weak_aliases: &self.weak_aliases,
            qualities: self.facts.qualities(),
            identifiers: &self.facts.identifiers,
            wallets: &self.facts.wallets,
        }
    }
}

impl<'a> ListedEntity<'a> {
    pub(super) fn new(file: &'a IndexFile, head: &'a Head, number: u32) -> ListedEntity<'a> {
        ListedEntity {
            file,
            head,
            record: file.record(Section::Entities, number as usize),
        }
    }

    fn facts_bytes(self) -> &'a [u8] {
        let range = self.record.map_or(0..0, |record| {
            let start = record.facts.get() as usize;
            start..start + record.facts_len.get() as usize
        });
        self.file.read(Section::Facts, range)
    }

    fn details_bytes(self) -> &'a [u8] {
        let range = self.record.map_or(0..0, |record| {
            let start = record.details.get() as usize;
            start..start.saturating_add(record.details_len.get() as usize)
        });
        self.file.read(Section::Details, range)
    }

    /// Reads a value at the beginning of bytes; the default if the index is damaged.
    fn decode<T: serde::Deserialize<'a> + Default>(self, bytes: &'a [u8]) -> T {
        let mut from = postcard::Deserializer::from_bytes(bytes);
        T::deserialize(&mut from).unwrap_or_else(|_| {
            self.file.damage();
            T::default()
        })
    }

    fn set(self, number: impl Fn(&EntityRecord) -> u32) -> &'a [String] {
        let set = self
            .record
            .and_then(|record| self.head.sets.get(number(record) as usize));
        set.map_or(&[], Vec::as_slice)
    }

    /// The number of its set of datasets.
    pub(super) fn dataset_set(self) -> usize {
        self.record
            .map_or(usize::MAX, |record| record.datasets.get() as usize)
    }

    /// Its place among all entities in the order of their ids.
    pub(super) fn place_by_id(self) -> u32 {
        self.record.map_or(u32::MAX, |record| record.place_by_id.get())
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

    /// The entity's names as the list states them.
    pub(super) fn stated_names(self) -> Entity {
        type Parts = (Vec<String>, Vec<String>);
        let (_, mut properties, (given_names, family_names)): (&str, Properties, Parts) =
            self.decode(self.details_bytes());
        let mut values = |name: &str| properties.remove(name).unwrap_or_default();
        Entity {
            schema: self.schema(),
            names: values("name"),
            aliases: values("alias"),
            given_names,
            family_names,
            ..Entity::default()
        }
    }

    pub(super) fn properties(self) -> Properties {
        let (_, properties): (&str, Properties) = self.decode(self.details_bytes());
        properties
    }
}
