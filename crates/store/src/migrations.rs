//! The migrations of each database, and how they run. A caller takes the lock.

use sqlx::migrate::{Migrate, MigrateError, Migrator};

pub(crate) static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");
/// Those of SQLite's traffic file; on PostgreSQL its tables are among the others.
pub(crate) static TRAFFIC: Migrator = sqlx::migrate!("migrations/traffic");
pub(crate) static POSTGRES: Migrator = sqlx::migrate!("migrations/postgres");

/// Runs migrations without sqlx's own (advisory) lock.
pub(crate) async fn run<C: Migrate>(migrations: &Migrator, conn: &mut C) -> Result<(), MigrateError> {
    let mut unlocked = Migrator {
        migrations: migrations.migrations.clone(),
        ..Migrator::DEFAULT
    };
    unlocked.set_locking(false);
    // Not `run`: the compiler cannot see that its future is `Send`.
    unlocked.run_direct(None, conn, false).await
}
