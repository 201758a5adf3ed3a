//! Retention: deletes attempts older than their Flow's `retentionDays` (or the server's default), with their
//! files and keys. A registration that loses its last attempt stays, with status null
//! (`docs/decisions/0014-duplicates.md`). Every node may do this at the same time.
//!
//! As in [`erasure`](super::erasure), the erasure journal gets the ids of the attempts' keys before they are
//! destroyed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use store::attempts::{self, RetentionCandidate};
use store::audit::{self, Entry};
use store::erasure_journal::KeyId;
use store::flows::FlowContent;
use store::{Db, Scope, faces, registrations, rescreenings};
use uuid::Uuid;
use verification::status::AttemptStatus;

use super::actor::By;
use super::flow_choices::FlowChoices;
use super::flows::SaveOutcome;
use super::{App, erasure, flows, reviews};
use crate::problem::Problem;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// The number of attempts that are read at once.
const PAGE: i64 = 500;

/// Deletes attempts past their retention, and returns how many. A failure in one account does not stop the
/// others.
///
/// # Errors
/// The first account's error, after all others were processed.
pub async fn sweep(app: &App) -> Result<usize, Problem> {
    let (mut removed, mut failed) = (0, None);
    let merchants = store::merchants::ids(&mut app.db.read().await?).await?;
    for merchant_id in merchants {
        for sandbox in [false, true] {
            let scope = Scope { merchant_id, sandbox };
            if let Err(problem) = sweep_scope(app, scope, &mut removed).await {
                tracing::warn!(%merchant_id, sandbox, %problem, "the account's attempts past their retention could not be removed");
                failed.get_or_insert(problem);
            }
        }
    }
    if removed > 0 {
        // Noted again, because housekeeping may have emptied the log between the first removal and the last.
        app.background.note_key_destruction();
        erasure::empty_log(app).await?;
    }
    failed.map_or(Ok(removed), Err)
}

/// Deletes the attempts of one scope. It adds to `removed` during the work, so that an error loses no count.
/// Attempts of a Flow that cannot be read are retained, and the error is returned after the others were
/// deleted.
async fn sweep_scope(app: &App, scope: Scope, removed: &mut usize) -> Result<(), Problem> {
    let mut kept = RetentionPeriods {
        days: BTreeMap::new(),
        unreadable: BTreeSet::new(),
        default: app.config.retention_days,
    };
    let mut unreadable = None;
    for flow in store::flows::list(&mut app.db.read().await?, scope).await? {
        let id = flow.id;
        match flows::parse(&flow.into()) {
            Ok(rules) => {
                kept.days.insert(id, rules.settings.retention_days);
            }
            Err(problem) => {
                kept.unreadable.insert(id);
                unreadable = Some(problem);
            }
        }
    }
    sweep_kept(app, scope, &kept, removed).await?;
    unreadable.map_or(Ok(()), Err)
}

async fn sweep_kept(
    app: &App,
    scope: Scope,
    kept: &RetentionPeriods,
    removed: &mut usize,
) -> Result<(), Problem> {
    let Some(shortest) = kept.shortest() else {
        return Ok(());
    };
    // The installation's time, because this machine's clock may be wrong.
    let now = app.db.read().await?.now();
    let mut after = (0, 0);
    loop {
        let before = now - i64::from(shortest) * DAY_MS;
        let page = attempts::made_before(&mut app.db.read().await?, scope, before, after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = (last.created_at, last.log_id);
        let over: Vec<&RetentionCandidate> =
            page.iter().filter(|attempt| kept.is_over(attempt, now)).collect();
        if over.is_empty() {
            continue;
        }
        journal(app, scope, &over).await?;
        app.background.note_key_destruction();
        for attempt in over {
            *removed += usize::from(erase_attempt(&app.db, scope, attempt, "retention").await?);
        }
        erasure::remove_objects_left(&app.db, &app.objects).await?;
    }
}

/// How long a Flow's attempts are retained, and when the next ones are deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// The Flow.
    pub flow_id: Uuid,
    /// Its name.
    pub name: String,
    /// Its own `retentionDays`.
    pub own_days: Option<u32>,
    /// The retention in effect: the Flow's own, or else the server's. `None`: no limit.
    pub days: Option<u32>,
    /// When its oldest attempt was made (ms).
    pub oldest: Option<i64>,
    /// When the oldest attempt becomes due (ms). It is deleted within the hour after that.
    pub next: Option<i64>,
    /// How many become due within a week, counted up to [`MOST_COUNTED`].
    pub soon: i64,
}

/// The maximum count of due attempts in an [`Outlook`].
pub const MOST_COUNTED: i64 = 1_000;

/// The retention of every Flow of the account, by name.
pub async fn outlook(app: &App, scope: Scope) -> Result<Vec<Outlook>, Problem> {
    let mut conn = app.db.read().await?;
    let now = conn.now();
    let mut all = Vec::new();
    for flow in store::flows::list(&mut conn, scope).await? {
        let (flow_id, name) = (flow.id, flow.name.clone());
        let rules = flows::parse(&flow.into()).ok();
        let own_days = rules.as_ref().and_then(|rules| rules.settings.retention_days);
        // Attempts of a Flow that cannot be read are retained.
        let days = rules.and_then(|_| own_days.or(app.config.retention_days));
        let kept_ms = days.map(|days| i64::from(days) * DAY_MS);
        let before = kept_ms.map_or(0, |kept| now + 7 * DAY_MS - kept);
        let (oldest, soon) = attempts::ages(&mut conn, scope, flow_id, before, MOST_COUNTED).await?;
        all.push(Outlook {
            next: oldest.zip(kept_ms).map(|(made, kept)| (made + kept).max(now)),
            flow_id,
            name,
            own_days,
            days,
            oldest,
            soon,
        });
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// Sets how many days a Flow's attempts are retained (`None`: the server's default), with an audit row; 404
/// for another account's Flow. Where two people are required, a shorter time waits for a second person,
/// because it also deletes declines.
pub async fn set(
    app: &App,
    scope: Scope,
    flow_id: Uuid,
    days: Option<u32>,
    actor: &str,
) -> Result<SaveOutcome, Problem> {
    store::transaction!(app.db, |tx| -> Result<SaveOutcome, Problem> {
        let flow = store::flows::get_for_update(tx, scope, flow_id)
            .await?
            .ok_or_else(|| Problem::not_found("Flow not found"))?;
        let mut content: FlowContent = flow.clone().into();
        let mut settings: Map<String, Value> =
            serde_json::from_str(&content.settings).map_err(Problem::internal)?;
        match days {
            Some(days) => settings.insert("retentionDays".into(), days.into()),
            None => settings.remove("retentionDays"),
        };
        content.settings = Value::Object(settings).to_string();
        flows::parse(&content)?;
        let by = By::actor(actor);
        let saved = flows::change(tx, scope, flow, content, app.config.retention_days, by).await?;
        if matches!(saved, SaveOutcome::Proposed) {
            return Ok(saved);
        }
        let entry = Entry {
            actor,
            action: "flow.retention_set",
            subject: &flow_id.to_string(),
            detail: &json!({"retentionDays": days}).to_string(),
        };
        audit::write(tx, scope, &entry).await?;
        Ok(saved)
    })
}

/// How long attempts are retained.
struct RetentionPeriods {
    /// Days by Flow. A Flow without a setting, or a deleted one, has the default.
    days: BTreeMap<Uuid, Option<u32>>,
    /// Flows that cannot be read.
    unreadable: BTreeSet<Uuid>,
    /// The server's default; `None`: no limit.
    default: Option<u32>,
}

impl RetentionPeriods {
    fn of(&self, flow_id: Uuid) -> Option<u32> {
        self.days.get(&flow_id).copied().flatten().or(self.default)
    }

    fn shortest(&self) -> Option<u32> {
        self.days.values().copied().flatten().chain(self.default).min()
    }

    fn is_over(&self, attempt: &RetentionCandidate, now: i64) -> bool {
        let is_kept = self.unreadable.contains(&attempt.flow_id);
        let days = self.of(attempt.flow_id).filter(|_| !is_kept);
        days.is_some_and(|days| attempt.created_at < now - i64::from(days) * DAY_MS)
    }
}

async fn journal(app: &App, scope: Scope, attempts: &[&RetentionCandidate]) -> Result<(), Problem> {
    let conn = app.db.read().await?;
    let keys = attempts
        .iter()
        .map(|attempt| KeyId::of_attempt(&conn, scope, attempt.id))
        .collect();
    let now = conn.now();
    drop(conn);
    let installation = app.db.installation_id();
    Ok(app.objects.append_to_journal(&installation, now, keys).await?)
}

/// Deletes an attempt's row and key; the same transaction records that its files must be deleted. Returns
/// false if another node was faster. The journal must already contain the key.
///
/// # Errors
/// Store errors.
pub async fn erase_attempt(
    db: &Db,
    scope: Scope,
    attempt: &RetentionCandidate,
    actor: &str,
) -> Result<bool, Problem> {
    let removed = store::transaction!(db, |tx| -> Result<(), Problem> {
        faces::lock(tx, scope).await?;
        if let Some(registration_id) = attempts::delete(tx, scope, attempt.log_id).await? {
            let before = registrations::get(tx, scope, registration_id).await?;
            let status = reviews::refresh_status(tx, scope, registration_id).await?;
            // If an earlier approval counts again, the lists may have changed while it did not. With the same status, it
            // may be one through a Flow with other lists.
            if let Some(before) = before
                && status == Some(AttemptStatus::Approved)
                && (before.status != status || FlowChoices::of_account(tx, scope).await?.has_lists())
            {
                rescreenings::request(tx, scope, before.facemap_id).await?;
            }
        }
        let subject = attempt.log_id.to_string();
        let entry = Entry {
            actor,
            action: "verification.removed",
            subject: &subject,
            detail: "{}",
        };
        Ok(audit::write(tx, scope, &entry).await?)
    });
    if let Err(problem) = removed {
        let gone = !attempts::exists(&mut db.read().await?, scope, attempt.id).await?;
        return if gone { Ok(false) } else { Err(problem) };
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_s_days_come_before_the_default() {
        let [own, silent, gone, damaged] = [1, 2, 3, 4].map(Uuid::from_u128);
        let kept = |default| RetentionPeriods {
            days: BTreeMap::from([(own, Some(30)), (silent, None)]),
            unreadable: BTreeSet::from([damaged]),
            default,
        };
        let now = 1_000 * DAY_MS;
        let aged = |flow_id, days: i64| RetentionCandidate {
            log_id: 1,
            id: Uuid::nil(),
            flow_id,
            created_at: now - days * DAY_MS - 1,
        };
        for (default, flow_id, days, over) in [
            (None, own, 30, true),
            (None, own, 29, false),
            (None, silent, 900, false),
            (None, gone, 900, false),
            (Some(10), own, 29, false),
            (Some(10), silent, 10, true),
            (Some(10), gone, 10, true),
            (Some(90), own, 30, true),
            (Some(90), silent, 89, false),
            (Some(1), damaged, 900, false),
        ] {
            let found = kept(default).is_over(&aged(flow_id, days), now);
            assert_eq!(found, over, "{default:?} {flow_id} {days}");
        }
        assert_eq!(
            (kept(None).shortest(), kept(Some(7)).shortest()),
            (Some(30), Some(7))
        );
    }
}
