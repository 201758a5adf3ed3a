//! An account's staff: roles, access, and what a change of them ends.

use super::*;

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

    // The page invites a member, revokes the invitation, and invites again; then the member joins.
    let page = owner
        .submit("/portal/staff/invite", &[("role", "reviewer")])
        .await;
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
        .submit("/portal/staff/invite", &[("role", "reviewer")])
        .await;
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

    // The last owner cannot be removed, only owners change owners, and no member changes another account.
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
    // The refusal is next to the member on the same page.
    let refused = owner
        .post(&path(&owner_id, "role"), &[("role", "reviewer")])
        .await
        .body;
    let said = between(&refused, &format!("id=\"refused-{owner_id}\">"), "<");
    assert!(said.contains("must have an owner"), "{said}");
    assert!(refused.contains("admin@example.com") && refused.contains("aria-invalid"));
    for role in ["owner", "compliance"] {
        let refused = admin.post("/portal/staff/invite", &[("role", role)]).await;
        assert_eq!(refused.status, 400, "{role}");
        let page = owner.submit("/portal/staff/invite", &[("role", role)]).await;
        let open = between(&page, "/portal/staff/invitations/", "/revoke").to_owned();
        let revoke = format!("/portal/staff/invitations/{open}/revoke");
        assert_eq!(admin.post(&revoke, &[]).await.status, 403, "{role}");
        assert!(!admin.get("/portal/staff").await.page().contains(&revoke));
        owner.post(&revoke, &[]).await.redirect();
    }

    // A new role applies from the next request. Removed access ends sessions at once, and can be restored.
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

    // A password link sets a password once, ends every session, and signs no one in.
    let page = admin.submit(&path(&reviewer_id, "password"), &[]).await;
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

    // Admins of one account cannot reset the password of a member who belongs to another account too.
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

    // Of two owners one may be removed, but not the last.
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
    let invite = async |by: &Browser| link(&by.submit("/portal/staff/invite", &[("role", "auditor")]).await);
    let reset = async |by: &Browser| link(&by.submit(&path(&reviewer_id, "password"), &[]).await);
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

    // A password link is revoked when its member joins another account too.
    let link = reset(&admin).await;
    assert_eq!(status(&link).await, 200);
    reviewer
        .post(&format!("{}/accept", invitation(&server, &other, "auditor")), &[])
        .await
        .redirect();
    assert_eq!(status(&link).await, 404);
    server.sql("delete from memberships where role = 'auditor'").await;

    // Links are revoked when their maker loses the right to make them. Others' links remain.
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

on_both!(whoever_is_shut_out_meanwhile_makes_no_link, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let owner = member(&server, &merchant, "owner", "owner@example.com").await;
    let admin = member(&server, &merchant, "admin", "admin@example.com").await;
    let reviewer = member(&server, &merchant, "reviewer", "reviewer@example.com").await;
    let operator = Browser::operator(&server).await;
    let page = owner.get("/portal/staff").await.page();
    let reset = format!("/portal/staff/{}/password", id_of(&page, "reviewer@example.com"));
    let form = [("role", "auditor")];
    // The page was still permitted, but its maker lost the right before the link was written.
    let shut_out = "update memberships set disabled_at = 1 where role = 'admin'";
    let invited = admin.post("/portal/staff/invite", &form);
    assert_eq!(server.sql_beside(shut_out, invited).await.status, 403);
    server.sql("update memberships set disabled_at = null").await;
    let made = admin.post(&reset, &[]);
    assert_eq!(server.sql_beside(shut_out, made).await.status, 403);
    let dismissed = "update staff set operator = false";
    let invited = operator.post("/portal/operator/operators/invite", &[]);
    assert_eq!(server.sql_beside(dismissed, invited).await.status, 403);
    let open = "select count(*) from invitations where used_at is null";
    assert_eq!(server.count(open).await, 0, "no door is open");
    assert!(is_in(&reviewer).await);
});
