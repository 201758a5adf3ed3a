//! The master key and the keys that it wraps: checks that a process's key belongs to the installation, and
//! performs the two steps of a rotation. `store::Keyring` reads the key file.

use store::{Db, Error, installation, merchants, sign_ups, staff};

use super::operations::{self, COMMAND_LINE};

/// Writes the installation's check value if there is none yet.
///
/// # Errors
/// As [`installation::confirm`], if the process has another key.
pub async fn confirm(db: &Db) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> { installation::confirm(tx).await })
}

/// Records that the key file has a new master key.
pub async fn record_rotation(db: &Db, fingerprint: &str) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        operations::record(tx, COMMAND_LINE, "master_key.rotated", fingerprint).await
    })
}

/// Gives all accounts and all staff whose keys an earlier master key wrapped new keys, wrapped by the newest master key.
/// Returns the number of each. Servers then replace the keys below ([`key_renewal`](super::key_renewal)).
pub async fn rewrap(db: &Db, fingerprint: &str) -> Result<(u64, u64), Error> {
    store::transaction!(db, |tx| -> Result<(u64, u64), Error> {
        installation::rewrap_check(tx).await?;
        sign_ups::rewrap_keys(tx).await?;
        let wrapped = (merchants::rewrap_keys(tx).await?, staff::rewrap_keys(tx).await?);
        operations::record(tx, COMMAND_LINE, "master_key.rewrapped", fingerprint).await?;
        Ok(wrapped)
    })
}
