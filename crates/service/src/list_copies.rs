//! Lists once for all nodes: a list that one node imported is copied to the object store before the database names it,
//! and every node whose folder lacks a list of the installation's set gets it from there. The copy's SHA-256 is checked
//! against the set's digest before it is used.
//!
//! If a copy is missing, the node reports as before that it lacks the list. Nothing here decides which lists count.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::time::Duration;

use sanctions::ListStore;
use sanctions::store::{InstallError, ListContent, ListStatus};
use store::list_sets::{self, ListSet, ListVersion};
use store::{Db, Objects};

use super::Shared;
use super::list_set::in_folder;

/// The pause between two looks for missing lists.
const INTERVAL: Duration = Duration::from_secs(5);
/// A copy that no set names is deleted this long (ms) after it was stored.
const KEPT_MS: i64 = 24 * 60 * 60 * 1_000;

/// Why a list cannot be copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The object store or the database does not answer.
    #[error("{0}")]
    Store(#[from] store::Error),
    /// The copy is not the list that the installation uses, or the folder cannot be written.
    #[error("the copy of {list} in the object store cannot be used: {error}")]
    Install {
        /// The list.
        list: String,
        /// The cause.
        error: InstallError,
    },
    /// The folder of lists cannot be used.
    #[error(transparent)]
    Folder(#[from] sanctions::StoreError),
    /// The folder lacks a list that should be copied.
    #[error("the list {0} was replaced while it was copied: import it again")]
    Replaced(String),
}

/// Copies a list of this node's folder to the object store, unless it is there.
///
/// # Errors
/// When the object store does not answer, or the folder lacks this content.
pub async fn store_copy(
    objects: &Objects,
    store: &ListStore,
    list: &str,
    digest: &str,
) -> Result<(), CopyError> {
    let replaced = || CopyError::Replaced(list.to_owned());
    let bytes = hex::decode(digest).ok().and_then(|bytes| bytes.try_into().ok());
    let bytes: [u8; 32] = bytes.ok_or_else(replaced)?;
    if objects.has_list(&bytes).await? {
        return Ok(());
    }
    let (name, content) = (list.to_owned(), digest.to_owned());
    let file = in_folder(store, move |store| store.open_file(&name, &content)).await?;
    let file = file.ok_or_else(replaced)?;
    Ok(objects.put_list(&bytes, file).await?)
}

/// Copies lists in both directions for as long as the server runs.
pub async fn run(app: Shared) {
    let mut stored_revision = None;
    let mut last_error = String::new();
    loop {
        let synchronised = synchronise(&app, &mut stored_revision).await;
        let error = synchronised
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        if !error.is_empty() && error != last_error {
            tracing::warn!(
                error,
                "the sanctions lists cannot be exchanged with the other nodes"
            );
        }
        last_error = error;
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Gets the lists that this node lacks, and stores copies of the others once per revision of the set.
async fn synchronise(app: &Shared, stored_revision: &mut Option<i64>) -> Result<(), CopyError> {
    let Some(set) = list_sets::current(&mut app.db.read().await?).await? else {
        return Ok(());
    };
    let store = app.lists.store();
    let mut first_error = None;
    let mut is_whole = true;
    let status = in_folder(store, ListStore::status).await?;
    let (here, missing): (Vec<_>, Vec<_>) = set
        .lists
        .iter()
        .partition(|(name, list)| has(&status, name, list));
    for (name, _) in missing {
        match fetch(&app.db, &app.objects, store, name).await {
            Ok(true) => tracing::info!(list = name, "got a sanctions list that another node imported"),
            // Another node may store the copy soon.
            Ok(false) => is_whole = false,
            Err(error) => {
                is_whole = false;
                first_error.get_or_insert(error);
            }
        }
    }
    if *stored_revision != Some(set.revision) {
        for (name, list) in here {
            store_copy(&app.objects, store, name, &hex::encode(list.digest)).await?;
        }
        if is_whole {
            *stored_revision = Some(set.revision);
        }
    }
    first_error.map_or(Ok(()), Err)
}

/// Whether a folder has a list in exactly this version. The same entities may have been in use under another date.
fn has(folder: &[ListStatus], name: &str, list: &ListVersion) -> bool {
    let digest = hex::encode(list.digest);
    let is_it =
        |here: &ListStatus| here.list == name && here.digest == digest && here.version == list.version;
    folder.iter().any(is_it)
}

/// Gets a list from this node's folder, its kept versions or the object store. Returns whether it was found.
async fn fetch(db: &Db, objects: &Objects, store: &ListStore, name: &str) -> Result<bool, CopyError> {
    let wanted = |set: Option<ListSet>| set.and_then(|set| set.lists.get(name).cloned());
    let Some(list) = wanted(list_sets::current(&mut db.read().await?).await?) else {
        return Ok(false);
    };
    let digest = hex::encode(list.digest);
    let (of_list, content) = (name.to_owned(), digest.clone());
    let opened = in_folder(store, move |store| {
        let file = match store.open_file(&of_list, &content)? {
            Some(file) => Some(file),
            None => store.open_kept(&of_list, &content)?,
        };
        Ok((file, store.unnamed_file()?))
    });
    let file = match opened.await? {
        (Some(file), _) => file,
        (None, empty) => match objects.get_list(&list.digest, empty).await? {
            Some(copy) => copy,
            None => return Ok(false),
        },
    };
    // An import on this node holds the lock until the database names its version.
    let _lock = in_folder(store, ListStore::lock).await?;
    let is_wanted = wanted(list_sets::current(&mut db.read().await?).await?).as_ref() == Some(&list);
    if !is_wanted || has(&in_folder(store, ListStore::status).await?, name, &list) {
        return Ok(false);
    }
    let content = ListContent {
        version: list.version,
        digest,
    };
    install(store, name, content, file).await?;
    Ok(true)
}

async fn install(
    store: &ListStore,
    name: &str,
    content: ListContent,
    mut file: File,
) -> Result<(), CopyError> {
    let list = name.to_owned();
    let installed = in_folder(store, move |store| {
        file.seek(SeekFrom::Start(0))?;
        Ok(store.install(&list, &content, file))
    });
    installed.await?.map_err(|error| CopyError::Install {
        list: name.to_owned(),
        error,
    })
}

/// Deletes the copies that no set names any more, and returns how many. Nodes keep the last replaced versions in their
/// folders.
///
/// # Errors
/// When the database or the object store does not answer.
pub async fn sweep(db: &Db, objects: &Objects) -> Result<usize, store::Error> {
    let (set, now) = {
        let mut conn = db.read().await?;
        (list_sets::current(&mut conn).await?, conn.now())
    };
    // Without a set, the database may be new and the objects an older installation's.
    let Some(set) = set else { return Ok(0) };
    let mut swept = 0;
    for copy in objects.list_copies().await? {
        let is_named = set.lists.values().any(|list| list.digest == copy.digest);
        if !is_named && copy.stored_at < now - KEPT_MS {
            objects.delete_list(&copy.digest).await?;
            swept += 1;
        }
    }
    Ok(swept)
}
