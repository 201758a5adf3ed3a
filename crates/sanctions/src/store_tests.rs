//! The folder of lists: imports, guards, damage, age and exact contents.

use super::*;

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
    let store = ListStore::open(folder.path(), DEFAULT_MAX_AGE).unwrap();
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
    let stores = folders
        .each_ref()
        .map(|folder| ListStore::open(folder.path(), DEFAULT_MAX_AGE).unwrap());
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
fn damaged_and_old_lists_are_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let store = ListStore::open(folder.path(), DEFAULT_MAX_AGE).unwrap();
    store.activate(&crate::demo_list()).unwrap();
    assert!(store.load().is_ok() && store.check_fresh().is_ok());

    let strict = ListStore::open(folder.path(), Duration::from_millis(1)).unwrap();
    std::thread::sleep(Duration::from_millis(5));
    assert!(strict.load().is_err() && strict.check_fresh().is_err());
    assert!(!strict.status().unwrap()[0].active);

    let path = store.files().unwrap().remove(0);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    assert!(store.load().is_err());
    fs::write(&path, b"").unwrap();
    assert!(store.load().is_err());
}
