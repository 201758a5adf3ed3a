//! Opens the data that commands work on. Every command can run while a server uses the same data.
//!
//! A key file that is missing although an installation exists, or that does not belong to the database, is
//! refused before anything is written.

use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use service::config::DataConfig;
use service::master_keys;
use store::{Db, Error, Keyring, KeyringOrigin, Objects, Options, Schema, installation};

use super::key_command;
use super::output::note;

/// The database, opened with its keyring, and the object store.
pub(crate) struct Data {
    pub(crate) db: Db,
    pub(crate) objects: Objects,
}

/// The state of the data before a command changes anything.
pub(super) struct Inspection {
    /// The database with a keyring that opens nothing; `None` if SQLite's file does not exist.
    pub(super) db: Option<Db>,
    /// Whether the database contains an installation, which has a key.
    pub(super) exists: bool,
    pub(super) schema: Schema,
}

/// Inspects the database without a key. It creates and changes nothing.
pub(super) async fn inspect(config: &DataConfig) -> anyhow::Result<Inspection> {
    let options = Options {
        max_connections: 2,
        ..Options::default()
    };
    let keyless = Arc::new(Keyring::generate());
    let inspection = async {
        if config.database_url().starts_with("sqlite:") {
            let file = store::snapshots::sqlite_path(&config.database_url())?;
            if store::snapshots::restore_folder(&file).exists() {
                return Err(unfinished_restore());
            }
        }
        let Some(db) = Db::connect_existing(&config.database_url(), keyless, &options).await? else {
            return Ok(Inspection {
                db: None,
                exists: false,
                schema: Schema::Missing,
            });
        };
        if db.is_being_restored().await? {
            return Err(unfinished_restore());
        }
        Ok::<_, Error>(Inspection {
            exists: installation::exists(&db).await?,
            schema: db.schema().await?,
            db: Some(db),
        })
    };
    inspection.await.context("the database cannot be opened")
}

fn unfinished_restore() -> Error {
    Error::Config(
        "a restore of a backup into this database has not finished. Run `bonafide restore` again".into(),
    )
}

/// Reads the key file and checks it against an existing installation. It creates and changes nothing.
///
/// # Errors
/// Contains [`Error::NoKeyring`] if there is neither a key file nor an installation.
pub(super) async fn existing_keyring(
    config: &DataConfig,
    inspection: Inspection,
) -> anyhow::Result<(Arc<Keyring>, Option<Db>)> {
    let keyring = match read_keyring(config) {
        Ok(keyring) => Arc::new(keyring),
        Err(error) if inspection.exists && matches!(error.downcast_ref(), Some(Error::NoKeyring { .. })) => {
            bail!(
                "the master key {} is missing, but the database holds an installation. Nothing was created. \
             Mount the volume that holds the key, name the file with --master-key (BONAFIDE_MASTER_KEY), \
             or copy it from your backup or from another node",
                config.master_key_file().display()
            )
        }
        Err(error) => return Err(error),
    };
    let Some(db) = inspection.db else {
        return Ok((keyring, None));
    };
    let db = db.with_keyring(Arc::clone(&keyring));
    if inspection.exists {
        installation::verify(&mut db.read().await?)
            .await
            .map_err(|error| refusal(config, error))?;
    }
    Ok((keyring, Some(db)))
}

/// Reads the master keys, from the key file or the command that prints them. It creates nothing.
///
/// # Errors
/// Contains [`Error::NoKeyring`] if there is no key file.
pub(super) fn read_keyring(config: &DataConfig) -> anyhow::Result<Keyring> {
    let opened = match config.master_key_command() {
        Some(command) => Keyring::parse(&key_command::printed(command)?, key_command::NAME),
        None => Keyring::open(&config.master_key_file()),
    };
    opened.map_err(|error| match error {
        Error::Keyring { path, reason, fix } => {
            let fix = match config.master_key_command() {
                Some(_) => "The command must print this installation's master keys",
                None => fix,
            };
            anyhow!("the master key {path} cannot be used: {reason}. Nothing was changed. {fix}")
        }
        error => error.into(),
    })
}

/// The keyring of an existing installation. It creates and changes nothing.
pub(super) async fn keyring_of_installation(config: &DataConfig) -> anyhow::Result<Arc<Keyring>> {
    let inspection = inspect(config).await?;
    if !inspection.exists {
        return Err(no_installation(config));
    }
    Ok(existing_keyring(config, inspection).await?.0)
}

fn no_installation(config: &DataConfig) -> anyhow::Error {
    anyhow!(
        "there is no installation in {}. Name its data with --data and --database",
        config.data.display()
    )
}

/// How messages name the master key.
pub(super) fn describe_key_source(config: &DataConfig) -> String {
    match config.master_key_command() {
        Some(_) => key_command::NAME.to_owned(),
        None => config.master_key_file().display().to_string(),
    }
}

/// Why the key file cannot be used, and how to fix that.
fn refusal(config: &DataConfig, error: Error) -> anyhow::Error {
    let path = describe_key_source(config);
    match error {
        Error::ForeignKey => anyhow!(
            "the master key {path} does not belong to this database. Nothing was changed. Copy this installation's key file from your \
             backup or from another node, or name the database of this key with --database (BONAFIDE_DATABASE)"
        ),
        Error::OutdatedKey => anyhow!(
            "the master key {path} is an older copy: it lacks the master key that `bonafide keys rewrap` put in use. Nothing was \
             changed. Copy the current file from a node that serves, or from your newest backup"
        ),
        Error::Unreadable(what) => anyhow!(
            "the {what} in the database cannot be read: a newer version wrote it, or it was changed by hand. Nothing was changed. \
             Use the version that wrote it, or restore the database from your backup"
        ),
        error => anyhow::Error::from(error).context("the database cannot be read"),
    }
}

/// The installation's keyring. With `may_create`, it creates one if there is neither a key file nor an
/// installation.
async fn keyring(config: &DataConfig, may_create: bool) -> anyhow::Result<(Arc<Keyring>, KeyringOrigin)> {
    // The database is inspected first. A key file that appears after that was created by another process that
    // started faster.
    let inspection = inspect(config).await?;
    if !may_create && !inspection.exists {
        return Err(no_installation(config));
    }
    match existing_keyring(config, inspection).await {
        Ok((keyring, db)) => {
            if let Some(db) = db {
                db.close().await;
            }
            Ok((keyring, KeyringOrigin::Found))
        }
        Err(error) if matches!(error.downcast_ref(), Some(Error::NoKeyring { .. })) => {
            let (keyring, origin) = Keyring::open_or_create(&config.master_key_file())?;
            Ok((Arc::new(keyring), origin))
        }
        Err(error) => Err(error),
    }
}

/// Migrates the database's schema; with SQLite every start does so. An empty database needs no key for this,
/// and none is created: the key belongs on the nodes that serve.
pub(crate) async fn migrate(config: &DataConfig) -> anyhow::Result<()> {
    let inspection = inspect(config).await?;
    let keyring = if inspection.exists {
        existing_keyring(config, inspection).await?.0
    } else {
        Arc::new(Keyring::generate())
    };
    let db = Db::connect(&config.database_url(), keyring, &Options::default()).await?;
    Ok(db.migrate().await?)
}

/// Opens the data. If there is no installation yet, it creates the data folder, the master key and the
/// embedded database. An empty PostgreSQL database gets its schema.
pub(crate) async fn open(config: &DataConfig) -> anyhow::Result<Data> {
    open_as(config, true).await
}

/// Opens the data of an installation that exists, for commands that are useless without one. Otherwise a
/// mistyped folder would become a new installation.
pub(crate) async fn open_existing(config: &DataConfig) -> anyhow::Result<Data> {
    open_as(config, false).await
}

async fn open_as(config: &DataConfig, may_create: bool) -> anyhow::Result<Data> {
    let (keyring, origin) = keyring(config, may_create).await?;
    store::files::create_folder(&config.data)
        .with_context(|| format!("the data folder {} cannot be created", config.data.display()))?;
    store::files::create_folder(&config.spill_dir())?;
    let db = Db::connect(&config.database_url(), keyring, &Options::default())
        .await
        .context("the database cannot be opened")?;
    db.migrate_if_empty()
        .await
        .context("the database's schema cannot be used")?;
    let confirmed = master_keys::confirm(&db).await;
    match (confirmed, origin) {
        (Ok(()), KeyringOrigin::Found) => {}
        (Ok(()), KeyringOrigin::Created) => note!(
            "\n  !!  A new master key was created: {}\n  !!  Back it up now, separately from the data. Without it, the stored data can never be read again.\n",
            config.master_key_file().display()
        ),
        (Err(error), KeyringOrigin::Found) => return Err(refusal(config, error)),
        (Err(error), KeyringOrigin::Created) => {
            let made = "another node started this installation at the same moment, so the key file created here is not used";
            return Err(refusal(config, error).context(made));
        }
    }
    let objects = Objects::open(&config.objects_url(), &[]).context("the object store cannot be opened")?;
    Ok(Data { db, objects })
}
