//! Alerts of ongoing screening as reviewers handle them: claimed, decided, opened again. `rescreening` opens them, and
//! closes those whose listing has gone. A decision on an alert changes no status: whoever finds that a listing means
//! the person declines the person's attempt.

use sanctions::changes::{ChangeKind, FieldChange};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::alerts::{self, Alert, AlertState};
use store::attempts::{self, Attempt};
use store::audit::{self, Entry};
use store::{Db, Scope, Tx};
use uuid::Uuid;
use verification::four_eyes::{Act, needs_second_person};
use verification::screening::ScreeningHit;

use super::actor::By;
use super::attempt_detail::{Detail, unreadable};
use super::four_eyes::{self, Change};
use super::suppressions::{self, REASONS, SetAsideOutcome};
use super::watched;
use crate::problem::{Kind, Problem};
use verification::status::MAX_REASON;

/// How long a claim lasts.
const CLAIM_MS: i64 = 10 * 60 * 1_000;

/// The sealed content of an alert.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The hit.
    pub hit: ScreeningHit,
    /// The score of the known hit that it exceeds, in ten-thousandths; `None`: it was not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_score: Option<i64>,
    /// How the entry changed; `None`: the earlier version of the list is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<ChangeKind>,
    /// The fields that changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldChange>,
    /// The version of the list.
    pub version: String,
}

impl Finding {
    /// The content of an alert.
    ///
    /// # Errors
    /// 503 if this version cannot read it.
    pub fn of(alert: &Alert) -> Result<Finding, Problem> {
        serde_json::from_str(&alert.hit).map_err(|error| {
            let fault = verification::json::describe_without_values(&error);
            unreadable(alert.log_id, "alert", &fault)
        })
    }
}

/// What a reviewer concludes about an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion<'a> {
    /// The listing means the person.
    SamePerson,
    /// The listing means somebody else; the detail that does not fit, one of [`REASONS`].
    OtherPerson(&'a str),
}

/// A reviewer's decision on an alert.
#[derive(Clone, Copy, Debug)]
pub struct AlertDecision<'a> {
    /// The conclusion.
    pub conclusion: Conclusion<'a>,
    /// Why, in the reviewer's words.
    pub reason: &'a str,
    /// [`Alert::changed_at`] as the reviewer saw it; `None`: whatever it is now.
    pub seen: Option<i64>,
}

/// Decides on an open alert. Where two people are required, "somebody else" waits for a second one.
///
/// # Errors
/// 404 for an unknown alert; a conflict if it is closed, changed, or claimed by a colleague; 400 for a missing reason.
pub async fn decide(
    db: &Db,
    scope: Scope,
    id: Uuid,
    decision: &AlertDecision<'_>,
    (staff_id, actor): (Uuid, &str),
) -> Result<SetAsideOutcome, Problem> {
    store::transaction!(db, |tx| -> Result<SetAsideOutcome, Problem> {
        let (alert, attempt) = open_alert(tx, scope, id, decision.seen).await?;
        check(decision)?;
        if alert.claimed_by.is_some_and(|claimed| claimed != staff_id) {
            let text = "A colleague is reviewing this alert. Take it over first";
            return Err(Problem::new(Kind::Conflict, text).named("claimed"));
        }
        let Conclusion::OtherPerson(why) = decision.conclusion else {
            let how = (AlertState::SamePerson, decision.reason, actor);
            record(tx, scope, (&alert, &attempt), how).await?;
            note(tx, scope, (actor, "alert.same_person"), alert.id, json!({})).await?;
            return Ok(SetAsideOutcome::Done);
        };
        let required = watched::four_eyes_of_person(tx, scope, &attempt).await?;
        if needs_second_person(Act::SetAside, required) {
            let caption = Finding::of(&alert)?.hit.caption;
            let subject = four_eyes::Subject {
                id: &id.to_string(),
                name: &caption,
                attempt: Some(&attempt),
            };
            let change = Change::CloseAlert {
                alert: id,
                why: why.to_owned(),
                reason: decision.reason.to_owned(),
                seen: alert.changed_at,
            };
            let by = By {
                staff_id: Some(staff_id),
                actor,
            };
            four_eyes::propose(tx, scope, change, subject, Vec::new(), by).await?;
            return Ok(SetAsideOutcome::Proposed);
        }
        set_aside(
            tx,
            scope,
            (&alert, &attempt),
            (why, decision.reason),
            (staff_id, None),
            actor,
        )
        .await?;
        Ok(SetAsideOutcome::Done)
    })
}

/// Carries out a proposal that a second person confirmed.
pub(super) async fn confirm(
    tx: &mut Tx,
    scope: Scope,
    (id, seen): (Uuid, i64),
    (why, reason): (&str, &str),
    (proposer, second): (Uuid, Uuid),
    actor: &str,
) -> Result<(), Problem> {
    let (alert, attempt) = open_alert(tx, scope, id, Some(seen)).await?;
    set_aside(
        tx,
        scope,
        (&alert, &attempt),
        (why, reason),
        (proposer, Some(second)),
        actor,
    )
    .await
}

/// The listing means somebody else: neither this alert nor a later attempt of the person counts it again.
async fn set_aside(
    tx: &mut Tx,
    scope: Scope,
    (alert, attempt): (&Alert, &Attempt),
    (why, reason): (&str, &str),
    people: (Uuid, Option<Uuid>),
    actor: &str,
) -> Result<(), Problem> {
    let finding = Finding::of(alert)?;
    record(
        tx,
        scope,
        (alert, attempt),
        (AlertState::OtherPerson, reason, actor),
    )
    .await?;
    note(
        tx,
        scope,
        (actor, "alert.other_person"),
        alert.id,
        json!({"reason": why}),
    )
    .await?;
    let proven = Detail::of(attempt)?.face_proven;
    // Nothing is set aside for a person by an attempt that does not prove them.
    if suppressions::of_attempt(tx, scope, attempt.facemap_id, proven)
        .await?
        .is_some()
    {
        suppressions::insert(tx, scope, attempt, &finding.hit, why, people, actor).await?;
    }
    Ok(())
}

async fn record(
    tx: &mut Tx,
    scope: Scope,
    (alert, attempt): (&Alert, &Attempt),
    (state, reason, actor): (AlertState, &str, &str),
) -> Result<(), Problem> {
    match alerts::decide(tx, scope, attempt, (alert, state), (actor, reason)).await? {
        true => Ok(()),
        false => Err(changed()),
    }
}

fn check(decision: &AlertDecision<'_>) -> Result<(), Problem> {
    if let Conclusion::OtherPerson(why) = decision.conclusion
        && !REASONS.contains(&why)
    {
        let text = format!("why - must be one of {}", REASONS.join(", "));
        return Err(Problem::invalid(text).named("why_required"));
    }
    check_reason(decision.reason)
}

/// Refuses a missing or long reason of a decision on an alert.
pub(crate) fn check_reason(reason: &str) -> Result<(), Problem> {
    let length = reason.trim().chars().count();
    if length == 0 {
        return Err(Problem::invalid("reason - is required").named("reason_required"));
    }
    if length > MAX_REASON {
        let text = format!("reason - must have at most {MAX_REASON} characters");
        return Err(Problem::invalid(text).named("reason_length"));
    }
    Ok(())
}

fn unknown() -> Problem {
    Problem::not_found("No such alert")
}

fn closed() -> Problem {
    Problem::new(Kind::Conflict, "This alert is closed").named("alert_closed")
}

fn changed() -> Problem {
    let text = "This alert has changed since you opened it. Review it again";
    Problem::new(Kind::Conflict, text).named("alert_changed")
}

/// An open alert and its attempt, locked until the transaction ends.
async fn open_alert(
    tx: &mut Tx,
    scope: Scope,
    id: Uuid,
    seen: Option<i64>,
) -> Result<(Alert, Attempt), Problem> {
    let log_id = alerts::get(tx, scope, id).await?.ok_or_else(unknown)?.log_id;
    let attempt = attempts::get_for_update(tx, scope, log_id)
        .await?
        .ok_or_else(unknown)?;
    // Again, because it may have changed before the lock.
    let alert = alerts::get(tx, scope, id).await?.ok_or_else(unknown)?;
    if alert.state != AlertState::Open {
        return Err(closed());
    }
    if seen.is_some_and(|seen| seen != alert.changed_at) {
        return Err(changed());
    }
    Ok((alert, attempt))
}

/// Claims an open alert for a member of staff. `false`: a colleague has claimed it. With `take_over` it succeeds in any
/// case, which the audit trail records.
///
/// # Errors
/// 404 for an unknown alert, a conflict if it is closed.
pub async fn claim(
    db: &Db,
    scope: Scope,
    id: Uuid,
    (staff_id, actor): (Uuid, &str),
    take_over: bool,
) -> Result<bool, Problem> {
    store::transaction!(db, |tx| -> Result<bool, Problem> {
        let (alert, _) = open_alert(tx, scope, id, None).await?;
        let until = tx.now() + CLAIM_MS;
        if alerts::claim(tx, scope, id, staff_id, until).await? {
            return Ok(true);
        }
        let Some(from) = alert.claimed_by.filter(|_| take_over) else {
            return Ok(false);
        };
        alerts::claim(tx, scope, id, from, 0).await?;
        alerts::claim(tx, scope, id, staff_id, until).await?;
        let detail = json!({"from": super::actor::of_staff(from)});
        note(tx, scope, (actor, "alert.taken_over"), alert.id, detail).await?;
        Ok(true)
    })
}

/// Ends the member's own claim.
///
/// # Errors
/// As [`claim`].
pub async fn release(db: &Db, scope: Scope, id: Uuid, staff_id: Uuid) -> Result<(), Problem> {
    store::transaction!(db, |tx| -> Result<(), Problem> {
        open_alert(tx, scope, id, None).await?;
        alerts::claim(tx, scope, id, staff_id, 0).await?;
        Ok(())
    })
}

/// Opens a decided alert again. A listing that was set aside for the person remains set aside for later attempts until
/// it is restored on the person's page.
///
/// # Errors
/// 404 for an unknown alert; a conflict if no reviewer decided on it, or if another alert of the same listing is open.
pub async fn reopen(db: &Db, scope: Scope, id: Uuid, actor: &str) -> Result<(), Problem> {
    store::transaction!(db, |tx| -> Result<(), Problem> {
        // No alert is opened for the person meanwhile.
        store::faces::lock(tx, scope).await?;
        let alert = alerts::get(tx, scope, id).await?.ok_or_else(unknown)?;
        let of_person = alerts::of_person(tx, scope, alert.facemap_id).await?;
        if of_person.iter().any(|other| {
            other.id != id && other.state == AlertState::Open && other.listing_ref == alert.listing_ref
        }) {
            let text = "Another alert about this listing and person is open. Decide on that one";
            return Err(Problem::new(Kind::Conflict, text).named("alert_open_already"));
        }
        if !alerts::reopen(tx, scope, id).await? {
            let text = "Only an alert that a reviewer decided on can be opened again";
            return Err(Problem::new(Kind::Conflict, text).named("alert_not_decided"));
        }
        note(tx, scope, (actor, "alert.reopened"), alert.id, json!({})).await
    })
}

/// An audit row. It contains neither list nor entry, because audit rows are never erased.
pub(crate) async fn note(
    tx: &mut Tx,
    scope: Scope,
    (actor, action): (&str, &str),
    id: Uuid,
    detail: Value,
) -> Result<(), Problem> {
    let (subject, detail) = (id.to_string(), detail.to_string());
    let entry = Entry {
        actor,
        action,
        subject: &subject,
        detail: &detail,
    };
    Ok(audit::write(tx, scope, &entry).await?)
}
