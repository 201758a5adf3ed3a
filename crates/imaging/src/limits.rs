//! The limits for decoding hostile files.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The resources that [`crate::decode`] may use for one file. The defaults are the product's limits
/// (`≤ 50 MP in, ≤ 20 MP for a PDF page`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The largest number of pixels (width × height) that an image's header may declare.
    pub max_pixels: u64,
    /// The largest number of pixels of a rendered PDF page; larger pages are rendered smaller.
    pub max_page_pixels: u64,
    /// The largest number of pages of a PDF.
    pub max_pages: u32,
    /// The first PDF page to render, counted from 0. For the next page that is not blank, decode again with
    /// [`crate::Decoded::page`] + 1.
    pub from_page: u32,
    /// If set, larger pictures are reduced so that neither side exceeds this many pixels.
    pub max_side: Option<u32>,
    /// The processor time for one file, in whole seconds. The engine worker enforces it, because the
    /// operating system measures processor time by process.
    pub processor: Duration,
    /// The elapsed time for one file. A file that exceeds it gives [`crate::DecodeError::Unfinished`].
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_pixels: 50_000_000,
            max_page_pixels: 20_000_000,
            max_pages: 10,
            from_page: 0,
            max_side: None,
            processor: Duration::from_secs(10),
            time: Duration::from_secs(30),
        }
    }
}
