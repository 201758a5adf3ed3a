//! Hosted sessions (contract §2.3, §2.4, §4.3–§4.5; `docs/decisions/0006-links-and-sessions.md`): link,
//! exchange, attempts, polls, and their end.

use std::collections::BTreeMap;
use std::sync::Arc;

use reqwest::multipart::Form;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::harness::{Backend, Key, Server, answer, on_both, wait_until, workspace};

mod admissions;
mod attempts;
mod challenge;
mod expected;
mod invitations;
mod links;
mod page;
mod readings;

const LINK: &str = "/v2/sdk/session/web-sdk-link";
const EXCHANGE: &str = "/v2/sdk/session/exchange";
const POLL: &str = "/v2/sdk/session/verification-result";
const VERIFY: &str = "/v2/idv/verify";
const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

/// An account with a Group that contains its Flows.
struct Account {
    server: Server,
    id: String,
    key: Key,
    group: String,
    flows: BTreeMap<String, String>,
}

impl Account {
    /// The demo account, with every Flow in its Group.
    async fn demo(backend: Backend, arguments: &[&str]) -> Account {
        let (server, demo) = Server::demo(backend, arguments).await;
        let flows: BTreeMap<String, String> = serde_json::from_value(demo["flows"].clone()).unwrap();
        let account = Account {
            server,
            id: demo["merchantId"].as_str().unwrap().into(),
            key: Key::of_demo(&demo),
            group: demo["groupId"].as_str().unwrap().into(),
            flows,
        };
        account.regroup().await;
        account
    }

    /// Puts every Flow into the Group.
    async fn regroup(&self) {
        let path = format!("/v2/public/groups/{}", self.group);
        let ids: Vec<&String> = self.flows.values().collect();
        let (status, body) = self.server.put(&path, &self.key, json!({"flowIds": ids})).await;
        assert_eq!(status, 200, "{body}");
    }

    /// Adds another Flow to the Group.
    async fn add_flow(&mut self, flow: Value) {
        let name = flow["name"].as_str().unwrap().to_owned();
        self.flows.insert(name, self.create_flow(&flow));
        self.regroup().await;
    }

    /// Creates a Flow with the command line, which supports the private settings. Returns its ID.
    fn create_flow(&self, flow: &Value) -> String {
        let file = self.server.dir.path().join("flow.json");
        std::fs::write(&file, flow.to_string()).unwrap();
        let file = file.to_str().unwrap();
        let arguments = [
            "flow",
            "create",
            "--merchant",
            &self.id,
            "--file",
            file,
            "--sandbox",
            "--json",
        ];
        let made: Value = serde_json::from_str(&self.server.bonafide(&arguments)).unwrap();
        made["flowId"].as_str().unwrap().into()
    }

    fn flow(&self, name: &str) -> &str {
        &self.flows[name]
    }

    async fn link(&self, flow: &str, user: &str) -> String {
        let body = json!({"userId": user, "groupId": self.group, "flowId": self.flow(flow)});
        let (status, body) = self.server.post(LINK, &self.key, body).await;
        assert_eq!(status, 200, "{body}");
        let url = body["url"].as_str().unwrap().to_owned();
        url.split_once("token=").unwrap().1.to_owned()
    }

    async fn session(&self, flow: &str, user: &str) -> Session<'_> {
        let token = self.link(flow, user).await;
        self.exchanged(&token, flow, user).await
    }

    /// The session of a link's token.
    async fn exchanged(&self, token: &str, flow: &str, user: &str) -> Session<'_> {
        let (status, body) = exchange(&self.server, json!({"token": token})).await;
        assert_eq!(status, 200, "{body}");
        Session {
            account: self,
            id: body["session_id"].as_str().unwrap().into(),
            token: body["access_token"].as_str().unwrap().into(),
            flow: self.flow(flow).into(),
            user: user.into(),
        }
    }

    async fn poll(&self, id: &str) -> Value {
        let (status, body) = self.server.get(&format!("{POLL}/{id}"), &self.key).await;
        assert_eq!(status, 200, "{body}");
        body
    }
}

/// A session with the data that its page has.
struct Session<'a> {
    account: &'a Account,
    id: String,
    token: String,
    flow: String,
    user: String,
}

impl Session<'_> {
    /// The form of a data-only applicant with changes (null: omitted).
    fn form(&self, changes: Value) -> Form {
        form(&self.flow, &self.user, &changes)
    }

    async fn send(&self, form: Form) -> (u16, Value) {
        let request = self.request(Method::POST, VERIFY).multipart(form);
        answer(request.send().await.unwrap()).await
    }

    /// Submits an attempt. The last name `SANDBOX-<code>` gives that code.
    async fn attempt(&self, last_name: &str) -> (u16, Value) {
        self.send(self.form(json!({"lastName": last_name}))).await
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let server = &self.account.server;
        server
            .http
            .request(method, format!("{}{path}", server.base))
            .bearer_auth(&self.token)
    }

    async fn poll(&self) -> Value {
        self.account.poll(&self.id).await
    }

    /// The session's `status`, `attempts` and `stage`.
    async fn state(&self) -> (String, i64, String) {
        let body = self.poll().await;
        let metadata = &body["metadata"];
        (
            body["status"].as_str().unwrap().into(),
            metadata["attempts"].as_i64().unwrap(),
            metadata["stage"].as_str().unwrap().into(),
        )
    }

    async fn assert_state(&self, status: &str, attempts: i64, stage: &str) {
        assert_eq!(self.state().await, (status.into(), attempts, stage.into()));
    }

    /// Makes ten minutes pass for the server's sessions.
    async fn expire_sessions(&self) {
        // The lease of an attempt in progress does not expire.
        let sql = "update sessions set created_at = created_at - 600000, expires_at = expires_at - 600000,
                       admitted_until = case when in_flight = 0 then admitted_until - 600000 else admitted_until end";
        self.account.server.sql(sql).await;
    }
}

fn form(flow: &str, user: &str, changes: &Value) -> Form {
    let mut fields = json!({"firstName": "Ada", "lastName": "Quill", "externalUserId": user, "flowId": flow});
    fields
        .as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    fields
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| !value.is_null())
        .fold(Form::new(), |form, (name, value)| {
            form.text(name.clone(), value.as_str().unwrap().to_owned())
        })
}

/// The token with another last character.
fn tampered(token: &str) -> String {
    let (rest, last) = token.split_at(token.len() - 1);
    format!("{rest}{}", if last == "A" { "B" } else { "A" })
}

async fn exchange(server: &Server, body: Value) -> (u16, Value) {
    answer(exchange_from(server, body, None).await).await
}

/// An exchange through the trusted proxy, from this address.
async fn exchange_from(server: &Server, body: Value, address: Option<&str>) -> Response {
    let mut request = server.http.post(format!("{}{EXCHANGE}", server.base)).json(&body);
    if let Some(address) = address {
        request = request.header("X-Forwarded-For", address);
    }
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["cache-control"], "no-store");
    response
}
