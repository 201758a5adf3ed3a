//! Access to the portal: shared by the tests of sign-in, joining, addresses and staff.

mod address;
mod joining;
mod passkeys;
pub(in crate::portal) mod second_factor;
mod signing_in;
mod staff;

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use totp_rs::{Builder, Secret};

use super::{Answer, Browser, PASSWORD};
use crate::harness::mail::{mail_server, one_letter};
use crate::harness::{Backend, Merchant, Server, on_both};

const ANOTHER: &str = "seven green bottles hanging 42";

/// The text of a page between two other texts.
fn between<'a>(page: &'a str, before: &str, after: &str) -> &'a str {
    let from = page
        .find(before)
        .unwrap_or_else(|| panic!("no {before} in {page}"))
        + before.len();
    let rest = &page[from..];
    &rest[..rest.find(after).unwrap()]
}

/// The path of the link that the staff page shows.
fn link(page: &str) -> String {
    format!("/portal/join/{}", between(page, "/portal/join/", "<"))
}

fn invitation(server: &Server, merchant: &Merchant, role: &str) -> String {
    let arguments = [
        "portal",
        "invite",
        "--merchant",
        &merchant.id,
        "--role",
        role,
        "--json",
    ];
    let made: Value = serde_json::from_str(&server.bonafide(&arguments)).unwrap();
    let link = made["link"].as_str().unwrap();
    link[link.find("/portal/").unwrap()..].to_owned()
}

/// The ID of the member with this address, from the staff page that an owner sees.
fn id_of(page: &str, email: &str) -> String {
    between(&page[page.find(email).unwrap()..], "/portal/staff/", "/role").to_owned()
}

async fn join(browser: &Browser, path: &str, email: &str) -> Answer {
    let form = [
        ("name", "Robin Example"),
        ("email", email),
        ("password", PASSWORD),
    ];
    browser.post(path, &form).await
}

async fn member(server: &Server, merchant: &Merchant, role: &str, email: &str) -> Browser {
    let browser = Browser::new(server);
    let path = invitation(server, merchant, role);
    assert_eq!(
        join(&browser, &path, email).await.redirect(),
        "/portal/account/totp"
    );
    browser
}

async fn sign_in(browser: &Browser, email: &str, password: &str) -> Answer {
    browser
        .post("/portal/sign-in", &[("email", email), ("password", password)])
        .await
}

/// The code that an authenticator shows this many steps from now.
fn code(key: &str, steps: u64) -> String {
    let secret = Secret::try_from_base32(key).unwrap();
    let totp = Builder::new()
        .with_secret(secret.as_bytes().to_vec())
        .build()
        .unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    totp.generate(now + 30 * steps).to_string()
}

async fn is_in(browser: &Browser) -> bool {
    browser.get("/portal/account").await.status == 200
}

/// The path of a link in a page or letter.
fn path_in<'a>(text: &'a str, begin: &str) -> &'a str {
    let link = &text[text.find(begin).unwrap_or_else(|| panic!("no {begin} in {text}"))..];
    link.split(|c: char| c.is_whitespace() || c == '<')
        .next()
        .unwrap()
}
