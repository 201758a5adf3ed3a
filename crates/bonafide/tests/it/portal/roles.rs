//! Every role on every route of the portal: allowed or refused, as the code's own table (`portal::table`)
//! states.

use portal::routes::Row;
use portal::table;
use reqwest::Method;
use service::permissions::{Action, Grantee, Role, may};

use super::{Answer, Browser};
use crate::harness::{Server, on_both};

/// Forms that would end the tester's session. The tests of accounts cover them.
const ENDS_THE_SESSION: [&str; 2] = ["/portal/sign-out", "/portal/account/sessions/end-all"];

/// A route's path, with IDs that do not exist.
fn nobodys(row: &Row) -> String {
    row.path
        .split('/')
        .map(|part| match part {
            "{logId}" => "999999".to_owned(),
            part if part.starts_with('{') => uuid::Uuid::nil().to_string(),
            part => part.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("/")
}

async fn ask(browser: &Browser, row: &Row) -> Answer {
    let path = nobodys(row);
    if row.method == Method::GET {
        browser.get(&path).await
    } else {
        browser.post(&path, &[]).await
    }
}

fn is_sign_in(answer: &Answer) -> bool {
    answer
        .location
        .as_deref()
        .is_some_and(|to| to.starts_with("/portal/sign-in") || to.starts_with("/portal/prove"))
}

on_both!(every_role_may_what_the_table_says, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    for role in Role::ALL {
        let browser = Browser::sign_up(&server, &merchant.id, role.as_str()).await;
        for row in table() {
            let allowed = may(Some(role), false, row.action);
            if allowed && ENDS_THE_SESSION.contains(&row.path) {
                continue;
            }
            let answer = ask(&browser, &row).await;
            let what = format!(
                "{} {} {} as {}: {}",
                row.method,
                row.path,
                answer.status,
                role.as_str(),
                answer.body
            );
            if allowed {
                assert!(![401, 403, 500].contains(&answer.status), "{what}");
                assert!(row.action == Action::Public || !is_sign_in(&answer), "{what}");
            } else {
                assert_eq!(answer.status, 403, "{what}");
            }
        }
    }
});

on_both!(a_suspended_accounts_staff_only_look, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let owner = Browser::sign_up(&server, &merchant.id, "owner").await;
    server.bonafide(&["merchant", "suspend", &merchant.id]);
    for row in table() {
        if ENDS_THE_SESSION.contains(&row.path) {
            continue;
        }
        let is_work = matches!(row.action.who(), Grantee::Roles(_)) && row.method == Method::POST;
        let refused = is_work && row.path != "/portal/mode";
        if !refused && !may(Some(Role::Owner), false, row.action) {
            continue;
        }
        let answer = ask(&owner, &row).await;
        let what = format!("{} {} {}: {}", row.method, row.path, answer.status, answer.body);
        assert_eq!(answer.status == 403, refused, "{what}");
    }
    server.bonafide(&["merchant", "approve", &merchant.id]);
    owner
        .submit("/portal/staff/invite", &[("role", "reviewer")])
        .await;
});

on_both!(operators_see_no_account, |backend| {
    let server = Server::start(backend, &[]).await;
    let operator = Browser::operator(&server).await;
    for row in table() {
        if ENDS_THE_SESSION.contains(&row.path) {
            continue;
        }
        let answer = ask(&operator, &row).await;
        let what = format!("{} {} {}: {}", row.method, row.path, answer.status, answer.body);
        match row.action.who() {
            // Without an account there is nothing to show, so the page leads to the choice of one.
            Grantee::Roles(_) => assert_eq!(answer.location.as_deref(), Some("/portal/account"), "{what}"),
            _ => assert!(![401, 403, 500].contains(&answer.status), "{what}"),
        }
    }
});

on_both!(strangers_are_asked_to_sign_in, |backend| {
    let server = Server::start(backend, &[]).await;
    let stranger = Browser::new(&server);
    for row in table() {
        let answer = ask(&stranger, &row).await;
        let what = format!("{} {} {}: {}", row.method, row.path, answer.status, answer.body);
        if row.action == Action::Public {
            assert!(![403, 500].contains(&answer.status), "{what}");
        } else if row.method == Method::GET {
            assert_eq!(answer.status, 303, "{what}");
            assert!(is_sign_in(&answer), "{what}");
        } else {
            assert_eq!(answer.status, 401, "{what}");
        }
    }
});

on_both!(forms_of_other_sites_are_refused, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let owner = Browser::sign_up(&server, &merchant.id, "owner").await;
    for row in table().into_iter().filter(|row| row.method == Method::POST) {
        let forged = owner
            .request(Method::POST, &nobodys(&row))
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", "https://evil.example")
            .header("sec-fetch-site", "cross-site");
        let answer = owner.send(forged).await;
        assert_eq!(answer.status, 403, "{} {}", row.path, answer.body);
    }
    assert!(owner.get("/portal/account").await.status == 200);
});

#[test]
fn every_page_is_looked_at_in_a_browser() {
    let file = crate::harness::workspace().join("web/tests/portal-pages.json");
    let entries: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let named: Vec<&str> = entries
        .iter()
        .map(|entry| entry["path"].as_str().unwrap())
        .collect();
    let pages: Vec<&str> = table()
        .iter()
        .filter(|row| row.method == Method::GET)
        .map(|row| row.path)
        .collect();
    for page in &pages {
        assert!(
            named.contains(page),
            "{page} is missing in web/tests/portal-pages.json"
        );
    }
    for entry in named {
        assert!(
            pages.contains(&entry),
            "{entry} of web/tests/portal-pages.json is no page"
        );
    }
}
