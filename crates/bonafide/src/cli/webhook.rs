//! `bonafide webhook …`: manages a Flow's webhook secret, test messages and deliveries.

use clap::{Args, Subcommand};
use secrecy::ExposeSecret;
use serde_json::json;
use service::config::DataConfig;
use service::time::iso;
use service::webhooks as app_webhooks;
use store::{Scope, outbox};
use uuid::Uuid;

use super::data;
use super::errors::Unusable;
use super::output::print_line;
use super::runtime::block_on;

/// The default number of events listed.
const LISTED: i64 = 100;

/// `bonafide webhook`.
#[derive(Args)]
pub(crate) struct WebhookCommand {
    #[command(subcommand)]
    action: Action,
    /// The account.
    #[arg(long, global = true)]
    merchant: Option<Uuid>,
    /// Use the sandbox instead of live mode.
    #[arg(long, global = true)]
    sandbox: bool,
    #[command(flatten)]
    data: DataConfig,
}

#[derive(Subcommand)]
enum Action {
    /// List events, newest first, one JSON object per line.
    List {
        /// The maximum number of events.
        #[arg(long, default_value_t = LISTED)]
        limit: i64,
    },
    /// Resend an event, delivered or not, with the same ID.
    Resend { event: Uuid },
    /// Send a `webhook.test` message to a Flow's webhook URL.
    Test { flow: Uuid },
    /// Show the secret that signs a Flow's messages.
    Secret { flow: Uuid },
    /// Replace the secret. For 24 hours, the previous one also signs messages.
    Rotate { flow: Uuid },
}

pub(super) fn run(command: WebhookCommand) -> anyhow::Result<()> {
    block_on(async {
        let db = data::open_existing(&command.data).await?.db;
        let merchant_id = command
            .merchant
            .ok_or_else(|| Unusable("--merchant is required".into()))?;
        let scope = Scope {
            merchant_id,
            sandbox: command.sandbox,
        };
        let no_flow =
            || Unusable("no such Flow in this account and mode (sandbox Flows need --sandbox)".into());
        match command.action {
            Action::List { limit } => {
                for event in outbox::list(&mut db.read().await?, scope, limit).await? {
                    print_line(&json!({
                        "id": event.id, "flowId": event.flow_id, "type": event.kind, "tries": event.tries,
                        "createdAt": iso(event.created_at), "deliveredAt": event.delivered_at.map(iso),
                        "nextTryAt": event.next_try_at.map(iso), "status": event.last_status, "error": event.last_error,
                    })
                    .to_string())?;
                }
                Ok(())
            }
            Action::Resend { event } => {
                if !app_webhooks::resend_alone(&db, scope, event).await? {
                    return Err(Unusable("no such event in this account and mode".into()).into());
                }
                print_line(&json!({"id": event, "due": true}).to_string())
            }
            Action::Test { flow } => {
                let id = app_webhooks::send_test(&db, scope, flow)
                    .await
                    .map_err(|problem| Unusable(problem.to_string()))?;
                print_line(&json!({"id": id, "type": "webhook.test"}).to_string())
            }
            Action::Secret { flow } => {
                let endpoint = app_webhooks::endpoint(&db, scope, flow).await?;
                print_line(endpoint.ok_or_else(no_flow)?.secret.expose_secret())
            }
            Action::Rotate { flow } => {
                let secret = app_webhooks::rotate_alone(&db, scope, flow)
                    .await
                    .map_err(|_| no_flow())?;
                print_line(secret.expose_secret())
            }
        }
    })
}
