//! Clients that disconnect and servers that die during a request: records are complete or absent, and no
//! files are left behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;
use uuid::Uuid;

use crate::harness::{Backend, Server, on_both, wait_until};
use crate::verify::{specimen, verify};

/// The folders of attempts in the object store, with the number of files in each.
pub(crate) fn attempt_folders(server: &Server) -> BTreeMap<PathBuf, usize> {
    let list = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder)
            .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
            .unwrap_or_default()
    };
    list(&server.dir.path().join("objects"))
        .iter()
        .flat_map(|merchant| list(&merchant.join("sandbox/attempts")))
        .map(|attempt| {
            let files = list(&attempt).len();
            (attempt, files)
        })
        // Deleted attempts and the object store's health check leave empty folders.
        .filter(|(_, files)| *files > 0)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_hangs_up_leaves_a_whole_attempt_or_none() {
    let (mut server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let passing = specimen("pass-passport");
    let send = |id: String| {
        let form = passing.form(&demo, &json!({"externalUserId": id}));
        verify(&server, &demo, form)
    };
    let begun = Instant::now();
    assert_eq!(send("stays".into()).await.0, 200);
    let usual = begun.elapsed();
    for percent in [40, 70, 80, 85, 90, 95, 100] {
        // Dropping the request closes its connection.
        let _ = tokio::time::timeout(usual * percent / 100, send(format!("gone-{percent}"))).await;
    }
    server.ask_to_stop();
    assert!(server.wait().success(), "it finishes what it has begun");

    let attempts: Vec<(Uuid,)> = sqlx::query_as("select id from attempts")
        .fetch_all(&mut server.sqlite().await)
        .await
        .unwrap();
    let mut recorded: Vec<String> = attempts.iter().map(|(id,)| id.to_string()).collect();
    recorded.sort();
    let folders = attempt_folders(&server);
    let stored: Vec<&str> = folders
        .keys()
        .map(|folder| folder.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(
        stored, recorded,
        "objects without an attempt, or the other way round"
    );
    assert!(folders.values().all(|files| *files == 2), "{folders:?}");
}

fn age(folder: &Path) {
    let two_days_ago = SystemTime::now() - Duration::from_secs(2 * 24 * 60 * 60);
    for file in std::fs::read_dir(folder).unwrap() {
        let file = std::fs::File::options().write(true).open(file.unwrap().path());
        file.unwrap().set_modified(two_days_ago).unwrap();
    }
}

on_both!(objects_that_nothing_refers_to_are_swept, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let form = specimen("pass-passport").form(&demo, &json!({}));
    assert_eq!(verify(&server, &demo, form).await.0, 200);
    let (named, _) = attempt_folders(&server).pop_first().unwrap();
    age(&named);
    // The first ID is older than the attempt; the last is newer than any that this database contains.
    let (earlier, later) = (
        Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, 1_700_000_000, 0)),
        Uuid::now_v7(),
    );
    let stray = |merchant: &Path, id: Uuid, old: bool| {
        let folder = merchant.join(id.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("selfie"), "sealed").unwrap();
        if old {
            age(&folder);
        }
        folder
    };
    let ours = named.parent().unwrap();
    let elsewhere = server
        .dir
        .path()
        .join(format!("objects/{}/live/attempts", Uuid::new_v4()));
    let (orphan, copied) = (stray(ours, earlier, true), stray(ours, later, true));
    let younger = Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, 1_700_000_001, 0));
    let (young, foreign) = (stray(ours, younger, false), stray(&elsewhere, earlier, true));

    let server = server.kill_and_restart(&["--demo"]);
    wait_until(async || !orphan.join("selfie").exists(), "the orphan goes").await;
    assert!(young.join("selfie").exists(), "its attempt may still come");
    assert!(foreign.join("selfie").exists(), "another installation's");
    assert!(
        copied.join("selfie").exists(),
        "this may be an older copy of the database"
    );
    assert_eq!(attempt_folders(&server)[&named], 2, "what an attempt names stays");
});
