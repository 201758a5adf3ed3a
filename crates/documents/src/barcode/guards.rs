//! The start and stop patterns of PDF417 (ISO/IEC 15438 §4.3.2), and the quadrilateral between them.
//!
//! Every row has the same patterns, so a line across an upright symbol crosses them even if the rows are
//! tilted. Widths are measured between edges of the same kind, because spreading ink and blur move both by
//! the same amount.

use imaging::{Homography, Integral, Luma, Point};

use super::{alignment, rows};

/// Widths in modules of the start pattern's bar, space, bar, …; the first bar of the next codeword follows.
const START: [f32; 8] = [8.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0];
/// Widths in modules of the stop pattern's bar, space, bar, ….
const STOP: [f32; 9] = [7.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0, 2.0, 1.0];
/// The tolerance of the width of a bar with its space, in modules.
const PAIR_TOLERANCE: f32 = 0.6;
/// The tolerance of the width of a single bar or space, in modules.
const SINGLE_TOLERANCE: f32 = 1.0;
/// Grey levels by which a pixel must differ from its neighbourhood's mean to count as black or white.
const HYSTERESIS: f32 = 6.0;
/// The smallest number of collinear hits that form a side of the symbol.
const MIN_LINES: usize = 4;
/// The lines above and below a line with which it is averaged before it is sharpened.
const NEIGHBOURS: u32 = 2;
/// The largest number of lines that are searched.
const MAX_LINES: u32 = 240;
/// The largest size of a symbol in modules: 30 columns, and 90 rows of four modules.
const MAX_MODULES_ACROSS: u32 = 579;
const MAX_MODULES_DOWN: u32 = 360;
/// Pixels per module of a straightened symbol.
const MODULE: f32 = 4.0;
/// Modules of white around a straightened symbol.
const QUIET: f32 = 4.0;

/// A crossing of a line with a guard pattern.
#[derive(Debug, Clone, Copy)]
struct Hit {
    y: f32,
    /// The x coordinate of the symbol's outer edge.
    outer: f32,
    /// Width of a module in pixels.
    module: f32,
}

/// A straight line of hits.
#[derive(Debug, Clone, Copy)]
struct Side {
    top: Point,
    bottom: Point,
    module: f32,
    hits: usize,
}

/// A symbol between its start and stop pattern.
#[derive(Debug, Clone, Copy)]
pub(super) struct SymbolQuad {
    /// The corners in this order: top of the start pattern, top of the stop pattern, bottom of the stop
    /// pattern, bottom of the start pattern. A symbol that is upside down has its corners upside down.
    corners: [Point; 4],
    /// Modules from edge to edge.
    modules: f32,
    /// Height in modules.
    height: f32,
    /// Whether the symbol has white bars on black.
    pub(super) is_inverted: bool,
}

impl SymbolQuad {
    /// The sizes to which the symbol is straightened, in pixels, the best first.
    pub(super) fn sizes(&self) -> [(u32, u32); 2] {
        let size = |module: f32| {
            (
                (self.modules * module).round() as u32,
                (self.height * module).round().max(12.0) as u32,
            )
        };
        [size(MODULE), size(MODULE * 0.7)]
    }

    /// The straightened symbol with a quiet zone, and the map back to the picture. `None` if the corners form
    /// no valid quadrilateral.
    pub(super) fn square(&self, luma: &Luma, width: u32, height: u32) -> Option<(Luma, Homography)> {
        let map = Homography::from_rectangle(width, height, self.corners)?;
        let quiet = (width as f32 / self.modules * QUIET).ceil();
        let shift = f64::from(-quiet);
        let shift = Homography([[1.0, 0.0, shift], [0.0, 1.0, shift], [0.0, 0.0, 1.0]]);
        let border = 2 * quiet as u32;
        let mut square = luma.warp(&shift.then(&map), width + border, height + border, 255);
        if self.is_inverted {
            invert(&mut square);
        }
        Some((square, map))
    }

    /// The symbol's likely numbers of data columns, the most likely first.
    pub(super) fn columns(&self) -> [usize; 3] {
        let columns = (self.modules / 17.0) as usize;
        // Start and stop pattern and two row indicators are no data columns.
        [columns, columns + 1, columns.saturating_sub(1)].map(|columns| columns.saturating_sub(4))
    }

    /// The symbol straightened for [`rows::decode`], if it has this many data columns, and the same quadrilateral
    /// with better corners. `None` if the corners form no valid quadrilateral.
    pub(super) fn straightened(&self, luma: &Luma, columns: usize) -> Option<(Luma, Self)> {
        let straight = self.warped(luma, columns)?;
        // The corners come from edges, which a blur moves. The patterns as a whole give better ones.
        let Some([left, right]) = alignment::side_offsets(&straight, columns) else {
            return Some((straight, *self));
        };
        let (width, height) = self.straight_size(columns)?;
        let (w, h) = (width as f32, height as f32);
        let moved = self.moved(
            columns,
            [
                (left[0], 0.0),
                (w + right[0], 0.0),
                (w + right[1], h),
                (left[1], h),
            ],
        )?;
        Some((moved.warped(luma, columns)?, moved))
    }

    /// The quadrilateral whose sides end at other y coordinates of the straightened picture.
    pub(super) fn with_ends(&self, columns: usize, ends: [[f32; 2]; 2]) -> Option<Self> {
        let (width, _) = self.straight_size(columns)?;
        let margin = (rows::MARGIN_DOWN * rows::DOWN) as f32;
        let [[a, d], [b, c]] = ends.map(|side| side.map(|y| y - margin));
        let width = width as f32;
        let moved = self.moved(columns, [(0.0, a), (width, b), (width, c), (0.0, d)])?;
        let scale = (d - a + c - b) / (2.0 * rows::DOWN as f32) / self.height;
        Some(Self {
            height: self.height * scale.clamp(0.2, 5.0),
            ..moved
        })
    }

    /// The quadrilateral in the picture to which a map leads.
    pub(super) fn mapped(&self, map: &Homography) -> Self {
        Self {
            corners: self.corners.map(|corner| map.apply(corner)),
            ..*self
        }
    }

    /// Whether the quadrilateral lies inside a picture.
    pub(super) fn is_inside(&self, luma: &Luma) -> bool {
        let (width, height) = (luma.width as f32, luma.height as f32);
        self.corners
            .iter()
            .all(|corner| (0.0..=width).contains(&corner.x) && (0.0..=height).contains(&corner.y))
    }

    /// The size of the straightened symbol without its margin.
    fn straight_size(&self, columns: usize) -> Option<(u32, u32)> {
        let modules = u32::try_from(columns).ok()? * 17 + 69;
        let height = self.height.ceil() as u32;
        let is_possible = modules <= MAX_MODULES_ACROSS && height <= MAX_MODULES_DOWN;
        is_possible.then_some((modules * rows::ACROSS, height.max(3) * rows::DOWN))
    }

    /// The quadrilateral with corners given in the straightened picture without its margin.
    fn moved(&self, columns: usize, corners: [(f32, f32); 4]) -> Option<Self> {
        let (width, height) = self.straight_size(columns)?;
        let map = Homography::from_rectangle(width, height, self.corners)?;
        Some(Self {
            corners: corners.map(|(x, y)| map.apply(Point::new(x, y))),
            ..*self
        })
    }

    /// The straightened symbol with its margin, always with black bars.
    fn warped(&self, luma: &Luma, columns: usize) -> Option<Luma> {
        let (width, height) = self.straight_size(columns)?;
        let map = Homography::from_rectangle(width, height, self.corners)?;
        let margin = [rows::MARGIN_ACROSS * rows::ACROSS, rows::MARGIN_DOWN * rows::DOWN];
        let [x, y] = margin.map(|margin| -f64::from(margin));
        let shift = Homography([[1.0, 0.0, x], [0.0, 1.0, y], [0.0, 0.0, 1.0]]);
        let (width, height) = (width + 2 * margin[0], height + 2 * margin[1]);
        let mut straight = luma.warp(&shift.then(&map), width, height, 255);
        if self.is_inverted {
            invert(&mut straight);
        }
        Some(straight)
    }

    /// The corners in the order of [`SymbolQuad`].
    pub(super) fn corners(&self) -> [Point; 4] {
        self.corners
    }
}

/// The guard patterns found in a picture.
#[derive(Debug)]
pub(super) struct Guards {
    /// The symbols between a start and a stop pattern; those with the most hits come first.
    pub(super) quads: Vec<SymbolQuad>,
    /// Whether at least one of the patterns was found.
    pub(super) has_pattern: bool,
}

/// Finds the symbols in a picture whose stripes are vertical.
pub(super) fn find(luma: &Luma) -> Guards {
    let lines = edges(luma);
    let width = luma.width as f32;
    let mut any = false;
    let mut quads = Vec::new();
    for is_inverted in [false, true] {
        let lines: Vec<Line> = if is_inverted {
            lines.iter().map(Line::inverted).collect()
        } else {
            lines.clone()
        };
        let reversed: Vec<Line> = lines.iter().map(|line| line.reversed(width)).collect();
        for (lines, turned) in [(&lines, false), (&reversed, true)] {
            let start = fit_side(&find_pattern(lines, &START, |edges| edges[0]), luma.height);
            let stop = fit_side(&find_pattern(lines, &STOP, |edges| edges[9]), luma.height);
            any |= start.is_some() || stop.is_some();
            let (Some(start), Some(stop)) = (start, stop) else {
                continue;
            };
            let Some(mut quad) = between(start, stop) else {
                continue;
            };
            quad.is_inverted = is_inverted;
            if turned {
                // These are the corners in the picture that is not reversed, where the symbol is upside down.
                let corners = quad.corners.map(|corner| Point::new(width - corner.x, corner.y));
                quad.corners = [corners[3], corners[2], corners[1], corners[0]];
            }
            quads.push((start.hits + stop.hits, quad));
        }
    }
    quads.sort_by_key(|&(hits, _)| std::cmp::Reverse(hits));
    Guards {
        quads: quads.into_iter().map(|(_, quad)| quad).collect(),
        has_pattern: any,
    }
}

/// Whether any row of a picture crosses a start or stop pattern, in either direction and colour. The rows need not be
/// neighbours.
pub(super) fn crosses_pattern(rows: &Luma) -> bool {
    let width = rows.width as f32;
    (0..rows.height).any(|y| {
        let row = Luma {
            width: rows.width,
            height: 1,
            pixels: rows.row(y).to_vec(),
        };
        let line = line(&row, &row.integral(), 0);
        let inverted = line.inverted();
        [line.reversed(width), inverted.reversed(width), line, inverted]
            .into_iter()
            .any(|line| {
                let line = [line];
                !find_pattern(&line, &START, |edges| edges[0]).is_empty()
                    || !find_pattern(&line, &STOP, |edges| edges[9]).is_empty()
            })
    })
}

/// Finds the symbols in a picture that is so blurred that single modules have lost most of their contrast.
///
/// The lines are averaged over their neighbours and then sharpened. Only edges are taken from the result.
pub(super) fn find_blurred(luma: &Luma) -> Guards {
    find(&sharpened(luma))
}

/// The picture whose searched lines are sharpened across its stripes. Van Cittert's iteration inverts a Gaussian blur;
/// its limited number of steps limits how much it amplifies noise.
fn sharpened(luma: &Luma) -> Luma {
    const STEPS: usize = 12;
    // A symbol has about 300 modules, and a blur of about two thirds of a module is inverted.
    let deviation = (luma.width as f32 / 450.0).clamp(1.5, 5.0);
    let reach = (6.0 * deviation).ceil() as usize;
    let gaussian: Vec<f32> = (0..=2 * reach)
        .map(|at| (-0.5 * ((at as f32 - reach as f32) / deviation).powi(2)).exp())
        .collect();
    let total: f32 = gaussian.iter().sum();
    let impulse: Vec<f32> = (0..=2 * reach)
        .map(|at| f32::from(u8::from(at == reach)))
        .collect();
    let mut filter = impulse.clone();
    for _ in 0..STEPS {
        let blurred = |at: usize| {
            let first = at.saturating_sub(reach);
            let last = (at + reach).min(2 * reach);
            let sum: f32 = (first..=last).map(|k| filter[k] * gaussian[at + reach - k]).sum();
            sum / total
        };
        filter = (0..=2 * reach)
            .map(|at| filter[at] + impulse[at] - blurred(at))
            .collect();
    }
    let integral = luma.integral();
    let mut sharp = luma.clone();
    for y in searched_lines(luma) {
        let (top, bottom) = (y.saturating_sub(NEIGHBOURS), y + NEIGHBOURS + 1);
        let averaged: Vec<f32> = (0..luma.width)
            .map(|x| integral.mean(x, top, x + 1, bottom))
            .collect();
        let last = averaged.len() - 1;
        let padded: Vec<f32> = (0..averaged.len() + 2 * reach)
            .map(|at| averaged[at.saturating_sub(reach).min(last)])
            .collect();
        let start = (y * luma.width) as usize;
        let row = &mut sharp.pixels[start..start + averaged.len()];
        for (grey, around) in row.iter_mut().zip(padded.windows(filter.len())) {
            let sum: f32 = around
                .iter()
                .zip(&filter)
                .map(|(value, weight)| value * weight)
                .sum();
            *grey = sum.clamp(0.0, 255.0) as u8;
        }
    }
    sharp
}

/// Makes black white.
fn invert(luma: &mut Luma) {
    for grey in &mut luma.pixels {
        *grey = 255 - *grey;
    }
}

/// The edges along one line: white to black, black to white, and so on.
#[derive(Clone)]
struct Line {
    y: f32,
    edges: Vec<f32>,
}

impl Line {
    /// The line of the inverted picture.
    fn inverted(&self) -> Self {
        Self {
            y: self.y,
            edges: self.edges.iter().skip(1).copied().collect(),
        }
    }

    /// The line as seen from the right.
    fn reversed(&self, width: f32) -> Self {
        // The line must end with a black-to-white edge, which is white to black in the reverse direction.
        let whole = self.edges.len() / 2 * 2;
        Self {
            y: self.y,
            edges: self.edges[..whole].iter().rev().map(|x| width - x).collect(),
        }
    }
}

/// The edges of evenly spaced lines. Each pixel is compared with the mean of its neighbourhood.
fn edges(luma: &Luma) -> Vec<Line> {
    let integral = luma.integral();
    searched_lines(luma).map(|y| line(luma, &integral, y)).collect()
}

/// The lines that are searched for patterns.
fn searched_lines(luma: &Luma) -> impl Iterator<Item = u32> + use<> {
    let step = luma.height.div_ceil(MAX_LINES).max(1);
    (0..luma.height).step_by(step as usize)
}

fn line(luma: &Luma, integral: &Integral, y: u32) -> Line {
    let reach = (luma.width / 20).max(16);
    let (top, bottom) = (y.saturating_sub(reach / 2), y.saturating_add(reach / 2 + 1));
    let mut edges = Vec::new();
    let mut black = false;
    // The last crossing of the mean. It becomes an edge when the grey then differs enough from the mean.
    let mut crossing = 0.0;
    let mut before = 0.0;
    for (x, &grey) in luma.row(y).iter().enumerate() {
        let column = x as u32;
        let mean = integral.mean(column.saturating_sub(reach), top, column + reach + 1, bottom);
        let above = f32::from(grey) - mean;
        if (above < 0.0) != (before < 0.0) {
            // The crossing lies between the centres of this pixel and the previous one.
            crossing = x as f32 - 0.5 + before / (before - above);
        }
        if above.abs() > HYSTERESIS && (above < 0.0) != black {
            black = !black;
            edges.push(crossing);
        }
        before = above;
    }
    Line {
        y: y as f32 + 0.5,
        edges,
    }
}

/// All crossings of the lines with a pattern.
fn find_pattern<const N: usize>(
    lines: &[Line],
    pattern: &[f32; N],
    outer: impl Fn(&[f32]) -> f32,
) -> Vec<Hit> {
    let modules: f32 = pattern.iter().sum();
    let mut hits = Vec::new();
    for line in lines {
        // A pattern begins with a bar, so its first edge has an even index.
        for edges in line.edges.windows(N + 1).step_by(2) {
            let module = (edges[N] - edges[0]) / modules;
            if module >= 0.9 && fits(edges, pattern, module) {
                hits.push(Hit {
                    y: line.y,
                    outer: outer(edges),
                    module,
                });
            }
        }
    }
    hits
}

fn fits(edges: &[f32], pattern: &[f32], module: f32) -> bool {
    let singles = edges.windows(2).zip(pattern).all(|(edge, width)| {
        let tolerance = SINGLE_TOLERANCE.max(width * 0.25);
        ((edge[1] - edge[0]) / module - width).abs() < tolerance
    });
    let pairs = edges
        .windows(3)
        .zip(pattern.windows(2))
        .all(|(edge, pair)| ((edge[2] - edge[0]) / module - pair[0] - pair[1]).abs() < PAIR_TOLERANCE);
    singles && pairs
}

/// Fits the straight line that contains the most hits.
fn fit_side(hits: &[Hit], height: u32) -> Option<Side> {
    let mut best: Option<(usize, f32, f32)> = None;
    let apart = (height as f32 / 12.0).max(6.0);
    // Every pair of hits that is far enough apart is tried; long lists are thinned to some thousands of
    // pairs.
    let stride = (hits.len() / 80).max(1);
    for (i, a) in hits.iter().enumerate().step_by(stride) {
        for b in hits[i + 1..].iter().step_by(stride) {
            if b.y - a.y < apart {
                continue;
            }
            let slope = (b.outer - a.outer) / (b.y - a.y);
            if slope.abs() > 0.6 {
                continue;
            }
            let count = hits.iter().filter(|hit| on_line(hit, a, slope)).count();
            if best.is_none_or(|(most, ..)| count > most) {
                best = Some((count, a.outer - slope * a.y, slope));
            }
        }
    }
    let (count, offset, slope) = best?;
    if count < MIN_LINES {
        return None;
    }
    let origin = Hit {
        y: 0.0,
        outer: offset,
        module: 0.0,
    };
    let members: Vec<&Hit> = hits.iter().filter(|hit| on_line(hit, &origin, slope)).collect();
    let (offset, slope) = least_squares(&members)?;
    let at = |y: f32| Point::new(offset + slope * y, y);
    let mut modules: Vec<f32> = members.iter().map(|hit| hit.module).collect();
    modules.sort_by(f32::total_cmp);
    Some(Side {
        top: at(members.first()?.y),
        bottom: at(members.last()?.y),
        module: modules[modules.len() / 2],
        hits: count,
    })
}

fn on_line(hit: &Hit, through: &Hit, slope: f32) -> bool {
    (through.outer + slope * (hit.y - through.y) - hit.outer).abs() < 0.7 * hit.module + 0.5
}

/// Fits x = offset + slope · y through the hits.
fn least_squares(hits: &[&Hit]) -> Option<(f32, f32)> {
    let count = hits.len() as f32;
    let mean_y = hits.iter().map(|hit| hit.y).sum::<f32>() / count;
    let mean_x = hits.iter().map(|hit| hit.outer).sum::<f32>() / count;
    let spread: f32 = hits.iter().map(|hit| (hit.y - mean_y).powi(2)).sum();
    let joint: f32 = hits
        .iter()
        .map(|hit| (hit.y - mean_y) * (hit.outer - mean_x))
        .sum();
    let slope = joint / spread;
    slope.is_finite().then_some((mean_x - slope * mean_y, slope))
}

/// The quadrilateral from a start to a stop pattern.
fn between(start: Side, stop: Side) -> Option<SymbolQuad> {
    let corners = [start.top, stop.top, stop.bottom, start.bottom];
    let middle = |a: Point, b: Point| Point::new((a.x + b.x) / 2.0, (a.y + b.y) / 2.0);
    let (left, right) = (middle(start.top, start.bottom), middle(stop.top, stop.bottom));
    let ratio = start.module / stop.module;
    if right.x <= left.x || !(0.4..2.5).contains(&ratio) {
        return None;
    }
    // Under perspective, the module width changes from one side to the other. The number of modules is then
    // the symbol's width over the geometric mean of both module widths. There are 17 modules for each column,
    // 17 each for the four guards and row indicators, and one for the last bar.
    let module = (start.module * stop.module).sqrt();
    let columns = ((left.distance(right) / module - 1.0) / 17.0)
        .round()
        .clamp(4.0, 34.0);
    let height = (start.top.distance(start.bottom) / start.module
        + stop.top.distance(stop.bottom) / stop.module)
        / 2.0;
    Some(SymbolQuad {
        corners,
        modules: columns * 17.0 + 1.0,
        height,
        is_inverted: false,
    })
}
