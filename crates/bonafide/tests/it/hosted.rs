//! The hosted page: what is served to browsers, and what only it calls.

use reqwest::{Method, Response, header};
use serde_json::{Value, json};

use crate::harness::{Merchant, Server, answer, on_both};

const SESSION: &str = "/v2/sdk/session";

/// An account with a Group of one Flow that asks for a document, and links to it.
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

    /// A fresh link's token.
    async fn token(&self, server: &Server) -> String {
        let body = json!({"userId": "user-1", "groupId": self.group, "flowId": self.flow});
        let (status, link) = server
            .post(&format!("{SESSION}/web-sdk-link"), &self.merchant.sandbox, body)
            .await;
        assert_eq!(status, 200, "{link}");
        let (_, token) = link["url"].as_str().unwrap().split_once("&token=").unwrap();
        token.to_owned()
    }

    /// A fresh session's exchange.
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

/// What the page's scripts begin with, and the page.
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

on_both!(a_link_is_shown_without_being_used, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let token = account.token(&server).await;
    let expected = |preview: &Value| {
        let rest = json!({
            "merchantName": "Test", "logoUrl": null, "color": null, "privacyUrl": null, "contact": null, "isSandbox": true,
            "documentTypes": ["PASSPORT", "ID_CARD"], "biometricType": "live selfie", "documentUploadType": "fileCapture",
            "fields": ["dob"], "minutes": 2, "expiresAt": preview["expiresAt"],
        });
        assert_eq!(*preview, rest);
        assert!(preview["expiresAt"].as_str().unwrap().ends_with('Z'));
    };
    for _ in 0..2 {
        let (status, preview) = anonymous(&server, "preview", json!({"token": token})).await;
        assert_eq!(status, 200, "{preview}");
        expected(&preview);
        let response = page(&server, &format!("?iswebsdklink=true&token={token}&lang=en")).await;
        assert_eq!(response.status(), 200);
        let (boot, html) = boot(response).await;
        assert_eq!(boot["state"], "open");
        expected(&boot["preview"]);
        assert_eq!(boot["m"].as_str(), token.get(..8));
        assert!(!html.contains(&token), "the page does not repeat the token");
        assert!(
            html.contains("Test would like to know"),
            "rendered by the server: {html}"
        );
    }
    assert_eq!(
        anonymous(&server, "exchange", json!({"token": token})).await.0,
        200,
        "it is still good"
    );

    let used = anonymous(&server, "preview", json!({"token": token})).await;
    assert_eq!((used.0, &used.1["error"]), (410, &json!("token_used")));
    let response = page(&server, &format!("?token={token}")).await;
    assert_eq!(response.status(), 410);
    let (boot_used, _) = boot(response).await;
    assert_eq!(
        (&boot_used["state"], &boot_used["preview"]),
        (&json!("token_used"), &Value::Null)
    );

    for (body, status, error) in [
        (json!({}), 400, "token_required"),
        (json!({"token": ""}), 400, "token_required"),
        (json!({"token": 7}), 400, "token_required"),
        (json!({"token": "x"}), 401, "invalid_token"),
        (json!({"token": "é".repeat(60)}), 401, "invalid_token"),
        (
            json!({"token": format!("{}x", &token[..8])}),
            401,
            "invalid_token",
        ),
    ] {
        let answer = anonymous(&server, "preview", body.clone()).await;
        assert_eq!((answer.0, &answer.1["error"]), (status, &json!(error)), "{body}");
        assert!(answer.1["message"].is_string());
    }
    for (query, status, state) in [
        ("", 200, "no_token"),
        ("?m=zzzzzzzz", 200, "no_token"),
        (&format!("?m={}", &token[..8]), 200, "no_token"),
        ("?token=x", 404, "invalid_token"),
        ("?handoff=x", 404, "invalid_token"),
        ("?token=a&token=b", 404, "invalid_token"),
        ("?token=%ff", 404, "invalid_token"),
    ] {
        let response = page(&server, query).await;
        assert_eq!(response.status(), status, "{query}");
        let (boot, html) = boot(response).await;
        assert_eq!(boot["state"], state, "{query}");
        // A reload says nothing of links before the browser has said where it was.
        let asks = html.contains("<h1 tabindex=\"-1\">Please open your link");
        assert_eq!(asks, ["", "?m=zzzzzzzz"].contains(&query), "{query}");
    }
});

on_both!(previews_are_limited_like_exchanges, |backend| {
    let server = Server::start(backend, &["--rate-exchange", "3"]).await;
    for status in [401, 401, 401, 429] {
        let (got, body) = anonymous(&server, "preview", json!({"token": "x"})).await;
        assert_eq!(got, status, "{body}");
    }
    let (status, body) = anonymous(&server, "handoff/claim", json!({"token": "x"})).await;
    assert_eq!((status, &body["error"]), (429, &json!("rate_limited")));
});

on_both!(a_merchants_texts_stay_text, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let name = "</script><script>alert(1)</script>\"'&";
    let logo = server.dir.path().join("logo.png");
    std::fs::write(&logo, [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]).unwrap();
    let logo = format!("brandLogo=@{}", logo.display());
    account.set(&server, &[&format!("brandName={name}"), "brandColor=#fe0", &logo]);
    let token = account.token(&server).await;
    let response = page(&server, &format!("?token={token}")).await;
    let csp = policy(&response);
    assert!(
        csp.contains("style-src 'self' 'sha256-") && !csp.contains("unsafe-inline"),
        "{csp}"
    );
    let (boot, html) = boot(response).await;
    assert!(!html.contains("<script>alert"), "{html}");
    assert!(html.contains("&lt;/script&gt;&lt;script&gt;alert(1)"), "{html}");
    let preview = &boot["preview"];
    assert_eq!(
        (&preview["merchantName"], &preview["color"]),
        (&json!(name), &json!("#ffee00"))
    );

    let logo = preview["logoUrl"].as_str().unwrap();
    let fetch = async |path: &str| {
        let url = format!("{}{path}", server.base);
        server.http.get(url).send().await.unwrap()
    };
    let picture = fetch(logo).await;
    let headers = picture.headers();
    assert_eq!(picture.status(), 200);
    assert_eq!(headers[header::CONTENT_TYPE], "image/png");
    assert_eq!(
        headers[header::CACHE_CONTROL],
        "public, max-age=31536000, immutable"
    );
    assert_eq!(picture.bytes().await.unwrap().len(), 11);
    let (path, _) = logo.split_once('?').unwrap();
    for other in [path.to_owned(), format!("{path}?v=0000000000000000")] {
        let picture = fetch(&other).await;
        assert_eq!(
            (
                picture.status().as_u16(),
                &picture.headers()[header::CACHE_CONTROL]
            ),
            (200, &"no-cache".parse().unwrap()),
            "{other}"
        );
    }
    assert_eq!(fetch("/verify/logo/nobody00").await.status(), 404);
    account.set(&server, &["brandLogo="]);
    assert_eq!(fetch(logo).await.status(), 404);
    let (status, preview) = anonymous(&server, "preview", json!({"token": token})).await;
    assert_eq!((status, &preview["logoUrl"]), (200, &Value::Null));
});

on_both!(a_merchants_notice_and_contact_are_linked, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let (notice, contact) = ("https://acme.example/privacy?a=1&b=\"2", "help@acme.example");
    let settings = [format!("privacyUrl={notice}"), format!("contact={contact}")];
    account.set(&server, &settings.each_ref().map(String::as_str));
    let token = account.token(&server).await;
    let (boot, html) = boot(page(&server, &format!("?token={token}&lang=en")).await).await;
    let given = |body: &Value| (body["privacyUrl"].clone(), body["contact"].clone());
    let expected = (json!("https://acme.example/privacy?a=1&b=%222"), json!(contact));
    assert_eq!(given(&boot["preview"]), expected);
    assert_eq!(given(&boot["merchant"]), expected);
    for link in [
        r#"<a href="https://acme.example/privacy?a=1&amp;b=%222" target="_blank" rel="noopener noreferrer">Privacy notice</a>"#,
        r#"<a href="mailto:help@acme.example">Contact Test</a>"#,
    ] {
        assert!(html.contains(link), "{html}");
    }
    assert_eq!(
        given(&anonymous(&server, "preview", json!({"token": token})).await.1),
        expected
    );
});

on_both!(only_allowed_origins_embed_and_are_returned_to, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let token = account.token(&server).await;
    let query = format!(
        "?token={token}&returnUrl=https%3A%2F%2Fshop.example%2Fdone%3Fa%3D1&origin=https%3A%2F%2Fshop.example"
    );
    let response = page(&server, &query).await;
    assert!(policy(&response).ends_with("frame-ancestors 'none'"));
    let headers = response.headers();
    for (name, value) in [
        ("x-frame-options", "DENY"),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(headers[name], value);
    }
    assert!(
        headers["permissions-policy"]
            .to_str()
            .unwrap()
            .starts_with("camera=(self)")
    );
    assert_eq!(
        boot(response).await.0["embed"],
        json!({"returnUrl": null, "origin": null})
    );

    account.set(
        &server,
        &[
            "allowedOrigins=https://shop.example,https://www.shop.example:8443",
            "brandName=Quillfeather",
        ],
    );
    let ancestors = "frame-ancestors https://shop.example https://www.shop.example:8443";
    let response = page(&server, &query).await;
    assert!(policy(&response).ends_with(ancestors) && !response.headers().contains_key("x-frame-options"));
    let embed = json!({"returnUrl": "https://shop.example/done?a=1", "origin": "https://shop.example"});
    assert_eq!(boot(response).await.0["embed"], embed);
    let reloaded = page(&server, &format!("?m={}", &token[..8])).await;
    assert!(policy(&reloaded).ends_with(ancestors), "a reload keeps it");
    let (boot_reloaded, html) = boot(reloaded).await;
    assert_eq!(boot_reloaded["state"], "no_token");
    assert!(!html.contains("Quillfeather"), "a short id gives no name away");
    let foreign = page(
        &server,
        &format!("?token={token}&returnUrl=https://evil.example/&origin=https://evil.example"),
    )
    .await;
    assert_eq!(
        boot(foreign).await.0["embed"],
        json!({"returnUrl": null, "origin": null})
    );
});

on_both!(the_page_speaks_the_visitors_language, |backend| {
    let server = Server::start(backend, &[]).await;
    let request = |language: &str, query: &str| {
        let request = server.http.get(format!("{}/verify{query}", server.base));
        request.header(header::ACCEPT_LANGUAGE, language).send()
    };
    for (accepted, query, language, dir, title) in [
        ("xx", "", "en", "ltr", "Verify your identity"),
        ("en-GB,en;q=0.9", "", "en", "ltr", "Verify your identity"),
        ("fr-CH, fr;q=0.9, en;q=0.8", "", "fr", "ltr", ""),
        ("en", "?lang=ar", "ar", "rtl", ""),
        ("en", "?lang=../x", "en", "ltr", ""),
    ] {
        let (boot, html) = boot(request(accepted, query).await.unwrap()).await;
        assert_eq!((&boot["lang"], &boot["dir"]), (&json!(language), &json!(dir)));
        assert!(html.contains(&format!("<html lang=\"{language}\" dir=\"{dir}\"")));
        assert!(html.contains(title));
        assert_eq!(boot["languages"], json!(["ar", "de", "en", "es", "fr", "pt"]));
        assert!(
            boot["strings"]["open.start"].is_string()
                && boot["languages"].as_array().unwrap().contains(&json!("en"))
        );
    }
});

on_both!(files_have_tags_versions_and_compression, |backend| {
    let server = Server::start(backend, &[]).await;
    let fetch = |path: &str, name: header::HeaderName, value: &str| {
        server
            .http
            .get(format!("{}{path}", server.base))
            .header(name, value)
            .send()
    };
    let path = "/verify/assets/locales/en.json";
    let response = fetch(path, header::ACCEPT_ENCODING, "gzip").await.unwrap();
    assert_eq!(
        (
            response.status().as_u16(),
            &response.headers()[header::CONTENT_ENCODING]
        ),
        (200, &"gzip".parse().unwrap())
    );
    assert_eq!(response.headers()[header::CACHE_CONTROL], "no-cache");
    let tag = response.headers()[header::ETAG].to_str().unwrap().to_owned();
    let known = fetch(path, header::IF_NONE_MATCH, &tag).await.unwrap();
    assert_eq!(
        (known.status().as_u16(), known.bytes().await.unwrap().len()),
        (304, 0)
    );

    let (boot, _) = boot(page(&server, "").await).await;
    let base = boot["assets"]["base"].as_str().unwrap();
    let version = boot["assets"]["v"].as_str().unwrap();
    for path in [format!("{base}locales/en.json"), format!("{path}?v={version}")] {
        let response = fetch(&path, header::ACCEPT, "*/*").await.unwrap();
        assert_eq!(
            response.headers()[header::CACHE_CONTROL],
            "public, max-age=31536000, immutable",
            "{path}"
        );
    }
    let old = fetch(&format!("{path}?v=0"), header::ACCEPT, "*/*")
        .await
        .unwrap();
    assert_eq!(
        old.headers()[header::CACHE_CONTROL],
        "no-cache",
        "an older page's address is not kept"
    );
    for path in ["/bonafide.js", "/bonafide.d.ts"] {
        let response = fetch(path, header::ACCEPT, "*/*").await.unwrap();
        assert_eq!(
            (
                response.status().as_u16(),
                &response.headers()["access-control-allow-origin"]
            ),
            (200, &"*".parse().unwrap())
        );
    }
    for path in [
        "/verify/assets/verify/page.html",
        "/verify/assets/package.json",
        "/verify/assets/verify/..%2F..%2FCargo.toml",
        "/verify/assets/guidance/..%2Fmanifest.json",
        "/verify/assets/guidance/missing.wasm",
        "/verify/assets/",
    ] {
        assert_eq!(
            fetch(path, header::ACCEPT, "*/*").await.unwrap().status(),
            404,
            "{path}"
        );
    }
});

on_both!(a_session_tells_how_it_stands, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let session = account.session(&server).await;
    let (status, current) = get(&server, "current", access(&session)).await;
    assert_eq!(status, 200, "{current}");
    for field in [
        "session_id",
        "is_sandbox",
        "userId",
        "groupId",
        "flowId",
        "defaultFields",
        "defaultDocumentTypes",
        "countryOverrides",
        "biometricType",
        "documentUploadType",
    ] {
        assert_eq!(current[field], session[field], "{field}");
    }
    for (field, value) in [
        ("status", json!("pending")),
        ("stage", json!("open")),
        ("attempts", json!(0)),
        ("maxAttempts", json!(3)),
        (
            "merchant",
            json!({"name": "Test", "logoUrl": null, "color": null, "privacyUrl": null, "contact": null}),
        ),
        ("consent", Value::Null),
        ("outcome", Value::Null),
        ("handoff", Value::Null),
    ] {
        assert_eq!(current[field], value, "{field}");
    }
    assert!(current["expiresAt"].is_string());

    for (path, method) in [
        ("current", Method::GET),
        ("documents", Method::GET),
        ("consent", Method::POST),
        ("handoff", Method::POST),
        ("handoff/reject", Method::POST),
        ("events", Method::POST),
    ] {
        let (status, body) =
            answer(send(&server, method.clone(), path, "nonsense", Some(json!({}))).await).await;
        assert_eq!((status, &body["error"]), (401, &json!("invalid_token")), "{path}");
        assert!(body["message"].is_string());
        let keyed = server.request(method, &format!("{SESSION}/{path}"), &account.merchant.sandbox);
        assert_eq!(
            keyed.send().await.unwrap().status(),
            401,
            "{path}: a key is no session"
        );
    }
});

on_both!(consent_is_recorded, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let session = account.session(&server).await;
    let token = access(&session);
    for accepted in [false, true] {
        let body = json!({"version": "2026-11", "language": "de", "accepted": accepted});
        let (status, recorded) = post(&server, "consent", token, body).await;
        assert_eq!((status, recorded["recordedAt"].is_string()), (200, true));
        let (_, current) = get(&server, "current", token).await;
        assert_eq!(
            current["consent"],
            json!({"version": "2026-11", "accepted": accepted})
        );
    }
    let (status, body) = post(
        &server,
        "consent",
        token,
        json!({"version": "<b>", "accepted": 1}),
    )
    .await;
    assert_eq!(
        (status, body["errors"].as_array().unwrap().len()),
        (400, 3),
        "{body}"
    );
});

on_both!(documents_are_listed_country_by_country, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let session = account.session(&server).await;
    let (status, body) = get(&server, "documents", access(&session)).await;
    assert_eq!((status, &body["preselected"]), (200, &json!("UTO")));
    let countries = body["countries"].as_array().unwrap();
    let of = |alpha3: &str| {
        countries
            .iter()
            .find(|country| country["alpha3"] == alpha3)
            .unwrap()
    };
    assert_eq!(countries[0]["alpha3"], "UTO");
    let card =
        json!([{"type": "ID_CARD", "supported": true, "needsBack": false, "hasOneSidedVariant": false}]);
    let german = json!({
        "alpha2": "DE", "alpha3": "DEU", "name": "Germany", "restricted": false, "fields": ["dob", "ssn"], "types": card,
    });
    assert_eq!(*of("DEU"), german);
    assert_eq!(
        (
            &of("FRA")["restricted"],
            &of("RUS")["restricted"],
            &of("ITA")["restricted"]
        ),
        (&json!(true), &json!(true), &json!(false))
    );
    let passport =
        json!({"type": "PASSPORT", "supported": true, "needsBack": false, "hasOneSidedVariant": false});
    let romanian =
        json!({"type": "ID_CARD", "supported": true, "needsBack": true, "hasOneSidedVariant": true});
    assert_eq!(
        (
            &of("ROU")["types"][0],
            &of("ROU")["types"][1],
            &of("ROU")["fields"]
        ),
        (&passport, &romanian, &json!(["dob"]))
    );
});

on_both!(a_session_goes_on_on_a_phone, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let session = account.session(&server).await;
    let desktop = access(&session);
    let handoff = async || {
        let (status, handoff) = post(&server, "handoff", desktop, json!({})).await;
        assert_eq!(status, 200, "{handoff}");
        let (page, token) = handoff["url"].as_str().unwrap().split_once("?handoff=").unwrap();
        assert_eq!(page, format!("{}/verify", server.base));
        let token = token.to_owned();
        (handoff, token)
    };
    let (first, first_token) = handoff().await;
    assert!(first["qrSvg"].as_str().unwrap().contains("<svg"), "{first}");
    let number: u32 = first["number"].as_str().unwrap().parse().unwrap();
    assert!((10..=99).contains(&number));
    let state = async || get(&server, "current", desktop).await.1["handoff"].clone();
    assert_eq!(state().await, json!({"state": "waiting", "step": null}));

    let (second, token) = handoff().await;
    let void = anonymous(&server, "handoff/claim", json!({"token": first_token})).await;
    assert_eq!(
        (void.0, &void.1["error"]),
        (401, &json!("invalid_token")),
        "a new one voids the earlier"
    );

    let response = page(&server, &format!("?handoff={token}")).await;
    assert_eq!(response.status(), 200);
    let (boot, _) = boot(response).await;
    assert_eq!(
        (&boot["state"], &boot["preview"]["merchantName"]),
        (&json!("open"), &json!("Test"))
    );

    let claims: Vec<_> = (0..20)
        .map(|_| {
            let request = server
                .http
                .post(format!("{}{SESSION}/handoff/claim", server.base));
            tokio::spawn(request.json(&json!({"token": token})).send())
        })
        .collect();
    let mut won = Vec::new();
    for claim in claims {
        let (status, body) = answer(claim.await.unwrap().unwrap()).await;
        match status {
            200 => won.push(body),
            410 => assert_eq!(body["error"], "token_used"),
            _ => panic!("{status} {body}"),
        }
    }
    let [claimed] = won.as_slice() else {
        panic!("{} devices won", won.len())
    };
    assert_eq!(
        (&claimed["number"], &claimed["session_id"]),
        (&second["number"], &session["session_id"])
    );
    assert!((590..=600).contains(&claimed["expires_in"].as_i64().unwrap()));
    let phone = access(claimed);
    assert_ne!(phone, desktop);
    assert_eq!(get(&server, "current", phone).await.0, 200);

    let event = |step: &str| json!({"events": [{"step": step, "kind": "reached", "ms": 5}]});
    assert_eq!(
        send(&server, Method::POST, "events", phone, Some(event("front")))
            .await
            .status(),
        204
    );
    assert_eq!(
        send(&server, Method::POST, "events", desktop, Some(event("device")))
            .await
            .status(),
        204
    );
    assert_eq!(
        state().await,
        json!({"state": "claimed", "step": "front"}),
        "the phone's step"
    );

    let refused = answer(send(&server, Method::POST, "handoff/reject", desktop, None).await).await;
    assert_eq!(refused.0, 400, "only the phone can reject: {}", refused.1);
    assert_eq!(
        send(&server, Method::POST, "handoff/reject", phone, None)
            .await
            .status(),
        204
    );
    assert_eq!(
        get(&server, "current", phone).await.0,
        401,
        "the phone's token is dead"
    );
    assert_eq!(
        get(&server, "current", desktop).await.0,
        200,
        "the desktop's works"
    );
    assert_eq!(state().await, Value::Null);
    let again = anonymous(&server, "handoff/claim", json!({"token": token})).await;
    assert_eq!((again.0, &again.1["error"]), (410, &json!("token_used")));
});

on_both!(page_events_are_words_of_fixed_lists, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let session = account.session(&server).await;
    let token = access(&session);
    let good = json!({"step": "front", "kind": "retried", "ms": 1_000, "detail": "glare"});
    let events = |count: usize| json!({"events": vec![good.clone(); count]});
    assert_eq!(
        send(&server, Method::POST, "events", token, Some(events(50)))
            .await
            .status(),
        204
    );
    for (body, error) in [
        (events(51), "events - must have at most 50"),
        (json!({}), "events - "),
        (
            json!({"events": [{"step": "password", "kind": "reached", "ms": 1}]}),
            "events[0].step - ",
        ),
        (
            json!({"events": [{"step": "open", "kind": "reached", "ms": 1e300}]}),
            "events[0].ms - ",
        ),
        (
            json!({"events": [{"step": "open", "kind": "reached", "ms": 1, "detail": "Ada Lovelace"}]}),
            "events[0].detail - ",
        ),
    ] {
        let (status, answer) = post(&server, "events", token, body).await;
        assert_eq!(
            (status, &answer["error"]),
            (400, &json!("invalid_request")),
            "{error}"
        );
        assert!(
            answer["errors"][0].as_str().unwrap().starts_with(error),
            "{answer}"
        );
        assert!(!answer.to_string().contains("Ada"));
    }
});

on_both!(an_ended_session_still_tells_its_outcome, |backend| {
    // The sandbox has a sanctions list, without which nobody is verified.
    let (server, _) = Server::demo(backend, &[]).await;
    let account = Account::with(&server, server.merchant(true), &json!({"name": "Data"})).await;
    let session = account.session(&server).await;
    let token = access(&session);
    let verify = async |last_name: &str| {
        let form = reqwest::multipart::Form::new()
            .text("firstName", "Ann")
            .text("lastName", last_name.to_owned())
            .text("externalUserId", "user-1")
            .text("flowId", account.flow.clone());
        let request = server
            .http
            .post(format!("{}/v2/idv/verify", server.base))
            .bearer_auth(token);
        answer(request.multipart(form).send().await.unwrap()).await
    };
    let (status, body) = verify("SANDBOX-2509").await;
    assert_eq!((status, &body["success"]), (200, &json!(false)), "{body}");
    let (_, current) = get(&server, "current", token).await;
    assert_eq!(
        (&current["status"], &current["attempts"]),
        (&json!("pending"), &json!(1)),
        "{current}"
    );
    assert_eq!(
        (&current["outcome"]["status"], &current["outcome"]["codes"]),
        (&json!("failed"), &json!([2509]))
    );

    let (status, body) = verify("SANDBOX-2702").await;
    assert_eq!(status, 200, "{body}");
    let (_, current) = get(&server, "current", token).await;
    assert_eq!(
        (&current["stage"], &current["outcome"]["status"]),
        (&json!("in_review"), &json!("pending")),
        "{current}"
    );
    assert_eq!(current["outcome"]["codes"], json!([]), "nothing of sanctions");
    assert!(!current.to_string().contains("2702"));

    let (status, body) = verify("Smith").await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
    let (status, current) = get(&server, "current", token).await;
    assert_eq!(
        (status, &current["status"], &current["outcome"]["status"]),
        (200, &json!("success"), &json!("approved"))
    );
    for (path, body) in [
        (
            "consent",
            json!({"version": "1", "language": "en", "accepted": true}),
        ),
        ("handoff", json!({})),
    ] {
        let (status, answer) = post(&server, path, token, body).await;
        assert_eq!(
            (status, &answer["error"]),
            (401, &json!("invalid_token")),
            "{path}"
        );
    }
    let event = json!({"events": [{"step": "outcome", "kind": "reached", "ms": 5}]});
    assert_eq!(
        send(&server, Method::POST, "events", token, Some(event))
            .await
            .status(),
        204,
        "the last step counts"
    );
});
