//! The hosted page: its files, and the API that only it calls.

mod page;
mod session;

use reqwest::{Method, Response, header};
use serde_json::{Value, json};

use crate::harness::{Merchant, Server, answer};

const SESSION: &str = "/v2/sdk/session";

/// An account with a Group, whose one Flow requires a document, and links to it.
struct Account {
    merchant: Merchant,
    flow: String,
    group: String,
}

impl Account {
    async fn new(server: &Server) -> Account {
        let flow = json!({
            "name": "Hosted",
            "defaultFields": {"dob": true, "documentCapture": true, "liveSelfie": true},
            "defaultDocumentTypes": ["PASSPORT", "ID_CARD"],
            "countryOverrides": [
                {"countryAlpha3": "DEU", "defaultDocumentTypes": ["ID_CARD"], "defaultFields": {"ssn": true, "idCardBack": false}},
                {"countryAlpha3": "FRA", "restricted": true},
            ],
        });
        Account::with(server, server.merchant(true), &flow).await
    }

    async fn with(server: &Server, merchant: Merchant, flow: &Value) -> Account {
        let flow = server.flow(&merchant, flow);
        let body = json!({"name": "Group", "flowIds": [flow]});
        let (status, group) = server.post("/v2/public/groups", &merchant.sandbox, body).await;
        assert_eq!(status, 201, "{group}");
        Account {
            group: group["groupId"].as_str().unwrap().into(),
            merchant,
            flow,
        }
    }

    /// A new link's token.
    async fn token(&self, server: &Server) -> String {
        let body = json!({"userId": "user-1", "groupId": self.group, "flowId": self.flow});
        let (status, link) = server
            .post(&format!("{SESSION}/web-sdk-link"), &self.merchant.sandbox, body)
            .await;
        assert_eq!(status, 200, "{link}");
        let (_, token) = link["url"].as_str().unwrap().split_once("&token=").unwrap();
        token.to_owned()
    }

    /// A new session, as its exchange returns it.
    async fn session(&self, server: &Server) -> Value {
        let token = self.token(server).await;
        let (status, session) = anonymous(server, "exchange", json!({"token": token})).await;
        assert_eq!(status, 200, "{session}");
        session
    }

    fn set(&self, server: &Server, settings: &[&str]) {
        server.bonafide(&[&["merchant", "set", &self.merchant.id], settings].concat());
    }
}

async fn anonymous(server: &Server, path: &str, body: Value) -> (u16, Value) {
    let url = format!("{}{SESSION}/{path}", server.base);
    let response = server.http.post(url).json(&body).send().await.unwrap();
    assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store", "{path}");
    answer(response).await
}

async fn send(server: &Server, method: Method, path: &str, token: &str, body: Option<Value>) -> Response {
    let request = server
        .http
        .request(method, format!("{}{SESSION}/{path}", server.base))
        .bearer_auth(token);
    let request = match &body {
        Some(body) => request.json(body),
        None => request,
    };
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store", "{path}");
    response
}

async fn get(server: &Server, path: &str, token: &str) -> (u16, Value) {
    answer(send(server, Method::GET, path, token, None).await).await
}

async fn post(server: &Server, path: &str, token: &str, body: Value) -> (u16, Value) {
    answer(send(server, Method::POST, path, token, Some(body)).await).await
}

fn access(session: &Value) -> &str {
    session["access_token"].as_str().unwrap()
}

async fn page(server: &Server, query: &str) -> Response {
    server
        .http
        .get(format!("{}/verify{query}", server.base))
        .send()
        .await
        .unwrap()
}

/// The initial data of the page's scripts, and the page's HTML.
async fn boot(response: Response) -> (Value, String) {
    let html = response.text().await.unwrap();
    let (_, rest) = html
        .split_once(r#"<script type="application/json" id="boot">"#)
        .unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    (serde_json::from_str(json).unwrap(), html)
}

fn policy(response: &Response) -> String {
    response.headers()[header::CONTENT_SECURITY_POLICY]
        .to_str()
        .unwrap()
        .to_owned()
}
