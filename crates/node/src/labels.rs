//! The labels in use: the imported sets, each account's address book, and the sandbox's demo addresses. Newer
//! sets replace older ones without a failed request.
//!
//! All labels come from files, whose fingerprints are compared every few seconds. They contain no copy of the
//! database, so they stay valid when it returns to an earlier state.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use chain::currency::Currency;
use chain::labels::{Fingerprint, Label, LabelIndex, LabelStore, Labels};
use store::Scope;
use uuid::Uuid;

use super::lists::{Lists, ListsUnavailable, PastWallets, Wallets};
use super::settings::MerchantSettings;
use crate::config::DataConfig;
use crate::problem::Problem;

type Current = (Fingerprint, Result<Arc<LabelIndex>, String>);

/// The label sets of the data folder.
pub struct LabelSets {
    config: DataConfig,
    store: LabelStore,
    current: RwLock<Current>,
    books: RwLock<HashMap<Uuid, Current>>,
    demo: Arc<LabelIndex>,
}

impl LabelSets {
    /// Opens the labels folder and loads its sets.
    pub fn open(config: &DataConfig) -> anyhow::Result<Self> {
        let store = config.label_store(None)?;
        let sets = LabelSets {
            config: config.clone(),
            current: RwLock::new(load(&store)),
            store,
            books: RwLock::default(),
            demo: Arc::new(chain::sandbox::labels()),
        };
        Ok(sets)
    }

    /// Reloads the sets and address books whose files changed. Blocks.
    pub fn reload_changed(&self) {
        let known = read(&self.current).0.clone();
        if self.store.fingerprint().is_ok_and(|now| now != known) {
            *self.current.write().unwrap_or_else(PoisonError::into_inner) = load(&self.store);
            tracing::info!("labels loaded anew");
        }
        let books: Vec<Uuid> = read(&self.books).keys().copied().collect();
        for merchant_id in books {
            let known = read(&self.books).get(&merchant_id).map(|book| book.0.clone());
            let store = self.config.label_store(Some(merchant_id));
            if let (Some(known), Ok(store)) = (known, store)
                && store.fingerprint().is_ok_and(|now| now != known)
            {
                let mut books = self.books.write().unwrap_or_else(PoisonError::into_inner);
                books.insert(merchant_id, load(&store));
            }
        }
    }

    /// An account's address book, loaded at its first use. May read files.
    fn book(&self, merchant_id: Uuid) -> Result<Arc<LabelIndex>, String> {
        if let Some((_, book)) = read(&self.books).get(&merchant_id) {
            return book.clone();
        }
        let store = self
            .config
            .label_store(Some(merchant_id))
            .map_err(|error| error.to_string())?;
        let loaded = load(&store);
        let book = loaded.1.clone();
        let mut books = self.books.write().unwrap_or_else(PoisonError::into_inner);
        books.insert(merchant_id, loaded);
        book
    }
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn load(store: &LabelStore) -> Current {
    // The fingerprint is read first, so that an import during loading shows as a difference next time.
    let fingerprint = store.fingerprint().unwrap_or_default();
    let index = store.load().map(Arc::new).map_err(|error| error.to_string());
    if let Err(reason) = &index {
        tracing::warn!("{reason}");
    }
    (fingerprint, index)
}

/// Why no address can be judged: the sanctions lists or the labels cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LabelsUnavailable {
    /// The sanctions lists.
    #[error(transparent)]
    Lists(#[from] ListsUnavailable),
    /// The label sets.
    #[error("{0}")]
    Labels(String),
}

impl LabelsUnavailable {
    /// The reason's name in the store and in text keys.
    pub fn word(&self) -> &'static str {
        match self {
            LabelsUnavailable::Lists(ListsUnavailable::None) => "no_list",
            LabelsUnavailable::Lists(ListsUnavailable::Unusable(_)) => "lists",
            LabelsUnavailable::Labels(_) => "labels",
        }
    }
}

impl From<LabelsUnavailable> for Problem {
    fn from(error: LabelsUnavailable) -> Self {
        let text = match &error {
            LabelsUnavailable::Lists(ListsUnavailable::None) => {
                "No sanctions list is imported, so nothing can be screened. The operator of this server imports one with \
                 `bonafide lists import FILE`"
            }
            LabelsUnavailable::Lists(ListsUnavailable::Unusable(_)) => {
                "The sanctions lists are too old or cannot be read, so nothing can be screened. The operator of this server \
                 imports them again with `bonafide lists import FILE`"
            }
            LabelsUnavailable::Labels(_) => "The address labels cannot be read; please try again later",
        };
        Problem::unavailable(text).because(error)
    }
}

/// All labels for one account: its address book, the common sets, and the sanctions lists that it uses.
pub struct AccountLabels {
    wallets: Wallets,
    book: Arc<LabelIndex>,
    sets: Vec<Arc<LabelIndex>>,
}

impl AccountLabels {
    /// As [`AccountLabels::for_account`], for a query about an earlier day. Reads files.
    pub fn for_past_day(
        sets: &LabelSets,
        lists: &Lists,
        scope: Scope,
        settings: &MerchantSettings,
    ) -> Result<Self, LabelsUnavailable> {
        let past = PastWallets::open(&sets.config)
            .map_err(|error| LabelsUnavailable::Labels(format!("{error:#}")))?;
        let mut labels = Self::for_account(sets, lists, scope, settings)?;
        labels.wallets.past = Some(past);
        Ok(labels)
    }

    /// The labels that count for one account now.
    ///
    /// # Errors
    /// When lists or labels cannot be used. No address may then be called clean.
    pub fn for_account(
        sets: &LabelSets,
        lists: &Lists,
        scope: Scope,
        settings: &MerchantSettings,
    ) -> Result<Self, LabelsUnavailable> {
        let wallets = lists.wallets(scope.sandbox, settings)?;
        let book = sets.book(scope.merchant_id).map_err(LabelsUnavailable::Labels)?;
        let common = read(&sets.current).1.clone().map_err(LabelsUnavailable::Labels)?;
        let mut all = vec![Arc::clone(&book), common];
        if scope.sandbox {
            all.push(Arc::clone(&sets.demo));
        }
        Ok(AccountLabels {
            wallets,
            book,
            sets: all,
        })
    }
}

impl AccountLabels {
    /// The version of the listed wallets that count ([`Wallets::content_version`]).
    pub fn listed_wallets_version(&self) -> String {
        self.wallets.content_version()
    }

    /// The name that the account's address book gives an address; of several labels, the one with the highest
    /// confidence.
    pub fn book_name(&self, chain: Currency, address: &str, at: i64) -> Option<String> {
        let said = self.book.labels(chain, address, at);
        said.into_iter()
            .max_by_key(|label| label.confidence)
            .map(|label| label.name)
    }

    /// Whether a label of an address comes from the account's address book.
    pub fn is_in_book(&self, chain: Currency, address: &str, at: i64, said: &Label) -> bool {
        // The category is not compared, because categories that only an authority may assign are removed from
        // the book's labels.
        let of = |label: &Label| {
            (
                label.name.clone(),
                label.source.clone(),
                label.valid_from,
                label.authority,
            )
        };
        let own = self.book.labels(chain, address, at);
        own.iter().any(|own| of(own) == of(said))
    }
}

impl Labels for AccountLabels {
    fn labels(&self, chain: Currency, address: &str, at: i64) -> Vec<Label> {
        let mut found = self.wallets.labels(chain, address, at);
        for set in &self.sets {
            found.extend(set.labels(chain, address, at));
        }
        chain::labels::combine_labels(found)
    }

    fn version(&self) -> String {
        let sets: Vec<String> = self
            .sets
            .iter()
            .filter(|set| !set.is_empty())
            .map(|set| set.version())
            .collect();
        format!("{};{}", self.wallets.versions, sets.join("+"))
    }
}
