//! The files of indexes: built once, and again if they are damaged.

use std::fs;
use std::path::Path;

use super::*;
use crate::freshness::MaxAge;
use crate::{IndexDamaged, List, Query, ScreenOptions, SearchError};

fn open(folder: &Path) -> ListStore {
    ListStore::open(folder, MaxAge::default()).unwrap()
}

fn indexes(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|name| name == "index"))
        .collect();
    found.sort();
    found
}

#[test]
fn an_index_is_built_once_and_again_if_it_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.activate(&crate::demo_list()).unwrap();
    let hits = |screener: &Screener| {
        let query = Query {
            name: Some("Viktor Drozdenkov".into()),
            ..Query::default()
        };
        screener.screen(&query, &ScreenOptions::default())
    };
    let first = store.load().unwrap();
    let expected = hits(&first).unwrap();
    let [path] = indexes(folder.path()).try_into().unwrap();
    let built = || fs::metadata(&path).unwrap().modified().unwrap();
    let at = built();
    assert_eq!(hits(&store.load().unwrap()).unwrap(), expected);
    assert_eq!(built(), at, "the second load reads the file");

    // A file that is cut under a running server.
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(1000)
        .unwrap();
    assert_eq!(hits(&first), Err(SearchError::Index(IndexDamaged)));
    assert_eq!(hits(&store.load().unwrap()).unwrap(), expected);

    // A changed byte is noticed when it is read, and the file is then built again.
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes
        .iter_mut()
        .skip(middle)
        .take(2_000)
        .for_each(|byte| *byte ^= 0x55);
    fs::write(&path, bytes).unwrap();
    // The search notices it, and the damaged file is gone.
    if let Ok(damaged) = store.load() {
        assert!(hits(&damaged).is_err() || hits(&damaged).unwrap() == expected);
    }
    assert_eq!(hits(&store.load().unwrap()).unwrap(), expected);
}

#[test]
fn few_indexes_stay() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for version in 0..6 {
        let list = List {
            version: version.to_string(),
            ..crate::demo_list()
        };
        store.activate(&list).unwrap();
        assert_eq!(store.load().unwrap().lists()[&list.name], version.to_string());
    }
    assert_eq!(indexes(folder.path()).len(), 3);
}

#[test]
fn an_index_that_cannot_be_written_is_kept_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.activate(&crate::demo_list()).unwrap();
    // A folder in the place of the index cannot be replaced by a file, whoever runs the test.
    let screener = store.load().unwrap();
    let [path] = indexes(folder.path()).try_into().unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(store.load().unwrap().len(), screener.len());
}
