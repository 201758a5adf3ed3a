//! What ends an invitation: time, revocation, a review, and the end of what it leads to.

use super::*;

on_both!(an_invitation_expires, |backend| {
    let mut account = Account::demo(backend, &[]).await;
    account
        .add_flow(json!({"name": "hour", "settings": {"invitationHours": 1}}))
        .await;
    let life = |body: &Value| {
        let at = |name: &str| body[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        (at("expiresAt").as_millisecond() - at("createdAt").as_millisecond()) / 3_600_000
    };
    assert_eq!(life(&account.invite("hour", "ada").await.get().await), 1);
    let unused = account.invite("data-only", "bob").await;
    let begun = account.invite("data-only", "cyd").await;
    assert_eq!(life(&begun.get().await), 168);
    let session = begun.open().await;
    begun.expire().await;
    unused.assert_refused(410, "token_expired").await;
    begun.assert_refused(410, "token_expired").await;
    // A session that began in time may end.
    begun.assert_status("open", 0, &["pending"]).await;
    assert_eq!(session.attempt("Quill").await.0, 200);
    begun.assert_status("success", 1, &["success"]).await;
    account.invite("data-only", "dan").await;
    let open = "select count(*) from applicant_invitations where state = 'open'";
    let expired = "select count(*) from applicant_invitations where state = 'expired'";
    assert_eq!(account.server.count(open).await, 3);
    // A server sweeps when it starts, and every minute.
    let server = account.server.kill_and_restart(&[]);
    wait_until(async || server.count(expired).await == 2, "the sweep").await;
    assert_eq!(server.count(open).await, 1);
    let later = "update applicant_invitations set expires_at = expires_at - 2592000000 where state <> 'open'";
    server.sql(later).await;
    let server = server.kill_and_restart(&[]);
    wait_until(async || server.count(expired).await == 0, "the deletion").await;
    let all = "select count(*) from applicant_invitations";
    assert_eq!((server.count(open).await, server.count(all).await), (1, 1));
});

on_both!(an_invitation_is_revoked, |backend| {
    let account = Account::demo(backend, &[]).await;
    let invited = account.invite("data-only", "ada").await;
    let session = invited.open().await;
    let (status, body) = invited.revoke().await;
    assert_eq!((status, &body["status"]), (200, &json!("revoked")), "{body}");
    session.assert_state("expired", 0, "done").await;
    assert_eq!(session.attempt("Quill").await.0, 401);
    invited.assert_refused(410, "invitation_revoked").await;
    let (status, again) = invited.revoke().await;
    assert_eq!((status, &again), (200, &body), "revoking again changes nothing");
    let entries = "select count(*) from audit where action = 'invitation.revoked'";
    assert_eq!(account.server.count(entries).await, 1);

    let finished = account.invite("data-only", "bob").await;
    finished.open().await.attempt("Quill").await;
    let (status, body) = finished.revoke().await;
    assert_eq!(
        (status, &body["error"]),
        (409, &json!("invitation_ended")),
        "{body}"
    );
    finished.assert_status("success", 1, &["success"]).await;

    let other = account.server.merchant(true).sandbox;
    let mine = account.invite("data-only", "cyd").await;
    for id in [mine.id.as_str(), NOBODY, "x"] {
        let path = format!("{INVITATIONS}/{id}");
        let (status, body) = account.server.get(&path, &other).await;
        assert_eq!(
            (status, &body["message"]),
            (404, &json!("Invitation not found")),
            "{body}"
        );
        let (status, _) = account
            .server
            .post(&format!("{path}/revoke"), &other, json!({}))
            .await;
        assert_eq!(status, 404);
    }
    mine.assert_status("open", 0, &[]).await;
    // The account's other mode.
    account
        .server
        .sql("update applicant_invitations set sandbox = not sandbox")
        .await;
    let (status, _) = account
        .server
        .get(&format!("{INVITATIONS}/{}", mine.id), &account.key)
        .await;
    assert_eq!((status, mine.revoke().await.0), (404, 404));
    assert_eq!(account.listed("").await["invitations"], json!([]));
});

on_both!(a_review_ends_an_invitation, |backend| {
    let account = Account::demo(backend, &[]).await;
    for (decision, status) in [("approve", "success"), ("decline", "failed")] {
        let invited = account.invite("data-only", decision).await;
        let session = invited.open().await;
        session.attempt("SANDBOX-2702").await;
        invited.assert_status("in_review", 1, &["pending"]).await;
        invited.assert_refused(409, "in_review").await;
        let (refused, body) = invited.revoke().await;
        assert_eq!((refused, &body["error"]), (409, &json!("in_review")), "{body}");
        let page = format!("{}/verify?invitation={}", account.server.base, invited.token);
        let html = account
            .server
            .http
            .get(page)
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        assert!(html.contains(r#""state":"in_review""#), "{html}");
        session.expire_sessions().await;
        invited.expire().await;
        invited.assert_status("in_review", 1, &["pending"]).await;
        let waiting: Value = serde_json::from_str(&account.server.bonafide(&["review", "list"])).unwrap();
        account.server.review(decision, &waiting);
        invited.assert_status(status, 1, &[status]).await;
        assert_eq!(invited.get().await["decidingSessionId"], session.id);
        invited.assert_refused(410, "invitation_finished").await;
    }
});

on_both!(a_decision_on_an_ended_session_ends_the_invitation, |backend| {
    let account = Account::demo(backend, &[]).await;
    let invited = account.invite("data-only", "ada").await;
    let older = invited.open().await;
    older.attempt("SANDBOX-2509").await;
    let newer = invited.open().await;
    account
        .server
        .bonafide(&["review", "approve", "1", "--reason", "a mistake"]);
    older.assert_state("failed", 1, "done").await;
    invited.assert_status("success", 1, &["failed", "pending"]).await;
    assert_eq!(invited.get().await["decidingSessionId"], older.id);
    assert_eq!(newer.attempt("Quill").await.0, 401);
    invited.assert_refused(410, "invitation_finished").await;

    // A decline does not decide while another session is in review.
    let invited = account.invite("data-only", "bob").await;
    invited.open().await.attempt("SANDBOX-2509").await;
    invited.open().await.attempt("SANDBOX-2702").await;
    account
        .server
        .bonafide(&["review", "decline", "2", "--reason", "expired"]);
    invited
        .assert_status("in_review", 2, &["failed", "pending"])
        .await;
    let waiting: Value = serde_json::from_str(&account.server.bonafide(&["review", "list"])).unwrap();
    account.server.review("approve", &waiting);
    invited.assert_status("success", 2, &["failed", "success"]).await;
});

on_both!(a_deleted_flow_leaves_what_is_in_review, |backend| {
    let mut account = Account::demo(backend, &[]).await;
    account.add_flow(json!({"name": "short-lived"})).await;
    let invited = account.invite("short-lived", "ada").await;
    invited.open().await.attempt("SANDBOX-2702").await;
    account.invite("short-lived", "bob").await;
    let flow = format!("/v2/public/flows/{}", account.flow("short-lived"));
    let deleted = account
        .server
        .request(Method::DELETE, &flow, &account.key)
        .send()
        .await
        .unwrap();
    assert!(deleted.status().is_success());
    invited.assert_status("in_review", 1, &["pending"]).await;
    let waiting: Value = serde_json::from_str(&account.server.bonafide(&["review", "list"])).unwrap();
    account.server.review("approve", &waiting);
    invited.assert_status("success", 1, &["success"]).await;
    assert_eq!(
        account.listed("?status=revoked").await["invitations"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let told =
        "select count(*) from audit where action = 'flow.deleted' and detail like '%invitationsRevoked%1%'";
    assert_eq!(account.server.count(told).await, 1);
});

on_both!(an_invitation_stops_with_what_it_leads_to, |backend| {
    let mut account = Account::demo(backend, &[]).await;
    account.add_flow(json!({"name": "short-lived"})).await;
    let invited = account.invite("short-lived", "ada").await;
    account.server.bonafide(&["merchant", "suspend", &account.id]);
    invited.assert_refused(403, "forbidden").await;
    account.server.bonafide(&["merchant", "approve", &account.id]);
    let group = format!("/v2/public/groups/{}", account.group);
    account
        .server
        .put(&group, &account.key, json!({"flowIds": []}))
        .await;
    invited.assert_refused(400, "invalid_request").await;
    account.regroup().await;
    assert_eq!(invited.call(PREVIEW).await.0, 200);
    let flow = format!("/v2/public/flows/{}", account.flow("short-lived"));
    let deleted = account
        .server
        .request(Method::DELETE, &flow, &account.key)
        .send()
        .await
        .unwrap();
    assert!(deleted.status().is_success());
    invited.assert_status("revoked", 0, &[]).await;
    invited.assert_refused(410, "invitation_revoked").await;

    let other = account.invite("data-only", "bob").await;
    let deleted = account
        .server
        .request(Method::DELETE, &group, &account.key)
        .send()
        .await
        .unwrap();
    assert!(deleted.status().is_success());
    other.assert_refused(410, "invitation_revoked").await;
});

on_both!(an_invitation_keeps_the_expected_person_until_its_end, |backend| {
    let account = Account::demo(backend, &[]).await;
    let expecting = "select count(*) from applicant_invitations where expected_sealed is not null";
    let person = json!({"expected": {"firstName": "Ada", "lastName": "Quill"}});
    let invited = account.invite_with("passport", "ada", person.clone()).await;
    assert!(!invited.get().await.to_string().contains("Quill"));
    invited.open().await;
    invited.open().await;
    let sessions = "select count(*) from sessions where expected_sealed is not null";
    assert_eq!(account.server.count(sessions).await, 1, "only the open one");
    assert_eq!(account.server.count(expecting).await, 1);
    invited.revoke().await;
    assert_eq!(account.server.count(expecting).await, 0);
    account
        .invite_with("passport", "bob", person.clone())
        .await
        .expire()
        .await;
    assert_eq!(account.server.count(expecting).await, 1);
    let invitations = "select count(*) from applicant_invitations";
    let before = account.server.count(invitations).await;
    for (flow, body) in [
        ("data-only", person),
        ("passport", json!({"expected": {"firstName": "Ada"}})),
    ] {
        let mut faulty = json!({"userId": "u", "groupId": account.group, "flowId": account.flow(flow)});
        faulty
            .as_object_mut()
            .unwrap()
            .extend(body.as_object().unwrap().clone());
        let (status, body) = account.server.post(INVITATIONS, &account.key, faulty).await;
        assert_eq!(status, 400, "{body}");
    }
    assert_eq!(account.server.count(invitations).await, before);
    // A server sweeps when it starts, and every minute.
    let server = account.server.kill_and_restart(&[]);
    wait_until(async || server.count(expecting).await == 0, "the sweep").await;
});
