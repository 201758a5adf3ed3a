//! The search that `repair` uses: it finds the likeliest strings that a layout allows from candidates per
//! character.
//!
//! The search is dynamic programming over the positions of the layout. A state is the number of used cells
//! and the two running check-digit sums modulo ten: the field's and the composite's. Each state retains its
//! best strings.
//!
//! A cell may be skipped and a position filled without a cell, because recognition miscounts runs of fillers.

use std::ops::Range;

use jiff::civil::Date;

use super::layout::{Layout, value};
use super::positions::{Part, Position, positions};

/// The number of strings that each state retains and that the search returns.
pub(super) const PATHS_PER_STATE: usize = 8;
/// Strings this many nats worse than the best at the same position are dropped.
const PRUNING_MARGIN: f32 = 14.0;

// The costs, in nats, of departures from one cell per position. Skipping or inserting fillers is cheap only
// if the line's number of cells differs from its number of positions.
const FIRST_FILLER: f32 = 3.0;
const NEXT_FILLER: f32 = 0.7;
const TRAILING_FILLER: f32 = 1.0;
const UNSUPPORTED_COST: f32 = 7.0;
// The cost of a character outside its position's class, if the print itself may be wrong. It is more than the
// cost of reading B for 8 and less than that of A for 4.
const AGAINST_CLASS: f32 = 5.5;
// The costs of departures from well-formed names and numbers.
const ODD_NAME: f32 = 4.0;
const ODD_NUMBER: f32 = 3.0;
/// The cost of each implausible field: a code that nobody has, a date that no calendar has.
pub(super) const IMPLAUSIBLE: f32 = 4.0;
/// After so many fillers, optional data has digits at most: some issuers print them at the end of the line.
const END_OF_DATA: u8 = 3;

/// Candidates of one cell, likeliest first, with log probabilities.
pub(super) type Candidates = Vec<(char, f32)>;

/// A string that the layout allows.
#[derive(Debug, Clone)]
pub(super) struct CandidateString {
    pub(super) lines: Vec<Vec<char>>,
    /// The log probability minus all costs.
    pub(super) score: f32,
    /// Whether a character has no cell or a cell no character, other than fillers in the runs of a line whose cells
    /// were miscounted.
    pub(super) guessed: bool,
}

/// A partial string.
#[derive(Debug, Clone, Copy)]
struct Path {
    score: f32,
    /// The hash of the characters so far, which identifies equal strings.
    hash: u64,
    /// Index of the last character in the arena.
    node: u32,
    /// The number of fillers immediately before, in this line.
    fillers: u8,
    /// Name only: whether the double filler has occurred.
    separated: bool,
    /// Whether the last step inserted a filler or skipped a cell in a run of fillers.
    in_filler_gap: bool,
    guessed: bool,
}

const ROOT: u32 = u32::MAX;

impl Path {
    /// The string without characters.
    const EMPTY: Self = Self {
        score: 0.0,
        hash: 0xcbf2_9ce4_8422_2325,
        node: ROOT,
        fillers: 0,
        separated: false,
        in_filler_gap: false,
        guessed: false,
    };
}

/// The number of states (pairs of sums) for one number of used cells.
const SUMS: usize = 100;

/// The best strings per state at one position. The index of a state is used cells × 100 + the field's sum × 10 + the
/// composite sum.
///
/// A search visits few of the states, and many layers, so a layer is emptied and used again.
struct Layer {
    /// Space for the strings of each state.
    paths: Vec<Path>,
    /// The number of strings of each state.
    counts: Vec<u8>,
    /// The numbers of used cells whose states may have strings.
    visited: Range<usize>,
    best: f32,
}

impl Layer {
    fn new(cells: usize) -> Self {
        let states = (cells + 1) * SUMS;
        Self {
            paths: vec![Path::EMPTY; states * PATHS_PER_STATE],
            counts: vec![0; states],
            visited: 0..0,
            best: f32::NEG_INFINITY,
        }
    }

    fn clear(&mut self) {
        self.counts[self.visited.start * SUMS..self.visited.end * SUMS].fill(0);
        self.visited = 0..0;
        self.best = f32::NEG_INFINITY;
    }

    /// The strings of a state.
    fn paths(&self, state: usize) -> &[Path] {
        let start = state * PATHS_PER_STATE;
        &self.paths[start..start + usize::from(self.counts[state])]
    }

    /// Retains a path if it is among the best of its state, and returns whether it does; of equal strings, only the best
    /// path.
    fn offer(&mut self, state: usize, path: Path) -> bool {
        if path.score < self.best - PRUNING_MARGIN {
            return false;
        }
        self.best = self.best.max(path.score);
        let used = state / SUMS;
        if self.visited.is_empty() {
            self.visited = used..used + 1;
        }
        self.visited = self.visited.start.min(used)..self.visited.end.max(used + 1);
        let start = state * PATHS_PER_STATE;
        let count = usize::from(self.counts[state]);
        let kept = &mut self.paths[start..start + PATHS_PER_STATE];
        if let Some(same) = kept[..count].iter_mut().find(|p| p.hash == path.hash) {
            let is_better = path.score > same.score;
            if is_better {
                *same = path;
            }
            return is_better;
        }
        if count < PATHS_PER_STATE {
            kept[count] = path;
            self.counts[state] += 1;
            return true;
        }
        let worst = kept.iter_mut().min_by(|a, b| a.score.total_cmp(&b.score));
        match worst.filter(|worst| worst.score < path.score) {
            Some(worst) => {
                *worst = path;
                true
            }
            None => false,
        }
    }
}

/// Finds the likeliest strings that the layout allows, best first.
///
/// With `checked`, every check digit is correct, except that the caller must verify the exact rule for blank
/// digits. Without it, a character outside its position's class is possible at a cost, because the print may
/// be wrong.
pub(super) fn search(
    layout: &Layout,
    rest: usize,
    lines: &[Vec<Candidates>],
    checked: bool,
    today: Date,
) -> Vec<CandidateString> {
    let mut search = Search {
        miscounted: false,
        arena: Vec::new(),
        checked,
        today,
    };
    // Between lines, a state is the sums only.
    let mut between = Layer::new(0);
    between.offer(0, Path::EMPTY);
    for (positions, cells) in positions(layout, rest, checked).iter().zip(lines) {
        between = search.line(positions, cells, &between);
    }
    let mut found: Vec<Path> = (0..SUMS).flat_map(|sums| between.paths(sums)).copied().collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found.truncate(PATHS_PER_STATE);
    found
        .iter()
        .map(|path| search.found(path, layout.width))
        .collect()
}

/// No string of any layout has a better score. It is computed at once, unlike [`search`], and shows that
/// lines whose cells could be anything are no zone.
pub(super) fn best_score(lines: &[Vec<Candidates>]) -> f32 {
    let skipped = |cell: &Candidates| {
        if is_likely_filler(cell) {
            -NEXT_FILLER
        } else {
            -UNSUPPORTED_COST
        }
    };
    let likeliest = |cell: &Candidates| cell.first().map_or(f32::NEG_INFINITY, |&(_, p)| p);
    lines
        .iter()
        .flatten()
        .map(|cell| likeliest(cell).max(skipped(cell)))
        .sum()
}

/// Whether a cell may be skipped as one of a run of fillers.
fn is_likely_filler(cell: &Candidates) -> bool {
    likelihood(cell, '<') > -1.5
}

struct Search {
    /// The line's number of cells differs from its number of positions, so cells must be skipped or positions
    /// filled.
    miscounted: bool,
    /// Every character of every path, with the index of the previous one.
    arena: Vec<(char, u32)>,
    checked: bool,
    today: Date,
}

impl Search {
    /// Extends the paths before a line to those after it.
    fn line(&mut self, positions: &[Position], cells: &[Candidates], before: &Layer) -> Layer {
        self.miscounted = positions.len() != cells.len();
        let slack = positions.len().abs_diff(cells.len()) + 2;
        let (mut layer, mut next) = (Layer::new(cells.len()), Layer::new(cells.len()));
        for sums in 0..SUMS {
            for path in before.paths(sums) {
                layer.offer(
                    sums,
                    Path {
                        fillers: 0,
                        separated: false,
                        in_filler_gap: false,
                        ..*path
                    },
                );
            }
        }
        for (column, position) in positions.iter().enumerate() {
            self.skip(&mut layer, cells);
            let first = column.saturating_sub(slack).max(layer.visited.start);
            let last = (column + slack + 1).min(layer.visited.end);
            for used in first..last {
                for sums in 0..SUMS {
                    for path in layer.paths(used * SUMS + sums) {
                        if path.score >= layer.best - PRUNING_MARGIN {
                            self.step(&mut next, position, column, cells, (used, sums), *path);
                        }
                    }
                }
            }
            layer.clear();
            std::mem::swap(&mut layer, &mut next);
        }
        self.skip(&mut layer, cells);
        let mut after = Layer::new(0);
        for sums in 0..SUMS {
            for path in layer.paths(cells.len() * SUMS + sums) {
                after.offer(sums, *path);
            }
        }
        after
    }

    /// Skips cells at the same position.
    fn skip(&self, layer: &mut Layer, cells: &[Candidates]) {
        let first = layer.visited.start;
        for (used, cell) in cells.iter().enumerate().skip(first) {
            if !layer.visited.contains(&used) {
                break;
            }
            let filler = is_likely_filler(cell);
            for sums in 0..SUMS {
                for at in 0..layer.paths(used * SUMS + sums).len() {
                    let path = layer.paths(used * SUMS + sums)[at];
                    let run = filler && path.fillers > 0;
                    let cost = match (run && self.miscounted, path.in_filler_gap) {
                        (true, true) => NEXT_FILLER,
                        (true, false) => FIRST_FILLER,
                        (false, _) => UNSUPPORTED_COST,
                    };
                    let skipped = Path {
                        score: path.score - cost,
                        in_filler_gap: run,
                        guessed: path.guessed || !run || !self.miscounted,
                        ..path
                    };
                    layer.offer((used + 1) * SUMS + sums, skipped);
                }
            }
        }
    }

    /// Adds every character that one position allows after one path.
    fn step(
        &mut self,
        next: &mut Layer,
        position: &Position,
        column: usize,
        cells: &[Candidates],
        (used, sums): (usize, usize),
        path: Path,
    ) {
        if let Some(cell) = cells.get(used) {
            for (rank, &(c, p)) in cell.iter().enumerate() {
                // Others are less likely still.
                if path.score + p < next.best - PRUNING_MARGIN {
                    break;
                }
                let against = !position.class.allows(c);
                if against && (self.checked || rank > 0) {
                    continue;
                }
                let cost = if against { AGAINST_CLASS } else { 0.0 };
                let read = Path {
                    score: path.score + p - cost,
                    in_filler_gap: false,
                    ..path
                };
                self.emit(next, position, column, c, (used + 1, sums), read);
            }
        }
        // The position may be a filler that recognition missed in a run of fillers or after the last cell.
        let beyond = used == cells.len();
        if position.class.allows('<')
            && (path.fillers > 0 || cells.get(used).is_some_and(is_likely_filler) || beyond)
        {
            let cost = match (path.in_filler_gap, beyond) {
                _ if !self.miscounted => UNSUPPORTED_COST,
                (true, _) => NEXT_FILLER,
                (false, true) => TRAILING_FILLER,
                (false, false) => FIRST_FILLER,
            };
            let filled = Path {
                score: path.score - cost,
                in_filler_gap: true,
                // A line with enough cells lost a character here, or has one too many elsewhere.
                guessed: path.guessed || !self.miscounted,
                ..path
            };
            self.emit(next, position, column, '<', (used, sums), filled);
        }
        // The position may repeat the previous character, if recognition merged two equal characters.
        if let Some(&(last, _)) = self.arena.get(path.node as usize)
            && column > 0
            && last != '<'
            && position.class.allows(last)
        {
            let doubled = Path {
                score: path.score - UNSUPPORTED_COST,
                in_filler_gap: false,
                guessed: true,
                ..path
            };
            self.emit(next, position, column, last, (used, sums), doubled);
        }
    }

    /// Appends one character at one position, unless a check digit excludes it.
    fn emit(
        &mut self,
        next: &mut Layer,
        position: &Position,
        column: usize,
        c: char,
        at: (usize, usize),
        path: Path,
    ) {
        let (used, sums) = at;
        let digit = value(c).unwrap_or(0) % 10;
        let mut pair = [(sums / 10) as u8, (sums % 10) as u8];
        for (slot, sum) in pair.iter_mut().enumerate() {
            if position.closes[slot] {
                if *sum != digit {
                    return;
                }
                *sum = 0;
            }
            *sum = (*sum + digit * position.weights[slot]) % 10;
        }
        let filler = c == '<';
        let mut path = path;
        match position.part {
            // A well-formed name has letters, single fillers, one double filler, and then fillers to the end.
            Part::Name if filler => {}
            Part::Name => {
                let odd = match path.fillers {
                    0 | 1 => false,
                    2 => std::mem::replace(&mut path.separated, true),
                    _ => true,
                };
                path.score -= if odd { ODD_NAME } else { 0.0 };
            }
            // A number has fillers only at its end, other data no letters after a run of fillers, and most issuers avoid
            // the letters that look like digits.
            Part::Number | Part::Data if !self.checked => {}
            Part::Number | Part::Data => {
                let gap = match position.part {
                    Part::Number => !filler && path.fillers > 0,
                    _ => c.is_ascii_uppercase() && path.fillers >= END_OF_DATA,
                };
                path.score -= if gap || matches!(c, 'O' | 'I' | 'Q') {
                    ODD_NUMBER
                } else {
                    0.0
                };
            }
            Part::Other => {}
        }
        // A run of fillers counts only within its part: the issuer's fillers do not continue into the name.
        path.fillers = match (filler, column == 5 && position.part == Part::Name) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => path.fillers.saturating_add(1),
        };
        if let Some(field) = position.completes
            && !field.is_plausible(&self.text(&path, c, field.length()), self.today)
        {
            path.score -= IMPLAUSIBLE;
        }
        if path.score < next.best - PRUNING_MARGIN {
            return;
        }
        path.hash = (path.hash ^ u64::from(u32::from(c))).wrapping_mul(0x0000_0100_0000_01b3);
        let before = path.node;
        path.node = u32::try_from(self.arena.len()).unwrap_or(ROOT);
        let state = used * SUMS + usize::from(pair[0]) * 10 + usize::from(pair[1]);
        if next.offer(state, path) {
            self.arena.push((c, before));
        }
    }

    /// The last characters of a path with the next one, `length` in all.
    fn text(&self, path: &Path, next: char, length: usize) -> Vec<char> {
        let mut text = vec![next];
        let mut node = path.node;
        while let Some(&(c, before)) = self.arena.get(node as usize).filter(|_| text.len() < length) {
            text.push(c);
            node = before;
        }
        text.reverse();
        text
    }

    /// The complete string of a path through all lines.
    fn found(&self, path: &Path, width: usize) -> CandidateString {
        let mut text = Vec::new();
        let mut node = path.node;
        while let Some(&(c, before)) = self.arena.get(node as usize) {
            text.push(c);
            node = before;
        }
        text.reverse();
        CandidateString {
            lines: text.chunks(width).map(<[char]>::to_vec).collect(),
            score: path.score,
            guessed: path.guessed,
        }
    }
}

/// The log probability of a character in a cell.
fn likelihood(cell: &Candidates, c: char) -> f32 {
    cell.iter()
        .find(|(known, _)| *known == c)
        .map_or(f32::NEG_INFINITY, |&(_, p)| p)
}
