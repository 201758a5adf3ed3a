//! `bonafide portal …`: creates one-time links to the portal, for members of an account and for operators.
//! There are no default passwords.

use clap::{Args, Subcommand};
use portal_accounts::email_of;
use portal_accounts::joining::{self, NewLink};
use serde_json::json;
use service::config::DataConfig;
use service::permissions::Role;
use uuid::Uuid;

use super::data;
use super::errors::Unusable;
use super::output::print_line;
use super::runtime::block_on;

/// `bonafide portal`.
#[derive(Args)]
pub(crate) struct PortalCommand {
    #[command(subcommand)]
    action: Action,
    /// The start of the portal's address.
    #[arg(
        long,
        env = "BONAFIDE_PUBLIC_URL",
        default_value = "http://127.0.0.1:8080",
        global = true
    )]
    public_url: String,
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    data: DataConfig,
}

#[derive(Subcommand)]
enum Action {
    /// Create a link for one person to join an account within seven days.
    Invite {
        #[arg(long)]
        merchant: Uuid,
        /// The role: owner, admin, compliance, reviewer, developer or auditor.
        #[arg(long)]
        role: String,
        /// The only email address that can use the link.
        #[arg(long)]
        email: Option<String>,
    },
    /// Create a link for one person to become an operator within seven days. Earlier links stop working.
    OperatorLink,
    /// Create a link for a member to set a new password within a day.
    PasswordLink {
        /// The member's sign-in address.
        #[arg(long)]
        email: String,
        /// Remove the authenticator app, all passkeys and the recovery codes, because the member has lost them.
        #[arg(long)]
        second_factor_lost: bool,
    },
}

pub(super) fn run(command: PortalCommand) -> anyhow::Result<()> {
    block_on(async {
        let db = data::open_existing(&command.data).await?.db;
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
            } => joining::make_recovery_link(&db, email, *second_factor_lost).await,
        };
        let NewLink { invitation, path } = made.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let link = format!("{}{path}", command.public_url.trim_end_matches('/'));
        if command.json {
            return print_line(&json!({"link": link, "expiresAt": invitation.expires_at}).to_string());
        }
        print_line(&link)
    })
}
