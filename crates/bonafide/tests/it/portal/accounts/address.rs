//! Changes of the email address for signing in: the proof, and the letters to both addresses.

use std::sync::Arc;

use super::*;

on_both!(an_address_changes_when_its_mail_is_read, |backend| {
    let (listener, arguments) = mail_server().await;
    let server = Server::start(backend, &arguments.each_ref().map(String::as_str)).await;
    let merchant = server.merchant(true);
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    member(&server, &merchant, "auditor", "bob@example.com").await;
    for (email, proof) in [
        ("new@example.com", "wrong"),
        ("no address", PASSWORD),
        ("ada@example.com", PASSWORD),
    ] {
        let form = [("newEmail", email), ("emailProof", proof)];
        let refused = ada.post("/portal/account/email", &form).await;
        assert_eq!(refused.status, 400, "{email}");
        assert!(refused.body.contains(email) && !refused.body.contains(PASSWORD));
    }
    let ask = async |email: &str| {
        let letter = tokio::spawn(one_letter(Arc::clone(&listener)));
        let form = [("newEmail", email), ("emailProof", PASSWORD)];
        let told = ada.post("/portal/account/email", &form).await.redirect();
        (told, letter.await.unwrap())
    };
    // For an address that is taken, the response is the same. Its owner gets a letter without a link.
    let (taken, letter) = ask("BOB@example.com").await;
    assert!(!letter.contains("/portal/join/"), "{letter}");
    let (free, letter) = ask("new@example.com").await;
    assert_eq!(taken, free);
    let link = path_in(&letter, "/portal/join/").to_owned();
    sign_in(&Browser::new(&server), "ada@example.com", PASSWORD)
        .await
        .redirect();
    // The link is opened in the browser of the new address's owner, and the former address gets a letter.
    let elsewhere = Browser::new(&server);
    assert!(elsewhere.get(&link).await.page().contains("new@example.com"));
    let letter = tokio::spawn(one_letter(Arc::clone(&listener)));
    elsewhere.post(&link, &[]).await.redirect();
    let letter = letter.await.unwrap();
    assert!(letter.contains("RCPT TO:<ada@example.com>"), "{letter}");
    assert!(!letter.contains("new@example.com"), "{letter}");
    assert_eq!(elsewhere.post(&link, &[]).await.status, 410, "once");
    assert_eq!(sign_in(&elsewhere, "ada@example.com", PASSWORD).await.status, 400);
    sign_in(&elsewhere, "NEW@example.com", PASSWORD).await.redirect();
    assert!(is_in(&elsewhere).await);
    let changed = "select count(*) from audit where action = 'staff.email_changed'";
    assert_eq!(server.count(changed).await, 1);
});

on_both!(an_address_changes_by_a_link_to_copy_without_mail, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    let bob = member(&server, &merchant, "auditor", "bob@example.com").await;
    let form = |email| [("newEmail", email), ("emailProof", PASSWORD)];
    let page = ada
        .submit("/portal/account/email", &form("bob@example.com"))
        .await;
    let taken = link(&page);
    let refused = ada.post(&taken, &[]).await;
    let dead = ada.post("/portal/join/nobodys", &[]).await;
    assert_eq!(
        (refused.status, dead.status),
        (404, 404),
        "as any link that is worth nothing"
    );
    assert!(
        refused.body.contains("This link is not valid"),
        "{}",
        refused.body
    );
    let page = ada
        .submit("/portal/account/email", &form("new@example.com"))
        .await;
    assert_eq!(
        ada.get(&taken).await.status,
        404,
        "a later link voids the earlier"
    );
    let path = link(&page);
    assert!(
        !ada.get("/portal/account").await.page().contains(&path),
        "shown once"
    );
    // A changed password revokes the link, because the request may have come from a thief.
    let change = [("current", PASSWORD), ("password", ANOTHER)];
    ada.post("/portal/account/password", &change).await.redirect();
    assert_eq!(ada.get(&path).await.status, 404);
    let form = [("newEmail", "new@example.com"), ("emailProof", ANOTHER)];
    let path = link(&ada.submit("/portal/account/email", &form).await);
    let page = ada.submit(&path, &[]).await;
    assert!(page.contains("new@example.com") && !page.contains("ada@example.com"));
    assert!(is_in(&bob).await);
});
