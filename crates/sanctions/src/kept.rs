//! Earlier versions of lists, kept beside the folder of lists in use: what changed is found by comparing with them.
//! Nothing here is ever screened against.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The folder of earlier versions in the folder of lists. Backups leave it out.
const FOLDER: &str = ".earlier";
/// How many earlier versions of a list are kept.
const KEPT: usize = 5;

/// The earlier versions of the lists of a folder.
#[derive(Clone, Debug)]
pub(crate) struct KeptVersions {
    folder: PathBuf,
}

impl KeptVersions {
    pub(crate) fn of(lists: &Path) -> KeptVersions {
        KeptVersions {
            folder: lists.join(FOLDER),
        }
    }

    /// The folder of a list's versions; `list` is safe as a part of a path.
    fn of_list(&self, list: &str) -> PathBuf {
        self.folder.join(list)
    }

    fn file_name(digest: &str) -> String {
        let hexadecimal: String = digest.chars().filter(char::is_ascii_hexdigit).collect();
        format!("{hexadecimal}.list.jsonl")
    }

    /// Keeps a file that is about to be replaced, and deletes the oldest versions beyond [`KEPT`]. The file itself
    /// stays where it is.
    pub(crate) fn keep(&self, file: &Path, list: &str, digest: &str) -> io::Result<()> {
        let folder = self.of_list(list);
        fs::create_dir_all(&folder)?;
        let place = folder.join(Self::file_name(digest));
        if !place.exists() && fs::hard_link(file, &place).is_err() {
            let beside = place.with_extension("new");
            fs::copy(file, &beside)?;
            fs::rename(&beside, &place)?;
        }
        // The order of replacement, whenever the content was imported.
        fs::File::open(&place)?.set_modified(SystemTime::now())?;
        let mut files = self.files(list)?;
        files.reverse();
        for old in files.into_iter().skip(KEPT) {
            fs::remove_file(old)?;
        }
        Ok(())
    }

    /// The file of a version, if it is kept.
    pub(crate) fn find(&self, list: &str, digest: &str) -> Option<PathBuf> {
        let file = self.of_list(list).join(Self::file_name(digest));
        file.exists().then_some(file)
    }

    /// The kept files of a list, the one that was replaced last at the end.
    pub(crate) fn files(&self, list: &str) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(self.of_list(list)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry?;
            if entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "jsonl")
            {
                files.push((entry.metadata()?.modified()?, entry.path()));
            }
        }
        files.sort();
        Ok(files.into_iter().map(|(_, path)| path).collect())
    }

    /// Deletes all versions of a list.
    pub(crate) fn remove(&self, list: &str) -> io::Result<()> {
        match fs::remove_dir_all(self.of_list(list)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
