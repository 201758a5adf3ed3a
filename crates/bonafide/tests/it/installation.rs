//! The master key and its database: every command refuses a missing, wrong or damaged key, and none creates a
//! key where an installation exists.

use std::path::Path;
use std::process::Output;

use serde_json::json;
use tempfile::TempDir;

use crate::harness::{Backend, Server, database, eventually, on_both, program};
use crate::verify::{specimen, verify};

fn key(dir: &Path) -> std::path::PathBuf {
    dir.join("master.key")
}

/// Runs a command on a data folder and a database. Returns whether it succeeded, and its output on both
/// streams.
fn command(dir: &Path, database: &str, arguments: &[&str]) -> (bool, String) {
    let output: Output = program(database, dir, &Vec::new())
        .args(arguments)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

/// The commands that open the database. `doctor` has its own test, because it reports on stdout.
const COMMANDS: [&[&str]; 8] = [
    &["migrate"],
    &["merchant", "list"],
    &["merchant", "create", "--name", "Other"],
    &["portal", "operator-link"],
    &["keys", "rotate"],
    &["keys", "rewrap"],
    &["audit", "verify"],
    &["lists", "remove", "demo"],
];

/// Checks that every command and `serve` refuse with a text that names the reason.
fn all_refuse(dir: TempDir, database: &str, reason: &str) -> TempDir {
    for arguments in COMMANDS {
        let (success, said) = command(dir.path(), database, arguments);
        assert!(!success && said.contains(reason), "{arguments:?}: {said}");
    }
    let (success, said) = command(dir.path(), database, &["doctor"]);
    let line = said.lines().find(|line| line.starts_with("BAD   keys"));
    assert!(
        !success && line.is_some_and(|line| line.contains(reason)),
        "doctor: {said}"
    );
    let (dir, said) = match Server::try_start_on(dir, database, &[], &[]) {
        Ok(server) => panic!("it serves at {}", server.base),
        Err(refused) => refused,
    };
    assert!(said.contains(reason), "{said}");
    dir
}

on_both!(a_missing_master_key_is_not_replaced, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let (dir, database) = server.stop();
    let kept = std::fs::read(key(dir.path())).unwrap();
    std::fs::remove_file(key(dir.path())).unwrap();
    let dir = all_refuse(dir, &database, "is missing");
    assert!(!key(dir.path()).exists(), "a key was made");
    // A link to a volume that is not mounted.
    std::os::unix::fs::symlink("/no/such/volume/master.key", key(dir.path())).unwrap();
    let dir = all_refuse(dir, &database, "is missing");
    std::fs::remove_file(key(dir.path())).unwrap();
    // After the right key is restored, everything opens.
    std::fs::write(key(dir.path()), kept).unwrap();
    let server = Server::try_start_on(dir, &database, &[], &[]).unwrap();
    assert_eq!(server.get("/v2/public/groups", &merchant.live).await.0, 200);
});

on_both!(another_installations_key_is_refused, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let (dir, database) = server.stop();
    let kept = std::fs::read(key(dir.path())).unwrap();
    let other = Server::start(Backend::Sqlite, &[]).await;
    std::fs::copy(key(other.dir.path()), key(dir.path())).unwrap();
    let dir = all_refuse(dir, &database, "does not belong");
    std::fs::write(key(dir.path()), kept).unwrap();
    let server = Server::try_start_on(dir, &database, &[], &[]).unwrap();
    assert_eq!(server.get("/v2/public/groups", &merchant.live).await.0, 200);
    assert_eq!(server.count("select count(*) from merchants").await, 1);
    server.bonafide(&["audit", "verify"]);
});

/// Files that are not valid key files: each is refused, not changed, and not quoted.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_key_file_is_refused() {
    use base64::Engine as _;
    let server = Server::start(Backend::Sqlite, &[]).await;
    server.merchant(true);
    let (dir, database) = server.stop();
    let path = key(dir.path());
    let whole = std::fs::read_to_string(&path).unwrap();
    let base64 =
        |length: usize, byte: u8| base64::engine::general_purpose::STANDARD.encode(vec![byte; length]);
    let file = |master: &str, root: &str| {
        json!({"note": "", "masters": [{"id": 7, "key": master}], "hash_root": root}).to_string()
    };
    let key = |master: &str| json!({"id": 7, "key": master});
    let several = |masters: serde_json::Value| {
        json!({"note": "", "masters": masters, "hash_root": base64(32, 8)})
            .to_string()
            .into_bytes()
    };
    let two = json!([key(&base64(32, 7)), key(&base64(32, 9))]);
    let damaged = [
        (vec![b'k'; 31], "it has 31 bytes, but it is not a key file"),
        (vec![0; 32], "it contains only zeros"),
        (Vec::new(), "it is empty"),
        (whole.as_bytes()[..whole.len() / 2].to_vec(), "a damaged one"),
        (vec![0xff; 200], "it is not text"),
        (
            file(&base64(31, 7), &base64(32, 8)).into_bytes(),
            "its master key 7 has 31 bytes instead of 32",
        ),
        (
            file(&base64(32, 0), &base64(32, 8)).into_bytes(),
            "its master key 7 consists of zeros",
        ),
        (
            file(&base64(32, 7), &base64(32, 0)).into_bytes(),
            "its hash_root consists of zeros",
        ),
        (
            file(&base64(32, 7), &base64(31, 8)).into_bytes(),
            "its hash_root has 31 bytes",
        ),
        (several(json!([])), "it contains no master key"),
        (several(two), "two of its master keys have the id 7"),
    ];
    let copy = "Copy the file from your backup";
    let refused = |what: &str, reason: &str, fix: &str| {
        for arguments in [
            &["merchant", "list"][..],
            &["doctor"],
            &["serve", "--listen", "127.0.0.1:0"],
        ] {
            let (success, said) = command(dir.path(), &database, arguments);
            assert!(!success, "{what}: {arguments:?}");
            assert!(said.contains(reason) && said.contains(fix), "{what}: {said}");
            let quoted = said.contains("os error 21") || said.contains("valid UTF-8");
            assert!(!quoted, "the system is quoted: {said}");
            assert!(said.contains(path.to_str().unwrap()), "{what}: {said}");
            assert!(!said.contains(&base64(30, 7)[..30]), "{what}: {said}");
        }
    };
    for (bytes, reason) in damaged {
        std::fs::write(&path, &bytes).unwrap();
        refused(&String::from_utf8_lossy(&bytes), reason, copy);
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "it was changed");
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    refused("a folder", "it is a folder", "--master-key");
    std::fs::remove_dir(&path).unwrap();
    // A file that never ends.
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    refused("a device", "too large", copy);
    // A file that cannot be read, even by root, who may run these tests.
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("master.key", &path).unwrap();
    refused("a link to itself", "cannot read it", "--master-key");
}

/// `doctor` creates no key, database or folder.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mistyped = folder.path().join("bonafied");
    let there = folder.path().join("there");
    std::fs::create_dir(&there).unwrap();
    for dir in [&mistyped, &there] {
        let url = database(Backend::Sqlite, dir).await;
        let (_, said) = command(dir, &url, &["doctor"]);
        let database = said.lines().find(|line| line.contains("database"));
        assert!(
            database.is_some_and(|line| line.contains("no database")),
            "{said}"
        );
    }
    assert!(!mistyped.exists());
    assert_eq!(std::fs::read_dir(&there).unwrap().count(), 0);
}

/// The PostgreSQL database exists and is empty.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_makes_no_schema() {
    let dir = tempfile::tempdir().unwrap();
    let url = database(Backend::Postgres, dir.path()).await;
    let (_, said) = command(dir.path(), &url, &["doctor"]);
    assert!(said.contains("is empty"), "{said}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    // The schema is created without a key, because the serving node creates the key.
    let (success, said) = command(dir.path(), &url, &["migrate"]);
    assert!(success, "{said}");
    assert!(!key(dir.path()).exists());
    Server::try_start_on(dir, &url, &[], &[]).unwrap();
}

on_both!(two_first_starts_agree_on_one_key, |backend| {
    for round in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let url = database(backend, folder.path()).await;
        let path = folder.path().join("keys.json");
        let arguments = ["--master-key", path.to_str().unwrap()];
        let start = || {
            let (url, arguments) = (url.clone(), arguments.map(str::to_owned));
            std::thread::spawn(move || {
                let arguments = arguments.each_ref().map(String::as_str);
                Server::try_start_on(tempfile::tempdir().unwrap(), &url, &arguments, &[])
            })
        };
        let started = [start(), start()].map(|thread| thread.join().unwrap());
        let [first, second] =
            started.map(|server| server.unwrap_or_else(|(_, said)| panic!("round {round}: {said}")));
        assert_eq!(first.count("select count(*) from installation").await, 1);
        for server in [first, second] {
            let said = server.bonafide(&["audit", "verify", "--master-key", path.to_str().unwrap()]);
            assert!(said.contains("\"intact\":true"), "{said}");
        }
    }
});

on_both!(of_two_first_starts_with_two_keys_one_serves, |backend| {
    for round in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let url = database(backend, folder.path()).await;
        let start = || {
            let url = url.clone();
            std::thread::spawn(move || Server::try_start_on(tempfile::tempdir().unwrap(), &url, &[], &[]))
        };
        let started = [start(), start()].map(|thread| thread.join().unwrap());
        let refused: Vec<&String> = started
            .iter()
            .filter_map(|server| server.as_ref().err().map(|(_, said)| said))
            .collect();
        assert_eq!(refused.len(), 1, "round {round}: {refused:?}");
        assert!(
            refused[0].contains("does not belong") || refused[0].contains("is missing"),
            "{}",
            refused[0]
        );
        let serves = started.iter().find_map(|server| server.as_ref().ok()).unwrap();
        assert_eq!(serves.readiness_part("key").await, (true, String::new()));
    }
});

on_both!(an_older_installation_is_adopted_by_its_own_key_alone, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    // An installation from before check values existed.
    server.sql("delete from installation").await;
    let (dir, database) = server.stop();
    let kept = std::fs::read(key(dir.path())).unwrap();
    let other = Server::start(Backend::Sqlite, &[]).await;
    std::fs::copy(key(other.dir.path()), key(dir.path())).unwrap();
    let dir = all_refuse(dir, &database, "does not belong");
    std::fs::remove_file(key(dir.path())).unwrap();
    let dir = all_refuse(dir, &database, "is missing");
    std::fs::write(key(dir.path()), kept).unwrap();
    let server = Server::try_start_on(dir, &database, &[], &[]).unwrap();
    assert_eq!(server.count("select count(*) from installation").await, 1);
    assert_eq!(server.get("/v2/public/groups", &merchant.live).await.0, 200);
});

on_both!(a_check_value_that_was_changed_refuses, |backend| {
    let server = Server::start(backend, &[]).await;
    server.merchant(true);
    for changed in [
        "update installation set key_sealed = substr(key_sealed, 1, 10)",
        "update installation set key_root = substr(key_root, 1, 31)",
    ] {
        server
            .sql("create table kept as select * from installation")
            .await;
        server.sql(changed).await;
        let refused = server.try_bonafide(&["merchant", "list"]);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(
            !refused.status.success() && said.contains("check value"),
            "{said}"
        );
        let (ready, detail) = unready(&server, "key").await;
        assert!(!ready && detail.contains("check value"), "{detail}");
        server.sql("delete from installation").await;
        server.sql("insert into installation select * from kept").await;
        server.sql("drop table kept").await;
    }
    server.bonafide(&["merchant", "list"]);
});

/// A part of the readiness once it is not ready. Responses may be a second old.
async fn unready(server: &Server, name: &str) -> (bool, String) {
    eventually(async || match server.readiness_part(name).await {
        part if !part.0 => Ok(part),
        _ => Err(format!("{name} stays ready")),
    })
    .await
}

on_both!(a_rotation_keeps_the_check_value_right, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let old = std::fs::read(key(server.dir.path())).unwrap();
    server.bonafide(&["keys", "rotate"]);
    let new = std::fs::read(key(server.dir.path())).unwrap();
    assert_ne!(old, new);
    // A server with the old key file still runs, so nothing may be written that it cannot open.
    let refused = server.try_bonafide(&["keys", "rewrap"]);
    assert!(!refused.status.success());
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("Restart it"), "{said}");
    let (dir, database) = server.stop();
    // If the rotation stops here, both files open all data.
    for file in [&old, &new] {
        std::fs::write(key(dir.path()), file).unwrap();
        let (success, said) = command(dir.path(), &database, &["merchant", "list"]);
        assert!(success && said.contains(&merchant.id), "{said}");
    }
    let server = Server::try_start_on(dir, &database, &[], &[]).unwrap();
    server.bonafide(&["keys", "rewrap"]);
    server.bonafide(&["keys", "rewrap"]);
    assert_eq!(server.readiness_part("key").await, (true, String::new()));
    let (dir, database) = server.stop();
    std::fs::write(key(dir.path()), old).unwrap();
    let dir = all_refuse(dir, &database, "older copy");
    std::fs::write(key(dir.path()), new).unwrap();
    let server = Server::try_start_on(dir, &database, &[], &[]).unwrap();
    assert_eq!(server.get("/v2/public/groups", &merchant.live).await.0, 200);
    let said = server.bonafide(&["audit", "verify"]);
    assert!(said.contains("\"intact\":true"), "{said}");
});

/// Two simultaneous rotations do not lose each other's key.
#[tokio::test(flavor = "multi_thread")]
async fn rotations_at_once_keep_every_key() {
    let server = Server::start(Backend::Sqlite, &[]).await;
    let (dir, database) = server.stop();
    let rotations: Vec<_> = (0..4)
        .map(|_| {
            program(&database, dir.path(), &Vec::new())
                .args(["keys", "rotate"])
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut rotation in rotations {
        assert!(rotation.wait().unwrap().success());
    }
    let file = std::fs::read_to_string(key(dir.path())).unwrap();
    let file: serde_json::Value = serde_json::from_str(&file).unwrap();
    assert_eq!(file["masters"].as_array().unwrap().len(), 5);
}

/// The tests' cluster has all three settings off. A role's or connection's setting overrides the file's.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_the_settings_of_postgresql_that_lose_writes() {
    let look = |said: &str| {
        let lines = said.lines().filter(|line| line.starts_with("look  database"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let dir = TempDir::new().unwrap();
    let url = database(Backend::Postgres, dir.path()).await;
    assert!(command(dir.path(), &url, &["migrate"]).0);
    assert!(command(dir.path(), &url, &["merchant", "create", "--name", "Acme"]).0);
    let found = look(&command(dir.path(), &url, &["doctor"]).1);
    assert_eq!(found.len(), 1, "{found:?}");
    let all = "fsync = off, full_page_writes = off, synchronous_commit = off:";
    assert!(found[0].contains(all), "{found:?}");

    let set = format!("{url}?options=-c%20synchronous_commit%3Don");
    let found = look(&command(dir.path(), &set, &["doctor"]).1);
    assert!(
        found[0].contains("with fsync = off, full_page_writes = off:"),
        "{found:?}"
    );

    let dir = TempDir::new().unwrap();
    let url = database(Backend::Sqlite, dir.path()).await;
    assert!(command(dir.path(), &url, &["merchant", "create", "--name", "Acme"]).0);
    let said = command(dir.path(), &url, &["doctor"]).1;
    assert_eq!(look(&said), Vec::<String>::new(), "{said}");
}

on_both!(a_command_prints_the_master_key, |backend| {
    let dir = tempfile::tempdir().unwrap();
    let database = database(backend, dir.path()).await;
    // Stands for a key management system.
    let stored = tempfile::tempdir().unwrap();
    let secret = stored.path().join("secret");
    let print = format!("cat {}", secret.display());
    let with = |command: &str| vec![("BONAFIDE_MASTER_KEY_COMMAND", command.to_owned())];
    let run = |arguments: &[&str]| {
        let output = program(&database, dir.path(), &with(&print))
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        output.stdout
    };

    std::fs::write(&secret, run(&["keys", "generate"])).unwrap();
    let created = run(&["merchant", "create", "--name", "First", "--approved"]);
    assert!(!key(dir.path()).exists(), "no file holds the key");
    let first = std::fs::read_to_string(&secret).unwrap();
    std::fs::write(&secret, run(&["keys", "rotate"])).unwrap();
    let rotated = std::fs::read_to_string(&secret).unwrap();
    assert!(
        rotated.len() > first.len(),
        "the old key is kept beside the new one"
    );
    run(&["keys", "rewrap"]);
    run(&["audit", "verify"]);
    let merchants = String::from_utf8(run(&["merchant", "list"])).unwrap();
    assert!(!created.is_empty() && merchants.contains("First"), "{merchants}");

    let other = stored.path().join("other");
    std::fs::write(&other, run(&["keys", "generate"])).unwrap();
    let old = stored.path().join("old");
    std::fs::write(&old, first).unwrap();
    for (command, reason) in [
        (
            format!("cat {}", other.display()),
            "does not belong to this database",
        ),
        (format!("cat {}", old.display()), "is an older copy"),
        ("echo no key".to_owned(), "is not a key file"),
        ("true".to_owned(), "it is empty"),
        (
            "exit 4".to_owned(),
            "--master-key-command failed (exit status: 4)",
        ),
    ] {
        let output = program(&database, dir.path(), &with(&command))
            .args(["merchant", "list"])
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && said.contains(reason),
            "{command}: {said}"
        );
        assert!(!said.contains("hash_root"), "{command}: {said}");
    }
});

#[tokio::test(flavor = "multi_thread")]
async fn doctor_sees_damaged_lists_and_lost_files() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let form = specimen("pass-passport").form(&demo, &json!({"externalUserId": "ada"}));
    assert_eq!(verify(&server, &demo, form).await.0, 200);
    let (dir, url) = server.stop();
    let line = |name: &str| {
        let (_, said) = command(dir.path(), &url, &["doctor"]);
        let found = said.lines().find(|line| line.contains(name)).map(str::to_owned);
        found.unwrap_or_else(|| panic!("{name}: {said}"))
    };
    assert!(line(" lists ").starts_with("ok"), "{}", line(" lists "));
    assert!(line(" objects ").starts_with("ok"), "{}", line(" objects "));

    let lists = std::fs::read_dir(dir.path().join("lists")).unwrap();
    let list = lists
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().ends_with(".list.jsonl"))
        .unwrap();
    let mut text = std::fs::read(&list).unwrap();
    text.extend_from_slice(b"junk\n");
    std::fs::write(&list, text).unwrap();
    let found = line(" lists ");
    assert!(
        found.starts_with("BAD") && found.contains("lists import FILE"),
        "{found}"
    );

    std::fs::remove_dir_all(dir.path().join("objects")).unwrap();
    let found = line(" objects ");
    assert!(
        found.starts_with("BAD") && found.contains("has attempts"),
        "{found}"
    );
}
