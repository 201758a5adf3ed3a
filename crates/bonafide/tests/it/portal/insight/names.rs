//! Screening of names by hand.

use serde_json::json;

use super::link;
use crate::harness::{Backend, Server, on_both};
use crate::portal::Browser;

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
        found.contains("Possible matches: ") && found.contains("Score details and other data"),
        "{found}"
    );
    // All properties of the listing are shown, compared or not.
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
    assert!(nobody.contains("No matches on these lists"), "{nobody}");
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

on_both!(a_file_of_customers_is_screened_and_not_stored, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let browser = Browser::sign_up(&server, demo["merchantId"].as_str().unwrap(), "reviewer").await;
    let listed = sanctions::demo_list().entities[0].names[0].clone();
    let upload = async |content: String, result: &'static str| {
        let part = reqwest::multipart::Part::bytes(content.into_bytes()).file_name("customers.csv");
        let form = reqwest::multipart::Form::new()
            .part("file", part)
            .text("result", result);
        let request = browser
            .request(reqwest::Method::POST, "/portal/screening/file")
            .header("origin", &server.base)
            .header("sec-fetch-site", "same-origin")
            .multipart(form);
        browser.send(request).await
    };
    let file =
        format!("id,name,country,note\n1,{listed},,x\n2,Ferdinand Okonkwo-Vandermeer,Atlantis,\n3,,,\n");
    let table = upload(file.clone(), "table").await;
    assert_eq!(table.status, 200);
    let rows: Vec<&str> = table.body.lines().collect();
    assert_eq!(rows.len(), 4, "{}", table.body);
    assert!(rows[1].contains(",match,") && rows[2].contains(",clear,") && rows[3].contains(",not-screened,"));
    let report = upload(file, "report").await;
    assert_eq!(report.status, 200);
    assert!(
        report.body.contains(&listed)
            && report.body.contains("nothing to screen")
            && report.body.contains("note")
    );
    for (content, part) in [
        (String::new(), "Choose a file."),
        ("name,dob\n".into(), "no customers"),
        ("e-mail\nx\n".into(), "no column has names"),
        (
            format!("name\n{}", "Ann\n".repeat(20_001)),
            "more than 20000 customers",
        ),
    ] {
        let refused = upload(content, "report").await;
        assert_eq!(refused.status, 400);
        assert!(refused.body.contains(part), "{part}: {}", refused.body);
    }
    let (rows, named) = (
        "select count(*) from audit where action = 'screening.searched' and subject = 'by file'",
        "select count(*) from audit where detail like '%Okonkwo%'",
    );
    assert_eq!((server.count(rows).await, server.count(named).await), (2, 0));
    assert!(!server.log().await.contains("Okonkwo"));
});
