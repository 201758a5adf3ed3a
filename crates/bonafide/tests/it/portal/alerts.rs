//! Alerts of ongoing screening in the portal: who may decide, what a decision changes, and what it never changes.

use serde_json::{Value, json};

use super::Browser;
use crate::harness::{Backend, Server, eventually, on_both};
use crate::portal::review::merchant;
use crate::rescreening::looked_at;
use crate::verify::{person, verify};

const PEOPLE: [&str; 3] = ["Velloway", "Fennimore", "Pendrake"];

/// A list of these people of the given version, and no others.
fn import(server: &Server, date: &str, people: &[&str]) {
    let file = server.dir.path().join("later.ftm.json");
    let entity = |last: &&str| {
        json!({"id": format!("later-{last}"), "schema": "Person", "caption": format!("Ottoline {last}"), "last_seen": date,
            "properties": {"name": [format!("Ottoline {last}")], "topics": ["sanction"]}})
        .to_string()
    };
    let lines: Vec<String> = people.iter().map(entity).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    server.bonafide(&["lists", "import", "--max-shrink", "100", file.to_str().unwrap()]);
}

async fn wait_for(server: &Server, sql: &'static str, expected: i64) {
    eventually(async || match server.count(sql).await {
        found if found == expected => Ok(()),
        found => Err(format!("{found} instead of {expected}: {sql}")),
    })
    .await;
}

const OPEN: &str = "select count(*) from alerts where state = 'open'";

/// The demo account with three approved people who are listed afterwards.
async fn stage(backend: Backend) -> (Server, Value) {
    let (server, demo) = Server::demo(backend, &[]).await;
    for last in PEOPLE {
        let known = json!({"firstName": "Ottoline", "lastName": last, "externalUserId": last});
        let (status, body) = verify(&server, &demo, person(&demo, known)).await;
        assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
    }
    import(&server, "2026-01-01", &PEOPLE);
    wait_for(&server, OPEN, 3).await;
    (server, demo)
}

/// The id and the version of the alert about a person, as the list shows them.
async fn alert_of(browser: &Browser, last: &str) -> (String, String) {
    let list = browser.get("/portal/alerts").await.page();
    for link in list.split("href=\"/portal/alerts/").skip(1) {
        let id = link.split('"').next().unwrap().to_owned();
        if id.len() != 36 {
            continue;
        }
        let page = browser.get(&format!("/portal/alerts/{id}")).await.page();
        if page.contains(&format!("Ottoline {last}")) {
            let version = page
                .split("data-version=\"")
                .nth(1)
                .unwrap()
                .split('"')
                .next()
                .unwrap();
            return (id, version.to_owned());
        }
    }
    panic!("no alert about {last}: {list}");
}

on_both!(alerts_are_decided_and_change_no_status, |backend| {
    let (server, demo) = stage(backend).await;
    let ada = Browser::sign_up(&server, merchant(&demo), "compliance").await;
    let auditor = Browser::sign_up(&server, merchant(&demo), "auditor").await;
    let reviewer = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    let (first, version) = alert_of(&ada, "Velloway").await;
    let path = format!("/portal/alerts/{first}/decide");
    let page = ada.get(&format!("/portal/alerts/{first}")).await.page();
    assert!(
        page.contains("later") && page.contains("the whole list was searched"),
        "{page}"
    );
    let form = |conclusion: &'static str, why: &'static str, reason: &'static str| {
        [("conclusion", conclusion), ("why", why), ("reason", reason)]
    };
    let sent =
        |rest: [(&'static str, &'static str); 3]| [&rest[..], &[("version", version.as_str())]].concat();
    for (why, refused) in [
        ("no reason", form("same_person", "", " ")),
        ("no detail", form("other_person", "", "born elsewhere")),
        ("no conclusion", form("", "", "born elsewhere")),
    ] {
        assert_eq!(ada.post(&path, &sent(refused)).await.status, 400, "{why}");
    }
    let other = sent(form("other_person", "birth_date", "born elsewhere"));
    assert_eq!(auditor.post(&path, &other).await.status, 403);
    assert_eq!(reviewer.post(&path, &other).await.status, 403, "not a rule maker");
    let outdated = [("version", "1"), ("conclusion", "same_person"), ("reason", "x")];
    assert_eq!(ada.post(&path, &outdated).await.status, 409);
    assert_eq!(server.count(OPEN).await, 3);
    // A colleague's claim.
    reviewer
        .post(&format!("/portal/alerts/{first}/claim"), &[])
        .await
        .redirect();
    assert_eq!(ada.post(&path, &other).await.status, 409);
    reviewer
        .post(&format!("/portal/alerts/{first}/release"), &[])
        .await
        .redirect();
    ada.post(&path, &other).await.redirect();
    assert_eq!(ada.post(&path, &other).await.status, 409, "it is closed");
    assert_eq!(server.count("select count(*) from suppressions").await, 1);
    // Same person: the attempt stays approved until somebody declines it.
    let (second, version) = alert_of(&reviewer, "Fennimore").await;
    let same = [
        ("version", version.as_str()),
        ("conclusion", "same_person"),
        ("reason", "same passport"),
    ];
    reviewer
        .post(&format!("/portal/alerts/{second}/decide"), &same)
        .await
        .redirect();
    let page = reviewer.get(&format!("/portal/alerts/{second}")).await.page();
    assert!(
        page.contains("same passport") && page.contains("decline the approved attempt"),
        "{page}"
    );
    let list = reviewer.get("/portal/alerts").await.page();
    assert!(
        list.contains(&second) && list.contains("Still approved"),
        "{list}"
    );
    assert!(!list.contains(&first), "a closed one: {list}");
    assert_eq!(
        server
            .count("select count(*) from registrations where status = 'approved'")
            .await,
        3
    );
    // A further version of the same entries announces nothing again; a decided hit that goes and comes back neither.
    import(&server, "2026-01-02", &PEOPLE[2..]);
    looked_at(&server).await;
    import(&server, "2026-01-03", &PEOPLE);
    looked_at(&server).await;
    assert_eq!(
        (
            server.count(OPEN).await,
            server.count("select count(*) from alerts").await
        ),
        (1, 3)
    );
    // The audit trail names neither list nor entry.
    let told = "select count(*) from audit where action like 'alert.%' and (detail like '%later%' or subject like '%later%')";
    assert_eq!(server.count(told).await, 0);
    let file = ada.get("/portal/alerts.csv?state=all").await;
    assert!(
        file.body.contains("Velloway") && file.body.contains("born elsewhere"),
        "{}",
        file.body
    );
    // A reviewer's word can be taken back.
    ada.post(&format!("/portal/alerts/{first}/reopen"), &[])
        .await
        .redirect();
    assert_eq!(server.count(OPEN).await, 2);
});

on_both!(
    where_two_people_are_required_a_second_one_closes_an_alert,
    |backend| {
        let (server, demo) = stage(backend).await;
        let ada = Browser::sign_up(&server, merchant(&demo), "compliance").await;
        let bob = Browser::sign_up(&server, merchant(&demo), "compliance").await;
        server.bonafide(&["merchant", "set", merchant(&demo), "fourEyes=true"]);
        let list = ada.get("/portal/alerts").await.page();
        let ids: Vec<&str> = list
            .split("name=\"ids\" value=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
            .collect();
        assert_eq!(ids.len(), 3, "{list}");
        let mut form: Vec<(&str, &str)> = ids.iter().map(|id| ("ids", *id)).collect();
        form.extend([
            ("conclusion", "other_person"),
            ("why", "name"),
            ("reason", "three namesakes"),
        ]);
        let told = ada.post("/portal/alerts/decide", &form).await.redirect();
        assert!(ada.get(&told).await.page().contains("Proposed: 3"), "{told}");
        assert_eq!(server.count(OPEN).await, 3, "nothing is closed by one person");
        let page = bob.get("/portal/second").await.page();
        let proposal = page.split("data-proposal=\"").nth(1).unwrap();
        let (id, rest) = proposal.split_once('"').unwrap();
        let version = rest
            .split("data-version=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        let path = format!("/portal/second/{id}/confirm");
        let own = ada.post(&path, &[("version", version)]).await;
        assert_eq!(own.status, 403, "{}", own.body);
        bob.post(&path, &[("version", version)]).await.redirect();
        assert_eq!(server.count(OPEN).await, 2);
        let confirmed =
            "select count(*) from suppressions where confirmed_by is not null and confirmed_by <> staff_id";
        assert_eq!(server.count(confirmed).await, 1);
    }
);
