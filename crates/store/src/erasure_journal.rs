//! The erasure journal: the ids of destroyed keys, in the object store, outside the database. After a
//! restore, the keys that the backup brought back are destroyed again. The journal contains no personal data,
//! and no entry is ever changed or deleted.
//!
//! **Order.** The caller first appends the entry durably, then commits the transaction that destroys the
//! keys, and only then reports the erasure. So every reported erasure is in the journal. If the transaction
//! fails, the entry remains and names keys whose destruction was requested. Repeating the request destroys
//! them, and so does a restore.
//!
//! **Format.** `erasures/UUIDv7.json`: `{"version": 1, "at": milliseconds, "keys": ["64 hex digits", …]}`. A
//! key's id is a keyed hash of the random id of the row that contains the key (see [`KeyId`]). It stays the
//! same when the key is wrapped again, and older backups give the same id. Without the keyring it identifies
//! no person.

use std::collections::BTreeSet;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::path::{Path, PathPart};
use object_store::{ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Conn, Error, Objects, Scope};

/// The folder of the entries, below the root of the object store.
const FOLDER: &str = "erasures";
/// The version of the entry format.
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

impl Objects {
    fn journal(&self) -> Path {
        self.root.parts().chain([PathPart::from(FOLDER)]).collect()
    }

    /// Appends an entry to the erasure journal. The entry is durable when this returns.
    ///
    /// # Errors
    /// [`Error::Objects`]; then the caller must not destroy the keys.
    pub async fn append_to_journal(&self, at: i64, keys: BTreeSet<KeyId>) -> Result<(), Error> {
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

    /// The ids of all keys in the journal, for a restore.
    ///
    /// # Errors
    /// [`Error::Objects`]; [`Error::Journal`] for an entry that is truncated, malformed, or written by a
    /// newer program. Then the restore must stop, because skipping the entry would bring an erased person
    /// back.
    pub async fn journal_of_erasures(&self) -> Result<BTreeSet<KeyId>, Error> {
        let mut keys = BTreeSet::new();
        let folder = self.journal();
        let mut entries = self.store.list(Some(&folder));
        while let Some(object) = entries.try_next().await? {
            let bytes = self.store.get(&object.location).await?.bytes().await?;
            let entry: Option<Entry> = serde_json::from_slice(&bytes).ok();
            let entry = entry
                .filter(|entry| entry.version == VERSION && entry.keys.iter().all(KeyId::is_well_formed));
            let entry = entry.ok_or_else(|| Error::Journal(object.location.to_string()))?;
            keys.extend(entry.keys);
        }
        Ok(keys)
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
        assert_eq!(objects.journal_of_erasures().await.unwrap(), BTreeSet::new());
        for digits in ["a", "bc", "b"] {
            let keys = digits.chars().map(key).collect();
            objects.append_to_journal(1, keys).await.unwrap();
        }
        let all: BTreeSet<KeyId> = "abc".chars().map(key).collect();
        assert_eq!(objects.journal_of_erasures().await.unwrap(), all);
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
            let found = objects.journal_of_erasures().await;
            assert!(matches!(found, Err(Error::Journal(_))), "{text}: {found:?}");
        }
        std::fs::write(&entry, whole).unwrap();
        assert_eq!(objects.journal_of_erasures().await.unwrap(), all);
    }
}
