//! `bonafide migrate-database`: copies a SQLite installation into PostgreSQL.

use anyhow::bail;
use clap::Args;
use serde_json::{Map, Value, json};
use service::backups;
use service::config::DataConfig;
use service::nodes::SILENT_MS;
use store::{Db, Options, installation, nodes, transfer};

use super::data;
use super::errors::Unusable;
use super::output::{note, print_line};
use super::runtime::block_on;

/// `bonafide migrate-database`.
#[derive(Args)]
pub(crate) struct MigrateDatabase {
    /// The new database: `postgres://…`. It must be empty.
    #[arg(long, env = "BONAFIDE_NEW_DATABASE", hide_env_values = true)]
    to: String,
    #[command(flatten)]
    data: DataConfig,
}

pub(super) fn run(command: &MigrateDatabase) -> anyhow::Result<()> {
    let config = &command.data;
    if !config.database_url().starts_with("sqlite:") {
        return Err(Unusable("--database must be the SQLite database that is copied".into()).into());
    }
    if command.to.starts_with("sqlite:") {
        return Err(Unusable("--to must be a PostgreSQL database (postgres://…)".into()).into());
    }
    block_on(async {
        let keyring = data::keyring_of_installation(config).await?;
        let from = data::open(config).await?.db;
        if let Some(node) = serving(&from).await? {
            bail!(
                "the server {node} uses the database. Stop every server first; a server that was stopped by force \
                 counts for 90 seconds more"
            );
        }
        let to = Db::connect(&command.to, keyring, &Options::default()).await?;
        if to.has_tables().await? && installation::exists(&to).await? {
            bail!(
                "the PostgreSQL database contains an installation. Nothing was copied. Name an empty database"
            );
        }
        to.migrate().await?;
        let tables = transfer::copy_to_postgres(&from, &to).await?;
        installation::verify(&mut to.read().await?).await?;
        backups::record_migration(&to).await?;
        let described = |(name, table): (&String, &transfer::CopiedTable)| {
            (
                name.clone(),
                json!({"rows": table.rows, "sha256": table.checksum}),
            )
        };
        let rows: u64 = tables.values().map(|table| table.rows).sum();
        let tables: Map<String, Value> = tables.iter().map(described).collect();
        note!(
            "Copied {rows} rows; every table is the same in both databases. Start the servers with the new --database, and keep \
             the old file until you are content."
        );
        print_line(&json!({"rows": rows, "tables": tables}).to_string())
    })
}

/// A server that uses the database.
async fn serving(db: &Db) -> Result<Option<String>, store::Error> {
    let mut conn = db.read().await?;
    let since = conn.now() - SILENT_MS;
    let mut nodes = nodes::list(&mut conn).await?.into_iter();
    Ok(nodes.find(|node| node.seen_at >= since).map(|node| node.name))
}
