//! Reads the machine-readable zone from a picture: it turns rows of text into cells of a fixed number.
//!
//! Each row is read as exactly the number of characters that a format has. `mrz::repair` then finds the
//! string that the format's rules and check digits allow. Until that string is proven, the rows are read
//! again in further views (without colours, then softened). The cells of all views are averaged, because
//! errors of one view rarely occur in another.
//!
//! Our own network reads first. If its reading has wrong check digits, the general recogniser tries too; what only that
//! one reads is never accepted, because it is certain of what it misreads.
//!
//! This module never repairs characters; only `mrz` does.

use std::ops::Range;

use imaging::{Point, Pyramid};

use crate::confirmation;
use crate::locate::{Line, mrz_likeness};
use crate::mrz;
use crate::ocr::ctc::{Cell, Emissions, FixedLength, SYMBOLS};
use crate::ocr::{Ocr, OcrError, Quad, RecognisedText, View, fitted_rows};
use crate::reading::{MrzReading, MrzWarning};
use crate::zone_place::ROW_DISTANCE;
use crate::zone_row::{ReadRow, ReadView, SIZES};

/// The factor by which rows are narrowed for recognition, because their characters are widely spaced.
const SQUEEZE: f32 = 0.8;
/// The views, in the order in which they are tried.
const VIEWS: [View; 3] = [View::Colour, View::Ink, View::SoftInk];
/// Characters with a lower probability are no candidates for `mrz::repair`.
const MIN_CANDIDATE_PROBABILITY: f32 = 1e-4;
/// Below this probability that there is any character at a place, the character is unseen.
const MIN_SEEN: f32 = 0.5;
/// A row of which our own network is less certain is no zone's.
const MIN_CERTAINTY: f32 = 0.6;
/// If a character is farther than this from its place, in character pitches, the reading is uncertain.
const MISFIT: f32 = 0.9;
/// Runs of rows with a lower mean log-likelihood per row are no zone. This and the next limit were chosen with
/// the general recogniser.
const UNLIKELY: f64 = -40.0;
/// Runs whose mean log-likelihood is within this of the likeliest run's are tried, too; less if a run is proven already.
const NEARLY: f64 = 6.0;
const NEARLY_AS_PROVEN: f64 = 3.0;

/// Reads a zone from its rows, top to bottom. `rows` may include rows outside the zone. Returns `None` if no
/// run of rows forms a zone.
///
/// # Errors
/// Fails when a model does not run.
pub(crate) fn read(ocr: &Ocr, pyramid: &Pyramid<'_>, rows: &[Quad]) -> Result<Option<ZoneReading>, OcrError> {
    let rows = fitted_rows(pyramid, rows);
    let (mut best, rows) = read_with_own(ocr, pyramid, rows, None)?;
    if !is_valid(&best) && !rows.is_empty() {
        let mut again: Vec<ReadRow> = rows.iter().map(|row| ReadRow::new(row.quad, None)).collect();
        let general = read_in_views(ocr, pyramid, &mut again, Recogniser::General)?;
        if is_valid(&general) || best.is_none() {
            best = general;
        }
    }
    Ok(best.map(|best| ZoneReading::of(best, &rows)))
}

/// Reads a valid zone from its rows, top to bottom, with our own network only. `pitch` is the distance of characters as
/// a share of the rows' length, if it is known.
///
/// # Errors
/// Fails when a model does not run.
pub(crate) fn read_valid(
    ocr: &Ocr,
    pyramid: &Pyramid<'_>,
    rows: &[Quad],
    pitch: Option<f32>,
) -> Result<Option<ZoneReading>, OcrError> {
    let (best, rows) = read_with_own(ocr, pyramid, rows.to_vec(), pitch)?;
    let best = best.filter(|best| best.mrz.valid);
    Ok(best.map(|best| ZoneReading::of(best, &rows)))
}

fn is_valid(best: &Option<Candidate>) -> bool {
    best.as_ref().is_some_and(|best| best.mrz.valid)
}

/// Reads rows with our own network only.
fn read_with_own(
    ocr: &Ocr,
    pyramid: &Pyramid<'_>,
    rows: Vec<Quad>,
    pitch: Option<f32>,
) -> Result<(Option<Candidate>, Vec<ReadRow>), OcrError> {
    let mut rows: Vec<ReadRow> = rows.into_iter().map(|row| ReadRow::new(row, pitch)).collect();
    if rows.is_empty() {
        return Ok((None, rows));
    }
    let mut best = read_in_views(ocr, pyramid, &mut rows, Recogniser::Zone)?;
    if !is_valid(&best) {
        // The detector may have missed a row, so read where one should be.
        let found = add_neighbours(ocr, pyramid, &mut rows)?;
        if found {
            best = better(best, read_in_views(ocr, pyramid, &mut rows, Recogniser::Zone)?);
        }
    }
    Ok((best, rows))
}

/// A zone and the place of its rows.
#[derive(Debug)]
pub(crate) struct ZoneReading {
    pub(crate) mrz: MrzReading,
    /// The mean log-likelihood of its rows' lengths.
    log_likelihood: f64,
    /// The rows of a certain reading; of any other, every row that may belong to the zone.
    rows: Vec<Quad>,
}

impl ZoneReading {
    fn of(best: Candidate, rows: &[ReadRow]) -> Self {
        let log_likelihood = best.log_likelihood;
        let own = best.rows.clone();
        let mrz = best.into_reading();
        let rows = rows.get(own).filter(|_| mrz.is_certain()).unwrap_or(rows);
        Self {
            mrz,
            log_likelihood,
            rows: rows.iter().map(|row| row.quad).collect(),
        }
    }

    /// The better of two valid readings of one picture. If they differ, neither is proven.
    pub(crate) fn or_better(self, other: Self) -> Self {
        let differ = self.mrz.lines != other.mrz.lines;
        let rank = |zone: &Self| (zone.mrz.accepted && !differ, zone.log_likelihood);
        let mut best = if rank(&other) > rank(&self) { other } else { self };
        if differ {
            best.mrz.unaccept();
        }
        best
    }

    /// Its first row.
    pub(crate) fn first_row(&self) -> Option<Quad> {
        self.rows.first().copied()
    }

    /// The same zone with its rows moved by `f`.
    pub(crate) fn map(self, f: impl Fn(Point) -> Point) -> Self {
        Self {
            rows: self.rows.iter().map(|row| row.map(&f)).collect(),
            ..self
        }
    }

    /// Its rows as lines of text; `None` if more rows may belong to it.
    pub(crate) fn lines(&self) -> Option<Vec<Line>> {
        let confidence = if self.mrz.accepted { 0.99 } else { 0.85 };
        let line = |(quad, text): (&Quad, &String)| Line {
            quad: *quad,
            read: RecognisedText {
                text: text.clone(),
                confidence,
                emissions: Emissions::default(),
            },
        };
        (self.rows.len() == self.mrz.lines.len())
            .then(|| self.rows.iter().zip(&self.mrz.lines).map(line).collect())
    }

    /// Whether a line's place is on the zone's rows, or may be.
    pub(crate) fn includes(&self, line: &Quad) -> bool {
        let centre = line.centre();
        self.rows.iter().any(|row| {
            let (middle, along, height) = (row.centre(), row.along(), row.height());
            let (x, y) = (centre.x - middle.x, centre.y - middle.y);
            let (ahead, across) = (x * along.x + y * along.y, y * along.x - x * along.y);
            ahead.abs() < row.length() / 2.0 + 2.0 * height && across.abs() < 0.8 * height
        })
    }

    /// The lines outside the zone, so that the zone never confirms itself.
    pub(crate) fn others<'a>(&self, lines: &'a [Line]) -> Vec<&'a Line> {
        lines.iter().filter(|line| !self.includes(&line.quad)).collect()
    }

    /// Accepts an uncertain reading if print states its names and number, and a certain one with implausible data if
    /// print states those. `others` are the lines outside the zone.
    pub(crate) fn confirm_by_print(&mut self, others: &[&Line]) {
        let printed: Vec<&str> = others
            .iter()
            .map(|line| line.read.text.as_str())
            .filter(|text| !text.contains('<') && mrz_likeness(text) < 0.6)
            .collect();
        let is_confirmed = || {
            confirmation::by_print(&self.mrz, &printed)
                || confirmation::of_implausible_data(&self.mrz, &printed)
        };
        if !self.mrz.accepted && is_confirmed() {
            self.mrz.accepted = true;
            self.mrz.warnings.retain(|w| *w != MrzWarning::UncertainReading);
        }
    }
}

/// The network that reads rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recogniser {
    /// Our own network for zones.
    Zone,
    /// The network for any text.
    General,
}

/// The reading of one choice of rows and size.
struct Candidate {
    mrz: MrzReading,
    /// The rows that it reads.
    rows: Range<usize>,
    log_likelihood: f64,
    misfit: f32,
    recogniser: Recogniser,
    /// Whether another attempt gave another valid reading.
    is_disputed: bool,
}

impl Candidate {
    /// Ranks by acceptance, then validity, then likelihood.
    fn rank(&self) -> (bool, bool, f64) {
        (self.is_proven(), self.mrz.valid, self.log_likelihood)
    }

    fn is_proven(&self) -> bool {
        self.mrz.accepted && self.is_proof()
    }

    /// Whether the attempt can prove its reading. With a misfit, a character may be missing, and another one
    /// invented in its place.
    fn is_proof(&self) -> bool {
        self.recogniser == Recogniser::Zone && self.misfit <= MISFIT && !self.is_disputed
    }

    fn into_reading(self) -> MrzReading {
        let is_proof = self.is_proof();
        let mut mrz = self.mrz;
        if !is_proof {
            mrz.unaccept();
        }
        mrz
    }
}

/// The better of two readings of the same picture. If both are valid and differ, neither is proven.
fn better(a: Option<Candidate>, b: Option<Candidate>) -> Option<Candidate> {
    match (a, b) {
        (Some(a), Some(b)) => {
            let is_disputed = a.mrz.valid && b.mrz.valid && a.mrz.lines != b.mrz.lines;
            let (mut winner, loser) = if b.rank() > a.rank() { (b, a) } else { (a, b) };
            winner.is_disputed |= is_disputed || loser.is_disputed;
            Some(winner)
        }
        (a, b) => a.or(b),
    }
}

fn read_in_views(
    ocr: &Ocr,
    pyramid: &Pyramid<'_>,
    rows: &mut [ReadRow],
    recogniser: Recogniser,
) -> Result<Option<Candidate>, OcrError> {
    let mut best = None;
    for (nth, view) in VIEWS.into_iter().enumerate() {
        for row in rows.iter_mut().filter(|row| row.views.len() <= nth) {
            row.views.push(ReadView::new(match recogniser {
                Recogniser::Zone => ocr.recognise_zone(pyramid, &row.quad, view, row.pitch)?,
                Recogniser::General => ocr.recognise(pyramid, &row.quad, view, SQUEEZE)?.emissions,
            }));
        }
        best = better(best, decode(rows, recogniser));
        let is_enough = |best: &Candidate| match recogniser {
            Recogniser::Zone => best.is_proven(),
            Recogniser::General => best.mrz.valid,
        };
        if best.as_ref().is_some_and(is_enough) {
            break;
        }
    }
    Ok(best)
}

/// The best reading of the likeliest sizes and runs of neighbouring rows.
///
/// Sizes and runs are chosen by the likely number of characters, before any check digit is calculated. Among
/// the many strings of a wrong length, some always have correct check digits.
fn decode(rows: &[ReadRow], recogniser: Recogniser) -> Option<Candidate> {
    let mut runs: Vec<(f64, Range<usize>, usize)> = Vec::new();
    for (count, length) in SIZES {
        let likelihoods: Vec<f64> = rows.iter().map(|row| row.log_likelihood(length)).collect();
        for (first, likelihoods) in likelihoods.windows(count).enumerate() {
            let mean = likelihoods.iter().sum::<f64>() / count as f64;
            runs.push((mean, first..first + count, length));
        }
    }
    runs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let likeliest = runs.first()?.0;
    let mut best = None;
    for (log_likelihood, run, length) in runs {
        let is_proven = best.as_ref().is_some_and(Candidate::is_proven);
        let nearly = if is_proven { NEARLY_AS_PROVEN } else { NEARLY };
        if log_likelihood < UNLIKELY || log_likelihood < likeliest - nearly {
            break;
        }
        let Some(lines) = rows[run.clone()]
            .iter()
            .map(|row| row.cells(length))
            .collect::<Option<Vec<FixedLength>>>()
        else {
            continue;
        };
        let misfit = lines.iter().map(|line| line.misfit).fold(0.0, f32::max);
        let lines: Vec<mrz::Line> = lines
            .iter()
            .map(|line| {
                line.cells
                    .iter()
                    .zip(&line.seen)
                    .map(|cell| to_cell(cell, recogniser))
                    .collect()
            })
            .collect();
        if let Some(mrz) = mrz::repair(&lines) {
            best = better(
                best,
                Some(Candidate {
                    mrz,
                    rows: run,
                    log_likelihood,
                    misfit,
                    recogniser,
                    is_disputed: false,
                }),
            );
        }
    }
    best
}

fn to_cell((cell, &seen): (&Cell, &f32), recogniser: Recogniser) -> mrz::Cell {
    let candidates = SYMBOLS
        .iter()
        .zip(cell)
        .filter(|&(_, &p)| p >= MIN_CANDIDATE_PROBABILITY)
        .map(|(&symbol, p)| (symbol, p.ln()));
    let cell = mrz::Cell {
        candidates: candidates.collect(),
        is_unseen: seen < MIN_SEEN,
    };
    match recogniser {
        Recogniser::Zone => cell,
        Recogniser::General => cell.softened(),
    }
}

/// Reads above the first row and below the last, and adds a row where the text looks like the zone's.
fn add_neighbours(ocr: &Ocr, pyramid: &Pyramid<'_>, rows: &mut Vec<ReadRow>) -> Result<bool, OcrError> {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return Ok(false);
    };
    if rows.len() > 2 {
        return Ok(false);
    }
    let step = if rows.len() == 2 {
        let (a, b) = (first.quad.centre(), last.quad.centre());
        vec![Point::new(b.x - a.x, b.y - a.y)]
    } else {
        let along = first.quad.along();
        let at = |length: usize| {
            let distance = ROW_DISTANCE * first.quad.length() / length as f32;
            Point::new(-along.y * distance, along.x * distance)
        };
        SIZES.iter().map(|&(_, length)| at(length)).collect()
    };
    let pitch = first.pitch;
    let (first, last) = (first.quad, last.quad);
    let mut found = false;
    let read_row_at = |quad: Quad| -> Result<Option<ReadRow>, OcrError> {
        let run = ocr
            .recognise_zone(pyramid, &quad, View::Colour, pitch)?
            .regular_run();
        let is_row = run.is_some_and(|run| run.certainty >= MIN_CERTAINTY);
        Ok(is_row.then(|| ReadRow::new(quad, pitch)))
    };
    for step in &step {
        if let Some(row) = read_row_at(last.map(|p| Point::new(p.x + step.x, p.y + step.y)))? {
            rows.push(row);
            found = true;
            break;
        }
    }
    for step in &step {
        if let Some(row) = read_row_at(first.map(|p| Point::new(p.x - step.x, p.y - step.y)))? {
            rows.insert(0, row);
            found = true;
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        let quad = Quad::around(Point::new(0.0, 0.0), Point::new(1.0, 0.0), 90.0, 20.0);
        let read = RecognisedText {
            text: text.into(),
            confidence: 0.9,
            emissions: Emissions::default(),
        };
        Line { quad, read }
    }

    fn reading(lines: [&str; 2], log_likelihood: f64) -> Candidate {
        Candidate {
            mrz: mrz::parse(&lines).unwrap(),
            rows: 0..2,
            log_likelihood,
            misfit: 0.0,
            recogniser: Recogniser::Zone,
            is_disputed: false,
        }
    }

    #[test]
    fn only_our_own_network_and_a_good_fit_prove() {
        for (misfit, recogniser, accepted) in [
            (0.5, Recogniser::Zone, true),
            (1.0, Recogniser::Zone, false),
            (0.5, Recogniser::General, false),
        ] {
            let mrz = Candidate {
                misfit,
                recogniser,
                ..reading([NAMES, DATA], 0.0)
            }
            .into_reading();
            assert!(mrz.valid);
            assert_eq!(mrz.accepted, accepted, "{misfit} {recogniser:?}");
            assert!(accepted || !mrz.confirmable);
        }
    }

    const NAMES: &str = "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<";
    const DATA: &str = "L898902C36UTO7408122F1204159ZE184226B<<<<<10";

    #[test]
    fn the_zone_does_not_confirm_itself() {
        let mut uncertain = reading([NAMES, DATA], 0.0).mrz;
        uncertain.accepted = false;
        uncertain.confirmable = true;
        uncertain.warnings = vec![MrzWarning::UncertainReading];
        // Pieces of the zone's rows, as a detector divides them; and the same texts as print above the zone.
        let pieces = |y: f32| {
            [
                ("ERIKSSON", 120.0, y),
                ("ANNA MARIA", 260.0, y),
                ("L898902C3", 80.0, y + 40.0),
            ]
            .map(|(text, x, y)| {
                let quad = Quad::around(Point::new(x, y), Point::new(1.0, 0.0), 90.0, 20.0);
                Line { quad, ..line(text) }
            })
        };
        for (y, accepted) in [(500.0, false), (100.0, true)] {
            let row = |y: f32| Quad::around(Point::new(300.0, y), Point::new(1.0, 0.0), 600.0, 22.0);
            let mut zone = ZoneReading {
                log_likelihood: 0.0,
                mrz: uncertain.clone(),
                rows: vec![row(500.0), row(540.0)],
            };
            let pieces = pieces(y);
            let others = zone.others(&pieces);
            zone.confirm_by_print(&others);
            assert_eq!(zone.mrz.accepted, accepted, "{y}");
        }
    }

    #[test]
    fn two_valid_readings_prove_neither() {
        let same = better(
            Some(reading([NAMES, DATA], -1.0)),
            Some(reading([NAMES, DATA], -2.0)),
        );
        assert!(same.unwrap().into_reading().accepted);
        let other = NAMES.replace("ANNA", "ANMA");
        let attempts = [[NAMES, DATA], [&other, DATA], [NAMES, DATA]];
        let best = attempts
            .into_iter()
            .fold(None, |best, lines| better(best, Some(reading(lines, -1.0))));
        let mrz = best.unwrap().into_reading();
        assert!(mrz.valid && !mrz.accepted && !mrz.confirmable);
        assert!(mrz.warnings.contains(&MrzWarning::UncertainReading));
    }

    #[test]
    fn rows_that_an_accepted_zone_does_not_have_are_other_print() {
        let row = |y: f32| Quad::around(Point::new(300.0, y), Point::new(1.0, 0.0), 600.0, 22.0);
        // A date is printed one row above the zone.
        let rows = [460.0, 500.0, 540.0].map(|y| ReadRow::new(row(y), None));
        let date = Line {
            quad: Quad::around(Point::new(120.0, 460.0), Point::new(1.0, 0.0), 150.0, 20.0),
            ..line("15 APR/AVR 12")
        };
        for (accepted, others) in [(true, 1), (false, 0)] {
            let mut read = reading([NAMES, DATA], 0.0);
            read.rows = 1..3;
            read.is_disputed = !accepted;
            let zone = ZoneReading::of(read, &rows);
            assert_eq!(
                zone.others(std::slice::from_ref(&date)).len(),
                others,
                "{accepted}"
            );
        }
    }

    #[test]
    fn different_zones_of_one_picture_prove_nothing() {
        let zone = |lines: [&str; 2], log_likelihood: f64| ZoneReading {
            mrz: mrz::parse(&lines).unwrap(),
            log_likelihood,
            rows: Vec::new(),
        };
        let same = zone([NAMES, DATA], -1.0).or_better(zone([NAMES, DATA], -2.0));
        assert!(same.mrz.accepted);
        let other = NAMES.replace("ANNA", "ANMA");
        let likelier = zone([&other, DATA], -2.0).or_better(zone([NAMES, DATA], -1.0));
        assert_eq!(likelier.mrz.lines[0], NAMES);
        assert!(!likelier.mrz.accepted && !likelier.mrz.confirmable);
    }
}
