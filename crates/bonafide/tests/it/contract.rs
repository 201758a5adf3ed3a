//! Checks that the tests that `docs/contract.md` names for the contract's rows exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::workspace;

/// Every Rust file below a folder, with its text.
fn sources(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            found.push((path, text));
        }
    }
}

/// Whether a test exists: a file's path must contain all parts of the name except the last, and define the
/// last as a test.
fn exists(name: &str, sources: &[(PathBuf, String)]) -> bool {
    let (place, test) = name.rsplit_once("::").unwrap_or(("", name));
    let definitions = [format!("fn {test}("), format!("on_both!({test},")];
    sources.iter().any(|(path, text)| {
        let path = path.to_string_lossy();
        place.split("::").all(|part| path.contains(part))
            && definitions.iter().any(|definition| text.contains(definition))
    })
}

#[test]
fn every_proof_exists() {
    let mut rust = Vec::new();
    sources(&workspace().join("crates"), &mut rust);
    let page = fs::read_to_string(workspace().join("docs/contract.md")).expect("docs/contract.md");
    let named: Vec<&str> = page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.contains("::"))
        .collect();
    assert!(named.len() > 50, "{}", named.len());
    let missing: Vec<&str> = named.into_iter().filter(|name| !exists(name, &rust)).collect();
    assert!(
        missing.is_empty(),
        "named in docs/contract.md, found nowhere: {missing:?}"
    );
}
