//! Imports a list's files into this node's folder under the guards, copies it to the object store, and publishes it for
//! the installation. The command line and the schedule of updates use the same steps. Whoever calls holds the folder's
//! lock.
//!
//! Where two people are required, a larger shrinkage than the guards allow is only proposed.

use std::path::PathBuf;
use std::sync::Arc;

use list_sources::download::Download;
use sanctions::import::{ImportError, ImportRefusal};
use sanctions::store::FolderLock;
use sanctions::{Guards, ImportReport, ListStore, Source, StoreError};
use store::{Db, Objects};

use super::installation_acts::{self, InstallationAct, Shrinkage};
use super::list_copies;
use super::list_set::{self, CheckedSet};
use crate::problem::Problem;

/// The files of one list.
pub enum ListFiles {
    /// Files on this machine. Only OFAC's legacy CSV has several.
    Paths(Vec<PathBuf>),
    /// A downloaded file.
    Download(Download),
}

impl ListFiles {
    fn open(&self) -> Result<Vec<Source>, ImportError> {
        match self {
            ListFiles::Paths(paths) => paths.iter().map(|path| Source::open(path)).collect(),
            ListFiles::Download(download) => {
                let name = download.name.clone();
                match download.open() {
                    Ok(file) => Ok(vec![Source::new(name, file)]),
                    Err(source) => Err(ImportError::Read { name, source }),
                }
            }
        }
    }
}

/// Why a list was not imported. The version in use stays in use.
#[derive(Debug, thiserror::Error)]
pub enum ListImportError {
    /// The files cannot be read, or the guards refuse them.
    #[error(transparent)]
    Refused(#[from] StoreError),
    /// Two operators must confirm the shrinkage.
    #[error(
        "{list} was not imported: it shrinks from {before} to {after} entities, so two operators must confirm it in the console, under \
         \"Lists and models\". Then run this command again."
    )]
    Proposed {
        /// The list.
        list: String,
        /// The number of entities in the version in use.
        before: usize,
        /// The number of entities in the new version.
        after: usize,
    },
    /// The file could have been replaced between its two reads. Only the confirmed version is published.
    #[error("{0} was not imported: its file changed while it was read. Import the confirmed file again.")]
    Changed(String),
    /// The database does not answer, or a task broke off.
    #[error("{0}")]
    Failed(Problem),
    /// The list is imported, but the installation does not use it.
    #[error(
        "the new version of {list} is in this node's folder, but not in use ({why}): import or update it again"
    )]
    NotPublished {
        /// The list.
        list: String,
        /// The cause.
        why: String,
    },
}

impl From<Problem> for ListImportError {
    fn from(problem: Problem) -> ListImportError {
        ListImportError::Failed(problem)
    }
}

impl From<store::Error> for ListImportError {
    fn from(error: store::Error) -> ListImportError {
        ListImportError::Failed(error.into())
    }
}

/// How a list is imported.
#[derive(Clone, Copy)]
pub struct ImportOptions<'a> {
    /// Accept a list that lost up to this share of its entities, in percent.
    pub max_shrink: Option<u8>,
    /// Who imports, for the operators' trail.
    pub actor: &'a str,
    /// Write a row of the trail even if the content is the one in use.
    pub always_recorded: bool,
    /// The installation's lists, read after the lock was taken.
    pub checked: &'a CheckedSet,
    /// The folder's lock. The import holds it until it ends, even if its caller has gone.
    pub lock: &'a Arc<FolderLock>,
}

/// Imports one list into this node's folder and publishes it for the installation.
///
/// # Errors
/// Why it did not become active.
pub async fn import_list(
    (db, objects): (&Db, &Objects),
    store: &ListStore,
    files: ListFiles,
    guards: &Guards,
    options: ImportOptions<'_>,
) -> Result<ImportReport, ListImportError> {
    let guards = Guards {
        installed: options.checked.installed(),
        ..guards.clone()
    };
    let files = (Arc::new(files), Arc::clone(options.lock));
    let report = import_guarded(db, store, &files, &guards, options.max_shrink).await?;
    let not_published = |why: String| ListImportError::NotPublished {
        list: report.list.clone(),
        why,
    };
    // Other nodes get the list from there once the database names it.
    list_copies::store_copy(objects, store, &report.list, &report.digest)
        .await
        .map_err(|error| not_published(error.to_string()))?;
    let list = (report.list.as_str(), report.format);
    list_set::publish(
        db,
        store,
        list,
        options.checked,
        options.actor,
        options.always_recorded,
    )
    .await
    .map_err(|error| not_published(error.to_string()))?;
    Ok(report)
}

/// The files, and the lock under which they are imported.
type LockedFiles = (Arc<ListFiles>, Arc<FolderLock>);

async fn import_guarded(
    db: &Db,
    store: &ListStore,
    files: &LockedFiles,
    guards: &Guards,
    max_shrink: Option<u8>,
) -> Result<ImportReport, ListImportError> {
    let wide = Guards {
        max_shrink_percent: max_shrink.unwrap_or(guards.max_shrink_percent),
        ..guards.clone()
    };
    let is_wider = wide.max_shrink_percent > guards.max_shrink_percent;
    if !is_wider || !installation_acts::needs_two(&mut db.read().await?).await? {
        return import(store, files, &wide).await;
    }
    let refused = match import(store, files, guards).await {
        Err(ListImportError::Refused(StoreError::Refused {
            list,
            version,
            refusal: ImportRefusal::Shrinks { before, after, .. },
            report,
        })) => Shrinkage {
            list,
            version,
            sha256: report.sha256.values().cloned().collect(),
            before,
            after,
        },
        imported => return imported,
    };
    let act = InstallationAct::ShrinkList(refused.clone());
    if installation_acts::take_confirmed(db, &act).await? {
        let report = import(store, files, &wide).await?;
        return match refused.is_of(&report) {
            true => Ok(report),
            false => Err(ListImportError::Changed(report.list)),
        };
    }
    installation_acts::propose(db, &act).await?;
    let Shrinkage {
        list, before, after, ..
    } = refused;
    Err(ListImportError::Proposed { list, before, after })
}

/// Reads the files on a thread for blocking work.
async fn import(
    store: &ListStore,
    files: &LockedFiles,
    guards: &Guards,
) -> Result<ImportReport, ListImportError> {
    let (store, (files, lock), guards) = (store.clone(), files.clone(), guards.clone());
    let imported = tokio::task::spawn_blocking(move || {
        let _lock = lock;
        store.import(files.open()?, None, &guards)
    });
    Ok(imported.await.map_err(Problem::internal)??)
}
