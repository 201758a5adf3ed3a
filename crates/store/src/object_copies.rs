//! Copies the objects of attempts as they are stored, sealed, for backups. This module opens none of them.

use futures_util::{Stream, TryStreamExt as _};
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};

use crate::{Error, Objects};

/// An object as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredObject {
    /// Its path below the root of the object store.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Objects {
    /// All objects of attempts, in no order. Objects of readiness checks and of other programs are left out.
    ///
    /// # Errors
    /// [`Error::Objects`], as an item of the stream.
    pub fn stored(&self) -> impl Stream<Item = Result<StoredObject, Error>> + '_ {
        self.store
            .list(Some(&self.root))
            .map_err(Error::from)
            .try_filter_map(async move |object| {
                let attempt = self.attempt_of(&object.location);
                let is_ours = attempt.is_some_and(|(scope, _)| !scope.merchant_id.is_nil());
                Ok(self
                    .below_root(&object.location)
                    .filter(|_| is_ours)
                    .map(|path| StoredObject {
                        path,
                        bytes: object.size,
                    }))
            })
    }

    /// The sealed bytes of an object; `None` if it was deleted in the meantime.
    ///
    /// # Errors
    /// [`Error::Config`] if no attempt's object has such a path; [`Error::Objects`].
    pub async fn read_stored(&self, path: &str) -> Result<Option<Vec<u8>>, Error> {
        match self.store.get(&self.of_attempt(path)?).await {
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            found => Ok(Some(found?.bytes().await?.to_vec())),
        }
    }

    /// The size of an object in bytes; `None` if there is no such object.
    ///
    /// # Errors
    /// As [`Objects::read_stored`].
    pub async fn stored_size(&self, path: &str) -> Result<Option<u64>, Error> {
        match self.store.head(&self.of_attempt(path)?).await {
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            found => Ok(Some(found?.size)),
        }
    }

    /// Stores the sealed bytes of an object. They are durable when this returns.
    ///
    /// # Errors
    /// As [`Objects::read_stored`].
    pub async fn write_stored(&self, path: &str, sealed: Vec<u8>) -> Result<(), Error> {
        let path = self.of_attempt(path)?;
        self.store.put(&path, PutPayload::from(sealed)).await?;
        Ok(())
    }

    /// The location of an attempt's object. A backup can contain any path, so it is checked.
    fn of_attempt(&self, path: &str) -> Result<Path, Error> {
        let below = Path::parse(path).map_err(|error| Error::Config(error.to_string()))?;
        let location: Path = self.root.parts().chain(below.parts()).collect();
        match self.attempt_of(&location) {
            Some(_) => Ok(location),
            None => Err(Error::Config(format!(
                "{path:?} is not the path of an attempt's object"
            ))),
        }
    }

    fn below_root(&self, location: &Path) -> Option<String> {
        let parts = location.prefix_match(&self.root)?;
        Some(parts.collect::<Path>().as_ref().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{DataKey, ObjectName, Scope};

    #[tokio::test]
    async fn objects_are_copied_sealed_and_only_attempts_have_any() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let open = |folder: &tempfile::TempDir| {
            Objects::open(&format!("file:{}", folder.path().display()), &[]).unwrap()
        };
        let (from_objects, to_objects) = (open(&from), open(&to));
        let key = DataKey::generate();
        let scope = Scope {
            merchant_id: Uuid::from_u128(7),
            sandbox: true,
        };
        let name = ObjectName {
            scope,
            attempt_id: Uuid::from_u128(9),
            file: "a file/with signs?",
        };
        from_objects.put(&key, &name, b"a face").await.unwrap();
        std::fs::write(from.path().join("not-ours"), "").unwrap();
        let checks = format!("{0}/sandbox/attempts/{0}", Uuid::nil());
        std::fs::create_dir_all(from.path().join(&checks)).unwrap();
        std::fs::write(from.path().join(checks).join("ping"), "").unwrap();
        let stored: Vec<StoredObject> = from_objects.stored().try_collect().await.unwrap();
        let [object] = stored.as_slice() else {
            panic!("{stored:?}")
        };
        let sealed = from_objects.read_stored(&object.path).await.unwrap().unwrap();
        assert_eq!(sealed.len() as u64, object.bytes);
        assert_eq!(to_objects.stored_size(&object.path).await.unwrap(), None);
        to_objects.write_stored(&object.path, sealed).await.unwrap();
        assert_eq!(
            to_objects.stored_size(&object.path).await.unwrap(),
            Some(object.bytes)
        );
        assert_eq!(to_objects.get(&key, &name).await.unwrap().as_slice(), b"a face");
        let uuid = Uuid::from_u128(9);
        for bad in [
            "".to_owned(),
            "master.key".to_owned(),
            "../master.key".to_owned(),
            "erasures/x.json".to_owned(),
            format!("{uuid}/live/attempts/{uuid}"),
            format!("{uuid}/live/attempts/../../{uuid}"),
            format!("/{uuid}/live/attempts/{uuid}/../selfie"),
        ] {
            let refused = to_objects.write_stored(&bad, Vec::new()).await;
            assert!(matches!(refused, Err(Error::Config(_))), "{bad}: {refused:?}");
        }
    }
}
