//! Acts on the installation that need two operators. No operator can confirm an act with a second login, or
//! empty a list alone.

use serde_json::{Value, json};

use super::Browser;
use crate::harness::{Server, on_both};

/// The IDs of the proposals on a page of the console.
pub(super) fn proposals(page: &str) -> Vec<String> {
    let mut ids: Vec<String> = page
        .split("/portal/operator/proposals/")
        .skip(1)
        .map(|rest| rest.split('/').next().unwrap().to_owned())
        .collect();
    ids.dedup();
    ids
}

/// Answers a proposal in the state that `reader` sees on a page of the console.
pub(super) async fn answer(
    browser: &Browser,
    (reader, page): (&Browser, &str),
    id: &str,
    what: &str,
) -> super::Answer {
    let page = reader.get(&format!("/portal/operator/{page}")).await.page();
    let form = page.split(&format!("/portal/operator/proposals/{id}/")).nth(1);
    let form = form.unwrap_or_else(|| panic!("no form for {id}: {page}"));
    let version = form.split("name=\"version\" value=\"").nth(1).unwrap();
    let version = version.split('"').next().unwrap();
    let path = format!("/portal/operator/proposals/{id}/{what}");
    browser.post(&path, &[("version", version)]).await
}

fn lists(server: &Server) -> Vec<Value> {
    serde_json::from_str(&server.bonafide(&["lists", "status", "--json"])).unwrap()
}

/// Imports a list with this many invented entities. Returns the command's output and whether it succeeded.
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

/// A new operator who joins by a link that another operator made in the console.
async fn invited(by: &Browser, server: &Server) -> Browser {
    let page = by.submit("/portal/operator/operators/invite", &[]).await;
    let email = format!("{}@example.com", uuid::Uuid::new_v4().simple());
    Browser::join_by(server, &page, "Kim Example", &email).await
}

on_both!(a_second_login_of_one_operator_is_no_second_operator, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    assert!(import(&server, 20, &[]).1);
    server.bonafide(&["merchant", "set", &merchant.id, "fourEyes=true"]);
    let ada = Browser::operator(&server).await;
    let bob = Browser::operator(&server).await;
    // Logins made by the command line's link and by the console's do not count before the proposal is made.
    let console = invited(&ada, &server).await;
    let command_line = Browser::operator(&server).await;
    let list = lists(&server)[0]["list"].as_str().unwrap().to_owned();
    assert!(server.bonafide(&["lists", "remove", &list]).contains("Proposed"));
    let removal = proposals(&ada.get("/portal/operator/lists").await.page()).remove(0);
    answer(&ada, (&ada, "lists"), &removal, "confirm")
        .await
        .redirect();
    for login in [&console, &command_line] {
        for what in ["confirm", "reject"] {
            let refused = answer(login, (&bob, "lists"), &removal, what).await;
            assert_eq!(refused.status, 403, "{what}: {}", refused.body);
        }
    }
    assert_eq!(lists(&server).len(), 1);

    // An unconfirmed operator cannot let in a login that counts.
    let chained = invited(&console, &server).await;
    let doubts = ada.get("/portal/operator/operators").await.page();
    let of_command_line = proposals(&doubts);
    assert_eq!(
        of_command_line.len(),
        1,
        "ada let in one, and whom that one let in waits: {doubts}"
    );
    let of_bob = proposals(&bob.get("/portal/operator/operators").await.page());
    let of_console = of_bob.iter().find(|id| !of_command_line.contains(id)).unwrap();
    for login in [&ada, &console, &command_line, &chained] {
        let refused = answer(login, (&bob, "operators"), of_console, "confirm").await;
        assert_eq!(refused.status, 403, "{}", refused.body);
    }
    answer(&bob, (&bob, "operators"), of_console, "confirm")
        .await
        .redirect();
    // An operator let in by the command line needs two confirmations.
    let by = (&ada, "operators");
    answer(&bob, by, &of_command_line[0], "confirm").await.redirect();
    assert_eq!(answer(&bob, by, &of_command_line[0], "confirm").await.status, 403);
    let refused = answer(&command_line, (&bob, "lists"), &removal, "confirm").await;
    assert_eq!(refused.status, 403);
    answer(&ada, by, &of_command_line[0], "confirm").await.redirect();

    // One operator alone cannot replace a dismissed one.
    let page = ada.get("/portal/operator/operators").await.page();
    let access: Vec<&str> = page
        .match_indices("/portal/operator/operators/")
        .filter_map(|(at, _)| page[at..].split('"').next())
        .filter(|path| path.ends_with("/access"))
        .collect();
    assert_eq!(access.len(), 4);
    for path in access {
        ada.post(path, &[]).await.redirect();
    }
    let second = invited(&ada, &server).await;
    let refused = answer(&second, (&ada, "lists"), &removal, "confirm").await;
    assert_eq!(refused.status, 403);
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
        let shrinkage = proposals(&page).remove(0);
        answer(&ada, (&ada, "lists"), &shrinkage, "confirm")
            .await
            .redirect();
        assert!(!import(&server, 1, &["--max-shrink", "100"]).1, "one of two");
        answer(&bob, (&bob, "lists"), &shrinkage, "confirm")
            .await
            .redirect();
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

on_both!(nobody_alone_returns_a_list_to_an_earlier_version, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    assert!(import(&server, 20, &[]).1 && import(&server, 22, &[]).1);
    server.bonafide(&["merchant", "set", &merchant.id, "fourEyes=true"]);
    let ada = Browser::operator(&server).await;
    let bob = Browser::operator(&server).await;
    let list = lists(&server)[0]["list"].as_str().unwrap().to_owned();
    let roll_back = || server.bonafide(&["lists", "rollback", &list]);
    assert!(roll_back().starts_with("Proposed."));
    let page = ada.get("/portal/operator/lists").await.page();
    assert!(page.contains("to an earlier version"), "{page}");
    let rollback = proposals(&page).remove(0);
    for operator in [&ada, &bob] {
        assert!(roll_back().starts_with("Proposed."));
        assert_eq!(lists(&server)[0]["entities"], 22);
        answer(operator, (&ada, "lists"), &rollback, "confirm")
            .await
            .redirect();
    }
    assert!(roll_back().contains(" replaces "));
    assert_eq!(lists(&server)[0]["entities"], 20);
    // The confirmation counts once.
    assert!(
        server
            .bonafide(&["lists", "rollback", &list])
            .starts_with("Proposed.")
    );
});

on_both!(a_password_link_makes_no_second_operator_of_one, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    assert!(import(&server, 20, &[]).1);
    let ada = Browser::operator(&server).await;
    let bob = Browser::operator(&server).await;
    server.bonafide(&["merchant", "set", &merchant.id, "fourEyes=true"]);
    // Bob types the command, and could sign in as Ada afterwards.
    let page = bob.get("/portal/operator/operators").await.page();
    let addresses: Vec<&str> = page
        .split("<td>")
        .filter_map(|cell| cell.split('<').next())
        .filter(|cell| cell.ends_with("@example.com"))
        .collect();
    assert_eq!(addresses.len(), 2);
    server.bonafide(&["portal", "password-link", "--email", addresses[0]]);
    let list = lists(&server)[0]["list"].as_str().unwrap().to_owned();
    server.bonafide(&["lists", "remove", &list]);
    let removal = proposals(&bob.get("/portal/operator/lists").await.page()).remove(0);
    let by = (&bob, "lists");
    assert_eq!(answer(&ada, by, &removal, "confirm").await.status, 403);
    answer(&bob, by, &removal, "confirm").await.redirect();
    assert_eq!(answer(&ada, by, &removal, "confirm").await.status, 403);
    assert_eq!(lists(&server).len(), 1);
});
