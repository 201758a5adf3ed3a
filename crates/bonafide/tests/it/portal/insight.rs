//! Overview, figures, API log, audit trail, and the desks for names and wallets.

use serde_json::json;

use super::Browser;
use crate::api_log::written;
use crate::harness::{Backend, Key, Server, on_both};
use crate::verify::{specimen, verify};

/// The address that the first link of a page with such a beginning leads to.
fn link(page: &str, begins: &str) -> String {
    let at = page.find(&format!("href=\"{begins}")).expect(page) + 6;
    page[at..].split('"').next().unwrap().to_owned()
}

on_both!(
    what_a_call_said_is_shown_by_role_and_erased_with_the_person,
    |backend| {
        let (server, demo) = Server::demo(backend, &[]).await;
        let merchant = demo["merchantId"].as_str().unwrap();
        let form = specimen("pass-passport").form(&demo, &json!({"externalUserId": "ada@example.com"}));
        let (status, answer) = verify(&server, &demo, form).await;
        assert_eq!(status, 200, "{answer}");
        let path = "/v2/reports/applicants/byExternalUserId/ada@example.com";
        assert_eq!(server.get(path, &Key::of_demo(&demo)).await.0, 200);
        written(&server, 2).await;

        let officer = Browser::sign_up(&server, merchant, "compliance").await;
        let developer = Browser::sign_up(&server, merchant, "developer").await;
        let list = officer
            .get("/portal/api-log?route=%2Fv2%2Fidv%2Fverify")
            .await
            .page();
        let call = link(&list, "/portal/api-log/");
        let page = officer.get(&call).await.page();
        let first_name = "ada@example.com";
        assert!(page.contains(first_name) && page.contains("facemap_id"), "{page}");
        let audit = officer.get("/portal/audit?action=person").await.page();
        assert!(
            audit.contains("person.viewed") && audit.contains("Robin Example"),
            "{audit}"
        );
        let signed_in = officer.get("/portal/audit?action=staff.signed_in").await.page();
        assert!(
            signed_in.contains("<td>–</td>") && !signed_in.contains("<td>Live</td>"),
            "signing in has no mode: {signed_in}"
        );
        let live = officer.get("/portal/audit?mode=live").await.page();
        assert!(!live.contains("staff.signed_in"), "{live}");

        let masked = developer.get(&call).await.page();
        assert!(
            !masked.contains(first_name) && masked.contains("externalUserId"),
            "{masked}"
        );
        assert!(masked.contains("•••"));
        let list = developer.get("/portal/api-log").await.page();
        assert!(!list.contains(first_name), "no path with a label");

        let facemap = answer["facemap_id"].as_str().unwrap();
        server.bonafide(&["erase", "--merchant", merchant, "--facemap", facemap, "--sandbox"]);
        let page = officer.get(&call).await.page();
        assert!(
            !page.contains(first_name) && page.contains("not here any more"),
            "{page}"
        );
    }
);

on_both!(configuration_calls_are_shown_whole_and_scripts_inert, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let script = "<script>alert(1)</script>";
    let body = json!({"name": script, "flowIds": ["x"]});
    assert_eq!(
        server.post("/v2/public/groups", &merchant.sandbox, body).await.0,
        201
    );
    assert_eq!(
        server
            .post("/v2/public/groups", &merchant.sandbox, json!({}))
            .await
            .0,
        400
    );
    assert_eq!(server.get("/v2/public/groups", &merchant.live).await.0, 200);
    written(&server, 3).await;

    let developer = Browser::sign_up(&server, &merchant.id, "developer").await;
    let list = developer.get("/portal/api-log").await.page();
    assert_eq!(
        list.matches("href=\"/portal/api-log/").count(),
        2,
        "live calls stay with live: {list}"
    );
    let refused = developer.get("/portal/api-log?status=refused").await.page();
    assert_eq!(refused.matches("href=\"/portal/api-log/").count(), 1);
    let call = link(
        &developer.get("/portal/api-log?status=201").await.page(),
        "/portal/api-log/",
    );
    let page = developer.get(&call).await.page();
    assert!(
        !page.contains(script) && page.contains("&#60;script&#62;") || page.contains("&lt;script&gt;"),
        "{page}"
    );
    assert_eq!(developer.get("/portal/api-log?from=yesterday").await.status, 400);
    assert_eq!(developer.get("/portal/api-log?before=x").await.status, 400);

    let stranger = server.merchant(true);
    let other = Browser::sign_up(&server, &stranger.id, "owner").await;
    assert_eq!(other.get(&call).await.status, 404, "another account's call");
    assert!(other.get("/portal/api-log").await.page().contains("No call yet"));
});

on_both!(the_trail_is_filtered_checked_and_exported, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let body = json!({"name": "=1+1", "flowIds": ["x"]});
    assert_eq!(
        server.post("/v2/public/groups", &merchant.sandbox, body).await.0,
        201
    );
    let auditor = Browser::sign_up(&server, &merchant.id, "auditor").await;
    let page = auditor.get("/portal/audit?action=group").await.page();
    assert!(page.contains("group.created"), "{page}");
    assert!(
        !auditor
            .get("/portal/audit?action=group&mode=live")
            .await
            .page()
            .contains("group.created")
    );
    let page = auditor.post("/portal/audit/verify", &[]).await.page();
    assert!(page.contains("The chain is intact"), "{page}");
    let file = auditor.get("/portal/audit/export?action=group").await;
    assert!(
        file.headers["content-disposition"]
            .to_str()
            .unwrap()
            .contains("audit-trail.csv")
    );
    let file = file.page();
    assert!(
        file.starts_with("number,time,mode,actor,name,action,subject,detail\n"),
        "{file}"
    );
    assert!(file.contains("group.created"), "{file}");

    server
        .sql("update audit set action = 'group.deleted' where action = 'group.created'")
        .await;
    let page = auditor.post("/portal/audit/verify", &[]).await.page();
    assert!(page.contains("The chain is broken"), "{page}");
    let stranger = server.merchant(true);
    let other = Browser::sign_up(&server, &stranger.id, "owner").await;
    assert!(
        !other.get("/portal/audit").await.page().contains("group."),
        "another account's trail"
    );
});

on_both!(figures_count_what_happened, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let merchant = demo["merchantId"].as_str().unwrap();
    let owner = Browser::sign_up(&server, merchant, "owner").await;
    let empty = owner.get("/portal/insight").await.page();
    assert!(empty.contains("No verification in this range"), "{empty}");
    let form = specimen("pass-passport").form(&demo, &json!({"externalUserId": "one"}));
    assert_eq!(verify(&server, &demo, form).await.1["success"], json!(true));
    let form = specimen("pass-passport").form(
        &demo,
        &json!({"externalUserId": "two", "lastName": "SANDBOX-2509"}),
    );
    assert_eq!(verify(&server, &demo, form).await.1["success"], json!(false));

    let page = owner.get("/portal/insight?split=device").await.page();
    for text in [
        "Utopia",
        "Passport",
        "Document expired",
        "50.0 %",
        "Sanctions lists in use",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let days = owner.get("/portal/insight/export?what=days").await.page();
    let today = days.lines().last().unwrap();
    assert!(today.contains(",2,1,0,1,0,"), "{days}");
    for what in ["flows", "countries", "documents", "reasons", "funnel", "lists"] {
        let file = owner
            .get(&format!("/portal/insight/export?what={what}"))
            .await
            .page();
        assert!(file.lines().count() >= 1, "{what}: {file}");
    }
    assert!(
        owner
            .get("/portal/insight/export?what=countries")
            .await
            .page()
            .contains("Utopia,2,1,0,1,0")
    );
    assert_eq!(owner.get("/portal/insight/export?what=nothing").await.status, 404);
    assert_eq!(
        owner.get("/portal/insight?from=2020-01-01").await.status,
        400,
        "years are too many"
    );
    let nobodys = "/portal/insight?flow=00000000-0000-0000-0000-000000000000";
    assert_eq!(owner.get(nobodys).await.status, 404);

    let overview = owner.get("/portal").await.page();
    assert!(
        overview.contains("What to do next") && overview.contains("50.0 %"),
        "{overview}"
    );
});

on_both!(names_are_searched_by_hand, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let merchant = demo["merchantId"].as_str().unwrap();
    let reviewer = Browser::sign_up(&server, merchant, "reviewer").await;
    let listed = &sanctions::demo_list().entities[0];
    let name = listed.names[0].clone();
    let found = reviewer
        .search("/portal/screening", &[("name", name.as_str())])
        .await
        .page();
    assert!(
        found.contains("Possible matches: ") && found.contains("What the score is made of"),
        "{found}"
    );
    // All that the list says, compared or not.
    for text in [
        "Soltar Kwentabar",
        "1964-02-29",
        "Passport UTO0000001",
        "Place of birth: Uto",
        "DEMO-PERSONS",
    ] {
        assert!(found.contains(text), "{text}: {found}");
    }
    let nobody = reviewer
        .search(
            "/portal/screening",
            &[("name", "Zzyzx Qwrtplk"), ("dob", "1990-01"), ("kind", "Person")],
        )
        .await
        .page();
    assert!(nobody.contains("Nobody on these lists matches"), "{nobody}");
    for wrong in [("", ""), ("···", ""), ("Anna", "31.12.1990")] {
        let answer = reviewer
            .search("/portal/screening", &[("name", wrong.0), ("dob", wrong.1)])
            .await;
        assert_eq!(answer.status, 400, "{wrong:?}");
    }
    let script = reviewer
        .search("/portal/screening", &[("name", "<b>Anna</b>")])
        .await
        .page();
    assert!(!script.contains("<b>Anna"), "{script}");

    let officer = Browser::sign_up(&server, merchant, "compliance").await;
    let address = reviewer
        .post("/portal/screening", &[("name", name.as_str())])
        .await
        .redirect();
    let (_, sealed) = address.split_once("sealed=").unwrap();
    let written = "select count(*) from audit where action = 'screening.searched'";
    let before = server.count(written).await;
    for (who, address, finds) in [
        (&reviewer, address.clone(), true),
        (&reviewer, address.clone(), true),
        (&reviewer, format!("/portal/people?sealed={sealed}"), false),
        (
            &reviewer,
            format!("/portal/screening?sealed={}", sealed.to_lowercase()),
            false,
        ),
        (&officer, address.clone(), false),
    ] {
        assert_eq!(
            who.get(&address).await.page().contains("Soltar"),
            finds,
            "{address}"
        );
    }
    assert_eq!(
        server.count(written).await,
        before,
        "only the form is written down"
    );
    let switch = |sandbox| reviewer.post("/portal/mode", sandbox);
    switch(&[("sandbox", "false")]).await.redirect();
    let live = reviewer.get(&address).await.page();
    assert!(
        !live.contains("Soltar") && !live.contains(&name),
        "another mode's search"
    );
    switch(&[("sandbox", "true")]).await.redirect();
    assert!(reviewer.get(&address).await.page().contains("Soltar"));
    let long = "x".repeat(5_000);
    assert_eq!(
        reviewer
            .post("/portal/screening", &[("name", &long)])
            .await
            .status,
        400
    );
    let trail = officer
        .get("/portal/audit?action=screening.searched")
        .await
        .page();
    assert!(
        trail.contains("screening.searched") && !trail.contains(&name) && !trail.contains("Zzyzx"),
        "{trail}"
    );
});

#[tokio::test(flavor = "multi_thread")]
async fn reloading_a_search_takes_nothing_from_the_rate() {
    let (server, demo) = Server::demo(Backend::Sqlite, &["--rate-monitoring", "1"]).await;
    let reviewer = Browser::sign_up(&server, demo["merchantId"].as_str().unwrap(), "reviewer").await;
    let search = [("name", "Zoltar Quenthabar")];
    let address = reviewer.post("/portal/screening", &search).await.redirect();
    for _ in 0..5 {
        assert!(reviewer.get(&address).await.page().contains("Soltar"));
    }
}

on_both!(wallets_are_screened_by_hand, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let merchant = demo["merchantId"].as_str().unwrap();
    let reviewer = Browser::sign_up(&server, merchant, "reviewer").await;
    assert!(
        reviewer
            .get("/portal/monitoring")
            .await
            .page()
            .contains("Nothing was screened yet")
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
        "This is no address of BTC: it has a wrong checksum",
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
        page.contains("How the score came about") && page.contains("Flow of money"),
        "{page}"
    );
    let picture = reviewer.get(&format!("{screening}/picture")).await;
    assert_eq!(picture.headers["content-type"], "image/svg+xml");
    // What was kept explains the score also where the API's caller asked for a simple report.
    assert!(page.contains("Scam") || page.contains("scam"), "{page}");
    assert!(!page.contains("Nothing of known risk"), "{page}");
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
        simple.contains("Own label") && !simple.contains("Nothing of known risk"),
        "{simple}"
    );
    for text in [
        "10.0 · Not traced",
        "This does not mean clean",
        "No source that is connected here knows it",
    ] {
        assert!(simple.contains(text), "{text}: {simple}");
    }
    assert!(
        !simple.contains("Nothing may be concluded"),
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
        "80.0 · Grave",
        "45.0 · Of note",
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
    assert!(none.contains("No screening matches"), "{none}");
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
    // The gate stands at the form; what is wrong with a name is told by the page that its form leads to.
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
    // The limit is the account's, whoever of it asks.
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

on_both!(a_missing_list_is_named, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let address = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
    let body = json!({"type": "address", "currency": "btc", "query": address});
    let (status, answer) = server
        .post("/v2/public/transaction-monitoring", &merchant.live, body)
        .await;
    let message = answer["message"].as_str().unwrap();
    assert_eq!((status, &answer["success"]), (503, &json!(false)));
    assert!(
        message.contains("No sanctions list is imported") && message.contains("bonafide lists import"),
        "{message}"
    );
    let reviewer = Browser::sign_up(&server, &merchant.id, "reviewer").await;
    let form = [("kind", "address"), ("currency", "btc"), ("query", address)];
    let refused = reviewer.post("/portal/monitoring", &form).await;
    assert_eq!(refused.status, 503);
    let list = reviewer.get("/portal/monitoring").await.page();
    let page = reviewer.get(&link(&list, "/portal/monitoring/")).await.page();
    for page in [&refused.body, &page] {
        assert!(
            page.contains("No sanctions list is imported") && page.contains("bonafide lists import"),
            "{page}"
        );
        assert!(!page.contains("unreachable"), "{page}");
    }
    assert!(list.contains("No sanctions list<"), "{list}");
});

on_both!(events_and_calls_name_nobody_to_developers, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let flow = demo["flows"]["data-only"].as_str().unwrap().to_owned();
    let hook = json!({"webhookUrl": "https://hooks.example/bonafide"});
    let path = format!("/v2/public/flows/{flow}");
    assert_eq!(server.put(&path, &Key::of_demo(&demo), hook).await.0, 200);
    let form = reqwest::multipart::Form::new()
        .text("flowId", flow)
        .text("externalUserId", "ada@example.com")
        .text("firstName", "Maren")
        .text("lastName", "Velloway");
    let verify = server.request(reqwest::Method::POST, "/v2/idv/verify", &Key::of_demo(&demo));
    let answer = verify.multipart(form).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let request_id = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
    written(&server, 2).await;

    let merchant = demo["merchantId"].as_str().unwrap();
    for (role, sees) in [("admin", true), ("developer", false)] {
        let browser = Browser::sign_up(&server, merchant, role).await;
        let event = link(
            &browser.get("/portal/webhooks").await.page(),
            "/portal/webhooks/events/",
        );
        let page = browser.get(&event).await.page();
        assert_eq!(page.contains("ada@example.com"), sees, "{role}: {page}");
        assert_eq!(page.contains("•••"), !sees, "{role}: {page}");
    }
    // A call is found by its request id, with other filters and without.
    let developer = Browser::sign_up(&server, merchant, "developer").await;
    for (filter, is_found) in [("", true), ("&status=200", true), ("&status=refused", false)] {
        let list = format!("/portal/api-log?request={request_id}{filter}");
        let list = developer.get(&list).await.page();
        let found = list.matches("href=\"/portal/api-log/").count();
        assert_eq!(found, usize::from(is_found), "{filter}: {list}");
    }
});
