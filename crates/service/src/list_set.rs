//! The installation's list set: which sanctions lists every node screens against, by the digests of their
//! contents. Each node has the contents in its folder. This module records the set, with a row in the operators'
//! trail. It does not read a list's content.

use std::collections::BTreeMap;

use sanctions::{ListFormat, ListStatus, ListStore, StoreError};
use serde_json::json;
use store::list_sets::{self, ListSet, ListVersion};
use store::list_updates::{self, Offered};
use store::{Db, Error, Tx, audit, operator_audit};

/// Why the set was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ListSetError {
    /// A list in the folder has no readable digest.
    #[error("the list {0} in this node's folder has no readable digest: import it again")]
    NoDigest(String),
    /// The folder lacks the list.
    #[error("the list {0} is not in this node's folder")]
    NotHere(String),
    /// Another node, or another process of this one, changed the list since the checks.
    #[error("the installation's list {0} was changed meanwhile: run this again")]
    ChangedMeanwhile(String),
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] StoreError),
    /// The database does not answer.
    #[error("the database does not answer: {0}")]
    Database(#[from] Error),
}

/// The lists that the installation uses, and those that a rollback took out of use, when an import or a rollback was
/// checked. A change is refused if its list is no longer in that state.
#[derive(Clone, Debug, Default)]
pub struct CheckedSet {
    lists: BTreeMap<String, ListVersion>,
    /// The digests of the contents that rollbacks took out of use.
    rolled_back: BTreeMap<String, [u8; 32]>,
}

impl CheckedSet {
    /// Reads the present state.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn read(db: &Db) -> Result<CheckedSet, Error> {
        let mut conn = db.read().await?;
        let set = list_sets::current(&mut conn).await?;
        let updates = list_updates::list(&mut conn).await?.into_iter();
        let rolled_back = updates.filter_map(|update| Some((update.list, update.rolled_back?.0)));
        Ok(CheckedSet {
            lists: set.map(|set| set.lists).unwrap_or_default(),
            rolled_back: rolled_back.collect(),
        })
    }

    /// The version in use of a list.
    pub fn list(&self, name: &str) -> Option<&ListVersion> {
        self.lists.get(name)
    }

    /// The version and entity count of each list, for the checks of an import.
    pub fn installed(&self) -> BTreeMap<String, (String, usize)> {
        let installed = |list: &ListVersion| {
            (
                list.version.clone(),
                usize::try_from(list.entities).unwrap_or(usize::MAX),
            )
        };
        let lists = self.lists.iter();
        lists
            .map(|(name, list)| (name.clone(), installed(list)))
            .collect()
    }

    /// The content of a list that a rollback took out of use, in the form of an import's checks.
    pub fn rolled_back(&self, name: &str) -> BTreeMap<String, String> {
        let digest = self.rolled_back.get(name).map(hex::encode);
        digest
            .map(|digest| (name.to_owned(), digest))
            .into_iter()
            .collect()
    }

    /// Checks within a transaction that has locked the set that a list has not changed.
    async fn check(&self, tx: &mut Tx, set: Option<&ListSet>, name: &str) -> Result<(), ListSetError> {
        let rolled_back = list_updates::get(tx, name).await?.rolled_back;
        let is_same = set.and_then(|set| set.lists.get(name)) == self.lists.get(name)
            && rolled_back.map(|(digest, _)| digest).as_ref() == self.rolled_back.get(name);
        match is_same {
            true => Ok(()),
            false => Err(ListSetError::ChangedMeanwhile(name.to_owned())),
        }
    }
}

/// The version that a list's file states.
fn version_of(list: &ListStatus, format: Option<ListFormat>) -> Result<ListVersion, ListSetError> {
    let digest = hex::decode(&list.digest)
        .ok()
        .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok())
        .ok_or_else(|| ListSetError::NoDigest(list.list.clone()))?;
    Ok(ListVersion {
        version: list.version.clone(),
        digest,
        entities: i64::try_from(list.entities).unwrap_or(i64::MAX),
        // Only lists that were imported before sets existed are without a report.
        needs_choice: format.is_some_and(ListFormat::needs_choice),
    })
}

/// Works in the folder of lists on a thread for blocking work. A folder that hangs must not stop the server.
pub(crate) async fn in_folder<T: Send + 'static>(
    store: &ListStore,
    work: impl FnOnce(&ListStore) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let store = store.clone();
    let worked = tokio::task::spawn_blocking(move || work(&store));
    worked.await.map_err(std::io::Error::other)?
}

/// The versions of the folder's lists, by name.
async fn of_folder(store: &ListStore) -> Result<BTreeMap<String, ListVersion>, ListSetError> {
    let read = in_folder(store, |store| Ok((store.status()?, store.last_imports()?)));
    let (lists, reports) = read.await?;
    let format = |name: &str| {
        let last = reports.iter().find(|last| last.list == name);
        last.and_then(|last| last.format)
    };
    lists
        .iter()
        .map(|list| Ok((list.list.clone(), version_of(list, format(&list.list))?)))
        .collect()
}

/// Why a folder lacks the lists of a set; `None`: it has them.
pub fn missing_list(set: &ListSet, folder: &[ListStatus]) -> Option<String> {
    set.lists.iter().find_map(|(name, list)| {
        let digest = hex::encode(list.digest);
        let here = folder.iter().find(|here| here.list == *name);
        if here.is_some_and(|here| here.digest == digest) {
            return None;
        }
        let found = here.map_or("none of that name", |here| here.version.as_str());
        Some(format!(
            "this node lacks the list {name} {} that the installation uses (it has {found}). It gets it from the object store; if it does not, import the same file here with `bonafide lists import FILE`",
            list.version
        ))
    })
}

/// Records the folder's lists as the installation's set if none was ever recorded: at the first start after
/// an upgrade.
pub async fn adopt(db: &Db, store: &ListStore) -> anyhow::Result<()> {
    let folder = of_folder(store).await?;
    if folder.is_empty() || list_sets::current(&mut db.read().await?).await?.is_some() {
        return Ok(());
    }
    Ok(store::transaction!(db, |tx| -> Result<(), Error> {
        if list_sets::for_update(tx).await?.is_none() {
            list_sets::replace(tx, &folder).await?;
            for (name, list) in &folder {
                record(tx, "server", "lists.adopted", name, list).await?;
            }
        }
        Ok(())
    })?)
}

/// Adds a list of the folder to the installation's set. Other nodes are not ready until they have it. `format` is that of
/// the files, and decides whether a list that is new here is screened only for accounts that chose it. With `always`, a
/// row is written even if the content is the same.
///
/// # Errors
/// Also when the list is not as it was in `checked`: the checks of the import no longer hold.
pub async fn publish(
    db: &Db,
    store: &ListStore,
    (name, format): (&str, ListFormat),
    checked: &CheckedSet,
    actor: &str,
    always: bool,
) -> Result<(), ListSetError> {
    let folder = of_folder(store).await?;
    let found = folder.get(name).cloned();
    let mut list = found.ok_or_else(|| ListSetError::NotHere(name.to_owned()))?;
    store::transaction!(db, |tx| -> Result<(), ListSetError> {
        let set = list_sets::for_update(tx).await?;
        checked.check(tx, set.as_ref(), name).await?;
        // The installation's first set also includes the lists that were imported before sets existed.
        let is_first = set.is_none();
        let mut lists = set.map_or_else(|| folder.clone(), |set| set.lists);
        // A list that counts for everybody continues to, whatever its next version is made from.
        list.needs_choice = match lists.get(name) {
            Some(before) if !is_first => before.needs_choice,
            _ => format.needs_choice(),
        };
        let before = lists.insert(name.to_owned(), list.clone());
        let is_changed = is_first || before.as_ref() != Some(&list);
        if is_changed {
            list_sets::replace(tx, &lists).await?;
            list_updates::clear_rollback(tx, name).await?;
        }
        if is_changed || always {
            record(tx, actor, "lists.imported", name, &list).await?;
            list_updates::record_confirmation(tx, name, &list.digest).await?;
        }
        Ok(list_updates::record_import(tx, name, format.is_open_sanctions()).await?)
    })
}

/// Makes the folder's content of a list, which was in use before, the one in use again. An update does not bring back
/// the content that it replaces; an import does.
///
/// # Errors
/// Also when the list is not as it was in `checked`: a rollback from another version was intended.
pub async fn roll_back(
    db: &Db,
    store: &ListStore,
    name: &str,
    checked: &CheckedSet,
    actor: &str,
) -> Result<(), ListSetError> {
    let folder = of_folder(store).await?;
    let found = folder.get(name).cloned();
    let mut list = found.ok_or_else(|| ListSetError::NotHere(name.to_owned()))?;
    store::transaction!(db, |tx| -> Result<(), ListSetError> {
        let set = list_sets::for_update(tx).await?;
        checked.check(tx, set.as_ref(), name).await?;
        let mut lists = set.map(|set| set.lists).unwrap_or_default();
        let Some(replaced) = lists.get(name).cloned() else {
            return Err(ListSetError::ChangedMeanwhile(name.to_owned()));
        };
        list.needs_choice = replaced.needs_choice;
        lists.insert(name.to_owned(), list.clone());
        list_sets::replace(tx, &lists).await?;
        match list_updates::get(tx, name).await?.rolled_back {
            // It returns to the content that an earlier rollback replaced.
            Some((digest, _)) if digest == list.digest => list_updates::clear_rollback(tx, name).await?,
            // The publisher still offers the content that the first of several rollbacks replaced.
            Some(_) => {}
            None => list_updates::record_rollback(tx, name, &replaced.digest, &replaced.version).await?,
        }
        list_updates::record_confirmation(tx, name, &list.digest).await?;
        Ok(record(tx, actor, "lists.rolled_back", name, &list).await?)
    })
}

/// Records that the publisher offers a list's content in use, with what it states about the file.
///
/// # Errors
/// Also when the installation uses another content by now.
pub async fn confirm(db: &Db, name: &str, offered: &Offered) -> Result<(), ListSetError> {
    store::transaction!(db, |tx| -> Result<(), ListSetError> {
        let set = list_sets::for_update(tx).await?;
        if set.and_then(|set| Some(set.lists.get(name)?.digest)) != Some(offered.digest) {
            return Err(ListSetError::ChangedMeanwhile(name.to_owned()));
        }
        list_updates::record_confirmation(tx, name, &offered.digest).await?;
        Ok(list_updates::record_success(tx, name, Some(offered)).await?)
    })
}

/// Removes a list from the installation's set, and returns whether the set contained it. With `here`, the
/// list is in this node's folder, so a row is written in any case.
pub async fn remove(db: &Db, name: &str, actor: &str, here: bool) -> Result<bool, Error> {
    store::transaction!(db, |tx| -> Result<bool, Error> {
        let mut lists = list_sets::for_update(tx)
            .await?
            .map(|set| set.lists)
            .unwrap_or_default();
        let removed = lists.remove(name).is_some();
        if removed {
            list_sets::replace(tx, &lists).await?;
        }
        list_updates::record_removal(tx, name).await?;
        if removed || here {
            let entry = audit::Entry {
                actor,
                action: "lists.removed",
                subject: name,
                detail: "{}",
            };
            operator_audit::write(tx, &entry).await?;
        }
        Ok(removed)
    })
}

async fn record(tx: &mut Tx, actor: &str, action: &str, name: &str, list: &ListVersion) -> Result<(), Error> {
    let detail = json!({
        "version": list.version,
        "digest": hex::encode(list.digest),
        "entities": list.entities,
        "needsChoice": list.needs_choice,
    });
    let entry = audit::Entry {
        actor,
        action,
        subject: name,
        detail: &detail.to_string(),
    };
    operator_audit::write(tx, &entry).await
}

#[cfg(test)]
#[path = "list_set_tests.rs"]
mod tests;
