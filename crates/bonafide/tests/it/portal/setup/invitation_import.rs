//! Invitations from a file in the portal, the links and statuses of such a file, and reminders without mail.

use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::json;

use super::invitations::{COUNT, LIST, invite, links_page};
use super::{fields, start};
use crate::harness::{Server, on_both};
use crate::portal::{Answer, Browser};

const IMPORT: &str = "/portal/invitations/import";
const LINKS: &str = "/portal/invitations/links";
const STATUSES: &str = "/portal/invitations/statuses";

/// The Group and Flow that the form of a page offers first.
fn place(page: &str) -> String {
    let place = fields(page).into_iter().find(|(name, _)| name == "place");
    place.expect("a Flow to choose").1
}

async fn upload(browser: &Browser, place: &str, content: &str) -> Answer {
    let part = Part::bytes(content.to_owned().into_bytes()).file_name("applicants.csv");
    let form = Form::new().text("place", place.to_owned()).part("file", part);
    let request = browser
        .request(Method::POST, IMPORT)
        .header("origin", &browser.base)
        .header("sec-fetch-site", "same-origin")
        .multipart(form);
    browser.send(request).await
}

/// The token in a text with the URL of an invitation.
fn token(text: &str) -> String {
    let (_, after) = text.split_once("?invitation=").expect("the URL of an invitation");
    let is_part = |letter: &char| letter.is_ascii_alphanumeric() || "-_.".contains(*letter);
    after.chars().take_while(is_part).collect()
}

/// Asserts that an invitation's token opens a session.
async fn assert_opens(server: &Server, token: &str) {
    let path = format!("{}/v2/sdk/session/invitation/preview", server.base);
    let request = server.http.post(path).json(&json!({"token": token}));
    assert_eq!(request.send().await.unwrap().status(), 200, "{token}");
}

/// The id of the file whose invitations a list shows.
fn file_id(list: &str) -> &str {
    let (_, id) = list.split_once("?import=").expect(list);
    id.split('&').next().unwrap()
}

on_both!(a_file_becomes_invitations, |backend| {
    let (server, merchant, owner) = start(backend).await;
    let links = links_page(&owner).await;
    invite(&owner, &links, "other").await;
    let form = owner.get(IMPORT).await.page();
    assert!(form.contains("customer-1,Ada,Byron,1990-12-31"), "{form}");
    let file = "\u{feff}UserID;firstName;lastName;dob\r\nuser-1;Ada;Byron;1990-12-31\r\n=user-2;;;\r\n";
    // No Flow is chosen at first.
    assert_eq!(upload(&owner, &place(&form), file).await.status, 400);
    let list = upload(&owner, &place(&links), file).await.redirect();
    assert_eq!(server.count(COUNT).await, 3);
    let trail = "select count(*) from audit where action = 'invitation.imported'";
    assert_eq!(server.count(trail).await, 1);
    let shown = owner.get(&list).await.page();
    for text in ["The invitations are created.", ">user-1<", ">=user-2<", "Open: 2"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert!(!shown.contains(">other<"), "{shown}");

    let chosen = [("import", file_id(&list))];
    let answer = owner.post(LINKS, &chosen).await;
    let disposition = answer.headers["content-disposition"].to_str().unwrap().to_owned();
    assert!(disposition.contains("invitation-links.csv"), "{disposition}");
    let file = answer.page();
    let rows: Vec<&str> = file.lines().collect();
    assert_eq!((rows.len(), rows[0]), (3, "userId,url,expiresAt"), "{file}");
    assert!(
        rows[1].starts_with("user-1,") && rows[2].starts_with("'=user-2,"),
        "{file}"
    );
    for row in &rows[1..] {
        assert_opens(&server, &token(row)).await;
    }
    let again = owner.post(LINKS, &chosen).await.page();
    assert_ne!(token(&again), token(rows[1]), "each file has links of its own");
    assert_opens(&server, &token(rows[1])).await;
    let statuses = owner.post(STATUSES, &chosen).await.page();
    let rows: Vec<&str> = statuses.lines().collect();
    assert!(rows[1].starts_with("user-1,open,0,3,"), "{statuses}");

    // Readers who may not see applicants see a mask, and get no links.
    let developer = Browser::sign_up(&server, &merchant.id, "developer").await;
    let statuses = developer.post(STATUSES, &chosen).await.page();
    assert!(
        statuses.contains("\n•••,") && !statuses.contains("user-1"),
        "{statuses}"
    );
    assert_eq!(developer.post(LINKS, &chosen).await.status, 403);
    let shown = developer.get(&list).await.page();
    assert!(!shown.contains(LINKS) && shown.contains(STATUSES), "{shown}");
    let refused = developer.post(&remind_path(&shown), &[]).await;
    let text = "Your role does not show applicants";
    assert!(
        refused.status == 403 && refused.body.contains(text),
        "{}",
        refused.body
    );

    // A file belongs to one account.
    let stranger = Browser::sign_up(&server, &server.merchant(true).id, "owner").await;
    for path in [LINKS, STATUSES] {
        assert_eq!(stranger.post(path, &chosen).await.status, 404, "{path}");
        assert_eq!(owner.post(path, &[("import", "x")]).await.status, 404, "{path}");
    }
    let shown = stranger
        .get(&format!("{LIST}?import={}", file_id(&list)))
        .await
        .page();
    assert!(shown.contains("No invitations match this filter"), "{shown}");
    assert_eq!(owner.get(&format!("{LIST}?import=x")).await.status, 400);
});

on_both!(a_faulty_file_creates_no_invitation, |backend| {
    let (server, merchant, owner) = start(backend).await;
    let place = place(&links_page(&owner).await);
    let names = "userId,email,firstName,lastName,dob\n";
    let many = format!("userId,email\n{}", ",x\n".repeat(60));
    for (content, texts) in [
        (
            format!("{names}user-1,ada,,,\nuser-2,,Ada,Byron,31.12.1990\nuser-1,,,,\n"),
            vec![
                "Line 2, email: must be an email address.",
                "Line 3, dob: Enter a date of birth",
                "Line 4, userId: Line 2 has the same ID.",
            ],
        ),
        (
            many,
            vec![
                "Line 2, userId: cannot be empty.",
                "Line 26, email: ",
                "and 70 more",
            ],
        ),
        (
            "name\nAda\n".into(),
            vec![
                "Line 1: Column 1 has an unknown name.",
                "Line 1, userId: This column is missing.",
            ],
        ),
        (String::new(), vec!["Choose a file with a row of column names"]),
        // The transaction of the first row ends with that of the second.
        (
            "userId,email\nuser-1,\nuser-2,ada@example.org\n".into(),
            vec!["Line 3, email: cannot be used, because this server sends no mail to applicants"],
        ),
    ] {
        let refused = upload(&owner, &place, &content).await;
        assert_eq!(refused.status, 400, "{content}");
        for text in texts {
            assert!(refused.body.contains(text), "{text}: {}", refused.body);
        }
        assert!(!refused.body.contains("31.12.1990") && !refused.body.contains("Line 27,"));
    }
    let refused = upload(&owner, "x.y", "userId\nuser-1\n").await;
    assert_eq!(refused.status, 400);
    assert!(
        refused.body.contains("Choose a Flow in a Group."),
        "{}",
        refused.body
    );
    assert_eq!(server.count(COUNT).await, 0);
    let log = server.log().await;
    assert!(!log.contains("ada@example.org") && !log.contains("31.12.1990"));

    // A member whose role does not include links has neither the form nor the files.
    let auditor = Browser::sign_up(&server, &merchant.id, "auditor").await;
    assert_eq!(auditor.get(IMPORT).await.status, 403);
    let refused = upload(&auditor, &place, "userId\nuser-1\n").await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    for path in [LINKS, STATUSES] {
        assert_eq!(auditor.post(path, &[]).await.status, 403, "{path}");
    }
    assert_eq!(server.count(COUNT).await, 0);
});

/// The first address of a form that reminds.
fn remind_path(page: &str) -> String {
    let is_path = |part: &&str| part.starts_with("/portal/invitations/") && part.contains("/remind");
    page.split('"')
        .find(is_path)
        .expect("a form that reminds")
        .to_owned()
}

on_both!(a_reminder_without_mail_is_a_further_link, |backend| {
    let (server, _merchant, owner) = start(backend).await;
    let links = links_page(&owner).await;
    assert!(!links.contains("name=\"email\""), "this server sends no mail");
    let first = token(&invite(&owner, &links, "user-1").await);
    let due = format!("{LIST}?status=due");
    let none = "No invitations match this filter";
    assert!(owner.get(&due).await.page().contains(none));
    server
        .sql("update applicant_invitations set remind_at = created_at")
        .await;
    let list = owner.get(&due).await.page();
    assert!(
        list.contains(">user-1<") && list.contains("value=\"due\" selected"),
        "{list}"
    );

    let path = remind_path(&list);
    let shown = owner.submit(&path, &[]).await;
    assert!(
        shown.contains("This link opens the same invitation") && shown.contains("<svg"),
        "{shown}"
    );
    let further = token(&shown);
    assert_ne!(further, first);
    for token in [&first, &further] {
        assert_opens(&server, token).await;
    }
    assert_eq!(
        server.count("select reminders from applicant_invitations").await,
        1
    );
    assert!(owner.get(&due).await.page().contains(none));
    assert_eq!(server.count(COUNT).await, 1);

    server
        .sql("update applicant_invitations set state = 'expired', ended_at = created_at")
        .await;
    let refused = owner.post(&path, &[]).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(
        refused.body.contains("This invitation has already ended."),
        "{}",
        refused.body
    );
    let missing = owner.post("/portal/invitations/x/remind", &[]).await;
    assert_eq!(missing.status, 404, "{}", missing.body);
    assert!(
        missing.body.contains("This invitation does not exist here."),
        "{}",
        missing.body
    );
});

on_both!(a_link_cannot_be_mailed, |backend| {
    let (server, _merchant, owner) = start(backend).await;
    let links = links_page(&owner).await;
    let place = place(&links);
    for (kind, text) in [
        ("", "A link cannot be emailed"),
        ("invitation", "because this server sends no mail to applicants"),
    ] {
        let form = [
            ("userId", "user-1"),
            ("place", place.as_str()),
            ("email", "ada@example.org"),
            ("kind", kind),
        ];
        let refused = owner.post("/portal/links", &form).await;
        assert_eq!(refused.status, 400, "{kind}");
        assert!(refused.body.contains(text), "{text}: {}", refused.body);
        assert!(
            refused.body.contains("value=\"ada@example.org\""),
            "what was typed stays"
        );
    }
    assert_eq!(server.count(COUNT).await, 0);
    assert_eq!(server.count("select count(*) from link_tokens").await, 0);
});
