//! Errors of decoding.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why [`crate::decode`] gave no picture. The texts never contain data of the file.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecodeError {
    /// Zero bytes.
    #[error("the file is empty")]
    Empty,
    /// The first bytes are not those of JPEG, PNG, WEBP, BMP or PDF.
    #[error("the file is no JPEG, PNG, WEBP, BMP or PDF")]
    UnknownFormat,
    /// The file ends before the picture does.
    #[error("the file is cut short")]
    Truncated,
    /// The file violates its format's rules.
    #[error("the file is damaged")]
    Damaged,
    /// A valid file with an unsupported feature, such as a 12-bit or lossless JPEG.
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
    /// The picture is within the pixel limit, but its bytes per pixel or its metadata exceed the memory
    /// limit.
    #[error("the picture takes more memory than allowed")]
    TooMuchMemory,
    /// A progressive JPEG with so many scans that it is probably an attack on the server's time.
    #[error("the JPEG has too many scans")]
    TooManyScans,
    /// The PDF has more pages than [`crate::Limits::max_pages`].
    #[error("the PDF has more pages than allowed")]
    TooManyPages,
    /// The PDF contains JavaScript or an action that runs something.
    #[error("the PDF carries scripts or actions")]
    ScriptedPdf,
    /// The PDF cannot be opened without a password.
    #[error("the PDF needs a password")]
    PasswordNeeded,
    /// No page of the PDF, from [`crate::Limits::from_page`] on, has any content.
    #[error("the PDF holds no further page with anything on it")]
    NoPage,
    /// The page's sides are zero, not finite, or so unequal that the page is not legible.
    #[error("the PDF page has an impossible size")]
    PageSize,
    /// The file took more processor time than [`crate::Limits::processor`] allows.
    #[error("the file takes too much work to decode")]
    TooMuchWork,
    /// Decoding did not end within [`crate::Limits::time`], or could not start. The file may be good: the
    /// machine may be busy, and another attempt may succeed.
    #[error("decoding could not be finished")]
    Unfinished,
    /// The decoder crashed because of a defect in this crate or a library that the file triggers.
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
