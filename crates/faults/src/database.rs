//! The database server of a run: one PostgreSQL or a cluster of three, the proxy that breaks the network to it,
//! and PgBouncer if the run has one. The nodes connect to PgBouncer or to the proxy, never to PostgreSQL
//! itself.

use std::path::Path;

use crate::patroni::Patroni;
use crate::pgbouncer::PgBouncer;
use crate::postgres::{Postgres, USER, sql_on};
use crate::proxy::Proxy;
use crate::setup::{Database, Setup};

/// The database's name.
const NAME: &str = "bonafide";

/// PostgreSQL, the proxy in front of it, and PgBouncer in front of the proxy.
pub(crate) struct DatabaseServer {
    pub(crate) cluster: Cluster,
    pub(crate) proxy: Proxy,
    pub(crate) pgbouncer: Option<PgBouncer>,
}

/// The servers that store the database.
pub(crate) enum Cluster {
    /// One server.
    Single(Postgres),
    /// A primary and two standbys.
    Patroni(Patroni),
}

impl DatabaseServer {
    /// Starts the servers, and makes an empty database. `None` for SQLite.
    pub(crate) async fn start(folder: &Path, setup: Setup) -> anyhow::Result<Option<DatabaseServer>> {
        let cluster = match setup.database {
            Database::Sqlite => return Ok(None),
            Database::Postgres => Cluster::Single(Postgres::start(folder).await?),
            Database::Patroni => Cluster::Patroni(Patroni::start(folder, true).await?),
            Database::PatroniAsync => Cluster::Patroni(Patroni::start(folder, false).await?),
        };
        let create = format!("create database {NAME}");
        cluster.sql("postgres", &create).await?;
        let proxy = match &cluster {
            Cluster::Single(postgres) => Proxy::start(postgres.port).await?,
            Cluster::Patroni(patroni) => Proxy::start(patroni.target()).await?,
        };
        let pgbouncer = match setup.pgbouncer {
            true => Some(PgBouncer::start(folder, proxy.port).await?),
            false => None,
        };
        Ok(Some(DatabaseServer {
            cluster,
            proxy,
            pgbouncer,
        }))
    }

    /// The address of the database for the nodes.
    pub(crate) fn url(&self) -> String {
        let (port, options) = match &self.pgbouncer {
            // See "A connection pooler" in docs/operators/database-and-objects.md.
            Some(pgbouncer) => (pgbouncer.port, "?statement-cache-capacity=0"),
            None => (self.proxy.port, ""),
        };
        format!("postgres://{USER}@127.0.0.1:{port}/{NAME}{options}")
    }

    /// Ends all connections to the database, as an administrator or a failing network does. Returns how many.
    pub(crate) async fn end_connections(&self) -> anyhow::Result<u64> {
        let sql = format!(
            "select count(*) filter (where pg_terminate_backend(pid)) from pg_stat_activity
             where datname = '{NAME}' and pid <> pg_backend_pid()"
        );
        Ok(self.cluster.sql("postgres", &sql).await?.trim().parse()?)
    }

    /// Runs a statement in the nodes' database. Returns its rows, without a header.
    pub(crate) async fn sql(&self, sql: &str) -> anyhow::Result<String> {
        self.cluster.sql(NAME, sql).await
    }
}

impl Cluster {
    /// Runs a statement as the superuser on the server that accepts writes.
    async fn sql(&self, database: &str, sql: &str) -> anyhow::Result<String> {
        match self {
            Cluster::Single(postgres) => sql_on(postgres.port, database, sql).await,
            Cluster::Patroni(patroni) => patroni.sql(database, sql).await,
        }
    }
}
