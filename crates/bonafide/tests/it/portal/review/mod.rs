//! Review in the portal: the queue, claims, decisions by one and by two people, suppressed listings, files,
//! and people.

mod decisions;
mod files;
mod fraud_signs;
mod merging;
mod queue;
mod splitting;
mod two_people;

use serde_json::Value;

use super::second::shown_version;
use super::{Answer, Browser};
use crate::harness::{Key, Server};
use crate::verify::verify;

/// The ID of the sandbox merchant.
pub(super) fn merchant(demo: &Value) -> &str {
    demo["merchantId"].as_str().unwrap()
}

/// Submits a data-only attempt of a person on the demo's sanctions list. Returns the response.
pub(super) async fn listed(server: &Server, demo: &Value, user: &str) -> Value {
    let hit = crate::verify::demo_person(demo, user);
    let (status, body) = verify(server, demo, hit).await;
    assert_eq!(status, 200, "{body}");
    body
}

/// The number of the newest attempt.
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

/// Records for every hit of an attempt that it does not mean the applicant.
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

async fn facemap(server: &Server, demo: &Value, user: &str) -> String {
    let path = format!("/v2/reports/applicants/byExternalUserId/{user}");
    let (_, body) = server.get(&path, &Key::of_demo(demo)).await;
    body["facemapId"].as_str().unwrap().to_owned()
}
