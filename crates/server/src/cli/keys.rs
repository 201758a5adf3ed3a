//! `bonafide keys …`: a new master key, in two steps, because running servers hold the keys that they read at their start.

use clap::{Args, Subcommand};
use serde_json::json;
use store::{Keyring, merchants, staff};

use super::{block_on, data, say};
use crate::config::DataConfig;

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
    /// Step 1: add a new master key to the key file. Everything still opens. Then back the file up and restart every server.
    Rotate,
    /// Step 2, when every server was restarted: wrap all accounts' and staff's keys by the newest master key.
    Rewrap,
}

/// Runs it.
pub(super) fn run(command: &KeysCommand) -> anyhow::Result<()> {
    match command.action {
        Action::Rotate => {
            let file = command.data.master_key_file();
            Keyring::open(&file)?.rotate(&file)?;
            eprintln!(
                "A new master key was added to {0}.\nBack {0} up now, copy it to every node, restart every server; then run `bonafide keys rewrap`.",
                file.display()
            );
            say(&json!({"rotated": true}).to_string())
        }
        Action::Rewrap => block_on(async {
            let db = data::open(&command.data).await?.db;
            let (accounts, members) = store::transaction!(db, |tx| -> Result<(u64, u64), store::Error> {
                store::sign_ups::rewrap_keys(tx).await?;
                Ok((merchants::rewrap_keys(tx).await?, staff::rewrap_keys(tx).await?))
            })?;
            say(&json!({"accounts": accounts, "staff": members}).to_string())
        }),
    }
}
