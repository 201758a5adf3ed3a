//! Statistics over an account's attempts: counts, outcomes, codes and durations. No sealed column is read.
//! Every query with a [`Range`] reads only the index `attempts_figures`.

use uuid::Uuid;

use crate::sql::fetch;
use crate::{Conn, Error, Scope};

/// Which attempts to count.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Not before this time (ms).
    pub from: i64,
    /// Before this time (ms).
    pub until: i64,
    /// Only of this Flow.
    pub flow_id: Option<Uuid>,
}

/// The number of attempts by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Passed, or approved by a reviewer.
    pub approved: i64,
    /// Declined by a reviewer.
    pub declined: i64,
    /// Failed.
    pub failed: i64,
    /// Waiting for a review.
    pub pending: i64,
}

impl Tally {
    /// All attempts.
    #[must_use]
    pub fn total(self) -> i64 {
        self.approved + self.declined + self.failed + self.pending
    }

    /// The share of approved attempts among the decided ones, 0–1. `None` if none is decided.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of attempts")]
    pub fn pass_rate(self) -> Option<f64> {
        let decided = self.total() - self.pending;
        (decided > 0).then(|| self.approved as f64 / decided as f64)
    }
}

type Sums = (i64, i64, i64, i64);

fn tally((approved, declined, failed, pending): Sums) -> Tally {
    Tally {
        approved,
        declined,
        failed,
        pending,
    }
}

/// Counts attempts by one expression. The names must be columns of the index.
macro_rules! tallies {
    ($key:literal) => {
        concat!(
            "select ",
            $key,
            " as by_key,
                 sum(case when status = 'approved' then 1 else 0 end),
                 sum(case when status = 'declined' then 1 else 0 end),
                 sum(case when status = 'failed' then 1 else 0 end),
                 sum(case when status = 'pending' then 1 else 0 end)
             from attempts
             where merchant_id = $1 and sandbox = $2 and created_at >= $3 and created_at < $4
                 and ($5 or flow_id = $6)
             group by ",
            $key,
            " order by ",
            $key
        )
    };
}

macro_rules! tallied {
    ($conn:expr, $scope:expr, $range:expr, $key:literal, $type:ty) => {{
        type Row = ($type, i64, i64, i64, i64);
        let rows = fetch!(
            all,
            $conn,
            $scope,
            Row,
            tallies!($key),
            $range.from,
            $range.until,
            $range.flow_id.is_none(),
            $range.flow_id.unwrap_or_default(),
        )?;
        Ok(rows
            .into_iter()
            .map(|(key, approved, declined, failed, pending)| {
                (key, tally((approved, declined, failed, pending)))
            })
            .collect())
    }};
}

/// By day (UTC, days since 1970), oldest first. Days without attempts are omitted.
pub async fn by_day(conn: &mut Conn, scope: Scope, range: Range) -> Result<Vec<(i64, Tally)>, Error> {
    tallied!(conn, scope, range, "created_at / 86400000", i64)
}

/// By Flow.
pub async fn by_flow(conn: &mut Conn, scope: Scope, range: Range) -> Result<Vec<(Uuid, Tally)>, Error> {
    tallied!(conn, scope, range, "flow_id", Uuid)
}

/// By the document's country (alpha-3); `None` where no document was read.
pub async fn by_country(
    conn: &mut Conn,
    scope: Scope,
    range: Range,
) -> Result<Vec<(Option<String>, Tally)>, Error> {
    tallied!(conn, scope, range, "country", Option<String>)
}

/// By the types of the submitted documents, as JSON.
pub async fn by_documents(
    conn: &mut Conn,
    scope: Scope,
    range: Range,
) -> Result<Vec<(String, Tally)>, Error> {
    tallied!(conn, scope, range, "document_types", String)
}

/// By the failure codes, as JSON.
pub async fn by_codes(conn: &mut Conn, scope: Scope, range: Range) -> Result<Vec<(String, Tally)>, Error> {
    tallied!(conn, scope, range, "codes", String)
}

/// The resolution of durations (ms).
pub const TIME_STEP_MS: i64 = 25;

/// How many attempts took how long: day (UTC, days since 1970), duration in steps of [`TIME_STEP_MS`], count.
pub async fn times(conn: &mut Conn, scope: Scope, range: Range) -> Result<Vec<(i64, i64, i64)>, Error> {
    type Row = (i64, i64, i64);
    fetch!(
        all,
        conn,
        scope,
        Row,
        "select created_at / 86400000 as day, took_ms / 25 as step, count(*) from attempts
         where merchant_id = $1 and sandbox = $2 and created_at >= $3 and created_at < $4
             and ($5 or flow_id = $6) and took_ms is not null
         group by created_at / 86400000, took_ms / 25 order by day, step",
        range.from,
        range.until,
        range.flow_id.is_none(),
        range.flow_id.unwrap_or_default()
    )
}

/// How many attempts wait for a review, and when the oldest of them was made (ms).
pub async fn pending_backlog(conn: &mut Conn, scope: Scope) -> Result<(i64, Option<i64>), Error> {
    type Row = (i64, Option<i64>);
    const SQL: &str = "select count(*), min(created_at) from attempts
               where merchant_id = $1 and sandbox = $2 and status = 'pending'";
    fetch!(one, conn, scope, Row, SQL)
}

/// Whether the account has any attempt.
pub async fn any(conn: &mut Conn, scope: Scope) -> Result<bool, Error> {
    const SQL: &str = "select log_id from attempts where merchant_id = $1 and sandbox = $2 limit 1";
    let found = fetch!(optional, conn, scope, (i64,), SQL)?;
    Ok(found.is_some())
}

/// Webhook events since a time (ms) whose latest delivery failed: how many will be tried again, and how many
/// were given up.
pub async fn webhook_failures(conn: &mut Conn, scope: Scope, since: i64) -> Result<(i64, i64), Error> {
    type Row = (i64, i64);
    fetch!(
        one,
        conn,
        scope,
        Row,
        "select coalesce(sum(case when next_try_at is not null then 1 else 0 end), 0),
             coalesce(sum(case when next_try_at is null then 1 else 0 end), 0)
         from outbox
         where merchant_id = $1 and sandbox = $2 and created_at >= $3 and delivered_at is null and tries > 0
             and last_error is not null",
        since
    )
}
