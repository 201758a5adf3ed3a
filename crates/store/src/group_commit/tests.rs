use std::sync::atomic::AtomicU32;

use sqlx::sqlite::SqliteJournalMode;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::*;

const LONG: Duration = Duration::from_secs(60);

struct Bench {
    writer: Writer,
    options: SqliteConnectOptions,
    _folder: TempDir,
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteConnectOptions::new()
            .filename(folder.path().join("test.db"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .foreign_keys(true);
        let mut conn = options.connect().await.unwrap();
        let schema = "create table rows (name text primary key) strict;
             create table children (parent text references rows (name)) strict;";
        sqlx::raw_sql(schema).execute(&mut conn).await.unwrap();
        // A slow machine must not split a test's group.
        let writer = Writer::open_with(options.clone(), LONG, LONG).await.unwrap();
        Bench {
            writer,
            options,
            _folder: folder,
        }
    }

    /// The rows that another connection sees, in the order of their insertion.
    async fn rows(&self) -> Vec<String> {
        let mut conn = self.options.connect().await.unwrap();
        let sql = "select name from rows order by rowid";
        sqlx::query_scalar(sql).fetch_all(&mut conn).await.unwrap()
    }

    /// Starts a task that begins, writes a row and commits. The task queues when this returns.
    async fn queue(&self, name: &str) -> JoinHandle<Result<(), Error>> {
        let queued = self.writer.0.waiting.load(Ordering::SeqCst);
        let (writer, name) = (self.writer.clone(), name.to_owned());
        let task = tokio::spawn(async move {
            let mut member = writer.begin().await?;
            insert(&mut member, &name).await?;
            member.commit().await
        });
        self.until_waiting(queued + 1).await;
        task
    }

    async fn until_waiting(&self, count: usize) {
        let deadline = Instant::now() + LONG;
        while self.writer.0.waiting.load(Ordering::SeqCst) != count {
            assert!(Instant::now() < deadline, "nobody queues");
            tokio::task::yield_now().await;
        }
    }

    /// A member that has written a row.
    async fn member(&self, name: &str) -> Member {
        let mut member = self.writer.begin().await.unwrap();
        insert(&mut member, name).await.unwrap();
        member
    }
}

async fn run(member: &mut Member, sql: &'static str) -> Result<(), Error> {
    let done = sqlx::raw_sql(sql).execute(member.conn()).await;
    done.map(|_| ()).inspect_err(|error| member.failed(error))
}

async fn insert(member: &mut Member, name: &str) -> Result<(), Error> {
    let sql = "insert into rows (name) values ($1)";
    let done = sqlx::query(sql).bind(name).execute(member.conn()).await;
    done.map(|_| ()).inspect_err(|error| member.failed(error))
}

/// Counts the outer commits of the connection that a member is on.
async fn count_commits(member: &mut Member) -> Arc<AtomicU32> {
    let commits = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&commits);
    let mut handle = member.conn().lock_handle().await.unwrap();
    handle.set_commit_hook(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        true
    });
    commits
}

#[tokio::test]
async fn a_lone_writer_commits_at_once() {
    let bench = Bench::new().await;
    bench.member("a").await.commit().await.unwrap();
    assert_eq!(bench.rows().await, ["a"]);
    bench.member("b").await.rollback().await.unwrap();
    assert_eq!(bench.rows().await, ["a"]);
}

#[tokio::test]
async fn those_who_queue_commit_together_in_their_order() {
    let bench = Bench::new().await;
    let mut first = bench.member("first").await;
    let commits = count_commits(&mut first).await;
    let mut others = Vec::new();
    for number in 0..8 {
        others.push(bench.queue(&format!("{number}")).await);
    }
    let first = tokio::spawn(first.commit());
    for other in others {
        other.await.unwrap().unwrap();
    }
    first.await.unwrap().unwrap();
    assert_eq!(commits.load(Ordering::SeqCst), 1);
    assert_eq!(
        bench.rows().await,
        ["first", "0", "1", "2", "3", "4", "5", "6", "7"]
    );
}

#[tokio::test]
async fn nobody_is_told_of_a_commit_before_it_happens() {
    let bench = Bench::new().await;
    let first = bench.member("first").await;
    let (send, held) = oneshot::channel::<()>();
    let writer = bench.writer.clone();
    let second = tokio::spawn(async move {
        let mut member = writer.begin().await.unwrap();
        insert(&mut member, "second").await.unwrap();
        held.await.unwrap();
        member.commit().await
    });
    bench.until_waiting(1).await;
    let first = tokio::spawn(first.commit());
    // The second member has the connection now. The first one is released and must wait for it.
    bench.until_waiting(0).await;
    assert!(!first.is_finished());
    assert!(bench.rows().await.is_empty());
    send.send(()).unwrap();
    second.await.unwrap().unwrap();
    first.await.unwrap().unwrap();
    assert_eq!(bench.rows().await, ["first", "second"]);
}

#[tokio::test]
async fn a_cancelled_member_rolls_back_alone() {
    let bench = Bench::new().await;
    let first = bench.member("first").await;
    let writer = bench.writer.clone();
    let cancelled = tokio::spawn(async move {
        let mut member = writer.begin().await.unwrap();
        insert(&mut member, "cancelled").await.unwrap();
        drop(member);
    });
    bench.until_waiting(1).await;
    let last = bench.queue("last").await;
    first.commit().await.unwrap();
    cancelled.await.unwrap();
    last.await.unwrap().unwrap();
    assert_eq!(bench.rows().await, ["first", "last"]);
}

#[tokio::test]
async fn a_cancelled_lone_member_leaves_no_transaction_open() {
    let bench = Bench::new().await;
    drop(bench.member("cancelled").await);
    // Another process gets the write lock without help from this one.
    let mut other = bench.options.clone().busy_timeout(LONG).connect().await.unwrap();
    sqlx::raw_sql("insert into rows (name) values ('other')")
        .execute(&mut other)
        .await
        .unwrap();
    assert_eq!(bench.rows().await, ["other"]);
}

#[tokio::test]
async fn one_who_leaves_the_queue_strands_nobody() {
    let bench = Bench::new().await;
    let first = bench.member("first").await;
    let gone = bench.queue("gone").await;
    gone.abort();
    // Whether or not the first member still counts the cancelled task, its commit must complete.
    first.commit().await.unwrap();
    let _ = gone.await;
    assert_eq!(bench.rows().await, ["first"]);
}

#[tokio::test]
async fn a_refused_statement_spoils_nothing() {
    let bench = Bench::new().await;
    let first = bench.member("first").await;
    let same = bench.queue("first").await;
    let last = bench.queue("last").await;
    first.commit().await.unwrap();
    let error = same.await.unwrap().unwrap_err();
    assert!(
        error.as_database_error().unwrap().is_unique_violation(),
        "{error}"
    );
    last.await.unwrap().unwrap();
    assert_eq!(bench.rows().await, ["first", "last"]);
}

#[tokio::test]
async fn a_full_disk_inside_a_savepoint_ends_the_group_and_no_more() {
    let bench = Bench::new().await;
    let first = bench.member("first").await;
    let writer = bench.writer.clone();
    let full = tokio::spawn(async move {
        let mut member = writer.begin().await?;
        run(&mut member, "pragma max_page_count = 1").await?;
        let large = "x".repeat(100_000);
        insert(&mut member, &large).await?;
        member.commit().await
    });
    bench.until_waiting(1).await;
    let first = first.commit().await.unwrap_err();
    assert!(first.to_string().contains("not committed"), "{first}");
    let full = full.await.unwrap().unwrap_err();
    assert!(full.to_string().contains("full"), "{full}");
    assert!(bench.rows().await.is_empty());
    bench.member("after").await.commit().await.unwrap();
    assert_eq!(bench.rows().await, ["after"]);
}

/// A member whose foreign-key violation appears only at the outer commit.
async fn queue_orphan(bench: &Bench) -> JoinHandle<Result<(), Error>> {
    let queued = bench.writer.0.waiting.load(Ordering::SeqCst);
    let writer = bench.writer.clone();
    let task = tokio::spawn(async move {
        let mut member = writer.begin().await?;
        let sql = "pragma defer_foreign_keys = on; insert into children (parent) values ('nobody')";
        run(&mut member, sql).await?;
        member.commit().await
    });
    bench.until_waiting(queued + 1).await;
    task
}

#[tokio::test]
async fn a_failed_outer_commit_fails_every_member() {
    let bench = Bench::new().await;
    let first = bench.member("first").await;
    let orphan = queue_orphan(&bench).await;
    first.commit().await.unwrap_err();
    orphan.await.unwrap().unwrap_err();
    assert!(bench.rows().await.is_empty());
    bench.member("after").await.commit().await.unwrap();
    assert_eq!(bench.rows().await, ["after"]);
}

#[tokio::test]
async fn a_refusal_that_rests_on_a_failed_group_is_not_believed() {
    let bench = Bench::new().await;
    let first = bench.member("first").await;
    let writer = bench.writer.clone();
    let refused = tokio::spawn(async move {
        let mut member = writer.begin().await.unwrap();
        // It sees the first member's row and refuses because of it.
        insert(&mut member, "first").await.unwrap_err();
        member.rollback().await
    });
    bench.until_waiting(1).await;
    let orphan = queue_orphan(&bench).await;
    first.commit().await.unwrap_err();
    orphan.await.unwrap().unwrap_err();
    refused.await.unwrap().unwrap_err();
    assert!(bench.rows().await.is_empty());
}

#[tokio::test]
async fn a_group_has_a_bound() {
    let bench = Bench::new().await;
    let mut first = bench.member("first").await;
    let commits = count_commits(&mut first).await;
    let mut others = Vec::new();
    for number in 0..MAX_MEMBERS {
        others.push(bench.queue(&format!("{number}")).await);
    }
    first.commit().await.unwrap();
    for other in others {
        other.await.unwrap().unwrap();
    }
    assert_eq!(commits.load(Ordering::SeqCst), 2);
    assert_eq!(bench.rows().await.len(), MAX_MEMBERS + 1);
}

#[tokio::test]
async fn whoever_needs_the_connection_alone_ends_the_group_first() {
    let bench = Bench::new().await;
    let first = bench.member("first").await;
    let writer = bench.writer.clone();
    let closed = tokio::spawn(async move {
        writer.close().await;
        writer.begin().await.err()
    });
    first.commit().await.unwrap();
    assert!(matches!(closed.await.unwrap(), Some(Error::PoolClosed)));
    assert_eq!(bench.rows().await, ["first"]);
}
