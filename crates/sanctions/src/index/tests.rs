use proptest::prelude::*;

use super::*;

fn written(parts: &[(Section, Vec<u8>)]) -> Vec<u8> {
    let mut writer = IndexWriter::new(Vec::new());
    for (section, bytes) in parts {
        writer.section(*section, bytes).unwrap();
    }
    writer.finish().unwrap()
}

fn example() -> Vec<u8> {
    let bytes = |len: usize| (0..len).map(|at| (at % 251) as u8).collect::<Vec<u8>>();
    written(&[
        (Section::Head, bytes(100)),
        (Section::Names, bytes(3 * BLOCK + 5)),
        (Section::Words, vec![1; 4]),
    ])
}

#[test]
fn what_was_written_is_read() {
    let file = IndexFile::in_memory(example()).unwrap();
    assert_eq!(file.whole(Section::Head).len(), 100);
    assert_eq!(
        file.read(Section::Names, BLOCK..BLOCK + 2),
        [BLOCK % 251, BLOCK % 251 + 1].map(|byte| byte as u8)
    );
    assert_eq!(file.len(Section::Postings), 0);
    assert_eq!(file.record::<U32>(Section::Words, 0).unwrap().get(), 0x0101_0101);
    file.check_whole().unwrap();
}

#[test]
fn what_lies_outside_a_section_is_damage() {
    for range in [98..101, 100..usize::MAX, usize::MAX..usize::MAX] {
        let file = IndexFile::in_memory(example()).unwrap();
        assert!(file.read(Section::Head, range).is_empty());
        assert_eq!(file.check(), Err(IndexDamaged));
    }
}

#[test]
fn a_mapped_file_that_is_truncated_or_changed_is_damaged() {
    use std::io::Write as _;
    let change = |how: fn(&std::fs::File)| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&example()).unwrap();
        let index = IndexFile::mapped(file.path()).unwrap();
        index.check().unwrap();
        how(file.as_file());
        index.read(Section::Names, 2 * BLOCK..3 * BLOCK);
        assert_eq!(index.check(), Err(IndexDamaged));
        assert!(!file.path().exists(), "a damaged file is deleted");
    };
    change(|file| file.set_len(100).unwrap());
    change(|mut file| {
        use std::io::{Seek as _, SeekFrom};
        file.seek(SeekFrom::Start(2 * BLOCK as u64 + 1000)).unwrap();
        file.write_all(b"changed").unwrap();
    });
}

proptest! {
    #[test]
    fn damaged_bytes_are_noticed(at in any::<prop::sample::Index>(), with in 1_u8..) {
        let mut bytes = example();
        let at = at.index(bytes.len());
        bytes[at] ^= with;
        let whole = IndexFile::in_memory(bytes).and_then(|file| file.check_whole());
        prop_assert_eq!(whole, Err(IndexDamaged));
    }

    #[test]
    fn cut_files_are_refused(len in any::<prop::sample::Index>()) {
        let mut bytes = example();
        bytes.truncate(len.index(bytes.len()));
        prop_assert!(IndexFile::in_memory(bytes).and_then(|file| file.check_whole()).is_err());
    }

    #[test]
    fn tables_find_every_value(entries in prop::collection::vec(("[a-d]{0,3}", 0_u32..50), 0..400)) {
        let mut builder = TableBuilder::default();
        for (key, value) in &entries {
            builder.add(key, *value);
        }
        let mut writer = IndexWriter::new(Vec::new());
        builder.write(Section::ById, &mut writer).unwrap();
        let file = IndexFile::in_memory(writer.finish().unwrap()).unwrap();
        for key in entries.iter().map(|(key, _)| key.as_str()).chain(["none"]) {
            let mut expected: Vec<u32> =
                entries.iter().filter(|(other, _)| other == key).map(|(_, value)| *value).collect();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(values(&file, Section::ById, key).collect::<Vec<_>>(), expected);
        }
        file.check_whole().unwrap();
    }
}
