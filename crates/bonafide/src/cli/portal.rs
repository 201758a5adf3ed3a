//! `bonafide portal …`: creates one-time links to the portal, for members of an account and for operators.
//! There are no default passwords.

use clap::{Args, Subcommand};
use portal_accounts::email_of;
use portal_accounts::joining::{self, NewLink};
use serde_json::json;
use service::config::DataConfig;
use service::permissions::Role;
use service::problem::{Kind, Problem};
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
                    Unusable(format!(
                        "--role {role} is not a role: use owner, admin, compliance, reviewer, developer or auditor"
                    ))
                })?;
                let email = email.as_deref().map(address).transpose()?;
                joining::invite(&db, *merchant, role, email.as_deref(), None).await
            }
            Action::OperatorLink => joining::operator_link(&db, None).await,
            Action::PasswordLink {
                email,
                second_factor_lost,
            } => joining::make_recovery_link(&db, &address(email)?, *second_factor_lost).await,
        };
        let made = made.map_err(|problem| explain(&command.action, &problem));
        let NewLink { invitation, path } = made?;
        let link = format!("{}{path}", command.public_url.trim_end_matches('/'));
        if command.json {
            return print_line(&json!({"link": link, "expiresAt": invitation.expires_at}).to_string());
        }
        print_line(&link)
    })
}

/// The address that `--email` names.
fn address(text: &str) -> Result<String, Unusable> {
    email_of(text).map_err(|_| {
        Unusable(format!(
            "--email {text} is not an email address: use one such as name@example.com"
        ))
    })
}

/// A problem with the fix that a person at the command line has.
fn explain(action: &Action, problem: &Problem) -> anyhow::Error {
    match (problem.kind(), action) {
        (Kind::NotFound, Action::Invite { merchant, .. }) => {
            anyhow::anyhow!(
                "there is no account {merchant}: `bonafide merchant list` prints the accounts with their ids"
            )
        }
        (Kind::NotFound, Action::PasswordLink { email, .. }) => anyhow::anyhow!(
            "nobody signs in with {email}: the portal shows the members' addresses under Staff. To add a person, use \
             `bonafide portal invite`"
        ),
        _ => anyhow::anyhow!("{problem}"),
    }
}
