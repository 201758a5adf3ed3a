//! A full disk: the server refuses writes with 503, reports the problem on `/readyz`, continues to answer
//! reads, and recovers when there is space.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use reqwest::header::RETRY_AFTER;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::behind_shim;
use crate::harness::{Key, Server, program, try_command, wait_until};

/// A simulated disk, which is full between [`Disk::fill`] and [`Disk::free`].
struct Disk {
    tools: TempDir,
}

impl Disk {
    fn new() -> Self {
        Disk {
            tools: tempfile::tempdir().unwrap(),
        }
    }

    fn flag(&self) -> PathBuf {
        self.tools.path().join("full")
    }

    fn fill(&self) {
        std::fs::write(self.flag(), "").unwrap();
    }

    fn free(&self) {
        std::fs::remove_file(self.flag()).unwrap();
    }

    async fn server(&self, arguments: &[&str]) -> Server {
        let dir = tempfile::tempdir().unwrap();
        let variable = ("DISK_FULL", self.flag().display().to_string());
        let environment = behind_shim(dir.path(), self.tools.path(), &[variable]);
        Server::start_in(dir, environment, arguments).await
    }
}

/// Whether `/readyz` reports a part as ready.
async fn is_ready(server: &Server, part: &str) -> bool {
    let address = format!("{}/readyz", server.base);
    let answer = server.http.get(address).send().await.unwrap();
    let status = answer.status();
    let body: Value = answer.json().await.unwrap();
    let parts = body["parts"].as_array().unwrap();
    let found = parts.iter().find(|found| found["name"] == part).unwrap();
    assert!(found["ready"] == true || status == 503, "{status}: {body}");
    found["ready"] == true
}

async fn until_ready(server: &Server, part: &str, ready: bool) {
    wait_until(
        async || is_ready(server, part).await == ready,
        &format!("{part} ready={ready}"),
    )
    .await;
}

async fn create_group(server: &Server, key: &Key, name: &str) -> reqwest::Response {
    let request = server.request(reqwest::Method::POST, "/v2/public/groups", key);
    request
        .json(&json!({"name": name, "flowIds": ["x"]}))
        .send()
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_writes_and_recovers() {
    let disk = Disk::new();
    let server = disk.server(&["--rate-writes", "0", "--rate-reads", "0"]).await;
    let merchant = server.merchant(true);
    assert_eq!(
        create_group(&server, &merchant.sandbox, "before").await.status(),
        201
    );
    until_ready(&server, "database", true).await;

    disk.fill();
    for number in 0..20 {
        let refused = create_group(&server, &merchant.sandbox, &format!("full {number}")).await;
        assert_eq!(refused.status(), 503, "write {number}");
        assert!(refused.headers().contains_key(RETRY_AFTER));
        says_full(&refused.text().await.unwrap());
    }
    let many = (0..16).map(|number| {
        let name = format!("together {number}");
        let (server, key) = (&server, &merchant.sandbox);
        async move { create_group(server, key, &name).await }
    });
    for refused in futures_util::future::join_all(many).await {
        assert_eq!(refused.status(), 503);
        says_full(&refused.text().await.unwrap());
    }
    let (status, groups) = server.get("/v2/public/groups", &merchant.sandbox).await;
    assert_eq!(status, 200, "{groups}");
    until_ready(&server, "database", false).await;
    until_ready(&server, "objects", false).await;
    for part in ["database", "objects"] {
        let (_, detail) = server.readiness_part(part).await;
        assert!(detail.contains("disk is full"), "{part}: {detail}");
    }

    disk.free();
    let freed = Instant::now();
    while create_group(&server, &merchant.sandbox, "after").await.status() != 201 {
        assert!(
            freed.elapsed() < Duration::from_secs(5),
            "writes are refused for 5 s"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    until_ready(&server, "database", true).await;
    until_ready(&server, "objects", true).await;
    let (_, groups) = server.get("/v2/public/groups", &merchant.sandbox).await;
    let text = groups.to_string();
    assert!(text.contains("before") && text.contains("after"), "{text}");
    assert!(!text.contains("full") && !text.contains("together"), "{text}");
}

fn says_full(answer: &str) {
    assert!(
        answer.contains("disk is full") && answer.contains("free space"),
        "{answer}"
    );
}

/// `doctor` does not report the database as healthy, and prints each cause once.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_reports_a_full_disk() {
    let server = Server::start_in(tempfile::tempdir().unwrap(), Vec::new(), &[]).await;
    server.merchant(true);
    let disk = Disk::new();
    disk.fill();
    let variable = ("DISK_FULL", disk.flag().display().to_string());
    let environment = behind_shim(server.dir.path(), disk.tools.path(), &[variable]);
    let output = try_command(server.dir.path(), &environment, &["doctor"]);
    let said = String::from_utf8(output.stdout).unwrap();
    for name in ["database", "objects"] {
        let line = said
            .lines()
            .find(|line| line.split_whitespace().nth(1) == Some(name))
            .unwrap();
        assert!(
            line.starts_with("BAD ") && line.contains("disk is full") && line.contains("free space"),
            "{line}"
        );
        for cause in ["database or disk is full", "No space left on device"] {
            assert!(line.matches(cause).count() <= 1, "{line}");
        }
    }
    disk.free();
    let said = String::from_utf8(server.try_bonafide(&["doctor"]).stdout).unwrap();
    assert!(!said.contains("BAD   objects"), "{said}");
}

/// Only rate limits are written here; they have their own file.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_what_cannot_be_counted() {
    let disk = Disk::new();
    let server = disk.server(&[]).await;
    let merchant = server.merchant(true);
    assert_eq!(server.get("/v2/public/groups", &merchant.sandbox).await.0, 200);
    disk.fill();
    let (status, body) = server.get("/v2/public/groups", &merchant.sandbox).await;
    assert_eq!(status, 503, "{body}");
    says_full(&body.to_string());
    disk.free();
    assert_eq!(server.get("/v2/public/groups", &merchant.sandbox).await.0, 200);
}

/// Runs a command repeatedly, with a disk that becomes full after more writes each time, until the command
/// succeeds. Each failure must state the reason.
fn until_it_fits(server: &Server, arguments: &[&str]) {
    let tools = tempfile::tempdir().unwrap();
    for writes in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 10_000] {
        let variable = ("DISK_FULL_AFTER", writes.to_string());
        let environment = behind_shim(server.dir.path(), tools.path(), &[variable]);
        let output = try_command(server.dir.path(), &environment, arguments);
        if output.status.success() {
            assert!(writes > 0, "{arguments:?} writes nothing");
            return;
        }
        says_why(&output, writes);
    }
    panic!("{arguments:?} needs more than 10,000 writes");
}

fn says_why(output: &std::process::Output, writes: u32) {
    let error = String::from_utf8_lossy(&output.stderr).to_lowercase();
    let reasons = ["no space", "is full", "i/o error", "unable to open"];
    assert!(
        reasons.iter().any(|reason| error.contains(reason)),
        "after {writes} writes: {error}"
    );
    assert!(!error.contains("panicked"), "after {writes} writes: {error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_during_a_rotation_loses_no_key() {
    let server = Server::start_in(tempfile::tempdir().unwrap(), Vec::new(), &[]).await;
    server.merchant(true);
    server.merchant(false);
    until_it_fits(&server, &["keys", "rotate"]);
    // The running server still uses the key file that it read at its start.
    until_it_fits(&server, &["keys", "rewrap", "--force"]);
    // The key file opens every account's key.
    server.bonafide(&["keys", "rewrap", "--force"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_during_an_erasure_leaves_it_to_the_next_try() {
    let server = Server::start_in(tempfile::tempdir().unwrap(), Vec::new(), &[]).await;
    let merchant = server.merchant(true);
    server.bonafide(&["generate", "--merchant", &merchant.id, "--count", "4"]);
    let label = ["--external-user-id", "invented-1-00000003"];
    until_it_fits(
        &server,
        &[&["erase", "--merchant", &merchant.id, "--sandbox"][..], &label].concat(),
    );
    let left = "select count(*) from people";
    assert_eq!(server.count(left).await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_during_an_import_keeps_the_list_in_use() {
    let server = Server::start_in(tempfile::tempdir().unwrap(), Vec::new(), &[]).await;
    let lists = tempfile::tempdir().unwrap();
    let file = lists.path().join("invented.ftm.json");
    let import = ["lists", "import", file.to_str().unwrap()];
    let write = |count: u32| {
        let line = |number: u32| {
            let name = format!("Invented Person {number}");
            let entity = json!({"id": format!("x-{number}"), "schema": "Person", "last_seen": "2026-01-02",
                "properties": {"name": [name]}});
            format!("{entity}\n")
        };
        std::fs::write(&file, (0..count).map(line).collect::<String>()).unwrap();
    };
    write(20);
    server.bonafide(&import);
    write(21);
    until_it_fits(&server, &import);
    let folder = server.dir.path().join("lists");
    let unfinished = std::fs::read_dir(folder).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().ends_with(".new")
    });
    assert_eq!(unfinished.count(), 0);
    let status = server.bonafide(&["lists", "status", "--json"]);
    assert!(status.contains("21"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_during_the_first_migration_leaves_it_to_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let tools = tempfile::tempdir().unwrap();
    for writes in [0, 4, 16, 64, 256] {
        let variable = ("DISK_FULL_AFTER", writes.to_string());
        let environment = behind_shim(dir.path(), tools.path(), &[variable]);
        let output = try_command(
            dir.path(),
            &environment,
            &["merchant", "create", "--name", "First"],
        );
        if output.status.success() {
            break;
        }
        says_why(&output, writes);
    }
    let server = Server::start_in(dir, Vec::new(), &[]).await;
    let merchant = server.merchant(true);
    assert_eq!(
        create_group(&server, &merchant.sandbox, "first").await.status(),
        201
    );
}

/// A process that no failed assertion leaves behind.
struct KilledOnDrop(std::process::Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A new installation prints its key file and the operator's link to stderr. The server goes on without them.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_starts_while_stderr_is_on_a_full_disk() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let dir = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let database = format!("sqlite:{}", dir.path().join("bonafide.db").display());
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let process = program(&database, dir.path(), &Vec::new())
        .args(["serve", "--demo", "--listen", &format!("127.0.0.1:{port}")])
        .stdout(full())
        .stderr(full())
        .spawn()
        .unwrap();
    let mut server = KilledOnDrop(process);
    let file = dir.path().join("demo.json");
    wait_until(async || file.exists(), "the sandbox account is made").await;
    let health = format!("http://127.0.0.1:{port}/healthz");
    // Long enough for the summary, which follows the file.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(reqwest::get(health).await.unwrap().status(), 200);
    assert!(server.0.try_wait().unwrap().is_none());
}
