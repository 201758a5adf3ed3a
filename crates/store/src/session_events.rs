//! Session events: how applicants get through the hosted page's steps, for the funnel of the portal. Words of fixed lists and times;
//! what they may be is decided by the caller. Nothing personal.

use uuid::Uuid;

use crate::db::{execute, fetch};
use crate::{Conn, Error, Scope, Tx};

/// What happened on the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The step, for instance `document`.
    pub step: &'a str,
    /// `reached`, `completed`, `retried`, …
    pub kind: &'a str,
    /// Milliseconds since the page was opened.
    pub ms: i64,
    /// Why, as a word of a fixed list.
    pub detail: Option<&'a str>,
}

/// Who tells of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    /// `phone`, `tablet`, `desktop` or `other`.
    pub device: &'a str,
    /// The session's second device.
    pub handoff: bool,
}

/// Appends events in their order, as long as the session has fewer than `limit`; answers how many were.
///
/// # Errors
/// Database errors.
pub async fn append(
    tx: &mut Tx,
    scope: Scope,
    (session_id, flow_id): (Uuid, Uuid),
    source: Source<'_>,
    events: &[Event<'_>],
    limit: i64,
) -> Result<usize, Error> {
    let sql =
        "select count(*) from session_events where merchant_id = $1 and sandbox = $2 and session_id = $3";
    let (there,) = fetch!(one, tx, (i64,), sql, scope.merchant_id, scope.sandbox, session_id)?;
    let room = usize::try_from(limit - there).unwrap_or(0).min(events.len());
    let now = tx.now();
    for event in &events[..room] {
        execute!(
            tx,
            "insert into session_events (merchant_id, sandbox, session_id, id, flow_id, step, kind, ms, detail, device,
                 handoff, at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            scope.merchant_id,
            scope.sandbox,
            session_id,
            // In the order of their making.
            Uuid::now_v7(),
            flow_id,
            event.step,
            event.kind,
            event.ms,
            event.detail,
            source.device,
            source.handoff,
            now,
        )?;
    }
    Ok(room)
}

/// The step that a session's second device reached last.
///
/// # Errors
/// Database errors.
pub async fn handoff_step(conn: &mut Conn, scope: Scope, session_id: Uuid) -> Result<Option<String>, Error> {
    let step = fetch!(
        optional,
        conn,
        (String,),
        "select step from session_events
         where merchant_id = $1 and sandbox = $2 and session_id = $3 and handoff and kind = 'reached'
             and at >= (select claimed_at from handoffs
                        where merchant_id = $1 and sandbox = $2 and session_id = $3 and access_ref is not null)
         order by id desc limit 1",
        scope.merchant_id,
        scope.sandbox,
        session_id,
    )?;
    Ok(step.map(|(step,)| step))
}

/// One step of a Flow's funnel, over all its sessions.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct FunnelStep {
    /// The step.
    pub step: String,
    /// Sessions that reached it.
    pub reached: i64,
    /// Sessions that completed it.
    pub completed: i64,
    /// Sessions that reached no event after it: they ended here without completing it.
    pub dropped: i64,
    /// Times it was done again.
    pub retried: i64,
    /// Mean milliseconds from first reaching to last completing it, over the sessions that completed it.
    pub mean_ms: Option<i64>,
}

/// A Flow's funnel from a time on (ms), or that of all Flows: steps in no particular order.
///
/// # Errors
/// Database errors.
pub async fn funnel(
    conn: &mut Conn,
    scope: Scope,
    flow_id: Option<Uuid>,
    since: i64,
) -> Result<Vec<FunnelStep>, Error> {
    fetch!(
        all,
        conn,
        FunnelStep,
        "with chosen as (
             select session_id, id, step, kind, ms from session_events
             where merchant_id = $1 and sandbox = $2 and at >= $3 and (flow_id = $4 or $5)
         ), last as (
             select session_id, max(ms) as ms from chosen group by session_id
         ), steps as (
             select chosen.session_id, step,
                 max(case when kind = 'reached' then 1 else 0 end) as reached,
                 max(case when kind = 'completed' then 1 else 0 end) as completed,
                 sum(case when kind = 'retried' then 1 else 0 end) as retried,
                 max(chosen.ms) as last_ms,
                 max(case when kind = 'completed' then chosen.ms end)
                     - min(case when kind = 'reached' then chosen.ms end) as took
             from chosen group by chosen.session_id, step
         )
         select step, cast(sum(reached) as bigint) as reached, cast(sum(completed) as bigint) as completed,
             cast(sum(case when completed = 0 and steps.last_ms = last.ms then 1 else 0 end) as bigint) as dropped,
             cast(sum(retried) as bigint) as retried,
             cast(avg(case when took >= 0 then took end) as bigint) as mean_ms
         from steps join last on last.session_id = steps.session_id
         group by step order by step",
        scope.merchant_id,
        scope.sandbox,
        since,
        flow_id.unwrap_or_default(),
        flow_id.is_none(),
    )
}
