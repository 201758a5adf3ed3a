//! The sanctions lists in use: loaded at start, exchanged for newer ones without a failed request, and refused when too old.
//!
//! They are made of files, whose fingerprint is compared every few seconds. A database that goes back does not change the files.

use std::sync::{Arc, PoisonError, RwLock};

use chain::currency::Currency;
use chain::labels::{Label, LabelIndex, LabelRow, Labels as _, sanctions_labels};
use sanctions::store::Fingerprint;
use sanctions::{ListStore, Query, ScreenOptions, ScreenResult, Screener, demo_list};

use super::Shared;
use super::background::Job;
use super::merchants::MerchantSettings;
use crate::config::DataConfig;

/// Why no list answers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLists {
    /// There is none for this account and mode.
    #[error("no sanctions list is imported; run `bonafide lists import FILE`")]
    None,
    /// Those that there are must not be relied on.
    #[error("{0}")]
    Unusable(String),
}

/// The current screener, or why there is none.
pub struct Lists {
    store: ListStore,
    /// The invented list's name.
    demo: String,
    current: RwLock<(Fingerprint, Result<Loaded, String>)>,
}

/// What the lists say: of people and organisations, and of wallets.
#[derive(Clone)]
struct Loaded {
    screener: Arc<Screener>,
    wallets: Arc<LabelIndex>,
}

/// The listed wallets that count for one account.
pub struct Wallets {
    /// Labels whose source is the list's name, of all lists.
    pub index: Arc<LabelIndex>,
    /// The lists that count.
    pub lists: Vec<String>,
    /// Those lists with their versions.
    pub versions: String,
    /// What lists said on earlier days, for questions about one.
    pub past: Option<PastWallets>,
}

impl Wallets {
    /// What the lists that count say about an address at a time; without a past, what they say now.
    pub fn labels(&self, chain: Currency, address: &str, at: i64) -> Vec<Label> {
        let mut found = self.index.labels(chain, address, at);
        if let Some(past) = &self.past {
            found.retain(|label| !past.lists.contains(&label.source));
            found.extend(past.index.labels(chain, address, at));
        }
        found.retain(|label| self.lists.contains(&label.source));
        found
    }
}

/// What was remembered of the lists at each of their imports.
pub struct PastWallets {
    index: LabelIndex,
    /// The lists that were remembered.
    lists: Vec<String>,
}

impl PastWallets {
    /// Reads what was remembered.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn open(data: &DataConfig) -> anyhow::Result<PastWallets> {
        let history = data.wallet_history()?;
        Ok(PastWallets {
            index: history.load()?,
            lists: history.status()?.into_iter().map(|set| set.set).collect(),
        })
    }

    /// Remembers which wallets the lists in use name, from a time (ms) on. What a list named when it was first remembered
    /// counts for all the time before, too.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn remember(data: &DataConfig, now: i64) -> anyhow::Result<()> {
        let (store, history) = (data.list_store()?, data.wallet_history()?);
        let lists: Vec<String> = store.status()?.into_iter().map(|list| list.list).collect();
        for gone in history.status()?.iter().filter(|set| !lists.contains(&set.set)) {
            history.replace(&gone.set, Vec::new(), now, None)?;
        }
        // Lists that cannot be relied on say nothing, now and later.
        let Ok(screener) = store.load() else { return Ok(()) };
        let rows: Vec<LabelRow> = wallet_rows(&screener)
            .map(|(currency, address, label)| LabelRow {
                currency,
                address,
                label,
            })
            .collect();
        for list in &lists {
            let of_list = rows.iter().filter(|row| row.label.source == *list).cloned();
            history.replace(list, of_list.collect(), now, None)?;
        }
        Ok(())
    }
}

impl Lists {
    /// Opens the lists folder and loads what is in it.
    pub fn open(data: &DataConfig) -> anyhow::Result<Self> {
        let lists = Lists {
            store: data.list_store()?,
            demo: demo_list().name,
            current: RwLock::new((Fingerprint::default(), Err(String::new()))),
        };
        lists.reload();
        Ok(lists)
    }

    /// The screener, or why screening cannot answer (then verification is blocked: fail closed).
    pub fn screener(&self) -> Result<Arc<Screener>, String> {
        self.loaded()
            .map(|loaded| loaded.screener)
            .map_err(|error| error.to_string())
    }

    fn loaded(&self) -> Result<Loaded, NoLists> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let (files, loaded) = &*current;
        loaded.clone().map_err(|reason| {
            if *files == Fingerprint::default() {
                NoLists::None
            } else {
                NoLists::Unusable(reason)
            }
        })
    }

    /// The sanctioned wallets for a merchant, or why the lists cannot answer (then no address may be called clean).
    pub fn wallets(&self, sandbox: bool, settings: &MerchantSettings) -> Result<Wallets, NoLists> {
        let loaded = self.loaded()?;
        let lists = self.usable(&loaded.screener, sandbox, settings)?;
        let versions: Vec<String> = loaded
            .screener
            .lists()
            .iter()
            .filter(|(name, _)| lists.contains(name))
            .map(|(name, version)| format!("{name}@{version}"))
            .collect();
        Ok(Wallets {
            index: loaded.wallets,
            versions: versions.join(","),
            lists,
            past: None,
        })
    }

    /// The wallets of every list, for a question that no account asks.
    pub fn all_wallets(&self, past: Option<PastWallets>) -> Result<Wallets, NoLists> {
        let wallets = self.wallets(true, &MerchantSettings::default())?;
        Ok(Wallets { past, ..wallets })
    }

    /// The lists that count for a merchant. The invented demo list answers in the sandbox only.
    fn usable(
        &self,
        screener: &Screener,
        sandbox: bool,
        settings: &MerchantSettings,
    ) -> Result<Vec<String>, NoLists> {
        if let Some(missing) = settings
            .screening_lists
            .iter()
            .find(|name| !screener.lists().contains_key(*name))
        {
            let reason = format!("the merchant's list {missing} is not active");
            return Err(NoLists::Unusable(reason));
        }
        let usable = |name: &&String| (sandbox || **name != self.demo) && chosen(settings, name);
        let lists: Vec<String> = screener.lists().keys().filter(usable).cloned().collect();
        if lists.is_empty() {
            return Err(NoLists::None);
        }
        Ok(lists)
    }

    /// Screens one person with a merchant's settings. Blocks.
    ///
    /// The outer error: screening is not available.
    pub fn screen(
        &self,
        query: &Query,
        sandbox: bool,
        settings: &MerchantSettings,
    ) -> Result<ScreenResult, String> {
        let results = self.screen_all(std::slice::from_ref(query), sandbox, settings)?;
        let result = results.into_iter().next();
        result.ok_or_else(|| "the lists gave no answer".into())
    }

    /// Screens several queries with one state of the lists; answers one result a query. Several results list all of their
    /// hits, so that the caller can count an entry once that two queries found. Blocks.
    ///
    /// # Errors
    /// When the lists cannot answer.
    pub fn screen_all(
        &self,
        queries: &[Query],
        sandbox: bool,
        settings: &MerchantSettings,
    ) -> Result<Vec<ScreenResult>, String> {
        let screener = self.screener()?;
        let datasets = self
            .usable(&screener, sandbox, settings)
            .map_err(|error| error.to_string())?;
        let defaults = ScreenOptions::default();
        let mut options = ScreenOptions {
            threshold: settings.screening_threshold.unwrap_or(defaults.threshold),
            datasets,
            ..defaults
        };
        let screen = |query: &Query, options: &ScreenOptions| {
            let mut result = screener
                .screen(query, options)
                .map_err(|error| error.to_string())?;
            result.lists.retain(|name, _| options.datasets.contains(name));
            Ok(result)
        };
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
        Ok(results)
    }

    /// Loads the lists anew. Blocks.
    pub fn reload(&self) {
        // The fingerprint first: what is imported while loading is seen as a difference next time.
        let fingerprint = self.store.fingerprint().unwrap_or_default();
        let fresh = self
            .store
            .load()
            .map(Loaded::new)
            .map_err(|error| error.to_string());
        if let Err(reason) = &fresh {
            tracing::warn!("{reason}");
        }
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = (fingerprint, fresh);
    }

    /// Loads the lists anew when the folder changed, and stops using them when they grew too old. Blocks.
    fn look(&self) {
        let (known, usable) = {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            (current.0.clone(), current.1.is_ok())
        };
        if self.store.fingerprint().is_ok_and(|now| now != known)
            || (usable && self.store.check_fresh().is_err())
        {
            self.reload();
            tracing::info!("sanctions lists loaded anew");
        }
    }

    /// The folder's store.
    pub fn store(&self) -> &ListStore {
        &self.store
    }
}

impl Loaded {
    fn new(screener: Screener) -> Self {
        Loaded {
            wallets: Arc::new(wallet_labels(&screener)),
            screener: Arc::new(screener),
        }
    }
}

/// Labels of every listed wallet, one for each list that it is on.
pub fn wallet_labels(screener: &Screener) -> LabelIndex {
    LabelIndex::new(wallet_rows(screener))
}

fn wallet_rows(screener: &Screener) -> impl Iterator<Item = (Currency, String, Label)> {
    screener.wallets().flat_map(|wallet| {
        let lists = wallet
            .datasets
            .iter()
            .filter(|name| screener.lists().contains_key(*name));
        lists.flat_map(move |list| sanctions_labels(wallet.address, wallet.caption, list))
    })
}

/// Whether the merchant's choice of lists includes this one.
fn chosen(settings: &MerchantSettings, name: &String) -> bool {
    settings.screening_lists.is_empty() || settings.screening_lists.contains(name)
}

/// Looks after the lists and the labels as long as the server runs.
pub async fn watch(app: Shared) {
    loop {
        tokio::time::sleep(Job::Lists.every()).await;
        let looking = Arc::clone(&app);
        let look = move || {
            looking.lists.look();
            looking.labels.look();
            // How many lists are in use, or why none is.
            looking
                .lists
                .screener()
                .map(|screener| screener.lists().len() as u64)
        };
        let looked = tokio::task::spawn_blocking(look).await.unwrap_or_else(|_| {
            tracing::error!("looking after the sanctions lists and the labels failed");
            Err("looking after the lists failed".into())
        });
        app.background.ran(Job::Lists, &looked);
    }
}
