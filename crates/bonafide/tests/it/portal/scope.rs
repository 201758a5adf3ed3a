//! Records of another account do not exist (404), on every route of the portal that takes an ID. The IDs are
//! found like a member would: by following every link and form of an account that has records of every kind.
//! The test fails for a route that nothing links to.

use std::collections::{BTreeMap, BTreeSet};

use portal::routes::Row;
use portal::table;
use reqwest::Method;
use serde_json::{Value, json};
use service::permissions::{Action, Grantee};

use super::Browser;
use crate::harness::{Backend, Key, Server, eventually, on_both};

/// Routes with an ID that belongs to no account.
fn belongs_to_no_account(row: &Row) -> bool {
    // One-time links are for their recipients, and the console is for the installation. The tests of accounts
    // cover members' own sessions.
    row.action == Action::Public
        || row.action.who() == Grantee::Operators
        || row.path.starts_with("/portal/join/")
        || row.path.starts_with("/portal/account/")
}

/// Valid values for any form, so that only the ID is wrong.
const ANYTHING: [(&str, &str); 11] = [
    ("role", "reviewer"),
    ("access", "off"),
    ("name", "Other"),
    ("reason", "Because"),
    ("note", "A note"),
    ("version", "0"),
    ("hit", "demo-1"),
    ("why", "name"),
    ("disposition", "unclear"),
    ("because", "A reason"),
    ("list", "demo"),
];

/// Every address of the portal in these attributes of a page.
fn addresses(page: &str, attributes: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for attribute in attributes {
        for part in page.split(*attribute).skip(1) {
            let value = part
                .split('"')
                .next()
                .unwrap_or_default()
                .replace("&amp;", "&")
                .replace("&#38;", "&");
            let path = value.split(['?', '#']).next().unwrap_or_default();
            if path.starts_with("/portal") && !path.starts_with("/portal/assets/") {
                found.insert(path.to_owned());
            }
        }
    }
    found
}

fn matches(pattern: &str, path: &str) -> bool {
    let (mut wanted, mut there) = (pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), there.next()) {
            (None, None) => return true,
            (Some(wanted), Some(there))
                if wanted == there || wanted.starts_with('{') && !there.is_empty() => {}
            _ => return false,
        }
    }
}

/// The route for a path. A route without placeholders precedes one with placeholders.
fn route<'a>(rows: &'a [Row], method: &Method, path: &str) -> Option<&'a Row> {
    let fitting = rows
        .iter()
        .filter(|row| row.method == *method && matches(row.path, path));
    fitting.min_by_key(|row| row.path.matches('{').count())
}

/// Follows every link from the side bar's pages on. It opens each page once, and only a few of similar pages.
async fn crawl(browser: &Browser, rows: &[Row]) -> BTreeSet<String> {
    let mut waiting: Vec<String> = rows
        .iter()
        .filter(|row| {
            row.method == Method::GET && !row.path.contains('{') && row.action.who() != Grantee::Operators
        })
        .map(|row| row.path.to_owned())
        .collect();
    let mut seen: BTreeSet<String> = waiting.iter().cloned().collect();
    let mut visits: BTreeMap<&str, u32> = BTreeMap::new();
    while let Some(path) = waiting.pop() {
        let Some(row) = route(rows, &Method::GET, &path) else {
            continue;
        };
        let count = visits.entry(row.path).or_default();
        *count += 1;
        if *count > 3 {
            continue;
        }
        let answer = browser.get(&path).await;
        assert!(
            [200, 303].contains(&answer.status),
            "a link leads to {}: {path}: {}",
            answer.status,
            answer.body
        );
        for address in addresses(&answer.body, &["href=\"", "src=\""]) {
            if seen.insert(address.clone()) {
                waiting.push(address);
            }
        }
        seen.extend(addresses(&answer.body, &["action=\""]));
    }
    seen
}

/// A value for each placeholder, from the addresses found.
fn ids(rows: &[Row], there: &BTreeSet<String>) -> BTreeMap<&'static str, String> {
    // An image of an attempt. This account's attempts have none.
    let mut ids = BTreeMap::from([("{name}", "passportFront".to_owned())]);
    for path in there {
        for method in [Method::GET, Method::POST] {
            let Some(row) = route(rows, &method, path) else {
                continue;
            };
            let parts = row.path.split('/').zip(path.split('/'));
            for (name, value) in parts.filter(|(name, _)| name.starts_with('{')) {
                ids.entry(placeholder(row.path, name))
                    .or_insert_with(|| value.to_owned());
            }
        }
    }
    ids
}

/// `{id}` means something different in each area.
fn placeholder(pattern: &'static str, name: &'static str) -> &'static str {
    if name == "{id}" {
        pattern.split("/{id}").next().unwrap_or_default()
    } else {
        name
    }
}

/// A route's address with these IDs.
fn concrete(row: &Row, ids: &BTreeMap<&'static str, String>) -> String {
    let part = |part: &'static str| {
        if !part.starts_with('{') {
            return part.to_owned();
        }
        let found = ids.get(placeholder(row.path, part)).cloned();
        found.unwrap_or_else(|| {
            panic!(
                "no page leads to {} {}: give the account here what it takes, or mend the page",
                row.method, row.path
            )
        })
    };
    row.path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// Creates records of every kind: Flows, Groups, people, queries, webhooks, staff, notes.
async fn furnish(server: &Server, demo: &Value, owner: &Browser) {
    let key = Key::of_demo(demo);
    let flow = server.bonafide(&[
        "portal",
        "invite",
        "--merchant",
        demo["merchantId"].as_str().unwrap(),
        "--role",
        "reviewer",
        "--json",
    ]);
    assert!(flow.contains("/portal/join/"));
    let data_only = demo["flows"]["data-only"].as_str().unwrap();
    let (status, mut whole) = server.get(&format!("/v2/public/flows/{data_only}"), &key).await;
    assert_eq!(status, 200);
    let change = whole.as_object_mut().unwrap();
    change.insert("webhookUrl".into(), json!("https://hooks.example/bonafide"));
    let (status, body) = server
        .put(
            &format!("/v2/public/flows/{data_only}"),
            &key,
            json!({"webhookUrl": "https://hooks.example/bonafide"}),
        )
        .await;
    assert_eq!(status, 200, "{body}");
    for (index, last_name) in ["Velloway", "SANDBOX-2702"].into_iter().enumerate() {
        let form = reqwest::multipart::Form::new()
            .text("flowId", data_only.to_owned())
            .text("externalUserId", format!("user-{index}"))
            .text("firstName", "Maren")
            .text("lastName", last_name);
        let answer = server
            .request(Method::POST, "/v2/idv/verify", &key)
            .multipart(form)
            .send()
            .await
            .unwrap();
        let status = answer.status();
        assert_eq!(status, 200, "{}", answer.text().await.unwrap());
    }
    let passport = &demo["flows"]["passport"];
    let invitation = json!({"userId": "invited", "groupId": demo["groupId"], "flowId": passport});
    let (status, body) = server.post("/v2/sdk/session/invitations", &key, invitation).await;
    assert_eq!(status, 200, "{body}");
    // An alert of ongoing screening.
    let listed = server.dir.path().join("later.ftm.json");
    let entity = json!({"id": "later", "schema": "Person", "properties": {"name": ["Maren Velloway"], "topics": ["sanction"]}});
    // A screening with a score, and therefore with a picture, of a wallet that is listed afterwards.
    let scored = chain::sandbox::address(chain::currency::Currency::Eth, 80)
        .unwrap()
        .canonical;
    let wallet = json!({"id": "w", "schema": "CryptoWallet", "caption": "A wallet", "properties":
        {"publicKey": [scored], "topics": ["sanction"]}});
    let query = json!({"query": scored, "currency": "eth", "type": "address"});
    let _ = server
        .post("/v2/public/transaction-monitoring", &key, query)
        .await;
    std::fs::write(&listed, format!("{entity}\n{wallet}")).unwrap();
    server.bonafide(&["lists", "import", listed.to_str().unwrap()]);
    eventually(async || match server.count("select count(*) from alerts").await {
        0 => Err("there is no alert".to_owned()),
        _ => Ok(()),
    })
    .await;
    eventually(
        async || match server.count("select count(*) from wallet_alerts").await {
            0 => Err("there is no wallet alert".to_owned()),
            _ => Ok(()),
        },
    )
    .await;
    // A change that waits for a second person.
    let account = demo["merchantId"].as_str().unwrap();
    server.bonafide(&["merchant", "set", account, "fourEyes=true"]);
    server.bonafide(&["merchant", "set", account, "screeningThreshold=0.99"]);
    for (path, form) in [
        (
            "/portal/applicants/2/notes",
            vec![("text", "A note"), ("note", "A note")],
        ),
        (
            "/portal/queue/reasons",
            vec![
                ("decision", "decline"),
                ("body", "The document is damaged"),
                ("text", "The document is damaged"),
            ],
        ),
        (
            "/portal/queue/views",
            vec![("name", "Mine"), ("query", "status=pending")],
        ),
    ] {
        let answer = owner.post(path, &form).await;
        assert!(
            [200, 303].contains(&answer.status),
            "{path}: {} {}",
            answer.status,
            answer.body
        );
    }
}

async fn nothing_of_another_account_exists(backend: Backend) {
    let (server, demo) = Server::demo(backend, &[]).await;
    let rows = table();
    let ours = demo["merchantId"].as_str().unwrap();
    let owner = Browser::sign_up(&server, ours, "owner").await;
    Browser::sign_up(&server, ours, "admin").await;
    furnish(&server, &demo, &owner).await;
    let stranger = Browser::sign_up(&server, &server.merchant(true).id, "owner").await;
    let there = crawl(&owner, &rows).await;
    let ids = ids(&rows, &there);
    for row in rows
        .iter()
        .filter(|row| row.path.contains('{') && !belongs_to_no_account(row))
    {
        let path = &concrete(row, &ids);
        let answer = if row.method == Method::GET {
            if there.contains(path) {
                let own = owner.get(path).await;
                assert_ne!(own.status, 404, "{path}: {}", own.body);
            }
            stranger.get(path).await
        } else {
            stranger.post(path, &ANYTHING).await
        };
        assert_eq!(
            answer.status, 404,
            "{} {path}: {:?} {}",
            row.method, answer.location, answer.body
        );
    }
}

on_both!(another_accounts_ids_are_404_on_every_route, |backend| {
    nothing_of_another_account_exists(backend).await;
});
