//! Re-indexes faces after a change of the face model: proven faces are embedded again from stored selfies, so
//! that their people are recognised again. A selfie counts only if its attempt proved the person's face. A
//! person without one is left unchanged and counted.

use std::collections::BTreeSet;
use std::time::Duration;

use engine_process::EngineWorkers;
use faces::Embedding;
use rand::seq::SliceRandom;
use serde_json::json;
use store::attempts::{self, Attempt};
use store::audit::{self, Entry};
use store::objects::ObjectName;
use store::{Db, Error, Objects, Scope};
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;
use verification::submission::FileField;

use super::App;
use super::attempt_detail::Detail;
use crate::cpu::CpuPool;
use crate::problem::Problem;

/// The result for an account's people whose faces an older model had embedded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reindexed {
    /// People who are recognised again.
    pub renewed: u64,
    /// People who are still not recognised: no proven selfie is stored, or the new model finds no usable face
    /// on it.
    pub left: u64,
}

/// The parts that re-indexing needs.
pub struct Reindexer {
    /// The database.
    pub db: Db,
    /// The selfies.
    pub objects: Objects,
    /// The processes that embed them.
    pub engines: EngineWorkers,
    /// The version of the new model.
    pub face_model: String,
}

/// Re-indexes the faces of all accounts that an earlier model than `face_model` embedded, whenever this node has
/// nothing else to do. `skipped` is kept from run to run.
///
/// # Errors
/// As [`Reindexer::reindex`].
pub async fn sweep(app: &App, face_model: &str, skipped: &mut BTreeSet<Uuid>) -> Result<Reindexed, Problem> {
    let outdated = store::faces::count_outdated(&mut app.db.read().await?, face_model).await?;
    let mut done = Reindexed::default();
    if outdated == 0 {
        return Ok(done);
    }
    let reindexer = Reindexer {
        db: app.db.clone(),
        objects: app.objects.clone(),
        engines: app.engines.clone(),
        face_model: face_model.to_owned(),
    };
    for account in store::merchants::list(&mut app.db.read().await?).await? {
        for sandbox in [false, true] {
            let scope = Scope {
                merchant_id: account.id,
                sandbox,
            };
            let of_scope = reindexer
                .reindex(scope, "server", Some(&app.cpu), skipped)
                .await?;
            done.renewed += of_scope.renewed;
            done.left += of_scope.left;
        }
    }
    Ok(done)
}

/// The most selfies of a person that are embedded again.
const MOST_SELFIES: usize = 8;
/// How long to wait before looking again for a worker that has nothing to do.
const BUSY: Duration = Duration::from_millis(250);

async fn idle(pool: &CpuPool) -> Result<OwnedSemaphorePermit, Problem> {
    loop {
        let capacity = pool.capacity();
        if capacity.running < capacity.workers && capacity.waiting == 0 {
            return pool.permit().await;
        }
        tokio::time::sleep(BUSY).await;
    }
}

impl Reindexer {
    /// Re-indexes an account's faces one person at a time, while servers run. It can be interrupted and
    /// started again. With a `pace`, each person waits for a worker that has nothing else to do. People whose
    /// face cannot be embedded are added to `skipped`, and those in it are not tried.
    ///
    /// # Errors
    /// When database, object store, decoder or model fail.
    pub async fn reindex(
        &self,
        scope: Scope,
        actor: &str,
        pace: Option<&CpuPool>,
        skipped: &mut BTreeSet<Uuid>,
    ) -> Result<Reindexed, Problem> {
        let mut people = {
            let mut conn = self.db.read().await?;
            store::faces::outdated_people(&mut conn, scope, &self.face_model).await?
        };
        people.retain(|facemap_id| !skipped.contains(facemap_id));
        // Several nodes work at once. In different orders, they rarely meet.
        people.shuffle(&mut rand::rng());
        let mut done = Reindexed::default();
        for facemap_id in people {
            let _permit = match pace {
                Some(pool) => Some(idle(pool).await?),
                None => None,
            };
            let replaced = match self.faces(scope, facemap_id).await {
                Ok(found) => self.replace(scope, facemap_id, &found).await?,
                // An unreadable attempt does not stop the others.
                Err(problem) => {
                    tracing::warn!(facemap = %facemap_id, %problem, "a face is left as it was");
                    Replaced::Left
                }
            };
            match replaced {
                Replaced::All => done.renewed += 1,
                // The person was erased meanwhile, or another process re-indexed the face.
                Replaced::Nothing => {}
                Replaced::Left => {
                    skipped.insert(facemap_id);
                    done.left += 1;
                }
            }
        }
        if done.renewed > 0 {
            let detail = json!({"renewed": done.renewed, "left": done.left}).to_string();
            let entry = Entry {
                actor,
                action: "faces.reindexed",
                subject: &scope.merchant_id.to_string(),
                detail: &detail,
            };
            store::transaction!(self.db, |tx| -> Result<(), Problem> {
                Ok(audit::write(tx, scope, &entry).await?)
            })?;
        }
        Ok(done)
    }

    async fn replace(
        &self,
        scope: Scope,
        facemap_id: Uuid,
        found: &[Embedding],
    ) -> Result<Replaced, Problem> {
        store::transaction!(self.db, |tx| -> Result<Replaced, Problem> {
            store::faces::lock(tx, scope).await?;
            let enrolled = store::faces::of_person(tx, scope, facemap_id).await?;
            let is_old = |(model, _): &(String, Vec<u8>)| !store::faces::is_current(model, &self.face_model);
            if !enrolled.iter().any(is_old) {
                return Ok(Replaced::Nothing);
            }
            let renewed = renewed(enrolled.clone(), &self.face_model, found);
            if renewed != enrolled {
                store::faces::replace(tx, scope, facemap_id, &renewed).await?;
            }
            Ok(if renewed.iter().any(is_old) {
                Replaced::Left
            } else {
                Replaced::All
            })
        })
    }

    /// The person's face on the newest stored selfies that proved it, newest first.
    async fn faces(&self, scope: Scope, facemap_id: Uuid) -> Result<Vec<Embedding>, Problem> {
        let log_ids = attempts::log_ids(&mut self.db.read().await?, scope, facemap_id).await?;
        let mut faces = Vec::new();
        for log_id in log_ids.into_iter().rev() {
            if faces.len() == MOST_SELFIES {
                break;
            }
            let found = attempts::get(&mut self.db.read().await?, scope, log_id).await?;
            let Some(attempt) = found else {
                continue;
            };
            // An unreadable attempt may have proved the face. If it were left out, the person would pass as a
            // new one.
            let detail = Detail::of(&attempt)?;
            if detail.face_proven {
                faces.extend(embed_selfie(&self.objects, &self.engines, scope, &attempt).await?);
            }
        }
        Ok(faces)
    }
}

/// The result of replacing a person's faces.
enum Replaced {
    /// No face of an earlier model is left.
    All,
    /// The person had no face of an earlier model.
    Nothing,
    /// Some faces of an earlier model are left.
    Left,
}

/// A person's faces after some were embedded again, newest first. A face that the current networks can still compare is
/// replaced only by the one from the same picture, because a merged person has faces that do not resemble each other.
/// Faces that they cannot compare are replaced by the newest one.
fn renewed(enrolled: Vec<(String, Vec<u8>)>, current: &str, found: &[Embedding]) -> Vec<(String, Vec<u8>)> {
    let row = |face: &Embedding| (face.version().to_owned(), face.to_bytes());
    let mut renewed = Vec::with_capacity(enrolled.len());
    for (model, bytes) in enrolled {
        let known = Embedding::from_bytes(&bytes).ok();
        let comparable = known.filter(|_| faces::are_comparable(&model, current));
        let next = if store::faces::is_current(&model, current) {
            (model, bytes)
        } else if let Some(known) = comparable {
            let is_same = |face: &&Embedding| faces::is_of_same_picture(face, &known);
            found.iter().find(is_same).map_or((model, bytes), row)
        } else {
            found.first().map_or((model, bytes), row)
        };
        if !renewed.contains(&next) {
            renewed.push(next);
        }
    }
    renewed
}

/// The face on an attempt's stored selfie. `None`: no selfie is stored, or no usable face is found on it.
pub(crate) async fn embed_selfie(
    objects: &Objects,
    engines: &EngineWorkers,
    scope: Scope,
    attempt: &Attempt,
) -> Result<Option<Embedding>, Problem> {
    let name = ObjectName {
        scope,
        attempt_id: attempt.id,
        file: FileField::Selfie.as_str(),
    };
    let selfie = match objects.get(&attempt.key, &name).await {
        Err(Error::Missing(_)) => return Ok(None),
        selfie => selfie?,
    };
    let engines = engines.clone();
    let picture = tokio::task::spawn_blocking(move || engines.selfie(&selfie, || false))
        .await
        .map_err(Problem::internal)??;
    // A selfie that can no longer be decoded has no face.
    Ok(picture
        .ok()
        .and_then(|picture| picture.usable_face()?.embedding.clone()))
}

#[cfg(test)]
mod tests {
    use faces::EMBEDDING_LEN;

    use super::*;

    const CURRENT: &str = "0123456789ar+ffff00001111";

    fn plain(fill: i16) -> Embedding {
        Embedding::new("0123456789ar", [fill; EMBEDDING_LEN]).unwrap()
    }

    fn own(fill: i16) -> Embedding {
        plain(fill).with_own("ffff00001111", vec![100; 64]).unwrap()
    }

    #[test]
    fn a_face_is_replaced_by_the_one_on_its_own_picture() {
        let row = |face: &Embedding| (face.version().to_owned(), face.to_bytes());
        let foreign = Embedding::new("ba9876543210", [0; EMBEDDING_LEN]).unwrap();
        for (what, enrolled, found, expected) in [
            ("one face", vec![plain(100)], vec![own(100)], vec![own(100)]),
            (
                "nearly the same numbers",
                vec![plain(100)],
                vec![own(101)],
                vec![own(101)],
            ),
            (
                "a newer selfie beside it",
                vec![plain(100)],
                vec![own(2_000), own(100)],
                vec![own(100)],
            ),
            (
                "two faces after a merge",
                vec![plain(100), plain(2_000)],
                vec![own(2_000), own(100)],
                vec![own(100), own(2_000)],
            ),
            (
                "one of them without a selfie",
                vec![plain(100), plain(2_000)],
                vec![own(2_000)],
                vec![plain(100), own(2_000)],
            ),
            ("no selfie", vec![plain(100)], vec![], vec![plain(100)]),
            (
                "an earlier model's",
                vec![foreign.clone(), foreign.clone()],
                vec![own(2_000), own(100)],
                vec![own(2_000)],
            ),
            (
                "an earlier model's without a selfie",
                vec![foreign.clone()],
                vec![],
                vec![foreign],
            ),
            ("nothing old", vec![own(100)], vec![own(2_000)], vec![own(100)]),
        ] {
            let rows = |faces: &[Embedding]| faces.iter().map(row).collect::<Vec<_>>();
            assert_eq!(
                renewed(rows(&enrolled), CURRENT, &found),
                rows(&expected),
                "{what}"
            );
        }
    }
}
