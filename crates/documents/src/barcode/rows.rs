//! Reads the codewords of a straightened PDF417 symbol row by row, and corrects them.
//!
//! The row indicators (ISO/IEC 15438 §4.3.4) give each row's number, so rows that are covered or torn off are
//! erasures instead of a shift. Each row is averaged over its height before its codewords are matched, which
//! removes noise. A payload is returned only if the correction leaves a margin and the symbol length descriptor
//! is right. This module never searches for symbols.

use std::panic::{AssertUnwindSafe, catch_unwind};

use imaging::Luma;
use rxing::pdf417::decoder::decoded_bit_stream_parser;

use super::correction::{self, correct};
use super::patterns::{self, MODULES, Match, PatternSet};
use super::work::WorkBudget;

/// Pixels per module of a straightened symbol, across and down.
pub(super) const ACROSS: u32 = 4;
pub(super) const DOWN: u32 = 3;
/// Modules around a straightened symbol. Above and below, there may be rows whose guard patterns were not
/// found.
pub(super) const MARGIN_ACROSS: u32 = 4;
pub(super) const MARGIN_DOWN: u32 = 12;
/// The largest number of data columns and rows (ISO/IEC 15438 §4.2.2).
const MAX_COLUMNS: usize = 30;
const MAX_ROWS: usize = 90;
/// An indicator with a smaller correlation has no vote.
const MIN_INDICATOR: f32 = 0.8;
/// A codeword with a smaller correlation is an erasure.
const MIN_CORRELATION: f32 = 0.75;
/// A codeword with a smaller share of the median contrast is an erasure.
const MIN_CONTRAST: f32 = 0.3;
/// Half the number of lines over which a row indicator is averaged, about a third of a row.
const LINES: f32 = 1.5;
/// The shifts in modules at which a codeword is matched.
const SHIFTS: [f32; 3] = [0.0, -0.3, 0.3];
/// The parts of a row that are averaged: the middle relative to the row's and the reach to both sides, in row
/// heights. The first is the whole row without its borders.
const BANDS: [(f32, f32); 3] = [(0.0, 0.3), (-0.25, 0.15), (0.25, 0.15)];
/// A codeword with this correlation is not read again from parts of its row.
const CLEAR: f32 = 0.97;
/// The shares of the usable check codewords that are spent on the least certain codewords, in turn.
const ERASED: [f32; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
/// The work of one match with a cluster, in pixels.
const MATCH_WORK: u64 = 400;

/// A decoded symbol.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) text: String,
    /// Whether the rows are in reverse order, as in a mirrored picture.
    pub(super) is_flipped: bool,
}

/// Decodes a straightened symbol of this many data columns. Returns `None` if it is not read with certainty, or
/// if the work limit is reached.
pub(super) fn decode(symbol: &Luma, columns: usize, work: &mut WorkBudget) -> Option<Decoded> {
    patterns::sets().iter().find_map(|set| {
        let reader = Reader { symbol, columns, set };
        let layout = reader.layout(work)?;
        let cells = (layout.rows * columns * SHIFTS.len() * 2) as u64;
        if !work.take_pixels(cells * MATCH_WORK) {
            return None;
        }
        Some(Decoded {
            text: payload(&reader.codewords(&layout), &layout)?,
            is_flipped: layout.left.slope < 0.0,
        })
    })
}

/// The y coordinates of a symbol's ends in a straightened picture: the left side's upper and lower end, then
/// the right side's. Returns `None` if the rows are not recognised.
///
/// A side's outermost hits may be some rows from its ends. If these differ between the sides, straightening
/// takes the difference for perspective and moves the codewords between them.
pub(super) fn ends(symbol: &Luma, columns: usize, work: &mut WorkBudget) -> Option<[[f32; 2]; 2]> {
    patterns::sets().iter().find_map(|set| {
        let reader = Reader { symbol, columns, set };
        let layout = reader.layout(work)?;
        let edge = |place: f32| {
            let y = |row: f32| layout.y(row, place, columns);
            let (first, last) = (y(0.0), y(layout.rows as f32));
            [first.min(last), first.max(last)]
        };
        Some([edge(0.0), edge(1.0)])
    })
}

/// A row indicator on a scan line.
#[derive(Debug, Clone, Copy)]
struct Vote {
    is_left: bool,
    y: f32,
    row: usize,
    /// What the indicator states: a part of the number of rows, of columns, or the level of correction.
    stated: usize,
}

/// A linear relation of the y coordinate to the row: row = offset + slope · y.
#[derive(Debug, Clone, Copy)]
struct RowLine {
    offset: f32,
    slope: f32,
}

impl RowLine {
    fn y(self, row: f32) -> f32 {
        (row - self.offset) / self.slope
    }

    /// The line with the most votes near it.
    fn fit(votes: &[&Vote]) -> Option<(Self, usize)> {
        const NEAR: f32 = 0.8;
        const MIN_VOTES: usize = 5;
        let near = |line: Self| {
            votes
                .iter()
                .filter(move |vote| (line.offset + line.slope * vote.y - vote.row as f32 - 0.5).abs() < NEAR)
        };
        let stride = votes.len().div_ceil(60).max(1);
        let mut best: Option<(Self, usize)> = None;
        for (i, a) in votes.iter().enumerate().step_by(stride) {
            for b in votes[i + 1..].iter().step_by(stride) {
                let slope = (b.row as f32 - a.row as f32) / (b.y - a.y);
                // A row is at least one module and at most 20 modules high.
                let height = 1.0 / (slope.abs() * DOWN as f32);
                if a.row.abs_diff(b.row) < 2 || !(1.0..20.0).contains(&height) {
                    continue;
                }
                let line = Self {
                    offset: a.row as f32 + 0.5 - slope * a.y,
                    slope,
                };
                let count = near(line).count();
                if best.is_none_or(|(_, most)| count > most) {
                    best = Some((line, count));
                }
            }
        }
        let (line, count) = best?;
        if count < MIN_VOTES {
            return None;
        }
        let members: Vec<&&Vote> = near(line).collect();
        let mean = |value: &dyn Fn(&Vote) -> f32| {
            members.iter().map(|vote| value(vote)).sum::<f32>() / members.len() as f32
        };
        let (y, row) = (mean(&|vote| vote.y), mean(&|vote| vote.row as f32 + 0.5));
        let spread = mean(&|vote| (vote.y - y).powi(2));
        let joint = mean(&|vote| (vote.y - y) * (vote.row as f32 + 0.5 - row));
        let slope = joint / spread;
        let fitted = Self {
            offset: row - slope * y,
            slope,
        };
        let is_same_way = slope.is_finite() && slope * line.slope > 0.0;
        Some((if is_same_way { fitted } else { line }, count))
    }
}

/// The rows of a symbol.
#[derive(Debug, Clone, Copy)]
struct Layout {
    left: RowLine,
    right: RowLine,
    rows: usize,
    /// The level of error correction.
    level: usize,
}

impl Layout {
    /// The layout that the most indicators state. Returns `None` if they state another number of columns.
    fn from_votes(votes: &[Vote], columns: usize) -> Option<Self> {
        let side = |is_left: bool| {
            let votes: Vec<&Vote> = votes.iter().filter(|vote| vote.is_left == is_left).collect();
            RowLine::fit(&votes)
        };
        let (left, right) = match (side(true), side(false)) {
            (Some((left, a)), Some((right, b))) if left.slope * right.slope < 0.0 => {
                if a > b {
                    (left, left)
                } else {
                    (right, right)
                }
            }
            (Some((left, _)), Some((right, _))) => (left, right),
            (Some((line, _)), None) | (None, Some((line, _))) => (line, line),
            (None, None) => return None,
        };
        let mut counts = [[0usize; 30]; 3];
        for vote in votes {
            let line = if vote.is_left { left } else { right };
            if (line.offset + line.slope * vote.y - vote.row as f32 - 0.5).abs() < 0.8 {
                // The right indicators state the same three numbers one row later.
                let kind = (vote.row + if vote.is_left { 0 } else { 2 }) % 3;
                counts[kind][vote.stated] += 1;
            }
        }
        let most = |kind: usize| (0..30).max_by_key(|&stated| counts[kind][stated]).unwrap_or(0);
        let [thirds, remainder, stated_columns] = [most(0), most(1), most(2)];
        let rows = thirds * 3 + remainder % 3 + 1;
        let layout = Self {
            left,
            right,
            rows,
            level: remainder / 3,
        };
        let is_possible =
            (3..=MAX_ROWS).contains(&rows) && layout.level <= 8 && layout.checks() + 2 < rows * columns;
        (stated_columns + 1 == columns && is_possible).then_some(layout)
    }

    /// The y coordinate of a place in the rows. `x` is 0 on the symbol's left and 1 on its right side. The lines
    /// of the rows are known at the row indicators.
    fn y(&self, row: f32, x: f32, columns: usize) -> f32 {
        let modules = columns as f32 * 17.0 + 69.0;
        let indicator = 25.5 / modules;
        let share = (x - indicator) / (1.0 - 2.0 * indicator - 1.0 / modules);
        self.left.y(row) * (1.0 - share) + self.right.y(row) * share
    }

    /// The number of check codewords (ISO/IEC 15438 §4.7.1).
    fn checks(&self) -> usize {
        2 << self.level
    }
}

/// Reads codewords from a straightened symbol.
struct Reader<'a> {
    symbol: &'a Luma,
    columns: usize,
    set: &'a PatternSet,
}

impl Reader<'_> {
    /// The layout that the row indicators state.
    fn layout(&self, work: &mut WorkBudget) -> Option<Layout> {
        if !(1..=MAX_COLUMNS).contains(&self.columns) {
            return None;
        }
        let lines = u64::from(self.symbol.height / 2);
        if !work.take_pixels(lines * 2 * 3 * MATCH_WORK) {
            return None;
        }
        Layout::from_votes(&self.indicator_votes(), self.columns)
    }

    /// Reads the row indicators on every second line.
    fn indicator_votes(&self) -> Vec<Vote> {
        let mut votes = Vec::new();
        for y in (0..self.symbol.height).step_by(2) {
            let profile = self.profile(|_| y as f32 + 0.5, LINES);
            for (is_left, cell) in [(true, 1), (false, self.columns + 2)] {
                let found = self.set.best(modules(&profile, cell, 0.0), 0..3);
                if found.correlation < MIN_INDICATOR {
                    continue;
                }
                votes.push(Vote {
                    is_left,
                    y: y as f32 + 0.5,
                    row: found.codeword as usize / 30 * 3 + found.cluster,
                    stated: found.codeword as usize % 30,
                });
            }
        }
        votes
    }

    /// Matches every codeword of the data columns, row by row.
    fn codewords(&self, layout: &Layout) -> Vec<Match> {
        let width = self.symbol.width as f32;
        let mut codewords = Vec::with_capacity(layout.rows * self.columns);
        for row in 0..layout.rows {
            let margin = (MARGIN_ACROSS * ACROSS) as f32;
            let place = |x: f32| (x - margin) / (width - 2.0 * margin);
            let height = 1.0 / layout.left.slope.abs();
            let profiles = BANDS.map(|(middle, reach)| {
                let middle = |x: f32| layout.y(row as f32 + 0.5, place(x), self.columns) + middle * height;
                self.profile(middle, reach * height)
            });
            for column in 0..self.columns {
                let best = |profile: &[f32]| {
                    let candidates = SHIFTS.map(|shift| {
                        let profile = modules(profile, column + 2, shift);
                        self.set.best(profile, row % 3..row % 3 + 1)
                    });
                    candidates
                        .into_iter()
                        .max_by(|a, b| a.correlation.total_cmp(&b.correlation))
                        .unwrap_or_default()
                };
                let [whole, parts @ ..] = &profiles;
                let mut found = best(whole);
                if found.correlation < CLEAR {
                    // A sticker or glare may cover only a part of the row's height.
                    for part in parts {
                        let other = best(part);
                        if other.evidence() > found.evidence() {
                            found = other;
                        }
                    }
                }
                codewords.push(found);
            }
        }
        codewords
    }

    /// The mean brightness of each column of pixels over the lines within `reach` of `middle`.
    fn profile(&self, middle: impl Fn(f32) -> f32, reach: f32) -> Vec<f32> {
        let symbol = self.symbol;
        (0..symbol.width)
            .map(|x| {
                let y = middle(x as f32);
                let last = symbol.height as f32 - 1.0;
                // A line's middle is half a pixel below its coordinate.
                let first = (y - reach).round();
                let end = (y + reach).round().max(first + 1.0);
                if first < 0.0 || end > last + 1.0 {
                    return 255.0;
                }
                let (first, end) = (first as u32, end as u32);
                let sum: u32 = (first..end).map(|y| u32::from(symbol.pixel(x, y))).sum();
                sum as f32 / (end - first) as f32
            })
            .collect()
    }
}

/// The brightness of each module of a codeword. Cell 0 is the start pattern.
fn modules(profile: &[f32], cell: usize, shift: f32) -> [f32; MODULES] {
    let first = (MARGIN_ACROSS as usize + cell * MODULES) as f32 + shift;
    std::array::from_fn(|module| {
        let start = ((first + module as f32) * ACROSS as f32).round().max(0.0) as usize;
        let end = (start + ACROSS as usize).min(profile.len());
        profile
            .get(start..end)
            .filter(|part| !part.is_empty())
            .map_or(255.0, |part| part.iter().sum::<f32>() / part.len() as f32)
    })
}

/// Corrects and decodes codewords. The least certain ones are erased, more of them in each attempt.
fn payload(codewords: &[Match], layout: &Layout) -> Option<String> {
    let mut contrasts: Vec<f32> = codewords.iter().map(|found| found.contrast).collect();
    contrasts.sort_by(f32::total_cmp);
    let typical = contrasts.get(contrasts.len() * 6 / 10).copied()?.max(1.0);
    let is_unread = |found: &Match| {
        found.contrast < MIN_CONTRAST * typical
            || found.correlation < MIN_CORRELATION
            || found.codeword >= correction::MODULUS
    };
    let certainty = |found: &Match| {
        if is_unread(found) {
            return -1.0;
        }
        found.lead * found.correlation.powi(8) * (found.contrast / typical).min(1.0)
    };
    let mut order: Vec<usize> = (0..codewords.len()).collect();
    order.sort_by(|&a, &b| certainty(&codewords[a]).total_cmp(&certainty(&codewords[b])));
    let unread = codewords.iter().filter(|found| is_unread(found)).count();
    let usable = layout.checks().checked_sub(correction::MARGIN)?;
    let spare = usable.checked_sub(unread)?;
    let received: Vec<u32> = codewords.iter().map(|found| found.codeword).collect();
    ERASED.iter().find_map(|share| {
        let erased = unread + (share * spare as f32) as usize;
        let word = correct(&received, layout.checks(), &order[..erased])?;
        // The first codeword states the number of codewords before the check codewords (§4.3.5).
        (word[0] as usize == word.len() - layout.checks()).then_some(())?;
        text(&word, layout.level)
    })
}

/// Decodes corrected codewords to text. A panic of the library counts as an unreadable symbol.
/// `AssertUnwindSafe` is sound because nothing that the closure uses is changed.
fn text(codewords: &[u32], level: usize) -> Option<String> {
    let attempt = || decoded_bit_stream_parser::decode(codewords, &level.to_string());
    let decoded = catch_unwind(AssertUnwindSafe(attempt)).ok()?.ok()?;
    Some(decoded.getText().to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vote(is_left: bool, row: usize, stated: usize) -> Vote {
        Vote {
            is_left,
            y: row as f32 * 9.0 + 4.5,
            row,
            stated,
        }
    }

    /// The votes of a symbol with 23 rows, 12 columns and level 5.
    fn votes(rows: impl Iterator<Item = usize>) -> Vec<Vote> {
        rows.flat_map(|row| {
            let stated = [7, 16, 11];
            [
                vote(true, row, stated[row % 3]),
                vote(false, row, stated[(row + 2) % 3]),
            ]
        })
        .collect()
    }

    #[test]
    fn indicators_give_the_layout_in_spite_of_gaps_and_misread_ones() {
        let mut votes = votes((0..5).chain(12..23));
        votes.extend((0..12).map(|row| vote(true, 80 - row * 3, row)));
        let layout = Layout::from_votes(&votes, 12).expect("most votes agree");
        assert_eq!((layout.rows, layout.level, layout.checks()), (23, 5, 64));
        for (row, x) in [(0.0, 0.0), (23.0, 1.0), (8.0, 0.5)] {
            assert!((layout.y(row, x, 12) - row * 9.0).abs() < 0.5, "{layout:?}");
        }
        assert!(
            Layout::from_votes(&votes, 11).is_none(),
            "another number of columns"
        );
        assert!(Layout::from_votes(&[], 12).is_none());
    }

    #[test]
    fn a_wrong_length_descriptor_gives_no_payload() {
        let layout = Layout::from_votes(&votes(0..23), 12).expect("all votes agree");
        // A word of zeros is a code word, but its descriptor states no codewords.
        let zero = Match {
            correlation: 1.0,
            lead: 0.1,
            contrast: 100.0,
            ..Match::default()
        };
        assert_eq!(payload(&[zero; 23 * 12], &layout), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_picture_makes_the_rows_panic(
            width in 1u32..400,
            height in 1u32..150,
            columns in 0usize..40,
            seed in prop::collection::vec(any::<u8>(), 64),
        ) {
            let mut symbol = Luma::filled(width, height, 0);
            for (index, grey) in symbol.pixels.iter_mut().enumerate() {
                *grey = seed[(index % width as usize / 4 * 7 + index / width as usize / 9 * 13) % 64];
            }
            let mut work = WorkBudget::pixels(10_000_000);
            decode(&symbol, columns, &mut work);
            ends(&symbol, columns, &mut work);
        }

        #[test]
        fn no_votes_make_the_layout_panic(
            rows in prop::collection::vec((any::<bool>(), 0usize..93, 0usize..30, 0.0f32..200.0), 0..60),
            columns in 1usize..31,
        ) {
            let votes: Vec<Vote> = rows
                .into_iter()
                .map(|(is_left, row, stated, y)| Vote { is_left, y, row, stated })
                .collect();
            Layout::from_votes(&votes, columns);
        }
    }
}
