//! An uploaded file, as the HTTP server hands it to a verification.

use crate::spill::Spill;

/// Largest file; a byte more and it is reported as too large (its rest is not kept).
pub const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// An uploaded file.
pub struct File {
    /// Its bytes, at most [`MAX_FILE_BYTES`] of them.
    pub content: Spill,
    /// Whether it was longer than that.
    pub too_large: bool,
}
