//! Splits a person in two, where a search or a member took two people for one
//! (`docs/decisions/0053-splitting-people.md`). A member chooses the registrations and attempts that leave. A
//! registration and its attempts stay together.
//!
//! Enrolled faces follow the pictures they come from. If one of the two would be left without a face, the newest stored
//! selfie of that person that proved a face is embedded. A split changes no attempt's status, and sends no webhook event.

use std::collections::BTreeSet;

use faces::Embedding;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::attempts::{self, Attempt};
use store::audit::{self, Entry};
use store::people::{self, Departure, Person};
use store::registrations::{self, Registration};
use store::{Conn, Scope, Tx, review};
use uuid::Uuid;
use verification::four_eyes::{Act, needs_second_person};
use verification::identity::{SplitObstacle, check_split};
use verification::status::AttemptStatus;

use super::actor::{By, actor_name};
use super::applicants::name_words;
use super::attempt_detail::{Detail, HeldFace};
use super::four_eyes::{self, Change, DividedFaces};
use super::merging::{changed, check_reason, required};
use super::reindex::embed_selfie;
use super::{App, applicant_view};
use crate::problem::{Kind, Problem};

/// A person with more attempts cannot be split.
const MOST_ATTEMPTS: usize = 200;
/// The most selfies of each person that are embedded.
const MOST_SELFIES: usize = 12;

/// What leaves or stays together: a registration with its attempts, or one attempt that is only logged.
pub struct Unit {
    /// The registration; `None` for an attempt that is only logged.
    pub registration: Option<Registration>,
    /// The attempts, newest first.
    pub attempts: Vec<UnitAttempt>,
}

/// An attempt of a [`Unit`].
pub struct UnitAttempt {
    /// Its number.
    pub log_id: i64,
    /// Its user ID.
    pub external_user_id: String,
    /// Its status.
    pub status: AttemptStatus,
    /// When it was made (ms).
    pub created_at: i64,
    /// The name that was submitted.
    pub name: String,
    /// Whether it has a selfie that can be shown.
    pub has_selfie: bool,
    proves_face: bool,
    words: BTreeSet<String>,
}

/// A person with what can leave.
pub struct Divisible {
    /// The person.
    pub person: Person,
    /// What can leave, most recently active first.
    pub units: Vec<Unit>,
    /// Whether a second person must confirm.
    pub asks_two: bool,
    faces: Vec<(String, Vec<u8>)>,
}

/// A request to split a person.
#[derive(Clone, Copy, Debug)]
pub struct SplitRequest<'a> {
    /// The person's facemap or an alias.
    pub facemap_id: Uuid,
    /// The registrations that leave.
    pub registrations: &'a [Uuid],
    /// The attempts without a registration that leave.
    pub log_ids: &'a [i64],
    /// The state that was reviewed, see [`Divisible::version`].
    pub version: &'a str,
    /// Why they are two people.
    pub reason: &'a str,
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitOutcome {
    /// The new person's facemap.
    Split(Uuid),
    /// A second person must confirm it.
    Proposed,
}

impl Divisible {
    /// Reads a person with what can leave.
    ///
    /// # Errors
    /// 404 if there is no such person; a conflict if the person has too many attempts.
    pub async fn load(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<Divisible, Problem> {
        let person = people::resolve(conn, scope, facemap_id)
            .await?
            .ok_or_else(|| Problem::not_found("There is no such person"))?;
        let id = person.facemap_id;
        if attempts::log_ids(conn, scope, id).await?.len() > MOST_ATTEMPTS {
            let text = format!("A person with more than {MOST_ATTEMPTS} attempts cannot be split");
            return Err(Problem::new(Kind::Conflict, text).named("split_too_many"));
        }
        let mut units: Vec<Unit> = Vec::new();
        for registration in registrations::of_facemap(conn, scope, id).await? {
            units.push(Unit {
                registration: Some(registration),
                attempts: Vec::new(),
            });
        }
        for attempt in attempts::of_facemap(conn, scope, id).await? {
            let of = |unit: &&mut Unit| {
                let own = unit.registration.as_ref().map(|registration| registration.id);
                own.is_some() && own == attempt.registration_id
            };
            let shown = UnitAttempt::of(&attempt)?;
            match units.iter_mut().find(of) {
                Some(unit) => unit.attempts.push(shown),
                None => units.push(Unit {
                    registration: None,
                    attempts: vec![shown],
                }),
            }
        }
        let state = required(conn, scope, &[id]).await?;
        Ok(Divisible {
            faces: store::faces::of_person(conn, scope, id).await?,
            asks_two: needs_second_person(Act::SplitPerson, state),
            units,
            person,
        })
    }

    /// Names the person's state. A split that was reviewed in one state must not apply to another.
    pub fn version(&self) -> String {
        let mut state = Sha256::new();
        state.update(self.person.facemap_id);
        let mut parts: Vec<(Uuid, &str, Vec<i64>)> = self.units.iter().map(Unit::state).collect();
        parts.sort();
        for (id, status, log_ids) in parts {
            state.update(id);
            state.update(status);
            log_ids
                .iter()
                .for_each(|log_id| state.update(log_id.to_be_bytes()));
            state.update([0]);
        }
        for (_, embedding) in &self.faces {
            state.update(embedding);
        }
        hex::encode(&state.finalize()[..16])
    }

    /// The chosen units and the others.
    ///
    /// # Errors
    /// A conflict if a chosen one is not the person's; invalid if none is chosen or none remains.
    fn divide(&self, request: &SplitRequest<'_>) -> Result<[Vec<&Unit>; 2], Problem> {
        let is_chosen = |unit: &&Unit| match (&unit.registration, unit.attempts.first()) {
            (Some(registration), _) => request.registrations.contains(&registration.id),
            (None, Some(attempt)) => request.log_ids.contains(&attempt.log_id),
            (None, None) => false,
        };
        let (leaving, staying): (Vec<&Unit>, Vec<&Unit>) = self.units.iter().partition(is_chosen);
        if leaving.len() != request.registrations.len() + request.log_ids.len() {
            return Err(changed());
        }
        check_split(self.units.len(), leaving.len()).map_err(refusal)?;
        Ok([leaving, staying])
    }
}

impl Unit {
    fn state(&self) -> (Uuid, &str, Vec<i64>) {
        let (id, status) = match &self.registration {
            Some(registration) => (
                registration.id,
                registration.status.map_or("", |status| status.as_str()),
            ),
            None => (Uuid::nil(), ""),
        };
        (
            id,
            status,
            self.attempts.iter().map(|attempt| attempt.log_id).collect(),
        )
    }
}

impl UnitAttempt {
    fn of(attempt: &Attempt) -> Result<Self, Problem> {
        let detail = Detail::of(attempt)?;
        let request: Value = serde_json::from_str(&attempt.request).map_err(Problem::internal)?;
        let submitted = ["firstName", "middleName", "lastName"]
            .into_iter()
            .filter_map(|field| request.get(field)?.as_str());
        let read = detail
            .info
            .id_docs
            .iter()
            .flat_map(|doc| [doc.first_name.as_deref(), doc.last_name.as_deref()])
            .flatten();
        Ok(UnitAttempt {
            log_id: attempt.log_id,
            external_user_id: attempt.external_user_id.clone(),
            status: attempt.status,
            created_at: attempt.created_at,
            words: submitted.chain(read).flat_map(name_words).collect(),
            name: super::people::name(&detail.info),
            has_selfie: detail.seen.pictures.contains_key("selfie"),
            proves_face: detail.face_proven,
        })
    }
}

fn refusal(obstacle: SplitObstacle) -> Problem {
    match obstacle {
        SplitObstacle::NothingChosen => {
            Problem::invalid("registration, attempt - choose what belongs to the other person")
                .named("split_nothing")
        }
        SplitObstacle::NothingRemains => {
            Problem::invalid("registration, attempt - leave something with this person").named("split_all")
        }
    }
}

/// Reads a person for a split, and records in the audit trail that the person was viewed.
///
/// # Errors
/// As [`Divisible::load`].
pub async fn open(app: &App, scope: Scope, facemap_id: Uuid, actor: &str) -> Result<Divisible, Problem> {
    let divisible = Divisible::load(&mut app.db.read().await?, scope, facemap_id).await?;
    let subject = divisible.person.facemap_id.to_string();
    applicant_view::record_view(app, scope, actor, &subject, &json!({})).await?;
    Ok(divisible)
}

/// Splits a person. Where two people are required, a colleague must confirm first.
///
/// # Errors
/// Invalid without a reason, or if nothing leaves or stays; a conflict if the person has changed since.
pub async fn split(
    app: &App,
    scope: Scope,
    request: &SplitRequest<'_>,
    (staff_id, actor): (Uuid, &str),
) -> Result<SplitOutcome, Problem> {
    let reason = request.reason.trim();
    check_reason(reason)?;
    // The selfies are read before the transaction, in which only statements are awaited.
    let mut conn = app.db.read().await?;
    let divisible = reviewed(&mut conn, scope, request).await?;
    drop(conn);
    let faces = divide_faces(app, scope, &divisible, request).await?;
    store::transaction!(app.db, |tx| -> Result<SplitOutcome, Problem> {
        store::faces::lock(tx, scope).await?;
        let divisible = reviewed(tx, scope, request).await?;
        if !divisible.asks_two {
            let by = (staff_id, None);
            return carry_out(tx, scope, &divisible, (request, &faces), by, actor)
                .await
                .map(SplitOutcome::Split);
        }
        let [leaving, _] = divisible.divide(request)?;
        let newest = leaving
            .iter()
            .flat_map(|unit| &unit.attempts)
            .map(|one| one.log_id)
            .max();
        let attempt = match newest {
            Some(log_id) => attempts::get(tx, scope, log_id).await?,
            None => None,
        };
        let person = divisible.person.facemap_id;
        let change = Change::SplitPerson {
            person,
            registrations: request.registrations.to_vec(),
            log_ids: request.log_ids.to_vec(),
            reason: reason.to_owned(),
            seen: divisible.version(),
            faces: faces.clone(),
        };
        let subject = four_eyes::Subject {
            id: &person.to_string(),
            name: &person.to_string(),
            // Its key seals the reason and the faces, so the proposal ends with the attempt's data.
            attempt: attempt.as_ref(),
        };
        let by = By {
            staff_id: Some(staff_id),
            actor,
        };
        four_eyes::propose(tx, scope, change, subject, Vec::new(), by).await?;
        Ok(SplitOutcome::Proposed)
    })
}

/// Carries out a proposal that a second person confirmed. The caller has begun the account's serial step.
pub(super) async fn confirm(
    tx: &mut Tx,
    scope: Scope,
    request: &SplitRequest<'_>,
    faces: &DividedFaces,
    (proposer, second): (Uuid, Uuid),
    actor: &str,
) -> Result<(), Problem> {
    let divisible = reviewed(tx, scope, request).await?;
    let by = (proposer, Some(second));
    carry_out(tx, scope, &divisible, (request, faces), by, actor)
        .await
        .map(|_| ())
}

/// The person, if everything is as it was reviewed.
async fn reviewed(conn: &mut Conn, scope: Scope, request: &SplitRequest<'_>) -> Result<Divisible, Problem> {
    let divisible = Divisible::load(conn, scope, request.facemap_id).await?;
    if divisible.version() != request.version {
        return Err(changed());
    }
    divisible.divide(request)?;
    Ok(divisible)
}

/// The enrolled faces of both people after the split.
async fn divide_faces(
    app: &App,
    scope: Scope,
    divisible: &Divisible,
    request: &SplitRequest<'_>,
) -> Result<DividedFaces, Problem> {
    let [leaving, staying] = divisible.divide(request)?;
    let selfies = embed_all(app, scope, &leaving).await?;
    let remaining = embed_all(app, scope, &staying).await?;
    let (mut left, mut stayed) = (Vec::new(), Vec::new());
    for (_, bytes) in &divisible.faces {
        // A face of an earlier model is like no selfie.
        let face = Embedding::from_bytes(bytes).map_err(|_| unknown_face())?;
        if is_of(&face, &selfies) {
            left.push(face);
        } else if is_of(&face, &remaining) {
            stayed.push(face);
        } else {
            return Err(unknown_face());
        }
    }
    if left.is_empty() {
        left = selfies.into_iter().take(1).collect();
    }
    if stayed.is_empty() {
        stayed = remaining.into_iter().take(1).collect();
    }
    let stored = |faces: &[Embedding]| faces.iter().map(HeldFace::from).collect();
    Ok(DividedFaces {
        staying: stored(&stayed),
        leaving: stored(&left),
    })
}

/// The refusal of a split that could leave one person's face with the other one.
fn unknown_face() -> Problem {
    let text =
        "The selfies that are stored do not show whose enrolled face is whose, so the person cannot be split";
    Problem::new(Kind::Conflict, text).named("split_face_unknown")
}

/// Whether a face comes from one of these pictures.
fn is_of(face: &Embedding, pictures: &[Embedding]) -> bool {
    pictures
        .iter()
        .any(|picture| faces::is_of_same_picture(face, picture))
}

/// The faces on the newest selfies of these units that proved a face, newest first.
async fn embed_all(app: &App, scope: Scope, units: &[&Unit]) -> Result<Vec<Embedding>, Problem> {
    let proving = units
        .iter()
        .flat_map(|unit| &unit.attempts)
        .filter(|one| one.proves_face);
    let mut log_ids: Vec<i64> = proving.map(|one| one.log_id).collect();
    log_ids.sort_unstable_by(|a, b| b.cmp(a));
    let mut found = Vec::new();
    for log_id in log_ids.into_iter().take(MOST_SELFIES) {
        let attempt = attempts::get(&mut app.db.read().await?, scope, log_id).await?;
        if let Some(attempt) = attempt {
            let _permit = app.cpu.permit().await?;
            found.extend(embed_selfie(&app.objects, &app.engines, scope, &attempt).await?);
        }
    }
    Ok(found)
}

async fn carry_out(
    tx: &mut Tx,
    scope: Scope,
    divisible: &Divisible,
    (request, faces): (&SplitRequest<'_>, &DividedFaces),
    (staff_id, confirmed_by): (Uuid, Option<Uuid>),
    actor: &str,
) -> Result<Uuid, Problem> {
    let [leaving, staying] = divisible.divide(request)?;
    let person = divisible.person.facemap_id;
    let attempts_of = |units: &[&Unit]| -> BTreeSet<i64> {
        units
            .iter()
            .flat_map(|unit| &unit.attempts)
            .map(|one| one.log_id)
            .collect()
    };
    let words_of = |units: &[&Unit]| -> BTreeSet<String> {
        let all = units.iter().flat_map(|unit| &unit.attempts);
        all.flat_map(|one| one.words.iter().cloned()).collect()
    };
    let stored = |faces: &[HeldFace]| -> Result<Vec<(String, Vec<u8>)>, Problem> {
        let read = |face: &HeldFace| face.embedding();
        let faces: Result<Vec<Embedding>, Problem> = faces.iter().map(read).collect();
        let row = |face: &Embedding| (face.version().to_owned(), face.to_bytes());
        Ok(faces?.iter().map(row).collect())
    };
    let departure = Departure {
        registrations: request.registrations.to_vec(),
        log_ids: attempts_of(&leaving),
        staying_faces: stored(&faces.staying)?,
        leaving_faces: stored(&faces.leaving)?,
        staying_words: words_of(&staying),
        leaving_words: words_of(&leaving),
    };
    // The reason may name people, so it is a note, which is erased with the person, and not in the audit trail.
    for log_ids in [attempts_of(&staying), departure.log_ids.clone()] {
        if let Some(newest) = log_ids.last()
            && let Some(attempt) = attempts::get(tx, scope, *newest).await?
        {
            review::add_note(tx, scope, &attempt, staff_id, request.reason.trim()).await?;
        }
    }
    let new = people::split(tx, scope, person, &departure).await?;
    // Nobody knows for whom of the two a listing was set aside, so it counts again for both.
    for cleared in store::suppressions::of_person(tx, scope, person).await? {
        store::suppressions::remove(tx, scope, person, &cleared.list, &cleared.entity_id).await?;
    }
    let detail = json!({
        "new": new, "registrations": departure.registrations, "logIds": departure.log_ids,
        "foundBy": actor_name(Some(staff_id)), "confirmedBy": confirmed_by.map(|id| actor_name(Some(id))),
    });
    let entry = Entry {
        actor,
        action: "person.split",
        subject: &person.to_string(),
        detail: &detail.to_string(),
    };
    audit::write(tx, scope, &entry).await?;
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_face_belongs_to_the_picture_it_comes_from() {
        let face = |version: &str, first: i16| {
            let mut values = [0; faces::EMBEDDING_LEN];
            (values[0], values[1]) = (first, 16_384);
            Embedding::new(version, values).unwrap()
        };
        let picture = face("test-version", 100);
        for (what, other, expected) in [
            ("the same picture", face("test-version", 100), true),
            ("rounded on another machine", face("test-version", 101), true),
            (
                "another picture of the person",
                face("test-version", 6_000),
                false,
            ),
            ("another model", face("test-versioN", 100), false),
        ] {
            assert_eq!(is_of(&other, std::slice::from_ref(&picture)), expected, "{what}");
        }
        assert!(!is_of(&picture, &[]));
    }
}
