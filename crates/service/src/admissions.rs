//! The admission of a hosted session's attempt: a lease in the database that states that this node works on
//! it. While it lasts the session cannot expire, so a poll never reads `expired` before `success`. It decides
//! nothing about the attempt.
//!
//! The lease is renewed while the work runs, and withdrawn when the attempt is refused or its client hangs
//! up. It ends with the transaction that records the attempt. If the node dies, it expires.

use std::time::Duration;

use store::{Error, Scope, admissions};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::Shared;
use crate::problem::Problem;

/// A quarter of the lease, so that one failed renewal does not end it.
const RENEWED_EVERY: Duration = Duration::from_millis(admissions::LEASE_MS.unsigned_abs() / 4);

/// An admitted attempt. It is withdrawn if it is dropped before the attempt is recorded.
pub struct Admission {
    app: Shared,
    scope: Scope,
    session_id: Uuid,
    renewal: JoinHandle<()>,
    is_recorded: bool,
}

impl Admission {
    /// Admits an attempt; `None` if its session accepts no more.
    pub async fn of(app: &Shared, scope: Scope, session_id: Uuid) -> Result<Option<Self>, Problem> {
        let admitted = store::transaction!(app.db, |tx| -> Result<bool, Problem> {
            Ok(admissions::admit(tx, scope, session_id).await?)
        })?;
        Ok(admitted.then(|| Admission {
            app: app.clone(),
            scope,
            session_id,
            renewal: tokio::spawn(renew(app.clone(), scope, session_id)),
            is_recorded: false,
        }))
    }

    /// Notes that the transaction that records the attempt has ended the admission.
    pub fn recorded(mut self) {
        self.is_recorded = true;
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.renewal.abort();
        if self.is_recorded {
            return;
        }
        let (app, scope, session_id) = (self.app.clone(), self.scope, self.session_id);
        // A stopping server waits for this task.
        self.app.recordings.spawn(async move {
            let withdrawn = store::transaction!(app.db, |tx| -> Result<(), Error> {
                admissions::withdraw(tx, scope, session_id).await
            });
            if let Err(error) = withdrawn {
                tracing::warn!(%error, "an admission could not be withdrawn; it runs out by itself");
            }
        });
    }
}

async fn renew(app: Shared, scope: Scope, session_id: Uuid) {
    loop {
        tokio::time::sleep(RENEWED_EVERY).await;
        let renewed = store::transaction!(app.db, |tx| -> Result<(), Error> {
            admissions::renew(tx, scope, session_id).await
        });
        if let Err(error) = renewed {
            tracing::warn!(%error, "an admission could not be renewed");
        }
    }
}
