//! Settings and Flows that cannot be parsed, because a newer program wrote them or a person edited them.
//! Every request that depends on them is refused and records nothing. `doctor`, the log and the operator
//! console name the member.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Key, Server, answer, on_both};
use crate::portal::Browser;
use crate::verify::{demo_person, verify};

on_both!(settings_changed_by_hand_refuse_everything, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let (id, key) = (demo["merchantId"].as_str().unwrap(), Key::of_demo(&demo));
    let operator = Browser::operator(&server).await;
    let member = Browser::sign_up(&server, id, "admin").await;
    let doctor = || String::from_utf8(server.try_bonafide(&["doctor"]).stdout).unwrap();
    assert!(
        doctor().contains("accounts and their Flows can be read"),
        "{}",
        doctor()
    );

    // `fourEyes` as a text, and a country that does not exist.
    server
        .sql(r#"update merchants set settings = '{"fourEyes":"quibble","blockedCountries":["Quibble"],"brandName":"Acme"}'"#)
        .await;
    let request = server.request(Method::POST, "/v2/idv/verify", &key);
    let refused = request.multipart(demo_person(&demo, "ada")).send().await.unwrap();
    assert_eq!(refused.headers()["retry-after"], "5");
    let (status, body) = answer(refused).await;
    assert_eq!((status, &body["success"]), (503, &json!(false)), "{body}");
    let message = body["message"].as_str().unwrap();
    assert!(
        message.contains("settings") && message.contains("bonafide doctor"),
        "{message}"
    );
    let (status, body) = server.get("/v2/public/flows", &key).await;
    assert_eq!((status, body["message"].is_string()), (503, true), "{body}");
    assert_eq!(
        server.count("select count(*) from attempts").await,
        0,
        "nothing is recorded"
    );
    assert_eq!(server.count("select count(*) from people").await, 0);

    let said = doctor();
    assert!(said.contains("BAD   settings"), "{said}");
    assert!(said.contains(&format!("merchant {id}: fourEyes - ")), "{said}");
    let log = server.log().await;
    assert!(
        log.contains(&format!("settings of merchant {id}: fourEyes - ")),
        "{log}"
    );
    let page = operator
        .get(&format!("/portal/operator/merchants/{id}"))
        .await
        .page();
    assert!(page.contains("fourEyes - "), "{page}");
    assert_eq!(member.get("/portal/branding").await.status, 503);
    for text in [&said, &log, &page] {
        assert!(
            !text.to_lowercase().contains("quibble"),
            "no value is repeated: {text}"
        );
    }

    // The settings are repaired one by one; valid ones remain.
    let mend = |change: &str| server.try_bonafide(&["merchant", "set", id, change]);
    assert!(
        !mend("maxFlows=3").status.success(),
        "another member does not mend it"
    );
    let weaker = server.try_bonafide(&["merchant", "set", id, "fourEyes=false", "blockedCountries=KP"]);
    let said = String::from_utf8(weaker.stderr).unwrap();
    assert!(
        !weaker.status.success() && said.contains("fourEyes=true"),
        "nobody alone: {said}"
    );
    assert!(
        server
            .try_bonafide(&["merchant", "set", id, "fourEyes=true", "blockedCountries=KP"])
            .status
            .success()
    );
    assert_eq!(verify(&server, &demo, demo_person(&demo, "ada")).await.0, 200);
    let set: Value = serde_json::from_str(&server.bonafide(&["merchant", "set", id, "maxFlows=30"])).unwrap();
    assert_eq!(
        set,
        json!({"fourEyes": true, "blockedCountries": ["KP"], "brandName": "Acme", "maxFlows": 30})
    );
});

on_both!(
    settings_of_a_newer_program_refuse_nothing_and_are_kept,
    |backend| {
        let (server, demo) = Server::demo(backend, &[]).await;
        let id = demo["merchantId"].as_str().unwrap();
        server
            .sql(r#"update merchants set settings = '{"fourEyes":true,"quorum":{"of":3}}'"#)
            .await;
        assert_eq!(verify(&server, &demo, demo_person(&demo, "ada")).await.0, 200);
        let set: Value =
            serde_json::from_str(&server.bonafide(&["merchant", "set", id, "brandName=Acme"])).unwrap();
        assert_eq!(
            set,
            json!({"fourEyes": true, "quorum": {"of": 3}, "brandName": "Acme"})
        );
    }
);

on_both!(a_flow_changed_by_hand_refuses, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let (id, key) = (demo["merchantId"].as_str().unwrap(), Key::of_demo(&demo));
    let flow = demo["flows"]["data-only"].as_str().unwrap();
    for (sql, member) in [
        (
            r#"update flows set settings = '{"reviewPolicy":"quorum"}'"#,
            "settings.reviewPolicy",
        ),
        (r#"update flows set settings = '{"fourEyes":tr'"#, "settings"),
        (
            r#"update flows set settings = '{}', default_fields = '{"ocrMatch":"yes"}'"#,
            "defaultFields.ocrMatch",
        ),
        (
            r#"update flows set default_fields = '{}', country_overrides = '[{"countryAlpha3":"FRA","restricted":1}]'"#,
            "countryOverrides[0].restricted",
        ),
        (
            r#"update flows set country_overrides = '[]', min_age = 0"#,
            "minAge",
        ),
    ] {
        server.sql(sql).await;
        let request = server.request(Method::POST, "/v2/idv/verify", &key);
        let refused = request.multipart(demo_person(&demo, "ada")).send().await.unwrap();
        assert!(refused.headers().contains_key("retry-after"), "{member}");
        let (status, body) = answer(refused).await;
        assert_eq!(
            (status, &body["success"]),
            (503, &json!(false)),
            "{member}: {body}"
        );
        let said = String::from_utf8(server.try_bonafide(&["doctor"]).stdout).unwrap();
        let expected = format!("merchant {id}, Flow {flow}: the stored {member}");
        assert!(said.contains(&expected), "{expected}: {said}");
    }
    assert_eq!(
        server.count("select count(*) from attempts").await,
        0,
        "nothing is recorded"
    );
    server.sql("update flows set min_age = null").await;
    assert_eq!(verify(&server, &demo, demo_person(&demo, "ada")).await.0, 200);
});

on_both!(a_damaged_flow_is_repaired_by_the_command_line, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = demo["merchantId"].as_str().unwrap();
    let flow = demo["flows"]["data-only"].as_str().unwrap();
    let file = server.dir.path().join("flow.json");
    let update = |content: Value| {
        std::fs::write(&file, content.to_string()).unwrap();
        let file = file.to_str().unwrap();
        let flow = ["--sandbox", "--flow", flow, "--file", file];
        let output = server.try_bonafide(&[&["flow", "update", "--merchant", id], &flow[..]].concat());
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let damage = async |sql: &'static str| {
        server.sql(sql).await;
        assert_eq!(verify(&server, &demo, demo_person(&demo, "ada")).await.0, 503);
    };
    for sql in [
        r#"update flows set settings = '{"matchThreshold":"x"}' where name = 'data-only'"#,
        r#"update flows set settings = '{"reviewPolicy":"quorum"}' where name = 'data-only'"#,
    ] {
        damage(sql).await;
        let (repaired, said) = update(json!({"minAge": 18}));
        assert!(!repaired, "another member does not mend it: {said}");
        let (repaired, said) = update(json!({"settings": {"matchThreshold": 80}}));
        assert!(repaired, "{said}");
        assert_eq!(verify(&server, &demo, demo_person(&demo, "ada")).await.0, 200);
    }
    // A mistyped id is an error. It does not leave the choice of the Flow to `name`.
    std::fs::write(
        &file,
        json!({"flowId": "data-only", "name": "data-only"}).to_string(),
    )
    .unwrap();
    let output = server.try_bonafide(&[
        "flow",
        "update",
        "--merchant",
        id,
        "--sandbox",
        "--file",
        file.to_str().unwrap(),
    ]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && said.contains("flowId - must be the id of a Flow"),
        "{said}"
    );
    // Readable members still count, and unreadable ones count as required.
    for sql in [
        r#"update flows set settings = '{"fourEyes":"x","matchThreshold":85}' where name = 'data-only'"#,
        r#"update flows set settings = '{"fourEyes":tr' where name = 'data-only'"#,
    ] {
        damage(sql).await;
        let (repaired, said) = update(json!({"settings": {"matchThreshold": 84}}));
        assert!(!repaired && said.contains("settings.fourEyes"), "{said}");
        let (repaired, said) = update(json!({"settings": {"matchThreshold": 85, "fourEyes": true}}));
        assert!(repaired, "{said}");
        assert_eq!(verify(&server, &demo, demo_person(&demo, "ada")).await.0, 200);
    }
});
