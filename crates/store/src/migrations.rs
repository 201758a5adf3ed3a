//! The migrations of each database, and how they run. The caller must take the lock.

use sqlx::migrate::{Migrate, MigrateError, Migrator};

pub(crate) static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");
/// The migrations of SQLite's traffic file. On PostgreSQL its tables are part of the main migrations.
pub(crate) static TRAFFIC: Migrator = sqlx::migrate!("migrations/traffic");
pub(crate) static POSTGRES: Migrator = sqlx::migrate!("migrations/postgres");

/// Runs migrations without sqlx's own (advisory) lock.
pub(crate) async fn run<C: Migrate>(migrations: &Migrator, conn: &mut C) -> Result<(), MigrateError> {
    let mut unlocked = Migrator {
        migrations: migrations.migrations.clone(),
        ..Migrator::DEFAULT
    };
    unlocked.set_locking(false);
    // `run_direct` instead of `run`, because the compiler cannot prove that the future of `run` is `Send`.
    unlocked.run_direct(None, conn, false).await
}
