//! The key check value. A process with another key may write nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use store::audit::{AuditCheck, Entry};
use store::installation::{self, KeyringCheck};
use store::list_sets::{self, ListVersion};
use store::merchants::{self, MerchantStatus};
use store::nodes::{self, Node};
use store::{Db, Error, Keyring, operator_audit};
use uuid::Uuid;

use crate::bench::{Bench, options};

async fn with_key(bench: &Bench, keyring: Keyring) -> Db {
    Db::connect(&bench.url, Arc::new(keyring), &options())
        .await
        .unwrap()
}

async fn confirm(db: &Db) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> { installation::confirm(tx).await })
}

const ENTRY: Entry<'static> = Entry {
    actor: "command line",
    action: "lists.imported",
    subject: "un",
    detail: "{}",
};

async fn write_operators(db: &Db) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        operator_audit::write(tx, &ENTRY).await
    })
}

pub(crate) async fn a_stranger_writes_nothing(bench: Bench) {
    assert!(!installation::exists(&bench.db).await.unwrap());
    bench.merchant().await;
    write_operators(&bench.db).await.unwrap();
    assert!(installation::exists(&bench.db).await.unwrap());
    let stranger = with_key(&bench, Keyring::generate()).await;
    let refused =
        |outcome: Result<(), Error>| assert!(matches!(outcome, Err(Error::ForeignKey)), "{outcome:?}");
    refused(confirm(&stranger).await);
    refused(write_operators(&stranger).await);
    refused(store::transaction!(stranger, |tx| -> Result<(), Error> {
        merchants::create(tx, "Other", MerchantStatus::Approved, "{}")
            .await
            .map(|_| ())
    }));
    refused(store::transaction!(stranger, |tx| -> Result<(), Error> {
        list_sets::for_update(tx).await.map(|_| ())
    }));
    let node = Node {
        id: Uuid::now_v7(),
        name: "stranger".into(),
        version: "0".into(),
        report: "{}".into(),
        key_fingerprint: stranger.key_fingerprint(),
        started_at: 0,
        seen_at: 0,
    };
    refused(store::transaction!(stranger, |tx| -> Result<(), Error> {
        nodes::report(tx, &node).await
    }));
    for (table, rows) in [
        ("merchants", 1),
        ("operator_audit", 1),
        ("nodes", 0),
        ("list_sets", 0),
    ] {
        assert_eq!(
            bench.count(&format!("select count(*) from {table}")).await,
            rows,
            "{table}"
        );
    }
    write_operators(&bench.db).await.unwrap();
    let check = operator_audit::verify(&mut bench.read().await).await.unwrap();
    assert_eq!(check, AuditCheck::Intact { rows: 2 });
}

pub(crate) async fn an_old_installation_is_recorded_by_its_key_alone(bench: Bench) {
    bench.merchant().await;
    bench.sql("delete from installation").await;
    let stranger = with_key(&bench, Keyring::generate()).await;
    assert!(matches!(confirm(&stranger).await, Err(Error::ForeignKey)));
    assert_eq!(bench.count("select count(*) from installation").await, 0);
    let standing = installation::verify(&mut bench.read().await).await.unwrap();
    assert_eq!(standing, KeyringCheck::Unrecorded);
    confirm(&bench.db).await.unwrap();
    let standing = installation::verify(&mut bench.read().await).await.unwrap();
    assert_eq!(standing, KeyringCheck::Proven);
    // Only the oldest account is checked, not one that a wrong key created later.
    assert_eq!(
        installation::unopened_accounts(&mut bench.read().await)
            .await
            .unwrap(),
        (0, 1)
    );
}

pub(crate) async fn of_keys_at_once_one_is_recorded(bench: Bench) {
    let strangers = [
        with_key(&bench, Keyring::generate()).await,
        with_key(&bench, Keyring::generate()).await,
        with_key(&bench, Keyring::generate()).await,
    ];
    let confirmed = futures_util::future::join_all(strangers.iter().map(confirm)).await;
    assert_eq!(
        confirmed.iter().filter(|outcome| outcome.is_ok()).count(),
        1,
        "{confirmed:?}"
    );
    assert_eq!(bench.count("select count(*) from installation").await, 1);
}

pub(crate) async fn a_broken_off_rewrap_changes_nothing(bench: Bench) {
    bench.merchant().await;
    let path = bench.folder.path().join("keyring.json");
    let old = Keyring::open(&path).unwrap();
    let rotated = with_key(&bench, Keyring::rotate(&path).unwrap()).await;
    confirm(&rotated).await.unwrap();
    let rewrap = async |finish: bool| {
        store::transaction!(rotated, |tx| -> Result<(), Error> {
            installation::rewrap_check(tx).await?;
            merchants::rewrap_keys(tx).await?;
            if finish { Ok(()) } else { Err(Error::Conflict) }
        })
    };
    rewrap(false).await.unwrap_err();
    confirm(&bench.db).await.unwrap();
    rewrap(true).await.unwrap();
    confirm(&rotated).await.unwrap();
    let old = with_key(&bench, old).await;
    assert!(matches!(confirm(&old).await, Err(Error::OutdatedKey)));
}

pub(crate) async fn a_changed_list_set_is_not_believed(bench: Bench) {
    let list = |version: &str, byte: u8| ListVersion {
        needs_choice: byte > 1,
        version: version.into(),
        digest: [byte; 32],
        entities: 7,
    };
    let lists = BTreeMap::from([("ofac".to_owned(), list("1", 1)), ("un".to_owned(), list("2", 2))]);
    let replace = async |lists: &BTreeMap<String, ListVersion>| {
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            list_sets::for_update(tx).await?;
            list_sets::replace(tx, lists).await.map(|_| ())
        })
        .unwrap();
    };
    let current = async || list_sets::current(&mut bench.read().await).await;
    assert_eq!(current().await.unwrap(), None);
    replace(&BTreeMap::new()).await;
    let empty = current().await.unwrap().unwrap();
    assert_eq!((empty.revision, empty.lists.len()), (1, 0));
    replace(&lists).await;
    let set = current().await.unwrap().unwrap();
    assert_eq!((set.revision, &set.lists), (2, &lists));
    for changed in [
        "delete from list_set_members where name = 'un'",
        "delete from list_set_members",
        "insert into list_set_members select 'eu', version, digest, entities, needs_choice from list_set_members where name = 'un'",
        "update list_set_members set digest = substr(digest, 1, 31)",
        "update list_set_members set digest = (select digest from list_set_members where name = 'ofac')",
        "update list_set_members set version = version || '0'",
        "update list_set_members set entities = entities + 1",
        "update list_set_members set needs_choice = not needs_choice where name = 'un'",
        "update list_sets set revision = revision + 1",
        "update list_sets set mac = substr(mac, 1, 5)",
        "delete from list_sets",
    ] {
        bench.sql(changed).await;
        let read = current().await;
        assert!(
            matches!(read, Err(Error::Unreadable("list set"))),
            "{changed}: {read:?}"
        );
        bench.sql("delete from list_sets").await;
        bench.sql("delete from list_set_members").await;
        replace(&lists).await;
        current().await.unwrap();
    }
}
