//! Groups and Flows.

use std::time::Duration;

use reference::status::GroupStatus;
use store::flows::{self, Flow, FlowContent};
use store::groups::{self, Group, GroupChanges, NewGroup};
use store::{Error, Scope};
use uuid::Uuid;

use crate::bench::{Bench, START};

pub(crate) fn content(name: &str) -> FlowContent {
    FlowContent {
        name: name.into(),
        default_fields: "{\"dob\":true}".into(),
        default_document_types: "[\"PASSPORT\"]".into(),
        country_overrides: "[]".into(),
        geo_blocked_countries: "[]".into(),
        webhook_url: Some("https://example.com/hook".into()),
        min_age: Some(18),
        max_age: None,
        settings: "{\"threshold\":80}".into(),
    }
}

fn new_group(name: &str, flow_ids: &[Uuid]) -> NewGroup {
    NewGroup {
        name: name.into(),
        description: None,
        status: GroupStatus::Active,
        flow_ids: flow_ids.to_vec(),
    }
}

pub(crate) async fn flow(bench: &Bench, scope: Scope, name: &str) -> Result<Flow, Error> {
    store::transaction!(bench.db, |tx| -> Result<Flow, Error> {
        flows::create(tx, scope, &content(name), None).await
    })
}

async fn group(bench: &Bench, scope: Scope, name: &str, flow_ids: &[Uuid]) -> Result<Group, Error> {
    store::transaction!(bench.db, |tx| -> Result<Group, Error> {
        groups::create(tx, scope, &new_group(name, flow_ids), None).await
    })
}

async fn change(bench: &Bench, scope: Scope, id: Uuid, changes: &GroupChanges) -> Option<Group> {
    store::transaction!(bench.db, |tx| -> Result<Option<Group>, Error> {
        groups::update(tx, scope, id, changes).await
    })
    .unwrap()
}

pub(crate) async fn groups_and_flows_are_listed_newest_first(bench: Bench) {
    let scope = bench.scope().await;
    let a = flow(&bench, scope, "a").await.unwrap();
    let b = flow(&bench, scope, "b").await.unwrap();
    bench.pass(Duration::from_millis(1));
    let c = flow(&bench, scope, "c").await.unwrap();
    assert_eq!((a.created_at, c.created_at), (START, START + 1));
    assert_eq!(FlowContent::from(a.clone()), content("a"));
    let g = group(&bench, scope, "g", &[c.id, a.id]).await.unwrap();
    let h = group(&bench, scope, "h", &[]).await.unwrap();
    let names: Vec<&str> = g.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["c", "a"], "in the order given");
    let mut conn = bench.read().await;
    assert_eq!(flows::list(&mut conn, scope).await.unwrap(), [c, b, a.clone()]);
    assert_eq!(flows::get(&mut conn, scope, a.id).await.unwrap(), Some(a));
    assert_eq!(
        groups::get(&mut conn, scope, g.id).await.unwrap().as_ref(),
        Some(&g)
    );
    assert_eq!(groups::list(&mut conn, scope).await.unwrap(), [h, g]);
}

pub(crate) async fn names_are_unique_per_account_and_mode(bench: Bench) {
    let scope = bench.scope().await;
    let live = Scope {
        sandbox: false,
        ..scope
    };
    let other = bench.scope().await;
    for scope in [scope, live, other] {
        flow(&bench, scope, "same").await.unwrap();
        group(&bench, scope, "same", &[]).await.unwrap();
        flow(&bench, scope, "SAME").await.unwrap();
        group(&bench, scope, "SAME", &[]).await.unwrap();
    }
    assert!(matches!(flow(&bench, scope, "same").await, Err(Error::Conflict)));
    assert!(matches!(
        group(&bench, scope, "same", &[]).await,
        Err(Error::Conflict)
    ));
    let second = flow(&bench, scope, "second").await.unwrap();
    let renamed = store::transaction!(bench.db, |tx| -> Result<Option<Flow>, Error> {
        flows::update(tx, scope, second.id, &content("same")).await
    });
    assert!(matches!(renamed, Err(Error::Conflict)));
    let kept = store::transaction!(bench.db, |tx| -> Result<Option<Flow>, Error> {
        flows::update(tx, scope, second.id, &content("second")).await
    });
    assert!(kept.unwrap().is_some(), "its own name is no conflict");
}

pub(crate) async fn foreign_and_repeated_flows_are_ignored(bench: Bench) {
    let (scope, other) = (bench.scope().await, bench.scope().await);
    let own = flow(&bench, scope, "own").await.unwrap().id;
    let live = flow(
        &bench,
        Scope {
            sandbox: false,
            ..scope
        },
        "live",
    )
    .await
    .unwrap()
    .id;
    let foreign = flow(&bench, other, "foreign").await.unwrap().id;
    let mixed = [foreign, own, Uuid::nil(), own, live, own];
    let mixed = group(&bench, scope, "mixed", &mixed).await.unwrap();
    assert_eq!(mixed.flows.iter().map(|flow| flow.id).collect::<Vec<_>>(), [own]);
    let none = group(&bench, scope, "none", &[foreign, live]).await.unwrap();
    assert!(none.flows.is_empty());
    let changes = GroupChanges {
        flow_ids: Some(vec![live, own, foreign]),
        ..GroupChanges::default()
    };
    let changed = change(&bench, scope, none.id, &changes).await.unwrap();
    assert_eq!(changed.flows.len(), 1);
}

pub(crate) async fn a_deleted_flow_leaves_every_group(bench: Bench) {
    let scope = bench.scope().await;
    let (a, b) = (
        flow(&bench, scope, "a").await.unwrap().id,
        flow(&bench, scope, "b").await.unwrap().id,
    );
    let both = group(&bench, scope, "both", &[a, b]).await.unwrap();
    let only_b = group(&bench, scope, "only b", &[b]).await.unwrap();
    bench.pass(Duration::from_secs(1));
    let mut tx = bench.db.begin().await.unwrap();
    assert!(flows::delete(&mut tx, scope, a).await.unwrap());
    assert!(!flows::delete(&mut tx, scope, a).await.unwrap());
    tx.commit().await.unwrap();
    let mut conn = bench.read().await;
    let both = groups::get(&mut conn, scope, both.id).await.unwrap().unwrap();
    assert_eq!(both.flows.iter().map(|flow| flow.id).collect::<Vec<_>>(), [b]);
    assert_eq!(both.updated_at, START + 1000);
    assert_eq!(
        groups::get(&mut conn, scope, only_b.id).await.unwrap(),
        Some(only_b.clone())
    );
    let mut tx = bench.db.begin().await.unwrap();
    assert!(groups::delete(&mut tx, scope, only_b.id).await.unwrap());
    assert!(!groups::delete(&mut tx, scope, only_b.id).await.unwrap());
    tx.commit().await.unwrap();
    assert!(
        flows::get(&mut conn, scope, b).await.unwrap().is_some(),
        "the Flows remain"
    );
}

pub(crate) async fn a_group_changes_only_what_is_sent(bench: Bench) {
    let scope = bench.scope().await;
    let a = flow(&bench, scope, "a").await.unwrap().id;
    let made = group(&bench, scope, "g", &[a]).await.unwrap();
    bench.pass(Duration::from_secs(1));
    let same = change(&bench, scope, made.id, &GroupChanges::default())
        .await
        .unwrap();
    assert_eq!(same, made, "nothing sent, nothing changed");
    let changes = GroupChanges {
        description: Some(Some("words".into())),
        ..GroupChanges::default()
    };
    let described = change(&bench, scope, made.id, &changes).await.unwrap();
    assert_eq!(
        described,
        Group {
            description: Some("words".into()),
            updated_at: START + 1000,
            ..made.clone()
        }
    );
    let changes = GroupChanges {
        name: Some("new".into()),
        description: Some(None),
        status: Some(GroupStatus::Inactive),
        flow_ids: Some(Vec::new()),
    };
    let changed = change(&bench, scope, made.id, &changes).await.unwrap();
    let expected = Group {
        name: "new".into(),
        status: GroupStatus::Inactive,
        flows: Vec::new(),
        updated_at: START + 1000,
        ..made.clone()
    };
    assert_eq!(changed, expected);
    assert_eq!(change(&bench, scope, Uuid::new_v4(), &changes).await, None);
    let foreign = bench.scope().await;
    assert_eq!(change(&bench, foreign, made.id, &changes).await, None);
}

pub(crate) async fn plan_limits_hold_under_concurrency(bench: Bench) {
    let scope = bench.scope().await;
    let tasks: Vec<_> = (0..20)
        .map(|n| {
            let db = bench.db.clone();
            tokio::spawn(async move {
                let group = store::transaction!(db, |tx| -> Result<Group, Error> {
                    groups::create(tx, scope, &new_group(&format!("group {n}"), &[]), Some(3)).await
                });
                let flow = store::transaction!(db, |tx| -> Result<Flow, Error> {
                    flows::create(tx, scope, &content(&format!("flow {n}")), Some(5)).await
                });
                for result in [group.map(drop), flow.map(drop)] {
                    assert!(matches!(result, Ok(()) | Err(Error::LimitReached)), "{result:?}");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let mut conn = bench.read().await;
    assert_eq!(groups::list(&mut conn, scope).await.unwrap().len(), 3);
    assert_eq!(flows::list(&mut conn, scope).await.unwrap().len(), 5);
}

pub(crate) async fn nothing_crosses_accounts_or_modes(bench: Bench) {
    let scope = bench.scope().await;
    let made_flow = flow(&bench, scope, "f").await.unwrap();
    let made_group = group(&bench, scope, "g", &[made_flow.id]).await.unwrap();
    for elsewhere in [
        Scope {
            sandbox: false,
            ..scope
        },
        bench.scope().await,
    ] {
        let mut conn = bench.read().await;
        assert!(flows::list(&mut conn, elsewhere).await.unwrap().is_empty());
        assert!(groups::list(&mut conn, elsewhere).await.unwrap().is_empty());
        assert_eq!(
            flows::get(&mut conn, elsewhere, made_flow.id).await.unwrap(),
            None
        );
        assert_eq!(
            groups::get(&mut conn, elsewhere, made_group.id).await.unwrap(),
            None
        );
        let mut tx = bench.db.begin().await.unwrap();
        let updated = flows::update(&mut tx, elsewhere, made_flow.id, &content("x"))
            .await
            .unwrap();
        assert_eq!(updated, None);
        assert!(
            flows::get_for_update(&mut tx, elsewhere, made_flow.id)
                .await
                .unwrap()
                .is_none()
        );
        assert!(!flows::delete(&mut tx, elsewhere, made_flow.id).await.unwrap());
        assert!(!groups::delete(&mut tx, elsewhere, made_group.id).await.unwrap());
        tx.commit().await.unwrap();
    }
    let mut conn = bench.read().await;
    assert_eq!(groups::list(&mut conn, scope).await.unwrap(), [made_group]);
    assert_eq!(flows::list(&mut conn, scope).await.unwrap(), [made_flow]);
}
