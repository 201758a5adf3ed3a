//! Reads the lines of a page: in which direction, which lines, and by which recogniser.
//!
//! The fast recogniser reads every line. A slower one reads those again that may hold a value and were not read with
//! certainty. This module never decides what a line means.

use std::collections::HashMap;

use imaging::{Point, Pyramid};
use reference::scripts::{Script, script_beside_latin};

use crate::locate::{self, Line, Turn};
use crate::ocr::{Characters, Ocr, OcrError, Quad, RecognisedText, TextRegion, View};
use crate::visual;
use crate::zone::ZoneReading;

/// At most this many lines are read.
const MAX_LINES: usize = 60;
/// The lines read have at most this sum of aspects (length by height). On one core, aspect 1
/// costs 0.6 ms by the fast recogniser and 3 ms by the better one.
const MAX_TOTAL_ASPECT: f32 = 300.0;
/// Lines lower than this, in pixels of the working picture, are not read.
const MIN_LINE_HEIGHT: f32 = 6.0;
/// Lines with a larger aspect (length by height) have wide or small characters, so they are narrowed before
/// reading.
const LONG_ASPECT: f32 = 14.0;
/// The factor by which long lines are narrowed.
const LONG_SQUEEZE: f32 = 0.75;
/// From this mean probability of its characters on, the fast recogniser's reading counts.
const CERTAIN: f32 = 0.95;
/// Below it, a line is too blurred, or no text, so that the other recognisers do not read it with certainty either. Lines of
/// at most this aspect may be single characters.
const ILLEGIBLE: f32 = 0.5;
const SHORT: f32 = 2.0;
/// Lines of more words are sentences.
const MAX_WORDS: usize = 6;

/// Finds the page's orientation and reads its lines. The quads of the lines are in the turned picture. If the
/// zone is known, so are the orientation and its own lines, and other lines of its page come first.
///
/// # Errors
/// Fails when a model does not run.
pub(crate) fn read(
    ocr: &Ocr,
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
        None => detect_text_direction(ocr, picture, &chosen)?,
    };
    let expected = Expected::of(zone, probe_readings.values());
    let probe = Quad::around(Point::new(0.0, 0.0), Point::new(1.0, 0.0), 9.0, 3.0);
    let turn = Turn::to_upright(&sense.apply(&along_page(probe, across)));
    let size = (picture.whole().width, picture.whole().height);
    let mut lines = Vec::with_capacity(chosen.len());
    let mut budget = MAX_TOTAL_ASPECT;
    for (at, region) in chosen.iter().enumerate() {
        let quad = sense.apply(&region.quad);
        let read = match probe_readings.remove(&at) {
            Some(read) => read,
            None if budget > 0.0 => recognise_fast(ocr, picture, &quad, expected)?,
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

/// Reads a line by the recogniser of all characters.
///
/// # Errors
/// Fails when the model does not run.
pub(crate) fn recognise(ocr: &Ocr, picture: &Pyramid<'_>, quad: &Quad) -> Result<RecognisedText, OcrError> {
    ocr.recognise(picture, quad, View::Colour, squeeze(quad))
}

fn recognise_fast(
    ocr: &Ocr,
    picture: &Pyramid<'_>,
    quad: &Quad,
    expected: Expected,
) -> Result<RecognisedText, OcrError> {
    ocr.recognise_fast(picture, quad, squeeze(quad), expected.first, |fast| {
        let characters = expected.again.max(Characters::of(&fast.text));
        is_worth_another_reading(fast, quad).then_some(characters)
    })
}

/// Whether a line may hold a value that the fast recogniser has not read with certainty.
fn is_worth_another_reading(fast: &RecognisedText, quad: &Quad) -> bool {
    let text = &fast.text;
    if fast.confidence >= CERTAIN {
        return false;
    }
    if fast.confidence < ILLEGIBLE && quad.aspect() > SHORT {
        return false;
    }
    let has_digit = text.chars().any(|c| c.is_ascii_digit());
    has_digit || !(visual::is_only_labels(text) || text.split_whitespace().count() > MAX_WORDS)
}

/// The characters that a page is expected to have.
#[derive(Debug, Clone, Copy)]
struct Expected {
    /// Those that the fast recogniser looks for.
    first: Characters,
    /// Those that the better one looks for, at least.
    again: Characters,
}

impl Expected {
    /// A state that prints values in Han, kana or Greek letters is known by the zone's issuer, and without a zone by the
    /// lines that were read first. Without a zone, other lines may show such letters, too.
    fn of<'a>(zone: Option<&ZoneReading>, mut read: impl Iterator<Item = &'a RecognisedText>) -> Self {
        let (first, again) = match zone {
            Some(zone) => {
                let script = script_beside_latin(&zone.mrz.fields.issuer);
                match script {
                    Some(Script::Greek | Script::Han | Script::Japanese) => {
                        (Characters::All, Characters::All)
                    }
                    _ => (Characters::Latin, Characters::Latin),
                }
            }
            None if read.any(|read| Characters::of(&read.text) == Characters::All) => {
                (Characters::All, Characters::All)
            }
            None => (Characters::All, Characters::Latin),
        };
        Self { first, again }
    }
}

/// Finds the direction of the text by reading a few clear lines. Also returns those readings, by region
/// index.
fn detect_text_direction(
    ocr: &Ocr,
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
            let read = recognise(ocr, picture, &sense.apply(&regions[at].quad))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ocr::ctc::Emissions;

    fn read(text: &str, confidence: f32) -> RecognisedText {
        RecognisedText {
            text: text.to_owned(),
            confidence,
            emissions: Emissions::default(),
        }
    }

    #[test]
    fn lines_that_may_hold_an_uncertain_value_are_read_again() {
        for (text, confidence, aspect, again) in [
            ("12.08.1964", 0.99, 6.0, false),
            ("25 .12.1982", 0.85, 6.0, true),
            ("OSPELT-BECKE", 0.9, 5.0, true),
            ("Sven Specimen", 0.93, 5.0, true),
            // A value may follow a label.
            ("Surname SPECIMEN", 0.8, 8.0, true),
            ("Document No. 12345", 0.8, 8.0, true),
            ("Date of birth / Date de naissance", 0.8, 12.0, false),
            (
                "IF FOUND, PLEASE SERENHIS CARD CUT IN TWO PIECES TO",
                0.93,
                19.0,
                false,
            ),
            ("tmTm/mt", 0.4, 4.0, false),
            ("T", 0.4, 0.8, true),
        ] {
            let quad = Quad::around(Point::new(0.0, 0.0), Point::new(1.0, 0.0), 20.0 * aspect, 20.0);
            assert_eq!(
                is_worth_another_reading(&read(text, confidence), &quad),
                again,
                "{text}"
            );
        }
    }

    #[test]
    fn without_a_zone_the_first_lines_tell_the_characters() {
        for (texts, again) in [
            (&["SPECIMEN", "Ñandú"][..], Characters::Latin),
            (&["SPECIMEN", "陳小明"], Characters::All),
            (&["ΕΛΛΗΝΙΚΗ"], Characters::All),
            (&[], Characters::Latin),
        ] {
            let lines: Vec<RecognisedText> = texts.iter().map(|text| read(text, 0.9)).collect();
            let expected = Expected::of(None, lines.iter());
            assert_eq!(
                (expected.first, expected.again),
                (Characters::All, again),
                "{texts:?}"
            );
        }
    }
}
