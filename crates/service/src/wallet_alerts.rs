//! Alerts about wallet screenings, as reviewers and API clients see them. `wallet_rescreening` opens them, and closes
//! those whose address is no longer listed. An alert changes no stored screening.

use chain::later_listing::ListedRole;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::wallet_alerts::{self, WalletAlert, WalletAlertState};
use store::{Conn, Db, Scope};
use uuid::Uuid;

use super::alerts::{check_reason, note};
use crate::problem::{Kind, Problem};

/// The sealed content of an alert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WalletFinding {
    /// The kind of the screening: `address` or `transaction`.
    pub kind: String,
    /// The screened address or transaction as it was sent.
    pub query: String,
    /// The chain's code.
    pub currency: String,
    /// The caller's label.
    pub label: String,
    /// The screening's score; `None` if it had none.
    pub score: Option<f64>,
    /// The listed address, in canonical form.
    pub address: String,
    /// What it is to the screening.
    pub role: ListedRole,
    /// The list that names it.
    pub list: String,
    /// The version of that list.
    pub version: String,
    /// The listed party.
    pub party: String,
    /// The score of the same decision with newer lists; `None` until it is computed, or if it cannot be.
    pub score_now: Option<f64>,
}

impl WalletFinding {
    /// The content of an alert.
    ///
    /// # Errors
    /// 503 if this version cannot read it.
    pub fn of(alert: &WalletAlert) -> Result<WalletFinding, Problem> {
        serde_json::from_str(&alert.finding).map_err(|error| {
            let fault = verification::json::describe_without_values(&error);
            let text = "The alert cannot be read by this version of the server";
            Problem::unavailable(text).because(format!("wallet alert {}: {fault}", alert.id))
        })
    }
}

/// A page of alerts, newest first.
#[derive(Clone, Debug)]
pub struct Page {
    /// At most the requested number. `None`: this version cannot read the finding.
    pub alerts: Vec<(WalletAlert, Option<WalletFinding>)>,
    /// Where the next page begins; `None`: this is the last page.
    pub next: Option<Uuid>,
}

/// An account's alerts in a state, or all; older than one of them, or from the newest on. An alert that this version
/// cannot read does not hide the others.
///
/// # Errors
/// When the store fails.
pub async fn page(
    conn: &mut Conn,
    scope: Scope,
    (state, before): (Option<WalletAlertState>, Option<Uuid>),
    limit: u16,
) -> Result<Page, Problem> {
    // One more than requested, to detect whether there is another page.
    let mut found = wallet_alerts::list(conn, scope, state, before, i64::from(limit) + 1).await?;
    let more = found.len() > usize::from(limit);
    found.truncate(usize::from(limit));
    let next = found.last().map(|last| last.id).filter(|_| more);
    let read = |alert: WalletAlert| {
        let finding = WalletFinding::of(&alert);
        if let Err(problem) = &finding {
            tracing::warn!(%problem, "a wallet alert is not listed with its finding");
        }
        (alert, finding.ok())
    };
    Ok(Page {
        alerts: found.into_iter().map(read).collect(),
        next,
    })
}

/// One alert.
///
/// # Errors
/// 404 for an unknown alert, 503 if this version cannot read it.
pub async fn find(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<(WalletAlert, WalletFinding), Problem> {
    let alert = wallet_alerts::get(conn, scope, id).await?.ok_or_else(unknown)?;
    let finding = WalletFinding::of(&alert)?;
    Ok((alert, finding))
}

/// Closes an open alert for a reviewer, with a reason.
///
/// # Errors
/// 404 for an unknown alert, a conflict if it is closed, 400 for a missing or long reason.
pub async fn close(db: &Db, scope: Scope, id: Uuid, reason: &str, actor: &str) -> Result<(), Problem> {
    let reason = reason.trim();
    store::transaction!(db, |tx| -> Result<(), Problem> {
        wallet_alerts::get(tx, scope, id).await?.ok_or_else(unknown)?;
        check_reason(reason)?;
        if !wallet_alerts::close_reviewed(tx, scope, id, (actor, reason)).await? {
            return Err(Problem::new(Kind::Conflict, "This alert is closed").named("alert_closed"));
        }
        note(tx, scope, (actor, "wallet_alert.reviewed"), id, json!({})).await
    })
}

fn unknown() -> Problem {
    Problem::not_found("No such alert")
}
