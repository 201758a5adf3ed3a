//! Writes backups and reads them: whole, cut off, changed, and made by others.

use super::*;
use crate::manifest::{DatabaseKind, ObjectMode};

fn header() -> Header {
    Header {
        format: FORMAT,
        program: "1".into(),
        snapshot_at: "2026-11-23T18:31:11.999Z".into(),
        database: DatabaseKind::Sqlite,
        objects: ObjectMode::Copied,
        installation: "0".into(),
        master_key: None,
    }
}

/// A backup with these entries, and the keys that open it.
fn backup(entries: &[(&str, &[u8])], keyring: &store::Keyring) -> (Vec<u8>, Identities) {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("backup");
    let identity = Identity::generate();
    let mut writer = Writer::create(&to, &[identity.to_public()], &header()).unwrap();
    for (path, content) in entries {
        writer.add_bytes(path, content).unwrap();
    }
    let tables = BTreeMap::from([("people".to_owned(), 1)]);
    let (_, bytes) = writer
        .finish(header(), tables, |text| keyring.backup_mac(text))
        .unwrap();
    let content = std::fs::read(&to).unwrap();
    assert_eq!(content.len() as u64, bytes);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    (content, Identities(vec![identity]))
}

/// What a reader finds: its entries, and whether the installation made it.
async fn read(
    content: &[u8],
    identities: &Identities,
    keyring: &store::Keyring,
) -> Result<(Vec<(String, Vec<u8>)>, bool), BackupError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), content).unwrap();
    Reader::header(file.path(), identities)?;
    let mut found = Vec::new();
    let reader = Reader::open(file.path(), identities)?;
    let checked = reader
        .read_entries(async |entry| {
            let path = entry.path.to_owned();
            found.push((path, entry.into_bytes()?));
            Ok(())
        })
        .await?;
    assert_eq!(checked.manifest.header, header());
    Ok((found, checked.is_made_by(keyring)))
}

#[tokio::test]
async fn a_backup_is_read_as_it_was_written_or_refused() {
    let (ours, theirs) = (store::Keyring::generate(), store::Keyring::generate());
    let large = vec![7; 70_000];
    let long = format!("objects/{}", "x".repeat(300));
    let entries: [(&str, &[u8]); 4] = [
        (DATABASE, &large),
        ("objects/a", b""),
        (&long, b"sealed"),
        ("erasures/b", b"{}"),
    ];
    let (content, identities) = backup(&entries, &ours);
    let (found, is_ours) = read(&content, &identities, &ours).await.unwrap();
    let expected = entries.map(|(path, content)| (path.to_owned(), content.to_vec()));
    assert_eq!(found, expected);
    assert!(is_ours);
    assert!(!read(&content, &identities, &theirs).await.unwrap().1);
    let other = Identities(vec![Identity::generate()]);
    assert!(matches!(
        read(&content, &other, &ours).await,
        Err(BackupError::WrongIdentity)
    ));
    for at in (0..content.len()).step_by(997) {
        let cut = read(&content[..at], &identities, &ours).await;
        assert!(matches!(cut, Err(BackupError::Damaged(_))), "{at}");
        let mut changed = content.clone();
        changed[at] ^= 0x10;
        // A change of the head can make it another key's.
        assert!(read(&changed, &identities, &ours).await.is_err(), "{at}");
    }
}

/// The content of a tar archive as [`Reader`] reads it. It panics if an entry is not what it was.
fn read_tar(content: &[u8], entries: &BTreeMap<String, Vec<u8>>) -> Result<(), BackupError> {
    let reader = Reader::of_decrypted(io::Cursor::new(content.to_vec()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut found = BTreeMap::new();
    let checked = runtime.block_on(reader.read_entries(async |entry| {
        let path = entry.path.to_owned();
        found.insert(path, entry.into_bytes()?);
        Ok(())
    }));
    checked?;
    assert_eq!(found, *entries);
    Ok(())
}

/// The tar archive of a backup, before its encryption.
fn tar_of(entries: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut sections: BTreeMap<String, SectionDigest> = BTreeMap::new();
    let mut tar = tar::Builder::new(Vec::new());
    let mut append = |path: &str, content: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, path, content).unwrap();
    };
    let first = BTreeMap::from([(HEADER.to_owned(), json(&header()).unwrap())]);
    for (path, content) in first.iter().chain(entries) {
        append(path, content);
        let digest = sections.entry(section(path).to_owned()).or_default();
        digest.begin(path, content.len() as u64);
        digest.update(content);
    }
    let manifest = Manifest {
        header: header(),
        tables: BTreeMap::new(),
        sections: sections
            .into_iter()
            .map(|(name, digest)| (name, digest.finish()))
            .collect(),
    };
    append(MANIFEST, &json(&manifest).unwrap());
    append(MAC, b"code");
    tar.into_inner().unwrap()
}

proptest::proptest! {
    #[test]
    fn a_hostile_archive_is_read_as_its_manifest_says_or_refused(
        changes in proptest::collection::vec((0_usize..6_144, 0_u8..=255), 0..6),
        cut in 0_usize..12_000,
        noise in proptest::collection::vec(0_u8..=255, 0..600),
    ) {
        let entries = BTreeMap::from([
            (DATABASE.to_owned(), b"rows".to_vec()),
            ("objects/a".to_owned(), vec![1; 700]),
            ("erasures/b".to_owned(), Vec::new()),
        ]);
        let whole = tar_of(&entries);
        read_tar(&whole, &entries).unwrap();
        let mut changed = whole.clone();
        for (at, byte) in changes {
            let at = at % changed.len();
            changed[at] = byte;
        }
        let _ = read_tar(&changed, &entries);
        changed.truncate(cut);
        let _ = read_tar(&changed, &entries);
        let _ = read_tar(&noise, &entries);
    }
}

#[tokio::test]
async fn a_manifest_that_lies_is_refused() {
    let keyring = store::Keyring::generate();
    let folder = tempfile::tempdir().unwrap();
    let identity = Identity::generate();
    let recipients = [identity.to_public()];
    let identities = Identities(vec![identity]);
    type Lie = fn(&mut Writer);
    let lies: [(&str, Lie); 3] = [
        ("an entry is missing", |writer| {
            writer
                .sections
                .entry("objects".into())
                .or_default()
                .begin("objects/a", 0);
        }),
        ("an entry is new", |writer| {
            writer.sections.remove(DATABASE);
        }),
        ("other content", |writer| {
            writer
                .sections
                .entry(DATABASE.into())
                .or_default()
                .update(b"more");
        }),
    ];
    for (name, lie) in lies {
        let to = folder.path().join(name);
        let mut writer = Writer::create(&to, &recipients, &header()).unwrap();
        writer.add_bytes(DATABASE, b"rows").unwrap();
        lie(&mut writer);
        writer.finish(header(), BTreeMap::new(), |_| [0; 32]).unwrap();
        let found = read(&std::fs::read(&to).unwrap(), &identities, &keyring).await;
        assert!(matches!(found, Err(BackupError::Damaged(_))), "{name}");
    }
}

#[test]
fn a_newer_backup_names_its_program() {
    let newer = br#"{"format": 2, "program": "3.1.4", "unknown": true}"#;
    assert!(matches!(parse_header(newer), Err(BackupError::Newer(version)) if version == "3.1.4"));
    assert!(matches!(parse_header(b"{}"), Err(BackupError::Damaged(_))));
    assert!(matches!(parse_header(b"\xff"), Err(BackupError::Damaged(_))));
}
