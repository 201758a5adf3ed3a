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
/// Processor time for measuring the frames of one call, in whole seconds. On the machine where it was chosen, 32
/// frames take half a second and an embedding a twentieth.
pub(crate) fn filming(frames: u32) -> Duration {
    Duration::from_secs(4 + u64::from(frames) / 4)
}
/// The limit of elapsed time, as a multiple of the limit of processor time: on a busy machine a worker shares
/// its core.
pub(crate) const PATIENCE: u32 = 4;
/// How far a worker may exceed the elapsed time before it is killed.
pub(crate) const GRACE: Duration = Duration::from_secs(3);
/// How long a worker may take to load the models.
pub(crate) const START: Duration = Duration::from_secs(120);
/// A worker is replaced after wear of this much, so that nothing that one file left behind lasts: 50 files.
pub(crate) const MAX_WEAR: u32 = 50 * FILE_WEAR;
/// The further wear that is allowed while a successor loads the models, so that films do not wait for it: 20 files, or
/// 400 calls of films. Eight films make about 30 calls a second together (`web/tests/challenge-load.mjs`).
pub(crate) const LEEWAY: u32 = 20 * FILE_WEAR;
/// The wear by one file.
pub(crate) const FILE_WEAR: u32 = 20;
/// The wear by the frames of one call. A person's film takes up to 60 calls, so 50 files equal the films of 17 people.
pub(crate) const FILM_WEAR: u32 = 1;
/// A worker that retains more memory than this after a file, in bytes, plus that of custom models, counts as worn by
/// [`MAX_WEAR`]. With twice as much it must not work any more.
pub(crate) const RESIDENT: u64 = 340 << 20;
/// The memory of a custom model, as a multiple of its file's size: the weights as read, the weights as arranged for the
/// processor, and buffers.
pub(crate) const OWN_MODEL: u64 = 3;
