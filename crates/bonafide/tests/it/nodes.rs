//! Several nodes on one database: the common sanctions lists, registrations, the operators' audit trail, and
//! readiness checks that end even if a dependency hangs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

use crate::harness::{Backend, Merchant, Server, database, eventually, on_both, wait_until};
use crate::portal::Browser;
use crate::verify::{person, verify};

/// A list of these people, as a publisher's file.
pub(crate) fn list_file(dir: &Path, date: &str, names: &[&str]) -> PathBuf {
    let file = dir.join("invented.ftm.json");
    let lines: String = names
        .iter()
        .map(|name| {
            let listed = json!({
                "id": format!("x-{}", name.replace(' ', "-")), "schema": "Person", "caption": name, "last_seen": date,
                "datasets": ["invented"],
                "properties": {"name": [name], "birthDate": ["1961-02-03"], "topics": ["sanction"]},
            });
            format!("{listed}\n")
        })
        .collect();
    std::fs::write(&file, lines).unwrap();
    file
}

fn import(server: &Server, file: &Path) {
    server.bonafide(&["lists", "import", "--max-shrink", "100", file.to_str().unwrap()]);
}

/// An account's sandbox with a Flow without documents, in the shape that [`verify`] expects.
pub(crate) fn account(server: &Server) -> (Merchant, Value) {
    let merchant = server.merchant(true);
    let flow = server.flow(&merchant, &json!({"name": "F"}));
    let demo = json!({"apiKey": merchant.sandbox.key, "secret": merchant.sandbox.secret, "flows": {"data-only": flow}});
    (merchant, demo)
}

/// Verifies a listed person. Returns the HTTP status and the screening's result.
pub(crate) async fn screened(server: &Server, demo: &Value, last_name: &str) -> (u16, Value) {
    let known = json!({"firstName": "Zebulon", "lastName": last_name, "dob": "02/03/1961"});
    let (status, body) = verify(server, demo, person(demo, known)).await;
    (status, body["kycResults"]["status"].clone())
}

/// Waits until a part is ready or not ready, because responses may be a second old.
async fn until(server: &Server, name: &str, ready: bool) -> String {
    eventually(async || match server.readiness_part(name).await {
        (is_ready, detail) if is_ready == ready => Ok(detail),
        (is_ready, detail) => Err(format!("{name} is ready: {is_ready}, {detail}")),
    })
    .await
}

on_both!(a_node_without_the_current_lists_is_not_ready, |backend| {
    let first = Server::start(backend, &[]).await;
    let (_, demo) = account(&first);
    let second = first.another_node(&[], &[]);
    let files = tempfile::tempdir().unwrap();
    let file = list_file(files.path(), "2026-01-02", &["Zebulon Quartermain"]);
    import(&first, &file);
    assert_eq!(
        screened(&first, &demo, "Quartermain").await,
        (200, json!("match"))
    );
    // The second node never had a list.
    assert_eq!(screened(&second, &demo, "Quartermain").await.0, 503);
    let detail = until(&second, "sanctions", false).await;
    assert!(
        detail.contains("invented") && detail.contains("bonafide lists import"),
        "{detail}"
    );
    // After importing the same file it gives the same response.
    import(&second, &file);
    assert_eq!(
        screened(&second, &demo, "Quartermain").await,
        (200, json!("match"))
    );
    until(&second, "sanctions", true).await;
    // A newer list is imported on one node only.
    let file = list_file(
        files.path(),
        "2026-01-03",
        &["Zebulon Quartermain", "Zebulon Nightingale"],
    );
    import(&first, &file);
    assert_eq!(
        screened(&first, &demo, "Nightingale").await,
        (200, json!("match"))
    );
    assert_eq!(
        screened(&second, &demo, "Nightingale").await.0,
        503,
        "an old list answers nothing"
    );
    until(&second, "sanctions", false).await;
    until(&first, "sanctions", true).await;
    let doctor = String::from_utf8(second.try_bonafide(&["doctor"]).stdout).unwrap();
    let lists = doctor.lines().find(|line| line.starts_with("BAD   lists"));
    assert!(lists.is_some_and(|line| line.contains("2026-01-03")), "{doctor}");
    // The older list cannot replace the newer one.
    let older = list_file(files.path(), "2026-01-02", &["Zebulon Quartermain"]);
    let refused = second.try_bonafide(&["lists", "import", "--max-shrink", "100", older.to_str().unwrap()]);
    assert!(!refused.status.success());
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("older"),
        "{refused:?}"
    );
    assert_eq!(
        screened(&first, &demo, "Nightingale").await,
        (200, json!("match"))
    );
    import(
        &second,
        &list_file(
            files.path(),
            "2026-01-03",
            &["Zebulon Quartermain", "Zebulon Nightingale"],
        ),
    );
    assert_eq!(
        screened(&second, &demo, "Nightingale").await,
        (200, json!("match"))
    );
    // A list removed on one node is no longer used by any node.
    first.bonafide(&["lists", "remove", "invented"]);
    assert_eq!(
        screened(&second, &demo, "Nightingale").await.0,
        503,
        "no list is left"
    );
    assert_eq!(
        screened(&first, &demo, "Nightingale").await.0,
        503,
        "no list is left"
    );
});

/// While lists are imported and removed, the importing node answers every request with the list in use at
/// that moment.
#[tokio::test(flavor = "multi_thread")]
async fn the_importing_node_stays_ready() {
    let server = Arc::new(Server::start(Backend::Sqlite, &[]).await);
    let (_, demo) = account(&server);
    let files = tempfile::tempdir().unwrap();
    import(&server, &list_file(files.path(), "2026-01-01", &["Zebulon Zero"]));
    until(&server, "sanctions", true).await;
    let done = Arc::new(AtomicBool::new(false));
    let watching = {
        let (server, done) = (Arc::clone(&server), Arc::clone(&done));
        tokio::spawn(async move {
            let mut seen = 0;
            while !done.load(Ordering::Relaxed) {
                let (ready, detail) = server.readiness_part("sanctions").await;
                assert!(ready, "{detail}");
                seen += 1;
            }
            seen
        })
    };
    let verifying = {
        let (server, done, demo) = (Arc::clone(&server), Arc::clone(&done), demo.clone());
        tokio::spawn(async move {
            while !done.load(Ordering::Relaxed) {
                assert_eq!(screened(&server, &demo, "Zero").await, (200, json!("match")));
            }
        })
    };
    for day in 2..6 {
        let name = format!("Zebulon Number{day}");
        let date = format!("2026-01-0{day}");
        import(&server, &list_file(files.path(), &date, &["Zebulon Zero", &name]));
        let last_name = name.split_once(' ').unwrap().1;
        assert_eq!(
            screened(&server, &demo, last_name).await,
            (200, json!("match")),
            "at once"
        );
    }
    done.store(true, Ordering::Relaxed);
    assert!(watching.await.unwrap() > 0);
    verifying.await.unwrap();
}

on_both!(
    lists_that_the_database_does_not_name_right_answer_nothing,
    |backend| {
        let server = Server::start(backend, &[]).await;
        let (_, demo) = account(&server);
        let files = tempfile::tempdir().unwrap();
        import(
            &server,
            &list_file(files.path(), "2026-01-02", &["Zebulon Quartermain"]),
        );
        assert_eq!(
            screened(&server, &demo, "Quartermain").await,
            (200, json!("match"))
        );
        for table in ["list_sets", "list_set_members"] {
            let keep = format!("create table kept_{table} as select * from {table}");
            server.sql(String::leak(keep)).await;
        }
        for changed in [
            "delete from list_set_members",
            "update list_set_members set digest = substr(digest, 1, 10)",
            "update list_set_members set version = 'x'",
            "update list_set_members set name = 'other'",
            "update list_sets set revision = revision + 1",
            "delete from list_sets",
        ] {
            server.sql(changed).await;
            assert_eq!(screened(&server, &demo, "Quartermain").await.0, 503, "{changed}");
            let detail = until(&server, "sanctions", false).await;
            assert!(detail.contains("list set"), "{changed}: {detail}");
            let said = server.try_bonafide(&["doctor"]).stdout;
            let said = String::from_utf8(said).unwrap();
            assert!(
                said.lines()
                    .any(|line| line.starts_with("BAD   lists") && line.contains("list set")),
                "{said}"
            );
            for table in ["list_sets", "list_set_members"] {
                server.sql(String::leak(format!("delete from {table}"))).await;
                let back = format!("insert into {table} select * from kept_{table}");
                server.sql(String::leak(back)).await;
            }
            assert_eq!(
                screened(&server, &demo, "Quartermain").await,
                (200, json!("match"))
            );
        }
    }
);

on_both!(
    an_installation_without_a_list_set_takes_its_nodes_lists,
    |backend| {
        let server = Server::start(backend, &[]).await;
        let (_, demo) = account(&server);
        let files = tempfile::tempdir().unwrap();
        import(
            &server,
            &list_file(files.path(), "2026-01-02", &["Zebulon Quartermain"]),
        );
        // An installation from before the database contained the set of lists.
        server.sql("delete from list_set_members").await;
        server.sql("delete from list_sets").await;
        let (dir, database) = server.stop();
        let server = Server::try_start_on(dir, &database, &[], &[]).unwrap();
        assert_eq!(
            screened(&server, &demo, "Quartermain").await,
            (200, json!("match"))
        );
        assert_eq!(server.count("select count(*) from list_set_members").await, 1);
        let second = server.another_node(&[], &[]);
        assert_eq!(screened(&second, &demo, "Quartermain").await.0, 503);
    }
);

on_both!(the_operators_trail_has_it_however_it_was_done, |backend| {
    let server = Server::start(backend, &[]).await;
    let (merchant, _) = account(&server);
    let files = tempfile::tempdir().unwrap();
    import(
        &server,
        &list_file(files.path(), "2026-01-02", &["Zebulon Quartermain"]),
    );
    server.bonafide(&["lists", "remove", "invented"]);
    server.bonafide(&["merchant", "suspend", &merchant.id]);
    server.bonafide(&["merchant", "approve", &merchant.id]);
    server.bonafide(&["merchant", "set", &merchant.id, "brandColor=#0a7"]);
    server.bonafide(&["merchant", "keys", "rotate", &merchant.id]);
    server.bonafide(&["keys", "rotate"]);
    let owner = Browser::sign_up(&server, &merchant.id, "owner").await;
    owner.post("/portal/keys", &[]).await;
    let operator = Browser::operator(&server).await;
    let page = operator.get("/portal/operator/audit").await.page();
    for action in [
        "lists.imported",
        "lists.removed",
        "merchant.created",
        "merchant.suspended",
        "merchant.approved",
        "merchant.settings_changed",
        "key.rotated",
        "key.created",
        "master_key.rotated",
    ] {
        assert!(page.contains(action), "{action}: {page}");
    }
    let said = server.bonafide(&["audit", "verify"]);
    assert!(
        said.lines().all(|line| line.contains("\"intact\":true")),
        "{said}"
    );
});

on_both!(nodes_register_with_key_and_lists, |backend| {
    let first = Server::start(backend, &[]).await;
    let second = first.another_node(&[], &[]);
    let registered = "select count(*) from nodes where length(key_fingerprint) = 16";
    wait_until(async || first.count(registered).await >= 2, "the nodes register").await;
    assert_eq!(
        first
            .count("select count(distinct key_fingerprint) from nodes")
            .await,
        1
    );
    drop(second);
    // A report that a newer program wrote, or that was truncated.
    let operator = Browser::operator(&first).await;
    first.sql("update nodes set report = substr(report, 1, 20)").await;
    let page = operator.get("/portal/operator").await.page();
    assert!(page.contains("report cannot be read"), "{page}");
});

/// The longest time for a readiness response. Two seconds are promised, and a busy machine adds to them.
const LONGEST: Duration = Duration::from_secs(5);

/// A listener that accepts connections and never responds.
async fn silent() -> (String, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    (format!("http://{}", listener.local_addr().unwrap()), listener)
}

/// Requests a part repeatedly and in parallel until it is not ready, and for three seconds more, which is
/// longer than responses are cached. Each response must arrive in time.
async fn answers_in_time(server: &Server, name: &str) {
    let ask = async || {
        let begun = Instant::now();
        let part = server.readiness_part(name).await;
        assert!(begun.elapsed() < LONGEST, "{:?}", begun.elapsed());
        part
    };
    let begun = Instant::now();
    let mut failed = 0;
    while failed < 3 || begun.elapsed() < Duration::from_secs(3) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{name} is still ready");
        let (first, second, third) = tokio::join!(ask(), ask(), ask());
        if [&first, &second, &third]
            .iter()
            .all(|(ready, detail)| !ready && !detail.is_empty())
        {
            failed += 1;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(!ask().await.0, "{name} is ready");
}

/// The object store accepts connections and never responds.
#[tokio::test(flavor = "multi_thread")]
async fn readiness_answers_when_the_object_store_hangs() {
    let (endpoint, _listener) = silent().await;
    let dir = tempfile::tempdir().unwrap();
    let url = database(Backend::Sqlite, dir.path()).await;
    let server = Server::try_start_on(
        dir,
        &url,
        &["--objects", "s3://bucket/prefix"],
        &[
            ("AWS_ENDPOINT", &endpoint),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "nowhere-1"),
        ],
    )
    .unwrap();
    answers_in_time(&server, "objects").await;
    assert!(
        server.readiness_part("database").await.0,
        "the other parts are checked"
    );
}

/// The network to the database drops all data.
#[tokio::test(flavor = "multi_thread")]
async fn readiness_answers_when_the_database_hangs() {
    let dir = tempfile::tempdir().unwrap();
    let url = database(Backend::Postgres, dir.path()).await;
    let (proxied, hang) = proxy(&url).await;
    let server = Server::try_start_on(dir, &proxied, &[], &[]).unwrap();
    until(&server, "database", true).await;
    hang.store(true, Ordering::Relaxed);
    answers_in_time(&server, "database").await;
    assert!(
        server.readiness_part("objects").await.0,
        "the other parts are checked"
    );
}

/// A database URL through a proxy that stops forwarding on request.
async fn proxy(url: &str) -> (String, Arc<AtomicBool>) {
    let hang = Arc::new(AtomicBool::new(false));
    let target = reqwest::Url::parse(url).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut proxied = target.clone();
    proxied.set_host(Some("127.0.0.1")).unwrap();
    proxied
        .set_port(Some(listener.local_addr().unwrap().port()))
        .unwrap();
    let to = (
        target.host_str().unwrap().to_owned(),
        target.port().unwrap_or(5432),
    );
    let hangs = Arc::clone(&hang);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (to, hangs) = (to.clone(), Arc::clone(&hangs));
            tokio::spawn(async move {
                let server = TcpStream::connect(to).await.unwrap();
                let ((from_client, to_client), (from_server, to_server)) =
                    (client.into_split(), server.into_split());
                tokio::join!(
                    pass(from_client, to_server, &hangs),
                    pass(from_server, to_client, &hangs)
                );
            });
        }
    });
    (proxied.into(), hang)
}

async fn pass(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    hangs: &AtomicBool,
) {
    use tokio::io::AsyncReadExt as _;
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        if to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}

/// The lists' folder hangs: reading a file of it never ends.
#[tokio::test(flavor = "multi_thread")]
async fn readiness_answers_when_the_lists_hang() {
    let server = Server::start(Backend::Sqlite, &[]).await;
    let files = tempfile::tempdir().unwrap();
    import(
        &server,
        &list_file(files.path(), "2026-01-02", &["Zebulon Quartermain"]),
    );
    until(&server, "sanctions", true).await;
    let (_, demo) = account(&server);
    // Opening a pipe without a writer blocks forever. The database names a list that only this file could
    // contain.
    import(
        &server,
        &list_file(
            files.path(),
            "2026-01-03",
            &["Zebulon Quartermain", "Zebulon Nightingale"],
        ),
    );
    let path = server.dir.path().join("lists/invented.list.jsonl");
    std::fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let asked = Instant::now();
    let (ready, _) = server.readiness_part("sanctions").await;
    assert!(asked.elapsed() < LONGEST, "{ready} after {:?}", asked.elapsed());
    for _ in 0..5 {
        let asked = Instant::now();
        server.readiness_part("database").await;
        assert!(asked.elapsed() < LONGEST, "{:?}", asked.elapsed());
    }
    // Screening either uses the current list or fails.
    let (status, found) = screened(&server, &demo, "Nightingale").await;
    assert!(
        (status, &found) == (200, &json!("match")) || status == 503,
        "{status} {found}"
    );
}
