//! New links in place of expired invitations (`docs/decisions/0066-emails-to-applicants.md`): who gets one, how often, and
//! what an earlier attempt means for it.

use super::letters::{Post, received};
use super::*;
use crate::harness::mail::{mail_server, one_letter};
use crate::portal::Browser;

const RENEW: &str = "/v2/sdk/session/invitation/renew";
const KEPT: &str = "select count(*) from applicant_invitations where email_sealed is not null or expected_sealed is not null";

impl Invited<'_> {
    /// Another invitation by the link of a letter.
    async fn renewed_by(&self, letter: &str) -> Invited<'_> {
        let id = self.get().await["renewedBy"]
            .as_str()
            .expect("it is renewed")
            .to_owned();
        Invited {
            id,
            ..self.by_letter(letter)
        }
    }
}

on_both!(an_expired_invitation_is_renewed_at_its_address_only, |backend| {
    let post = Post::start(backend, json!({}), &[]).await;
    let letter = post.letter();
    let invited = post.invite().await;
    received(letter).await;
    invited.wait_for_mail("sent").await;
    let nameless = post.account.invite("data", "user-2").await;
    // A link that works is not replaced.
    assert_eq!(invited.call(RENEW).await, (202, json!({})));
    post.sql("update applicant_invitations set attempts = 2").await;
    invited.expire().await;
    let unknown = Invited {
        token: "x".repeat(51),
        ..invited.by_letter("?invitation=x\n")
    };
    for link in [&invited, &nameless] {
        let (status, body) = link.call(PREVIEW).await;
        assert_eq!(
            (status, &body["error"], &body["canRenew"]),
            (410, &json!("token_expired"), &json!(true)),
            "{body}"
        );
    }
    let page = post.account.server.http.get(format!(
        "{}/verify?invitation={}",
        post.account.server.base, invited.token
    ));
    let html = page.send().await.unwrap().text().await.unwrap();
    assert!(
        html.contains(r#""canRenew":true"#) && html.contains("request a new one here"),
        "{html}"
    );
    let long = Invited {
        token: "x".repeat(52),
        ..invited.by_letter("?invitation=x\n")
    };
    assert_eq!(long.call(RENEW).await.0, 400);
    // The answer tells nothing, and presses at the same time renew once.
    let letter = post.letter();
    for link in [&unknown, &nameless] {
        assert_eq!(link.call(RENEW).await, (202, json!({})));
    }
    let presses = tokio::join!(invited.call(RENEW), invited.call(RENEW), invited.call(RENEW));
    for pressed in [presses.0, presses.1, presses.2] {
        assert_eq!(pressed, (202, json!({})));
    }
    let letter = received(letter).await;
    assert!(
        letter.contains("RCPT TO:<ada@example.org>") && letter.contains("your new link"),
        "{letter}"
    );
    assert_eq!(
        post.count("select count(*) from applicant_invitations").await,
        3,
        "one was renewed, once"
    );
    let renewed = invited.renewed_by(&letter).await;
    let body = renewed.get().await;
    let told = (
        &body["status"],
        &body["attempts"],
        &body["renews"],
        &body["userId"],
    );
    assert_eq!(
        told,
        (&json!("open"), &json!(2), &json!(invited.id), &json!("user-1")),
        "{body}"
    );
    invited.assert_status("expired", 2, &[]).await;
    invited.assert_refused(410, "token_expired").await;
    assert_eq!(nameless.get().await["renewedBy"], Value::Null);
    let session = renewed.open().await;
    session.expire_sessions().await;
    // A letter that was lost is sent again after a pause, and its link opens the same invitation.
    renewed.wait_for_mail("sent").await;
    assert_eq!(invited.call(RENEW).await.0, 202);
    assert_eq!(post.count("select count(*) from applicant_letters").await, 2);
    post.sql("update applicant_letters set created_at = created_at - 600000")
        .await;
    let letter = post.letter();
    assert_eq!(invited.call(RENEW).await.0, 202);
    let again = renewed.by_letter(&received(letter).await);
    assert_eq!(again.call(PREVIEW).await.0, 200);
    assert_eq!(post.count("select count(*) from applicant_invitations").await, 3);
    // The chain ends.
    post.sql("update applicant_invitations set renewals = 5").await;
    renewed.wait_for_mail("sent").await;
    renewed.expire().await;
    assert_eq!(renewed.call(RENEW).await.0, 202);
    assert_eq!(post.count("select count(*) from applicant_invitations").await, 3);
});

on_both!(a_flow_may_not_renew_invitations, |backend| {
    let post = Post::start(backend, json!({"renewInvitations": false}), &[]).await;
    let letter = post.letter();
    let invited = post.invite().await;
    received(letter).await;
    invited.expire().await;
    let (status, body) = invited.call(OPEN).await;
    assert_eq!((status, &body["canRenew"]), (410, &json!(false)), "{body}");
    assert_eq!(invited.call(RENEW).await, (202, json!({})));
    assert_eq!(post.count("select count(*) from applicant_invitations").await, 1);
});

on_both!(
    a_decision_reaches_the_invitation_that_replaced_another,
    |backend| {
        let (listener, mail) = mail_server().await;
        let account = Account::demo(backend, &mail.each_ref().map(String::as_str)).await;
        Browser::sign_up_as(&account.server, &account.id, "auditor", "ada@example.org").await;
        let to_member = json!({"email": "ada@example.org"});
        let letter = async || received(tokio::spawn(one_letter(Arc::clone(&listener)))).await;
        let mut log_id = 0;
        for (decision, status) in [("approve", "success"), ("decline", "failed")] {
            let (invited, _) = tokio::join!(
                account.invite_with("data-only", "ada", to_member.clone()),
                letter()
            );
            let session = invited.open().await;
            session.attempt("SANDBOX-2509").await;
            log_id += 1;
            session.expire_sessions().await;
            invited.expire().await;
            let (pressed, mailed) = tokio::join!(invited.call(RENEW), letter());
            assert_eq!(pressed.0, 202);
            let renewed = invited.renewed_by(&mailed).await;
            assert_eq!(renewed.get().await["attempts"], 1);
            account
                .server
                .bonafide(&["review", decision, &log_id.to_string(), "--reason", "seen"]);
            let body = renewed.get().await;
            assert_eq!(
                (&body["status"], &body["decidingSessionId"]),
                (&json!(status), &json!(session.id)),
                "{body}"
            );
            assert_eq!(invited.get().await["status"], "expired");
            renewed.assert_refused(410, "invitation_finished").await;
            invited.call(RENEW).await;

            // A decision before the press: nothing is renewed.
            let (invited, _) = tokio::join!(
                account.invite_with("data-only", "bob", to_member.clone()),
                letter()
            );
            let session = invited.open().await;
            session.attempt("SANDBOX-2509").await;
            log_id += 1;
            session.expire_sessions().await;
            invited.expire().await;
            account
                .server
                .sql("update applicant_invitations set state = 'expired' where state = 'open'")
                .await;
            account
                .server
                .bonafide(&["review", decision, &log_id.to_string(), "--reason", "seen"]);
            assert_eq!(
                account.server.count(KEPT).await,
                0,
                "what a renewal needs is deleted"
            );
            assert_eq!(invited.call(RENEW).await.0, 202);
            assert_eq!(invited.get().await["renewedBy"], Value::Null);
        }
    }
);

on_both!(what_a_renewal_needs_is_deleted_with_its_last_use, |backend| {
    let (listener, mail) = mail_server().await;
    let account = Account::demo(backend, &mail.each_ref().map(String::as_str)).await;
    Browser::sign_up_as(&account.server, &account.id, "auditor", "ada@example.org").await;
    let person = json!({"firstName": "Ada", "lastName": "Quill"});
    let letter = async || received(tokio::spawn(one_letter(Arc::clone(&listener)))).await;
    // Without an address, nothing is kept after the end.
    let nameless = account
        .invite_with("passport", "bob", json!({"expected": person}))
        .await;
    nameless.expire().await;
    assert_eq!(nameless.call(RENEW).await.0, 202);
    assert_eq!(
        (
            nameless.get().await["status"].as_str(),
            account.server.count(KEPT).await
        ),
        (Some("expired"), 0)
    );
    // With one, it moves on to the new invitation.
    let more = json!({"email": "ada@example.org", "expected": person});
    let (invited, _) = tokio::join!(account.invite_with("passport", "ada", more), letter());
    invited.expire().await;
    let (_, mailed) = tokio::join!(invited.call(RENEW), letter());
    let renewed = invited.renewed_by(&mailed).await;
    assert_eq!(account.server.count(KEPT).await, 1);
    renewed.open().await;
    let expecting = "select count(*) from sessions where expected_sealed is not null";
    assert_eq!(
        account.server.count(expecting).await,
        1,
        "the new session compares with the same person"
    );
    // The merchant withdraws an expired one.
    let sessions =
        "update sessions set expires_at = created_at, status = 'expired', completed_at = created_at";
    account.server.sql(sessions).await;
    account.server.sql("update applicant_invitations set state = 'expired', expires_at = created_at where state = 'open'").await;
    let (status, body) = renewed.revoke().await;
    assert_eq!((status, &body["status"]), (200, &json!("expired")), "{body}");
    assert_eq!(account.server.count(KEPT).await, 0);
    assert_eq!(renewed.call(RENEW).await.0, 202);
    assert_eq!(renewed.get().await["renewedBy"], Value::Null);
});
