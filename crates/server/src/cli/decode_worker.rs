//! `bonafide decode-worker`: the child that decodes strangers' files under hard limits of the operating system.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Address space: 50 MP are 150 MB as RGB, and a decoder may hold the picture a few times over.
const MEMORY: u64 = 2 << 30;

/// Limits itself, then answers until its input ends.
pub(super) fn run() -> anyhow::Result<()> {
    for (resource, most) in [
        (Resource::As, MEMORY),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, 16),
    ] {
        setrlimit(
            resource,
            Rlimit {
                current: Some(most),
                maximum: Some(most),
            },
        )?;
    }
    imaging::worker::serve(io::stdin().lock(), io::stdout().lock())?;
    Ok(())
}
