//! An uploaded file, as the HTTP server passes it to a verification.

use crate::spill::Spill;

/// The largest accepted file, in bytes. The rest of a larger file is discarded, and the file is reported as
/// too large.
pub const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// An uploaded file.
pub struct File {
    /// Its content, at most [`MAX_FILE_BYTES`].
    pub content: Spill,
    /// Whether the file was larger than that.
    pub too_large: bool,
}
