//! Objects: the files of attempts in a folder or an S3-compatible bucket. Each file is sealed under its
//! attempt's key. This module neither interprets their content nor uses SQL.

use std::collections::BTreeSet;
use std::path::Path as FsPath;
use std::str::FromStr as _;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::{Path, PathPart};
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload};
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::keyring::{DataKey, SealContext};
use crate::{Error, Scope};

/// The object store. Clones share it.
#[derive(Clone)]
pub struct Objects {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) root: Path,
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Objects({})", self.store)
    }
}

/// An inventory of the object store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectInventory {
    /// The number of attempts' objects.
    pub objects: u64,
    /// Their total size in bytes.
    pub bytes: u64,
    /// The attempts whose objects are all older than the requested time.
    pub old_attempts: BTreeSet<(Scope, Uuid)>,
}

/// One file of an attempt.
#[derive(Clone, Copy, Debug)]
pub struct ObjectName<'a> {
    /// The account and mode.
    pub scope: Scope,
    /// The attempt's id.
    pub attempt_id: Uuid,
    /// The name of the file, for instance `passportFront`.
    pub file: &'a str,
}

impl Objects {
    /// Opens `file:FOLDER`, which is created if missing, or `s3://BUCKET/PREFIX`. A bucket takes its region,
    /// endpoint and credentials from the usual `AWS_…` environment variables. `options` override them
    /// (`endpoint`, `access_key_id`, `secret_access_key`, `region`, `allow_http`, …: the names of
    /// object_store's `AmazonS3ConfigKey`).
    ///
    /// # Errors
    /// [`Error::Config`] for another kind of address or an unknown option; [`Error::Objects`].
    pub fn open(url: &str, options: &[(String, String)]) -> Result<Self, Error> {
        if let Some(folder) = url.strip_prefix("file:") {
            return Self::folder(FsPath::new(folder.strip_prefix("//").unwrap_or(folder)));
        }
        if url.starts_with("s3://") {
            return Self::bucket(url, options);
        }
        Err(Error::Config(
            "the objects' address must begin with file: or s3://".into(),
        ))
    }

    fn folder(folder: &FsPath) -> Result<Self, Error> {
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::Config(format!("{}: {error}", folder.display())))?;
        // An object that a committed row refers to must survive a power cut.
        let store = LocalFileSystem::new_with_prefix(folder)?
            .with_fsync(true)
            .with_automatic_cleanup(true);
        Ok(Self {
            store: Arc::new(store),
            root: Path::default(),
        })
    }

    fn bucket(url: &str, options: &[(String, String)]) -> Result<Self, Error> {
        // The HTTP client needs a process-wide TLS provider. If one is installed already, it serves too.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = AmazonS3Builder::from_env().with_url(url);
        for (name, value) in options {
            let key = AmazonS3ConfigKey::from_str(name)?;
            builder = builder.with_config(key, value);
        }
        let prefix = url
            .trim_start_matches("s3://")
            .split_once('/')
            .map_or("", |(_, prefix)| prefix);
        Ok(Self {
            store: Arc::new(builder.build()?),
            root: Path::from(prefix),
        })
    }

    fn attempt(&self, scope: Scope, attempt_id: Uuid) -> Path {
        let merchant = scope.merchant_id.to_string();
        let mode = if scope.sandbox { "sandbox" } else { "live" };
        let attempt = attempt_id.to_string();
        let parts = [merchant.as_str(), mode, "attempts", attempt.as_str()];
        self.root.parts().chain(parts.map(PathPart::from)).collect()
    }

    fn path(&self, name: &ObjectName<'_>) -> Path {
        self.attempt(name.scope, name.attempt_id).join(name.file)
    }

    /// Seals bytes under the attempt's key and stores them. They are durable when this returns.
    ///
    /// # Errors
    /// [`Error::Objects`].
    pub async fn put(&self, key: &DataKey, name: &ObjectName<'_>, bytes: &[u8]) -> Result<(), Error> {
        self.put_sealed(name, seal(key, name, bytes)).await
    }

    /// Stores bytes that [`seal`] sealed for this name. They are durable when this returns.
    ///
    /// # Errors
    /// [`Error::Objects`].
    pub async fn put_sealed(&self, name: &ObjectName<'_>, sealed: SealedObject) -> Result<(), Error> {
        let payload = PutPayload::from_bytes(Bytes::from(sealed.0));
        self.store.put(&self.path(name), payload).await?;
        Ok(())
    }

    /// Reads and opens an object.
    ///
    /// # Errors
    /// [`Error::Missing`]; [`Error::Sealed`] under another key; [`Error::Objects`].
    pub async fn get(&self, key: &DataKey, name: &ObjectName<'_>) -> Result<Zeroizing<Vec<u8>>, Error> {
        let found = match self.store.get(&self.path(name)).await {
            Err(object_store::Error::NotFound { .. }) => return Err(Error::Missing("object")),
            found => found?,
        };
        key.open(&seal_context(name), &found.bytes().await?)
    }

    /// The names of an attempt's files, in order.
    ///
    /// # Errors
    /// [`Error::Objects`].
    pub async fn files(&self, scope: Scope, attempt_id: Uuid) -> Result<Vec<String>, Error> {
        let prefix = self.attempt(scope, attempt_id);
        let found: Vec<_> = self.store.list(Some(&prefix)).try_collect().await?;
        let mut names: Vec<String> = found
            .iter()
            .filter_map(|object| object.location.filename().map(str::to_owned))
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Deletes an attempt's objects; returns how many there were.
    ///
    /// # Errors
    /// [`Error::Objects`].
    pub async fn delete_attempt(&self, scope: Scope, attempt_id: Uuid) -> Result<usize, Error> {
        let prefix = self.attempt(scope, attempt_id);
        let found: Vec<_> = self.store.list(Some(&prefix)).try_collect().await?;
        for object in &found {
            match self.store.delete(&object.location).await {
                // Another process has already deleted it.
                Err(object_store::Error::NotFound { .. }) => {}
                deleted => deleted?,
            }
        }
        Ok(found.len())
    }

    /// Counts all objects of attempts, and finds the attempts whose objects were all written before a time
    /// (ms). Objects that other programs stored here are ignored.
    ///
    /// # Errors
    /// [`Error::Objects`].
    pub async fn inventory(&self, before: i64) -> Result<ObjectInventory, Error> {
        let (mut old, mut young) = (BTreeSet::new(), BTreeSet::new());
        let mut stock = ObjectInventory::default();
        let mut objects = self.store.list(Some(&self.root));
        while let Some(object) = objects.try_next().await? {
            if let Some(attempt) = self.attempt_of(&object.location) {
                stock.objects += 1;
                stock.bytes += object.size;
                let is_old = object.last_modified.timestamp_millis() < before;
                if is_old { &mut old } else { &mut young }.insert(attempt);
            }
        }
        old.retain(|attempt| !young.contains(attempt));
        Ok(ObjectInventory {
            old_attempts: old,
            ..stock
        })
    }

    /// The attempt of an object, from its path.
    pub(crate) fn attempt_of(&self, object: &Path) -> Option<(Scope, Uuid)> {
        let parts: Vec<PathPart<'_>> = object.prefix_match(&self.root)?.collect();
        let [merchant, mode, attempts, attempt, _file] = parts.as_slice() else {
            return None;
        };
        let sandbox = match (mode.as_ref(), attempts.as_ref()) {
            ("sandbox", "attempts") => true,
            ("live", "attempts") => false,
            _ => return None,
        };
        let merchant_id = Uuid::parse_str(merchant.as_ref()).ok()?;
        let scope = Scope { merchant_id, sandbox };
        Some((scope, Uuid::parse_str(attempt.as_ref()).ok()?))
    }

    /// Writes, reads and deletes a small object, for readiness checks.
    ///
    /// # Errors
    /// [`Error::Objects`] if a step fails; [`Error::Sealed`] if the content differs.
    pub async fn ping(&self) -> Result<(), Error> {
        let key = DataKey::generate();
        let scope = Scope {
            merchant_id: Uuid::nil(),
            sandbox: true,
        };
        let name = ObjectName {
            scope,
            attempt_id: Uuid::new_v4(),
            file: "ping",
        };
        self.put(&key, &name, b"ping").await?;
        self.get(&key, &name).await?;
        self.delete_attempt(scope, name.attempt_id).await?;
        Ok(())
    }
}

/// An object's bytes, sealed under its attempt's key.
pub struct SealedObject(Vec<u8>);

/// Seals bytes under the attempt's key. This is CPU work for a blocking thread.
#[must_use]
pub fn seal(key: &DataKey, name: &ObjectName<'_>, bytes: &[u8]) -> SealedObject {
    SealedObject(key.seal(&seal_context(name), bytes))
}

fn seal_context<'a>(name: &'a ObjectName<'a>) -> SealContext<'a> {
    // The context needs no attempt id, because each attempt has a different key.
    SealContext {
        merchant_id: name.scope.merchant_id,
        what: "object",
        id: name.file.as_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(file: &str) -> ObjectName<'_> {
        let scope = Scope {
            merchant_id: Uuid::from_u128(7),
            sandbox: true,
        };
        ObjectName {
            scope,
            attempt_id: Uuid::from_u128(9),
            file,
        }
    }

    #[tokio::test]
    async fn a_folder_holds_ciphertext_only() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&format!("file:{}/new", folder.path().display()), &[]).unwrap();
        objects.ping().await.unwrap();
        let key = DataKey::generate();
        objects.put(&key, &name("selfie"), b"a face").await.unwrap();
        objects
            .put(&key, &name("../../escape"), b"elsewhere")
            .await
            .unwrap();
        assert_eq!(
            objects.get(&key, &name("selfie")).await.unwrap().as_slice(),
            b"a face"
        );
        assert!(matches!(
            objects.get(&key, &name("back")).await,
            Err(Error::Missing(_))
        ));
        assert!(matches!(
            objects.get(&DataKey::generate(), &name("selfie")).await,
            Err(Error::Sealed)
        ));
        let path = folder.path().join(format!(
            "new/{}/sandbox/attempts/{}",
            Uuid::from_u128(7),
            Uuid::from_u128(9)
        ));
        let raw = std::fs::read(path.join("selfie")).unwrap();
        assert!(!raw.windows(6).any(|window| window == b"a face"));
        assert_eq!(
            objects
                .delete_attempt(name("").scope, Uuid::from_u128(9))
                .await
                .unwrap(),
            2
        );
        assert!(matches!(
            objects.get(&key, &name("selfie")).await,
            Err(Error::Missing(_))
        ));
    }

    #[tokio::test]
    async fn old_attempts_are_told_by_their_youngest_object() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&format!("file:{}", folder.path().display()), &[]).unwrap();
        let key = DataKey::generate();
        let of = |attempt: u128, file| ObjectName {
            attempt_id: Uuid::from_u128(attempt),
            ..name(file)
        };
        for (attempt, file) in [(1, "selfie"), (1, "front"), (2, "selfie"), (2, "front")] {
            objects.put(&key, &of(attempt, file), b"").await.unwrap();
        }
        std::fs::write(folder.path().join("not-ours"), "").unwrap();
        let in_a_minute = jiff::Timestamp::now().as_millisecond() + 60_000;
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(120);
        let young = folder.path().join(objects.path(&of(2, "front")).as_ref());
        std::fs::File::options()
            .write(true)
            .open(young)
            .unwrap()
            .set_modified(later)
            .unwrap();
        let old = objects.inventory(in_a_minute).await.unwrap().old_attempts;
        assert_eq!(old, BTreeSet::from([(name("").scope, Uuid::from_u128(1))]));
    }

    #[test]
    fn addresses() {
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let options = [
            option("endpoint", "http://127.0.0.1:9"),
            option("allow_http", "true"),
        ];
        let bucket = Objects::open("s3://faces/some/prefix", &options).unwrap();
        assert_eq!(bucket.root.as_ref(), "some/prefix");
        assert_eq!(Objects::open("s3://faces", &options).unwrap().root.as_ref(), "");
        assert!(matches!(Objects::open("ftp://faces", &[]), Err(Error::Config(_))));
        assert!(Objects::open("s3://faces", &[option("no such option", "")]).is_err());
    }
}
