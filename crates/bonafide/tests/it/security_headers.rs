//! The headers that tell browsers what a response may do.

use crate::harness::{Backend, Server};

#[tokio::test(flavor = "multi_thread")]
async fn every_response_says_what_browsers_may_do() {
    let server = Server::start(Backend::Sqlite, &["--public-url", "https://id.example.com"]).await;
    // A path, and whether its response may be neither framed nor run.
    for (path, is_data) in [
        ("/v2/public/flows", true),
        ("/v2/idv/verify", true),
        ("/v2/no-such-path", true),
        ("/no-such-path", true),
        ("/healthz", false),
        ("/readyz", true),
        ("/openapi.json", true),
        ("/metrics", true),
        ("/bonafide.js", false),
        ("/docs", false),
        ("/portal/sign-in", false),
        ("/portal/no-such-path", false),
    ] {
        let response = server
            .http
            .get(format!("{}{path}", server.base))
            .send()
            .await
            .unwrap();
        let header = |name| {
            let value = response.headers().get(name);
            value.map(|value| value.to_str().unwrap()).unwrap_or_default()
        };
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("strict-transport-security"), "max-age=31536000", "{path}");
        let policy = header("content-security-policy");
        let nothing = policy == "default-src 'none'; frame-ancestors 'none'";
        assert_eq!(nothing, is_data, "{path}: {policy}");
    }
    // Plain HTTP, such as on a developer's machine, must not be remembered as HTTPS.
    let plain = Server::start(Backend::Sqlite, &[]).await;
    let response = plain
        .http
        .get(format!("{}/healthz", plain.base))
        .send()
        .await
        .unwrap();
    assert!(response.headers().get("strict-transport-security").is_none());
}
