//! Sign-in and sign-out: passwords, codes, sessions, failed tries, and forgotten passwords.

use std::sync::Arc;

use super::*;

on_both!(a_code_follows_the_password_and_counts_once, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let ada = member(&server, &merchant, "owner", "Ada@Example.com").await;
    let page = ada.get("/portal/account/totp").await.page();
    assert!(page.contains("<svg"), "a QR code");
    let key = between(&page, "name=\"key\" value=\"", "\"").to_owned();
    let form = |code: &str, proof: &str| {
        [
            ("key", key.clone()),
            ("code", code.to_owned()),
            ("proof", proof.to_owned()),
        ]
    };
    for (code, proof) in [("000000", PASSWORD), (code(&key, 0).as_str(), "not the password")] {
        let form = form(code, proof);
        let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let refused = ada.post("/portal/account/totp", &form).await;
        assert_eq!(refused.status, 400);
        assert!(refused.body.contains(&key), "the same key again");
        assert!(!refused.body.contains(proof), "no password comes back");
    }
    let thief = Browser::new(&server);
    thief.set_cookie(ada.cookie());
    let first = code(&key, 0);
    let form = form(&first, PASSWORD);
    let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let page = ada.submit("/portal/account/totp", &form).await;
    let recovery = between(&page, "<li><code>", "</code>").to_owned();
    let rest = &page[page.find(&recovery).unwrap()..];
    let another = between(rest, "<li><code>", "</code>").to_owned();
    assert_eq!(page.matches("<li><code>").count(), 10);
    assert!(is_in(&ada).await && !is_in(&thief).await, "another token");

    // The password alone leads only to the code.
    let browser = Browser::new(&server);
    let next = sign_in(&browser, " ada@example.COM ", PASSWORD).await.redirect();
    assert_eq!(next, "/portal/sign-in/code?next=/portal");
    let half = browser.cookie();
    assert!(!is_in(&browser).await, "not signed in yet");
    let later = code(&key, 1);
    for wrong in [first.as_str(), "000000", "", "abcdef"] {
        let refused = browser.post("/portal/sign-in/code", &[("code", wrong)]).await;
        assert_eq!(refused.status, 400, "{wrong}: used, or none");
    }
    let entered = browser.post("/portal/sign-in/code", &[("code", &later)]).await;
    assert_eq!(entered.redirect(), "/portal");
    assert!(is_in(&browser).await);
    assert_ne!(browser.cookie(), half, "another token at each step");
    let old = Browser::new(&server);
    old.set_cookie(half);
    assert!(!is_in(&old).await);

    // The code cannot be used again; a recovery code works once.
    let other = Browser::new(&server);
    sign_in(&other, "ada@example.com", PASSWORD).await.redirect();
    assert_eq!(
        other
            .post("/portal/sign-in/code", &[("code", &later)])
            .await
            .status,
        400
    );
    let typed = recovery.to_uppercase().replace('-', " ");
    other
        .post("/portal/sign-in/code", &[("code", &typed)])
        .await
        .redirect();
    assert!(is_in(&other).await);
    let again = Browser::new(&server);
    sign_in(&again, "ada@example.com", PASSWORD).await.redirect();
    assert_eq!(
        again
            .post("/portal/sign-in/code", &[("code", &recovery)])
            .await
            .status,
        400
    );

    // Turning it off needs another code.
    for wrong in ["wrong", PASSWORD, &recovery] {
        let refused = ada.post("/portal/account/totp/off", &[("proof", wrong)]).await;
        assert_eq!(refused.status, 400, "{wrong}");
    }
    ada.post("/portal/account/totp/off", &[("proof", &another)])
        .await
        .redirect();
    sign_in(&again, "ada@example.com", PASSWORD).await.redirect();
    assert!(is_in(&again).await);
    // If a member has lost both factors, an operator of the machine can help.
    let lost = Browser::new(&server);
    let arguments = [
        "portal",
        "password-link",
        "--email",
        "ada@example.com",
        "--second-factor-lost",
    ];
    let made = server.bonafide(&arguments);
    let path = made[made.find("/portal/").unwrap()..].trim();
    lost.post(path, &[("password", ANOTHER)]).await.redirect();
    assert!(!is_in(&again).await && !is_in(&ada).await, "every session ended");
    sign_in(&lost, "ada@example.com", ANOTHER).await.redirect();
    assert!(is_in(&lost).await);
    let nobody = "00000000-0000-4000-8000-000000000000";
    for (arguments, code, fix) in [
        (
            vec!["password-link", "--email", "eve@example.com"],
            1,
            "bonafide portal invite",
        ),
        (vec!["password-link", "--email", "eve"], 2, "name@example.com"),
        (
            vec!["invite", "--merchant", nobody, "--role", "owner"],
            1,
            "bonafide merchant list",
        ),
        (
            vec!["invite", "--merchant", nobody, "--role", "boss"],
            2,
            "use owner, admin",
        ),
    ] {
        let refused = server.try_bonafide(&[&["portal"], arguments.as_slice()].concat());
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(fix), "{arguments:?}: {said}");
    }

    let told = server.bonafide(&["audit", "verify"]);
    assert!(told.contains("\"intact\":true"), "{told}");
    let failed = "select count(*) from audit where action = 'staff.sign_in_failed'";
    assert!(server.count(failed).await >= 5);
    // The name alone could be part of an id.
    let personal = "select count(*) from audit \
                    where lower(detail) like '%ada@%' or lower(subject) like '%ada@%'";
    assert_eq!(server.count(personal).await, 0, "no address in the trail");
});

on_both!(a_session_ends_at_once_and_no_cookie_can_be_made_up, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    let cookie = ada.cookie().unwrap();
    let (name, token) = cookie.split_once('=').unwrap();
    assert_eq!(name, "bonafide", "without HTTPS no __Host- prefix");
    let hashed = "select count(*) from portal_sessions where length(token_ref) = 32";
    assert_eq!(server.count(hashed).await, 1, "a hash, not the token");

    let forger = Browser::new(&server);
    let mut tampered = token.to_owned();
    tampered.replace_range(5..6, if &token[5..6] == "x" { "y" } else { "x" });
    let session_id = "00000000-0000-0000-0000-000000000000";
    for made_up in [
        tampered.as_str(),
        "",
        "x",
        &token[1..],
        session_id,
        &"A".repeat(5_000),
        "%00",
        "\"a\"",
    ] {
        forger.set_cookie(Some(format!("bonafide={made_up}")));
        let answer = forger.get("/portal/account").await;
        assert!(
            [303, 400, 431].contains(&answer.status),
            "{made_up}: {}",
            answer.status
        );
    }

    // Signing in does not reuse a cookie that an attacker planted.
    let victim = Browser::new(&server);
    victim.set_cookie(Some("bonafide=planted".into()));
    let answer = sign_in(&victim, "ada@example.com", PASSWORD).await;
    let set = answer.headers["set-cookie"].to_str().unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("planted") && is_in(&victim).await);

    // A stolen session that its owner ends stops with the next request.
    let thief = Browser::new(&server);
    thief.set_cookie(victim.cookie());
    assert!(is_in(&thief).await);
    let page = ada.get("/portal/account").await.page();
    assert!(page.contains("127.0.0.1"), "where from");
    ada.post("/portal/account/sessions/end-all", &[]).await.redirect();
    assert!(is_in(&ada).await && !is_in(&thief).await && !is_in(&victim).await);

    // A changed password ends the other sessions; signing out ends the current one.
    sign_in(&victim, "ada@example.com", PASSWORD).await.redirect();
    let before = ada.cookie();
    let form = [("current", PASSWORD), ("password", ANOTHER)];
    for (current, new) in [
        ("wrong", ANOTHER),
        (PASSWORD, "short"),
        (PASSWORD, "ada@example.com"),
        ("", ""),
    ] {
        let refused = ada
            .post(
                "/portal/account/password",
                &[("current", current), ("password", new)],
            )
            .await;
        assert_eq!(refused.status, 400, "{new}");
    }
    ada.post("/portal/account/password", &form).await.redirect();
    assert!(is_in(&ada).await && !is_in(&victim).await);
    assert_ne!(ada.cookie(), before);
    assert_eq!(sign_in(&victim, "ada@example.com", PASSWORD).await.status, 400);
    thief.set_cookie(ada.cookie());
    ada.post("/portal/sign-out", &[]).await.redirect();
    assert!(!is_in(&thief).await && !is_in(&ada).await);

    // A session ends after half an hour without requests.
    sign_in(&ada, "ada@example.com", ANOTHER).await.redirect();
    assert!(is_in(&ada).await);
    server
        .sql("update portal_sessions set seen_at = seen_at - 1800000")
        .await;
    assert!(!is_in(&ada).await);
});

on_both!(tries_are_throttled_and_strangers_learn_nothing, |backend| {
    let server = Server::start(backend, &["--rate-sign-in", "3"]).await;
    let merchant = server.merchant(true);
    member(&server, &merchant, "owner", "ada@example.com").await;
    let guesser = Browser::new(&server);
    let known = sign_in(&guesser, "ada@example.com", "wrong").await;
    let unknown = sign_in(&guesser, "eve@example.com", "wrong").await;
    let same = |answer: &Answer, email: &str| answer.body.replace(email, "");
    assert_eq!((known.status, unknown.status), (400, 400));
    assert_eq!(same(&known, "ada@example.com"), same(&unknown, "eve@example.com"));
    for _ in 0..2 {
        assert_eq!(sign_in(&guesser, "ADA@example.com", "wrong").await.status, 400);
    }
    let refused = sign_in(&guesser, "ada@example.com", PASSWORD).await;
    assert_eq!(refused.status, 429, "the right password too");
    let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=300).contains(&wait), "{wait}");
    assert_eq!(
        sign_in(&guesser, "bob@example.com", "wrong").await.status,
        400,
        "others may try"
    );
    let names = "select count(*) from rate_limits where bucket like '%example%' or bucket like '%127.0.0%'";
    assert_eq!(server.count(names).await, 0);
    server.sql("delete from rate_limits").await;
    sign_in(&guesser, "ada@example.com", PASSWORD).await.redirect();
});

on_both!(a_sign_in_in_a_new_browser_is_reported, |backend| {
    let (listener, arguments) = mail_server().await;
    let server = Server::start(backend, &arguments.each_ref().map(String::as_str)).await;
    let merchant = server.merchant(true);
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    const NEW: &str =
        "select count(*) from audit where action = 'staff.signed_in' and detail like '%newBrowser%'";
    let joined = server.count(NEW).await;

    // The browser in which she joined is known, also after she signed out.
    ada.post("/portal/sign-out", &[]).await.redirect();
    sign_in(&ada, "ada@example.com", PASSWORD).await.redirect();
    assert_eq!(server.count(NEW).await, joined);

    let thief = Browser::new(&server);
    let letter = tokio::spawn(one_letter(Arc::clone(&listener)));
    sign_in(&thief, "Ada@example.com", PASSWORD).await.redirect();
    assert_eq!(server.count(NEW).await, joined + 1);
    let letter = letter.await.unwrap();
    for part in [
        "RCPT TO:<ada@example.com>",
        "127.0.0.1",
        "Unknown browser",
        "/portal/account",
    ] {
        assert!(letter.contains(part), "{part}: {letter}");
    }
    assert!(!letter.contains(PASSWORD), "{letter}");

    // Somebody else's cookie is worth nothing.
    let bob = member(&server, &merchant, "owner", "bob@example.com").await;
    let letter = tokio::spawn(one_letter(Arc::clone(&listener)));
    sign_in(&bob, "ada@example.com", PASSWORD).await.redirect();
    assert!(letter.await.unwrap().contains("RCPT TO:<ada@example.com>"));

    // Ada and Bob share this browser now: neither is a stranger there.
    let shared = server.count(NEW).await;
    for email in ["bob@example.com", "ada@example.com", "bob@example.com"] {
        sign_in(&bob, email, PASSWORD).await.redirect();
    }
    assert_eq!(server.count(NEW).await, shared);

    // A new password makes every other browser new, and is reported itself.
    let letter = tokio::spawn(one_letter(Arc::clone(&listener)));
    let form = [("current", PASSWORD), ("password", ANOTHER)];
    ada.post("/portal/account/password", &form).await.redirect();
    let letter = letter.await.unwrap();
    assert!(
        letter.contains("password was changed") && !letter.contains(ANOTHER),
        "{letter}"
    );
    ada.post("/portal/sign-out", &[]).await.redirect();
    sign_in(&ada, "ada@example.com", ANOTHER).await.redirect();
    assert_eq!(server.count(NEW).await, shared);
    let letter = tokio::spawn(one_letter(listener));
    sign_in(&thief, "ada@example.com", ANOTHER).await.redirect();
    assert!(letter.await.unwrap().contains("New sign-in"));
    assert_eq!(server.count(NEW).await, shared + 1);
});

on_both!(nobody_is_led_to_another_site, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    for next in [
        "https://evil.example",
        "//evil.example",
        "/portal//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
    ] {
        let form = [
            ("email", "ada@example.com"),
            ("password", PASSWORD),
            ("next", next),
        ];
        let browser = Browser::new(&server);
        assert_eq!(
            browser.post("/portal/sign-in", &form).await.redirect(),
            "/portal",
            "{next}"
        );
        let proven = ada
            .post("/portal/prove", &[("proof", PASSWORD), ("next", next)])
            .await;
        assert_eq!(proven.redirect(), "/portal", "{next}");
        let page = Browser::new(&server)
            .get(&format!("/portal/sign-in?next={}", crate::portal::encode(next)))
            .await;
        assert!(!page.page().contains("evil"), "{next}");
    }
    let form = [
        ("email", "ada@example.com"),
        ("password", PASSWORD),
        ("next", "/portal/staff?x=1"),
    ];
    let browser = Browser::new(&server);
    assert_eq!(
        browser.post("/portal/sign-in", &form).await.redirect(),
        "/portal/staff?x=1"
    );

    // A proof of identity changes the token, and is required again after ten minutes.
    let before = browser.cookie();
    assert_eq!(
        browser.post("/portal/prove", &[("proof", "wrong")]).await.status,
        400
    );
    browser
        .post("/portal/prove", &[("proof", PASSWORD)])
        .await
        .redirect();
    assert_ne!(browser.cookie(), before);
    browser.set_cookie(before);
    assert!(!is_in(&browser).await);

    // New members start in the sandbox. They can change to live mode, and other values are refused.
    assert!(
        ada.get("/portal/account").await.page().contains("sandbox-banner"),
        "newcomers begin there"
    );
    let live = ada
        .form("/portal/mode", &[("sandbox", "false")])
        .header("referer", format!("{}/portal/staff", server.base));
    assert_eq!(ada.send(live).await.status, 303);
    assert!(!ada.get("/portal/account").await.page().contains("sandbox-banner"));
    assert_eq!(
        ada.post("/portal/mode", &[("sandbox", "maybe")]).await.status,
        400
    );
});

on_both!(forgotten_passwords_come_by_mail, |backend| {
    let (listener, arguments) = mail_server().await;
    let server = Server::start(backend, &arguments.each_ref().map(String::as_str)).await;
    let merchant = server.merchant(true);
    member(&server, &merchant, "owner", "ada@example.com").await;
    let browser = Browser::new(&server);
    let unknown = browser
        .post("/portal/forgot", &[("email", "nobody@example.com")])
        .await
        .page();
    let letter = tokio::spawn(one_letter(listener));
    let known = browser
        .post("/portal/forgot", &[("email", "ADA@example.com")])
        .await
        .page();
    assert_eq!(unknown, known, "the answer tells nothing");
    let letter = letter.await.unwrap();
    assert!(
        letter.contains("RCPT TO:<ada@example.com>"),
        "to the address as it is kept: {letter}"
    );
    let link = path_in(&letter, "/portal/join/");
    let done = browser.post(link, &[("password", ANOTHER)]).await.redirect();
    assert_eq!(done, "/portal/sign-in?done=password_set");
    sign_in(&browser, "ada@example.com", ANOTHER).await.redirect();
});
