//! What strangers send to `POST /v2/idv/verify` and other bodies (issue 2, *Bad input*).

use reqwest::{Method, header};
use serde_json::json;

use crate::harness::{Backend, Server, answer};

const VERIFY: &str = "/v2/idv/verify";

fn part(name: &str, content: &str) -> String {
    format!("--X\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{content}\r\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_bodies_get_an_answer_that_names_the_fault() {
    let server = Server::start(Backend::Sqlite, &["--rate-verify", "0", "--rate-writes", "0"]).await;
    let key = server.merchant(true).sandbox;
    let many: String = (0..100_000)
        .map(|number| part(&format!("x{number}"), ""))
        .collect();
    for (content_type, body, text) in [
        (
            "multipart/form-data; boundary=X",
            format!("{many}--X--\r\n"),
            "64 parts",
        ),
        (
            "multipart/form-data; boundary=X",
            format!("{}{}--X--\r\n", part("firstName", "A"), part("firstName", "B")),
            "firstName - is sent more than once",
        ),
        (
            "multipart/form-data; boundary=X",
            "--X\r\nContent-Disposition form-data\r\n\r\n1\r\n--X--\r\n".into(),
            "multipart",
        ),
        ("multipart/form-data; boundary=X", String::new(), "multipart"),
        ("multipart/form-data", part("firstName", "A"), "boundary"),
        ("application/json", "{}".into(), "multipart/form-data"),
    ] {
        let request = server
            .request(Method::POST, VERIFY, &key)
            .header(header::CONTENT_TYPE, content_type);
        let (status, body) = answer(request.body(body).send().await.unwrap()).await;
        assert_eq!(
            (status, &body["success"], &body["message"]),
            (400, &json!(false), &json!("Validation failed")),
            "{text}: {body}"
        );
        assert!(
            body["errors"][0].as_str().unwrap().contains(text),
            "{text}: {body}"
        );
    }
    let deep = format!("{{\"name\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let large = format!("{{\"name\":\"{}\"}}", "x".repeat(1_100_000));
    for (body, status) in [(deep, 400), (large, 413)] {
        let request = server
            .request(Method::POST, "/v2/public/groups", &key)
            .header(header::CONTENT_TYPE, "application/json");
        assert_eq!(answer(request.body(body).send().await.unwrap()).await.0, status);
    }
    let request = server
        .request(Method::POST, "/v2/public/groups", &key)
        .header(header::CONTENT_TYPE, "text/plain");
    assert_eq!(answer(request.body("{}").send().await.unwrap()).await.0, 400);
    assert_eq!(
        server
            .http
            .get(format!("{}/healthz", server.base))
            .send()
            .await
            .unwrap()
            .status(),
        200,
        "still alive"
    );
}
