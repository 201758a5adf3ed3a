//! The master keys from a command (`--master-key-command`): a key management system or a hardware security module
//! prints them, so no key file is needed.
//!
//! The command's output never reaches a log or a message.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use store::Keyring;
use zeroize::Zeroizing;

/// How long the command may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How often a command that has printed its output is asked whether it has ended.
const LOOK: Duration = Duration::from_millis(5);
/// How messages name the source of the keys.
pub(super) const NAME: &str = "in the output of --master-key-command";

/// Runs the command in a shell and returns its output. Its own messages on stderr go to this program's.
pub(super) fn printed(command: &str) -> anyhow::Result<Zeroizing<String>> {
    printed_within(command, TIMEOUT)
}

fn printed_within(command: &str, within: Duration) -> anyhow::Result<Zeroizing<String>> {
    let begun = Instant::now();
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // The shell may start further programs, which are ended with it.
        .process_group(0)
        .spawn()
        .context("--master-key-command cannot be started")?;
    let mut stdout = child
        .stdout
        .take()
        .context("--master-key-command has no output")?;
    let (sender, receiver) = channel();
    thread::Builder::new().spawn(move || {
        let mut text = Zeroizing::new(String::new());
        let read = (&mut stdout)
            .take(Keyring::MAX_LENGTH + 1)
            .read_to_string(&mut text);
        let _ = sender.send(read.map(|_| text));
    })?;
    let text = match receiver.recv_timeout(within) {
        Ok(text) => text.context("the output of --master-key-command is not text")?,
        Err(RecvTimeoutError::Timeout) => return Err(ended_late(&mut child, within)),
        Err(RecvTimeoutError::Disconnected) => bail!("the output of --master-key-command cannot be read"),
    };
    // A command can close its output and go on.
    let status = loop {
        let ended = child
            .try_wait()
            .context("--master-key-command cannot be waited for")?;
        match ended {
            Some(status) => break status,
            None if begun.elapsed() > within => return Err(ended_late(&mut child, within)),
            None => thread::sleep(LOOK),
        }
    };
    if !status.success() {
        bail!("--master-key-command failed ({status}); its own message, if any, is above");
    }
    Ok(text)
}

/// Ends the command and everything that it started.
fn ended_late(child: &mut Child, within: Duration) -> anyhow::Error {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
    anyhow!(
        "--master-key-command did not finish within {} seconds. The command must print the keys without a prompt",
        within.as_secs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commands_output_is_read_and_its_failure_is_reported() {
        let short = Duration::from_millis(100);
        assert_eq!(*printed("printf key").unwrap(), "key");
        for (command, within, expected) in [
            ("printf secret; exit 3", TIMEOUT, "failed (exit status: 3)"),
            ("sleep 600", short, "did not finish within"),
            ("exec >&-; sleep 600", short, "did not finish within"),
            ("printf '\\377'", TIMEOUT, "is not text"),
        ] {
            let error = format!("{:#}", printed_within(command, within).unwrap_err());
            assert!(
                error.contains(expected) && !error.contains("secret"),
                "{command}: {error}"
            );
        }
    }
}
