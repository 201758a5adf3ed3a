//! Operators' changes: account limits, operators and jobs. Also the operators' trail, which records changes
//! of lists, accounts and keys by the portal and the command line. It sees no applicant's data.

use store::{Db, Error, Tx, audit, bulk, invitations, merchants, operator_audit, portal_sessions, staff};
use uuid::Uuid;

use super::App;
use super::actor::of_staff;
use super::merchants::with_settings;
use crate::problem::{Kind, Problem};

/// The actor of changes by the command line.
pub const COMMAND_LINE: &str = "command line";

/// Writes an act on the installation into the operators' trail, in the act's transaction.
pub async fn record(tx: &mut Tx, actor: &str, action: &str, subject: &str) -> Result<(), Error> {
    let entry = audit::Entry {
        actor,
        action,
        subject,
        detail: "{}",
    };
    operator_audit::write(tx, &entry).await
}

/// Writes an act that changed nothing in the database into the operators' trail.
pub async fn record_alone(db: &Db, actor: &str, action: &str, subject: &str) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        record(tx, actor, action, subject).await
    })
}

/// Writes invented applicants of a load test.
pub async fn write_invented(
    db: &Db,
    account: &bulk::Account,
    people: &[bulk::SealedPerson],
) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        bulk::write(tx, account, people).await
    })
}

/// Makes a waiting job due at once; 404 if it is finished or running.
pub async fn run_job(db: &Db, id: Uuid, actor: &str) -> Result<(), Problem> {
    store::transaction!(db, |tx| -> Result<(), Problem> {
        if !store::jobs::run_now(tx, id).await? {
            return Err(Problem::not_found("This job is finished or running"));
        }
        Ok(record(tx, actor, "job.run", &id.to_string()).await?)
    })
}

/// Writes a change of an account, or of its keys, into the account's trail and the operators'. `detail` is
/// JSON.
pub async fn record_for_account(
    tx: &mut Tx,
    scope: store::Scope,
    entry: &audit::Entry<'_>,
) -> Result<(), Error> {
    audit::write(tx, scope, entry).await?;
    let detail = serde_json::from_str(entry.detail).unwrap_or(serde_json::Value::Null);
    let detail = serde_json::json!({"merchantId": scope.merchant_id, "detail": detail}).to_string();
    operator_audit::write(
        tx,
        &audit::Entry {
            detail: &detail,
            ..*entry
        },
    )
    .await
}

/// The limits of an account's plan: Flows, Groups, and requests per minute and key. Each is a setting of this
/// name.
pub const LIMITS: [&str; 6] = [
    "maxFlows",
    "maxGroups",
    "rateVerify",
    "rateMonitoring",
    "rateReads",
    "rateWrites",
];

/// Sets an account's [`LIMITS`], each as text. An empty text means no limit of Flows or Groups, and the
/// server's request rates.
pub async fn set_limits(
    app: &App,
    merchant_id: Uuid,
    limits: &[(&str, String)],
    actor: &str,
) -> Result<(), Problem> {
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        let merchant = merchants::get_for_update(tx, merchant_id)
            .await?
            .ok_or_else(|| Problem::not_found("There is no such account"))?;
        let changes: Vec<String> = limits
            .iter()
            .map(|(name, number)| format!("{name}={number}"))
            .collect();
        let changed = with_settings(&merchant, &changes).map_err(Problem::validation)?;
        merchants::set_settings(tx, merchant_id, &changed).await?;
        let set = limits
            .iter()
            .map(|(name, number)| ((*name).to_owned(), number.as_str().into()));
        let detail = serde_json::Value::Object(set.collect()).to_string();
        let entry = audit::Entry {
            actor,
            action: "merchant.limits_set",
            subject: &merchant_id.to_string(),
            detail: &detail,
        };
        // The account's trail is written first, as everywhere, so that two such transactions never wait for
        // each other's rows.
        let scope = store::Scope {
            merchant_id,
            sandbox: false,
        };
        audit::write(tx, scope, &entry).await?;
        Ok(operator_audit::write(tx, &entry).await?)
    })
}

/// Dismisses an operator: their sessions end, and links to become an operator become void. 404 if they are no
/// operator.
pub async fn dismiss_operator(app: &App, by: Uuid, staff_id: Uuid) -> Result<(), Problem> {
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        if !staff::lock_operator(tx, by).await? {
            return Err(Problem::new(Kind::Forbidden, "You are no operator any more"));
        }
        let member = staff::get(tx, staff_id).await?.filter(|member| member.operator);
        member.ok_or_else(|| Problem::not_found("There is no such operator"))?;
        // Membership of accounts is the merchants' concern. Links to become an operator become void.
        staff::set_operator(tx, staff_id, false).await?;
        invitations::void_operators(tx).await?;
        portal_sessions::end_all(tx, staff_id, None).await?;
        let subject = staff_id.to_string();
        record(tx, &of_staff(by), "operator.dismissed", &subject).await?;
        Ok(())
    })
}
