//! Hashes what an index depends on, so that a program never reads an index that another version built.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::path::Path;

fn main() {
    let mut hasher = DefaultHasher::new();
    for path in ["src", "../reference/src", "../../Cargo.lock"] {
        println!("cargo::rerun-if-changed={path}");
        hash(Path::new(path), &mut hasher);
    }
    println!("cargo::rustc-env=SANCTIONS_SOURCES={:016x}", hasher.finish());
}

fn hash(path: &Path, hasher: &mut DefaultHasher) {
    if let Ok(entries) = fs::read_dir(path) {
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().for_each(|path| hash(path, hasher));
    } else {
        let content = fs::read(path);
        content
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            .hash(hasher);
    }
}
