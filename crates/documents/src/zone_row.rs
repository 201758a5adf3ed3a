//! A row of text that may belong to a machine-readable zone, as read in one or more views.
//!
//! It states how likely each number of characters is, and the row as exactly so many cells. It never decides whether the
//! row belongs to a zone.

use std::cell::OnceCell;

use crate::ocr::Quad;
use crate::ocr::ctc::{Emissions, FixedLength, SYMBOL_COUNT};

/// Rows and characters per row of every format: TD1; TD2, MRV-B and FRID; TD3 and MRV-A.
pub(crate) const SIZES: [(usize, usize); 3] = [(3, 30), (2, 36), (2, 44)];
/// A view's weight falls by the factor e for each this many nats by which it is less clear than the clearest
/// view.
const CLARITY: f64 = 6.0;

/// A row's reading in one view. What is computed of it by length is kept, because every run of rows asks for it.
pub(crate) struct ReadView {
    emissions: Emissions,
    log_likelihoods: [OnceCell<Option<f64>>; SIZES.len()],
    lines: [OnceCell<Option<FixedLength>>; SIZES.len()],
}

impl ReadView {
    pub(crate) fn new(emissions: Emissions) -> Self {
        Self {
            emissions,
            log_likelihoods: Default::default(),
            lines: Default::default(),
        }
    }

    /// The logarithm of the probability of this length; `None` if it is impossible or no format has it.
    fn log_likelihood(&self, length: usize) -> Option<f64> {
        let kept = &self.log_likelihoods[place_of(length)?];
        *kept.get_or_init(|| self.emissions.log_likelihood(length))
    }

    /// The row as a line of this length.
    fn line(&self, length: usize) -> Option<&FixedLength> {
        let kept = &self.lines[place_of(length)?];
        kept.get_or_init(|| self.emissions.fixed_length(length)).as_ref()
    }
}

fn place_of(length: usize) -> Option<usize> {
    SIZES.iter().position(|(_, of_size)| *of_size == length)
}

/// A row and its reading in each view.
pub(crate) struct ReadRow {
    /// Its place in the picture.
    pub(crate) quad: Quad,
    /// The distance of its characters as a share of its length, if it is known.
    pub(crate) pitch: Option<f32>,
    /// Its readings, one per view that was tried.
    pub(crate) views: Vec<ReadView>,
}

impl ReadRow {
    pub(crate) fn new(quad: Quad, pitch: Option<f32>) -> Self {
        Self {
            quad,
            pitch,
            views: Vec::new(),
        }
    }

    /// The natural logarithm of the probability that the row has exactly `length` characters, in the view
    /// where it is highest.
    pub(crate) fn log_likelihood(&self, length: usize) -> f64 {
        let at = |view: &ReadView| view.log_likelihood(length).unwrap_or(f64::MIN);
        self.views.iter().map(at).fold(f64::MIN, f64::max)
    }

    /// The row as exactly `length` characters: the mean of all views, weighted by each view's likelihood of
    /// that length, with the misfit of the weightiest view.
    pub(crate) fn cells(&self, length: usize) -> Option<FixedLength> {
        let clearest = self.log_likelihood(length);
        let mut mean = FixedLength {
            cells: vec![[0.0; SYMBOL_COUNT]; length],
            seen: vec![0.0; length],
            misfit: 0.0,
        };
        let (mut total, mut heaviest) = (0.0, 0.0);
        for view in &self.views {
            let (Some(clarity), Some(line)) = (view.log_likelihood(length), view.line(length)) else {
                continue;
            };
            let weight = ((clarity - clearest) / CLARITY).exp() as f32;
            total += weight;
            for (sum, p) in mean.cells.iter_mut().flatten().zip(line.cells.iter().flatten()) {
                *sum += weight * p;
            }
            for (sum, p) in mean.seen.iter_mut().zip(&line.seen) {
                *sum += weight * p;
            }
            if weight > heaviest {
                (heaviest, mean.misfit) = (weight, line.misfit);
            }
        }
        for p in &mut mean.seen {
            *p /= total;
        }
        for p in mean.cells.iter_mut().flatten() {
            *p /= total;
        }
        (total > 0.0).then_some(mean)
    }
}
