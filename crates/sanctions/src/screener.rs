//! The search of the lists' index. It finds the listed names that reach the threshold, scores them and explains the
//! hits.
//!
//! Candidates share words with the query, by spelling, by sound, by reading or with one different consonant. A name is
//! discarded if these words, and what is known of its others, could not reach the threshold even with full scores, never
//! to limit their number. What only a comparison would find beside them, such as a slip of the pen in a further word,
//! need not save it; see `bounds.rs`. What the index finds never changes; a new version of a list needs a new [`Screener`].

mod bounds;
mod builder;
mod candidates;
mod comparison;
mod dictionary;
mod entries;
mod found;
mod listed;
mod lookup;
mod memory;
mod ofac_search;
mod outline;
mod pair_bound;
#[cfg(test)]
mod parts_tests;
mod postings;
#[cfg(test)]
mod profile_tests;
mod records;
mod result;
mod search;
#[cfg(test)]
mod search_tests;
mod shape;
mod similarities;
mod spelling;
mod written_names;

use std::collections::BTreeMap;
use std::sync::Arc;

use zerocopy::little_endian::U32;

use self::builder::Head;
pub(crate) use self::builder::IndexBuilder;
pub use self::comparison::{ComparedHit, ProfileComparison};
use self::dictionary::{Dictionary, SimilarWords};
pub use self::entries::{EntitySearch, ListEntry};
use self::found::Found;
use self::listed::ListedEntity;
pub use self::memory::WordMemory;
use self::records::EntityRecord;
pub use self::result::{Hit, ScreenOptions, ScreenResult, SearchError, Total};
use crate::entity::{Entity, is_sanctioned};
use crate::import::List;
pub use crate::index::IndexDamaged;
use crate::index::{IndexFile, Section};
use crate::query::Query;

/// So many names are compared rather than looked up by their further words.
const FEW: usize = 48;

/// The index of lists that queries are screened against.
pub struct Screener {
    file: IndexFile,
    head: Head,
    remembered: SimilarWords,
    /// See [`FEW`].
    few: usize,
    /// The index of whole lists of which this one has a part. Its words are known here too.
    whole: Option<Arc<Screener>>,
}

impl Default for Screener {
    fn default() -> Screener {
        Screener::new([])
    }
}

/// A listed wallet and its owner.
#[derive(Clone, Debug)]
pub struct ListedWallet<'a> {
    /// The address in its comparison form: hexadecimal, bech32 and cashaddr in lower case.
    pub address: String,
    /// The owner's name.
    pub caption: &'a str,
    /// The lists that contain the owner.
    pub datasets: &'a [String],
}

impl Screener {
    /// Builds the index of these lists in memory.
    #[expect(
        clippy::expect_used,
        reason = "only more than 4 GB of names do not fit, which no memory of lists holds"
    )]
    pub fn new(lists: impl IntoIterator<Item = List>) -> Screener {
        let bytes = lists_in_memory(lists).expect("the lists fit into an index");
        let file = IndexFile::in_memory(bytes).expect("it was just written");
        Screener::open(file).expect("it was just written")
    }

    /// The index in a file that [`IndexBuilder`] wrote.
    pub(crate) fn open(file: IndexFile) -> Result<Screener, IndexDamaged> {
        let head = postcard::from_bytes(file.whole(Section::Head)).unwrap_or_else(|_| {
            file.damage();
            Head::default()
        });
        file.check()?;
        Ok(Screener {
            file,
            head,
            remembered: SimilarWords::default(),
            few: FEW,
            whole: None,
        })
    }

    /// Builds the index of parts of the lists of another index. A query finds the entities of the parts that it finds in
    /// `whole`, with the same scores, and any that only the frequency of their words hides there.
    pub fn of_parts(whole: Arc<Screener>, parts: impl IntoIterator<Item = List>) -> Screener {
        let mut screener = Screener::new(parts);
        screener.whole = Some(whole);
        screener
    }

    /// Whether the index is whole. An answer counts only if this is asked after it.
    ///
    /// # Errors
    /// When the index's file was cut, changed or damaged.
    pub fn check(&self) -> Result<(), IndexDamaged> {
        self.whole.as_ref().map_or(Ok(()), |whole| whole.check())?;
        self.file.check()
    }

    /// The lists and their versions.
    pub fn lists(&self) -> &BTreeMap<String, String> {
        &self.head.lists
    }

    /// Every listed wallet of a sanctioned subject. Wallets of entities listed for another reason are
    /// omitted.
    ///
    /// # Errors
    /// When the index is damaged, so that wallets may be missing.
    pub fn wallets(&self) -> Result<Vec<ListedWallet<'_>>, IndexDamaged> {
        let numbers = self
            .file
            .records::<U32>(Section::Wallets, 0..self.file.count::<U32>(Section::Wallets));
        let of_entity = |number: &U32| {
            let entity = self.entity(number.get());
            let wallets = entity.facts().facts.wallets;
            wallets.into_iter().map(move |address| ListedWallet {
                address,
                caption: entity.caption(),
                datasets: entity.datasets(),
            })
        };
        let found = numbers.iter().flat_map(of_entity).collect();
        self.check()?;
        Ok(found)
    }

    /// The number of listed entities.
    pub fn len(&self) -> usize {
        self.file.count::<EntityRecord>(Section::Entities)
    }

    /// Whether no entity is listed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn words(&self) -> Dictionary<'_> {
        Dictionary {
            file: &self.file,
            remembered: &self.remembered,
        }
    }

    fn entity(&self, number: u32) -> ListedEntity<'_> {
        ListedEntity::new(&self.file, &self.head, number)
    }

    /// Screens one query. The same query and lists always give the same result.
    pub fn screen(&self, query: &Query, options: &ScreenOptions) -> Result<ScreenResult, SearchError> {
        let entity = query.to_entity()?;
        let result = self.result(query, &entity, self.search(&entity, options, None), options);
        self.check()?;
        Ok(result)
    }

    /// [`Screener::screen`] of one of many queries, faster: `memory` belongs to this index. `None`: nothing was found.
    pub fn screen_one_of_many(
        &self,
        query: &Query,
        options: &ScreenOptions,
        memory: &mut WordMemory,
    ) -> Result<Option<ScreenResult>, SearchError> {
        let entity = query.to_entity()?;
        let found = self.search(&entity, options, Some(memory));
        let is_hit = !found.hits.is_empty();
        let result = is_hit.then(|| self.result(query, &entity, found, options));
        self.check()?;
        Ok(result)
    }

    fn result(&self, query: &Query, entity: &Entity, found: Found, options: &ScreenOptions) -> ScreenResult {
        let total = Total {
            value: found.hits.len(),
            relation: "eq",
        };
        let results = found.hits.iter().take(options.limit).map(|hit| {
            let scored = self.explained(&found, hit);
            let listed = self.entity(hit.entity);
            Hit {
                id: listed.id().to_owned(),
                caption: listed.caption().to_owned(),
                schema: listed.schema(),
                score: scored.score,
                matched: is_sanctioned(listed.topics()),
                datasets: listed.datasets().to_vec(),
                topics: listed.topics().to_vec(),
                programs: listed.programs().to_vec(),
                properties: listed.properties(),
                features: scored.features,
                explanation: scored.explanation,
            }
        });
        ScreenResult {
            results: results.collect(),
            total,
            lists: self.head.lists.clone(),
            query_params: query.flattened(entity),
        }
    }
}

/// The index of lists as bytes.
fn lists_in_memory(lists: impl IntoIterator<Item = List>) -> std::io::Result<Vec<u8>> {
    let mut builder = IndexBuilder::new(Vec::new())?;
    for list in lists {
        builder.begin_list(&list.name, &list.version);
        for entity in &list.entities {
            builder.add(&list.name, entity)?;
        }
    }
    builder.finish()
}
