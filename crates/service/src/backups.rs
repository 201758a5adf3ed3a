//! Records backups, restores and moves to another database in the operators' audit trail. The crate `backup` and the
//! command line perform them.

use store::{Db, Error};

use super::operations::{self, COMMAND_LINE};

/// Records a backup and the time of its database copy.
pub async fn record_backup(db: &Db, snapshot_at: &str) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        operations::record(tx, COMMAND_LINE, "backup.made", snapshot_at).await
    })
}

/// Records a restore and the time of the restored database copy.
pub async fn record_restore(db: &Db, snapshot_at: &str) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        operations::record(tx, COMMAND_LINE, "backup.restored", snapshot_at).await
    })
}

/// Records that the database was copied from SQLite into PostgreSQL.
pub async fn record_migration(db: &Db) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        operations::record(tx, COMMAND_LINE, "database.migrated", "SQLite to PostgreSQL").await
    })
}
