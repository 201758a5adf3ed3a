//! Why a backup could not be made, checked or restored.

use std::io;
use std::path::{Path, PathBuf};

/// Why a backup could not be made, checked or restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// A file could not be read or written.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// The backup was not made by this program, is damaged, or ends early.
    #[error("the backup cannot be used: {0}")]
    Damaged(String),
    /// None of the private keys opens the backup.
    #[error("none of the private keys opens this backup: use the key whose public key it was encrypted to")]
    WrongIdentity,
    /// The file of private keys cannot be used.
    #[error("{path} has no private key (a line that begins with AGE-SECRET-KEY-1)")]
    NoIdentity {
        /// The file.
        path: PathBuf,
    },
    /// The master key belongs to another installation than the backup.
    #[error(
        "the master key does not belong to this backup. Nothing was restored. Use the master key of the \
         installation that made the backup"
    )]
    ForeignKey,
    /// The keyring lacks the master key in use when the backup was made.
    #[error(
        "the master key is an older copy: it lacks the master key that was in use when the backup was made. Nothing \
         was restored. Specify a master key file that was copied after the last `bonafide keys rotate`"
    )]
    OlderKey,
    /// The folder of the new backup does not exist.
    #[error(
        "the folder {0} does not exist. Create it, or specify a file name with an extension, such as backup.age"
    )]
    NoFolder(PathBuf),
    /// A newer program made the backup.
    #[error("a newer version of this program made the backup (version {0}). Restore it with that version")]
    Newer(String),
    /// A file became shorter while it was copied.
    #[error("{0} changed while it was copied. Run the backup again")]
    Changed(String),
    /// Another process uses the folder.
    #[error("another backup or restore is using {0}. Wait until it ends")]
    Busy(PathBuf),
    /// The copy of the journal lacks an entry that the backup has.
    #[error(
        "the erasure journal is older than the backup: it lacks {0}. No database was restored. \
         Specify a newer copy with --erasure-journal"
    )]
    OlderJournal(String),
    /// The restore would overwrite something.
    #[error("{0}. Nothing was restored, because a restore never overwrites data. {1}")]
    NotEmpty(String, &'static str),
    /// No erasure journal was found.
    #[error(
        "no erasure journal (erasure-journal.json) was found, so erasures after {0} cannot be repeated. Nothing was \
         restored. Specify a copy of the journal with --erasure-journal. If there is no copy, use --without-erasure-journal and \
         repeat those erasures yourself"
    )]
    NoJournal(String),
    /// The journal belongs to another installation.
    #[error(
        "the erasure journal belongs to another installation. Nothing was restored. Specify this \
         installation's journal with --erasure-journal"
    )]
    WrongJournal,
    /// A program of PostgreSQL failed or is missing.
    #[error("{program}: {reason}")]
    Tool {
        /// The program.
        program: &'static str,
        /// What it printed, or why it did not start.
        reason: String,
    },
    /// An argument cannot be used.
    #[error("{0}")]
    Argument(String),
    /// The database or the object store.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// An erasure recorded in the journal could not be repeated.
    #[error(
        "an erasure recorded in the journal could not be repeated: {0}. Run the same command again to finish"
    )]
    Erasure(String),
}

impl BackupError {
    /// An error about a file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |reason| Self::File { path, reason }
    }
}
