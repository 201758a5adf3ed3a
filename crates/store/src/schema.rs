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
    /// The schema of a later version, or a changed one.
    Unknown,
}

impl Db {
    /// Checks that the schema is this version's. Call it before serving.
    ///
    /// # Errors
    /// [`Error::Schema`] if it is not; [`Error::Unavailable`].
    pub async fn check_schema(&self) -> Result<(), Error> {
        match self.schema().await? {
            Schema::Current => Ok(()),
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
        Ok(match () {
            () if applied.is_empty() => Schema::Missing,
            () if applied == known => Schema::Current,
            () if applied.iter().all(|version| known.contains(version)) => Schema::Older,
            () => Schema::Unknown,
        })
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
