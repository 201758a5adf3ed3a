//! Generates photographs of an invented licence's back at any tilt, for tests and measurements.

use imaging::{Homography, Luma, Picture, Point};
use rxing::pdf417::encoder::Dimensions;
use rxing::{BarcodeFormat, EncodeHints, Writer};

/// An invented licence's payload.
pub(crate) const PAYLOAD: &str = "@\n\u{1e}\rANSI 636000100002DL00410278ZV03190008DLDAQT64235789\nDCSSAMPLE\nDDEN\n\
    DACMICHAEL\nDDFN\nDADJOHN\nDDGN\nDCUJR\nDCAD\nDCBK\nDCDPH\nDBD06062019\nDBB06061986\nDBA12102030\nDBC1\nDAU068 in\n\
    DAYBRO\nDAG2300 WEST BROAD STREET\nDAIRICHMOND\nDAJVA\nDAK232690000  \nDCF2424244747474786102204\nDCGUSA\n\
    DCK123456789\nDDAF\nDDB06062018\nDDC06062020\nDDD1\rZVZVA01\r";

/// The properties of a photograph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shot {
    /// Columns of data codewords.
    pub(crate) columns: usize,
    /// Width of a module in pixels, without perspective.
    pub(crate) module: f64,
    /// Degrees in the picture's plane.
    pub(crate) tilt: f64,
    /// Degrees about the card's vertical axis.
    pub(crate) yaw: f64,
    /// Degrees about its horizontal axis.
    pub(crate) pitch: f64,
    /// Radius of a box blur in pixels.
    pub(crate) blur: u32,
    /// Approximate standard deviation of the noise in grey levels.
    pub(crate) noise: f64,
    /// What is wrong with the symbol or its photograph.
    pub(crate) damage: Damage,
}

/// Damage of a symbol and its photograph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Damage {
    /// Bars are white and the rest of the card is black.
    pub(crate) is_inverted: bool,
    /// Standard deviation of a Gaussian blur in pixels.
    pub(crate) gaussian: f64,
    /// Radius of a round spot of glare as a share of the symbol's height.
    pub(crate) glare: f64,
    /// Share of neighbouring rows that a sticker covers.
    pub(crate) rows_gone: f64,
    /// The symbol's level of error correction (0 … 8).
    pub(crate) level: u8,
    /// Decides the place of the glare and of the sticker.
    pub(crate) seed: u64,
}

impl Damage {
    pub(crate) const NONE: Self = Self {
        is_inverted: false,
        gaussian: 0.0,
        glare: 0.0,
        rows_gone: 0.0,
        level: 5,
        seed: 0,
    };

    /// A pseudo-random number from 0 to 1.
    fn chance(&self, index: u64) -> f64 {
        let mixed = (self.seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ (index + 1).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed >> 40) as f64 / f64::from(1 << 24)
    }
}

/// A payload of the same form as [`PAYLOAD`] with other letters and digits.
#[allow(dead_code, reason = "the table and the tests use different parts")]
pub(crate) fn payload(seed: u64) -> String {
    let random = Damage { seed, ..Damage::NONE };
    let (head, body) = PAYLOAD.split_at(60);
    let other = body.char_indices().map(|(index, letter)| {
        let next = |first: u8, count: f64| char::from(first + (random.chance(index as u64) * count) as u8);
        let is_identifier = body[..index].rfind('\n').is_some_and(|line| index - line <= 3);
        match letter {
            _ if is_identifier => letter,
            '0'..='9' => next(b'0', 10.0),
            'A'..='Z' => next(b'A', 26.0),
            _ => letter,
        }
    });
    head.chars().chain(other).collect()
}

/// Photographs the card's back: a white card with lines of text and the barcode, on a dark table.
pub(crate) fn photograph(payload: &str, shot: &Shot) -> Picture {
    let symbol = Symbol::encode(payload, shot.columns, shot.damage.level);
    // The unit is modules: an ID-1 card is 85.6 × 54 mm, and its barcode is about 72 mm wide.
    let (symbol_width, symbol_height) = (symbol.width as f64, symbol.rows as f64 * 3.0);
    let (card_width, card_height) = (symbol_width * 1.19, symbol_width * 0.75);
    let damage = shot.damage;
    let first_gone = damage.chance(0) * (1.0 - damage.rows_gone) * symbol_height;
    let gone = first_gone..first_gone + damage.rows_gone * symbol_height;
    let glare = [
        symbol_width * (0.1 + 0.8 * damage.chance(1)),
        symbol_height * damage.chance(2),
    ];
    shoot(shot, [card_width, card_height], |u, v| {
        // The barcode lies below the card's middle, lines of text above it.
        let column = u - (card_width - symbol_width) / 2.0;
        let row = v - (card_height - symbol_height) / 2.0 - card_height * 0.1;
        let grey = match symbol.is_black(column, row / 3.0) {
            Some(_) if gone.contains(&row) => 190,
            Some(true) => 40,
            Some(false) => 215,
            None if text_is_black(u, v, card_height) => 60,
            None => 215,
        };
        let from_glare = (column - glare[0]).hypot(row - glare[1]);
        if from_glare < damage.glare * symbol_height {
            255
        } else if damage.is_inverted {
            255 - grey
        } else {
            grey
        }
    })
}

/// Photographs a flat surface on a dark table. `ink` gives the grey level at a position; [`Shot::module`] is
/// the size of its unit in pixels.
pub(crate) fn shoot(shot: &Shot, [width, height]: [f64; 2], ink: impl Fn(f64, f64) -> u8) -> Picture {
    const SAMPLES: u32 = 2;
    const TABLE: u8 = 70;
    let camera = Camera::new(shot, width);
    let side = (width.hypot(height) * shot.module * 1.25) as u32;
    let map = camera.picture_to_card(side);
    let mut noise = Noise(
        shot.damage.seed ^ shot.tilt.to_bits() ^ shot.yaw.to_bits().rotate_left(7) ^ shot.pitch.to_bits(),
    );
    let mut luma = Luma::filled(side, side, TABLE);
    for (index, grey) in luma.pixels.iter_mut().enumerate() {
        let (x, y) = (index as u32 % side, index as u32 / side);
        let mut sum = 0;
        for sample in 0..SAMPLES * SAMPLES {
            let offset = |index: u32| (index as f32 + 0.5) / SAMPLES as f32;
            let at = Point::new(
                x as f32 + offset(sample % SAMPLES),
                y as f32 + offset(sample / SAMPLES),
            );
            let at = map.apply(at);
            let (u, v) = (f64::from(at.x) + width / 2.0, f64::from(at.y) + height / 2.0);
            let inside = u >= 0.0 && v >= 0.0 && u < width && v < height;
            sum += u32::from(if inside { ink(u, v) } else { TABLE });
        }
        *grey = (sum / (SAMPLES * SAMPLES)) as u8;
    }
    let blurred = gaussian(&blur(&luma, shot.blur), shot.damage.gaussian);
    let noisy = blurred
        .pixels
        .iter()
        .map(|&grey| (f64::from(grey) + noise.next() * shot.noise) as u8);
    Picture {
        width: side,
        height: side,
        pixels: noisy.flat_map(|grey| [grey; 3]).collect(),
    }
}

/// A pattern like words, above the barcode.
fn text_is_black(u: f64, v: f64, card_height: f64) -> bool {
    let (line, within) = ((v / 9.0) as i64, v % 9.0);
    if v > card_height * 0.22 || !(2.0..7.0).contains(&within) {
        return false;
    }
    let cell = ((u / 1.3).floor() as i64).wrapping_mul(31) ^ line.wrapping_mul(17) ^ (within as i64 / 2);
    cell.wrapping_mul(0x9E37_79B9).rotate_left(9) & 3 == 0
}

struct Camera {
    rotation: [[f64; 3]; 3],
    distance: f64,
    focal: f64,
}

impl Camera {
    fn new(shot: &Shot, card_width: f64) -> Self {
        let [tilt, yaw, pitch] =
            [shot.tilt, shot.yaw, shot.pitch].map(|degrees| degrees.to_radians().sin_cos());
        let turn = [[tilt.1, -tilt.0, 0.0], [tilt.0, tilt.1, 0.0], [0.0, 0.0, 1.0]];
        let about_y = [[yaw.1, 0.0, yaw.0], [0.0, 1.0, 0.0], [-yaw.0, 0.0, yaw.1]];
        let about_x = [[1.0, 0.0, 0.0], [0.0, pitch.1, -pitch.0], [0.0, pitch.0, pitch.1]];
        let product = |a: [[f64; 3]; 3], b: [[f64; 3]; 3]| {
            a.map(|row| [0, 1, 2].map(|column| (0..3).map(|k| row[k] * b[k][column]).sum()))
        };
        // The distance of a hand-held phone is about three card widths.
        let distance = 3.0 * card_width;
        Self {
            rotation: product(turn, product(about_x, about_y)),
            distance,
            focal: distance * shot.module,
        }
    }

    /// The map from the picture's pixels to the card, whose centre is (0, 0).
    fn picture_to_card(&self, side: u32) -> Homography {
        let [[a, b, _], [c, d, _], [e, f, _]] = self.rotation;
        let (focal, half) = (self.focal, f64::from(side) / 2.0);
        let project = Homography([
            [focal * a + half * e, focal * b + half * f, half * self.distance],
            [focal * c + half * e, focal * d + half * f, half * self.distance],
            [e, f, self.distance],
        ]);
        project.inverse().expect("a camera in front of the card")
    }
}

/// A symbol's modules.
struct Symbol {
    width: usize,
    rows: usize,
    black: Vec<bool>,
}

impl Symbol {
    fn encode(payload: &str, columns: usize, level: u8) -> Self {
        let hints = EncodeHints {
            ErrorCorrection: Some(level.to_string()),
            Margin: Some("0".into()),
            Pdf417Dimensions: Some(Dimensions::new(columns, columns, 3, 90)),
            ..EncodeHints::default()
        };
        // The writer makes every row four pixels high and every module one pixel wide.
        let bits = rxing::pdf417::PDF417Writer
            .encode_with_hints(payload, &BarcodeFormat::PDF_417, 4, 1, &hints)
            .expect("the payload fits");
        let (width, rows) = (bits.getWidth() as usize, bits.getHeight() as usize / 4);
        let cell = |index: usize| bits.get((index % width) as u32, (index / width * 4 + 1) as u32);
        Self {
            width,
            rows,
            black: (0..width * rows).map(cell).collect(),
        }
    }

    /// Whether a module is black; `None` outside the symbol.
    fn is_black(&self, column: f64, row: f64) -> Option<bool> {
        let inside = column >= 0.0 && row >= 0.0 && column < self.width as f64 && row < self.rows as f64;
        inside.then(|| self.black[row as usize * self.width + column as usize])
    }
}

/// A box blur.
fn blur(luma: &Luma, radius: u32) -> Luma {
    if radius == 0 {
        return luma.clone();
    }
    let integral = luma.integral();
    let mut blurred = luma.clone();
    for y in 0..luma.height {
        for x in 0..luma.width {
            let (left, top) = (x.saturating_sub(radius), y.saturating_sub(radius));
            let mean = integral.mean(left, top, x + radius + 1, y + radius + 1);
            blurred.pixels[(y * luma.width + x) as usize] = mean as u8;
        }
    }
    blurred
}

/// A Gaussian blur with a standard deviation in pixels.
fn gaussian(luma: &Luma, deviation: f64) -> Luma {
    if deviation == 0.0 {
        return luma.clone();
    }
    let reach = (3.0 * deviation).ceil() as i64;
    let weights: Vec<f64> = (-reach..=reach)
        .map(|at| (-0.5 * (at as f64 / deviation).powi(2)).exp())
        .collect();
    let total: f64 = weights.iter().sum();
    let along = |luma: &Luma, [dx, dy]: [i64; 2]| {
        let mut blurred = luma.clone();
        for (index, grey) in blurred.pixels.iter_mut().enumerate() {
            let (x, y) = (
                index as i64 % i64::from(luma.width),
                index as i64 / i64::from(luma.width),
            );
            let sum: f64 = weights
                .iter()
                .zip(-reach..)
                .map(|(weight, at)| {
                    let x = (x + at * dx).clamp(0, i64::from(luma.width) - 1);
                    let y = (y + at * dy).clamp(0, i64::from(luma.height) - 1);
                    weight * f64::from(luma.pixel(x as u32, y as u32))
                })
                .sum();
            *grey = (sum / total).round() as u8;
        }
        blurred
    };
    along(&along(luma, [1, 0]), [0, 1])
}

/// Approximately normal noise: the sum of uniform random numbers.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        let mut sum = 0.0;
        for _ in 0..4 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            sum += (self.0 >> 40) as f64 / f64::from(1 << 24) - 0.5;
        }
        sum * 1.7
    }
}
