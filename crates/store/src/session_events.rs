//! Session events: how applicants proceed through the steps of the hosted page, for the funnel in the portal
//! and its reasons for dropping off. They consist of times and of words from fixed lists, which the caller
//! checks. The visitor's country, class of device and language are the only personal data stored with them.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx};

/// An event on the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The step, for instance `document`.
    pub step: &'a str,
    /// `reached`, `completed`, `retried`, …
    pub kind: &'a str,
    /// Milliseconds since the page was opened.
    pub ms: i64,
    /// The reason, as a word from a fixed list.
    pub detail: Option<&'a str>,
}

/// The longest time that one batch of events may cover (ms): the life of a link, and also of a session.
const LONGEST_BATCH_MS: i64 = 600_000;

/// The origin of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventSource<'a> {
    /// `phone`, `tablet`, `desktop` or `other`.
    pub device: &'a str,
    /// The country of the client's address (alpha-2); `None` if unknown.
    pub country: Option<&'a str>,
    /// The language in which the page was shown, as its code; `None` if unknown.
    pub language: Option<&'a str>,
    /// Whether it is the session's second device.
    pub is_handoff: bool,
}

/// Appends a batch of events of one page load in order, while the session has fewer than `limit`; returns how
/// many were added.
///
/// The page's clock starts when the page is opened. So it only gives the time between an event and the last
/// event of the batch; the server's clock gives the time of the last event.
pub async fn append(
    tx: &mut Tx,
    scope: Scope,
    (session_id, flow_id): (Uuid, Uuid),
    source: EventSource<'_>,
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
                 country, language, handoff, at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
session_id,
// Version 7, so the ids sort in the order of insertion.
            Uuid::now_v7(),
flow_id,
event.step,
event.kind,
event.ms,
event.detail,
source.device,
source.country,
source.language,
source.is_handoff,
now - (last_ms - event.ms).clamp(0, LONGEST_BATCH_MS)
)?;
    }
    Ok(room)
}

/// The latest step that a session's second device reached.
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

/// Which sessions a funnel covers. The default is all sessions, without a split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunnelFilter<'a> {
    /// Only sessions of this Flow.
    pub flow_id: Option<Uuid>,
    /// Only sessions that began at this time (ms) or later.
    pub since: i64,
    /// Only sessions that began before this time (ms).
    pub until: Option<i64>,
    /// Only events on devices of this class (`phone`, `tablet`, `desktop`, `other`).
    pub device: Option<&'a str>,
    /// Only events in this country (alpha-2).
    pub country: Option<&'a str>,
    /// Only events on pages in this language (its code).
    pub language: Option<&'a str>,
    /// How the figures are split.
    pub split: Split,
}

/// How a funnel's figures are split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// One row per step.
    #[default]
    Nothing,
    /// One row per step and class of device.
    Device,
    /// One row per step and country.
    Country,
    /// One row per step and language of the page.
    Language,
}

/// One step of a funnel.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct FunnelStep {
    /// The step.
    pub step: String,
    /// The class of device, the country (alpha-2) or the language's code, as split; `None` without a split or if
    /// unknown.
    pub part: Option<String>,
    /// Sessions with an event of this step.
    pub reached: i64,
    /// Sessions that completed it.
    pub completed: i64,
    /// Sessions that expired before any attempt and whose last event was of this step. Each such session
    /// counts for one step.
    pub dropped: i64,
    /// How often the step was repeated.
    pub retried: i64,
    /// The median time in milliseconds from first reaching the step to last completing it, over the sessions
    /// that did both; of an even number of sessions, the mean of the middle two. It uses the server's clock, so
    /// it is correct across reloads and for a second device.
    pub median_ms: Option<i64>,
    /// The number of sessions of the median.
    pub timed: i64,
}

/// Sessions that dropped off at a step for one reason.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct DropOff {
    /// The step of their last event.
    pub step: String,
    /// The detail of their last problem (`failed`, `denied` or `retried`) that no completed step followed, or one
    /// of [`OTHER_REASONS`].
    pub reason: String,
    /// Their number.
    pub sessions: i64,
}

/// Reasons that are no details of events: no open problem, a problem without a detail, and a refused consent.
pub const OTHER_REASONS: [&str; 3] = ["no_problem", "unknown", "consent_refused"];

/// A session ended at its last event on any device, because a session may continue on another device. So the query
/// finds the last event, by the primary key, before it applies the filters.
macro_rules! funnel {
    ($of_flow:literal) => {
        concat!(
            "with chosen as materialized (
                 select s.id, case when s.attempts = 0 and s.expires_at <= $5 then
                     (select l.id from session_events l
                      where l.merchant_id = $1 and l.sandbox = $2 and l.session_id = s.id and l.kind <> 'dropped'
                      order by l.id desc limit 1) end as end_id
                 from sessions s
                 where s.merchant_id = $1 and s.sandbox = $2 and s.created_at >= $3 and s.created_at < $4",
            $of_flow,
            "), steps as (
                 select e.session_id, e.step,
                     case $9 when 'device' then e.device when 'country' then e.country
                         when 'language' then e.language end as part,
                     max(case when e.kind = 'completed' then 1 else 0 end) as completed,
                     max(case when e.id = c.end_id then 1 else 0 end) as dropped,
                     sum(case when e.kind = 'retried' then 1 else 0 end) as retried,
                     max(case when e.kind = 'completed' then e.at end)
                         - min(case when e.kind = 'reached' then e.at end) as took
                 from chosen c join session_events e
                     on e.merchant_id = $1 and e.sandbox = $2 and e.session_id = c.id
                 where e.kind <> 'dropped' and (cast($6 as text) is null or e.device = $6)
                     and (cast($7 as text) is null or e.country = $7)
                     and (cast($8 as text) is null or e.language = $8)
                 group by e.session_id, e.step, part
             ), durations as (
                 select step, part, completed, dropped, retried, case when took >= 0 then took end as took from steps
             ), ranked as (
                 select step, part, completed, dropped, retried, took, count(took) over (partition by step, part) as timed,
                     row_number() over (partition by step, part order by took nulls last) as place
                 from durations
             )
             select step, part, cast(count(*) as bigint) as reached, cast(sum(completed) as bigint) as completed,
                 cast(sum(dropped) as bigint) as dropped, cast(sum(retried) as bigint) as retried,
                 (min(case when place >= (timed + 1) / 2 then took end)
                     + max(case when place <= (timed + 2) / 2 then took end)) / 2 as median_ms,
                 max(timed) as timed
             from ranked group by step, part order by step, coalesce(part, '')"
        )
    };
}

/// A session's result is its last event that completed a step or reported a problem.
macro_rules! drop_offs {
    ($of_flow:literal) => {
        concat!(
            "with chosen as materialized (
                 select s.id,
                     (select l.id from session_events l
                      where l.merchant_id = $1 and l.sandbox = $2 and l.session_id = s.id and l.kind <> 'dropped'
                      order by l.id desc limit 1) as end_id,
                     (select l.id from session_events l
                      where l.merchant_id = $1 and l.sandbox = $2 and l.session_id = s.id
                          and l.kind in ('completed', 'failed', 'denied', 'retried')
                      order by l.id desc limit 1) as result_id
                 from sessions s
                 where s.merchant_id = $1 and s.sandbox = $2 and s.created_at >= $3 and s.created_at < $4
                     and s.attempts = 0 and s.expires_at <= $5",
            $of_flow,
            "), ends as (
                 select e.step, case when r.id is null or r.kind = 'completed' then 'no_problem'
                     when r.step = 'consent' and r.kind = 'denied' then 'consent_refused'
                     else coalesce(r.detail, 'unknown') end as reason
                 from chosen c join session_events e
                     on e.merchant_id = $1 and e.sandbox = $2 and e.session_id = c.id and e.id = c.end_id
                 left join session_events r
                     on r.merchant_id = $1 and r.sandbox = $2 and r.session_id = c.id and r.id = c.result_id
                 where (cast($6 as text) is null or e.device = $6) and (cast($7 as text) is null or e.country = $7)
                     and (cast($8 as text) is null or e.language = $8)
             )
             select step, reason, count(*) as sessions
             from ends group by step, reason order by sessions desc, step, reason"
        )
    };
}

/// The sessions that the funnel counts as dropped, by step and reason, the most frequent first. The split does not
/// apply.
pub async fn drop_offs(
    conn: &mut Conn,
    scope: Scope,
    filter: FunnelFilter<'_>,
) -> Result<Vec<DropOff>, Error> {
    let FunnelFilter {
        flow_id,
        since,
        until,
        device,
        country,
        language,
        split: _,
    } = filter;
    let (until, now) = (until.unwrap_or(i64::MAX), conn.now());
    match flow_id {
        None => {
            fetch!(
                all,
                conn,
                scope,
                DropOff,
                drop_offs!(""),
                since,
                until,
                now,
                device,
                country,
                language
            )
        }
        Some(flow_id) => {
            fetch!(
                all,
                conn,
                scope,
                DropOff,
                drop_offs!(" and s.flow_id = $9"),
                since,
                until,
                now,
                device,
                country,
                language,
                flow_id
            )
        }
    }
}

/// How sessions proceed through the steps, and where they end. Sorted by step, and within a step by part.
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
        language,
        split,
    } = filter;
    let (until, now) = (until.unwrap_or(i64::MAX), conn.now());
    let split = match split {
        Split::Nothing => "",
        Split::Device => "device",
        Split::Country => "country",
        Split::Language => "language",
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
                language,
                split
            )
        }
        Some(flow_id) => {
            fetch!(
                all,
                conn,
                scope,
                FunnelStep,
                funnel!(" and s.flow_id = $10"),
                since,
                until,
                now,
                device,
                country,
                language,
                split,
                flow_id
            )
        }
    }
}

/// An event as it is stored, for the export of a person's data.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct StoredEvent {
    /// The step.
    pub step: String,
    /// `reached`, `completed`, `retried`, …
    pub kind: String,
    /// Milliseconds since the page was opened.
    pub ms: i64,
    /// The reason.
    pub detail: Option<String>,
    /// The class of device.
    pub device: String,
    /// The country of the client's address (alpha-2).
    pub country: Option<String>,
    /// The code of the page's language.
    pub language: Option<String>,
}

/// The events of a session in order.
pub async fn of_session(conn: &mut Conn, scope: Scope, session_id: Uuid) -> Result<Vec<StoredEvent>, Error> {
    fetch!(
        all,
        conn,
        scope,
        StoredEvent,
        "select step, kind, ms, detail, device, country, language from session_events
         where merchant_id = $1 and sandbox = $2 and session_id = $3 order by id",
        session_id
    )
}
