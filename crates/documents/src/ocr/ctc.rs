//! Computes the probability of each character in each cell of a line of known length, from CTC output.
//!
//! A machine-readable zone has a fixed number of characters at a fixed pitch. CTC output contains neither,
//! and it loses or doubles characters in long runs of `<`. This module therefore sums over all alignments of
//! exactly *n* characters (the forward-backward algorithm). The first pass finds the pitch, and the second
//! pass favours each character's place on it.
//!
//! The result is cells for `mrz` to decode. This module never chooses a character.

/// The characters of a machine-readable zone (ICAO 9303-3 §4.3), and the Ñ that Spain prints.
pub const SYMBOLS: [char; SYMBOL_COUNT] = [
    'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O', 'P', 'Q', 'R', 'S', 'T', 'U',
    'V', 'W', 'X', 'Y', 'Z', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '<', 'Ñ',
];
/// The number of symbols.
pub const SYMBOL_COUNT: usize = 38;

/// The probability of each symbol in one cell. The probabilities sum to 1.
pub type Cell = [f32; SYMBOL_COUNT];

/// A minimum probability, because no output of the network is certain enough to exclude a symbol.
const FLOOR: f64 = 1e-5;
/// The deviation from a character's place, in pitches, that costs half a nat: first for an estimated pitch,
/// then for the fitted one.
const ROUGH_STRAY: f64 = 2.0;
const STRAY: f64 = 0.5;
/// A minimum weight, so that no deviation is excluded.
const STRAY_FLOOR: f64 = 1e-4;

/// The recogniser's output along a line: the probability of a blank and of each symbol at each step.
#[derive(Debug, Clone)]
pub struct Emissions {
    blank: Vec<f32>,
    symbols: Vec<Cell>,
    /// How often the same evidence of one character is repeated in neighbouring steps.
    repeats: f64,
}

impl Default for Emissions {
    /// The output of a network whose characters last one step.
    fn default() -> Self {
        Self::repeating(1.0)
    }
}

/// A line as a given number of characters.
#[derive(Debug, Clone)]
pub struct FixedLength {
    /// One cell per character.
    pub cells: Vec<Cell>,
    /// The probability, per character, that the recogniser saw any character at its place. It is low where glare covers
    /// the print, and where recognition lost one of many equal characters.
    pub seen: Vec<f32>,
    /// The largest deviation of any character from its place, in pitches.
    pub misfit: f32,
}

impl Emissions {
    /// No steps yet, of a network whose characters last several steps with the same errors. Their evidence counts once,
    /// so probabilities are reduced to their `repeats`th root.
    pub(crate) fn repeating(repeats: f64) -> Self {
        Self {
            blank: Vec::new(),
            symbols: Vec::new(),
            repeats,
        }
    }

    /// Appends the output of the next step.
    pub fn push(&mut self, blank: f32, symbols: Cell) {
        self.blank.push(blank);
        self.symbols.push(symbols);
    }

    /// The number of steps.
    pub fn steps(&self) -> usize {
        self.blank.len()
    }

    /// Each place that shows a character rather than paper: the step of its middle, and the probability of its likeliest
    /// symbol.
    pub(crate) fn characters(&self) -> Vec<(f32, f32)> {
        let likeliest = |symbols: &Cell| {
            symbols
                .iter()
                .enumerate()
                .fold((0, 0.0), |best, (k, &p)| if p > best.1 { (k, p) } else { best })
        };
        let shown: Vec<(usize, usize, f32)> = self
            .symbols
            .iter()
            .zip(&self.blank)
            .enumerate()
            .filter(|(_, (_, blank))| **blank < 0.5)
            .map(|(t, (symbols, _))| (t, likeliest(symbols)))
            .map(|(t, (symbol, p))| (t, symbol, p))
            .collect();
        shown
            .chunk_by(|a, b| b.0 == a.0 + 1 && b.1 == a.1)
            .map(|run| {
                let middle = (run[0].0 + run[run.len() - 1].0) as f32 / 2.0;
                (middle, run.iter().map(|(_, _, p)| *p).fold(0.0, f32::max))
            })
            .collect()
    }

    /// The natural logarithm of the probability that the line has exactly `length` symbols, at any pitch.
    /// `None` if that is impossible.
    pub fn log_likelihood(&self, length: usize) -> Option<f64> {
        let forward = self.forward(length, None, |_, _| {})?;
        Some(forward.log_likelihood / self.repeats)
    }

    /// The line as exactly `length` symbols. `None` if it has too few steps or no symbol at all.
    pub fn fixed_length(&self, length: usize) -> Option<FixedLength> {
        let roughly = self.pass(length, &self.rough_pitch(length)?)?;
        let pitch = Pitch::fit(&roughly.times);
        let drawn = self.pass(length, &pitch)?;
        Some(FixedLength {
            misfit: pitch.misfit(&drawn.times) as f32,
            seen: (0..length)
                .map(|i| self.seen_around(pitch.step(i), pitch.width()))
                .collect(),
            cells: drawn.cells,
        })
    }

    /// The highest probability of any symbol within half a pitch of `place`.
    fn seen_around(&self, place: f64, width: f64) -> f32 {
        let distance = |t: usize| (t as f64 - place).abs();
        let near = (0..self.steps()).filter(|&t| distance(t) <= (width / 2.0).max(0.5));
        near.map(|t| 1.0 - self.blank[t]).fold(0.0, f32::max)
    }

    /// Estimates the pitch: the characters are spread evenly between the first and the last step with a
    /// symbol.
    fn rough_pitch(&self, length: usize) -> Option<Pitch> {
        let shows = |blank: &f32| *blank < 0.5;
        let first = self.blank.iter().position(shows)? as f64;
        let last = self.blank.iter().rposition(shows)? as f64;
        let intervals = length.checked_sub(1).filter(|&n| n > 0)? as f64;
        let (a, b) = ((first + last) / 2.0, (last - first) / intervals);
        Some(Pitch {
            a,
            b,
            c: 0.0,
            middle: intervals / 2.0,
            stray: ROUGH_STRAY,
        })
    }

    /// The forward sweep over all alignments. Probabilities are scaled to sum 1 at each step.
    ///
    /// In state `on[i][k]`, the i-th character has begun, is symbol k, and no blank has followed. In state
    /// `rest[i]`, a blank has followed. As in CTC, a repeated symbol needs a blank between.
    ///
    /// `keep` gets each step's probabilities that a character begins there, by character and symbol, and the number by
    /// which they are to be divided.
    fn forward(
        &self,
        length: usize,
        pitch: Option<&Pitch>,
        mut keep: impl FnMut(&[[f64; SYMBOL_COUNT]], f64),
    ) -> Option<Forward> {
        let steps = self.steps();
        if length == 0 || length > steps {
            return None;
        }
        let mut on = vec![[0.0; SYMBOL_COUNT]; length + 1];
        let mut rest = vec![0.0; length + 1];
        rest[0] = 1.0;
        let mut here = vec![[0.0; SYMBOL_COUNT]; length + 1];
        let mut scales = Vec::with_capacity(steps);
        let mut log_likelihood = 0.0;
        for t in 0..steps {
            let symbols = self.symbols_at(t);
            let totals: Vec<f64> = on.iter().map(|row| row.iter().sum()).collect();
            let mut sum = 0.0;
            for i in (1..=length).rev() {
                let pull = pitch.map_or(1.0, |p| p.attraction(i - 1, t));
                let before = rest[i - 1] + totals[i - 1];
                for k in 0..SYMBOL_COUNT {
                    let enter = (before - on[i - 1][k]).max(0.0) * pull * symbols[k];
                    here[i][k] = enter;
                    on[i][k] = on[i][k] * symbols[k] + enter;
                    sum += on[i][k];
                }
            }
            for (rest, total) in rest.iter_mut().zip(&totals) {
                *rest = (*rest + total) * self.blank_at(t);
                sum += *rest;
            }
            if sum <= f64::MIN_POSITIVE {
                return None;
            }
            for value in on.iter_mut().flatten().chain(&mut rest) {
                *value /= sum;
            }
            keep(&here, sum);
            log_likelihood += sum.ln();
            scales.push(sum);
        }
        let reached = rest[length] + on[length].iter().sum::<f64>();
        log_likelihood += reached.ln();
        (reached > f64::MIN_POSITIVE).then_some(Forward {
            scales,
            log_likelihood,
        })
    }

    /// Runs one forward and one backward sweep that favour each character's place on the pitch.
    fn pass(&self, length: usize, pitch: &Pitch) -> Option<Pass> {
        let mut entered: Vec<[f64; SYMBOL_COUNT]> = Vec::with_capacity(self.steps() * (length + 1));
        let Forward { scales, .. } = self.forward(length, Some(pitch), |here, sum| {
            entered.extend(here.iter().map(|row| row.map(|value| value / sum)));
        })?;
        let mut after_on = vec![[0.0; SYMBOL_COUNT]; length + 1];
        let mut after_rest = vec![0.0; length + 1];
        after_on[length] = [1.0; SYMBOL_COUNT];
        after_rest[length] = 1.0;
        let mut weights = vec![[0.0; SYMBOL_COUNT]; length];
        let mut times = vec![0.0; length];
        for t in (0..self.steps()).rev() {
            let here = &entered[t * (length + 1)..][..=length];
            for i in 1..=length {
                for k in 0..SYMBOL_COUNT {
                    let weight = here[i][k] * after_on[i][k];
                    weights[i - 1][k] += weight;
                    times[i - 1] += weight * t as f64;
                }
            }
            // The values for the state before this step. `after_on[i + 1]` still has the values for the state
            // after it.
            let symbols = self.symbols_at(t);
            for i in 0..=length {
                let mut next = [0.0; SYMBOL_COUNT];
                if i < length {
                    let pull = pitch.attraction(i, t);
                    for k in 0..SYMBOL_COUNT {
                        next[k] = pull * symbols[k] * after_on[i + 1][k];
                    }
                }
                let all_next: f64 = next.iter().sum();
                let into_rest = after_rest[i] * self.blank_at(t);
                after_rest[i] = (into_rest + all_next) / scales[t];
                for k in 0..SYMBOL_COUNT {
                    let stay = symbols[k] * after_on[i][k];
                    after_on[i][k] = (into_rest + stay + (all_next - next[k]).max(0.0)) / scales[t];
                }
            }
        }
        let mut cells = Vec::with_capacity(length);
        for (weights, time) in weights.iter().zip(&mut times) {
            let total: f64 = weights.iter().sum();
            if !(total.is_finite() && total > 0.0) {
                return None;
            }
            *time /= total;
            let once = weights.map(|w| (w / total).powf(1.0 / self.repeats));
            let total: f64 = once.iter().sum();
            cells.push(once.map(|w| (w / total) as f32));
        }
        Some(Pass { cells, times })
    }

    pub(super) fn symbols_at(&self, t: usize) -> [f64; SYMBOL_COUNT] {
        self.symbols[t].map(|p| f64::from(p) + FLOOR)
    }

    pub(super) fn blank_at(&self, t: usize) -> f64 {
        f64::from(self.blank[t]) + FLOOR
    }
}

/// The result of a forward sweep.
struct Forward {
    /// The sum of all states by step, before they are scaled to 1.
    scales: Vec<f64>,
    log_likelihood: f64,
}

/// The result of one pass.
struct Pass {
    cells: Vec<Cell>,
    /// The mean step at which each character begins.
    times: Vec<f64>,
}

/// The places of a line's characters: step = `a + b·i + c·i²`, with `i` from the middle. The square is for
/// perspective.
struct Pitch {
    a: f64,
    b: f64,
    c: f64,
    middle: f64,
    /// The deviation, in pitches, that costs half a nat.
    stray: f64,
}

impl Pitch {
    /// Fits the parabola through the characters' steps by reweighted least squares, so outliers have little
    /// weight.
    fn fit(times: &[f64]) -> Self {
        let middle = (times.len() - 1) as f64 / 2.0;
        let mut pitch = Self {
            a: 0.0,
            b: 0.0,
            c: 0.0,
            middle,
            stray: STRAY,
        };
        let mut weights = vec![1.0; times.len()];
        for _ in 0..6 {
            // These are the normal equations for 1, x, x², with x from the middle.
            let mut m = [[0.0f64; 4]; 3];
            for (i, (&time, &weight)) in times.iter().zip(&weights).enumerate() {
                let x = i as f64 - middle;
                let powers = [1.0, x, x * x];
                for (row, p) in m.iter_mut().zip(powers) {
                    for (cell, q) in row.iter_mut().zip([powers[0], powers[1], powers[2], time]) {
                        *cell += weight * p * q;
                    }
                }
            }
            let Some([a, b, c]) = solve(m) else { break };
            pitch = Self {
                a,
                b,
                c,
                middle,
                stray: STRAY,
            };
            for (i, (&time, weight)) in times.iter().zip(&mut weights).enumerate() {
                let stray = (time - pitch.step(i)) / pitch.width() / 0.3;
                *weight = 1.0 / (1.0 + stray * stray);
            }
        }
        pitch
    }

    fn step(&self, i: usize) -> f64 {
        let x = i as f64 - self.middle;
        self.a + self.b * x + self.c * x * x
    }

    fn width(&self) -> f64 {
        self.b.max(0.5)
    }

    fn attraction(&self, i: usize, t: usize) -> f64 {
        let stray = (t as f64 - self.step(i)) / (self.stray * self.width());
        (-0.5 * stray * stray).exp() + STRAY_FLOOR
    }

    fn misfit(&self, times: &[f64]) -> f64 {
        let strays = times
            .iter()
            .enumerate()
            .map(|(i, &time)| (time - self.step(i)).abs() / self.width());
        strays.fold(0.0, f64::max)
    }
}

/// Solves three equations by Gaussian elimination with pivoting; `None` if they are singular.
fn solve(mut m: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for column in 0..3 {
        let pivot = (column..3).max_by(|&a, &b| m[a][column].abs().total_cmp(&m[b][column].abs()))?;
        if m[pivot][column].abs() < 1e-9 {
            return None;
        }
        m.swap(column, pivot);
        let pivot_row = m[column];
        for (at, row) in m.iter_mut().enumerate().filter(|(at, _)| *at != column) {
            debug_assert_ne!(at, column);
            let factor = row[column] / pivot_row[column];
            for (cell, pivot) in row.iter_mut().zip(pivot_row) {
                *cell -= factor * pivot;
            }
        }
    }
    Some([m[0][3] / m[0][0], m[1][3] / m[1][1], m[2][3] / m[2][2]])
}

/// The text of the most probable character of each cell.
pub fn most_probable(cells: &[Cell]) -> String {
    let best = |cell: &Cell| {
        let likelier = |best: (char, f32), (&symbol, &p)| if p > best.1 { (symbol, p) } else { best };
        SYMBOLS.iter().zip(cell).fold(('<', f32::MIN), likelier).0
    };
    cells.iter().map(best).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Emissions like a recogniser's: each character peaks once, `pitch` steps apart. Characters in `lost`
    /// are blanks.
    fn emissions(text: &str, pitch: usize, lost: &[usize]) -> Emissions {
        let mut out = Emissions::default();
        for (i, c) in text.chars().enumerate() {
            for step in 0..pitch {
                let mut symbols = [0.0; SYMBOL_COUNT];
                let k = SYMBOLS.iter().position(|&s| s == c).unwrap();
                let shown = step == pitch / 2 && !lost.contains(&i);
                symbols[k] = if shown { 0.98 } else { 0.001 };
                out.push(if shown { 0.01 } else { 0.99 }, symbols);
            }
        }
        out
    }

    const NAMES: &str = "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<";

    #[test]
    fn plain_lines_come_back() {
        let line = emissions(NAMES, 3, &[]).fixed_length(44).unwrap();
        assert_eq!(most_probable(&line.cells), NAMES);
        assert!(line.misfit < 0.1);
        assert!(line.seen.iter().all(|&p| p > 0.9));
        for cell in &line.cells {
            assert!((cell.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn lost_fillers_come_back_in_their_places() {
        // One filler of the pair between the names is lost, and some at the end.
        let lost = [14, 30, 31, 40];
        let line = emissions(NAMES, 4, &lost).fixed_length(44).unwrap();
        assert_eq!(most_probable(&line.cells), NAMES);
        for (i, &seen) in line.seen.iter().enumerate() {
            assert_eq!(seen < 0.5, lost.contains(&i), "{i}");
        }
    }

    #[test]
    fn repeated_evidence_counts_once() {
        let probability = |repeats: f64, steps: usize| {
            let mut out = Emissions::repeating(repeats);
            let (a, b) = (0, 1);
            for _ in 0..steps {
                let mut symbols = [0.0; SYMBOL_COUNT];
                (symbols[a], symbols[b]) = (0.6, 0.4);
                out.push(0.0, symbols);
            }
            // Another character lets the pitch be found.
            out.push(1.0, [0.0; SYMBOL_COUNT]);
            let mut symbols = [0.0; SYMBOL_COUNT];
            symbols[2] = 1.0;
            out.push(0.0, symbols);
            out.fixed_length(2).unwrap().cells[0][a]
        };
        assert!((probability(1.0, 1) - 0.6).abs() < 0.02);
        assert!(probability(1.0, 3) > 0.75);
        assert!(
            (probability(3.0, 3) - 0.6).abs() < 0.02,
            "{}",
            probability(3.0, 3)
        );
    }

    #[test]
    fn the_true_length_is_the_likeliest() {
        let line = emissions("I<UTOD231458907<<<<<<<<<<<<<<<", 4, &[20]);
        let at = |n| line.log_likelihood(n).unwrap_or(f64::MIN);
        assert!(at(30) > at(36) && at(30) > at(44));
    }

    #[test]
    fn too_short_lines_are_refused() {
        assert!(Emissions::default().fixed_length(30).is_none());
        assert!(emissions("ABC", 3, &[]).fixed_length(30).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_emissions_give_finite_cells(values in prop::collection::vec(0f32..=1.0, 0..60), length in 0usize..50) {
            let mut line = Emissions::default();
            for (t, &v) in values.iter().enumerate() {
                let mut symbols = [0.0; SYMBOL_COUNT];
                symbols[t % SYMBOL_COUNT] = v;
                line.push(1.0 - v, symbols);
            }
            if let Some(line) = line.fixed_length(length) {
                prop_assert_eq!(line.cells.len(), length);
                prop_assert!(line.cells.iter().flatten().all(|p| p.is_finite()));
            }
        }
    }
}
