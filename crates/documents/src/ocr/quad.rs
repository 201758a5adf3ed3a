//! Quadrilaterals around lines of text. This module contains geometry only and never reads pixels.

use imaging::Point;

/// The four corners of a line of text in the picture, named as in upright text: top left, top right, bottom
/// right, bottom left.
///
/// For text that is upside down, the first corner is at the bottom right of the picture. A quad therefore
/// also contains the reading direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quad(pub [Point; 4]);

impl Quad {
    /// Creates a quad from its centre, the unit vector `along` of its reading direction, its length and its
    /// height. The text's "down" is `along` turned clockwise by 90°.
    pub fn around(centre: Point, along: Point, length: f32, height: f32) -> Self {
        let corner = |l: f32, h: f32| {
            let (l, h) = (l * length / 2.0, h * height / 2.0);
            Point::new(
                centre.x + along.x * l - along.y * h,
                centre.y + along.y * l + along.x * h,
            )
        };
        Self([
            corner(-1.0, -1.0),
            corner(1.0, -1.0),
            corner(1.0, 1.0),
            corner(-1.0, 1.0),
        ])
    }

    /// Length in the reading direction.
    pub fn length(&self) -> f32 {
        let [a, b, c, d] = self.0;
        (a.distance(b) + d.distance(c)) / 2.0
    }

    /// Height across the reading direction.
    pub fn height(&self) -> f32 {
        let [a, b, c, d] = self.0;
        (a.distance(d) + b.distance(c)) / 2.0
    }

    /// Length divided by height.
    pub fn aspect(&self) -> f32 {
        self.length() / self.height().max(1e-3)
    }

    /// The mean of the corners.
    pub fn centre(&self) -> Point {
        let sum = |f: fn(&Point) -> f32| self.0.iter().map(f).sum::<f32>() / 4.0;
        Point::new(sum(|p| p.x), sum(|p| p.y))
    }

    /// The reading direction as a unit vector.
    pub fn along(&self) -> Point {
        let [a, b, c, d] = self.0;
        let (x, y) = (b.x - a.x + c.x - d.x, b.y - a.y + c.y - d.y);
        let length = x.hypot(y);
        if length > 0.0 {
            Point::new(x / length, y / length)
        } else {
            Point::new(1.0, 0.0)
        }
    }

    /// The same region with the text turned by 180°.
    pub fn upside_down(&self) -> Self {
        let [a, b, c, d] = self.0;
        Self([c, d, a, b])
    }

    /// The same region with the text mirrored left to right.
    pub fn mirrored(&self) -> Self {
        let [a, b, c, d] = self.0;
        Self([b, a, d, c])
    }

    /// The quad with each corner moved by `f`.
    pub fn map(&self, f: impl FnMut(Point) -> Point) -> Self {
        Self(self.0.map(f))
    }

    /// The quad extended at its start and end by these numbers of pixels, along its edges.
    pub fn lengthened(&self, start: f32, end: f32) -> Self {
        let [a, b, c, d] = self.0;
        let length = self.length().max(1e-3);
        let stretch = |from: Point, to: Point, by: f32| {
            let t = by / length;
            Point::new(to.x + (to.x - from.x) * t, to.y + (to.y - from.y) * t)
        };
        Self([
            stretch(b, a, start),
            stretch(a, b, end),
            stretch(d, c, end),
            stretch(c, d, start),
        ])
    }

    /// The part from `start` to `end` along its edges, as shares of its length; it may reach beyond the quad.
    pub fn part(&self, start: f32, end: f32) -> Self {
        let [a, b, c, d] = self.0;
        let at = |from: Point, to: Point, share: f32| {
            Point::new(from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share)
        };
        Self([at(a, b, start), at(a, b, end), at(d, c, end), at(d, c, start)])
    }

    /// The quad moved down along its start and end by so many of its heights.
    pub fn moved_down(&self, heights: f32) -> Self {
        let [a, b, c, d] = self.0;
        let at = |top: Point, bottom: Point, share: f32| {
            Point::new(
                top.x + (bottom.x - top.x) * share,
                top.y + (bottom.y - top.y) * share,
            )
        };
        Self([
            at(a, d, heights),
            at(b, c, heights),
            at(b, c, 1.0 + heights),
            at(a, d, 1.0 + heights),
        ])
    }

    /// The quad with start and end that lean by these shares of its height in the reading direction, from top to
    /// bottom.
    pub fn leaning(&self, start: f32, end: f32) -> Self {
        let [a, b, c, d] = self.0;
        let along = self.along();
        let edge = |top: Point, bottom: Point, lean: f32| {
            let (x, y) = ((bottom.x - top.x) / 2.0, (bottom.y - top.y) / 2.0);
            let down = y * along.x - x * along.y;
            let half = Point::new(
                down * (lean * along.x - along.y),
                down * (lean * along.y + along.x),
            );
            let middle = Point::new(f32::midpoint(top.x, bottom.x), f32::midpoint(top.y, bottom.y));
            [
                Point::new(middle.x - half.x, middle.y - half.y),
                Point::new(middle.x + half.x, middle.y + half.y),
            ]
        };
        let ([a, d], [b, c]) = (edge(a, d, start), edge(b, c, end));
        Self([a, b, c, d])
    }

    /// The smallest axis-parallel rectangle around it: x, y, width, height.
    pub fn bounds(&self) -> [f32; 4] {
        let low = |f: fn(&Point) -> f32| self.0.iter().map(f).fold(f32::INFINITY, f32::min);
        let high = |f: fn(&Point) -> f32| self.0.iter().map(f).fold(f32::NEG_INFINITY, f32::max);
        let (x, y) = (low(|p| p.x), low(|p| p.y));
        [x, y, high(|p| p.x) - x, high(|p| p.y) - y]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quad_knows_its_sense() {
        let quad = Quad::around(Point::new(50.0, 20.0), Point::new(1.0, 0.0), 60.0, 10.0);
        assert_eq!(quad.0[0], Point::new(20.0, 15.0));
        assert_eq!(quad.bounds(), [20.0, 15.0, 60.0, 10.0]);
        assert_eq!(quad.upside_down().along(), Point::new(-1.0, 0.0));
        assert_eq!(quad.mirrored().mirrored(), quad);
        let longer = quad.lengthened(5.0, 10.0);
        assert_eq!(
            (longer.0[0].x, longer.0[1].x, longer.height()),
            (15.0, 90.0, 10.0)
        );
    }

    #[test]
    fn parts_shifts_and_leans_follow_the_edges() {
        let quad = Quad::around(Point::new(50.0, 20.0), Point::new(1.0, 0.0), 60.0, 10.0);
        let part = quad.part(-0.5, 0.5);
        assert_eq!(
            (part.0[0], part.0[2]),
            (Point::new(-10.0, 15.0), Point::new(50.0, 25.0))
        );
        assert_eq!(quad.moved_down(2.0).bounds(), [20.0, 35.0, 60.0, 10.0]);
        let leaning = quad.leaning(0.5, 0.0);
        assert_eq!(leaning.0[0], Point::new(17.5, 15.0));
        assert_eq!(leaning.0[3], Point::new(22.5, 25.0));
        assert_eq!(leaning.0[1], quad.0[1]);
        // The way down stays on its side when the text is upside down.
        let turned = quad.upside_down().leaning(0.5, 0.5).upside_down();
        assert_eq!(turned, quad.leaning(0.5, 0.5));
    }
}
