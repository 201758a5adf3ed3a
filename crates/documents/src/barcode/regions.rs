//! Finds areas of parallel stripes in a picture by the structure tensor of its gradients. It never decides
//! whether they are barcodes.

use std::f32::consts::FRAC_PI_2;

use imaging::{Homography, Luma, Point, Pyramid};

/// Longest side, in pixels, of the reduced picture in which regions are searched.
const WORKING_SIDE: u32 = 1280;
/// Side of the tiles over which gradients are summed, in pixels of the working picture.
const TILE: usize = 8;
/// The number of tiles to each side over which tensors are averaged.
const REACH: usize = 2;
/// The smallest coherence of a striped tile: 0 means edges in all directions, 1 in one direction only.
const MIN_COHERENCE: f32 = 0.18;
/// A tile is busy above this share of the gradient energy of the picture's strongest tiles.
const MIN_ENERGY: f32 = 0.15;
/// The cosine of twice the largest difference of direction between neighbours in a region (20°).
const MIN_AGREEMENT: f32 = 0.77;
/// The smallest number of tiles in a region.
const MIN_TILES: usize = 8;
/// The largest number of regions of one kind that are returned.
const MAX_REGIONS: usize = 4;
/// The width of a region turned upright, in pixels; narrower regions are doubled, wider ones reduced.
const UPRIGHT_WIDTH: std::ops::RangeInclusive<f32> = 700.0..=1800.0;

/// A rectangle of parallel stripes, at any angle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region {
    /// Its centre in the picture, in pixels.
    pub(super) centre: Point,
    /// The direction across the stripes, in radians (−π/2 … π/2).
    pub(super) angle: f32,
    /// Its extent across the stripes, in pixels of the picture.
    pub(super) across: f32,
    /// Its extent along the stripes, in pixels of the picture.
    pub(super) along: f32,
    /// Whether the whole region has stripes of one direction.
    pub(super) is_striped: bool,
}

impl Region {
    /// The region made longer along its stripes. If a sticker covers rows, stripes above and below it are two
    /// regions of one symbol.
    pub(super) fn lengthened(self) -> Self {
        Self {
            along: self.along + 0.6 * self.across,
            ..self
        }
    }

    /// The scale of the region turned upright, relative to the picture.
    fn upright_scale(&self) -> f32 {
        if self.across < *UPRIGHT_WIDTH.start() {
            2.0
        } else {
            (UPRIGHT_WIDTH.end() / self.across).min(1.0)
        }
    }

    /// Width and height of the region turned upright.
    pub(super) fn upright_size(&self) -> (u32, u32) {
        let size = |length: f32| (length * self.upright_scale()).ceil().max(1.0) as u32;
        (size(self.across), size(self.along))
    }

    /// The region turned so that its stripes are upright, and the map from there to the picture.
    pub(super) fn upright(&self, pyramid: &Pyramid<'_, Luma>) -> (Luma, Homography) {
        let (width, height) = self.upright_size();
        let map = self.upright_to_picture(width, height);
        // Sampling single pixels of a larger picture would alias fine stripes.
        let (luma, by) = pyramid.reduced(1.0 / self.upright_scale());
        (luma.warp(&map.then(&scaling(1.0 / by)), width, height, 255), map)
    }

    /// Lines across the upright region, evenly spaced, as the rows of a picture.
    pub(super) fn lines(&self, pyramid: &Pyramid<'_, Luma>, count: u32) -> Luma {
        let (width, height) = self.upright_size();
        let count = count.min(height);
        let step = f64::from(height) / f64::from(count);
        let rows = Homography([[1.0, 0.0, 0.0], [0.0, step, 0.0], [0.0, 0.0, 1.0]]);
        let map = rows.then(&self.upright_to_picture(width, height));
        let (luma, by) = pyramid.reduced(1.0 / self.upright_scale());
        luma.warp(&map.then(&scaling(1.0 / by)), width, count, 255)
    }

    /// The map from the upright region, which is `width` × `height`, to the picture.
    fn upright_to_picture(&self, width: u32, height: u32) -> Homography {
        let scale = self.upright_scale();
        let size = [width, height].map(|length| (length as f32 / scale) as u32);
        let turn = Homography::rotation(self.angle.into(), self.centre, size[0], size[1]);
        scaling(1.0 / scale).then(&turn)
    }
}

/// The map that multiplies coordinates by a factor.
fn scaling(factor: f32) -> Homography {
    let factor = f64::from(factor);
    Homography([[factor, 0.0, 0.0], [0.0, factor, 0.0], [0.0, 0.0, 1.0]])
}

/// Sums of products of gradients, which give the strength and the direction of edges.
#[derive(Debug, Clone, Copy, Default)]
struct Tensor {
    xx: f32,
    yy: f32,
    xy: f32,
}

impl Tensor {
    fn add(&mut self, other: Self) {
        self.xx += other.xx;
        self.yy += other.yy;
        self.xy += other.xy;
    }

    fn energy(self) -> f32 {
        self.xx + self.yy
    }

    /// The direction of the gradients as a vector with twice their angle. Its length is the coherence times
    /// the energy.
    fn doubled(self) -> [f32; 2] {
        [self.xx - self.yy, 2.0 * self.xy]
    }

    fn coherence(self) -> f32 {
        let [c, s] = self.doubled();
        c.hypot(s) / self.energy().max(1.0)
    }
}

/// Finds the regions of a picture that may contain a barcode; the most likely come first.
pub(super) fn find(pyramid: &Pyramid<'_, Luma>) -> Vec<Region> {
    let luma = pyramid.whole();
    let longest = luma.width.max(luma.height);
    let scale = (WORKING_SIDE as f32 / longest as f32).min(1.0);
    let side = |length: u32| (length as f32 * scale).round().max(1.0) as u32;
    let (near, _) = pyramid.reduced(1.0 / scale);
    let working = near.resized(side(luma.width), side(luma.height));
    let (columns, rows) = (working.width as usize / TILE, working.height as usize / TILE);
    if columns == 0 || rows == 0 {
        return Vec::new();
    }
    let tensors = smoothed(&tile_tensors(&working, columns, rows), columns, rows);
    let mut energies: Vec<f32> = tensors.iter().map(|tensor| tensor.energy()).collect();
    let strong = energies.len() * 98 / 100;
    let (_, strong, _) = energies.select_nth_unstable_by(strong, f32::total_cmp);
    let least = *strong * MIN_ENERGY;
    let busy: Vec<bool> = tensors.iter().map(|tensor| tensor.energy() > least).collect();
    let is_parallel = |(tensor, busy): (&Tensor, &bool)| *busy && tensor.coherence() > MIN_COHERENCE;
    let striped: Vec<bool> = tensors.iter().zip(&busy).map(is_parallel).collect();
    let grid = Grid {
        tensors: &tensors,
        columns,
        rows,
        scale,
    };
    let mut regions = grid.regions(striped, agree);
    for region in &mut regions {
        region.is_striped = true;
    }
    // If rows are as low as modules are wide, only the guards are striped. The whole busy area is then a
    // region, in both directions, because the direction across the bars is uncertain.
    for region in grid.regions(busy, |_, _| true) {
        let (across, along) = (region.along, region.across);
        regions.extend([
            region,
            Region {
                angle: region.angle + FRAC_PI_2,
                across,
                along,
                ..region
            },
        ]);
    }
    regions
}

/// The whole picture as a region, with vertical and with horizontal stripes.
pub(super) fn whole(luma: &Luma) -> [Region; 2] {
    let (width, height) = (luma.width as f32, luma.height as f32);
    let centre = Point::new(width / 2.0, height / 2.0);
    let upright = Region {
        centre,
        angle: 0.0,
        across: width,
        along: height,
        is_striped: false,
    };
    [
        upright,
        Region {
            angle: FRAC_PI_2,
            across: height,
            along: width,
            ..upright
        },
    ]
}

/// The tiles of the working picture.
struct Grid<'a> {
    tensors: &'a [Tensor],
    columns: usize,
    rows: usize,
    /// The scale of the working picture, relative to the picture.
    scale: f32,
}

impl Grid<'_> {
    /// Finds the connected areas of marked tiles, the strongest first. `connects` decides whether two
    /// neighbours belong to the same area.
    fn regions(&self, mut marked: Vec<bool>, connects: impl Fn(Tensor, Tensor) -> bool) -> Vec<Region> {
        let mut regions: Vec<(f32, Region)> = Vec::new();
        for start in 0..marked.len() {
            if !marked[start] {
                continue;
            }
            let members = self.flood(start, &mut marked, &connects);
            if members.len() >= MIN_TILES {
                let strength = members.iter().map(|&tile| self.tensors[tile].energy()).sum();
                regions.push((strength, self.enclose(&members)));
            }
        }
        regions.sort_by(|a, b| b.0.total_cmp(&a.0));
        regions
            .into_iter()
            .take(MAX_REGIONS)
            .map(|(_, region)| region)
            .collect()
    }

    /// Collects and unmarks a tile and all marked tiles that are connected to it.
    fn flood(
        &self,
        start: usize,
        marked: &mut [bool],
        connects: &impl Fn(Tensor, Tensor) -> bool,
    ) -> Vec<usize> {
        marked[start] = false;
        let mut members = vec![start];
        let mut next = 0;
        while let Some(&tile) = members.get(next) {
            next += 1;
            let (x, y) = (tile % self.columns, tile / self.columns);
            for ny in y.saturating_sub(1)..=(y + 1).min(self.rows - 1) {
                for nx in x.saturating_sub(1)..=(x + 1).min(self.columns - 1) {
                    let neighbour = ny * self.columns + nx;
                    if marked[neighbour] && connects(self.tensors[tile], self.tensors[neighbour]) {
                        marked[neighbour] = false;
                        members.push(neighbour);
                    }
                }
            }
        }
        members
    }

    /// The rectangle around tiles, along their common direction, with a margin for the guard patterns.
    fn enclose(&self, members: &[usize]) -> Region {
        let mut sum = Tensor::default();
        for &tile in members {
            sum.add(self.tensors[tile]);
        }
        let [c, s] = sum.doubled();
        let angle = s.atan2(c) / 2.0;
        let (sin, cos) = angle.sin_cos();
        let (mut low, mut high) = ([f32::MAX; 2], [f32::MIN; 2]);
        for &tile in members {
            let centre = |index: usize| (index as f32 + 0.5) * TILE as f32;
            let (x, y) = (centre(tile % self.columns), centre(tile / self.columns));
            for (axis, value) in [x * cos + y * sin, y * cos - x * sin].into_iter().enumerate() {
                low[axis] = low[axis].min(value);
                high[axis] = high[axis].max(value);
            }
        }
        let [u, v] = [0, 1].map(|axis| (low[axis] + high[axis]) / 2.0);
        let margin = (2 * TILE) as f32;
        Region {
            centre: Point::new((u * cos - v * sin) / self.scale, (u * sin + v * cos) / self.scale),
            angle,
            across: ((high[0] - low[0]) * 1.12 + 2.0 * margin) / self.scale,
            along: (high[1] - low[1] + 2.0 * margin) / self.scale,
            is_striped: false,
        }
    }
}

/// The tensor of each tile. Gradients are taken within 2 × 2 pixels, because stripes may be one pixel wide.
fn tile_tensors(luma: &Luma, columns: usize, rows: usize) -> Vec<Tensor> {
    let mut tensors = vec![Tensor::default(); columns * rows];
    for y in 0..(rows * TILE).min(luma.height as usize - 1) {
        let (upper, lower) = (luma.row(y as u32), luma.row(y as u32 + 1));
        let row = &mut tensors[y / TILE * columns..][..columns];
        for (column, tensor) in row.iter_mut().enumerate() {
            let (mut xx, mut yy, mut xy) = (0i32, 0i32, 0i32);
            let x = column * TILE;
            let end = (x + TILE + 1).min(upper.len());
            for (u, l) in upper[x..end].windows(2).zip(lower[x..end].windows(2)) {
                let [a, b, c, d] = [u[0], u[1], l[0], l[1]].map(i32::from);
                let (dx, dy) = (b - a + d - c, c - a + d - b);
                xx += dx * dx;
                yy += dy * dy;
                xy += dx * dy;
            }
            tensor.add(Tensor {
                xx: xx as f32,
                yy: yy as f32,
                xy: xy as f32,
            });
        }
    }
    tensors
}

/// The sum of each tile's tensor and its neighbours'.
fn smoothed(tensors: &[Tensor], columns: usize, rows: usize) -> Vec<Tensor> {
    let sum = |around: usize, length: usize, at: &dyn Fn(usize) -> Tensor| {
        let mut sum = Tensor::default();
        for i in around.saturating_sub(REACH)..=(around + REACH).min(length - 1) {
            sum.add(at(i));
        }
        sum
    };
    let mut across = vec![Tensor::default(); tensors.len()];
    for (tile, out) in across.iter_mut().enumerate() {
        let row = tile / columns * columns;
        *out = sum(tile % columns, columns, &|x| tensors[row + x]);
    }
    let mut both = vec![Tensor::default(); tensors.len()];
    for (tile, out) in both.iter_mut().enumerate() {
        *out = sum(tile / columns, rows, &|y| across[y * columns + tile % columns]);
    }
    both
}

/// Whether the directions of two neighbours agree.
fn agree(a: Tensor, b: Tensor) -> bool {
    let ([ac, as_], [bc, bs]) = (a.doubled(), b.doubled());
    ac * bc + as_ * bs > MIN_AGREEMENT * ac.hypot(as_) * bc.hypot(bs)
}
