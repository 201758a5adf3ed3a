//! Ongoing screening of wallets: when the listed wallets change, an account's screenings of the last days are compared
//! with them again (`docs/decisions/0060-wallet-alerts.md`). `chain::later_listing` decides what is news. No stored
//! screening changes here.
//!
//! One worker at a time compares an account's screenings, from the newest to the oldest. It records what it found in one
//! transaction with the place where it continues, so any node continues after it, and nothing is lost or found twice.
//! [`scores`] computes the scores of new alerts afterwards, so that no account waits for them.

mod scores;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chain::address::Address;
use chain::currency::Currency;
use chain::later_listing::{LISTED_SCORE, LaterListing, ListedRole, later_listings};
use node::background::Job;
use node::lists::{MerchantLists, Wallets};
use serde_json::json;
use store::monitoring::{self, ComparedScreening};
use store::wallet_alerts::{self, NewWalletAlert};
use store::wallet_rescreenings::{self, Step, WalletRescreening};
use store::{Scope, Tx};
use uuid::Uuid;

use super::alerts::note;
use super::merchants::{self, MerchantSettings};
use super::monitoring::Evidence;
use super::rescreening::current::is_current;
use super::wallet_alerts::WalletFinding;
use super::wallet_comparison::Comparison;
use super::{Shared, cpu};
use crate::problem::Problem;

/// Who opens and closes alerts, in the audit trail.
const ACTOR: &str = "server";
/// How many screenings are read at once.
const SCREENINGS_AT_ONCE: i64 = 100;
/// How many alerts are read at once.
const ALERTS_AT_ONCE: i64 = 200;
/// How many alerts of a run have their screening scored again. Each may query a chain's source.
const SCORED_AGAIN: i64 = 200;
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
    if let Err(problem) = scores::compute_due(app).await {
        first_problem = first_problem.or(Some(problem));
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
    // Before the check below, so that these are the wallets of the same lists.
    let Ok(wallets) = app.lists.wallets(scope.sandbox, &settings) else {
        return Ok(0);
    };
    let comparison = Comparison {
        days,
        lists: lists.digests(),
        wallets: wallets.content_version(),
    };
    let target = serde_json::to_string(&comparison).map_err(Problem::internal)?;
    let is_done = |state: &WalletRescreening| {
        state.target.is_none() && !state.must_repeat && state.done.as_ref() == Some(&target)
    };
    if state.is_some_and(is_done) {
        return Ok(0);
    }
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
        lists,
        wallets: Arc::new(wallets),
        lease,
        left_to_score: SCORED_AGAIN - state.alerts,
    };
    match run.finish(state, &comparison).await {
        Ok(screenings) => Ok(screenings),
        Err(Stop::LeaseLost) => Ok(0),
        Err(Stop::Failed(problem)) => {
            // Another worker, or this one, continues at once.
            store::transaction!(app.db, |tx| -> Result<(), store::Error> {
                wallet_rescreenings::release(tx, scope, lease).await
            })?;
            Err(problem)
        }
    }
}

/// A run over an account's screenings.
struct Run<'a> {
    app: &'a Shared,
    scope: Scope,
    lists: MerchantLists,
    wallets: Arc<Wallets>,
    lease: Uuid,
    /// How many more of its alerts are scored.
    left_to_score: i64,
}

/// A screening that touched addresses that a list names now.
struct Concerned {
    id: Uuid,
    screening: ComparedScreening,
    listings: Vec<LaterListing>,
}

/// Why a worker stops before the end of a run.
enum Stop {
    /// Another worker continues it.
    LeaseLost,
    Failed(Problem),
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Stop::Failed(problem)
    }
}

impl From<store::Error> for Stop {
    fn from(error: store::Error) -> Self {
        Stop::Failed(error.into())
    }
}

impl Run<'_> {
    async fn finish(&mut self, state: WalletRescreening, comparison: &Comparison) -> Result<u64, Stop> {
        let mut compared = 0;
        let done = state.done.as_deref().and_then(Comparison::read);
        if !done.is_some_and(|done| done.finds_the_same(comparison)) {
            compared = self.compare_all(state.before, comparison.days).await?;
            self.close_delisted().await?;
        }
        let ended = store::transaction!(self.app.db, |tx| -> Result<bool, store::Error> {
            wallet_rescreenings::finish(tx, self.scope, self.lease).await
        })?;
        if ended { Ok(compared) } else { Err(Stop::LeaseLost) }
    }

    async fn compare_all(&mut self, mut before: Uuid, days: u32) -> Result<u64, Stop> {
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
            for one in &concerned {
                self.record(one).await?;
            }
            let step = Step {
                before: last,
                screenings: i64::try_from(count).unwrap_or(i64::MAX),
                alerts: 0,
            };
            store::transaction!(self.app.db, |tx| -> Result<(), Stop> {
                self.advance(tx, step).await
            })?;
            before = last;
            compared += count as u64;
        }
        Ok(compared)
    }

    /// Opens the alerts of one screening, and continues after it. What is known is recorded with its page.
    async fn record(&mut self, concerned: &Concerned) -> Result<(), Stop> {
        let Concerned {
            id,
            screening,
            listings,
        } = concerned;
        let subject = (
            screening.currency.as_str(),
            screening.query.as_str(),
            screening.label.as_str(),
        );
        let is_screened = |listing: &LaterListing| listing.role == ListedRole::Screened;
        let score_now = listings.iter().any(is_screened).then_some(LISTED_SCORE);
        let mut new = Vec::new();
        {
            let conn = &mut self.app.db.read().await?;
            for listing in listings {
                let subject_ref = wallet_alerts::subject_ref(conn, self.scope, subject, &listing.address);
                if !wallet_alerts::is_known(conn, self.scope, &subject_ref).await? {
                    let finding = self.finding(screening, listing, score_now);
                    let text = serde_json::to_string(&finding).map_err(Problem::internal)?;
                    new.push((subject_ref, text));
                }
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let left_to_score = self.left_to_score;
        let opened = store::transaction!(self.app.db, |tx| -> Result<i64, Stop> {
            let mut alerts = 0;
            for (subject_ref, finding) in &new {
                let new = NewWalletAlert {
                    screening_id: *id,
                    subject_ref,
                    finding,
                    awaits_score: score_now.is_none() && alerts < left_to_score,
                };
                if let Some(alert) = wallet_alerts::open_new(tx, self.scope, &new).await? {
                    let detail = json!({"queryId": id});
                    note(tx, self.scope, (ACTOR, "wallet_alert.opened"), alert, detail).await?;
                    alerts += 1;
                }
            }
            let step = Step {
                before: *id,
                screenings: 0,
                alerts,
            };
            self.advance(tx, step).await?;
            Ok(alerts)
        })?;
        self.left_to_score -= opened;
        Ok(())
    }

    fn finding(
        &self,
        screening: &ComparedScreening,
        listing: &LaterListing,
        score_now: Option<f64>,
    ) -> WalletFinding {
        let versions = self.lists.screener.lists();
        WalletFinding {
            kind: screening.kind.clone(),
            query: screening.query.clone(),
            currency: screening.currency.clone(),
            label: screening.label.clone(),
            score: screening.score,
            address: listing.address.clone(),
            role: listing.role,
            version: versions.get(&listing.list).cloned().unwrap_or_default(),
            list: listing.list.clone(),
            party: listing.party.clone(),
            score_now,
        }
    }

    /// Closes the open alerts whose address no list that counts names any more.
    async fn close_delisted(&self) -> Result<(), Stop> {
        let mut before = None;
        loop {
            let ids = wallet_alerts::list_open_ids(
                &mut self.app.db.read().await?,
                self.scope,
                before,
                ALERTS_AT_ONCE,
            )
            .await?;
            let Some(last) = ids.last() else { return Ok(()) };
            before = Some(*last);
            store::transaction!(self.app.db, |tx| -> Result<(), Stop> {
                self.keep_lease(tx).await
            })?;
            for id in ids {
                self.check_alert(id).await?;
            }
        }
    }

    /// Closes an alert if no list names its address. One that cannot be read stays, and does not hide the others.
    async fn check_alert(&self, id: Uuid) -> Result<(), Stop> {
        let alert = match wallet_alerts::get(&mut self.app.db.read().await?, self.scope, id).await {
            Err(error @ store::Error::Sealed) => Err(Problem::from(error)),
            alert => Ok(alert?),
        };
        let finding = match alert {
            Ok(None) => return Ok(()),
            Ok(Some(alert)) => WalletFinding::of(&alert),
            Err(problem) => Err(problem),
        };
        let finding = match finding {
            Ok(finding) => finding,
            Err(problem) => {
                tracing::warn!(alert = %id, %problem, "an alert cannot be compared with the lists");
                return Ok(());
            }
        };
        let Some(chain) = currency_of(&finding.currency) else {
            return Ok(());
        };
        let labels = |chain, address: &str| self.wallets.labels(chain, address, 0);
        if !later_listings(chain, None, &[finding.address], labels).is_empty() {
            return Ok(());
        }
        store::transaction!(self.app.db, |tx| -> Result<(), Stop> {
            self.keep_lease(tx).await?;
            if wallet_alerts::close_delisted(tx, self.scope, id).await? {
                note(tx, self.scope, (ACTOR, "wallet_alert.closed"), id, json!({})).await?;
            }
            Ok(())
        })
    }

    async fn advance(&self, tx: &mut Tx, step: Step) -> Result<(), Stop> {
        match wallet_rescreenings::advance(tx, self.scope, self.lease, step, lease_ms()).await? {
            true => Ok(()),
            false => Err(Stop::LeaseLost),
        }
    }

    async fn keep_lease(&self, tx: &mut Tx) -> Result<(), Stop> {
        match wallet_rescreenings::extend(tx, self.scope, self.lease, lease_ms()).await? {
            true => Ok(()),
            false => Err(Stop::LeaseLost),
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
        // Without evidence, as behind a vendor's score, only the screened address is known. A listed one has the
        // highest score. So an address without a listing to which a vendor gave that score is never compared.
        _ if screening.score.is_some_and(|score| score >= LISTED_SCORE) => Vec::new(),
        Some(Err(_)) => {
            tracing::warn!(screening = %id, "the evidence of a wallet screening cannot be read");
            screened.iter().cloned().collect()
        }
        None => screened.iter().cloned().collect(),
    };
    // Listings have no validity, so the time does not matter.
    later_listings(chain, screened.as_deref(), &unlisted, |chain, address| {
        wallets.labels(chain, address, 0)
    })
}
