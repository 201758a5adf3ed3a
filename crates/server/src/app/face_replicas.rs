//! Each account's proven faces in memory, kept up to date from the store's sequence of face changes. A replica: losing it costs a reload.
//!
//! How identification is serialised (`decisions.md` §4): [`Replica::catch_up`] brings the replica to sequence N without a lock;
//! inside the transaction that holds the account's face lock it is called again, which then reads only what came after N.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use faces::{Embedding, FaceIndex, Hit, IDENTIFICATION_BAND};
use store::{Conn, Scope};
use tokio::sync::Mutex;

use crate::error::Problem;

/// Changes read at once.
const PAGE: i64 = 10_000;

/// One account's faces up to a sequence.
#[derive(Default)]
pub struct Replica {
    sequence: i64,
    index: FaceIndex,
}

/// The replicas of all accounts that were asked for.
#[derive(Default)]
pub struct FaceReplicas(std::sync::Mutex<HashMap<Scope, Arc<Mutex<Replica>>>>);

impl FaceReplicas {
    /// The account's replica.
    pub fn of(&self, scope: Scope) -> Arc<Mutex<Replica>> {
        let mut replicas = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(replicas.entry(scope).or_default())
    }
}

impl Replica {
    /// Reads what happened since, up to date within the transaction. Faces of another model than `model` cannot be compared, and
    /// are left out until their people are seen again.
    pub async fn catch_up(&mut self, conn: &mut Conn, scope: Scope, model: &str) -> Result<(), Problem> {
        let mut other_models = 0;
        loop {
            let changes = store::faces::after(conn, scope, self.sequence, PAGE).await?;
            if changes.is_empty() {
                break;
            }
            for change in changes {
                match change.embedding {
                    Some(bytes) if change.model == model => {
                        let face = Embedding::from_bytes(&bytes).map_err(Problem::internal)?;
                        self.index.insert(change.facemap_id, &face).map_err(|_| mixed())?;
                    }
                    Some(_) => other_models += 1,
                    None => {
                        self.index.remove(change.facemap_id);
                    }
                }
                self.sequence = change.seq;
            }
        }
        if other_models > 0 {
            tracing::warn!(faces = other_models, "faces of another model are not searched");
        }
        Ok(())
    }

    /// The known facemaps near a face, nearest first, the near-duplicates' band included.
    pub fn search(&self, face: &Embedding) -> Result<Vec<Hit>, Problem> {
        self.index.search(face, IDENTIFICATION_BAND).map_err(|_| mixed())
    }
}

fn mixed() -> Problem {
    Problem::internal("the index holds another model's faces")
}
