//! Finds the one reading of uncertain lines that the rules allow, or returns the lines as read.
//!
//! One in ten wrong strings has a correct check digit, so check digits alone do not prove a string. A string
//! is accepted only if it is much likelier than every other valid string and than a misprint on the document.

use jiff::civil::Date;

use super::cells::Line;
use super::lattice::{CandidateString, Candidates, IMPLAUSIBLE, PATHS_PER_STATE, best_score, search};
use super::layout::Layout;
use super::parse::{read, today};
use crate::reading::{MrzFormat, MrzReading, MrzWarning};

/// The log of the share of documents with wrong check digits in print (specimens, damaged and forged
/// documents).
const PRINTED_WRONG: f32 = -3.9;
/// The log priors of a long document number and of a truncated name.
const LONG_NUMBER: f32 = -2.0;
const TRUNCATED: f32 = -0.7;
/// A repair is reported if it is e² ≈ 7 times likelier than all alternatives together.
const MIN_REPORT_MARGIN: f32 = 2.0;
/// A reading is accepted if it is e⁵ ≈ 150 times likelier than all alternatives together.
const MIN_ACCEPT_MARGIN: f32 = 5.0;
/// Below this mean log probability per position, the lines are no zone.
const NO_ZONE: f32 = -2.0;
/// Below this mean log probability of the likeliest characters, the cells lie between characters, because the lines have
/// another number of them, or they are no zone. Over all sizes that were tried on 47 specimens, the right size had more
/// than −0.03, and four fifths of the others less than −0.7.
const OTHER_SIZE: f32 = -0.6;
/// A line may have this many characters too few (recognition drops fillers in long runs) or too many.
const MISSING: usize = 14;
const SURPLUS: usize = 8;

/// Finds the printed lines from the recognised cells. Today's UTC date decides the centuries of two-digit
/// years.
///
/// `lines` are the cells of two or three lines, top to bottom. The result is `None` if they fit no format, or hardly
/// any character is clear.
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
    let (seen, lines): (Vec<Vec<bool>>, Vec<Vec<Candidates>>) = lines
        .iter()
        .take(4)
        .map(|line| {
            line.iter()
                .take(64)
                .map(|cell| (!cell.is_unseen, cell.sorted()))
                .filter(|(_, candidates)| !candidates.is_empty())
                .unzip()
        })
        .unzip();
    let mut valid: Vec<ScoredReading> = Vec::new();
    let mut left_out: Vec<f32> = Vec::new();
    let mut printed: Option<ScoredReading> = None;
    let layouts = layouts(&lines);
    let most = layouts.iter().map(|layout| layout.lines * layout.width).max()?;
    if best_score(&lines) < OTHER_SIZE * most as f32 {
        return None;
    }
    for layout in layouts {
        for rest in long_numbers(layout, &lines) {
            let found = search(layout, rest, &lines, true, today);
            if found.len() == PATHS_PER_STATE {
                // Strings that were left out may have plausible names, whatever the last one has.
                let prior = if rest > 0 { LONG_NUMBER } else { 0.0 };
                left_out.extend(found.last().map(|string| string.score + prior));
            }
            let found = found
                .into_iter()
                .map(|string| ScoredReading::new(layout, string, rest, today, &seen));
            valid.extend(found.filter(|r| r.mrz.valid));
        }
        if let Some(string) = search(layout, 0, &lines, false, today).into_iter().next() {
            let reading = ScoredReading::new(layout, string, 0, today, &seen);
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
    Some(decide(valid, printed, &left_out))
}

/// A string as a reading, with its score.
struct ScoredReading {
    mrz: MrzReading,
    score: f32,
    guessed: bool,
}

impl ScoredReading {
    fn new(layout: &Layout, found: CandidateString, rest: usize, today: Date, seen: &[Vec<bool>]) -> Self {
        let mrz = read(layout, &found.lines, today);
        let odd = |w: &MrzWarning| match w {
            MrzWarning::NameMayBeTruncated => TRUNCATED,
            MrzWarning::ImplausibleName | MrzWarning::ImplausibleSex => -IMPLAUSIBLE,
            // The search has counted the others.
            _ => 0.0,
        };
        let prior: f32 = mrz.warnings.iter().map(odd).sum();
        let long = if rest > 0 { LONG_NUMBER } else { 0.0 };
        Self {
            score: found.score + prior + long,
            guessed: found.guessed
                || found
                    .lines
                    .iter()
                    .zip(seen)
                    .any(|(line, seen)| has_unseen(line, seen)),
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

/// Seen fillers before an unseen one, so that no further name can follow: names have at most two fillers between them.
const END_OF_NAMES: usize = 3;

/// Whether a character stands where recognition saw none, other than a filler after at least three fillers that it saw.
///
/// An unseen filler elsewhere may be a covered letter. `seen` has one value per cell. If a line has too few or too many
/// cells, which cell is unseen is unknown.
fn has_unseen(line: &[char], seen: &[bool]) -> bool {
    if line.len() != seen.len() {
        return seen.contains(&false);
    }
    let is_innocent = |at: usize| {
        let before = (0..at).rev().take_while(|&at| line[at] == '<');
        line[at] == '<' && before.filter(|&at| seen[at]).count() >= END_OF_NAMES
    };
    (0..line.len()).any(|at| !seen[at] && !is_innocent(at))
}

/// Chooses between the best valid string and the string as read. `valid` is sorted, best first; `left_out` has the
/// scores of the worst strings of searches that may have found more.
fn decide(valid: Vec<ScoredReading>, printed: ScoredReading, left_out: &[f32]) -> MrzReading {
    let Some((best, others)) = valid.split_first() else {
        return unproven(printed.mrz, None, false);
    };
    let others: Vec<&ScoredReading> = others
        .iter()
        .filter(|other| other.mrz.lines != best.mrz.lines)
        .collect();
    // What no string of the search can exclude: a misprint, and the strings that the search left out. As many as it
    // returned may be almost as likely as the last of those.
    let misprint = (!printed.mrz.valid).then_some(printed.score + PRINTED_WRONG);
    let left_out = left_out.iter().map(|score| score + (PATHS_PER_STATE as f32).ln());
    let always: Vec<f32> = misprint.into_iter().chain(left_out).collect();
    let margin_over = |is_rival: &dyn Fn(&ScoredReading) -> bool| {
        let rivals = others
            .iter()
            .filter(|other| is_rival(other))
            .map(|other| other.score);
        best.score - log_sum(&rivals.chain(always.iter().copied()).collect::<Vec<f32>>())
    };
    let margin = margin_over(&|_| true);
    if margin < MIN_REPORT_MARGIN && best.mrz.lines != printed.mrz.lines {
        return unproven(printed.mrz, None, false);
    }
    let is_proven = |margin: f32| !best.guessed && margin >= MIN_ACCEPT_MARGIN;
    // Other print decides between readings whose names or numbers differ, so only the others count.
    let confirmable = best.mrz.accepted && is_proven(margin_over(&|other| best.is_named_as(other)));
    let is_certain = is_proven(margin);
    let margin = margin.is_finite().then_some(margin);
    let best = best.mrz.clone();
    if is_certain {
        MrzReading {
            margin,
            confirmable,
            ..best
        }
    } else {
        unproven(best, margin, confirmable)
    }
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
        2 if begins_with(lines, "V") && is_surely_visa(lines) => &[MrvA, MrvB],
        2 if begins_with(lines, "V") => &[Td3, Td2, MrvA, MrvB],
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

/// Whether the first character can hardly be another one than V. Otherwise, passports and cards are searched too: their
/// first lines have no check digit that tells a P from a V.
fn is_surely_visa(lines: &[Vec<Candidates>]) -> bool {
    let first = lines.first().and_then(|line| line.first());
    first.is_some_and(|cell| cell.iter().all(|&(c, p)| c == 'V' || p < NOT_THERE))
}

/// Below this log probability, a character is not there.
const NOT_THERE: f32 = -8.0;

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
