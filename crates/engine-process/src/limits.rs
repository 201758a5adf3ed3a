//! The limits of a worker, in one place.

use std::time::Duration;

/// Address space in bytes: the models, and a 50 MP picture of which decoder and engines need several copies.
pub(crate) const MEMORY: u64 = 3 << 30;
/// The longest side in pixels that the engines receive: enough for a page's small print, and a bound on
/// memory.
pub(crate) const MAX_SIDE: u32 = 4_000;
/// Processor time for reading one decoded picture, in whole seconds. The slowest of the specimens takes a tenth
/// of it.
pub(crate) const READING: Duration = Duration::from_secs(30);
/// The limit of elapsed time, as a multiple of the limit of processor time: on a busy machine a worker shares
/// its core.
pub(crate) const PATIENCE: u32 = 4;
/// How far a worker may exceed the elapsed time before it is killed.
pub(crate) const GRACE: Duration = Duration::from_secs(3);
/// How long a worker may take to load the models.
pub(crate) const START: Duration = Duration::from_secs(120);
/// A worker is replaced after this many files, so that nothing that one file left behind lasts.
pub(crate) const FILES: u32 = 50;
/// A worker is replaced when it keeps more memory than this after a file, in bytes.
pub(crate) const RESIDENT: u64 = 340 << 20;
