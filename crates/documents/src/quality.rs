//! Finds what made a picture hard to read, with advice for the person who takes the next one.
//!
//! It never judges whether the document is genuine. An empty list does not mean that the picture is good.

use imaging::{Luma, Picture};

use crate::locate::Line;
use crate::reading::QualityIssue;

/// Pictures with a shorter longer side, in pixels, cannot show a whole document legibly.
const MIN_SIDE: u32 = 480;
/// Text lower than this many pixels loses strokes.
const MIN_TEXT_HEIGHT: f32 = 11.0;
/// Pixels of at least this luma are blown out.
const WHITE: u8 = 250;
/// The share of blown-out cells in the text's area above which the picture has glare.
const GLARE_SHARE: f32 = 0.06;
/// Mean luma below which the page is too dark.
const DARK: f32 = 50.0;
/// Mean recognition confidence below which text is hard to read.
const LEGIBLE: f32 = 0.75;
/// A line is blurred below this steepness: its steepest step per pixel by its contrast, at a height of 48
/// pixels.
const SHARP: f32 = 0.08;

/// Code and advice of every issue.
const ISSUES: [(&str, &str); 5] = [
    (
        "too_small",
        "Move closer, so that the document fills the picture, and send the original file instead of a reduced copy.",
    ),
    (
        "blurred",
        "Hold the camera still, wait until it has focused, and take the picture again.",
    ),
    (
        "glare",
        "Turn off the flash and tilt the document until no light is reflected in it.",
    ),
    ("too_dark", "Take the picture in a brighter place."),
    (
        "cut_off",
        "Show the whole document with a little space around all four corners.",
    ),
];

impl QualityIssue {
    /// Whether this crate can produce this issue. Issues from another process may contain any text.
    pub fn is_known(&self) -> bool {
        ISSUES.contains(&(&*self.code, &*self.advice))
    }
}

/// All issues of an upright picture with these lines of text.
pub(crate) fn issues(picture: &Picture, lines: &[Line]) -> Vec<QualityIssue> {
    let luma = picture.luma();
    let found = [
        picture.width.max(picture.height) < MIN_SIDE
            || median_height(lines).is_some_and(|h| h < MIN_TEXT_HEIGHT),
        is_blurred(&luma, lines),
        has_glare(&luma, lines),
        too_dark(&luma),
        cut_off(picture, lines),
    ];
    let issues = found.into_iter().zip(ISSUES).filter(|(found, _)| *found);
    issues
        .map(|(_, (code, advice))| QualityIssue {
            code: code.into(),
            advice: advice.into(),
        })
        .collect()
}

fn median(mut values: Vec<f32>) -> Option<f32> {
    values.sort_by(f32::total_cmp);
    values.get(values.len() / 2).copied()
}

fn median_height(lines: &[Line]) -> Option<f32> {
    median(lines.iter().map(|line| line.quad.height()).collect())
}

/// Whether the text is hard to read and most lines have no steep edge.
fn is_blurred(luma: &Luma, lines: &[Line]) -> bool {
    let (sum, weight) = lines.iter().fold((0.0, 0.0), |(sum, weight), line| {
        let length = line.quad.length();
        (sum + line.read.confidence * length, weight + length)
    });
    if weight == 0.0 || sum / weight > LEGIBLE {
        return false;
    }
    median(lines.iter().filter_map(|line| steepness(luma, line)).collect()).is_some_and(|s| s < SHARP)
}

/// The steepest step between neighbouring pixels of a line by the line's contrast, scaled to a height of 48
/// pixels.
fn steepness(luma: &Luma, line: &Line) -> Option<f32> {
    let [x, y, w, h] = line.quad.bounds();
    let (x0, y0) = (x.max(0.0) as u32, y.max(0.0) as u32);
    let (x1, y1) = (
        ((x + w) as u32).min(luma.width),
        ((y + h) as u32).min(luma.height),
    );
    let (mut low, mut high, mut steepest) = (255u8, 0u8, 0u8);
    for y in y0..y1 {
        let row = &luma.row(y)[x0.min(x1) as usize..x1 as usize];
        for pair in row.windows(2) {
            low = low.min(pair[0]);
            high = high.max(pair[0]);
            steepest = steepest.max(pair[0].abs_diff(pair[1]));
        }
    }
    let contrast = f32::from(high.saturating_sub(low));
    (contrast > 20.0).then(|| f32::from(steepest) / contrast * line.quad.height() / 48.0)
}

/// Whether part of the text's area is blown out while most of the area is not.
fn has_glare(luma: &Luma, lines: &[Line]) -> bool {
    const GRID: u32 = 24;
    let bounds: Vec<[f32; 4]> = lines.iter().map(|l| l.quad.bounds()).collect();
    if bounds.len() < 3 {
        return false;
    }
    let low = |i: usize| bounds.iter().map(|b| b[i]).fold(f32::INFINITY, f32::min).max(0.0) as u32;
    let high = |i: usize| bounds.iter().map(|b| b[i] + b[i + 2]).fold(0.0, f32::max) as u32;
    let (x0, y0) = (low(0), low(1));
    let (x1, y1) = (high(0).min(luma.width), high(1).min(luma.height));
    if x1 <= x0 + GRID || y1 <= y0 + GRID {
        return false;
    }
    let mut blown = 0u32;
    let mut bright_area = 0u64;
    for row in 0..GRID {
        for column in 0..GRID {
            let (cx0, cx1) = (
                x0 + (x1 - x0) * column / GRID,
                x0 + (x1 - x0) * (column + 1) / GRID,
            );
            let (cy0, cy1) = (y0 + (y1 - y0) * row / GRID, y0 + (y1 - y0) * (row + 1) / GRID);
            let area = (cy0..cy1).flat_map(|y| &luma.row(y)[cx0 as usize..cx1 as usize]);
            let (white, all) = area.fold((0u64, 0u64), |(white, all), &p| {
                (white + u64::from(p >= WHITE), all + 1)
            });
            bright_area += white;
            blown += u32::from(all > 0 && white * 100 >= all * 97);
        }
    }
    // A scan is white nearly everywhere because of its paper, which is not glare.
    let share = blown as f32 / (GRID * GRID) as f32;
    let paper = bright_area as f32 / ((x1 - x0) as f32 * (y1 - y0) as f32) > 0.5;
    !paper && share > GLARE_SHARE
}

fn too_dark(luma: &Luma) -> bool {
    let step = (luma.pixels.len() / 10_000).max(1);
    let (sum, count) = luma
        .pixels
        .iter()
        .step_by(step)
        .fold((0u64, 0u64), |(s, n), &p| (s + u64::from(p), n + 1));
    count > 0 && (sum as f32 / count as f32) < DARK
}

/// Whether two or more lines cross the same edge of the picture.
fn cut_off(picture: &Picture, lines: &[Line]) -> bool {
    let (w, h) = (picture.width as f32, picture.height as f32);
    let mut touching = [0u32; 4];
    for line in lines.iter().filter(|l| l.quad.aspect() > 2.0) {
        let [x, y, width, height] = line.quad.bounds();
        // A region is slightly larger than its text, so a region at the edge extends beyond it.
        let beyond = -0.15 * line.quad.height();
        for (count, outside) in touching.iter_mut().zip([
            x < beyond,
            y < 2.0 * beyond,
            x + width > w - beyond,
            y + height > h - 2.0 * beyond,
        ]) {
            *count += u32::from(outside);
        }
    }
    touching.iter().any(|&count| count >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ocr::{Quad, RecognisedText, ctc::Emissions};
    use imaging::Point;

    fn line(x: f32, y: f32, confidence: f32) -> Line {
        Line {
            quad: Quad::around(Point::new(x, y), Point::new(1.0, 0.0), 200.0, 20.0),
            read: RecognisedText {
                text: "SPECIMEN".into(),
                confidence,
                emissions: Emissions::default(),
            },
        }
    }

    fn codes(picture: &Picture, lines: &[Line]) -> Vec<String> {
        issues(picture, lines)
            .into_iter()
            .map(|issue| issue.code)
            .collect()
    }

    #[test]
    fn each_issue_is_named() {
        let grey = Picture::filled(800, 600, [150; 3]);
        let inside = [
            line(400.0, 100.0, 0.95),
            line(400.0, 300.0, 0.95),
            line(400.0, 500.0, 0.95),
        ];
        assert_eq!(codes(&grey, &inside), [""; 0]);
        assert_eq!(codes(&Picture::filled(300, 200, [150; 3]), &[]), ["too_small"]);
        assert_eq!(codes(&Picture::filled(800, 600, [10; 3]), &inside), ["too_dark"]);
        assert_eq!(
            codes(&grey, &[line(90.0, 100.0, 0.9), line(90.0, 200.0, 0.9)]),
            ["cut_off"]
        );
        let mut lit = grey.clone();
        for y in 200..300 {
            for x in 350..420 {
                let at = (y * 800 + x) * 3;
                lit.pixels[at..at + 3].fill(255);
            }
        }
        assert_eq!(codes(&lit, &inside), ["glare"]);
        // A ramp over 40 pixels where the text should be.
        let mut ramp = grey;
        for (i, pixel) in ramp.pixels.chunks_exact_mut(3).enumerate() {
            pixel.fill(100 + ((i % 800) / 8) as u8);
        }
        assert_eq!(
            codes(&ramp, &[line(400.0, 100.0, 0.3), line(400.0, 300.0, 0.3)]),
            ["blurred"]
        );
    }
}
