//! The file of a backup: a tar archive, encrypted with age to a public key (X25519).
//!
//! | entry | content |
//! |---|---|
//! | `header.json` | [`Header`] |
//! | `database` | the SQLite file, or PostgreSQL's dump in the custom format |
//! | `objects/…` | the objects of attempts, sealed as they are stored, by their paths |
//! | `objects.jsonl` | instead of them: `{"path", "bytes"}` per line |
//! | `lists/…`, `labels/…` | the files of these folders |
//! | `erasures/…` | the erasure journal, copied last |
//! | `manifest.json` | [`Manifest`] |
//! | `manifest.mac` | a message authentication code of the manifest, by the installation's key |
//!
//! age authenticates every block and the end of the file. Anyone with the public key can make such a file. The
//! code therefore proves its origin, and readers validate every path and size.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use age::stream::StreamWriter;
use age::x25519::{Identity, Recipient};

use crate::error::BackupError;
use crate::manifest::{FORMAT, Header, Manifest, Section, SectionDigest};
use crate::work::publish;

pub(crate) const HEADER: &str = "header.json";
pub(crate) const DATABASE: &str = "database";
pub(crate) const OBJECT_LIST: &str = "objects.jsonl";
const MANIFEST: &str = "manifest.json";
const MAC: &str = "manifest.mac";

/// The most bytes of an entry that is read into memory: an object, a journal entry, a description.
pub(crate) const MAX_ENTRY_IN_MEMORY: u64 = 256 << 20;

/// Writes a backup. The file gets its name when it is complete; dropping the writer earlier deletes it.
pub(crate) struct Writer {
    tar: tar::Builder<StreamWriter<BufWriter<File>>>,
    partial: Partial,
    to: PathBuf,
    sections: BTreeMap<String, SectionDigest>,
}

/// A file that is deleted unless it was renamed.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // After the renaming there is no such file.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Writer {
    /// Begins a backup. No other file may have its name.
    pub(crate) fn create(to: &Path, recipients: &[Recipient], header: &Header) -> Result<Self, BackupError> {
        if to.exists() {
            return Err(BackupError::Argument(format!(
                "{} exists. Name a new file, or a folder in which a file named after the current time is created",
                to.display()
            )));
        }
        let partial = to.with_added_extension(format!("{}.partial", uuid::Uuid::new_v4()));
        let failed = BackupError::file(&partial);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&partial)
            .map_err(failed)?;
        let recipients = recipients
            .iter()
            .map(|recipient| recipient as &dyn age::Recipient);
        let encryptor = age::Encryptor::with_recipients(recipients)
            .map_err(|error| BackupError::Argument(error.to_string()))?;
        let encrypted = encryptor
            .wrap_output(BufWriter::new(file))
            .map_err(BackupError::file(&partial))?;
        let mut writer = Self {
            tar: tar::Builder::new(encrypted),
            partial: Partial(partial),
            to: to.to_owned(),
            sections: BTreeMap::new(),
        };
        writer.add_bytes(HEADER, &json(header)?)?;
        Ok(writer)
    }

    /// Adds an entry of exactly `bytes` bytes.
    pub(crate) fn add(&mut self, path: &str, bytes: u64, content: impl Read) -> Result<(), BackupError> {
        let digest = self.sections.entry(section(path).to_owned()).or_default();
        digest.begin(path, bytes);
        let mut counted = DigestingReader {
            content: content.take(bytes),
            digest,
            left: bytes,
        };
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes);
        header.set_mode(0o600);
        self.tar
            .append_data(&mut header, path, &mut counted)
            .map_err(BackupError::file(&self.partial.0))?;
        if counted.left > 0 {
            return Err(BackupError::Changed(path.to_owned()));
        }
        Ok(())
    }

    /// Adds an entry that a reader reads into memory.
    pub(crate) fn add_bytes(&mut self, path: &str, content: &[u8]) -> Result<(), BackupError> {
        if content.len() as u64 > MAX_ENTRY_IN_MEMORY {
            return Err(BackupError::Argument(format!("{path} is too large for a backup")));
        }
        self.add(path, content.len() as u64, content)
    }

    /// Adds the content of a file; a file that no longer exists is left out.
    pub(crate) fn add_file(&mut self, path: &str, file: &Path) -> Result<(), BackupError> {
        let opened = match File::open(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(BackupError::file(file))?,
        };
        let bytes = opened.metadata().map_err(BackupError::file(file))?.len();
        self.add(path, bytes, opened)
    }

    /// Ends the backup and gives the file its name. Returns its description and its size in bytes.
    pub(crate) fn finish(
        mut self,
        header: Header,
        tables: BTreeMap<String, i64>,
        code: impl FnOnce(&[u8]) -> [u8; 32],
    ) -> Result<(Manifest, u64), BackupError> {
        let sections = std::mem::take(&mut self.sections)
            .into_iter()
            .map(|(name, digest)| (name, digest.finish()))
            .collect();
        let manifest = Manifest {
            header,
            tables,
            sections,
        };
        let text = json(&manifest)?;
        self.add_bytes(MANIFEST, &text)?;
        self.add_bytes(MAC, hex::encode(code(&text)).as_bytes())?;
        let partial = self.partial;
        let failed = || BackupError::file(&partial.0);
        let encrypted = self.tar.into_inner().map_err(failed())?;
        let mut buffered = encrypted.finish().map_err(failed())?;
        buffered.flush().map_err(failed())?;
        let bytes = buffered.get_ref().metadata().map_err(failed())?.len();
        publish(&partial.0, &self.to)?;
        Ok((manifest, bytes))
    }
}

/// Adds what is read to a digest.
struct DigestingReader<'a, R> {
    content: R,
    digest: &'a mut SectionDigest,
    left: u64,
}

impl<R: Read> Read for DigestingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(buffer)?;
        self.digest.update(&buffer[..read]);
        self.left -= read as u64;
        Ok(read)
    }
}

/// The private keys that may open a backup.
pub struct Identities(Vec<Identity>);

impl Identities {
    /// Reads a file in the format of `age-keygen`: a private key per line; `#` begins a comment.
    ///
    /// # Errors
    /// [`BackupError::File`]; [`BackupError::NoIdentity`].
    pub fn read(path: &Path) -> Result<Self, BackupError> {
        let text = std::fs::read_to_string(path).map_err(BackupError::file(path))?;
        let lines = text.lines().map(str::trim);
        let keys: Result<Vec<Identity>, &str> = lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(str::parse)
            .collect();
        match keys {
            Ok(keys) if !keys.is_empty() => Ok(Self(keys)),
            _ => Err(BackupError::NoIdentity {
                path: path.to_owned(),
            }),
        }
    }
}

/// The decrypted content of a backup.
type Decrypted = Box<dyn Read>;

/// Reads a backup. [`Reader::header`] comes first; [`Reader::read_entries`] reads the rest once.
pub struct Reader {
    tar: tar::Archive<Decrypted>,
}

/// An entry of a backup, whose path and size are not to be trusted.
pub(crate) struct Entry<'a> {
    pub(crate) path: &'a str,
    pub(crate) bytes: u64,
    content: &'a mut dyn Read,
}

impl Entry<'_> {
    /// Reads the whole entry.
    pub(crate) fn into_bytes(self) -> Result<Vec<u8>, BackupError> {
        if self.bytes > MAX_ENTRY_IN_MEMORY {
            return Err(BackupError::Damaged(format!("{:?} is too large", self.path)));
        }
        let mut content = Vec::new();
        self.content
            .take(MAX_ENTRY_IN_MEMORY)
            .read_to_end(&mut content)
            .map_err(unreadable)?;
        Ok(content)
    }

    /// Writes the entry into a new file and makes it durable.
    pub(crate) fn into_file(self, to: &Path) -> Result<(), BackupError> {
        let failed = || BackupError::file(to);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(to)
            .map_err(failed())?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = self.content.read(&mut buffer).map_err(unreadable)?;
            if read == 0 {
                return file.sync_all().map_err(failed());
            }
            file.write_all(&buffer[..read]).map_err(failed())?;
        }
    }
}

/// A backup that was read to its end and is what its manifest says.
pub(crate) struct VerifiedArchive {
    pub(crate) manifest: Manifest,
    text: Vec<u8>,
    code: Vec<u8>,
}

impl VerifiedArchive {
    /// Whether the code of the manifest is the one that the installation makes.
    pub(crate) fn is_made_by(&self, keyring: &store::Keyring) -> bool {
        use subtle::ConstantTimeEq as _;
        let code = hex::encode(keyring.backup_mac(&self.text));
        code.as_bytes().ct_eq(&self.code).into()
    }
}

impl Reader {
    /// Opens a backup.
    ///
    /// # Errors
    /// [`BackupError::File`]; [`BackupError::WrongIdentity`]; [`BackupError::Damaged`].
    pub fn open(path: &Path, identities: &Identities) -> Result<Self, BackupError> {
        let file = File::open(path).map_err(BackupError::file(path))?;
        let decryptor = age::Decryptor::new_buffered(BufReader::new(file)).map_err(decrypting)?;
        let identities = identities.0.iter().map(|key| key as &dyn age::Identity);
        let decrypted = decryptor.decrypt(identities).map_err(decrypting)?;
        Ok(Self::of_decrypted(decrypted))
    }

    /// Reads the decrypted content of a backup.
    pub fn of_decrypted(content: impl Read + 'static) -> Self {
        Self {
            tar: tar::Archive::new(Box::new(content)),
        }
    }

    /// The first entry of a backup.
    ///
    /// # Errors
    /// As [`Reader::open`]; [`BackupError::Newer`].
    pub fn header(path: &Path, identities: &Identities) -> Result<Header, BackupError> {
        Self::open(path, identities)?.into_header()
    }

    /// Reads only the first entry.
    ///
    /// # Errors
    /// [`BackupError::Damaged`]; [`BackupError::Newer`].
    pub fn into_header(mut self) -> Result<Header, BackupError> {
        let mut entries = self.tar.entries().map_err(unreadable)?;
        let first = entries.next().ok_or_else(|| missing(HEADER))?;
        let mut first = first.map_err(unreadable)?;
        if first.path_bytes().as_ref() != HEADER.as_bytes() {
            return Err(BackupError::Damaged("it does not begin with a header".into()));
        }
        let bytes = first.size();
        let entry = Entry {
            path: HEADER,
            bytes,
            content: &mut first,
        };
        parse_header(&entry.into_bytes()?)
    }

    /// Calls `visit` for each entry between the header and the manifest, and checks all of them against the
    /// manifest. What `visit` gets is unchecked until this returns.
    pub(crate) async fn read_entries(
        mut self,
        mut visit: impl AsyncFnMut(Entry<'_>) -> Result<(), BackupError>,
    ) -> Result<VerifiedArchive, BackupError> {
        let mut digests: BTreeMap<String, SectionDigest> = BTreeMap::new();
        let (mut manifest, mut code) = (None, None);
        for entry in self.tar.entries().map_err(unreadable)? {
            let mut entry = entry.map_err(unreadable)?;
            if !entry.header().entry_type().is_file() {
                return Err(BackupError::Damaged(
                    "it contains something other than files".into(),
                ));
            }
            let path = String::from_utf8(entry.path_bytes().into_owned())
                .map_err(|_| BackupError::Damaged("a path in it is not UTF-8".into()))?;
            let bytes = entry.size();
            match path.as_str() {
                MANIFEST => {
                    let content = &mut entry;
                    manifest = Some(
                        Entry {
                            path: &path,
                            bytes,
                            content,
                        }
                        .into_bytes()?,
                    );
                }
                MAC => {
                    let content = &mut entry;
                    code = Some(
                        Entry {
                            path: &path,
                            bytes,
                            content,
                        }
                        .into_bytes()?,
                    );
                }
                _ if manifest.is_some() => {
                    return Err(BackupError::Damaged("it has data after its manifest".into()));
                }
                _ => {
                    let digest = digests.entry(section(&path).to_owned()).or_default();
                    digest.begin(&path, bytes);
                    let mut counted = DigestingReader {
                        content: entry.take(bytes),
                        digest,
                        left: bytes,
                    };
                    if path != HEADER {
                        let content = &mut counted;
                        visit(Entry {
                            path: &path,
                            bytes,
                            content,
                        })
                        .await?;
                    }
                    io::copy(&mut counted, &mut io::sink()).map_err(unreadable)?;
                    if counted.left > 0 {
                        return Err(BackupError::Damaged(format!("{path:?} is too short")));
                    }
                }
            }
        }
        // age reports a file that was cut off only when its end is read.
        io::copy(&mut self.tar.into_inner(), &mut io::sink()).map_err(unreadable)?;
        let text = manifest.ok_or_else(|| missing(MANIFEST))?;
        let code = code.ok_or_else(|| missing(MAC))?;
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(|error| BackupError::Damaged(format!("{MANIFEST}: {error}")))?;
        let found: BTreeMap<String, Section> = digests
            .into_iter()
            .map(|(name, digest)| (name, digest.finish()))
            .collect();
        if found != manifest.sections {
            let names = manifest.sections.keys().chain(found.keys());
            let differs = |name: &&String| found.get(*name) != manifest.sections.get(*name);
            let differing: std::collections::BTreeSet<&String> = names.filter(differs).collect();
            return Err(BackupError::Damaged(format!(
                "its content is not what its manifest says: {differing:?}"
            )));
        }
        Ok(VerifiedArchive { manifest, text, code })
    }
}

fn parse_header(text: &[u8]) -> Result<Header, BackupError> {
    /// The members that every version writes.
    #[derive(serde::Deserialize)]
    struct Origin {
        format: u64,
        program: String,
    }
    let damaged = |error: serde_json::Error| BackupError::Damaged(format!("{HEADER}: {error}"));
    let origin: Origin = serde_json::from_slice(text).map_err(damaged)?;
    if origin.format > u64::from(FORMAT) {
        return Err(BackupError::Newer(origin.program));
    }
    serde_json::from_slice(text).map_err(damaged)
}

/// The first part of a path.
fn section(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, BackupError> {
    serde_json::to_vec(value).map_err(|error| BackupError::Damaged(error.to_string()))
}

fn missing(entry: &str) -> BackupError {
    BackupError::Damaged(format!("it has no {entry}, so it was cut off or is no backup"))
}

fn unreadable(error: io::Error) -> BackupError {
    BackupError::Damaged(format!("it is damaged or was cut off: {error}"))
}

fn decrypting(error: age::DecryptError) -> BackupError {
    match error {
        age::DecryptError::NoMatchingKeys => BackupError::WrongIdentity,
        age::DecryptError::InvalidHeader => {
            BackupError::Damaged("it is not a backup, or its beginning is damaged".into())
        }
        error => BackupError::Damaged(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
