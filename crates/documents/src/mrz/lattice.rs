//! The search behind repair: the likeliest strings that a layout allows, out of candidates per character.
//!
//! Dynamic programming over positions of the layout. A state is how many cells of the line are used up and the two
//! running check-digit sums (the field's own, and the composite's), modulo ten; each state keeps its few best strings.
//! A cell may be skipped or a position filled without a cell, since readers miscount runs of fillers.

use super::layout::{Layout, Names, WEIGHTS, value};
use crate::reading::MrzCheck;

/// How many strings are kept per state, and given back.
const KEPT: usize = 5;
/// Strings this many nats below the best at the same position are dropped.
const HOPELESS: f32 = 14.0;

// What departures from one cell per position cost, in nats.
// Fillers are cheap only where the line has not as many cells as positions.
const FIRST_FILLER: f32 = 3.0;
const NEXT_FILLER: f32 = 0.7;
const TRAILING_FILLER: f32 = 1.0;
const DOUBTFUL: f32 = 7.0;
// A character against its position's class, when what is printed may be wrong: more than B for 8, less than A for 4.
const AGAINST_CLASS: f32 = 5.5;
// What departures from well-formed names and numbers cost.
const ODD_NAME: f32 = 4.0;
const ODD_NUMBER: f32 = 3.0;

/// Candidates of one cell, likeliest first.
pub(super) type Candidates = Vec<(char, f32)>;

/// A string that the layout allows.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) lines: Vec<Vec<char>>,
    /// Log probability with all costs.
    pub(super) score: f32,
    /// A character without a cell, or a cell without a character, other than a filler in a run of fillers.
    pub(super) guessed: bool,
}

/// What a position may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    LetterOrFiller,
    Digit,
    DigitOrFiller,
    Any,
    Filler,
    Sex,
}

impl Class {
    fn allows(self, c: char) -> bool {
        match self {
            Self::Letter => c.is_ascii_uppercase(),
            Self::LetterOrFiller => c == '<' || c == 'Ñ' || c.is_ascii_uppercase(),
            Self::Digit => c.is_ascii_digit(),
            Self::DigitOrFiller => c == '<' || c.is_ascii_digit(),
            Self::Any => value(c).is_some(),
            Self::Filler => c == '<',
            Self::Sex => matches!(c, 'M' | 'F' | '<' | 'X'),
        }
    }
}

/// What part of the zone a position belongs to, as far as its characters have habits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Name,
    Number,
    Data,
    Other,
}

/// One position of a layout as the search sees it.
#[derive(Debug, Clone, Copy)]
struct Position {
    class: Class,
    part: Part,
    /// Weight in the field's own and in the composite sum; 0 where it is not covered.
    weights: [u8; 2],
    /// Whether it is the check digit of either sum.
    closes: [bool; 2],
}

/// The positions of every line, for a number of which `rest` characters stand in the optional data. Without `checked`
/// only the classes bind.
fn positions(layout: &Layout, rest: usize, checked: bool) -> Vec<Vec<Position>> {
    let other = Position {
        class: Class::Any,
        part: Part::Other,
        weights: [0; 2],
        closes: [false; 2],
    };
    let mut grid = vec![vec![other; layout.width]; layout.lines];
    let mut class = |span: super::layout::Span, class: Class, part: Part| {
        for (line, column) in span.positions() {
            grid[line][column].class = class;
            grid[line][column].part = part;
        }
    };
    class(layout.issuer, Class::LetterOrFiller, Part::Other);
    class(layout.number, Class::Any, Part::Number);
    for span in [layout.optional, layout.optional2].into_iter().flatten() {
        class(span, Class::Any, Part::Data);
    }
    class(layout.birth, Class::DigitOrFiller, Part::Other);
    class(layout.sex, Class::Sex, Part::Other);
    match layout.names {
        Names::Together(span) => class(span, Class::LetterOrFiller, Part::Name),
        Names::Apart { surname, given } => {
            class(surname, Class::LetterOrFiller, Part::Name);
            class(given, Class::LetterOrFiller, Part::Other);
        }
    }
    if let Some(span) = layout.nationality {
        class(span, Class::LetterOrFiller, Part::Other);
    }
    if let Some(span) = layout.expiry {
        class(span, Class::DigitOrFiller, Part::Other);
    }
    let (line, column) = (layout.document_code.line, layout.document_code.start);
    grid[line][column].class = Class::Letter;

    for check in layout.checks(rest) {
        let slot = usize::from(check.name == MrzCheck::Composite);
        let digit = &mut grid[check.digit.0][check.digit.1];
        digit.class = if check.may_be_blank() {
            Class::DigitOrFiller
        } else {
            Class::Digit
        };
        digit.closes[slot] = checked;
        let covered = check.covers.iter().flat_map(|span| span.positions());
        for ((line, column), weight) in covered.zip(WEIGHTS.iter().cycle()) {
            grid[line][column].weights[slot] = if checked { *weight } else { 0 };
        }
    }
    if let (Some(more), true) = (layout.long_number, rest > 0) {
        let (line, column) = layout.number_digit();
        grid[line][column].class = Class::Filler;
        for position in &mut grid[more.line][more.start..more.start + rest] {
            position.part = Part::Number;
        }
        if rest + 1 < more.len {
            grid[more.line][more.start + rest + 1].class = Class::Filler;
        }
    }
    grid
}

/// A string on its way.
#[derive(Debug, Clone, Copy)]
struct Path {
    score: f32,
    /// Of the characters so far, to tell strings apart.
    hash: u64,
    /// Index of the last character in the arena.
    node: u32,
    /// Fillers just before, in this line.
    fillers: u8,
    /// Name only: a double filler was passed.
    separated: bool,
    /// The last step filled a position, or skipped a cell, for a filler.
    slipping: bool,
    guessed: bool,
}

const ROOT: u32 = u32::MAX;
/// Sums of one number of used cells.
const SUMS: usize = 100;

/// The best strings per state at one position: index = used cells × 100 + own sum × 10 + composite sum.
struct Layer {
    states: Vec<Vec<Path>>,
    best: f32,
}

impl Layer {
    fn new(cells: usize) -> Self {
        Self {
            states: vec![Vec::new(); (cells + 1) * SUMS],
            best: f32::NEG_INFINITY,
        }
    }

    /// Keeps a path if it is among the best of its state, once per string.
    fn offer(&mut self, state: usize, path: Path) {
        if path.score < self.best - HOPELESS {
            return;
        }
        self.best = self.best.max(path.score);
        let kept = &mut self.states[state];
        if let Some(same) = kept.iter_mut().find(|p| p.hash == path.hash) {
            if path.score > same.score {
                *same = path;
            }
        } else if kept.len() < KEPT {
            kept.push(path);
        } else if let Some(worst) = kept.iter_mut().min_by(|a, b| a.score.total_cmp(&b.score))
            && worst.score < path.score
        {
            *worst = path;
        }
    }
}

/// The likeliest strings that the layout allows, best first. With `checked`, every check digit holds in them (but for
/// the exact rule of blank digits, which the caller verifies); without, characters against their position's class are
/// possible at a cost, since what is printed may be wrong.
pub(super) fn search(layout: &Layout, rest: usize, lines: &[Vec<Candidates>], checked: bool) -> Vec<Found> {
    let mut search = Search {
        miscounted: false,
        arena: Vec::new(),
        checked,
    };
    let start = Path {
        score: 0.0,
        hash: 0xcbf2_9ce4_8422_2325,
        node: ROOT,
        fillers: 0,
        separated: false,
        slipping: false,
        guessed: false,
    };
    // Between lines only the sums and the strings matter.
    let mut between = Layer::new(0);
    between.offer(0, start);
    for (positions, cells) in positions(layout, rest, checked).iter().zip(lines) {
        between = search.line(positions, cells, between);
    }
    let mut found: Vec<Path> = between.states.into_iter().flatten().collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found.truncate(KEPT);
    found
        .iter()
        .map(|path| search.found(path, layout.width))
        .collect()
}

struct Search {
    /// The line has not as many cells as positions, so that some must be skipped or filled.
    miscounted: bool,
    /// Every character of every path with the one before it.
    arena: Vec<(char, u32)>,
    checked: bool,
}

impl Search {
    /// From the states before a line to those after it.
    fn line(&mut self, positions: &[Position], cells: &[Candidates], before: Layer) -> Layer {
        self.miscounted = positions.len() != cells.len();
        let slack = positions.len().abs_diff(cells.len()) + 2;
        let mut layer = Layer::new(cells.len());
        for (sums, paths) in before.states.into_iter().enumerate() {
            for path in paths {
                layer.offer(
                    sums,
                    Path {
                        fillers: 0,
                        separated: false,
                        slipping: false,
                        ..path
                    },
                );
            }
        }
        for (column, position) in positions.iter().enumerate() {
            self.skip(&mut layer, cells);
            let mut next = Layer::new(cells.len());
            let first = column.saturating_sub(slack);
            let last = (column + slack).min(cells.len());
            for used in first..=last {
                for sums in 0..SUMS {
                    for path in std::mem::take(&mut layer.states[used * SUMS + sums]) {
                        if path.score >= layer.best - HOPELESS {
                            self.step(&mut next, position, column, cells, (used, sums), path);
                        }
                    }
                }
            }
            layer = next;
        }
        self.skip(&mut layer, cells);
        let mut after = Layer::new(0);
        for (sums, paths) in layer.states.drain(cells.len() * SUMS..).enumerate() {
            for path in paths {
                after.offer(sums, path);
            }
        }
        after
    }

    /// Cells left unused, at the same position.
    fn skip(&self, layer: &mut Layer, cells: &[Candidates]) {
        for (used, cell) in cells.iter().enumerate() {
            let filler = likelihood(cell, '<') > -1.5;
            for sums in 0..SUMS {
                for path in layer.states[used * SUMS + sums].clone() {
                    let run = filler && path.fillers > 0;
                    let cost = match (run && self.miscounted, path.slipping) {
                        (true, true) => NEXT_FILLER,
                        (true, false) => FIRST_FILLER,
                        (false, _) => DOUBTFUL,
                    };
                    let skipped = Path {
                        score: path.score - cost,
                        slipping: run,
                        guessed: path.guessed || !run,
                        ..path
                    };
                    layer.offer((used + 1) * SUMS + sums, skipped);
                }
            }
        }
    }

    /// Everything that one position may hold after one path.
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
                let against = !position.class.allows(c);
                if against && (self.checked || rank > 0) {
                    continue;
                }
                let cost = if against { AGAINST_CLASS } else { 0.0 };
                let read = Path {
                    score: path.score + p - cost,
                    slipping: false,
                    ..path
                };
                self.emit(next, position, column, c, (used + 1, sums), read);
            }
        }
        // A filler that the reader missed in a run, or beyond the end of what it saw.
        let beyond = used == cells.len();
        if position.class.allows('<')
            && (path.fillers > 0 || cells.get(used).is_some_and(|c| likelihood(c, '<') > -1.5) || beyond)
        {
            let cost = match (path.slipping, beyond) {
                _ if !self.miscounted => DOUBTFUL,
                (true, _) => NEXT_FILLER,
                (false, true) => TRAILING_FILLER,
                (false, false) => FIRST_FILLER,
            };
            let filled = Path {
                score: path.score - cost,
                slipping: true,
                ..path
            };
            self.emit(next, position, column, '<', (used, sums), filled);
        }
        // A doubled character that the reader took for one.
        if let Some(&(last, _)) = self.arena.get(path.node as usize)
            && column > 0
            && last != '<'
            && position.class.allows(last)
        {
            let doubled = Path {
                score: path.score - DOUBTFUL,
                slipping: false,
                guessed: true,
                ..path
            };
            self.emit(next, position, column, last, (used, sums), doubled);
        }
    }

    /// Puts one character at one position, unless a check digit forbids it.
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
            // Well-formed names: letters, single fillers, one double filler, then fillers to the end.
            Part::Name if filler => {}
            Part::Name => {
                let odd = match path.fillers {
                    0 | 1 => false,
                    2 => std::mem::replace(&mut path.separated, true),
                    _ => true,
                };
                path.score -= if odd { ODD_NAME } else { 0.0 };
            }
            // Numbers are filled up behind, and most issuers avoid the letters that look like digits.
            Part::Number | Part::Data if !self.checked => {}
            Part::Number | Part::Data => {
                let gap = position.part == Part::Number && !filler && path.fillers > 0;
                path.score -= if gap || matches!(c, 'O' | 'I' | 'Q') {
                    ODD_NUMBER
                } else {
                    0.0
                };
            }
            Part::Other => {}
        }
        // A run of fillers counts within its part only: the issuer's do not begin a name.
        path.fillers = match (filler, column == 5 && position.part == Part::Name) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => path.fillers.saturating_add(1),
        };
        if path.score < next.best - HOPELESS {
            return;
        }
        path.hash = (path.hash ^ u64::from(u32::from(c))).wrapping_mul(0x0000_0100_0000_01b3);
        self.arena.push((c, path.node));
        path.node = u32::try_from(self.arena.len() - 1).unwrap_or(ROOT);
        next.offer(
            used * SUMS + usize::from(pair[0]) * 10 + usize::from(pair[1]),
            path,
        );
    }

    /// The string of a path that has gone through every line.
    fn found(&self, path: &Path, width: usize) -> Found {
        let mut text = Vec::new();
        let mut node = path.node;
        while let Some(&(c, before)) = self.arena.get(node as usize) {
            text.push(c);
            node = before;
        }
        text.reverse();
        Found {
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
