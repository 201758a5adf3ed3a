//! The walls around a process that meets hostile bytes: limits, no descriptors, no environment, no privileges,
//! no network, no files, and few system calls.
//!
//! A process builds its walls in two steps. [`Walls::build`] runs first, before any thread starts, because some
//! walls bind only the thread that enters them and the threads that it starts later. [`Walls::close`] runs when
//! everything is loaded and before the first hostile byte. From then on the process can compute, use its memory
//! and use the descriptors that it has, and nothing else.
//!
//! The crate knows nothing of pictures or models. It never removes a wall. It reports missing walls; the caller
//! decides whether to continue.

mod control_groups;
mod descriptors;
mod filesystem;
mod limits;
mod namespaces;
mod system_calls;
mod walls;

pub use control_groups::prepare_control_group;
pub use filesystem::library_folders;
pub use walls::{Plan, Wall, WallState, Walls};
