//! `bonafide review …`: lists pending attempts and decides on them without the portal.

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use serde_json::json;
use service::config::DataConfig;
use service::face_replicas::FaceReplicas;
use service::reviews::{self, DecisionRequest, Outcome};
use service::stored_hits;
use service::time::iso;
use store::{Db, Scope, merchants, review};
use uuid::Uuid;
use verification::hits::Disposition;
use verification::status::Decision;

use super::data;
use super::errors::Unusable;
use super::output::print_line;
use super::runtime::block_on;

/// The most attempts that are listed at once.
const LISTED: i64 = 200;

/// `bonafide review`.
#[derive(Args)]
pub(crate) struct ReviewCommand {
    #[command(subcommand)]
    action: Action,
    /// The account; required if there are several.
    #[arg(long, global = true)]
    merchant: Option<Uuid>,
    /// Use live mode; by default, the mode that has the attempt.
    #[arg(long, global = true, conflicts_with = "sandbox")]
    live: bool,
    /// Use the sandbox.
    #[arg(long, global = true)]
    sandbox: bool,
    #[command(flatten)]
    data: DataConfig,
}

#[derive(Subcommand)]
enum Action {
    /// List pending attempts, oldest first, one JSON object per line.
    List,
    /// Approve an attempt.
    Approve {
        log_id: i64,
        #[arg(long)]
        reason: Option<String>,
        /// Disposition of a screening hit: same_person, other_person or unclear. Repeat it for each hit; the
        /// reason applies to the hits too.
        #[arg(long = "disposition", value_name = "HIT=VALUE", requires = "reason", value_parser = disposition)]
        dispositions: Vec<(String, Disposition)>,
    },
    /// Decline an attempt.
    Decline {
        log_id: i64,
        /// The reason; stored with the decision.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Reopen an attempt for a new decision.
    Reopen {
        log_id: i64,
        #[arg(long)]
        reason: Option<String>,
    },
}

pub(super) fn run(command: ReviewCommand) -> anyhow::Result<()> {
    block_on(async {
        let db = data::open_existing(&command.data).await?.db;
        let scopes = scopes(&db, &command).await?;
        let (log_id, decision, reason, dispositions) = match &command.action {
            Action::List => return list(&db, &scopes).await,
            Action::Approve {
                log_id,
                reason,
                dispositions,
            } => (*log_id, Decision::Approve, reason, dispositions.as_slice()),
            Action::Decline { log_id, reason } => (*log_id, Decision::Decline, reason, &[][..]),
            Action::Reopen { log_id, reason } => (*log_id, Decision::Reopen, reason, &[][..]),
        };
        let mut holders = Vec::new();
        for scope in scopes {
            if store::attempts::get(&mut db.read().await?, scope, log_id)
                .await?
                .is_some()
            {
                holders.push(scope);
            }
        }
        let scope = match holders.as_slice() {
            [scope] => *scope,
            [] => return Err(anyhow!("no attempt {log_id}")),
            _ => {
                let text = format!(
                    "several accounts or modes have an attempt {log_id}: add --merchant, and --live or --sandbox"
                );
                return Err(Unusable(text).into());
            }
        };
        let wish = DecisionRequest {
            log_id,
            decision,
            reason: reason.as_deref(),
            actor: "command line",
            staff_id: None,
            reviewer: None,
            version: None,
            dispositions,
        };
        let outcome = reviews::decide(&db, &FaceReplicas::default(), scope, &wish)
            .await
            .map_err(|problem| anyhow!("{problem}"))?;
        print_line(
            &match outcome {
                Outcome::Decided(status) => json!({"logId": log_id, "status": status}),
                Outcome::Proposed => json!({"logId": log_id, "status": "pending", "proposed": true}),
            }
            .to_string(),
        )
    })
}

/// Parses `HIT=VALUE`.
fn disposition(text: &str) -> Result<(String, Disposition), String> {
    let parsed = text
        .rsplit_once('=')
        .and_then(|(hit, value)| Some((hit.to_owned(), value.parse().ok()?)));
    parsed.ok_or_else(|| "must be HIT=VALUE, where VALUE is same_person, other_person or unclear".into())
}

async fn scopes(db: &Db, command: &ReviewCommand) -> anyhow::Result<Vec<Scope>> {
    let ids = match command.merchant {
        Some(id) => vec![
            merchants::get(&mut db.read().await?, id)
                .await?
                .context("no such merchant")?
                .id,
        ],
        None => merchants::list(&mut db.read().await?)
            .await?
            .into_iter()
            .map(|merchant| merchant.id)
            .collect(),
    };
    let modes: &[bool] = match (command.live, command.sandbox) {
        (true, _) => &[false],
        (_, true) => &[true],
        _ => &[false, true],
    };
    Ok(ids
        .into_iter()
        .flat_map(|merchant_id| {
            modes.iter().map(move |sandbox| Scope {
                merchant_id,
                sandbox: *sandbox,
            })
        })
        .collect())
}

async fn list(db: &Db, scopes: &[Scope]) -> anyhow::Result<()> {
    for scope in scopes {
        for attempt in reviews::pending(db, *scope, 0, LISTED)
            .await
            .map_err(|problem| anyhow!("{problem}"))?
        {
            let codes: serde_json::Value = serde_json::from_str(&attempt.codes)?;
            let proposal = review::proposal(&mut db.read().await?, *scope, &attempt).await?;
            let proposal = proposal.map(|proposal| {
                json!({
                    "decision": proposal.decision, "proposedBy": reviews::proposer(&proposal),
                    "createdAt": iso(proposal.at),
                })
            });
            print_line(
                &json!({
                    "logId": attempt.log_id, "merchantId": scope.merchant_id, "isSandbox": scope.sandbox,
                    "externalUserId": attempt.external_user_id, "facemapId": attempt.facemap_id,
                    "flowName": attempt.flow_name, "codes": codes, "createdAt": iso(attempt.created_at),
                    "hits": stored_hits::hits(&attempt).map_err(|problem| anyhow!("{problem}"))?.0,
                    "proposal": proposal,
                })
                .to_string(),
            )?;
        }
    }
    Ok(())
}
