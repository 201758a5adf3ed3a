//! Background jobs: written in the transaction that causes them, leased to one worker at a time, deleted when done.
//! It does not know what a job does. Payloads hold ids, not personal data.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

/// A job to be done.
#[derive(Clone, Copy, Debug)]
pub struct NewJob<'a> {
    /// The account it works for, if for one.
    pub merchant_id: Option<Uuid>,
    /// What is to be done.
    pub kind: &'a str,
    /// At most one job of a kind with this name is kept; further ones are dropped.
    pub unique_name: Option<&'a str>,
    /// On what, as JSON.
    pub payload: &'a str,
    /// Not before (ms).
    pub run_at: i64,
}

/// A job leased to a worker.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Job {
    /// The job.
    pub id: Uuid,
    /// See [`NewJob::merchant_id`].
    pub merchant_id: Option<Uuid>,
    /// See [`NewJob::kind`].
    pub kind: String,
    /// See [`NewJob::payload`].
    pub payload: String,
    /// Which try this is, from 1. Of the leases of one job only the last may report.
    pub tries: i64,
}

/// Writes a job; whether it is a new one (see [`NewJob::unique_name`]).
pub async fn enqueue(tx: &mut Tx, job: &NewJob<'_>) -> Result<bool, Error> {
    let now = tx.now();
    let inserted = execute!(
        tx,
        across_accounts("a job may belong to no account"),
        "insert into jobs (id, merchant_id, kind, unique_name, payload, tries, run_at, created_at)
         values ($1, $2, $3, $4, $5, 0, $6, $7) on conflict (kind, unique_name) do nothing",
        Uuid::now_v7(),
        job.merchant_id,
        job.kind,
        job.unique_name,
        job.payload,
        job.run_at,
        now
    )?;
    Ok(inserted == 1)
}

macro_rules! claim {
    ($lock:literal) => {
        concat!(
            "update jobs set tries = tries + 1, leased_until = $1 where id =
                 (select id from jobs where kind = $2 and run_at <= $3
                      and (leased_until is null or leased_until <= $3)
                  order by run_at limit 1 ",
            $lock,
            ") returning id, merchant_id, kind, payload, tries"
        )
    };
}

/// Leases the next due job of a kind. What is neither [`finish`]ed nor [`retry`]ed within `lease_ms` is leased again.
pub async fn claim(tx: &mut Tx, kind: &str, lease_ms: i64) -> Result<Option<Job>, Error> {
    let now = tx.now();
    let sql = if tx.is_postgres() {
        claim!("for update skip locked")
    } else {
        claim!("")
    };
    fetch!(
        optional,
        tx,
        across_accounts("workers take every account's jobs"),
        Job,
        sql,
        now + lease_ms,
        kind,
        now
    )
}

/// Reports a job done. Answers `false` when the lease was lost meanwhile.
pub async fn finish(tx: &mut Tx, job: &Job) -> Result<bool, Error> {
    Ok(execute!(
        tx,
        across_accounts("workers take every account's jobs"),
        "delete from jobs where id = $1 and tries = $2",
        job.id,
        job.tries
    )? == 1)
}

/// Puts a job back, to be run again at `run_at` (ms). Answers `false` when the lease was lost meanwhile.
pub async fn retry(tx: &mut Tx, job: &Job, run_at: i64, error: &str) -> Result<bool, Error> {
    const SQL: &str =
        "update jobs set leased_until = null, run_at = $3, last_error = $4 where id = $1 and tries = $2";
    Ok(execute!(
        tx,
        across_accounts("workers take every account's jobs"),
        SQL,
        job.id,
        job.tries,
        run_at,
        error
    )? == 1)
}

/// How a job stands.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct JobState {
    /// The job.
    pub id: Uuid,
    /// See [`NewJob::merchant_id`].
    pub merchant_id: Option<Uuid>,
    /// See [`NewJob::kind`].
    pub kind: String,
    /// Tries begun.
    pub tries: i64,
    /// Not before (ms).
    pub run_at: i64,
    /// Until when (ms) a worker has it.
    pub leased_until: Option<i64>,
    /// What went wrong at the last try.
    pub last_error: Option<String>,
    /// When it was written (ms).
    pub created_at: i64,
}

/// The jobs that are not done, those that failed most often first, at most `limit`.
pub async fn list(conn: &mut Conn, limit: i64) -> Result<Vec<JobState>, Error> {
    fetch!(
        all,
        conn,
        across_accounts("operators list every account's jobs"),
        JobState,
        "select id, merchant_id, kind, tries, run_at, leased_until, last_error, created_at from jobs
         order by tries desc, run_at, id limit $1",
        limit
    )
}

/// Makes a job that nobody works on due now; whether there was one.
pub async fn run_now(tx: &mut Tx, id: Uuid) -> Result<bool, Error> {
    let now = tx.now();
    const SQL: &str =
        "update jobs set run_at = $2 where id = $1 and (leased_until is null or leased_until <= $2)";
    Ok(execute!(
        tx,
        across_accounts("operators run any account's jobs"),
        SQL,
        id,
        now
    )? == 1)
}
