//! The hosted page as browsers get it: content by link, texts, languages, embedding, and files.

use reference::languages::languages;
use reqwest::header;
use serde_json::{Value, json};

use super::{Account, anonymous, boot, page, policy};
use crate::harness::{Server, on_both};

on_both!(a_link_is_shown_without_being_used, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    let token = account.token(&server).await;
    let expected = |preview: &Value| {
        let rest = json!({
            "merchantName": "Test", "logoUrl": null, "color": null, "privacyUrl": null, "contact": null, "websiteUrl": null, "signInUrl": null, "isSandbox": true,
            "documentTypes": ["PASSPORT", "ID_CARD"], "asksDocument": true, "biometricType": "live selfie", "documentUploadType": "fileCapture",
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
            html.contains("Test wants to make sure"),
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
        // On a reload, the page mentions no link until the browser has restored the visitor's position.
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

on_both!(a_merchants_website_and_sign_in_are_given, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    account.set(
        &server,
        &[
            "websiteUrl=https://acme.example",
            "signInUrl=https://acme.example/login",
        ],
    );
    let token = account.token(&server).await;
    let given = |body: &Value| (body["websiteUrl"].clone(), body["signInUrl"].clone());
    let expected = (
        json!("https://acme.example/"),
        json!("https://acme.example/login"),
    );
    let (opened, _) = boot(page(&server, &format!("?token={token}")).await).await;
    assert_eq!(given(&opened["preview"]), expected);
    assert_eq!(given(&opened["merchant"]), expected);
    assert_eq!(
        given(&anonymous(&server, "preview", json!({"token": token})).await.1),
        expected
    );
    anonymous(&server, "exchange", json!({"token": token})).await;
    let (used, _) = boot(page(&server, &format!("?token={token}")).await).await;
    assert_eq!(used["state"], "token_used");
    assert_eq!(given(&used["merchant"]), expected, "a used link leads back");
    let (guessed, _) = boot(page(&server, &format!("?token={}guessed", &token[..8])).await).await;
    assert_eq!(
        guessed["merchant"],
        Value::Null,
        "a short id gives no address away"
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
        json!({"returnUrl": null, "origin": null, "refusedReturn": "https://shop.example"})
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
    let embed = json!({"returnUrl": "https://shop.example/done?a=1", "origin": "https://shop.example", "refusedReturn": null});
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
        json!({"returnUrl": null, "origin": null, "refusedReturn": "https://evil.example"})
    );
});

on_both!(a_refused_website_learns_the_reason, |backend| {
    let server = Server::start(backend, &[]).await;
    let account = Account::new(&server).await;
    account.set(&server, &["allowedOrigins=https://shop.example"]);
    let token = account.token(&server).await;
    let framed = |query: String| {
        let request = server.http.get(format!("{}/verify{query}", server.base));
        let request = request.header("sec-fetch-dest", "iframe");
        async move { request.send().await.unwrap() }
    };
    let evil = format!("?token={token}&origin=https%3A%2F%2Fevil.example&lang=en");
    for _ in 0..2 {
        let refused = framed(evil.clone()).await;
        assert_eq!(refused.status(), 403);
        assert!(policy(&refused).ends_with("frame-ancestors *"));
        assert!(!refused.headers().contains_key("x-frame-options"));
        let (told, html) = boot(refused).await;
        assert_eq!(told["code"], "origin_not_allowed");
        assert!(
            told["message"]
                .as_str()
                .unwrap()
                .starts_with("https://evil.example is not")
        );
        assert!(!html.contains(&token) && !html.contains("Test"), "{html}");
    }
    // Without a frame around it, an origin means nothing.
    let alone = server
        .http
        .get(format!("{}/verify{evil}", server.base))
        .header("sec-fetch-dest", "document");
    assert_eq!(boot(alone.send().await.unwrap()).await.0["state"], "open");
    let unknown = framed("?token=nobody00abc&origin=https://shop.example".into()).await;
    assert_eq!(
        (
            unknown.status().as_u16(),
            policy(&unknown).ends_with("frame-ancestors *")
        ),
        (404, true)
    );
    assert_eq!(boot(unknown).await.0["code"], "link_invalid");
    let guessed = format!("?token={}guessed&origin=https://guess.example", &token[..8]);
    assert_eq!(framed(guessed).await.status(), 403);
    let back = format!("?token={token}&returnUrl=myapp%3A%2F%2Fdone");
    assert_eq!(
        boot(page(&server, &back).await).await.0["embed"]["refusedReturn"],
        "null"
    );
    // At the same moment, too.
    let others = (0..30).map(|count| {
        framed(format!(
            "?token={token}&origin=https://other{}.example",
            count / 2
        ))
    });
    for other in futures_util::future::join_all(others).await {
        assert_eq!(other.status(), 403);
    }
    for count in 15..30 {
        let other = format!("?token={token}&origin=https://other{count}.example");
        assert_eq!(framed(other).await.status(), 403);
    }

    // Each origin once, and no more than twenty a day. A short id alone records nothing.
    let embedding = "select count(*) from audit where action = 'merchant.embedding_refused' \
                     and subject = 'https://evil.example'";
    assert_eq!(server.count(embedding).await, 1);
    let returned = "select count(*) from audit where action = 'merchant.return_refused' and subject = 'null'";
    assert_eq!(server.count(returned).await, 1);
    let guessed = "select count(*) from audit where subject = 'https://guess.example'";
    assert_eq!(server.count(guessed).await, 0);
    let all = "select count(*) from audit where action in ('merchant.embedding_refused', 'merchant.return_refused')";
    assert_eq!(server.count(all).await, 20);
    let twice = "select count(*) from (select subject from audit where action = 'merchant.embedding_refused' \
                 group by subject having count(*) > 1) as twice";
    assert_eq!(server.count(twice).await, 0, "each origin once a day");
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
        assert_eq!(boot["lang"], language);
        assert!(html.contains(&format!("<html lang=\"{language}\" dir=\"{dir}\"")));
        assert!(html.contains(title));
        let codes: Vec<_> = languages().iter().map(|language| language.code).collect();
        assert_eq!(boot["languages"], json!(codes));
        let ar = json!({"code": "ar", "name": "العربية", "dir": "rtl", "or": [" أو ", " أو ", " أو "]});
        assert!(boot["offered"].as_array().unwrap().contains(&ar));
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
