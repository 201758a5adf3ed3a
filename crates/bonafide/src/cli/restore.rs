//! `bonafide restore` and `bonafide repeat-erasures`: restore a backup, and keep erased people erased. The crate
//! `backup` does the work.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{anyhow, bail};
use backup::{Identities, JournalSource, Target};
use clap::Args;
use serde_json::json;
use service::config::DataConfig;
use store::{Objects, erasures};

use super::data::{self, Data};
use super::output::{note, print_line};
use super::runtime::block_on;

/// `bonafide restore`.
#[derive(Args)]
pub(crate) struct Restore {
    /// The backup.
    file: PathBuf,
    /// The file with the private key.
    #[arg(long)]
    identity: PathBuf,
    /// An object store (`file:FOLDER` or `s3://BUCKET/PREFIX`) with a current copy of the erasure journal, if
    /// `--objects` is not the installation's own object store.
    #[arg(long, value_name = "URL", conflicts_with = "without_erasure_journal")]
    erasure_journal: Option<String>,
    /// Restore without a current erasure journal. People erased after the backup come back, so you must erase them
    /// again.
    #[arg(long)]
    without_erasure_journal: bool,
    #[command(flatten)]
    data: DataConfig,
}

pub(super) fn run(command: &Restore) -> anyhow::Result<()> {
    let config = &command.data;
    let identities = Identities::read(&command.identity)?;
    let keyring = data::read_keyring(config).map_err(|error| match error.downcast_ref() {
        Some(store::Error::NoKeyring { path }) => anyhow!(
            "the master key {path} is missing. Nothing was restored. Copy the installation's key there, or \
             name it with --master-key"
        ),
        _ => error,
    })?;
    let keyring = Arc::new(keyring);
    block_on(async {
        let objects = Objects::open(&config.objects_url(), &[])?;
        let journal = match &command.erasure_journal {
            Some(url) => JournalSource::Copy(open_journal(url)?),
            None if command.without_erasure_journal => JournalSource::BackupOnly,
            None => JournalSource::ObjectStore,
        };
        let target = Target {
            config,
            keyring,
            objects: &objects,
            journal,
        };
        let restored = backup::restore(&command.file, &identities, &target).await?;
        let snapshot_at = &restored.manifest.header.snapshot_at;
        note!("Restored all data up to {snapshot_at}. Later changes are lost.");
        if command.without_erasure_journal {
            note!(
                "  !!  Erase again everyone who was erased after {snapshot_at}. The restore brought their data back."
            );
        }
        if restored.objects_missing > 0 {
            note!(
                "  !!  {} files of attempts are missing from the backup and the object store. Recover them from the bucket's versions or replica. Until then, reviewers see these attempts without pictures.",
                restored.objects_missing
            );
        }
        for folder in &restored.folders_present {
            note!("{folder}/ already existed and was not changed.");
        }
        note!("Run `bonafide doctor`, then start the server.");
        let summary = json!({
            "snapshotAt": snapshot_at,
            "latestErasure": restored.latest_erasure,
            "peopleErased": restored.people_erased,
            "attemptsErased": restored.attempts_erased,
            "objectsWritten": restored.objects_written,
            "objectsAlreadyPresent": restored.objects_present,
            "objectsMissing": restored.objects_missing,
        });
        print_line(&summary.to_string())
    })
}

/// Opens the object store of `--erasure-journal`. A missing folder is not created.
fn open_journal(url: &str) -> anyhow::Result<Objects> {
    if let Some(folder) = url.strip_prefix("file:")
        && !Path::new(folder).is_dir()
    {
        bail!(
            "--erasure-journal: the folder {folder} does not exist. Nothing was restored. Mount its volume or correct the path"
        );
    }
    Ok(Objects::open(url, &[])?)
}

/// Applies the erasure journal to the database as it is.
pub(super) fn repeat_erasures(config: &DataConfig) -> anyhow::Result<()> {
    block_on(async {
        let data = data::open_existing(config).await?;
        match data.objects.journal_installation().await? {
            Some(owner) if owner == data.db.installation_id() => {}
            Some(_) => bail!(
                "the erasure journal in {} belongs to another installation. Specify this installation's object store \
                 with --objects",
                config.objects_url()
            ),
            None => return repeat_nothing(&data, config).await,
        }
        let journal = data.objects.erasure_journal().await?;
        let repeated = backup::repeat_erasures(&data.db, &data.objects, &journal.keys).await?;
        print_line(&json!({"peopleErased": repeated.people, "attemptsErased": repeated.attempts}).to_string())
    })
}

/// Reports that an object store without an erasure journal has nothing to repeat: the first erasure creates the
/// journal. It is refused if the database knows of an erasure, because the journal is then elsewhere.
async fn repeat_nothing(data: &Data, config: &DataConfig) -> anyhow::Result<()> {
    let url = config.objects_url();
    if erasures::newest_at(&mut data.db.read().await?).await?.is_some() {
        bail!(
            "{url} has no erasure journal, but this installation has erased people. Name the object store that has the \
             journal with --objects"
        );
    }
    note!(
        "Nothing to repeat: {url} has no erasure journal, so nobody was erased while it was in use. If somebody was, name \
         the object store that has the journal with --objects."
    );
    print_line(&json!({"peopleErased": 0, "attemptsErased": 0}).to_string())
}
