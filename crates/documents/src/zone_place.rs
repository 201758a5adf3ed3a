//! A place where a machine-readable zone may be printed: its direction, and where its rows begin and end.
//!
//! Our own network is certain of a zone's print only if it is upright, so it tells the direction. The even spacing of
//! characters tells where rows begin and end: a detector often leaves fillers out or adds other text. This module never
//! reads a zone.

use imaging::{Point, Pyramid};

use crate::locate::RowGroup;
use crate::ocr::{FITTED_HEIGHT, Ocr, OcrError, Quad, RegularRun, View, fitted_rows};

/// Rows that may be a zone's, in reading order.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) rows: Vec<Quad>,
    /// The index of the row that is examined.
    longest: usize,
    /// What the network saw in the examined row.
    run: Option<RegularRun>,
}

/// From this certainty on, print is not upside down.
const UPRIGHT: f32 = 0.9;

/// How far characters lean at the rows' start and end: the way along the row by the way down.
type Lean = [f32; 2];

/// If less paper than this is between a run and the row's end, in its character distances, it may go on outside the row.
/// A run has half a character of paper itself.
const NEAR_END: f32 = -0.2;
/// No row of a zone has more characters, with one that may be seen twice.
const MOST_CHARACTERS: usize = 45;
/// Rows whose run may go on are lengthened by this share of their length.
const GROWTH: f32 = 0.35;
/// Rows are adjusted at most so often.
const MAX_ADJUSTMENTS: usize = 5;
/// Rows of which the network is less certain are not adjusted.
const LEAST_CERTAINTY: f32 = 0.8;
/// Adjusted rows have so much paper before and after the run, in its character distances.
const PAPER: f32 = 0.8;
/// Characters that lean less are read as if they were upright; more is an error.
const LEAST_LEAN: f32 = 0.1;
const MOST_LEAN: f32 = 1.2;
/// Where the network is less certain, characters may lean by one of these.
const CLEAR: f32 = 0.97;
const LEANS: [f32; 4] = [-0.7, -0.35, 0.35, 0.7];
/// An end of a row that moves by less, in character distances, is where it belongs.
const SETTLED: f32 = 0.5;
/// The distance of neighbouring rows in character distances (ICAO 9303-3 §4.2: 6.35 mm by 2.54 mm).
pub(crate) const ROW_DISTANCE: f32 = 2.5;
/// The height of OCR-B's capitals in character distances (ISO 1073-2 size I: 2.40 mm).
const CAPITAL: f32 = 0.945;
/// So many rows on each side of the examined one may belong to its zone.
const ROWS_BEYOND: i32 = 2;
/// A row that was found takes a place in the zone if it is so near to it, in row distances.
const NEAR_PLACE: f32 = 0.35;
/// The network is at least so certain of a zone's other rows, by the certainty of the examined one.
const LIKE_EXAMINED: f32 = 0.7;

impl Place {
    /// The place of these rows.
    ///
    /// # Errors
    /// Fails when a model does not run.
    pub(crate) fn of(ocr: &Ocr, pyramid: &Pyramid<'_>, group: &RowGroup) -> Result<Self, OcrError> {
        let rows = fitted_rows(pyramid, &group.rows);
        let turned = rows.iter().rev().map(Quad::upside_down).collect();
        let last = rows.len().saturating_sub(1);
        let upright = Self::examined(ocr, pyramid, rows, group.longest, None)?;
        if upright.certainty() >= UPRIGHT {
            return Ok(upright);
        }
        let turned = Self::examined(ocr, pyramid, turned, last.saturating_sub(group.longest), None)?;
        Ok(upright.or_likelier(turned))
    }

    fn examined(
        ocr: &Ocr,
        pyramid: &Pyramid<'_>,
        rows: Vec<Quad>,
        longest: usize,
        pitch: Option<f32>,
    ) -> Result<Self, OcrError> {
        let run = match rows.get(longest) {
            Some(row) => run_of(ocr, pyramid, row, pitch)?,
            None => None,
        };
        Ok(Self { rows, longest, run })
    }

    fn or_likelier(self, other: Self) -> Self {
        if other.certainty() > self.certainty() {
            other
        } else {
            self
        }
    }

    /// How certain the network is of the examined row, 0–1. It is above 0.9 for sharp print of a zone, and below 0.8
    /// for other text and for a zone upside down.
    pub(crate) fn certainty(&self) -> f32 {
        self.run.map_or(0.0, |run| run.certainty)
    }

    /// The distance of characters as a share of the rows' length, if it is known.
    pub(crate) fn pitch(&self) -> Option<f32> {
        self.run.map(|run| run.pitch)
    }

    /// The place with rows from where their characters begin to where they end, leaning as the characters do, and with
    /// the rows that were not found. Rows are lengthened as long as their characters may go on.
    ///
    /// # Errors
    /// Fails when a model does not run.
    pub(crate) fn adjusted(mut self, ocr: &Ocr, pyramid: &Pyramid<'_>) -> Result<Self, OcrError> {
        let mut may_grow = true;
        for _ in 0..MAX_ADJUSTMENTS {
            let Some(own) = self.run.filter(|run| run.certainty >= LEAST_CERTAINTY) else {
                break;
            };
            let runs = self
                .rows
                .iter()
                .map(|row| run_of(ocr, pyramid, row, Some(own.pitch)))
                .collect::<Result<Vec<_>, OcrError>>()?;
            let is_growing = may_grow && own.is_near_ends() != [false; 2];
            let (start, end) = if is_growing {
                let [before, after] = own
                    .is_near_ends()
                    .map(|is_near| if is_near { GROWTH } else { 0.0 });
                (-before, 1.0 + after)
            } else {
                (own.start - PAPER * own.pitch, own.end + PAPER * own.pitch)
            };
            let is_settled = start.abs() < SETTLED * own.pitch && (end - 1.0).abs() < SETTLED * own.pitch;
            let rows: Vec<Quad> = self.rows.iter().map(|row| row.part(start, end)).collect();
            let rows = fitted_rows(pyramid, &rows);
            let pitch = Some(own.pitch / (end - start));
            let mut next = Self::examined(ocr, pyramid, rows.clone(), self.longest, pitch)?;
            let seen = lean(&self.rows, &runs);
            let tried = if next.certainty() < CLEAR { &LEANS[..] } else { &[] };
            for [start, end] in seen.into_iter().chain(tried.iter().map(|&lean| [lean; 2])) {
                let rows = rows.iter().map(|row| row.leaning(start, end)).collect();
                next = next.or_likelier(Self::examined(ocr, pyramid, rows, self.longest, pitch)?);
            }
            if is_growing {
                may_grow = false;
                // Other print beside the zone is no reason to lengthen its rows.
                let grown = next.run.map_or(0, |run| run.characters);
                if !(own.characters + 2..=MOST_CHARACTERS).contains(&grown) {
                    continue;
                }
            }
            if next.certainty() < LEAST_CERTAINTY {
                break;
            }
            let is_better = next.certainty() > self.certainty() + 0.002;
            self = next;
            if is_settled && !is_better {
                break;
            }
        }
        self.completed(ocr, pyramid)
    }

    /// The place with the rows that stand at a zone's row distance from the examined one.
    fn completed(self, ocr: &Ocr, pyramid: &Pyramid<'_>) -> Result<Self, OcrError> {
        let (Some(run), Some(&row)) = (self.run, self.rows.get(self.longest)) else {
            return Ok(self);
        };
        // Rows seen from their side are shortened, so their height tells.
        let distance = ROW_DISTANCE / CAPITAL * row.height() / FITTED_HEIGHT;
        let along = row.along();
        let below = |quad: &Quad| {
            let (a, b) = (row.centre(), quad.centre());
            ((b.y - a.y) * along.x - (b.x - a.x) * along.y) / distance
        };
        let grid: Vec<(Quad, bool)> = (-ROWS_BEYOND..=ROWS_BEYOND)
            .map(|place| {
                let place = place as f32;
                let found = self
                    .rows
                    .iter()
                    .min_by(|a, b| (below(a) - place).abs().total_cmp(&(below(b) - place).abs()))
                    .filter(|quad| (below(quad) - place).abs() < NEAR_PLACE);
                let missing = || row.moved_down(place * distance / row.height());
                (found.copied().unwrap_or_else(missing), found.is_none())
            })
            .collect();
        let least = LIKE_EXAMINED * run.certainty;
        let is_row = |(quad, _): &(Quad, bool)| -> Result<bool, OcrError> {
            let run = run_of(ocr, pyramid, quad, Some(run.pitch))?;
            Ok(run.is_some_and(|run| run.certainty >= least))
        };
        let examined = ROWS_BEYOND as usize;
        let (mut first, mut last) = (examined, examined);
        while first > 0 && is_row(&grid[first - 1])? {
            first -= 1;
        }
        while last + 1 < grid.len() && is_row(&grid[last + 1])? {
            last += 1;
        }
        let grid = &grid[first..=last];
        let group = RowGroup {
            rows: grid.iter().map(|(quad, _)| *quad).collect(),
            longest: examined - first,
        };
        if grid.iter().all(|(_, is_new)| !is_new) {
            return Ok(Self {
                rows: group.rows,
                longest: group.longest,
                run: self.run,
            });
        }
        Self::examined(ocr, pyramid, group.rows, group.longest, Some(run.pitch))
    }
}

impl RegularRun {
    /// Whether there may be further characters before and after the row.
    fn is_near_ends(&self) -> [bool; 2] {
        let least = NEAR_END * self.pitch;
        [self.start < least, 1.0 - self.end < least]
    }
}

fn run_of(
    ocr: &Ocr,
    pyramid: &Pyramid<'_>,
    row: &Quad,
    pitch: Option<f32>,
) -> Result<Option<RegularRun>, OcrError> {
    Ok(ocr
        .recognise_zone(pyramid, row, View::Colour, pitch)?
        .regular_run())
}

/// How far characters lean, by the first and last characters of two rows: those of a zone are below each other. `None`
/// if they hardly lean, or more than a perspective explains.
fn lean(rows: &[Quad], runs: &[Option<RegularRun>]) -> Option<Lean> {
    let mut seen = rows
        .iter()
        .zip(runs)
        .filter_map(|(row, run)| Some((row, run.filter(|run| run.certainty >= LEAST_CERTAINTY)?)));
    let (first, last) = (seen.next()?, seen.next_back()?);
    let ends = |(row, run): (&Quad, RegularRun)| {
        let [a, _, _, d] = row.part(run.start + run.pitch, 1.0).0;
        let [_, b, c, _] = row.part(0.0, run.end - run.pitch).0;
        [(a, d), (b, c)].map(|(p, q)| Point::new(f32::midpoint(p.x, q.x), f32::midpoint(p.y, q.y)))
    };
    let ([a, b], [d, c]) = (ends(first), ends(last));
    let along = Quad([a, b, c, d]).along();
    let of = |top: Point, bottom: Point| {
        let (x, y) = (bottom.x - top.x, bottom.y - top.y);
        let down = y * along.x - x * along.y;
        (down > 0.0).then(|| (x * along.x + y * along.y) / down)
    };
    let lean = [of(a, d)?, of(b, c)?];
    let most = lean.iter().copied().map(f32::abs).fold(0.0, f32::max);
    (LEAST_LEAN..MOST_LEAN).contains(&most).then_some(lean)
}
