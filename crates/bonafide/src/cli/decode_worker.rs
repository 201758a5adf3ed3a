//! `bonafide decode-worker`: the child process that decodes uploaded files under hard limits of the operating
//! system.

use std::io;

use imaging::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Address space, in bytes. A 50 MP image takes 150 MB as RGB, and a decoder may need several copies of it.
const MEMORY: u64 = 2 << 30;

/// Clock ticks per second in `/proc` (`USER_HZ`), on every architecture that we build for.
const TICKS_PER_SECOND: u64 = 100;

/// Limits itself, then decodes files from stdin until it ends.
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
    imaging::worker::serve(io::stdin().lock(), io::stdout().lock(), limit_processor)?;
    Ok(())
}

/// Limits this process's processor time for the next file; the operating system ends it with SIGXCPU beyond
/// that. Unlike wall-clock time, processor time does not grow while other processes run.
fn limit_processor(limits: &Limits) -> io::Result<()> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let used = processor_seconds(&stat)
        .ok_or_else(|| io::Error::other("/proc/self/stat does not state the processor time"))?;
    let most = used + 1 + limits.processor.as_secs().max(1);
    let maximum = getrlimit(Resource::Cpu).maximum;
    Ok(setrlimit(
        Resource::Cpu,
        Rlimit {
            current: Some(maximum.map_or(most, |maximum| most.min(maximum))),
            maximum,
        },
    )?)
}

/// The processor time of a process in seconds (`utime` plus `stime`), from its line in `/proc`
/// (proc_pid_stat(5)). The name in parentheses can contain any character.
fn processor_seconds(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_ascii_whitespace().skip(11);
    let mut ticks = || times.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_past_any_name() {
        let stat =
            |name: &str| format!("7 ({name}) S 1 7 7 0 -1 4194304 100 0 0 0 250 149 0 0 20 0 1 0 5 6 7");
        for name in ["bonafide", "a b) 1 2 3", ""] {
            assert_eq!(processor_seconds(&stat(name)), Some(3), "{name}");
        }
        for bad in [
            "",
            "7 (bonafide) S 1",
            "7 (x) S 1 7 7 0 -1 4194304 100 0 0 0 -1 149",
        ] {
            assert_eq!(processor_seconds(bad), None, "{bad}");
        }
    }
}
