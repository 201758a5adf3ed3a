//! Ongoing screening: people who are approved are looked at again when a list changes, on any node, once.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Server, eventually, on_both};
use crate::nodes::list_file;
use crate::verify::{person, verify};

const OPEN: &str = "select count(*) from alerts where state = 'open'";
const ALL: &str = "select count(*) from alerts";
const EVENTS: &str = "select count(*) from outbox where kind = 'verification.rescreened'";
const ALERTED: &str = "select count(*) from audit where action = 'alert.opened'";

/// Imports a list of these people, and waits until nobody needs to be looked at against it any more.
pub(crate) async fn import(server: &Server, files: &Path, date: &str, names: &[&str]) {
    let file = list_file(files, date, names);
    server.bonafide(&["lists", "import", "--max-shrink", "100", file.to_str().unwrap()]);
    looked_at(server).await;
}

/// Waits until every account was looked at against the lists in use.
pub(crate) async fn looked_at(server: &Server) {
    // Each account has a run in each mode.
    const LEFT: &str = "select 2 * (select count(*) from merchants) - count(*) from rescreenings
        where target is null and finished_at >= (select changed_at from list_sets)";
    eventually(async || match server.count(LEFT).await {
        0 => Ok(()),
        left => Err(format!("{left} runs have not ended")),
    })
    .await;
    eventually(
        async || match server.count("select count(*) from rescreening_requests").await {
            0 => Ok(()),
            left => Err(format!("{left} people wait")),
        },
    )
    .await;
}

/// A sandbox account with a Flow that announces its outcomes; `policy` is its review policy.
fn account(server: &Server, policy: &str) -> Value {
    let merchant = server.merchant(true);
    let flow = server.flow(
        &merchant,
        &json!({"name": "F", "webhookUrl": "https://hooks.invalid/bonafide", "settings": {"reviewPolicy": policy}}),
    );
    json!({"apiKey": merchant.sandbox.key, "secret": merchant.sandbox.secret, "merchantId": merchant.id,
        "flows": {"data-only": flow}})
}

/// Submits a person, born on 3 February 1961; returns the answer.
async fn submit(server: &Server, demo: &Value, (first, last): (&str, &str)) -> Value {
    let user = format!("{first}-{last}");
    let known = json!({"firstName": first, "lastName": last, "dob": "02/03/1961", "externalUserId": user});
    let (status, body) = verify(server, demo, person(demo, known)).await;
    assert_eq!(status, 200, "{body}");
    body
}

on_both!(
    an_approved_person_who_is_listed_later_raises_one_alert,
    |backend| {
        let mut server = Server::start(backend, &[]).await;
        let files = tempfile::tempdir().unwrap();
        import(&server, files.path(), "2026-01-01", &["Zebulon Quartermain"]).await;
        let demo = account(&server, "on_match");
        for name in [
            ("Ottoline", "Velloway"),
            ("Barnaby", "Fennimore"),
            ("Isaura", "Pendrake"),
        ] {
            assert_eq!(submit(&server, &demo, name).await["success"], true);
        }
        // A change that concerns nobody.
        import(
            &server,
            files.path(),
            "2026-01-02",
            &["Zebulon Quartermain", "Zebulon Other"],
        )
        .await;
        assert_eq!(server.count(ALL).await, 0);
        // Another spelling of an approved person.
        let listed = ["Zebulon Quartermain", "Zebulon Other", "Ottoline Veloway"];
        import(&server, files.path(), "2026-01-03", &listed).await;
        assert_eq!((server.count(OPEN).await, server.count(EVENTS).await), (1, 1));
        // It changes no status.
        let approved = "select count(*) from registrations where status = 'approved'";
        assert_eq!(server.count(approved).await, 3);
        // A restart and a further version announce nothing again.
        server = server.kill_and_restart(&[]);
        let more = ["Zebulon Quartermain", "Ottoline Veloway", "Cassius Other"];
        import(&server, files.path(), "2026-01-04", &more).await;
        assert_eq!((server.count(OPEN).await, server.count(EVENTS).await), (1, 1));
        // The stronger hit replaces the weaker one and is announced.
        let exact = ["Zebulon Quartermain", "Ottoline Veloway", "Ottoline Velloway"];
        import(&server, files.path(), "2026-01-05", &exact).await;
        assert_eq!(
            (server.count(OPEN).await, server.count(EVENTS).await),
            (2, 2),
            "another entry"
        );
        // Removed listings close their alerts.
        import(
            &server,
            files.path(),
            "2026-01-06",
            &["Zebulon Quartermain", "Ottoline Velloway"],
        )
        .await;
        let delisted = "select count(*) from alerts where state = 'delisted'";
        assert_eq!((server.count(OPEN).await, server.count(delisted).await), (1, 1));
        // The entry comes back: that is news.
        import(&server, files.path(), "2026-01-07", &exact).await;
        assert_eq!((server.count(OPEN).await, server.count(ALERTED).await), (2, 3));
        // A list that is taken out of use closes all of its alerts.
        let file = files.path().join("other.ftm.json");
        let entry = json!({"id": "o", "schema": "Person", "last_seen": "2026-01-08", "properties": {"name": ["Zebulon Else"]}});
        std::fs::write(&file, entry.to_string()).unwrap();
        server.bonafide(&["lists", "import", file.to_str().unwrap()]);
        server.bonafide(&["lists", "remove", "invented"]);
        eventually(async || match server.count(OPEN).await {
            0 => Ok(()),
            open => Err(format!("{open} are open")),
        })
        .await;
    }
);

on_both!(two_nodes_look_at_everybody_once, |backend| {
    let first = Server::start(backend, &[]).await;
    let files = tempfile::tempdir().unwrap();
    let second = first.another_node(&[], &[]);
    let both = |date: &str, names: &[&str]| {
        let file = list_file(files.path(), date, names);
        for node in [&first, &second] {
            node.bonafide(&["lists", "import", "--max-shrink", "100", file.to_str().unwrap()]);
        }
    };
    both("2026-01-01", &["Zebulon Quartermain"]);
    let demo = account(&first, "on_match");
    let people = [
        "Velloway",
        "Fennimore",
        "Pendrake",
        "Threnody",
        "Ravenscroft",
        "Umberleigh",
    ];
    for last in people {
        assert_eq!(submit(&first, &demo, ("Ottoline", last)).await["success"], true);
    }
    let names: Vec<String> = people.iter().map(|last| format!("Ottoline {last}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    both("2026-01-02", &names);
    looked_at(&first).await;
    assert_eq!(
        (
            first.count(OPEN).await,
            first.count(EVENTS).await,
            first.count(ALERTED).await
        ),
        (6, 6, 6)
    );
});

on_both!(who_is_approved_after_the_lists_changed_is_looked_at, |backend| {
    let server = Server::start(backend, &[]).await;
    let files = tempfile::tempdir().unwrap();
    import(&server, files.path(), "2026-01-01", &["Zebulon Quartermain"]).await;
    let demo = account(&server, "always");
    submit(&server, &demo, ("Ottoline", "Velloway")).await;
    import(&server, files.path(), "2026-01-02", &["Ottoline Velloway"]).await;
    assert_eq!(server.count(ALL).await, 0, "nobody is approved yet");
    let log_id = server.count("select max(log_id) from attempts").await;
    assert_eq!(
        server
            .count("select count(*) from attempts where status = 'pending'")
            .await,
        1
    );
    server.bonafide(&[
        "review",
        "approve",
        &log_id.to_string(),
        "--sandbox",
        "--merchant",
        demo["merchantId"].as_str().unwrap(),
    ]);
    eventually(async || match server.count(OPEN).await {
        1 => Ok(()),
        open => Err(format!("{open} are open")),
    })
    .await;
});

on_both!(a_flow_may_leave_its_people_alone, |backend| {
    let server = Server::start(backend, &[]).await;
    let files = tempfile::tempdir().unwrap();
    import(&server, files.path(), "2026-01-01", &["Zebulon Quartermain"]).await;
    let merchant = server.merchant(true);
    let flow = server.flow(
        &merchant,
        &json!({"name": "F", "settings": {"ongoingScreening": false}}),
    );
    let demo = json!({"apiKey": merchant.sandbox.key, "secret": merchant.sandbox.secret, "flows": {"data-only": flow}});
    assert_eq!(
        submit(&server, &demo, ("Ottoline", "Velloway")).await["success"],
        true
    );
    import(&server, files.path(), "2026-01-02", &["Ottoline Velloway"]).await;
    assert_eq!((server.count(ALL).await, server.count(EVENTS).await), (0, 0));
    // Once the Flow watches its people, what happened meanwhile counts.
    let file = files.path().join("flow.json");
    let on = json!({"name": "F", "settings": {"ongoingScreening": true}});
    std::fs::write(&file, on.to_string()).unwrap();
    server.bonafide(&[
        "flow",
        "update",
        "--flow",
        demo["flows"]["data-only"].as_str().unwrap(),
        "--merchant",
        &merchant.id,
        "--file",
        file.to_str().unwrap(),
        "--sandbox",
    ]);
    eventually(async || match server.count(OPEN).await {
        1 => Ok(()),
        open => Err(format!("{open} are open")),
    })
    .await;
});
