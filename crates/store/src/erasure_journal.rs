//! The erasure journal: the ids of destroyed keys, in the object store, outside the database. After a
//! restore, the keys that the backup brought back are destroyed again. The journal contains no personal data,
//! and no entry is ever changed or deleted.
//!
//! **Order.** The caller first appends the entry durably, then commits the transaction that destroys the
//! keys, and only then reports the erasure. So every reported erasure is in the journal. If the transaction
//! fails, the entry remains and names keys whose destruction was requested. Repeating the request destroys
//! them, and so does a restore.
//!
//! **Format.** `erasures/UUIDv7.json`: `{"version": 1, "at": milliseconds, "keys": ["64 hex digits", …]}`. The
//! file `erasure-journal.json`, next to that folder, identifies the installation that the journal belongs to.
//! A key's id is a keyed hash of the random id of the row that contains the key (see [`KeyId`]). It stays the
//! same when the key is wrapped again, and older backups give the same id. Without the keyring it identifies
//! no person.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::path::{Path, PathPart};
use object_store::{ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Conn, Error, Objects, Scope};

/// The folder of the entries, below the root of the object store.
const FOLDER: &str = "erasures";
/// The file that names the installation.
const HEADER: &str = "erasure-journal.json";
/// The version of the formats.
const VERSION: u32 = 1;

/// The id of a person's or an attempt's key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(String);

impl KeyId {
    /// The id of a facemap's key. The facemap is a person's, or was merged into a person's.
    #[must_use]
    pub fn of_facemap(conn: &Conn, scope: Scope, facemap_id: Uuid) -> Self {
        Self::of(conn, scope, "person", facemap_id)
    }

    /// The id of an attempt's key.
    #[must_use]
    pub fn of_attempt(conn: &Conn, scope: Scope, attempt_id: Uuid) -> Self {
        Self::of(conn, scope, "attempt", attempt_id)
    }

    fn of(conn: &Conn, scope: Scope, kind: &str, id: Uuid) -> Self {
        let named = conn.keyring().blind(scope, "erased key", &format!("{kind} {id}"));
        KeyId(hex::encode(named))
    }

    fn is_well_formed(&self) -> bool {
        self.0.len() == 64 && self.0.bytes().all(|byte| byte.is_ascii_hexdigit())
    }
}

/// Keys that were destroyed together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    version: u32,
    /// When (ms).
    at: i64,
    keys: BTreeSet<KeyId>,
}

impl Entry {
    fn parse(text: &[u8]) -> Option<Self> {
        let entry: Self = serde_json::from_slice(text).ok()?;
        let is_known = entry.version == VERSION && entry.keys.iter().all(KeyId::is_well_formed);
        is_known.then_some(entry)
    }
}

/// The content of [`HEADER`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JournalHeader {
    version: u32,
    /// See [`Keyring::installation_id`](crate::Keyring::installation_id).
    installation: String,
}

/// The whole journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// The content of each entry, by its file's name.
    pub entries: BTreeMap<String, Vec<u8>>,
    /// The ids of all destroyed keys.
    pub keys: BTreeSet<KeyId>,
    /// When the latest entry was written (ms).
    pub latest: Option<i64>,
}

impl Objects {
    fn journal(&self) -> Path {
        self.root.parts().chain([PathPart::from(FOLDER)]).collect()
    }

    /// Appends an entry to the erasure journal of an installation
    /// ([`Keyring::installation_id`](crate::Keyring::installation_id)). The entry is durable when this returns.
    ///
    /// # Errors
    /// [`Error::Objects`]; then the caller must not destroy the keys.
    pub async fn append_to_journal(
        &self,
        installation: &str,
        at: i64,
        keys: BTreeSet<KeyId>,
    ) -> Result<(), Error> {
        self.begin_journal(installation).await?;
        let entry = Entry {
            version: VERSION,
            at,
            keys,
        };
        let text = serde_json::to_vec(&entry).map_err(|error| Error::Config(error.to_string()))?;
        let path = self.journal().join(format!("{}.json", Uuid::now_v7()));
        let options = PutOptions::from(PutMode::Create);
        self.store
            .put_opts(&path, PutPayload::from_bytes(Bytes::from(text)), options)
            .await?;
        Ok(())
    }

    /// Names the installation whose journal this is, unless the journal has a name already.
    ///
    /// # Errors
    /// [`Error::Objects`].
    pub async fn begin_journal(&self, installation: &str) -> Result<(), Error> {
        if self.journal_installation().await?.is_some() {
            return Ok(());
        }
        let title = JournalHeader {
            version: VERSION,
            installation: installation.to_owned(),
        };
        let text = serde_json::to_vec(&title).map_err(|error| Error::Config(error.to_string()))?;
        let options = PutOptions::from(PutMode::Create);
        let payload = PutPayload::from_bytes(Bytes::from(text));
        match self.store.put_opts(&self.title(), payload, options).await {
            // Another process was faster.
            Err(object_store::Error::AlreadyExists { .. }) => Ok(()),
            put => Ok(put.map(|_| ())?),
        }
    }

    /// The installation whose journal this is; `None` if the object store has no journal yet.
    ///
    /// # Errors
    /// [`Error::Objects`]; [`Error::Journal`] if the file is malformed or a newer program wrote it.
    pub async fn journal_installation(&self) -> Result<Option<String>, Error> {
        let path = self.title();
        let text = match self.store.get(&path).await {
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            found => found?.bytes().await?,
        };
        let title: Option<JournalHeader> = serde_json::from_slice(&text).ok();
        let title = title.filter(|title| title.version == VERSION);
        let title = title.ok_or_else(|| Error::Journal(path.to_string()))?;
        Ok(Some(title.installation))
    }

    fn title(&self) -> Path {
        self.root.parts().chain([PathPart::from(HEADER)]).collect()
    }

    /// Reads the whole journal, for a backup or a restore.
    ///
    /// # Errors
    /// [`Error::Objects`]; [`Error::Journal`] for an entry that is truncated, malformed, or written by a
    /// newer program. Then the restore must stop, because skipping the entry would bring an erased person
    /// back.
    pub async fn erasure_journal(&self) -> Result<Journal, Error> {
        let mut journal = Journal::default();
        let folder = self.journal();
        let mut entries = self.store.list(Some(&folder));
        while let Some(object) = entries.try_next().await? {
            let text = self.store.get(&object.location).await?.bytes().await?;
            let entry = Entry::parse(&text).ok_or_else(|| Error::Journal(object.location.to_string()))?;
            journal.keys.extend(entry.keys);
            journal.latest = journal.latest.max(Some(entry.at));
            let name = object.location.filename().unwrap_or_default().to_owned();
            journal.entries.insert(name, text.to_vec());
        }
        Ok(journal)
    }

    /// Adds an entry of a copy of the journal, unless it is there already. It is durable when this returns.
    ///
    /// # Errors
    /// [`Error::Journal`] if the name or the content is not that of an entry; [`Error::Objects`].
    pub async fn restore_to_journal(&self, name: &str, text: Vec<u8>) -> Result<(), Error> {
        let id = name.strip_suffix(".json").and_then(|id| Uuid::parse_str(id).ok());
        if id.is_none() || Entry::parse(&text).is_none() {
            return Err(Error::Journal(name.to_owned()));
        }
        let options = PutOptions::from(PutMode::Create);
        let path = self.journal().join(name);
        match self.store.put_opts(&path, PutPayload::from(text), options).await {
            Err(object_store::Error::AlreadyExists { .. }) => Ok(()),
            put => Ok(put.map(|_| ())?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(digit: char) -> KeyId {
        KeyId(digit.to_string().repeat(64))
    }

    #[tokio::test]
    async fn entries_are_added_up_and_an_unreadable_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&format!("file:{}", folder.path().display()), &[]).unwrap();
        assert_eq!(objects.erasure_journal().await.unwrap(), Journal::default());
        for digits in ["a", "bc", "b"] {
            let keys = digits.chars().map(key).collect();
            objects.append_to_journal("ours", 1, keys).await.unwrap();
        }
        let all: BTreeSet<KeyId> = "abc".chars().map(key).collect();
        assert_eq!(objects.erasure_journal().await.unwrap().keys, all);
        assert_eq!(
            objects.journal_installation().await.unwrap().as_deref(),
            Some("ours")
        );
        objects.begin_journal("theirs").await.unwrap();
        assert_eq!(
            objects.journal_installation().await.unwrap().as_deref(),
            Some("ours")
        );
        // Sweeping objects and counting stock pass the journal over.
        assert_eq!(
            objects.inventory(i64::MAX).await.unwrap(),
            crate::objects::ObjectInventory::default()
        );
        let whole = r#"{"version":1,"at":1,"keys":[]}"#;
        let bad = [
            "",
            &whole[..20],
            r#"{"version":2,"at":1,"keys":[]}"#,
            r#"{"version":1,"at":1,"keys":["short"]}"#,
            r#"{"version":1,"at":1,"keys":[],"more":1}"#,
        ];
        let entry = folder
            .path()
            .join("erasures/00000000-0000-7000-8000-000000000000.json");
        for text in bad {
            std::fs::write(&entry, text).unwrap();
            let found = objects.erasure_journal().await;
            assert!(matches!(found, Err(Error::Journal(_))), "{text}: {found:?}");
        }
        std::fs::write(&entry, whole).unwrap();
        assert_eq!(objects.erasure_journal().await.unwrap().keys, all);
    }
}
