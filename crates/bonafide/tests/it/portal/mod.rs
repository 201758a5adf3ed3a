//! The portal over plain HTTP with a browser's behaviour: cookies, forms, redirects. `web/tests` covers
//! scripts and appearance.

mod accounts;
mod alerts;
mod damaged_flow;
mod four_eyes;
mod four_eyes_sweep;
mod insight;
mod key_permissions;
mod operator;
mod operators_second;
mod privacy;
mod proposals;
mod review;
mod roles;
mod scope;
mod second;
mod setup;

use reqwest::header::{COOKIE, HOST, LOCATION, ORIGIN, REFERER, SET_COOKIE};
use reqwest::{Client, Method, redirect};
use serde_json::Value;

use crate::harness::Server;

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) body: String,
    pub(crate) headers: reqwest::header::HeaderMap,
}

impl Answer {
    /// The page of a response, whose status must be 200.
    pub(crate) fn page(self) -> String {
        assert_eq!(self.status, 200, "{:?}: {}", self.location, self.body);
        self.body
    }

    /// The target of a redirect after a form, whose status must be 303.
    pub(crate) fn redirect(self) -> String {
        assert_eq!(self.status, 303, "{}", self.body);
        self.location.expect("a redirect has a Location")
    }
}

/// A browser without scripts.
pub(crate) struct Browser {
    base: String,
    http: Client,
    cookie: std::sync::Mutex<Option<String>>,
    /// The cookie by which the next sign-in recognises this browser.
    recognised_by: std::sync::Mutex<Option<String>>,
    /// The cookie by which the set-up of an authenticator app shows the same key again.
    set_up: std::sync::Mutex<Option<String>>,
}

impl Browser {
    /// A browser that is not signed in.
    pub(crate) fn new(server: &Server) -> Browser {
        let http = Client::builder()
            .redirect(redirect::Policy::none())
            .build()
            .unwrap();
        Browser {
            base: server.base.clone(),
            http,
            cookie: std::sync::Mutex::default(),
            recognised_by: std::sync::Mutex::default(),
            set_up: std::sync::Mutex::default(),
        }
    }

    /// A new member of an account with a role, signed in and viewing the sandbox.
    pub(crate) async fn sign_up(server: &Server, merchant_id: &str, role: &str) -> Browser {
        let email = format!("{}@example.com", uuid::Uuid::new_v4().simple());
        Browser::sign_up_as(server, merchant_id, role, &email).await
    }

    /// As [`Browser::sign_up`], with an email address.
    pub(crate) async fn sign_up_as(server: &Server, merchant_id: &str, role: &str, email: &str) -> Browser {
        let made = server.bonafide(&[
            "portal",
            "invite",
            "--merchant",
            merchant_id,
            "--role",
            role,
            "--json",
        ]);
        let browser = Browser::new(server);
        browser.join(&made, email).await;
        browser
    }

    /// A new operator, signed in.
    pub(crate) async fn operator(server: &Server) -> Browser {
        let made = server.bonafide(&["portal", "operator-link", "--json"]);
        let browser = Browser::new(server);
        let email = format!("{}@example.com", uuid::Uuid::new_v4().simple());
        browser.join(&made, &email).await;
        browser
    }

    /// A new member who joins by the link on a page.
    pub(crate) async fn join_by(server: &Server, page: &str, name: &str, email: &str) -> Browser {
        let link = page[page.find("/portal/join/").expect("a link")..]
            .split(['"', '<'])
            .next()
            .unwrap();
        let browser = Browser::new(server);
        let form = [("name", name), ("email", email), ("password", PASSWORD)];
        browser.post(link, &form).await.redirect();
        browser
    }

    /// Joins by a link that the command line printed as JSON.
    async fn join(&self, made: &str, email: &str) {
        let made: Value = serde_json::from_str(made).unwrap();
        let link = made["link"].as_str().unwrap();
        let path = &link[link.find("/portal/").unwrap()..];
        self.get(path).await.page();
        let form = [
            ("name", "Robin Example"),
            ("email", email),
            ("password", PASSWORD),
        ];
        let joined = self.post(path, &form).await;
        joined.redirect();
    }

    /// The cookie of the session.
    pub(crate) fn cookie(&self) -> Option<String> {
        self.cookie.lock().unwrap().clone()
    }

    /// Takes over a cookie, as a thief or a restarted browser would.
    pub(crate) fn set_cookie(&self, cookie: Option<String>) {
        *self.cookie.lock().unwrap() = cookie;
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    /// Sends a form, as a page of the portal would.
    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        self.send(self.form(path, form)).await
    }

    /// Sends a form that succeeds, and follows the redirect to a page.
    pub(crate) async fn submit(&self, path: &str, form: &[(&str, &str)]) -> String {
        let next = self.post(path, form).await.redirect();
        self.get(&next).await.page()
    }

    /// Sends a search form and follows the redirect. The address must not contain the form's values.
    pub(crate) async fn search(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        let found = self.post(path, form).await.redirect();
        for (_, value) in form.iter().filter(|(_, value)| value.trim().len() > 4) {
            assert!(!found.contains(value), "{found} tells what was searched");
        }
        self.get(&found).await
    }

    /// A form's request, which the caller can change before it is sent.
    pub(crate) fn form(&self, path: &str, form: &[(&str, &str)]) -> reqwest::RequestBuilder {
        let encoded = form
            .iter()
            .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
            .collect::<Vec<_>>()
            .join("&");
        self.request(Method::POST, path)
            .header("content-type", "application/x-www-form-urlencoded")
            .header(ORIGIN, &self.base)
            .header("sec-fetch-site", "same-origin")
            .header(REFERER, format!("{}{path}", self.base))
            .body(encoded)
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        request = request.header(HOST, self.base.trim_start_matches("http://"));
        let recognised_by = self.recognised_by.lock().unwrap().clone();
        let set_up = self.set_up.lock().unwrap().clone();
        let others = recognised_by.into_iter().chain(set_up);
        let cookies: Vec<String> = self.cookie().into_iter().chain(others).collect();
        match cookies.is_empty() {
            true => request,
            false => request.header(COOKIE, cookies.join("; ")),
        }
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        for set in response.headers().get_all(SET_COOKIE) {
            let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
            if pair.starts_with("bonafide-browser=") {
                *self.recognised_by.lock().unwrap() = Some(pair);
                continue;
            }
            let is_gone = pair.ends_with('=');
            let kept = (!is_gone).then_some(pair.clone());
            match pair.starts_with("bonafide-totp=") {
                true => *self.set_up.lock().unwrap() = kept,
                false => self.set_cookie(kept),
            }
        }
        let text = |name| {
            response
                .headers()
                .get(name)
                .map(|value| value.to_str().unwrap().to_owned())
        };
        Answer {
            status: response.status().as_u16(),
            location: text(LOCATION),
            headers: response.headers().clone(),
            body: response.text().await.unwrap_or_default(),
        }
    }
}

/// A password that tests use.
pub(crate) const PASSWORD: &str = "correct horse battery staple 7";

fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
