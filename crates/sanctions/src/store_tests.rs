//! The folder of lists: imports, guards, damage, age and exact contents.

use super::*;

const DAY: i64 = 86_400_000;
/// 2026-11-23, the time of these tests.
const NOW: i64 = 1_795_392_000_000;

fn open(folder: &Path) -> ListStore {
    ListStore::open(folder, MaxAge::default())
        .unwrap()
        .with_clock(|| NOW)
}

fn lines(count: usize) -> Vec<u8> {
    let line = |i: usize| {
        format!(
            "{{\"id\":\"x-{i}\",\"schema\":\"Person\",\"properties\":{{\"name\":[\"Invented Person {i}\"]}},\"last_seen\":\"2026-01-0{}\"}}\n",
            1 + count % 2
        )
    };
    (0..count).map(line).collect::<String>().into_bytes()
}

fn source(content: Vec<u8>) -> Vec<Source> {
    vec![Source::new("invented.ftm.json", std::io::Cursor::new(content))]
}

#[test]
fn imports_guards_and_loads() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    assert!(store.load().is_err(), "no list: unavailable");
    let empty = store.fingerprint().unwrap();

    let report = store.import(source(lines(11)), None, &Guards::default()).unwrap();
    assert_eq!((report.entities, report.rejected, report.diff), (11, 0, None));
    assert_ne!(store.fingerprint().unwrap(), empty);
    assert_eq!(store.load().unwrap().len(), 11);

    let refused = store
        .import(source(lines(5)), None, &Guards::default())
        .unwrap_err();
    assert!(matches!(
        refused,
        StoreError::Refused {
            refusal: ImportRefusal::Shrinks {
                before: 11,
                after: 5,
                ..
            },
            ..
        }
    ));
    let older = store
        .import(source(lines(12)), None, &Guards::default())
        .unwrap_err();
    assert!(matches!(
        older,
        StoreError::Refused {
            refusal: ImportRefusal::Older { .. },
            ..
        }
    ));
    let wrong = Guards {
        expected_sha256: Some("SHA256(x) = 00".into()),
        ..Guards::default()
    };
    let refused = store.import(source(lines(11)), None, &wrong).unwrap_err();
    assert!(matches!(
        refused,
        StoreError::Refused {
            refusal: ImportRefusal::Checksum,
            ..
        }
    ));

    let said = store.last_imports().unwrap();
    let refused = said[0].refused.as_deref().unwrap();
    assert!(refused.contains("SHA-256"), "{refused}");
    assert_eq!((said.len(), said[0].rows, said[0].entities), (1, 11, 11));

    let status = store.status().unwrap();
    assert_eq!(
        (
            status.len(),
            status[0].list.as_str(),
            status[0].entities,
            status[0].active
        ),
        (1, "invented", 11, true)
    );
    let diff = store
        .import(source(lines(13)), None, &Guards::default())
        .unwrap()
        .diff
        .unwrap();
    assert_eq!((diff.added, diff.changed, diff.removed), (2, 0, 0));
}

#[test]
fn the_same_files_have_the_same_digest_and_load_exactly() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let stores = folders.each_ref().map(|folder| open(folder.path()));
    let [first, second] = stores.each_ref().map(|store| {
        store
            .import(source(lines(11)), None, &Guards::default())
            .unwrap()
            .digest
    });
    assert_eq!((first.len(), &first), (64, &second));
    let wanted = |digest: &str| {
        let wanted = ListContent {
            version: "2026-01-02".into(),
            digest: digest.into(),
        };
        BTreeMap::from([("invented".to_owned(), wanted)])
    };
    // Another list in the folder is ignored.
    stores[0].activate(&crate::demo_list()).unwrap();
    let loaded = stores[0].load_exactly(&wanted(&first)).unwrap();
    assert_eq!(loaded.lists().keys().collect::<Vec<_>>(), ["invented"]);
    let newer = stores[1]
        .import(source(lines(13)), None, &Guards::default())
        .unwrap()
        .digest;
    assert_ne!(newer, first);
    for (store, digest) in [(&stores[0], &newer), (&stores[1], &first)] {
        let lacks = store.load_exactly(&wanted(digest)).err().unwrap();
        assert!(matches!(lacks, LoadExactlyError::Missing { .. }), "{lacks}");
    }
    // The installation's version counts, not the folder's.
    let guards = Guards {
        installed: BTreeMap::from([("invented".to_owned(), ("2026-01-03".to_owned(), 13))]),
        ..Guards::default()
    };
    let refused = stores[0].import(source(lines(11)), None, &guards).unwrap_err();
    assert!(matches!(
        refused,
        StoreError::Refused {
            refusal: ImportRefusal::Older { .. },
            ..
        }
    ));
    // Damaged below the header line.
    let path = stores[1].path("invented");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    let damaged = stores[1].load_exactly(&wanted(&newer)).err().unwrap();
    assert!(matches!(damaged, LoadExactlyError::Unusable(_)), "{damaged}");
    fs::remove_file(&path).unwrap();
    let gone = stores[1].load_exactly(&wanted(&newer)).err().unwrap();
    assert!(matches!(gone, LoadExactlyError::Missing { .. }), "{gone}");
}

#[test]
fn damaged_lists_are_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.activate(&crate::demo_list()).unwrap();
    let path = store.files().unwrap().remove(0);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    assert!(store.load().is_err());
    fs::write(&path, b"").unwrap();
    assert!(store.load().is_err());
    fs::write(&path, whole).unwrap();
    assert!(store.load().is_ok());
}

/// One person, in a list of this date.
fn dated(date: &str) -> Vec<Source> {
    let line = format!(
        "{{\"id\":\"x\",\"schema\":\"Person\",\"properties\":{{\"name\":[\"Invented Person\"]}},\"last_seen\":\"{date}\"}}\n"
    );
    source(line.into_bytes())
}

#[test]
fn a_list_that_is_old_at_its_import_does_not_replace_the_active_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for (date, refused) in [
        ("2020-03-01", true),
        ("2025-10-19", false),
        ("2026-11-22", false),
        ("", false),
    ] {
        let import = store.import(dated(date), None, &Guards::default());
        assert_eq!(import.is_err(), refused, "{date}: {import:?}");
    }
    let old = store
        .import(
            vec![Source::new("other.ftm.json", &b"{\"id\":\"x\",\"schema\":\"Person\",\"properties\":{\"name\":[\"A B\"]},\"last_seen\":\"2020-03-01\"}"[..])],
            None,
            &Guards::default(),
        )
        .unwrap_err()
        .to_string();
    assert!(
        old.contains("2020-03-01") && old.contains("--list-max-age-hours"),
        "{old}"
    );
    // Other lists stay usable.
    assert!(store.load().is_ok());
    let off = ListStore::open(folder.path(), MaxAge::OFF)
        .unwrap()
        .with_clock(|| NOW);
    let wide = Guards {
        max_shrink_percent: 100,
        ..Guards::default()
    };
    off.import(dated("2020-03-01"), None, &wide).unwrap();
    let reasons: Vec<_> = store
        .status()
        .unwrap()
        .into_iter()
        .map(|list| list.problem)
        .collect();
    assert!(
        reasons[0].as_deref().unwrap().contains("2020-03-01"),
        "{reasons:?}"
    );
    assert!(store.load().is_err(), "imported today, but of 2020");
    assert!(off.load().is_ok());
}

#[test]
fn a_list_grows_old_and_a_clock_that_is_set_back_does_not_renew_it() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).activate(&crate::demo_list()).unwrap();
    let at = |clock: fn() -> i64| open(folder.path()).with_clock(clock);
    assert!(at(|| NOW + 30 * DAY).load().is_ok());
    let old = at(|| NOW + 31 * DAY);
    assert!(old.load().is_err() && !old.status().unwrap()[0].active);
    let back = at(|| NOW);
    let reason = back.load().err().unwrap().to_string();
    assert!(reason.contains("clock"), "{reason}");
    assert!(!back.status().unwrap()[0].active);
    let refused = back.import(dated("2026-11-22"), None, &Guards::default());
    assert!(matches!(refused, Err(StoreError::Clock(_))), "{refused:?}");
    // The operator finds that the later time was wrong.
    fs::remove_file(folder.path().join(LATEST_TIME)).unwrap();
    assert!(at(|| NOW).load().is_ok());
}

#[test]
fn imports_without_a_change_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let counts: Vec<(u32, u32)> = [
        "2026-11-01",
        "2026-11-01",
        "2026-11-01",
        "2026-10-01",
        "2026-11-01",
        "2026-11-02",
    ]
    .into_iter()
    .map(|date| {
        let report = store.import(dated(date), None, &Guards::default());
        let status = store.status().unwrap().remove(0);
        assert_eq!(status.unchanged_imports > 0, status.unchanged_since.is_some());
        (
            report.map_or(u32::MAX, |report| report.unchanged),
            status.unchanged_imports,
        )
    })
    .collect();
    // The older version is refused and neither counts nor resets. A new date shows that the publisher is alive.
    assert_eq!(counts, [(0, 0), (1, 1), (2, 2), (u32::MAX, 2), (3, 3), (0, 0)]);
}

#[test]
fn replaced_versions_are_kept_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let version = |number: usize| List {
        name: "invented".into(),
        version: format!("v{number}"),
        entities: vec![Entity {
            id: number.to_string(),
            ..Entity::default()
        }],
    };
    let digests: Vec<String> = (0..8)
        .map(|number| store.activate(&version(number)).unwrap())
        .collect();
    // The same content once more replaces nothing.
    store.activate(&version(7)).unwrap();
    let known = store.versions("invented").unwrap();
    let known: Vec<&str> = known.iter().map(|list| list.version.as_str()).collect();
    assert_eq!(known, ["v2", "v3", "v4", "v5", "v6", "v7"]);
    assert_eq!(store.version("invented", &digests[7]).unwrap(), Some(version(7)));
    assert_eq!(store.version("invented", &digests[3]).unwrap(), Some(version(3)));
    assert_eq!(store.version("invented", &digests[1]).unwrap(), None, "too old");
    assert_eq!(store.version("other", &digests[3]).unwrap(), None);
    assert_eq!(store.status().unwrap().len(), 1, "only one is in use");
    // A damaged file is no version.
    let file = folder
        .path()
        .join(format!(".earlier/invented/{}.list.jsonl", digests[3]));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"id\":\"3\"", "\"id\":\"4\"")).unwrap();
    assert_eq!(store.version("invented", &digests[3]).unwrap(), None);
    store.remove("invented").unwrap();
    assert!(store.versions("invented").unwrap().is_empty());
}

#[test]
fn a_delta_replaces_the_list_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let import = |name: &str, text: &str| {
        let source = Source::new(name, std::io::Cursor::new(text.as_bytes().to_vec()));
        store.import(vec![source], None, &Guards::default())
    };
    let entity =
        |id: &str| format!(r#"{{"id":"{id}","schema":"Person","properties":{{"name":["Zoltar {id}"]}}}}"#);
    let delta = format!(r#"{{"op":"ADD","entity":{}}}"#, entity("b"));
    let name = "demo.20260101134702-zbn.20260102134702-wnk.delta.json";
    let refused = import(name, &delta).unwrap_err().to_string();
    assert!(refused.contains("no such list is in use here"), "{refused}");
    import("demo.20260101134702-zbn.entities.ftm.json", &entity("a")).unwrap();
    let report = import(name, &delta).unwrap();
    let diff = report.diff.unwrap();
    assert_eq!((diff.added, diff.changed, diff.removed), (1, 0, 0));
    assert_eq!(store.status().unwrap()[0].version, "2026-01-02T13:47:02-wnk");
    // Again, because it was not put to use.
    let again = import(name, &delta).unwrap();
    assert_eq!((again.entities, again.unchanged), (2, 1));
    let other = "demo.20260101134702-zbn.20260103134702-pfh.delta.json";
    let refused = import(other, &delta).unwrap_err().to_string();
    assert!(
        refused.contains("version 2026-01-02T13:47:02-wnk is in use here"),
        "{refused}"
    );
}

fn published(date: &str) -> Vec<Source> {
    let line = format!(
        "{{\"id\":\"x\",\"schema\":\"Person\",\"properties\":{{\"name\":[\"Person of {date}\"]}},\"last_seen\":\"{date}\"}}\n"
    );
    source(line.into_bytes())
}

#[test]
fn a_list_returns_to_a_kept_version_and_updates_do_not_undo_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let first = store
        .import(published("2026-11-01"), None, &Guards::default())
        .unwrap();
    let second = store
        .import(published("2026-11-02"), None, &Guards::default())
        .unwrap();
    let version = |report: &ImportReport| ListContent {
        version: report.version.clone(),
        digest: report.digest.clone(),
    };
    store.roll_back("invented", &version(&first)).unwrap();
    assert_eq!(store.status().unwrap()[0].digest, first.digest);
    // The replaced version is kept, so it can return too.
    assert_eq!(store.versions("invented").unwrap().len(), 3);
    let guards = Guards {
        rolled_back: BTreeMap::from([("invented".to_owned(), second.digest.clone())]),
        ..Guards::default()
    };
    let refused = store.import(published("2026-11-02"), None, &guards).unwrap_err();
    assert!(refused.to_string().contains("rolled back"), "{refused}");
    assert_eq!(store.status().unwrap()[0].digest, first.digest);
    store.import(published("2026-11-03"), None, &guards).unwrap();
    let unknown = ListContent {
        version: "2020".into(),
        digest: "00".into(),
    };
    assert!(matches!(
        store.roll_back("invented", &unknown),
        Err(RollbackError::NotKept { .. })
    ));
    // An old version would stop every screening.
    let old = demo_of("2020-01-01");
    store.activate(&old).unwrap();
    let digest = store.status().unwrap()[0].digest.clone();
    store
        .import(published("2026-11-03"), None, &Guards::default())
        .unwrap();
    let to = ListContent {
        version: old.version,
        digest,
    };
    assert!(matches!(
        store.roll_back("invented", &to),
        Err(RollbackError::Stale(_))
    ));
}

fn demo_of(version: &str) -> List {
    let (list, _) = import::import(published("2026-10-07"), None).unwrap();
    List {
        version: version.into(),
        ..list
    }
}

#[test]
fn a_file_with_another_list_is_refused_without_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let guards = Guards {
        expected_list: Some("un_sc_sanctions".into()),
        ..Guards::default()
    };
    let refused = store
        .import(published("2026-11-01"), None, &guards)
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("invented") && refused.contains("un_sc_sanctions"),
        "{refused}"
    );
    assert!(store.status().unwrap().is_empty() && store.last_imports().unwrap().is_empty());
}

#[test]
fn a_confirmation_renews_the_import_of_the_same_content_only() {
    let folder = tempfile::tempdir().unwrap();
    let earlier = || NOW - 40 * DAY;
    let store = ListStore::open(folder.path(), MaxAge::default())
        .unwrap()
        .with_clock(earlier);
    let report = store
        .import(published("2026-09-01"), None, &Guards::default())
        .unwrap();
    let store = open(folder.path());
    assert!(store.load().is_err(), "nobody imported it for 40 days");
    assert!(!store.confirm("invented", "00", NOW).unwrap());
    assert!(!store.confirm("other", &report.digest, NOW).unwrap());
    assert!(store.load().is_err());
    let state = store.fingerprint().unwrap();
    assert!(store.confirm("invented", &report.digest, NOW - DAY).unwrap());
    assert_eq!(
        store.fingerprint().unwrap(),
        state,
        "nothing must be loaded again"
    );
    assert!(store.load().is_ok());
    assert_eq!(store.status().unwrap()[0].import_age_seconds, 86_400);
    assert_eq!(
        (
            store.count_unchanged("invented"),
            store.count_unchanged("invented")
        ),
        (1, 2)
    );
    assert_eq!(store.status().unwrap()[0].unchanged_imports, 2);
    // Another content is not confirmed.
    store.activate(&demo_of("2026-10-01")).unwrap();
    assert_eq!(store.status().unwrap()[0].import_age_seconds, 0);
}

#[test]
fn a_copy_of_another_node_is_checked_before_it_is_used() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, importer) = (open(folder.path()), open(other.path()));
    let report = importer
        .import(published("2026-11-01"), None, &Guards::default())
        .unwrap();
    let copy = || importer.open_file("invented", &report.digest).unwrap().unwrap();
    let content = |version: &str, digest: &str| ListContent {
        version: version.into(),
        digest: digest.into(),
    };
    let refused = store
        .install("invented", &content("2026-11-01", "00"), None, copy())
        .unwrap_err();
    assert!(matches!(refused, InstallError::Other), "{refused}");
    // Two lists may have the same entities.
    store
        .install("other", &content("2026-11-01", &report.digest), None, copy())
        .unwrap();
    assert_eq!(store.status().unwrap()[0].list, "other");
    assert!(store.remove("other").unwrap());
    // The same entities under a newer date are the newer version.
    store
        .install(
            "invented",
            &content("2026-11-05", &report.digest),
            Some(NOW + DAY),
            copy(),
        )
        .unwrap();
    let status = &store.status().unwrap()[0];
    assert_eq!(
        (status.version.as_str(), &status.digest),
        ("2026-11-05", &report.digest)
    );
    assert_eq!(status.import_age_seconds, 0, "no import is in the future");
    assert!(store.load().is_ok());
    let path = importer.path("invented");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("Person of", "Persona of")).unwrap();
    let refused = store
        .install(
            "invented",
            &content("2026-11-01", &report.digest),
            None,
            File::open(&path).unwrap(),
        )
        .unwrap_err();
    assert!(matches!(refused, InstallError::Damaged), "{refused}");
    // A damaged file is not offered to other nodes.
    assert!(importer.open_file("invented", &report.digest).unwrap().is_none());
    assert_eq!(store.status().unwrap()[0].version, "2026-11-05");
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert!(left <= 3, "the refused copies left files");
    // A replaced version is kept.
    let next = importer
        .import(published("2026-11-06"), None, &Guards::default())
        .unwrap();
    let file = importer.open_file("invented", &next.digest).unwrap().unwrap();
    store
        .install("invented", &content("2026-11-06", &next.digest), None, file)
        .unwrap();
    assert!(store.open_kept("invented", &report.digest).unwrap().is_some());
    // What a killed process left goes, unless another process works in the folder.
    fs::write(folder.path().join("invented.1-2.new"), "half").unwrap();
    let lock = store.lock().unwrap();
    assert_eq!(store.delete_leftovers().unwrap(), 0);
    drop(lock);
    assert_eq!(store.delete_leftovers().unwrap(), 1);
}
