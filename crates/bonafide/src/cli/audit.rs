//! `bonafide audit …`: verifies that the audit trail was not altered.

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use service::config::DataConfig;
use store::audit::{self, AuditCheck};
use store::{merchants, operator_audit};
use uuid::Uuid;

use super::data;
use super::output::print_line;
use super::runtime::block_on;

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
    /// Check that no row was changed, removed or cut off. Prints one JSON object for the operator audit trail
    /// and one per account. The exit status is 1 if a trail was changed.
    Verify {
        /// Check only this account.
        #[arg(long)]
        merchant: Option<Uuid>,
    },
}

pub(super) fn run(command: AuditCommand) -> anyhow::Result<()> {
    let Action::Verify { merchant } = command.action;
    block_on(async {
        let db = data::open_existing(&command.data).await?.db;
        let mut conn = db.read().await?;
        let accounts = match merchant {
            Some(id) => vec![merchants::get(&mut conn, id).await?.context("no such merchant")?],
            None => merchants::list(&mut conn).await?,
        };
        let mut broken = 0;
        let mut tell = |mut line: Value, check: AuditCheck| {
            match check {
                AuditCheck::Intact { rows } => {
                    line["intact"] = json!(true);
                    line["rows"] = json!(rows);
                }
                AuditCheck::Broken { seq } => {
                    broken += 1;
                    line["intact"] = json!(false);
                    line["brokenAt"] = json!(seq);
                }
            }
            print_line(&line.to_string())
        };
        if merchant.is_none() {
            tell(
                json!({"trail": "operators"}),
                operator_audit::verify(&mut conn).await?,
            )?;
        }
        for account in accounts {
            let check = audit::verify(&mut conn, account.id).await?;
            tell(json!({"merchantId": account.id}), check)?;
        }
        ensure!(
            broken == 0,
            "audit trails that were changed: {broken}; see brokenAt"
        );
        Ok(())
    })
}
