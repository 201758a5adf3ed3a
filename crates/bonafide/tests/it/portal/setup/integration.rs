//! The pages that a developer uses: Groups, keys, links, webhooks.

use serde_json::{Value, json};

use super::{borrowed, make_flow, send, start};
use crate::harness::{Key, on_both, wait_until};

on_both!(groups_keep_the_order_of_their_flows, |backend| {
    let (server, merchant, owner) = start(backend).await;
    let first = make_flow(&owner, "A", &[]).await;
    let second = make_flow(&owner, "B", &[]).await;
    let form = |ids: [(&str, &str); 2], name: &'static str| {
        let mut form = vec![
            ("name".to_owned(), name.to_owned()),
            ("description".into(), "d".into()),
        ];
        for (id, place) in ids {
            form.push(("flow".into(), id.to_owned()));
            form.push((format!("place.{id}"), place.to_owned()));
        }
        form
    };
    let made = form([(&first, "2"), (&second, "1")], "Ordered");
    owner
        .post("/portal/groups/new", &borrowed(&made))
        .await
        .redirect();
    let (_, groups) = server.get("/v2/public/groups", &merchant.sandbox).await;
    let group = &groups["groups"][0];
    let names: Vec<_> = group["flows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flow| flow["name"].clone())
        .collect();
    assert_eq!(names, ["B", "A"]);
    let path = format!("/portal/groups/{}", group["groupId"].as_str().unwrap());
    let page = owner.get(&path).await.page();
    send(
        &owner,
        &path,
        &page,
        &[("inactive", Some("on")), ("description", Some(""))],
    )
    .await
    .redirect();
    let (_, groups) = server.get("/v2/public/groups", &merchant.sandbox).await;
    let group = &groups["groups"][0];
    assert_eq!(
        (&group["status"], &group["description"]),
        (&json!("inactive"), &Value::Null)
    );
    assert_eq!(group["flows"].as_array().unwrap().len(), 2);
    for (form, status, text) in [
        (
            vec![("name", ""), ("flow", first.as_str())],
            400,
            "must have 1 to 100 characters",
        ),
        (vec![("name", "X")], 400, "Choose at least one Flow"),
        (
            vec![("name", "Ordered"), ("flow", first.as_str())],
            409,
            "Another Group already has this name",
        ),
    ] {
        let answer = owner.post("/portal/groups/new", &form).await;
        assert_eq!(answer.status, status, "{}", answer.body);
        assert!(answer.body.contains(text), "{}", answer.body);
    }
    owner.post(&format!("{path}/delete"), &[]).await.redirect();
    assert_eq!(owner.get(&path).await.status, 404);
});

on_both!(keys_are_made_rotated_and_revoked, |backend| {
    let (server, _merchant, owner) = start(backend).await;
    let secret_of = |page: &str| {
        let codes: Vec<String> = page
            .split("<code>")
            .skip(1)
            .map(|rest| rest.split("</code>").next().unwrap().to_owned())
            .collect();
        Key {
            key: codes[0].clone(),
            secret: codes[1].clone(),
        }
    };
    let made = secret_of(&owner.submit("/portal/keys", &[]).await);
    assert!(made.key.starts_with("bf_test_"));
    assert_eq!(server.get("/v2/public/flows", &made).await.0, 200);
    let list = owner.get("/portal/keys").await.page();
    assert!(
        list.contains(&made.key) && !list.contains(&made.secret),
        "shown once"
    );
    assert!(!list.contains("bf_live_"), "the other mode's keys are not here");
    let rotated = secret_of(
        &owner
            .submit(&format!("/portal/keys/{}/rotate", made.key), &[])
            .await,
    );
    assert_eq!(rotated.key, made.key);
    assert_eq!(server.get("/v2/public/flows", &rotated).await.0, 200);
    assert_eq!(
        server.get("/v2/public/flows", &made).await.0,
        200,
        "both work for a day"
    );
    let rotate = format!("/portal/keys/{}/rotate", made.key);
    assert!(owner.get(&rotate).await.page().contains("After 24 hours"));
    let newest = secret_of(&owner.submit(&rotate, &[]).await);
    assert_eq!(
        server.get("/v2/public/flows", &made).await.0,
        400,
        "two secrets at most"
    );
    // A secret that may be stolen stops working immediately.
    let stolen = newest;
    for wrong in ["169", "5", "-1", "soon"] {
        let refused = owner.post(&rotate, &[("graceHours", wrong)]).await.status;
        assert!((400..500).contains(&refused), "{wrong}: {refused}");
    }
    assert_eq!(server.get("/v2/public/flows", &stolen).await.0, 200);
    let newest = secret_of(&owner.submit(&rotate, &[("graceHours", "0")]).await);
    assert_eq!(server.get("/v2/public/flows", &stolen).await.0, 400);
    assert_eq!(server.get("/v2/public/flows", &newest).await.0, 200);
    owner
        .post(&format!("/portal/keys/{}/revoke", made.key), &[])
        .await
        .redirect();
    assert_eq!(server.get("/v2/public/flows", &newest).await.0, 400);
    assert!(owner.get("/portal/keys").await.page().contains("Revoked"));
    assert_eq!(
        owner
            .get(&format!("/portal/keys/{}/revoke", made.key))
            .await
            .status,
        404
    );
    // A key of another account gives 404.
    let other = server.merchant(true);
    for what in ["rotate", "revoke", "restrictions"] {
        let answer = owner
            .post(&format!("/portal/keys/{}/{what}", other.sandbox.key), &[])
            .await;
        assert_eq!(answer.status, 404, "{what}");
    }
    assert_eq!(server.get("/v2/public/flows", &other.sandbox).await.0, 200);
});

on_both!(a_key_may_do_only_what_it_is_restricted_to, |backend| {
    let (server, merchant, owner) = start(backend).await;
    let key = &merchant.sandbox;
    let path = format!("/portal/keys/{}/restrictions", key.key);
    let calls = async || {
        (
            server.get("/v2/public/flows", key).await.0,
            server.get("/v2/reports/applicants/none", key).await,
        )
    };
    assert_eq!(calls().await.0, 200);

    // Input that cannot be meant is shown again with the reason, and changes nothing.
    for (form, reason) in [
        (vec![], "choose at least one"),
        (vec![("endpoints", "everything")], " is unknown; use"),
        (
            vec![
                ("endpoints", "applicants"),
                ("addresses", "127.0.0.1\nexample.com"),
            ],
            "is not an IP address",
        ),
        (
            vec![("endpoints", "applicants"), ("addresses", "127.0.0.1/8")],
            "use 127.0.0.0/8",
        ),
    ] {
        let refused = owner.post(&path, &form).await;
        assert_eq!(refused.status, 400);
        assert!(refused.body.contains(reason), "{reason}: {}", refused.body);
    }
    assert_eq!(calls().await.0, 200);

    let page = owner.submit(&path, &[("endpoints", "groups-and-flows")]).await;
    assert!(page.contains("Groups and Flows") && page.contains("The restrictions are saved."));
    let (flows, (status, refused)) = calls().await;
    assert_eq!((flows, status), (200, 403), "{refused}");
    assert!(
        refused.to_string().contains("may not call applicants"),
        "{refused}"
    );

    // The merchant sees the refused call.
    let refused = "/portal/api-log?status=403";
    wait_until(
        async || owner.get(refused).await.page().contains("\"/portal/api-log/"),
        "the log has the call",
    )
    .await;

    let everywhere = [
        "groups-and-flows",
        "hosted-sessions",
        "verification",
        "applicants",
        "monitoring",
        "list-search",
    ]
    .map(|group| ("endpoints", group));
    let from = |addresses| {
        let mut form = everywhere.to_vec();
        form.push(("addresses", addresses));
        form
    };
    owner.submit(&path, &from("203.0.113.0/24, 2001:db8::1")).await;
    let (flows, (status, refused)) = calls().await;
    assert_eq!((flows, status), (403, 403));
    assert!(
        refused.to_string().contains("may not be used from 127.0.0.1"),
        "{refused}"
    );
    let shown = owner.get(&path).await.page();
    assert!(shown.contains("203.0.113.0/24\n2001:db8::1"), "{shown}");
    let wrong = Key {
        secret: "wrong".into(),
        ..key.clone()
    };
    assert_eq!(
        server.get("/v2/public/flows", &wrong).await.0,
        400,
        "nothing is told"
    );
    owner.submit(&path, &from("127.0.0.0/8")).await;
    assert_eq!(calls().await.0, 200);

    // The command line sets and lifts the same restrictions.
    let id = merchant.id.as_str();
    let restrict = ["merchant", "keys", "restrict", id, &key.key];
    let set = server.bonafide(&[&restrict[..], &["--endpoints", "verification,monitoring"]].concat());
    assert_eq!(
        set.trim(),
        r#"{"endpoints":["verification","monitoring"],"addresses":["127.0.0.0/8"]}"#,
        "an omitted option keeps its part"
    );
    assert_eq!(calls().await.0, 403);
    let listed = server.bonafide(&["merchant", "keys", "list", id]);
    let listed: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let own = listed
        .iter()
        .find(|each| each["apiKey"] == key.key.as_str())
        .unwrap();
    assert_eq!(
        own["restrictions"]["endpoints"],
        json!(["verification", "monitoring"])
    );
    for wrong in [&["--endpoints", "all"][..], &["--addresses", "home"], &[]] {
        assert!(
            !server
                .try_bonafide(&[&restrict[..], wrong].concat())
                .status
                .success()
        );
    }
    let set = server.bonafide(&[&restrict[..], &["--addresses", "127.0.0.1"]].concat());
    assert_eq!(
        set.trim(),
        r#"{"endpoints":["verification","monitoring"],"addresses":["127.0.0.1"]}"#
    );
    server.bonafide(&[&restrict[..], &["--none"]].concat());
    assert_eq!(calls().await.0, 200);

    // Restrictions that cannot be read stop the key until new ones are saved.
    server
        .sql("update credentials set restrictions = '{\"endpoints\":[\"some\"]}'")
        .await;
    assert_eq!(calls().await.0, 503);
    let listed = server.bonafide(&["merchant", "keys", "list", id]);
    assert!(
        listed.contains("cannot be read") && listed.lines().count() == 2,
        "{listed}"
    );
    let doctor = server.try_bonafide(&["doctor"]);
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains(&key.key), "{doctor}");
    let unchanged = owner.post(&path, &[("addresses", "")]).await;
    assert_eq!(unchanged.status, 400, "nothing is chosen, so nothing is allowed");
    assert!(!owner.get(&path).await.page().contains(" checked"));
    assert!(
        owner
            .get("/portal/keys")
            .await
            .page()
            .contains("Unreadable restrictions")
    );
    owner.submit(&path, &everywhere).await;
    assert_eq!(calls().await.0, 200);
    let trail = "select count(*) from audit where action = 'key.restricted'";
    assert_eq!(server.count(trail).await, 7);

    // Several keys of one mode are rotated one by one, so that no secret is lost.
    owner.submit("/portal/keys", &[]).await;
    let rotate = ["merchant", "keys", "rotate", id];
    assert!(!server.try_bonafide(&rotate).status.success());
    assert_eq!(calls().await.0, 200, "nothing changed");
    for (wrong, text) in [
        ("bf_test_none", "no active key"),
        (merchant.id.as_str(), "no active key"),
    ] {
        let refused = server.try_bonafide(&[&rotate[..], &["--key", wrong]].concat());
        assert!(String::from_utf8(refused.stderr).unwrap().contains(text));
    }
    let one = [&rotate[..], &["--key", &key.key, "--grace-hours", "0"]].concat();
    let made: Value = serde_json::from_str(&server.bonafide(&one)).unwrap();
    assert!(made["live"].is_null());
    let newest = Key {
        key: key.key.clone(),
        secret: made["sandbox"]["secret"].as_str().unwrap().into(),
    };
    assert_eq!(calls().await.0, 400, "no grace");
    assert_eq!(server.get("/v2/public/flows", &newest).await.0, 200);
});

on_both!(links_are_made_by_hand, |backend| {
    let (server, _merchant, owner) = start(backend).await;
    assert!(owner.get("/portal/links").await.page().contains("No Groups yet"));
    let id = make_flow(&owner, "A", &[]).await;
    let form = [("name", "G"), ("flow", id.as_str())];
    owner.post("/portal/groups/new", &form).await.redirect();
    let page = owner.get("/portal/links").await.page();
    let next = send(&owner, "/portal/links", &page, &[("userId", Some("user-1"))])
        .await
        .redirect();
    let made = owner.get(&next).await.page();
    let one = "select count(*) from link_tokens";
    assert_eq!(server.count(one).await, 1);
    assert_eq!(owner.get(&next).await.redirect(), "/portal/links", "reloaded");
    assert_eq!(server.count(one).await, 1, "and no other was made");
    assert!(made.contains("iswebsdklink=true") && made.contains("<svg"));
    let empty = send(&owner, "/portal/links", &page, &[("userId", Some(" "))]).await;
    assert_eq!(empty.status, 400);
    assert!(empty.body.contains("Enter an applicant ID."));
    let person = [
        ("userId", Some("user-2")),
        ("firstName", Some("Ada")),
        ("lastName", Some("Quill")),
        ("dob", Some("1990-01-31")),
    ];
    send(&owner, "/portal/links", &page, &person).await.redirect();
    let expecting = "select count(*) from link_tokens where expected_sealed is not null";
    assert_eq!(server.count(expecting).await, 1);
    let half = [
        ("userId", Some("user-2")),
        ("firstName", Some("李")),
        ("dob", Some("1790-01-31")),
    ];
    let refused = send(&owner, "/portal/links", &page, &half).await;
    for fault in [
        "First name must be in Latin or Cyrillic letters.",
        "Last name is required.",
        "Enter a date of birth within the last 150 years.",
    ] {
        assert!(refused.body.contains(fault), "{fault}: {}", refused.body);
    }
    assert_eq!(server.count(one).await, 2, "no link was made");
    let foreign = [
        ("userId", "u"),
        ("place", "00000000-0000-0000-0000-000000000000.x"),
    ];
    let answer = owner.post("/portal/links", &foreign).await;
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("Choose a Flow in a Group."));
});

on_both!(webhooks_are_tested_seen_and_sent_again, |backend| {
    let (server, _merchant, owner) = start(backend).await;
    // The address is not public, so each delivery fails at once.
    let id = make_flow(
        &owner,
        "Hears",
        &[("webhookUrl", Some("http://127.0.0.1:9/hook"))],
    )
    .await;
    let list = owner.get("/portal/webhooks").await.page();
    assert!(list.contains("http://127.0.0.1:9/hook"));
    assert!(
        list.contains("Cannot deliver") && list.contains("private network"),
        "{list}"
    );
    let editor = owner.get(&format!("/portal/flows/{id}")).await.page();
    assert!(editor.contains("private network"), "{editor}");
    let doctor = server.try_bonafide(&["doctor"]).stdout;
    let doctor = String::from_utf8(doctor).unwrap();
    let line = doctor
        .lines()
        .find(|line| line.contains("webhooks"))
        .unwrap_or_default();
    assert!(
        line.starts_with("look") && line.contains(&id) && line.contains("not public"),
        "{doctor}"
    );
    let event = owner
        .post(&format!("/portal/webhooks/{id}/test"), &[])
        .await
        .redirect();
    let event = event.split('?').next().unwrap().to_owned();
    let page = owner.get(&event).await.page();
    assert!(
        page.contains("webhook.test") && page.contains("isSandbox"),
        "{page}"
    );
    let secret = owner.get(&format!("/portal/webhooks/{id}/secret")).await.page();
    assert!(secret.contains("whsec_"));
    let rotated = owner.submit(&format!("/portal/webhooks/{id}/secret"), &[]).await;
    assert!(rotated.contains("whsec_") && rotated != secret);
    // The first delivery has ended and the second is seconds away, so neither overwrites the values set here.
    wait_until(
        async || {
            server
                .count("select count(*) from outbox where last_error is not null")
                .await
                > 0
        },
        "the event is tried",
    )
    .await;
    // Delivery was given up as after four days. Then one event is sent again, and then all.
    server.sql("update outbox set next_try_at = null, last_status = 500, last_error = 'the receiver answered 500'").await;
    let given_up = owner.get("/portal/webhooks?state=given_up").await.page();
    assert!(given_up.contains("the receiver answered 500") && given_up.contains("Resend all"));
    assert!(
        owner
            .get("/portal/webhooks?state=delivered")
            .await
            .page()
            .contains("There are no deliveries.")
    );
    let due = "select count(*) from outbox where next_try_at is not null";
    owner
        .post("/portal/webhooks/resend", &[("flow", &id), ("days", "1")])
        .await
        .redirect();
    assert_eq!(server.count(due).await, 1);
    server.sql("update outbox set next_try_at = null").await;
    owner.post(&event, &[]).await.redirect();
    assert_eq!(server.count(due).await, 1);
    assert_eq!(
        owner
            .get("/portal/webhooks/events/00000000-0000-0000-0000-000000000000")
            .await
            .status,
        404
    );
});
