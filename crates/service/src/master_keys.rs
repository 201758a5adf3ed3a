//! The master key and what it wraps: whether a process's key belongs to the installation, and the two steps of a rotation. The file of the
//! keys is `store::Keyring`'s.

use store::{Db, Error, installation, merchants, sign_ups, staff};

use super::operations::{self, COMMAND_LINE};

/// Writes the installation's check value where there is none yet.
///
/// # Errors
/// As [`installation::confirm`]: the process has another key.
pub async fn confirm(db: &Db) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> { installation::confirm(tx).await })
}

/// Records that the key file has a new master key.
pub async fn record_rotation(db: &Db, fingerprint: &str) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        operations::record(tx, COMMAND_LINE, "master_key.rotated", fingerprint).await
    })
}

/// Wraps all keys of accounts and staff by the newest master key; how many of each.
pub async fn rewrap(db: &Db, fingerprint: &str) -> Result<(u64, u64), Error> {
    store::transaction!(db, |tx| -> Result<(u64, u64), Error> {
        installation::rewrap_check(tx).await?;
        sign_ups::rewrap_keys(tx).await?;
        let wrapped = (merchants::rewrap_keys(tx).await?, staff::rewrap_keys(tx).await?);
        operations::record(tx, COMMAND_LINE, "master_key.rewrapped", fingerprint).await?;
        Ok(wrapped)
    })
}
