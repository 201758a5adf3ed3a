//! Liveness challenges: one per session, with its place in the queue and its sealed state. This module does not
//! know what a challenge asks for.
//!
//! A challenge keeps its place, or its capacity while it runs, as long as its page calls. Rows go with their
//! session, or an hour after the last call; so the renewal of keys leaves them alone.

use uuid::Uuid;
use zeroize::Zeroizing;

use crate::keyring::SealContext;
use crate::sql::{execute, fetch};
use crate::text_enum::{Word, text_enum};
use crate::{Conn, Error, Scope, Tx, merchants};

text_enum! {
    /// The state of a challenge.
    ChallengeState("challenge state") {
        /// It waits for capacity.
        Waiting = "waiting",
        /// Frames arrive.
        Running = "running",
        /// It was passed.
        Passed = "passed",
        /// A person must decide.
        Review = "review",
        /// A try failed; another is left.
        Failed = "failed",
        /// The last run counts for nothing.
        Void = "void",
    }
}

/// A session's challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Its state.
    pub state: ChallengeState,
    /// Tries that failed.
    pub tries: i64,
    /// Counts writes: a write names the version that it replaces.
    pub version: i64,
    /// When its place in the queue was taken (ms).
    pub queued_at: i64,
    /// Until when its place or its capacity is kept for it (ms).
    pub held_until: i64,
    /// The run, as the service writes it; sealed.
    pub run: Option<Zeroizing<Vec<u8>>>,
}

#[derive(sqlx::FromRow)]
struct Row {
    #[sqlx(try_from = "Word<ChallengeState>")]
    state: ChallengeState,
    tries: i64,
    version: i64,
    queued_at: i64,
    held_until: i64,
    state_sealed: Option<Vec<u8>>,
}

fn seal_context(merchant_id: Uuid, session_id: &Uuid) -> SealContext<'_> {
    SealContext {
        merchant_id,
        what: "challenges.state",
        id: session_id.as_bytes(),
    }
}

/// A session's challenge; `None` before it asked for one.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn of_session(conn: &mut Conn, scope: Scope, session_id: Uuid) -> Result<Option<Challenge>, Error> {
    let row = fetch!(
        optional,
        conn,
        scope,
        Row,
        "select state, tries, version, queued_at, held_until, state_sealed from challenges
         where merchant_id = $1 and sandbox = $2 and session_id = $3",
        session_id
    )?;
    let Some(row) = row else { return Ok(None) };
    let run = match row.state_sealed {
        None => None,
        Some(sealed) => {
            let key = merchants::key(conn, scope.merchant_id).await?;
            Some(key.open(&seal_context(scope.merchant_id, &session_id), &sealed)?)
        }
    };
    Ok(Some(Challenge {
        state: row.state,
        tries: row.tries,
        version: row.version,
        queued_at: row.queued_at,
        held_until: row.held_until,
        run,
    }))
}

/// Writes a challenge whose stored version is still `challenge.version` (0: none is stored); returns whether it
/// did. The stored version grows by one.
pub async fn write(
    tx: &mut Tx,
    scope: Scope,
    session_id: Uuid,
    challenge: &Challenge,
) -> Result<bool, Error> {
    let key = merchants::key(tx, scope.merchant_id).await?;
    let context = seal_context(scope.merchant_id, &session_id);
    let sealed = challenge.run.as_ref().map(|run| key.seal(&context, run));
    let changed = execute!(
        tx,
        scope,
        "insert into challenges (merchant_id, sandbox, session_id, state, tries, version, queued_at, held_until,
             state_sealed)
         values ($1, $2, $3, $4, $5, $6 + 1, $7, $8, $9)
         on conflict (merchant_id, sandbox, session_id) do update set state = excluded.state,
             tries = excluded.tries, version = excluded.version, queued_at = excluded.queued_at,
             held_until = excluded.held_until, state_sealed = excluded.state_sealed
         where challenges.version = $6",
        session_id,
        challenge.state.as_str(),
        challenge.tries,
        challenge.version,
        challenge.queued_at,
        challenge.held_until,
        sealed.as_deref()
    )?;
    Ok(changed == 1)
}

/// How full the installation is, for a challenge that wants to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Challenges that run.
    pub running: i64,
    /// Challenges that wait and came before.
    pub ahead: i64,
}

/// The queue before a challenge that came at `queued_at` (ms).
pub async fn queue(conn: &mut Conn, session_id: Uuid, queued_at: i64) -> Result<Queue, Error> {
    let now = conn.now();
    let (running, ahead) = fetch!(
        one,
        conn,
        across_accounts("the machine's capacity is shared by all accounts"),
        (i64, i64),
        "select count(case when state = 'running' then 1 end), count(case when state = 'waiting' then 1 end)
         from challenges where state in ('running', 'waiting') and held_until > $1 and session_id <> $2
             and (state = 'running' or queued_at < $3 or (queued_at = $3 and session_id < $2))",
        now,
        session_id,
        queued_at
    )?;
    Ok(Queue { running, ahead })
}

/// Deletes challenges whose last call was before a time (ms); returns how many.
pub async fn sweep(tx: &mut Tx, before: i64) -> Result<u64, Error> {
    execute!(
        tx,
        across_accounts("retention deletes every account's challenges"),
        "delete from challenges where held_until < $1",
        before
    )
}
