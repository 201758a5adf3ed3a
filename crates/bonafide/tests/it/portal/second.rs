//! The buttons that pages offer on a proposal: each of them works, and a sentence explains a missing one.

use super::four_eyes::{answer, proposal, waiting};
use super::operators_second;
use super::review::{conclude, decide, listed, merchant, newest, open, status_of, version};
use super::setup::send;
use super::{Answer, Browser};
use crate::harness::{Server, on_both};

/// Saves a setting of the account on the branding page.
async fn set(browser: &Browser, name: &str, value: &str) -> String {
    let page = browser.get("/portal/branding").await.page();
    let saved: Answer = send(browser, "/portal/branding", &page, &[(name, Some(value))]).await;
    saved.redirect()
}

/// The version of a proposal that a page shows, with or without a form. With an empty `id`, that of an
/// attempt.
pub(super) fn shown_version(page: &str, id: &str) -> String {
    let start = match id {
        "" => "data-version=\"".to_owned(),
        id => format!("data-proposal=\"{id}\" data-version=\""),
    };
    let shown = page.split(&start).nth(1);
    shown
        .map_or("0", |rest| rest.split('"').next().unwrap())
        .to_owned()
}

fn offers(page: &str, what: &str) -> bool {
    page.split("action=\"/portal/second/")
        .skip(1)
        .any(|form| form.split('"').next().unwrap().ends_with(what))
}

on_both!(an_outdated_proposal_can_only_be_rejected, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    let flow = demo["flows"]["data-only"].as_str().unwrap();
    let path = format!("/portal/flows/{flow}");
    let ada = Browser::sign_up(&server, &id, "owner").await;
    let bob = Browser::sign_up(&server, &id, "owner").await;
    server.bonafide(&["merchant", "set", &id, "fourEyes=true", "screeningThreshold=0.7"]);

    // The account's settings.
    assert!(
        set(&ada, "screeningThreshold", "0.9")
            .await
            .contains("done=change_proposed")
    );
    assert!(offers(&waiting(&bob).await, "/confirm"));
    assert!(set(&ada, "brandName", "Acme").await.contains("done=saved"));
    let page = waiting(&bob).await;
    assert!(page.contains("This proposal is outdated"), "{page}");
    assert!(!offers(&page, "/confirm") && offers(&page, "/reject"), "{page}");
    let own = waiting(&ada).await;
    assert!(
        own.contains("This proposal is outdated") && own.contains("Withdraw"),
        "{own}"
    );
    let refused = answer(&bob, &proposal(&page), "confirm").await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    answer(&bob, &proposal(&page), "reject").await.redirect();

    // A Flow.
    let page = ada.get(&path).await.page();
    let change = [
        ("minAge", Some("20")),
        ("maxAge", Some("60")),
        ("do", Some("save")),
    ];
    assert!(
        send(&ada, &path, &page, &change)
            .await
            .redirect()
            .contains("done=saved")
    );
    let page = ada.get(&path).await.page();
    let change = [("minAge", Some("18")), ("do", Some("save"))];
    let saved = send(&ada, &path, &page, &change).await.redirect();
    assert!(saved.contains("done=change_proposed"), "{saved}");
    assert!(offers(&waiting(&bob).await, "/confirm"));
    let page = ada.get(&path).await.page();
    let change = [("minAge", Some("21")), ("do", Some("save"))];
    assert!(
        send(&ada, &path, &page, &change)
            .await
            .redirect()
            .contains("done=saved")
    );
    let page = waiting(&bob).await;
    assert!(page.contains("This proposal is outdated"), "{page}");
    assert!(!offers(&page, "/confirm") && offers(&page, "/reject"), "{page}");
    answer(&bob, &proposal(&page), "reject").await.redirect();

    // A new Flow whose name another Flow has taken meanwhile.
    let made = async || {
        let page = ada.get("/portal/flows/new").await.page();
        let change = [("name", Some("Twice")), ("do", Some("save"))];
        send(&ada, "/portal/flows/new", &page, &change).await.redirect()
    };
    assert!(made().await.contains("done=change_proposed"));
    answer(&bob, &proposal(&waiting(&bob).await), "confirm")
        .await
        .redirect();
    assert!(made().await.contains("done=change_proposed"));
    let page = waiting(&bob).await;
    assert!(page.contains("a Flow with this name already exists"), "{page}");
    assert!(!offers(&page, "/confirm") && offers(&page, "/reject"), "{page}");
    assert_eq!(answer(&bob, &proposal(&page), "confirm").await.status, 409);
});

on_both!(a_member_who_may_not_confirm_reads_why, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    let ada = Browser::sign_up(&server, &id, "owner").await;
    let bob = Browser::sign_up(&server, &id, "admin").await;
    let reviewer = Browser::sign_up(&server, &id, "reviewer").await;
    server.bonafide(&["merchant", "set", &id, "fourEyes=true", "screeningThreshold=0.7"]);
    set(&ada, "screeningThreshold", "0.9").await;

    let page = waiting(&ada).await;
    assert!(
        page.contains("A colleague with the role Owner or Admin must confirm it"),
        "{page}"
    );
    assert!(page.contains("Withdraw") && !offers(&page, "/confirm"), "{page}");
    let change = proposal(&page);
    let page = waiting(&reviewer).await;
    assert!(
        page.contains("A colleague with the role Owner or Admin must confirm this"),
        "{page}"
    );
    assert!(!offers(&page, "/confirm") && !offers(&page, "/reject"), "{page}");
    assert_eq!(answer(&reviewer, &change, "confirm").await.status, 403);

    // A decision, for members who joined later: first they do not count, then they are too new.
    listed(&server, &demo, "one").await;
    let log_id = newest(&server).await;
    conclude(&ada, log_id).await;
    decide(&ada, log_id, "approve", &[]).await.redirect();
    let late = Browser::sign_up(&server, &id, "admin").await;
    let confirm = format!("/portal/applicants/{log_id}/confirm");
    for page in [waiting(&late).await, open(&late, log_id).await] {
        assert!(
            page.contains("must first confirm that you are a separate person"),
            "{page}"
        );
        assert!(
            !offers(&page, "/confirm") && !offers(&page, "/reject") && !page.contains(&confirm),
            "{page}"
        );
    }
    assert_eq!(decide(&late, log_id, "confirm", &[]).await.status, 403);
    assert!(waiting(&late).await.contains("This proposal concerns you"));
    // The command line let that member in, so one person supports and another one confirms.
    let member = async |browser: &Browser| {
        let page = waiting(browser).await;
        let form = page
            .split("<section")
            .find(|part| part.contains("Confirm a member"))
            .unwrap();
        proposal(form)
    };
    answer(&bob, &member(&bob).await, "confirm").await.redirect();
    answer(&reviewer, &member(&reviewer).await, "confirm")
        .await
        .redirect();
    for page in [waiting(&late).await, open(&late, log_id).await] {
        assert!(page.contains("You joined after this was proposed"), "{page}");
        assert!(!offers(&page, "/confirm") && !page.contains(&confirm), "{page}");
    }
    assert!(offers(&waiting(&late).await, "/reject"));
    assert_eq!(decide(&late, log_id, "confirm", &[]).await.status, 403);
    assert_eq!(answer(&late, &change, "confirm").await.status, 403);
    let page = open(&ada, log_id).await;
    assert!(
        page.contains("Owner, Admin, Compliance or Reviewer must confirm it"),
        "{page}"
    );
    assert!(page.contains("Withdraw") && !page.contains(&confirm), "{page}");
    let page = open(&bob, log_id).await;
    assert!(
        page.contains(&confirm) && !page.contains("must confirm"),
        "{page}"
    );
    let auditor = Browser::sign_up(&server, &id, "auditor").await;
    let page = open(&auditor, log_id).await;
    assert!(
        page.contains("must confirm this") && !page.contains(&confirm),
        "{page}"
    );

    // The proposer loses access.
    server
        .sql("update memberships set disabled_at = 1 where role = 'owner'")
        .await;
    for page in [waiting(&bob).await, open(&bob, log_id).await] {
        assert!(
            page.contains("The proposer is no longer a member of this account"),
            "{page}"
        );
        assert!(!offers(&page, "/confirm") && !page.contains(&confirm), "{page}");
        assert!(page.contains("/reject\""), "{page}");
    }
});

on_both!(a_proposal_that_nobody_can_confirm_says_so, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    let ada = Browser::sign_up(&server, &id, "owner").await;
    let reviewer = Browser::sign_up(&server, &id, "reviewer").await;
    server.bonafide(&["merchant", "set", &id, "fourEyes=true", "screeningThreshold=0.7"]);
    let next = set(&ada, "screeningThreshold", "0.9").await;
    let page = ada.get(&next).await.page();
    assert!(
        page.contains("nobody else in this account can confirm the change now"),
        "{page}"
    );
    assert!(
        page.contains("Invite a colleague with the role Owner or Admin"),
        "{page}"
    );
    for browser in [&ada, &reviewer] {
        let page = waiting(browser).await;
        assert!(
            page.contains("Nobody in this account can confirm this now"),
            "{page}"
        );
        assert!(
            page.contains("Invite a colleague with the role Owner or Admin"),
            "{page}"
        );
    }
    answer(&ada, &proposal(&waiting(&ada).await), "reject")
        .await
        .redirect();
    // A proposal of the command line needs two people.
    server.bonafide(&["merchant", "set", &id, "fourEyes=false"]);
    let page = waiting(&ada).await;
    assert!(
        page.contains("this account has fewer than two members who can"),
        "{page}"
    );

    // A colleague with the right role makes the confirmation possible.
    let page = ada.submit("/portal/staff/invite", &[("role", "admin")]).await;
    let bob = Browser::join_by(&server, &page, "Bob", "bob@example.com").await;
    assert!(waiting(&ada).await.contains("You gave this member access"));
    let page = waiting(&reviewer).await;
    let member = page
        .split("<section")
        .find(|part| part.contains("Confirm a member"))
        .unwrap();
    answer(&reviewer, &proposal(member), "confirm").await.redirect();
    let page = waiting(&ada).await;
    assert!(!page.contains("fewer than two members"), "{page}");
    answer(&ada, &proposal(&page), "confirm").await.redirect();
    answer(&bob, &proposal(&waiting(&bob).await), "confirm")
        .await
        .redirect();
});

on_both!(a_claim_does_not_hold_up_a_second_person, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    server.bonafide(&["merchant", "set", &id, "fourEyes=true"]);
    let ada = Browser::sign_up(&server, &id, "reviewer").await;
    let bob = Browser::sign_up(&server, &id, "reviewer").await;
    listed(&server, &demo, "one").await;
    let log_id = newest(&server).await;
    let at = |what: &str| format!("/portal/applicants/{log_id}/{what}\"");
    let carl = Browser::sign_up(&server, &id, "reviewer").await;
    conclude(&ada, log_id).await;
    assert!(open(&ada, log_id).await.contains(&at("claim")));
    decide(&ada, log_id, "decline", &[("reason", "forged")])
        .await
        .redirect();
    // The proposer cannot claim it.
    assert!(!open(&ada, log_id).await.contains(&at("claim")));
    assert!(open(&bob, log_id).await.contains(&at("claim")));
    // If a colleague has claimed it, the page names the colleague and states what to do.
    decide(&carl, log_id, "claim", &[]).await.redirect();
    let page = open(&bob, log_id).await;
    assert!(
        !page.contains(&at("confirm")) && page.contains(&at("take-over")),
        "{page}"
    );
    assert!(
        page.contains("Robin Example has claimed this attempt, so you cannot answer the proposal"),
        "{page}"
    );
    assert!(page.contains("To answer it now, take the attempt over"), "{page}");
    assert_eq!(decide(&bob, log_id, "confirm", &[]).await.status, 409);
    decide(&bob, log_id, "take-over", &[]).await.redirect();
    assert!(open(&bob, log_id).await.contains(&at("confirm")));
    decide(&bob, log_id, "reject", &[]).await.redirect();

    // Supporting a proposal of the command line ends the supporter's claim.
    listed(&server, &demo, "two").await;
    let log_id = newest(&server).await;
    let at = |what: &str| format!("/portal/applicants/{log_id}/{what}\"");
    server.bonafide(&["review", "decline", &log_id.to_string(), "--reason", "forged"]);
    decide(&ada, log_id, "claim", &[]).await.redirect();
    decide(&ada, log_id, "confirm", &[]).await.redirect();
    assert!(open(&bob, log_id).await.contains(&at("confirm")));
    decide(&bob, log_id, "confirm", &[]).await.redirect();
    assert_eq!(status_of(&server, &demo, "two").await, "declined");
});

on_both!(
    the_command_lines_proposal_is_supported_then_confirmed,
    |backend| {
        let (server, demo) = Server::demo(backend, &[]).await;
        let id = merchant(&demo).to_owned();
        let ada = Browser::sign_up(&server, &id, "owner").await;
        let bob = Browser::sign_up(&server, &id, "owner").await;
        server.bonafide(&["merchant", "set", &id, "fourEyes=true", "screeningThreshold=0.7"]);
        server.bonafide(&["merchant", "set", &id, "screeningThreshold=0.9"]);
        let page = waiting(&ada).await;
        for text in [
            "Proposed by the command line",
            "Support this proposal",
            "Neither the command line nor an API key counts as a person",
            "a second person must then confirm it",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert!(!page.contains(">Confirm<"), "{page}");
        let change = proposal(&page);
        let seen = shown_version(&page, &change);
        let next = answer(&ada, &change, "confirm").await.redirect();
        let page = ada.get(&next).await.page();
        assert!(
            page.contains("You are now the proposer. Nothing has changed yet"),
            "{page}"
        );
        assert!(
            page.contains("Withdraw") && !page.contains("Support this proposal"),
            "{page}"
        );
        // An outdated page's support button confirms nothing.
        let path = format!("/portal/second/{change}/confirm");
        let late = bob.post(&path, &[("version", &seen)]).await;
        assert_eq!(late.status, 409, "{}", late.body);
        assert!(
            late.body.contains("has changed since you opened the page"),
            "{}",
            late.body
        );
        let page = waiting(&bob).await;
        assert!(
            page.contains(">Confirm<") && !page.contains("Support this proposal"),
            "{page}"
        );
        answer(&bob, &change, "confirm").await.redirect();

        // A decision on an attempt.
        listed(&server, &demo, "one").await;
        let log_id = newest(&server).await;
        server.bonafide(&["review", "decline", &log_id.to_string(), "--reason", "forged"]);
        let page = open(&ada, log_id).await;
        for text in [
            "The command line proposes: Decline",
            "Support this proposal",
            "Neither the command line nor an API key counts as a person",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
        let next = decide(&ada, log_id, "confirm", &[]).await.redirect();
        let page = ada.get(&next).await.page();
        assert!(
            page.contains("You are now the proposer. Nothing has changed yet"),
            "{page}"
        );
        assert!(open(&bob, log_id).await.contains(">Confirm<"));
    }
);

on_both!(the_removal_of_a_list_is_supported_then_confirmed, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let file = server.dir.path().join("invented.ftm.json");
    let entity = serde_json::json!({"id": "i-1", "schema": "Person", "caption": "Zoltar Quenthabar", "datasets": ["invented"],
        "properties": {"name": ["Zoltar Quenthabar"], "topics": ["sanction"]}});
    std::fs::write(&file, format!("{entity}\n")).unwrap();
    server.bonafide(&["lists", "import", file.to_str().unwrap()]);
    server.bonafide(&["merchant", "set", &merchant.id, "fourEyes=true"]);
    let lists = server.bonafide(&["lists", "status", "--json"]);
    let lists: serde_json::Value = serde_json::from_str(&lists).unwrap();
    server.bonafide(&["lists", "remove", lists[0]["list"].as_str().unwrap()]);
    let ada = Browser::operator(&server).await;
    let page = async |browser: &Browser| browser.get("/portal/operator/lists").await.page();
    let confirm = |page: &str| page.contains("/confirm\"");
    let seen = page(&ada).await;
    for text in [
        "Proposed by the command line",
        "Support this",
        "The command line does not count as a person",
        "Two operators must agree, and there are fewer than two",
    ] {
        assert!(seen.contains(text), "{text}: {seen}");
    }
    let bob = Browser::operator(&server).await;
    assert!(!page(&ada).await.contains("there are fewer than two"));
    let id = operators_second::proposals(&seen).remove(0);
    let supported = operators_second::answer(&ada, (&ada, "lists"), &id, "confirm").await;
    let next = supported.redirect();
    let own = ada.get(&next).await.page();
    for text in [
        "Nothing is removed until another operator confirms it",
        "Another operator must confirm it",
        "Withdraw",
    ] {
        assert!(own.contains(text), "{text}: {own}");
    }
    assert!(!confirm(&own), "{own}");
    let late = Browser::operator(&server).await;
    let seen = page(&late).await;
    assert!(
        seen.contains("Another operator must first confirm, under Operators") && !confirm(&seen),
        "{seen}"
    );
    let seen = page(&bob).await;
    assert!(confirm(&seen) && !seen.contains("Support this"), "{seen}");
    server
        .sql("update staff set operator = false where id in (select staff_id from proposals)")
        .await;
    let seen = page(&bob).await;
    assert!(
        seen.contains("The proposer is no longer an operator") && !confirm(&seen),
        "{seen}"
    );
});

on_both!(a_decision_says_what_was_reviewed, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    let ada = Browser::sign_up(&server, &id, "owner").await;
    let bob = Browser::sign_up(&server, &id, "owner").await;
    listed(&server, &demo, "one").await;
    let log_id = newest(&server).await;
    conclude(&ada, log_id).await;
    let bare = async |browser: &Browser, what: &str| {
        let path = format!("/portal/applicants/{log_id}/{what}");
        let refused = browser.post(&path, &[("reason", "why")]).await;
        assert_eq!(refused.status, 400, "{what}: {}", refused.body);
        assert!(
            refused.body.contains("The field “version” is missing"),
            "{what}: {}",
            refused.body
        );
        // The page shown in the refusal contains the version.
        version(&refused.body);
    };
    bare(&ada, "approve").await;
    bare(&ada, "decline").await;
    bare(&ada, "reopen").await;
    assert_eq!(server.count("select count(*) from decisions").await, 0);
    server.bonafide(&["merchant", "set", &id, "fourEyes=true", "screeningThreshold=0.7"]);
    decide(&ada, log_id, "approve", &[]).await.redirect();
    bare(&bob, "confirm").await;
    bare(&bob, "reject").await;
    assert_eq!(status_of(&server, &demo, "one").await, "pending");

    server.bonafide(&["merchant", "set", &id, "screeningThreshold=0.9"]);
    let change = proposal(&waiting(&ada).await);
    for what in ["confirm", "reject"] {
        let refused = ada.post(&format!("/portal/second/{change}/{what}"), &[]).await;
        assert_eq!(refused.status, 400, "{what}: {}", refused.body);
        assert!(
            refused.body.contains("The field “version” is missing"),
            "{}",
            refused.body
        );
    }
    assert_eq!(
        server
            .count("select count(*) from proposals where staff_id is null")
            .await,
        1
    );
});

on_both!(a_page_has_one_name, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let owner = Browser::sign_up(&server, merchant(&demo), "owner").await;
    let operator = Browser::operator(&server).await;
    for (browser, path) in [(&owner, "/portal/second"), (&operator, "/portal/operator/lists")] {
        let page = browser.get(path).await.page();
        let place = page.split(&format!("href=\"{path}\"")).nth(1).unwrap();
        let place = place.split("</a>").next().unwrap();
        let title = page.split("<h1>").nth(1).unwrap().split("</h1>").next().unwrap();
        assert!(place.contains(title), "{title}: {place}");
    }
});
