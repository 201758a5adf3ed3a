//! Retention, erasure and key rotation, and the audit trail that records them.

use serde_json::{Value, json};

use crate::harness::{Backend, Key, Server, on_both, wait_until};
use crate::interruptions::attempt_folders;
use crate::verify::{specimen, verify};

/// The verification of the demo account's audit trail.
fn audit(server: &Server, demo: &Value) -> (bool, Value) {
    let merchant = demo["merchantId"].as_str().unwrap();
    let output = server.try_bonafide(&["audit", "verify", "--merchant", merchant]);
    let line = serde_json::from_slice(&output.stdout).unwrap();
    (output.status.success(), line)
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_go_when_their_retention_is_over() {
    let (mut server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    for (name, id) in [("pass-passport", "old"), ("pass-id-card-td1", "young")] {
        let form = specimen(name).form(&demo, &json!({"externalUserId": id}));
        assert_eq!(verify(&server, &demo, form).await.1["success"], json!(true));
    }
    server.ask_to_stop();
    assert!(server.wait().success());
    assert_eq!(attempt_folders(&server).len(), 2);
    let forty_days = 40_i64 * 24 * 60 * 60 * 1_000;
    sqlx::query("update attempts set created_at = created_at - $1 where log_id = 1")
        .bind(forty_days)
        .execute(&mut server.sqlite().await)
        .await
        .unwrap();

    let server = server.kill_and_restart(&["--demo", "--retention-days", "30"]);
    wait_until(async || attempt_folders(&server).len() <= 1, "the files go").await;
    let record = async |id: &str| {
        let path = format!("/v2/reports/applicants/byExternalUserId/{id}");
        let facemap = server.get(&path, &Key::of_demo(&demo)).await.1["facemapId"].clone();
        let path = format!("/v2/reports/applicants/{}", facemap.as_str().unwrap());
        server.get(&path, &Key::of_demo(&demo)).await.1["registrations"][0].clone()
    };
    let old = record("old").await;
    assert_eq!(
        (&old["status"], &old["verifications"]),
        (&Value::Null, &json!([])),
        "{old}"
    );
    let young = record("young").await;
    assert_eq!(young["status"], json!("approved"));
    assert_eq!(young["verifications"].as_array().unwrap().len(), 1);
    assert!(audit(&server, &demo).0);
}

/// The newer account is swept first, and its Flow cannot be parsed.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_cannot_be_swept_keeps_no_other_account_s_attempts() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let form = specimen("pass-passport").form(&demo, &json!({}));
    assert_eq!(verify(&server, &demo, form).await.0, 200);
    let damaged = server.merchant(true);
    server.flow(&damaged, &json!({"name": "Damaged"}));
    server
        .sql(r#"update flows set settings = '{"matchThreshold":"x"}' where name = 'Damaged'"#)
        .await;
    server.sql("update attempts set created_at = 0").await;
    // A clock that was corrected between the two commands must not change the order.
    server
        .sql("update merchants set created_at = 0 where name = 'Demo merchant'")
        .await;
    let server = server.kill_and_restart(&["--demo", "--retention-days", "1"]);
    wait_until(
        async || server.count("select count(*) from attempts").await == 0,
        "the attempt goes",
    )
    .await;
    let log = server.log().await;
    let is_warning = |line: &str| line.contains(&damaged.id) && line.contains("past their retention");
    assert!(log.lines().any(is_warning), "{log}");
}

on_both!(an_erased_person_is_forgotten_while_the_server_runs, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let passing = specimen("pass-passport");
    let send = async |id: &str| {
        verify(
            &server,
            &demo,
            passing.form(&demo, &json!({"externalUserId": id})),
        )
        .await
        .1
    };
    let first = send("ada").await;
    let facemap = first["facemap_id"].as_str().unwrap();
    let merchant = demo["merchantId"].as_str().unwrap();
    let erase = [
        "erase",
        "--merchant",
        merchant,
        "--sandbox",
        "--external-user-id",
        "ada",
    ];
    let erased: Value = serde_json::from_str(&server.bonafide(&erase)).unwrap();
    assert_eq!(erased, json!({"facemapId": facemap, "attempts": 1}));
    assert!(!server.try_bonafide(&erase).status.success(), "nobody is left");

    let path = format!("/v2/reports/applicants/{facemap}");
    assert_eq!(server.get(&path, &Key::of_demo(&demo)).await.0, 404);
    let path = "/v2/reports/applicants/byExternalUserId/ada";
    assert_eq!(server.get(path, &Key::of_demo(&demo)).await.0, 404);
    assert!(attempt_folders(&server).is_empty());
    let again = send("ada").await;
    assert_eq!(
        again["success"],
        json!(true),
        "the face is new to the running server: {again}"
    );
    assert_ne!(again["facemap_id"], first["facemap_id"]);
    assert!(audit(&server, &demo).0);
});

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_audit_row_shows() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let group = json!({"name": "Checked", "flowIds": ["none"]});
    assert_eq!(
        server
            .post("/v2/public/groups", &Key::of_demo(&demo), group)
            .await
            .0,
        201
    );
    let (intact, line) = audit(&server, &demo);
    assert!(intact && line["rows"].as_i64().unwrap() >= 2, "{line}");
    sqlx::query("update audit set actor = 'somebody else' where seq = 2")
        .execute(&mut server.sqlite().await)
        .await
        .unwrap();
    let (intact, line) = audit(&server, &demo);
    assert!(!intact);
    assert_eq!((&line["intact"], &line["brokenAt"]), (&json!(false), &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_master_key_is_changed_without_losing_anything() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let form = specimen("pass-passport").form(&demo, &json!({"externalUserId": "ada"}));
    let facemap = verify(&server, &demo, form).await.1["facemap_id"].clone();
    let path = format!("/v2/reports/applicants/{}", facemap.as_str().unwrap());
    let record = server.get(&path, &Key::of_demo(&demo)).await;
    assert_eq!(record.0, 200);

    let old = std::fs::read(server.dir.path().join("master.key")).unwrap();
    server.bonafide(&["keys", "rotate"]);
    assert_eq!(
        server.get(&path, &Key::of_demo(&demo)).await,
        record,
        "before the restart"
    );
    let server = server.kill_and_restart(&["--demo"]);
    // The killed server still counts as one with the old key file for a while.
    let refused = server.try_bonafide(&["keys", "rewrap"]);
    assert!(!refused.status.success());
    server.bonafide(&["keys", "rewrap", "--force"]);
    assert_eq!(
        server.get(&path, &Key::of_demo(&demo)).await,
        record,
        "after rewrapping"
    );
    // The server replaces the keys below without being asked.
    let is_renewed = async || {
        let status = server.try_bonafide(&["keys", "status"]);
        let status: Value = serde_json::from_slice(&status.stdout).unwrap();
        status["waiting"].as_array().unwrap().is_empty()
    };
    wait_until(is_renewed, "the keys are renewed").await;
    assert_eq!(
        server.get(&path, &Key::of_demo(&demo)).await,
        record,
        "after the renewal"
    );
    let form = specimen("pass-passport").form(&demo, &json!({"externalUserId": "ada"}));
    let again = verify(&server, &demo, form).await.1;
    assert_eq!(again["idvResult"]["code"], 2307, "the face is known: {again}");

    // The server does not start with only the old key.
    let (dir, database) = server.stop();
    std::fs::write(dir.path().join("master.key"), old).unwrap();
    let Err((_, said)) = Server::try_start_on(dir, &database, &[], &[]) else {
        panic!("it serves with the old key")
    };
    assert!(said.contains("older copy"), "{said}");
}
