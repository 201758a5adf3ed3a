//! The walls by name, their order, and which of them are up.

use std::fmt;
use std::path::PathBuf;

use rustix::thread::{CapabilitySet, CapabilitySets};
use serde::{Deserialize, Serialize};

use crate::{control_groups, descriptors, filesystem, limits, namespaces, system_calls};

/// One wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Wall {
    /// Limits on address space, processor time and open files; no written files or core dumps (setrlimit(2)).
    Limits,
    /// A control group with limits on memory and threads, where one is delegated to the server (cgroups(7)).
    ControlGroup,
    /// No descriptor but stdin, stdout and stderr.
    Descriptors,
    /// No environment variable.
    Environment,
    /// No capability (capabilities(7)), and none can be gained by starting a program (`PR_SET_NO_NEW_PRIVS`).
    Privileges,
    /// Only the system calls that computing needs (seccomp(2)).
    SystemCalls,
    /// Only the named files and folders can be opened, and only to read them (landlock(7)).
    Files,
    /// Network, IPC and user namespaces of its own, and a limit on threads (namespaces(7)).
    Network,
}

impl Wall {
    /// Every wall, in the order in which they are built.
    pub const ALL: [Wall; 8] = [
        Wall::Descriptors,
        Wall::Environment,
        Wall::ControlGroup,
        Wall::Limits,
        Wall::Network,
        Wall::Privileges,
        Wall::Files,
        Wall::SystemCalls,
    ];

    /// The wall's name for people, such as `system calls`.
    pub fn as_str(self) -> &'static str {
        match self {
            Wall::ControlGroup => "control group",
            Wall::Limits => "limits",
            Wall::Descriptors => "descriptors",
            Wall::Environment => "environment",
            Wall::Privileges => "privileges",
            Wall::SystemCalls => "system calls",
            Wall::Files => "files",
            Wall::Network => "network",
        }
    }

    /// Whether the wall is required. `Files` and `Network` are not, because many kernels and containers withhold
    /// them; the filter of system calls still blocks files and sockets.
    pub fn is_required(self) -> bool {
        !matches!(self, Wall::Files | Wall::Network | Wall::ControlGroup)
    }

    /// Whether most machines can have the wall. A control group needs a decision of the operator, and its limits come
    /// on top of [`Wall::Limits`].
    fn is_expected(self) -> bool {
        self != Wall::ControlGroup
    }
}

/// A wall, and why it is not up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WallState {
    /// The wall.
    pub wall: Wall,
    /// Why it is not up; `None` if it is.
    pub fault: Option<String>,
}

impl fmt::Display for WallState {
    /// The wall's name, and why it is not up.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            Some(fault) => write!(f, "{}: {fault}", self.wall.as_str()),
            None => f.write_str(self.wall.as_str()),
        }
    }
}

/// What a process needs inside its walls.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The most address space, in bytes.
    pub memory: u64,
    /// Files and folders that it reads before [`Walls::close`].
    pub readable: Vec<PathBuf>,
}

/// The state of every wall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walls(Vec<WallState>);

impl Walls {
    /// Builds every wall but the last around this process, which must have one thread and must not need any other
    /// descriptor than stdin, stdout and stderr. If a wall cannot be built, its state contains the reason.
    pub fn build(plan: &Plan) -> Self {
        let mut walls = Walls(Vec::new());
        walls.add(Wall::Descriptors, descriptors::close_all());
        walls.add(Wall::Environment, environment());
        walls.add(Wall::ControlGroup, control_groups::enter(plan.memory));
        walls.add(Wall::Limits, limits::set(plan.memory));
        let network = namespaces::leave().and_then(|()| limits::set_threads());
        walls.add(Wall::Network, network);
        walls.add(Wall::Privileges, privileges());
        walls.add(Wall::Files, filesystem::allow_only(&plan.readable));
        walls
    }

    /// Builds the last wall around all threads of this process.
    pub fn close(&mut self) {
        self.add(Wall::SystemCalls, system_calls::allow_few());
    }

    /// Every wall that was built or tried.
    pub fn states(&self) -> &[WallState] {
        &self.0
    }

    /// Every required wall that is not up, with the reason.
    pub fn missing_required(&self) -> impl Iterator<Item = &WallState> {
        self.0
            .iter()
            .filter(|state| state.fault.is_some() && state.wall.is_required())
    }

    /// Every wall that is not up although most machines can have it, with the reason.
    pub fn missing(&self) -> impl Iterator<Item = &WallState> {
        let is_missing = |state: &&WallState| state.fault.is_some() && state.wall.is_expected();
        self.0.iter().filter(is_missing)
    }

    /// Every wall that is up.
    pub fn up(&self) -> impl Iterator<Item = Wall> {
        let up = self.0.iter().filter(|state| state.fault.is_none());
        up.map(|state| state.wall)
    }

    fn add(&mut self, wall: Wall, built: Result<(), String>) {
        self.0.push(WallState {
            wall,
            fault: built.err(),
        });
    }
}

impl From<Vec<WallState>> for Walls {
    fn from(states: Vec<WallState>) -> Self {
        Walls(states)
    }
}

/// Checks that the parent gave no environment. A process cannot erase what it was started with, because the
/// kernel keeps it readable.
fn environment() -> Result<(), String> {
    match std::env::vars_os().count() {
        0 => Ok(()),
        given => Err(format!("the process was started with {given} variables")),
    }
}

/// Gives up every capability, also those over a user namespace of its own, and the way to regain them.
fn privileges() -> Result<(), String> {
    rustix::thread::set_no_new_privs(true)
        .and_then(|()| {
            let none = CapabilitySet::empty();
            rustix::thread::set_capabilities(
                None,
                CapabilitySets {
                    effective: none,
                    permitted: none,
                    inheritable: none,
                },
            )
        })
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_wall_counts_only_if_it_is_required() {
        let walls = Walls(
            Wall::ALL
                .map(|wall| WallState {
                    wall,
                    fault: Some("no".into()),
                })
                .to_vec(),
        );
        let required: Vec<_> = walls
            .missing_required()
            .map(|state| state.wall.as_str())
            .collect();
        assert_eq!(
            required,
            [
                "descriptors",
                "environment",
                "limits",
                "privileges",
                "system calls"
            ]
        );
        assert_eq!(
            walls.missing().count(),
            Wall::ALL.len() - 1,
            "all but the control group"
        );
        assert_eq!(walls.up().count(), 0);
    }
}
