//! Hostile input to `POST /v2/idv/verify` and other endpoints.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, header};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use self::files::{RED_BOX, SMALL_PAGE};
use crate::connections::connect;
use crate::harness::{Backend, Key, Server, answer};
use crate::verify::verify;

/// The hostile files that also test the decoders.
#[path = "../../../imaging/tests/imaging/files.rs"]
#[expect(dead_code, reason = "the decoders' own tests use more of it")]
pub(crate) mod files;

const VERIFY: &str = "/v2/idv/verify";

fn part(name: &str, content: &str) -> String {
    format!("--X\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{content}\r\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_bodies_get_an_answer_that_names_the_fault() {
    let server = Server::start(Backend::Sqlite, &["--rate-verify", "0", "--rate-writes", "0"]).await;
    let merchant = server.merchant(true);
    let flow = server.flow(&merchant, &json!({"name": "First"}));
    let key = merchant.sandbox;
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
        (
            "multipart/form-data; boundary=X",
            format!(
                "--X\r\nContent-Disposition: form-data; name=\"firstName\"\r\n{}",
                "x".repeat(2_000_000)
            ),
            "multipart",
        ),
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
    let mut bad_text = part("firstName", "").into_bytes();
    bad_text.truncate(bad_text.len() - 2);
    bad_text.extend_from_slice(b"\xff\xfe\r\n--X--\r\n");
    let request = server
        .request(Method::POST, VERIFY, &key)
        .header(header::CONTENT_TYPE, "multipart/form-data; boundary=X");
    let (status, body) = answer(request.body(bad_text).send().await.unwrap()).await;
    assert_eq!(
        (status, &body["errors"]),
        (400, &json!(["firstName - is not valid UTF-8"]))
    );
    let deep = format!("{{\"name\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let large = format!("{{\"name\":\"{}\"}}", "x".repeat(1_100_000));
    let doubled = r#"{"name": "A", "name": "B"}"#;
    for (body, status) in [
        (deep.into_bytes(), 400),
        (large.into_bytes(), 413),
        (doubled.into(), 400),
        (b"{\"name\": \"\xff\"}".to_vec(), 400),
    ] {
        let request = server
            .request(Method::POST, "/v2/public/groups", &key)
            .header(header::CONTENT_TYPE, "application/json");
        assert_eq!(answer(request.body(body).send().await.unwrap()).await.0, status);
    }
    // A merchant's newer client may send members that this version does not know.
    let unknown = json!({"name": "A", "flowIds": [flow], "future": {"a": 1}});
    assert_eq!(server.post("/v2/public/groups", &key, unknown).await.0, 201);
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

/// Sends a raw request as far as the server accepts it, and returns the start of the response. The text is
/// empty if the server closed the connection while bytes were still being sent, because the response may then
/// be lost.
async fn raw(server: &Server, request: &[u8]) -> String {
    let mut stream = connect(server).await;
    let (mut reads, mut writes) = stream.split();
    let mut head = vec![0; 4_096];
    let (read, _) = tokio::join!(reads.read(&mut head), writes.write_all(request));
    String::from_utf8_lossy(&head[..read.unwrap_or_default()]).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_headers_are_refused() {
    let server = Server::start(Backend::Sqlite, &[]).await;
    let line = |line: &[u8]| {
        [
            b"GET /v2/public/groups HTTP/1.1\r\nHost: x\r\n".as_slice(),
            line,
            b"\r\n\r\n",
        ]
        .concat()
    };
    let colonless = base64::engine::general_purpose::STANDARD.encode("no colon");
    for (what, request, status) in [
        ("no colon", line(b"Authorization Basic YTpi"), 400),
        ("no name", line(b": x"), 400),
        ("a space in its name", line(b"X y: z"), 400),
        ("a NUL", line(b"X: \0"), 400),
        (
            "two lengths",
            line(b"Content-Length: 1\r\nContent-Length: 2"),
            400,
        ),
        ("a negative length", line(b"Content-Length: -1"), 400),
        (
            "a million bytes",
            line(&[b"X: ".as_slice(), &[b'x'; 1_000_000]].concat()),
            431,
        ),
        ("100,000 of them", line(&b"X: y\r\n".repeat(100_000)), 431),
        (
            "no key and secret",
            line(format!("Authorization: Basic {colonless}").as_bytes()),
            401,
        ),
        ("Latin-1", line(b"Authorization: Basic \xe9"), 401),
        (
            "no HTTP at all",
            b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n".to_vec(),
            400,
        ),
    ] {
        let answer = raw(&server, &request).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")) || (status == 431 && answer.is_empty()),
            "{what}: {answer:?}"
        );
    }
    // HTTP/2 without TLS is refused by closing the connection.
    assert_eq!(raw(&server, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await, "");
    assert!(
        raw(&server, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            .await
            .starts_with("HTTP/1.1 200")
    );
}

/// A PDF page whose content is half a gigabyte of spaces, compressed to half a megabyte.
fn pdf_bomb() -> Vec<u8> {
    let mut content = ZlibEncoder::new(Vec::new(), Compression::best());
    for _ in 0..512 {
        content.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let content = content.finish().unwrap();
    // The ASCII filter keeps the file a text, so that its offsets remain valid.
    let content = hex::encode(content);
    files::pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>".into(),
        "<< /Type /Pages /Count 1 /Kids [3 0 R] >>".into(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] /Contents 4 0 R >>".into(),
        format!(
            "<< /Length {} /Filter [/ASCIIHexDecode /FlateDecode] >>\nstream\n{content}>\nendstream",
            content.len() + 1
        ),
    ])
}

/// Each file affects at most its own request: 200 with code 2003 if it cannot be decoded, 400 if its format
/// is not supported.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_files_are_answered() {
    let (server, demo) = Server::demo(Backend::Sqlite, &["--decode-seconds", "5"]).await;
    let selfie = files::jpeg(&files::two_halves(64, 64));
    let picture = files::textured(64, 64);
    let (jpeg, png) = (files::jpeg(&picture), files::png(&picture));
    let page = |catalog: &str| files::pdf_pages(SMALL_PAGE, &[RED_BOX], catalog);
    let cases: Vec<(&str, Vec<u8>, bool)> = vec![
        ("a PNG bomb", files::png_bomb(65_535, 65_535), false),
        ("half a JPEG", jpeg[..jpeg.len() / 2].to_vec(), false),
        ("half a PNG", png[..png.len() / 2].to_vec(), false),
        ("the beginning of a PDF", page("")[..40].to_vec(), false),
        (
            "a script",
            page("/OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >>"),
            false,
        ),
        (
            "a thousand pages",
            files::pdf_pages(SMALL_PAGE, &[RED_BOX; 1000], ""),
            false,
        ),
        ("a password", files::PASSWORD_PDF.to_vec(), false),
        (
            "sides of 200,000 points",
            files::pdf_pages("0 0 200000 200000", &["0.8 0 0 rg 0 0 1500 100000 re f"], ""),
            true,
        ),
        (
            "a JPEG that is a PDF too",
            [jpeg.clone(), page("")].concat(),
            true,
        ),
        (
            "a PNG that is a zip too",
            [png.clone(), b"PK\x03\x04".to_vec()].concat(),
            true,
        ),
        ("a PNG called PDF", png.clone(), true),
    ];
    let send = async |front: Vec<u8>| {
        let file = |bytes: Vec<u8>| {
            let part = Part::bytes(bytes).file_name("../../passport.pdf");
            part.mime_str("application/pdf").unwrap()
        };
        let form = Form::new()
            .text("flowId", demo["flows"]["passport"].as_str().unwrap().to_owned())
            .text("externalUserId", "hostile")
            .text("firstName", "Eve")
            .text("lastName", "Quill")
            .text("dob", "02/03/1990")
            .text("documentTypes", "PASSPORT")
            .text("documentCountry", "UTO")
            .part("passportFront", file(front))
            .part("selfie", file(selfie.clone()));
        verify(&server, &demo, form).await
    };
    for (what, front, is_readable) in cases {
        let (status, body) = send(front).await;
        assert_eq!(status, 200, "{what}: {body}");
        let codes = body["idvResult"]["codes"].as_array().unwrap();
        assert_eq!(!codes.contains(&json!(2003)), is_readable, "{what}: {body}");
    }
    // A busy machine may not finish in time.
    let (status, body) = loop {
        let answer = send(pdf_bomb()).await;
        if answer.0 != 503 {
            break answer;
        }
    };
    assert_eq!(
        (status, &body["success"]),
        (200, &json!(false)),
        "a PDF bomb: {body}"
    );
    for (what, front) in [
        ("a script's text", b"#!/bin/sh\nexit\n".to_vec()),
        ("an SVG", b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec()),
        ("nothing", Vec::new()),
    ] {
        let (status, body) = send(front).await;
        assert_eq!(
            (status, &body["message"]),
            (400, &json!("File validation failed")),
            "{what}: {body}"
        );
        let error = body["errors"][0].as_str().unwrap();
        assert!(error.starts_with("passportFront "), "{what}: {body}");
    }
    let alive = server
        .http
        .get(format!("{}/healthz", server.base))
        .send()
        .await
        .unwrap();
    assert_eq!(alive.status(), 200);
}

/// The child processes of a process.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task")).unwrap();
    threads
        .filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("children")).ok())
        .flat_map(|pids| {
            let pids = pids.split_whitespace().map(|pid| pid.parse().unwrap());
            pids.collect::<Vec<u32>>()
        })
        .collect()
}

/// Memory of a process and its children, in MiB, with shared memory counted once. A process that has ended
/// counts as 0.
fn memory(pid: u32) -> u64 {
    let resident = |pid: u32| {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let line = maps.lines().find_map(|line| line.strip_prefix("Pss:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or_default()
    };
    (resident(pid) + children(pid).into_iter().map(resident).sum::<u64>()) / 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_of_eighty_megabytes_at_once_take_less_than_a_gigabyte() {
    let (server, demo) = Server::demo(Backend::Sqlite, &["--workers", "2"]).await;
    server.engines().await;
    let mut body = Vec::new();
    for (name, value) in [
        ("flowId", demo["flows"]["any-document"].as_str().unwrap()),
        ("externalUserId", "flood"),
        ("firstName", "Eve"),
        ("lastName", "Quill"),
        ("dob", "02/03/1990"),
        ("documentTypes", "PASSPORT,DRIVERS,ID_CARD,RESIDENCY_CARD"),
        ("documentCountry", "UTO"),
    ] {
        body.extend_from_slice(part(name, value).as_bytes());
    }
    let mut file = vec![0x5a; 10 * 1024 * 1024];
    file[..4].copy_from_slice(&[0xff, 0xd8, 0xff, 0xe0]);
    for name in [
        "passportFront",
        "driversFront",
        "driversBack",
        "idCardFront",
        "idCardBack",
        "residencyFront",
        "residencyBack",
        "selfie",
    ] {
        let head =
            format!("--X\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"x.jpg\"\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(&file);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--X--\r\n");
    let body = Bytes::from(body);
    // Four uploads, because twenty take minutes without optimisation (`docs/measurements.md` has them).
    let uploads: Vec<_> = (0..4)
        .map(|_| {
            let request = server
                .request(Method::POST, VERIFY, &Key::of_demo(&demo))
                .header(header::CONTENT_TYPE, "multipart/form-data; boundary=X")
                .body(body.clone());
            async move { answer(request.send().await.unwrap()).await }
        })
        .collect();
    let (begun, mut most) = (Instant::now(), 0);
    let uploads = tokio::spawn(futures_util::future::join_all(uploads));
    while !uploads.is_finished() {
        most = most.max(memory(server.pid()));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let answers = uploads.await.unwrap();
    println!("{most} MiB at most, {:.1} s", begun.elapsed().as_secs_f32());
    for (status, body) in &answers {
        // A slow machine may refuse some uploads, because the queue is short.
        assert!(matches!(status, 200 | 503), "{status}: {body}");
    }
    assert!(
        answers.iter().any(|(status, _)| *status == 200),
        "some are answered"
    );
    assert!(most < 1_024, "{most} MiB");
}
