//! Tests that need several processes: this test binary starts itself as [`child`] on the same database.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reference::status::AttemptStatus;
use store::Scope;
use uuid::Uuid;

use crate::bench::{Bench, connect};
use crate::verification::{Outcome, Submission, verify};

/// The variable with a child's parameters: database, keyring folder, merchant, first part of the labels, and
/// number of new faces.
const WORK: &str = "BONAFIDE_TEST_CHILD";

fn start(bench: &Bench, scope: Scope, labels: &str, faces: usize) -> Child {
    let work = [
        &bench.url,
        &bench.folder.path().display().to_string(),
        &scope.merchant_id.to_string(),
        labels,
        &faces.to_string(),
    ]
    .join("\n");
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child", "--nocapture"])
        .env(WORK, work)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The child process. As an ordinary test it has no parameters and does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Ok(work) = std::env::var(WORK) else { return };
    let [url, folder, merchant_id, labels, faces] = work.split('\n').collect::<Vec<_>>().try_into().unwrap();
    let db = connect(url, folder.as_ref()).await;
    let scope = Scope {
        merchant_id: merchant_id.parse().unwrap(),
        sandbox: true,
    };
    for n in 0..faces.parse::<usize>().unwrap() {
        let (label, face) = (format!("{labels} {n}"), format!("face {n}"));
        let submission = Submission {
            label: &label,
            group: None,
            face: Some(face.as_bytes()),
            status: AttemptStatus::Approved,
        };
        let outcome = verify(&db, scope, submission).await.unwrap();
        println!(
            "{}",
            if matches!(outcome, Outcome::Registered { .. }) {
                "registered"
            } else {
                "duplicate"
            }
        );
    }
}

pub(crate) async fn two_processes_make_one_person(bench: Bench) {
    const FACES: usize = 30;
    let scope = bench.scope().await;
    let children = ["first", "second", "third"].map(|labels| start(&bench, scope, labels, FACES));
    let (mut registered, mut duplicates) = (0, 0);
    for child in children {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        registered += text.matches("registered").count();
        duplicates += text.matches("duplicate").count();
    }
    assert_eq!((registered, duplicates), (FACES, 2 * FACES));
    for table in ["people", "faces", "registrations"] {
        assert_eq!(
            bench.count(&format!("select count(*) from {table}")).await,
            FACES as i64,
            "{table}"
        );
    }
    assert_eq!(
        bench.count("select count(*) from attempts").await,
        3 * FACES as i64
    );
}

pub(crate) async fn a_killed_process_leaves_nobody_half_registered(bench: Bench) {
    let scope = bench.scope().await;
    for round in 0..5 {
        let mut child = start(&bench, scope, &format!("round {round}"), 100_000);
        tokio::time::sleep(Duration::from_millis(400)).await;
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let people = bench.count("select count(*) from people").await;
    assert!(people > 0, "the children got to work");
    // Each transaction was committed completely or not at all.
    let attempts = bench.count("select count(*) from attempts").await;
    assert_eq!(bench.count("select count(*) from faces").await, people);
    assert_eq!(bench.count("select count(*) from registrations").await, people);
    assert_eq!(bench.count("select count(*) from outbox").await, attempts);
    assert_eq!(bench.count("select count(*) from audit").await, attempts);
    assert_eq!(
        bench
            .count("select face_seq from counters where face_seq > 0")
            .await,
        people
    );
    assert_eq!(
        bench
            .count("select log_seq from counters where log_seq > 0")
            .await,
        attempts
    );
    // The database still works.
    let label = Uuid::new_v4().to_string();
    let submission = Submission {
        label: &label,
        group: None,
        face: Some(b"new"),
        status: AttemptStatus::Approved,
    };
    let outcome = verify(&bench.db, scope, submission).await.unwrap();
    assert!(matches!(outcome, Outcome::Registered { .. }));
}
