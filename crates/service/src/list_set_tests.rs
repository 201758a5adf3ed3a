//! Changes of the list set that were checked against an earlier state.

use std::time::Duration;

use sanctions::freshness::MaxAge;
use sanctions::{List, demo_list};
use store::{Keyring, Options};

use super::*;

/// A new installation on SQLite, and a node's folder of lists.
async fn installation(folder: &std::path::Path) -> (Db, ListStore) {
    let (keyring, _) = Keyring::open_or_create(&folder.join("keyring.json")).unwrap();
    let options = Options {
        max_connections: 4,
        acquire_timeout: Duration::from_mins(1),
        busy_timeout: Duration::from_mins(1),
    };
    let url = format!("sqlite:{}/test.db", folder.display());
    let db = Db::connect(&url, std::sync::Arc::new(keyring), &options)
        .await
        .unwrap();
    db.migrate_if_empty().await.unwrap();
    (
        db,
        ListStore::open(&folder.join("lists"), MaxAge::default()).unwrap(),
    )
}

fn version(version: &str) -> List {
    let mut list = demo_list();
    list.entities[0].aliases.push(format!("Alias of {version}"));
    list.version = version.to_owned();
    list
}

async fn import(
    db: &Db,
    store: &ListStore,
    list: &List,
    checked: Option<&CheckedSet>,
) -> Result<(), ListSetError> {
    let read = CheckedSet::read(db).await.unwrap();
    store.activate(list).unwrap();
    let format = (list.name.as_str(), ListFormat::FollowTheMoney);
    publish(db, store, format, checked.unwrap_or(&read), "test", true).await
}

async fn in_use(db: &Db) -> Option<String> {
    let set = list_sets::current(&mut db.read().await.unwrap()).await.unwrap()?;
    set.lists.get(&demo_list().name).map(|list| list.version.clone())
}

#[tokio::test]
async fn a_change_of_a_list_that_changed_meanwhile_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (db, store) = installation(folder.path()).await;
    let name = demo_list().name;
    let [one, two, three] = ["2026-01-01", "2026-01-02", "2026-01-03"].map(version);
    let is_refused = |outcome| matches!(outcome, Err(ListSetError::ChangedMeanwhile(list)) if list == name);
    let at_nothing = CheckedSet::read(&db).await.unwrap();
    import(&db, &store, &one, None).await.unwrap();
    assert!(is_refused(import(&db, &store, &two, Some(&at_nothing)).await));
    assert_eq!(in_use(&db).await.as_deref(), Some("2026-01-01"));

    // Another node publishes a newer version while this one imports an older one.
    let at_one = CheckedSet::read(&db).await.unwrap();
    import(&db, &store, &three, None).await.unwrap();
    assert!(is_refused(import(&db, &store, &two, Some(&at_one)).await));
    assert_eq!(in_use(&db).await.as_deref(), Some("2026-01-03"));

    // It returns to the first version: an import of the second one, checked before, must not undo that.
    let at_three = CheckedSet::read(&db).await.unwrap();
    store.activate(&one).unwrap();
    assert!(is_refused(roll_back(&db, &store, &name, &at_one, "test").await));
    roll_back(&db, &store, &name, &at_three, "test").await.unwrap();
    assert!(is_refused(import(&db, &store, &three, Some(&at_one)).await));
    assert_eq!(in_use(&db).await.as_deref(), Some("2026-01-01"));
    let state = list_updates::get(&mut db.read().await.unwrap(), &name)
        .await
        .unwrap();
    assert!(state.rolled_back.is_some());

    // A list that was removed meanwhile stays removed, also for the servers' schedule.
    let before = CheckedSet::read(&db).await.unwrap();
    assert!(remove(&db, &name, "test", true).await.unwrap());
    assert!(is_refused(import(&db, &store, &two, Some(&before)).await));
    assert_eq!(in_use(&db).await, None);
    let state = list_updates::get(&mut db.read().await.unwrap(), &name)
        .await
        .unwrap();
    assert!(state.removed_at.is_some());
    import(&db, &store, &two, None).await.unwrap();
    assert_eq!(in_use(&db).await.as_deref(), Some("2026-01-02"));

    // What a publisher offers is confirmed only while it is in use.
    let offered = |digest| Offered {
        digest,
        file_digest: [1; 32],
        address_digest: None,
        etag: None,
        last_modified: None,
    };
    assert!(is_refused(confirm(&db, &name, &offered([9; 32])).await));
    let set = list_sets::current(&mut db.read().await.unwrap())
        .await
        .unwrap()
        .unwrap();
    confirm(&db, &name, &offered(set.lists[&name].digest))
        .await
        .unwrap();
}
