//! `bonafide backup …`: makes and checks encrypted backups. The crate `backup` does the work.

use std::path::{Path, PathBuf};

use anyhow::Context;
use backup::{Contents, Header, Identities, Identity, Manifest, ObjectMode, Recipient};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use service::backups;
use service::config::DataConfig;
use store::Keyring;

use super::data;
use super::errors::Unusable;
use super::output::{note, print_line};
use super::runtime::block_on;

/// `bonafide backup`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct BackupCommand {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    create: Create,
    #[command(flatten)]
    data: DataConfig,
}

#[derive(Args)]
struct Create {
    /// The file to write, or a folder, in which a file named after the current time is created.
    #[arg(required = true)]
    dest: Option<PathBuf>,
    /// The public key that the backup is encrypted to (age1…). It can be repeated.
    #[arg(
        long = "recipient",
        value_name = "AGE1",
        env = "BONAFIDE_BACKUP_RECIPIENT",
        value_delimiter = ','
    )]
    recipients: Vec<String>,
    /// A file with public keys, one per line.
    #[arg(long, value_name = "FILE")]
    recipients_file: Option<PathBuf>,
    /// Whether the backup contains the objects or only lists their names and sizes. The default is `copied` for
    /// a folder and `listed` for a bucket.
    #[arg(long)]
    object_mode: Option<Mode>,
    /// Leave the sanctions lists and labels out, because they can be imported again.
    #[arg(long)]
    without_lists: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Print a new private key, and its public key on stderr. Store the private key where no server can read it.
    GenerateKey,
    /// Read a whole backup and check everything in it, without restoring it.
    Verify {
        /// The backup.
        file: PathBuf,
        /// The file with the private key.
        #[arg(long)]
        identity: PathBuf,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    Copied,
    Listed,
}

pub(super) fn run(command: BackupCommand) -> anyhow::Result<()> {
    let data = &command.data;
    match (command.action, command.create.dest.clone()) {
        (Some(Action::GenerateKey), _) => generate_key(),
        (Some(Action::Verify { file, identity }), _) => block_on(verify(&file, &identity, data)),
        (None, Some(dest)) => block_on(create(&dest, &command.create, data)),
        (None, None) => Err(Unusable("name the file or the folder of the backup".into()).into()),
    }
}

/// Prints a key pair in the format of `age-keygen`.
fn generate_key() -> anyhow::Result<()> {
    use secrecy::ExposeSecret as _;
    let identity = Identity::generate();
    let public = identity.to_public();
    note!(
        "Public key, for --recipient: {public}\nThe private key is on standard output. Without it, backups made with this public key cannot be restored."
    );
    print_line(&format!(
        "# public key: {public}\n{}",
        identity.to_string().expose_secret()
    ))
}

async fn create(dest: &Path, command: &Create, config: &DataConfig) -> anyhow::Result<()> {
    let recipients = recipients(command)?;
    let keyring = data::keyring_of_installation(config).await?;
    let data = data::open(config).await?;
    let objects = match command.object_mode {
        Some(Mode::Copied) => ObjectMode::Copied,
        Some(Mode::Listed) => ObjectMode::Listed,
        None if config.objects_url().starts_with("s3:") => ObjectMode::Listed,
        None => ObjectMode::Copied,
    };
    let contents = Contents {
        objects,
        folders: !command.without_lists,
        recipients: &recipients,
    };
    let created = backup::create(config, &data.db, &data.objects, &keyring, dest, &contents).await?;
    if let Err(error) = backups::record_backup(&data.db, &created.manifest.header.snapshot_at).await {
        note!("The backup is complete, but the operators' audit trail does not record it: {error}");
    }
    if objects == ObjectMode::Listed {
        note!(
            "The backup lists the objects and does not contain them: {} must keep them.",
            config.objects_url()
        );
    }
    note!("The backup does not contain the master key. Store a copy of it separately.");
    let mut summary = summary(&created.manifest);
    summary["file"] = json!(created.path);
    summary["bytes"] = json!(created.bytes);
    print_line(&summary.to_string())
}

/// The public keys of the arguments.
fn recipients(command: &Create) -> anyhow::Result<Vec<Recipient>> {
    let mut keys: Vec<(String, String)> = command
        .recipients
        .iter()
        .map(|key| ("--recipient".to_owned(), key.clone()))
        .collect();
    if let Some(file) = &command.recipients_file {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        for (number, line) in text.lines().map(str::trim).enumerate() {
            if !line.is_empty() && !line.starts_with('#') {
                keys.push((
                    format!("{}, line {}", file.display(), number + 1),
                    line.to_owned(),
                ));
            }
        }
    }
    if keys.is_empty() {
        let fix = "name the public key that the backup is encrypted to with --recipient (age1…); \
                   `bonafide backup generate-key` makes a key pair";
        return Err(Unusable(fix.into()).into());
    }
    let parse = |(place, key): &(String, String)| {
        // A private key that is given by mistake must not appear in a log, so the value is not repeated.
        key.parse::<Recipient>().map_err(|_| {
            let text = format!(
                "{place} is not an age public key. Specify the public key, which begins with age1, not the private key"
            );
            anyhow::Error::from(Unusable(text))
        })
    };
    keys.iter().map(parse).collect()
}

async fn verify(file: &Path, identity: &Path, config: &DataConfig) -> anyhow::Result<()> {
    let identities = Identities::read(identity)?;
    // The master key proves who made the backup, but is not needed for the rest.
    let keyring: Option<Keyring> = match data::read_keyring(config) {
        Ok(keyring) => Some(keyring),
        // A key that was named must be usable.
        Err(error) if config.names_master_key() => return Err(error),
        Err(_) => None,
    };
    let verified = backup::verify(file, &identities, keyring.as_ref()).await?;
    let mut summary = summary(&verified.manifest);
    summary["ours"] = json!(verified.is_ours);
    match verified.is_ours {
        Some(true) => {}
        Some(false) => anyhow::bail!(
            "the backup is intact, but its origin does not match {}. Check that this is the right backup and the right master key",
            data::describe_key_source(config)
        ),
        None => note!(
            "No usable master key was found, so the backup's origin was not checked. Specify the key with --master-key to check it."
        ),
    }
    print_line(&summary.to_string())
}

/// What a backup contains, for scripts.
fn summary(manifest: &Manifest) -> Value {
    let Header {
        snapshot_at,
        database,
        objects,
        program,
        ..
    } = &manifest.header;
    let count = |section: &str| {
        manifest
            .sections
            .get(section)
            .map_or(0, |section| section.entries)
    };
    json!({
        "snapshotAt": snapshot_at,
        "database": database,
        "rows": manifest.tables.values().sum::<i64>(),
        "objectMode": objects,
        "objectsCopied": count("objects"),
        "lists": count("lists"),
        "labels": count("labels"),
        "journalEntries": count("erasures"),
        "program": program,
    })
}
