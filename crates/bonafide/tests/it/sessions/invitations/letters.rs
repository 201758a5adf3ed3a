//! Letters about invitations (`docs/decisions/0066-emails-to-applicants.md`): what is sent to whom, reminders, and new
//! links in place of expired ones.

use std::time::Duration;

use tokio::net::TcpListener;

use super::*;
use crate::harness::mail::{letter_to, mail_server, one_letter};
use crate::portal::Browser;

const ADDRESS: &str = "ada@example.org";
/// Makes every waiting letter due.
const RELEASE: &str = "update applicant_letters set next_try_at = created_at where state = 'queued'";

/// A live account on a server with a mail server, and a Flow without documents whose settings are given.
pub(super) struct Post {
    pub(super) account: Account,
    listener: Arc<TcpListener>,
    arguments: Vec<String>,
}

impl Post {
    pub(super) async fn start(backend: Backend, settings: Value, more: &[&str]) -> Post {
        let (listener, mail) = mail_server().await;
        let mut arguments = mail.to_vec();
        arguments.extend(more.iter().map(|one| (*one).to_owned()));
        let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let server = Server::start(backend, &texts).await;
        let merchant = server.merchant(true);
        let flow = json!({"name": "data", "defaultFields": {"dob": true}, "settings": settings});
        let flow = make_flow(&server, &merchant.id, &flow, &[]);
        let group = json!({"name": "G", "flowIds": [flow]});
        let (status, body) = server.post("/v2/public/groups", &merchant.live, group).await;
        assert!(status < 300, "{body}");
        let account = Account {
            id: merchant.id,
            key: merchant.live,
            group: body["groupId"].as_str().unwrap().into(),
            flows: BTreeMap::from([("data".to_owned(), flow)]),
            server,
        };
        Post {
            account,
            listener,
            arguments,
        }
    }

    /// Takes the next letter.
    pub(super) fn letter(&self) -> tokio::task::JoinHandle<String> {
        tokio::spawn(one_letter(Arc::clone(&self.listener)))
    }

    pub(super) async fn invite(&self) -> Invited<'_> {
        self.account
            .invite_with("data", "user-1", json!({"email": ADDRESS}))
            .await
    }

    /// An invitation whose letter the mail server does not take now, so that it waits for a minute.
    async fn hold(&self) {
        let busy = tokio::spawn(letter_to(Arc::clone(&self.listener), b"451 later\r\n"));
        self.invite().await;
        received(busy).await;
        let waiting = "select count(*) from applicant_letters where state = 'queued' and tries = 1
                       and next_try_at > handed_at and next_try_at < handed_at + 200000";
        wait_until(async || self.count(waiting).await == 1, "it waits").await;
    }

    pub(super) async fn count(&self, sql: &'static str) -> i64 {
        self.account.server.count(sql).await
    }

    pub(super) async fn sql(&self, sql: &'static str) {
        self.account.server.sql(sql).await;
    }
}

/// Creates a Flow with the command line. Returns its ID.
fn make_flow(server: &Server, merchant: &str, flow: &Value, more: &[&str]) -> String {
    let file = server.dir.path().join("flow.json");
    std::fs::write(&file, flow.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let arguments = ["flow", "create", "--merchant", merchant, "--file", file, "--json"];
    let made: Value = serde_json::from_str(&server.bonafide(&[&arguments, more].concat())).unwrap();
    made["flowId"].as_str().unwrap().to_owned()
}

pub(super) async fn received(letter: tokio::task::JoinHandle<String>) -> String {
    let letter = tokio::time::timeout(Duration::from_secs(60), letter).await;
    letter.expect("a letter comes").unwrap()
}

impl Invited<'_> {
    pub(super) async fn wait_for_mail(&self, status: &str) -> Value {
        wait_until(async || self.get().await["mail"]["status"] == *status, status).await;
        self.get().await
    }

    async fn remind(&self) -> (u16, Value) {
        let path = format!("{INVITATIONS}/{}/remind", self.id);
        self.account
            .server
            .post(&path, &self.account.key, json!({}))
            .await
    }

    /// The same invitation by the link of a letter.
    pub(super) fn by_letter(&self, letter: &str) -> Invited<'_> {
        let link = letter.split_once("?invitation=").expect(letter).1;
        Invited {
            account: self.account,
            id: self.id.clone(),
            token: link.split(['&', '\n']).next().unwrap().into(),
            flow: self.flow.clone(),
            user: self.user.clone(),
        }
    }
}

on_both!(an_invitation_is_mailed, |backend| {
    let post = Post::start(
        backend,
        json!({}),
        &["--websdk-url", "https://verify.example.com/v"],
    )
    .await;
    let letter = post.letter();
    let more = json!({"email": ADDRESS, "language": "de"});
    let invited = post.account.invite_with("data", "user-1", more).await;
    let letter = received(letter).await;
    for text in [
        "RCPT TO:<ada@example.org>",
        "From: Test <verify@example.com>",
        "To: ada@example.org",
        "Message-ID: ",
        "MIME-Version: 1.0",
        "https://verify.example.com/v?invitation=",
        "&lang=de\n",
    ] {
        assert!(letter.contains(text), "{text}: {letter}");
    }
    assert!(
        letter.contains("Auto-Submitted: auto-generated") && letter.contains("@example.com>\n"),
        "{letter}"
    );
    assert!(!letter.contains("user-1"), "{letter}");
    let body = invited.wait_for_mail("sent").await;
    assert!(
        body["mail"]["at"].is_string() && body.get("email").is_none(),
        "{body}"
    );
    // Both links open it.
    let mailed = invited.by_letter(&letter);
    assert_ne!(mailed.token, invited.token);
    for link in [&mailed, &invited] {
        assert_eq!(link.call(PREVIEW).await.0, 200);
    }
    mailed.open().await;
    invited.assert_status("open", 0, &["pending"]).await;
    let log = post.account.server.log().await;
    assert!(!log.contains(ADDRESS) && !log.contains(&mailed.token), "{log}");
    assert_eq!(post.count("select count(*) from applicant_letters").await, 1);

    // An address is deleted with the end.
    assert_eq!(invited.revoke().await.0, 200);
    mailed.assert_refused(410, "invitation_revoked").await;
    let kept = "select count(*) from applicant_invitations where email_sealed is not null";
    assert_eq!(post.count(kept).await, 0);
});

on_both!(an_address_is_checked, |backend| {
    let post = Post::start(backend, json!({}), &[]).await;
    let server = &post.account.server;
    let body = |more: Value| {
        let mut body =
            json!({"userId": "u", "groupId": post.account.group, "flowId": post.account.flow("data")});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    let mut codes: Vec<_> = reference::languages::languages()
        .iter()
        .map(|language| language.code)
        .collect();
    codes.sort_unstable();
    let unknown = format!("language - must be one of {}", codes.join(", "));
    for (more, error) in [
        (json!({"email": "ada"}), "email - must be an email address"),
        (json!({"email": 7}), "email - must be a string"),
        (json!({"email": ADDRESS, "language": "xx"}), &unknown),
    ] {
        let (status, refusal) = server.post(INVITATIONS, &post.account.key, body(more)).await;
        assert_eq!((status, &refusal["errors"]), (400, &json!([error])), "{refusal}");
    }
    // The sandbox sends letters to members only.
    let server = Server::start(
        backend,
        &post.arguments.iter().map(String::as_str).collect::<Vec<_>>(),
    )
    .await;
    let merchant = server.merchant(true);
    let flow = json!({"name": "data", "defaultFields": {"dob": true}});
    let flow = make_flow(&server, &merchant.id, &flow, &["--sandbox"]);
    let group = json!({"name": "G", "flowIds": [flow]});
    let (_, group) = server.post("/v2/public/groups", &merchant.sandbox, group).await;
    let mut body = json!({"userId": "u", "groupId": group["groupId"], "flowId": flow, "email": ADDRESS});
    let (status, refusal) = server.post(INVITATIONS, &merchant.sandbox, body.clone()).await;
    let error = refusal["errors"][0].as_str().unwrap_or_default();
    assert!(
        status == 400 && error.starts_with("email - must be the address of a member"),
        "{refusal}"
    );
    Browser::sign_up_as(&server, &merchant.id, "auditor", "Ada@Example.org").await;
    let (status, made) = server.post(INVITATIONS, &merchant.sandbox, body.clone()).await;
    assert_eq!(
        (status, &made["mail"]["status"]),
        (200, &json!("queued")),
        "{made}"
    );
    // Without a mail server, or with a limit of 0, the merchant sends the link.
    for arguments in [
        vec![],
        [
            post.arguments.iter().map(String::as_str).collect(),
            vec!["--mail-per-day", "0"],
        ]
        .concat(),
    ] {
        let second = server.second_process(&arguments);
        let (status, refusal) = second.post(INVITATIONS, &merchant.sandbox, body.clone()).await;
        let error = refusal["errors"][0].as_str().unwrap_or_default();
        assert!(
            status == 400 && error.starts_with("email - cannot be used"),
            "{refusal}"
        );
    }
    body["email"] = Value::Null;
    assert_eq!(server.post(INVITATIONS, &merchant.sandbox, body).await.0, 400);
    let all = "select count(*) from applicant_invitations";
    assert_eq!(server.count(all).await, 1, "refused requests create none");
});

on_both!(applicants_are_reminded, |backend| {
    let post = Post::start(backend, json!({"reminderHours": 24}), &[]).await;
    let letter = post.letter();
    let mailed = post.invite().await;
    received(letter).await;
    let by_hand = post.account.invite("data", "user-2").await;
    let body = mailed.wait_for_mail("sent").await;
    assert!(body["remindAt"].is_string() && body["reminders"] == 0, "{body}");
    assert_eq!(post.account.listed("?due=true").await["invitations"], json!([]));

    let letter = post.letter();
    post.sql("update applicant_invitations set remind_at = created_at")
        .await;
    let letter = received(letter).await;
    assert!(letter.contains("Subject: Reminder: Test asks you"), "{letter}");
    assert_eq!(mailed.by_letter(&letter).call(PREVIEW).await.0, 200);
    wait_until(
        async || mailed.get().await["reminders"] == 1,
        "the reminder is counted",
    )
    .await;
    // The merchant reminds those without an address.
    let due = post.account.listed("?due=true").await;
    let ids: Vec<&Value> = due["invitations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["invitationId"])
        .collect();
    assert_eq!(ids, [&json!(by_hand.id)], "{due}");
    assert_eq!(
        post.account.listed("?due=true&userId=user-1").await["invitations"],
        json!([])
    );
    let (status, reminded) = by_hand.remind().await;
    assert_eq!(
        (status, &reminded["reminders"], &reminded["mail"]),
        (200, &json!(1), &Value::Null),
        "{reminded}"
    );
    assert_eq!(post.account.listed("?due=true").await["invitations"], json!([]));
    for token in [
        &by_hand.token,
        reminded["url"]
            .as_str()
            .unwrap()
            .split_once("?invitation=")
            .unwrap()
            .1,
    ] {
        let link = Invited {
            token: token.to_owned(),
            id: by_hand.id.clone(),
            flow: "data".into(),
            user: "user-2".into(),
            account: &post.account,
        };
        assert_eq!(link.call(PREVIEW).await.0, 200);
    }
    // Letters on request are limited.
    mailed.wait_for_mail("sent").await;
    let (status, refusal) = mailed.remind().await;
    assert_eq!(
        (status, &refusal["error"]),
        (429, &json!("email_too_soon")),
        "{refusal}"
    );
    post.sql("update applicant_letters set created_at = created_at - 600000")
        .await;
    let letter = post.letter();
    assert_eq!(mailed.remind().await.0, 200);
    received(letter).await;
    mailed.wait_for_mail("sent").await;
    // Three reminders are enough, and an ended invitation has none.
    post.sql("update applicant_invitations set reminders = 2, remind_at = created_at")
        .await;
    let letter = post.letter();
    received(letter).await;
    wait_until(async || mailed.get().await["reminders"] == 3, "the third").await;
    assert_eq!(mailed.get().await["remindAt"], Value::Null);
    assert_eq!(by_hand.revoke().await.0, 200);
    let (status, refusal) = by_hand.remind().await;
    assert_eq!(
        (status, &refusal["error"]),
        (409, &json!("invitation_ended")),
        "{refusal}"
    );
    assert_eq!(post.account.listed("?due=true").await["invitations"], json!([]));
    for query in ["?due=1", "?due=true&status=open"] {
        let (status, body) = post
            .account
            .server
            .get(&format!("{INVITATIONS}{query}"), &post.account.key)
            .await;
        assert_eq!(status, 400, "{body}");
    }
});

on_both!(a_letter_is_tried_again_and_survives_a_restart, |backend| {
    let post = Post::start(backend, json!({}), &[]).await;
    // An address that the mail server does not know.
    let refusing = tokio::spawn(letter_to(Arc::clone(&post.listener), b"550 no such user\r\n"));
    let refused = post.invite().await;
    received(refusing).await;
    refused.wait_for_mail("failed").await;
    post.hold().await;
    let arguments: Vec<&str> = post.arguments.iter().map(String::as_str).collect();
    let listener = Arc::clone(&post.listener);
    let server = post.account.server.kill_and_restart(&arguments);
    let letter = tokio::spawn(one_letter(listener));
    server.sql(RELEASE).await;
    received(letter).await;
    let sent = "select count(*) from applicant_letters where state = 'sent' and tries = 2";
    wait_until(async || server.count(sent).await == 1, "it is sent").await;
});

on_both!(an_account_has_a_limit_and_a_suspended_one_waits, |backend| {
    // The refused letter counts, too.
    let post = Post::start(backend, json!({}), &["--mail-per-day", "2"]).await;
    let refusing = tokio::spawn(letter_to(Arc::clone(&post.listener), b"550 no such user\r\n"));
    post.invite().await;
    received(refusing).await;
    post.hold().await;
    let [next, ended] = [post.invite().await, post.invite().await];
    const HELD: &str = "select count(*) from applicant_letters where state = 'queued' and handed_at is null
                        and next_try_at > created_at + 800000";
    wait_until(async || post.count(HELD).await == 2, "two wait for the limit").await;
    assert_eq!(ended.revoke().await.0, 200);
    // One that was handed over within the day may be tried again, but not while the account is suspended.
    let server = &post.account.server;
    server.bonafide(&["merchant", "suspend", &post.account.id]);
    post.sql("update applicant_letters set next_try_at = created_at where tries = 1 and state = 'queued'")
        .await;
    let waits = "select count(*) from applicant_letters where state = 'queued' and tries = 1
                 and next_try_at > created_at + 800000";
    wait_until(async || post.count(waits).await == 1, "it waits for the account").await;
    server.bonafide(&["merchant", "approve", &post.account.id]);
    let letter = post.letter();
    post.sql("update applicant_letters set next_try_at = created_at where tries = 1 and state = 'queued'")
        .await;
    received(letter).await;
    let sent = "select count(*) from applicant_letters where state = 'sent'";
    wait_until(async || post.count(sent).await == 1, "it is sent").await;
    // A day later the others are due.
    let letter = post.letter();
    post.sql("update applicant_letters set handed_at = handed_at - 86400001")
        .await;
    post.sql(RELEASE).await;
    received(letter).await;
    next.wait_for_mail("sent").await;
    // An invitation that ended before gets none.
    ended.wait_for_mail("void").await;
});

on_both!(no_letter_holds_up_the_others, |backend| {
    let post = Post::start(backend, json!({"reminderHours": 24}), &[]).await;
    post.hold().await;
    // The record of this invitation cannot be opened, and a mail server's connection is silent.
    let broken =
        "update applicant_invitations set user_id_sealed = substr(user_id_sealed, 2), remind_at = created_at";
    post.sql(broken).await;
    post.sql(RELEASE).await;
    let listener = Arc::clone(&post.listener);
    let silent = tokio::spawn(async move { listener.accept().await.unwrap() });
    let stuck = post.invite().await;
    let connection = silent.await.unwrap();
    let letter = post.letter();
    let sent = post.invite().await;
    received(letter).await;
    sent.wait_for_mail("sent").await;
    assert_eq!(stuck.get().await["mail"]["status"], "queued");
    let broken = "select count(*) from applicant_letters where state = 'queued' and claims >= 2
                  and next_try_at > created_at + 800000";
    wait_until(
        async || post.count(broken).await == 1,
        "the broken one is put back",
    )
    .await;
    drop(connection);
});
