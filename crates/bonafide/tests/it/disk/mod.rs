//! Disks that lose power and disks that are full. `shim.c` runs inside the real server and intercepts its
//! writes and syncs. SQLite only, because PostgreSQL has its own disk.

mod full;
mod power;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::harness::Environment;

/// Compiles the shim for this test. The file name is unique, because several test programs can run at once.
fn shim(folder: &Path) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/disk/shim.c");
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let library = folder.join(format!("shim-{number}.so"));
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status()
        .unwrap();
    assert!(compiled.success(), "cc: {compiled}");
    library
}

/// The environment variables that place the files under `root` on such a disk. `tools` must exist as long as
/// the environment is used.
fn behind_shim(root: &Path, tools: &Path, variables: &[(&'static str, String)]) -> Environment {
    let mut environment = vec![
        ("LD_PRELOAD", shim(tools).display().to_string()),
        ("DISK_ROOT", root.canonicalize().unwrap().display().to_string()),
    ];
    environment.extend_from_slice(variables);
    environment
}
