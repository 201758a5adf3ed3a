//! The operator console: processes, merchants and their plans, lists, jobs, and operators.

use super::Browser;
use crate::harness::{Server, eventually, on_both};

on_both!(operators_see_every_process_and_what_it_found, |backend| {
    let server = Server::start(backend, &[]).await;
    let operator = Browser::operator(&server).await;
    let page = operator.get("/portal/operator").await.page();
    // Without lists every verification is refused, and the page states how to fix that.
    assert!(page.contains("bonafide lists import"), "{page}");
    assert!(page.contains("schema up to date"), "{page}");
    assert!(page.contains("workers busy"), "{page}");
    let doctor = server.try_bonafide(&["doctor"]);
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        said.contains("bonafide lists import") && said.contains("schema up to date"),
        "{said}"
    );
    for path in [
        "/portal/operator/lists",
        "/portal/operator/jobs",
        "/portal/operator/merchants",
    ] {
        operator.get(path).await.page();
    }
    let reloaded = operator
        .post("/portal/operator/lists/reload", &[])
        .await
        .redirect();
    assert_eq!(reloaded, "/portal/operator/lists?done=operator.reloaded");
});

on_both!(merchants_are_found_decided_and_limited, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let operator = Browser::operator(&server).await;
    let page = operator
        .get("/portal/operator/merchants?q=TES&status=approved")
        .await
        .page();
    assert!(page.contains(&merchant.id), "{page}");
    for nothing in ["q=%25", "q=_", "q=nobody", "status=suspended"] {
        let page = operator
            .get(&format!("/portal/operator/merchants?{nothing}"))
            .await
            .page();
        assert!(!page.contains(&merchant.id), "{nothing}: {page}");
    }
    let path = format!("/portal/operator/merchants/{}", merchant.id);
    let decide = format!("{path}/decide");
    let silent = operator
        .post(&decide, &[("verdict", "suspend"), ("reason", " ")])
        .await;
    assert_eq!(silent.status, 400, "a reason is needed");
    operator
        .post(
            &decide,
            &[("verdict", "suspend"), ("reason", "<script>alert(1)</script>")],
        )
        .await
        .redirect();
    let page = operator.get(&path).await.page();
    assert!(
        page.contains("Suspended") && !page.contains("<script>alert"),
        "{page}"
    );
    let (status, _) = server.get("/v2/public/flows", &merchant.sandbox).await;
    assert_eq!(status, 403, "shut out at once");
    operator.post(&decide, &[("verdict", "approve")]).await.redirect();
    assert_eq!(server.get("/v2/public/flows", &merchant.sandbox).await.0, 200);
    let twice = operator.post(&decide, &[("verdict", "approve")]).await;
    assert_eq!(twice.status, 409);

    let limits = format!("{path}/limits");
    for wrong in ["-1", "x", "1000001", "1.5"] {
        let answer = operator
            .post(&limits, &[("maxFlows", wrong), ("maxGroups", "")])
            .await;
        assert_eq!(answer.status, 400, "{wrong}");
    }
    operator
        .post(&limits, &[("maxFlows", ""), ("maxGroups", "0")])
        .await
        .redirect();
    let group = serde_json::json!({"name": "One too many", "flowIds": ["none"]});
    assert_eq!(
        server
            .post("/v2/public/groups", &merchant.sandbox, group.clone())
            .await
            .0,
        403
    );
    operator
        .post(&limits, &[("maxFlows", ""), ("maxGroups", "")])
        .await
        .redirect();
    assert_eq!(
        server.post("/v2/public/groups", &merchant.sandbox, group).await.0,
        201
    );

    // The account's own rate limit applies at once; 0 turns it off.
    let read = server.request(reqwest::Method::GET, "/v2/public/flows", &merchant.sandbox);
    let first = read.send().await.unwrap();
    assert_eq!(first.headers()["ratelimit-limit"], "300", "the server's own");
    operator
        .post(&limits, &[("rateReads", "1"), ("rateWrites", "0")])
        .await
        .redirect();
    assert!(operator.get(&path).await.page().contains("value=\"1\""));
    server.sql("delete from rate_limits").await;
    let beside = server.second_process(&[]);
    let statuses = [
        server.get("/v2/public/flows", &merchant.sandbox).await.0,
        beside.get("/v2/public/flows", &merchant.sandbox).await.0,
    ];
    assert_eq!(statuses, [200, 429], "on every process");
    let unlimited = server.request(reqwest::Method::POST, "/v2/public/groups", &merchant.sandbox);
    let unlimited = unlimited.body("{}").send().await.unwrap();
    assert!(!unlimited.headers().contains_key("ratelimit-limit"));
    operator.post(&limits, &[]).await.redirect();
    server.sql("delete from rate_limits").await;
    assert_eq!(server.get("/v2/public/flows", &merchant.sandbox).await.0, 200);

    let nobodys = format!("/portal/operator/merchants/{}", uuid::Uuid::nil());
    assert_eq!(operator.get(&nobodys).await.status, 404);
});

on_both!(operators_let_each_other_in_and_out, |backend| {
    let server = Server::start(backend, &[]).await;
    let first = Browser::operator(&server).await;
    let page = first.submit("/portal/operator/operators/invite", &[]).await;
    assert!(page.contains("/portal/join/"), "{page}");
    let second = Browser::operator(&server).await;
    let page = first.get("/portal/operator/operators").await.page();
    let id = |page: &str| {
        let mark = "/portal/operator/operators/";
        let ids = page
            .match_indices(mark)
            .map(|(at, _)| page[at + mark.len()..].split('/').next().unwrap().to_owned());
        ids.filter(|id| uuid::Uuid::parse_str(id).is_ok())
            .collect::<Vec<_>>()
    };
    let ids = id(&page);
    assert_eq!(ids.len(), 1, "everybody but oneself: {page}");
    let path = format!("/portal/operator/operators/{}/access", ids[0]);
    first.post(&path, &[]).await.redirect();
    assert!(
        second
            .get("/portal/operator")
            .await
            .redirect()
            .starts_with("/portal/sign-in")
    );
    assert_eq!(first.post(&path, &[]).await.status, 404, "no operator any more");
});

on_both!(what_operators_do_is_chained_and_shown, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(false);
    let operator = Browser::operator(&server).await;
    let decide = format!("/portal/operator/merchants/{}/decide", merchant.id);
    operator.post(&decide, &[("verdict", "approve")]).await.redirect();
    operator
        .post("/portal/operator/lists/reload", &[])
        .await
        .redirect();
    server.bonafide(&["merchant", "suspend", &merchant.id]);
    let page = operator.get("/portal/operator/audit").await.page();
    assert!(page.contains("command line"), "{page}");
    for action in [
        "merchant.suspended",
        "operator.joined",
        "merchant.approved",
        "lists.reloaded",
        "staff.signed_in",
    ] {
        assert!(page.contains(action), "{action}: {page}");
    }
    assert!(page.contains("Robin Example"));
    let page = operator.post("/portal/operator/audit/verify", &[]).await.page();
    assert!(page.contains("role=\"status\""), "{page}");
    let told = server.bonafide(&["audit", "verify"]);
    assert!(told.contains("\"trail\":\"operators\""), "{told}");
    let forged = "update operator_audit set subject = 'nothing' where action = 'lists.reloaded'";
    server.sql(forged).await;
    let page = operator.post("/portal/operator/audit/verify", &[]).await.page();
    assert!(page.contains("role=\"alert\""), "{page}");
    assert_eq!(server.try_bonafide(&["audit", "verify"]).status.code(), Some(1));
});

on_both!(jobs_and_imports_are_seen, |backend| {
    let server = Server::start(backend, &[]).await;
    let operator = Browser::operator(&server).await;
    let file = server.dir.path().join("invented.ftm.json");
    let entity = |n: u32| {
        serde_json::json!({"id": format!("x-{n}"), "schema": "Person", "last_seen": "2026-01-02",
            "properties": {"name": [format!("Invented Person {n}")]}})
    };
    let lines = |count: u32| (0..count).map(|n| format!("{}\n", entity(n))).collect::<String>();
    std::fs::write(&file, lines(20)).unwrap();
    let import = ["lists", "import", file.to_str().unwrap()];
    server.bonafide(&import);
    std::fs::write(&file, lines(3)).unwrap();
    assert_eq!(server.try_bonafide(&import).status.code(), Some(1), "it shrinks");
    let page = operator.get("/portal/operator/lists").await.page();
    assert!(page.contains("the list shrinks from 20 to 3"), "{page}");
    // Lists are checked every five seconds, and the outbox every second.
    let page = eventually(async || {
        let page = operator.get("/portal/operator/jobs").await.page();
        match page.matches("badge good").count() >= 4 {
            true => Ok(page),
            false => Err(page),
        }
    })
    .await;
    for job in [
        "Webhook deliveries",
        "Sanctions list monitoring",
        "Removal of attempts after retention",
    ] {
        assert!(page.contains(job), "{job}: {page}");
    }
});
