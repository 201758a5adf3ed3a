//! DB post-processing: converts a map of text probabilities to oriented rectangles. It never reads the
//! picture.

use imaging::Point;

use super::Quad;

/// From this probability on, a pixel belongs to text (PaddleOCR's `thresh`).
const PIXEL_THRESHOLD: f32 = 0.3;
/// From this mean probability on, a region is text (compare PaddleOCR's `box_thresh`).
const REGION_THRESHOLD: f32 = 0.55;
/// The detector is trained to mark the inner part of text, so regions are enlarged by area × ratio ÷
/// perimeter.
const UNCLIP_RATIO: f32 = 1.6;
/// Thinner regions, in pixels of the map, are noise.
const MIN_HEIGHT: f32 = 2.5;
/// At most this many regions are returned.
const MAX_REGIONS: usize = 1000;

/// Finds all text regions of a probability map, in pixels of the map, with their mean probabilities.
pub(super) fn regions(map: &[f32], width: usize, height: usize) -> Vec<(Quad, f32)> {
    let mut mask = dilated(map, width, height);
    let mut found = Vec::new();
    let mut stack = Vec::new();
    for start in 0..mask.len() {
        if !mask[start] || found.len() >= MAX_REGIONS {
            continue;
        }
        mask[start] = false;
        stack.push(start);
        let (mut sum, mut count) = (0.0, 0usize);
        // The leftmost and rightmost pixel of each row suffice for the convex hull.
        let top = start / width;
        let mut spans: Vec<(usize, usize)> = Vec::new();
        while let Some(at) = stack.pop() {
            let (x, y) = (at % width, at / width);
            sum += map[at];
            count += 1;
            // Rows are counted from the region's first row, because `start` is its topmost pixel.
            let row = y - top;
            if spans.len() <= row {
                spans.resize(row + 1, (usize::MAX, 0));
            }
            spans[row] = (spans[row].0.min(x), spans[row].1.max(x));
            for ny in y.saturating_sub(1)..=(y + 1).min(height - 1) {
                for nx in x.saturating_sub(1)..=(x + 1).min(width - 1) {
                    let next = ny * width + nx;
                    if mask[next] {
                        mask[next] = false;
                        stack.push(next);
                    }
                }
            }
        }
        let score = sum / count as f32;
        if score < REGION_THRESHOLD {
            continue;
        }
        let corners = spans.iter().enumerate().flat_map(|(row, &(left, right))| {
            let (y, left, right) = ((top + row) as f32, left as f32, right as f32 + 1.0);
            [(left, y), (right, y), (left, y + 1.0), (right, y + 1.0)]
        });
        let hull = convex_hull(corners.map(|(x, y)| Point::new(x, y)).collect());
        let Some((centre, along, length, thickness)) = smallest_rectangle(&hull) else {
            continue;
        };
        if thickness < MIN_HEIGHT {
            continue;
        }
        let grow = length * thickness * UNCLIP_RATIO / (2.0 * (length + thickness));
        found.push((
            Quad::around(centre, along, length + 2.0 * grow, thickness + 2.0 * grow),
            score,
        ));
    }
    found
}

/// Thresholds the map and extends every pixel to its right, lower and lower right neighbours. This joins
/// characters with a small gap.
fn dilated(map: &[f32], width: usize, height: usize) -> Vec<bool> {
    let mut mask = vec![false; map.len()];
    for (at, _) in map.iter().enumerate().filter(|(_, p)| **p > PIXEL_THRESHOLD) {
        let (x, y) = (at % width, at / width);
        for ny in y..=(y + 1).min(height - 1) {
            for nx in x..=(x + 1).min(width - 1) {
                mask[ny * width + nx] = true;
            }
        }
    }
    mask
}

/// The convex hull by Andrew's monotone chain.
fn convex_hull(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    points.dedup();
    if points.len() < 3 {
        return points;
    }
    let turn = |o: Point, a: Point, b: Point| (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
    let half = |points: &mut dyn Iterator<Item = Point>| {
        let mut chain: Vec<Point> = Vec::new();
        for p in points {
            while chain.len() >= 2 && turn(chain[chain.len() - 2], chain[chain.len() - 1], p) <= 0.0 {
                chain.pop();
            }
            chain.push(p);
        }
        chain.pop();
        chain
    };
    let mut hull = half(&mut points.iter().copied());
    hull.extend(half(&mut points.iter().rev().copied()));
    hull
}

/// The rectangle of least area around a convex hull (one side is on an edge of the hull): centre, reading
/// direction, length, thickness. The long side reads rightwards, or downwards if steeper than 45°.
fn smallest_rectangle(hull: &[Point]) -> Option<(Point, Point, f32, f32)> {
    let mut best: Option<(f32, Point, [f32; 4])> = None;
    for (i, &a) in hull.iter().enumerate() {
        let b = hull[(i + 1) % hull.len()];
        let length = a.distance(b);
        if length < 1e-3 {
            continue;
        }
        let u = Point::new((b.x - a.x) / length, (b.y - a.y) / length);
        let mut extent = [f32::INFINITY, f32::NEG_INFINITY, f32::INFINITY, f32::NEG_INFINITY];
        for p in hull {
            let (s, t) = (p.x * u.x + p.y * u.y, p.y * u.x - p.x * u.y);
            extent = [
                extent[0].min(s),
                extent[1].max(s),
                extent[2].min(t),
                extent[3].max(t),
            ];
        }
        let area = (extent[1] - extent[0]) * (extent[3] - extent[2]);
        if best.is_none_or(|(least, ..)| area < least) {
            best = Some((area, u, extent));
        }
    }
    let (_, u, [s0, s1, t0, t1]) = best?;
    let (s, t) = ((s0 + s1) / 2.0, (t0 + t1) / 2.0);
    let centre = Point::new(s * u.x - t * u.y, s * u.y + t * u.x);
    let (along, length, thickness) = if s1 - s0 >= t1 - t0 {
        (u, s1 - s0, t1 - t0)
    } else {
        (Point::new(-u.y, u.x), t1 - t0, s1 - s0)
    };
    let backwards = if along.x.abs() >= along.y.abs() {
        along.x < 0.0
    } else {
        along.y < 0.0
    };
    let along = if backwards {
        Point::new(-along.x, -along.y)
    } else {
        along
    };
    Some((centre, along, length, thickness))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A map with one bar of the given angle (degrees), length and thickness in its middle.
    fn bar(degrees: f32, length: f32, thickness: f32) -> Vec<f32> {
        let (sin, cos) = degrees.to_radians().sin_cos();
        (0..200 * 200)
            .map(|i| {
                let (x, y) = ((i % 200) as f32 - 99.5, (i / 200) as f32 - 99.5);
                let (s, t) = (x * cos + y * sin, y * cos - x * sin);
                if s.abs() < length / 2.0 && t.abs() < thickness / 2.0 {
                    0.9
                } else {
                    0.0
                }
            })
            .collect()
    }

    #[test]
    fn bars_of_every_angle_are_measured() {
        for degrees in [0.0, 7.0, -20.0, 44.0, 60.0, 90.0] {
            let found = regions(&bar(degrees, 120.0, 16.0), 200, 200);
            assert_eq!(found.len(), 1, "{degrees}");
            let (quad, score) = found[0];
            let grow = 120.0 * 16.0 * UNCLIP_RATIO / 136.0;
            assert!(
                (quad.length() - 120.0 - grow).abs() < 8.0,
                "{degrees}: {}",
                quad.length()
            );
            assert!(
                (quad.height() - 16.0 - grow).abs() < 8.0,
                "{degrees}: {}",
                quad.height()
            );
            let angle = quad.along().y.atan2(quad.along().x).to_degrees();
            assert!((angle - degrees).abs() < 2.0, "{degrees}: {angle}");
            assert!(score > 0.7);
        }
    }

    proptest! {
        #[test]
        fn any_map_gives_finite_quads(map in prop::collection::vec(0f32..1.0, 24 * 16)) {
            for (quad, score) in regions(&map, 24, 16) {
                prop_assert!(quad.0.iter().all(|p| p.x.is_finite() && p.y.is_finite()));
                prop_assert!((0.0..=1.0).contains(&score));
            }
        }
    }
}
