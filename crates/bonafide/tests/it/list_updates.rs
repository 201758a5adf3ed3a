//! Updates of sanctions lists from a publisher: by the command, from a folder, and by the servers' schedule; the return
//! to an earlier version; and a server that is killed while it downloads.

use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::harness::{Backend, Server, wait_until};
use crate::nodes::{account, list_file, screened};
use crate::portal::Browser;

/// A publisher of the list `invented`.
#[derive(Clone, Default)]
struct Publisher {
    state: Arc<Mutex<Published>>,
}

#[derive(Default)]
struct Published {
    content: String,
    /// Of the content, for the `ETag`.
    version: usize,
    status: u16,
    /// Send the beginning of the file and then nothing.
    hangs: bool,
    sent: usize,
    unchanged: usize,
}

async fn send(State(publisher): State<Publisher>, headers: HeaderMap) -> Response {
    let mut state = publisher.state.lock().unwrap();
    let status = StatusCode::from_u16(state.status).unwrap();
    if status != StatusCode::OK {
        return status.into_response();
    }
    let etag = format!("\"{}\"", state.version);
    if headers
        .get("if-none-match")
        .is_some_and(|known| known == etag.as_str())
    {
        state.unchanged += 1;
        return StatusCode::NOT_MODIFIED.into_response();
    }
    state.sent += 1;
    let content = state.content.clone();
    match state.hangs {
        true => {
            let begin = futures_util::stream::iter([Ok::<_, std::io::Error>(content[..10].to_owned())]);
            Body::from_stream(begin.chain(futures_util::stream::pending())).into_response()
        }
        false => ([("etag", etag)], content).into_response(),
    }
}

impl Publisher {
    /// Listens on this machine. Returns the setting with its address.
    async fn listen(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/invented.ftm.json", get(send))
            .with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        format!("invented=http://{address}/invented.ftm.json?token=secret")
    }

    fn publish(&self, date: &str, names: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let mut state = self.state.lock().unwrap();
        state.content = std::fs::read_to_string(list_file(folder.path(), date, names)).unwrap();
        state.version += 1;
        state.status = 200;
    }

    fn fail(&self, status: u16) {
        self.state.lock().unwrap().status = status;
    }

    /// How often the file was sent, and how often it had not changed.
    fn counts(&self) -> (usize, usize) {
        let state = self.state.lock().unwrap();
        (state.sent, state.unchanged)
    }
}

/// Runs `lists update` with a publisher. Returns whether it succeeded, its output and its notes.
fn update(server: &Server, setting: &str, arguments: &[&str]) -> (bool, String, String) {
    let command = [&["lists", "update", "--list-address", setting], arguments].concat();
    let output = server.try_bonafide(&command);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (said, notes) = (text(output.stdout), text(output.stderr));
    assert!(
        !said.contains("secret") && !notes.contains("secret"),
        "{said} {notes}"
    );
    (output.status.success(), said, notes)
}

fn status(server: &Server) -> Value {
    let all: Value = serde_json::from_str(&server.bonafide(&["lists", "status", "--json"])).unwrap();
    all[0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_imports_what_changed_and_reports_what_failed() {
    let server = Server::start(Backend::Sqlite, &[]).await;
    let (_, demo) = account(&server);
    let publisher = Publisher::default();
    let setting = publisher.listen().await;
    let (is_done, _, notes) = update(&server, &setting, &[]);
    assert!(
        !is_done && notes.contains("un_sc_sanctions"),
        "no list is in use: {notes}"
    );

    publisher.publish("2026-01-02", &["Zebulon Quartermain"]);
    let (is_done, said, notes) = update(&server, &setting, &["invented"]);
    assert!(
        is_done && said.starts_with("invented 2026-01-02: 1 rows"),
        "{said} {notes}"
    );
    assert!(
        notes.contains("requesting http://127.0.0.1") && notes.contains("reading"),
        "{notes}"
    );
    assert_eq!(
        screened(&server, &demo, "Quartermain").await,
        (200, json!("match"))
    );

    // Without a name, every list in use. The publisher says that nothing changed, which counts as an import.
    let (is_done, said, _) = update(&server, &setting, &["--json"]);
    let unchanged: Value = serde_json::from_str(&said).unwrap();
    assert!(is_done);
    assert_eq!(
        unchanged,
        json!({"list": "invented", "version": "2026-01-02", "unchanged": 1})
    );
    assert_eq!(
        (publisher.counts(), status(&server)["unchangedImports"].clone()),
        ((1, 1), json!(1))
    );

    // A failure is reported everywhere, does not stop the other lists and leaves the list in use.
    publisher.fail(404);
    let (is_done, said, notes) = update(&server, &setting, &["nowhere", "invented"]);
    assert!(
        !is_done
            && said.is_empty()
            && notes.contains("nowhere")
            && notes.contains("lists not updated: 2 of 2"),
        "{notes}"
    );
    assert!(
        notes.contains("404") && notes.contains("--list-address"),
        "{notes}"
    );
    let row = status(&server);
    assert!(
        row["update"]["error"].as_str().unwrap().contains("404") && row["active"] == json!(true),
        "{row}"
    );
    let text = server.bonafide(&["lists", "status"]);
    assert!(text.contains("failed: invented: http://127.0.0.1"), "{text}");
    let doctor = String::from_utf8(server.try_bonafide(&["doctor"]).stdout).unwrap();
    assert!(
        doctor
            .lines()
            .any(|line| line.starts_with("look  updates") && line.contains("404")),
        "{doctor}"
    );
    let operator = Browser::operator(&server).await;
    let page = operator.get("/portal/operator/lists").await.page();
    assert!(
        page.contains("The last update from the publisher failed") && page.contains("404"),
        "{page}"
    );
    assert_eq!(
        screened(&server, &demo, "Quartermain").await,
        (200, json!("match"))
    );

    // From a folder, without the publisher, and under the same guards.
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().to_str().unwrap();
    let (is_done, _, notes) = update(&server, &setting, &["--from", from]);
    assert!(!is_done && notes.contains("invented.ftm.json"), "{notes}");
    list_file(folder.path(), "2026-01-01", &["Zebulon Nightingale"]);
    let (is_done, _, notes) = update(&server, &setting, &["--from", from]);
    assert!(!is_done && notes.contains("older"), "{notes}");
    list_file(folder.path(), "2026-01-03", &["Zebulon Nightingale"]);
    let (is_done, said, notes) = update(&server, &setting, &["--from", from]);
    assert!(is_done && said.contains("2026-01-03"), "{said} {notes}");
    assert_eq!(
        screened(&server, &demo, "Nightingale").await,
        (200, json!("match"))
    );
    assert_eq!(
        (publisher.counts(), status(&server)["update"]["error"].clone()),
        ((1, 1), Value::Null)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_does_not_undo_a_rollback() {
    let server = Server::start(Backend::Sqlite, &[]).await;
    let (_, demo) = account(&server);
    let publisher = Publisher::default();
    let setting = publisher.listen().await;
    for (date, name) in [("2026-01-02", "Quartermain"), ("2026-01-03", "Nightingale")] {
        publisher.publish(date, &[&format!("Zebulon {name}")]);
        assert!(update(&server, &setting, &["invented"]).0);
        assert_eq!(screened(&server, &demo, name).await, (200, json!("match")));
    }
    let said = server.bonafide(&["lists", "rollback", "invented"]);
    assert_eq!(said.trim(), "invented 2026-01-02 replaces 2026-01-03");
    assert_eq!(
        screened(&server, &demo, "Quartermain").await,
        (200, json!("match"))
    );
    let (is_done, _, notes) = update(&server, &setting, &["invented"]);
    assert!(!is_done && notes.contains("rolled back"), "{notes}");
    assert_eq!(status(&server)["update"]["rolledBack"], json!("2026-01-03"));
    assert_eq!(
        screened(&server, &demo, "Quartermain").await,
        (200, json!("match"))
    );
    // A file that somebody imports by hand, and a newer version, become active.
    let folder = tempfile::tempdir().unwrap();
    let file = list_file(folder.path(), "2026-01-03", &["Zebulon Nightingale"]);
    server.bonafide(&["lists", "import", file.to_str().unwrap()]);
    assert_eq!(status(&server)["update"]["rolledBack"], Value::Null);
    server.bonafide(&["lists", "rollback", "invented", "2026-01-02"]);
    publisher.publish("2026-01-04", &["Zebulon Featherstonehaugh"]);
    assert!(update(&server, &setting, &["invented"]).0);
    assert_eq!(
        screened(&server, &demo, "Featherstonehaugh").await,
        (200, json!("match"))
    );
    let unknown = server.try_bonafide(&["lists", "rollback", "invented", "2020-01-01"]);
    assert!(
        String::from_utf8_lossy(&unknown.stderr).contains("2026-01-03"),
        "{unknown:?}"
    );
    let trail = server
        .count("select count(*) from operator_audit where action = 'lists.rolled_back'")
        .await;
    assert_eq!(trail, 2);
}

fn files(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_servers_one_updates_a_list() {
    let publisher = Publisher::default();
    let setting = publisher.listen().await;
    publisher.publish("2026-01-02", &["Zebulon Quartermain"]);
    let schedule = ["--update-lists", "invented", "--list-address", &setting];
    let first = Server::start(Backend::Postgres, &schedule).await;
    let second = first.another_node(&schedule, &[]);
    const DONE: &str = "select count(*) from list_updates where succeeded_at is not null and lease is null";
    wait_until(async || first.count(DONE).await == 1, "the list is updated").await;
    // Both servers have tried: each reports its runs.
    const RAN: &str = "select count(*) from nodes where report like '%\"list-updates\"%'";
    wait_until(async || first.count(RAN).await == 2, "both servers have looked").await;
    assert_eq!(publisher.counts(), (1, 0));
    // A day later both look again, and one finds what changed.
    publisher.publish("2026-01-03", &["Zebulon Quartermain", "Zebulon Nightingale"]);
    first.sql("update list_updates set due_at = 0").await;
    wait_until(
        async || publisher.counts().0 == 2 && first.count(DONE).await == 1,
        "it is updated again",
    )
    .await;
    let log = format!("{}{}", first.log().await, second.log().await);
    assert!(!log.contains("secret"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_while_it_downloads_keeps_the_list_in_use() {
    let publisher = Publisher::default();
    let setting = publisher.listen().await;
    publisher.publish("2026-01-02", &["Zebulon Quartermain"]);
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start_in(dir, Vec::new(), &[]).await;
    let (_, demo) = account(&server);
    assert!(update(&server, &setting, &["invented"]).0);
    let before = files(&server.dir.path().join("lists"));
    publisher.publish("2026-01-03", &["Zebulon Quartermain", "Zebulon Nightingale"]);
    publisher.state.lock().unwrap().hangs = true;
    let server = Server::start_in(
        server.kill(),
        Vec::new(),
        &["--update-lists", "invented", "--list-address", &setting],
    )
    .await;
    wait_until(async || publisher.counts().0 == 2, "the download has begun").await;
    let server = Server::start_in(server.kill(), Vec::new(), &[]).await;
    assert_eq!(
        screened(&server, &demo, "Quartermain").await,
        (200, json!("match"))
    );
    let mut after = files(&server.dir.path().join("lists"));
    after.retain(|name| !before.contains(name));
    assert!(after.is_empty(), "{after:?}");
    publisher.state.lock().unwrap().hangs = false;
    assert!(update(&server, &setting, &["invented"]).0);
    assert_eq!(
        screened(&server, &demo, "Nightingale").await,
        (200, json!("match"))
    );
}
