//! Backups of a running server, restored elsewhere: nothing acknowledged is missing, nobody erased is back,
//! and what cannot be restored is refused before anything is written.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Backend, Key, Server, database, on_both, program};
use crate::interruptions::attempt_folders;
use crate::verify::{specimen, verify};

/// A backup, and the key that opens it.
struct Backup {
    folder: TempDir,
    file: PathBuf,
    identity: PathBuf,
    summary: Value,
}

/// Makes a backup of a running server.
fn back_up(server: &Server, arguments: &[&str]) -> Backup {
    let folder = tempfile::tempdir().unwrap();
    let identity = folder.path().join("identity");
    let key = server.bonafide(&["backup", "generate-key"]);
    std::fs::write(&identity, &key).unwrap();
    let (_, public) = key.lines().next().unwrap().rsplit_once(' ').unwrap();
    let dest = folder.path().to_str().unwrap();
    let summary = server.bonafide(&[&["backup", dest, "--recipient", public], arguments].concat());
    let summary: Value = serde_json::from_str(&summary).unwrap();
    Backup {
        file: summary["file"].as_str().unwrap().into(),
        folder,
        identity,
        summary,
    }
}

/// An empty place with the installation's master key.
struct Place {
    dir: TempDir,
    database: String,
}

impl Place {
    async fn new(server: &Server, backend: Backend) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(
            server.dir.path().join("master.key"),
            dir.path().join("master.key"),
        )
        .unwrap();
        Self {
            database: database(backend, dir.path()).await,
            dir,
        }
    }

    fn try_restore(&self, backup: &Backup, arguments: &[&str]) -> Output {
        let mut command = program(&self.database, self.dir.path(), &Vec::new());
        command
            .arg("restore")
            .arg(&backup.file)
            .arg("--identity")
            .arg(&backup.identity);
        command.args(arguments).output().unwrap()
    }

    fn restore(&self, backup: &Backup, arguments: &[&str]) -> Value {
        let output = self.try_restore(backup, arguments);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The error of a restore that must write nothing.
    fn refusal(&self, backup: &Backup, arguments: &[&str]) -> String {
        let output = self.try_restore(backup, arguments);
        assert!(!output.status.success(), "{output:?}");
        let mut left: Vec<_> = std::fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        // Opening the object store creates its empty folder.
        left.retain(|name| name != "objects");
        assert_eq!(left, ["master.key"]);
        let objects = std::fs::read_dir(self.dir.path().join("objects")).unwrap();
        assert_eq!(objects.count(), 0);
        String::from_utf8(output.stderr).unwrap()
    }

    fn serve(self) -> Server {
        Server::try_start_on(self.dir, &self.database, &[], &[]).unwrap_or_else(|(_, said)| panic!("{said}"))
    }
}

/// The argument that names the erasure journal of the server that was backed up.
fn journal_of(server: &Server) -> String {
    format!(
        "--erasure-journal=file:{}",
        server.dir.path().join("objects").display()
    )
}

/// The attempts with files, and the size of each file.
fn objects_of(server: &Server) -> Vec<(PathBuf, u64)> {
    let root = server.dir.path();
    let folders = attempt_folders(server).into_keys();
    // Readiness checks write objects of no account.
    let folders = folders.filter(|folder| !folder.to_string_lossy().contains("/00000000-"));
    let mut found: Vec<(PathBuf, u64)> = folders
        .flat_map(|folder: PathBuf| std::fs::read_dir(folder).unwrap())
        .map(|file| file.unwrap().path())
        .map(|file| {
            let bytes = file.metadata().unwrap().len();
            (file.strip_prefix(root).unwrap().to_owned(), bytes)
        })
        .collect();
    found.sort();
    found
}

async fn pass(server: &Server, demo: &Value, name: &str) -> Value {
    let (status, body) = verify(server, demo, specimen(name).form(demo, &json!({}))).await;
    assert_eq!(status, 200, "{body}");
    body
}

on_both!(a_restored_server_goes_on_where_the_backup_was_made, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let passed = pass(&server, &demo, "pass-passport").await;
    let key = Key::of_demo(&demo);
    let group = json!({"name": "Before the backup", "flowIds": [demo["flows"]["any-document"]]});
    let (status, body) = server.post("/v2/public/groups", &key, group).await;
    assert_eq!(status, 201, "{body}");
    // While the backup is made, others write.
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flow = demo["flows"]["any-document"].clone();
    let writer = {
        let (stop, http, base, key) = (
            stop.clone(),
            server.http.clone(),
            server.base.clone(),
            key.clone(),
        );
        tokio::spawn(async move {
            let mut answered = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let request = http.post(format!("{base}/v2/public/groups"));
                let request = request.basic_auth(&key.key, Some(&key.secret));
                let group = json!({"name": format!("Group {answered}"), "flowIds": [flow]});
                request.json(&group).send().await.unwrap();
                answered += 1;
            }
            answered
        })
    };
    let backup = tokio::task::block_in_place(|| back_up(&server, &[]));
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(writer.await.unwrap() > 0);
    assert_eq!(backup.summary["objectsCopied"], json!(objects_of(&server).len()));
    assert!(
        backup.summary["lists"].as_u64().unwrap() > 0,
        "{}",
        backup.summary
    );
    let checked = server.bonafide(&[
        "backup",
        "verify",
        backup.file.to_str().unwrap(),
        "--identity",
        backup.identity.to_str().unwrap(),
    ]);
    let checked: Value = serde_json::from_str(&checked).unwrap();
    assert_eq!(
        (&checked["ours"], &checked["rows"]),
        (&json!(true), &backup.summary["rows"])
    );
    // Neither the copy of the database nor an unfinished file is left.
    let names = |folder: &Path| std::fs::read_dir(folder).unwrap().count();
    assert_eq!(names(backup.folder.path()), 2);
    let left = std::fs::read_dir(server.dir.path()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().starts_with("backup")),
        "{left:?}"
    );

    let place = Place::new(&server, backend).await;
    let restored = place.restore(&backup, &[&journal_of(&server)]);
    assert_eq!(
        restored["objectsWritten"], backup.summary["objectsCopied"],
        "{restored}"
    );
    assert_eq!(restored["objectsMissing"], json!(0));
    assert_eq!(restored["snapshotAt"], backup.summary["snapshotAt"]);
    let again = place.serve();
    assert_eq!(objects_of(&again), objects_of(&server));
    assert!(!again.dir.path().join("restore-work").exists());
    again.bonafide(&["audit", "verify"]);
    // The key still works, the lists are there, and the person is known.
    let (status, body) = again.get("/v2/public/groups", &key).await;
    assert_eq!(status, 200, "{body}");
    assert!(body.to_string().contains("Before the backup"), "{body}");
    let facemap = passed["facemap_id"].as_str().unwrap().to_owned();
    let (old, new) = (
        pass(&server, &demo, "pass-passport").await,
        pass(&again, &demo, "pass-passport").await,
    );
    assert_eq!((&new["codes"], &new["success"]), (&old["codes"], &old["success"]));
    assert_eq!(again.count("select count(*) from people").await, 1);
    let plain = |text: &str| text.to_lowercase().replace('-', "");
    let rows = again.dump().await;
    assert!(
        rows.iter().any(|row| plain(row).contains(&plain(&facemap))),
        "{facemap}"
    );
    let recorded = "select count(*) from operator_audit where action = 'backup.restored'";
    assert_eq!(again.count(recorded).await, 1);
});

on_both!(who_was_erased_after_the_backup_stays_erased, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let body = pass(&server, &demo, "pass-passport").await;
    pass(&server, &demo, "pass-drivers").await;
    let people = server.count("select count(*) from people").await;
    let backup = back_up(&server, &[]);
    let merchant = demo["merchantId"].as_str().unwrap();
    let facemap = body["facemap_id"].as_str().unwrap();
    server.bonafide(&["erase", "--merchant", merchant, "--sandbox", "--facemap", facemap]);

    // The object store of the new place has no journal.
    let place = Place::new(&server, backend).await;
    let refused = place.refusal(&backup, &[]);
    assert!(refused.contains("erasure journal"), "{refused}");
    assert!(
        refused.contains(backup.summary["snapshotAt"].as_str().unwrap()),
        "{refused}"
    );
    let other = Server::start(backend, &[]).await;
    back_up(&other, &[]);
    let refused = place.refusal(&backup, &[&journal_of(&other)]);
    assert!(refused.contains("belongs to another installation"), "{refused}");

    // A copy of the journal from before the backup cannot know the later erasures.
    let newer = back_up(&server, &[]);
    let old = tempfile::tempdir().unwrap();
    let header = "erasure-journal.json";
    std::fs::copy(
        server.dir.path().join("objects").join(header),
        old.path().join(header),
    )
    .unwrap();
    let journal = format!("--erasure-journal=file:{}", old.path().display());
    let refused = place.try_restore(&newer, &[&journal]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("older than the backup"), "{said} {refused:?}");

    let place = Place::new(&server, backend).await;
    let restored = place.restore(&backup, &[&journal_of(&server)]);
    assert_eq!(restored["peopleErased"], json!(1), "{restored}");
    assert!(restored["latestErasure"].as_str().unwrap() > restored["snapshotAt"].as_str().unwrap());
    let again = place.serve();
    assert_eq!(again.count("select count(*) from people").await, people - 1);
    assert_eq!(objects_of(&again), objects_of(&server));
    again.bonafide(&["audit", "verify"]);

    // The operator may do without, and is told.
    let place = Place::new(&server, backend).await;
    let output = place.try_restore(&backup, &["--without-erasure-journal"]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("brought their data back"), "{said}");
    let again = place.serve();
    assert_eq!(again.count("select count(*) from people").await, people);
    // The same with other tools: the database goes back, the object store does not.
    let journal = format!("--objects=file:{}", server.dir.path().join("objects").display());
    let repeated = again.bonafide(&["repeat-erasures", &journal]);
    let repeated: Value = serde_json::from_str(&repeated).unwrap();
    assert_eq!(repeated, json!({"peopleErased": 1, "attemptsErased": 0}));
    assert_eq!(again.count("select count(*) from people").await, people - 1);
});

on_both!(
    an_installation_that_never_erased_anyone_has_nothing_to_repeat,
    |backend| {
        let (server, demo) = Server::demo(backend, &[]).await;
        let repeated = server.try_bonafide(&["repeat-erasures"]);
        let said = String::from_utf8_lossy(&repeated.stderr).into_owned();
        assert!(repeated.status.success(), "{said}");
        assert!(said.contains("Nothing to repeat"), "{said}");
        let repeated: Value = serde_json::from_slice(&repeated.stdout).unwrap();
        assert_eq!(repeated, json!({"peopleErased": 0, "attemptsErased": 0}));

        // After an erasure, an object store without a journal is the wrong one.
        let merchant = demo["merchantId"].as_str().unwrap();
        server.bonafide(&["generate", "--merchant", merchant, "--count", "1"]);
        let label = ["--external-user-id", "invented-1-00000000"];
        server.bonafide(&[&["erase", "--merchant", merchant, "--sandbox"][..], &label].concat());
        server.bonafide(&["repeat-erasures"]);
        let empty = tempfile::tempdir().unwrap();
        let other = format!("--objects=file:{}", empty.path().display());
        let refused = server.try_bonafide(&["repeat-erasures", &other]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains("has erased people"), "{said}");
    }
);

#[tokio::test(flavor = "multi_thread")]
async fn a_database_stays_usable_after_a_damaged_backup() {
    let (server, _) = Server::demo(Backend::Postgres, &[]).await;
    let backup = back_up(&server, &[]);
    let whole = std::fs::read(&backup.file).unwrap();
    std::fs::write(&backup.file, &whole[..whole.len() / 2]).unwrap();
    let place = Place::new(&server, Backend::Postgres).await;
    let refused = place.refusal(&backup, &[&journal_of(&server)]);
    assert!(refused.contains("backup cannot be used"), "{refused}");
    let started = place.serve();
    assert_eq!(started.count("select count(*) from merchants").await, 0);
    // A database with tables is refused and stays usable, too.
    let (dir, database) = started.stop();
    std::fs::write(&backup.file, &whole).unwrap();
    let place = Place { dir, database };
    let refused = place.try_restore(&backup, &[&journal_of(&server)]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("has tables"), "{said}");
    assert_eq!(place.serve().count("select count(*) from merchants").await, 0);
}

on_both!(a_listed_object_is_missed_where_nobody_kept_it, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    pass(&server, &demo, "pass-passport").await;
    let backup = back_up(&server, &["--object-mode", "listed", "--without-lists"]);
    assert_eq!(
        (&backup.summary["objectsCopied"], &backup.summary["lists"]),
        (&json!(0), &json!(0))
    );
    let place = Place::new(&server, backend).await;
    let kept = format!("--objects=file:{}", server.dir.path().join("objects").display());
    let restored = place.restore(&backup, &[&kept]);
    assert_eq!(restored["objectsMissing"], json!(0), "{restored}");
    let place = Place::new(&server, backend).await;
    let restored = place.restore(&backup, &[&journal_of(&server)]);
    assert_eq!(
        restored["objectsMissing"],
        json!(objects_of(&server).len()),
        "{restored}"
    );
});

#[tokio::test(flavor = "multi_thread")]
async fn an_older_master_key_is_refused_before_anything_is_written() {
    let (server, _) = Server::demo(Backend::Sqlite, &[]).await;
    let key_file = server.dir.path().join("master.key");
    let old = std::fs::read(&key_file).unwrap();
    server.bonafide(&["keys", "rotate"]);
    let server = server.kill_and_restart(&["--demo"]);
    server.bonafide(&["keys", "rewrap", "--force"]);
    let backup = back_up(&server, &[]);
    let journal = journal_of(&server);
    let place = Place::new(&server, Backend::Sqlite).await;
    let key = place.dir.path().join("master.key");
    let current = std::fs::read(&key).unwrap();
    std::fs::write(&key, old).unwrap();
    let refused = place.refusal(&backup, &[&journal]);
    assert!(refused.contains("older copy"), "{refused}");
    let verify = |key: &Path| {
        let arguments = ["backup", "verify", backup.file.to_str().unwrap(), "--identity"];
        let arguments = [
            &arguments[..],
            &[backup.identity.to_str().unwrap(), "--master-key"],
        ]
        .concat();
        let output = server.try_bonafide(&[&arguments[..], &[key.to_str().unwrap()]].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.success(), said)
    };
    let (is_good, said) = verify(&key);
    assert!(!is_good && said.contains("older copy"), "{said}");
    let (is_good, said) = verify(&place.dir.path().join("none"));
    assert!(
        !is_good && said.contains("none"),
        "a named file must exist: {said}"
    );

    std::fs::write(&key, current).unwrap();
    assert!(verify(&key).0);
    let nowhere = place.dir.path().join("nowhere");
    let refused = place.refusal(
        &backup,
        &["--erasure-journal", &format!("file:{}", nowhere.display())],
    );
    assert!(refused.contains("does not exist"), "{refused}");
    place.restore(&backup, &[&journal]);
    place.serve();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_makes_no_file_in_place_of_a_folder() {
    let (server, _) = Server::demo(Backend::Sqlite, &[]).await;
    let folder = tempfile::tempdir().unwrap();
    let key = server.bonafide(&["backup", "generate-key"]);
    let (_, public) = key.lines().next().unwrap().rsplit_once(' ').unwrap();
    for missing in ["backups", "missing/backup.age"] {
        let dest = folder.path().join(missing);
        let refused = server.try_bonafide(&["backup", dest.to_str().unwrap(), "--recipient", public]);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(
            !refused.status.success() && said.contains("does not exist"),
            "{said}"
        );
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_restored_is_refused_before_anything_is_written() {
    let (server, _) = Server::demo(Backend::Sqlite, &[]).await;
    let mut backup = back_up(&server, &[]);
    let journal = journal_of(&server);
    let place = Place::new(&server, Backend::Sqlite).await;
    let whole = std::fs::read(&backup.file).unwrap();
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let damaged: [(&str, Vec<u8>); 5] = [
        ("empty", Vec::new()),
        ("its head only", whole[..100].to_vec()),
        ("cut off", whole[..whole.len() - 1].to_vec()),
        ("changed in the middle", changed(whole.len() / 2)),
        ("changed at the end", changed(whole.len() - 1)),
    ];
    for (how, bytes) in damaged {
        std::fs::write(&backup.file, bytes).unwrap();
        let refused = place.refusal(&backup, &[&journal]);
        assert!(refused.contains("backup cannot be used"), "{how}: {refused}");
        let mut check = program(&place.database, place.dir.path(), &Vec::new());
        let check = check
            .arg("backup")
            .arg("verify")
            .arg(&backup.file)
            .arg("--identity")
            .arg(&backup.identity);
        assert!(!check.output().unwrap().status.success(), "{how}");
    }
    std::fs::write(&backup.file, &whole).unwrap();

    // Another private key, the public key instead of it, another installation's master key.
    let right = std::fs::read_to_string(&backup.identity).unwrap();
    std::fs::write(&backup.identity, server.bonafide(&["backup", "generate-key"])).unwrap();
    let refused = place.refusal(&backup, &[&journal]);
    assert!(refused.contains("none of the private keys opens"), "{refused}");
    std::fs::write(&backup.identity, right.lines().next().unwrap()).unwrap();
    let refused = place.refusal(&backup, &[&journal]);
    assert!(refused.contains("has no private key"), "{refused}");
    std::fs::write(&backup.identity, &right).unwrap();
    let key = place.dir.path().join("master.key");
    let own = std::fs::read(&key).unwrap();
    std::fs::write(&key, server.bonafide(&["keys", "generate"])).unwrap();
    let refused = place.refusal(&backup, &[&journal]);
    assert!(refused.contains("does not belong to this backup"), "{refused}");
    std::fs::write(&key, own).unwrap();

    // SQLite would apply the log of a lost database to the restored file.
    let log = place.dir.path().join("bonafide.db-wal");
    std::fs::write(&log, "of the lost database").unwrap();
    let refused = place.try_restore(&backup, &[&journal]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("bonafide.db-wal exists"), "{said}");
    std::fs::remove_file(log).unwrap();

    // An installation is never overwritten, and a backup is no other backup's file.
    place.restore(&backup, &[&journal]);
    let twice = place.try_restore(&backup, &[&journal]);
    let twice = String::from_utf8_lossy(&twice.stderr).into_owned();
    assert!(twice.contains("never overwrites"), "{twice}");
    let (_, public) = right.lines().next().unwrap().rsplit_once(' ').unwrap();
    let file = backup.file.to_str().unwrap();
    let again = server.try_bonafide(&["backup", file, "--recipient", public]);
    assert!(
        String::from_utf8_lossy(&again.stderr).contains("exists"),
        "{again:?}"
    );
    assert_eq!(std::fs::read(&backup.file).unwrap(), whole);
    // A private key on the command line is not repeated.
    let secret = right.lines().nth(1).unwrap();
    for argument in [secret, &right, &format!("x={secret}")] {
        let leaked = server.try_bonafide(&["backup", file, "--recipient", argument]);
        let said = String::from_utf8_lossy(&leaked.stderr).into_owned();
        assert!(said.contains("public key") && !said.contains(secret), "{said}");
    }
    backup.file = backup.folder.path().join("none");
    assert!(place.try_restore(&backup, &[&journal]).status.code() == Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sqlite_installation_moves_to_postgresql_row_by_row() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let passed = pass(&server, &demo, "pass-passport").await;
    let rows = ["people", "attempts", "audit", "faces", "api_log"];
    let new = database(Backend::Postgres, server.dir.path()).await;
    let refused = server.try_bonafide(&["migrate-database", "--to", &new]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("Stop every server first"), "{said}");
    let (dir, old) = server.stop();
    let command = |to: &str| {
        let mut command = program(&old, dir.path(), &Vec::new());
        command.args(["migrate-database", "--to", to]).output().unwrap()
    };
    let copied = command(&new);
    assert!(copied.status.success(), "{copied:?}");
    let copied: Value = serde_json::from_slice(&copied.stdout).unwrap();
    for table in rows {
        assert!(
            copied["tables"][table]["rows"].as_u64().unwrap() > 0,
            "{table}: {copied}"
        );
        assert_eq!(copied["tables"][table]["sha256"].as_str().unwrap().len(), 64);
    }
    let twice = command(&new);
    let said = String::from_utf8_lossy(&twice.stderr).into_owned();
    assert!(said.contains("contains an installation"), "{said}");
    let moved = Server::try_start_on(dir, &new, &[], &[]).unwrap_or_else(|(_, said)| panic!("{said}"));
    for table in ["people", "attempts"] {
        let expected = copied["tables"][table]["rows"].as_i64().unwrap();
        let sql = match table {
            "people" => "select count(*) from people",
            _ => "select count(*) from attempts",
        };
        assert_eq!(moved.count(sql).await, expected);
    }
    moved.bonafide(&["audit", "verify"]);
    let again = pass(&moved, &demo, "pass-passport").await;
    assert_ne!(
        again["success"], passed["success"],
        "the person is known: {again}"
    );
    assert_eq!(moved.count("select count(*) from people").await, 1);
}

on_both!(
    an_unfinished_restore_is_not_served_and_can_be_repeated,
    |backend| {
        let (server, demo) = Server::demo(backend, &[]).await;
        pass(&server, &demo, "pass-passport").await;
        let backup = back_up(&server, &[]);
        let place = Place::new(&server, backend).await;
        place.restore(&backup, &[&journal_of(&server)]);
        let restored = place.serve();
        // The state of a restore that was killed before its last step.
        let (dir, database) = if matches!(backend, Backend::Postgres) {
            restored
                .sql("create table unfinished_restore (begun_at timestamptz not null default now())")
                .await;
            restored.stop()
        } else {
            let (dir, database) = restored.stop();
            std::fs::create_dir(dir.path().join("restore-work-database")).unwrap();
            for file in ["bonafide.db", "bonafide.db-wal", "bonafide.db-shm"] {
                let _ = std::fs::remove_file(dir.path().join(file));
            }
            (dir, database)
        };
        let refused = Server::try_start_on(dir, &database, &[], &[]);
        let Err((dir, said)) = refused else {
            panic!("an unfinished restore was served")
        };
        assert!(said.contains("Run `bonafide restore` again"), "{said}");
        let place = Place { dir, database };
        place.restore(&backup, &[&journal_of(&server)]);
        assert_eq!(place.serve().count("select count(*) from people").await, 1);
    }
);
