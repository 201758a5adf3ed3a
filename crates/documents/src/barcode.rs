//! Finds, straightens and decodes barcodes in a picture. It never parses a payload; `aamva` does.
//!
//! The symbology is PDF417 (ISO/IEC 15438), which North American licences use. Libraries read it within about
//! 3° of upright, but hand-held photographs are tilted more. The steps are therefore:
//!
//! 1. [`regions`] finds areas of parallel stripes and their direction.
//! 2. [`guards`] finds the start and stop patterns in such an area turned upright, and fits the symbol's
//!    quadrilateral.
//! 3. [`rows`] reads its codewords row by row, and [`correction`] corrects them with covered rows as erasures.
//!    [`alignment`] and the row indicators give exact corners first.
//! 4. If that fails, [`symbol`] decodes the straightened quadrilateral with `rxing`.

mod alignment;
mod correction;
mod guards;
mod patterns;
mod regions;
mod rows;
#[cfg(test)]
mod specimen;
mod symbol;
mod work;

pub use work::WorkBudget;

use imaging::{Homography, Luma, Picture, Point, Pyramid};

/// A decoded barcode whose payload is not parsed yet.
#[derive(Debug, Clone, PartialEq)]
pub struct RawBarcode {
    /// `PDF417`.
    pub symbology: &'static str,
    /// The payload as text. Bytes beyond ASCII are ISO 8859-1, unless the symbol specifies another character
    /// set.
    pub text: String,
    /// The payload's bytes.
    pub bytes: Vec<u8>,
    /// Top-left, top-right, bottom-right, bottom-left corner as the symbol is read, in pixels of the picture.
    pub corners: [Point; 4],
}

/// In a picture with at most this many pixels, the barcode may fill everything, so the whole picture is a
/// region too.
const SMALL_PICTURE: u32 = 400_000;
/// The longest side, in pixels, of the picture that is decoded as a whole if no region was decoded.
const WHOLE_SIDE: u32 = 1600;

/// The largest number of unread regions that are read again with more of their surroundings.
const MAX_LENGTHENED: usize = 2;

/// Reads every PDF417 symbol in a picture, at any tilt, turned or mirrored, within a limit of work.
///
/// The limit is checked before each step. When it is reached, the symbols read so far are returned.
pub fn read_barcodes(picture: &Picture, mut work: WorkBudget) -> Vec<RawBarcode> {
    let luma = picture.luma();
    let pyramid = Pyramid::of(&luma);
    let mut found: Vec<RawBarcode> = Vec::new();
    let mut candidates = regions::find(&pyramid);
    if luma.width * luma.height <= SMALL_PICTURE {
        candidates.extend(regions::whole(&luma));
    }
    let mut promising = Vec::new();
    for region in candidates {
        if found
            .iter()
            .any(|barcode| encloses(&barcode.corners, region.centre))
        {
            continue;
        }
        match read_region(&pyramid, &region, &mut work) {
            RegionOutcome::Read(barcode) => found.push(barcode),
            RegionOutcome::Unreadable => promising.push(region),
            RegionOutcome::Nothing => {}
            RegionOutcome::OutOfWork => return found,
        }
    }
    let is_split = |region: &&regions::Region| region.is_striped && region.across >= region.along;
    for region in promising.iter().filter(is_split).take(MAX_LENGTHENED) {
        if !found.is_empty() {
            break;
        }
        match read_region(&pyramid, &region.lengthened(), &mut work) {
            RegionOutcome::Read(barcode) => return vec![barcode],
            RegionOutcome::Unreadable | RegionOutcome::Nothing => {}
            RegionOutcome::OutOfWork => return found,
        }
    }
    if found.is_empty() && !promising.is_empty() {
        found.extend(read_whole(&luma, &mut work));
    }
    found
}

/// The work per pixel of finding guards in a blurred region.
const SHARPENING_WORK: u64 = 2;

/// So many lines are probed across an area that need not be a symbol.
const PROBES: u32 = 80;

/// The outcome of reading a region.
enum RegionOutcome {
    Read(RawBarcode),
    /// The region has a guard pattern, so it probably contains a symbol.
    Unreadable,
    Nothing,
    /// The work limit was reached.
    OutOfWork,
}

/// Turns a region upright, straightens its symbol by the guard patterns, and decodes it.
fn read_region(
    pyramid: &Pyramid<'_, Luma>,
    region: &regions::Region,
    work: &mut WorkBudget,
) -> RegionOutcome {
    let luma = pyramid.whole();
    let (width, height) = region.upright_size();
    // Areas of text are often striped along their lines, and then they are taller than wide.
    let is_like_symbol = region.is_striped && width >= height;
    // Other areas are mostly text, and large. A few lines across them tell.
    if !is_like_symbol {
        if !work.take(width, PROBES) {
            return RegionOutcome::OutOfWork;
        }
        if !guards::crosses_pattern(&region.lines(pyramid, PROBES)) {
            return RegionOutcome::Nothing;
        }
    }
    if !work.take(width, height) {
        return RegionOutcome::OutOfWork;
    }
    let (upright, to_picture) = region.upright(pyramid);
    let mut guards = guards::find(&upright);
    if guards.quads.is_empty() && is_like_symbol {
        if !work.take_pixels(SHARPENING_WORK * u64::from(upright.width) * u64::from(upright.height)) {
            return RegionOutcome::OutOfWork;
        }
        guards.quads = guards::find_blurred(&upright).quads;
    }
    for quad in guards.quads {
        if let Some((decoded, corners)) = read_rows(luma, (&upright, &to_picture), &quad, work) {
            let corners = if decoded.is_flipped {
                flipped(corners)
            } else {
                corners
            };
            return RegionOutcome::Read(raw(decoded.text, corners));
        }
        for (width, height) in quad.sizes() {
            let Some((square, to_upright)) = quad.square(&upright, width, height) else {
                continue;
            };
            // A mirrored symbol whose start pattern is on the left has its rows in reverse order.
            for flip in [false, true] {
                if !work.take(square.width, square.height) {
                    return RegionOutcome::OutOfWork;
                }
                let Some(text) = symbol::decode(&square, flip) else {
                    continue;
                };
                let to_picture = to_upright.then(&to_picture);
                let corners = rectangle(width, height).map(|corner| to_picture.apply(corner));
                return RegionOutcome::Read(raw(text, if flip { flipped(corners) } else { corners }));
            }
        }
    }
    if !guards.has_pattern {
        return RegionOutcome::Nothing;
    }
    if !work.take(upright.width, upright.height) {
        return RegionOutcome::OutOfWork;
    }
    symbol::decode(&upright, false).map_or(RegionOutcome::Unreadable, |text| {
        let corners = rectangle(upright.width, upright.height);
        RegionOutcome::Read(raw(text, corners.map(|corner| to_picture.apply(corner))))
    })
}

/// Decodes a symbol in an upright region by its rows, with each likely number of columns. Returns it with its
/// corners in the picture.
///
/// If a sticker covers rows, the region may end there. The symbol is then straightened from the picture.
fn read_rows(
    luma: &Luma,
    (upright, to_picture): (&Luma, &Homography),
    quad: &guards::SymbolQuad,
    work: &mut WorkBudget,
) -> Option<(rows::Decoded, [Point; 4])> {
    let straighten = |from: &Luma, quad: &guards::SymbolQuad, columns: usize, work: &mut WorkBudget| {
        let (straight, quad) = quad.straightened(from, columns)?;
        work.take(straight.width, 2 * straight.height)
            .then_some((straight, quad))
    };
    quad.columns().into_iter().find_map(|columns| {
        let (straight, quad) = straighten(upright, quad, columns, work)?;
        let quad = quad.with_ends(columns, rows::ends(&straight, columns, work)?)?;
        let (straight, corners) = if quad.is_inside(upright) {
            let (straight, quad) = straighten(upright, &quad, columns, work)?;
            (straight, quad.mapped(to_picture).corners())
        } else {
            let (straight, quad) = straighten(luma, &quad.mapped(to_picture), columns, work)?;
            (straight, quad.corners())
        };
        Some((rows::decode(&straight, columns, work)?, corners))
    })
}

/// Decodes the whole picture, also enlarged if it is small. This is for barcodes with a guard pattern that
/// could not be straightened.
fn read_whole(luma: &Luma, work: &mut WorkBudget) -> Option<RawBarcode> {
    let longest = luma.width.max(luma.height);
    let mut scales = vec![f64::from(WHOLE_SIDE.min(longest)) / f64::from(longest)];
    if luma.width * luma.height <= SMALL_PICTURE {
        scales.extend([2.0, 3.0]);
    }
    scales.into_iter().find_map(|scale| {
        let side = |length: u32| (f64::from(length) * scale).round() as u32;
        let (width, height) = (side(luma.width), side(luma.height));
        if !work.take(width, height) {
            return None;
        }
        let text = symbol::decode(&padded(&luma.resized(width, height)), false)?;
        Some(raw(text, rectangle(luma.width, luma.height)))
    })
}

/// Adds a white border, because a symbol that is cut out at its edge lacks its quiet zone.
fn padded(luma: &Luma) -> Luma {
    const BORDER: u32 = 16;
    let shift = Homography([
        [1.0, 0.0, -f64::from(BORDER)],
        [0.0, 1.0, -f64::from(BORDER)],
        [0.0, 0.0, 1.0],
    ]);
    luma.warp(&shift, luma.width + 2 * BORDER, luma.height + 2 * BORDER, 255)
}

fn raw(text: String, corners: [Point; 4]) -> RawBarcode {
    let latin1: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    let bytes = latin1.unwrap_or_else(|| text.as_bytes().to_vec());
    RawBarcode {
        symbology: "PDF417",
        text,
        bytes,
        corners,
    }
}

fn rectangle(width: u32, height: u32) -> [Point; 4] {
    let (w, h) = (width as f32, height as f32);
    [
        Point::new(0.0, 0.0),
        Point::new(w, 0.0),
        Point::new(w, h),
        Point::new(0.0, h),
    ]
}

fn flipped([a, b, c, d]: [Point; 4]) -> [Point; 4] {
    [d, c, b, a]
}

/// Whether a point lies inside a convex quadrilateral.
fn encloses(corners: &[Point; 4], point: Point) -> bool {
    let side = |i: usize| {
        let (a, b) = (corners[i], corners[(i + 1) % 4]);
        (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x)
    };
    (0..4).all(|i| side(i) > 0.0) || (0..4).all(|i| side(i) < 0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::specimen::{Damage, PAYLOAD, Shot, photograph, shoot};
    use super::*;

    const AMPLE: WorkBudget = WorkBudget::pixels(1_000_000_000);
    const STRAIGHT: Shot = Shot {
        columns: 12,
        module: 3.0,
        tilt: 0.0,
        yaw: 0.0,
        pitch: 0.0,
        blur: 0,
        noise: 4.0,
        damage: Damage::NONE,
    };

    fn assert_read(picture: &Picture, what: &str) -> RawBarcode {
        let found = read_barcodes(picture, AMPLE);
        assert_eq!(found.len(), 1, "{what}");
        assert_eq!(found[0].text, PAYLOAD, "{what}");
        assert_eq!(found[0].bytes, PAYLOAD.as_bytes(), "{what}");
        found[0].clone()
    }

    #[test]
    fn a_licence_is_read_at_every_tilt_and_perspective() {
        for tilt in (-45..=45).step_by(15) {
            for (yaw, pitch) in [(0.0, 0.0), (25.0, 0.0), (0.0, -25.0)] {
                let shot = Shot {
                    tilt: f64::from(tilt),
                    yaw,
                    pitch,
                    ..STRAIGHT
                };
                assert_read(&photograph(PAYLOAD, &shot), &format!("{shot:?}"));
            }
        }
    }

    #[test]
    fn a_licence_is_read_turned_and_mirrored() {
        let picture = photograph(
            PAYLOAD,
            &Shot {
                tilt: 12.0,
                ..STRAIGHT
            },
        );
        for turns in 0..4 {
            assert_read(&picture.rotated(turns), &format!("{turns} quarter turns"));
            assert_read(
                &picture.rotated(turns).mirrored(),
                &format!("{turns} quarter turns, mirrored"),
            );
        }
    }

    #[test]
    fn a_damaged_licence_is_read() {
        let none = Damage::NONE;
        let kinds = [
            Damage {
                is_inverted: true,
                ..none
            },
            Damage {
                gaussian: 2.0,
                ..none
            },
            Damage { glare: 0.25, ..none },
            Damage {
                rows_gone: 0.2,
                ..none
            },
            Damage {
                rows_gone: 0.3,
                level: 6,
                ..none
            },
            Damage {
                is_inverted: true,
                gaussian: 2.0,
                rows_gone: 0.1,
                ..none
            },
        ];
        for (seed, damage) in (0..).zip(kinds) {
            for (tilt, yaw) in [(0.0, 0.0), (-17.0, 15.0)] {
                let shot = Shot {
                    tilt,
                    yaw,
                    damage: Damage { seed, ..damage },
                    ..STRAIGHT
                };
                assert_read(&photograph(PAYLOAD, &shot), &format!("{shot:?}"));
            }
        }
    }

    #[test]
    fn nothing_is_read_if_more_is_lost_than_can_be_corrected() {
        for seed in 0..4 {
            let damage = Damage {
                rows_gone: 0.45,
                seed,
                ..Damage::NONE
            };
            let found = read_barcodes(&photograph(PAYLOAD, &Shot { damage, ..STRAIGHT }), AMPLE);
            assert_eq!(found, [], "{seed}");
        }
    }

    #[test]
    fn corners_are_given_in_reading_order() {
        let straight = assert_read(&photograph(PAYLOAD, &STRAIGHT), "straight").corners;
        let side = photograph(PAYLOAD, &STRAIGHT).width as f32;
        assert!(
            straight[0].x < straight[1].x && straight[0].y < straight[3].y,
            "{straight:?}"
        );
        let head = assert_read(&photograph(PAYLOAD, &STRAIGHT).rotated(2), "upside down").corners;
        for (a, b) in straight.iter().zip(head) {
            assert!(
                a.distance(Point::new(side - b.x, side - b.y)) < 6.0,
                "{straight:?} {head:?}"
            );
        }
    }

    #[test]
    fn where_there_is_no_barcode_none_is_read() {
        let text = shoot(&STRAIGHT, [300.0, 200.0], |u, v| {
            if (u * v) as i64 & 5 == 0 { 30 } else { 220 }
        });
        let stripes = shoot(&STRAIGHT, [300.0, 200.0], |u, _| {
            if u as i64 & 1 == 0 { 30 } else { 220 }
        });
        for picture in [
            text,
            stripes,
            Picture::filled(300, 200, [255; 3]),
            Picture::filled(1, 1, [0; 3]),
        ] {
            assert_eq!(read_barcodes(&picture, AMPLE), []);
        }
        assert_eq!(
            read_barcodes(&photograph(PAYLOAD, &STRAIGHT), WorkBudget::pixels(0)),
            [],
            "no work, no reading"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_picture_makes_the_reader_panic(
            width in 1u32..90,
            height in 1u32..90,
            cell in 1u32..6,
            seed in prop::collection::vec(any::<u8>(), 64),
        ) {
            let grey = |index: u32| {
                let (x, y) = (index % width / cell, index / width / (2 * cell));
                seed[((x * 7 + y * 13) % 64) as usize] & 0xF8
            };
            let pixels = (0..width * height).flat_map(|index| [grey(index); 3]).collect();
            let picture = Picture::new(width, height, pixels).expect("the size fits");
            read_barcodes(&picture, WorkBudget::pixels(10_000_000));
        }
    }
}
