//! Ongoing screening of wallets: runs that one worker at a time continues, and scores that one worker computes.

use std::time::Duration;

use store::monitoring::{self, NewScreening};
use store::wallet_alerts::{self, NewWalletAlert, WalletAlertState};
use store::wallet_rescreenings::{self, Step, WalletRescreening};
use store::{Error, Scope};
use uuid::Uuid;

use crate::bench::Bench;

const LEASE: i64 = 60_000;

async fn begin(bench: &Bench, scope: Scope, target: &str, lease: Uuid) -> Option<WalletRescreening> {
    store::transaction!(bench.db, |tx| -> Result<Option<WalletRescreening>, Error> {
        wallet_rescreenings::begin(tx, scope, target, lease, LEASE).await
    })
    .unwrap()
}

async fn advance(bench: &Bench, scope: Scope, lease: Uuid, before: u128) -> bool {
    let step = Step {
        before: Uuid::from_u128(before),
        screenings: 2,
        alerts: 1,
    };
    store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        wallet_rescreenings::advance(tx, scope, lease, step, LEASE).await
    })
    .unwrap()
}

async fn extend(bench: &Bench, scope: Scope, lease: Uuid) -> bool {
    store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        wallet_rescreenings::extend(tx, scope, lease, LEASE).await
    })
    .unwrap()
}

async fn finish(bench: &Bench, scope: Scope, lease: Uuid) -> bool {
    store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        wallet_rescreenings::finish(tx, scope, lease).await
    })
    .unwrap()
}

async fn repeat(bench: &Bench, scope: Scope) -> WalletRescreening {
    store::transaction!(bench.db, |tx| -> Result<WalletRescreening, Error> {
        let state = wallet_rescreenings::lock_for_screening(tx, scope).await?;
        wallet_rescreenings::request_repetition(tx, scope).await?;
        Ok(state)
    })
    .unwrap()
}

async fn state(bench: &Bench, scope: Scope) -> WalletRescreening {
    let mut all = wallet_rescreenings::list(&mut bench.read().await).await.unwrap();
    let (of, state) = all.pop().unwrap();
    assert_eq!((all.len(), of), (0, scope));
    state
}

pub(crate) async fn a_run_over_wallets_belongs_to_one_worker_and_is_continued(bench: Bench) {
    let scope = bench.scope().await;
    let (ada, bob) = (Uuid::from_u128(0xA), Uuid::from_u128(0xB));
    let begun = begin(&bench, scope, "1", ada).await.unwrap();
    assert_eq!((begun.done, begun.before), (None, Uuid::max()));
    assert!(begin(&bench, scope, "1", bob).await.is_none(), "it is leased");
    assert!(advance(&bench, scope, ada, 5).await);
    // The first worker died: another one continues after the last screening.
    bench.pass(Duration::from_secs(61));
    let continued = begin(&bench, scope, "1", bob).await.unwrap();
    assert_eq!((continued.before, continued.alerts), (Uuid::from_u128(5), 1));
    assert!(!advance(&bench, scope, ada, 4).await, "the lease is lost");
    assert!(!finish(&bench, scope, ada).await);
    // A sign of life extends the lease.
    bench.pass(Duration::from_secs(59));
    assert!(extend(&bench, scope, bob).await && !extend(&bench, scope, ada).await);
    bench.pass(Duration::from_secs(59));
    assert!(begin(&bench, scope, "1", ada).await.is_none());
    assert!(finish(&bench, scope, bob).await);
    assert!(!finish(&bench, scope, bob).await, "there is no run");
    let done = state(&bench, scope).await;
    assert_eq!((done.done.as_deref(), done.target), (Some("1"), None));
    assert!(done.finished_at.is_some());
    // A worker that gives a run up leaves it to any other at once.
    begin(&bench, scope, "2", ada).await.unwrap();
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        wallet_rescreenings::release(tx, scope, ada).await
    })
    .unwrap();
    assert!(begin(&bench, scope, "2", bob).await.is_some());
}

pub(crate) async fn what_a_run_over_wallets_may_have_missed_is_compared_again(bench: Bench) {
    let scope = bench.scope().await;
    let (ada, bob) = (Uuid::from_u128(0xA), Uuid::from_u128(0xB));
    begin(&bench, scope, "1", ada).await.unwrap();
    assert!(finish(&bench, scope, ada).await);
    // A run for other wallets began and was abandoned: it may have opened and closed alerts.
    let begun = begin(&bench, scope, "2", ada).await.unwrap();
    assert_eq!(begun.done.as_deref(), Some("1"));
    assert!(advance(&bench, scope, ada, 5).await);
    bench.pass(Duration::from_secs(61));
    let back = begin(&bench, scope, "1", bob).await.unwrap();
    assert_eq!((back.done, back.before, back.alerts), (None, Uuid::max(), 0));
    // A screening used other wallets: the run in progress ends, and the next one begins at the newest screening.
    assert!(advance(&bench, scope, bob, 5).await);
    assert_eq!(repeat(&bench, scope).await.target.as_deref(), Some("1"));
    assert!(advance(&bench, scope, bob, 4).await && finish(&bench, scope, bob).await);
    assert!(state(&bench, scope).await.must_repeat);
    let again = begin(&bench, scope, "1", ada).await.unwrap();
    assert_eq!(
        (again.done, again.before, again.must_repeat),
        (None, Uuid::max(), false)
    );
    // So does the same run, if its worker died meanwhile.
    assert!(advance(&bench, scope, ada, 5).await);
    repeat(&bench, scope).await;
    bench.pass(Duration::from_secs(61));
    let again = begin(&bench, scope, "1", bob).await.unwrap();
    assert_eq!((again.before, again.must_repeat), (Uuid::max(), false));
}

pub(crate) async fn a_wallet_alerts_score_is_computed_by_one_worker(bench: Bench) {
    let scope = bench.scope().await;
    let open = async |id: u128, awaits_score: bool| {
        store::transaction!(bench.db, |tx| -> Result<Uuid, Error> {
            let screening = NewScreening {
                id: Uuid::from_u128(id),
                kind: "address",
                currency: "btc",
                query: "1Query",
                canonical: "1query",
                label: "Order 1",
                status: 200,
                score: Some(1.0),
                response: "{}",
                evidence: None,
                failure: None,
                coverage: None,
            };
            monitoring::insert(tx, scope, &screening).await?;
            let new = NewWalletAlert {
                screening_id: screening.id,
                subject_ref: &id.to_be_bytes(),
                finding: "then",
                awaits_score,
            };
            Ok(wallet_alerts::open_new(tx, scope, &new).await?.unwrap())
        })
        .unwrap()
    };
    let due = async || {
        let found = wallet_alerts::awaiting_score(&mut bench.read().await, 10).await;
        found.unwrap()
    };
    let take = async |id| {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            wallet_alerts::take_score(tx, scope, id, LEASE).await
        })
        .unwrap()
    };
    let record = async |id, finding: Option<&'static str>| {
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            wallet_alerts::record_score(tx, scope, id, finding).await
        })
        .unwrap();
        let alert = wallet_alerts::get(&mut bench.read().await, scope, id).await;
        alert.unwrap().unwrap().finding
    };
    let (waits, _) = (open(1, true).await, open(2, false).await);
    assert_eq!(due().await, [(scope, waits)]);
    assert!(take(waits).await && !take(waits).await, "one worker has it");
    assert_eq!(due().await, []);
    // The worker died.
    bench.pass(Duration::from_secs(61));
    assert!(take(waits).await);
    assert_eq!(record(waits, Some("now")).await, "now");
    bench.pass(Duration::from_secs(61));
    assert_eq!(due().await, []);
    assert_eq!(record(waits, Some("late")).await, "now");
    // One without a result, and one that was closed, wait no longer.
    let (fails, closed) = (open(3, true).await, open(4, true).await);
    assert_eq!(record(fails, None).await, "then");
    store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        wallet_alerts::close_delisted(tx, scope, closed).await
    })
    .unwrap();
    assert_eq!(due().await, []);
    let alert = wallet_alerts::get(&mut bench.read().await, scope, closed).await;
    assert_eq!(alert.unwrap().unwrap().state, WalletAlertState::Delisted);
}
