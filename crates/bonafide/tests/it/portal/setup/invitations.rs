//! Invitations of applicants in the portal: created on the Links page, listed, and revoked.

use super::{make_flow, send, start};
use crate::harness::{Server, on_both};
use crate::portal::Browser;

pub(super) const LIST: &str = "/portal/invitations";
pub(super) const COUNT: &str = "select count(*) from applicant_invitations";

/// Creates a Flow whose invitations work for two days, and its Group. Returns the Links page.
pub(super) async fn links_page(owner: &Browser) -> String {
    let flow = make_flow(owner, "Opening", &[("invitationHours", Some("48"))]).await;
    let form = [("name", "G"), ("flow", flow.as_str())];
    owner.post("/portal/groups/new", &form).await.redirect();
    owner.get("/portal/links").await.page()
}

/// Creates an invitation on the Links page. Returns the page that shows it.
pub(super) async fn invite(owner: &Browser, links: &str, user: &str) -> String {
    let pressed = [("userId", Some(user)), ("kind", Some("invitation"))];
    let shown = send(owner, "/portal/links", links, &pressed).await.redirect();
    owner.get(&shown).await.page()
}

/// The pages that revoke the listed invitations, in the list's order.
fn revoke_paths(page: &str) -> Vec<String> {
    page.split('"')
        .filter(|part| part.starts_with("/portal/invitations/") && part.contains("/revoke"))
        .map(str::to_owned)
        .collect()
}

/// Presses "Revoke", which is refused with a text on the list.
async fn assert_refused(browser: &Browser, path: &str, status: u16, text: &str) {
    let refused = browser.post(path, &[]).await;
    assert_eq!(refused.status, status, "{}", refused.body);
    assert!(refused.body.contains(text), "{}", refused.body);
}

on_both!(an_invitation_is_shown_once_and_listed, |backend| {
    let (server, _merchant, owner) = start(backend).await;
    let links = links_page(&owner).await;
    let empty = owner.get(LIST).await.page();
    assert!(empty.contains("No invitations yet") && empty.contains("href=\"/portal/links\""));

    let faulty = [("userId", Some(" ")), ("kind", Some("invitation"))];
    let refused = send(&owner, "/portal/links", &links, &faulty).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("Enter an applicant ID."));
    assert_eq!(server.count(COUNT).await, 0, "a faulty form creates none");

    let made = invite(&owner, &links, "user-1").await;
    assert!(made.contains("?invitation=") && made.contains("<svg"), "{made}");
    assert!(made.contains("The invitation works until ") && made.contains("href=\"/portal/invitations\""));
    assert!(!made.contains("ten minutes"), "{made}");
    assert_eq!(
        owner.get("/portal/links/made").await.redirect(),
        "/portal/links",
        "shown once"
    );
    assert_eq!(server.count(COUNT).await, 1, "and created once");
    assert_eq!(server.count("select count(*) from link_tokens").await, 0);
    let hours = "select (expires_at - created_at) / 3600000 from applicant_invitations";
    assert_eq!(server.count(hours).await, 48);

    let list = owner.get(LIST).await.page();
    for text in [
        ">user-1<",
        "Opening <span class=\"muted\">G</span>",
        "data-word=\"open\"",
        "0 / 3",
    ] {
        assert!(list.contains(text), "{text}: {list}");
    }
    assert!(!list.contains("?invitation="), "the URL is shown only once");
});

on_both!(a_press_of_revoke_revokes_an_invitation, |backend| {
    let (server, _merchant, owner) = start(backend).await;
    let links = links_page(&owner).await;
    invite(&owner, &links, "user-1").await;
    let path = revoke_paths(&owner.get(LIST).await.page()).remove(0);
    let asked = owner.get(&path).await.page();
    assert!(asked.contains("Revoke this invitation?") && asked.contains("user-1"));
    let list = owner.submit(&path, &[]).await;
    assert!(
        list.contains("The invitation is revoked.") && list.contains("data-word=\"revoked\""),
        "{list}"
    );
    assert!(revoke_paths(&list).is_empty(), "{list}");
    assert_eq!(
        owner.get(&path).await.redirect(),
        LIST,
        "there is nothing to revoke"
    );
    owner.submit(&path, &[]).await;
    let trail = "select count(*) from audit where action = 'invitation.revoked'";
    assert_eq!(server.count(trail).await, 1, "a second press changes nothing");

    // An invitation that has ended otherwise cannot be revoked.
    invite(&owner, &links, "user-2").await;
    let path = revoke_paths(&owner.get(LIST).await.page()).remove(0);
    server
        .sql("update applicant_invitations set state = 'failed', ended_at = created_at where state = 'open'")
        .await;
    assert_refused(&owner, &path, 409, "This invitation has already ended").await;
    assert_refused(
        &owner,
        "/portal/invitations/x/revoke",
        404,
        "This invitation does not exist here.",
    )
    .await;
    let failed = owner.get(LIST).await.page();
    assert!(failed.contains("data-word=\"failed\"") && revoke_paths(&failed).is_empty());
});

on_both!(invitations_are_filtered_and_paged, |backend| {
    let (server, _merchant, owner) = start(backend).await;
    let links = links_page(&owner).await;
    for number in 1..=51 {
        let user = format!("user-{number}.");
        let pressed = [("userId", Some(user.as_str())), ("kind", Some("invitation"))];
        send(&owner, "/portal/links", &links, &pressed).await.redirect();
    }
    let newest = owner.get(LIST).await.page();
    assert_eq!(revoke_paths(&newest).len(), 50);
    assert!(newest.contains(">user-51.<") && !newest.contains(">user-1.<"));
    let older = newest
        .split('"')
        .find(|part| part.starts_with("/portal/invitations?before="))
        .expect("a link to older invitations");
    let oldest = owner.get(older).await.page();
    assert_eq!(revoke_paths(&oldest).len(), 1);
    assert!(oldest.contains(">user-1.<") && !oldest.contains("?before="));

    let only = revoke_paths(&oldest).remove(0);
    owner.post(&only, &[]).await.redirect();
    let revoked = owner.get("/portal/invitations?status=revoked").await.page();
    assert!(revoked.contains(">user-1.<") && !revoked.contains(">user-51.<"));
    let open = owner.get("/portal/invitations?status=open").await.page();
    assert!(open.contains(">user-51.<") && !open.contains("?status=open&#38;before="));
    let failed = owner.get("/portal/invitations?status=failed").await.page();
    assert!(failed.contains("No invitations match this filter"));
    for wrong in ["status=pending", "before=x"] {
        let refused = owner.get(&format!("/portal/invitations?{wrong}")).await;
        assert_eq!(refused.status, 400, "{wrong}");
    }
    assert_eq!(server.count(COUNT).await, 51);
});

/// Asserts that a reader neither sees the invitation nor can revoke it.
async fn assert_invisible(server: &Server, reader: &Browser, path: &str) {
    assert!(reader.get(LIST).await.page().contains("No invitations yet"));
    assert_eq!(reader.get(path).await.status, 404);
    assert_refused(reader, path, 404, "This invitation does not exist here.").await;
    let open = "select count(*) from applicant_invitations where state = 'open'";
    assert_eq!(server.count(open).await, 1);
}

on_both!(invitations_are_of_one_account_and_mode, |backend| {
    let (server, merchant, owner) = start(backend).await;
    let links = links_page(&owner).await;
    invite(&owner, &links, "user-1").await;
    let path = revoke_paths(&owner.get(LIST).await.page()).remove(0);

    let stranger = Browser::sign_up(&server, &server.merchant(true).id, "owner").await;
    assert_invisible(&server, &stranger, &path).await;
    owner
        .post("/portal/mode", &[("sandbox", "false")])
        .await
        .redirect();
    assert_invisible(&server, &owner, &path).await;

    // Readers who may not see applicants see a mask, and may revoke.
    let developer = Browser::sign_up(&server, &merchant.id, "developer").await;
    for page in [LIST, path.as_str()] {
        let page = developer.get(page).await.page();
        assert!(page.contains(">•••<") && !page.contains("user-1"), "{page}");
    }
    let list = developer.submit(&path, &[]).await;
    assert!(list.contains("data-word=\"revoked\""), "{list}");
});

on_both!(an_invitation_is_mailed_and_its_applicant_reminded, |backend| {
    // No mail server listens there, so letters stay queued.
    let mail = [
        "--smtp-url",
        "smtp://127.0.0.1:9",
        "--mail-from",
        "verify@example.com",
    ];
    let server = Server::start(backend, &mail).await;
    let merchant = server.merchant(true);
    let owner = Browser::sign_up_as(&server, &merchant.id, "owner", "robin@example.com").await;
    let links = links_page(&owner).await;
    let with = |email: &'static str, kind: &'static str| {
        [
            ("userId", Some("user-1")),
            ("email", Some(email)),
            ("language", Some("de")),
            ("kind", Some(kind)),
        ]
    };
    for (pressed, text) in [
        (with("robin", "invitation"), "Enter an email address"),
        (
            with("ada@example.com", "invitation"),
            "member of your portal account",
        ),
        (with("robin@example.com", "link"), "A link cannot be emailed"),
    ] {
        let refused = send(&owner, "/portal/links", &links, &pressed).await;
        assert!(
            refused.status == 400 && refused.body.contains(text),
            "{text}: {}",
            refused.body
        );
    }
    assert_eq!(server.count(COUNT).await, 0);
    let shown = send(
        &owner,
        "/portal/links",
        &links,
        &with("robin@example.com", "invitation"),
    )
    .await
    .redirect();
    let made = owner.get(&shown).await.page();
    assert!(
        made.contains("The server will email the applicant another link"),
        "{made}"
    );
    let german = "select count(*) from applicant_invitations where language = 'de'";
    assert_eq!(server.count(german).await, 1);

    let list = owner.get(LIST).await.page();
    assert!(
        list.contains("Pending") && !list.contains("robin@example.com"),
        "{list}"
    );
    let remind = revoke_paths(&list).remove(0).replace("/revoke", "/remind");
    let letters = "select count(*) from applicant_letters";
    // The letter that waits serves the reminder.
    assert!(
        owner
            .submit(&remind, &[])
            .await
            .contains("The reminder email is queued.")
    );
    assert_eq!(server.count(letters).await, 1);
    server
        .sql("update applicant_letters set state = 'sent', next_try_at = null, claims = claims + 1")
        .await;
    assert_refused(&owner, &remind, 429, "sent or queued a short time ago").await;
    server
        .sql("update applicant_letters set created_at = created_at - 600000")
        .await;
    // The reader stays in the list that was filtered.
    let due = owner.get("/portal/invitations?status=open").await.page();
    let remind = revoke_paths(&due).remove(0).replace("/revoke", "/remind");
    assert_eq!(
        owner.post(&remind, &[]).await.redirect().split('&').next(),
        Some("/portal/invitations?status=open")
    );
    assert_eq!(server.count(letters).await, 2);
    // After an email that was not delivered, there is a link to send.
    server
        .sql("update applicant_letters set state = 'failed', next_try_at = null, claims = claims + 1, created_at = created_at - 600000")
        .await;
    let shown = owner.submit(&remind, &[]).await;
    assert!(shown.contains("This link opens the same invitation"), "{shown}");
    // The renewal of an expired one can be stopped.
    server
        .sql("update applicant_invitations set state = 'expired', ended_at = created_at")
        .await;
    let revoke = revoke_paths(&owner.get(LIST).await.page()).remove(0);
    assert!(
        owner
            .get(&revoke)
            .await
            .page()
            .contains("The invitation has expired.")
    );
    let list = owner.submit(&revoke, &[]).await;
    assert!(
        list.contains("The applicant can no longer request a new link.") && revoke_paths(&list).is_empty(),
        "{list}"
    );
    assert!(list.contains("data-word=\"expired\""), "{list}");
});
