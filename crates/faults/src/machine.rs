//! Faults of a node's machine: a wrong clock, a full disk, and an earlier version of the program. The wrong clock
//! is injected into one process by Debian's library `faketime`; the machine's own clock is never changed.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use jiff::{SignedDuration, Timestamp};
use reqwest::header::DATE;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::effect::Effect;
use crate::installation::{Installation, NodeOptions};

/// How long such a fault lasts.
const LASTS: Duration = Duration::from_secs(8);
/// A clock that differs by more is wrong; the injected error is an hour.
const WRONG: SignedDuration = SignedDuration::from_mins(30);
/// How long a node under a fault may take to be ready, before the fault goes on without it.
const STARTS: Duration = Duration::from_secs(30);
/// The size of the small disk, in MiB. Only what is used takes memory.
const DISK: u32 = 2_048;

/// The program of [`Installation::with_older_program`].
static OLDER: OnceLock<PathBuf> = OnceLock::new();

/// Names the earlier version of the program.
pub(crate) fn set_older_program(program: &Path) -> anyhow::Result<()> {
    let program = program
        .canonicalize()
        .with_context(|| format!("--older-program {} is missing", program.display()))?;
    OLDER.get_or_init(|| program);
    Ok(())
}

/// Whether `--older-program` was given.
pub(crate) fn has_older_program() -> bool {
    OLDER.get().is_some()
}

/// Whether a disk can be mounted.
pub(crate) fn can_mount() -> bool {
    rustix::process::geteuid().is_root()
}

/// The library that changes the time of one process.
pub(crate) fn faketime() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten();
    let library = |folder: PathBuf| folder.join("faketime/libfaketime.so.1");
    let mut found = folders.map(|folder| library(folder.path()));
    found.find(|library| library.exists())
}

/// The outcome of a start under a fault.
enum Start {
    Ready,
    NotReady(String),
    Ended,
}

/// A node that ran under a fault.
struct Ran {
    start: Start,
    /// How far its clock was from this process's, if it answered.
    clock: Option<SignedDuration>,
}

impl Installation {
    /// Runs a node with a wrong clock for a while. `offset` is as `FAKETIME` takes it, such as `+1h`.
    pub(crate) async fn with_clock(&self, node: usize, offset: &str) -> anyhow::Result<Effect> {
        let library = faketime().context("a wrong clock needs Debian's package faketime")?;
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let options = NodeOptions {
            program: None,
            env: vec![
                variable("LD_PRELOAD", &library.display().to_string()),
                variable("FAKETIME", offset),
                // Only the time of day is wrong. A machine's monotonic clock never jumps.
                variable("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ],
        };
        let ran = self.run_with(node, &options).await?;
        match ran.start {
            Start::Ready => {}
            Start::NotReady(why) => {
                println!("         not ready with a clock that is {offset} off: {why}");
            }
            Start::Ended => bail!("the node does not start with a clock that is {offset} off"),
        }
        let is_wrong = ran.clock.is_some_and(|clock| clock.abs() > WRONG);
        Ok(Effect::once(is_wrong, "wrong clock reported"))
    }

    /// Runs a node with the earlier version of the program for a while. That version may refuse a database
    /// that it does not know.
    pub(crate) async fn with_older_program(&self, node: usize) -> anyhow::Result<Effect> {
        let program = OLDER.get().context("this fault needs --older-program PATH")?;
        let options = NodeOptions {
            program: Some(program.clone()),
            env: Vec::new(),
        };
        Ok(match self.run_with(node, &options).await?.start {
            Start::Ready => Effect::once(true, "older program ready"),
            Start::NotReady(why) => {
                println!("         the older program is not ready: {why}");
                Effect::once(true, "older program not ready")
            }
            // It must refuse a database that it does not know.
            Start::Ended => Effect::once(true, "older program refused to start"),
        })
    }

    /// Replaces a node by one with other options for a while, and starts it again as usual.
    async fn run_with(&self, node: usize, options: &NodeOptions) -> anyhow::Result<Ran> {
        self.end(node, Signal::TERM).await?;
        self.start_node_with(node, options).await?;
        let start = self.start_of(node).await?;
        let clock = self.clock_of(node).await;
        if !matches!(start, Start::Ended) {
            tokio::time::sleep(LASTS).await;
            self.signal(node, Signal::TERM).await?;
        }
        self.wait_for_end(node).await?;
        self.start_node(node).await?;
        Ok(Ran { start, clock })
    }

    /// How far a node's clock is from this process's, by the header `Date` of an answer; `None` without one.
    async fn clock_of(&self, node: usize) -> Option<SignedDuration> {
        let url = format!("{}/readyz", self.nodes[node].base());
        let answer = self.http.get(url).send().await.ok()?;
        let date = answer.headers().get(DATE)?.to_str().ok()?;
        let date = jiff::fmt::rfc2822::parse(date).ok()?.timestamp();
        Some(date.duration_since(Timestamp::now()))
    }

    /// Waits until a node is ready or has ended.
    async fn start_of(&self, node: usize) -> anyhow::Result<Start> {
        let deadline = Instant::now() + STARTS;
        let url = format!("{}/readyz", self.nodes[node].base());
        loop {
            if self.has_ended(node).await? {
                return Ok(Start::Ended);
            }
            let mut why = "no answer".to_owned();
            if let Ok(answer) = self.http.get(&url).send().await {
                if answer.status().is_success() {
                    return Ok(Start::Ready);
                }
                let body: Value = serde_json::from_str(&answer.text().await?).unwrap_or_default();
                let parts = body["parts"].as_array().into_iter().flatten();
                let bad = parts.filter(|part| part["ready"] != Value::Bool(true));
                why = bad
                    .map(|part| format!("{} ({})", part["name"], part["detail"]))
                    .collect();
            }
            if Instant::now() > deadline {
                return Ok(Start::NotReady(why));
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Fills the disk of the run, and frees it again.
    pub(crate) async fn fill_disk(&self) -> anyhow::Result<Effect> {
        ensure!(
            SmallDisk::is_mounted(),
            "a full disk needs root, which mounts a small tmpfs for the run"
        );
        let path = self.folder().join("ballast");
        let full = tokio::task::spawn_blocking(move || fill(&path, LASTS / 2)).await??;
        Ok(Effect::counted(full, "times without a free page"))
    }
}

/// Fills the disk of a file for a while, and deletes the file. Returns how often the disk had no free page. It
/// blocks its thread.
fn fill(path: &Path, time: Duration) -> std::io::Result<u64> {
    let mut ballast = File::create(path)?;
    let end = Instant::now() + time;
    let piece = vec![0; 1 << 20];
    let mut full = 0;
    while Instant::now() < end {
        // What others free meanwhile is filled too, down to the last page.
        while ballast.write_all(&piece).is_ok() {}
        let refused = loop {
            if let Err(error) = ballast.write_all(&piece[..4_096]) {
                break error;
            }
        };
        full += u64::from(refused.kind() == std::io::ErrorKind::StorageFull);
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(ballast);
    std::fs::remove_file(path)?;
    Ok(full)
}

/// A small disk in memory, on which the whole run takes place.
pub(crate) struct SmallDisk {
    folder: TempDir,
}

static MOUNTED: OnceLock<PathBuf> = OnceLock::new();

impl SmallDisk {
    /// Mounts a disk, and makes every later temporary folder on it.
    pub(crate) fn mount() -> anyhow::Result<SmallDisk> {
        let folder = tempfile::Builder::new().prefix("bonafide-disk-").tempdir()?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={DISK}m,mode=711"), "faults"])
            .arg(folder.path())
            .status()?;
        ensure!(mounted.success(), "a tmpfs cannot be mounted: it needs root");
        let disk = SmallDisk { folder };
        let path = disk.folder.path().to_owned();
        if tempfile::env::override_temp_dir(&path).is_err() {
            bail!("the folder for temporary files was chosen before");
        }
        MOUNTED.get_or_init(|| path);
        Ok(disk)
    }

    fn is_mounted() -> bool {
        MOUNTED.get().is_some()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, because a process that has just ended may still be leaving.
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}
