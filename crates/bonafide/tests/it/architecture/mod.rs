//! Enforces the rules of ARCHITECTURE.md: the permitted dependencies between crates, no circle of files
//! inside a crate, transactions only in services, and files of a readable length. It reads sources as text
//! and compiles nothing.

mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use self::imports::{Source, circles, sources};

/// The crates, lowest floor first. A crate may depend only on crates of lower floors.
const FLOORS: &[&[&str]] = &[
    &[
        "reference",
        "resampling",
        "sealing",
        "sandbox",
        "mapped-file",
        "faults",
    ],
    &["imaging", "inference", "chain"],
    &["phone-camera"],
    &["documents", "faces", "sanctions", "chain-sources", "list-sources"],
    &["engine-process", "films", "verification", "store"],
    &["node"],
    &["service"],
    &["portal-accounts"],
    &["http-server", "backup"],
    &["api", "hosted-page"],
    &["portal"],
    &["bonafide"],
];

/// Crates that no use case, rule or engine may depend on.
const NO_AXUM: [&str; 6] = ["axum", "axum-extra", "hyper", "tower-http", "utoipa", "askama"];

const MOST_LINES: usize = 600;
/// Files that are tables: data with its source, in Rust syntax. They may be longer.
const TABLES: &[&str] = &[];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names under `[dependencies]` and `[dev-dependencies]` of a crate.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = root().join("crates").join(name).join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).unwrap_or_else(|error| panic!("{manifest:?}: {error}"));
    let mut section = "";
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section.contains("dependencies")
            && let Some(end) = line.find(['.', ' ', '='])
        {
            found.push(line[..end].to_owned());
        }
    }
    found
}

fn crates() -> Vec<String> {
    let folders = std::fs::read_dir(root().join("crates")).unwrap();
    folders
        .map(|folder| folder.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn crates_depend_on_lower_floors_only() {
    let floors = FLOORS.iter().enumerate();
    let floor_of: BTreeMap<&str, usize> = floors
        .flat_map(|(floor, names)| names.iter().map(move |name| (*name, floor)))
        .collect();
    let mut upwards = Vec::new();
    for name in crates() {
        let own = floor_of
            .get(name.as_str())
            .unwrap_or_else(|| panic!("{name} has no floor above"));
        for dependency in dependencies(&name) {
            if floor_of
                .get(dependency.as_str())
                .is_some_and(|floor| floor >= own)
            {
                upwards.push(format!("{name} -> {dependency}"));
            }
        }
    }
    assert!(upwards.is_empty(), "{upwards:#?}");
}

#[test]
fn only_the_upper_floors_know_http() {
    let lower = FLOORS
        .iter()
        .take_while(|names| !names.contains(&"http-server"))
        .copied()
        .flatten();
    for name in lower {
        let known: Vec<String> = dependencies(name)
            .into_iter()
            .filter(|dependency| NO_AXUM.contains(&dependency.as_str()))
            .collect();
        assert!(known.is_empty(), "{name}: {known:?}");
    }
}

#[test]
fn no_files_of_a_crate_depend_on_each_other() {
    let mut found = Vec::new();
    for name in crates() {
        let files = sources(&root().join("crates").join(&name).join("src"));
        found.extend(
            circles(&files)
                .into_iter()
                .map(|circle| format!("{name}: {circle}")),
        );
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn only_services_open_transactions() {
    let mut opened = Vec::new();
    let mut read = 0;
    for name in crates() {
        if ["service", "portal-accounts", "store"].contains(&name.as_str()) {
            continue;
        }
        for file in sources(&root().join("crates").join(&name).join("src")) {
            read += 1;
            if file.text.contains("transaction!(") {
                opened.push(file.path);
            }
        }
    }
    assert!(read > 200, "{read}");
    assert!(
        opened.is_empty(),
        "move these transactions to `service` or `portal-accounts`: {opened:?}"
    );
}

#[test]
fn only_engine_workers_read_files() {
    let engines = ["imaging::decode", "DocumentEngine", "FaceEngine", "Models::open"];
    let serving = [
        "node",
        "service",
        "portal-accounts",
        "http-server",
        "api",
        "hosted-page",
        "portal",
    ];
    let mut found = Vec::new();
    let mut read = 0;
    for name in serving {
        for file in sources(&root().join("crates").join(name).join("src")) {
            read += 1;
            let uses = engines.iter().filter(|engine| file.text.contains(*engine));
            found.extend(uses.map(|engine| format!("{}: {engine}", file.path.display())));
        }
    }
    assert!(read > 200, "{read}");
    assert!(found.is_empty(), "use `engine_process` instead: {found:#?}");
}

#[test]
fn files_have_a_readable_length() {
    let mut long = Vec::new();
    for name in crates() {
        for folder in ["src", "tests", "benches"] {
            for file in sources(&root().join("crates").join(&name).join(folder)) {
                let path = file.path.display().to_string();
                let lines = file.lines;
                if lines > MOST_LINES && !TABLES.iter().any(|table| path.ends_with(table)) {
                    long.push(format!("{path}: {lines} lines"));
                }
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

/// What is recorded has a description on `/metrics`, and what is described is recorded.
#[test]
fn recorded_metrics_are_those_of_the_table() {
    let (mut recorded, mut described) = (BTreeSet::new(), BTreeSet::new());
    for name in crates() {
        for Source { path, text, .. } in sources(&root().join("crates").join(name).join("src")) {
            let found = if path.ends_with("metric_table.rs") {
                &mut described
            } else {
                &mut recorded
            };
            let names = text
                .match_indices("\"bonafide_")
                .filter_map(|(at, _)| text[at + 1..].split('"').next());
            let is_metric = |name: &&str| {
                let ends = ["_total", "_seconds", "_bytes", "_objects"];
                ends.iter().any(|end| name.ends_with(end)) || text.contains(&format!("gauge!(\"{name}\""))
            };
            found.extend(
                names
                    .filter(|name| path.ends_with("metric_table.rs") || is_metric(name))
                    .map(str::to_owned),
            );
        }
    }
    assert_eq!(recorded, described);
}
