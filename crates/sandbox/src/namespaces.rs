//! Namespaces of its own (namespaces(7)): a network without any interface, and no shared System V memory.

use nix::sched::{CloneFlags, unshare};

/// Leaves the parent's network. A process without privileges may do this only in a user namespace of its own,
/// which also takes its privileges over everything outside.
pub(crate) fn leave() -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWIPC)
        .map_err(|error| format!("the kernel does not allow it ({error})"))
}
