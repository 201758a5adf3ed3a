//! What changed between the lists of two runs, and whom it resembles. It reads lists and no rows.
//!
//! Only the entries that changed are searched. Their index knows the words of the whole lists, so it finds the same
//! entries with the same scores as a search of everything would.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sanctions::changes::{ChangeKind, FieldChange, changes};
use sanctions::{List, ListStore, ScreenOptions, Screener, SearchError, WordMemory};
use store::rescreenings::ListDigests;
use verification::names::{ScreenedName, combine};
use verification::screening::ScreeningHit;

use crate::lists::MerchantLists;
use crate::names::query;
use crate::problem::Problem;
use crate::{cpu, screening_hits};

/// How entries changed, by list and id.
pub(super) type Changes = HashMap<(String, String), (ChangeKind, Vec<FieldChange>)>;

/// A search of what changed.
pub(super) struct Search {
    screener: Arc<Screener>,
    changes: Changes,
    /// The lists of which every entry counts as changed, because the earlier version is unknown.
    unknown: BTreeSet<String>,
    /// The ids in the lists that changed.
    ids: BTreeMap<String, HashSet<String>>,
    /// The lists that are searched.
    used: BTreeSet<String>,
    /// What the last page left, for the next one.
    memory: Mutex<WordMemory>,
}

/// The last search, because many accounts use the same lists.
#[derive(Default)]
pub(super) struct LastSearch(Option<(ListDigests, ListDigests, Arc<Search>)>);

impl LastSearch {
    /// See [`Search::new`]. Blocks a worker thread, not the server.
    pub(super) async fn get(
        &mut self,
        lists: &MerchantLists,
        store: &ListStore,
        (done, target): (&ListDigests, &ListDigests),
    ) -> Result<Arc<Search>, Problem> {
        if let Some((known_done, known_target, search)) = &self.0
            && (known_done, known_target) == (done, target)
        {
            return Ok(Arc::clone(search));
        }
        self.0 = None;
        let (screener, store) = (Arc::clone(&lists.screener), store.clone());
        let (before, now) = (done.clone(), target.clone());
        let search = cpu::blocking(move || Ok(Search::new(&screener, &store, &before, &now))).await??;
        let search = Arc::new(search);
        self.0 = Some((done.clone(), target.clone(), Arc::clone(&search)));
        Ok(search)
    }
}

impl Search {
    /// Everything that differs from the lists of the last run. `whole` is the index of those of `target`.
    pub(super) fn new(
        whole: &Arc<Screener>,
        store: &ListStore,
        done: &ListDigests,
        target: &ListDigests,
    ) -> Result<Search, Problem> {
        let read = |name: &str, digest: &str| {
            store.version(name, digest).map_err(|error| {
                Problem::unavailable("The sanctions lists cannot be read now").because(error.to_string())
            })
        };
        let mut search = Search {
            used: target.keys().cloned().collect(),
            ..Search::empty()
        };
        let mut parts = Vec::new();
        for (name, digest) in target {
            let before = done.get(name);
            if before == Some(digest) {
                continue;
            }
            let Some(list) = read(name, digest)? else {
                // It was replaced meanwhile; the next run is about the newer version.
                return Err(Problem::unavailable("A sanctions list was replaced meanwhile"));
            };
            search.ids.insert(
                name.clone(),
                list.entities.iter().map(|entity| entity.id.clone()).collect(),
            );
            let earlier = match before {
                Some(digest) => read(name, digest)?,
                None => None,
            };
            match earlier {
                Some(earlier) => parts.push(search.add_changes(&earlier, list)),
                None => {
                    search.unknown.insert(name.clone());
                    parts.push(list);
                }
            }
        }
        // The lists of other accounts are left out by the options of each search.
        let all_changed = search.unknown.len() == target.len();
        search.screener = match all_changed {
            true => Arc::clone(whole),
            false => Arc::new(Screener::of_parts(Arc::clone(whole), parts)),
        };
        Ok(search)
    }

    /// Everything in the lists.
    pub(super) fn whole(lists: &MerchantLists) -> Search {
        Search {
            screener: Arc::clone(&lists.screener),
            used: lists.names.iter().cloned().collect(),
            unknown: lists.names.iter().cloned().collect(),
            ..Search::empty()
        }
    }

    fn empty() -> Search {
        Search {
            screener: Arc::default(),
            changes: Changes::new(),
            unknown: BTreeSet::new(),
            ids: BTreeMap::new(),
            used: BTreeSet::new(),
            memory: Mutex::default(),
        }
    }

    /// Records how a list changed; returns its new and changed entries.
    fn add_changes(&mut self, before: &List, after: List) -> List {
        let mut wanted = HashSet::new();
        for change in changes(&before.entities, &after.entities) {
            if let Some(entity) = change.after {
                wanted.insert(entity.id.clone());
                let key = (after.name.clone(), entity.id.clone());
                self.changes.insert(key, (change.kind, change.fields()));
            }
        }
        List {
            entities: after
                .entities
                .into_iter()
                .filter(|entity| wanted.contains(&entity.id))
                .collect(),
            ..after
        }
    }

    /// Whether nothing is new or changed, so that nobody needs to be looked at.
    pub(super) fn finds_nothing(&self) -> bool {
        self.screener.is_empty()
    }

    /// What earlier searches remember. Only one search at a time makes use of it.
    pub(super) fn memory(&self) -> MutexGuard<'_, WordMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How entries changed.
    pub(super) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Whether open alerts of a list may have to be closed.
    pub(super) fn may_close(&self, list: &str) -> bool {
        self.ids.contains_key(list) || !self.used.contains(list)
    }

    /// Whether a list that may have changed contains an entry.
    pub(super) fn lists(&self, list: &str, id: &str) -> bool {
        self.ids.get(list).is_none_or(|ids| ids.contains(id))
    }

    /// Whether an entry is new or changed.
    pub(super) fn is_changed(&self, list: &str, id: &str) -> bool {
        self.unknown.contains(list) || self.changes.contains_key(&(list.to_owned(), id.to_owned()))
    }

    /// All hits of a person's names in the lists that count for the person, matches first. `memory` belongs to this
    /// search.
    pub(super) fn hits(
        &self,
        names: &[ScreenedName],
        lists: &[String],
        options: &ScreenOptions,
        memory: &mut WordMemory,
    ) -> Result<Vec<ScreeningHit>, Problem> {
        if lists.is_empty() {
            // Without names, all lists would be searched.
            return Ok(Vec::new());
        }
        let options = ScreenOptions {
            limit: usize::MAX,
            datasets: lists.to_vec(),
            ..options.clone()
        };
        let mut screened = Vec::new();
        for name in names {
            // The attempt was screened under it, so it can be searched.
            let result = self
                .screener
                .screen_one_of_many(&query(name), &options, memory)
                .map_err(|error| match error {
                    SearchError::Index(_) => {
                        Problem::unavailable("The sanctions lists cannot be searched now")
                            .because(error.to_string())
                    }
                    SearchError::Query(_) => Problem::internal(error),
                })?;
            if let Some(result) = result {
                screened.push((name, screening_hits::screening(result)));
            }
        }
        Ok(combine(screened, usize::MAX).results)
    }
}
