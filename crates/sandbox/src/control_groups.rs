//! Control groups (cgroups(7), version 2): where the operating system delegates one to the server, each confined
//! process gets a group of its own, which limits its memory, with the kernel's memory for it, and its threads.
//!
//! The limits of [`crate::limits`] apply in any case. This module never asks for a group that was not delegated, and
//! leaves version 1 alone.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::limits::THREADS;

/// The group of the server within the delegated one. Groups that limit anything for others contain no process
/// themselves, so the server moves there.
const SERVER: &str = "server";
/// The name of a confined process's group begins with this and ends with the process's id.
const CONFINED: &str = "engine-";
/// What the delegated group must be able to limit.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];

/// Prepares the delegated group of this process: moves it to a group below, so that confined processes can get
/// sibling groups. Call it before the first confined process starts.
///
/// # Errors
/// The reason why no group can be used. On an error, nothing has changed.
pub fn prepare_control_group() -> Result<(), String> {
    let own = Own::read()?;
    let folder = own.folder()?;
    if delegated(&folder).is_err() && !own.is_delegated(&folder) {
        return Err("no control group is delegated to the server (systemd: Delegate=memory pids)".into());
    }
    prepare(&folder, std::process::id())
}

fn prepare(own: &Path, process: u32) -> Result<(), String> {
    if delegated(own).is_ok() {
        // systemd's DelegateSubgroup=server, or an earlier server in a container.
        return Ok(());
    }
    has_controllers(&own.join("cgroup.controllers"))?;
    let server = own.join(SERVER);
    create(&server)?;
    let enable = CONTROLLERS.map(|name| format!("+{name}")).join(" ");
    let moved = write(&server.join("cgroup.procs"), process)
        .and_then(|()| write(&own.join("cgroup.subtree_control"), &enable));
    if moved.is_err() {
        let _ = write(&own.join("cgroup.procs"), process);
        let _ = fs::remove_dir(&server);
    }
    moved
}

/// Moves this process to a new group that limits its memory to `memory` bytes, without swap. It must be the child of a
/// process that was prepared.
pub(crate) fn enter(memory: u64) -> Result<(), String> {
    let own = Own::read()?;
    let group = enter_as(&own.folder()?, std::process::id(), memory)?;
    // "0" is the writing process, also in a PID namespace.
    write(&group.join("cgroup.procs"), 0)
}

/// Makes a group for a process beside its parent's, and sets its limits.
fn enter_as(own: &Path, process: u32, memory: u64) -> Result<PathBuf, String> {
    let base = delegated(own)?;
    remove_abandoned(base);
    let group = base.join(format!("{CONFINED}{process}"));
    create(&group)?;
    write(&group.join("memory.max"), memory)?;
    write(&group.join("pids.max"), THREADS)?;
    // Kernels without swap accounting lack the first; the second ends all threads of the process together.
    let _ = write(&group.join("memory.swap.max"), 0);
    let _ = write(&group.join("memory.oom.group"), 1);
    Ok(group)
}

/// The delegated group, from that of the server or of its child.
fn delegated(own: &Path) -> Result<&Path, String> {
    let base = own.parent().filter(|_| own.ends_with(SERVER));
    let base = base.ok_or("no control group is delegated to the server")?;
    has_controllers(&base.join("cgroup.subtree_control"))?;
    Ok(base)
}

fn create(group: &Path) -> Result<(), String> {
    match fs::create_dir(group) {
        // Left by a process that had the same id.
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(at(group, &error)),
        _ => Ok(()),
    }
}

fn has_controllers(file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| at(file, &error))?;
    let has = |name: &&str| text.split_whitespace().any(|has| has == *name);
    match CONTROLLERS.iter().find(|name| !has(name)) {
        Some(missing) => Err(format!(
            "{} does not list the controller `{missing}`",
            file.display()
        )),
        None => Ok(()),
    }
}

/// Removes the groups of processes that have ended. The kernel refuses to remove one that is in use.
fn remove_abandoned(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(CONFINED));
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The group of this process and where groups are mounted.
struct Own {
    path: String,
    mount: PathBuf,
}

impl Own {
    fn read() -> Result<Self, String> {
        let read = |file: &str| fs::read_to_string(file).map_err(|error| at(Path::new(file), &error));
        let path = path_of(&read("/proc/self/cgroup")?).map(str::to_owned);
        let mount = mount_of(&read("/proc/self/mountinfo")?);
        match (path, mount) {
            (Some(path), Some(mount)) => Ok(Own { path, mount }),
            _ => Err("the system has no control groups of version 2".into()),
        }
    }

    /// Whether the group is this process's to divide: systemd marked it, it is the outermost one of a container, or
    /// its owner is not root.
    fn is_delegated(&self, folder: &Path) -> bool {
        let is_marked = |name: &str| {
            let mut value = [0; 1];
            rustix::fs::getxattr(folder, name, &mut value).is_ok_and(|length| value[..length] == *b"1")
        };
        let is_marked = is_marked("trusted.delegate") || is_marked("user.delegate");
        // The outermost group of the machine has no type.
        let is_containers = self.path == "/" && folder.join("cgroup.type").exists();
        is_marked || is_containers || !rustix::process::geteuid().is_root()
    }

    fn folder(&self) -> Result<PathBuf, String> {
        let relative = Path::new(self.path.trim_start_matches('/'));
        // Outside its namespace, a group's path begins with `/..`.
        match relative
            .components()
            .any(|part| part == std::path::Component::ParentDir)
        {
            true => Err(format!(
                "the control group {} is outside this process's cgroup namespace",
                self.path
            )),
            false => Ok(self.mount.join(relative)),
        }
    }
}

/// The path of a process's group of version 2 (`/proc/PID/cgroup`).
fn path_of(cgroup: &str) -> Option<&str> {
    cgroup.lines().find_map(|line| line.strip_prefix("0::"))
}

/// Where groups of version 2 are mounted (proc_pid_mountinfo(5): field 5, and the type behind the separator).
fn mount_of(mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (before, behind) = line.split_once(" - ")?;
        let is_groups = behind.split(' ').next() == Some("cgroup2");
        before.split(' ').nth(4).filter(|_| is_groups).map(PathBuf::from)
    })
}

fn write(file: &Path, value: impl ToString) -> Result<(), String> {
    fs::write(file, value.to_string()).map_err(|error| at(file, &error))
}

fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with the files of a delegated group.
    fn group(controllers: &str, subtree: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cgroup.controllers"), controllers).unwrap();
        fs::write(folder.path().join("cgroup.subtree_control"), subtree).unwrap();
        folder
    }

    fn read(folder: &Path, file: &str) -> String {
        fs::read_to_string(folder.join(file)).unwrap()
    }

    #[test]
    fn the_server_moves_below_its_group_and_confined_processes_beside_it() {
        let folder = group("cpu memory pids\n", "");
        let base = folder.path();
        prepare(base, 7).unwrap();
        assert_eq!(read(base, "server/cgroup.procs"), "7");
        assert_eq!(read(base, "cgroup.subtree_control"), "+memory +pids");
        // The kernel answers without the signs.
        fs::write(base.join("cgroup.subtree_control"), "memory pids\n").unwrap();
        let server = base.join("server");
        prepare(&server, 7).unwrap();
        assert!(!server.join("server").exists(), "it is prepared once");

        let abandoned = base.join("engine-4194305");
        fs::create_dir(&abandoned).unwrap();
        let made = enter_as(&server, std::process::id(), 5 << 20).unwrap();
        assert_eq!(made, base.join(format!("engine-{}", std::process::id())));
        assert_eq!(read(&made, "memory.max"), (5 << 20).to_string());
        assert_eq!(read(&made, "pids.max"), "64");
        assert_eq!(read(&made, "memory.swap.max"), "0");
        assert!(!abandoned.exists(), "no process has this id");
    }

    #[test]
    fn what_was_not_delegated_stays_as_it_is() {
        for (controllers, reason) in [("", "`memory`"), ("cpu memory\n", "`pids`")] {
            let folder = group(controllers, "");
            let error = prepare(folder.path(), 7).unwrap_err();
            assert!(error.contains(reason), "{error}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        }
        // Controllers that may not be enabled: the server moves back.
        let folder = group("memory pids\n", "");
        fs::remove_file(folder.path().join("cgroup.subtree_control")).unwrap();
        fs::create_dir(folder.path().join("cgroup.subtree_control")).unwrap();
        prepare(folder.path(), 7).unwrap_err();
        assert_eq!(read(folder.path(), "cgroup.procs"), "7");

        let folder = group("memory pids\n", "memory pids\n");
        for own in ["server", "other"] {
            fs::create_dir(folder.path().join(own)).unwrap();
        }
        enter_as(&folder.path().join("other"), 1, 1).unwrap_err();
        fs::write(folder.path().join("cgroup.subtree_control"), "memory\n").unwrap();
        enter_as(&folder.path().join("server"), 1, 1).unwrap_err();
    }

    #[test]
    fn the_group_and_its_mount_are_found() {
        let first_version = "9:name=systemd:/a\n4:memory:/b\n0::/system.slice/bonafide.service\n";
        assert_eq!(path_of(first_version), Some("/system.slice/bonafide.service"));
        assert_eq!(path_of("4:memory:/b\n"), None);
        let mounts = "24 18 0:21 / /sys rw - sysfs sysfs rw\n\
                      31 24 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n\
                      30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:8 - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(mount_of(mounts), Some(PathBuf::from("/sys/fs/cgroup")));
        assert_eq!(mount_of("nonsense\n24 18 - cgroup2\n"), None);
        for (path, folder) in [
            ("/", Some("/sys/fs/cgroup")),
            ("/a/b", Some("/sys/fs/cgroup/a/b")),
            ("/../c", None),
        ] {
            let own = Own {
                path: path.into(),
                mount: "/sys/fs/cgroup".into(),
            };
            assert_eq!(own.folder().ok().as_deref(), folder.map(Path::new), "{path}");
        }
    }
}
