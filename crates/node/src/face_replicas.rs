//! Each account's proven faces in memory, a replica of the store's sequence of face changes. It decides nothing and keeps
//! nothing that the database does not have; losing it costs a reload.
//!
//! How identification is serialised (`docs/decisions/0013-faces-and-people.md`): [`Replica::catch_up`] brings the replica to sequence N without a
//! lock. Inside the transaction that holds the account's face lock it is called again and reads only what came after N.
//!
//! The database can go back behind a running process: a replica that lagged is promoted, a backup is restored, or a
//! transaction that was read is rolled back. So each catch-up first checks that the change at the replica's own sequence
//! is still there, by its random token. If it is not, the replica starts again from nothing. The check inside the lock
//! is the one that counts: nothing can change between it and the search.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use faces::{Embedding, FaceIndex, Hit, IDENTIFICATION_BAND};
use store::faces::Position;
use store::{Conn, Scope};
use tokio::sync::Mutex;

use crate::problem::Problem;

/// Changes read at once.
const PAGE: i64 = 10_000;

/// One account's faces up to a position in its sequence.
#[derive(Default)]
pub struct Replica {
    /// Whose faces these are, among models; empty before the first call.
    model: String,
    position: Position,
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
    /// Reads what happened since the last call, up to date within the transaction; everything, if the database went back behind the
    /// replica. Faces of another model than `model` cannot be compared and are left out until their people return.
    pub async fn catch_up(&mut self, conn: &mut Conn, scope: Scope, model: &str) -> Result<(), Problem> {
        if !store::faces::contains(conn, scope, self.position).await? {
            *self = Replica::default();
            tracing::info!(
                "an account's faces are read anew: the last change that was read is no longer in the database"
            );
        }
        if self.model != model {
            *self = Replica {
                model: model.to_owned(),
                ..Replica::default()
            };
        }
        let mut other_models = 0;
        loop {
            let changes = store::faces::after(conn, scope, self.position.seq, PAGE).await?;
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
                self.position = change.at;
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
