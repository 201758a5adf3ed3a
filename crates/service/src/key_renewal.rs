//! Replaces the keys of people and accounts after a change of the master key, in small transactions, while servers
//! work. Every node may do this at the same time. [`store::key_renewal`] defines what is replaced.

use store::key_renewal::{Progress, pending};
use store::{Db, Error};
use uuid::Uuid;

/// Renews the keys of all accounts that wait for it; returns the number of renewed people and rows. A failure in one
/// account does not stop the others.
///
/// # Errors
/// The first account's error, after all others were processed.
pub async fn sweep(db: &Db) -> Result<u64, Error> {
    let (mut renewed, mut failed) = (0, None);
    let waiting = pending(&mut db.read().await?).await?;
    for (merchant_id, _) in waiting {
        match account(db, merchant_id).await {
            Ok(progress) if progress.unreadable > 0 => {
                renewed += progress.renewed;
                let rows = progress.unreadable;
                tracing::warn!(%merchant_id, rows, "some rows could not be decrypted and were left unchanged");
            }
            Ok(progress) => renewed += progress.renewed,
            Err(error) => {
                tracing::warn!(%merchant_id, %error, "the account's keys could not be renewed");
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(renewed), Err)
}

async fn account(db: &Db, merchant_id: Uuid) -> Result<Progress, Error> {
    let mut progress = Progress::begin(&mut db.read().await?, merchant_id).await?;
    loop {
        let from = &progress;
        let (next, is_done) = store::transaction!(db, |tx| -> Result<(Progress, bool), Error> {
            from.clone().step(tx).await
        })?;
        progress = next;
        if is_done {
            return Ok(progress);
        }
    }
}
