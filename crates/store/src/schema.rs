//! Whether a database has this version's schema. It changes none: `db` migrates.

use crate::sql::fetch;
use crate::{Db, Error, migrations};

/// How a database's schema relates to this version's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// The database has no schema.
    Missing,
    /// An earlier version's: a migration brings it up to date.
    Older,
    /// This version's.
    Current,
    /// A later version's, or a changed one.
    Unknown,
}

impl Db {
    /// Whether the schema is this version's: to be asked before serving.
    ///
    /// # Errors
    /// [`Error::Schema`] when it is not; [`Error::Unavailable`].
    pub async fn check_schema(&self) -> Result<(), Error> {
        match self.schema().await? {
            Schema::Current => Ok(()),
            Schema::Missing | Schema::Older | Schema::Unknown => Err(Error::Schema),
        }
    }

    /// How the schema relates to this version's. It changes nothing.
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
