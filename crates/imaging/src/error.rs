//! Why a file is no picture.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why [`crate::decode`] gave no picture. The texts hold no content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "error", rename_all = "kebab-case")]
pub enum DecodeError {
    /// Zero bytes.
    #[error("the file is empty")]
    Empty,
    /// The first bytes are none of JPEG, PNG, WEBP, BMP, PDF.
    #[error("the file is no JPEG, PNG, WEBP, BMP or PDF")]
    UnknownFormat,
    /// The file ends before the picture does.
    #[error("the file is cut short")]
    Truncated,
    /// The file breaks its format's rules.
    #[error("the file is damaged")]
    Damaged,
    /// A valid file with a feature that we do not read, such as a 12-bit or lossless JPEG.
    #[error("the file uses a feature of its format that is not supported")]
    Unsupported,
    /// The header declares more pixels than [`crate::Limits::max_pixels`].
    #[error("the picture has {width} × {height} pixels, more than allowed")]
    TooManyPixels {
        /// Declared width.
        width: u32,
        /// Declared height.
        height: u32,
    },
    /// Within the pixel cap, but with more bytes per pixel or more metadata than its memory allows.
    #[error("the picture takes more memory than allowed")]
    TooMuchMemory,
    /// A progressive JPEG with so many scans that it can only be meant to waste time.
    #[error("the JPEG has too many scans")]
    TooManyScans,
    /// The PDF has more pages than [`crate::Limits::max_pages`].
    #[error("the PDF has more pages than allowed")]
    TooManyPages,
    /// The PDF carries JavaScript or an action that runs something.
    #[error("the PDF carries scripts or actions")]
    ScriptedPdf,
    /// The PDF cannot be opened without a password.
    #[error("the PDF needs a password")]
    PasswordNeeded,
    /// No page of the PDF, from [`crate::Limits::from_page`] on, holds anything.
    #[error("the PDF holds no further page with anything on it")]
    NoPage,
    /// The page's sides are absurd: zero, not finite, or so oblong that nothing can be read on it.
    #[error("the PDF page has an impossible size")]
    PageSize,
    /// The file took more processor time than [`crate::Limits::processor`] allows.
    #[error("the file takes too much work to decode")]
    TooMuchWork,
    /// Decoding did not end within [`crate::Limits::time`], or could not begin. This says nothing about the file: the machine may be
    /// busy, and another try may succeed.
    #[error("decoding could not be finished")]
    Unfinished,
    /// The decoder crashed: a fault of ours or of a library, provoked by the file.
    #[error("the file made the decoder fail")]
    Crashed,
}

impl DecodeError {
    /// A stable, short name for logs, metrics and evaluation output, such as `truncated`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::UnknownFormat => "unknown-format",
            Self::Truncated => "truncated",
            Self::Damaged => "damaged",
            Self::Unsupported => "unsupported",
            Self::TooManyPixels { .. } => "too-many-pixels",
            Self::TooMuchMemory => "too-much-memory",
            Self::TooManyScans => "too-many-scans",
            Self::TooManyPages => "too-many-pages",
            Self::ScriptedPdf => "scripted-pdf",
            Self::PasswordNeeded => "password-needed",
            Self::NoPage => "no-page",
            Self::PageSize => "page-size",
            Self::TooMuchWork => "too-much-work",
            Self::Unfinished => "unfinished",
            Self::Crashed => "crashed",
        }
    }
}
