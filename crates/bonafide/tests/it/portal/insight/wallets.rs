//! Screening of wallets by hand, and its rate limits.

use serde_json::json;

use super::link;
use crate::harness::{Key, Server, on_both};
use crate::portal::Browser;

on_both!(wallets_are_screened_by_hand, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let merchant = demo["merchantId"].as_str().unwrap();
    let reviewer = Browser::sign_up(&server, merchant, "reviewer").await;
    assert!(
        reviewer
            .get("/portal/monitoring")
            .await
            .page()
            .contains("No screenings yet")
    );
    let auditor = Browser::sign_up(&server, merchant, "auditor").await;
    let looked_at = auditor.get("/portal/monitoring").await.page();
    assert!(
        !looked_at.contains("action=\"/portal/monitoring\""),
        "auditors only look: {looked_at}"
    );
    let wrong = reviewer
        .post(
            "/portal/monitoring",
            &[("kind", "address"), ("currency", "btc"), ("query", "nonsense")],
        )
        .await;
    assert_eq!(wrong.status, 400);
    let trail = async |detail: &'static str| server.count(detail).await;
    let refused = "select count(*) from audit where action = 'screening.wallet' and subject = 'by hand' and detail = '{\"refused\":400}'";
    assert_eq!(
        trail(refused).await,
        1,
        "a refusal leaves a row, without what was typed"
    );
    for text in [
        "This is not a valid address of BTC: it has a wrong checksum",
        "value=\"nonsense\"",
        "aria-describedby=\"h-query\"",
    ] {
        assert!(wrong.body.contains(text), "{text}: {}", wrong.body);
    }
    let secret = "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ";
    let pasted = [
        ("kind", "address"),
        ("currency", "btc"),
        ("query", secret),
        ("label", secret),
    ];
    let wrong = reviewer.post("/portal/monitoring", &pasted).await;
    assert_eq!(wrong.status, 400);
    assert!(
        wrong.body.contains("looks like a secret") && !wrong.body.contains(secret),
        "{}",
        wrong.body
    );

    assert_eq!(trail(refused).await, 2);

    let address = |outcome| {
        chain::sandbox::address(chain::currency::Currency::Eth, outcome)
            .unwrap()
            .canonical
    };
    let form = |query: &str| -> Vec<(&str, String)> {
        vec![
            ("kind", "address".into()),
            ("currency", "eth".into()),
            ("query", query.into()),
            ("label", "by hand".into()),
        ]
    };
    let screen = async |outcome| {
        let form = form(&address(outcome));
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        reviewer.post("/portal/monitoring", &form).await
    };
    let screening = screen(80).await.redirect();
    let page = reviewer.get(&screening).await.page();
    assert!(
        page.contains("How the score was calculated") && page.contains("Flow of funds"),
        "{page}"
    );
    let picture = reviewer.get(&format!("{screening}/picture")).await;
    assert_eq!(picture.headers["content-type"], "image/svg+xml");
    // The stored evidence explains the score even if the API's caller requested a simple report.
    assert!(page.contains("Scam") || page.contains("scam"), "{page}");
    assert!(!page.contains("No exposure to a risk category"), "{page}");
    let drawn = reviewer.get(&format!("{screening}/picture")).await.body;
    assert!(!drawn.contains("0.0 %"), "{drawn}");
    let unlabelled = [("kind", "address"), ("currency", "eth"), ("query", &address(45))];
    let unlabelled = reviewer.post("/portal/monitoring", &unlabelled).await.redirect();
    let unlabelled = reviewer.get(&unlabelled).await.page();
    assert!(
        unlabelled.contains("Portal query") && !unlabelled.contains("API Query"),
        "{unlabelled}"
    );
    let failed = screen(503).await;
    assert_eq!(failed.status, 503);
    assert!(failed.body.contains("source is unreachable"), "{}", failed.body);
    let failed = reviewer.get("/portal/monitoring").await.page();
    let failed = link(&failed, "/portal/monitoring/");
    let id = failed.trim_start_matches("/portal/monitoring/");
    let unanswered = format!(
        "select count(*) from audit where action = 'screening.wallet' and subject = '{id}' and detail = '{{\"failed\":\"unreachable\"}}'"
    );
    assert_eq!(
        trail(unanswered.leak()).await,
        1,
        "so does a failure, and its query is kept"
    );
    let failed = reviewer.get(&failed).await.page();
    assert!(
        failed.contains("There is no score") && !failed.contains("/again"),
        "what never was is not made again: {failed}"
    );

    let body = json!({"type": "address", "currency": "eth", "label": "by the API", "query": address(10)});
    assert_eq!(
        server
            .post("/v2/public/transaction-monitoring", &Key::of_demo(&demo), body)
            .await
            .0,
        200
    );
    let simple = reviewer
        .search("/portal/monitoring-search", &[("label", "by the API")])
        .await
        .page();
    let simple = reviewer.get(&link(&simple, "/portal/monitoring/")).await.page();
    assert!(
        simple.contains("Own label") && !simple.contains("No exposure to a risk category"),
        "{simple}"
    );
    for text in [
        "10.0 · Not traced",
        "This does not mean clean",
        "No connected source contains this address",
    ] {
        assert!(simple.contains(text), "{text}: {simple}");
    }
    assert!(
        !simple.contains("Do not draw any conclusion"),
        "there is a score: {simple}"
    );
    assert!(!simple.contains("badge good"), "nothing was traced: {simple}");
    let listed = reviewer.get("/portal/monitoring").await.page();
    assert!(!listed.contains("badge good"), "{listed}");
    for text in [
        "by the API",
        "by hand",
        "Source unreachable",
        "10.0 · Not traced",
        "80.0 · High risk",
        "45.0 · Elevated risk",
    ] {
        assert!(listed.contains(text), "{text}: {listed}");
    }
    let found = reviewer
        .search("/portal/monitoring-search", &[("label", "by hand")])
        .await
        .page();
    assert!(
        found.contains(&screening) && !found.contains("by the API<"),
        "{found}"
    );
    let none = reviewer
        .search("/portal/monitoring-search", &[("label", "nobody's")])
        .await
        .page();
    assert!(none.contains("No screenings match"), "{none}");
    let stranger = server.merchant(true);
    let other = Browser::sign_up(&server, &stranger.id, "owner").await;
    assert_eq!(
        other.get(&screening).await.status,
        404,
        "another account's screening"
    );
    assert_eq!(other.get(&format!("{screening}/picture")).await.status, 404);
});

on_both!(the_gate_stands_before_screening_by_hand_too, |backend| {
    let server = Server::start(backend, &["--rate-monitoring", "2"]).await;
    let draft = server.merchant(false);
    let owner = Browser::sign_up(&server, &draft.id, "owner").await;
    let wallet = [("kind", "address"), ("currency", "eth"), ("query", "nonsense")];
    let forms = [("/portal/monitoring", &wallet[..]), ("/portal/screening", &[])];
    // The form is rate-limited. The page that it leads to reports errors in the name.
    let send = async |who: &Browser, path: &str, form: &[(&str, &str)]| {
        let answer = who.post(path, form).await;
        match &answer.location {
            Some(page) => who.get(page).await,
            None => answer,
        }
    };
    owner
        .post("/portal/mode", &[("sandbox", "false")])
        .await
        .redirect();
    for (path, form) in forms {
        let live = send(&owner, path, form).await;
        assert_eq!(live.status, 403, "{path}: {}", live.body);
        assert!(live.body.contains("not completed or approved"), "{}", live.body);
        owner.get(path).await.page();
    }
    owner
        .post("/portal/mode", &[("sandbox", "true")])
        .await
        .redirect();
    for (path, form) in forms {
        assert_eq!(send(&owner, path, form).await.status, 400, "{path}");
    }
    // The limit applies to the account, whichever member sends the form.
    let admin = Browser::sign_up(&server, &draft.id, "admin").await;
    for (path, form) in forms {
        let refused = send(&admin, path, form).await;
        assert_eq!(refused.status, 429, "{path}: {}", refused.body);
        assert!(refused.headers.contains_key("retry-after"));
    }
});

on_both!(who_only_looks_uses_up_nobodys_screenings, |backend| {
    let (server, demo) = Server::demo(backend, &["--rate-monitoring", "1"]).await;
    let merchant = demo["merchantId"].as_str().unwrap();
    let auditor = Browser::sign_up(&server, merchant, "auditor").await;
    let reviewer = Browser::sign_up(&server, merchant, "reviewer").await;
    let search = [("name", "Zzyzx Qwrtplk")];
    for status in [303, 429] {
        assert_eq!(auditor.post("/portal/screening", &search).await.status, status);
    }
    for status in [303, 429] {
        assert_eq!(reviewer.post("/portal/screening", &search).await.status, status);
    }
});
