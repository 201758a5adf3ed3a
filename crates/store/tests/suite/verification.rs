//! The transaction of a verification as the server runs it, with the simplest rules that need all steps: two
//! faces are the same if their bytes are equal.

use reference::status::AttemptStatus;
use store::attempts::{self, NewAttempt};
use store::audit::{self, Entry};
use store::outbox::{self, NewEvent};
use store::registrations::{self, Registration};
use store::{DataKey, Db, Error, Scope, faces, people};
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The person is registered in the group.
    Registered { facemap_id: Uuid, log_id: i64 },
    /// The face is registered in the group under another label, so the attempt is only logged.
    Duplicate { facemap_id: Uuid, log_id: i64 },
    /// The label belongs to another face, so the attempt is only logged.
    LabelTaken { facemap_id: Uuid, log_id: i64 },
}

impl Outcome {
    pub(crate) fn facemap_id(&self) -> Uuid {
        let (Self::Registered { facemap_id, .. }
        | Self::Duplicate { facemap_id, .. }
        | Self::LabelTaken { facemap_id, .. }) = self;
        *facemap_id
    }

    pub(crate) fn log_id(&self) -> i64 {
        let (Self::Registered { log_id, .. }
        | Self::Duplicate { log_id, .. }
        | Self::LabelTaken { log_id, .. }) = self;
        *log_id
    }
}

/// A submission. `face` is `None` if no face was proven.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Submission<'a> {
    pub(crate) label: &'a str,
    pub(crate) group: Option<Uuid>,
    pub(crate) face: Option<&'a [u8]>,
    pub(crate) status: AttemptStatus,
}

async fn search(
    conn: &mut store::Conn,
    scope: Scope,
    after: i64,
    face: &[u8],
) -> Result<Option<Uuid>, Error> {
    let changes = faces::list_after(conn, scope, after, i64::MAX).await?;
    Ok(changes
        .into_iter()
        .find(|change| change.embedding.as_deref() == Some(face))
        .map(|change| change.facemap_id))
}

pub(crate) async fn verify(db: &Db, scope: Scope, submission: Submission<'_>) -> Result<Outcome, Error> {
    // Searches all faces up to `seen` without a lock.
    let (seen, mut known) = {
        let mut conn = db.read().await?;
        let seen = faces::sequence(&mut conn, scope).await?;
        let known = match submission.face {
            Some(face) => search(&mut conn, scope, 0, face).await?,
            None => None,
        };
        (seen, known)
    };
    let key = DataKey::generate();
    store::transaction!(db, |tx| -> Result<Outcome, Error> {
        faces::lock(tx, scope).await?;
        if let (Some(face), None) = (submission.face, known) {
            known = search(tx, scope, seen, face).await?;
        }
        let existing = registrations::find(tx, scope, submission.group, submission.label).await?;
        let (registration, facemap_id, outcome) = decide(tx, scope, submission, known, existing).await?;
        let log_id = attempts::insert(
            tx,
            scope,
            &NewAttempt {
                id: Uuid::new_v4(),
                key: &key,
                facemap_id,
                registration_id: registration.as_ref().map(|registration| registration.id),
                grouping_id: submission.group,
                external_user_id: submission.label,
                session_id: None,
                flow_id: Uuid::nil(),
                flow_name: "Flow",
                status: submission.status,
                success: submission.status == AttemptStatus::Approved,
                codes: "[]",
                document_types: "[\"PASSPORT\"]",
                request: "{\"firstName\":\"Ada\"}",
                response: "{\"success\":true}",
                detail: "{}",
                names: r#"{"names":[],"identified":false}"#,
                country: Some("UTO"),
                priority: 4,
                took_ms: 7,
            },
        )
        .await?;
        if let Some(registration) = &registration {
            registrations::set_status(tx, scope, registration.id, Some(submission.status)).await?;
            registrations::next_event(tx, scope, registration.id).await?;
        }
        let subject = facemap_id.to_string();
        let entry = Entry {
            actor: "test",
            action: "verification.completed",
            subject: &subject,
            detail: "{}",
        };
        audit::write(tx, scope, &entry).await?;
        let event = NewEvent {
            flow_id: Uuid::nil(),
            kind: "verification.completed",
            body: "{}",
            facemap_id: Some(facemap_id),
        };
        outbox::enqueue(tx, scope, &event).await?;
        Ok(outcome(facemap_id, log_id))
    })
}

type Decided = (Option<Registration>, Uuid, fn(Uuid, i64) -> Outcome);

async fn decide(
    tx: &mut store::Tx,
    scope: Scope,
    submission: Submission<'_>,
    known: Option<Uuid>,
    existing: Option<Registration>,
) -> Result<Decided, Error> {
    let registered: fn(Uuid, i64) -> Outcome =
        |facemap_id, log_id| Outcome::Registered { facemap_id, log_id };
    let duplicate: fn(Uuid, i64) -> Outcome = |facemap_id, log_id| Outcome::Duplicate { facemap_id, log_id };
    let taken: fn(Uuid, i64) -> Outcome = |facemap_id, log_id| Outcome::LabelTaken { facemap_id, log_id };
    let Some(face) = submission.face else {
        // No face is proven: an existing registration keeps its facemap, and a new one gets a provisional
        // facemap.
        if let Some(existing) = existing {
            let facemap_id = existing.facemap_id;
            return Ok((Some(existing), facemap_id, registered));
        }
        let person = people::create(tx, scope, false).await?;
        let made =
            registrations::create(tx, scope, person.facemap_id, submission.group, submission.label).await?;
        return Ok((Some(made), person.facemap_id, registered));
    };
    let Some(known) = known else {
        // A new face: a provisional facemap of the label becomes the person's.
        let facemap_id = match &existing {
            Some(existing) if !is_proven(tx, scope, existing.facemap_id).await? => {
                people::set_proven(tx, scope, existing.facemap_id).await?;
                existing.facemap_id
            }
            _ => people::create(tx, scope, true).await?.facemap_id,
        };
        faces::insert(tx, scope, facemap_id, "test", face).await?;
        return match existing {
            Some(existing) if existing.facemap_id != facemap_id => Ok((None, facemap_id, taken)),
            Some(existing) => Ok((Some(existing), facemap_id, registered)),
            None => {
                let made =
                    registrations::create(tx, scope, facemap_id, submission.group, submission.label).await?;
                Ok((Some(made), facemap_id, registered))
            }
        };
    };
    // The person's registration in this group, under this or another label.
    let bound = registrations::of_facemap(tx, scope, known).await?;
    if let Some(bound) = bound
        .into_iter()
        .find(|bound| bound.grouping_id == submission.group)
    {
        let same = bound.external_user_id == submission.label;
        return Ok(if same {
            (Some(bound), known, registered)
        } else {
            (None, known, duplicate)
        });
    }
    match existing {
        Some(existing) if is_proven(tx, scope, existing.facemap_id).await? => Ok((None, known, taken)),
        Some(existing) => {
            people::merge(tx, scope, existing.facemap_id, known).await?;
            Ok((
                registrations::get(tx, scope, existing.id).await?,
                known,
                registered,
            ))
        }
        None => {
            let made = registrations::create(tx, scope, known, submission.group, submission.label).await?;
            Ok((Some(made), known, registered))
        }
    }
}

async fn is_proven(tx: &mut store::Tx, scope: Scope, facemap_id: Uuid) -> Result<bool, Error> {
    Ok(people::resolve(tx, scope, facemap_id)
        .await?
        .is_some_and(|person| person.proven))
}
