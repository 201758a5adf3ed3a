//! Updates one sanctions list from its publisher's address or from a folder of files: it downloads the file if it
//! changed, imports it under the guards, and records the attempt. A failure never takes the list in use out of use.
//!
//! Which lists are updated when is decided by the command line and by [`list_schedule`](super::list_schedule).

use std::path::PathBuf;
use std::sync::Arc;

use list_sources::download::{Download, Downloader, Fetched, Limits, Progress, Validators};
use list_sources::error::{FetchError, SettingError};
use list_sources::folder::newest_file;
use list_sources::sources::{ListSource, ListSourceConfig, ListSources};
use node::config::DataConfig;
use node::lists::PastWallets;
use sanctions::import::ListFormat;
use sanctions::{Guards, ImportReport, ListStore, StoreError};
use sha2::{Digest as _, Sha256};
use store::list_sets;
use store::list_updates::{self, Offered};
use store::{Db, Objects};

use super::list_import::{ImportOptions, ListFiles, ListImportError, import_list};
use super::list_set::{self, CheckedSet, in_folder};
use super::operations::COMMAND_LINE;

/// The longest error that is recorded, in characters.
const LONGEST_ERROR: usize = 600;

/// Where a list's file comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateFrom {
    /// Its publisher's address.
    Publisher,
    /// A folder with publishers' files. No connection is made.
    Folder(PathBuf),
}

/// A stage of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The file is downloaded.
    Download(Progress),
    /// The file is read and compared with the version in use. It has this many bytes, if it was downloaded.
    Import(Option<u64>),
}

/// The outcome of an update.
#[derive(Debug)]
pub enum Updated {
    /// The publisher offers the version in use.
    Unchanged {
        /// The version.
        version: String,
        /// How many imports in a row changed nothing.
        imports: u32,
    },
    /// A file was imported. It may have had the content in use too.
    Imported(Box<ImportReport>),
}

/// Why a list was not updated.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// There is no file.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The file was not imported.
    #[error(transparent)]
    Import(#[from] ListImportError),
    /// The folder of lists cannot be used.
    #[error(transparent)]
    Folder(#[from] StoreError),
    /// The database does not answer.
    #[error("the database does not answer: {0}")]
    Database(#[from] store::Error),
    /// A part of the program failed.
    #[error("{0}")]
    Internal(String),
}

impl UpdateError {
    /// Whether another attempt may soon succeed: the list itself was not refused.
    pub fn may_pass(&self) -> bool {
        !matches!(
            self,
            UpdateError::Import(
                ListImportError::Refused(_) | ListImportError::Proposed { .. } | ListImportError::Changed(_)
            )
        )
    }
}

/// Updates lists of one installation through this node's folder.
pub struct ListUpdater {
    db: Db,
    objects: Objects,
    data: DataConfig,
    store: ListStore,
    sources: ListSources,
    downloader: Downloader,
    actor: String,
}

impl ListUpdater {
    /// An updater with the settings' addresses and proxy; `actor` is named in the operators' trail.
    ///
    /// # Errors
    /// When a setting or the folder of lists cannot be used.
    pub fn new(
        (db, objects): (Db, Objects),
        data: &DataConfig,
        config: &ListSourceConfig,
        actor: &str,
    ) -> Result<ListUpdater, anyhow::Error> {
        let sources = ListSources::new(config)?;
        let downloader = Downloader::new(config, Limits::default())?;
        Ok(ListUpdater {
            db,
            objects,
            store: data.list_store()?,
            data: data.clone(),
            sources,
            downloader,
            actor: actor.to_owned(),
        })
    }

    /// Checks the settings without a connection.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check(config: &ListSourceConfig) -> Result<(), SettingError> {
        ListSources::new(config)?;
        Downloader::new(config, Limits::default()).map(drop)
    }

    /// The lists in use whose publisher is known, in order.
    ///
    /// # Errors
    /// When the database or the folder cannot be read.
    pub async fn known_lists_in_use(&self) -> Result<Vec<String>, UpdateError> {
        let set = list_sets::current(&mut self.db.read().await?).await?;
        let names = set.map(|set| set.lists).unwrap_or_default().into_keys();
        let mut known = Vec::new();
        for name in names {
            match self.source(&name).await {
                Ok(_) => known.push(name),
                Err(UpdateError::Fetch(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(known)
    }

    async fn source(&self, list: &str) -> Result<ListSource, UpdateError> {
        let state = list_updates::get(&mut self.db.read().await?, list).await?;
        let is_open_sanctions = match state.is_open_sanctions {
            Some(known) => known,
            // An earlier version imported it, and left its report in the folder.
            None => {
                let imports = in_folder(&self.store, ListStore::last_imports).await?;
                let last = imports.iter().find(|import| import.list == list);
                let format = last.and_then(|import| import.format);
                format.is_some_and(ListFormat::is_open_sanctions)
            }
        };
        Ok(self.sources.source(list, is_open_sanctions)?)
    }

    /// Updates a list, and records the attempt.
    ///
    /// # Errors
    /// Why the list was not updated. The version in use stays in use.
    pub async fn update(
        &self,
        list: &str,
        from: &UpdateFrom,
        max_shrink: Option<u8>,
        progress: &(dyn Fn(Stage) + Sync),
    ) -> Result<Updated, UpdateError> {
        let updated = self.try_update(list, from, max_shrink, progress).await;
        let result = match &updated {
            Ok(Updated::Unchanged { .. }) => "unchanged",
            Ok(Updated::Imported(_)) => "imported",
            Err(_) => "failed",
        };
        if let Err(error) = &updated
            && let Err(unrecorded) = self.record_failure(list, error).await
        {
            tracing::warn!(list, error = %unrecorded, "the failure of an update cannot be recorded");
        }
        let labels = [("list", list.to_owned()), ("result", result.to_owned())];
        metrics::counter!("bonafide_list_updates_total", &labels).increment(1);
        updated
    }

    /// Records a failure that needs attention later: the list is in use, or the servers update it. A person at the
    /// command line has seen the failure of another list.
    async fn record_failure(&self, list: &str, error: &UpdateError) -> Result<(), store::Error> {
        let set = list_sets::current(&mut self.db.read().await?).await?;
        let is_used = set.is_some_and(|set| set.lists.contains_key(list));
        if !is_used && self.actor == COMMAND_LINE {
            return Ok(());
        }
        let text: String = error.to_string().chars().take(LONGEST_ERROR).collect();
        store::transaction!(self.db, |tx| -> Result<(), store::Error> {
            list_updates::record_failure(tx, list, &text).await
        })
    }

    async fn try_update(
        &self,
        list: &str,
        from: &UpdateFrom,
        max_shrink: Option<u8>,
        progress: &(dyn Fn(Stage) + Sync),
    ) -> Result<Updated, UpdateError> {
        let source = self.source(list).await?;
        let files = match from {
            UpdateFrom::Folder(folder) => ListFiles::Paths(vec![newest_file(&source, folder)?]),
            UpdateFrom::Publisher => {
                let known = self.known(list, &source).await?;
                let validators = known.as_ref().map(|known| Validators {
                    etag: known.etag.clone(),
                    last_modified: known.last_modified.clone(),
                });
                let show = |stage| progress(Stage::Download(stage));
                let folder = self.data.data.join("lists");
                match self
                    .downloader
                    .fetch(&source, validators.as_ref(), &folder, &show)
                    .await?
                {
                    Fetched::Unchanged => return self.confirm(list, known, None).await,
                    Fetched::File(file)
                        if known
                            .as_ref()
                            .is_some_and(|known| known.file_digest == file.sha256) =>
                    {
                        return self.confirm(list, known, Some(&file)).await;
                    }
                    Fetched::File(file) => ListFiles::Download(file),
                }
            }
        };
        let size = match &files {
            ListFiles::Download(file) => Some(file.bytes),
            ListFiles::Paths(_) => None,
        };
        progress(Stage::Import(size));
        self.import(list, &source, files, max_shrink).await
    }

    /// What the publisher offered at the last success, if that is the content in use, came from the same address, and is
    /// undamaged in this node's folder.
    async fn known(&self, list: &str, source: &ListSource) -> Result<Option<Offered>, UpdateError> {
        let mut conn = self.db.read().await?;
        let Some(offered) = list_updates::get(&mut conn, list).await?.offered else {
            return Ok(None);
        };
        let set = list_sets::current(&mut conn).await?;
        drop(conn);
        let in_use = set.and_then(|set| set.lists.get(list).map(|list| list.digest));
        let is_used = in_use == Some(offered.digest) && address_digest(source) == offered.address_digest;
        if !is_used {
            return Ok(None);
        }
        let (name, digest) = (list.to_owned(), hex::encode(offered.digest));
        let file = in_folder(&self.store, move |store| store.open_file(&name, &digest)).await?;
        Ok(file.map(|_| offered))
    }

    /// Records that the publisher offers the content in use.
    async fn confirm(
        &self,
        list: &str,
        known: Option<Offered>,
        file: Option<&Download>,
    ) -> Result<Updated, UpdateError> {
        let known = known
            .ok_or_else(|| UpdateError::Internal(format!("{list}: nothing is known to be unchanged")))?;
        let offered = match file {
            Some(file) => Offered {
                etag: file.validators.etag.clone(),
                last_modified: file.validators.last_modified.clone(),
                ..known
            },
            None => known,
        };
        let _lock = in_folder(&self.store, ListStore::lock).await?;
        let (name, digest) = (list.to_owned(), hex::encode(offered.digest));
        let now = jiff::Timestamp::now().as_millisecond();
        let confirmed = in_folder(&self.store, move |store| {
            let is_here = store.confirm(&name, &digest, now)?;
            let imports = is_here.then(|| store.count_unchanged(&name));
            let status = store.status()?.into_iter().find(|here| here.list == name);
            Ok(imports.zip(status))
        });
        let (imports, here) = confirmed.await?.ok_or_else(|| {
            UpdateError::Internal(format!("{list} was replaced during its update: update it again"))
        })?;
        list_set::confirm(&self.db, list, &offered)
            .await
            .map_err(|error| UpdateError::Internal(error.to_string()))?;
        let version = here.version;
        Ok(Updated::Unchanged { version, imports })
    }

    async fn import(
        &self,
        list: &str,
        source: &ListSource,
        files: ListFiles,
        max_shrink: Option<u8>,
    ) -> Result<Updated, UpdateError> {
        let validators = match &files {
            ListFiles::Download(file) => Some(file.validators.clone()),
            ListFiles::Paths(_) => None,
        };
        // Another process that imports may take minutes.
        let lock = Arc::new(in_folder(&self.store, ListStore::lock).await?);
        let checked = CheckedSet::read(&self.db).await?;
        let guards = Guards {
            expected_list: Some(list.to_owned()),
            rolled_back: checked.rolled_back(list),
            ..Guards::default()
        };
        let options = ImportOptions {
            max_shrink,
            actor: &self.actor,
            always_recorded: true,
            checked: &checked,
            lock: &lock,
        };
        let report = import_list((&self.db, &self.objects), &self.store, files, &guards, options).await?;
        let offered = offered(&report, validators, source);
        store::transaction!(self.db, |tx| -> Result<(), store::Error> {
            list_updates::record_success(tx, list, offered.as_ref()).await
        })?;
        let data = self.data.clone();
        let remembered = tokio::task::spawn_blocking(move || {
            PastWallets::remember(&data, jiff::Timestamp::now().as_millisecond())
        });
        remembered
            .await
            .map_err(|error| UpdateError::Internal(error.to_string()))?
            .map_err(|error| UpdateError::Internal(format!("the history of listed wallets: {error}")))?;
        Ok(Updated::Imported(Box::new(report)))
    }
}

/// A digest of the source's address and of this program's version, because a newer version may read more of a file.
fn address_digest(source: &ListSource) -> Option<[u8; 32]> {
    let address = source.address_digest()?;
    let mut hash = Sha256::new();
    hash.update(address);
    hash.update(env!("CARGO_PKG_VERSION"));
    Some(hash.finalize().into())
}

fn offered(report: &ImportReport, validators: Option<Validators>, source: &ListSource) -> Option<Offered> {
    let bytes = |text: &str| <[u8; 32]>::try_from(hex::decode(text).ok()?).ok();
    let is_download = validators.is_some();
    let validators = validators.unwrap_or_default();
    Some(Offered {
        digest: bytes(&report.digest)?,
        file_digest: bytes(report.sha256.values().next()?)?,
        address_digest: address_digest(source).filter(|_| is_download),
        etag: validators.etag,
        last_modified: validators.last_modified,
    })
}
