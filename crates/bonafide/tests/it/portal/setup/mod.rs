//! Set-up in the portal: Flows, Groups, links, keys, webhooks and the account's settings, and their effects
//! in the API and the hosted page.

mod company;
mod flows;
mod integration;
mod invitation_import;
mod invitations;

use serde_json::Value;

use super::Browser;
use crate::harness::{Backend, Key, Merchant, Server};

/// A server, an approved account, and its owner's browser, which views the sandbox.
async fn start(backend: Backend) -> (Server, Merchant, Browser) {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let owner = Browser::sign_up(&server, &merchant.id, "owner").await;
    (server, merchant, owner)
}

/// The fields of a page's forms that a browser would send, in order: inputs, selected options, text areas.
fn fields(page: &str) -> Vec<(String, String)> {
    let attribute = |tag: &str, name: &str| {
        let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
        let end = tag[start..].find('"')? + start;
        Some(
            tag[start..end]
                .replace("&#34;", "\"")
                .replace("&#38;", "&")
                .replace("&#60;", "<")
                .replace("&#62;", ">")
                .replace("&#39;", "'"),
        )
    };
    let mut sent = Vec::new();
    let mut select: Option<(String, Option<String>, Option<String>)> = None;
    for part in page.split('<').skip(1) {
        let tag = part.split('>').next().unwrap_or_default();
        match tag.split([' ', '\n']).next().unwrap_or_default() {
            "input" => {
                let kind = attribute(tag, "type").unwrap_or_default();
                let is_off = ["checkbox", "radio"].contains(&kind.as_str()) && !tag.contains(" checked");
                if let Some(name) = attribute(tag, "name")
                    && !is_off
                {
                    let value = attribute(tag, "value").unwrap_or_default();
                    sent.push((name, value));
                }
            }
            "select" => select = attribute(tag, "name").map(|name| (name, None, None)),
            "option" => {
                if let Some((_, first, chosen)) = &mut select {
                    let value = attribute(tag, "value");
                    first.get_or_insert_with(|| value.clone().unwrap_or_default());
                    if tag.contains(" selected") {
                        *chosen = value;
                    }
                }
            }
            "/select" => {
                if let Some((name, first, chosen)) = select.take() {
                    sent.push((name, chosen.or(first).unwrap_or_default()));
                }
            }
            _ => {}
        }
    }
    sent
}

/// A page's form with some fields changed. `None` removes a field.
fn changed(page: &str, changes: &[(&str, Option<&str>)]) -> Vec<(String, String)> {
    let mut sent = fields(page);
    sent.retain(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
    sent.extend(
        changes
            .iter()
            .filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned()))),
    );
    sent
}

fn borrowed(sent: &[(String, String)]) -> Vec<(&str, &str)> {
    sent.iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

/// Sends a page's form with changes.
pub(super) async fn send(
    browser: &Browser,
    path: &str,
    page: &str,
    changes: &[(&str, Option<&str>)],
) -> super::Answer {
    browser.post(path, &borrowed(&changed(page, changes))).await
}

/// The Flow as the API returns it, with its four JSON texts parsed.
async fn flow(server: &Server, key: &Key, id: &str) -> Value {
    let (status, mut flow) = server.get(&format!("/v2/public/flows/{id}"), key).await;
    assert_eq!(status, 200, "{flow}");
    for member in [
        "defaultFields",
        "defaultDocumentTypes",
        "countryOverrides",
        "geoBlockedCountries",
    ] {
        flow[member] = serde_json::from_str(flow[member].as_str().unwrap()).unwrap();
    }
    flow
}

/// Creates a Flow in the portal. Returns its ID.
async fn make_flow(owner: &Browser, name: &str, changes: &[(&str, Option<&str>)]) -> String {
    let page = owner.get("/portal/flows/new").await.page();
    let changes: Vec<_> = [("name", Some(name)), ("do", Some("save"))]
        .into_iter()
        .chain(changes.iter().copied())
        .collect();
    let made = send(owner, "/portal/flows/new", &page, &changes).await.redirect();
    let id = made.strip_prefix("/portal/flows/").unwrap();
    id.split('?').next().unwrap().to_owned()
}
