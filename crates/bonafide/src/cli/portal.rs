//! `bonafide portal …`: one-time links into the portal, for the first owner of an account and for operators. There are no default
//! passwords.

use clap::{Args, Subcommand};
use serde_json::json;
use service::accounts::email_of;
use service::accounts::joining::{self, NewLink};
use service::config::DataConfig;
use service::permissions::Role;
use uuid::Uuid;

use super::data;
use super::errors::Unusable;
use super::output::say;
use super::runtime::block_on;

/// `bonafide portal`.
#[derive(Args)]
pub(crate) struct PortalCommand {
    #[command(subcommand)]
    action: Action,
    /// The portal's address begins with this.
    #[arg(
        long,
        env = "BONAFIDE_PUBLIC_URL",
        default_value = "http://127.0.0.1:8080",
        global = true
    )]
    public_url: String,
    /// One JSON object instead of text.
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    data: DataConfig,
}

#[derive(Subcommand)]
enum Action {
    /// A link by which one person joins an account, within seven days.
    Invite {
        #[arg(long)]
        merchant: Uuid,
        /// owner, admin, compliance, reviewer, developer or auditor.
        #[arg(long)]
        role: String,
        /// Only whoever gives this address may use it.
        #[arg(long)]
        email: Option<String>,
    },
    /// A link by which one person becomes an operator of this installation, within seven days. Earlier ones work no more.
    OperatorLink,
    /// A link by which somebody sets a new password, within a day.
    PasswordLink {
        /// Whose: the address they sign in with.
        #[arg(long)]
        email: String,
        /// They have lost their second factor, and their recovery codes: ask for codes no more.
        #[arg(long)]
        second_factor_lost: bool,
    },
}

/// Runs it.
pub(super) fn run(command: PortalCommand) -> anyhow::Result<()> {
    block_on(async {
        let db = data::open(&command.data).await?.db;
        let made = match &command.action {
            Action::Invite {
                merchant,
                role,
                email,
            } => {
                let role: Role = role.parse().map_err(|()| {
                    Unusable("--role is owner, admin, compliance, reviewer, developer or auditor".into())
                })?;
                let email = email.as_deref().map(email_of).transpose();
                let email = email.map_err(|_| Unusable("--email is not an address".into()))?;
                joining::invite(&db, *merchant, role, email.as_deref(), None).await
            }
            Action::OperatorLink => joining::operator_link(&db, None).await,
            Action::PasswordLink {
                email,
                second_factor_lost,
            } => joining::rescue(&db, email, *second_factor_lost).await,
        };
        let NewLink { invitation, path } = made.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let link = format!("{}{path}", command.public_url.trim_end_matches('/'));
        if command.json {
            return say(&json!({"link": link, "expiresAt": invitation.expires_at}).to_string());
        }
        say(&link)
    })
}
