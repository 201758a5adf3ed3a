//! Acts on the installation that need two operators: no operator confirms an act with a second login, and nobody
//! empties a list alone.

use serde_json::{Value, json};

use super::{Browser, PASSWORD};
use crate::harness::{Server, on_both};

/// Where the first proposal of a page is confirmed.
fn confirmation(page: &str) -> String {
    let at = page
        .find("/portal/operator/proposals/")
        .unwrap_or_else(|| panic!("a proposal: {page}"));
    let path = page[at..].split("/confirm").next().unwrap();
    format!("{path}/confirm")
}

fn lists(server: &Server) -> Vec<Value> {
    serde_json::from_str(&server.bonafide(&["lists", "status", "--json"])).unwrap()
}

/// Imports a list of so many invented entities; what the command printed, and whether it succeeded.
fn import(server: &Server, entities: u32, arguments: &[&str]) -> (String, bool) {
    let file = server.dir.path().join("invented.ftm.json");
    let line = |n: u32| {
        let entity = json!({"id": format!("i-{n}"), "schema": "Person", "last_seen": "2026-01-02",
            "properties": {"name": [format!("Zoltar Quenthabar {n}")]}});
        format!("{entity}\n")
    };
    std::fs::write(&file, (0..entities).map(line).collect::<String>()).unwrap();
    let mut all = vec!["lists", "import", file.to_str().unwrap()];
    all.extend(arguments);
    let output = server.try_bonafide(&all);
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8(said).unwrap(), output.status.success())
}

/// A new operator by a link that another one made in the console.
async fn invited(by: &Browser, server: &Server) -> Browser {
    let page = by.submit("/portal/operator/operators/invite", &[]).await;
    let at = page.find("/portal/join/").expect("a link");
    let link: String = page[at..]
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "/-_".contains(*c))
        .collect();
    let operator = Browser::new(server);
    operator.get(&link).await.page();
    let email = format!("{}@example.com", uuid::Uuid::new_v4().simple());
    let form = [("name", "Kim Example"), ("email", &email), ("password", PASSWORD)];
    operator.post(&link, &form).await.redirect();
    operator
}

on_both!(a_second_login_of_one_operator_is_no_second_operator, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    assert!(import(&server, 20, &[]).1);
    server.bonafide(&["merchant", "set", &merchant.id, "fourEyes=true"]);
    let ada = Browser::operator(&server).await;
    let bob = Browser::operator(&server).await;
    // The command line's link and the console's: neither login counts before the proposal is made.
    let console = invited(&ada, &server).await;
    let command_line = Browser::operator(&server).await;
    let list = lists(&server)[0]["list"].as_str().unwrap().to_owned();
    assert!(server.bonafide(&["lists", "remove", &list]).contains("Proposed"));
    let removal = confirmation(&ada.get("/portal/operator/lists").await.page());
    ada.post(&removal, &[]).await.redirect();
    for login in [&console, &command_line] {
        let refused = login.post(&removal, &[]).await;
        assert_eq!(refused.status, 403, "{}", refused.body);
        let reject = removal.replace("/confirm", "/reject");
        assert_eq!(
            login.post(&reject, &[]).await.status,
            403,
            "it holds up no colleague"
        );
    }
    assert_eq!(lists(&server).len(), 1);

    // The operator who made the link cannot confirm it, nor can the new login; a third operator can.
    let doubts = ada.get("/portal/operator/operators").await.page();
    assert!(doubts.contains("Does Kim Example count"), "{doubts}");
    let doubt = confirmation(&doubts);
    let by_bob = bob.get("/portal/operator/operators").await.page();
    let paths: Vec<String> = by_bob
        .match_indices("/portal/operator/proposals/")
        .map(|(at, _)| confirmation(&by_bob[at..]))
        .collect();
    assert_eq!(paths.len(), 2, "{by_bob}");
    let by_console = paths.iter().find(|path| **path != doubt).unwrap();
    for login in [&ada, &console, &command_line] {
        assert_eq!(login.post(by_console, &[]).await.status, 403);
    }
    bob.post(by_console, &[]).await.redirect();
    // Whom the command line let in, two confirm.
    bob.post(&doubt, &[]).await.redirect();
    assert_eq!(bob.post(&doubt, &[]).await.status, 403);
    assert_eq!(command_line.post(&removal, &[]).await.status, 403);
    ada.post(&doubt, &[]).await.redirect();

    // A dismissed operator's place is not filled alone.
    let page = ada.get("/portal/operator/operators").await.page();
    let access: Vec<&str> = page
        .match_indices("/portal/operator/operators/")
        .filter_map(|(at, _)| page[at..].split('"').next())
        .filter(|path| path.ends_with("/access"))
        .collect();
    assert_eq!(access.len(), 3);
    for path in access {
        ada.post(path, &[]).await.redirect();
    }
    let second = invited(&ada, &server).await;
    assert_eq!(second.post(&removal, &[]).await.status, 403);
    assert_eq!(lists(&server).len(), 1);
});

on_both!(
    nobody_alone_imports_a_list_that_lost_most_of_its_entities,
    |backend| {
        let server = Server::start(backend, &[]).await;
        let merchant = server.merchant(true);
        assert!(import(&server, 20, &[]).1);
        assert!(
            import(&server, 10, &["--max-shrink", "60"]).1,
            "nobody requires two people"
        );
        server.bonafide(&["merchant", "set", &merchant.id, "fourEyes=true"]);
        let ada = Browser::operator(&server).await;
        let bob = Browser::operator(&server).await;
        assert!(
            import(&server, 9, &["--max-shrink", "60"]).1,
            "a small loss is the guard's matter"
        );
        let (said, done) = import(&server, 1, &["--max-shrink", "100"]);
        assert!(!done && said.contains("two operators must confirm"), "{said}");
        let page = ada.get("/portal/operator/lists").await.page();
        assert!(
            page.contains("has 1 entities, and the version in use has 9"),
            "{page}"
        );
        let confirm = confirmation(&page);
        ada.post(&confirm, &[]).await.redirect();
        assert!(!import(&server, 1, &["--max-shrink", "100"]).1, "one of two");
        let confirm = confirmation(&bob.get("/portal/operator/lists").await.page());
        bob.post(&confirm, &[]).await.redirect();
        assert_eq!(
            lists(&server)[0]["entities"],
            9,
            "nothing is imported before the command line runs again"
        );
        assert!(
            !import(&server, 2, &["--max-shrink", "100"]).1,
            "another file was not confirmed"
        );
        assert!(
            !import(&server, 1, &[]).1,
            "without the option the guard refuses it"
        );
        let (said, done) = import(&server, 1, &["--max-shrink", "100"]);
        assert!(done, "{said}");
        assert_eq!(lists(&server)[0]["entities"], 1);
    }
);
