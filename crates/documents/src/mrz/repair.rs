//! Finds the one reading of uncertain lines that the rules allow, or returns the lines as read.
//!
//! One in ten wrong strings has a correct check digit, so check digits alone do not prove a string. A string
//! is accepted only if it is much likelier than every other valid string and than a misprint on the document.

use jiff::civil::Date;

use super::cells::Line;
use super::lattice::{CandidateString, Candidates, PATHS_PER_STATE, search};
use super::layout::Layout;
use super::parse::{read, today};
use crate::reading::{MrzFormat, MrzReading, MrzWarning};

/// The log of the share of documents with wrong check digits in print (specimens, damaged and forged
/// documents).
const PRINTED_WRONG: f32 = -3.9;
/// The log priors of a long document number, of each implausible field, and of a truncated name.
const LONG_NUMBER: f32 = -2.0;
const IMPLAUSIBLE: f32 = -4.0;
const TRUNCATED: f32 = -0.7;
/// A repair is reported if it is e² ≈ 7 times likelier than all alternatives together.
const MIN_REPORT_MARGIN: f32 = 2.0;
/// A reading is accepted if it is e⁴ ≈ 55 times likelier than all alternatives together.
const MIN_ACCEPT_MARGIN: f32 = 4.0;
/// Below this mean log probability per position, the lines are no zone.
const NO_ZONE: f32 = -2.0;
/// A line may have this many characters too few (recognition drops fillers in long runs) or too many.
const MISSING: usize = 14;
const SURPLUS: usize = 8;

/// Finds the printed lines from the recognised cells. Today's UTC date decides the centuries of two-digit
/// years.
///
/// `lines` are the cells of two or three lines, top to bottom. The result is `None` if they fit no format.
///
/// If the margin proves the most probable valid lines, the reading has those. Otherwise it has the most
/// probable lines as read. There, only the position decides between similar characters (such as O and not 0
/// in a name). `accepted` is true only for valid, plausible lines whose `margin` excludes realistic
/// alternatives.
pub fn repair(lines: &[Line]) -> Option<MrzReading> {
    repair_on(lines, today())
}

/// Repairs as [`repair`] does, with a given date as today.
pub fn repair_on(lines: &[Line], today: Date) -> Option<MrzReading> {
    let lines: Vec<Vec<Candidates>> = lines
        .iter()
        .take(4)
        .map(|line| {
            line.iter()
                .take(64)
                .map(super::Cell::with_confusions)
                .filter(|c| !c.is_empty())
                .collect()
        })
        .collect();
    let mut valid: Vec<ScoredReading> = Vec::new();
    let mut printed: Option<ScoredReading> = None;
    for layout in layouts(&lines) {
        for rest in long_numbers(layout, &lines) {
            let strings = search(layout, rest, &lines, true).into_iter();
            valid.extend(
                strings
                    .map(|s| ScoredReading::new(layout, s, rest, today))
                    .filter(|r| r.mrz.valid),
            );
        }
        if let Some(string) = search(layout, 0, &lines, false).into_iter().next() {
            let reading = ScoredReading::new(layout, string, 0, today);
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

/// A string as a reading, with its score.
struct ScoredReading {
    mrz: MrzReading,
    score: f32,
    guessed: bool,
}

impl ScoredReading {
    fn new(layout: &Layout, found: CandidateString, rest: usize, today: Date) -> Self {
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

    /// Whether another reading has the same names and number.
    fn is_named_as(&self, other: &ScoredReading) -> bool {
        let of = |reading: &'_ ScoredReading| {
            let fields = &reading.mrz.fields;
            [&fields.surname, &fields.given_names, &fields.document_number].map(Clone::clone)
        };
        of(self) == of(other)
    }
}

/// Chooses between the best valid string and the string as read. `valid` is sorted, best first.
fn decide(valid: Vec<ScoredReading>, printed: ScoredReading) -> MrzReading {
    let Some((best, others)) = valid.split_first() else {
        return unproven(printed.mrz, None, false);
    };
    let others: Vec<&ScoredReading> = others
        .iter()
        .filter(|other| other.mrz.lines != best.mrz.lines)
        .collect();
    let misprint = (!printed.mrz.valid).then_some(printed.score + PRINTED_WRONG);
    let all: Vec<f32> = others.iter().map(|other| other.score).chain(misprint).collect();
    let margin = best.score - log_sum(&all);
    if margin < MIN_REPORT_MARGIN && best.mrz.lines != printed.mrz.lines {
        return unproven(printed.mrz, None, false);
    }
    let confirmable = !best.guessed && margin_beside_print(best, &others, &printed) >= MIN_ACCEPT_MARGIN;
    let margin = margin.is_finite().then_some(margin);
    let accepted = !best.guessed && margin.is_none_or(|margin| margin >= MIN_ACCEPT_MARGIN);
    let best = best.mrz.clone();
    if accepted {
        MrzReading {
            margin,
            confirmable,
            ..best
        }
    } else {
        unproven(best, margin, confirmable)
    }
}

/// The margin of the best reading over those with the same names and number: what the print cannot decide.
///
/// The search returns only the likeliest strings. If it may have left out further ones with these names and this number,
/// the last of those returned stands for them.
fn margin_beside_print(best: &ScoredReading, others: &[&ScoredReading], printed: &ScoredReading) -> f32 {
    let is_same = |other: &&&ScoredReading| best.is_named_as(other);
    let left_out = others
        .last()
        .filter(|_| others.len() + 1 >= PATHS_PER_STATE)
        .map(|last| last.score);
    let misprint = (!printed.mrz.valid && best.is_named_as(printed)).then_some(printed.score + PRINTED_WRONG);
    let rivals: Vec<f32> = others
        .iter()
        .filter(is_same)
        .map(|other| other.score)
        .chain(left_out)
        .chain(misprint)
        .collect();
    best.score - log_sum(&rivals)
}

fn unproven(mut mrz: MrzReading, margin: Option<f32>, confirmable: bool) -> MrzReading {
    if mrz.valid {
        mrz.warnings.push(MrzWarning::UncertainReading);
    }
    MrzReading {
        accepted: false,
        margin,
        confirmable,
        ..mrz
    }
}

/// The log of the sum of probabilities that are given as logs; minus infinity for an empty list.
fn log_sum(logs: &[f32]) -> f32 {
    let most = logs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if most == f32::NEG_INFINITY {
        return most;
    }
    most + logs.iter().map(|l| (l - most).exp()).sum::<f32>().ln()
}

/// The layouts that are possible for lines of these lengths and first letters.
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

/// Whether `text` is a likely beginning of the first line.
fn begins_with(lines: &[Vec<Candidates>], text: &str) -> bool {
    let first = lines.first().map(Vec::as_slice).unwrap_or_default();
    first.len() > text.len()
        && text
            .chars()
            .zip(first)
            .all(|(c, cell)| cell.iter().any(|&(known, p)| known == c && p > -4.0))
}

/// The possible numbers of the document number's characters in the optional data: always 0, and the lengths
/// that the first run of characters suggests.
fn long_numbers(layout: &Layout, lines: &[Vec<Candidates>]) -> Vec<usize> {
    let mut rests = vec![0];
    if let Some(more) = layout.long_number {
        let cells = &lines[more.line];
        let filler = |at: usize| {
            cells
                .get(at)
                .is_some_and(|cell| cell.iter().any(|&(c, p)| c == '<' && p > -4.0))
        };
        // The number of cells before the check digit may be wrong by one.
        for digit in [more.start - 2, more.start - 1, more.start] {
            if filler(digit) && layout.number_digit().1 + 1 == more.start {
                let run = (digit + 1..cells.len())
                    .take_while(|&at| cells[at].first().is_some_and(|c| c.0 != '<'))
                    .count();
                rests.extend([run.saturating_sub(2), run.saturating_sub(1), run]);
            }
        }
        // No card has room for a number of more than 22 characters.
        rests.retain(|&rest| rest + 1 < more.len);
        rests.sort_unstable();
        rests.dedup();
    }
    rests
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
