//! Files of lists in a folder, for machines without a network. This module connects to nothing.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::FetchError;
use crate::sources::ListSource;

/// The newest file of a list in a folder, by the names that its publisher gives it.
///
/// # Errors
/// [`FetchError::NotInFolder`] and [`FetchError::Folder`].
pub fn newest_file(source: &ListSource, folder: &Path) -> Result<PathBuf, FetchError> {
    let shown = folder.display().to_string();
    let unreadable = |source| FetchError::Folder {
        folder: shown.clone(),
        source,
    };
    let mut newest: Option<(SystemTime, PathBuf)> = None;
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !source.files.iter().any(|pattern| matches(pattern, &name)) {
            continue;
        }
        let data = std::fs::metadata(entry.path()).map_err(unreadable)?;
        let modified = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if data.is_file() && newest.as_ref().is_none_or(|(time, _)| *time < modified) {
            newest = Some((modified, entry.path()));
        }
    }
    newest
        .map(|(_, path)| path)
        .ok_or_else(|| FetchError::NotInFolder {
            list: source.list.clone(),
            folder: shown.clone(),
            expected: source.files.join(" or "),
        })
}

/// Whether a file's name has the form of a pattern in lower case with at most two `*`.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or("")) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;
    use crate::sources::{ListSourceConfig, ListSources};

    #[test]
    fn patterns() {
        for (pattern, name, is_match) in [
            ("sdn_advanced.xml", "SDN_ADVANCED.XML", true),
            ("sdn_advanced.xml", "sdn_advanced.xml.part", false),
            ("sdn_advanced*.xml", "sdn_advanced (1).xml", true),
            ("sdn_advanced*.xml", "old_sdn_advanced.xml", false),
            ("*full-1_1*.xml", "20260227-FULL-1_1(xsd).xml", true),
            ("*full-1_1*.xml", "20260227-FULL-1_0.xml", false),
            ("a*a", "a", false),
            ("x*", "x", true),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }

    #[test]
    fn the_newest_file_counts() {
        let folder = tempfile::tempdir().unwrap();
        let sources = ListSources::new(&ListSourceConfig::default()).unwrap();
        let source = sources.source("us_ofac_sdn", false).unwrap();
        let missing = newest_file(&source, folder.path()).unwrap_err().to_string();
        assert!(
            missing.contains("us_ofac_sdn") && missing.contains("sdn_advanced.xml"),
            "{missing}"
        );
        for (name, hour) in [
            ("sdn_advanced.xml", 1),
            ("SDN_ADVANCED (1).XML", 3),
            ("cons_advanced.xml", 5),
        ] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(3_600 * hour))
                .unwrap();
        }
        std::fs::create_dir(folder.path().join("sdn_advanced_folder.xml")).unwrap();
        let found = newest_file(&source, folder.path()).unwrap();
        assert!(found.ends_with("SDN_ADVANCED (1).XML"), "{found:?}");
        let gone = newest_file(&source, &folder.path().join("gone")).unwrap_err();
        assert!(matches!(gone, FetchError::Folder { .. }));
    }
}
