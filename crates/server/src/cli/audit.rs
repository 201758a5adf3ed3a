//! `bonafide audit …`: whether the audit trail is as it was written.

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use serde_json::json;
use store::audit::{self, AuditCheck};
use store::merchants;
use uuid::Uuid;

use super::{block_on, data, say};
use crate::config::DataConfig;

/// `bonafide audit`.
#[derive(Args)]
pub(crate) struct AuditCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    data: DataConfig,
}

#[derive(Subcommand)]
enum Action {
    /// Check that no row was changed, removed or cut off; one JSON object an account. Status 1 when one was.
    Verify {
        /// Only this account.
        #[arg(long)]
        merchant: Option<Uuid>,
    },
}

/// Runs it.
pub(super) fn run(command: AuditCommand) -> anyhow::Result<()> {
    let Action::Verify { merchant } = command.action;
    block_on(async {
        let db = data::open(&command.data).await?.db;
        let mut conn = db.read().await?;
        let accounts = match merchant {
            Some(id) => vec![merchants::get(&mut conn, id).await?.context("no such merchant")?],
            None => merchants::list(&mut conn).await?,
        };
        let mut broken = 0;
        for account in accounts {
            let mut line = json!({"merchantId": account.id, "intact": true});
            match audit::verify(&mut conn, account.id).await? {
                AuditCheck::Intact { rows } => line["rows"] = json!(rows),
                AuditCheck::Broken { seq } => {
                    broken += 1;
                    line["intact"] = json!(false);
                    line["brokenAt"] = json!(seq);
                }
            }
            say(&line.to_string())?;
        }
        ensure!(
            broken == 0,
            "{broken} audit trail(s) were tampered with: see brokenAt"
        );
        Ok(())
    })
}
