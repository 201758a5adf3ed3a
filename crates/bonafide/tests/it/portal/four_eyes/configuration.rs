//! Attempts by one person to weaken the configuration of checks.

use serde_json::{Value, json};

use super::{answer, proposal, set_flow, waiting};
use crate::harness::{Key, Server, on_both};
use crate::portal::operators_second::proposals;
use crate::portal::review::{decide, listed, merchant, newest};
use crate::portal::setup::send;
use crate::portal::{Browser, operators_second};

on_both!(nobody_alone_weakens_what_is_checked, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    let flow = demo["flows"]["data-only"].as_str().unwrap();
    let path = format!("/portal/flows/{flow}");
    let ada = Browser::sign_up(&server, &id, "owner").await;
    let bob = Browser::sign_up(&server, &id, "owner").await;
    let strict =
        json!({"fourEyes": true, "reviewPolicy": "always", "matchThreshold": 85, "retentionDays": 300});
    listed(&server, &demo, "zero").await;
    let before_two = newest(&server).await;
    set_flow(&server, &demo, strict);
    listed(&server, &demo, "one").await;
    let log_id = newest(&server).await;
    let settings = async || {
        let page = ada.get(&path).await.page();
        ["fourEyes", "matchThreshold", "retentionDays"].map(|name| {
            let at = page.find(&format!("name=\"{name}\"")).unwrap();
            let from = page[..at].rfind('<').unwrap();
            let tag = page[from..].split('>').next().unwrap();
            (
                tag.contains("checked"),
                tag.split("value=\"")
                    .nth(1)
                    .unwrap_or_default()
                    .split('"')
                    .next()
                    .unwrap()
                    .to_owned(),
            )
        })
    };
    let before = settings().await;

    // Changes by the portal's form, the command line and the privacy page all become proposals.
    for change in [
        ("fourEyes", None),
        ("reviewPolicy", Some("never")),
        ("matchThreshold", Some("10")),
        ("retentionDays", Some("1")),
    ] {
        let page = ada.get(&path).await.page();
        let saved = send(&ada, &path, &page, &[change, ("do", Some("save"))])
            .await
            .redirect();
        assert!(saved.contains("done=change_proposed"), "{change:?} {saved}");
        assert_eq!(settings().await, before, "{change:?}");
        answer(&ada, &proposal(&waiting(&ada).await), "reject")
            .await
            .redirect();
    }
    let kept = ada
        .post("/portal/privacy/retention", &[("flowId", flow), ("days", "1")])
        .await
        .redirect();
    assert!(kept.contains("done=change_proposed"), "{kept}");
    answer(&ada, &proposal(&waiting(&ada).await), "reject")
        .await
        .redirect();
    assert_eq!(settings().await, before);
    let said = set_flow(
        &server,
        &demo,
        json!({"fourEyes": false, "reviewPolicy": "always"}),
    );
    assert!(said.contains("Proposed"), "{said}");
    assert_eq!(settings().await, before);
    let proposed = proposal(&waiting(&ada).await);
    answer(&ada, &proposed, "confirm").await.redirect();
    assert_eq!(
        answer(&ada, &proposed, "confirm").await.status,
        403,
        "one person and the command line are one"
    );
    assert_eq!(settings().await, before);
    // The proposal is outdated, because the Flow changed since.
    let page = ada.get(&path).await.page();
    let saved = send(
        &ada,
        &path,
        &page,
        &[("matchThreshold", Some("90")), ("do", Some("save"))],
    )
    .await
    .redirect();
    assert!(
        saved.contains("done=saved"),
        "a stricter Flow is one person's: {saved}"
    );
    let stale = answer(&bob, &proposed, "confirm").await;
    assert_eq!(stale.status, 409, "{}", stale.body);
    answer(&bob, &proposed, "reject").await.redirect();

    // A key may weaken a Flow by PUT, and the audit trail names the key. Pending attempts still require two
    // people, also after the Flow is deleted.
    let key = Key::of_demo(&demo);
    let (status, body) = server
        .put(
            &format!("/v2/public/flows/{flow}"),
            &key,
            json!({"minAge": 18, "maxAge": 60}),
        )
        .await;
    assert_eq!(status, 200, "{body}");
    let (status, body) = server
        .put(
            &format!("/v2/public/flows/{flow}"),
            &key,
            json!({"minAge": 1, "maxAge": 99}),
        )
        .await;
    assert_eq!(status, 200, "{body}");
    let trail = "select count(*) from audit where action = 'flow.updated' and detail like '%minAge%' and detail like '%weakens%'";
    assert_eq!(server.count(trail).await, 1);
    ada.post(&format!("{path}/delete"), &[]).await.redirect();
    for attempt in [before_two, log_id] {
        let declined = decide(&ada, attempt, "decline", &[("reason", "fits")])
            .await
            .redirect();
        assert!(declined.contains("done=proposed"), "{attempt}: {declined}");
    }

    // The account's own settings, if the account requires two people.
    server.bonafide(&["merchant", "set", &id, "fourEyes=true", "screeningThreshold=0.7"]);
    for change in [
        "fourEyes=false",
        "screeningThreshold=0.99",
        "screeningLists=nothing",
    ] {
        let said = server.bonafide(&["merchant", "set", &id, change]);
        assert!(said.contains("Proposed"), "{change}: {said}");
    }
    let page = ada.get("/portal/branding").await.page();
    let saved = send(
        &ada,
        "/portal/branding",
        &page,
        &[("screeningThreshold", Some("0.98"))],
    )
    .await
    .redirect();
    assert!(saved.contains("done=change_proposed"), "{saved}");
    let page = ada.get("/portal/branding").await.page();
    assert!(page.contains("value=\"0.7\""), "nothing holds yet");
    let made = ada.get("/portal/flows/new").await.page();
    let made = send(
        &ada,
        "/portal/flows/new",
        &made,
        &[("name", Some("Lax")), ("do", Some("save"))],
    )
    .await
    .redirect();
    assert!(
        made.contains("done=change_proposed"),
        "a new Flow may check less: {made}"
    );
    assert!(!ada.get("/portal/flows").await.page().contains("Lax"));
    let page = waiting(&bob).await;
    for text in ["screeningThreshold", "0.98", "Lax", "Create a Flow", "Confirm"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    answer(&bob, &proposal(&page), "confirm").await.redirect();
});

on_both!(nobody_alone_removes_a_list, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let file = server.dir.path().join("invented.ftm.json");
    let entity = json!({"id": "i-1", "schema": "Person", "caption": "Zoltar Quenthabar", "datasets": ["invented"],
        "properties": {"name": ["Zoltar Quenthabar"], "topics": ["sanction"]}});
    std::fs::write(&file, format!("{entity}\n")).unwrap();
    server.bonafide(&["lists", "import", file.to_str().unwrap()]);
    let lists =
        || -> Value { serde_json::from_str(&server.bonafide(&["lists", "status", "--json"])).unwrap() };
    let list = lists()[0]["list"].as_str().unwrap().to_owned();
    server.bonafide(&["merchant", "set", &merchant.id, "fourEyes=true"]);
    let said = server.bonafide(&["lists", "remove", &list]);
    assert!(said.contains("Proposed"), "{said}");
    assert_eq!(lists().as_array().unwrap().len(), 1, "it is still in use");

    let ada = Browser::operator(&server).await;
    let bob = Browser::operator(&server).await;
    let page = ada.get("/portal/operator/lists").await.page();
    let id = proposals(&page).remove(0);
    let by = (&ada, "lists");
    operators_second::answer(&ada, by, &id, "confirm")
        .await
        .redirect();
    assert_eq!(
        operators_second::answer(&ada, by, &id, "confirm").await.status,
        403,
        "one operator is one person"
    );
    assert_eq!(lists().as_array().unwrap().len(), 1);
    let late = Browser::operator(&server).await;
    assert_eq!(
        operators_second::answer(&late, by, &id, "confirm").await.status,
        403,
        "who came after the proposal"
    );
    let unseen = format!("/portal/operator/proposals/{id}/confirm");
    assert_eq!(
        bob.post(&unseen, &[]).await.status,
        400,
        "what was seen is stated"
    );
    let stale = bob.post(&unseen, &[("version", "1")]).await;
    assert_eq!(stale.status, 409, "{}", stale.body);
    operators_second::answer(&bob, by, &id, "confirm")
        .await
        .redirect();
    assert_eq!(lists().as_array().unwrap().len(), 0);
});
