//! Finds a page's orientation and the rows of its machine-readable zone among lines of text.
//!
//! It uses quadrilaterals and recognised text only. It never reads pixels to locate anything, and never
//! parses a zone.

use imaging::{Picture, Point};

use crate::ocr::{Quad, RecognisedText, TextRegion};

/// A line of text with its position.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its corners, top left first as the text is read.
    pub quad: Quad,
    /// The recognised text.
    pub read: RecognisedText,
}

/// The turn that makes a picture's text upright: first mirroring, then quarter turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turn {
    /// Quarter turns, clockwise.
    pub quarter_turns: u32,
    /// Whether left and right are exchanged first.
    pub mirrored: bool,
}

impl Turn {
    /// The turned picture.
    pub fn apply_to_picture(self, picture: &Picture) -> Picture {
        if self.mirrored {
            picture.mirrored().rotated(self.quarter_turns)
        } else {
            picture.rotated(self.quarter_turns)
        }
    }

    /// Maps a point of a picture of that size (width, height) to the turned picture.
    pub fn apply_to_point(self, p: Point, size: (u32, u32)) -> Point {
        let (w, h) = (size.0 as f32, size.1 as f32);
        let p = if self.mirrored {
            Point::new(w - p.x, p.y)
        } else {
            p
        };
        match self.quarter_turns % 4 {
            0 => p,
            1 => Point::new(h - p.y, p.x),
            2 => Point::new(w - p.x, h - p.y),
            _ => Point::new(p.y, w - p.x),
        }
    }

    /// The turn that makes upright a text whose corners are in `quad`'s order.
    pub fn to_upright(quad: &Quad) -> Self {
        let [a, b, _, d] = quad.0;
        // In mirrored text, the way from "right" to "down" is anticlockwise.
        let mirrored = (b.x - a.x) * (d.y - a.y) - (b.y - a.y) * (d.x - a.x) < 0.0;
        let along = quad.along();
        let along = if mirrored {
            Point::new(-along.x, along.y)
        } else {
            along
        };
        let quarter_turns = match (along.x.abs() >= along.y.abs(), along.x >= 0.0, along.y >= 0.0) {
            (true, true, _) => 0,
            (true, false, _) => 2,
            (false, _, true) => 3,
            (false, _, false) => 1,
        };
        Self {
            quarter_turns,
            mirrored,
        }
    }
}

/// Whether most text, weighted by length, is nearer to horizontal than to vertical.
pub fn mostly_across(regions: &[TextRegion]) -> bool {
    let (across, down) =
        regions
            .iter()
            .filter(|r| r.quad.aspect() > 2.0)
            .fold((0.0, 0.0), |(across, down), r| {
                let length = r.quad.length();
                if is_across(&r.quad) {
                    (across + length, down)
                } else {
                    (across, down + length)
                }
            });
    across >= down
}

/// Whether a line is nearer to horizontal than to vertical.
pub fn is_across(quad: &Quad) -> bool {
    let along = quad.along();
    along.x.abs() >= along.y.abs()
}

/// The quads of the rows of the machine-readable zone, top to bottom, or an empty list. They may include text above the
/// zone that resembles it, such as capitals just above the first row.
pub fn mrz_rows(lines: &[Line]) -> Vec<Quad> {
    let Some(seed) = lines
        .iter()
        .filter(|line| mrz_likeness(&line.read.text) >= SEED_LIKENESS)
        .max_by(|a, b| prominence(a).total_cmp(&prominence(b)))
    else {
        return Vec::new();
    };
    let frame = Frame::along(seed.quad.along());
    let height = seed.quad.height();
    let pieces: Vec<Piece> = lines
        .iter()
        .filter(|line| {
            let (along, h) = (line.quad.along(), line.quad.height());
            let parallel = along.x * frame.u.x + along.y * frame.u.y > PARALLEL;
            parallel && (0.5..2.0).contains(&(h / height)) && mrz_likeness(&line.read.text) > 0.0
        })
        .map(|line| Piece::of(line.quad, &frame))
        .collect();

    equally_long(&neighbours_of(&Piece::of(seed.quad, &frame), pieces, usize::MAX))
}

/// The rows around `seed`, at most `beyond` of them on each side. Pieces at one height form one row; rows about one row
/// distance apart are neighbours.
fn neighbours_of(seed: &Piece, mut pieces: Vec<Piece>, beyond: usize) -> Vec<RowPieces> {
    let (left, right) = extent_of_row(seed, &pieces);
    pieces.retain(|piece| (left..right).contains(&f32::midpoint(piece.left, piece.right)));
    let mut rows = rows_of(pieces);
    keep_chain_around(&mut rows, seed.middle, seed.height, beyond);
    rows
}

/// The rows, extended to where any of them begins and ends.
fn equally_long(rows: &[RowPieces]) -> Vec<Quad> {
    let left = rows.iter().map(|r| r.left).fold(f32::INFINITY, f32::min);
    let right = rows.iter().map(|r| r.right).fold(f32::NEG_INFINITY, f32::max);
    rows.iter().map(|row| row.whole(left, right)).collect()
}

/// Pieces of one row are at most so far apart, by their height. Another document may lie beside this one.
const MAX_GAP: f32 = 5.0;

/// From where to where the row of a piece reaches.
fn extent_of_row(seed: &Piece, pieces: &[Piece]) -> (f32, f32) {
    let (mut left, mut right) = (seed.left, seed.right);
    let gap = MAX_GAP * seed.height;
    let mut beside: Vec<&Piece> = pieces
        .iter()
        .filter(|piece| (piece.middle - seed.middle).abs() < 0.45 * seed.height)
        .collect();
    beside.sort_by(|a, b| a.left.total_cmp(&b.left));
    for piece in &beside {
        if piece.right > right && piece.left < right + gap {
            right = piece.right;
        }
    }
    for piece in beside.iter().rev() {
        if piece.left < left && piece.right > left - gap {
            left = piece.left;
        }
    }
    (left, right)
}

/// At most so many groups of rows are returned.
const MAX_GROUPS: usize = 12;
/// A zone's longest row is at least so long, by its height; a whole row of 30 characters has at least 12.
const SEED_ASPECT: f32 = 8.0;
/// Of a zone's row, the detector finds at least so much at once, by its height.
const PIECE_ASPECT: f32 = 1.5;
/// Rows on each side of the longest one that may belong to a zone.
const ROWS_BEYOND: usize = 2;
/// Both ends of two rows of one zone are at most so far apart, by their height.
const EVEN: f32 = 2.5;

/// Rows among which those of a zone may be, in order, read rightwards or downwards. Whether their text is upside down is
/// unknown.
#[derive(Debug, Clone)]
pub(crate) struct RowGroup {
    pub(crate) rows: Vec<Quad>,
    /// The index of the row that was found first, which is the longest.
    pub(crate) longest: usize,
}

/// Rows among which those of a machine-readable zone may be, judged by their form only, likeliest first.
pub(crate) fn row_groups(regions: &[TextRegion]) -> Vec<RowGroup> {
    let mut seeds: Vec<(bool, Quad)> = regions
        .iter()
        .map(|region| region.quad)
        .filter(|quad| quad.aspect() >= SEED_ASPECT)
        .map(|quad| (has_even_neighbour(&quad, regions), quad))
        .collect();
    seeds.sort_by(|(a_even, a), (b_even, b)| b_even.cmp(a_even).then(b.length().total_cmp(&a.length())));
    let mut groups: Vec<RowGroup> = Vec::new();
    let mut used: Vec<Quad> = Vec::new();
    for (_, seed) in seeds {
        if groups.len() == MAX_GROUPS {
            break;
        }
        if used.contains(&seed) {
            continue;
        }
        let frame = Frame::along(seed.along());
        let height = seed.height();
        let pieces = regions
            .iter()
            .map(|region| region.quad)
            .filter(|quad| {
                is_parallel(quad, &frame)
                    && (0.5..2.0).contains(&(quad.height() / height))
                    && quad.aspect() > PIECE_ASPECT
            })
            .map(|quad| Piece::of(quad, &frame))
            .collect();
        let rows = neighbours_of(&Piece::of(seed, &frame), pieces, ROWS_BEYOND);
        used.extend(
            rows.iter()
                .flat_map(|row| row.pieces.iter().map(|piece| piece.quad)),
        );
        let is_longest = |row: &RowPieces| row.pieces.iter().any(|piece| piece.quad == seed);
        groups.push(RowGroup {
            longest: rows.iter().position(is_longest).unwrap_or_default(),
            rows: equally_long(&rows),
        });
    }
    groups
}

fn is_parallel(quad: &Quad, frame: &Frame) -> bool {
    let along = quad.along();
    along.x * frame.u.x + along.y * frame.u.y > ROUGHLY_PARALLEL
}

/// Whether a row as long as this one is right above or below it. Lines of a text have uneven ends.
fn has_even_neighbour(quad: &Quad, regions: &[TextRegion]) -> bool {
    let frame = Frame::along(quad.along());
    let row = Piece::of(*quad, &frame);
    regions.iter().any(|region| {
        let other = Piece::of(region.quad, &frame);
        let distance = (other.middle - row.middle).abs() / row.height;
        is_parallel(&region.quad, &frame)
            && (0.8..2.5).contains(&distance)
            && (other.left - row.left).abs() < EVEN * row.height
            && (other.right - row.right).abs() < EVEN * row.height
    })
}

/// Where to look again for the zone to which these rows may belong: x, y, width, height. It reaches so far from the
/// middle, in lengths of the longest row.
pub(crate) fn around(rows: &[Quad], reach: f32) -> [f32; 4] {
    let Some(longest) = rows.iter().max_by(|a, b| a.length().total_cmp(&b.length())) else {
        return [0.0; 4];
    };
    let side = 2.0 * reach * longest.length();
    // Above and below there may be rows that were not found.
    Quad::around(longest.centre(), longest.along(), side, 0.5 * side).bounds()
}

/// The page of a document by the first row of its machine-readable zone, with a margin. Pages are about as high as 0.8
/// of a row's length (ICAO 9303-4 to 9303-6); a closed page, not an open passport.
pub(crate) fn page_above(first_row: &Quad) -> Quad {
    let (length, along, middle) = (first_row.length(), first_row.along(), first_row.centre());
    let up = 0.28 * length;
    let centre = Point::new(middle.x + along.y * up, middle.y - along.x * up);
    Quad::around(centre, along, 1.25 * length, 1.0 * length)
}

/// Whether a point is inside a row.
pub(crate) fn contains(row: &Quad, p: Point) -> bool {
    let (middle, along) = (row.centre(), row.along());
    let (x, y) = (p.x - middle.x, p.y - middle.y);
    (x * along.x + y * along.y).abs() < row.length() / 2.0
        && (y * along.x - x * along.y).abs() < row.height() / 2.0
}

/// Ranks lines by length and by likeness to a zone's row.
fn prominence(line: &Line) -> f32 {
    mrz_likeness(&line.read.text) * line.quad.length()
}

/// From this likeness on, a single line is evidence of a zone.
const SEED_LIKENESS: f32 = 0.6;
/// The cosine of the largest angle between rows of one zone.
const PARALLEL: f32 = 0.985;
/// The same among regions, where a strong perspective counts.
const ROUGHLY_PARALLEL: f32 = 0.96;

/// How much a text resembles a row of a machine-readable zone, 0–1. Such a row is long, has fillers, and has
/// neither blanks nor small letters.
pub fn mrz_likeness(text: &str) -> f32 {
    let mut symbols = 0usize;
    let mut fillers = 0usize;
    let mut others = 0usize;
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        match c {
            '<' | '＜' | '〈' | '«' | '《' | '≪' | 'く' | 'ヘ' | 'へ' | 'ハ' | 'Λ' => {
                fillers += 1;
                symbols += 1;
            }
            'A'..='Z' | '0'..='9' => symbols += 1,
            _ => others += 1,
        }
    }
    let all = symbols + others;
    if all == 0 {
        return 0.0;
    }
    let clean = symbols as f32 / all as f32;
    if clean < 0.7 {
        return 0.0;
    }
    let long = (all as f32 / 26.0).min(1.0);
    let filled = (fillers as f32 / 3.0).min(1.0);
    let blanks = text.trim().chars().filter(|c| c.is_whitespace()).count() as f32 / all as f32;
    (clean * (0.55 * long + 0.45 * filled) - 2.0 * blanks).max(0.0)
}

/// Coordinates along and across a direction (a unit vector).
struct Frame {
    u: Point,
}

impl Frame {
    fn along(u: Point) -> Self {
        Self { u }
    }

    fn of(&self, p: Point) -> Point {
        Point::new(p.x * self.u.x + p.y * self.u.y, p.y * self.u.x - p.x * self.u.y)
    }
}

/// A piece of a row in its zone's frame.
struct Piece {
    quad: Quad,
    left: f32,
    right: f32,
    middle: f32,
    height: f32,
}

impl Piece {
    fn of(quad: Quad, frame: &Frame) -> Self {
        let [a, b, c, d] = quad.0.map(|p| frame.of(p));
        Self {
            quad,
            left: (a.x + d.x) / 2.0,
            right: (b.x + c.x) / 2.0,
            middle: frame.of(quad.centre()).y,
            height: quad.height(),
        }
    }
}

/// Pieces at one height, which together form a row.
struct RowPieces {
    pieces: Vec<Piece>,
    left: f32,
    right: f32,
    middle: f32,
}

impl RowPieces {
    /// The row extended to `left` and `right` in the direction of its longest piece.
    fn whole(&self, left: f32, right: f32) -> Quad {
        let Some(longest) = self
            .pieces
            .iter()
            .max_by(|a, b| a.quad.length().total_cmp(&b.quad.length()))
        else {
            unreachable!("a row has at least one piece")
        };
        let slack = longest.height * 0.6;
        if longest.left - left <= slack && right - longest.right <= slack {
            return longest.quad;
        }
        let margin = longest.height * 0.15;
        longest
            .quad
            .lengthened(longest.left - left + margin, right - longest.right + margin)
    }
}

fn rows_of(mut pieces: Vec<Piece>) -> Vec<RowPieces> {
    pieces.sort_by(|a, b| a.middle.total_cmp(&b.middle));
    let mut rows: Vec<RowPieces> = Vec::new();
    for piece in pieces {
        match rows.last_mut() {
            Some(row) if (piece.middle - row.middle).abs() < 0.45 * piece.height => {
                row.left = row.left.min(piece.left);
                row.right = row.right.max(piece.right);
                row.pieces.push(piece);
            }
            _ => rows.push(RowPieces {
                left: piece.left,
                right: piece.right,
                middle: piece.middle,
                pieces: vec![piece],
            }),
        }
    }
    rows
}

/// Retains the row at `middle` and its chain of neighbours above and below, at most `beyond` on each side. Neighbours
/// overlap and are less than 2.2 heights apart.
fn keep_chain_around(rows: &mut Vec<RowPieces>, middle: f32, height: f32, beyond: usize) {
    let Some(seed) = rows
        .iter()
        .position(|r| (r.middle - middle).abs() < 0.45 * height)
    else {
        rows.clear();
        return;
    };
    let near = |a: &RowPieces, b: &RowPieces| {
        let overlap = a.right.min(b.right) - a.left.max(b.left);
        let shorter = (a.right - a.left).min(b.right - b.left);
        (b.middle - a.middle).abs() < 2.2 * height && overlap > 0.6 * shorter
    };
    let (mut first, mut last) = (seed, seed);
    while first > 0 && seed - first < beyond && near(&rows[first], &rows[first - 1]) {
        first -= 1;
    }
    while last + 1 < rows.len() && last - seed < beyond && near(&rows[last], &rows[last + 1]) {
        last += 1;
    }
    rows.truncate(last + 1);
    rows.drain(..first);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ocr::ctc::Emissions;

    fn line(text: &str, x: f32, y: f32, length: f32) -> Line {
        let quad = Quad::around(
            Point::new(x + length / 2.0, y),
            Point::new(1.0, 0.0),
            length,
            20.0,
        );
        Line {
            quad,
            read: RecognisedText {
                text: text.into(),
                confidence: 0.9,
                emissions: Emissions::default(),
            },
        }
    }

    #[test]
    fn turning_brings_every_sense_upright() {
        let picture = Picture::filled(100, 60, [0; 3]);
        let upright = Quad::around(Point::new(40.0, 20.0), Point::new(1.0, 0.0), 30.0, 8.0);
        for mirrored in [false, true] {
            for quarter_turns in 0..4 {
                let turn = Turn {
                    quarter_turns,
                    mirrored,
                };
                // The picture as it arrives: the turn makes it upright.
                let turned = turn.apply_to_picture(&picture);
                let arrived = Quad(upright.0.map(|p| inverse(turn, p, &turned)));
                assert_eq!(Turn::to_upright(&arrived), turn);
                let back = arrived.map(|p| turn.apply_to_point(p, (100, 60)));
                assert_eq!(back, upright);
            }
        }
    }

    /// The point that the turn maps to `p`.
    fn inverse(turn: Turn, p: Point, turned: &Picture) -> Point {
        let undone = Turn {
            quarter_turns: (4 - turn.quarter_turns) % 4,
            mirrored: false,
        }
        .apply_to_point(p, (turned.width, turned.height));
        if turn.mirrored {
            Point::new(100.0 - undone.x, undone.y)
        } else {
            undone
        }
    }

    #[test]
    fn likeness_tells_zones_from_text() {
        for zone in [
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
            "7408122F1204159UTO<<<<<<<<<<<6",
            "I<UT0D231458907<<<",
        ] {
            assert!(
                mrz_likeness(zone) >= SEED_LIKENESS,
                "{zone}: {}",
                mrz_likeness(zone)
            );
        }
        for text in [
            "Date of birth / Date de naissance",
            "REPUBLIC OF UTOPIA",
            "12.08.1974",
            "L898902C3",
            "",
            "---",
        ] {
            assert!(
                mrz_likeness(text) < SEED_LIKENESS,
                "{text}: {}",
                mrz_likeness(text)
            );
        }
    }

    fn region(x: f32, y: f32, length: f32) -> TextRegion {
        TextRegion {
            quad: line("", x, y, length).quad,
            score: 0.9,
        }
    }

    #[test]
    fn even_rows_come_before_longer_lines_of_a_text() {
        let regions = [
            region(0.0, 0.0, 900.0),
            region(0.0, 35.0, 400.0),
            region(300.0, 300.0, 600.0),
            region(305.0, 335.0, 590.0),
            // A piece of another document at the same height is no part of the row.
            region(1100.0, 335.0, 80.0),
            // The end of a row after a short gap is.
            region(940.0, 300.0, 100.0),
        ];
        let groups = row_groups(&regions);
        let first = &groups[0];
        assert_eq!(first.rows.len(), 2);
        assert_eq!(first.longest, 0);
        for row in &first.rows {
            let [x, _, w, _] = row.bounds();
            assert!(
                (295.0..305.0).contains(&x) && (1035.0..1050.0).contains(&(x + w)),
                "{x} {w}"
            );
        }
        assert_eq!(groups.len(), 2);
        assert!(row_groups(&regions[1..2]).len() == 1 && row_groups(&[]).is_empty());
    }

    #[test]
    fn rows_of_any_direction_are_grouped() {
        for quarter in 0..4 {
            let turn = Turn {
                quarter_turns: quarter,
                mirrored: false,
            };
            let regions =
                [region(300.0, 300.0, 600.0), region(300.0, 335.0, 600.0)].map(|region| TextRegion {
                    quad: region.quad.map(|p| turn.apply_to_point(p, (1200, 900))),
                    ..region
                });
            assert_eq!(row_groups(&regions)[0].rows.len(), 2, "{quarter}");
        }
    }

    #[test]
    fn the_page_is_above_its_zone() {
        let page = page_above(&region(100.0, 800.0, 1000.0).quad);
        assert!(contains(&page, Point::new(600.0, 400.0)));
        assert!(!contains(&page, Point::new(600.0, 1100.0)));
    }

    #[test]
    fn rows_are_found_and_made_equally_long() {
        let lines = [
            line("PASSPORT", 300.0, 20.0, 100.0),
            line("P<UTOERIKSSON<<ANNA<MARIA", 20.0, 300.0, 300.0),
            line("L898902C36UTO7408122F1204159ZE184226B<<<<<10", 20.0, 335.0, 500.0),
        ];
        let rows = mrz_rows(&lines);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1], lines[2].quad);
        assert!((rows[0].length() - 500.0).abs() < 20.0, "{}", rows[0].length());
        assert!(mrz_rows(&lines[..1]).is_empty());
    }
}
