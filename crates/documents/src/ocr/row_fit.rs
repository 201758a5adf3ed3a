//! Fits the quads of a zone's rows to their print: a detector's rectangles are loose, and too wide where a row is seen
//! in perspective.
//!
//! The middle of a row is found along its length, and the perspective from how rows converge. The
//! height of single characters does not show it, because fillers are lower than letters. This module never reads a character.

use imaging::{Homography, Point, Pyramid};

use super::Quad;
use super::recognise::{Size, View, cut_out};

/// Rows are examined at this height in pixels, with this many times the height of their quad.
const HEIGHT: u32 = 40;
const STRIP: f32 = 1.3;
/// Least and most width of a strip in pixels.
const MIN_WIDTH: f32 = 120.0;
const MAX_WIDTH: f32 = 1200.0;
/// The parts along a row in which its middle is found.
const PARTS: usize = 12;
/// Least and most height of print, as shares of the strip.
const LEAST_PRINT: f32 = 0.2;
const MOST_PRINT: f32 = 0.8;
/// The middle of the print is at most so far from the strip's, as a share of the strip.
const MAX_SHIFT: f32 = 0.28;
/// Parts whose contrast is below this share of the usual one show no print.
const FAINT: f32 = 0.35;
/// Fewer parts with print determine nothing.
const LEAST_PARTS: usize = 5;
/// Rows converge at most by this factor over their length.
const MOST_CONVERGENCE: f32 = 2.6;
/// The distance of neighbouring rows in heights of their capitals: least and most.
const ROW_DISTANCE: (f32, f32) = (1.5, 4.5);
/// The share of a capital's height that is added above and below it.
const MARGIN: f32 = 0.36;
/// The height of a fitted quad in capitals.
pub(crate) const FITTED_HEIGHT: f32 = 1.0 + 2.0 * MARGIN;
/// Of the heights of the parts, this quantile is the capitals' height: most fillers are lower.
const CAPITAL_QUANTILE: f32 = 0.7;

/// The line through the middle of a row's print, from the start of its quad to its end, in the picture's pixels.
#[derive(Debug, Clone, Copy)]
struct MiddleLine {
    start: Point,
    end: Point,
}

/// What was found of one row.
struct Fit {
    line: MiddleLine,
    /// The height of the print by place along the row (0–1).
    heights: Vec<(f32, f32)>,
}

/// The rows' quads, fitted to their print where it can be found. `rows` are neighbours, top to bottom.
pub(crate) fn fitted_rows(pyramid: &Pyramid<'_>, rows: &[Quad]) -> Vec<Quad> {
    let fits: Vec<Option<Fit>> = rows.iter().map(|row| fit(pyramid, row)).collect();
    let convergence = convergence(&fits);
    rows.iter()
        .zip(&fits)
        .map(|(row, fit)| {
            fit.as_ref()
                .and_then(|fit| quad(fit, convergence))
                .unwrap_or(*row)
        })
        .collect()
}

fn fit(pyramid: &Pyramid<'_>, row: &Quad) -> Option<Fit> {
    let strip = heightened(row, STRIP);
    let width = (HEIGHT as f32 * strip.aspect()).clamp(MIN_WIDTH, MAX_WIDTH) as u32;
    let size = Size {
        width,
        height: HEIGHT,
    };
    let cut = cut_out(pyramid, &strip, View::Colour, size).luma();
    let parts: Vec<(f32, Band)> = (0..PARTS)
        .filter_map(|part| {
            let columns = part * width as usize / PARTS..(part + 1) * width as usize / PARTS;
            let darkness: Vec<f32> = (0..HEIGHT)
                .map(|y| {
                    let sum: u32 = cut.row(y)[columns.clone()]
                        .iter()
                        .map(|&v| 255 - u32::from(v))
                        .sum();
                    sum as f32 / columns.len() as f32
                })
                .collect();
            let place = (columns.start + columns.end) as f32 / 2.0 / width as f32;
            Some((place, darkest_band(&darkness)?))
        })
        .collect();
    let usual = quantile(parts.iter().map(|(_, band)| band.contrast).collect(), 0.6)?;
    let shown: Vec<(f32, Band)> = parts
        .into_iter()
        .filter(|(_, band)| band.contrast >= FAINT * usual)
        .collect();
    if shown.len() < LEAST_PARTS {
        return None;
    }
    let (offset, slope) = theil_sen(
        &shown
            .iter()
            .map(|(x, band)| (*x, band.middle()))
            .collect::<Vec<_>>(),
    )?;
    let map = Homography::from_rectangle(width, HEIGHT, strip.0)?;
    let at = |x: f32| map.apply(Point::new(x * width as f32, offset + slope * x));
    // The strip's height in the picture, by which the heights are scaled.
    let scale = strip.height() / HEIGHT as f32;
    Some(Fit {
        line: MiddleLine {
            start: at(0.0),
            end: at(1.0),
        },
        heights: shown
            .iter()
            .map(|(x, band)| (*x, band.height() * scale))
            .collect(),
    })
}

/// The factor by which print is higher at the end of the rows than at their start, from two rows that are far apart; 1
/// if there is none.
fn convergence(fits: &[Option<Fit>]) -> f32 {
    let mut found = fits.iter().flatten();
    let (Some(first), Some(last)) = (found.next(), found.next_back()) else {
        return 1.0;
    };
    let rows = fits.iter().flatten().count() - 1;
    let middle = |fit: &Fit| quantile(fit.heights.iter().map(|(_, h)| *h).collect(), CAPITAL_QUANTILE);
    let (Some(height), Some(other)) = (middle(first), middle(last)) else {
        return 1.0;
    };
    let height = f32::midpoint(height, other) * rows as f32;
    let along = Quad([first.line.start, first.line.end, last.line.end, last.line.start]).along();
    let distance = |a: Point, b: Point| (b.y - a.y) * along.x - (b.x - a.x) * along.y;
    let (start, end) = (
        distance(first.line.start, last.line.start),
        distance(first.line.end, last.line.end),
    );
    let mean = f32::midpoint(start, end) / height;
    let factor = end / start;
    let is_plausible = start > 0.0
        && end > 0.0
        && (ROW_DISTANCE.0..ROW_DISTANCE.1).contains(&mean)
        && (1.0 / MOST_CONVERGENCE..MOST_CONVERGENCE).contains(&factor);
    if is_plausible { factor } else { 1.0 }
}

/// The quad around a row's capitals.
fn quad(fit: &Fit, convergence: f32) -> Option<Quad> {
    let (start, end) = (2.0 / (1.0 + convergence), 2.0 * convergence / (1.0 + convergence));
    let heights = fit.heights.iter().map(|(x, h)| h / (start + (end - start) * x));
    let half = quantile(heights.collect(), CAPITAL_QUANTILE)? * (0.5 + MARGIN);
    let line = fit.line;
    let length = line.start.distance(line.end);
    if !(length > 1.0 && half > 0.5) {
        return None;
    }
    let (ux, uy) = (
        (line.end.x - line.start.x) / length,
        (line.end.y - line.start.y) / length,
    );
    let beside = |p: Point, by: f32| Point::new(p.x - uy * by, p.y + ux * by);
    Some(Quad([
        beside(line.start, -half * start),
        beside(line.end, -half * end),
        beside(line.end, half * end),
        beside(line.start, half * start),
    ]))
}

/// The quad with another height about its middle.
fn heightened(quad: &Quad, factor: f32) -> Quad {
    let [a, b, c, d] = quad.0;
    let by = (factor - 1.0) / 2.0;
    let moved = |p: Point, from: Point| Point::new(p.x + (p.x - from.x) * by, p.y + (p.y - from.y) * by);
    Quad([moved(a, d), moved(b, c), moved(c, b), moved(d, a)])
}

/// A band of pixel rows.
#[derive(Debug, Clone, Copy)]
struct Band {
    top: usize,
    bottom: usize,
    /// By how much it is darker than the rows around it.
    contrast: f32,
}

impl Band {
    fn middle(self) -> f32 {
        (self.top + self.bottom) as f32 / 2.0
    }

    fn height(self) -> f32 {
        (self.bottom - self.top) as f32
    }
}

/// The band that is most clearly darker than what is above and below it.
fn darkest_band(darkness: &[f32]) -> Option<Band> {
    let rows = darkness.len();
    let mut sums = vec![0.0f32; rows + 1];
    for (at, value) in darkness.iter().enumerate() {
        sums[at + 1] = sums[at] + value;
    }
    let all = sums[rows];
    let least = (LEAST_PRINT * rows as f32) as usize;
    let most = (MOST_PRINT * rows as f32) as usize;
    let mut best: Option<(f32, Band)> = None;
    for top in 0..rows {
        for bottom in top + least..=(top + most).min(rows) {
            let band = Band {
                top,
                bottom,
                contrast: 0.0,
            };
            if (band.middle() / rows as f32 - 0.5).abs() > MAX_SHIFT {
                continue;
            }
            let inside = sums[bottom] - sums[top];
            let (n, m) = (band.height(), rows as f32 - band.height());
            let contrast = inside / n - (all - inside) / m;
            // Otsu's variance between the two classes.
            let variance = contrast * contrast * n * m;
            if contrast > 0.0 && best.as_ref().is_none_or(|(most, _)| variance > *most) {
                best = Some((variance, Band { contrast, ..band }));
            }
        }
    }
    best.map(|(_, band)| band)
}

fn quantile(mut values: Vec<f32>, share: f32) -> Option<f32> {
    values.sort_by(f32::total_cmp);
    let at = (share * values.len().saturating_sub(1) as f32).round() as usize;
    values.get(at).copied()
}

/// The line `offset + slope × x` by the medians of all slopes and offsets.
fn theil_sen(points: &[(f32, f32)]) -> Option<(f32, f32)> {
    let slopes = points.iter().enumerate().flat_map(|(at, a)| {
        points[at + 1..]
            .iter()
            .filter(move |b| (b.0 - a.0).abs() > 1e-3)
            .map(move |b| (b.1 - a.1) / (b.0 - a.0))
    });
    let slope = quantile(slopes.collect(), 0.5)?;
    let offset = quantile(points.iter().map(|(x, y)| y - slope * x).collect(), 0.5)?;
    Some((offset, slope))
}

#[cfg(test)]
mod tests {
    use imaging::Picture;

    use super::*;

    /// Two rows of strokes whose corners lie at `corners`, on paper. The rows take up a fifth of the height each.
    fn rows_in(corners: [Point; 4]) -> Picture {
        let (w, h) = (600u32, 60u32);
        let mut flat = Picture::filled(w, h, [230; 3]);
        for y in (0..12).chain(48..60) {
            for x in (0..w).filter(|x| x % 14 < 8) {
                let at = (y * w + x) as usize * 3;
                flat.pixels[at..at + 3].fill(30);
            }
        }
        let rectangle = [(0.0, 0.0), (600.0, 0.0), (600.0, 60.0), (0.0, 60.0)].map(|(x, y)| Point::new(x, y));
        let map = Homography::between(corners, rectangle).unwrap();
        flat.warp(&map, 800, 400, [230; 3])
    }

    fn near(a: Point, b: Point) -> bool {
        a.distance(b) < 3.5
    }

    #[test]
    fn quads_are_fitted_to_print_in_perspective() {
        for corners in [
            [(100.0, 150.0), (700.0, 150.0), (700.0, 210.0), (100.0, 210.0)],
            // Turned.
            [(110.0, 100.0), (690.0, 255.0), (674.0, 313.0), (94.0, 158.0)],
            // The end is farther away.
            [(100.0, 140.0), (650.0, 165.0), (650.0, 205.0), (100.0, 220.0)],
        ] {
            let corners = corners.map(|(x, y)| Point::new(x, y));
            let picture = rows_in(corners);
            let [a, b, c, d] = corners;
            let along = |p: Point, q: Point, t: f32| Point::new(p.x + (q.x - p.x) * t, p.y + (q.y - p.y) * t);
            let row = |top: f32, bottom: f32| {
                Quad([
                    along(a, d, top),
                    along(b, c, top),
                    along(b, c, bottom),
                    along(a, d, bottom),
                ])
            };
            let truth = [row(0.0, 0.2), row(0.8, 1.0)];
            // What a detector gives: rectangles around the rows, with a margin.
            let loose = truth.map(|quad| {
                let height = quad.0[0].distance(quad.0[3]).max(quad.0[1].distance(quad.0[2]));
                Quad::around(quad.centre(), quad.along(), quad.length(), 2.1 * height)
            });
            for (fitted, truth) in fitted_rows(&Pyramid::of(&picture), &loose).iter().zip(&truth) {
                let wanted = heightened(truth, FITTED_HEIGHT);
                for (p, q) in fitted.0.iter().zip(&wanted.0) {
                    assert!(near(*p, *q), "{fitted:?} {wanted:?}");
                }
            }
        }
    }

    #[test]
    fn rows_without_print_keep_their_quads() {
        let picture = Picture::filled(300, 200, [200; 3]);
        let point = Point::new(4.0, 4.0);
        for quad in [
            Quad::around(Point::new(150.0, 100.0), Point::new(1.0, 0.0), 200.0, 20.0),
            Quad::around(Point::new(-900.0, 1e9), Point::new(0.6, 0.8), 1e9, 3.0),
            Quad([point; 4]),
        ] {
            assert_eq!(fitted_rows(&Pyramid::of(&picture), &[quad]), [quad]);
        }
        assert!(fitted_rows(&Pyramid::of(&picture), &[]).is_empty());
    }
}
