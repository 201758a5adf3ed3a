//! Cuts a face out of a picture as the two embedding networks were trained on it: five points of the mesh are
//! mapped to the five points of a template. Any other alignment lowers the accuracy.
//!
//! This module runs no network; [`crate::embedder`] does.

use imaging::{Picture, Point};

use crate::mesh::Mesh;
use crate::window::Window;

/// Side of dlib's chip in pixels (`get_face_chip_details(shape, 150, 0.25)` with its 5-point shape).
const DLIB_SIDE: u32 = 150;
/// Side of SFace's chip in pixels.
const SFACE_SIDE: u32 = 112;
/// Space on each side of dlib's template, as a share of its size.
const DLIB_PADDING: f32 = 0.25;
/// dlib's points: left eye outer and inner corner, right eye outer and inner corner, base of the nose, from
/// its `image_transforms/interpolation.h`. The person's own sides.
const DLIB_TEMPLATE: [(f32, f32); 5] = [
    (0.859_567_46, 0.213_498_15),
    (0.646_060_5, 0.228_967_44),
    (0.120_575_06, 0.213_727_45),
    (0.334_085_06, 0.229_064_24),
    (0.490_112_3, 0.627_797_5),
];
/// SFace's points, in pixels of its chip: right eye, left eye, tip of the nose, right and left corner of the
/// mouth, from OpenCV's `face_recognize.cpp`. The person's own sides. It is ArcFace's template.
const SFACE_TEMPLATE: [(f32, f32); 5] = [
    (38.2946, 51.6963),
    (73.5318, 51.5014),
    (56.0252, 71.7366),
    (41.5493, 92.3655),
    (70.7299, 92.2041),
];

/// dlib's chip, or `None` if the points coincide.
pub(crate) fn dlib_chip(picture: &Picture, mesh: &Mesh) -> Option<Picture> {
    cut(picture, &dlib_template(), &mesh.dlib_points(), DLIB_SIDE)
}

/// SFace's chip, or `None` if the points coincide.
pub(crate) fn sface_chip(picture: &Picture, mesh: &Mesh) -> Option<Picture> {
    cut(picture, &sface_template(), &mesh.sface_points(), SFACE_SIDE)
}

fn dlib_template() -> [Point; 5] {
    let place = |value: f32| (value + DLIB_PADDING) / (1.0 + 2.0 * DLIB_PADDING) * DLIB_SIDE as f32 + 0.5;
    DLIB_TEMPLATE.map(|(x, y)| Point::new(place(x), place(y)))
}

fn sface_template() -> [Point; 5] {
    SFACE_TEMPLATE.map(|(x, y)| Point::new(x, y))
}

fn cut(picture: &Picture, template: &[Point; 5], points: &[Point; 5], side: u32) -> Option<Picture> {
    Some(Window::fit(template, points, side)?.cut(picture))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_points_of_a_face_come_where_each_network_expects_them() {
        // Each pixel's colour encodes its column and row. The five points are placed like the template, at
        // 300 pixels per unit.
        let pixels = (0..600 * 600)
            .flat_map(|i| [(i % 600 / 4) as u8, (i / 600 / 4) as u8, 0])
            .collect();
        let picture = Picture::new(600, 600, pixels).expect("the right size");
        for (template, side) in [(dlib_template(), DLIB_SIDE), (sface_template(), SFACE_SIDE)] {
            let points = template.map(|point| Point::new(90.0 + 3.0 * point.x, 120.0 + 3.0 * point.y));
            let chip = cut(&picture, &template, &points, side).expect("distinct points");
            for (place, point) in template.into_iter().zip(points) {
                let [column, row, _] = chip.pixel(place.x as u32, place.y as u32);
                assert!(
                    (f32::from(column) * 4.0 - point.x).abs() < 6.0,
                    "{column} for {}",
                    point.x
                );
                assert!(
                    (f32::from(row) * 4.0 - point.y).abs() < 6.0,
                    "{row} for {}",
                    point.y
                );
            }
        }
    }

    #[test]
    fn points_in_one_place_have_no_chip() {
        let points = [Point::new(4.0, 4.0); 5];
        assert!(
            cut(
                &Picture::filled(9, 9, [0; 3]),
                &dlib_template(),
                &points,
                DLIB_SIDE
            )
            .is_none()
        );
    }
}
