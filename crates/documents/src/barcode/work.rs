//! The limit of a search's work. This module never looks at a picture.

/// The work that a search may still do, in pixels. Each region turned upright and each picture given to the
/// decoder counts.
///
/// A limit in time would make a reading depend on the machine's load. A pixel costs about the same time in
/// every step.
#[derive(Debug, Clone, Copy)]
pub struct WorkBudget {
    left: u64,
}

impl WorkBudget {
    /// A limit of this many pixels.
    #[must_use]
    pub const fn pixels(most: u64) -> Self {
        Self { left: most }
    }

    /// Subtracts the work of one step and returns whether the step may run. A step may begin while any work
    /// remains, so the last one may exceed the limit by its own work.
    pub(super) fn take(&mut self, width: u32, height: u32) -> bool {
        self.take_pixels(u64::from(width) * u64::from(height))
    }

    /// Does the same for work given as a number of pixels.
    pub(super) fn take_pixels(&mut self, pixels: u64) -> bool {
        let may = self.left > 0;
        self.left = self.left.saturating_sub(pixels);
        may
    }
}
