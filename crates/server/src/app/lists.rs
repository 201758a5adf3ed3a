//! The sanctions lists in use: loaded at start, exchanged for newer ones without a failed request, and refused when too old.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use sanctions::store::Fingerprint;
use sanctions::{ListStore, Query, ScreenOptions, ScreenResult, Screener, demo_list};

use super::Shared;
use super::merchants::MerchantSettings;
use crate::config::ServeConfig;

/// How often the folder is looked at for newer lists, and the lists' age is checked.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The current screener, or why there is none.
pub struct Lists {
    store: ListStore,
    /// The invented list's name.
    demo: String,
    current: RwLock<(Fingerprint, Result<Arc<Screener>, String>)>,
}

impl Lists {
    /// Opens the lists folder and loads what is in it.
    pub fn open(config: &ServeConfig) -> anyhow::Result<Self> {
        let lists = Lists {
            store: config.data.list_store()?,
            demo: demo_list().name,
            current: RwLock::new((Fingerprint::default(), Err(String::new()))),
        };
        lists.reload();
        Ok(lists)
    }

    /// The screener, or why screening cannot answer (then verification is blocked: fail closed).
    pub fn screener(&self) -> Result<Arc<Screener>, String> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .1
            .clone()
    }

    /// Screens one person with a merchant's settings. The invented demo list answers in the sandbox only. Blocks.
    ///
    /// The outer error: screening is not available.
    pub fn screen(
        &self,
        query: &Query,
        sandbox: bool,
        settings: &MerchantSettings,
    ) -> Result<ScreenResult, String> {
        let screener = self.screener()?;
        if let Some(missing) = settings
            .screening_lists
            .iter()
            .find(|name| !screener.lists().contains_key(*name))
        {
            return Err(format!("the merchant's list {missing} is not active"));
        }
        let usable = |name: &&String| (sandbox || **name != self.demo) && chosen(settings, name);
        let datasets: Vec<String> = screener.lists().keys().filter(usable).cloned().collect();
        if datasets.is_empty() {
            return Err("no sanctions list is active; run `bonafide lists import FILE`".into());
        }
        let defaults = ScreenOptions::default();
        let threshold = settings.screening_threshold.unwrap_or(defaults.threshold);
        let mut result = screener
            .screen(
                query,
                &ScreenOptions {
                    threshold,
                    datasets: datasets.clone(),
                    ..defaults
                },
            )
            .map_err(|error| error.to_string())?;
        result.lists.retain(|name, _| datasets.contains(name));
        Ok(result)
    }

    /// Loads the lists anew. Blocks.
    pub fn reload(&self) {
        // The fingerprint first: what is imported while loading is seen as a difference next time.
        let fingerprint = self.store.fingerprint().unwrap_or_default();
        let fresh = self.store.load().map(Arc::new).map_err(|error| error.to_string());
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

/// Whether the merchant's choice of lists includes this one.
fn chosen(settings: &MerchantSettings, name: &String) -> bool {
    settings.screening_lists.is_empty() || settings.screening_lists.contains(name)
}

/// Looks after the lists as long as the server runs.
pub async fn watch(app: Shared) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let app = Arc::clone(&app);
        if tokio::task::spawn_blocking(move || app.lists.look())
            .await
            .is_err()
        {
            tracing::error!("looking after the sanctions lists failed");
        }
    }
}
