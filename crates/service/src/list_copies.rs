//! Lists once for all nodes: a list that one node imported is copied to the object store before the database names it,
//! and every node whose folder lacks a list of the installation's set gets it from there. The copy's SHA-256 is checked
//! against the set's digest before it is used.
//!
//! If a copy is missing, the node reports as before that it lacks the list. Nothing here decides which lists count.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::time::{Duration, Instant};

use node::lists::PastWallets;
use sanctions::ListStore;
use sanctions::store::{InstallError, ListContent, ListStatus};
use store::list_sets::{self, ListSet, ListVersion};
use store::{Db, Objects, list_updates};

use super::Shared;
use super::list_set::in_folder;

/// The pause between two looks for missing lists.
const INTERVAL: Duration = Duration::from_secs(5);
/// How often it is checked that the object store has all copies of the same set.
const COPIES_INTERVAL: Duration = Duration::from_secs(30);
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
    #[error(
        "the list {0} is damaged in this node's folder, or was replaced while it was copied: import it again"
    )]
    NotHere(String),
    /// The history of listed wallets cannot be written.
    #[error("the history of listed wallets: {0}")]
    Wallets(String),
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
    let not_here = || CopyError::NotHere(list.to_owned());
    let bytes = hex::decode(digest).ok().and_then(|bytes| bytes.try_into().ok());
    let bytes: [u8; 32] = bytes.ok_or_else(not_here)?;
    if objects.has_list(&bytes).await? {
        return Ok(());
    }
    let (name, content) = (list.to_owned(), digest.to_owned());
    let file = in_folder(store, move |store| store.open_file(&name, &content)).await?;
    let file = file.ok_or_else(not_here)?;
    Ok(objects.put_list(&bytes, file).await?)
}

/// Copies lists in both directions for as long as the server runs.
pub async fn run(app: Shared) {
    let mut stored = None;
    let mut last_error = String::new();
    loop {
        let synchronised = synchronise(&app, &mut stored).await;
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

/// The revision of the set whose copies this node stored, and when.
type Stored = Option<(i64, Instant)>;

/// Gets the lists that this node lacks, and stores copies of the others.
async fn synchronise(app: &Shared, stored: &mut Stored) -> Result<(), CopyError> {
    let Some(set) = list_sets::current(&mut app.db.read().await?).await? else {
        return Ok(());
    };
    let store = app.lists.store();
    let mut first_error = None;
    // While the lists can be used, none of their files is damaged.
    let are_read = app.lists.screener().is_err();
    let status = in_folder(store, ListStore::status).await?;
    let (mut here, mut got) = (Vec::new(), 0);
    for (name, list) in &set.lists {
        if has(&status, name, list) && (!are_read || is_undamaged(store, name, list).await?) {
            here.push((name, list));
            continue;
        }
        match fetch(&app.db, &app.objects, store, name).await {
            Ok(true) => {
                got += 1;
                tracing::info!(list = name, "got a sanctions list that another node imported");
            }
            // Another node may store the copy soon.
            Ok(false) => {}
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    if got > 0 {
        let data = app.config.data.clone();
        let now = jiff::Timestamp::now().as_millisecond();
        let remembered = tokio::task::spawn_blocking(move || PastWallets::remember(&data, now));
        let remembered = remembered.await.map_err(anyhow::Error::from).flatten();
        remembered.map_err(|error| CopyError::Wallets(error.to_string()))?;
    }
    let is_stored =
        |(revision, at): &mut (i64, Instant)| *revision == set.revision && at.elapsed() < COPIES_INTERVAL;
    if !stored.as_mut().is_some_and(is_stored) {
        for (name, list) in here {
            if let Err(error) = store_copy(&app.objects, store, name, &hex::encode(list.digest)).await {
                first_error.get_or_insert(error);
            }
        }
        *stored = Some((set.revision, Instant::now()));
    }
    first_error.map_or(Ok(()), Err)
}

async fn is_undamaged(store: &ListStore, name: &str, list: &ListVersion) -> Result<bool, CopyError> {
    let (name, digest) = (name.to_owned(), hex::encode(list.digest));
    let file = in_folder(store, move |store| store.open_file(&name, &digest)).await?;
    Ok(file.is_some())
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
    let mut conn = db.read().await?;
    let Some(list) = wanted(list_sets::current(&mut conn).await?) else {
        return Ok(false);
    };
    let confirmed = list_updates::get(&mut conn, name).await?.confirmed;
    drop(conn);
    let imported_at = confirmed
        .filter(|(_, digest)| *digest == list.digest)
        .map(|(at, _)| at);
    let digest = hex::encode(list.digest);
    let (of_list, content) = (name.to_owned(), digest.clone());
    let opened = in_folder(store, move |store| {
        let file = match store.open_file(&of_list, &content)? {
            Some(file) => Some(file),
            None => store.open_kept(&of_list, &content)?,
        };
        Ok((file, store.unnamed_file()?))
    });
    let (file, is_copy) = match opened.await? {
        (Some(file), _) => (file, false),
        (None, empty) => match objects.get_list(&list.digest, empty).await? {
            Some(copy) => (copy, true),
            None => return Ok(false),
        },
    };
    // An import on this node holds the lock until the database names its version.
    let _lock = in_folder(store, ListStore::lock).await?;
    let is_wanted = wanted(list_sets::current(&mut db.read().await?).await?).as_ref() == Some(&list);
    let status = in_folder(store, ListStore::status).await?;
    if !is_wanted || (has(&status, name, &list) && is_undamaged(store, name, &list).await?) {
        return Ok(false);
    }
    let content = ListContent {
        version: list.version,
        digest,
    };
    match install(store, name, content, imported_at, file).await? {
        Ok(()) => Ok(true),
        Err(error) => {
            // A node that has the list stores a good copy again.
            if is_copy && matches!(error, InstallError::Other | InstallError::Damaged) {
                objects.delete_list(&list.digest).await?;
            }
            let list = name.to_owned();
            Err(CopyError::Install { list, error })
        }
    }
}

async fn install(
    store: &ListStore,
    name: &str,
    content: ListContent,
    imported_at: Option<i64>,
    mut file: File,
) -> Result<Result<(), InstallError>, CopyError> {
    let list = name.to_owned();
    let installed = in_folder(store, move |store| {
        file.seek(SeekFrom::Start(0))?;
        Ok(store.install(&list, &content, imported_at, file))
    });
    Ok(installed.await?)
}

/// Deletes the copies that no set names any more, and returns how many. Nodes keep the last replaced versions in their
/// folders.
///
/// # Errors
/// When the database or the object store does not answer.
pub async fn sweep(db: &Db, objects: &Objects) -> Result<usize, store::Error> {
    let mut swept = 0;
    for copy in objects.list_copies().await? {
        // The set is read each time, because an import may name an old copy again. A copy that is deleted at that very
        // moment is stored again by the node that has the list.
        let (set, now) = {
            let mut conn = db.read().await?;
            (list_sets::current(&mut conn).await?, conn.now())
        };
        // Without a set, the database may be new and the objects an older installation's.
        let Some(set) = set else { break };
        let is_named = set.lists.values().any(|list| list.digest == copy.digest);
        if !is_named && copy.stored_at < now - KEPT_MS {
            objects.delete_list(&copy.digest).await?;
            swept += 1;
        }
    }
    Ok(swept)
}
