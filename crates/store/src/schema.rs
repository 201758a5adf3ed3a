//! Compares a database's schema with this version's. This module changes nothing; `db` migrates.

use crate::sql::fetch;
use crate::{Db, Error, migrations};

/// The state of a database's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// The database has no schema.
    Missing,
    /// The schema of an earlier version. A migration updates it.
    Older,
    /// The schema of this version.
    Current,
    /// The schema of a later version that programs of this version may serve.
    Newer,
    /// The schema of a later version that they may not serve, or a changed one.
    Unknown,
}

impl Db {
    /// Checks that programs of this version may serve the schema. Call it before serving. Returns the state.
    ///
    /// # Errors
    /// [`Error::Schema`] if they may not; [`Error::Unavailable`].
    pub async fn check_schema(&self) -> Result<Schema, Error> {
        match self.schema().await? {
            schema @ (Schema::Current | Schema::Newer) => Ok(schema),
            Schema::Missing | Schema::Older | Schema::Unknown => Err(Error::Schema),
        }
    }

    /// The state of the schema. It changes nothing.
    ///
    /// # Errors
    /// [`Error::Unavailable`] or [`Error::Database`].
    pub async fn schema(&self) -> Result<Schema, Error> {
        let applied = self.applied_migrations().await?;
        let known: Vec<i64> = self.known_migrations();
        let newest = known.last().copied().unwrap_or_default();
        Ok(match () {
            () if applied.is_empty() => Schema::Missing,
            () if applied == known => Schema::Current,
            () if applied.iter().all(|version| known.contains(version)) => Schema::Older,
            () if applied.starts_with(&known) && self.oldest_program().await? <= newest => Schema::Newer,
            () => Schema::Unknown,
        })
    }

    /// The newest migration that a program must know to serve this database.
    async fn oldest_program(&self) -> Result<i64, Error> {
        let mut conn = self.read().await?;
        const SQL: &str = "select oldest from schema_compatibility where id = 1";
        let found = fetch!(optional, &mut conn, installation, (i64,), SQL)?;
        Ok(found.map_or(i64::MAX, |(oldest,)| oldest))
    }

    fn known_migrations(&self) -> Vec<i64> {
        let known = if self.is_postgres() {
            &migrations::POSTGRES
        } else {
            &migrations::SQLITE
        };
        known.iter().map(|migration| migration.version).collect()
    }

    pub(crate) async fn applied_migrations(&self) -> Result<Vec<i64>, Error> {
        let mut conn = self.read().await?;
        let (there,): (bool,) = if self.is_postgres() {
            fetch!(
                one,
                &mut conn,
                installation,
                (bool,),
                "select to_regclass('_sqlx_migrations') is not null"
            )?
        } else {
            fetch!(
                one,
                &mut conn,
                installation,
                (bool,),
                "select exists (select 1 from sqlite_master where name = '_sqlx_migrations')"
            )?
        };
        if !there {
            return Ok(Vec::new());
        }
        Ok(fetch!(
            all,
            &mut conn,
            installation,
            (i64,),
            "select version from _sqlx_migrations where success order by version"
        )?
        .into_iter()
        .map(|(version,)| version)
        .collect())
    }
}
