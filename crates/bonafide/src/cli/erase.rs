//! `bonafide erase`: erases a person permanently.

use std::collections::BTreeSet;

use anyhow::{Context, anyhow};
use clap::Args;
use serde_json::json;
use service::config::DataConfig;
use service::erasure;
use store::{Scope, applicants, erasures, merchants, people};
use uuid::Uuid;

use super::data;
use super::errors::Unusable;
use super::output::print_line;
use super::runtime::block_on;

/// `bonafide erase`.
#[derive(Args)]
pub(crate) struct Erase {
    /// The account.
    #[arg(long)]
    merchant: Uuid,
    /// Search the sandbox instead of live mode.
    #[arg(long)]
    sandbox: bool,
    /// The person.
    #[arg(
        long,
        required_unless_present = "external_user_id",
        conflicts_with = "external_user_id"
    )]
    facemap: Option<Uuid>,
    /// The merchant's own ID for the person (externalUserId).
    #[arg(long)]
    external_user_id: Option<String>,
    #[command(flatten)]
    data: DataConfig,
}

/// Erases the person and prints how many attempts were erased.
pub(super) fn run(command: &Erase) -> anyhow::Result<()> {
    block_on(async {
        let data = data::open_existing(&command.data).await?;
        let scope = Scope {
            merchant_id: command.merchant,
            sandbox: command.sandbox,
        };
        let mut conn = data.db.read().await?;
        merchants::get(&mut conn, command.merchant)
            .await?
            .context("no such merchant")?;
        let facemap = match (command.facemap, &command.external_user_id) {
            (Some(facemap), _) => facemap,
            (None, Some(label)) => {
                let found = applicants::by_external_user_id(&mut conn, scope, label).await?;
                let facemaps: BTreeSet<Uuid> = found.iter().map(|applicant| applicant.facemap_id).collect();
                match facemaps.into_iter().collect::<Vec<_>>().as_slice() {
                    [facemap] => *facemap,
                    [] => match erasures::find_unfinished(&mut conn, scope, label).await? {
                        Some(facemap) => facemap,
                        None => {
                            let other = applicants::by_external_user_id(&mut conn, other_mode(scope), label);
                            return Err(nobody(scope, "has this label", !other.await?.is_empty()));
                        }
                    },
                    several => {
                        let message =
                            format!("several people have this label; name one with --facemap: {several:?}");
                        return Err(Unusable(message).into());
                    }
                }
            }
            (None, None) => return Err(Unusable("name --facemap or --external-user-id".into()).into()),
        };
        let is_known = people::resolve(&mut conn, scope, facemap).await?.is_some()
            || erasures::is_erased(&mut conn, scope, facemap).await?;
        if !is_known {
            let other = people::resolve(&mut conn, other_mode(scope), facemap).await?;
            return Err(nobody(scope, "has this facemap id", other.is_some()));
        }
        drop(conn);
        let erased = erasure::erase(&data.db, &data.objects, scope, facemap, "command line")
            .await
            .map_err(|problem| anyhow!("{problem}"))?;
        print_line(&json!({"facemapId": erased.facemap_id, "attempts": erased.attempts}).to_string())
    })
}

fn other_mode(scope: Scope) -> Scope {
    Scope {
        sandbox: !scope.sandbox,
        ..scope
    }
}

/// The error that states which mode was searched, and whether the other mode has such a person.
fn nobody(scope: Scope, what: &str, other_has: bool) -> anyhow::Error {
    match (scope.sandbox, other_has) {
        (false, true) => anyhow!("no live person {what}, but a person in the sandbox does: add --sandbox"),
        (false, false) => anyhow!("no live person {what}, and no person in the sandbox (--sandbox) either"),
        (true, true) => {
            anyhow!("no person in the sandbox {what}, but a live person does: leave --sandbox out")
        }
        (true, false) => {
            anyhow!("no person in the sandbox {what}, and no live person (without --sandbox) either")
        }
    }
}
