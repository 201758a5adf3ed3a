//! The age of sanctions lists: the publisher's date counts, and imports that never change anything are
//! reported.

use serde_json::{Value, json};

use crate::harness::{Server, try_command};
use crate::nodes::{account, list_file, screened};
use crate::portal::Browser;

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_2020_is_old_on_the_day_of_its_import() {
    let strict = || {
        vec![
            ("BONAFIDE_LIST_MAX_AGE_HOURS", "9600".to_owned()),
            ("BONAFIDE_LIST_UNCHANGED_IMPORTS", "2".to_owned()),
        ]
    };
    let server = Server::start_in(tempfile::tempdir().unwrap(), strict(), &["--metrics-token", "t"]).await;
    let (_, demo) = account(&server);
    let files = tempfile::tempdir().unwrap();
    let today = jiff::Timestamp::now().to_string()[..10].to_owned();
    let import = |date: &str| {
        let file = list_file(files.path(), date, &["Zebulon Quartermain"]);
        server.try_bonafide(&["lists", "import", file.to_str().unwrap()])
    };
    let status =
        || -> Vec<Value> { serde_json::from_str(&server.bonafide(&["lists", "status", "--json"])).unwrap() };
    let refused = import("2020-03-01");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success());
    assert!(
        said.contains("2020-03-01") && said.contains("--list-max-age-hours"),
        "{said}"
    );
    assert_eq!(status(), Vec::<Value>::new());

    assert!(import(&today).status.success());
    assert_eq!(
        screened(&server, &demo, "Quartermain").await,
        (200, json!("match"))
    );
    assert_eq!(
        status()[0]["publishedAt"],
        json!(format!("{today}T00:00:00.000Z"))
    );
    // A refused import leaves the usable list in use.
    assert!(!import("2020-03-01").status.success());
    assert_eq!(
        screened(&server, &demo, "Quartermain").await,
        (200, json!("match"))
    );

    // The same file again and again: the publisher may have moved it.
    let said = |import: std::process::Output| {
        assert!(import.status.success());
        String::from_utf8(import.stderr).unwrap()
    };
    assert_eq!(said(import(&today)), "");
    let alert = said(import(&today));
    assert!(
        alert.contains("the last 2 imports of invented changed nothing"),
        "{alert}"
    );
    let doctor = String::from_utf8(server.try_bonafide(&["doctor"]).stdout).unwrap();
    let line = doctor
        .lines()
        .find(|line| line.starts_with("look  lists"))
        .unwrap();
    assert!(line.contains("changed nothing"), "{doctor}");
    let operator = Browser::operator(&server).await;
    let page = operator.get("/portal/operator/lists").await.page();
    assert!(page.contains("The last 2 imports changed nothing"), "{page}");

    // Imported where every age is allowed, the list is no younger.
    let dir = server.kill();
    let file = list_file(files.path(), "2020-03-01", &["Zebulon Quartermain"]);
    let file = file.to_str().unwrap();
    assert!(
        try_command(dir.path(), &Vec::new(), &["lists", "remove", "invented"])
            .status
            .success()
    );
    assert!(
        try_command(dir.path(), &Vec::new(), &["lists", "import", file])
            .status
            .success()
    );
    let server = Server::start_in(dir, strict(), &[]).await;
    assert_eq!(screened(&server, &demo, "Quartermain").await.0, 503);
    let (ready, why) = server.readiness_part("sanctions").await;
    assert!(!ready && why.contains("2020-03-01"), "{why}");
}
