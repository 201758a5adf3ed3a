//! The second factor: once it is set up, a password alone proves nothing, and an account can require it of
//! every member.

use super::*;

/// Sets up a second factor. Returns its recovery codes.
pub(in crate::portal) async fn set_up(browser: &Browser) -> Vec<String> {
    let page = browser.get("/portal/account/totp").await.page();
    let key = between(&page, "name=\"key\" value=\"", "\"");
    let form = [("key", key), ("code", &code(key, 0)), ("proof", PASSWORD)];
    let page = browser.submit("/portal/account/totp", &form).await;
    let codes = page.split("<li><code>").skip(1);
    codes
        .map(|rest| rest[..rest.find('<').unwrap()].to_owned())
        .collect()
}

/// The key on the set-up page.
async fn key_on(browser: &Browser) -> String {
    let page = browser.get("/portal/account/totp").await.page();
    between(&page, "name=\"key\" value=\"", "\"").to_owned()
}

on_both!(
    the_key_of_a_set_up_stays_until_it_is_confirmed_or_renewed,
    |backend| {
        let server = Server::start(backend, &["--rate-sign-in", "0"]).await;
        let merchant = server.merchant(true);
        let ada = member(&server, &merchant, "owner", "ada@example.com").await;
        let first = key_on(&ada).await;
        assert_eq!(key_on(&ada).await, first, "after a reload");
        let again = ada.get("/portal/account/totp?key=new").await.redirect();
        assert_eq!(again, "/portal/account/totp");
        let second = key_on(&ada).await;
        assert_ne!(second, first, "after the link to another key");
        assert_eq!(key_on(&ada).await, second);
        let bob = member(&server, &merchant, "owner", "bob@example.com").await;
        assert_ne!(key_on(&bob).await, second, "another member's");
        let codes = set_up(&ada).await;
        ada.post("/portal/account/totp/off", &[("proof", &codes[0])])
            .await
            .redirect();
        assert_ne!(key_on(&ada).await, second, "after it was confirmed");
    }
);

/// Makes every earlier proof of identity too old.
async fn make_proofs_stale(server: &Server) {
    server.sql("update portal_sessions set proved_at = 0").await;
}

/// The number of invitations made.
async fn invited(server: &Server) -> i64 {
    let sql = "select count(*) from audit where action = 'staff.invited'";
    server.count(sql).await
}

on_both!(a_password_is_no_proof_beside_a_second_factor, |backend| {
    let server = Server::start(backend, &["--rate-sign-in", "0"]).await;
    let merchant = server.merchant(true);
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    let codes = set_up(&ada).await;
    let invite = [("role", "owner")];
    ada.submit("/portal/staff/invite", &invite).await;

    make_proofs_stale(&server).await;
    let asked = "/portal/prove?next=/portal/staff";
    let guarded = async || ada.post("/portal/staff/invite", &invite).await.redirect();
    assert_eq!(guarded().await, asked);
    for (path, form) in [
        ("/portal/account/totp/off", [("proof", PASSWORD), ("", "")]),
        ("/portal/account/recovery", [("proof", PASSWORD), ("", "")]),
        ("/portal/prove", [("proof", PASSWORD), ("next", "/portal/staff")]),
        (
            "/portal/account/email",
            [("emailProof", PASSWORD), ("newEmail", "eve@example.com")],
        ),
    ] {
        assert_eq!(ada.post(path, &form).await.status, 400, "{path}");
    }
    // A changed password gives a new token, which proves no more than the old one.
    let before = ada.cookie();
    let change = [("current", PASSWORD), ("password", ANOTHER)];
    ada.post("/portal/account/password", &change).await.redirect();
    assert_ne!(ada.cookie(), before);
    assert_eq!(guarded().await, asked);
    assert_eq!(invited(&server).await, 2);

    let proof = [("proof", codes[0].as_str()), ("next", "/portal/staff")];
    assert_eq!(
        ada.post("/portal/prove", &proof).await.redirect(),
        "/portal/staff"
    );
    let page = ada.submit("/portal/staff/invite", &invite).await;
    link(&page);
    assert_eq!(invited(&server).await, 3);
    let off = [("proof", codes[0].as_str())];
    let refused = ada.post("/portal/account/totp/off", &off).await;
    assert_eq!(refused.status, 400, "used up");
    ada.post("/portal/account/totp/off", &[("proof", &codes[1])])
        .await
        .redirect();
});

on_both!(making_an_owner_needs_a_fresh_proof, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    let bob = member(&server, &merchant, "reviewer", "bob@example.com").await;
    let bob_id = id_of(&ada.get("/portal/staff").await.page(), "bob@example.com");
    let promote = format!("/portal/staff/{bob_id}/role");

    make_proofs_stale(&server).await;
    let asked = "/portal/prove?next=/portal/staff";
    let invited = ada.post("/portal/staff/invite", &[("role", "owner")]).await;
    assert_eq!(invited.redirect(), asked);
    let promoted = ada.post(&promote, &[("role", "owner")]).await;
    assert_eq!(promoted.redirect(), asked);
    assert_eq!(bob.get("/portal/staff").await.status, 403, "no owner yet");
    // Other roles need no proof.
    ada.submit("/portal/staff/invite", &[("role", "reviewer")]).await;
    assert_eq!(
        ada.post(&promote, &[("role", "auditor")]).await.redirect(),
        "/portal/staff?done=saved"
    );
    assert_eq!(
        server
            .count("select count(*) from audit where action = 'staff.invited' and detail like '%owner%'")
            .await,
        1,
        "Ada's own"
    );

    ada.post("/portal/prove", &[("proof", PASSWORD)]).await.redirect();
    ada.submit("/portal/staff/invite", &[("role", "owner")]).await;
    ada.post(&promote, &[("role", "owner")]).await.redirect();
    bob.get("/portal/staff").await.page();
});

on_both!(an_account_can_require_a_second_factor_of_everybody, |backend| {
    const SET_UP: &str = "/portal/account/totp";
    const REQUIRE: &str = "/portal/account/second-factor";
    let server = Server::start(backend, &["--rate-sign-in", "0"]).await;
    let (merchant, other) = (server.merchant(true), server.merchant(true));
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    let admin = member(&server, &merchant, "admin", "admin@example.com").await;
    let bob = member(&server, &merchant, "reviewer", "bob@example.com").await;
    let eve = member(&server, &other, "owner", "eve@example.com").await;
    let codes = set_up(&ada).await;

    // Owners decide this, with recent proof of identity.
    assert_eq!(admin.post(REQUIRE, &[("required", "true")]).await.status, 403);
    assert_eq!(ada.post(REQUIRE, &[("required", "perhaps")]).await.status, 400);
    make_proofs_stale(&server).await;
    let asked = ada.post(REQUIRE, &[("required", "true")]).await.redirect();
    assert!(asked.starts_with("/portal/prove"), "{asked}");
    ada.post("/portal/prove", &[("proof", &codes[0])])
        .await
        .redirect();
    let page = ada.submit(REQUIRE, &[("required", "true")]).await;
    assert!(page.contains("value=\"false\""), "{page}");

    // From the next request on, members without a second factor are redirected to the set-up and can do
    // nothing else.
    for path in ["/portal", "/portal/queue", "/portal/account"] {
        assert_eq!(bob.get(path).await.redirect(), SET_UP, "{path}");
    }
    for path in ["/portal/account/name", "/portal/mode", "/portal/account/totp/off"] {
        let form = [("name", "Robert"), ("sandbox", "true"), ("proof", PASSWORD)];
        assert_eq!(bob.post(path, &form).await.redirect(), SET_UP, "{path}");
    }
    let page = bob.get(SET_UP).await.page();
    assert!(page.contains("Test requires a second factor"), "{page}");
    // The same applies to members who sign in and to those who join, whose invitation states it.
    let again = Browser::new(&server);
    sign_in(&again, "bob@example.com", PASSWORD).await.redirect();
    assert_eq!(again.get("/portal").await.redirect(), SET_UP);
    let path = invitation(&server, &merchant, "auditor");
    let carol = Browser::new(&server);
    assert!(carol.get(&path).await.page().contains("requires a second factor"));
    join(&carol, &path, "carol@example.com").await.redirect();
    assert_eq!(carol.get("/portal").await.redirect(), SET_UP);
    let path = invitation(&server, &merchant, "auditor");
    eve.get("/portal/staff").await.page();
    eve.post(&format!("{path}/accept"), &[]).await.redirect();
    assert_eq!(eve.get("/portal").await.redirect(), SET_UP);
    // Another account of the same member does not require it.
    eve.post("/portal/account/choose", &[("account", &other.id)])
        .await
        .redirect();
    eve.get("/portal/staff").await.page();

    // After setting it up, members continue and cannot turn it off.
    let bobs = set_up(&bob).await;
    bob.get("/portal/queue").await.page();
    let refused = bob.post("/portal/account/totp/off", &[("proof", &bobs[0])]).await;
    assert_eq!(refused.status, 400);
    assert!(
        refused.body.contains("you cannot turn it off"),
        "{}",
        refused.body
    );

    // Ending the requirement weakens the account, so it needs recent proof of identity and a row in the audit
    // trail.
    make_proofs_stale(&server).await;
    let asked = ada.post(REQUIRE, &[("required", "false")]).await.redirect();
    assert!(asked.starts_with("/portal/prove"), "{asked}");
    assert_eq!(
        ada.post("/portal/prove", &[("proof", PASSWORD)]).await.status,
        400
    );
    ada.post("/portal/prove", &[("proof", &codes[1])])
        .await
        .redirect();
    ada.submit(REQUIRE, &[("required", "false")]).await;
    carol.get("/portal/account").await.page();
    bob.post("/portal/account/totp/off", &[("proof", &bobs[1])])
        .await
        .redirect();

    // The command line can change the setting too.
    server.bonafide(&["merchant", "set", &merchant.id, "requireSecondFactor=true"]);
    assert_eq!(carol.get("/portal/account").await.redirect(), SET_UP);
    server.bonafide(&["merchant", "set", &merchant.id, "requireSecondFactor=false"]);
    carol.get("/portal/account").await.page();
    let rows = [
        "select count(*) from audit where action = 'merchant.second_factor_required'",
        "select count(*) from audit where action = 'merchant.second_factor_optional'",
    ];
    for rows in rows {
        assert_eq!(server.count(rows).await, 2, "{rows}");
    }
});
