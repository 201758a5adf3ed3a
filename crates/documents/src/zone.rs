//! Reads the machine-readable zone from a picture: it turns rows of text into cells of a fixed number.
//!
//! Each row is read as exactly the number of characters that a format has. `mrz::repair` then finds the
//! string that the format's rules and check digits allow. Until that string is proven, the rows are read
//! again in further views (without colours, then softened). The cells of all views are averaged, because
//! errors of one view rarely occur in another.
//!
//! This module never repairs characters; only `mrz` does.

use std::collections::HashSet;

use imaging::{Picture, Point};
use reference::icao;

use crate::locate::{Line, Row, mrz_likeness};
use crate::mrz;
use crate::ocr::ctc::{Cell, Emissions, FixedLength, SYMBOL_COUNT, SYMBOLS};
use crate::ocr::{Ocr, OcrError, Quad, View};
use crate::reading::{MrzReading, MrzWarning};

/// Rows and characters per row of every format: TD1; TD2, MRV-B and FRID; TD3 and MRV-A.
const SIZES: [(usize, usize); 3] = [(3, 30), (2, 36), (2, 44)];
/// The factor by which rows are narrowed for recognition, because their characters are widely spaced.
const SQUEEZE: f32 = 0.8;
/// The views, in the order in which they are tried.
const VIEWS: [View; 3] = [View::Colour, View::Ink, View::SoftInk];
/// Characters with a lower probability are no candidates for `mrz::repair`.
const MIN_CANDIDATE_PROBABILITY: f32 = 1e-3;
/// If a character is farther than this from its place, in character pitches, the reading is uncertain.
const MISFIT: f32 = 0.9;
/// A view's weight falls by the factor e for each this many nats by which it is less clear than the clearest
/// view.
const CLARITY: f64 = 6.0;
/// Runs of rows with a lower mean log-likelihood per row are no zone. Clear rows of the right length are
/// above −2; as rows of the next shorter format they are below −18.
const UNLIKELY: f64 = -40.0;
/// Runs whose mean log-likelihood is within this of the likeliest run's are tried, too.
const NEARLY: f64 = 6.0;
/// The distance between rows in character pitches (ICAO 9303-3 §4.2: 6.35 mm by 2.54 mm).
const ROW_DISTANCE: f32 = 2.5;

/// Reads a zone from its rows, top to bottom. `rows` may include rows outside the zone. Returns `None` if no
/// run of rows forms a zone.
///
/// # Errors
/// Fails when a model does not run.
pub(crate) fn read(ocr: &Ocr, picture: &Picture, rows: Vec<Row>) -> Result<Option<MrzReading>, OcrError> {
    if rows.is_empty() {
        return Ok(None);
    }
    let mut rows: Vec<ReadRow> = rows.into_iter().map(ReadRow::new).collect();
    let mut best = read_in_views(ocr, picture, &mut rows)?;
    if !best.as_ref().is_some_and(|b| b.mrz.valid) {
        // The detector may have missed a row, so read where one should be.
        let found = add_neighbours(ocr, picture, &mut rows)?;
        if found {
            best = better(best, read_in_views(ocr, picture, &mut rows)?);
        }
    }
    Ok(best.map(Candidate::into_reading))
}

/// Accepts a reading of which only the names or the number are uncertain, if the visual zone agrees: the surname, every
/// given name and the document number must be printed outside the machine-readable zone.
pub(crate) fn confirm_by_visual_zone(mrz: &mut MrzReading, lines: &[Line]) {
    let open = mrz.valid && !mrz.accepted && mrz.confirmable;
    let harmless =
        |w: &MrzWarning| matches!(w, MrzWarning::UncertainReading | MrzWarning::NameMayBeTruncated);
    if !open || !mrz.warnings.iter().all(harmless) {
        return;
    }
    let printed: Vec<&str> = lines
        .iter()
        .map(|line| line.read.text.as_str())
        .filter(|t| !t.contains('<') && mrz_likeness(t) < 0.6)
        .collect();
    let words: HashSet<String> = printed
        .iter()
        .flat_map(|text| {
            let letters = icao::transliterate(text);
            letters.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let joined = |text: &str| {
        text.chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
    };
    let names = [mrz.fields.surname.as_str(), mrz.fields.given_names.as_str()];
    let mut names = names.iter().flat_map(|name| name.split_whitespace()).peekable();
    let number = &mrz.fields.document_number;
    let confirmed = names.peek().is_some()
        && names.all(|name| words.contains(name))
        && number.len() >= 5
        && printed.iter().any(|text| joined(text).contains(number));
    if confirmed {
        mrz.accepted = true;
        mrz.warnings.retain(|w| *w != MrzWarning::UncertainReading);
    }
}

/// A row and its reading in each view.
struct ReadRow {
    quad: Quad,
    views: Vec<Emissions>,
}

impl ReadRow {
    fn new(row: Row) -> Self {
        Self {
            quad: row.quad,
            views: row.read.into_iter().map(|read| read.emissions).collect(),
        }
    }

    /// The natural logarithm of the probability that the row has exactly `length` characters, in the view
    /// where it is highest.
    fn log_likelihood(&self, length: usize) -> f64 {
        let at = |view: &Emissions| view.log_likelihood(length).unwrap_or(f64::MIN);
        self.views.iter().map(at).fold(f64::MIN, f64::max)
    }

    /// The row as exactly `length` characters: the mean of all views, weighted by each view's likelihood of
    /// that length.
    fn cells(&self, length: usize) -> Option<FixedLength> {
        let clearest = self.log_likelihood(length);
        let mut mean = FixedLength {
            cells: vec![[0.0; SYMBOL_COUNT]; length],
            misfit: f32::MAX,
        };
        let mut total = 0.0;
        for view in &self.views {
            let (Some(clarity), Some(line)) = (view.log_likelihood(length), view.fixed_length(length)) else {
                continue;
            };
            let weight = ((clarity - clearest) / CLARITY).exp() as f32;
            total += weight;
            for (sum, p) in mean.cells.iter_mut().flatten().zip(line.cells.iter().flatten()) {
                *sum += weight * p;
            }
            mean.misfit = mean.misfit.min(line.misfit);
        }
        for p in mean.cells.iter_mut().flatten() {
            *p /= total;
        }
        (total > 0.0).then_some(mean)
    }
}

/// The reading of one choice of rows and size.
struct Candidate {
    mrz: MrzReading,
    log_likelihood: f64,
    misfit: f32,
}

impl Candidate {
    /// Ranks by acceptance, then validity, then likelihood.
    fn rank(&self) -> (bool, bool, f64) {
        (self.mrz.accepted, self.mrz.valid, self.log_likelihood)
    }

    fn into_reading(self) -> MrzReading {
        let mut mrz = self.mrz;
        if self.misfit > MISFIT {
            // A character may be missing, and another one invented in its place.
            mrz.confirmable = false;
            if mrz.accepted {
                mrz.accepted = false;
                mrz.warnings.push(MrzWarning::UncertainReading);
            }
        }
        mrz
    }
}

fn better(a: Option<Candidate>, b: Option<Candidate>) -> Option<Candidate> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.rank() > a.rank() { b } else { a }),
        (a, b) => a.or(b),
    }
}

fn read_in_views(ocr: &Ocr, picture: &Picture, rows: &mut [ReadRow]) -> Result<Option<Candidate>, OcrError> {
    let mut best = None;
    for (nth, view) in VIEWS.into_iter().enumerate() {
        for row in rows.iter_mut().filter(|row| row.views.len() <= nth) {
            row.views
                .push(ocr.recognise(picture, &row.quad, view, SQUEEZE)?.emissions);
        }
        best = better(best, decode(rows));
        if best.as_ref().is_some_and(|b| b.mrz.accepted) {
            break;
        }
    }
    Ok(best)
}

/// The best reading of the likeliest sizes and runs of neighbouring rows.
///
/// Sizes and runs are chosen by the likely number of characters, before any check digit is calculated. Among
/// the many strings of a wrong length, some always have correct check digits.
fn decode(rows: &[ReadRow]) -> Option<Candidate> {
    let mut runs: Vec<(f64, &[ReadRow], usize)> = Vec::new();
    for (count, length) in SIZES {
        let likelihoods: Vec<f64> = rows.iter().map(|row| row.log_likelihood(length)).collect();
        for (run, likelihoods) in rows.windows(count).zip(likelihoods.windows(count)) {
            runs.push((likelihoods.iter().sum::<f64>() / count as f64, run, length));
        }
    }
    runs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let likeliest = runs.first()?.0;
    let mut best = None;
    for (log_likelihood, run, length) in runs {
        if log_likelihood < UNLIKELY || log_likelihood < likeliest - NEARLY {
            break;
        }
        let Some(lines) = run
            .iter()
            .map(|row| row.cells(length))
            .collect::<Option<Vec<FixedLength>>>()
        else {
            continue;
        };
        let misfit = lines.iter().map(|line| line.misfit).fold(0.0, f32::max);
        let lines: Vec<mrz::Line> = lines
            .iter()
            .map(|line| line.cells.iter().map(to_cell).collect())
            .collect();
        if let Some(mrz) = mrz::repair(&lines) {
            best = better(
                best,
                Some(Candidate {
                    mrz,
                    log_likelihood,
                    misfit,
                }),
            );
        }
    }
    best
}

fn to_cell(cell: &Cell) -> mrz::Cell {
    let candidates = SYMBOLS
        .iter()
        .zip(cell)
        .filter(|&(_, &p)| p >= MIN_CANDIDATE_PROBABILITY)
        .map(|(&symbol, p)| (symbol, p.ln()));
    mrz::Cell {
        candidates: candidates.collect(),
    }
}

/// Reads above the first row and below the last, and adds a row where the text looks like the zone's.
fn add_neighbours(ocr: &Ocr, picture: &Picture, rows: &mut Vec<ReadRow>) -> Result<bool, OcrError> {
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
    let (first, last) = (first.quad, last.quad);
    let mut found = false;
    let read_row_at = |quad: Quad| -> Result<Option<ReadRow>, OcrError> {
        let read = ocr.recognise(picture, &quad, View::Colour, SQUEEZE)?;
        Ok((mrz_likeness(&read.text) > 0.35).then(|| ReadRow {
            quad,
            views: vec![read.emissions],
        }))
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
    use crate::ocr::RecognisedText;

    fn line(text: &str) -> Line {
        let quad = Quad::around(Point::new(0.0, 0.0), Point::new(1.0, 0.0), 90.0, 20.0);
        let read = RecognisedText {
            text: text.into(),
            confidence: 0.9,
            emissions: Emissions::default(),
        };
        Line { quad, read }
    }

    #[test]
    fn only_a_whole_agreement_confirms() {
        let lines = [
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
            "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
        ];
        let mut uncertain = mrz::parse(&lines).unwrap();
        uncertain.accepted = false;
        uncertain.confirmable = true;
        uncertain.warnings = vec![MrzWarning::UncertainReading];
        let accepted = |mrz: &MrzReading, texts: &[&str]| {
            let mut mrz = mrz.clone();
            confirm_by_visual_zone(&mut mrz, &texts.iter().map(|t| line(t)).collect::<Vec<_>>());
            mrz.accepted
        };
        assert!(accepted(&uncertain, &["Eriksson", "Anna Maria", "No. L898902C3"]));
        assert!(!accepted(
            &uncertain,
            &["Erikssdn", "Anna Maria", "No. L898902C3"]
        ));
        assert!(!accepted(&uncertain, &["Eriksson", "Anna Maria"]));
        assert!(!accepted(&uncertain, &lines));
        uncertain.confirmable = false;
        assert!(!accepted(
            &uncertain,
            &["Eriksson", "Anna Maria", "No. L898902C3"]
        ));
    }
}
