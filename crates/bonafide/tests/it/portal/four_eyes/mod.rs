//! Attempts to evade the second person, and approvals of hits without a disposition. None succeeds.

mod applicants;
mod configuration;

use serde_json::{Value, json};

use super::Browser;
use super::review::merchant;
use super::second::shown_version;
use crate::harness::Server;

/// The ID of the first proposal on a page.
pub(super) fn proposal(page: &str) -> String {
    let from = page.find("/portal/second/").expect("a proposal") + "/portal/second/".len();
    page[from..].split('/').next().unwrap().to_owned()
}

pub(super) async fn answer(browser: &Browser, id: &str, what: &str) -> super::Answer {
    let version = shown_version(&browser.get("/portal/second").await.body, id);
    let form = [("version", version.as_str())];
    browser.post(&format!("/portal/second/{id}/{what}"), &form).await
}

pub(super) async fn waiting(browser: &Browser) -> String {
    browser.get("/portal/second").await.page()
}

/// Changes a Flow's settings with the command line.
pub(super) fn set_flow(server: &Server, demo: &Value, settings: Value) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), json!({ "settings": settings }).to_string()).unwrap();
    server.bonafide(&[
        "flow",
        "update",
        "--merchant",
        merchant(demo),
        "--flow",
        demo["flows"]["data-only"].as_str().unwrap(),
        "--sandbox",
        "--file",
        file.path().to_str().unwrap(),
    ])
}
