//! Joining: one-time links, sign-up, the merchant's application, and the demo's owner.

use std::sync::Arc;

use super::*;

on_both!(links_are_used_once, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let path = invitation(&server, &merchant, "reviewer");
    let stranger = Browser::new(&server);
    let weak = [("name", ""), ("email", "ada"), ("password", "password1234")];
    let refused = stranger.post(&path, &weak).await;
    assert_eq!(
        (refused.status, refused.body.matches("class=\"error\"").count()),
        (400, 3)
    );
    assert!(refused.body.contains("value=\"ada\"") && !refused.body.contains("password1234"));

    // Of five simultaneous uses, one succeeds.
    let browsers: Vec<_> = (0..5).map(|_| Browser::new(&server)).collect();
    let tries = browsers.iter().enumerate().map(|(n, browser)| {
        let (path, email) = (path.clone(), format!("racer-{n}@example.com"));
        async move { join(browser, &path, &email).await.status }
    });
    let mut statuses = futures_util::future::join_all(tries).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 410, 410, 410, 410]);
    assert_eq!(
        server.count("select count(*) from staff").await,
        1,
        "the others left nothing"
    );
    assert_eq!(stranger.get(&path).await.status, 410);
    assert_eq!(stranger.get("/portal/join/nobodys").await.status, 404);

    // A member of one account joins another one with the same login.
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    let other = server.merchant(true);
    let path = invitation(&server, &other, "auditor");
    let taken = join(&stranger, &path, "ADA@example.com").await;
    assert_eq!(taken.status, 400, "the address is taken, and the link still good");
    let before = Browser::new(&server);
    before.set_cookie(ada.cookie());
    ada.post(&format!("{path}/accept"), &[]).await.redirect();
    assert!(is_in(&ada).await && !is_in(&before).await, "another token");
    assert_eq!(ada.post(&format!("{path}/accept"), &[]).await.status, 410);
    assert_eq!(ada.get("/portal/staff").await.status, 403, "an auditor there");
    ada.post("/portal/account/choose", &[("account", &merchant.id)])
        .await
        .redirect();
    assert_eq!(ada.get("/portal/staff").await.status, 200, "an owner here");
    let foreign = server.merchant(true).id;
    assert_eq!(
        ada.post("/portal/account/choose", &[("account", &foreign)])
            .await
            .status,
        404
    );

    // Only the invited address can use the invitation.
    let arguments = [
        "portal",
        "invite",
        "--merchant",
        &other.id,
        "--role",
        "admin",
        "--email",
        "bob@example.com",
        "--json",
    ];
    let made: Value = serde_json::from_str(&server.bonafide(&arguments)).unwrap();
    let link = made["link"].as_str().unwrap();
    let path = link[link.find("/portal/").unwrap()..].to_owned();
    assert_eq!(ada.post(&format!("{path}/accept"), &[]).await.status, 403);
    let bob = Browser::new(&server);
    join(&bob, &path, "eve@example.com").await.redirect();
    assert!(
        bob.get("/portal/account")
            .await
            .page()
            .contains("bob@example.com"),
        "the invited address"
    );

    // The command line refuses invalid roles.
    for bad in [["--role", "root"], ["--role", ""]] {
        let arguments = [&["portal", "invite", "--merchant", &merchant.id][..], &bad[..]].concat();
        assert_eq!(server.try_bonafide(&arguments).status.code(), Some(2), "{bad:?}");
    }
    let nobody = [
        "portal",
        "invite",
        "--merchant",
        "00000000-0000-0000-0000-000000000000",
        "--role",
        "owner",
    ];
    assert_eq!(server.try_bonafide(&nobody).status.code(), Some(1));
    // A new operator link revokes the earlier one.
    let link_of = |made: String| made[made.find("/portal/").unwrap()..].trim().to_owned();
    let first = link_of(server.bonafide(&["portal", "operator-link"]));
    let second = link_of(server.bonafide(&["portal", "operator-link"]));
    assert_eq!(stranger.get(&first).await.status, 404);
    stranger.get(&second).await.page();
});

on_both!(sign_up_is_throttled_by_address, |backend| {
    let arguments = [
        "--sign-up",
        "on",
        "--rate-sign-in",
        "1",
        "--trusted-proxies",
        "127.0.0.1",
    ];
    let server = Server::start(backend, &arguments).await;
    let browser = Browser::new(&server);
    let from = async |address: &str| {
        let request = browser
            .form("/portal/sign-up", &[("company", "Acme")])
            .header("x-forwarded-for", address);
        browser.send(request).await.status
    };
    for n in 1..=12 {
        assert_eq!(from(&format!("203.0.113.{n}")).await, 400, "{n}: others may");
    }
    assert_eq!(from("203.0.113.1").await, 429);
});

on_both!(a_stranger_opens_an_account_and_applies, |backend| {
    let closed = Server::start(Backend::Sqlite, &[]).await;
    let form = [("company", "Acme"), ("email", "ada@example.com")];
    for path in ["/portal/sign-up", "/portal/sign-up/nobodys"] {
        assert_eq!(
            Browser::new(&closed).get(path).await.status,
            404,
            "off by default"
        );
    }
    assert_eq!(
        Browser::new(&closed).post("/portal/sign-up", &form).await.status,
        404
    );
    drop(closed);

    // Without mail, an operator sees the request and creates the link.
    let server = Server::start(backend, &["--sign-up", "on"]).await;
    let ada = Browser::new(&server);
    ada.get("/portal/sign-up").await.page();
    assert_eq!(ada.post("/portal/sign-up", &[]).await.status, 400);
    let told = ada.post("/portal/sign-up", &form).await.page();
    let nothing = "select count(*) from merchants";
    assert_eq!(server.count(nothing).await, 0, "asked, and no more");
    let operator = Browser::operator(&server).await;
    let page = operator.get("/portal/operator/sign-ups").await.page();
    assert!(page.contains("Acme") && page.contains("ada@example.com"));
    let answer = format!(
        "/portal/operator/sign-ups/{}/link",
        between(&page, "/portal/operator/sign-ups/", "/link")
    );
    let page = operator.submit(&answer, &[]).await;
    let link = path_in(&page, "/portal/sign-up/").to_owned();
    let reloaded = operator.get("/portal/operator/sign-ups").await.page();
    assert!(!reloaded.contains(&link), "shown once");
    assert_eq!(operator.post(&answer, &[]).await.status, 404, "made once");

    // After sign-up is turned off, earlier requests and links open no account.
    let other = [("company", "Other"), ("email", "eve@example.com")];
    Browser::new(&server).post("/portal/sign-up", &other).await.page();
    let page = operator.get("/portal/operator/sign-ups").await.page();
    let waits = between(&page, "/portal/operator/sign-ups/", "/link").to_owned();
    let closed = server.second_process(&[]);
    let (stranger, off) = (Browser::new(&closed), Browser::new(&closed));
    off.set_cookie(operator.cookie());
    let opening = [("name", "Ada"), ("password", PASSWORD)];
    assert_eq!(stranger.get(&link).await.status, 404);
    assert_eq!(stranger.post(&link, &opening).await.status, 404);
    let page = off.get("/portal/operator/sign-ups").await.page();
    assert!(page.contains(&waits) && !page.contains("/link\""), "{page}");
    let made = off
        .post(&format!("/portal/operator/sign-ups/{waits}/link"), &[])
        .await;
    assert_eq!(made.status, 404);
    assert_eq!(
        server.count("select count(*) from staff").await,
        1,
        "the operator"
    );
    drop(closed);
    let dismiss = format!("/portal/operator/sign-ups/{waits}/dismiss");
    operator.post(&dismiss, &[]).await.redirect();
    for gone in [&waits, &uuid::Uuid::nil().to_string(), "nonsense"] {
        for what in ["link", "dismiss"] {
            let path = format!("/portal/operator/sign-ups/{gone}/{what}");
            assert_eq!(operator.post(&path, &[]).await.status, 404, "{path}");
        }
    }

    assert!(ada.get(&link).await.page().contains("ada@example.com"));
    let weak = ada.post(&link, &[("name", ""), ("password", "short")]).await;
    assert_eq!(
        (weak.status, weak.body.matches("class=\"error\"").count()),
        (400, 2)
    );
    assert_eq!(ada.post(&link, &opening).await.redirect(), "/portal/account/totp");
    assert_eq!(Browser::new(&server).get(&link).await.status, 404, "used up");

    // If the address already has an account, the response is the same, and the operator sees that it has one.
    let again = Browser::new(&server).post("/portal/sign-up", &form).await.page();
    assert_eq!(again, told, "the answer tells nothing");
    let page = operator.get("/portal/operator/sign-ups").await.page();
    assert!(page.contains("Already has an account") && !page.contains("/link\""));
    let dismiss = format!(
        "/portal/operator/sign-ups/{}/dismiss",
        between(&page, "/portal/operator/sign-ups/", "/dismiss")
    );
    operator.post(&dismiss, &[]).await.redirect();
    assert_eq!(server.count("select count(*) from sign_ups").await, 0);
    assert_eq!(server.count("select count(*) from merchants").await, 1);
    assert_eq!(
        server
            .count("select count(*) from credentials where sandbox")
            .await,
        1
    );
    let has_key = async || {
        let page = ada.get("/portal").await.page();
        let steps = &page[page.find("class=\"steps\"").unwrap()..];
        let before = &steps[..steps.find("href=\"/portal/keys\"").unwrap()];
        before[before.rfind("<li").unwrap()..].starts_with("<li class=\"done\"")
    };
    assert!(!has_key().await, "no secret was shown yet");
    let page = ada.get("/portal/keys").await.page();
    let key = between(&page, "/portal/keys/bf_test_", "/").to_owned();
    let shown = ada
        .submit(&format!("/portal/keys/bf_test_{key}/rotate"), &[])
        .await;
    assert!(shown.contains(&key), "{shown}");
    assert!(has_key().await);

    let page = ada.get("/portal/application").await.page();
    assert!(page.contains("data-word=\"draft\""));

    let hostile = "<script>alert(1)</script>";
    let half = [("legalName", hostile), ("then", "save")];
    ada.post("/portal/application", &half).await.redirect();
    let page = ada.get("/portal/application").await.page();
    assert!(
        !page.contains(hostile) && page.contains("alert(1)"),
        "shown as text"
    );
    let missing = ada
        .post(
            "/portal/application",
            &[("legalName", "Acme"), ("then", "submit")],
        )
        .await;
    assert_eq!(missing.status, 400);
    assert_eq!(missing.body.matches("class=\"error\"").count(), 6);
    let whole = [
        ("legalName", "Acme GmbH"),
        ("country", "de"),
        ("address", "Hauptstr. 1, Berlin"),
        ("contactName", "Ada"),
        ("contactEmail", "ada@example.com"),
        ("purpose", "Opening accounts"),
        ("volume", "100"),
        ("then", "submit"),
    ];
    ada.post("/portal/application", &whole).await.redirect();
    let page = ada.get("/portal/application").await.page();
    assert!(page.contains("data-word=\"submitted\"") && page.contains("Acme GmbH"));
    assert_eq!(
        ada.post("/portal/application", &whole).await.status,
        409,
        "handed in once"
    );
    let sealed = "select count(*) from merchant_profiles where submitted_at is not null";
    assert_eq!(server.count(sealed).await, 1);
});

on_both!(the_demo_hands_out_its_owners_link, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    assert_eq!(demo["portalUrl"], format!("{}/portal", server.base));
    let link = demo["ownerLink"].as_str().unwrap();
    let browser = Browser::new(&server);
    let path = link.strip_prefix(server.base.as_str()).unwrap();
    join(&browser, path, "ada@example.com").await.redirect();
    let page = browser.get("/portal/staff").await.page();
    assert!(page.contains("Demo merchant") && page.contains("ada@example.com"));
});

on_both!(sign_up_by_mail_tells_nobody_who_has_an_account, |backend| {
    let (listener, arguments) = mail_server().await;
    let mut arguments = arguments.to_vec();
    arguments.extend(["--sign-up".to_owned(), "on".to_owned()]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let server = Server::start(backend, &arguments).await;
    let ada = Browser::new(&server);
    let ask = async |email: &str| {
        let letter = tokio::spawn(one_letter(Arc::clone(&listener)));
        let form = [("company", "Acme"), ("email", email)];
        let told = Browser::new(&server).post("/portal/sign-up", &form).await.page();
        (told, letter.await.unwrap())
    };
    let (first, letter) = ask("Ada@example.com").await;
    let link = path_in(&letter, "/portal/sign-up/");
    let opening = [("name", "Ada"), ("password", PASSWORD)];
    ada.post(link, &opening).await.redirect();
    assert!(is_in(&ada).await);
    let (second, letter) = ask("ADA@example.com").await;
    assert_eq!(first, second, "the answer tells nothing");
    assert!(letter.contains("This address already has an account"), "{letter}");
    assert!(!letter.contains("/portal/sign-up/"), "and no link: {letter}");
    // A link requested before the address had an account opens no second one.
    let (_, letter) = ask("bob@example.com").await;
    let (_, another) = ask("bob@example.com").await;
    let links = [&letter, &another].map(|letter| path_in(letter, "/portal/sign-up/"));
    Browser::new(&server).post(links[0], &opening).await.redirect();
    let refused = Browser::new(&server).post(links[1], &opening).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("Sign in with it"), "{}", refused.body);
    assert_eq!(server.count("select count(*) from merchants").await, 2);
    let operator = Browser::operator(&server).await;
    let page = operator.get("/portal/operator/sign-ups").await.page();
    assert!(page.contains("No pending requests"), "{page}");
});
