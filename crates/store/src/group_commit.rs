//! Group commit for SQLite: transactions that commit together share the one connection that writes.
//!
//! SQLite has one writer at a time, and a commit that survives a power cut waits for the disk. If each
//! transaction waited alone, the disk's syncs per second would limit the writes per second. Here,
//! transactions that queue for the writer become members of one *group*: one outer transaction on the
//! connection, and one savepoint for each member.
//!
//! - A member owns the connection alone, from its savepoint to its release. Members run one after the other,
//!   in the order in which they came, and each sees what the members before it wrote.
//! - A member that is released while others queue passes the connection on. The last member commits for all:
//!   either no other member queues behind it, or it fills the group. A lone writer commits at once and is as
//!   fast as without groups.
//! - The first member queues again behind the others, and commits if none of them joined.
//! - [`Member::commit`] returns after the outer commit, never before. A member that rolls back after others
//!   also waits for it, because its refusal may depend on their writes.
//! - A member that is dropped because its request was cancelled rolls back only its own savepoint.
//! - An error that may have ended the outer transaction ends the group: the connection is replaced, all
//!   writes of the group are lost, and every member gets an error.
//!
//! This module knows no table. The owner of a member must await only its statements, because all other
//! writers wait.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _, Error};
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};

use crate::error::{ends_transaction, is_full};

/// The most members of a group.
const MAX_MEMBERS: usize = 64;
/// An older group accepts no further members.
const MAX_AGE: Duration = Duration::from_millis(50);

const BEGIN: &str = "begin immediate; savepoint member";
const JOIN: &str = "savepoint member";
const RELEASE: &str = "release member";
const RELEASE_AND_COMMIT: &str = "release member; commit";
const COMMIT: &str = "commit";
const UNDO: &str = "rollback to member; release member";
const ROLLBACK: &str = "rollback";

/// The connection that writes. Clones share it.
#[derive(Clone)]
pub(crate) struct Writer(Arc<Shared>);

struct Shared {
    slot: Arc<Mutex<Slot>>,
    /// The number of tasks that queue for the connection.
    waiting: AtomicUsize,
    options: SqliteConnectOptions,
    acquire_timeout: Duration,
    oldest: Duration,
}

/// The connection and the group on it.
struct Slot {
    /// `None` after an error, until the next member connects.
    conn: Option<SqliteConnection>,
    state: State,
    /// Reports the outer commit to the members that have been released.
    released: Vec<oneshot::Sender<Result<(), Arc<Failure>>>>,
    begun: Instant,
    is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No transaction.
    Idle,
    /// The outer transaction is beginning or ending. Another owner sees this only if the previous one was
    /// cancelled.
    Changing,
    /// The outer transaction is open, with no savepoint.
    Open,
    /// A member's savepoint is open.
    Member,
}

/// How a member ends: with its writes or without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Commit,
    Rollback,
}

/// A transaction, which is a savepoint in the group's outer transaction.
pub(crate) struct Member {
    /// `None` once the member has ended.
    slot: Option<OwnedMutexGuard<Slot>>,
    writer: Writer,
    /// The error of a statement that may have ended the outer transaction.
    failed: Option<Failure>,
}

/// An error of the group for each of its members, because sqlx's errors cannot be cloned.
struct Failure {
    text: String,
    is_full: bool,
}

impl Failure {
    fn of(error: &Error) -> Self {
        Self {
            text: error.to_string(),
            is_full: is_full(error),
        }
    }

    fn because(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            is_full: false,
        }
    }

    fn error(&self) -> Error {
        let text = format!("the transaction was not committed: {}", self.text);
        if self.is_full {
            Error::Io(io::Error::new(io::ErrorKind::StorageFull, text))
        } else {
            Error::Protocol(text)
        }
    }
}

/// Counts a task that queues, until this is dropped.
struct QueueGuard<'a>(&'a AtomicUsize);

impl<'a> QueueGuard<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for QueueGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Writer {
    /// Connects.
    pub(crate) async fn open(
        options: SqliteConnectOptions,
        acquire_timeout: Duration,
    ) -> Result<Self, Error> {
        Self::open_with(options, acquire_timeout, MAX_AGE).await
    }

    async fn open_with(
        options: SqliteConnectOptions,
        acquire_timeout: Duration,
        oldest: Duration,
    ) -> Result<Self, Error> {
        let slot = Slot {
            conn: Some(options.connect().await?),
            state: State::Idle,
            released: Vec::new(),
            begun: Instant::now(),
            is_closed: false,
        };
        Ok(Self(Arc::new(Shared {
            slot: Arc::new(Mutex::new(slot)),
            waiting: AtomicUsize::new(0),
            options,
            acquire_timeout,
            oldest,
        })))
    }

    /// Begins a transaction after the tasks that queued earlier.
    pub(crate) async fn begin(&self) -> Result<Member, Error> {
        let slot = {
            let _waiting = QueueGuard::begin(&self.0.waiting);
            self.lock().await?
        };
        let mut member = Member {
            slot: Some(slot),
            writer: self.clone(),
            failed: None,
        };
        // If this future is dropped here, the dropped member rolls back what it began.
        member.slot().join(&self.0.options).await?;
        Ok(member)
    }

    /// The connection with exclusive access, outside any transaction.
    pub(crate) async fn exclusive(&self) -> Result<ExclusiveConnection, Error> {
        let mut slot = self.lock().await?;
        slot.recover().await;
        if slot.state == State::Open {
            slot.end_group(COMMIT).await?;
        }
        slot.connect(&self.0.options).await?;
        Ok(ExclusiveConnection(slot))
    }

    /// Waits for the running group and closes the connection.
    pub(crate) async fn close(&self) {
        let mut slot = Arc::clone(&self.0.slot).lock_owned().await;
        slot.recover().await;
        if slot.state == State::Open {
            // Its members have received the error, if there was one.
            let _ = slot.end_group(COMMIT).await;
        }
        slot.is_closed = true;
        slot.disconnect().await;
    }

    async fn lock(&self) -> Result<OwnedMutexGuard<Slot>, Error> {
        let lock = Arc::clone(&self.0.slot).lock_owned();
        tokio::time::timeout(self.0.acquire_timeout, lock)
            .await
            .map_err(|_| Error::PoolTimedOut)
    }

    /// Ends a member. The task that runs this must not be cancelled.
    async fn end(
        self,
        mut slot: OwnedMutexGuard<Slot>,
        end: End,
        failed: Option<Failure>,
    ) -> Result<(), Error> {
        if failed.is_some() || slot.state != State::Member {
            let failure = failed.unwrap_or_else(|| Failure::because("a statement ended the transaction"));
            return Err(slot.fail(failure).await);
        }
        if end == End::Rollback && slot.released.is_empty() {
            return slot.end_group(ROLLBACK).await;
        }
        let is_last = !self.takes_another(&slot, slot.released.len() + 1);
        if is_last && end == End::Commit {
            return slot.end_group(RELEASE_AND_COMMIT).await;
        }
        let sql = if end == End::Commit { RELEASE } else { UNDO };
        if let Err(error) = slot.run(sql).await {
            return Err(slot.fail(Failure::of(&error)).await);
        }
        slot.state = State::Open;
        if is_last {
            return slot.end_group(COMMIT).await;
        }
        let is_first = slot.released.is_empty();
        let (sender, mut committed) = oneshot::channel();
        slot.released.push(sender);
        drop(slot);
        // A waiting task may be cancelled silently. So the first member queues behind the others and commits
        // if none joins.
        if is_first {
            loop {
                let mut slot = tokio::select! {
                    biased;
                    committed = &mut committed => return outcome(committed),
                    slot = Arc::clone(&self.0.slot).lock_owned() => slot,
                };
                if let Ok(committed) = committed.try_recv() {
                    return outcome(Ok(committed));
                }
                slot.recover().await;
                if slot.state != State::Open {
                    break;
                }
                if !self.takes_another(&slot, slot.released.len()) {
                    // The outcome arrives through the channel, as for every other member.
                    let _ = slot.end_group(COMMIT).await;
                    break;
                }
                drop(slot);
                tokio::task::yield_now().await;
            }
        }
        outcome(committed.await)
    }

    /// Whether a group with this many members waits for the tasks that queue.
    fn takes_another(&self, slot: &Slot, members: usize) -> bool {
        members < MAX_MEMBERS
            && slot.begun.elapsed() < self.0.oldest
            && self.0.waiting.load(Ordering::SeqCst) > 0
    }
}

fn outcome(committed: Result<Result<(), Arc<Failure>>, oneshot::error::RecvError>) -> Result<(), Error> {
    match committed {
        Ok(Ok(())) => Ok(()),
        Ok(Err(failure)) => Err(failure.error()),
        Err(_) => Err(Error::WorkerCrashed),
    }
}

impl Slot {
    async fn connect(&mut self, options: &SqliteConnectOptions) -> Result<&mut SqliteConnection, Error> {
        if self.is_closed {
            return Err(Error::PoolClosed);
        }
        let conn = match self.conn.take() {
            Some(conn) => conn,
            None => options.connect().await?,
        };
        Ok(self.conn.insert(conn))
    }

    async fn disconnect(&mut self) {
        if let Some(conn) = self.conn.take() {
            // The transaction has ended in any case, and the connection is not needed any more.
            let _ = conn.close().await;
        }
    }

    async fn run(&mut self, sql: &'static str) -> Result<(), Error> {
        let conn = self.conn.as_mut().ok_or(Error::WorkerCrashed)?;
        sqlx::query(sql).execute(conn).await.map(|_| ())
    }

    /// Opens a savepoint in the open group, or in a new one.
    async fn join(&mut self, options: &SqliteConnectOptions) -> Result<(), Error> {
        self.recover().await;
        self.connect(options).await?;
        let sql = if self.state == State::Open {
            self.state = State::Member;
            JOIN
        } else {
            self.state = State::Changing;
            self.begun = Instant::now();
            BEGIN
        };
        match self.run(sql).await {
            Ok(()) => {
                self.state = State::Member;
                Ok(())
            }
            Err(error) => {
                self.fail(Failure::of(&error)).await;
                Err(error)
            }
        }
    }

    /// Ends a group whose owner was cancelled during a change, because its state is unknown.
    async fn recover(&mut self) {
        if matches!(self.state, State::Changing | State::Member) {
            let text = "a transaction was cut off";
            self.fail(Failure::because(text)).await;
        }
    }

    /// Ends the outer transaction and reports the outcome to every member.
    async fn end_group(&mut self, sql: &'static str) -> Result<(), Error> {
        self.state = State::Changing;
        match self.run(sql).await {
            Ok(()) => {
                self.state = State::Idle;
                for member in self.released.drain(..) {
                    // A cancelled member needs no answer.
                    let _ = member.send(Ok(()));
                }
                Ok(())
            }
            Err(error) => Err(self.fail(Failure::of(&error)).await),
        }
    }

    /// Ends the group with an error: closing the connection rolls everything back. Returns the error for the
    /// last member.
    async fn fail(&mut self, failure: Failure) -> Error {
        let failure = Arc::new(failure);
        self.disconnect().await;
        self.state = State::Idle;
        for member in self.released.drain(..) {
            let _ = member.send(Err(Arc::clone(&failure)));
        }
        failure.error()
    }
}

impl Member {
    #[expect(
        clippy::expect_used,
        reason = "only the ends take it, and they consume the member"
    )]
    fn slot(&mut self) -> &mut Slot {
        self.slot.as_mut().expect("a member that has not ended")
    }

    /// The connection, for statements of this transaction.
    #[expect(
        clippy::expect_used,
        reason = "a member exists only after it has joined, with a connection"
    )]
    pub(crate) fn conn(&mut self) -> &mut SqliteConnection {
        self.slot().conn.as_mut().expect("a connection")
    }

    /// Records a statement's error. Some errors end the whole group.
    pub(crate) fn failed(&mut self, error: &Error) {
        if self.failed.is_none() && ends_transaction(error) {
            self.failed = Some(Failure::of(error));
        }
    }

    /// Whether a statement failed in a way that can have ended the group.
    pub(crate) fn is_broken(&self) -> bool {
        self.failed.is_some()
    }

    /// Commits; the writes are durable when this returns.
    pub(crate) async fn commit(self) -> Result<(), Error> {
        self.end(End::Commit).await
    }

    /// Undoes the writes. An error means that the group on which this member's reads depend was not
    /// committed.
    pub(crate) async fn rollback(self) -> Result<(), Error> {
        self.end(End::Rollback).await
    }

    /// The task continues if the caller is cancelled, so no commit is left half-done.
    async fn end(mut self, end: End) -> Result<(), Error> {
        let Some(slot) = self.slot.take() else {
            return Ok(());
        };
        let ending = self.writer.clone().end(slot, end, self.failed.take());
        tokio::spawn(ending).await.map_err(|_| Error::WorkerCrashed)?
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let Some(slot) = self.slot.take() else { return };
        if slot.state == State::Idle {
            return;
        }
        // Without a runtime, the next owner of the connection detects the open savepoint.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let ending = self.writer.clone().end(slot, End::Rollback, self.failed.take());
            runtime.spawn(ending);
        }
    }
}

/// Exclusive access to the connection outside any transaction.
pub(crate) struct ExclusiveConnection(OwnedMutexGuard<Slot>);

impl ExclusiveConnection {
    /// The connection.
    #[expect(clippy::expect_used, reason = "`Writer::alone` connects before it makes one")]
    pub(crate) fn conn(&mut self) -> &mut SqliteConnection {
        self.0.conn.as_mut().expect("a connection")
    }

    /// Closes the connection after an error. The next user connects again.
    pub(crate) async fn replace(mut self) {
        self.0.disconnect().await;
    }
}

#[cfg(test)]
mod tests;
