//! Copies of sanctions lists in the object store, named by the SHA-256 of their entities, from which nodes get lists that
//! another node imported. Lists are public, so the copies are not encrypted. Whoever reads a copy checks its digest.

use std::fs::File;
use std::io::{Read as _, Write as _};

use futures_util::TryStreamExt as _;
use object_store::path::{Path, PathPart};
use object_store::{ObjectStoreExt as _, WriteMultipart};

use crate::{Error, Objects};

/// The folder of the copies, below the root of the object store.
const FOLDER: &str = "lists";
const EXTENSION: &str = ".list.jsonl";
/// The size of a part of an upload, in bytes. S3 allows 10,000 parts.
const PART: usize = 8 << 20;
/// How many parts are sent at once.
const PARTS_AT_ONCE: usize = 2;

/// A copy of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListCopy {
    /// SHA-256 of the list's entities.
    pub digest: [u8; 32],
    /// When it was stored (ms).
    pub stored_at: i64,
}

impl Objects {
    fn list_folder(&self) -> Path {
        let folder = std::iter::once(PathPart::from(FOLDER));
        self.root.parts().chain(folder).collect()
    }

    fn list_path(&self, digest: &[u8; 32]) -> Path {
        self.list_folder()
            .join(format!("{}{EXTENSION}", hex::encode(digest)))
    }

    /// Whether there is a copy of a list with this content.
    ///
    /// # Errors
    /// [`Error::Objects`].
    pub async fn has_list(&self, digest: &[u8; 32]) -> Result<bool, Error> {
        match self.store.head(&self.list_path(digest)).await {
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            found => Ok(found.map(|_| true)?),
        }
    }

    /// Stores a copy of a list's file. It is complete and durable when this returns; before that, nobody sees it.
    ///
    /// # Errors
    /// [`Error::Objects`], also if the file cannot be read.
    pub async fn put_list(&self, digest: &[u8; 32], mut file: File) -> Result<(), Error> {
        let upload = self.store.put_multipart(&self.list_path(digest)).await?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, PART);
        loop {
            let part = tokio::task::spawn_blocking(move || {
                let mut part = Vec::new();
                let read = std::io::Read::by_ref(&mut file)
                    .take(PART as u64)
                    .read_to_end(&mut part);
                read.map(|_| (file, part))
            });
            let part = part.await.map_err(std::io::Error::other).flatten();
            let (rest, part) = match part {
                Ok(part) => part,
                Err(error) => {
                    writer.abort().await?;
                    return Err(unreadable(error));
                }
            };
            file = rest;
            if part.is_empty() {
                break;
            }
            if let Err(error) = writer.wait_for_capacity(PARTS_AT_ONCE).await {
                writer.abort().await?;
                return Err(error.into());
            }
            writer.put(part.into());
        }
        // A failed upload is ended by this, too.
        writer.finish().await?;
        Ok(())
    }

    /// Writes a copy into a file. Returns the file; `None` if there is no copy.
    ///
    /// # Errors
    /// [`Error::Objects`], also if the file cannot be written.
    pub async fn get_list(&self, digest: &[u8; 32], mut file: File) -> Result<Option<File>, Error> {
        let found = match self.store.get(&self.list_path(digest)).await {
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            found => found?,
        };
        let mut parts = found.into_stream();
        while let Some(part) = parts.try_next().await? {
            let written = tokio::task::spawn_blocking(move || file.write_all(&part).map(|()| file));
            file = written
                .await
                .map_err(std::io::Error::other)
                .flatten()
                .map_err(unreadable)?;
        }
        Ok(Some(file))
    }

    /// All copies. Objects of other kinds and programs are left out.
    ///
    /// # Errors
    /// [`Error::Objects`].
    pub async fn list_copies(&self) -> Result<Vec<ListCopy>, Error> {
        let found: Vec<_> = self.store.list(Some(&self.list_folder())).try_collect().await?;
        let copy = |object: object_store::ObjectMeta| {
            let name = object.location.filename()?.strip_suffix(EXTENSION)?;
            Some(ListCopy {
                digest: hex::decode(name).ok()?.try_into().ok()?,
                stored_at: object.last_modified.timestamp_millis(),
            })
        };
        Ok(found.into_iter().filter_map(copy).collect())
    }

    /// Deletes a copy.
    ///
    /// # Errors
    /// [`Error::Objects`].
    pub async fn delete_list(&self, digest: &[u8; 32]) -> Result<(), Error> {
        match self.store.delete(&self.list_path(digest)).await {
            // Another process has already deleted it.
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            deleted => Ok(deleted?),
        }
    }
}

/// A file of this machine that cannot be read or written.
fn unreadable(error: std::io::Error) -> Error {
    Error::from(object_store::Error::Generic {
        store: "list copy",
        source: Box::new(error),
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, SeekFrom};

    use super::*;

    #[tokio::test]
    async fn a_copy_is_stored_read_and_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&format!("file:{}", folder.path().display()), &[]).unwrap();
        let digest = [7; 32];
        let empty = || tempfile::tempfile().unwrap();
        assert!(!objects.has_list(&digest).await.unwrap());
        assert!(objects.get_list(&digest, empty()).await.unwrap().is_none());
        // More than two parts.
        let content: Vec<u8> = (0..2 * PART + 5).map(|at| (at % 251) as u8).collect();
        let mut file = empty();
        file.write_all(&content).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        objects.put_list(&digest, file).await.unwrap();
        let mut found = objects.get_list(&digest, empty()).await.unwrap().unwrap();
        let mut text = Vec::new();
        found.seek(SeekFrom::Start(0)).unwrap();
        found.read_to_end(&mut text).unwrap();
        assert!(text == content);
        // Neither the inventory of attempts nor a strange file is confused with it.
        std::fs::write(folder.path().join("lists").join("strange"), "").unwrap();
        let copies = objects.list_copies().await.unwrap();
        assert_eq!(
            copies.iter().map(|copy| copy.digest).collect::<Vec<_>>(),
            [digest]
        );
        assert_eq!(objects.inventory(i64::MAX).await.unwrap().objects, 0);
        objects.delete_list(&digest).await.unwrap();
        objects.delete_list(&digest).await.unwrap();
        assert!(!objects.has_list(&digest).await.unwrap());
    }
}
