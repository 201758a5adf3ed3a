//! Decisions that require two people.

use serde_json::json;

use super::{conclude, decide, facemap, listed, merchant, newest, open, status_of, version};
use crate::harness::{Server, on_both};
use crate::portal::{Browser, four_eyes};
use crate::verify::{specimen, verify};

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
        // No face is registered yet, so only the label identifies the person.
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

        // The person is now proven by a face, so knowing the label alone is not enough.
        let stranger = listed(&server, &demo, "shared").await;
        assert_eq!(
            (&stranger["success"], &stranger["kycResults"]["status"]),
            (&json!(false), &json!("match"))
        );
        let log_id = newest(&server).await;
        let page = open(&reviewer, log_id).await;
        assert!(
            page.contains("you cannot set hits aside on this attempt") && !page.contains("/not-this-person")
        );
        let refused = decide(&reviewer, log_id, "not-this-person", &form).await;
        assert_eq!(refused.status, 409);
        assert!(refused.body.contains("No face proves"));
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
    // This change itself needs two people.
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
    // More attempts than one query of the queue returns.
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
