//! Histories written in bulk read like those that verifications wrote.

use reference::status::{self, AttemptStatus};
use store::attempts::{self, Decision};
use store::audit::{self, AuditCheck};
use store::bulk::{self, PastAttempt, PastPerson, PastSession};
use store::consents::Consent;
use store::sessions::{self, SessionStatus, Stage};
use store::{Error, faces, people, registrations};
use uuid::Uuid;

use crate::bench::{Bench, START};

const DAY: i64 = 24 * 60 * 60 * 1_000;

fn attempt(flow_id: Uuid, status: AttemptStatus, created_at: i64) -> PastAttempt {
    PastAttempt {
        id: Uuid::new_v4(),
        flow_id,
        flow_name: "Passport".into(),
        status,
        success: status == AttemptStatus::Approved,
        codes: "[2509]".into(),
        document_types: r#"["PASSPORT"]"#.into(),
        request: format!("request of {created_at}"),
        response: "response".into(),
        detail: "detail".into(),
        names: r#"{"names":[],"identified":false}"#.to_owned(),
        country: Some("UTO".into()),
        took_ms: Some(900),
        priority: 4,
        created_at,
        decision: None,
    }
}

fn person(number: i64) -> PastPerson {
    let (group, flow) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let created_at = START - 10 * DAY + number;
    let mut declined = attempt(flow, AttemptStatus::Declined, created_at + DAY);
    declined.decision = Some(Decision {
        decision: status::Decision::Decline,
        actor: "staff:1".into(),
        reason: Some("Not the same person".into()),
        at: created_at + 2 * DAY,
    });
    PastPerson {
        facemap_id: Uuid::new_v4(),
        face: Some(("test".into(), format!("face {number}").into_bytes())),
        proven: true,
        name_words: vec!["ada".into(), "ada".into(), format!("number{number}")],
        external_user_id: format!("applicant-{number}"),
        grouping_id: Some(group),
        status: Some(AttemptStatus::Declined),
        created_at,
        session: Some(PastSession {
            id: Uuid::new_v4(),
            flow_id: flow,
            group_id: group,
            status: SessionStatus::Failed,
            stage: Stage::Done,
            max_attempts: 3,
            created_at,
            expires_at: created_at + DAY,
            completed_at: Some(created_at + 2 * DAY),
            consent: Consent {
                version: "1".into(),
                language: "en".into(),
                accepted: true,
                at: created_at,
            },
            device: "phone".into(),
            events: vec![
                ("start".into(), "reached".into(), 0),
                ("selfie".into(), "reached".into(), 900),
            ],
        }),
        attempts: vec![attempt(flow, AttemptStatus::Failed, created_at), declined],
    }
}

/// More people than fit in one statement.
const PEOPLE: i64 = 1_500;

pub(crate) async fn histories_read_like_any_other(bench: Bench) {
    let scope = bench.scope().await;
    let account = bulk::account(&mut bench.read().await, scope).await.unwrap();
    assert!(
        !account
            .is_registered(&mut bench.read().await, "applicant-7")
            .await
            .unwrap()
    );
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        let sealed: Vec<_> = (0..PEOPLE).map(|number| account.seal(person(number))).collect();
        bulk::write(tx, &account, &sealed).await
    })
    .unwrap();

    let mut conn = bench.read().await;
    assert!(account.is_registered(&mut conn, "applicant-7").await.unwrap());
    let found = people::find_by_name_word(&mut conn, scope, "number7", 10)
        .await
        .unwrap();
    let [facemap] = found[..] else { panic!("{found:?}") };
    let registered = registrations::of_facemap(&mut conn, scope, facemap)
        .await
        .unwrap();
    assert_eq!(registered[0].external_user_id, "applicant-7");
    assert_eq!(registered[0].status, Some(AttemptStatus::Declined));
    assert_eq!(registered[0].last_active, START - 9 * DAY + 7);

    let log = attempts::of_facemap(&mut conn, scope, facemap).await.unwrap();
    let [declined, failed] = &log[..] else {
        panic!("{log:?}")
    };
    assert_eq!(failed.request, format!("request of {}", START - 10 * DAY + 7));
    assert_eq!(failed.log_id, 8, "numbered in the order of their times");
    assert_eq!(
        (declined.log_id, declined.decided_at),
        (PEOPLE + 8, Some(START - 8 * DAY + 7))
    );
    let decisions = attempts::decisions(&mut conn, scope, declined).await.unwrap();
    assert_eq!(decisions[0].reason.as_deref(), Some("Not the same person"));

    let session = sessions::get(&mut conn, scope, declined.session_id.unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (session.link.user_id.as_str(), session.log_id),
        ("applicant-7", Some(declined.log_id))
    );
    let changes = faces::list_after(&mut conn, scope, 7, 1).await.unwrap();
    assert_eq!(changes[0].embedding.as_deref(), Some(&b"face 7"[..]));
    let check = audit::verify(&mut conn, scope.merchant_id).await.unwrap();
    assert_eq!(check, AuditCheck::Intact { rows: 3 * PEOPLE });
    drop(conn);

    // Later attempts continue the numbers, and the people can be erased.
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        let sealed = vec![account.seal(person(PEOPLE))];
        bulk::write(tx, &account, &sealed).await?;
        people::erase(tx, scope, facemap).await.map(|_| ())
    })
    .unwrap();
    let log = attempts::pending(&mut bench.read().await, scope, 0, 10)
        .await
        .unwrap();
    assert!(log.is_empty());
    assert!(
        attempts::of_facemap(&mut bench.read().await, scope, facemap)
            .await
            .unwrap()
            .is_empty()
    );
    let again = store::transaction!(bench.db, |tx| -> Result<(), Error> {
        bulk::write(tx, &account, &[account.seal(person(9))]).await
    });
    assert!(matches!(again, Err(Error::Conflict)), "{again:?}");
}
