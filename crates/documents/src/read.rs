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
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use imaging::{Decoded, Picture, Point, Pyramid};
use inference::Models;
use reference::DocumentType;
use serde::{Deserialize, Serialize};

use crate::barcode::{WorkBudget, read_barcodes};
use crate::compare::SourceData;
use crate::fraud::{self, PrintArea};
use crate::locate::{self, Line, Turn};
use crate::ocr::{Ocr, OcrError, Quad, TextRegion};
use crate::reading::{DocumentReading, MrzFormat, Source, TextLine};
use crate::zone::{self, ZoneReading};
use crate::{confirmation, detection, fields, page_lines, quality, visual, zone_search};

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

    /// Reads one side of a document from a decoded file, as [`Self::read`] does, and looks for signs of fraud in the
    /// file's metadata and compression, too.
    ///
    /// # Errors
    /// Fails when a model does not run.
    pub fn read_file(&self, file: &Decoded, hints: &ReadHints) -> Result<DocumentReading, ReadError> {
        let mut reading = self.read(&file.picture, hints)?;
        if hints.fraud_signs {
            let start = Instant::now();
            reading.fraud.extend(fraud::file_signs(file));
            let spent = milliseconds(start.elapsed());
            for stage in ["fraud", "total"] {
                *reading.timing_ms.entry(stage.to_owned()).or_default() += spent;
            }
        }
        Ok(reading)
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

        let (turn, lines) = page_lines::read(&self.ocr, &Pyramid::of(&working), &regions, zone.as_ref())?;
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
            reading.fraud = fraud::data_signs(&reading);
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
                    read: page_lines::recognise(&self.ocr, page, &quad)?,
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
