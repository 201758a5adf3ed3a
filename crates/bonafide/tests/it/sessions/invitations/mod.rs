//! Invitations of applicants (`docs/decisions/0065-invitations.md`): what opens sessions, how often, for how long, and
//! what ends it.

use super::*;

mod ends;
mod letters;
mod renewals;

const INVITATIONS: &str = "/v2/sdk/session/invitations";
const OPEN: &str = "/v2/sdk/session/invitation/open";
const PREVIEW: &str = "/v2/sdk/session/invitation/preview";

/// An invitation and its token.
struct Invited<'a> {
    account: &'a Account,
    id: String,
    token: String,
    flow: String,
    user: String,
}

impl Account {
    async fn invite(&self, flow: &str, user: &str) -> Invited<'_> {
        self.invite_with(flow, user, json!({})).await
    }

    async fn invite_with(&self, flow: &str, user: &str, more: Value) -> Invited<'_> {
        let mut body = json!({"userId": user, "groupId": self.group, "flowId": self.flow(flow)});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let (status, body) = self.server.post(INVITATIONS, &self.key, body).await;
        assert_eq!(status, 200, "{body}");
        let url = body["url"].as_str().unwrap();
        Invited {
            account: self,
            id: body["invitationId"].as_str().unwrap().into(),
            token: url.split_once("?invitation=").expect(url).1.into(),
            flow: flow.into(),
            user: user.into(),
        }
    }

    async fn listed(&self, query: &str) -> Value {
        let (status, body) = self.server.get(&format!("{INVITATIONS}{query}"), &self.key).await;
        assert_eq!(status, 200, "{body}");
        body
    }
}

impl Session<'_> {
    async fn current(&self) -> Value {
        let request = self.request(Method::GET, "/v2/sdk/session/current");
        let (status, body) = answer(request.send().await.unwrap()).await;
        assert_eq!(status, 200, "{body}");
        body
    }
}

impl<'a> Invited<'a> {
    async fn call(&self, path: &str) -> (u16, Value) {
        let server = &self.account.server;
        let request = server.http.post(format!("{}{path}", server.base));
        answer(request.json(&json!({"token": self.token})).send().await.unwrap()).await
    }

    /// Presses the page's button.
    async fn open(&self) -> Session<'a> {
        let (status, body) = self.call(OPEN).await;
        assert_eq!(status, 200, "{body}");
        Session {
            account: self.account,
            id: body["session_id"].as_str().unwrap().into(),
            token: body["access_token"].as_str().unwrap().into(),
            flow: self.account.flow(&self.flow).into(),
            user: self.user.clone(),
        }
    }

    async fn assert_refused(&self, status: u16, error: &str) {
        for path in [OPEN, PREVIEW] {
            let (got, body) = self.call(path).await;
            assert_eq!((got, &body["error"]), (status, &json!(error)), "{path}: {body}");
        }
    }

    async fn get(&self) -> Value {
        let path = format!("{INVITATIONS}/{}", self.id);
        let (status, body) = self.account.server.get(&path, &self.account.key).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    async fn assert_status(&self, status: &str, attempts: i64, sessions: &[&str]) {
        let body = self.get().await;
        let told: Vec<&Value> = body["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["status"])
            .collect();
        assert_eq!(
            (&body["status"], &body["attempts"], json!(told)),
            (&json!(status), &json!(attempts), json!(sessions)),
            "{body}"
        );
    }

    async fn revoke(&self) -> (u16, Value) {
        let path = format!("{INVITATIONS}/{}/revoke", self.id);
        self.account
            .server
            .post(&path, &self.account.key, json!({}))
            .await
    }

    async fn expire(&self) {
        // Ten minutes more than seven days.
        let sql = "update applicant_invitations set created_at = created_at - 605400000, expires_at = expires_at - 605400000";
        self.account.server.sql(sql).await;
    }
}

on_both!(an_invitation_opens_sessions_until_one_succeeds, |backend| {
    let account = Account::demo(backend, &["--websdk-url", "https://verify.example.com/v"]).await;
    let invited = account.invite("data-only", "user 1/ü").await;
    let body = invited.get().await;
    let expected = json!({
        "invitationId": invited.id, "userId": "user 1/ü", "groupId": account.group, "flowId": account.flow("data-only"),
        "status": "open", "attempts": 0, "maxAttempts": 3, "createdAt": body["createdAt"], "expiresAt": body["expiresAt"],
        "endedAt": null, "decidingSessionId": null, "mail": null, "reminders": 0, "remindAt": null, "renews": null,
        "renewedBy": null, "sessions": [],
    });
    assert_eq!(body, expected);
    // Mail scanners and link previews open links.
    let page = format!("{}/verify?invitation={}", account.server.base, invited.token);
    for _ in 0..2 {
        let response = account.server.http.get(&page).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let html = response.text().await.unwrap();
        assert!(html.contains(r#""state":"open""#), "{html}");
        assert!(
            !html.contains(&invited.token) && !html.contains("user 1"),
            "{html}"
        );
        let (status, preview) = invited.call(PREVIEW).await;
        assert_eq!(
            (status, &preview["expiresAt"]),
            (200, &body["expiresAt"]),
            "{preview}"
        );
    }
    invited.assert_status("open", 0, &[]).await;

    let first = invited.open().await;
    assert_eq!(first.poll().await["user_id"], "user 1/ü");
    assert_eq!(first.attempt("SANDBOX-2509").await.0, 200);
    invited.assert_status("open", 1, &["pending"]).await;
    first.expire_sessions().await;
    first.assert_state("failed", 1, "done").await;
    invited.assert_status("open", 1, &["failed"]).await;

    let second = invited.open().await;
    assert_eq!(second.poll().await["metadata"]["maxAttempts"], 2);
    let (_, body) = second.attempt("Quill").await;
    assert_eq!(body["success"], true, "{body}");
    invited.assert_status("success", 2, &["failed", "success"]).await;
    let ended = invited.get().await;
    assert_eq!(ended["decidingSessionId"], second.id);
    assert!(ended["endedAt"].as_str().unwrap().ends_with('Z'));
    invited.assert_refused(410, "invitation_finished").await;
    let response = account.server.http.get(&page).send().await.unwrap();
    assert_eq!(response.status(), 410);
    assert!(
        response
            .text()
            .await
            .unwrap()
            .contains(r#""state":"invitation_finished""#)
    );
});

on_both!(attempts_count_per_invitation, |backend| {
    let mut account = Account::demo(backend, &[]).await;
    account
        .add_flow(json!({"name": "twice", "settings": {"attemptsPerLink": 2}}))
        .await;
    let invited = account.invite("twice", "ada").await;
    let first = invited.open().await;
    // A refused request is no attempt.
    assert!(first.send(first.form(json!({"dob": "x"}))).await.0 >= 400);
    assert_eq!(first.attempt("SANDBOX-2509").await.0, 200);
    assert_eq!(first.current().await["canStartAgain"], false);
    let second = invited.open().await;
    first.assert_state("failed", 1, "done").await;
    assert_eq!(first.current().await["canStartAgain"], true);
    assert_eq!(second.attempt("SANDBOX-2509").await.0, 200);
    assert_eq!(second.current().await["canStartAgain"], false);
    second.assert_state("failed", 1, "done").await;
    assert_eq!(second.attempt("Quill").await.0, 401);
    invited.assert_status("failed", 2, &["failed", "failed"]).await;
    assert_eq!(invited.get().await["decidingSessionId"], second.id);
    invited.assert_refused(410, "invitation_finished").await;
});

on_both!(
    a_newer_session_ends_the_older_and_shows_nothing_of_it,
    |backend| {
        let account = Account::demo(backend, &[]).await;
        let invited = account.invite("data-only", "ada").await;
        let older = invited.open().await;
        let consent = json!({"version": "2026-11", "language": "en", "accepted": true});
        let recorded = older
            .request(Method::POST, "/v2/sdk/session/consent")
            .json(&consent);
        assert_eq!(recorded.send().await.unwrap().status(), 200);
        let newer = invited.open().await;
        older.assert_state("expired", 0, "done").await;
        assert_eq!(older.attempt("Quill").await.0, 401);
        let current = newer.request(Method::GET, "/v2/sdk/session/current");
        let (_, current) = answer(current.send().await.unwrap()).await;
        assert_eq!(
            (&current["consent"], &current["outcome"], &current["attempts"]),
            (&Value::Null, &Value::Null, &json!(0)),
            "{current}"
        );
        assert_eq!(newer.attempt("Quill").await.0, 200);
        invited.assert_status("success", 1, &["expired", "success"]).await;
    }
);

on_both!(simultaneous_presses_leave_one_session, |backend| {
    let account = Account::demo(backend, &["--workers", "4"]).await;
    let invited = account.invite("data-only", "ada").await;
    let second = account.server.second_process(&[]);
    let press = async |base: &str| {
        let request = account.server.http.post(format!("{base}{OPEN}"));
        answer(
            request
                .json(&json!({"token": invited.token}))
                .send()
                .await
                .unwrap(),
        )
        .await
    };
    let bases = [&account.server.base, &second.base];
    let presses = futures_util::future::join_all((0..8).map(|n| press(bases[n % 2]))).await;
    assert!(presses.iter().all(|(status, _)| *status == 200), "{presses:?}");
    let pending = "select count(*) from sessions where status = 'pending' and invitation_id is not null";
    assert_eq!(account.server.count(pending).await, 1);
    for round in 0..5 {
        let invited = account.invite("data-only", &format!("user-{round}")).await;
        let session = invited.open().await;
        let (attempt, press) = tokio::join!(session.attempt("Quill"), invited.call(OPEN));
        let status = invited.get().await["status"].clone();
        match (attempt.0, press.0) {
            // The press came while the attempt was examined, or after it.
            (200, 409 | 410) => assert_eq!(status, "success"),
            // It came before.
            (401, 200) => assert_eq!(status, "open"),
            other => panic!("{other:?}: {attempt:?} {press:?}"),
        }
    }
    let too_many = "select count(*) from applicant_invitations i where 1 < (select count(*) from sessions s
                        where s.invitation_id = i.id and s.status = 'pending')";
    assert_eq!(account.server.count(too_many).await, 0);
});

on_both!(an_attempt_that_is_examined_is_not_interrupted, |backend| {
    let account = Account::demo(backend, &[]).await;
    let invited = account.invite("data-only", "ada").await;
    invited.open().await;
    // As while a node examines an attempt.
    let examined = "update sessions set in_flight = 1, admitted_until = 9999999999999";
    account.server.sql(examined).await;
    for (status, body) in [invited.call(OPEN).await, invited.revoke().await] {
        assert_eq!(
            (status, &body["error"]),
            (409, &json!("attempt_in_progress")),
            "{body}"
        );
    }
    invited.assert_status("open", 0, &["pending"]).await;
    // Its node died.
    account.server.sql("update sessions set admitted_until = 0").await;
    invited.open().await;
    invited.assert_status("open", 0, &["expired", "pending"]).await;
});

on_both!(a_blocked_country_opens_nothing, |backend| {
    let account = Account::demo(backend, &[]).await;
    let invited = account.invite("data-only", "ada").await;
    let strict = account
        .server
        .second_process(&["--trusted-proxies", "127.0.0.1", "--geo-unknown", "block"]);
    let request = account.server.http.post(format!("{}{OPEN}", strict.base));
    let request = request
        .header("X-Forwarded-For", "10.1.2.3")
        .json(&json!({"token": invited.token}));
    let (status, body) = answer(request.send().await.unwrap()).await;
    assert_eq!((status, &body["error"]), (403, &json!("geo_blocked")), "{body}");
    invited.assert_status("open", 0, &[]).await;
});

on_both!(an_invitations_token_is_no_other_token, |backend| {
    let account = Account::demo(backend, &[]).await;
    let invited = account.invite("data-only", "ada").await;
    let link = account.link("data-only", "ada").await;
    let tampered = tampered(&invited.token);
    for (body, status, error) in [
        (json!({}), 400, "token_required"),
        (json!({"token": 7}), 400, "token_required"),
        (json!({"token": tampered}), 401, "invalid_token"),
        (json!({"token": link}), 401, "invalid_token"),
        (json!({"token": "é€😀"}), 401, "invalid_token"),
        (json!({"token": "x".repeat(10_000)}), 401, "invalid_token"),
    ] {
        for path in [OPEN, PREVIEW] {
            let request = account
                .server
                .http
                .post(format!("{}{path}", account.server.base))
                .json(&body);
            let (got, told) = answer(request.send().await.unwrap()).await;
            assert_eq!(
                (got, &told["error"]),
                (status, &json!(error)),
                "{path} {body}: {told}"
            );
        }
    }
    let (status, body) = exchange(&account.server, json!({"token": invited.token})).await;
    assert_eq!((status, &body["error"]), (401, &json!("invalid_token")), "{body}");
    let stored = account
        .server
        .bytes("select token_ref from applicant_invitations")
        .await;
    assert!(
        stored
            .iter()
            .all(|hash| hash.len() == 32 && !invited.token.as_bytes().windows(32).any(|part| part == hash))
    );
    invited.assert_status("open", 0, &[]).await;
});

on_both!(invitations_are_listed, |backend| {
    let account = Account::demo(backend, &[]).await;
    assert_eq!(account.listed("").await, json!({"invitations": [], "next": null}));
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(account.invite("data-only", &format!("user-{number}")).await.id);
    }
    account.invite("data-only", "user-2").await.revoke().await;
    let ids_of = |page: &Value| -> Vec<String> {
        let list = page["invitations"].as_array().unwrap().iter();
        list.map(|one| one["invitationId"].as_str().unwrap().to_owned())
            .collect()
    };
    let page = account.listed("?limit=2&status=open").await;
    assert_eq!(ids_of(&page), [ids[2].as_str(), &ids[1]]);
    let next = page["next"].as_str().unwrap();
    let page = account
        .listed(&format!("?limit=2&status=open&before={next}"))
        .await;
    assert_eq!(
        (ids_of(&page), &page["next"]),
        (vec![ids[0].clone()], &Value::Null)
    );
    assert_eq!(ids_of(&account.listed("?userId=user-2").await).len(), 2);
    assert_eq!(
        ids_of(&account.listed("?userId=user-2&status=revoked").await).len(),
        1
    );
    assert_eq!(ids_of(&account.listed("?userId=nobody").await).len(), 0);
    let (status, body) = account
        .server
        .get(
            &format!("{INVITATIONS}?status=done&limit=0&before=x&user=a"),
            &account.key,
        )
        .await;
    let faults = [
        "user - is not a parameter here; send only status, userId, due, limit, before",
        "status - must be open, in_review, success, failed, expired or revoked",
        "limit - must be a whole number from 1 to 100",
        "before - must be the `next` of a page",
    ];
    assert_eq!((status, &body["errors"]), (400, &json!(faults)), "{body}");
    let stranger = account.server.merchant(true).sandbox;
    let (_, body) = account.server.get(INVITATIONS, &stranger).await;
    assert_eq!(body["invitations"], json!([]));
});
