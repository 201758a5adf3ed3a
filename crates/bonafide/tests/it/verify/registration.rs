//! Registration of faces: once for each face, and again under a new model.

use reqwest::multipart::Part;
use serde_json::{Value, json};

use super::{codes, specimen, specimens, verify};
use crate::harness::{Backend, Server, on_both, wait_until};
use crate::interruptions::attempt_folders;

on_both!(one_face_sent_twice_at_once_registers_once, |backend| {
    // One worker for each request, so that none times out on a slow machine.
    let (server, demo) = Server::demo(backend, &["--workers", "3"]).await;
    let passing = specimen("pass-passport");
    let send = |id: &'static str| {
        verify(
            &server,
            &demo,
            passing.form(&demo, &json!({"externalUserId": id})),
        )
    };
    let (first, second, third) = tokio::join!(send("a"), send("b"), send("c"));
    let outcomes = [first, second, third];
    let passed = outcomes
        .iter()
        .filter(|(_, body)| body["success"] == json!(true))
        .count();
    let duplicates = outcomes.iter().filter(|(_, body)| codes(body) == [2307]).count();
    assert_eq!((passed, duplicates), (1, 2), "{outcomes:?}");
});

on_both!(a_new_face_model_forgets_nobody_whose_selfie_is_kept, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let send = async |id: &str| {
        let changes = json!({"externalUserId": id});
        verify(&server, &demo, specimen("pass-passport").form(&demo, &changes))
            .await
            .1
    };
    let reindexed = || -> (u64, u64) {
        let lines = server.bonafide(&["faces", "reindex"]);
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.fold((0, 0), |(renewed, left), line| {
            let count = |name: &str| line[name].as_u64().unwrap();
            (renewed + count("renewed"), left + count("left"))
        })
    };
    let doctor = || String::from_utf8(server.try_bonafide(&["doctor"]).stdout).unwrap();
    assert_eq!(send("first").await["success"], true);
    assert_eq!(reindexed(), (0, 0), "nothing is old");
    assert!(doctor().contains("all made by the model in use"));

    let age = "update faces set model = 'older-model'";
    server.sql(age).await;
    // The server embeds it again by itself.
    wait_until(
        async || doctor().contains("all made by the model in use"),
        "the face is embedded again",
    )
    .await;
    assert_eq!(
        codes(&send("second").await),
        [2307],
        "recognised under another label"
    );

    for attempt in attempt_folders(&server).keys() {
        std::fs::remove_dir_all(attempt).unwrap();
    }
    server.sql(age).await;
    assert_eq!(reindexed(), (0, 1), "no selfie is kept");
    assert!(doctor().contains("1 were made by another model"));
});

/// A document's image is not accepted as a selfie.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_no_selfie() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let passing = specimen("pass-passport");
    let front = specimens().join(passing.0["files"]["passportFront"].as_str().unwrap());
    let picture = std::fs::read(front).unwrap();
    let mut alone = passing.clone();
    alone.0["files"] = json!({});
    let form = alone
        .form(&demo, &json!({}))
        .part("passportFront", Part::bytes(picture.clone()).file_name("a.jpg"))
        .part("selfie", Part::bytes(picture).file_name("b.jpg"));
    let (_, body) = verify(&server, &demo, form).await;
    assert_eq!(body["success"], json!(false), "{body}");
    assert!(codes(&body).contains(&2104), "{body}");
}
