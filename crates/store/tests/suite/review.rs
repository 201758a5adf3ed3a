//! The review queue: claims, notes, reason templates and saved views.

use std::time::Duration;

use reference::status::{AttemptStatus, Decision};
use store::attempts::{self, Attempt, NewAttempt};
use store::reason_templates;
use store::review::{self, Claim, Filter, QueueOrder, QueuePosition};
use store::saved_views::{self, SavedView};
use store::{Conn, DataKey, Error, Scope, people};
use uuid::Uuid;

use crate::bench::{Bench, START};

const MINUTE: i64 = 60_000;

/// Pending attempts: (priority, codes, document type, country).
type New = (i64, &'static str, &'static str, Option<&'static str>);

pub(crate) async fn log(
    bench: &Bench,
    scope: Scope,
    flow_id: Uuid,
    (priority, codes, document, country): New,
) -> i64 {
    let key = DataKey::generate();
    store::transaction!(bench.db, |tx| -> Result<i64, Error> {
        let person = people::create(tx, scope, true).await?;
        let new = NewAttempt {
            id: Uuid::new_v4(),
            key: &key,
            facemap_id: person.facemap_id,
            registration_id: None,
            grouping_id: None,
            external_user_id: "ada@example.com",
            session_id: None,
            flow_id,
            flow_name: "Flow",
            status: AttemptStatus::Pending,
            success: false,
            codes,
            document_types: document,
            request: "{}",
            response: "{}",
            detail: "{}",
            names: r#"{"names":[],"identified":false}"#,
            country,
            priority,
            took_ms: 12,
        };
        attempts::insert(tx, scope, &new).await
    })
    .unwrap()
}

/// Two members of staff, inserted directly into the database.
pub(crate) async fn staff(bench: &Bench) -> [Uuid; 2] {
    let ids = [Uuid::from_u128(0xA), Uuid::from_u128(0xB)];
    for id in ids {
        let (uuid, bytes) = if bench.db.is_postgres() {
            (format!("'{id}'"), format!("'\\x{}'", id.simple()))
        } else {
            (format!("x'{}'", id.simple()), format!("x'{}'", id.simple()))
        };
        let sql = format!(
            "insert into staff (id, email_ref, wrapped_key, email_sealed, name_sealed, password_hash, recovery,
                 operator, created_at) values ({uuid}, {bytes}, {bytes}, {bytes}, {bytes}, '', '[]', {}, 0)",
            if bench.db.is_postgres() { "false" } else { "0" }
        );
        bench.sql(&sql).await;
    }
    ids
}

async fn numbers(conn: &mut Conn, scope: Scope, filter: &Filter, order: QueueOrder) -> Vec<i64> {
    let page = review::queue(conn, scope, filter, order, QueuePosition::default(), 50)
        .await
        .unwrap();
    page.into_iter().map(|waiting| waiting.log_id).collect()
}

pub(crate) async fn attempt(bench: &Bench, scope: Scope, log_id: i64) -> Attempt {
    attempts::get(&mut bench.read().await, scope, log_id)
        .await
        .unwrap()
        .unwrap()
}

pub(crate) async fn the_queue_is_filtered_and_paged(bench: Bench) {
    let scope = bench.scope().await;
    let [ada, bob] = staff(&bench).await;
    let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let rows: [(Uuid, New); 5] = [
        (one, (4, "[]", "[\"PASSPORT\"]", Some("UTO"))),
        (one, (1, "[2702]", "[\"ID_CARD\"]", Some("DEU"))),
        (other, (3, "[2202]", "[\"PASSPORT\"]", None)),
        (one, (1, "[2202,2702]", "[\"PASSPORT\",\"ID_CARD\"]", Some("UTO"))),
        (one, (2, "[]", "[]", None)),
    ];
    for (flow_id, new) in rows {
        log(&bench, scope, flow_id, new).await;
        bench.pass(Duration::from_secs(60));
    }
    let mut conn = bench.read().await;
    let all = Filter::default();
    assert_eq!(
        numbers(&mut conn, scope, &all, QueueOrder::Priority).await,
        [2, 4, 5, 3, 1]
    );
    assert_eq!(
        numbers(&mut conn, scope, &all, QueueOrder::Oldest).await,
        [1, 2, 3, 4, 5]
    );
    let mut filtered = async |filter: Filter| numbers(&mut conn, scope, &filter, QueueOrder::Oldest).await;
    let none = Filter::default;
    assert_eq!(
        filtered(Filter {
            flow_id: Some(other),
            ..none()
        })
        .await,
        [3]
    );
    assert_eq!(
        filtered(Filter {
            code: Some(2702),
            ..none()
        })
        .await,
        [2, 4]
    );
    assert_eq!(
        filtered(Filter {
            document_type: Some("PASSPORT".into()),
            ..none()
        })
        .await,
        [1, 3, 4]
    );
    assert_eq!(
        filtered(Filter {
            country: Some("UTO".into()),
            ..none()
        })
        .await,
        [1, 4]
    );
    assert_eq!(
        filtered(Filter {
            created_until: Some(START + MINUTE),
            ..none()
        })
        .await,
        [1, 2]
    );

    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        assert!(review::claim(tx, scope, 2, ada, tx.now() + 10 * MINUTE).await?);
        assert!(review::claim(tx, scope, 3, bob, tx.now() + 10 * MINUTE).await?);
        Ok(())
    })
    .unwrap();
    let four = attempt(&bench, scope, 4).await;
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        review::propose(
            tx,
            scope,
            &four,
            Decision::Approve,
            (Some(bob), None),
            Some("fits"),
        )
        .await
    })
    .unwrap();
    drop(conn);
    let mut conn = bench.read().await;
    let mut filtered = async |filter: Filter| numbers(&mut conn, scope, &filter, QueueOrder::Priority).await;
    assert_eq!(
        filtered(Filter {
            claimed_by: Some(ada),
            ..none()
        })
        .await,
        [2]
    );
    assert_eq!(
        filtered(Filter {
            unclaimed: true,
            ..none()
        })
        .await,
        [4, 5, 1]
    );
    assert_eq!(
        filtered(Filter {
            proposed: true,
            ..none()
        })
        .await,
        [4]
    );
    for (proposer, left) in [(bob, &[2, 5, 3, 1][..]), (ada, &[2, 4, 5, 3, 1])] {
        let others = Filter {
            not_proposed_by: Some(proposer),
            ..none()
        };
        assert_eq!(
            review::count(&mut conn, scope, &others, 100).await.unwrap(),
            left.len() as i64
        );
        assert_eq!(
            numbers(&mut conn, scope, &others, QueueOrder::Priority).await,
            left
        );
    }

    // Consecutive pages have no gap and no repetition.
    let mut after = QueuePosition::default();
    let mut seen = Vec::new();
    loop {
        let page = review::queue(&mut conn, scope, &all, QueueOrder::Priority, after, 2)
            .await
            .unwrap();
        let Some(last) = page.last() else { break };
        after = QueuePosition {
            priority: last.priority,
            log_id: last.log_id,
        };
        seen.extend(page.iter().map(|waiting| waiting.log_id));
    }
    assert_eq!(seen, [2, 4, 5, 3, 1]);

    let page = review::queue(
        &mut conn,
        scope,
        &all,
        QueueOrder::Priority,
        QueuePosition::default(),
        1,
    )
    .await
    .unwrap();
    let first = &page[0];
    assert_eq!(
        (
            first.external_user_id.as_str(),
            first.country.as_deref(),
            first.claim.map(|c| c.staff_id)
        ),
        ("ada@example.com", Some("DEU"), Some(ada))
    );
    assert_eq!(review::count(&mut conn, scope, &all, 100).await.unwrap(), 5);
    assert_eq!(review::count(&mut conn, scope, &all, 3).await.unwrap(), 3);
    assert_eq!(review::count_pending(&mut conn, scope, 4).await.unwrap(), 4);
    for elsewhere in [
        bench.scope().await,
        Scope {
            sandbox: false,
            ..scope
        },
    ] {
        assert!(
            numbers(&mut conn, elsewhere, &all, QueueOrder::Priority)
                .await
                .is_empty()
        );
        assert_eq!(review::count_pending(&mut conn, elsewhere, 4).await.unwrap(), 0);
    }
}

pub(crate) async fn a_claim_is_one_persons(bench: Bench) {
    let scope = bench.scope().await;
    let [ada, bob] = staff(&bench).await;
    let log_id = log(&bench, scope, Uuid::nil(), (4, "[]", "[]", None)).await;
    // Of twenty simultaneous claims, one succeeds.
    let tries: Vec<_> = (0..20)
        .map(|n| {
            let db = bench.db.clone();
            let who = if n % 2 == 0 { ada } else { bob };
            tokio::spawn(async move {
                let won = store::transaction!(db, |tx| -> Result<bool, Error> {
                    review::claim(tx, scope, log_id, who, tx.now() + 10 * MINUTE).await
                });
                (who, won.unwrap())
            })
        })
        .collect();
    let mut winners = Vec::new();
    for one in tries {
        let (who, won) = one.await.unwrap();
        if won {
            winners.push(who);
        }
    }
    winners.sort();
    winners.dedup();
    assert_eq!(winners.len(), 1, "one winner, who may prolong the claim");
    let winner = winners[0];
    let loser = if winner == ada { bob } else { ada };
    let held = review::claim_of(&mut bench.read().await, scope, log_id)
        .await
        .unwrap();
    let until = START + 10 * MINUTE;
    assert_eq!(
        held,
        Some(Claim {
            staff_id: winner,
            until
        })
    );

    bench.pass(Duration::from_secs(600));
    assert_eq!(
        review::claim_of(&mut bench.read().await, scope, log_id)
            .await
            .unwrap(),
        None,
        "it ends by itself"
    );
    let claim = async |who: Uuid| {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            review::claim(tx, scope, log_id, who, tx.now() + 10 * MINUTE).await
        })
        .unwrap()
    };
    assert!(claim(loser).await);
    assert!(!claim(winner).await);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        review::release(tx, scope, log_id, Some(winner)).await
    })
    .unwrap();
    assert!(!claim(winner).await, "nobody ends another's claim by accident");
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        review::take_over(tx, scope, log_id, winner, tx.now() + 10 * MINUTE).await
    })
    .unwrap();
    assert!(!claim(loser).await);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        review::release(tx, scope, log_id, Some(winner)).await
    })
    .unwrap();
    assert!(claim(loser).await);
}

pub(crate) async fn notes_and_proposals_are_sealed(bench: Bench) {
    let scope = bench.scope().await;
    let [ada, bob] = staff(&bench).await;
    let log_id = log(&bench, scope, Uuid::nil(), (4, "[]", "[]", None)).await;
    let logged = attempt(&bench, scope, log_id).await;
    assert_eq!((logged.priority, logged.took_ms), (4, Some(12)));
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        review::add_note(tx, scope, &logged, ada, "called him").await?;
        review::propose(
            tx,
            scope,
            &logged,
            Decision::Decline,
            (Some(bob), None),
            Some("not his document"),
        )
        .await
    })
    .unwrap();
    let again = store::transaction!(bench.db, |tx| -> Result<(), Error> {
        review::propose(tx, scope, &logged, Decision::Approve, (Some(ada), None), None).await
    });
    assert!(matches!(again, Err(Error::Conflict)));
    let mut conn = bench.read().await;
    let notes = review::notes(&mut conn, scope, &logged).await.unwrap();
    assert_eq!((notes[0].text.as_str(), notes[0].staff_id), ("called him", ada));
    let proposal = review::proposal(&mut conn, scope, &logged)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (proposal.decision, proposal.reason.as_deref()),
        (Decision::Decline, Some("not his document"))
    );
    drop(conn);
    let dropped = async || {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            review::drop_proposal(tx, scope, log_id).await
        })
        .unwrap()
    };
    assert!(dropped().await);
    assert!(!dropped().await);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        attempts::delete(tx, scope, log_id).await.map(|_| ())
    })
    .unwrap();
    assert_eq!(bench.count("select count(*) from review_notes").await, 0);
}

pub(crate) async fn people_are_found_by_several_words(bench: Bench) {
    let scope = bench.scope().await;
    let named = async |words: &[&str]| {
        store::transaction!(bench.db, |tx| -> Result<Uuid, Error> {
            let person = people::create(tx, scope, true).await?;
            people::index_name(tx, scope, person.facemap_id, words.iter().copied()).await?;
            Ok(person.facemap_id)
        })
        .unwrap()
    };
    let ada = named(&["ada", "king", "lovelace"]).await;
    let augusta = named(&["augusta", "ada", "byron"]).await;
    for _ in 0..5 {
        named(&["anna", "king"]).await;
    }
    let mut conn = bench.read().await;
    let mut find = async |words: &[&str], at_most, limit| {
        people::find_by_name_words(&mut conn, scope, words, at_most, limit)
            .await
            .unwrap()
    };
    let mut both = vec![ada, augusta];
    both.sort();
    assert_eq!(find(&["ada"], 100, 10).await, (both, true));
    assert_eq!(find(&["king", "ada"], 100, 10).await, (vec![ada], true));
    assert_eq!(
        find(&["lovelace", "ada", "king"], 100, 10).await,
        (vec![ada], true)
    );
    assert_eq!(find(&["ada", "nobody"], 100, 10).await, (vec![], true));
    assert_eq!(find(&[], 100, 10).await, (vec![], true));
    assert!(!find(&["king"], 3, 10).await.1, "some were not looked at");
    assert!(!find(&["king"], 100, 2).await.1, "there are more");
}

pub(crate) async fn reviewers_keep_views_and_reasons(bench: Bench) {
    let merchant_id = bench.merchant().await.id;
    let [ada, bob] = staff(&bench).await;
    let view = |name: &str, query: &str| SavedView {
        name: name.into(),
        query: query.into(),
    };
    let put = async |staff_id: Uuid, view: SavedView| {
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            saved_views::put(tx, merchant_id, staff_id, &view, 2).await
        })
    };
    put(ada, view("mine", "code=2702")).await.unwrap();
    put(ada, view("mine", "code=2202")).await.unwrap();
    put(ada, view("old", "age=60")).await.unwrap();
    assert!(matches!(
        put(ada, view("third", "")).await,
        Err(Error::LimitReached)
    ));
    let mut conn = bench.read().await;
    assert_eq!(
        saved_views::list(&mut conn, merchant_id, ada).await.unwrap(),
        [view("mine", "code=2202"), view("old", "age=60")]
    );
    assert!(
        saved_views::list(&mut conn, merchant_id, bob)
            .await
            .unwrap()
            .is_empty()
    );
    drop(conn);
    let id = store::transaction!(bench.db, |tx| -> Result<Uuid, Error> {
        saved_views::remove(tx, merchant_id, ada, "old").await?;
        reason_templates::add(tx, merchant_id, Decision::Decline, "The document is a copy.", 9).await
    })
    .unwrap();
    let other = bench.merchant().await.id;
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        assert!(
            !reason_templates::remove(tx, other, id).await?,
            "another account's"
        );
        Ok(())
    })
    .unwrap();
    let mut conn = bench.read().await;
    assert_eq!(
        saved_views::list(&mut conn, merchant_id, ada)
            .await
            .unwrap()
            .len(),
        1
    );
    let reasons = reason_templates::list(&mut conn, merchant_id).await.unwrap();
    assert_eq!((reasons[0].id, reasons[0].decision), (id, Decision::Decline));
    assert!(reason_templates::list(&mut conn, other).await.unwrap().is_empty());
}
