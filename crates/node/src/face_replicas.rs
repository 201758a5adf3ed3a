//! Each account's proven faces in memory, a replica of the store's sequence of face changes. It decides
//! nothing, and all its data is also in the database: a lost replica only has to be loaded again.
//!
//! How identification is serialised (`docs/decisions/0013-faces-and-people.md`): [`Replica::catch_up`] first
//! brings the replica to sequence N without a lock. It runs again inside the transaction that has the
//! account's face lock, and then reads only the changes after N.
//!
//! The database can return to an earlier state behind a running process: a replica that lagged is promoted, a
//! backup is restored, or a transaction that was read is rolled back. So each catch-up first checks, by its
//! random token, that the change at the replica's own sequence is still there. If it is not, the replica
//! starts again from nothing. The check inside the lock is the decisive one, because nothing can change
//! between it and the search.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use faces::{Embedding, Hit, IDENTIFICATION_BAND, KnownFaces};
use store::faces::Position;
use store::{Conn, Scope};
use tokio::sync::Mutex;

use crate::problem::Problem;

/// Changes that are read at once.
const PAGE: i64 = 10_000;

/// One account's faces up to a position in its sequence.
#[derive(Default)]
pub struct Replica {
    position: Position,
    faces: KnownFaces,
}

/// The replicas of all accounts that were used so far.
#[derive(Default)]
pub struct FaceReplicas(std::sync::Mutex<HashMap<Scope, Arc<Mutex<Replica>>>>);

impl FaceReplicas {
    /// Returns the account's replica, created empty if necessary.
    pub fn of(&self, scope: Scope) -> Arc<Mutex<Replica>> {
        let mut replicas = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(replicas.entry(scope).or_default())
    }
}

impl Replica {
    /// An empty replica for searches of faces of this version.
    fn of(model: &str) -> Self {
        Replica {
            position: Position::default(),
            faces: KnownFaces::new(model),
        }
    }

    /// Reads the changes since the last call, so that the replica is up to date within the transaction. If
    /// the database returned to an earlier state, it reads everything. Faces that have no model in common with `model`,
    /// the version of the faces to search for, cannot be compared; they are left out.
    pub async fn catch_up(&mut self, conn: &mut Conn, scope: Scope, model: &str) -> Result<(), Problem> {
        if !store::faces::contains(conn, scope, self.position).await? {
            *self = Replica::of(model);
            tracing::info!(
                "an account's faces are read anew: the last change that was read is no longer in the database"
            );
        }
        if self.faces.version() != model {
            *self = Replica::of(model);
        }
        let mut other_models = 0_u64;
        loop {
            let changes = store::faces::list_after(conn, scope, self.position.seq, PAGE).await?;
            if changes.is_empty() {
                break;
            }
            for change in changes {
                match change.embedding {
                    Some(bytes) if faces::are_comparable(&change.model, model) => {
                        let face = Embedding::from_bytes(&bytes).map_err(Problem::internal)?;
                        let is_known = self.faces.insert(change.facemap_id, &face).map_err(|_| mixed())?;
                        other_models += u64::from(!is_known);
                    }
                    Some(_) => other_models += 1,
                    None => self.faces.remove(change.facemap_id),
                }
                self.position = change.at;
            }
        }
        if other_models > 0 {
            tracing::warn!(faces = other_models, "faces of another model are not searched");
        }
        Ok(())
    }

    /// The number of known faces that a search compares with.
    pub fn faces(&self) -> usize {
        self.faces.len()
    }

    /// The known facemaps near a face, nearest first, including those that are only near-duplicates.
    pub fn search(&self, face: &Embedding) -> Result<Vec<Hit>, Problem> {
        self.faces.search(face, IDENTIFICATION_BAND).map_err(|_| mixed())
    }
}

fn mixed() -> Problem {
    Problem::internal("the index holds another model's faces")
}
