//! The scores that new alerts state: the decision of the screening, computed again with the lists in use. This module
//! opens and closes no alert. Any node computes them, one after the other, because each may query a chain's source.

use std::sync::Arc;
use std::time::{Duration, Instant};

use store::wallet_alerts;
use store::{Db, Scope, monitoring};
use uuid::Uuid;

use crate::labels::AccountLabels;
use crate::merchants;
use crate::monitoring::Decision;
use crate::problem::Problem;
use crate::wallet_alerts::WalletFinding;
use crate::{App, Shared};

/// How many alerts are read at once.
const ALERTS_AT_ONCE: i64 = 50;
/// No further score is begun in a sweep after this time, so that changed lists are soon compared.
const TIME: Duration = Duration::from_secs(30);
/// A score that a worker did not record is computed again after this time.
const LEASE: Duration = Duration::from_mins(2);

/// The result of a computation.
enum Outcome {
    /// The finding that states the score, or `None`: it cannot be computed.
    Ended(Option<String>),
    /// The server is busy, or the account's lists or labels are not available now.
    Postponed,
}

/// Computes the scores that are due. One that fails does not hold up the others.
///
/// # Errors
/// When the store fails.
pub(super) async fn compute_due(app: &Shared) -> Result<(), Problem> {
    let due = wallet_alerts::awaiting_score(&mut app.db.read().await?, ALERTS_AT_ONCE).await?;
    let begun = Instant::now();
    for (scope, id) in due {
        if begun.elapsed() > TIME {
            break;
        }
        if let Err(problem) = compute(app, scope, id).await {
            tracing::warn!(alert = %id, %problem, "the score of a wallet alert cannot be computed now");
        }
    }
    Ok(())
}

async fn compute(app: &Shared, scope: Scope, id: Uuid) -> Result<(), Problem> {
    let lease = i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX);
    let is_taken = store::transaction!(app.db, |tx| -> Result<bool, store::Error> {
        wallet_alerts::take_score(tx, scope, id, lease).await
    })?;
    if !is_taken {
        return Ok(());
    }
    let finding = match score_again(app, scope, id).await {
        Ok(Outcome::Ended(finding)) => finding,
        Ok(Outcome::Postponed) => return Ok(()),
        Err(problem) => {
            record(&app.db, scope, id, None).await?;
            return Err(problem);
        }
    };
    record(&app.db, scope, id, finding.as_deref()).await
}

async fn record(db: &Db, scope: Scope, id: Uuid, finding: Option<&str>) -> Result<(), Problem> {
    store::transaction!(db, |tx| -> Result<(), Problem> {
        Ok(wallet_alerts::record_score(tx, scope, id, finding).await?)
    })
}

/// Scores the screening of an alert again.
///
/// # Errors
/// When the alert, the screening or the account cannot be read, or the computation panicked.
async fn score_again(app: &Shared, scope: Scope, id: Uuid) -> Result<Outcome, Problem> {
    let (mut finding, decision, settings) = {
        let conn = &mut app.db.read().await?;
        let (Some(alert), Some(account)) = (
            wallet_alerts::get(conn, scope, id).await?,
            store::merchants::get(conn, scope.merchant_id).await?,
        ) else {
            return Ok(Outcome::Ended(None));
        };
        let finding = WalletFinding::of(&alert)?;
        let Some(screening) = monitoring::get(conn, scope, alert.screening_id).await? else {
            return Ok(Outcome::Ended(None));
        };
        let Ok(decision) = Decision::read(conn, scope, screening).await? else {
            return Ok(Outcome::Ended(None));
        };
        (finding, decision, merchants::settings(&account)?)
    };
    let Ok(permit) = app.screenings.permit().await else {
        return Ok(Outcome::Postponed);
    };
    let shared = Arc::clone(app);
    let scored = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let app: &App = &shared;
        let labels = AccountLabels::for_account(&app.labels, &app.lists, scope, &settings).ok()?;
        Some(decision.replay(Ok(&labels), &app.chains).score_again)
    });
    match scored.await.map_err(Problem::internal)? {
        None => Ok(Outcome::Postponed),
        Some(None) => Ok(Outcome::Ended(None)),
        Some(score) => {
            finding.score_now = score;
            let text = serde_json::to_string(&finding).map_err(Problem::internal)?;
            Ok(Outcome::Ended(Some(text)))
        }
    }
}
