//! Everything that a reviewer sees of an attempt. Reading it also records the view in the audit trail. It
//! decides nothing.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use store::attempts::{self, Attempt, Decision, Summary};
use store::audit::{self, Entry};
use store::flows::Flow;
use store::people::{self, Person};
use store::registrations::{self, Registration};
use store::review::{self, Claim, Note, Proposal};
use store::suppressions::Suppression;
use store::{Conn, Scope, groups, staff};
use uuid::Uuid;
use verification::reuse::PictureReuse;
use verification::screening::StoredScreening;

use super::attempt_detail::{Detail, SimilarFace};
use super::dispositions::{self, HitConclusion};
use super::{App, reviews, suppressions};
use crate::actor::{key_and_reviewer, staff_id};
use crate::problem::Problem;

/// The maximum number of the person's attempts that are listed.
const MOST_ATTEMPTS: i64 = 100;

/// An attempt with everything that belongs to it.
pub struct View {
    /// The attempt, as logged.
    pub attempt: Attempt,
    /// The submitted texts, by field.
    pub request: BTreeMap<String, String>,
    /// The stored response.
    pub response: Value,
    /// The screening in [`View::response`].
    pub screening: StoredScreening,
    /// The measures behind the response.
    pub detail: Detail,
    /// The current Flow, if it still exists.
    pub flow: Option<Flow>,
    /// Decisions, oldest first.
    pub decisions: Vec<Decision>,
    /// Notes, oldest first.
    pub notes: Vec<Note>,
    /// Dispositions of the hits, oldest first.
    pub concluded: Vec<HitConclusion>,
    /// A decision that awaits a second person.
    pub proposal: Option<Proposal>,
    /// Whether decisions need a second person.
    pub asks_two: bool,
    /// The member who has claimed the attempt.
    pub claim: Option<Claim>,
    /// See [`reviews::version`].
    pub version: i64,
    /// The person.
    pub person: Person,
    /// The person's ids before merges.
    pub aliases: Vec<Uuid>,
    /// The person's registrations, most recently active first.
    pub registrations: Vec<Registration>,
    /// The person's attempts, newest first.
    pub attempts: Vec<Summary>,
    /// Listings that a reviewer found not to mean the person; `None` if [`suppressions::of_attempt`] finds
    /// that they do not concern this attempt.
    pub suppressions: Option<Vec<Suppression>>,
    /// The people with similar faces, nearest first.
    pub near: Vec<SimilarPerson>,
    /// The pictures that were in earlier attempts, and whether each of those attempts still exists.
    pub reuses: Vec<(PictureReuse, bool)>,
    /// Names of the mentioned members of staff.
    pub staff: BTreeMap<Uuid, String>,
    /// Names of the mentioned Groups that still exist.
    pub groups: BTreeMap<Uuid, String>,
}

/// A person whose face is similar to the attempt's.
pub struct SimilarPerson {
    /// The person's current facemap id.
    pub facemap_id: Uuid,
    /// Similarity, 0–100.
    pub similarity: f32,
    /// The name last submitted with their face; empty if it is no longer known.
    pub name: String,
    /// The newest attempt that their face proved, if it has a selfie.
    pub log_id: Option<i64>,
}

/// Reads an attempt and records the view in the audit trail; 404 if there is no such attempt.
pub async fn open(app: &App, scope: Scope, log_id: i64, actor: &str) -> Result<View, Problem> {
    let missing = || Problem::not_found("There is no such attempt");
    let mut conn = app.db.read().await?;
    let attempt = attempts::get(&mut conn, scope, log_id)
        .await?
        .ok_or_else(missing)?;
    let person = people::resolve(&mut conn, scope, attempt.facemap_id)
        .await?
        .ok_or_else(missing)?;
    let facemap_id = person.facemap_id;
    let proposal = review::proposal(&mut conn, scope, &attempt).await?;
    let concluded = dispositions::of_attempt(&mut conn, scope, &attempt).await?;
    let detail = Detail::of(&attempt)?;
    let mut view = View {
        screening: super::stored_hits::stored_screening(&attempt)?,
        request: serde_json::from_str(&attempt.request).map_err(Problem::internal)?,
        response: serde_json::from_str(&attempt.response).map_err(Problem::internal)?,
        flow: store::flows::get(&mut conn, scope, attempt.flow_id).await?,
        decisions: attempts::decisions(&mut conn, scope, &attempt).await?,
        notes: review::notes(&mut conn, scope, &attempt).await?,
        asks_two: reviews::approval_needs_second_person(&mut conn, scope, &attempt).await?,
        claim: review::claim_of(&mut conn, scope, log_id).await?,
        version: reviews::version(&attempt, proposal.as_ref(), &concluded),
        concluded,
        aliases: people::aliases(&mut conn, scope, facemap_id).await?,
        registrations: registrations::of_facemap(&mut conn, scope, facemap_id).await?,
        attempts: attempts::summaries_of_facemap(&mut conn, scope, facemap_id, MOST_ATTEMPTS).await?,
        suppressions: suppressions::of_attempt(&mut conn, scope, facemap_id, detail.face_proven).await?,
        near: similar_people(&mut conn, scope, &detail.similar).await?,
        reuses: earlier_pictures(&mut conn, scope, &detail.reuses).await?,
        detail,
        staff: BTreeMap::new(),
        groups: BTreeMap::new(),
        proposal,
        person,
        attempt,
    };
    view.staff = staff_names(&mut conn, view.mentioned()).await?;
    let of_registrations = view.registrations.iter().filter_map(|found| found.grouping_id);
    let mentioned = of_registrations.chain(view.attempt.grouping_id).collect();
    view.groups = group_names(&mut conn, scope, mentioned).await?;
    drop(conn);
    let also: Vec<Uuid> = view.near.iter().map(|near| near.facemap_id).collect();
    let looked_at = match also.is_empty() {
        true => json!({}),
        false => json!({ "similar": also }),
    };
    record_view(app, scope, actor, &log_id.to_string(), &looked_at).await?;
    Ok(view)
}

/// The people behind similar faces. People who were erased since are left out.
async fn similar_people(
    conn: &mut Conn,
    scope: Scope,
    similar: &[SimilarFace],
) -> Result<Vec<SimilarPerson>, Problem> {
    let mut found = Vec::new();
    for face in similar {
        let Some(person) = people::resolve(conn, scope, face.facemap_id).await? else {
            continue;
        };
        let known = super::people::identifying_attempt(conn, scope, &person).await?;
        found.push(SimilarPerson {
            facemap_id: person.facemap_id,
            similarity: face.similarity,
            name: known
                .as_ref()
                .map(|(_, detail)| super::people::name(&detail.info))
                .unwrap_or_default(),
            log_id: known
                .filter(|(_, detail)| detail.seen.pictures.contains_key("selfie"))
                .map(|(log_id, _)| log_id),
        });
    }
    Ok(found)
}

/// Reused pictures, and whether retention or an erasure has not deleted the earlier attempt since.
async fn earlier_pictures(
    conn: &mut Conn,
    scope: Scope,
    reuses: &[PictureReuse],
) -> Result<Vec<(PictureReuse, bool)>, Problem> {
    let mut found = Vec::new();
    for reuse in reuses {
        let is_logged = attempts::is_logged(conn, scope, reuse.log_id).await?;
        found.push((reuse.clone(), is_logged));
    }
    Ok(found)
}

/// Records in the audit trail that a member viewed personal data: an attempt, a person, or one file of an
/// attempt.
pub async fn record_view(
    app: &App,
    scope: Scope,
    actor: &str,
    subject: &str,
    detail: &Value,
) -> Result<(), Problem> {
    let detail = detail.to_string();
    let entry = Entry {
        actor,
        action: "person.viewed",
        subject,
        detail: &detail,
    };
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        Ok(audit::write(tx, scope, &entry).await?)
    })
}

/// For how long another view of the same page of the queue is not recorded again (ms).
const SAME_LOOK_MS: i64 = 60_000;
/// How many of the newest audit rows are searched for such a view.
const LAST_ROWS: i64 = 50;

/// Records a view of a page of the queue, which shows the merchant's labels for applicants. Reloading a page
/// adds no row.
pub async fn record_queue_view(app: &App, scope: Scope, actor: &str, log_ids: &[i64]) -> Result<(), Problem> {
    if log_ids.is_empty() {
        return Ok(());
    }
    let detail = json!({ "logIds": log_ids }).to_string();
    let entry = Entry {
        actor,
        action: "queue.viewed",
        subject: "queue",
        detail: &detail,
    };
    let mut conn = app.db.read().await?;
    let since = conn.now() - SAME_LOOK_MS;
    let newest = audit::list(&mut conn, scope.merchant_id, None, LAST_ROWS).await?;
    drop(conn);
    let is_written = newest.iter().any(|row| {
        row.at > since
            && row.sandbox == scope.sandbox
            && (row.actor.as_str(), row.action.as_str(), &row.detail) == (actor, entry.action, &detail)
    });
    if is_written {
        return Ok(());
    }
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        Ok(audit::write(tx, scope, &entry).await?)
    })
}

/// The names of members of staff. Those who no longer exist are left out.
pub async fn staff_names(conn: &mut Conn, ids: Vec<Uuid>) -> Result<BTreeMap<Uuid, String>, Problem> {
    let mut names = BTreeMap::new();
    for id in ids {
        if !names.contains_key(&id)
            && let Some(member) = staff::get(conn, id).await?
        {
            names.insert(id, member.name);
        }
    }
    Ok(names)
}

/// The names of Groups. Deleted Groups are left out.
pub async fn group_names(
    conn: &mut Conn,
    scope: Scope,
    ids: Vec<Uuid>,
) -> Result<BTreeMap<Uuid, String>, Problem> {
    let mut names = BTreeMap::new();
    for id in ids {
        if !names.contains_key(&id)
            && let Some(group) = groups::get(conn, scope, id).await?
        {
            names.insert(id, group.name);
        }
    }
    Ok(names)
}

impl View {
    fn mentioned(&self) -> Vec<Uuid> {
        let named = |actor: &str| staff_id(actor).or(key_and_reviewer(actor).map(|(_, reviewer)| reviewer));
        let decided = self
            .decisions
            .iter()
            .filter_map(|decision| named(&decision.actor));
        let by_key = self
            .proposal
            .iter()
            .filter_map(|proposal| named(proposal.key_actor.as_deref()?));
        let noted = self.notes.iter().map(|note| note.staff_id);
        let suppressed = self.suppressions.iter().flatten().map(|entry| entry.staff_id);
        decided
            .chain(by_key)
            .chain(noted)
            .chain(suppressed)
            .chain(self.proposal.iter().filter_map(|proposal| proposal.staff_id))
            .chain(
                self.concluded
                    .iter()
                    .filter_map(|concluded| staff_id(&concluded.actor)),
            )
            .chain(self.claim.iter().map(|claim| claim.staff_id))
            .collect()
    }

    /// The name of an actor: a member of staff, an API key with the member whom it named, or the command line.
    pub fn name_of(&self, actor: &str) -> String {
        let name = |id: &Uuid| self.staff.get(id).cloned();
        let known = match key_and_reviewer(actor) {
            Some((key, reviewer)) => name(&reviewer).map(|name| format!("{key} ({name})")),
            None => staff_id(actor).and_then(|id| name(&id)),
        };
        known.unwrap_or_else(|| actor.to_owned())
    }

    /// The name of a Group, or its id if the Group was deleted.
    pub fn group_name(&self, id: &Uuid) -> String {
        self.groups.get(id).cloned().unwrap_or_else(|| id.to_string())
    }

    /// The name of a member of staff, or the id if the member no longer exists.
    pub fn staff_name(&self, id: &Uuid) -> String {
        self.staff.get(id).cloned().unwrap_or_else(|| id.to_string())
    }
}
