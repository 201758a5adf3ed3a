//! Uncertain lines to the one reading that the rules allow, or to what was read, unrepaired.
//!
//! A check digit lets one wrong string in ten through, so a string is not proven by its digits alone: it is taken for
//! what is printed only when it is much likelier than every other string that would also hold, and than the
//! possibility that the document itself is printed wrong.

use jiff::civil::Date;

use super::cells::Line;
use super::lattice::{Candidates, Found, search};
use super::layout::Layout;
use super::parse::{read, today};
use crate::reading::{MrzFormat, MrzReading, MrzWarning};

/// Log of the share of documents whose printed digits are wrong (specimens, damaged and forged ones).
const PRINTED_WRONG: f32 = -3.9;
/// Log prior of a long document number, of each implausible field, and of a cut name.
const LONG_NUMBER: f32 = -2.0;
const IMPLAUSIBLE: f32 = -4.0;
const TRUNCATED: f32 = -0.7;
/// A repair is reported when it is e² ≈ 7 times likelier than everything else together,
const REPORT: f32 = 2.0;
/// and relied on when it is fifty times likelier.
const ACCEPT: f32 = 4.0;
/// Below this mean log probability per position the lines are no zone at all.
const NO_ZONE: f32 = -2.0;
/// A line may lack this many characters (readers drop long runs of fillers) or have this many too many.
const MISSING: usize = 14;
const SURPLUS: usize = 8;

/// Finds what is printed from what was read, on today's UTC day.
///
/// `lines` are the cells of two or three lines, top to bottom. `None` when they fit no format. Otherwise the reading's
/// `lines` are the most probable valid ones where these are proven by margin, else the most probable as read (with
/// characters forced by their position, such as O and not 0 in a name); `accepted` is true only for valid, plausible
/// lines whose `margin` leaves no realistic alternative.
pub fn repair(lines: &[Line]) -> Option<MrzReading> {
    repair_on(lines, today())
}

/// [`repair`] as if on a given day.
pub fn repair_on(lines: &[Line], today: Date) -> Option<MrzReading> {
    let lines: Vec<Vec<Candidates>> = lines
        .iter()
        .take(4)
        .map(|line| {
            line.iter()
                .take(64)
                .map(super::Cell::softened)
                .filter(|c| !c.is_empty())
                .collect()
        })
        .collect();
    let mut valid: Vec<Reading> = Vec::new();
    let mut printed: Option<Reading> = None;
    for layout in layouts(&lines) {
        for rest in long_numbers(layout, &lines) {
            let strings = search(layout, rest, &lines, true).into_iter();
            valid.extend(
                strings
                    .map(|s| Reading::new(layout, s, rest, today))
                    .filter(|r| r.mrz.valid),
            );
        }
        if let Some(string) = search(layout, 0, &lines, false).into_iter().next() {
            let reading = Reading::new(layout, string, 0, today);
            if printed.as_ref().is_none_or(|p| p.score < reading.score) {
                printed = Some(reading);
            }
        }
    }
    let printed = printed?;
    let positions: usize = printed.mrz.lines.iter().map(|l| l.chars().count()).sum();
    if printed.score < NO_ZONE * positions as f32 {
        return None;
    }
    valid.sort_by(|a, b| b.score.total_cmp(&a.score));
    Some(decide(valid, printed))
}

/// A string that was found, as a reading, with everything that speaks for it.
struct Reading {
    mrz: MrzReading,
    score: f32,
    guessed: bool,
}

impl Reading {
    fn new(layout: &Layout, found: Found, rest: usize, today: Date) -> Self {
        let mrz = read(layout, &found.lines, today);
        let odd = |w: &MrzWarning| {
            if *w == MrzWarning::NameMayBeTruncated {
                TRUNCATED
            } else {
                IMPLAUSIBLE
            }
        };
        let prior: f32 = mrz.warnings.iter().map(odd).sum();
        let long = if rest > 0 { LONG_NUMBER } else { 0.0 };
        Self {
            score: found.score + prior + long,
            guessed: found.guessed,
            mrz,
        }
    }
}

/// Chooses between the best valid string (`valid` is sorted) and what was read.
fn decide(valid: Vec<Reading>, printed: Reading) -> MrzReading {
    let mut valid = valid.into_iter();
    let best = valid.next();
    let mut others: Vec<f32> = match &best {
        Some(best) => valid
            .filter(|v| v.mrz.lines != best.mrz.lines)
            .map(|v| v.score)
            .collect(),
        None => Vec::new(),
    };
    if !printed.mrz.valid {
        others.push(printed.score + PRINTED_WRONG);
    }
    match best {
        Some(best) => {
            let margin = best.score - log_sum(&others);
            let same = best.mrz.lines == printed.mrz.lines;
            if margin < REPORT && !same {
                return unproven(printed.mrz, None);
            }
            let margin = margin.is_finite().then_some(margin);
            if best.guessed || margin.is_some_and(|m| m < ACCEPT) {
                return unproven(best.mrz, margin);
            }
            MrzReading { margin, ..best.mrz }
        }
        None => unproven(printed.mrz, None),
    }
}

/// A reading that must not be relied on.
fn unproven(mut mrz: MrzReading, margin: Option<f32>) -> MrzReading {
    if mrz.valid {
        mrz.warnings.push(MrzWarning::UncertainReading);
    }
    MrzReading {
        accepted: false,
        margin,
        ..mrz
    }
}

/// The log of the sum of probabilities given by their logs; minus infinity for none.
fn log_sum(logs: &[f32]) -> f32 {
    let most = logs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if most == f32::NEG_INFINITY {
        return most;
    }
    most + logs.iter().map(|l| (l - most).exp()).sum::<f32>().ln()
}

/// The layouts that lines of these lengths and first letters may have.
fn layouts(lines: &[Vec<Candidates>]) -> Vec<&'static Layout> {
    use MrzFormat::{FrId, MrvA, MrvB, Td1, Td2, Td3};
    let formats: &[MrzFormat] = match lines.len() {
        3 => &[Td1],
        2 if begins_with(lines, "V") => &[MrvA, MrvB],
        2 if begins_with(lines, "IDFRA") => &[FrId],
        2 => &[Td3, Td2],
        _ => &[],
    };
    let fits = |width: usize| {
        lines
            .iter()
            .all(|l| l.len() + MISSING >= width && l.len() <= width + SURPLUS)
    };
    formats
        .iter()
        .map(|&format| Layout::of(format))
        .filter(|layout| fits(layout.width))
        .collect()
}

/// Whether the first line can well be read as beginning with `text`.
fn begins_with(lines: &[Vec<Candidates>], text: &str) -> bool {
    let first = lines.first().map(Vec::as_slice).unwrap_or_default();
    first.len() > text.len()
        && text
            .chars()
            .zip(first)
            .all(|(c, cell)| cell.iter().any(|&(known, p)| known == c && p > -4.0))
}

/// How many characters of the document number may stand in the optional data: always possibly none, and what the run of
/// characters at its beginning suggests.
fn long_numbers(layout: &Layout, lines: &[Vec<Candidates>]) -> Vec<usize> {
    let mut rests = vec![0];
    if let Some(more) = layout.long_number {
        let cells = &lines[more.line];
        let filler = |at: usize| {
            cells
                .get(at)
                .is_some_and(|cell| cell.iter().any(|&(c, p)| c == '<' && p > -4.0))
        };
        // Cells may be one off.
        for digit in [more.start - 2, more.start - 1, more.start] {
            if filler(digit) && layout.number_digit().1 + 1 == more.start {
                let run = (digit + 1..cells.len())
                    .take_while(|&at| cells[at].first().is_some_and(|c| c.0 != '<'))
                    .count();
                rests.extend([run.saturating_sub(2), run.saturating_sub(1), run]);
            }
        }
        // A number of more than 22 characters fits no card.
        rests.retain(|&rest| rest + 1 < more.len);
        rests.sort_unstable();
        rests.dedup();
    }
    rests
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
