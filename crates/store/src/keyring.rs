//! Encryption at rest: the file with the master keys, data keys wrapped by other keys, sealed bytes, and the
//! keyed hashes of secrets and searchable words. It knows neither SQL nor objects.
//!
//! The keys form a chain: a master key wraps each merchant's key, which wraps each person's key, which wraps
//! the keys of the person's attempts. An attempt's key seals its request, response and files. Destroying a
//! person's wrapped key erases everything below it.
//!
//! Sealed bytes are `version (1) | id of the sealing key (4, big-endian) | nonce (12) | AES-256-GCM-SIV
//! ciphertext and tag`. The associated data are the context ([`SealContext`]), so ciphertext that was moved
//! to another row does not open.

mod data_key;

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use zeroize::{Zeroize as _, Zeroizing};

pub use self::data_key::{DataKey, SealContext};
use self::data_key::{KEY_LEN, sealing_key_id};
pub(crate) use self::data_key::{random, random_text};
use crate::Scope;
use crate::error::Error;
use crate::files;

/// The master keys and the root of all keyed hashes, from one small file. Losing the file loses every
/// person's data.
pub struct Keyring {
    /// Newest first. The newest key wraps new keys; the others only open.
    masters: Vec<DataKey>,
    hash_root: Zeroizing<[u8; KEY_LEN]>,
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyring")
            .field("masters", &self.masters)
            .finish_non_exhaustive()
    }
}

/// Whether [`Keyring::open_or_create`] found or created the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyringOrigin {
    /// The file existed.
    Found,
    /// The file was just created. The caller must tell the operator to back it up.
    Created,
}

/// The keyring's file: JSON with keys in base64, newest master key first.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyringFile {
    note: String,
    masters: Vec<MasterEntry>,
    hash_root: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MasterEntry {
    id: u32,
    key: String,
}

const NOTE: &str =
    "Bonafide's master keys. Back this file up apart from the database: without it nothing opens.";

impl Keyring {
    /// The largest key file in bytes, enough for thousands of master keys.
    pub const MAX_LENGTH: u64 = 1 << 20;

    /// A new keyring, in memory only.
    #[must_use]
    pub fn generate() -> Self {
        Self {
            masters: vec![DataKey::generate()],
            hash_root: Zeroizing::new(random()),
        }
    }

    /// Reads the keyring's file, or creates it (mode 0600) if there is none. If several processes start at
    /// once, one creates it and the others read it. Use it only for an installation without data: see
    /// [`installation`](crate::installation).
    ///
    /// # Errors
    /// [`Error::Keyring`] if the file cannot be read, written or parsed.
    pub fn open_or_create(path: &Path) -> Result<(Self, KeyringOrigin), Error> {
        match Self::open(path) {
            Err(Error::NoKeyring { .. }) => {}
            opened => return opened.map(|keyring| (keyring, KeyringOrigin::Found)),
        }
        let keyring = Self::generate();
        match keyring.write(path, Replace::No) {
            Ok(()) => Ok((keyring, KeyringOrigin::Created)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Self::open(path).map(|keyring| (keyring, KeyringOrigin::Found))
            }
            Err(error) => Err(not_written(path, &error)),
        }
    }

    /// Reads the keyring's file.
    ///
    /// # Errors
    /// [`Error::NoKeyring`] if the file does not exist; [`Error::Keyring`] if it cannot be read or parsed.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let opened = fs::File::open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::NoKeyring {
                path: path.display().to_string(),
            },
            _ => not_read(path, &error),
        })?;
        let mut text = Zeroizing::new(String::new());
        let read = opened.take(Self::MAX_LENGTH + 1).read_to_string(&mut text);
        read.map_err(|error| not_read(path, &error))?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads a keyring from the text of its file. `name` says where the text comes from, for errors.
    ///
    /// # Errors
    /// [`Error::Keyring`] if the text is no keyring. It contains nothing of the text.
    pub fn parse(text: &str, name: &str) -> Result<Self, Error> {
        let length = text.len();
        if length as u64 > Self::MAX_LENGTH {
            return Err(unusable(name, "it is too large for a key file".into()));
        }
        if text.is_empty() {
            return Err(unusable(name, "it is empty".into()));
        }
        if text.bytes().all(|byte| byte == 0) {
            return Err(unusable(name, "it contains only zeros".into()));
        }
        // serde_json's texts quote the offending input, which may be a key.
        let file: KeyringFile = serde_json::from_str(text).map_err(|error| {
            let line = error.line();
            let reason =
                format!("it has {length} bytes, but it is not a key file, or a damaged one (line {line})");
            unusable(name, reason)
        })?;
        Self::from_file(file).map_err(|reason| unusable(name, reason))
    }

    /// The text of the keyring's file. It contains the keys.
    ///
    /// # Errors
    /// Fails only if memory runs out.
    pub fn to_text(&self) -> std::io::Result<Zeroizing<String>> {
        let file = KeyringFile {
            note: NOTE.into(),
            masters: self
                .masters
                .iter()
                .map(|key| MasterEntry {
                    id: key.id,
                    key: BASE64.encode(key.bytes.as_slice()),
                })
                .collect(),
            hash_root: BASE64.encode(self.hash_root.as_slice()),
        };
        Ok(Zeroizing::new(serde_json::to_string_pretty(&file)?))
    }

    /// The keyring with a new master key in front of the others.
    #[must_use]
    pub fn with_new_master(mut self) -> Self {
        self.masters.insert(0, DataKey::generate());
        self
    }

    fn from_file(file: KeyringFile) -> Result<Self, String> {
        let mut masters: Vec<DataKey> = Vec::with_capacity(file.masters.len());
        for mut entry in file.masters {
            let id = entry.id;
            let bytes = key_bytes(&entry.key).map_err(|fault| format!("its master key {id} {fault}"))?;
            entry.key.zeroize();
            // Sealed bytes name only the id, so two keys with one id would be ambiguous.
            if masters.iter().any(|key| key.id == id) {
                return Err(format!("two of its master keys have the id {id}"));
            }
            masters.push(DataKey::of(id, bytes));
        }
        let hash_root = Zeroizing::new(file.hash_root);
        if masters.is_empty() {
            return Err("it contains no master key".into());
        }
        let hash_root = key_bytes(&hash_root).map_err(|fault| format!("its hash_root {fault}"))?;
        Ok(Self { masters, hash_root })
    }

    /// Adds a new master key in front of the others and replaces the file. The old keys still open what they
    /// wrapped; `rewrap_keys` then wraps everything by the new key. If several processes rotate at once, each
    /// adds its key to the file that the previous one wrote.
    ///
    /// # Errors
    /// [`Error::NoKeyring`]; [`Error::Keyring`] if the file cannot be read or written.
    pub fn rotate(path: &Path) -> Result<Self, Error> {
        let failed = |error: std::io::Error| not_written(path, &error);
        // The file is replaced, so its folder is locked instead.
        let lock = fs::File::open(folder_of(path)).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let keyring = Self::open(path)?.with_new_master();
        keyring.write(path, Replace::Yes).map_err(failed)?;
        Ok(keyring)
    }

    /// Writes a temporary file beside the final one and moves it there, so no process ever reads a
    /// half-written keyring.
    fn write(&self, path: &Path, replace: Replace) -> std::io::Result<()> {
        let text = self.to_text()?;
        files::create_folder(folder_of(path))?;
        let beside = path.with_extension(format!("new-{}", hex::encode(random::<8>())));
        let mut out = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)?;
        let written = out.write_all(text.as_bytes()).and_then(|()| out.sync_all());
        let moved = written.and_then(|()| match replace {
            Replace::Yes => fs::rename(&beside, path),
            // A hard link, unlike a rename, never overwrites another process's keyring.
            Replace::No => fs::hard_link(&beside, path),
        });
        if replace == Replace::No || moved.is_err() {
            fs::remove_file(&beside)?;
        }
        // The file's directory entry must survive a power cut too.
        moved.and_then(|()| files::sync_entry(path))
    }

    /// Identifies the keyring: 16 hexadecimal digits, which change with each rotation. It reveals no key.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let keys: Vec<&[u8]> = self.masters.iter().map(|key| key.bytes.as_slice()).collect();
        hex::encode(&self.hash("keyring fingerprint", &keys)[..8])
    }

    /// Whether the keyring contains the master key with this id
    /// ([`master_key_in_use`](crate::installation::master_key_in_use)).
    #[must_use]
    pub fn has_master_key(&self, id: &str) -> bool {
        self.masters.iter().any(|key| master_key_id(key.id) == id)
    }

    /// Whether the newest master key sealed these bytes.
    pub(crate) fn is_newest_of(&self, sealed: &[u8]) -> Result<bool, Error> {
        Ok(sealing_key_id(sealed)? == self.masters[0].id)
    }

    /// Whether the keyring contains the master key that sealed these bytes.
    pub(crate) fn has_master_key_of(&self, sealed: &[u8]) -> Result<bool, Error> {
        let id = sealing_key_id(sealed)?;
        Ok(self.masters.iter().any(|key| key.id == id))
    }

    /// Wraps a merchant's key by the newest master key.
    pub(crate) fn wrap(&self, context: &SealContext<'_>, key: &DataKey) -> Vec<u8> {
        self.masters[0].wrap(context, key)
    }

    /// Opens a merchant's key with the master key that wrapped it.
    pub(crate) fn unwrap_key(&self, context: &SealContext<'_>, wrapped: &[u8]) -> Result<DataKey, Error> {
        let id = sealing_key_id(wrapped)?;
        let master = self
            .masters
            .iter()
            .find(|key| key.id == id)
            .ok_or(Error::Sealed)?;
        master.unwrap_key(context, wrapped)
    }

    /// Identifies the installation: 32 hexadecimal digits, which stay the same with each rotation. They reveal
    /// no key.
    #[must_use]
    pub fn installation_id(&self) -> String {
        hex::encode(&self.hash("installation", &[])[..16])
    }

    /// A code for the description of a backup that only this installation can make.
    #[must_use]
    pub fn backup_mac(&self, description: &[u8]) -> [u8; 32] {
        self.hash("backup", &[description])
    }

    /// HMAC-SHA-256 under the keyring's root, for one purpose. Equal inputs give equal outputs.
    pub(crate) fn hash(&self, purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(self.hash_root.as_slice()).expect("any length");
        for part in std::iter::once(&purpose.as_bytes()).chain(parts) {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// The blind index of a value, which a table stores to find the value by. It differs per account, mode
    /// and purpose.
    pub(crate) fn blind(&self, scope: Scope, purpose: &str, value: &str) -> Vec<u8> {
        let mode = [u8::from(scope.sandbox)];
        self.hash(purpose, &[scope.merchant_id.as_bytes(), &mode, value.as_bytes()])
            .to_vec()
    }
}

/// The id of the master key that sealed these bytes, as [`Keyring::has_master_key`] takes it.
pub(crate) fn master_key_of(sealed: &[u8]) -> Result<String, Error> {
    sealing_key_id(sealed).map(master_key_id)
}

fn master_key_id(id: u32) -> String {
    format!("{id:08x}")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Replace {
    Yes,
    No,
}

/// A key of the file, or what is wrong with it. A key of zeros is refused, because a failed copy can leave a
/// file of zeros.
fn key_bytes(text: &str) -> Result<Zeroizing<[u8; KEY_LEN]>, String> {
    let bytes = Zeroizing::new(BASE64.decode(text).map_err(|_| "is not base64".to_owned())?);
    let length = bytes.len();
    let bytes = <[u8; KEY_LEN]>::try_from(bytes.as_slice())
        .map(Zeroizing::new)
        .map_err(|_| format!("has {length} bytes instead of {KEY_LEN}"))?;
    match *bytes == [0; KEY_LEN] {
        true => Err("consists of zeros".to_owned()),
        false => Ok(bytes),
    }
}

/// The folder of the key file.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The fix for a file with wrong content.
const COPY: &str = "Copy the file from your backup or from another node";

fn unusable(name: &str, reason: String) -> Error {
    Error::Keyring {
        path: name.to_owned(),
        reason,
        fix: COPY,
    }
}

/// Why the file cannot be read, and the fix.
fn not_read(path: &Path, error: &std::io::Error) -> Error {
    use std::io::ErrorKind;
    const NAME: &str = "Name the key file with --master-key (BONAFIDE_MASTER_KEY), or put the file from your backup or from another node in its place";
    let (reason, fix) = match error.kind() {
        ErrorKind::IsADirectory => (
            "it is a folder. Container runtimes make one where the file that they should mount is missing"
                .into(),
            NAME,
        ),
        ErrorKind::NotADirectory => ("a part of its path is a file and not a folder".into(), NAME),
        ErrorKind::PermissionDenied => (
            "the user that runs this program may not read it".into(),
            "Give the file to that user (chown) and let no other user read it (chmod 600)",
        ),
        ErrorKind::InvalidData => ("it is not text, and a key file is JSON text".into(), COPY),
        // For example, a link to itself.
        _ => (format!("the system cannot read it ({error})"), NAME),
    };
    Error::Keyring {
        path: path.display().to_string(),
        reason,
        fix,
    }
}

/// Why the file cannot be written, and the fix.
fn not_written(path: &Path, error: &std::io::Error) -> Error {
    Error::Keyring {
        path: path.display().to_string(),
        reason: format!("it cannot be written ({error})"),
        fix: "Check that its disk has space and that the user that runs this program may write to its folder",
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// Tests may run as root, who can read every file.
    #[test]
    fn a_file_that_may_not_be_read_has_its_own_fix() {
        let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let text = not_read(Path::new("/keys/master.key"), &denied).to_string();
        assert!(
            text.contains("/keys/master.key") && text.contains("chown") && text.contains("chmod 600"),
            "{text}"
        );
        assert!(!text.contains("denied"), "{text}");
    }

    fn place(id: &[u8]) -> SealContext<'_> {
        SealContext {
            merchant_id: Uuid::nil(),
            what: "test",
            id,
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_unwrap_to_an_error(bytes: Vec<u8>) {
            let _ = Keyring::generate().unwrap_key(&place(b"1"), &bytes).unwrap_err();
        }
    }

    #[test]
    fn the_file_is_private_and_made_once() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/master.json");
        let (first, origin) = Keyring::open_or_create(&path).unwrap();
        assert_eq!(origin, KeyringOrigin::Created);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let (second, origin) = Keyring::open_or_create(&path).unwrap();
        assert_eq!(origin, KeyringOrigin::Found);
        assert_eq!(first.hash("test", &[]), second.hash("test", &[]));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_rotated_keyring_opens_old_and_new() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.json");
        let (keyring, _) = Keyring::open_or_create(&path).unwrap();
        let old = keyring.wrap(&place(b"m"), &DataKey::generate());
        let rotated = Keyring::rotate(&path).unwrap();
        assert_ne!(keyring.fingerprint(), rotated.fingerprint());
        let keyring = Keyring::open(&path).unwrap();
        let new = keyring.wrap(&place(b"m"), &DataKey::generate());
        assert_ne!(sealing_key_id(&old).unwrap(), sealing_key_id(&new).unwrap());
        keyring.unwrap_key(&place(b"m"), &old).unwrap();
        keyring.unwrap_key(&place(b"m"), &new).unwrap();
    }

    #[test]
    fn a_broken_file_is_an_error_that_quotes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.json");
        let key = |length: usize, byte: u8| BASE64.encode(vec![byte; length]);
        let file = |masters: &[(u32, String)], root: String| {
            let masters: Vec<_> = masters
                .iter()
                .map(|(id, key)| serde_json::json!({"id": id, "key": key}))
                .collect();
            serde_json::json!({"note": "", "masters": masters, "hash_root": root}).to_string()
        };
        fs::write(&path, file(&[(1, key(32, 1)), (2, key(32, 2))], key(32, 3))).unwrap();
        Keyring::open(&path).unwrap();
        for text in [
            &file(&[(1, key(31, 1))], key(32, 3)),
            &file(&[(1, key(33, 1))], key(32, 3)),
            &file(&[(1, key(32, 0))], key(32, 3)),
            &file(&[(1, key(32, 1))], key(32, 0)),
            &file(&[(1, key(32, 1))], key(31, 3)),
            &file(&[(1, key(32, 1)), (1, key(32, 2))], key(32, 3)),
            &"\0".repeat(32),
            &"k".repeat(31),
            "",
            "{}",
            "{\"masters\":\"S3CRET\"}",
            "{\"note\":\"\",\"masters\":[],\"hash_root\":\"S3CRET\"}",
        ] {
            fs::write(&path, text).unwrap();
            let error = Keyring::open(&path).unwrap_err().to_string();
            assert!(!error.contains("S3CRET"), "{error}");
        }
    }
}
