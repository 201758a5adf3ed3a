//! Background jobs: written in the transaction that causes them, leased to one worker at a time, and deleted
//! when done. This module does not interpret jobs. Payloads contain ids and no personal data.

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

/// A job to run.
#[derive(Clone, Copy, Debug)]
pub struct NewJob<'a> {
    /// The account of the job, if it has one.
    pub merchant_id: Option<Uuid>,
    /// The type of the job.
    pub kind: &'a str,
    /// If set, a job is dropped while another one of the same kind has this name.
    pub unique_name: Option<&'a str>,
    /// Its parameters, as JSON.
    pub payload: &'a str,
    /// The earliest time to run it (ms).
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
    /// The number of this try, from 1. Only the worker with the latest try may report.
    pub tries: i64,
}

/// Adds a job; returns `false` if it was dropped (see [`NewJob::unique_name`]).
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

/// Leases the next due job of a kind. A job that is neither [`finish`]ed nor [`retry`]ed within `lease_ms` is
/// leased again.
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

/// Reports that a job is done. `false` if the lease was lost in the meantime.
pub async fn finish(tx: &mut Tx, job: &Job) -> Result<bool, Error> {
    Ok(execute!(
        tx,
        across_accounts("workers take every account's jobs"),
        "delete from jobs where id = $1 and tries = $2",
        job.id,
        job.tries
    )? == 1)
}

/// Returns a job, to run again at `run_at` (ms). `false` if the lease was lost in the meantime.
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

/// The state of a job.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct JobState {
    /// The job.
    pub id: Uuid,
    /// See [`NewJob::merchant_id`].
    pub merchant_id: Option<Uuid>,
    /// See [`NewJob::kind`].
    pub kind: String,
    /// How many tries have begun.
    pub tries: i64,
    /// The earliest time to run it (ms).
    pub run_at: i64,
    /// Until when (ms) a worker has leased it.
    pub leased_until: Option<i64>,
    /// The error of the last try.
    pub last_error: Option<String>,
    /// When it was added (ms).
    pub created_at: i64,
}

/// The unfinished jobs, those with the most tries first, at most `limit`.
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

/// Makes a job due now unless a worker has leased it; returns whether it did.
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
