//! Merging two people who are one person (`docs/decisions/0052-merging-people.md`).

use serde_json::{Value, json};

use super::{decide, facemap, merchant, newest, status_of};
use crate::harness::{Key, Server, on_both};
use crate::portal::four_eyes::{answer, proposal};
use crate::portal::{Answer, Browser};
use crate::verify::{codes, specimen, verify};

async fn send(server: &Server, demo: &Value, user: &str) -> Value {
    let form = specimen("pass-passport").form(demo, &json!({"externalUserId": user}));
    verify(server, demo, form).await.1
}

/// Registers one face as two people: the first person's face is hidden while the second one registers.
async fn one_face_as_two_people(server: &Server, demo: &Value) -> [String; 2] {
    for (user, after) in [
        ("one", "update faces set seq = -seq"),
        ("two", "update faces set seq = -seq where seq < 0"),
    ] {
        assert_eq!(send(server, demo, user).await["success"], true);
        server.sql(after).await;
    }
    [
        facemap(server, demo, "one").await,
        facemap(server, demo, "two").await,
    ]
}

/// The hidden version on the page that compares two people.
fn version(page: &str) -> String {
    let from = page.find("name=\"version\" value=\"").expect("a form to merge") + 22;
    page[from..].split('"').next().unwrap().to_owned()
}

async fn compare(browser: &Browser, [one, two]: &[String; 2]) -> String {
    browser
        .get(&format!("/portal/people/{two}/merge?with={one}"))
        .await
        .page()
}

async fn merge(browser: &Browser, [one, two]: &[String; 2], version: &str) -> Answer {
    let form = [
        ("with", one.as_str()),
        ("version", version),
        ("reason", "the same passport number"),
    ];
    browser.post(&format!("/portal/people/{two}/merge"), &form).await
}

on_both!(two_people_of_one_face_become_one, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let officer = Browser::sign_up(&server, merchant(&demo), "compliance").await;
    let reviewer = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    let people = one_face_as_two_people(&server, &demo).await;
    assert_ne!(people[0], people[1]);
    let second = newest(&server).await;

    // Both are approved in one scope, so a person must first decide which approval stands.
    let page = compare(&officer, &people).await;
    assert!(page.contains("Both are approved in one Group"), "{page}");
    assert!(
        page.matches("/files/selfie").count() == 2,
        "both selfies are shown"
    );
    assert_eq!(merge(&officer, &people, "0").await.status, 409);
    for (what, reason) in [("reopen", "twice"), ("decline", "is user one")] {
        decide(&officer, second, what, &[("reason", reason)])
            .await
            .redirect();
    }
    assert_eq!(
        reviewer
            .get(&format!("/portal/people/{}/merge", people[0]))
            .await
            .status,
        403
    );
    assert_eq!(merge(&reviewer, &people, "0").await.status, 403);

    let page = compare(&officer, &people).await;
    assert!(page.contains("This registration ends"), "{page}");
    let seen = version(&page);
    // An attempt in the meantime changes the state that was reviewed.
    assert_eq!(codes(&send(&server, &demo, "one").await), [2307]);
    let outdated = merge(&officer, &people, &seen).await;
    assert_eq!(outdated.status, 409, "{}", outdated.body);
    let seen = version(&compare(&officer, &people).await);
    let nameless = [
        ("with", people[0].as_str()),
        ("version", seen.as_str()),
        ("reason", " "),
    ];
    let path = format!("/portal/people/{}/merge", people[1]);
    assert_eq!(officer.post(&path, &nameless).await.status, 400);
    let to = merge(&officer, &people, &seen).await.redirect();
    assert_eq!(
        to,
        format!("/portal/people/{}?done=merged", people[0]),
        "the older one remains"
    );

    assert_eq!(server.count("select count(*) from people").await, 1);
    assert_eq!(
        server
            .count("select count(distinct facemap_id) from faces where embedding_sealed is not null")
            .await,
        1
    );
    assert_eq!(status_of(&server, &demo, "one").await, "approved");
    assert_eq!(
        facemap(&server, &demo, "two").await,
        people[0],
        "its attempts are the person's"
    );
    let path = format!("/v2/reports/applicants/{}", people[1]);
    let (status, body) = server.get(&path, &Key::of_demo(&demo)).await;
    assert_eq!(
        (status, &body["registrationCnt"]),
        (200, &json!(1)),
        "the old facemap keeps working: {body}"
    );
    assert_eq!(
        codes(&send(&server, &demo, "two").await),
        [2307],
        "the ended user id is a duplicate"
    );
    assert_eq!(
        server
            .count("select count(*) from audit where action = 'person.merged'")
            .await,
        1
    );
    let again = officer
        .get(&format!("/portal/people/{}/merge?with={}", people[0], people[1]))
        .await;
    assert!(again.page().contains("belongs to the same person"));

    // An erasure of the person erases both.
    server.bonafide(&[
        "erase",
        "--merchant",
        merchant(&demo),
        "--sandbox",
        "--facemap",
        &people[1],
    ]);
    for table in ["select count(*) from people", "select count(*) from attempts"] {
        assert_eq!(server.count(table).await, 0, "{table}");
    }
});

on_both!(a_merge_needs_a_second_person_where_two_are_required, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    let ada = Browser::sign_up(&server, &id, "compliance").await;
    let bob = Browser::sign_up(&server, &id, "compliance").await;
    let people = one_face_as_two_people(&server, &demo).await;
    let second = newest(&server).await;
    for (what, reason) in [("reopen", "twice"), ("decline", "is user one")] {
        decide(&ada, second, what, &[("reason", reason)]).await.redirect();
    }
    server.bonafide(&["merchant", "set", &id, "fourEyes=true"]);
    for is_outdated in [true, false] {
        let page = compare(&ada, &people).await;
        assert!(page.contains("Two people are required"), "{page}");
        let to = merge(&ada, &people, &version(&page)).await.redirect();
        assert!(to.contains("change_proposed"), "{to}");
        assert_eq!(
            server.count("select count(*) from people").await,
            2,
            "nothing has changed"
        );
        let waiting = proposal(&bob.get("/portal/second").await.page());
        assert_eq!(
            answer(&ada, &waiting, "confirm").await.status,
            403,
            "not by the proposer"
        );
        if is_outdated {
            assert_eq!(codes(&send(&server, &demo, "one").await), [2307]);
            assert_eq!(answer(&bob, &waiting, "confirm").await.status, 409);
            answer(&ada, &waiting, "reject").await.redirect();
        } else {
            answer(&bob, &waiting, "confirm").await.redirect();
        }
    }
    assert_eq!(server.count("select count(*) from people").await, 1);
    assert_eq!(
        server.count("select count(*) from audit where action = 'person.merged' and detail like '%confirmedBy%staff:%'").await,
        1
    );
});

on_both!(an_erasure_removes_the_proposal_about_the_person, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    let officer = Browser::sign_up(&server, &id, "compliance").await;
    let people = one_face_as_two_people(&server, &demo).await;
    let second = newest(&server).await;
    for (what, reason) in [("reopen", "twice"), ("decline", "is user one")] {
        decide(&officer, second, what, &[("reason", reason)])
            .await
            .redirect();
    }
    server.bonafide(&["merchant", "set", &id, "fourEyes=true"]);
    merge(&officer, &people, &version(&compare(&officer, &people).await))
        .await
        .redirect();
    let waiting = "select count(*) from proposals where kind = 'merge_people'";
    assert_eq!(server.count(waiting).await, 1);
    // The proposal is sealed under the other person's key.
    server.bonafide(&["erase", "--merchant", &id, "--sandbox", "--facemap", &people[0]]);
    assert_eq!(server.count(waiting).await, 0);
    assert_eq!(server.count("select count(*) from people").await, 1);
});

on_both!(a_face_of_an_earlier_model_is_not_merged, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let officer = Browser::sign_up(&server, merchant(&demo), "compliance").await;
    let people = one_face_as_two_people(&server, &demo).await;
    let second = newest(&server).await;
    for (what, reason) in [("reopen", "twice"), ("decline", "is user one")] {
        decide(&officer, second, what, &[("reason", reason)])
            .await
            .redirect();
    }
    server.sql("update faces set model = 'alatermodel1'").await;
    let seen = version(&compare(&officer, &people).await);
    let refused = merge(&officer, &people, &seen).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(refused.body.contains("earlier model"), "{}", refused.body);
    assert_eq!(server.count("select count(*) from people").await, 2);
});
