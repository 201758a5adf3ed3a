//! The programs that a run starts: their environment, and the limit of every wait for their end. It starts nothing
//! by itself and never changes this process's own environment.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::Signal;
use tokio::process::{Child, Command};

/// The variables that programs inherit. Any other could change what is tested: `PATRONI_NAME`, `ETCD_NAME`,
/// `PGHOST` and `BONAFIDE_OBJECTS` are settings of the programs that a run starts.
const INHERITED: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER"];

/// A program with the inherited variables only and an empty stdin. It is killed when it is dropped.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let inherited = INHERITED.map(|name| (name, std::env::var_os(name)));
    let inherited = inherited
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    command
        .env_clear()
        .envs(inherited)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Waits for a process for a limited time. The error names the process.
///
/// # Errors
/// When waiting fails, and when the process has not ended in time.
pub(crate) async fn within<T>(
    time: Duration,
    process: &str,
    ends: impl Future<Output = io::Result<T>>,
) -> anyhow::Result<T> {
    match tokio::time::timeout(time, ends).await {
        Ok(ended) => ended.with_context(|| process.to_owned()),
        Err(_) => bail!("{process} has not ended within {} s", time.as_secs_f64()),
    }
}

/// Runs a program to its end and returns its output. It is killed if it takes longer than `time`.
///
/// # Errors
/// When the program cannot be started, and when it has not ended in time.
pub(crate) async fn output(command: &mut Command, time: Duration, process: &str) -> anyhow::Result<Output> {
    within(time, process, command.output()).await
}

/// Kills a process (SIGKILL) and waits for its end. Returns whether the signal has ended it.
///
/// # Errors
/// When the process cannot be killed, and when it has not ended in time.
pub(crate) async fn kill(mut child: Child, time: Duration, process: &str) -> anyhow::Result<bool> {
    child.start_kill()?;
    Ok(ended_by(within(time, process, child.wait()).await?, Signal::KILL))
}

/// Whether a signal has ended a process.
pub(crate) fn ended_by(status: ExitStatus, signal: Signal) -> bool {
    status.signal() == Some(signal.as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn programs_inherit_only_the_listed_variables() {
        let minute = Duration::from_secs(60);
        // Cargo sets further variables for tests.
        assert!(std::env::vars_os().any(|(name, _)| name == "CARGO_MANIFEST_DIR"));
        let output = output(&mut command("env"), minute, "env").await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let names: Vec<&str> = text
            .lines()
            .filter_map(|line| Some(line.split_once('=')?.0))
            .collect();
        assert!(names.contains(&"PATH"), "{names:?}");
        assert!(names.iter().all(|name| INHERITED.contains(name)), "{names:?}");
    }

    #[tokio::test]
    async fn no_wait_is_unbounded() {
        let moment = Duration::from_millis(50);
        let error = output(command("sleep").arg("60"), moment, "sleep")
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "sleep has not ended within 0.05 s");
    }

    #[tokio::test]
    async fn a_killed_process_differs_from_one_that_ended_by_itself() {
        let minute = Duration::from_secs(60);
        let sleeping = command("sleep").arg("60").spawn().unwrap();
        assert!(kill(sleeping, minute, "sleep").await.unwrap());
        let mut ended = command("true").spawn().unwrap();
        ended.wait().await.unwrap();
        assert!(!ended_by(ended.wait().await.unwrap(), Signal::KILL));
    }
}
