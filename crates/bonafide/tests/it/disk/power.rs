//! A power cut: the server restarts with the disk's last synced state.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::behind_shim;
use crate::harness::Server;

/// Copies a folder. Links are replaced by the files that they lead to.
fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            // A file whose content was never synced is empty.
            let content = std::fs::read(entry.path()).unwrap_or_default();
            std::fs::write(target, content).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_loses_nothing_that_was_acknowledged() {
    const EACH: usize = 12;
    let (dir, shadow) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::create_dir(shadow.path().join("inodes")).unwrap();
    std::fs::create_dir(shadow.path().join("tree")).unwrap();
    let variable = ("DISK_SHADOW", shadow.path().display().to_string());
    let environment = behind_shim(dir.path(), shadow.path(), &[variable]);
    let unlimited = ["--rate-writes", "0", "--rate-reads", "0"];
    let server = Arc::new(Server::start_in(dir, environment, &unlimited).await);
    let merchant = server.merchant(true);

    let clients = (0..8).map(|client| {
        let (server, key) = (Arc::clone(&server), merchant.sandbox.clone());
        tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            for number in 0..EACH {
                let name = format!("client {client} group {number}");
                let body = json!({"name": name, "flowIds": ["x"]});
                let (status, made) = server.post("/v2/public/groups", &key, body).await;
                assert_eq!(status, 201, "{made}");
                acknowledged.push(name);
            }
            acknowledged
        })
    });
    let mut acknowledged = Vec::new();
    for client in clients.collect::<Vec<_>>() {
        acknowledged.extend(client.await.unwrap());
    }
    let server = Arc::into_inner(server).unwrap();
    drop(server.kill());

    let disk: TempDir = tempfile::tempdir().unwrap();
    copy(&shadow.path().join("tree"), disk.path());
    assert!(
        disk.path()
            .join("master.key")
            .metadata()
            .is_ok_and(|key| key.len() > 0),
        "the master key is lost"
    );
    let server = Server::start_in(disk, Vec::new(), &unlimited).await;
    let (status, found) = server.get("/v2/public/groups", &merchant.sandbox).await;
    assert_eq!(status, 200, "{found}");
    let found: Vec<&str> = found["groups"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|group| group["name"].as_str())
        .collect();
    let lost: Vec<_> = acknowledged
        .iter()
        .filter(|name| !found.contains(&name.as_str()))
        .collect();
    assert!(
        lost.is_empty(),
        "{} of {} are lost: {lost:?}",
        lost.len(),
        acknowledged.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_come_together_share_a_sync() {
    const EACH: usize = 10;
    let (dir, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let syncs = tools.path().join("syncs");
    let variables = [
        ("DISK_SYNC_US", "20000".to_owned()),
        ("DISK_SYNCS", syncs.display().to_string()),
    ];
    let environment = behind_shim(dir.path(), tools.path(), &variables);
    let server = Arc::new(Server::start_in(dir, environment, &["--rate-writes", "0"]).await);
    let merchant = server.merchant(true);
    let count = || std::fs::metadata(&syncs).map_or(0, |file| file.len());
    let before = count();
    let clients = (0..8).map(|client| {
        let (server, key) = (Arc::clone(&server), merchant.sandbox.clone());
        tokio::spawn(async move {
            for number in 0..EACH {
                let body = json!({"name": format!("{client} {number}"), "flowIds": ["x"]});
                let (status, made): (u16, Value) = server.post("/v2/public/groups", &key, body).await;
                assert_eq!(status, 201, "{made}");
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
    let shared = count() - before;
    assert!(shared > 0, "the shim counts nothing");
    assert!(
        shared < 8 * EACH as u64 * 3 / 4,
        "{shared} syncs for {} requests",
        8 * EACH
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_writes_at_most_once_a_second() {
    let (dir, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let syncs = tools.path().join("syncs");
    let variable = ("DISK_SYNCS", syncs.display().to_string());
    let environment = behind_shim(dir.path(), tools.path(), &[variable]);
    // Within a second of its start, the server's own jobs write only its first report.
    let server = Server::start_in(dir, environment, &[]).await;
    let address = format!("{}/readyz", server.base);
    let count = || std::fs::metadata(&syncs).map_or(0, |file| file.len());
    let (before, begun) = (count(), Instant::now());
    let mut asked = 0;
    while count() == before {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "readiness does not write"
        );
        server.http.get(&address).send().await.unwrap();
    }
    let (before, begun) = (count(), Instant::now());
    while asked < 200 {
        server.http.get(&address).send().await.unwrap();
        asked += 1;
    }
    let (written, seconds) = (count() - before, begun.elapsed().as_secs());
    // Each check writes to the database's log and to the object store.
    let most = (seconds + 2) * 6;
    assert!(
        written <= most,
        "{written} syncs for {asked} checks in {seconds} s"
    );
}
