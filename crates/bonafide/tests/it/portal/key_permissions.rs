//! Permissions of API keys: an owner with a second factor grants them, and a key that has them reads evidence, declines,
//! proposes, notes, exports and erases, each time in the name of a member.

use reqwest::Method;
use serde_json::{Value, json};

use super::Browser;
use super::accounts::second_factor::set_up;
use super::review::{conclude, decide, listed, merchant, newest, open, status_of};
use crate::harness::{Key, Server, on_both};

const ATTEMPTS: &str = "/v2/reports/attempts";
const PEOPLE: &str = "/v2/reports/applicants";

/// The ids of the members whom the page of a key's permissions offers, by role.
fn members(page: &str) -> Vec<(String, String)> {
    let rows = page.split("name=\"reviewers\" value=\"").skip(1);
    let one = |row: &str| {
        let id = row.split('"').next().unwrap().to_owned();
        let role = row.split("class=\"muted\">").nth(1).unwrap();
        (role.split('<').next().unwrap().to_owned(), id)
    };
    rows.map(one).collect()
}

/// A member's id by role.
fn member<'a>(members: &'a [(String, String)], role: &str) -> &'a str {
    let found = members.iter().find(|(of, _)| of == role);
    &found.unwrap_or_else(|| panic!("{role}: {members:?}")).1
}

async fn facemap(server: &Server, key: &Key, user: &str) -> String {
    let (_, body) = server
        .get(&format!("{PEOPLE}/byExternalUserId/{user}"), key)
        .await;
    body["facemapId"].as_str().unwrap().to_owned()
}

async fn bytes(server: &Server, key: &Key, (method, path): (Method, &str), body: Value) -> (u16, Vec<u8>) {
    let request = server.request(method, path, key).json(&body);
    let response = request.send().await.unwrap();
    (
        response.status().as_u16(),
        response.bytes().await.unwrap().to_vec(),
    )
}

/// An account with an owner who has a second factor, a reviewer, an auditor, and the sandbox key's permissions page.
struct Account {
    server: Server,
    demo: Value,
    key: Key,
    path: String,
    owner: Browser,
    reviewer: Browser,
    members: Vec<(String, String)>,
}

async fn account(backend: crate::harness::Backend) -> Account {
    let (server, demo) = Server::demo(backend, &["--rate-sign-in", "0"]).await;
    let id = merchant(&demo).to_owned();
    let owner = Browser::sign_up(&server, &id, "owner").await;
    let reviewer = Browser::sign_up(&server, &id, "reviewer").await;
    Browser::sign_up(&server, &id, "auditor").await;
    let key = Key::of_demo(&demo);
    let path = format!("/portal/keys/{}/permissions", key.key);
    set_up(&owner).await;
    let members = members(&owner.get(&path).await.page());
    Account {
        server,
        demo,
        key,
        path,
        owner,
        reviewer,
        members,
    }
}

impl Account {
    /// Grants acts, with the reviewer and the owner as responsible members.
    async fn grant(&self, acts: &[&str]) {
        let mut form: Vec<(&str, &str)> = acts.iter().map(|act| ("acts", *act)).collect();
        form.push(("reviewers", member(&self.members, "Owner")));
        if acts.contains(&"decide") {
            form.push(("reviewers", member(&self.members, "Reviewer")));
        }
        let saved = self.owner.post(&self.path, &form).await.redirect();
        assert!(saved.contains("done=permitted"), "{saved}");
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.server.post(path, &self.key, body).await
    }
}

on_both!(only_an_owner_with_a_second_factor_permits_a_key, |backend| {
    let (server, demo) = Server::demo(backend, &["--rate-sign-in", "0"]).await;
    let id = merchant(&demo).to_owned();
    let key = Key::of_demo(&demo);
    let path = format!("/portal/keys/{}/permissions", key.key);
    for role in ["admin", "developer", "compliance"] {
        let other = Browser::sign_up(&server, &id, role).await;
        assert_eq!(other.get(&path).await.status, 403, "{role}");
        let form = [("acts", "read-evidence")];
        assert_eq!(other.post(&path, &form).await.status, 403, "{role}");
        let list = other.get("/portal/keys").await;
        assert!(!list.body.contains("/permissions"), "{role}");
    }
    let owner = Browser::sign_up(&server, &id, "owner").await;
    let page = owner.get(&path).await.page();
    assert!(
        page.contains("Set up an authenticator app or a passkey first"),
        "{page}"
    );
    let granted = owner.post(&path, &[("acts", "read-evidence")]).await;
    assert_eq!(granted.status, 403, "{}", granted.body);
    let trail = "select count(*) from audit where action = 'key.permitted'";
    assert_eq!(server.count(trail).await, 0);

    set_up(&owner).await;
    server.sql("update portal_sessions set proved_at = 0").await;
    let stale = owner.post(&path, &[("acts", "read-evidence")]).await.redirect();
    assert!(stale.starts_with("/portal/prove"), "{stale}");
    assert_eq!(server.count(trail).await, 0);
});

on_both!(what_a_key_may_do_must_be_done_by_somebody, |backend| {
    let account = account(backend).await;
    let Account {
        server, owner, path, ..
    } = &account;
    let reviewer = member(&account.members, "Reviewer");
    assert!(!account.members.iter().any(|(role, _)| role == "Auditor"));
    for (form, reason) in [
        (&[("acts", "approve")][..], "is unknown"),
        (&[("acts", "decide")], "choose at least one member"),
        (
            &[("acts", "erase"), ("reviewers", reviewer)],
            "whose role permits at least one",
        ),
        (
            &[("acts", "decide"), ("acts", "export"), ("reviewers", reviewer)],
            "whose role permits export",
        ),
    ] {
        let refused = owner.post(path, form).await;
        assert_eq!(refused.status, 400, "{form:?}");
        assert!(refused.body.contains(reason), "{form:?}: {}", refused.body);
    }
    account.grant(&["decide", "read-evidence"]).await;
    let list = owner.get("/portal/keys?done=permitted").await.page();
    for text in ["Read evidence", "The permissions are saved."] {
        assert!(list.contains(text), "{list}");
    }
    let page = owner.get(path).await.page();
    assert_eq!(page.matches(" checked").count(), 4, "{page}");

    // Permissions that cannot be read permit nothing, and the key works otherwise.
    server
        .sql("update credentials set permissions = '{\"acts\":[\"all\"]}'")
        .await;
    let key = &account.key;
    assert_eq!(server.get(&format!("{ATTEMPTS}/1/evidence"), key).await.0, 500);
    assert_eq!(server.get(ATTEMPTS, key).await.0, 200);
    assert!(
        owner
            .get("/portal/keys")
            .await
            .page()
            .contains("Unreadable permissions")
    );
    account.grant(&[]).await;
    assert_eq!(server.get(&format!("{ATTEMPTS}/1/evidence"), key).await.0, 403);
});

on_both!(a_key_without_a_permission_is_refused, |backend| {
    let account = account(backend).await;
    let Account {
        server, demo, key, ..
    } = &account;
    listed(server, demo, "one").await;
    let person = facemap(server, key, "one").await;
    let reviewer = member(&account.members, "Reviewer");
    let owner = member(&account.members, "Owner");
    let decline = json!({"decision": "decline", "reason": "copy", "reviewerId": reviewer});
    let by_owner = json!({"reviewerId": owner});
    let calls = [
        (
            "read-evidence",
            Method::GET,
            format!("{ATTEMPTS}/1/evidence"),
            json!({}),
        ),
        (
            "read-evidence",
            Method::GET,
            format!("{ATTEMPTS}/1/files/selfie"),
            json!({}),
        ),
        ("decide", Method::POST, format!("{ATTEMPTS}/1/decision"), decline),
        (
            "decide",
            Method::POST,
            format!("{ATTEMPTS}/1/notes"),
            json!({"text": "n", "reviewerId": reviewer}),
        ),
        (
            "export",
            Method::POST,
            format!("{PEOPLE}/{person}/export"),
            by_owner.clone(),
        ),
        (
            "erase",
            Method::POST,
            format!("{PEOPLE}/{person}/erase"),
            by_owner,
        ),
    ];
    let all = ["read-evidence", "decide", "export", "erase"];
    let others = |act: &str| all.into_iter().filter(|other| *other != act).collect::<Vec<_>>();
    for (act, method, path, body) in calls {
        account.grant(&others(act)).await;
        let (status, answer) = bytes(server, key, (method, &path), body).await;
        let text = String::from_utf8(answer).unwrap();
        assert_eq!(status, 403, "{path}: {text}");
        assert!(text.contains(&format!("lacks the permission {act}")), "{text}");
    }
    assert_eq!(status_of(server, demo, "one").await, "pending");
    // What does not exist.
    account.grant(&all).await;
    let reviewed = json!({"decision": "decline", "reason": "copy", "reviewerId": reviewer});
    for (path, body) in [
        (format!("{ATTEMPTS}/77/decision"), reviewed.clone()),
        (format!("{ATTEMPTS}/x/decision"), reviewed),
        (format!("{PEOPLE}/{owner}/export"), json!({"reviewerId": owner})),
        (format!("{PEOPLE}/{owner}/erase"), json!({"reviewerId": owner})),
    ] {
        let (status, body) = account.post(&path, body).await;
        assert_eq!(status, 404, "{path}: {body}");
    }
});

on_both!(a_key_declines_and_notes_in_a_members_name, |backend| {
    let account = account(backend).await;
    let Account {
        server, demo, key, ..
    } = &account;
    account.grant(&["decide", "read-evidence"]).await;
    listed(server, demo, "one").await;
    let log_id = newest(server).await;
    let path = format!("{ATTEMPTS}/{log_id}");
    let (reviewer, owner) = (
        member(&account.members, "Reviewer"),
        member(&account.members, "Owner"),
    );

    let (status, noted) = account
        .post(
            &format!("{path}/notes"),
            json!({"text": " called ", "reviewerId": reviewer}),
        )
        .await;
    assert_eq!((status, &noted), (200, &json!({"logId": log_id})));
    let (status, seen) = server.get(&format!("{path}/evidence"), key).await;
    assert_eq!(status, 200, "{seen}");
    assert_eq!(seen["status"], "pending");
    assert_eq!(seen["notes"][0]["text"], "called");
    assert_eq!(seen["notes"][0]["writtenBy"], *reviewer);
    assert!(seen["findings"]["info"].is_object(), "{seen}");
    let text = seen.to_string();
    assert!(
        !text.contains("heldFace") && !text.contains("boundFace"),
        "{text}"
    );

    let decision = format!("{path}/decision");
    for (body, expected, part) in [
        (
            json!({"decision": "decline", "reviewerId": reviewer}),
            400,
            "reason - is required",
        ),
        (
            json!({"decision": "reopen", "reviewerId": reviewer}),
            400,
            "in the portal",
        ),
        (
            json!({"decision": "decline", "reason": "copy", "reviewerId": merchant(demo)}),
            403,
            "may not name that member",
        ),
        (
            json!({"decision": "decline", "reason": "copy", "reviewerId": reviewer, "version": 1}),
            409,
            "Review it again",
        ),
    ] {
        let (status, answer) = account.post(&decision, body).await;
        assert_eq!(status, expected, "{answer}");
        assert!(answer.to_string().contains(part), "{answer}");
    }
    // A colleague who reviews the attempt is not passed over.
    decide(&account.reviewer, log_id, "claim", &[]).await.redirect();
    let decline = |who: &str| json!({"decision": "decline", "reason": "copy", "reviewerId": who, "version": seen["version"]});
    assert_eq!(account.post(&decision, decline(owner)).await.0, 409);
    let declined = json!({"logId": log_id, "outcome": "decided", "status": "declined"});
    for _ in 0..2 {
        let answered = account.post(&decision, decline(reviewer)).await;
        assert_eq!(answered, (200, declined.clone()));
    }
    assert_eq!(status_of(server, demo, "one").await, "declined");
    let (_, seen) = server.get(&format!("{path}/evidence"), key).await;
    let actor = format!("{} for staff:{reviewer}", key.key);
    assert_eq!(seen["decisions"][0]["by"], actor, "{seen}");
    assert_eq!(seen["decisions"].as_array().unwrap().len(), 1);
    let page = open(&account.owner, log_id).await;
    assert!(page.contains(&format!("{} (", key.key)), "{page}");
    let trail = account.owner.get("/portal/audit").await.page();
    assert!(
        trail.contains(&actor) && trail.contains(&format!("{} (", key.key)),
        "{trail}"
    );

    // A member without access is responsible for nothing.
    server
        .sql("update memberships set disabled_at = 1 where role = 'reviewer'")
        .await;
    let (status, answer) = account.post(&decision, decline(reviewer)).await;
    assert_eq!(status, 403, "{answer}");
    assert!(answer.to_string().contains("no longer active"), "{answer}");
});

on_both!(an_approval_by_key_waits_for_people, |backend| {
    let account = account(backend).await;
    let Account {
        server,
        demo,
        owner,
        reviewer,
        ..
    } = &account;
    account.grant(&["decide"]).await;
    let by = member(&account.members, "Reviewer");
    let approve = json!({"decision": "approve", "reason": "fits", "reviewerId": by});
    let proposed = |log_id: i64| json!({"logId": log_id, "outcome": "proposed", "status": "pending"});

    // One person where one suffices, even the one whom the key named.
    listed(server, demo, "one").await;
    let log_id = newest(server).await;
    let path = format!("{ATTEMPTS}/{log_id}/decision");
    let (status, refused) = account.post(&path, approve.clone()).await;
    assert_eq!(status, 409, "hits without a conclusion: {refused}");
    conclude(owner, log_id).await;
    for _ in 0..2 {
        assert_eq!(
            account.post(&path, approve.clone()).await,
            (200, proposed(log_id))
        );
    }
    assert_eq!(status_of(server, demo, "one").await, "pending");
    let page = open(reviewer, log_id).await;
    assert!(
        page.contains("proposes: Approve") && !page.contains("command line"),
        "{page}"
    );
    assert!(
        page.contains(&format!("/portal/applicants/{log_id}/confirm")),
        "{page}"
    );
    let queue = reviewer.get("/portal/queue").await.page();
    assert!(queue.contains("an API key"), "{queue}");
    let confirmed = decide(reviewer, log_id, "confirm", &[]).await.redirect();
    assert!(confirmed.contains("done=confirmed"), "{confirmed}");
    assert_eq!(status_of(server, demo, "one").await, "approved");

    // Two where two are required: the key is neither of them.
    server.bonafide(&["merchant", "set", merchant(demo), "fourEyes=true"]);
    listed(server, demo, "two").await;
    let log_id = newest(server).await;
    let path = format!("{ATTEMPTS}/{log_id}/decision");
    let decline = json!({"decision": "decline", "reason": "copy", "reviewerId": by});
    assert_eq!(account.post(&path, decline).await, (200, proposed(log_id)));
    assert_eq!(
        account.post(&path, approve.clone()).await.0,
        409,
        "another is proposed"
    );
    decide(owner, log_id, "reject", &[]).await.redirect();
    conclude(owner, log_id).await;
    assert_eq!(account.post(&path, approve).await, (200, proposed(log_id)));
    let first = decide(reviewer, log_id, "confirm", &[]).await.redirect();
    assert!(first.contains("done=adopted"), "{first}");
    assert_eq!(status_of(server, demo, "two").await, "pending");
    assert_eq!(decide(reviewer, log_id, "confirm", &[]).await.status, 403);
    let second = decide(owner, log_id, "confirm", &[]).await.redirect();
    assert!(second.contains("done=confirmed"), "{second}");
    assert_eq!(status_of(server, demo, "two").await, "approved");
});

on_both!(a_key_exports_and_erases_a_person, |backend| {
    let account = account(backend).await;
    let Account {
        server, demo, key, ..
    } = &account;
    account.grant(&["export", "erase"]).await;
    listed(server, demo, "one").await;
    let person = facemap(server, key, "one").await;
    let named = json!({"reviewerId": member(&account.members, "Owner")});
    let export = format!("{PEOPLE}/{person}/export");
    let (status, zip) = bytes(server, key, (Method::POST, &export), named.clone()).await;
    assert_eq!(status, 200);
    let archive = zip::ZipArchive::new(std::io::Cursor::new(zip)).unwrap();
    assert!(archive.index_for_name("person.json").is_some());
    let erase = format!("{PEOPLE}/{person}/erase");
    assert_eq!(account.post(&erase, json!({})).await.0, 400);
    for attempts in [1, 0] {
        let erased = account.post(&erase, named.clone()).await;
        assert_eq!(erased, (200, json!({"facemapId": person, "attempts": attempts})));
    }
    assert_eq!(account.post(&export, named).await.0, 404);
    assert_eq!(server.count("select count(*) from attempts").await, 0);
    for action in ["person.exported", "person.erased"] {
        let trail = account
            .owner
            .get(&format!("/portal/audit?action={action}"))
            .await
            .page();
        assert!(
            trail.contains(&format!("{} for staff:", key.key)),
            "{action}: {trail}"
        );
    }
});

on_both!(a_permission_ends_at_the_account_and_its_mode, |backend| {
    let account = account(backend).await;
    let Account {
        server, demo, key, ..
    } = &account;
    listed(server, demo, "one").await;
    let person = facemap(server, key, "one").await;
    let other = server.merchant(true);
    let owner = Browser::sign_up(server, &other.id, "owner").await;
    set_up(&owner).await;
    for foreign in [&other.sandbox, &other.live] {
        let mode = if std::ptr::eq(foreign, &other.live) {
            "live"
        } else {
            "sandbox"
        };
        owner
            .post(
                "/portal/mode",
                &[("sandbox", if mode == "live" { "false" } else { "true" })],
            )
            .await
            .redirect();
        let path = format!("/portal/keys/{}/permissions", foreign.key);
        let id = members(&owner.get(&path).await.page()).remove(0).1;
        let mut form: Vec<(&str, &str)> = ["read-evidence", "decide", "export", "erase"]
            .map(|act| ("acts", act))
            .into();
        form.push(("reviewers", &id));
        owner.post(&path, &form).await.redirect();
        assert_eq!(
            owner.get(&account.path).await.status,
            404,
            "a key of another account"
        );
        let named = json!({"reviewerId": id});
        let decline = json!({"decision": "decline", "reason": "copy", "reviewerId": id});
        let note = json!({"text": "n", "reviewerId": id});
        for (method, path, body) in [
            (Method::GET, format!("{ATTEMPTS}/1/evidence"), json!({})),
            (Method::GET, format!("{ATTEMPTS}/1/files/selfie"), json!({})),
            (Method::POST, format!("{ATTEMPTS}/1/decision"), decline),
            (Method::POST, format!("{ATTEMPTS}/1/notes"), note),
            (Method::POST, format!("{PEOPLE}/{person}/export"), named.clone()),
            (Method::POST, format!("{PEOPLE}/{person}/erase"), named),
        ] {
            let (status, answer) = bytes(server, foreign, (method, &path), body).await;
            let text = String::from_utf8_lossy(&answer);
            assert_eq!(status, 404, "{mode} {path}: {text}");
        }
    }
    assert_eq!(status_of(server, demo, "one").await, "pending");
});
