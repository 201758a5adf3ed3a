//! Review through the portal: the queue, claims, decisions by one and by two people, listings set aside, files, people.

use reqwest::Method;
use serde_json::{Value, json};

use super::second::shown_version;
use super::{Answer, Browser, four_eyes};
use crate::harness::{Backend, Key, Server, on_both};
use crate::verify::{specimen, verify};

/// The sandbox merchant's id.
pub(super) fn merchant(demo: &Value) -> &str {
    demo["merchantId"].as_str().unwrap()
}

/// A data-only attempt of somebody on the demonstration's sanctions list; its answer.
pub(super) async fn listed(server: &Server, demo: &Value, user: &str) -> Value {
    let hit = crate::verify::demo_person(demo, user);
    let (status, body) = verify(server, demo, hit).await;
    assert_eq!(status, 200, "{body}");
    body
}

/// The number of the account's newest attempt.
pub(super) async fn newest(server: &Server) -> i64 {
    server.count("select max(log_id) from attempts").await
}

pub(super) async fn status_of(server: &Server, demo: &Value, user: &str) -> String {
    let path = format!("/v2/reports/applicants/byExternalUserId/{user}");
    let (_, body) = server.get(&path, &Key::of_demo(demo)).await;
    body["applicants"][0]["status"]
        .as_str()
        .unwrap_or("null")
        .to_owned()
}

/// The hidden `version` of the page's forms.
pub(super) fn version(page: &str) -> String {
    let from = page.find("name=\"version\" value=\"").expect("a form to decide") + 22;
    page[from..].split('"').next().unwrap().to_owned()
}

pub(super) async fn open(browser: &Browser, log_id: i64) -> String {
    browser.get(&format!("/portal/applicants/{log_id}")).await.page()
}

/// Concludes that no hit of an attempt means its applicant.
pub(super) async fn conclude(browser: &Browser, log_id: i64) {
    let page = open(browser, log_id).await;
    let mut hits: Vec<&str> = page
        .split("name=\"hit\" value=\"")
        .skip(1)
        .map(|part| part.split('"').next().unwrap())
        .collect();
    hits.dedup();
    for hit in hits {
        let form = [
            ("hit", hit),
            ("disposition", "other_person"),
            ("because", "born elsewhere"),
        ];
        decide(browser, log_id, "disposition", &form).await.redirect();
    }
}

pub(super) async fn decide(browser: &Browser, log_id: i64, what: &str, form: &[(&str, &str)]) -> Answer {
    let path = format!("/portal/applicants/{log_id}");
    let mut form = form.to_vec();
    let decides = ["approve", "decline", "reopen", "confirm", "reject"].contains(&what);
    let seen;
    if decides && !form.iter().any(|(name, _)| *name == "version") {
        seen = shown_version(&browser.get(&path).await.body, "");
        form.push(("version", &seen));
    }
    browser.post(&format!("{path}/{what}"), &form).await
}

on_both!(a_hit_is_reviewed_and_remembered_for_its_person, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let reviewer = Browser::sign_up(&server, merchant(&demo), "compliance").await;
    let empty = reviewer.get("/portal/queue").await.page();
    assert!(empty.contains("Nobody waits for a decision"));

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
    assert!(other.contains("Nothing fits this filter"));
    assert_eq!(reviewer.get("/portal/queue?code=1").await.status, 400);

    let page = open(&reviewer, log_id).await;
    let hit = &first["kycResults"]["results"][0];
    let (caption, id) = (hit["caption"].as_str().unwrap(), hit["id"].as_str().unwrap());
    for text in [
        caption,
        id,
        "Not this person",
        "2702",
        "A hit counts from",
        "Timeline",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // All that the list says stands beside the applicant, whether it was compared or not.
    for text in [
        "Soltar Kwentabar",
        "1964-02-29",
        "Passport UTO0000001",
        "Place of birth: Uto",
        "DEMO-PERSONS",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(page.contains("This attempt still needs its decision"));
    assert!(!page.contains("Undo on the person"), "nothing is set aside yet");
    // What does not fit is nobody's guess.
    assert!(page.contains("<option value=\"\">Choose"), "{page}");
    let form = [("hit", id), ("why", "birth_date")];
    for why in ["", "x"] {
        let bad = decide(&reviewer, log_id, "not-this-person", &[("hit", id), ("why", why)]).await;
        assert_eq!(bad.status, 400);
        assert!(bad.body.contains("Choose what does not fit"), "{}", bad.body);
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
    assert!(!page.contains("still needs its decision"), "it is decided");
    assert!(page.contains("Undo on the person"));

    // The same person again: found, set aside, not counted.
    let again = listed(&server, &demo, "listed-1").await;
    assert_eq!(
        (&again["success"], &again["kycResults"]["status"]),
        (&json!(true), &json!("clear"))
    );
    let page = open(&reviewer, newest(&server).await).await;
    assert!(page.contains("Found before not to be this person"));
    // Somebody else of the same name waits as ever.
    let stranger = listed(&server, &demo, "listed-2").await;
    assert_eq!(stranger["kycResults"]["status"], "match");

    // Taken back, it counts again.
    let facemap = facemap(&server, &demo, "listed-1").await;
    let person = reviewer.get(&format!("/portal/people/{facemap}")).await.page();
    assert!(person.contains("Listings that do not mean this person"));
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

async fn facemap(server: &Server, demo: &Value, user: &str) -> String {
    let path = format!("/v2/reports/applicants/byExternalUserId/{user}");
    let (_, body) = server.get(&path, &Key::of_demo(demo)).await;
    body["facemapId"].as_str().unwrap().to_owned()
}

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
    assert!(seen.contains("is looking at this") && seen.contains("Take over"));
    let refused = decide(&bob, log_id, "approve", &[]).await;
    assert_eq!(refused.status, 409);
    assert!(refused.body.contains("take it over first"));
    decide(&bob, log_id, "take-over", &[]).await.redirect();
    assert_eq!(
        server
            .count("select count(*) from audit where action = 'review.taken_over'")
            .await,
        1
    );
    decide(&bob, log_id, "release", &[]).await.redirect();

    // An auditor looks, and changes nothing.
    let page = open(&auditor, log_id).await;
    assert!(!page.contains("/approve") && !page.contains("/notes\""));
    assert_eq!(decide(&auditor, log_id, "approve", &[]).await.status, 403);

    conclude(&ada, log_id).await;
    // A decline needs its reason; what was typed elsewhere is kept.
    let page = open(&ada, log_id).await;
    let now = version(&page);
    let refused = decide(&ada, log_id, "decline", &[("version", &now), ("reason", "  ")]).await;
    assert_eq!(refused.status, 400);
    for text in ["a decline needs its reason", "aria-describedby=\"h-reason\""] {
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

    // Two at once, both looking at the same state: one wins, the other is told.
    let forms = [("version", now.as_str()), ("reason", "a copy")];
    let (one, two) = tokio::join!(
        decide(&ada, log_id, "approve", &forms),
        decide(&bob, log_id, "decline", &forms)
    );
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 409]);
    let told = if one.status == 409 { one } else { two };
    assert!(told.body.contains("Somebody decided on this attempt meanwhile"));
    assert_eq!(server.count("select count(*) from decisions").await, 1);

    // Reopening is not a reviewer's.
    assert_eq!(decide(&ada, log_id, "reopen", &[]).await.status, 403);
    let compliance = Browser::sign_up(&server, merchant(&demo), "compliance").await;
    decide(&compliance, log_id, "reopen", &[]).await.redirect();
    assert_eq!(status_of(&server, &demo, "one").await, "pending");

    // The next free one is claimed for whoever asks; then nothing is left.
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

    // Where Enter leads: the form's address, and the first of its buttons.
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
    // Who may not reopen finds that Enter does nothing.
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
    // One face, two people: the first one's is out of sight while the second one comes.
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
    // Whoever knows their labels sends another's face, and another's name.
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
    // Nothing has proven yet that the third one is somebody else; they have the name that they came with.
    let third = facemap(&server, &demo, "three").await;
    let person = reviewer.get(&format!("/portal/people/{third}")).await.page();
    let family = passing.0["fields"]["lastName"].as_str().unwrap().to_uppercase();
    assert!(person.to_uppercase().contains(&family), "{person}");
});

on_both!(four_eyes_need_two_people, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    server.bonafide(&["merchant", "set", &id, "fourEyes=true"]);
    let ada = Browser::sign_up(&server, &id, "reviewer").await;
    let bob = Browser::sign_up(&server, &id, "compliance").await;
    listed(&server, &demo, "one").await;
    let log_id = newest(&server).await;
    let number = log_id.to_string();
    let refused = server.try_bonafide(&["review", "approve", &number]);
    assert!(!refused.status.success(), "the command line is one person");

    conclude(&ada, log_id).await;
    let path = decide(&ada, log_id, "approve", &[]).await.redirect();
    assert!(path.contains("done=proposed"), "{path}");
    assert_eq!(status_of(&server, &demo, "one").await, "pending");
    assert_eq!(decide(&ada, log_id, "confirm", &[]).await.status, 403);
    assert_eq!(
        decide(&bob, log_id, "decline", &[("reason", "no")]).await.status,
        409
    );
    decide(&bob, log_id, "reject", &[]).await.redirect();
    assert_eq!(
        decide(&bob, log_id, "confirm", &[]).await.status,
        409,
        "nothing is proposed"
    );

    decide(&bob, log_id, "decline", &[("reason", "a forged list entry")])
        .await
        .redirect();
    let queue = ada.get("/portal/queue?claim=second").await.page();
    assert!(queue.contains("Proposed by"));
    let page = open(&ada, log_id).await;
    assert!(page.contains("a forged list entry"));
    decide(&ada, log_id, "confirm", &[("version", &version(&page))])
        .await
        .redirect();
    assert_eq!(status_of(&server, &demo, "one").await, "declined");
    for (action, rows) in [
        (
            "select count(*) from audit where action = 'verification.decision_proposed'",
            2,
        ),
        (
            "select count(*) from audit where action = 'verification.proposal_rejected'",
            1,
        ),
        (
            "select count(*) from audit where action = 'verification.declined'",
            1,
        ),
    ] {
        assert_eq!(server.count(action).await, rows, "{action}");
    }
});

on_both!(
    what_is_set_aside_for_a_proven_person_needs_their_face,
    |backend| {
        let (server, demo) = Server::demo(backend, &[]).await;
        let reviewer = Browser::sign_up(&server, merchant(&demo), "compliance").await;
        // Nobody's face is known yet: the label is all there is.
        let first = listed(&server, &demo, "shared").await;
        let hit = first["kycResults"]["results"][0]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let form = [("hit", hit.as_str()), ("why", "name")];
        decide(&reviewer, newest(&server).await, "not-this-person", &form)
            .await
            .redirect();
        let again = listed(&server, &demo, "shared").await;
        assert_eq!(again["kycResults"]["status"], "clear");

        let passing = specimen("pass-passport");
        let changes = json!({"externalUserId": "shared"});
        let (status, body) = verify(&server, &demo, passing.form(&demo, &changes)).await;
        assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
        assert_eq!(
            body["facemap_id"],
            facemap(&server, &demo, "shared").await.as_str()
        );

        // Now the person is proven, and whoever knows the label is not that person.
        let stranger = listed(&server, &demo, "shared").await;
        assert_eq!(
            (&stranger["success"], &stranger["kycResults"]["status"]),
            (&json!(false), &json!("match"))
        );
        let log_id = newest(&server).await;
        let page = open(&reviewer, log_id).await;
        assert!(page.contains("nothing is set aside by this attempt") && !page.contains("/not-this-person"));
        let refused = decide(&reviewer, log_id, "not-this-person", &form).await;
        assert_eq!(refused.status, 409);
        assert!(refused.body.contains("No face proved"));
    }
);

on_both!(four_eyes_outlive_the_flows_setting, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    let ada = Browser::sign_up(&server, &id, "compliance").await;
    let bob = Browser::sign_up(&server, &id, "compliance").await;
    let flow = demo["flows"]["data-only"].as_str().unwrap();
    let set = |on: bool| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), json!({"settings": {"fourEyes": on}}).to_string()).unwrap();
        let path = file.path().to_str().unwrap();
        server.bonafide(&[
            "flow",
            "update",
            "--merchant",
            &id,
            "--flow",
            flow,
            "--sandbox",
            "--file",
            path,
        ]);
    };
    set(true);
    listed(&server, &demo, "one").await;
    let one = newest(&server).await;
    listed(&server, &demo, "two").await;
    let two = newest(&server).await;
    set(false);
    // That needs two people itself.
    let page = ada.get("/portal/second").await.page();
    let proposed = four_eyes::proposal(&page);
    for browser in [&ada, &bob] {
        four_eyes::answer(browser, &proposed, "confirm").await.redirect();
    }
    listed(&server, &demo, "three").await;
    conclude(&bob, newest(&server).await).await;
    decide(&bob, newest(&server).await, "approve", &[])
        .await
        .redirect();
    assert_eq!(status_of(&server, &demo, "three").await, "approved");

    conclude(&bob, one).await;
    conclude(&bob, two).await;
    let path = decide(&bob, one, "approve", &[]).await.redirect();
    assert!(path.contains("done=proposed"), "{path}");
    bob.post(&format!("/portal/flows/{flow}/delete"), &[])
        .await
        .redirect();
    let path = decide(&bob, two, "approve", &[]).await.redirect();
    assert!(path.contains("done=proposed"), "{path}");
    assert_eq!(status_of(&server, &demo, "two").await, "pending");
    decide(&ada, two, "confirm", &[]).await.redirect();
    assert_eq!(status_of(&server, &demo, "two").await, "approved");
});

on_both!(next_passes_over_ones_own_proposals, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    server.bonafide(&["merchant", "set", &id, "fourEyes=true"]);
    let ada = Browser::sign_up(&server, &id, "reviewer").await;
    let bob = Browser::sign_up(&server, &id, "reviewer").await;
    // More than one look into the queue fetches.
    for n in 0..11 {
        listed(&server, &demo, &format!("user-{n}")).await;
        conclude(&ada, newest(&server).await).await;
        decide(&ada, newest(&server).await, "approve", &[])
            .await
            .redirect();
    }
    let first = newest(&server).await - 10;
    listed(&server, &demo, "last").await;
    let next = ada.post("/portal/queue/next", &[]).await.redirect();
    assert_eq!(next, format!("/portal/applicants/{}", newest(&server).await));
    let next = bob.post("/portal/queue/next", &[]).await.redirect();
    assert_eq!(next, format!("/portal/applicants/{first}"));
});

on_both!(pictures_are_encoded_anew_and_originals_saved, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let reviewer = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    let passing = specimen("pass-passport");
    let in_group = json!({"groupingId": demo["groupId"]});
    let (status, body) = verify(&server, &demo, passing.form(&demo, &in_group)).await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
    let log_id = newest(&server).await;
    let page = open(&reviewer, log_id).await;
    let born = body["metadata"]["info"]["dob"].as_str().unwrap();
    let [year, month, day] = born.split('-').collect::<Vec<_>>()[..] else {
        panic!("{born}")
    };
    assert!(
        page.contains(born) && !page.contains(&format!("<dd>{month}/{day}/{year}")),
        "one way to write dates"
    );
    assert!(
        !page.contains(&format!("Group {}", demo["groupId"].as_str().unwrap())),
        "a Group has a name"
    );

    // A new link is made once, and shown once: on its own attempt's page, to whoever made it.
    let made = decide(&reviewer, log_id, "link", &[("q", "code=2702")])
        .await
        .redirect();
    assert_eq!(made, format!("/portal/applicants/{log_id}?q=code%3D2702"));
    let colleague = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    listed(&server, &demo, "somebody else").await;
    let another = format!("/portal/applicants/{}", newest(&server).await);
    for (who, address, shows) in [
        (&colleague, &made, false),
        (&reviewer, &another, false),
        (&reviewer, &made, true),
        (&reviewer, &made, false),
    ] {
        let page = who.get(address).await.page();
        assert_eq!(page.contains("iswebsdklink=true"), shows, "{address}");
    }
    let links = "select count(*) from audit where action = 'link.resubmission'";
    assert_eq!(server.count(links).await, 1);
    for text in [
        "field by field",
        "Similarity to Passport",
        "every check digit holds",
        "class=\"mrz\"",
        "class=\"face\"",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let path = format!("/portal/applicants/{log_id}/files/passportFront");
    let shown = reviewer.send(reviewer.request(Method::GET, &path)).await;
    let header = |answer: &Answer, name: &str| answer.headers[name].to_str().unwrap().to_owned();
    assert_eq!(
        (shown.status, header(&shown, "content-type").as_str()),
        (200, "image/jpeg")
    );
    assert_eq!(
        header(&shown, "content-security-policy"),
        "sandbox; default-src 'none'"
    );
    assert_eq!(header(&shown, "x-content-type-options"), "nosniff");
    assert!(header(&shown, "content-disposition").starts_with("inline"));
    let saved = reviewer.get(&format!("{path}?download=1")).await;
    assert!(header(&saved, "content-disposition").starts_with("attachment"));
    for nothing in ["driversFront", "..%2F..%2Fkeyring.json", "passportfront"] {
        let path = format!("/portal/applicants/{log_id}/files/{nothing}");
        assert_eq!(reviewer.get(&path).await.status, 404, "{nothing}");
    }
    // Another account's reviewer finds nothing of it.
    let other = server.merchant(true);
    let stranger = Browser::sign_up(&server, &other.id, "owner").await;
    for path in [path, format!("/portal/applicants/{log_id}")] {
        assert_eq!(stranger.get(&path).await.status, 404, "{path}");
    }

    // Found by words of the name, by label, number and facemap; never by another account.
    let facemap = body["facemap_id"].as_str().unwrap();
    let name = body["metadata"]["info"]["lastName"].as_str().unwrap();
    let number = log_id.to_string();
    for text in [
        name,
        &name.to_lowercase(),
        facemap,
        &number,
        body["metadata"]["externalUserId"].as_str().unwrap(),
    ] {
        let found = reviewer.search("/portal/people", &[("text", text)]).await.page();
        assert!(found.contains(facemap), "{text}");
        let found = stranger.search("/portal/people", &[("text", text)]).await.page();
        assert!(!found.contains(&format!("/portal/people/{facemap}")), "{text}");
    }
    assert_eq!(
        reviewer.search("/portal/people", &[("text", " ")]).await.status,
        400
    );
    assert_eq!(
        stranger.get(&format!("/portal/people/{facemap}")).await.status,
        404
    );
});

on_both!(what_waits_without_a_fault_says_why, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let officer = Browser::sign_up(&server, merchant(&demo), "compliance").await;
    let flow = demo["flows"]["data-only"].as_str().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        file.path(),
        json!({"settings": {"reviewPolicy": "always"}}).to_string(),
    )
    .unwrap();
    let (id, path) = (merchant(&demo), file.path().to_str().unwrap());
    server.bonafide(&[
        "flow",
        "update",
        "--merchant",
        id,
        "--flow",
        flow,
        "--sandbox",
        "--file",
        path,
    ]);
    let form = reqwest::multipart::Form::new()
        .text("flowId", flow.to_owned())
        .text("externalUserId", "maren")
        .text("firstName", "Maren")
        .text("lastName", "Velloway");
    let (status, body) = verify(&server, &demo, form).await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
    let log_id = newest(&server).await;
    let queue = officer.get("/portal/queue").await.page();
    assert!(
        queue.contains("Nothing failed: the Flow has everybody reviewed"),
        "{queue}"
    );
    let page = open(&officer, log_id).await;
    assert!(
        page.contains("Nothing failed: the Flow has a person look"),
        "{page}"
    );

    for (what, reason) in [("approve", ""), ("reopen", "Wrong button")] {
        decide(&officer, log_id, what, &[("reason", reason)])
            .await
            .redirect();
    }
    let queue = officer.get("/portal/queue").await.page();
    assert!(queue.contains("Reopened: it waits for a new decision"), "{queue}");
    let page = open(&officer, log_id).await;
    assert!(
        page.contains("reopened it: it waits") && page.contains("Wrong button"),
        "{page}"
    );

    // A filter that says nothing keeps the others.
    let wrong = officer.get("/portal/queue?country=XX1&order=oldest").await;
    assert_eq!(wrong.status, 400);
    for text in ["No such country", "value=\"XX1\"", "value=\"oldest\" selected"] {
        assert!(wrong.body.contains(text), "{text}: {}", wrong.body);
    }
});

on_both!(hostile_uploads_stay_inert, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let reviewer = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    let form = || {
        reqwest::multipart::Form::new()
            .text("flowId", demo["flows"]["passport"].as_str().unwrap().to_owned())
            .text("externalUserId", "hostile")
            .text("firstName", "Eve")
            .text("lastName", "Quill")
            .text("dob", "02/03/1990")
            .text("documentTypes", "PASSPORT")
            .text("documentCountry", "UTO")
    };
    let part = |bytes: &'static [u8]| reqwest::multipart::Part::bytes(bytes).file_name("x.jpg");
    // What begins like a picture passes the door; what follows is markup.
    let polyglot: &[u8] = b"\xff\xd8\xff\xe0\x00\x10JFIF<html><script>alert(1)</script>";
    let (status, body) = verify(
        &server,
        &demo,
        form()
            .part("passportFront", part(polyglot))
            .part("selfie", part(polyglot)),
    )
    .await;
    assert_eq!(status, 200, "{body}");
    let log_id = newest(&server).await;
    let path = format!("/portal/applicants/{log_id}/files/selfie");
    let shown = reviewer.get(&path).await;
    assert_eq!(shown.status, 501, "it is no picture, so nothing is shown");
    assert!(!shown.body.contains("alert(1)"));
    let saved = reviewer.get(&format!("{path}?download=1")).await;
    let header = |name: &str| saved.headers[name].to_str().unwrap().to_owned();
    assert_eq!(saved.status, 200);
    assert!(header("content-disposition").starts_with("attachment"));
    assert!(!header("content-type").contains("html"));
    assert_eq!(header("x-content-type-options"), "nosniff");
    let page = open(&reviewer, log_id).await;
    assert!(page.contains("This file cannot be shown as a picture"));
});

#[tokio::test(flavor = "multi_thread")]
async fn reasons_and_views_are_kept() {
    let server = Server::start(Backend::Sqlite, &[]).await;
    let merchant = server.merchant(true);
    let owner = Browser::sign_up(&server, &merchant.id, "owner").await;
    owner
        .post(
            "/portal/queue/reasons",
            &[("decision", "decline"), ("body", "<b>A copy</b>")],
        )
        .await
        .redirect();
    let page = owner.get("/portal/queue/reasons").await.page();
    assert!(!page.contains("<b>A copy") && page.contains("A copy"));
    for wrong in [("x", "y"), ("approve", " "), ("approve", &"long".repeat(300))] {
        let form = [("decision", wrong.0), ("body", wrong.1)];
        let refused = owner.post("/portal/queue/reasons", &form).await;
        assert_eq!(refused.status, 400);
        assert!(refused.body.contains("1 to 1,000 characters"), "{}", refused.body);
        assert!(refused.body.contains(wrong.1.trim()), "what was typed is kept");
    }
    let view = [
        ("name", "Old passports"),
        ("query", "document=PASSPORT&age=24&evil=1"),
    ];
    let kept = owner.post("/portal/queue/views", &view).await.redirect();
    assert!(
        kept.starts_with("/portal/queue?document=PASSPORT&age=24"),
        "{kept}"
    );
    let queue = owner.get("/portal/queue").await.page();
    assert!(queue.contains("Old passports"));
    owner
        .post("/portal/queue/views/delete", &[("name", "Old passports")])
        .await
        .redirect();
    assert!(!owner.get("/portal/queue").await.page().contains("Old passports"));
}
