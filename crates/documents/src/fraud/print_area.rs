//! The part of a picture on which a document's text is printed: the convex hull of its lines.
//!
//! It belongs to the document whatever lies around it. This module contains geometry only and never reads pixels.

use imaging::Point;

use crate::ocr::Quad;

/// A convex area of a picture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PrintArea {
    /// Its corners, in one sense of rotation; at least three.
    corners: Vec<Point>,
}

impl PrintArea {
    /// The area around lines of text, whose coordinates are multiplied by `scale`; `None` if it has no extent.
    pub(crate) fn around<'a>(lines: impl Iterator<Item = &'a Quad>, scale: f32) -> Option<Self> {
        let mut points: Vec<Point> = lines
            .flat_map(|line| line.0)
            .map(|p| Point::new(p.x * scale, p.y * scale))
            .filter(|p| p.x.is_finite() && p.y.is_finite())
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
        let mut corners = chain(points.iter());
        corners.extend(chain(points.iter().rev()));
        (corners.len() >= 3).then_some(Self { corners })
    }

    /// Whether a point is inside.
    pub(crate) fn contains(&self, p: Point) -> bool {
        let nexts = self.corners.iter().cycle().skip(1);
        self.corners
            .iter()
            .zip(nexts)
            .all(|(a, b)| turn(*a, *b, p) >= 0.0)
    }

    /// The box around it, clipped to a picture of this size: left, top, right, bottom.
    pub(crate) fn region(&self, width: u32, height: u32) -> [u32; 4] {
        let [left, top, right, bottom] = self.extent();
        // `as` saturates.
        [
            left as u32,
            top as u32,
            (right.ceil() as u32).min(width),
            (bottom.ceil() as u32).min(height),
        ]
    }

    /// The box around it after each corner was moved: x, y, width, height.
    pub(crate) fn bounds(&self, moved: impl Fn(Point) -> Point) -> [f32; 4] {
        let area = Self {
            corners: self.corners.iter().map(|p| moved(*p)).collect(),
        };
        let [left, top, right, bottom] = area.extent();
        [left, top, right - left, bottom - top]
    }

    fn extent(&self) -> [f32; 4] {
        self.corners.iter().fold(
            [f32::MAX, f32::MAX, f32::MIN, f32::MIN],
            |[left, top, right, bottom], p| [left.min(p.x), top.min(p.y), right.max(p.x), bottom.max(p.y)],
        )
    }
}

/// One half of a hull, without its last point, by Andrew's monotone chain.
fn chain<'a>(points: impl Iterator<Item = &'a Point>) -> Vec<Point> {
    let mut half: Vec<Point> = Vec::new();
    for point in points {
        while let [.., a, b] = half.as_slice()
            && turn(*a, *b, *point) <= 0.0
        {
            half.pop();
        }
        half.push(*point);
    }
    half.pop();
    half
}

/// Above zero if the way from `a` over `b` to `c` turns in the sense of the hull.
fn turn(a: Point, b: Point, c: Point) -> f32 {
    (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(x: f32, y: f32, length: f32) -> Quad {
        Quad::around(Point::new(x, y), Point::new(1.0, 0.0), length, 10.0)
    }

    #[test]
    fn the_area_is_the_hull_of_its_lines() {
        let lines = [
            line(100.0, 20.0, 40.0),
            line(100.0, 50.0, 20.0),
            line(100.0, 100.0, 180.0),
        ];
        let area = PrintArea::around(lines.iter(), 2.0).unwrap();
        assert_eq!(area.region(1000, 1000), [20, 30, 380, 210]);
        assert_eq!(area.region(300, 200), [20, 30, 300, 200]);
        assert_eq!(area.bounds(|p| Point::new(p.y, p.x)), [30.0, 20.0, 180.0, 360.0]);
        for (x, y, expected) in [
            (200.0, 100.0, true),
            (21.0, 200.0, true),
            (21.0, 40.0, false),
            (379.0, 40.0, false),
            (200.0, 25.0, false),
        ] {
            assert_eq!(area.contains(Point::new(x, y)), expected, "{x} {y}");
        }
    }

    #[test]
    fn nothing_has_no_area() {
        assert_eq!(PrintArea::around([].iter(), 1.0), None);
        let point = Quad([Point::new(3.0, 3.0); 4]);
        assert_eq!(PrintArea::around([point].iter(), 1.0), None);
        let endless = Quad([Point::new(f32::NAN, 3.0); 4]);
        assert_eq!(PrintArea::around([endless].iter(), 1.0), None);
    }
}
