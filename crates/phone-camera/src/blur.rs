//! Lenses out of focus and shaking hands, as convolutions. Pixels beyond the edge are those of the edge.

use imaging::Picture;

/// A picture convolved with a Gaussian of this deviation in pixels.
pub(crate) fn gaussian(picture: &Picture, deviation: f32) -> Picture {
    let reach = (3.0 * deviation).ceil() as i32;
    let weights: Vec<f32> = (-reach..=reach)
        .map(|x| (-0.5 * (x as f32 / deviation).powi(2)).exp())
        .collect();
    let total: f32 = weights.iter().sum();
    let taps = |along: fn(i32) -> (i32, i32)| -> Vec<(i32, i32, f32)> {
        (-reach..=reach)
            .zip(&weights)
            .map(|(x, weight)| {
                let (dx, dy) = along(x);
                (dx, dy, weight / total)
            })
            .collect()
    };
    convolved(&convolved(picture, &taps(|x| (x, 0))), &taps(|y| (0, y)))
}

/// A picture moved along a straight way of `length` pixels in direction `radians` while it was exposed.
pub(crate) fn motion(picture: &Picture, length: f32, radians: f32) -> Picture {
    let steps = (2.0 * length).ceil() as usize;
    let mut taps: Vec<(i32, i32, f32)> = Vec::new();
    for step in 0..=steps {
        let way = (step as f32 / steps as f32 - 0.5) * length;
        let (x, y) = (way * radians.cos(), way * radians.sin());
        let (left, top) = (x.floor(), y.floor());
        // Each place between pixels is shared by its four neighbours.
        for (dx, dy) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
            let weight = (1.0 - (x - left - dx).abs()) * (1.0 - (y - top - dy).abs()) / (steps + 1) as f32;
            let at = ((left + dx) as i32, (top + dy) as i32);
            match taps.iter_mut().find(|tap| (tap.0, tap.1) == at) {
                Some(tap) => tap.2 += weight,
                None => taps.push((at.0, at.1, weight)),
            }
        }
    }
    convolved(picture, &taps)
}

/// The sum of the picture moved by each tap's columns and rows, with its weight.
fn convolved(picture: &Picture, taps: &[(i32, i32, f32)]) -> Picture {
    let (width, height) = (picture.width as usize, picture.height as usize);
    let mut pixels = Vec::with_capacity(picture.pixels.len());
    let mut sums = vec![0f32; width * 3];
    for y in 0..height {
        sums.fill(0.0);
        for &(dx, dy, weight) in taps {
            let from = (y as i32 + dy).clamp(0, height as i32 - 1) as usize * width * 3;
            let row = &picture.pixels[from..from + width * 3];
            let inside = (-dx).clamp(0, width as i32) as usize..(width as i32 - dx.max(0)).max(0) as usize;
            if inside.start < inside.end {
                let source = (inside.start as i32 + dx) as usize * 3;
                let length = inside.len() * 3;
                let target = &mut sums[inside.start * 3..][..length];
                for (sum, value) in target.iter_mut().zip(&row[source..source + length]) {
                    *sum += weight * f32::from(*value);
                }
            }
            for x in (0..inside.start.min(width)).chain(inside.end.max(inside.start)..width) {
                let source = (x as i32 + dx).clamp(0, width as i32 - 1) as usize * 3;
                for channel in 0..3 {
                    sums[x * 3 + channel] += weight * f32::from(row[source + channel]);
                }
            }
        }
        pixels.extend(sums.iter().map(|sum| (sum + 0.5) as u8));
    }
    Picture { pixels, ..*picture }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A white point on black.
    fn point() -> Picture {
        let mut picture = Picture::filled(31, 31, [0; 3]);
        picture.pixels[(15 * 31 + 15) * 3..][..3].fill(255);
        picture
    }

    fn sum(picture: &Picture) -> u32 {
        picture
            .pixels
            .iter()
            .step_by(3)
            .map(|value| u32::from(*value))
            .sum()
    }

    #[test]
    fn a_plain_picture_stays_as_it_is() {
        let plain = Picture::filled(9, 5, [200, 90, 17]);
        assert_eq!(gaussian(&plain, 3.0), plain);
        assert_eq!(motion(&plain, 20.0, 0.7), plain);
    }

    #[test]
    fn a_point_spreads_as_far_as_is_said() {
        let moved = motion(&point(), 9.0, 0.0);
        let lit = (0..31).filter(|x| moved.pixel(*x, 15)[0] > 10).count();
        assert!((9..=11).contains(&lit), "{lit}");
        assert!((0..31).all(|x| moved.pixel(x, 13)[0] == 0));
        assert!(sum(&moved).abs_diff(255) < 12, "{}", sum(&moved));
        let soft = gaussian(&point(), 1.5);
        assert_eq!(soft.pixel(13, 15), soft.pixel(15, 17));
        assert!(sum(&soft).abs_diff(255) < 30, "{}", sum(&soft));
    }
}
