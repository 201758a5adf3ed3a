//! Limits that the operating system enforces (setrlimit(2)).

use rustix::process::{Resource, Rlimit, setrlimit};

/// Open files: the runtime's library, the models one after the other, and the pipes.
const OPEN_FILES: u64 = 64;

/// Processor time of a process's whole life, in seconds. Beyond it, the kernel ends the process.
const LIFETIME: u64 = 3_600;
/// Threads of the process.
pub(crate) const THREADS: u64 = 64;

/// Limits the number of threads. In a user namespace of its own, only this process counts; elsewhere, all
/// processes of the user would.
pub(crate) fn set_threads() -> Result<(), String> {
    set_limit(Resource::Nproc, THREADS)
}

/// Limits address space (to `memory` bytes), processor time and open files, and forbids written files and core
/// dumps. A hard limit cannot be raised again.
pub(crate) fn set(memory: u64) -> Result<(), String> {
    let limits = [
        (Resource::As, memory),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Cpu, LIFETIME),
    ];
    for (resource, most) in limits {
        set_limit(resource, most)?;
    }
    Ok(())
}

fn set_limit(resource: Resource, most: u64) -> Result<(), String> {
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    setrlimit(resource, limit).map_err(|error| format!("{resource:?}: {error}"))
}
