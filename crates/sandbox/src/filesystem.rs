//! Access to files (landlock(7)).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope, path_beneath_rules,
};

/// The newest version of Landlock whose rules are asked for. Older kernels enforce what they know.
const NEWEST: ABI = ABI::V6;

/// The folders of the system's shared libraries: the usual ones, and those that this process has loaded
/// libraries from.
pub fn library_folders() -> Vec<PathBuf> {
    let mut folders: BTreeSet<PathBuf> = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"]
        .map(PathBuf::from)
        .into();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    folders.extend(loaded_from(&maps));
    folders.into_iter().filter(|folder| folder.exists()).collect()
}

/// The folders of shared libraries in a process's maps (proc_pid_maps(5)).
fn loaded_from(maps: &str) -> impl Iterator<Item = PathBuf> {
    maps.lines()
        .filter_map(|line| line.find('/').map(|start| Path::new(&line[start..])))
        .filter(|file| file.to_string_lossy().contains(".so"))
        .filter_map(|library| library.parent().map(Path::to_owned))
}

/// Allows reading beneath `readable`, and no other access to any file. Where the kernel can, it also refuses
/// TCP, abstract sockets of other processes, and signals to them.
pub(crate) fn allow_only(readable: &[PathBuf]) -> Result<(), String> {
    let restricted = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(|rules| rules.create())
        .and_then(|rules| {
            rules.add_rules(path_beneath_rules(
                readable,
                AccessFs::ReadFile | AccessFs::ReadDir,
            ))
        })
        .and_then(|rules| rules.restrict_self())
        .map_err(|error| error.to_string())?;
    match restricted.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err("the kernel has no Landlock".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_loaded_libraries_are_found_in_the_maps() {
        let maps = "55d0 r-xp 0000 fe:00 1 /usr/bin/program\n\
                    7f00 r--p 0000 fe:00 2 /opt/libs/libc.so.6\n\
                    7f10 rw-p 0000 00:00 0 [heap]\n";
        assert_eq!(loaded_from(maps).collect::<Vec<_>>(), [Path::new("/opt/libs")]);
        assert!(library_folders().iter().all(|folder| folder.is_absolute()));
    }
}
