//! An unknown status or decision in any column that decides about a person is a typed error. No function
//! replaces it by a default or omits its row.

use reference::status::{AttemptStatus, Decision, GroupStatus};
use secrecy::{ExposeSecret as _, SecretString};
use store::applicant_invitations::{InvitationFilter, NewInvitation};
use store::applicant_letters::LetterKind;
use store::attempts::{self, Attempt};
use store::groups::{self, NewGroup};
use store::invitations::{self, Purpose};
use store::portal_sessions::{self, NewSession};
use store::sessions::{self, Link, Session};
use store::staff::{self, NewStaff};
use store::{
    Conn, Error, Scope, applicant_invitations, applicant_letters, applicants, merchants, people,
    reason_templates, registrations, review,
};
use uuid::Uuid;

use crate::bench::Bench;
use crate::people::{GROUP, passes};
use crate::verification::{Submission, verify};

/// The rows with a status or decision.
struct Rows {
    scope: Scope,
    attempt: Attempt,
    registration_id: Uuid,
    group_id: Uuid,
    session_id: Uuid,
    session_token: String,
    applicant_invitation_id: Uuid,
    invitation_token: String,
    portal_token: String,
}

/// A declined attempt with a proposed decision, its registration, a Group and a reason.
async fn rows(bench: &Bench) -> Rows {
    let scope = bench.scope().await;
    let submission = Submission {
        status: AttemptStatus::Pending,
        ..passes("ada", GROUP, b"ada")
    };
    let log_id = verify(&bench.db, scope, submission).await.unwrap().log_id();
    let read = async || {
        attempts::get(&mut bench.read().await, scope, log_id)
            .await
            .unwrap()
            .unwrap()
    };
    let attempt = read().await;
    let registration_id = attempt.registration_id.unwrap();
    let group_id = store::transaction!(bench.db, |tx| -> Result<Uuid, Error> {
        let (status, decision) = (AttemptStatus::Declined, Decision::Decline);
        attempts::decide(tx, scope, &attempt, status, decision, "reviewer", Some("a copy")).await?;
        registrations::set_status(tx, scope, registration_id, Some(status)).await?;
        review::propose(tx, scope, &attempt, Decision::Reopen, (None, None), None).await?;
        reason_templates::add(tx, scope.merchant_id, Decision::Approve, "It fits.", 9).await?;
        let new = NewGroup {
            name: "Group".into(),
            description: None,
            status: GroupStatus::Inactive,
            flow_ids: Vec::new(),
        };
        groups::create(tx, scope, &new, None).await.map(|group| group.id)
    })
    .unwrap();
    type Tokens = (Session, SecretString, SecretString, SecretString, Uuid);
    let link = Link {
        group_id,
        flow_id: Uuid::from_u128(3),
        user_id: "ada".into(),
        expected: None,
    };
    let (session, session_token, invitation_token, portal_token, invitation_id) =
        store::transaction!(bench.db, |tx| -> Result<Tokens, Error> {
            let (session, token) = sessions::create(tx, scope, link.clone(), None, 3, 600_000).await?;
            let new = NewInvitation::new(link.clone(), 3, tx.now() + 600_000);
            let (invitation, _) = applicant_invitations::create(tx, scope, new).await?;
            applicant_letters::enqueue(tx, scope, invitation.id, LetterKind::Invitation).await?;
            let purpose = Purpose::Operator;
            let (_, invited) = invitations::create(tx, &purpose, None, 600_000).await?;
            let new = NewStaff {
                email: "ada@example.com",
                name: "Ada",
                password_hash: "x",
                operator: true,
            };
            let new = NewSession {
                staff_id: staff::create(tx, &new).await?.id,
                merchant_id: None,
                sandbox: true,
                stage: portal_sessions::Stage::Full,
                device: "{}",
            };
            let (_, signed_in) = portal_sessions::create(tx, &new).await?;
            Ok((session, token, invited, signed_in, invitation.id))
        })
        .unwrap();
    let text = |token: SecretString| token.expose_secret().to_owned();
    Rows {
        scope,
        attempt: read().await,
        registration_id,
        group_id,
        session_id: session.id,
        session_token: text(session_token),
        applicant_invitation_id: invitation_id,
        invitation_token: text(invitation_token),
        portal_token: text(portal_token),
    }
}

type Read = (&'static str, Result<(), Error>);

/// Every function that returns an attempt's status.
async fn read_attempts(conn: &mut Conn, rows: &Rows) -> Vec<Read> {
    let (scope, attempt) = (rows.scope, &rows.attempt);
    let (log_id, person) = (attempt.log_id, attempt.facemap_id);
    vec![
        ("get", attempts::get(conn, scope, log_id).await.map(drop)),
        (
            "of_registration",
            attempts::of_registration(conn, scope, rows.registration_id)
                .await
                .map(drop),
        ),
        (
            "of_facemap",
            attempts::of_facemap(conn, scope, person).await.map(drop),
        ),
        (
            "newest_of_facemap",
            attempts::newest_of_facemap(conn, scope, person).await.map(drop),
        ),
        (
            "summaries_of_facemap",
            attempts::summaries_of_facemap(conn, scope, person, 9)
                .await
                .map(drop),
        ),
        (
            "outcomes",
            attempts::outcomes(conn, scope, rows.registration_id)
                .await
                .map(drop),
        ),
    ]
}

/// Every function that returns a registration's status.
async fn read_registrations(conn: &mut Conn, rows: &Rows) -> Vec<Read> {
    let scope = rows.scope;
    vec![
        (
            "get",
            registrations::get(conn, scope, rows.registration_id)
                .await
                .map(drop),
        ),
        (
            "find",
            registrations::find(conn, scope, GROUP, "ada").await.map(drop),
        ),
        (
            "of_facemap",
            registrations::of_facemap(conn, scope, rows.attempt.facemap_id)
                .await
                .map(drop),
        ),
        (
            "of_external_user_id",
            registrations::of_external_user_id(conn, scope, "ada")
                .await
                .map(drop),
        ),
        (
            "by_external_user_id",
            applicants::by_external_user_id(conn, scope, "ada")
                .await
                .map(drop),
        ),
    ]
}

/// Every function that returns a decision.
async fn read_decisions(conn: &mut Conn, rows: &Rows) -> Vec<Read> {
    vec![(
        "decisions",
        attempts::decisions(conn, rows.scope, &rows.attempt)
            .await
            .map(drop),
    )]
}

/// Every function that returns a proposed decision.
async fn read_proposals(conn: &mut Conn, rows: &Rows) -> Vec<Read> {
    vec![(
        "proposal",
        review::proposal(conn, rows.scope, &rows.attempt).await.map(drop),
    )]
}

/// Every function that returns a reason's decision.
async fn read_reasons(conn: &mut Conn, rows: &Rows) -> Vec<Read> {
    vec![(
        "list",
        reason_templates::list(conn, rows.scope.merchant_id)
            .await
            .map(drop),
    )]
}

/// Every function that returns a Group's status.
async fn read_groups(conn: &mut Conn, rows: &Rows) -> Vec<Read> {
    vec![
        ("list", groups::list(conn, rows.scope).await.map(drop)),
        (
            "get",
            groups::get(conn, rows.scope, rows.group_id).await.map(drop),
        ),
    ]
}

/// Every function that returns an account's status.
async fn read_merchants(conn: &mut Conn, rows: &Rows) -> Vec<Read> {
    vec![
        (
            "get",
            merchants::get(conn, rows.scope.merchant_id).await.map(drop),
        ),
        ("list", merchants::list(conn).await.map(drop)),
    ]
}

/// Every function that returns a hosted session's status or stage.
async fn read_sessions(conn: &mut Conn, rows: &Rows) -> Vec<Read> {
    vec![
        (
            "get",
            sessions::get(conn, rows.scope, rows.session_id).await.map(drop),
        ),
        ("recent", sessions::recent(conn, rows.scope, 9).await.map(drop)),
        (
            "by_access_token",
            sessions::by_access_token(conn, &rows.session_token)
                .await
                .map(drop),
        ),
    ]
}

/// Reads the state of an applicant's invitation.
async fn read_applicant_invitations(conn: &mut Conn, rows: &Rows) -> Vec<Read> {
    let (scope, id) = (rows.scope, rows.applicant_invitation_id);
    let all = InvitationFilter::default();
    vec![
        ("get", applicant_invitations::get(conn, scope, id).await.map(drop)),
        (
            "list",
            applicant_invitations::list(conn, scope, &all, 9).await.map(drop),
        ),
    ]
}

/// Reads the kind of an invitation.
async fn read_invitations(conn: &mut Conn, rows: &Rows) -> Vec<Read> {
    vec![(
        "peek",
        invitations::peek(conn, &rows.invitation_token).await.map(drop),
    )]
}

/// Reads the stage of a portal session.
async fn read_sign_ins(conn: &mut Conn, rows: &Rows) -> Vec<Read> {
    vec![(
        "find",
        portal_sessions::find(conn, &rows.portal_token).await.map(drop),
    )]
}

pub(crate) async fn an_unknown_status_or_decision_is_an_error(bench: Bench) {
    let rows = rows(&bench).await;
    macro_rules! check {
        ($(($table:literal, $column:literal, $known:literal, $enumeration:literal, $read:ident),)+) => { $(
            for word in ["escalated", "", &$known.to_uppercase(), concat!($known, " ")] {
                bench.sql(&format!(concat!("update ", $table, " set ", $column, " = '{}'"), word)).await;
                for (function, read) in $read(&mut bench.read().await, &rows).await {
                    assert!(
                        matches!(read, Err(Error::Unreadable($enumeration))),
                        "{} {word:?}, {function}: {read:?}", $table
                    );
                }
            }
            bench.sql(concat!("update ", $table, " set ", $column, " = '", $known, "'")).await;
            for (function, read) in $read(&mut bench.read().await, &rows).await {
                assert!(read.is_ok(), "{}, {function}: {read:?}", $table);
            }
        )+ };
    }
    check! {
        ("attempts", "status", "declined", "attempt status", read_attempts),
        ("registrations", "status", "declined", "attempt status", read_registrations),
        ("decisions", "decision", "decline", "decision", read_decisions),
        ("review_proposals", "decision", "reopen", "decision", read_proposals),
        ("reason_templates", "decision", "approve", "decision", read_reasons),
        ("groups", "status", "inactive", "group status", read_groups),
        ("sessions", "status", "pending", "session status", read_sessions),
        ("sessions", "stage", "open", "session stage", read_sessions),
        ("applicant_invitations", "state", "success", "invitation status", read_applicant_invitations),
        ("applicant_letters", "state", "sent", "state of a letter", read_applicant_invitations),
        ("invitations", "kind", "operator", "kind of a link", read_invitations),
        ("portal_sessions", "stage", "full", "stage of a sign-in", read_sign_ins),
        ("merchants", "status", "approved", "merchant status", read_merchants),
    }
}

pub(crate) async fn an_unknown_status_prevents_no_erasure(bench: Bench) {
    let rows = rows(&bench).await;
    bench.sql("update attempts set status = 'escalated'").await;
    bench.sql("update registrations set status = 'escalated'").await;
    bench.sql("update decisions set decision = 'escalate'").await;
    bench
        .sql("update review_proposals set decision = 'escalate'")
        .await;
    let erased = store::transaction!(bench.db, |tx| -> Result<usize, Error> {
        people::erase(tx, rows.scope, rows.attempt.facemap_id)
            .await
            .map(|attempts| attempts.len())
    });
    assert_eq!(erased.unwrap(), 1);
    assert_eq!(bench.count("select count(*) from people").await, 0);
    assert_eq!(bench.count("select count(*) from registrations").await, 0);
}

pub(crate) async fn every_status_and_decision_comes_back(bench: Bench) {
    let rows = rows(&bench).await;
    let scope = rows.scope;
    for status in AttemptStatus::ALL {
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            attempts::decide(
                tx,
                scope,
                &rows.attempt,
                *status,
                Decision::Reopen,
                "reviewer",
                None,
            )
            .await?;
            registrations::set_status(tx, scope, rows.registration_id, Some(*status)).await
        })
        .unwrap();
        let mut conn = bench.read().await;
        let attempt = attempts::get(&mut conn, scope, rows.attempt.log_id)
            .await
            .unwrap();
        assert_eq!(attempt.unwrap().status, *status);
        let registration = registrations::get(&mut conn, scope, rows.registration_id)
            .await
            .unwrap();
        assert_eq!(registration.unwrap().status, Some(*status));
    }
    for decision in Decision::ALL {
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            let status = AttemptStatus::Pending;
            attempts::decide(tx, scope, &rows.attempt, status, *decision, "reviewer", None).await?;
            review::drop_proposal(tx, scope, rows.attempt.log_id).await?;
            review::propose(tx, scope, &rows.attempt, *decision, (None, None), None).await
        })
        .unwrap();
        let mut conn = bench.read().await;
        let made = attempts::decisions(&mut conn, scope, &rows.attempt)
            .await
            .unwrap();
        assert_eq!(made.last().unwrap().decision, *decision);
        let proposal = review::proposal(&mut conn, scope, &rows.attempt).await.unwrap();
        assert_eq!(proposal.unwrap().decision, *decision);
    }
}
