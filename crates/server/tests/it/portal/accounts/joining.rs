//! Coming in: one-time links, sign-up, the merchant's application, the demo's owner.

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

    // Of five at once one comes in.
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

    // Somebody who has an account joins another one with it.
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

    // An invitation for an address is for nobody else.
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

    // The command line refuses what makes no sense.
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
    // A later link to become an operator voids the earlier.
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
    assert_eq!(
        Browser::new(&closed).get("/portal/sign-up").await.status,
        404,
        "off by default"
    );
    let form = [
        ("company", "Acme"),
        ("name", "Ada"),
        ("email", "ada@example.com"),
        ("password", PASSWORD),
    ];
    assert_eq!(
        Browser::new(&closed).post("/portal/sign-up", &form).await.status,
        404
    );
    drop(closed);

    let server = Server::start(backend, &["--sign-up", "on"]).await;
    let ada = Browser::new(&server);
    ada.get("/portal/sign-up").await.page();
    assert_eq!(ada.post("/portal/sign-up", &[]).await.status, 400);
    ada.post("/portal/sign-up", &form).await.redirect();
    let again = Browser::new(&server).post("/portal/sign-up", &form).await;
    assert_eq!(again.status, 400, "the address has an account");
    assert_eq!(
        server.count("select count(*) from merchants").await,
        1,
        "and no second merchant was left"
    );
    assert_eq!(
        server
            .count("select count(*) from credentials where sandbox")
            .await,
        1
    );
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
