//! Updates of sanctions lists: one worker at a time, once per period.

use store::Error;
use store::list_updates::{self, ListUpdate, Offered};
use uuid::Uuid;

use crate::bench::Bench;

const HOUR: i64 = 3_600_000;

async fn begin(bench: &Bench, lease: Uuid, lease_ms: i64, period: i64) -> bool {
    store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        list_updates::begin(tx, "un", lease, lease_ms, period).await
    })
    .unwrap()
}

async fn finish(bench: &Bench, lease: Uuid, pause: i64) {
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        list_updates::finish(tx, "un", lease, pause).await
    })
    .unwrap();
}

async fn get(bench: &Bench) -> ListUpdate {
    list_updates::get(&mut bench.db.read().await.unwrap(), "un")
        .await
        .unwrap()
}

pub(crate) async fn one_worker_updates_a_list_once_per_period(bench: Bench) {
    let bench = &bench;
    let (first, second) = (Uuid::new_v4(), Uuid::new_v4());
    assert!(begin(bench, first, HOUR, 6 * HOUR).await);
    assert!(
        !begin(bench, second, HOUR, 6 * HOUR).await,
        "another worker has it"
    );
    finish(bench, second, 0).await;
    assert!(
        !begin(bench, second, HOUR, 6 * HOUR).await,
        "only the worker ends it"
    );
    finish(bench, first, 6 * HOUR).await;
    assert!(!begin(bench, second, HOUR, 6 * HOUR).await, "it is not due");
    // A shorter period counts at once, and a worker that died loses its lease.
    assert!(begin(bench, second, 0, HOUR).await);
    assert!(begin(bench, first, HOUR, HOUR).await);
    let extended = store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        list_updates::extend(tx, "un", second, HOUR).await
    });
    assert!(!extended.unwrap());
}

pub(crate) async fn attempts_and_rollbacks_are_recorded(bench: Bench) {
    let bench = &bench;
    assert_eq!(
        get(bench).await,
        ListUpdate {
            list: "un".into(),
            ..ListUpdate::default()
        }
    );
    let offered = Offered {
        digest: [1; 32],
        file_digest: [2; 32],
        address_digest: Some([3; 32]),
        etag: Some("\"v1\"".into()),
        last_modified: None,
    };
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        list_updates::record_failure(tx, "un", "no route").await?;
        list_updates::record_rollback(tx, "un", &[4; 32], "2026-02-27").await
    })
    .unwrap();
    let failed = get(bench).await;
    assert_eq!(failed.error.as_deref(), Some("no route"));
    assert_eq!(failed.rolled_back, Some(([4; 32], "2026-02-27".to_owned())));
    assert!(failed.attempted_at.is_some() && failed.succeeded_at.is_none() && failed.offered.is_none());
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        list_updates::record_success(tx, "un", Some(&offered)).await?;
        list_updates::record_success(tx, "un", None).await?;
        list_updates::record_confirmation(tx, "un", &[5; 32]).await?;
        list_updates::clear_rollback(tx, "un").await
    })
    .unwrap();
    let found = get(bench).await;
    assert_eq!(
        (found.error, found.offered, found.rolled_back),
        (None, Some(offered), None)
    );
    assert_eq!(found.confirmed.map(|(_, digest)| digest), Some([5; 32]));
    let all = list_updates::list(&mut bench.db.read().await.unwrap())
        .await
        .unwrap();
    assert_eq!(all.len(), 1);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        list_updates::record_import(tx, "un", true).await
    })
    .unwrap();
    assert_eq!(get(bench).await.is_open_sanctions, Some(true));
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        list_updates::record_removal(tx, "un").await
    })
    .unwrap();
    let removed = get(bench).await;
    assert!(removed.attempted_at.is_none() && removed.removed_at.is_some());
    // No server brings a removed list back; an import does.
    assert!(!begin(bench, Uuid::new_v4(), HOUR, HOUR).await);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        list_updates::record_import(tx, "un", false).await
    })
    .unwrap();
    assert!(begin(bench, Uuid::new_v4(), HOUR, HOUR).await);
}
