//! A file that is truncated or changed while it is mapped.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::File;
use std::io::Write as _;

use mapped_file::MappedFile;

fn file_of(len: usize) -> (tempfile::NamedTempFile, MappedFile) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![7; len]).unwrap();
    let mapped = MappedFile::open(File::open(file.path()).unwrap()).unwrap();
    (file, mapped)
}

#[test]
fn a_truncated_file_reads_as_zeros_and_is_not_intact() {
    let (file, mapped) = file_of(100_000);
    assert!(mapped.is_intact());
    assert_eq!(mapped[99_999], 7);
    file.as_file().set_len(10).unwrap();
    let read: Vec<usize> = std::thread::scope(|scope| {
        let sums = (0..4).map(|_| scope.spawn(|| mapped.iter().map(|byte| usize::from(*byte)).sum()));
        sums.collect::<Vec<_>>()
            .into_iter()
            .map(|sum| sum.join().unwrap())
            .collect()
    });
    assert!(read.iter().all(|sum| *sum < 7 * 5_000), "{read:?}");
    assert!(!mapped.is_intact());
    // A file that grows again does not hide it.
    file.as_file().set_len(100_000).unwrap();
    assert!(!mapped.is_intact());
}

#[test]
fn a_changed_file_is_not_intact() {
    let (mut file, mapped) = file_of(10);
    assert!(mapped.is_intact());
    file.write_all(b"more").unwrap();
    assert!(!mapped.is_intact());
}

#[test]
fn a_deleted_file_stays_readable() {
    let (file, mapped) = file_of(5_000);
    drop(file);
    assert!(mapped.is_intact());
    assert!(mapped.iter().all(|byte| *byte == 7));
}

#[test]
fn places_are_used_again() {
    let mut open = Vec::new();
    for _ in 0..200 {
        open.push(file_of(10));
        if open.len() > 20 {
            open.clear();
        }
    }
}
