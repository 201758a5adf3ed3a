//! What a run consists of: its database, what is in front of it, and its object store. It starts nothing.

use clap::ValueEnum;

/// The database of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Database {
    /// One node.
    Sqlite,
    /// Two nodes.
    Postgres,
    /// Two nodes, and a cluster of three under Patroni with a synchronous standby.
    Patroni,
    /// Two nodes, and a cluster of three under Patroni whose standbys may lag.
    PatroniAsync,
}

/// The objects of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Objects {
    /// A folder that all nodes share.
    Folder,
    /// A bucket of Garage, on three nodes.
    Garage,
}

/// What a run consists of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) database: Database,
    /// PgBouncer in transaction mode is between the nodes and the database.
    pub(crate) pgbouncer: bool,
    pub(crate) objects: Objects,
}
