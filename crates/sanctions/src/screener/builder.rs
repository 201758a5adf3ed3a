//! Builds an index of lists, entity by entity. It searches nothing.

use std::collections::BTreeMap;
use std::io::{self, Write};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes as _, IntoBytes as _};

use super::bounds::finding_places;
use super::dictionary::DictionaryBuilder;
use super::outline::Outline;
use super::records::{Bearer, EntityRecord, NameHeader, Posting, TokenRecord, TokenStyle, push_name};
use super::written_names::WrittenNames;
use crate::entity::{Entity, is_sanctioned};
use crate::index::{IndexWriter, Section, TableBuilder};
use crate::name::Name;
use crate::subject::Subject;

/// What is needed to open an index.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Head {
    /// The lists and their versions.
    pub(super) lists: BTreeMap<String, String>,
    /// Distinct sets of datasets, topics, programmes and countries.
    pub(super) sets: Vec<Vec<String>>,
    /// Distinct styles of tokens.
    pub(super) styles: Vec<TokenStyle>,
}

/// An index that is being built.
pub(crate) struct IndexBuilder<W> {
    writer: IndexWriter<W>,
    head: Head,
    sets: FxHashMap<Vec<String>, u32>,
    entities: Vec<EntityRecord>,
    facts: Vec<u8>,
    names: Vec<u8>,
    /// The distinct names by their hash.
    known_names: FxHashMap<u128, u32>,
    /// The bearers of names.
    bearers: Vec<(u32, Bearer)>,
    words: DictionaryBuilder,
    wallets: Vec<U32>,
    written: WrittenNames,
    by_acronym: TableBuilder,
    by_weak_alias: TableBuilder,
    by_identifier: TableBuilder,
    by_wallet: TableBuilder,
    by_id: TableBuilder,
}

/// The lists have more names or texts than an index can hold.
fn too_much() -> io::Error {
    io::Error::other("the lists have too many names for one index")
}

fn place(len: usize) -> io::Result<U32> {
    u32::try_from(len).map(U32::from).map_err(|_| too_much())
}

impl<W: Write> IndexBuilder<W> {
    pub(crate) fn new(out: W) -> io::Result<IndexBuilder<W>> {
        let mut writer = IndexWriter::new(out);
        writer.begin(Section::Details)?;
        Ok(IndexBuilder {
            writer,
            head: Head::default(),
            sets: FxHashMap::default(),
            entities: Vec::new(),
            facts: Vec::new(),
            names: Vec::new(),
            known_names: FxHashMap::default(),
            bearers: Vec::new(),
            words: DictionaryBuilder::default(),
            wallets: Vec::new(),
            written: WrittenNames::default(),
            by_acronym: TableBuilder::default(),
            by_weak_alias: TableBuilder::default(),
            by_identifier: TableBuilder::default(),
            by_wallet: TableBuilder::default(),
            by_id: TableBuilder::default(),
        })
    }

    /// Names the list of the entities that are added next.
    pub(crate) fn begin_list(&mut self, name: &str, version: &str) {
        self.head.lists.insert(name.to_owned(), version.to_owned());
    }

    /// Adds an entity of a list.
    pub(crate) fn add(&mut self, list: &str, entity: &Entity) -> io::Result<()> {
        let number = place(self.entities.len())?.get();
        let subject = Subject::of(entity, false);
        for alias in &subject.weak_aliases {
            self.by_weak_alias.add(alias, number);
        }
        for (_, value) in &subject.facts.identifiers {
            self.by_identifier.add(value, number);
        }
        for wallet in &subject.facts.wallets {
            self.by_wallet.add(wallet, number);
        }
        if is_sanctioned(&entity.topics) && !subject.facts.wallets.is_empty() {
            self.wallets.push(number.into());
        }
        self.by_id.add(&entity.id, number);
        self.written.add(number.into(), entity)?;
        // A caller can also select a list of many sources (an OpenSanctions collection) by its own name. That name is
        // the last one: it states the list with the entry.
        let sources = entity.datasets.iter().filter(|dataset| *dataset != list).cloned();
        let datasets: Vec<String> = sources.chain([list.to_owned()]).collect();
        let facts = postcard::to_stdvec(&(&entity.id, &subject.weak_aliases, &subject.facts))
            .map_err(io::Error::other)?;
        let parts = (&entity.given_names, &entity.family_names);
        let details = postcard::to_stdvec(&(&entity.caption, entity.properties(), parts));
        let details = details.map_err(io::Error::other)?;
        let record = EntityRecord {
            details: self.writer.add(Section::Details, &details)?.into(),
            details_len: place(details.len())?,
            facts: place(self.facts.len())?,
            facts_len: place(facts.len())?,
            datasets: self.set(&datasets)?,
            topics: self.set(&entity.topics)?,
            programs: self.set(&entity.programs)?,
            countries: self.set(&subject.facts.countries)?,
            place_by_id: 0.into(),
            schema: entity.schema as u8,
        };
        for (at, name) in subject.names.iter().enumerate() {
            // It only decides between equally good names.
            let place = u16::try_from(at).unwrap_or(u16::MAX);
            let bearer = Bearer::new(number.into(), place.into(), &record, &subject.facts);
            let name = self.name(name)?;
            self.bearers.push((name, bearer));
        }
        self.entities.push(record);
        self.facts.extend_from_slice(&facts);
        Ok(())
    }

    /// The place of a name, which is added unless it is known.
    fn name(&mut self, name: &Name) -> io::Result<u32> {
        let place = place(self.names.len())?.get();
        let tokens = name.tokens.iter().map(|token| {
            Ok(TokenRecord {
                word: self.words.number(token).into(),
                style: style(&mut self.head.styles, TokenStyle::of(token))?.into(),
            })
        });
        let tokens: Vec<TokenRecord> = tokens.collect::<io::Result<_>>()?;
        push_name(name, &tokens, &mut self.names);
        let (before, new) = self.names.split_at(place as usize);
        let known = *self.known_names.entry(xxh3_128(new)).or_insert(place);
        if before[(known as usize).min(before.len())..].starts_with(new) {
            self.names.truncate(place as usize);
            return Ok(known);
        }
        let posting = Posting {
            name: place.into(),
            outline: Outline::of(name),
        };
        for at in finding_places(name) {
            self.words.find(tokens[at].word.get(), posting);
        }
        if !name.acronym.is_empty() {
            self.by_acronym.add(&name.acronym, place);
        }
        Ok(place)
    }

    /// The number of a set of texts.
    fn set(&mut self, texts: &[String]) -> io::Result<U32> {
        if let Some(known) = self.sets.get(texts) {
            return Ok((*known).into());
        }
        let number = place(self.head.sets.len())?;
        self.sets.insert(texts.to_vec(), number.get());
        self.head.sets.push(texts.to_vec());
        Ok(number)
    }

    /// Writes the rest.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        order_by_id(&mut self.entities, &self.facts)?;
        self.writer.section(Section::Entities, self.entities.as_bytes())?;
        self.entities = Vec::new();
        self.writer.section(Section::Facts, &self.facts)?;
        self.facts = Vec::new();
        self.known_names = FxHashMap::default();
        let numbers = self.words.write(&mut self.writer)?;
        renumber_words(&mut self.names, &numbers)?;
        self.bearers.sort_by_key(|(name, _)| *name);
        let bearers: Vec<Bearer> = self.bearers.iter().map(|(_, bearer)| *bearer).collect();
        self.writer.section(Section::Bearers, bearers.as_bytes())?;
        let mut first = 0;
        for of_name in self.bearers.chunk_by(|a, b| a.0 == b.0) {
            let name = self.names.get_mut(of_name[0].0 as usize..).unwrap_or_default();
            let (header, _) = NameHeader::mut_from_prefix(name).map_err(|_| cut())?;
            (header.first_bearer, header.bearers) = (place(first)?, place(of_name.len())?);
            first += of_name.len();
        }
        self.writer.section(Section::Names, &self.names)?;
        self.writer.section(Section::Wallets, self.wallets.as_bytes())?;
        let WrittenNames { records, texts } = &self.written;
        self.writer.section(Section::WrittenNames, records.as_bytes())?;
        self.writer.section(Section::WrittenTexts, texts)?;
        self.by_acronym.write(Section::ByAcronym, &mut self.writer)?;
        self.by_weak_alias.write(Section::ByWeakAlias, &mut self.writer)?;
        self.by_identifier
            .write(Section::ByIdentifier, &mut self.writer)?;
        self.by_wallet.write(Section::ByWallet, &mut self.writer)?;
        self.by_id.write(Section::ById, &mut self.writer)?;
        let head = postcard::to_stdvec(&self.head).map_err(io::Error::other)?;
        self.writer.section(Section::Head, &head)?;
        self.writer.finish()
    }
}

/// States the place of each entity in the order of their ids.
fn order_by_id(entities: &mut [EntityRecord], facts: &[u8]) -> io::Result<()> {
    let id = |(number, entity): (usize, &EntityRecord)| {
        let facts = facts.get(entity.facts.get() as usize..).unwrap_or_default();
        let (id, _) = postcard::take_from_bytes::<&str>(facts).map_err(io::Error::other)?;
        Ok((id, number))
    };
    let mut ids: Vec<(&str, usize)> = entities.iter().enumerate().map(id).collect::<io::Result<_>>()?;
    ids.sort_unstable();
    for (place, (_, number)) in (0_u32..).zip(ids) {
        entities[number].place_by_id = place.into();
    }
    Ok(())
}

/// The number of a style.
fn style(styles: &mut Vec<TokenStyle>, style: TokenStyle) -> io::Result<u16> {
    let known = styles.iter().position(|known| *known == style);
    let number = known.unwrap_or_else(|| {
        styles.push(style);
        styles.len() - 1
    });
    u16::try_from(number).map_err(|_| too_much())
}

fn cut() -> io::Error {
    io::Error::other("a name of the index is cut")
}

/// Replaces the numbers that words had while the index was built by those in the index.
fn renumber_words(names: &mut [u8], numbers: &[u32]) -> io::Result<()> {
    let mut at = 0;
    while at < names.len() {
        let (header, _) = NameHeader::ref_from_prefix(&names[at..]).map_err(|_| cut())?;
        let [tokens, _, acronym] = header.parts(at);
        let tokens = names
            .get_mut(tokens)
            .and_then(|bytes| <[TokenRecord]>::mut_from_bytes(bytes).ok());
        for token in tokens.ok_or_else(cut)? {
            token.word = numbers
                .get(token.word.get() as usize)
                .copied()
                .ok_or_else(cut)?
                .into();
        }
        at = acronym.end;
    }
    Ok(())
}
