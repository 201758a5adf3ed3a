//! Opens the data that commands work on; all of them work while a server runs on the same data.

use std::sync::Arc;

use anyhow::Context;
use store::{Db, Keyring, KeyringOrigin, Objects, Options};

use crate::config::DataConfig;

/// The database and its keyring.
pub(crate) struct Data {
    pub(crate) db: Db,
    pub(crate) objects: Objects,
}

/// Brings the database's schema up to date; on SQLite every start does.
pub(crate) async fn migrate(config: &DataConfig) -> anyhow::Result<()> {
    let (keyring, _) = Keyring::open_or_create(&config.master_key_file())?;
    let db = Db::connect(&config.database_url(), Arc::new(keyring), &Options::default()).await?;
    Ok(db.migrate().await?)
}

/// Opens or creates the data folder, the master key and the embedded database; PostgreSQL gets its schema when it has none.
pub(crate) async fn open(config: &DataConfig) -> anyhow::Result<Data> {
    store::files::create_folder(&config.data)
        .with_context(|| format!("the data folder {} cannot be made", config.data.display()))?;
    store::files::create_folder(&config.spill_dir())?;
    let (keyring, origin) = Keyring::open_or_create(&config.master_key_file())?;
    if origin == KeyringOrigin::Created {
        eprintln!(
            "\n  !!  A new master key was made: {}\n  !!  Back it up now, apart from the data: without it nothing stored here can ever be read.\n",
            config.master_key_file().display()
        );
    }
    let db = Db::connect(&config.database_url(), Arc::new(keyring), &Options::default())
        .await
        .context("the database cannot be opened")?;
    db.migrate_if_empty()
        .await
        .context("the database's schema cannot be used")?;
    let objects = Objects::open(&config.objects_url(), &[]).context("the object store cannot be opened")?;
    Ok(Data { db, objects })
}
