//! Lists once for all nodes: a list that one node imported reaches the others through the object store.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::json;
use tempfile::TempDir;

use crate::harness::{Backend, Server, database, wait_until};
use crate::nodes::{account, list_file, screened};

/// A node on PostgreSQL with an object store that another node can share, and that store's folder.
async fn node(shared: &TempDir) -> (Server, String) {
    let objects = format!("file:{}", shared.path().display());
    let dir = tempfile::tempdir().unwrap();
    let database = database(Backend::Postgres, dir.path()).await;
    let started = Server::try_start_on(dir, &database, &[], &[("BONAFIDE_OBJECTS", objects.as_str())]);
    (started.unwrap_or_else(|(_, said)| panic!("{said}")), objects)
}

fn copies(shared: &TempDir) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(shared.path().join("lists"))
        .into_iter()
        .flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_one_node_imports_reaches_the_others() {
    let shared = tempfile::tempdir().unwrap();
    let (first, objects) = node(&shared).await;
    let (_, demo) = account(&first);
    let second = first.another_node(&[], &[("BONAFIDE_OBJECTS", &objects)]);
    let files = tempfile::tempdir().unwrap();
    let answers = async |name: &str| {
        for node in [&first, &second] {
            wait_until(
                async || screened(node, &demo, name).await == (200, json!("match")),
                "the node has the list",
            )
            .await;
        }
    };
    for (date, name) in [("2026-01-02", "Quartermain"), ("2026-01-03", "Nightingale")] {
        let file = list_file(files.path(), date, &[&format!("Zebulon {name}")]);
        first.bonafide(&["lists", "import", file.to_str().unwrap()]);
        answers(name).await;
    }
    // The second node has both versions too, so it can return to the first one, and the first node follows.
    second.bonafide(&["lists", "rollback", "invented"]);
    answers("Quartermain").await;
    // A node that joins later needs no import either.
    let third = first.another_node(&[], &[("BONAFIDE_OBJECTS", &objects)]);
    wait_until(
        async || third.readiness_part("sanctions").await.0,
        "the third node is ready",
    )
    .await;
    assert_eq!(copies(&shared).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_copy_is_replaced_and_an_unused_one_is_deleted() {
    let shared = tempfile::tempdir().unwrap();
    let (first, objects) = node(&shared).await;
    let (_, demo) = account(&first);
    let files = tempfile::tempdir().unwrap();
    let file = list_file(files.path(), "2026-01-02", &["Zebulon Quartermain"]);
    first.bonafide(&["lists", "import", file.to_str().unwrap()]);
    // From then on, this node does not look at the copy.
    wait_until(
        async || screened(&first, &demo, "Quartermain").await == (200, json!("match")),
        "the first node has the list",
    )
    .await;
    let copy = copies(&shared).remove(0);
    let good = std::fs::read_to_string(&copy).unwrap();
    std::fs::write(&copy, good.replace("Quartermain", "Nightingale")).unwrap();
    let second = first.another_node(&[], &[("BONAFIDE_OBJECTS", &objects)]);
    wait_until(
        async || second.log().await.contains("it is damaged"),
        "the copy is refused",
    )
    .await;
    assert_ne!(
        screened(&second, &demo, "Nightingale").await,
        (200, json!("match"))
    );
    // The node deletes it, and the one that has the list stores it again.
    wait_until(
        async || screened(&second, &demo, "Quartermain").await == (200, json!("match")),
        "the node has the list",
    )
    .await;
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), good);
    // A list that is damaged on a node comes back from the copy.
    let path = second.dir.path().join("lists/invented.list.jsonl");
    let damaged = std::fs::read_to_string(&path)
        .unwrap()
        .replace("Quartermain", "Nightingale");
    std::fs::write(&path, damaged).unwrap();
    wait_until(
        async || std::fs::read_to_string(&path).unwrap().contains("Quartermain"),
        "the damaged file is replaced",
    )
    .await;
    // A copy that no set names stays for a day.
    let (old, young) = (copy.with_file_name(name(1)), copy.with_file_name(name(2)));
    for path in [&old, &young, &copy] {
        let file = std::fs::File::options()
            .append(true)
            .create(true)
            .open(path)
            .unwrap();
        if path != &young {
            file.set_modified(SystemTime::now() - Duration::from_hours(48))
                .unwrap();
        }
    }
    // Each server looks at its start.
    let _third = first.another_node(&[], &[("BONAFIDE_OBJECTS", &objects)]);
    wait_until(async || !old.exists(), "the unused copy goes").await;
    assert!(copy.exists() && young.exists());
}

fn name(byte: u8) -> String {
    format!("{}.list.jsonl", hex::encode([byte; 32]))
}
