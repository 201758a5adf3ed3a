//! Claims and decisions by one person.

use serde_json::json;

use super::{conclude, decide, facemap, listed, merchant, newest, open, status_of, version};
use crate::harness::{Server, on_both};
use crate::portal::Browser;
use crate::verify::{specimen, verify};

on_both!(a_hit_is_reviewed_and_remembered_for_its_person, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let reviewer = Browser::sign_up(&server, merchant(&demo), "compliance").await;
    let empty = reviewer.get("/portal/queue").await.page();
    assert!(empty.contains("No attempts need review"));

    let first = listed(&server, &demo, "listed-1").await;
    assert_eq!(first["kycResults"]["status"], "match");
    let log_id = newest(&server).await;
    let queue = reviewer.get("/portal/queue?code=2702&order=oldest").await.page();
    assert!(queue.contains(&format!(
        "/portal/applicants/{log_id}?q=code%3D2702%26order%3Doldest"
    )));
    assert!(queue.contains("Applicant flagged by sanctions screening"));
    reviewer.get("/portal/queue?code=2702&order=oldest").await.page();
    let looks = "select count(*) from audit where action = 'queue.viewed'";
    assert_eq!(
        server.count(looks).await,
        1,
        "a page is written down once, an empty one not at all"
    );
    let other = reviewer.get("/portal/queue?code=2202").await.page();
    assert!(other.contains("No attempts match these filters"));
    assert_eq!(reviewer.get("/portal/queue?code=1").await.status, 400);

    let page = open(&reviewer, log_id).await;
    let hit = &first["kycResults"]["results"][0];
    let (caption, id) = (hit["caption"].as_str().unwrap(), hit["id"].as_str().unwrap());
    for text in [
        caption,
        id,
        "Not this person",
        "2702",
        "Hit threshold",
        "Timeline",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // All properties of the listing are shown next to the applicant, compared or not.
    for text in [
        "Soltar Kwentabar",
        "1964-02-29",
        "Passport UTO0000001",
        "Place of birth: Uto",
        "DEMO-PERSONS",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(page.contains("This attempt still needs a decision"));
    assert!(!page.contains("Undo on the person"), "nothing is set aside yet");
    // The reviewer must choose the detail that does not match.
    assert!(page.contains("<option value=\"\">Choose"), "{page}");
    let form = [("hit", id), ("why", "birth_date")];
    for why in ["", "x"] {
        let bad = decide(&reviewer, log_id, "not-this-person", &[("hit", id), ("why", why)]).await;
        assert_eq!(bad.status, 400);
        assert!(bad.body.contains("Choose what does not match"), "{}", bad.body);
    }
    decide(&reviewer, log_id, "not-this-person", &form)
        .await
        .redirect();
    let page = open(&reviewer, log_id).await;
    decide(&reviewer, log_id, "approve", &[("version", &version(&page))])
        .await
        .redirect();
    assert_eq!(status_of(&server, &demo, "listed-1").await, "approved");
    let page = open(&reviewer, log_id).await;
    assert!(!page.contains("still needs a decision"), "it is decided");
    assert!(page.contains("Undo on the person"));

    // For the same person, the hit is found again but suppressed.
    let again = listed(&server, &demo, "listed-1").await;
    assert_eq!(
        (&again["success"], &again["kycResults"]["status"]),
        (&json!(true), &json!("clear"))
    );
    let page = open(&reviewer, newest(&server).await).await;
    assert!(page.contains("Set aside earlier as a different person"));
    // Another person of the same name waits for review as before.
    let stranger = listed(&server, &demo, "listed-2").await;
    assert_eq!(stranger["kycResults"]["status"], "match");

    // After the suppression is withdrawn, the listing counts again.
    let facemap = facemap(&server, &demo, "listed-1").await;
    let person = reviewer.get(&format!("/portal/people/{facemap}")).await.page();
    assert!(person.contains("Listings set aside for this person"));
    let dataset = hit["datasets"][0].as_str().unwrap();
    let undo = [("list", dataset), ("entry", id)];
    let path = format!("/portal/people/{facemap}/listings/restore");
    reviewer.post(&path, &undo).await.redirect();
    assert_eq!(reviewer.post(&path, &undo).await.status, 404);
    let third = listed(&server, &demo, "listed-1").await;
    assert_eq!(third["kycResults"]["status"], "match");

    let rows = server
        .count("select count(*) from audit where action in ('person.listing_suppressed', 'person.listing_restored')")
        .await;
    assert_eq!(rows, 2);
    assert!(
        server
            .count("select count(*) from audit where action = 'person.viewed'")
            .await
            >= 4
    );
    assert!(server.bonafide(&["audit", "verify"]).contains("ntact"));
});

on_both!(claims_and_simultaneous_decisions, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let ada = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    let bob = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    let auditor = Browser::sign_up(&server, merchant(&demo), "auditor").await;
    listed(&server, &demo, "one").await;
    let log_id = newest(&server).await;

    decide(&ada, log_id, "claim", &[]).await.redirect();
    assert_eq!(decide(&bob, log_id, "claim", &[]).await.status, 409);
    let seen = open(&bob, log_id).await;
    assert!(seen.contains("is reviewing this") && seen.contains("Take over"));
    let refused = decide(&bob, log_id, "approve", &[]).await;
    assert_eq!(refused.status, 409);
    assert!(refused.body.contains("Take it over first"));
    decide(&bob, log_id, "take-over", &[]).await.redirect();
    assert_eq!(
        server
            .count("select count(*) from audit where action = 'review.taken_over'")
            .await,
        1
    );
    decide(&bob, log_id, "release", &[]).await.redirect();

    // An auditor can view the attempt, but not change anything.
    let page = open(&auditor, log_id).await;
    assert!(!page.contains("/approve") && !page.contains("/notes\""));
    assert_eq!(decide(&auditor, log_id, "approve", &[]).await.status, 403);

    conclude(&ada, log_id).await;
    // A decline needs a reason. A rejected form preserves the other typed values.
    let page = open(&ada, log_id).await;
    let now = version(&page);
    let refused = decide(&ada, log_id, "decline", &[("version", &now), ("reason", "  ")]).await;
    assert_eq!(refused.status, 400);
    for text in ["A decline requires one", "aria-describedby=\"h-reason\""] {
        assert!(refused.body.contains(text), "{text}: {}", refused.body);
    }
    let note = decide(
        &ada,
        log_id,
        "notes",
        &[("note", "<script>alert(1)</script> called him")],
    )
    .await;
    note.redirect();
    let page = open(&ada, log_id).await;
    assert!(
        page.contains("&#60;script&#62;") || page.contains("&lt;script&gt;"),
        "{page}"
    );
    assert!(!page.contains("<script>alert"));

    // Of two simultaneous decisions on the same state, one succeeds and the other is rejected.
    let forms = [("version", now.as_str()), ("reason", "a copy")];
    let (one, two) = tokio::join!(
        decide(&ada, log_id, "approve", &forms),
        decide(&bob, log_id, "decline", &forms)
    );
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 409]);
    let told = if one.status == 409 { one } else { two };
    assert!(
        told.body
            .contains("Someone has decided this attempt since you opened it")
    );
    assert_eq!(server.count("select count(*) from decisions").await, 1);

    // Reviewers may not reopen.
    assert_eq!(decide(&ada, log_id, "reopen", &[]).await.status, 403);
    let compliance = Browser::sign_up(&server, merchant(&demo), "compliance").await;
    decide(&compliance, log_id, "reopen", &[]).await.redirect();
    assert_eq!(status_of(&server, &demo, "one").await, "pending");

    // The next unclaimed attempt is claimed for the reader, until none is left.
    let next = ada.post("/portal/queue/next", &[]).await.redirect();
    assert_eq!(next, format!("/portal/applicants/{log_id}"));
    let none = bob
        .post("/portal/queue/next", &[("q", "code=2702")])
        .await
        .redirect();
    assert!(none.contains("done=queue_empty"), "{none}");
});

on_both!(enter_never_approves_and_a_reason_is_for_its_decision, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let owner = Browser::sign_up(&server, merchant(&demo), "owner").await;
    let reviewer = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    let reason = [("decision", "decline"), ("body", "A copy of a copy")];
    owner.post("/portal/queue/reasons", &reason).await.redirect();
    listed(&server, &demo, "one").await;
    let log_id = newest(&server).await;
    let page = open(&owner, log_id).await;
    let at = page.find("<option value=\"").unwrap();
    let at = at + page[at..].find("A copy of a copy").unwrap();
    let kept = page[..at].rsplit("<option value=\"").next().unwrap();
    let kept = kept.split('"').next().unwrap();

    // The result of pressing Enter: the form's address and its first button.
    let enter = |page: &str| {
        let form = &page[..page.find("class=\"bar decide\"").unwrap()];
        let action = form
            .rsplit("action=\"")
            .next()
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        let rest = &page[form.len()..];
        let button = &rest[rest.find("<button").unwrap()..];
        let button = &button[..=button.find('>').unwrap()];
        (action.rsplit('/').next().unwrap().to_owned(), button.to_owned())
    };
    assert_eq!(
        enter(&page),
        ("decline".into(), "<button class=\"danger\">".into())
    );
    decide(&owner, log_id, "decline", &[("template", kept)])
        .await
        .redirect();
    assert_eq!(status_of(&server, &demo, "one").await, "declined");
    let (action, button) = enter(&open(&owner, log_id).await);
    assert!(
        action == "reopen" && button.contains("/reopen\""),
        "{action}: {button}"
    );
    // For readers who may not reopen, Enter does nothing.
    let (_, button) = enter(&open(&reviewer, log_id).await);
    assert_eq!(button, "<button disabled hidden>");

    conclude(&owner, log_id).await;
    for what in ["reopen", "approve"] {
        decide(&owner, log_id, what, &[("template", kept)])
            .await
            .redirect();
    }
    let given = "select count(*) from decisions where reason_sealed is not null";
    assert_eq!(server.count(given).await, 1, "the decline's alone");
});

on_both!(a_similar_person_is_shown_as_their_face_proved, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let reviewer = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    let passing = specimen("pass-passport");
    // One face, two people: the first person's face is hidden while the second one is registered.
    let mut proven = Vec::new();
    for (user, after) in [
        ("one", "update faces set seq = -seq"),
        ("two", "update faces set seq = -seq where seq < 0"),
    ] {
        let form = passing.form(&demo, &json!({"externalUserId": user}));
        assert_eq!(verify(&server, &demo, form).await.1["success"], json!(true));
        proven.push(newest(&server).await);
        server.sql(after).await;
    }
    // Someone who knows their labels submits another face under another name.
    let other = specimen("2201-other-person-passport");
    for user in ["one", "two"] {
        let form = other.form(&demo, &json!({"externalUserId": user, "firstName": "Mallory"}));
        assert_eq!(verify(&server, &demo, form).await.1["success"], json!(false));
    }
    let form = passing.form(&demo, &json!({"externalUserId": "three"}));
    let (_, body) = verify(&server, &demo, form).await;
    assert_eq!(body["success"], json!(false), "{body}");
    let page = open(&reviewer, newest(&server).await).await;
    let near = &page[page.find("id=\"similar\"").expect(&page)..];
    let near = &near[..near.find("</section>").unwrap()];
    let selfie = |log_id: &i64| near.contains(&format!("/portal/applicants/{log_id}/files/selfie"));
    assert!(proven.iter().any(selfie), "{near}");
    assert!(!near.to_uppercase().contains("MALLORY"), "{near}");
    let mallorys: Vec<i64> = (proven[1] + 1..newest(&server).await).collect();
    assert!(mallorys.len() == 2 && !mallorys.iter().any(selfie), "{near}");
    // Nothing has proven yet that the third one is a different person, so they have the submitted name.
    let third = facemap(&server, &demo, "three").await;
    let person = reviewer.get(&format!("/portal/people/{third}")).await.page();
    let family = passing.0["fields"]["lastName"].as_str().unwrap().to_uppercase();
    assert!(person.to_uppercase().contains(&family), "{person}");
});
