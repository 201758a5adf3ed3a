//! What a process behind its walls can and cannot do. `examples/misbehave.rs` tries each act.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot set its process up has failed, and its output shows the acts"
)]

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The acts that need files, which Landlock refuses before the system calls are closed.
const FILES: [&str; 5] = [
    "write beside the model",
    "read the key",
    "list the key's folder",
    "read the parent's environment",
    "read the parent's memory by file",
];
/// The acts that nothing may allow once the walls are closed.
const FORBIDDEN: [&str; 14] = [
    "read the model",
    "read the parent's memory by call",
    "trace the parent",
    "signal the parent",
    "use an inherited descriptor",
    "read the environment",
    "open a TCP socket",
    "open a UDP socket",
    "open a Unix socket",
    "connect to a Unix socket",
    "start a program",
    "leave its namespaces",
    "raise a limit",
    "allow itself more processor time",
];
/// The acts that are needed or harmless.
const ALLOWED: [&str; 1] = ["start a thread"];

fn example() -> PathBuf {
    // target/PROFILE/deps/walls-… → target/PROFILE/examples/misbehave
    let own = std::env::current_exe().unwrap();
    own.ancestors().nth(2).unwrap().join("examples/misbehave")
}

/// Starts the example, with a secret in a file and in a descriptor, and returns what became of each act.
fn outcomes(extent: &str, acts: &[&str]) -> BTreeMap<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models");
    std::fs::create_dir(&models).unwrap();
    std::fs::write(models.join("model"), "weights").unwrap();
    let secret = folder.path().join("master.key");
    std::fs::write(&secret, "secret").unwrap();
    let _listening = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    let inherited = std::fs::File::open(&secret).unwrap();
    // Rust opens files with close-on-exec. Clearing the flag lets the child inherit the descriptor.
    rustix::io::fcntl_setfd(inherited.as_fd(), rustix::io::FdFlags::empty()).unwrap();
    let output = Command::new(example())
        .arg(extent)
        .args([&models, &secret] as [&Path; 2])
        .args(acts)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{:?} {text}", output.status);
    println!("{text}");
    text.lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(act, outcome)| (act.to_owned(), outcome.to_owned()))
        .collect()
}

#[test]
fn most_acts_succeed_without_walls() {
    // Tracing and reading another process's memory depend on the kernel's settings, so the control omits them.
    let acts = [
        "read the model",
        "write beside the model",
        "read the key",
        "list the key's folder",
        "read the parent's environment",
        "use an inherited descriptor",
        "signal the parent",
        "open a TCP socket",
        "open a UDP socket",
        "open a Unix socket",
        "connect to a Unix socket",
        "start a program",
        "start a thread",
        "take 2 GiB",
    ];
    let found = outcomes("none", &acts);
    for act in acts {
        assert_eq!(found[act], "SUCCEEDED", "{act}");
    }
}

#[test]
fn a_process_behind_closed_walls_can_only_compute() {
    let acts = [&FILES[..], &FORBIDDEN, &ALLOWED].concat();
    let found = outcomes("close", &acts);
    for act in FILES.iter().chain(&FORBIDDEN) {
        assert!(found[*act].starts_with("refused"), "{act}: {}", found[*act]);
    }
    for act in ALLOWED {
        assert_eq!(found[act], "SUCCEEDED", "{act}");
    }
}

#[test]
fn before_the_walls_are_closed_only_the_named_folder_can_be_read() {
    let acts = [&FILES[..], &["read the model", "use an inherited descriptor"]].concat();
    let found = outcomes("build", &acts);
    if found.contains_key("missing files") {
        println!("this kernel has no Landlock");
        return;
    }
    assert_eq!(found["read the model"], "SUCCEEDED");
    for act in FILES.iter().chain(&["use an inherited descriptor"]) {
        assert!(found[*act].starts_with("refused"), "{act}: {}", found[*act]);
    }
}

#[test]
fn memory_is_limited() {
    assert!(outcomes("close", &["take 2 GiB"])["take 2 GiB"].starts_with("refused"));
}
