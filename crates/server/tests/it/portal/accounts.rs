//! Who enters the portal and how: passwords, codes, sessions, links, staff, applications.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use totp_rs::{Builder, Secret};

use super::{Answer, Browser, PASSWORD};
use crate::harness::{Backend, Merchant, Server, on_both};

const ANOTHER: &str = "seven green bottles hanging 42";

/// What stands in a page between two texts.
fn between<'a>(page: &'a str, before: &str, after: &str) -> &'a str {
    let from = page
        .find(before)
        .unwrap_or_else(|| panic!("no {before} in {page}"))
        + before.len();
    let rest = &page[from..];
    &rest[..rest.find(after).unwrap()]
}

/// The path of the link that a page of the staff shows.
fn link(page: &str) -> String {
    format!("/portal/join/{}", between(page, "/portal/join/", "<"))
}

fn invitation(server: &Server, merchant: &Merchant, role: &str) -> String {
    let arguments = [
        "portal",
        "invite",
        "--merchant",
        &merchant.id,
        "--role",
        role,
        "--json",
    ];
    let made: Value = serde_json::from_str(&server.bonafide(&arguments)).unwrap();
    let link = made["link"].as_str().unwrap();
    link[link.find("/portal/").unwrap()..].to_owned()
}

/// The id of whoever has an address, as the staff's page names it to an owner.
fn id_of(page: &str, email: &str) -> String {
    between(&page[page.find(email).unwrap()..], "/portal/staff/", "/role").to_owned()
}

async fn join(browser: &Browser, path: &str, email: &str) -> Answer {
    let form = [
        ("name", "Robin Example"),
        ("email", email),
        ("password", PASSWORD),
    ];
    browser.post(path, &form).await
}

async fn member(server: &Server, merchant: &Merchant, role: &str, email: &str) -> Browser {
    let browser = Browser::new(server);
    let path = invitation(server, merchant, role);
    assert_eq!(
        join(&browser, &path, email).await.redirect(),
        "/portal/account/totp"
    );
    browser
}

async fn sign_in(browser: &Browser, email: &str, password: &str) -> Answer {
    browser
        .post("/portal/sign-in", &[("email", email), ("password", password)])
        .await
}

/// The code that an authenticator shows in so many steps from now.
fn code(key: &str, steps: u64) -> String {
    let secret = Secret::try_from_base32(key).unwrap();
    let totp = Builder::new()
        .with_secret(secret.as_bytes().to_vec())
        .build()
        .unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    totp.generate(now + 30 * steps).to_string()
}

async fn is_in(browser: &Browser) -> bool {
    browser.get("/portal/account").await.status == 200
}

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
    let page = ada.post("/portal/account/totp", &form).await.page();
    let recovery = between(&page, "<li><code>", "</code>").to_owned();
    assert_eq!(page.matches("<li><code>").count(), 10);
    assert!(is_in(&ada).await && !is_in(&thief).await, "another token");

    // The password alone leads nowhere but to the code.
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

    // The code was used up; a recovery code works, once.
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

    // Off again, with a proof only.
    assert_eq!(
        ada.post("/portal/account/totp/off", &[("proof", "wrong")])
            .await
            .status,
        400
    );
    ada.post("/portal/account/totp/off", &[("proof", PASSWORD)])
        .await
        .redirect();
    sign_in(&again, "ada@example.com", PASSWORD).await.redirect();
    assert!(is_in(&again).await);
    // Who has lost everything is helped by whoever has the machine.
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
    assert_eq!(
        server
            .try_bonafide(&["portal", "password-link", "--email", "eve@example.com"])
            .status
            .code(),
        Some(1)
    );

    let told = server.bonafide(&["audit", "verify"]);
    assert!(told.contains("\"intact\":true"), "{told}");
    let failed = "select count(*) from audit where action = 'staff.sign_in_failed'";
    assert!(server.count(failed).await >= 5);
    let personal =
        "select count(*) from audit where lower(detail) like '%ada%' or lower(subject) like '%ada@%'";
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

    // A cookie that somebody else planted is not the one that signing in gives.
    let victim = Browser::new(&server);
    victim.set_cookie(Some("bonafide=planted".into()));
    let answer = sign_in(&victim, "ada@example.com", PASSWORD).await;
    let set = answer.headers["set-cookie"].to_str().unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("planted") && is_in(&victim).await);

    // Stolen, noticed, ended: out with the next request.
    let thief = Browser::new(&server);
    thief.set_cookie(victim.cookie());
    assert!(is_in(&thief).await);
    let page = ada.get("/portal/account").await.page();
    assert!(page.contains("127.0.0.1"), "where from");
    ada.post("/portal/account/sessions/end-all", &[]).await.redirect();
    assert!(is_in(&ada).await && !is_in(&thief).await && !is_in(&victim).await);

    // A changed password ends the others too; so does signing out one's own.
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

    // Half an hour of silence ends a session.
    sign_in(&ada, "ada@example.com", ANOTHER).await.redirect();
    assert!(is_in(&ada).await);
    server
        .sql("update portal_sessions set seen_at = seen_at - 1800000")
        .await;
    assert!(!is_in(&ada).await);
});

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

    // A proof brings another token, and is asked for again after ten minutes.
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

    // One mode, then the other, and back to the page's kind.
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

on_both!(staff_are_managed_and_an_owner_stays, |backend| {
    let server = Server::start(backend, &[]).await;
    let (merchant, other) = (server.merchant(true), server.merchant(true));
    let owner = member(&server, &merchant, "owner", "owner@example.com").await;
    let admin = member(&server, &merchant, "admin", "admin@example.com").await;
    let page = owner.get("/portal/staff").await.page();
    let owner_id = between(&page, "/portal/staff/", "/role").to_owned();
    let admin_id = between(
        &page[page.find("admin@example.com").unwrap()..],
        "/portal/staff/",
        "/role",
    )
    .to_owned();

    // Somebody is invited by the page, withdrawn, invited again, joins.
    let page = owner
        .post("/portal/staff/invite", &[("role", "reviewer")])
        .await
        .page();
    let withdrawn = link(&page);
    let open = between(&page, "/portal/staff/invitations/", "/revoke").to_owned();
    let foreign = member(&server, &other, "owner", "foreign@example.com").await;
    let revoke = format!("/portal/staff/invitations/{open}/revoke");
    assert_eq!(
        foreign.post(&revoke, &[]).await.status,
        404,
        "another account's invitation"
    );
    owner.post(&revoke, &[]).await.redirect();
    assert_eq!(Browser::new(&server).get(&withdrawn).await.status, 404);
    let page = owner
        .post(
            "/portal/staff/invite",
            &[("role", "reviewer"), ("email", "<b>@x")],
        )
        .await;
    assert_eq!(page.status, 400);
    assert!(
        page.body.contains("&#60;b&#62;") && !page.body.contains("<b>@x"),
        "shown as text"
    );
    let page = owner
        .post("/portal/staff/invite", &[("role", "reviewer")])
        .await
        .page();
    let reviewer = Browser::new(&server);
    join(&reviewer, &link(&page), "reviewer@example.com")
        .await
        .redirect();
    let page = owner.get("/portal/staff").await.page();
    let reviewer_id = between(
        &page[page.find("reviewer@example.com").unwrap()..],
        "/portal/staff/",
        "/role",
    )
    .to_owned();

    // The last owner stays; only owners touch owners; nobody reaches into another account.
    let path = |id: &str, what: &str| format!("/portal/staff/{id}/{what}");
    for (browser, id, what, form, status) in [
        (&owner, &owner_id, "role", ("role", "admin"), 409),
        (&owner, &owner_id, "access", ("access", "off"), 409),
        (&admin, &owner_id, "role", ("role", "auditor"), 403),
        (&admin, &owner_id, "access", ("access", "off"), 403),
        (&admin, &owner_id, "password", ("", ""), 403),
        (&admin, &admin_id, "role", ("role", "owner"), 403),
        (&admin, &admin_id, "role", ("role", "developer"), 403),
        (&admin, &reviewer_id, "role", ("role", "compliance"), 403),
        (&admin, &reviewer_id, "role", ("role", "owner"), 403),
        (&admin, &reviewer_id, "role", ("role", "root"), 400),
        (&foreign, &reviewer_id, "role", ("role", "auditor"), 404),
        (&foreign, &reviewer_id, "access", ("access", "off"), 404),
        (&foreign, &reviewer_id, "password", ("", ""), 404),
    ] {
        let answer = browser.post(&path(id, what), &[form]).await;
        assert_eq!(answer.status, status, "{what} {form:?}: {}", answer.body);
    }
    for role in ["owner", "compliance"] {
        let refused = admin.post("/portal/staff/invite", &[("role", role)]).await;
        assert_eq!(refused.status, 400, "{role}");
        let page = owner.post("/portal/staff/invite", &[("role", role)]).await.page();
        let open = between(&page, "/portal/staff/invitations/", "/revoke").to_owned();
        let revoke = format!("/portal/staff/invitations/{open}/revoke");
        assert_eq!(admin.post(&revoke, &[]).await.status, 403, "{role}");
        assert!(!admin.get("/portal/staff").await.page().contains(&revoke));
        owner.post(&revoke, &[]).await.redirect();
    }

    // A new role holds with the next request; whoever is shut out is out at once, and comes in again.
    assert_eq!(reviewer.get("/portal/staff").await.status, 403);
    owner
        .post(&path(&reviewer_id, "role"), &[("role", "admin")])
        .await
        .redirect();
    assert_eq!(reviewer.get("/portal/staff").await.status, 200);
    admin
        .post(&path(&reviewer_id, "access"), &[("access", "off")])
        .await
        .redirect();
    assert!(!is_in(&reviewer).await);
    sign_in(&reviewer, "reviewer@example.com", PASSWORD)
        .await
        .redirect();
    assert_eq!(
        reviewer.get("/portal/staff").await.location.as_deref(),
        Some("/portal/account"),
        "no account left"
    );
    admin
        .post(&path(&reviewer_id, "access"), &[("access", "on")])
        .await
        .redirect();

    // A password link sets a password once, ends every session, and signs nobody in.
    let page = admin.post(&path(&reviewer_id, "password"), &[]).await.page();
    let reset = link(&page);
    let stranger = Browser::new(&server);
    stranger.get(&reset).await.page();
    assert_eq!(
        stranger
            .post(&reset, &[("password", "reviewer-2026")])
            .await
            .status,
        400,
        "too obvious"
    );
    let done = stranger.post(&reset, &[("password", ANOTHER)]).await.redirect();
    assert_eq!(
        (done.as_str(), stranger.cookie()),
        ("/portal/sign-in?done=password_set", None)
    );
    assert_eq!(stranger.post(&reset, &[("password", PASSWORD)]).await.status, 410);
    assert!(!is_in(&reviewer).await);
    assert_eq!(
        sign_in(&reviewer, "reviewer@example.com", PASSWORD).await.status,
        400
    );
    sign_in(&reviewer, "reviewer@example.com", ANOTHER)
        .await
        .redirect();

    // Whoever is at home elsewhere too keeps their password from this account's admins.
    reviewer
        .post(&format!("{}/accept", invitation(&server, &other, "owner")), &[])
        .await
        .redirect();
    assert_eq!(owner.post(&path(&reviewer_id, "password"), &[]).await.status, 403);

    let access = |access| [("access", access)];
    foreign
        .post(&path(&reviewer_id, "access"), &access("off"))
        .await
        .redirect();
    assert_eq!(
        owner.post(&path(&reviewer_id, "password"), &[]).await.status,
        403,
        "nor while the other account shuts them out"
    );

    // With two owners either may go, and then no further.
    owner
        .post(&path(&admin_id, "role"), &[("role", "owner")])
        .await
        .redirect();
    admin
        .post(&path(&owner_id, "access"), &[("access", "off")])
        .await
        .redirect();
    assert!(!is_in(&owner).await);
    assert_eq!(
        admin
            .post(&path(&admin_id, "role"), &[("role", "auditor")])
            .await
            .status,
        409
    );
    let told = server.bonafide(&["audit", "verify"]);
    assert!(!told.contains("false"), "{told}");
    for rows in [
        "select count(*) from audit where action = 'staff.invited'",
        "select count(*) from audit where action = 'staff.joined'",
        "select count(*) from audit where action = 'staff.role_changed'",
        "select count(*) from audit where action = 'staff.disabled'",
        "select count(*) from audit where action = 'staff.password_link_made'",
    ] {
        assert!(server.count(rows).await > 0, "{rows}");
    }
});

on_both!(whoever_loses_a_right_leaves_no_door_open, |backend| {
    let server = Server::start(backend, &[]).await;
    let (merchant, other) = (server.merchant(true), server.merchant(true));
    let owner = member(&server, &merchant, "owner", "owner@example.com").await;
    let admin = member(&server, &merchant, "admin", "admin@example.com").await;
    let reviewer = member(&server, &merchant, "reviewer", "reviewer@example.com").await;
    let officer = member(&server, &merchant, "compliance", "officer@example.com").await;
    let page = owner.get("/portal/staff").await.page();
    let [admin_id, reviewer_id, officer_id] =
        ["admin", "reviewer", "officer"].map(|name| id_of(&page, &format!("{name}@example.com")));
    let path = |id: &str, what: &str| format!("/portal/staff/{id}/{what}");
    let invite = async |by: &Browser| {
        link(
            &by.post("/portal/staff/invite", &[("role", "auditor")])
                .await
                .page(),
        )
    };
    let reset = async |by: &Browser| link(&by.post(&path(&reviewer_id, "password"), &[]).await.page());
    let status = async |link: &str| Browser::new(&server).get(link).await.status;

    for (what, form) in [
        ("role", ("role", "auditor")),
        ("access", ("access", "off")),
        ("password", ("", "")),
    ] {
        let refused = admin.post(&path(&officer_id, what), &[form]).await;
        assert_eq!(refused.status, 403, "{what} of a compliance officer");
    }
    assert!(is_in(&officer).await);

    // A link to set a password ends where its member is at home elsewhere too.
    let link = reset(&admin).await;
    assert_eq!(status(&link).await, 200);
    reviewer
        .post(&format!("{}/accept", invitation(&server, &other, "auditor")), &[])
        .await
        .redirect();
    assert_eq!(status(&link).await, 404);
    server.sql("delete from memberships where role = 'auditor'").await;

    // Links go with the right to make them; others' stay.
    let kept = invite(&owner).await;
    let links = [invite(&admin).await, reset(&admin).await];
    owner
        .post(&path(&admin_id, "access"), &[("access", "off")])
        .await
        .redirect();
    for link in &links {
        assert_eq!(status(link).await, 404, "{link}");
    }
    sign_in(&admin, "admin@example.com", PASSWORD).await.redirect();
    let accept = format!("{kept}/accept");
    assert_eq!(
        admin.post(&accept, &[]).await.status,
        403,
        "an invitation does not let in again"
    );
    assert_eq!(status(&kept).await, 200, "and is not used up");
    owner
        .post(&path(&admin_id, "access"), &[("access", "on")])
        .await
        .redirect();
    admin
        .post("/portal/account/choose", &[("account", &merchant.id)])
        .await
        .redirect();
    assert_eq!(admin.post(&accept, &[]).await.status, 409, "a member already");

    let links = [invite(&admin).await, reset(&admin).await];
    owner
        .post(&path(&admin_id, "role"), &[("role", "developer")])
        .await
        .redirect();
    for link in &links {
        assert_eq!(status(link).await, 404, "{link}");
    }
    assert_eq!(status(&kept).await, 200);
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

/// A mail server for one letter; what it was sent.
async fn one_letter(listener: TcpListener) -> String {
    let (stream, _) = listener.accept().await.unwrap();
    let (reading, mut writing) = stream.into_split();
    let mut lines = BufReader::new(reading).lines();
    let (mut text, mut in_data) = (String::new(), false);
    writing.write_all(b"220 test\r\n").await.unwrap();
    while let Some(line) = lines.next_line().await.unwrap() {
        text.push_str(&line);
        text.push('\n');
        let answer: &[u8] = match line.as_str() {
            "." => {
                in_data = false;
                b"250 taken\r\n"
            }
            _ if in_data => continue,
            "DATA" => {
                in_data = true;
                b"354 go on\r\n"
            }
            "QUIT" => {
                writing.write_all(b"221 bye\r\n").await.unwrap();
                break;
            }
            _ => b"250 ok\r\n",
        };
        writing.write_all(answer).await.unwrap();
        if text.contains("\n.\n") {
            break;
        }
    }
    text.replace("=\n", "").replace("=3D", "=")
}

on_both!(forgotten_passwords_come_by_mail, |backend| {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("smtp://{}", listener.local_addr().unwrap());
    let arguments = ["--smtp-url", &url, "--mail-from", "Bonafide <verify@example.com>"];
    let server = Server::start(backend, &arguments).await;
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
    let link = &letter[letter.find("/portal/join/").unwrap()..];
    let link = &link[..link.find(char::is_whitespace).unwrap()];
    let done = browser.post(link, &[("password", ANOTHER)]).await.redirect();
    assert_eq!(done, "/portal/sign-in?done=password_set");
    sign_in(&browser, "ada@example.com", ANOTHER).await.redirect();
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
