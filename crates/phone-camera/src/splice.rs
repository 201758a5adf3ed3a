//! A photograph into which a part of another photograph was put, as with an image editor.

use imaging::Picture;

use crate::random::Random;

/// What was put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// As much as a line of text covers.
    Line,
    /// As much as a portrait covers.
    Portrait,
}

impl Part {
    /// Every part, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Line, Self::Portrait];

    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Portrait => "portrait",
        }
    }

    /// Width and height, as shares of the photograph's width.
    fn size(self) -> (f32, f32) {
        match self {
            Self::Line => (0.18, 0.022),
            Self::Portrait => (0.22, 0.28),
        }
    }
}

/// Puts a part of `other` into `picture`, at places of the page that the seed draws, and returns its box: x, y, width,
/// height. `None` if one of them is smaller than the part.
pub fn splice(picture: &mut Picture, other: &Picture, part: Part, seed: u64) -> Option<[u32; 4]> {
    let mut random = Random::new(seed, 0x5_91ce + part as u64);
    let (width, height) = part.size();
    let [width, height] = [width, height].map(|share| (share * picture.width as f32) as u32);
    let mut place = |picture: &Picture| {
        let x = (random.between(0.15, 0.6) * picture.width as f32) as u32;
        let y = (random.between(0.15, 0.5) * picture.height as f32) as u32;
        let fits = x + width <= picture.width && y + height <= picture.height;
        fits.then_some((x, y))
    };
    let (to, from) = (place(picture)?, place(other)?);
    let length = width as usize * 3;
    for row in 0..height {
        let start = |picture: &Picture, (x, y): (u32, u32)| ((y + row) * picture.width + x) as usize * 3;
        let (to, from) = (start(picture, to), start(other, from));
        picture.pixels[to..to + length].copy_from_slice(&other.pixels[from..from + length]);
    }
    Some([to.0, to.1, width, height])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_part_is_changed() {
        for part in Part::ALL {
            let mut picture = Picture::filled(400, 300, [10; 3]);
            let other = Picture::filled(500, 380, [200; 3]);
            let [x, y, width, height] = splice(&mut picture, &other, part, 4).unwrap();
            for row in 0..300 {
                for column in 0..400 {
                    let inside = (x..x + width).contains(&column) && (y..y + height).contains(&row);
                    let expected = if inside { 200 } else { 10 };
                    assert_eq!(picture.pixel(column, row), [expected; 3], "{column} {row}");
                }
            }
        }
        let mut small = Picture::filled(400, 30, [10; 3]);
        assert_eq!(
            splice(&mut small, &Picture::filled(9, 9, [0; 3]), Part::Portrait, 4),
            None
        );
    }
}
