//! The caps that hostile files run into.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What [`crate::decode`] may spend on one file. The default is the house's rule (`≤ 50 MP in, ≤ 20 MP for a PDF page`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Most pixels (width × height) that an image's header may declare.
    pub max_pixels: u64,
    /// Most pixels that a PDF page is rendered to; larger pages are rendered smaller.
    pub max_page_pixels: u64,
    /// Most pages that a PDF may have.
    pub max_pages: u32,
    /// The PDF page (counted from 0) to begin looking at. To see the next page that holds something, ask again with
    /// [`crate::Decoded::page`] + 1.
    pub from_page: u32,
    /// When set, larger pictures are reduced so that neither side exceeds this many pixels.
    pub max_side: Option<u32>,
    /// Most processor time that one file may take, in whole seconds. The worker's process enforces it, because the operating system
    /// counts processor time by process; see [`crate::worker::serve`].
    pub processor: Duration,
    /// Most time that one file may take by the clock. A file that does not end within it has no verdict:
    /// [`crate::DecodeError::Unfinished`].
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
