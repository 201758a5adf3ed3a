//! Splitting a person in two (`docs/decisions/0053-splitting-people.md`).

use serde_json::{Value, json};

use super::{facemap, merchant, newest, status_of};
use crate::harness::{Key, Server, on_both};
use crate::portal::four_eyes::{answer, proposal};
use crate::portal::{Answer, Browser};
use crate::verify::{codes, specimen, verify};

async fn send(server: &Server, demo: &Value, user: &str, group: Option<&str>) -> Value {
    let changes = json!({"externalUserId": user, "groupingId": group});
    verify(server, demo, specimen("pass-passport").form(demo, &changes))
        .await
        .1
}

fn version(page: &str) -> String {
    let from = page.find("name=\"version\" value=\"").expect("a form to split") + 22;
    page[from..].split('"').next().unwrap().to_owned()
}

/// The registration's checkbox beside a user ID.
fn checkbox(page: &str, user: &str) -> String {
    let field = "name=\"registration\" value=\"";
    let before = &page[..page
        .find(&format!("<span class=\"wrap-anywhere\">{user}</span>"))
        .expect(page)];
    before[before.rfind(field).unwrap() + field.len()..]
        .split('"')
        .next()
        .unwrap()
        .to_owned()
}

async fn split(browser: &Browser, person: &str, form: &[(&str, &str)]) -> Answer {
    let mut form = form.to_vec();
    form.push(("reason", "brothers"));
    browser
        .post(&format!("/portal/people/{person}/split"), &form)
        .await
}

on_both!(a_person_is_split_in_two, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    let officer = Browser::sign_up(&server, &id, "compliance").await;
    let bob = Browser::sign_up(&server, &id, "compliance").await;
    let group = demo["groupId"].as_str().unwrap();
    // One face registers in two scopes under two user IDs: one person.
    assert_eq!(send(&server, &demo, "one", None).await["success"], true);
    assert_eq!(send(&server, &demo, "two", Some(group)).await["success"], true);
    let person = facemap(&server, &demo, "one").await;
    assert_eq!(facemap(&server, &demo, "two").await, person);
    // A duplicate, which is only logged.
    assert_eq!(codes(&send(&server, &demo, "three", None).await), [2307]);
    let logged = newest(&server).await.to_string();

    let page = officer
        .get(&format!("/portal/people/{person}/split"))
        .await
        .page();
    let (seen, two) = (version(&page), checkbox(&page, "two"));
    let nothing = split(&officer, &person, &[("version", &seen)]).await;
    assert_eq!(nothing.status, 400, "{}", nothing.body);
    let one = checkbox(&page, "one");
    let all = [
        ("version", seen.as_str()),
        ("registration", one.as_str()),
        ("registration", two.as_str()),
        ("attempt", logged.as_str()),
    ];
    assert_eq!(split(&officer, &person, &all).await.status, 400);
    let foreign = [("version", seen.as_str()), ("registration", id.as_str())];
    assert_eq!(split(&officer, &person, &foreign).await.status, 409);

    let chosen = [
        ("version", seen.as_str()),
        ("registration", two.as_str()),
        ("attempt", logged.as_str()),
    ];
    let to = split(&officer, &person, &chosen).await.redirect();
    let new = to["/portal/people/".len()..]
        .split('?')
        .next()
        .unwrap()
        .to_owned();
    assert_ne!(new, person);
    assert_eq!(facemap(&server, &demo, "one").await, person);
    assert_eq!(facemap(&server, &demo, "two").await, new);
    assert_eq!(
        facemap(&server, &demo, "three").await,
        new,
        "the logged attempt left too"
    );
    for user in ["one", "two"] {
        assert_eq!(status_of(&server, &demo, user).await, "approved");
    }
    let path = format!("/v2/reports/applicants/{new}");
    let (status, body) = server.get(&path, &Key::of_demo(&demo)).await;
    assert_eq!((status, &body["registrationCnt"]), (200, &json!(1)), "{body}");
    assert_eq!(
        server
            .count("select count(distinct facemap_id) from faces where embedding_sealed is not null")
            .await,
        2,
        "both are recognised by their own selfies"
    );
    assert_eq!(split(&officer, &person, &chosen).await.status, 409, "once");
    let audited = "select count(*) from audit where action = 'person.split' and not detail like '%brothers%'";
    assert_eq!(server.count(audited).await, 1, "without the reason");

    // Where two people are required, a colleague confirms.
    server.bonafide(&["merchant", "set", &id, "fourEyes=true"]);
    let page = officer.get(&format!("/portal/people/{new}/split")).await.page();
    assert!(page.contains("Two people are required"), "{page}");
    let seen = version(&page);
    let chosen = [("version", seen.as_str()), ("attempt", logged.as_str())];
    let to = split(&officer, &new, &chosen).await.redirect();
    assert!(to.contains("change_proposed"), "{to}");
    let waiting = proposal(&bob.get("/portal/second").await.page());
    assert_eq!(
        answer(&officer, &waiting, "confirm").await.status,
        403,
        "not by the proposer"
    );
    answer(&bob, &waiting, "confirm").await.redirect();
    let third = facemap(&server, &demo, "three").await;
    assert!(third != new && third != person, "{third}");

    // An erasure of one erases the other's data no longer.
    server.bonafide(&["erase", "--merchant", &id, "--sandbox", "--facemap", &new]);
    assert_eq!(server.count("select count(*) from people").await, 2);
    assert_eq!(server.count("select count(*) from attempts").await, 2);
    assert_eq!(status_of(&server, &demo, "one").await, "approved");
});
