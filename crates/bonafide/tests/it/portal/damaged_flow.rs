//! A Flow that cannot be parsed, in the portal: the other Flows still work, and a page states how to repair
//! the damaged one.

use super::Browser;
use super::review::{conclude, decide, listed, merchant, newest, status_of};
use crate::harness::{Server, on_both};

on_both!(a_damaged_flow_hides_no_other_and_says_what_to_do, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let ada = Browser::sign_up(&server, merchant(&demo), "owner").await;
    let flow = demo["flows"]["data-only"].as_str().unwrap();
    let path = format!("/portal/flows/{flow}");
    let names: Vec<&str> = demo["flows"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert!(names.len() > 1);
    for (sql, member) in [
        (
            r#"update flows set settings = '{"reviewPolicy":"quibble"}' where name = 'data-only'"#,
            "settings.reviewPolicy",
        ),
        (
            r#"update flows set settings = '{"fourEyes":qu' where name = 'data-only'"#,
            "settings",
        ),
    ] {
        server.sql(sql).await;
        let list = ada.get("/portal/flows").await.page();
        for name in &names {
            assert!(list.contains(&format!(">{name}<")), "{name}: {list}");
        }
        for text in ["Cannot be read", flow, "How to repair it"] {
            assert!(list.contains(text), "{text}: {list}");
        }
        assert!(!list.contains(&format!("{path}/duplicate")), "{list}");
        let page = ada.get(&path).await.page();
        for text in [
            "data-only",
            flow,
            "This Flow cannot be read",
            &format!("<code>{member}"),
            "bonafide doctor",
            &format!(
                "bonafide flow update --merchant {} --flow {flow} --sandbox --file",
                merchant(&demo)
            ),
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert!(
            !page.contains("<form method=\"post\" action=\"/portal/flows"),
            "{page}"
        );
        assert!(
            !page.contains("quibble") && !list.contains("quibble"),
            "no value is repeated"
        );
        // Another Flow can still be edited.
        let other = names.iter().find(|name| **name != "data-only").unwrap();
        let other = demo["flows"][*other].as_str().unwrap();
        ada.get(&format!("/portal/flows/{other}")).await.page();
    }
    server
        .sql("update flows set settings = '{}' where name = 'data-only'")
        .await;
    assert!(!ada.get("/portal/flows").await.page().contains("Cannot be read"));
    assert!(ada.get(&path).await.page().contains("name=\"updatedAt\""));
});

on_both!(
    a_damaged_flow_stops_no_review_and_lets_nobody_decide_alone,
    |backend| {
        let (server, demo) = Server::demo(backend, &[]).await;
        let ada = Browser::sign_up(&server, merchant(&demo), "owner").await;
        let bob = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
        listed(&server, &demo, "one").await;
        let log_id = newest(&server).await;
        conclude(&ada, log_id).await;
        // The Flow of an attempt: it cannot be determined whether it requires two people.
        server
            .sql(r#"update flows set settings = '{"fourEyes":qu' where name = 'data-only'"#)
            .await;
        let proposed = decide(&ada, log_id, "approve", &[("reason", "fits")])
            .await
            .redirect();
        assert!(proposed.contains("done=proposed"), "{proposed}");
        decide(&bob, log_id, "confirm", &[]).await.redirect();
        assert_eq!(status_of(&server, &demo, "one").await, "approved");
        ada.get("/portal/privacy").await.page();
        let flow = demo["flows"]["data-only"].as_str().unwrap();
        ada.post(&format!("/portal/flows/{flow}/delete"), &[])
            .await
            .redirect();
        assert_eq!(
            server.count("select count(*) from deleted_four_eyes_flows").await,
            1,
            "what waits still needs two people"
        );
    }
);
