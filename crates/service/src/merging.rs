//! Merges two people who are one person (`docs/decisions/0052-merging-people.md`). The person who was known first
//! remains, and the other one's facemap becomes an alias. `verification::identity` decides which registrations remain.
//!
//! A merge approves nobody, changes no attempt's status, and sends no webhook event.

use faces::{Embedding, distance};
use serde_json::json;
use sha2::{Digest, Sha256};
use store::audit::{self, Entry};
use store::people::{self, Person};
use store::registrations::{self, Registration};
use store::{Conn, Db, Scope, Tx, attempts, review};
use uuid::Uuid;
use verification::four_eyes::{Act, FourEyesScope, needs_second_person};
use verification::identity::{MergeObstacle, ended_registrations};
use verification::status::AttemptStatus;

use super::actor::{By, actor_name};
use super::attempt_detail::Detail;
use super::four_eyes::{self, Change};
use super::held_faces::is_of_newest_model;
use super::identify::existing;
use super::{App, applicant_view, names};
use crate::problem::{Kind, Problem};
use verification::status::MAX_REASON;

/// The latest attempts of each person that are read to see whether they required two people.
const MOST_READ: i64 = 50;

/// One of two people who may be one.
pub struct Side {
    /// The person.
    pub person: Person,
    /// The person's registrations, most recently active first.
    pub registrations: Vec<Registration>,
    /// The number of the newest attempt.
    newest: Option<i64>,
}

/// Two people who may be one.
pub struct Pair {
    /// The person who was known first and remains.
    pub kept: Side,
    /// The other one.
    pub merged: Side,
}

/// Two people with everything that a member compares before merging them.
pub struct Comparison {
    /// The two people.
    pub pair: Pair,
    /// Their names and selfies, in the order of [`Pair`].
    pub shown: [Shown; 2],
    /// The similarity, 0–100, of their most similar faces; `None` if no two faces can be compared.
    pub similarity: Option<f32>,
    /// The registrations that end, or why the two cannot be merged.
    pub ended: Result<Vec<Uuid>, MergeObstacle>,
    /// Whether a second person must confirm.
    pub asks_two: bool,
}

/// How a person is shown.
#[derive(Default)]
pub struct Shown {
    /// The name last submitted with their face; empty if none is stored.
    pub name: String,
    /// The date of birth, as submitted; empty if none is stored.
    pub dob: String,
    /// The attempt whose selfie is shown.
    pub selfie: Option<i64>,
}

/// A request to merge two people.
#[derive(Clone, Copy, Debug)]
pub struct MergeRequest<'a> {
    /// Their facemaps or aliases, in any order.
    pub people: (Uuid, Uuid),
    /// The state that was reviewed, see [`Pair::version`].
    pub version: &'a str,
    /// Why they are one person.
    pub reason: &'a str,
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    /// They are one person, with this facemap.
    Merged(Uuid),
    /// A second person must confirm it.
    Proposed,
}

impl Pair {
    /// Reads two people, by their facemaps or aliases in any order.
    ///
    /// # Errors
    /// 404 if one of them does not exist; invalid if both are one person already.
    pub async fn load(conn: &mut Conn, scope: Scope, people: (Uuid, Uuid)) -> Result<Pair, Problem> {
        let (one, other) = (
            Side::load(conn, scope, people.0).await?,
            Side::load(conn, scope, people.1).await?,
        );
        if one.person.facemap_id == other.person.facemap_id {
            let text = "with - must be another person: this facemap belongs to the same person";
            return Err(Problem::invalid(text).named("merge_same"));
        }
        let age = |side: &Side| (side.person.created_at, side.person.facemap_id);
        let (kept, merged) = if age(&one) <= age(&other) {
            (one, other)
        } else {
            (other, one)
        };
        Ok(Pair { kept, merged })
    }

    /// Names the state of the two people. A merge that was reviewed in one state must not apply to another.
    pub fn version(&self) -> String {
        let mut state = Sha256::new();
        for side in [&self.kept, &self.merged] {
            state.update(side.person.facemap_id);
            state.update([u8::from(side.person.proven)]);
            state.update(side.newest.unwrap_or_default().to_be_bytes());
            let mut registrations: Vec<(Uuid, &str)> = side
                .registrations
                .iter()
                .map(|one| (one.id, one.status.map_or("", |status| status.as_str())))
                .collect();
            registrations.sort_unstable();
            for (id, status) in registrations {
                state.update(id);
                state.update(status);
                state.update([0]);
            }
        }
        hex::encode(&state.finalize()[..16])
    }

    /// The registrations that end, or why the two cannot be merged.
    ///
    /// # Errors
    /// See [`MergeObstacle`].
    pub fn ended(&self) -> Result<Vec<Uuid>, MergeObstacle> {
        if !(self.kept.person.proven && self.merged.person.proven) {
            return Err(MergeObstacle::Unproven);
        }
        let of = |side: &Side| -> Vec<_> { side.registrations.iter().cloned().map(existing).collect() };
        ended_registrations(&of(&self.kept), &of(&self.merged))
    }

    fn ids(&self) -> [Uuid; 2] {
        [self.kept.person.facemap_id, self.merged.person.facemap_id]
    }
}

impl Side {
    async fn load(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<Side, Problem> {
        let person = people::resolve(conn, scope, facemap_id)
            .await?
            .ok_or_else(|| Problem::not_found("There is no such person"))?;
        let newest = attempts::summaries_of_facemap(conn, scope, person.facemap_id, 1).await?;
        Ok(Side {
            registrations: registrations::of_facemap(conn, scope, person.facemap_id).await?,
            newest: newest.first().map(|attempt| attempt.log_id),
            person,
        })
    }
}

/// Reads two people for comparison, and records in the audit trail that both were viewed.
///
/// # Errors
/// As [`Pair::load`].
pub async fn compare(
    app: &App,
    scope: Scope,
    people: (Uuid, Uuid),
    actor: &str,
) -> Result<Comparison, Problem> {
    let mut conn = app.db.read().await?;
    let pair = Pair::load(&mut conn, scope, people).await?;
    let state = required(&mut conn, scope, &pair.ids()).await?;
    let comparison = Comparison {
        shown: [
            shown(&mut conn, scope, &pair.kept.person).await?,
            shown(&mut conn, scope, &pair.merged.person).await?,
        ],
        similarity: similarity(&mut conn, scope, pair.ids()).await?,
        ended: pair.ended(),
        asks_two: needs_second_person(Act::MergePeople, state),
        pair,
    };
    drop(conn);
    let [kept, merged] = comparison.pair.ids();
    let detail = json!({ "similar": [merged] });
    applicant_view::record_view(app, scope, actor, &kept.to_string(), &detail).await?;
    Ok(comparison)
}

/// How a person is shown: by the attempt that identifies them.
pub(super) async fn shown(conn: &mut Conn, scope: Scope, person: &Person) -> Result<Shown, Problem> {
    let Some((log_id, detail)) = super::people::identifying_attempt(conn, scope, person).await? else {
        return Ok(Shown::default());
    };
    Ok(Shown {
        name: super::people::name(&detail.info),
        dob: detail.info.dob.clone().unwrap_or_default(),
        selfie: detail.seen.pictures.contains_key("selfie").then_some(log_id),
    })
}

async fn similarity(conn: &mut Conn, scope: Scope, people: [Uuid; 2]) -> Result<Option<f32>, Problem> {
    let mut faces = Vec::with_capacity(2);
    for person in people {
        let stored = store::faces::of_person(conn, scope, person).await?;
        // A face in a format of an earlier version cannot be compared.
        let read = |(_, bytes): &(String, Vec<u8>)| Embedding::from_bytes(bytes).ok();
        faces.push(stored.iter().filter_map(read).collect::<Vec<_>>());
    }
    let [ours, theirs] = [&faces[0], &faces[1]];
    let pairs = ours
        .iter()
        .flat_map(|one| theirs.iter().map(move |other| (one, other)));
    let nearest = pairs
        .map(|(one, other)| distance(one, other))
        .filter(|distance| distance.is_finite())
        .min_by(f32::total_cmp);
    Ok(nearest.map(faces::similarity))
}

/// Whether the account, one of its Flows, or an attempt of these people requires two people.
pub(super) async fn required(
    conn: &mut Conn,
    scope: Scope,
    people: &[Uuid],
) -> Result<FourEyesScope, Problem> {
    let mut state = four_eyes::of_account(conn, scope.merchant_id).await?;
    for person in people {
        for log_id in attempts::latest_and_first(conn, scope, *person, MOST_READ).await? {
            if let Some(attempt) = attempts::get(conn, scope, log_id).await? {
                state.flow |= Detail::of(&attempt)?.four_eyes;
            }
        }
    }
    Ok(state)
}

/// Merges two people. Where two people are required, a colleague must confirm first.
///
/// # Errors
/// Invalid without a reason; a conflict if the two people have changed since they were reviewed, or if they cannot be
/// merged ([`MergeObstacle`]).
pub async fn merge(
    db: &Db,
    scope: Scope,
    request: &MergeRequest<'_>,
    (staff_id, actor): (Uuid, &str),
) -> Result<MergeOutcome, Problem> {
    let reason = request.reason.trim();
    check_reason(reason)?;
    store::transaction!(db, |tx| -> Result<MergeOutcome, Problem> {
        store::faces::lock(tx, scope).await?;
        let pair = reviewed(tx, scope, request).await?;
        let ended = pair.ended().map_err(refusal)?;
        let state = required(tx, scope, &pair.ids()).await?;
        if !needs_second_person(Act::MergePeople, state) {
            carry_out(tx, scope, &pair, &ended, reason, (staff_id, None), actor).await?;
            return Ok(MergeOutcome::Merged(pair.kept.person.facemap_id));
        }
        let [kept, merged] = pair.ids();
        let attempt = match pair.merged.newest {
            Some(log_id) => attempts::get(tx, scope, log_id).await?,
            None => None,
        };
        let change = Change::MergePeople {
            kept,
            merged,
            reason: reason.to_owned(),
            seen: pair.version(),
        };
        let subject = four_eyes::Subject {
            id: &format!("{kept} {merged}"),
            name: &format!("{kept}, {merged}"),
            // Its key seals the reason, so the proposal ends with the person's data.
            attempt: attempt.as_ref(),
        };
        let by = By {
            staff_id: Some(staff_id),
            actor,
        };
        four_eyes::propose(tx, scope, change, subject, Vec::new(), by).await?;
        Ok(MergeOutcome::Proposed)
    })
}

/// Carries out a proposal that a second person confirmed. The caller has begun the account's serial step.
pub(super) async fn confirm(
    tx: &mut Tx,
    scope: Scope,
    request: &MergeRequest<'_>,
    (proposer, second): (Uuid, Uuid),
    actor: &str,
) -> Result<(), Problem> {
    let pair = reviewed(tx, scope, request).await?;
    let ended = pair.ended().map_err(refusal)?;
    let by = (proposer, Some(second));
    carry_out(tx, scope, &pair, &ended, request.reason, by, actor).await
}

/// Checks a typed reason.
pub(super) fn check_reason(reason: &str) -> Result<(), Problem> {
    if reason.is_empty() {
        let text = "reason - is required: state how you know";
        return Err(Problem::invalid(text).named("people_reason"));
    }
    if reason.chars().count() > MAX_REASON {
        let text = format!("reason - must have at most {MAX_REASON} characters");
        return Err(Problem::invalid(text).named("reason_length"));
    }
    Ok(())
}

/// The two people, if they are as they were reviewed.
async fn reviewed(tx: &mut Tx, scope: Scope, request: &MergeRequest<'_>) -> Result<Pair, Problem> {
    let pair = Pair::load(tx, scope, request.people).await?;
    if pair.version() == request.version {
        return Ok(pair);
    }
    Err(changed())
}

/// The refusal of an act on people who have changed since they were reviewed.
pub(super) fn changed() -> Problem {
    let text = "A new attempt or decision was recorded after you opened the page. Nothing was changed. Reload the page and review again";
    Problem::new(Kind::Conflict, text).named("people_changed")
}

fn refusal(obstacle: MergeObstacle) -> Problem {
    let (slug, text) = match obstacle {
        MergeObstacle::Unproven => (
            "merge_unproven",
            "One of them has no proven face, so nothing shows that they are one person",
        ),
        MergeObstacle::Undecided => (
            "merge_undecided",
            "Both are registered in one Group, and an attempt there awaits review: decide it first",
        ),
        MergeObstacle::BothApproved => (
            "merge_both_approved",
            "Both are approved in one Group: reopen and decline one of the two attempts first",
        ),
    };
    Problem::new(Kind::Conflict, text).named(slug)
}

/// Refuses a merge whose moved faces the account's present model cannot compare.
async fn check_faces(tx: &mut Tx, scope: Scope, merged: Uuid) -> Result<(), Problem> {
    for (_, bytes) in store::faces::of_person(tx, scope, merged).await? {
        let is_current = match Embedding::from_bytes(&bytes) {
            Ok(face) => is_of_newest_model(tx, scope, &face).await?,
            Err(_) => false,
        };
        if !is_current {
            let text = "An enrolled face is of an earlier model. The server embeds it again by itself: try again later";
            return Err(Problem::new(Kind::Conflict, text).named("merge_face_outdated"));
        }
    }
    Ok(())
}

/// Refuses a merge while an attempt of one person awaits review that was not screened under the other one's names.
async fn check_screened(tx: &mut Tx, scope: Scope, one: Uuid, other: Uuid) -> Result<(), Problem> {
    for log_id in attempts::log_ids(tx, scope, one).await? {
        let Some(attempt) = attempts::get(tx, scope, log_id).await? else {
            continue;
        };
        if attempt.status == AttemptStatus::Pending
            && names::any_unscreened(tx, scope, other, &Detail::of(&attempt)?.names).await?
        {
            let text = "An attempt that awaits review was not screened under the other person's names: decide it first";
            return Err(Problem::new(Kind::Conflict, text).named("merge_unscreened"));
        }
    }
    Ok(())
}

async fn carry_out(
    tx: &mut Tx,
    scope: Scope,
    pair: &Pair,
    ended: &[Uuid],
    reason: &str,
    (staff_id, confirmed_by): (Uuid, Option<Uuid>),
    actor: &str,
) -> Result<(), Problem> {
    let [kept, merged] = pair.ids();
    check_faces(tx, scope, merged).await?;
    for (one, other) in [(kept, merged), (merged, kept)] {
        check_screened(tx, scope, one, other).await?;
    }
    // The reason may name people, so it is a note, which is erased with the person, and not in the audit trail.
    for newest in [pair.kept.newest, pair.merged.newest].into_iter().flatten() {
        if let Some(attempt) = attempts::get(tx, scope, newest).await? {
            review::add_note(tx, scope, &attempt, staff_id, reason).await?;
        }
    }
    people::merge_people(tx, scope, merged, kept, ended).await?;
    let detail = json!({
        "merged": merged, "endedRegistrations": ended,
        "foundBy": actor_name(Some(staff_id)), "confirmedBy": confirmed_by.map(|id| actor_name(Some(id))),
    });
    let entry = Entry {
        actor,
        action: "person.merged",
        subject: &kept.to_string(),
        detail: &detail.to_string(),
    };
    Ok(audit::write(tx, scope, &entry).await?)
}
