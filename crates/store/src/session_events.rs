//! Session events: how applicants get through the hosted page's steps, for the funnel of the portal. Words of fixed lists and times;
//! what they may be is decided by the caller. Nothing personal.

use uuid::Uuid;

use crate::sql::{execute, fetch};
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

/// The longest time that one batch of events tells of: a link's life, which is a session's too.
const LONGEST_BATCH_MS: i64 = 600_000;

/// Who tells of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    /// `phone`, `tablet`, `desktop` or `other`.
    pub device: &'a str,
    /// Where the address is (alpha-2); none when nobody knows.
    pub country: Option<&'a str>,
    /// The session's second device.
    pub handoff: bool,
}

/// Appends a batch of events of one page load in their order, as long as the session has fewer than `limit`; answers how many were.
///
/// The page's clock counts from its own opening, so it only says how long before the batch's last event each one was; when that was is
/// this server's to say.
pub async fn append(
    tx: &mut Tx,
    scope: Scope,
    (session_id, flow_id): (Uuid, Uuid),
    source: Source<'_>,
    events: &[Event<'_>],
    limit: i64,
) -> Result<usize, Error> {
    const SQL: &str =
        "select count(*) from session_events where merchant_id = $1 and sandbox = $2 and session_id = $3";
    let (there,) = fetch!(one, tx, scope, (i64,), SQL, session_id)?;
    let room = usize::try_from(limit - there).unwrap_or(0).min(events.len());
    let now = tx.now();
    let last_ms = events.last().map_or(0, |event| event.ms);
    for event in &events[..room] {
        execute!(
tx,
scope,
"insert into session_events (merchant_id, sandbox, session_id, id, flow_id, step, kind, ms, detail, device,
                 country, handoff, at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
session_id,
// In the order of their making.
            Uuid::now_v7(),
flow_id,
event.step,
event.kind,
event.ms,
event.detail,
source.device,
source.country,
source.handoff,
now - (last_ms - event.ms).clamp(0, LONGEST_BATCH_MS)
)?;
    }
    Ok(room)
}

/// The step that a session's second device reached last.
pub async fn handoff_step(conn: &mut Conn, scope: Scope, session_id: Uuid) -> Result<Option<String>, Error> {
    let step = fetch!(
        optional,
        conn,
        scope,
        (String,),
        "select step from session_events
         where merchant_id = $1 and sandbox = $2 and session_id = $3 and handoff and kind = 'reached'
             and at >= (select claimed_at from handoffs
                        where merchant_id = $1 and sandbox = $2 and session_id = $3 and access_ref is not null)
         order by id desc limit 1",
        session_id,
    )?;
    Ok(step.map(|(step,)| step))
}

/// Whose funnel is asked for. By default that of all sessions, as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunnelFilter<'a> {
    /// One Flow's sessions only.
    pub flow_id: Option<Uuid>,
    /// Sessions begun at this time (ms) or later.
    pub since: i64,
    /// Sessions begun before this time (ms).
    pub until: Option<i64>,
    /// Only what happened on devices of this class (`phone`, `tablet`, `desktop`, `other`).
    pub device: Option<&'a str>,
    /// Only what happened in this country (alpha-2).
    pub country: Option<&'a str>,
    /// How the figures are split.
    pub split: Split,
}

/// What a funnel's figures are split by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Nothing: a row a step.
    #[default]
    Nothing,
    /// A row a step and class of devices.
    Device,
    /// A row a step and country.
    Country,
}

/// One step of a funnel.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct FunnelStep {
    /// The step.
    pub step: String,
    /// The class of devices or the country (alpha-2) that the figures are split by; none without a split, or when it is not known.
    pub part: Option<String>,
    /// Sessions that came to it.
    pub reached: i64,
    /// Sessions that completed it.
    pub completed: i64,
    /// Sessions whose time ran out before any attempt, and that told last of this step: of every such session one step.
    pub dropped: i64,
    /// Times it was done again.
    pub retried: i64,
    /// Mean milliseconds from first reaching to last completing it, over the sessions that did both. By this server's clock, so it holds
    /// over reloads and for a second device.
    pub mean_ms: Option<i64>,
}

/// The sessions and their last events are found before devices and countries are chosen: a session that goes on elsewhere did not end here.
macro_rules! funnel {
    ($of_flow:literal) => {
        concat!(
            "with told as (
                 select e.session_id, e.step, e.kind, e.at, e.device, e.country,
                     row_number() over (partition by e.session_id order by e.id desc) as from_last,
                     case when s.attempts = 0 and s.expires_at <= $5 then 1 else 0 end as ran_out
                 from sessions s join session_events e
                     on e.merchant_id = s.merchant_id and e.sandbox = s.sandbox and e.session_id = s.id
                 where s.merchant_id = $1 and s.sandbox = $2 and s.created_at >= $3 and s.created_at < $4
                     and e.kind <> 'dropped'",
            $of_flow,
            "), steps as (
                 select session_id, step, case $8 when 'device' then device when 'country' then country end as part,
                     max(case when kind = 'completed' then 1 else 0 end) as completed,
                     max(case when from_last = 1 then ran_out else 0 end) as dropped,
                     sum(case when kind = 'retried' then 1 else 0 end) as retried,
                     max(case when kind = 'completed' then at end) - min(case when kind = 'reached' then at end) as took
                 from told
                 where (cast($6 as text) is null or device = $6) and (cast($7 as text) is null or country = $7)
                 group by session_id, step, part
             )
             select step, part, cast(count(*) as bigint) as reached, cast(sum(completed) as bigint) as completed,
                 cast(sum(dropped) as bigint) as dropped, cast(sum(retried) as bigint) as retried,
                 cast(avg(case when took >= 0 then took end) as bigint) as mean_ms
             from steps group by step, part order by step, coalesce(part, '')"
        )
    };
}

/// How sessions get through their steps, and where they end: steps by name, and within a step by part.
pub async fn funnel(
    conn: &mut Conn,
    scope: Scope,
    filter: FunnelFilter<'_>,
) -> Result<Vec<FunnelStep>, Error> {
    let FunnelFilter {
        flow_id,
        since,
        until,
        device,
        country,
        split,
    } = filter;
    let (until, now) = (until.unwrap_or(i64::MAX), conn.now());
    let split = match split {
        Split::Nothing => "",
        Split::Device => "device",
        Split::Country => "country",
    };
    match flow_id {
        None => {
            fetch!(
                all,
                conn,
                scope,
                FunnelStep,
                funnel!(""),
                since,
                until,
                now,
                device,
                country,
                split
            )
        }
        Some(flow_id) => {
            fetch!(
                all,
                conn,
                scope,
                FunnelStep,
                funnel!(" and s.flow_id = $9"),
                since,
                until,
                now,
                device,
                country,
                split,
                flow_id
            )
        }
    }
}

/// What happened in a session, in order: step, kind, milliseconds since the page was opened, why, device.
pub async fn of_session(
    conn: &mut Conn,
    scope: Scope,
    session_id: Uuid,
) -> Result<Vec<(String, String, i64, Option<String>, String)>, Error> {
    fetch!(
        all,
        conn,
        scope,
        (String, String, i64, Option<String>, String),
        "select step, kind, ms, detail, device from session_events
         where merchant_id = $1 and sandbox = $2 and session_id = $3 order by id",
        session_id
    )
}
