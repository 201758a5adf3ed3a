//! Faces that a hold left unproven, and their proof by an approval
//! (`docs/decisions/0021-held-for-review.md`).
//!
//! A stolen or copied picture is held for review. Until a person approves the attempt, its face is not
//! searched, bound or counted as a duplicate, so it never blocks the real person. The attempt's sealed detail
//! contains the embedding. The approval runs the identification that the attempt did not, inside the
//! account's serial step. `verification` decides what is held.

use faces::{Embedding, Hit};
use store::attempts::{self, Attempt};
use store::{Db, Scope, Tx, people};
use tokio::sync::OwnedMutexGuard;
use uuid::Uuid;
use verification::hold::FaceProof;
use verification::identity::{Nearness, SubmissionScope};
use verification::status::AttemptStatus;

use super::attempt_detail::{Detail, SimilarFace, face_outdated};
use super::face_replicas::{FaceReplicas, Replica};
use super::identify::{Applicant, identify, nearness};
use super::names;
use crate::problem::{Kind, Problem};

/// The account's replica for [`prove`], if an attempt has a held face. Call it before the transaction: a task
/// with the replica's lock may wait for the database, but never the other way round.
///
/// # Errors
/// A conflict if the face resembles other people's. The attempt then shows them, and may be approved after
/// that.
pub async fn replica_for(
    db: &Db,
    faces: &FaceReplicas,
    scope: Scope,
    log_id: i64,
) -> Result<Option<OwnedMutexGuard<Replica>>, Problem> {
    let Some(attempt) = attempts::get(&mut db.read().await?, scope, log_id).await? else {
        return Ok(None);
    };
    let detail = Detail::of(&attempt)?;
    let Some(held) = &detail.held_face else {
        return Ok(None);
    };
    let face = held.embedding()?;
    let mut replica = faces.of(scope).lock_owned().await;
    let mut conn = db.read().await?;
    // This leaves less to read in the account's serial step.
    replica.catch_up(&mut conn, scope, face.version()).await?;
    let own = people::resolve(&mut conn, scope, attempt.facemap_id)
        .await?
        .map_or(attempt.facemap_id, |person| person.facemap_id);
    drop(conn);
    let more = look_alikes(&replica.search(&face)?, replica.faces(), own, &detail.similar);
    if more.is_empty() {
        return Ok(Some(replica));
    }
    store::transaction!(db, |tx| -> Result<(), Problem> {
        // The lock ensures that no other task proves the face between this read and the write.
        store::faces::lock(tx, scope).await?;
        let Some(attempt) = attempts::get(tx, scope, log_id).await? else {
            return Ok(());
        };
        let mut detail = Detail::of(&attempt)?;
        detail.similar.extend(more.iter().cloned());
        save(tx, scope, &attempt, &detail).await.map(|_| ())
    })?;
    let text =
        "This face resembles another person's, whom the attempt now shows. Compare the two, then decide.";
    Err(Problem::new(Kind::Conflict, text).named("looks_alike"))
}

/// People whose faces, among so many, are similar to a held one and whom its attempt does not show yet.
fn look_alikes(hits: &[Hit], faces: usize, own: Uuid, shown: &[SimilarFace]) -> Vec<SimilarFace> {
    let is_shown = |hit: &Hit| shown.iter().any(|face| face.facemap_id == hit.facemap);
    hits.iter()
        .filter(|hit| {
            let nearness = nearness(hit, faces);
            matches!(nearness, Nearness::Undecided | Nearness::NearDuplicate)
        })
        .filter(|hit| hit.facemap != own && !is_shown(hit))
        .map(|hit| SimilarFace {
            facemap_id: hit.facemap,
            similarity: faces::similarity(hit.distance),
        })
        .collect()
}

/// Proves the face of an attempt that is being approved: finds or creates the person as at a submission.
/// Returns the changed attempt. The caller has begun the account's serial step.
///
/// # Errors
/// A conflict if the face or the `externalUserId` now belongs to another person, or if its person is known by
/// a name under which the attempt was not screened.
pub async fn prove(
    tx: &mut Tx,
    replica: Option<&mut Replica>,
    scope: Scope,
    attempt: &Attempt,
) -> Result<Attempt, Problem> {
    let mut detail = Detail::of(attempt)?;
    let Some(held) = detail.held_face.take() else {
        return Ok(attempt.clone());
    };
    let face = held.embedding()?;
    // A face can only be compared with those that the same model read. Faces of an earlier model that could not be
    // embedded again are left out, as at submission.
    if !is_of_newest_model(tx, scope, &face).await? {
        return Err(face_outdated());
    }
    let replica = replica.ok_or_else(|| Problem::internal("a held face without a replica to search"))?;
    let before = store::faces::sequence(tx, scope).await?;
    let Applicant {
        identity,
        registration,
        similar,
        facemap_id,
        undecided,
    } = identify(
        tx,
        scope,
        replica,
        Some(&face),
        SubmissionScope {
            grouping_id: attempt.grouping_id,
            external_user_id: &attempt.external_user_id,
        },
    )
    .await?;
    if identity.id_belongs_to_another {
        let text = "This externalUserId belongs to another person, whose face has been proven since (2306). Decline this attempt.";
        return Err(Problem::new(Kind::Conflict, text).named("id_taken"));
    }
    let own = registration.as_ref().map(|registration| registration.id);
    // A later attempt may have proven the same face for the same registration. Then no other registration is
    // affected.
    if own.is_none() || own != attempt.registration_id {
        let text = "This face is registered here under another externalUserId (2307). Decline this attempt, or decide on the other one first.";
        return Err(Problem::new(Kind::Conflict, text).named("face_taken"));
    }
    if names::any_unscreened(tx, scope, facemap_id, &detail.names).await? {
        let text = "This face belongs to a person known under another name, and this attempt was not screened under that name. \
                    Decline the attempt and ask the applicant to verify again with a new selfie.";
        return Err(Problem::new(Kind::Conflict, text).named("names_unscreened"));
    }
    tracing::info!(log_id = attempt.log_id, "an approval proved a held face");
    // As at submission: with a face that resembles another person's, hits set aside for that person still
    // count.
    detail.face_proven = !identity.near_duplicate;
    detail.similar = similar;
    detail.undecided = undecided;
    if store::faces::sequence(tx, scope).await? > before {
        detail.bound_face = Some(held);
    }
    save(tx, scope, attempt, &detail).await
}

/// Whether the account's newest face can be compared with this one; true if the account has no face.
pub(super) async fn is_of_newest_model(tx: &mut Tx, scope: Scope, face: &Embedding) -> Result<bool, Problem> {
    /// Erasures among the newest changes are passed over, up to so many.
    const NEWEST: i64 = 1_000;
    let newest = store::faces::sequence(tx, scope).await?;
    let changes = store::faces::list_after(tx, scope, newest - NEWEST, NEWEST).await?;
    let newest = changes.iter().rev().find(|change| change.embedding.is_some());
    Ok(newest.is_none_or(|change| faces::are_comparable(&change.model, face.version())))
}

async fn save(tx: &mut Tx, scope: Scope, attempt: &Attempt, detail: &Detail) -> Result<Attempt, Problem> {
    let names = detail.names_record()?;
    let detail = serde_json::to_string(&detail).map_err(Problem::internal)?;
    attempts::set_detail(tx, scope, attempt, (&detail, &names)).await?;
    attempts::get(tx, scope, attempt.log_id)
        .await?
        .ok_or_else(|| Problem::internal("an attempt vanished while it was being decided on"))
}

/// When an attempt is declined, takes its face from the person to whom an earlier approval bound it, so that
/// the real owner of the face is no duplicate. If another registered attempt proved the face, it stays bound.
/// Returns the changed attempt. The caller has begun the account's serial step.
pub async fn unbind(tx: &mut Tx, scope: Scope, attempt: &Attempt) -> Result<Attempt, Problem> {
    let mut detail = Detail::of(attempt)?;
    let Some(bound) = detail.bound_face.take() else {
        return Ok(attempt.clone());
    };
    let person = people::resolve(tx, scope, attempt.facemap_id)
        .await?
        .ok_or_else(|| Problem::internal("an attempt of nobody"))?
        .facemap_id;
    match keeps_face(tx, scope, person, attempt).await? {
        Keeps::Nobody => {}
        Keeps::Proof => return Ok(attempt.clone()),
        Keeps::Approval(other, mut its_detail) => {
            // The face is removed when that attempt is declined too.
            its_detail.bound_face = Some(bound);
            save(tx, scope, &other, &its_detail).await?;
            return save(tx, scope, attempt, &detail).await;
        }
    }
    let enrolled = store::faces::of_person(tx, scope, person).await?;
    let others = without_face(enrolled, &bound.embedding()?);
    people::unbind_faces(tx, scope, person).await?;
    if !others.is_empty() {
        people::set_proven(tx, scope, person).await?;
    }
    for (model, face) in &others {
        store::faces::insert(tx, scope, person, model, face).await?;
    }
    // These findings concern the face's owner, to whom the facemap no longer belongs.
    for cleared in store::suppressions::of_person(tx, scope, person).await? {
        store::suppressions::remove(tx, scope, person, &cleared.list, &cleared.entity_id).await?;
    }
    tracing::info!(log_id = attempt.log_id, "a decline took a held face back");
    detail.held_face = Some(bound);
    detail.face_proven = false;
    save(tx, scope, attempt, &detail).await
}

/// The enrolled faces (model and embedding) that an approval did not bind; a merge may have brought them. None remain
/// if the bound one is not among them: it may have been embedded again by a later model, and must not stay.
fn without_face(mut enrolled: Vec<(String, Vec<u8>)>, bound: &Embedding) -> Vec<(String, Vec<u8>)> {
    let before = enrolled.len();
    enrolled.retain(|(_, face)| {
        // A face in a format of an earlier version cannot be compared.
        Embedding::from_bytes(face).map_or(true, |face| !faces::is_of_same_picture(&face, bound))
    });
    if enrolled.len() == before {
        enrolled.clear();
    }
    enrolled
}

/// Why a face stays bound although the attempt whose approval bound it is declined.
enum Keeps {
    /// The face does not stay bound.
    Nobody,
    /// Another registered attempt proved it, whatever that attempt's result.
    Proof,
    /// Another attempt with this held face is approved.
    Approval(Box<Attempt>, Box<Detail>),
}

async fn keeps_face(tx: &mut Tx, scope: Scope, person: Uuid, attempt: &Attempt) -> Result<Keeps, Problem> {
    let mut keeps = Keeps::Nobody;
    for log_id in attempts::log_ids(tx, scope, person).await? {
        let other = attempts::get(tx, scope, log_id).await?;
        let registered = |other: &Attempt| other.log_id != attempt.log_id && other.registration_id.is_some();
        let Some(other) = other.filter(registered) else {
            continue;
        };
        let Ok(detail) = Detail::of(&other) else {
            // The attempt cannot be read, so the face stays bound.
            return Ok(Keeps::Proof);
        };
        let is_approved = other.status == AttemptStatus::Approved;
        match FaceProof::of_attempt(&detail.holds, detail.face_proven, is_approved) {
            FaceProof::Submission => return Ok(Keeps::Proof),
            FaceProof::Approval => keeps = Keeps::Approval(Box::new(other), Box::new(detail)),
            FaceProof::None => {}
        }
    }
    Ok(keeps)
}

#[cfg(test)]
mod tests {
    use faces::EMBEDDING_LEN;

    use super::*;

    #[test]
    fn a_face_that_is_taken_back_never_stays() {
        let embedding = |version: &str, fill: i16| Embedding::new(version, [fill; EMBEDDING_LEN]).unwrap();
        let row = |face: Embedding| (face.version().to_owned(), face.to_bytes());
        let bound = embedding("0123456789ar", 1_000);
        let face = |number: i16| row(embedding("0123456789ar", number * 1_000));
        let later = |number: i16| row(embedding("ba987654321r", number * 1_000));
        let own = row(bound.clone().with_own("ffff00001111", vec![1; 64]).unwrap());
        for (what, enrolled, expected) in [
            ("the bound face alone", vec![face(1)], vec![]),
            ("beside a merged person's", vec![face(1), face(2)], vec![face(2)]),
            (
                "measured by a custom embedder since, beside a merged person's",
                vec![own, face(2)],
                vec![face(2)],
            ),
            ("embedded again", vec![later(3)], vec![]),
            (
                "embedded again, beside a merged person's",
                vec![later(3), later(2)],
                vec![],
            ),
            ("nothing is enrolled", vec![], vec![]),
        ] {
            assert_eq!(without_face(enrolled, &bound), expected, "{what}");
        }
    }

    #[test]
    fn only_near_faces_that_are_not_shown_are_look_alikes() {
        let [own, near, shown, same] = [1, 2, 3, 4].map(Uuid::from_u128);
        let hit = |facemap, distance| Hit {
            facemap,
            distance,
            by_own: false,
        };
        let hits = [hit(same, 0.9), hit(own, 1.1), hit(near, 1.12), hit(shown, 1.15)];
        let known = [SimilarFace {
            facemap_id: shown,
            similarity: 85.0,
        }];
        let found = |faces, shown: &[SimilarFace]| -> Vec<Uuid> {
            let found = look_alikes(&hits, faces, own, shown);
            found.iter().map(|face| face.facemap_id).collect()
        };
        assert_eq!(found(10, &known), [near]);
        assert_eq!(found(10, &[]), [near, shown]);
        assert_eq!(
            found(10_000, &known),
            [same, near],
            "among so many, no hit is surely the same"
        );
    }
}
