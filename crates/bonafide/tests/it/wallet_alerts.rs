//! Ongoing screening of wallets: an address that is listed after it was screened opens one alert, on any node.

use serde_json::{Value, json};

use crate::harness::{Key, Server, eventually, on_both};
use crate::portal::Browser;

const MONITORING: &str = "/v2/public/transaction-monitoring";
const ALERTS: &str = "/v2/public/transaction-monitoring/alerts";
const OPEN: &str = "select count(*) from wallet_alerts where state = 'open'";
const ALL: &str = "select count(*) from wallet_alerts";
/// An address without labels.
const UNKNOWN: &str = "1BoatSLRHtKNngkdXEeobR76b53LETtpyT";
/// An address with a label.
const LABELLED: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";

/// Imports a list of these wallets, and waits until every account's screenings were compared with it.
async fn import(server: &Server, date: &str, wallets: &[&str]) {
    // No run begins for a list whose content is as before, so each list has another name.
    import_list(server, date, &format!("Zebulon Quartermain {date}"), wallets);
    compared(server).await;
}

/// Imports a list of a person and these wallets.
fn import_list(server: &Server, date: &str, name: &str, wallets: &[&str]) {
    let file = server.dir.path().join("invented.ftm.json");
    let person = json!({"id": "p", "schema": "Person", "last_seen": date, "properties": {"name": [name]}});
    let wallet = |address: &&str| {
        json!({"id": format!("w-{address}"), "schema": "CryptoWallet", "caption": "Invented Wallet", "last_seen": date,
            "properties": {"publicKey": [address], "topics": ["sanction"]}})
        .to_string()
    };
    let lines: Vec<String> = wallets.iter().map(wallet).chain([person.to_string()]).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    server.bonafide(&["lists", "import", "--max-shrink", "100", file.to_str().unwrap()]);
}

async fn compared(server: &Server) {
    // Each account has a run in each mode.
    const LEFT: &str = "select 2 * (select count(*) from merchants) - count(*) from wallet_rescreenings
        where target is null and finished_at >= (select changed_at from list_sets)";
    eventually(async || match server.count(LEFT).await {
        0 => Ok(()),
        left => Err(format!("{left} runs have not ended")),
    })
    .await;
}

async fn screen(server: &Server, key: &Key, address: &str) -> (u16, Value) {
    let query = json!({"type": "address", "query": address, "currency": "btc", "label": "Order 7"});
    server.post(MONITORING, key, query).await
}

async fn alerts(server: &Server, key: &Key, query: &str) -> Value {
    let (status, body) = server.get(&format!("{ALERTS}{query}"), key).await;
    assert_eq!(status, 200, "{body}");
    body
}

on_both!(an_address_that_is_listed_later_raises_one_alert, |backend| {
    let mut server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let key = &merchant.sandbox;
    import(&server, "2026-01-01", &[]).await;
    let labels = server.dir.path().join("mine.csv");
    let row = format!("currency,address,name,category,confidence\nbtc,{LABELLED},Mixy,mixer,80\n");
    std::fs::write(&labels, row).unwrap();
    server.bonafide(&["labels", "import", labels.to_str().unwrap()]);
    // Nothing is known of the one, and a label of the other, as soon as the server has noticed it.
    for _ in 0..2 {
        assert_eq!(screen(&server, key, UNKNOWN).await.0, 404);
    }
    eventually(async || match screen(&server, key, LABELLED).await {
        (200, _) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    // A change that concerns no screened wallet.
    import(&server, "2026-01-02", &["12c6DSiU4Rq3P4ZxziKxzrL5LmMBrzjrJX"]).await;
    assert_eq!(server.count(ALL).await, 0);
    import(&server, "2026-01-03", &[UNKNOWN]).await;
    let found = alerts(&server, key, "?state=open").await;
    let [alert] = found["alerts"].as_array().unwrap().as_slice() else {
        panic!("{found}")
    };
    for (member, value) in [
        ("state", json!("open")),
        ("query", json!(UNKNOWN)),
        ("label", json!("Order 7")),
        ("address", json!(UNKNOWN)),
        ("role", json!("screened")),
        ("list", json!("invented")),
        ("party", json!("Invented Wallet")),
        ("score", json!(null)),
        ("scoreNow", json!(100.0)),
    ] {
        assert_eq!(alert[member], value, "{member}: {alert}");
    }
    // A restart, and a new version that names it as before, open no further one.
    server = server.kill_and_restart(&[]);
    import(&server, "2026-01-04", &[UNKNOWN]).await;
    assert_eq!((server.count(ALL).await, server.count(OPEN).await), (1, 1));
    // The one with a score.
    import(&server, "2026-01-05", &[UNKNOWN, LABELLED]).await;
    let newest = alerts(&server, key, "?limit=1").await;
    assert_eq!(newest["alerts"][0]["address"], LABELLED, "{newest}");
    assert!(newest["alerts"][0]["score"].as_f64().unwrap() < 100.0, "{newest}");
    let next = newest["next"].as_str().unwrap();
    let rest = alerts(&server, key, &format!("?limit=1&before={next}")).await;
    assert_eq!(
        (&rest["alerts"][0]["address"], &rest["next"]),
        (&json!(UNKNOWN), &json!(null))
    );
    for wrong in [
        "?limit=0",
        "?limit=101",
        "?state=some",
        "?before=x",
        "?stat=open",
        "?=true",
        "?limit=1&limit=2",
    ] {
        assert_eq!(
            server.get(&format!("{ALERTS}{wrong}"), key).await.0,
            400,
            "{wrong}"
        );
    }
    let stranger = server.merchant(true);
    assert_eq!(alerts(&server, &stranger.sandbox, "").await["alerts"], json!([]));
    assert_eq!(
        alerts(&server, &merchant.live, "").await["alerts"],
        json!([]),
        "the other mode"
    );
    // The portal shows both. A reviewer closes one with a reason.
    let reviewer = Browser::sign_up(&server, &merchant.id, "reviewer").await;
    let auditor = Browser::sign_up(&server, &merchant.id, "auditor").await;
    let page = reviewer.get("/portal/wallet-alerts").await.page();
    assert!(page.contains(UNKNOWN) && page.contains(LABELLED), "{page}");
    assert!(
        reviewer
            .get("/portal/alerts")
            .await
            .page()
            .contains("Wallet alerts (2)")
    );
    let id = newest["alerts"][0]["alertId"].as_str().unwrap();
    let path = format!("/portal/wallet-alerts/{id}");
    let page = reviewer.get(&path).await.page();
    for text in [
        LABELLED,
        "invented",
        "Invented Wallet",
        "100.0",
        "The screened address itself",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let close = format!("{path}/close");
    assert_eq!(auditor.post(&close, &[("reason", "known")]).await.status, 403);
    assert_eq!(reviewer.post(&close, &[("reason", " ")]).await.status, 400);
    let told = reviewer
        .post(&close, &[("reason", "the customer is blocked")])
        .await
        .redirect();
    assert!(
        reviewer
            .get(&told)
            .await
            .page()
            .contains("the customer is blocked")
    );
    assert_eq!(reviewer.post(&close, &[("reason", "again")]).await.status, 409);
    // It stays closed while the address is listed.
    import(
        &server,
        "2026-01-06",
        &[UNKNOWN, LABELLED, "12c6DSiU4Rq3P4ZxziKxzrL5LmMBrzjrJX"],
    )
    .await;
    assert_eq!((server.count(ALL).await, server.count(OPEN).await), (2, 1));
    // An address that is no longer listed closes its alert.
    import(&server, "2026-01-07", &[LABELLED]).await;
    let states = alerts(&server, key, "").await;
    let states: Vec<&str> = states["alerts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["reviewed", "delisted"]);
    // One that is listed again is news.
    import(&server, "2026-01-08", &[LABELLED, UNKNOWN]).await;
    assert_eq!((server.count(ALL).await, server.count(OPEN).await), (3, 1));
    let told = "select count(*) from audit where action like 'wallet_alert.%'";
    assert_eq!(server.count(told).await, 5);
    assert!(
        !server
            .try_bonafide(&["merchant", "set", &merchant.id, "walletAlertDays=366"])
            .status
            .success()
    );
});

on_both!(
    a_screening_under_lists_of_the_meantime_is_compared_with_those_before,
    |backend| {
        let server = Server::start(backend, &[]).await;
        let merchant = server.merchant(true);
        let (name, other) = ("Zebulon Quartermain", "12c6DSiU4Rq3P4ZxziKxzrL5LmMBrzjrJX");
        import_list(&server, "2026-01-01", name, &[UNKNOWN]);
        compared(&server).await;
        // No run compares the account while it is switched off, so the last one stays the one with the first list.
        server.bonafide(&["merchant", "set", &merchant.id, "walletAlertDays=0"]);
        server.merchant(true);
        let others = async || {
            const ENDED: &str = "select count(*) from wallet_rescreenings
                where target is null and finished_at >= (select changed_at from list_sets)";
            eventually(async || match server.count(ENDED).await {
                2 => Ok(()),
                ended => Err(format!("{ended} runs have ended")),
            })
            .await;
        };
        import_list(&server, "2026-01-02", name, &[other]);
        others().await;
        assert_eq!(screen(&server, &merchant.sandbox, UNKNOWN).await.0, 404);
        import_list(&server, "2026-01-03", name, &[UNKNOWN]);
        others().await;
        assert_eq!(server.count(ALL).await, 0, "it is switched off");
        server.bonafide(&["merchant", "set", &merchant.id, "walletAlertDays=30"]);
        eventually(async || match server.count(OPEN).await {
            1 => Ok(()),
            open => Err(format!("{open} alerts are open")),
        })
        .await;
    }
);
