//! `bonafide keys …`: replaces the master key in two steps, because running servers use the keys that they
//! read at their start, and shows how far they are with replacing the keys below it.

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::json;
use service::config::DataConfig;
use service::master_keys;
use service::nodes::SILENT_MS;
use store::nodes::Node;
use store::{Db, Keyring, key_renewal, nodes};

use super::data;
use super::key_command;
use super::output::{note, print_line};
use super::runtime::block_on;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// `bonafide keys`.
#[derive(Args)]
pub(crate) struct KeysCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    data: DataConfig,
}

#[derive(Subcommand)]
enum Action {
    /// Print the content of a new key file, to store where `--master-key-command` reads it. It does not belong to
    /// any installation yet.
    Generate,
    /// Step 1: add a new master key to the key file. All data stays readable. Then back up the file and
    /// restart every server. With `--master-key-command`, this prints the new keys instead.
    Rotate,
    /// Step 2, after every server was restarted: give all accounts and staff new keys, encrypted under the
    /// newest master key. Servers then replace the keys of people in the background.
    Rewrap {
        /// Continue even if a server that reported in the last 90 seconds uses another key file or runs
        /// another version.
        #[arg(long)]
        force: bool,
    },
    /// Show the accounts whose data keys are still being replaced after a change of the master key.
    Status,
}

pub(super) fn run(command: &KeysCommand) -> anyhow::Result<()> {
    if matches!(command.action, Action::Generate) {
        return print_line(&Keyring::generate().to_text()?);
    }
    block_on(async {
        // Opening the data refuses a key file that does not belong to the database before it is changed.
        let db = data::open_existing(&command.data).await?.db;
        match command.action {
            Action::Generate => Ok(()),
            Action::Rotate => rotate(&command.data, &db).await,
            Action::Rewrap { force } => rewrap(&command.data, &db, force).await,
            Action::Status => status(&db).await,
        }
    })
}

async fn rotate(config: &DataConfig, db: &Db) -> anyhow::Result<()> {
    if let Some(command) = config.master_key_command() {
        let keyring = Keyring::parse(&key_command::printed(command)?, key_command::NAME)?.with_new_master();
        master_keys::record_rotation(db, &keyring.fingerprint())
            .await
            .context(
                "no new key was printed: the operator audit trail has no row for it. Run the command again",
            )?;
        note!(
            "The output contains a new master key. Store it where --master-key-command reads it and restart every server. Then run `bonafide keys rewrap`."
        );
        return print_line(&keyring.to_text()?);
    }
    let file = config.master_key_file();
    let rotated = Keyring::rotate(&file)?.fingerprint();
    master_keys::record_rotation(db, &rotated)
        .await
        .context("the key file has a new master key, but the operator audit trail has no row for it")?;
    note!(
        "A new master key was added to {0}.\nBack {0} up now, copy it to every node, restart every server; then run `bonafide keys rewrap`.",
        file.display()
    );
    print_line(&json!({"rotated": true}).to_string())
}

async fn rewrap(config: &DataConfig, db: &Db, force: bool) -> anyhow::Result<()> {
    let own = db.key_fingerprint();
    if !force {
        for node in recent_nodes(db).await? {
            if node.key_fingerprint != own {
                bail!(
                    "the server {} has not loaded this key file and could not decrypt anything afterwards. Restart it, on another \
                     machine after copying this key file to it. A server that was killed counts for another 90 seconds; --force skips this check",
                    node.name
                );
            }
            if node.version != VERSION {
                bail!(
                    "the server {} runs version {} instead of {VERSION}, and earlier versions cannot read renewed keys. Run the \
                     same version on every server. A server that was killed counts for another 90 seconds; --force skips this \
                     check",
                    node.name,
                    node.version
                );
            }
        }
    }
    let (accounts, members) = master_keys::rewrap(db, &own).await?;
    if (accounts, members) == (0, 0) {
        note!(
            "Nothing was changed: the newest master key of {} is already in use. If you made a new one, store it there and restart every \
             server first.",
            data::describe_key_source(config)
        );
    }
    if accounts > 0 {
        note!(
            "New data is now encrypted under new keys. Running servers renew the keys of stored people in the background. \
             `bonafide keys status` lists the accounts whose renewal is not complete."
        );
    }
    print_line(&json!({"accounts": accounts, "staff": members}).to_string())
}

async fn status(db: &Db) -> anyhow::Result<()> {
    let waiting = key_renewal::pending(&mut db.read().await?).await?;
    let waiting = waiting
        .into_iter()
        .map(|(merchant, since)| {
            let since = Timestamp::from_millisecond(since)?;
            Ok(json!({"merchant": merchant, "since": since.to_string()}))
        })
        .collect::<Result<Vec<_>, jiff::Error>>()?;
    print_line(&json!({"waiting": waiting}).to_string())
}

/// The servers that reported recently.
async fn recent_nodes(db: &Db) -> Result<Vec<Node>, store::Error> {
    let mut conn = db.read().await?;
    let since = conn.now() - SILENT_MS;
    let mut nodes = nodes::list(&mut conn).await?;
    nodes.retain(|node| node.seen_at >= since);
    Ok(nodes)
}
