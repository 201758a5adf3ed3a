//! Reads one picture into one [`DocumentReading`]: this module sets the order of the stages.
//!
//! 1. Text is detected.
//! 2. A machine-readable zone is found by the form of its rows, in any direction, and read. It tells the page's place and
//!    orientation.
//! 3. Without one, a few lines are read in several directions to find the orientation. Then every other line is read.
//! 4. A zone that was not found by its form is found by its text.
//! 5. Barcodes are decoded, except on a passport's page, and the fields of all sources are merged.
//! 6. On request, signs of fraud are looked for.
//!
//! This module never decides whether the document is acceptable.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use imaging::{Picture, Point, Pyramid};
use inference::Models;
use reference::DocumentType;
use serde::{Deserialize, Serialize};

use crate::barcode::{WorkBudget, read_barcodes};
use crate::compare::SourceData;
use crate::fraud::{self, PrintArea};
use crate::locate::{self, Line, Turn};
use crate::ocr::{Ocr, OcrError, Quad, RecognisedText, TextRegion, View};
use crate::reading::{DocumentReading, MrzFormat, Source, TextLine};
use crate::zone::{self, ZoneReading};
use crate::{confirmation, detection, fields, quality, visual, zone_search};

/// Why a picture could not be read. The cause is always the installation, never the picture.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The text models do not work.
    #[error(transparent)]
    Ocr(#[from] OcrError),
}

/// The side of the document that the caller expects in the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Side {
    /// The side with the portrait.
    #[default]
    Front,
    /// The side opposite the portrait.
    Back,
}

/// What the caller expects in the picture, and asks for. Hints decide how much work each search gets; they add no
/// value to a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadHints {
    /// The declared type.
    pub document_type: Option<DocumentType>,
    /// The declared side.
    pub side: Side,
    /// The side should have a machine-readable zone, so more searches are made for one.
    pub expect_mrz: bool,
    /// The side should have a barcode, so the search for one gets more work.
    pub expect_barcode: bool,
    /// Look for signs of fraud ([`DocumentReading::fraud`]).
    pub fraud_signs: bool,
}

impl Default for ReadHints {
    /// Nothing is declared, both a zone and a barcode are expected, and nobody asks for signs of fraud.
    fn default() -> Self {
        Self {
            document_type: None,
            side: Side::Front,
            expect_mrz: true,
            expect_barcode: true,
            fraud_signs: false,
        }
    }
}

/// Reads documents. All threads share one engine.
#[derive(Debug)]
pub struct DocumentEngine {
    ocr: Ocr,
}

/// Larger pictures are reduced to at most this many pixels on their longer side, and to at least so many.
const WORKING_SIDE: u32 = 2400;
const LEAST_WORKING_SIDE: u32 = 1900;
/// At most this many lines are read.
const MAX_LINES: usize = 60;
/// The lines read have at most this sum of aspects (length by height). Aspect 1 costs 4 ms on one core.
const MAX_TOTAL_ASPECT: f32 = 300.0;
/// Lines lower than this, in pixels of the working picture, are not read.
const MIN_LINE_HEIGHT: f32 = 6.0;
/// Lines with a larger aspect (length by height) have wide or small characters, so they are narrowed before
/// reading.
const LONG_ASPECT: f32 = 14.0;
/// The factor by which long lines are narrowed.
const LONG_SQUEEZE: f32 = 0.75;
/// The work limits for a barcode that is expected and for one that is only possible.
const BARCODE_WORK: [WorkBudget; 2] = [WorkBudget::pixels(60_000_000), WorkBudget::pixels(10_000_000)];

impl DocumentEngine {
    /// Creates an engine from loaded models.
    ///
    /// # Errors
    /// Fails when a text model does not have the expected form.
    pub fn new(models: Arc<Models>) -> Result<Self, ReadError> {
        Ok(Self {
            ocr: Ocr::new(models)?,
        })
    }

    /// Reads one side of a document from one picture. A picture without a document gives a reading of kind
    /// `None`.
    ///
    /// # Errors
    /// Fails when a model does not run.
    pub fn read(&self, picture: &Picture, hints: &ReadHints) -> Result<DocumentReading, ReadError> {
        let mut clock = StageTimer::start();
        let pyramid = Pyramid::of(picture);
        let working = working_picture(&pyramid);
        let size = (working.width, working.height);
        let mut regions = detection::detect(&self.ocr, &working)?;
        clock.lap("detect");

        let mut zone = None;
        if hints.expect_mrz {
            zone = zone_search::find(&self.ocr, &pyramid, &working, &regions)?;
            if let Some(row) = zone.as_ref().and_then(ZoneReading::first_row) {
                regions = detection::detect_page(&self.ocr, &working, regions, &row)?;
            }
        }
        clock.lap("zone");
        let scale = picture.width as f32 / size.0 as f32;
        let area = hints
            .fraud_signs
            .then(|| print_area(&regions, zone.as_ref(), size, scale))
            .flatten();

        let (turn, lines) = self.read_lines(&Pyramid::of(&working), &regions, zone.as_ref())?;
        let page: Cow<'_, Picture> = if turn == Turn::default() {
            working
        } else {
            Cow::Owned(turn.apply_to_picture(&working))
        };
        clock.lap("recognise");

        let mut zone = match zone {
            Some(zone) => Some(zone.map(|p| turn.apply_to_point(p, size))),
            None => self.read_zone_by_text(&Pyramid::of(&page), &lines, turn, hints, &regions, size)?,
        };
        let printed: Vec<&Line> = match &mut zone {
            Some(zone) => {
                let others = zone.others(&lines);
                zone.confirm_by_print(&others);
                others
            }
            None => lines.iter().collect(),
        };
        clock.lap("mrz");

        let barcodes = if may_carry_barcode(hints, zone.as_ref()) {
            let work = BARCODE_WORK[usize::from(!hints.expect_barcode)];
            read_barcodes(picture, work)
                .into_iter()
                .map(fields::barcode)
                .collect()
        } else {
            Vec::new()
        };
        clock.lap("barcodes");

        let mut reading = DocumentReading {
            mrz: zone.map(|zone| zone.mrz),
            barcodes,
            ..DocumentReading::default()
        };
        let visual = visual::read(
            &printed,
            reading.mrz.as_ref(),
            reading.aamva(),
            !reading.barcodes.is_empty(),
        );
        let printed = SourceData::from_fields(&visual.fields, Source::Ocr);
        if let Some(mrz) = reading
            .mrz
            .as_mut()
            .filter(|mrz| confirmation::casts_doubt(mrz, &printed))
        {
            mrz.unaccept();
        }
        reading.kind = visual.kind;
        reading.visual.clone_from(&visual.fields);
        reading.fields = fields::merge_fields(reading.mrz.as_ref(), reading.aamva(), visual.fields);
        clock.lap("fields");
        reading.quality = quality::issues(&page, &lines);
        clock.lap("quality");
        reading.text = lines
            .into_iter()
            .filter(|line| !line.read.text.is_empty())
            .map(text_line)
            .collect();
        enlarge_boxes(&mut reading, scale);
        if hints.fraud_signs {
            reading.fraud = fraud::contradictions(&reading, &reading);
            if let Some(area) = &area {
                let bounds = area.bounds(|p| turn.apply_to_point(p, (picture.width, picture.height)));
                reading.fraud.extend(fraud::picture_signs(picture, area, bounds));
            }
            clock.lap("fraud");
        }
        reading.timing_ms = clock.finish();
        Ok(reading)
    }

    /// Reads the zone whose rows resemble one as text.
    fn read_zone_by_text(
        &self,
        page: &Pyramid<'_>,
        lines: &[Line],
        turn: Turn,
        hints: &ReadHints,
        regions: &[TextRegion],
        size: (u32, u32),
    ) -> Result<Option<ZoneReading>, OcrError> {
        let zone = zone::read(&self.ocr, page, &locate::mrz_rows(lines))?;
        if !hints.expect_mrz || zone.as_ref().is_some_and(|zone| zone.mrz.valid) {
            return Ok(zone);
        }
        let rows = self.find_crosswise_mrz_rows(page, turn, regions, size)?;
        let across = zone::read(&self.ocr, page, &rows)?;
        let is_better = |across: &ZoneReading| across.mrz.valid || zone.is_none();
        Ok(if across.as_ref().is_some_and(is_better) {
            across
        } else {
            zone
        })
    }

    /// Finds the page's orientation and reads its lines. The quads of the lines are in the turned picture. If the
    /// zone is known, so are the orientation and its own lines, and other lines of its page come first.
    fn read_lines(
        &self,
        picture: &Pyramid<'_>,
        regions: &[TextRegion],
        zone: Option<&ZoneReading>,
    ) -> Result<(Turn, Vec<Line>), OcrError> {
        let row = zone.and_then(ZoneReading::first_row);
        let across = row
            .as_ref()
            .map_or_else(|| locate::mostly_across(regions), locate::is_across);
        let page = row.as_ref().map(locate::page_above);
        let on_page = |region: &TextRegion| {
            page.as_ref()
                .is_none_or(|page| locate::contains(page, region.quad.centre()))
        };
        // A zone that our own network has read is not read again.
        let zone_lines = zone.and_then(ZoneReading::lines).unwrap_or_default();
        let is_read = |quad: &Quad| !zone_lines.is_empty() && zone.is_some_and(|zone| zone.includes(quad));
        let mut chosen: Vec<TextRegion> = regions
            .iter()
            .filter(|r| r.quad.height() >= MIN_LINE_HEIGHT && !is_read(&r.quad))
            .filter(|r| r.quad.aspect() < 2.0 || locate::is_across(&r.quad) == across)
            .copied()
            .collect();
        chosen.sort_by(|a, b| {
            on_page(b)
                .cmp(&on_page(a))
                .then(importance(b).total_cmp(&importance(a)))
        });
        chosen.truncate(MAX_LINES);
        for region in &mut chosen {
            region.quad = along_page(region.quad, across);
        }
        let (sense, mut probe_readings) = match &row {
            Some(row) => (TextDirection::of_zone(row), HashMap::new()),
            None => self.detect_text_direction(picture, &chosen)?,
        };
        let probe = Quad::around(Point::new(0.0, 0.0), Point::new(1.0, 0.0), 9.0, 3.0);
        let turn = Turn::to_upright(&sense.apply(&along_page(probe, across)));
        let size = (picture.whole().width, picture.whole().height);
        let mut lines = Vec::with_capacity(chosen.len());
        let mut budget = MAX_TOTAL_ASPECT;
        for (at, region) in chosen.iter().enumerate() {
            let quad = sense.apply(&region.quad);
            let read = match probe_readings.remove(&at) {
                Some(read) => read,
                None if budget > 0.0 => self.recognise_fast(picture, &quad)?,
                None => continue,
            };
            budget -= quad.aspect();
            lines.push(Line {
                quad: quad.map(|p| turn.apply_to_point(p, size)),
                read,
            });
        }
        lines.extend(zone_lines.into_iter().map(|line| Line {
            quad: line.quad.map(|p| turn.apply_to_point(p, size)),
            ..line
        }));
        lines.sort_by(|a, b| reading_order(a).total_cmp(&reading_order(b)));
        Ok((turn, lines))
    }

    fn recognise(&self, picture: &Pyramid<'_>, quad: &Quad) -> Result<RecognisedText, OcrError> {
        self.ocr.recognise(picture, quad, View::Colour, squeeze(quad))
    }

    fn recognise_fast(&self, picture: &Pyramid<'_>, quad: &Quad) -> Result<RecognisedText, OcrError> {
        self.ocr.recognise_fast(picture, quad, squeeze(quad))
    }

    /// Finds the direction of the text by reading a few clear lines. Also returns those readings, by region
    /// index.
    fn detect_text_direction(
        &self,
        picture: &Pyramid<'_>,
        regions: &[TextRegion],
    ) -> Result<(TextDirection, HashMap<usize, RecognisedText>), OcrError> {
        const PROBES: usize = 4;
        /// From this mean confidence on, the remaining directions are not tried.
        const SURE: f32 = 0.9;
        /// Below this the text may be mirrored.
        const POOR: f32 = 0.88;
        /// Another direction must have a mean confidence higher by this.
        const LEAD: f32 = 0.03;
        let fit = |at: &usize| (2.5..10.0).contains(&regions[*at].quad.aspect());
        let mut probes: Vec<usize> = (0..regions.len()).filter(fit).take(PROBES).collect();
        if probes.is_empty() {
            probes = (0..regions.len()).take(PROBES).collect();
        }
        let read = |sense: TextDirection| -> Result<(f32, HashMap<usize, RecognisedText>), OcrError> {
            let (mut sum, mut weight, mut reads) = (0.0, 0.0, HashMap::new());
            for &at in &probes {
                let read = self.recognise(picture, &sense.apply(&regions[at].quad))?;
                let letters = read.text.chars().filter(|c| c.is_alphanumeric()).count().min(12) as f32;
                // A probe without letters lowers the mean, because it is evidence against this direction.
                sum += read.confidence * letters;
                weight += letters.max(2.0);
                reads.insert(at, read);
            }
            Ok((if weight > 0.0 { sum / weight } else { 0.0 }, reads))
        };
        let (mut score, reads) = read(TextDirection::Plain)?;
        let mut best = (TextDirection::Plain, reads);
        for (sense, unless_above) in [
            (TextDirection::UpsideDown, SURE),
            (TextDirection::Mirrored, POOR),
            (TextDirection::MirroredUpsideDown, POOR),
        ] {
            if probes.is_empty() || score >= unless_above {
                break;
            }
            let (other, reads) = read(sense)?;
            if other > score + LEAD {
                score = other;
                best = (sense, reads);
            }
        }
        Ok(best)
    }

    /// Reads rows of a machine-readable zone at right angles to the page's other text, as on a passport
    /// photographed open.
    fn find_crosswise_mrz_rows(
        &self,
        page: &Pyramid<'_>,
        turn: Turn,
        regions: &[TextRegion],
        size: (u32, u32),
    ) -> Result<Vec<Quad>, OcrError> {
        let across = locate::mostly_across(regions);
        let mut best: Vec<Quad> = Vec::new();
        for upside_down in [false, true] {
            let mut lines = Vec::new();
            for region in regions
                .iter()
                .filter(|r| r.quad.aspect() > 9.0 && locate::is_across(&r.quad) != across)
                .take(8)
            {
                let quad = region.quad.map(|p| turn.apply_to_point(p, size));
                let quad = if turn.mirrored { quad.mirrored() } else { quad };
                let quad = if upside_down { quad.upside_down() } else { quad };
                lines.push(Line {
                    quad,
                    read: self.recognise(page, &quad)?,
                });
            }
            let rows = locate::mrz_rows(&lines);
            if rows.len() > best.len() {
                best = rows;
            }
        }
        Ok(best)
    }
}

/// How text runs compared with the order of its quad's corners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextDirection {
    Plain,
    UpsideDown,
    Mirrored,
    MirroredUpsideDown,
}

impl TextDirection {
    /// The direction of a page's text by the first row of its zone. Regions read rightwards or downwards.
    fn of_zone(row: &Quad) -> Self {
        let along = row.along();
        let is_backwards = if locate::is_across(row) {
            along.x < 0.0
        } else {
            along.y < 0.0
        };
        if is_backwards {
            Self::UpsideDown
        } else {
            Self::Plain
        }
    }

    fn apply(self, quad: &Quad) -> Quad {
        match self {
            Self::Plain => *quad,
            Self::UpsideDown => quad.upside_down(),
            Self::Mirrored => quad.mirrored(),
            Self::MirroredUpsideDown => quad.mirrored().upside_down(),
        }
    }
}

/// Measures the milliseconds that each stage takes.
struct StageTimer {
    start: Instant,
    last: Instant,
    laps: BTreeMap<String, f64>,
}

impl StageTimer {
    fn start() -> Self {
        let now = Instant::now();
        Self {
            start: now,
            last: now,
            laps: BTreeMap::new(),
        }
    }

    fn lap(&mut self, stage: &str) {
        let now = Instant::now();
        self.laps.insert(stage.to_owned(), milliseconds(now - self.last));
        self.last = now;
    }

    fn finish(mut self) -> BTreeMap<String, f64> {
        self.laps
            .insert("total".to_owned(), milliseconds(self.start.elapsed()));
        self.laps
    }
}

/// A duration in milliseconds, with three decimals.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// The picture in which text is detected and lines are read.
fn working_picture<'a>(pyramid: &'a Pyramid<'_>) -> Cow<'a, Picture> {
    let whole = pyramid.whole();
    let longest = whole.width.max(whole.height) as f32;
    if longest <= WORKING_SIDE as f32 {
        return Cow::Borrowed(whole);
    }
    let (near, _) = pyramid.reduced(longest / LEAST_WORKING_SIDE as f32);
    if near.width.max(near.height) <= WORKING_SIDE {
        return Cow::Borrowed(near);
    }
    let scale = WORKING_SIDE as f32 / longest;
    let side = |length: u32| (length as f32 * scale).round() as u32;
    Cow::Owned(near.resized(side(whole.width), side(whole.height)))
}

/// Ranks regions for reading: large and long lines score highest.
fn importance(region: &TextRegion) -> f32 {
    region.score * region.quad.height() * region.quad.length().sqrt()
}

/// Gives a region the page's direction, rightwards or downwards: nearly square regions have no reliable direction.
fn along_page(quad: Quad, across: bool) -> Quad {
    if locate::is_across(&quad) == across {
        return quad;
    }
    let [a, b, c, d] = quad.0;
    // The detector's regions read rightwards or downwards, so this one does so, too.
    Quad(if across { [d, a, b, c] } else { [b, c, d, a] })
}

/// The factor by which a line is narrowed for reading.
fn squeeze(quad: &Quad) -> f32 {
    if quad.aspect() > LONG_ASPECT {
        LONG_SQUEEZE
    } else {
        1.0
    }
}

fn reading_order(line: &Line) -> f32 {
    let centre = line.quad.centre();
    // Lines are ordered by row, each about a line's height, and within a row from left to right.
    (centre.y / line.quad.height().max(8.0)).round() * 1e5 + centre.x
}

/// Turns boxes in the working picture into boxes in the picture that was read, which is `scale` times as large.
fn enlarge_boxes(reading: &mut DocumentReading, scale: f32) {
    let fields = reading.fields.values_mut().chain(reading.visual.values_mut());
    let boxes = fields.filter_map(|field| field.bounds.as_mut());
    for bounds in boxes.chain(reading.text.iter_mut().map(|line| &mut line.bounds)) {
        *bounds = bounds.map(|measure| measure * scale);
    }
}

/// Where the document's text is printed, in pixels of a picture that is `scale` times as large. Print beyond the page of
/// the zone is not the document's. Without print, the document may be anywhere: moiré can hide it.
fn print_area(
    regions: &[TextRegion],
    zone: Option<&ZoneReading>,
    size: (u32, u32),
    scale: f32,
) -> Option<PrintArea> {
    let page = zone
        .and_then(ZoneReading::first_row)
        .map(|row| locate::page_above(&row));
    let is_printed = |quad: &&Quad| {
        page.as_ref()
            .is_none_or(|page| locate::contains(page, quad.centre()))
    };
    let quads = regions.iter().map(|region| &region.quad);
    let frame = Quad([(0, 0), (size.0, 0), size, (0, size.1)].map(|(x, y)| Point::new(x as f32, y as f32)));
    PrintArea::around(quads.filter(is_printed), scale).or_else(|| PrintArea::around([frame].iter(), scale))
}

fn text_line(line: Line) -> TextLine {
    TextLine {
        bounds: line.quad.bounds(),
        text: line.read.text,
        confidence: line.read.confidence,
    }
}

/// The page of a passport carries no PDF417; cards may carry one on either side.
fn may_carry_barcode(hints: &ReadHints, zone: Option<&ZoneReading>) -> bool {
    let is_passport = zone.is_some_and(|zone| {
        zone.mrz.valid && zone.mrz.format == MrzFormat::Td3 && zone.mrz.fields.document_code.starts_with('P')
    });
    !is_passport && (hints.expect_barcode || hints.document_type != Some(DocumentType::Passport))
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
