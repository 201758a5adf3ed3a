//! Downloads from a server on this machine that answers as publishers do on their bad days.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrecy::SecretString;

use super::*;
use crate::sources::ListSources;

/// A server that gives its answers in order, the last one again and again, and records the requests.
struct Server {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        request.push(byte[0]);
    }
    String::from_utf8_lossy(&request).to_lowercase()
}

fn serve(answers: Vec<String>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let request = read_request(&mut stream);
            let at = {
                let mut seen = seen.lock().unwrap();
                seen.push(request);
                (seen.len() - 1).min(answers.len() - 1)
            };
            let _ = stream.write_all(answers[at].as_bytes());
        }
    });
    Server { address, requests }
}

impl Server {
    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
}

fn limits() -> Limits {
    Limits {
        bytes: 1_000,
        pause: Duration::from_millis(1),
        tries: 3,
        ..Limits::default()
    }
}

fn config(url: &str) -> ListSourceConfig {
    ListSourceConfig {
        list_address: vec![SecretString::from(format!("a={url}"))],
        lists_proxy: None,
    }
}

async fn fetched(
    url: &str,
    known: Option<&Validators>,
    limits: Limits,
) -> (Result<Fetched, FetchError>, Vec<Progress>) {
    let config = config(url);
    let source = ListSources::new(&config).unwrap().source("a", false).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let stages = Mutex::new(Vec::new());
    let downloader = Downloader::new(&config, limits).unwrap();
    let record = |stage| stages.lock().unwrap().push(stage);
    let found = downloader.fetch(&source, known, folder.path(), &record).await;
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "a download has no name"
    );
    (found, stages.into_inner().unwrap())
}

fn text(fetched: Result<Fetched, FetchError>) -> (String, Download) {
    let Ok(Fetched::File(download)) = fetched else {
        panic!("{fetched:?}")
    };
    let mut text = String::new();
    for _ in 0..2 {
        text.clear();
        download.open().unwrap().read_to_string(&mut text).unwrap();
    }
    (text, download)
}

#[tokio::test]
async fn a_file_is_downloaded_and_requested_again_only_if_it_changed() {
    let server = serve(vec![
        answer(
            "200 OK",
            "etag: \"v1\"\r\nlast-modified: Fri, 27 Feb 2026 10:00:00 GMT\r\n",
            "list",
        ),
        answer("304 Not Modified", "", ""),
    ]);
    let url = format!("{}/list.xml?token=secret", server.address);
    let (found, stages) = fetched(&url, None, limits()).await;
    let (content, download) = text(found);
    assert_eq!(
        (content.as_str(), download.bytes, download.name.as_str()),
        ("list", 4, "a.list.xml")
    );
    assert_eq!(hex::encode(download.sha256), hex::encode(Sha256::digest("list")));
    assert_eq!(
        stages.last(),
        Some(&Progress::Received {
            bytes: 4,
            total: Some(4)
        })
    );
    assert!(!format!("{stages:?}").contains("secret"));
    let (again, _) = fetched(&url, Some(&download.validators), limits()).await;
    assert!(matches!(again, Ok(Fetched::Unchanged)), "{again:?}");
    let [first, second] = &server.requests()[..] else {
        panic!()
    };
    assert!(first.starts_with("get /list.xml?token=secret ") && !first.contains("if-none-match"));
    assert!(
        second.contains("if-none-match: \"v1\"") && second.contains("if-modified-since: fri, 27 feb 2026"),
        "{second}"
    );
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    for first in [
        answer("500 Internal Server Error", "", ""),
        answer("429 Too Many Requests", "retry-after: 0\r\n", ""),
        answer(
            "503 Service Unavailable",
            "retry-after: Fri, 27 Feb 2026 10:00:00 GMT\r\n",
            "",
        ),
        // The connection ends early.
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart".to_owned(),
        String::new(),
        answer("200 OK", "", ""),
    ] {
        let server = serve(vec![first.clone(), answer("200 OK", "", "list")]);
        let (found, stages) = fetched(&format!("{}/l", server.address), None, limits()).await;
        assert_eq!(text(found).0, "list", "{first}");
        assert!(
            stages.iter().any(|stage| matches!(stage, Progress::Retry { .. })),
            "{stages:?}"
        );
    }
}

#[tokio::test]
async fn failures_name_list_address_and_fix() {
    let bytes = "x".repeat(1_001);
    let chunked = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3e9\r\n{bytes}\r\n0\r\n\r\n");
    for (first, tries, expected) in [
        (answer("404 Not Found", "", ""), 1, "has moved the file"),
        (answer("403 Forbidden", "", ""), 1, "sign-in"),
        (answer("304 Not Modified", "", ""), 1, "304"),
        (answer("500 Internal Server Error", "", ""), 3, "try again later"),
        // A pause that is longer than allowed ends the tries.
        (
            answer("429 Too Many Requests", "retry-after: 9999\r\n", ""),
            1,
            "429",
        ),
        (answer("200 OK", "", &bytes), 1, "more than 1000 bytes"),
        (chunked, 1, "more than 1000 bytes"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart".to_owned(),
            3,
            "ended after 4 bytes",
        ),
        (
            answer("302 Found", "location: http://127.0.0.1:1/x\r\n", ""),
            1,
            "not HTTPS",
        ),
        (
            answer("302 Found", "location: https://user:p@example.org/x\r\n", ""),
            1,
            "not HTTPS",
        ),
        (
            answer("302 Found", "location: file:///etc/passwd\r\n", ""),
            1,
            "--list-address",
        ),
    ] {
        let server = serve(vec![first.clone()]);
        let (found, _) = fetched(&format!("{}/l?token=secret", server.address), None, limits()).await;
        let error = found.unwrap_err().to_string();
        assert!(
            error.starts_with("a: ") && error.contains(expected),
            "{first}: {error}"
        );
        assert!(
            error.contains(&format!("{}/l", server.address)) && !error.contains("secret"),
            "{error}"
        );
        assert_eq!(server.requests().len(), tries, "{error}");
    }
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (found, _) = fetched(&format!("http://{gone}/l?token=secret"), None, limits()).await;
    let error = found.unwrap_err().to_string();
    assert!(
        error.contains("cannot be reached") && error.contains("refused") && !error.contains("secret"),
        "{error}"
    );
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/l", listener.local_addr().unwrap());
    let impatient = Limits {
        silence: Duration::from_millis(100),
        tries: 2,
        ..limits()
    };
    let (found, _) = fetched(&url, None, impatient).await;
    assert!(found.unwrap_err().to_string().contains("no answer in time"));
    let hurried = Limits {
        time: Duration::from_millis(100),
        ..limits()
    };
    let (found, _) = fetched(&url, None, hurried).await;
    assert!(matches!(found, Err(FetchError::TooSlow { .. })), "{found:?}");
}

#[tokio::test]
async fn a_proxy_gets_the_request() {
    let proxy = serve(vec![answer("200 OK", "", "list")]);
    let mut through = config("http://publisher.invalid/l.xml");
    through.lists_proxy = Some(SecretString::from(proxy.address.clone()));
    let source = ListSources::new(&through).unwrap().source("a", false).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let downloader = Downloader::new(&through, limits()).unwrap();
    let found = downloader.fetch(&source, None, folder.path(), &|_| {}).await;
    assert_eq!(text(found).0, "list");
    assert!(proxy.requests()[0].starts_with("get http://publisher.invalid/l.xml "));
    through.lists_proxy = Some(SecretString::from("no proxy: secret"));
    let refused = Downloader::new(&through, limits()).err().unwrap().to_string();
    assert!(
        refused.contains("--lists-proxy") && !refused.contains("secret"),
        "{refused}"
    );
}

#[tokio::test]
async fn open_sanctions_states_version_and_checksum() {
    let sha1 = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, b"list");
    let index = |checksum: &str| {
        let file = format!(r#"{{"name": "entities.ftm.json", "checksum": "{checksum}"}}"#);
        answer(
            "200 OK",
            "",
            &format!(r#"{{"version": "20260227100000-abc", "resources": [{file}]}}"#),
        )
    };
    let list = answer("200 OK", "", "list");
    for (answers, expected) in [
        (
            vec![index(&hex::encode(sha1.as_ref())), list.clone()],
            Ok("a.20260227100000-abc.entities.ftm.json"),
        ),
        (
            vec![
                index(&"0".repeat(40)),
                list.clone(),
                index(&hex::encode(sha1.as_ref())),
                list.clone(),
            ],
            Ok("a.20260227100000-abc.entities.ftm.json"),
        ),
        (
            vec![
                index("00"),
                list.clone(),
                index("00"),
                list.clone(),
                index("00"),
                list.clone(),
            ],
            Err("checksum"),
        ),
        (vec![answer("200 OK", "", "<html>")], Err("expected form")),
    ] {
        let server = serve(answers);
        let origin =
            Origin::OpenSanctions(Address::parse(&format!("{}/datasets/a/", server.address)).unwrap());
        let source = ListSource {
            list: "a".into(),
            files: vec!["a.entities.ftm.json".into()],
            origin,
        };
        let folder = tempfile::tempdir().unwrap();
        let downloader = Downloader::new(&ListSourceConfig::default(), limits()).unwrap();
        let found = downloader.fetch(&source, None, folder.path(), &|_| {}).await;
        match expected {
            Ok(name) => assert_eq!(text(found).1.name, name),
            Err(part) => assert!(found.unwrap_err().to_string().contains(part)),
        }
        assert!(server.requests()[0].starts_with("get /datasets/a/index.json "));
    }
}
