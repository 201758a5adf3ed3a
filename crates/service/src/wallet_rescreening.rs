//! Ongoing screening of wallets: when the listed wallets change, an account's screenings of the last days are compared
//! with them again (`docs/decisions/0060-wallet-alerts.md`). `chain::later_listing` decides what is news. No stored
//! screening changes here.
//!
//! One worker at a time compares an account's screenings, from the newest to the oldest. It records what it found in one
//! transaction with the place where it continues, so any node continues after it, and nothing is lost or found twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chain::address::Address;
use chain::currency::Currency;
use chain::labels::Labels as _;
use chain::later_listing::{LISTED_SCORE, LaterListing, ListedRole, later_listings};
use node::background::Job;
use node::lists::{MerchantLists, Wallets};
use serde_json::json;
use store::monitoring::{self, ComparedScreening};
use store::wallet_alerts::{self, NewWalletAlert, WalletAlertState};
use store::wallet_rescreenings::{self, Step, WalletRescreening};
use store::{Scope, Tx};
use uuid::Uuid;

use super::alerts::note;
use super::labels::AccountLabels;
use super::merchants::{self, MerchantSettings};
use super::monitoring::{Decision, Evidence};
use super::rescreening::current::is_current;
use super::wallet_alerts::WalletFinding;
use super::{Shared, cpu};
use crate::problem::Problem;

/// Who opens and closes alerts, in the audit trail.
const ACTOR: &str = "server";
/// How many screenings are read at once.
const SCREENINGS_AT_ONCE: i64 = 100;
/// How many alerts are read at once.
const ALERTS_AT_ONCE: i64 = 200;
/// How many concerned screenings a run scores again. Each may query a chain's source.
const SCORED_AGAIN: usize = 200;
/// Other workers continue a run after this time without a step.
const LEASE: Duration = Duration::from_mins(5);
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

fn lease_ms() -> i64 {
    i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX)
}

/// Compares screenings for as long as the server runs.
pub async fn run(app: Shared) {
    loop {
        tokio::time::sleep(Job::WalletRescreening.interval()).await;
        let compared = sweep(&app).await;
        match &compared {
            Ok(0) => {}
            Ok(screenings) => {
                tracing::info!(screenings, "wallet screenings were compared with changed lists");
            }
            Err(problem) => tracing::warn!(%problem, "wallet screenings could not be compared again"),
        }
        app.background.record_run(Job::WalletRescreening, &compared);
    }
}

/// Compares the screenings of every account whose lists changed. Returns how many screenings it compared.
///
/// # Errors
/// The first problem of an account, after all accounts had their turn.
pub async fn sweep(app: &Shared) -> Result<u64, Problem> {
    if app.lists.confirm(&app.db).await.is_err() {
        // `/readyz` reports why there are no lists.
        return Ok(0);
    }
    let (states, accounts) = {
        let mut conn = app.db.read().await?;
        let states = wallet_rescreenings::list(&mut conn).await?;
        (states, store::merchants::list(&mut conn).await?)
    };
    let states: BTreeMap<(Uuid, bool), WalletRescreening> = states
        .into_iter()
        .map(|(scope, state)| ((scope.merchant_id, scope.sandbox), state))
        .collect();
    let mut compared = 0;
    let mut first_problem = None;
    for account in &accounts {
        for sandbox in [false, true] {
            let scope = Scope {
                merchant_id: account.id,
                sandbox,
            };
            let done = match merchants::settings(account) {
                Ok(settings) => {
                    compare_account(app, scope, settings, states.get(&(account.id, sandbox))).await
                }
                Err(problem) => Err(problem),
            };
            match done {
                Ok(screenings) => compared += screenings,
                Err(problem) => first_problem = first_problem.or(Some(problem)),
            }
        }
    }
    first_problem.map_or(Ok(compared), Err)
}

/// Compares an account's screenings, if its lists changed and nobody else does it.
async fn compare_account(
    app: &Shared,
    scope: Scope,
    settings: MerchantSettings,
    state: Option<&WalletRescreening>,
) -> Result<u64, Problem> {
    let days = settings.wallet_alert_days();
    if days == 0 {
        return Ok(0);
    }
    // An account without lists screens no wallet either.
    let Ok(lists) = app.lists.for_merchant(scope.sandbox, &settings) else {
        return Ok(0);
    };
    let target = json!({"days": days, "lists": lists.digests()}).to_string();
    if state.is_some_and(|state| state.target.is_none() && state.done.as_ref() == Some(&target)) {
        return Ok(0);
    }
    // Before the check below, so that these are the wallets of the same lists.
    let Ok(wallets) = app.lists.wallets(scope.sandbox, &settings) else {
        return Ok(0);
    };
    let lease = Uuid::new_v4();
    let begun = store::transaction!(app.db, |tx| -> Result<Option<WalletRescreening>, Problem> {
        // The lists or the account's choice may have changed since the sweep began: the next sweep looks.
        match is_current(tx, scope, &settings, &lists).await? {
            true => wallet_rescreenings::begin(tx, scope, &target, lease, lease_ms())
                .await
                .map_err(Problem::from),
            false => Ok(None),
        }
    })?;
    let Some(state) = begun else { return Ok(0) };
    let mut run = Run {
        app,
        scope,
        version: format!("{days} {} {}", wallets.index.version(), wallets.lists.join(" ")),
        settings,
        lists,
        wallets: Arc::new(wallets),
        lease,
        left_to_score: SCORED_AGAIN,
    };
    let compared = run.finish(state, days).await;
    if compared.is_err() {
        // Another worker, or this one, continues at once.
        store::transaction!(app.db, |tx| -> Result<(), store::Error> {
            wallet_rescreenings::release(tx, scope, lease).await
        })?;
    }
    compared
}

/// A run over an account's screenings.
struct Run<'a> {
    app: &'a Shared,
    scope: Scope,
    settings: MerchantSettings,
    lists: MerchantLists,
    wallets: Arc<Wallets>,
    /// The version of the wallets that count, with the days.
    version: String,
    lease: Uuid,
    left_to_score: usize,
}

/// A screening that touched addresses that a list names now.
struct Concerned {
    id: Uuid,
    screening: ComparedScreening,
    listings: Vec<LaterListing>,
}

/// Another worker has the run.
fn lost() -> Problem {
    Problem::unavailable("Another node continues to compare these screenings")
}

impl Run<'_> {
    async fn finish(&mut self, state: WalletRescreening, days: u32) -> Result<u64, Problem> {
        let mut compared = 0;
        // Most changes of a list concern no wallet.
        if state.wallets.as_ref() != Some(&self.version) {
            compared = self.compare_all(state.before, days).await?;
            self.close_delisted().await?;
        }
        let ended = store::transaction!(self.app.db, |tx| -> Result<bool, store::Error> {
            wallet_rescreenings::finish(tx, self.scope, self.lease, &self.version).await
        })?;
        if ended { Ok(compared) } else { Err(lost()) }
    }

    async fn compare_all(&mut self, mut before: Uuid, days: u32) -> Result<u64, Problem> {
        let mut compared = 0;
        loop {
            let page = {
                let mut conn = self.app.db.read().await?;
                let from = first_id_at(conn.now() - i64::from(days) * DAY_MS);
                monitoring::list_between(&mut conn, self.scope, (from, before), SCREENINGS_AT_ONCE).await?
            };
            let Some((last, _)) = page.last() else { break };
            let (last, count) = (*last, page.len());
            let wallets = Arc::clone(&self.wallets);
            let concerned = cpu::blocking(move || Ok(concerned(page, &wallets))).await?;
            for one in concerned {
                self.record(one).await?;
            }
            let step = Step {
                before: last,
                screenings: i64::try_from(count).unwrap_or(i64::MAX),
                alerts: 0,
            };
            store::transaction!(self.app.db, |tx| -> Result<(), Problem> {
                self.advance(tx, step).await
            })?;
            before = last;
            compared += count as u64;
        }
        Ok(compared)
    }

    /// Opens the alerts of one screening, and continues after it.
    async fn record(&mut self, concerned: Concerned) -> Result<(), Problem> {
        let Concerned {
            id,
            screening,
            listings,
        } = concerned;
        let score_now = match listings
            .iter()
            .any(|listing| listing.role == ListedRole::Screened)
        {
            true => Some(LISTED_SCORE),
            false => self.score_now(id).await?,
        };
        let subject = (
            screening.currency.as_str(),
            screening.query.as_str(),
            screening.label.as_str(),
        );
        let findings = listings.iter().map(|listing| WalletFinding {
            kind: screening.kind.clone(),
            query: screening.query.clone(),
            currency: screening.currency.clone(),
            label: screening.label.clone(),
            score: screening.score,
            address: listing.address.clone(),
            role: listing.role,
            version: self
                .lists
                .screener
                .lists()
                .get(&listing.list)
                .cloned()
                .unwrap_or_default(),
            list: listing.list.clone(),
            party: listing.party.clone(),
            score_now,
        });
        let findings: Vec<WalletFinding> = findings.collect();
        store::transaction!(self.app.db, |tx| -> Result<(), Problem> {
            let mut alerts = 0;
            for finding in &findings {
                let subject_ref = wallet_alerts::subject_ref(tx, self.scope, subject, &finding.address);
                let text = serde_json::to_string(finding).map_err(Problem::internal)?;
                let new = NewWalletAlert {
                    screening_id: id,
                    subject_ref: &subject_ref,
                    finding: &text,
                };
                if let Some(alert) = wallet_alerts::open_new(tx, self.scope, &new).await? {
                    let detail = json!({"queryId": id});
                    note(tx, self.scope, (ACTOR, "wallet_alert.opened"), alert, detail).await?;
                    alerts += 1;
                }
            }
            let step = Step {
                before: id,
                screenings: 0,
                alerts,
            };
            self.advance(tx, step).await
        })
    }

    /// The score of a screening's decision with the lists of today; `None` if it cannot be computed now.
    async fn score_now(&mut self, id: Uuid) -> Result<Option<f64>, Problem> {
        let Some(left) = self.left_to_score.checked_sub(1) else {
            return Ok(None);
        };
        self.left_to_score = left;
        let decision = {
            let mut conn = self.app.db.read().await?;
            let Some(screening) = monitoring::get(&mut conn, self.scope, id).await? else {
                return Ok(None);
            };
            Decision::read(&mut conn, self.scope, screening).await?
        };
        // An alert without a score is better than none.
        let (Ok(decision), Ok(permit)) = (decision, self.app.screenings.permit().await) else {
            return Ok(None);
        };
        let (app, scope, settings) = (Arc::clone(self.app), self.scope, self.settings.clone());
        let scored = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let labels = AccountLabels::for_account(&app.labels, &app.lists, scope, &settings).ok()?;
            decision.replay(Ok(&labels), &app.chains).score_again
        });
        scored.await.map_err(Problem::internal)
    }

    /// Closes the open alerts whose address no list names any more.
    async fn close_delisted(&self) -> Result<(), Problem> {
        let mut before = None;
        loop {
            let open = wallet_alerts::list(
                &mut self.app.db.read().await?,
                self.scope,
                Some(WalletAlertState::Open),
                before,
                ALERTS_AT_ONCE,
            )
            .await?;
            let Some(last) = open.last() else { return Ok(()) };
            before = Some(last.id);
            for alert in open {
                let finding = match WalletFinding::of(&alert) {
                    Ok(finding) => finding,
                    Err(problem) => {
                        tracing::warn!(alert = %alert.id, %problem, "an alert cannot be compared with the lists");
                        continue;
                    }
                };
                let is_listed = currency_of(&finding.currency)
                    .is_none_or(|chain| !self.wallets.labels(chain, &finding.address, 0).is_empty());
                if !is_listed {
                    self.close(alert.id).await?;
                }
            }
        }
    }

    async fn close(&self, id: Uuid) -> Result<(), Problem> {
        store::transaction!(self.app.db, |tx| -> Result<(), Problem> {
            self.keep_lease(tx).await?;
            if wallet_alerts::close_delisted(tx, self.scope, id).await? {
                note(tx, self.scope, (ACTOR, "wallet_alert.closed"), id, json!({})).await?;
            }
            Ok(())
        })
    }

    async fn advance(&self, tx: &mut Tx, step: Step) -> Result<(), Problem> {
        match wallet_rescreenings::advance(tx, self.scope, self.lease, step, lease_ms()).await? {
            true => Ok(()),
            false => Err(lost()),
        }
    }

    async fn keep_lease(&self, tx: &mut Tx) -> Result<(), Problem> {
        match wallet_rescreenings::extend(tx, self.scope, self.lease, lease_ms()).await? {
            true => Ok(()),
            false => Err(lost()),
        }
    }
}

/// The lowest id of a screening that was made at a time (ms).
fn first_id_at(ms: i64) -> Uuid {
    Uuid::from_u128(u128::from(ms.max(0).unsigned_abs()) << 80)
}

fn currency_of(code: &str) -> Option<Currency> {
    Currency::ALL.into_iter().find(|currency| currency.code() == code)
}

/// The screenings of a page that touched addresses that a list names now.
fn concerned(
    page: Vec<(Uuid, Result<ComparedScreening, store::Error>)>,
    wallets: &Wallets,
) -> Vec<Concerned> {
    let mut found = Vec::new();
    for (id, screening) in page {
        let screening = match screening {
            Ok(screening) => screening,
            Err(error) => {
                tracing::warn!(screening = %id, %error, "a wallet screening cannot be compared with the lists");
                continue;
            }
        };
        let listings = listings_of(id, &screening, wallets);
        if !listings.is_empty() {
            found.push(Concerned {
                id,
                screening,
                listings,
            });
        }
    }
    found
}

fn listings_of(id: Uuid, screening: &ComparedScreening, wallets: &Wallets) -> Vec<LaterListing> {
    // A screening that failed otherwise compared its address with no list.
    if ![200, 404].contains(&screening.status) {
        return Vec::new();
    }
    let Some(chain) = currency_of(&screening.currency) else {
        return Vec::new();
    };
    let screened = (screening.kind == "address").then(|| Address::parse(chain, &screening.query));
    let screened = screened.and_then(Result::ok).map(|address| address.canonical);
    let evidence = screening
        .evidence
        .as_deref()
        .map(serde_json::from_str::<Evidence>);
    let unlisted = match evidence {
        Some(Ok(evidence)) => evidence.unlisted(chain),
        Some(Err(_)) => {
            tracing::warn!(screening = %id, "the evidence of a wallet screening cannot be read");
            screened.iter().cloned().collect()
        }
        // The answer was a vendor's, or there was none. A listed address has the highest score in any case.
        None if screening.score.is_some_and(|score| score >= LISTED_SCORE) => Vec::new(),
        None => screened.iter().cloned().collect(),
    };
    // Listings have no validity, so the time does not matter.
    later_listings(chain, screened.as_deref(), &unlisted, |chain, address| {
        wallets.labels(chain, address, 0)
    })
}
