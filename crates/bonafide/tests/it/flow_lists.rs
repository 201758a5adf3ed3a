//! A Flow may choose the sanctions lists against which its people are screened, at verification and afterwards.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Merchant, Server, eventually, on_both};
use crate::rescreening::looked_at;
use crate::verify::{person, verify};

const OPEN: &str = "select count(*) from alerts where state = 'open'";
const OPENED: &str = "select count(*) from audit where action = 'alert.opened'";
const DELISTED: &str = "select count(*) from alerts where state = 'delisted'";

/// Imports a list of these people, and waits until nobody needs to be looked at against it any more.
async fn import(server: &Server, files: &Path, (list, date): (&str, &str), names: &[&str]) {
    let file = files.join(format!("{list}.ftm.json"));
    let lines = names.iter().map(|name| {
        let entry = json!({"id": format!("{list}-{}", name.replace(' ', "-")), "schema": "Person", "last_seen": date,
            "datasets": [list],
            "properties": {"name": [name], "birthDate": ["1961-02-03"], "topics": ["sanction"]}});
        format!("{entry}\n")
    });
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    server.bonafide(&["lists", "import", "--max-shrink", "100", file.to_str().unwrap()]);
    looked_at(server).await;
}

/// A Flow with these lists, in the shape that [`verify`] expects.
fn flow(server: &Server, merchant: &Merchant, name: &str, lists: &Value) -> Value {
    let flow = server.flow(
        merchant,
        &json!({"name": name, "settings": {"screeningLists": lists}}),
    );
    json!({"apiKey": merchant.sandbox.key, "secret": merchant.sandbox.secret, "flows": {"data-only": flow}})
}

fn choose(server: &Server, merchant: &Merchant, flow: &Value, lists: &Value) {
    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("flow.json");
    std::fs::write(&file, json!({"settings": {"screeningLists": lists}}).to_string()).unwrap();
    let flow = flow["flows"]["data-only"].as_str().unwrap();
    let merchant = &merchant.id;
    server.bonafide(&[
        "flow",
        "update",
        "--flow",
        flow,
        "--merchant",
        merchant,
        "--sandbox",
        "--file",
        file.to_str().unwrap(),
    ]);
}

/// Submits a person, born on 3 February 1961; returns the status and the body.
async fn submit(server: &Server, flow: &Value, (first, last): (&str, &str)) -> (u16, Value) {
    let known = json!({"firstName": first, "lastName": last, "dob": "02/03/1961"});
    verify(server, flow, person(flow, known)).await
}

async fn approve(server: &Server, flow: &Value, (first, last): (&str, &str)) {
    let user = format!("{first}-{last}");
    let known = json!({"firstName": first, "lastName": last, "dob": "02/03/1961", "externalUserId": user});
    let (status, body) = verify(server, flow, person(flow, known)).await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
}

async fn until_open(server: &Server, expected: i64) {
    eventually(async || match server.count(OPEN).await {
        open if open == expected => Ok(()),
        open => Err(format!("{open} alerts are open instead of {expected}")),
    })
    .await;
}

const OTTOLINE: (&str, &str) = ("Ottoline", "Velloway");
const BARNABY: (&str, &str) = ("Barnaby", "Fennimore");
const ISAURA: (&str, &str) = ("Isaura", "Pendrake");

on_both!(an_attempt_is_screened_against_the_lists_of_its_flow, |backend| {
    let server = Server::start(backend, &[]).await;
    let files = tempfile::tempdir().unwrap();
    import(
        &server,
        files.path(),
        ("alpha", "2026-01-01"),
        &["Ottoline Velloway"],
    )
    .await;
    import(
        &server,
        files.path(),
        ("beta", "2026-01-01"),
        &["Barnaby Fennimore"],
    )
    .await;
    let merchant = server.merchant(true);
    let [first, second, any, missing] = [
        ("A", json!(["alpha"])),
        ("B", json!(["beta"])),
        ("any", json!([])),
        ("missing", json!(["alpha", "gamma"])),
    ]
    .map(|(name, lists)| flow(&server, &merchant, name, &lists));
    for (flow, who, used, is_hit) in [
        (&first, OTTOLINE, &["alpha"][..], true),
        (&first, BARNABY, &["alpha"], false),
        (&second, OTTOLINE, &["beta"], false),
        (&second, BARNABY, &["beta"], true),
        (&any, OTTOLINE, &["alpha", "beta"], true),
        (&any, BARNABY, &["alpha", "beta"], true),
    ] {
        let (status, body) = submit(&server, flow, who).await;
        assert_eq!(status, 200, "{body}");
        let screening = &body["kycResults"];
        let lists: Vec<&String> = screening["lists"].as_object().unwrap().keys().collect();
        assert_eq!(lists, used, "{body}");
        assert_eq!(screening["status"] == "match", is_hit, "{who:?} {used:?}: {body}");
    }
    // A list that is not active makes screening unavailable, until it is imported.
    assert_eq!(submit(&server, &missing, ISAURA).await.0, 503);
    assert_eq!(submit(&server, &first, ISAURA).await.0, 200);
    import(
        &server,
        files.path(),
        ("gamma", "2026-01-01"),
        &["Isaura Pendrake"],
    )
    .await;
    let (status, body) = submit(&server, &missing, ISAURA).await;
    assert_eq!(
        (status, &body["kycResults"]["status"]),
        (200, &json!("match")),
        "{body}"
    );
});

on_both!(
    people_are_screened_again_against_the_lists_of_their_flows,
    |backend| {
        let server = Server::start(backend, &[]).await;
        let files = tempfile::tempdir().unwrap();
        let stranger = "Zebulon Quartermain";
        for list in ["alpha", "beta"] {
            import(&server, files.path(), (list, "2026-01-01"), &[stranger]).await;
        }
        let merchant = server.merchant(true);
        let [first, second, any] = [
            ("A", json!(["alpha"])),
            ("B", json!(["beta"])),
            ("any", json!([])),
        ]
        .map(|(name, lists)| flow(&server, &merchant, name, &lists));
        for (flow, who) in [(&first, OTTOLINE), (&second, BARNABY), (&any, ISAURA)] {
            approve(&server, flow, who).await;
        }
        let everybody = [
            stranger,
            "Ottoline Velloway",
            "Barnaby Fennimore",
            "Isaura Pendrake",
        ];
        import(&server, files.path(), ("alpha", "2026-01-02"), &everybody).await;
        assert_eq!(server.count(OPEN).await, 2, "Ottoline and Isaura");
        import(&server, files.path(), ("beta", "2026-01-02"), &everybody[..2]).await;
        assert_eq!(
            server.count(OPEN).await,
            2,
            "Ottoline's Flow does not use the list"
        );
        import(&server, files.path(), ("beta", "2026-01-03"), &everybody[..3]).await;
        assert_eq!(server.count(OPEN).await, 3, "Barnaby");

        // A further list is searched as a whole, and a removed one closes its alerts.
        choose(&server, &merchant, &first, &json!(["alpha", "beta"]));
        until_open(&server, 4).await;
        choose(&server, &merchant, &first, &json!(["beta"]));
        until_open(&server, 3).await;
        assert_eq!((server.count(OPENED).await, server.count(DELISTED).await), (4, 1));
        // Without a choice, the account's lists count again.
        choose(&server, &merchant, &first, &json!([]));
        until_open(&server, 4).await;
        choose(&server, &merchant, &first, &json!(["beta"]));
        until_open(&server, 3).await;

        // A list that is not active closes no alert, and the others are searched meanwhile.
        choose(&server, &merchant, &second, &json!(["beta", "gamma"]));
        import(&server, files.path(), ("beta", "2026-01-04"), &everybody[..2]).await;
        until_open(&server, 2).await;
        import(&server, files.path(), ("beta", "2026-01-05"), &everybody[..3]).await;
        until_open(&server, 3).await;
        import(&server, files.path(), ("gamma", "2026-01-01"), &everybody).await;
        // Isaura's Flow uses every list.
        until_open(&server, 5).await;
        server.bonafide(&["lists", "remove", "gamma"]);
        looked_at(&server).await;
        until_open(&server, 4).await;

        // People of a deleted Flow are still screened against its lists, and no other ones.
        let path = format!(
            "/v2/public/flows/{}",
            second["flows"]["data-only"].as_str().unwrap()
        );
        assert_eq!(server.delete(&path, &merchant.sandbox).await.0, 200);
        import(&server, files.path(), ("beta", "2026-01-06"), &everybody[..2]).await;
        let without_barnaby = server.count(OPEN).await;
        import(&server, files.path(), ("beta", "2026-01-07"), &everybody[..3]).await;
        assert_eq!(server.count(OPEN).await, without_barnaby + 1, "Barnaby");
        import(&server, files.path(), ("alpha", "2026-01-03"), &everybody[..3]).await;
        assert_eq!(
            server.count(OPEN).await,
            without_barnaby,
            "not Barnaby in alpha, and no longer Isaura"
        );
    }
);
