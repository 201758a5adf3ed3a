//! The sanctions lists in use. They are loaded at start, replaced by newer ones without a failed request, and
//! refused when they are too old. On a server the database names the lists ([`list_set`](super::list_set));
//! other lists in this node's folder are not used.
//!
//! The files' fingerprint is compared every few seconds, and the database's set before each screening. A
//! database that returns to an earlier state is therefore followed.

mod of_flows;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use chain::labels::LabelIndex;
use sanctions::freshness::ListDates;
use sanctions::store::{Fingerprint, LoadExactlyError};
use sanctions::{
    ListStore, ProfileComparison, Query, ScreenError, ScreenOptions, ScreenResult, Screener, demo_list,
};
use store::Db;
use store::list_sets::{self, ListSet};
use store::rescreenings::ListDigests;

pub use self::of_flows::{FlowLists, PeopleLists};
use super::listed_wallets::wallet_labels;
pub use super::listed_wallets::{PastWallets, Wallets};
use super::settings::MerchantSettings;
use crate::config::DataConfig;

/// The lists that count for a merchant.
pub struct MerchantLists {
    /// The index of all lists in use.
    pub screener: Arc<Screener>,
    /// The names of those that count.
    pub names: Vec<String>,
    /// The installation's set; `None` for a command without a database.
    pub set: Option<ListSet>,
}

impl MerchantLists {
    /// How a merchant's people are screened against these lists.
    pub fn options(&self, settings: &MerchantSettings) -> ScreenOptions {
        let defaults = ScreenOptions::default();
        ScreenOptions {
            threshold: settings.screening_threshold.unwrap_or(defaults.threshold),
            profile: settings.screening_profile.unwrap_or(defaults.profile),
            datasets: self.names.clone(),
            ..defaults
        }
    }

    /// The lists that count, with the digests of their contents; none for a command without a database.
    pub fn digests(&self) -> ListDigests {
        self.digests_of(&self.names)
    }

    fn digests_of(&self, names: &[String]) -> ListDigests {
        let of_set = self.set.iter().flat_map(|set| &set.lists);
        of_set
            .filter(|(name, _)| names.contains(name))
            .map(|(name, list)| (name.clone(), hex::encode(list.digest)))
            .collect()
    }
}

/// Which lists count for a choice.
struct ChosenLists {
    /// The active ones.
    names: Vec<String>,
    /// Chosen names that are no active list.
    inactive: Vec<String>,
}

/// The results of several queries.
pub struct Screened {
    /// One for each query.
    pub results: Vec<ScreenResult>,
    /// [`MerchantLists::digests`] of the lists that were searched.
    pub lists: ListDigests,
}

/// Why no sanctions list can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListsUnavailable {
    /// There is no list for this account and mode.
    #[error("no sanctions list is imported; run `bonafide lists import FILE`")]
    None,
    /// There are lists, but they must not be used.
    #[error("{0}")]
    Unusable(String),
}

/// How long a request waits for lists that are being loaded.
const LOADING_MAY_TAKE: Duration = Duration::from_secs(5);
/// The time after which lists that could not be used are loaded again, though nothing changed.
const RETRY_AFTER: Duration = Duration::from_secs(30);
/// How long a node that loads new lists counts as ready.
const LOADING_IS_READY: Duration = Duration::from_secs(20);

/// The current screener, or why there is none.
pub struct Lists {
    store: ListStore,
    /// The name of the invented demo list.
    demo: String,
    current: RwLock<Current>,
    /// Held while lists are loaded; other callers wait for it.
    loading: Arc<tokio::sync::Mutex<()>>,
}

struct Current {
    expected: Expected,
    /// What the last attempt found in the folder, and what it was meant to load.
    tried: (Fingerprint, Expected),
    /// The lists' dates at the last attempt, which a confirmation renews, and when it was.
    tried_dates: (Vec<ListDates>, Instant),
    loaded: Result<LoadedLists, String>,
    /// When loading of other lists began, while those in memory are usable.
    loading_since: Option<Instant>,
}

/// Which lists count.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expected {
    /// All lists of the folder: for commands without a database.
    Folder,
    /// The lists that the database names, if one was ever imported; or why they are unknown.
    Installation(Result<Option<ListSet>, String>),
}

/// The loaded lists, for people and organisations and for wallets.
#[derive(Clone)]
struct LoadedLists {
    screener: Arc<Screener>,
    wallets: Arc<LabelIndex>,
    /// The set that was loaded; `None`: the folder's lists.
    set: Option<ListSet>,
    /// The dates of each list.
    dates: Vec<ListDates>,
}

/// Screens one query. The result states only the lists that count.
fn screened(screener: &Screener, query: &Query, options: &ScreenOptions) -> Result<ScreenResult, String> {
    let mut result = screener
        .screen(query, options)
        .map_err(|error| error.to_string())?;
    result.lists.retain(|name, _| options.datasets.contains(name));
    Ok(result)
}

impl Lists {
    /// Opens the lists folder and loads all its lists, for commands without a database.
    pub fn open(data: &DataConfig) -> anyhow::Result<Self> {
        let lists = Lists::expecting(data, Expected::Folder)?;
        lists.reload();
        Ok(lists)
    }

    /// Opens the lists folder of a node. It screens nothing before [`Lists::confirm`].
    pub fn of_node(data: &DataConfig) -> anyhow::Result<Self> {
        let unknown = "the database was not asked yet which lists count".to_owned();
        Lists::expecting(data, Expected::Installation(Err(unknown)))
    }

    fn expecting(data: &DataConfig, expected: Expected) -> anyhow::Result<Self> {
        let current = Current {
            tried: (Fingerprint::default(), expected.clone()),
            expected,
            tried_dates: (Vec::new(), Instant::now()),
            loaded: Err("no list is loaded".to_owned()),
            loading_since: None,
        };
        Ok(Lists {
            store: data.list_store()?,
            demo: demo_list().name,
            current: RwLock::new(current),
            loading: Arc::default(),
        })
    }

    fn read(&self) -> RwLockReadGuard<'_, Current> {
        self.current.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Current> {
        self.current.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads from the database which lists count, and loads them if others are loaded. Called before every
    /// screening.
    ///
    /// # Errors
    /// Why nothing can be screened here now.
    pub async fn confirm(self: &Arc<Self>, db: &Db) -> Result<(), ListsUnavailable> {
        self.refresh_expected(db).await;
        match self.loaded() {
            Ok(_) => return Ok(()),
            Err(ListsUnavailable::None) => return Err(ListsUnavailable::None),
            Err(ListsUnavailable::Unusable(_)) => {}
        }
        // The files may be here already, because an import has just ended.
        if tokio::time::timeout(LOADING_MAY_TAKE, self.reload_changed())
            .await
            .is_err()
        {
            tracing::warn!("the sanctions lists are still being loaded");
        }
        self.loaded().map(|_| ())
    }

    /// Reads from the database which lists the installation uses.
    pub async fn refresh_expected(&self, db: &Db) {
        let set = async { list_sets::current(&mut db.read().await?).await };
        let set = set.await.map_err(|error| error.to_string());
        self.write().expected = Expected::Installation(set);
    }

    /// Loads the lists if they changed. One caller loads and the others wait. Loading continues even if its
    /// caller has gone.
    pub async fn reload_changed(self: &Arc<Self>) {
        let guard = Arc::clone(&self.loading).lock_owned().await;
        let lists = Arc::clone(self);
        let looking = tokio::task::spawn_blocking(move || {
            let _guard = guard;
            lists.load_changes();
        });
        if looking.await.is_err() {
            tracing::error!("loading the sanctions lists failed");
        }
    }

    /// Whether other lists than the usable ones in memory began to load less than [`LOADING_IS_READY`] ago.
    pub fn are_loading(&self) -> bool {
        let since = self.read().loading_since;
        since.is_some_and(|since| since.elapsed() < LOADING_IS_READY)
    }

    /// The screener, or why screening is unavailable. Verification is then refused (fail closed).
    pub fn screener(&self) -> Result<Arc<Screener>, String> {
        self.loaded()
            .map(|loaded| loaded.screener)
            .map_err(|error| error.to_string())
    }

    fn loaded(&self) -> Result<LoadedLists, ListsUnavailable> {
        let current = self.read();
        let set = match &current.expected {
            Expected::Folder if current.tried.0 == Fingerprint::default() => {
                return Err(ListsUnavailable::None);
            }
            Expected::Folder => return current.loaded.clone().map_err(ListsUnavailable::Unusable),
            Expected::Installation(Err(reason)) => return Err(ListsUnavailable::Unusable(reason.clone())),
            Expected::Installation(Ok(None)) => return Err(ListsUnavailable::None),
            Expected::Installation(Ok(Some(set))) if set.lists.is_empty() => {
                return Err(ListsUnavailable::None);
            }
            Expected::Installation(Ok(Some(set))) => set,
        };
        match &current.loaded {
            Ok(loaded) if loaded.is(set) => Ok(loaded.clone()),
            // Loading failed for this set or for the one before.
            Err(reason) => Err(ListsUnavailable::Unusable(reason.clone())),
            Ok(_) => Err(ListsUnavailable::Unusable(
                "the lists that the installation uses now are being loaded here".to_owned(),
            )),
        }
    }

    /// The sanctioned wallets for a merchant, or why the lists cannot be used. No address may then be called
    /// clean.
    pub fn wallets(&self, sandbox: bool, settings: &MerchantSettings) -> Result<Wallets, ListsUnavailable> {
        let loaded = self.loaded()?;
        let index = Arc::clone(&loaded.wallets);
        let MerchantLists { screener, names, .. } = self.of_merchant(loaded, sandbox, settings)?;
        let versions: Vec<String> = screener
            .lists()
            .iter()
            .filter(|(name, _)| names.contains(name))
            .map(|(name, version)| format!("{name}@{version}"))
            .collect();
        Ok(Wallets {
            index,
            versions: versions.join(","),
            lists: names,
            past: None,
        })
    }

    /// The wallets of every list, for a query without an account.
    pub fn all_wallets(&self, past: Option<PastWallets>) -> Result<Wallets, ListsUnavailable> {
        let wallets = self.wallets(true, &MerchantSettings::default())?;
        Ok(Wallets { past, ..wallets })
    }

    /// The active lists, and whether only merchants that chose them are screened against them; an error if they cannot
    /// be used.
    pub fn known(&self) -> Result<Vec<(String, bool)>, ListsUnavailable> {
        let loaded = self.loaded()?;
        let needs_choice = |name: &String| loaded.needs_choice(name);
        let names = loaded.screener.lists().keys();
        Ok(names.map(|name| (name.clone(), needs_choice(name))).collect())
    }

    /// The lists that count for a merchant. The invented demo list is used in the sandbox only.
    ///
    /// # Errors
    /// Why nothing can be screened for the merchant.
    pub fn for_merchant(
        &self,
        sandbox: bool,
        settings: &MerchantSettings,
    ) -> Result<MerchantLists, ListsUnavailable> {
        self.of_merchant(self.loaded()?, sandbox, settings)
    }

    fn of_merchant(
        &self,
        loaded: LoadedLists,
        sandbox: bool,
        settings: &MerchantSettings,
    ) -> Result<MerchantLists, ListsUnavailable> {
        let ChosenLists { names, inactive } = self.chosen(&loaded, sandbox, &settings.screening_lists);
        if let Some(missing) = inactive.first() {
            let reason = format!("the chosen list {missing} is not active");
            return Err(ListsUnavailable::Unusable(reason));
        }
        if loaded
            .screener
            .lists()
            .keys()
            .all(|name| self.is_left_out(name, sandbox))
        {
            return Err(ListsUnavailable::None);
        }
        if names.is_empty() {
            let reason = match settings.screening_lists.is_empty() {
                true => "every list needs to be chosen, and the account has chosen none",
                false => "the chosen list is used in the sandbox only",
            };
            return Err(ListsUnavailable::Unusable(reason.to_owned()));
        }
        Ok(loaded.counting(names))
    }

    /// The rule which lists count for a choice of names. An empty choice means every list that needs no choice.
    fn chosen(&self, loaded: &LoadedLists, sandbox: bool, choice: &[String]) -> ChosenLists {
        let lists = loaded.screener.lists();
        let counts = |name: &String| match choice.is_empty() {
            true => !loaded.needs_choice(name),
            false => choice.contains(name),
        };
        let known = lists.keys().filter(|name| !self.is_left_out(name, sandbox));
        ChosenLists {
            names: known.filter(|name| counts(name)).cloned().collect(),
            inactive: choice
                .iter()
                .filter(|name| !lists.contains_key(*name))
                .cloned()
                .collect(),
        }
    }

    /// Whether a list is never used in this mode.
    fn is_left_out(&self, name: &str, sandbox: bool) -> bool {
        !sandbox && name == self.demo
    }

    /// Screens one person with a merchant's settings. Blocks.
    ///
    /// The outer error means that screening is unavailable.
    pub fn screen(
        &self,
        query: &Query,
        sandbox: bool,
        settings: &MerchantSettings,
    ) -> Result<ScreenResult, String> {
        let screened = self.screen_all(std::slice::from_ref(query), sandbox, settings)?;
        let result = screened.results.into_iter().next();
        result.ok_or_else(|| "the lists gave no answer".into())
    }

    /// Screens one query with a merchant's settings, and by each profile, against the same lists. Blocks.
    ///
    /// # Errors
    /// When screening is unavailable.
    pub fn compare_profiles(
        &self,
        query: &Query,
        sandbox: bool,
        settings: &MerchantSettings,
    ) -> Result<(ScreenResult, ProfileComparison), String> {
        let lists = self
            .for_merchant(sandbox, settings)
            .map_err(|error| error.to_string())?;
        let options = lists.options(settings);
        let result = screened(&lists.screener, query, &options)?;
        let compared = lists.screener.compare_profiles(query, &options);
        Ok((result, compared.map_err(|error| error.to_string())?))
    }

    /// Screens several queries against the same lists. Several results
    /// list all their hits, so that the caller can count an entry once that two queries found. Blocks.
    ///
    /// # Errors
    /// When the lists cannot be used.
    pub fn screen_all(
        &self,
        queries: &[Query],
        sandbox: bool,
        settings: &MerchantSettings,
    ) -> Result<Screened, String> {
        let lists = self
            .for_merchant(sandbox, settings)
            .map_err(|error| error.to_string())?;
        let mut options = lists.options(settings);
        let searched = lists.digests();
        let screener = lists.screener;
        let screen = |query: &Query, options: &ScreenOptions| screened(&screener, query, options);
        let mut results: Vec<ScreenResult> = queries
            .iter()
            .map(|query| screen(query, &options))
            .collect::<Result<_, String>>()?;
        let most = results
            .iter()
            .map(|result| result.total.value)
            .max()
            .unwrap_or_default();
        if results.len() > 1 && most > options.limit {
            options.limit = most;
            results = queries
                .iter()
                .map(|query| screen(query, &options))
                .collect::<Result<_, String>>()?;
        }
        Ok(Screened {
            results,
            lists: searched,
        })
    }

    /// Reloads the lists. Blocks.
    pub fn reload(&self) {
        let expected = self.read().expected.clone();
        if matches!(expected, Expected::Installation(Err(_))) {
            return;
        }
        {
            let mut current = self.write();
            let is_usable = current
                .loaded
                .as_ref()
                .is_ok_and(|loaded| loaded.screener.check().is_ok());
            current.loading_since = is_usable.then(Instant::now);
        }
        // The fingerprint is read first, so that an import during loading shows as a difference next time.
        let fingerprint = self.store.fingerprint().unwrap_or_default();
        let dates = self.store.dates().unwrap_or_default();
        let fresh = self.load(&expected).and_then(|loaded| {
            // A start reads the index only. Files that changed meanwhile are read in full, so that damage shows.
            let before = self.read().tried.0.clone();
            if before != Fingerprint::default() && before != fingerprint {
                self.store.verify(loaded.screener.lists().keys())?;
            }
            Ok(loaded)
        });
        if let Err(reason) = &fresh {
            tracing::warn!("{reason}");
        } else {
            tracing::info!("sanctions lists loaded");
        }
        let mut current = self.write();
        current.tried = (fingerprint, expected);
        current.tried_dates = (dates, Instant::now());
        current.loading_since = None;
        match (&fresh, &current.loaded) {
            // The folder has a newer file that the database does not name yet; the lists in memory are still
            // the ones that it names.
            (Err(LoadExactlyError::Missing { .. }), Ok(loaded))
                if current.tried.1.is(loaded) && self.is_fresh(loaded) => {}
            _ => current.loaded = fresh.map_err(|reason| reason.to_string()),
        }
    }

    fn load(&self, expected: &Expected) -> Result<LoadedLists, LoadExactlyError> {
        let (screener, set) = match expected {
            Expected::Installation(Ok(Some(set))) => {
                let screener = self.store.load_exactly(&expected_versions(set))?;
                (screener, Some(set.clone()))
            }
            Expected::Folder => (self.store.load()?, None),
            Expected::Installation(_) => {
                let reason = ListsUnavailable::None.to_string();
                return Err(LoadExactlyError::Unusable(ScreenError::Unavailable { reason }));
            }
        };
        let mut dates = self.store.dates().map_err(|error| ScreenError::Unavailable {
            reason: error.to_string(),
        })?;
        dates.retain(|list| screener.lists().contains_key(&list.list));
        // A list without dates would never grow old.
        let has_dates = |name: &&String| dates.iter().any(|list| list.list == **name);
        if let Some(name) = screener.lists().keys().find(|name| !has_dates(name)) {
            let reason = format!("the list {name} was replaced while it was loaded");
            return Err(LoadExactlyError::Unusable(ScreenError::Unavailable { reason }));
        }
        let wallets = Arc::new(wallet_labels(&screener).map_err(ScreenError::from)?);
        Ok(LoadedLists {
            wallets,
            screener: Arc::new(screener),
            set,
            dates,
        })
    }

    fn is_fresh(&self, loaded: &LoadedLists) -> bool {
        loaded.screener.check().is_ok() && loaded.dates.iter().all(|dates| self.store.check(dates).is_ok())
    }

    /// Reloads the lists if the folder, the set or their dates changed, and stops using them when they are too old. Blocks.
    fn load_changes(&self) {
        let (tried, expected, is_stale, refused_dates) = {
            let current = self.read();
            let is_stale = current.loaded.as_ref().is_ok_and(|loaded| !self.is_fresh(loaded));
            let refused_dates = current.loaded.is_err().then(|| current.tried_dates.clone());
            (
                current.tried.clone(),
                current.expected.clone(),
                is_stale,
                refused_dates,
            )
        };
        let is_changed = self.store.fingerprint().is_ok_and(|now| now != tried.0);
        // The cause may have passed too: a clock that was set back, or a disk that could not be read.
        let is_renewed = refused_dates.is_some_and(|(then, at)| {
            at.elapsed() > RETRY_AFTER || self.store.dates().is_ok_and(|now| now != then)
        });
        if is_changed || tried.1 != expected || is_stale || is_renewed {
            self.reload();
        }
    }

    /// The folder's store.
    pub fn store(&self) -> &ListStore {
        &self.store
    }
}

impl LoadedLists {
    /// These lists, of which some count.
    fn counting(self, names: Vec<String>) -> MerchantLists {
        MerchantLists {
            names,
            set: self.set,
            screener: self.screener,
        }
    }

    /// Whether only merchants that chose the list are screened against it. Commands without a database use every list.
    fn needs_choice(&self, name: &str) -> bool {
        let listed = self.set.as_ref().and_then(|set| set.lists.get(name));
        listed.is_some_and(|list| list.needs_choice)
    }

    /// Whether these are the lists of a set.
    fn is(&self, set: &ListSet) -> bool {
        self.set.as_ref().is_some_and(|own| own.lists == set.lists)
    }
}

impl Expected {
    /// Whether these lists are the expected ones.
    fn is(&self, loaded: &LoadedLists) -> bool {
        matches!(self, Expected::Installation(Ok(Some(set))) if loaded.is(set))
    }
}

/// The set in the form that the folder's store requires.
pub fn expected_versions(set: &ListSet) -> std::collections::BTreeMap<String, sanctions::store::ListContent> {
    let wanted = |list: &store::list_sets::ListVersion| sanctions::store::ListContent {
        version: list.version.clone(),
        digest: hex::encode(list.digest),
    };
    set.lists
        .iter()
        .map(|(name, list)| (name.clone(), wanted(list)))
        .collect()
}
