//! Draws the specimen documents: invented layouts for the state of Utopia, before they are photographed. They
//! imitate no real document, and every one has the word SPECIMEN.

use anyhow::Result;
use imaging::Picture;

use super::{
    canvas::{BLACK, Canvas, Colour, Fonts},
    licence,
    person::Person,
};

const LABEL: Colour = [92, 96, 120];
const MRZ_PAPER: Colour = [246, 246, 242];

/// The size of a sheet in millimetres and its resolution.
struct Format {
    width: f32,
    height: f32,
    /// Pixels per millimetre.
    scale: f32,
}

const TD3: Format = Format {
    width: 125.0,
    height: 88.0,
    scale: 10.0,
};
const TD2: Format = Format {
    width: 105.0,
    height: 74.0,
    scale: 12.0,
};
const TD1: Format = Format {
    width: 85.6,
    height: 54.0,
    scale: 14.0,
};

/// The width and height of the portrait in every layout, in pixels.
pub(crate) const PORTRAIT: [u32; 2] = [350, 450];

/// The zone has ten characters and four lines per inch (ICAO 9303-3 §4.2). OCR-B's capitals are 2.4 mm high.
const PITCH: f32 = 2.54;
const LINE: f32 = 6.35;
const CAPITAL: f32 = 2.4;
/// The first baseline of the zone in each layout, in millimetres.
const PASSPORT_ZONE: f32 = 74.2;
const LARGE_ID_ZONE: f32 = 60.2;
const SMALL_ID_ZONE: f32 = 37.8;

fn left_of_zone(width: f32, lines: &[String]) -> f32 {
    let longest = lines.iter().map(String::len).max().unwrap_or(0);
    ((width - longest as f32 * PITCH) / 2.0).max(1.5)
}

/// The box around the zone of a passport, a large ID card, or the back of a small one, by the number of its lines and
/// their length: left, top, width and height in pixels of the flat picture.
pub(crate) fn box_of_zone(lines: &[String]) -> [f32; 4] {
    let length = lines.first().map_or(0, String::len);
    let (format, baseline) = match (lines.len(), length) {
        (2, 44) => (&TD3, PASSPORT_ZONE),
        (2, _) => (&TD2, LARGE_ID_ZONE),
        _ => (&TD1, SMALL_ID_ZONE),
    };
    let below_first = lines.len().saturating_sub(1) as f32 * LINE;
    [
        left_of_zone(format.width, lines),
        baseline - CAPITAL,
        length as f32 * PITCH,
        CAPITAL + below_first,
    ]
    .map(|millimetres| millimetres * format.scale)
}

/// A sheet under construction; coordinates are millimetres.
struct Sheet<'a> {
    canvas: Canvas,
    fonts: &'a Fonts,
    scale: f32,
    width: f32,
}

impl<'a> Sheet<'a> {
    fn new(fonts: &'a Fonts, format: &Format, paper: Colour, waves: [Colour; 2], title: &str) -> Self {
        let pixels = |millimetres: f32| (millimetres * format.scale) as u32;
        let mut canvas = Canvas::new(pixels(format.width), pixels(format.height), paper);
        canvas.guilloche(waves, title.len() as f32);
        let mut sheet = Self {
            canvas,
            fonts,
            scale: format.scale,
            width: format.width,
        };
        let band = 0.095 * format.height;
        sheet.canvas.rectangle(
            0,
            0,
            (format.width * format.scale) as i32,
            (band * format.scale) as i32,
            waves[0],
            0.55,
        );
        sheet.write(
            &fonts.value,
            0.058 * format.height,
            4.0,
            band * 0.75,
            BLACK,
            "UTOPIA",
        );
        sheet.write(
            &fonts.value,
            0.048 * format.height,
            format.width * 0.33,
            band * 0.73,
            BLACK,
            title,
        );
        sheet.write(
            &fonts.label,
            0.036 * format.height,
            format.width - 19.0,
            band * 0.73,
            BLACK,
            "SPECIMEN",
        );
        sheet
    }

    fn write(
        &mut self,
        font: &ab_glyph::FontVec,
        height: f32,
        x: f32,
        baseline: f32,
        colour: Colour,
        text: &str,
    ) {
        let scale = self.scale;
        self.canvas
            .text(font, height * scale, x * scale, baseline * scale, colour, text);
    }

    /// Draws a label with its value below.
    fn field(&mut self, x: f32, y: f32, label: &str, value: &str) {
        let fonts = self.fonts;
        self.write(&fonts.label, 2.2, x, y, LABEL, label);
        self.write(&fonts.value, 3.4, x, y + 3.7, BLACK, value);
    }

    fn portrait(&mut self, x: f32, y: f32, portrait: &Picture) {
        let at = |millimetres: f32| (millimetres * self.scale) as i32;
        let (x, y, width, height) = (at(x), at(y), portrait.width as i32, portrait.height as i32);
        self.canvas
            .rectangle(x - 3, y - 3, width + 6, height + 6, [120, 124, 140], 1.0);
        self.canvas.paste(x as u32, y as u32, portrait);
    }

    /// Draws the machine-readable zone with its first baseline at `y`.
    fn mrz(&mut self, y: f32, lines: &[String]) {
        let left = left_of_zone(self.width, lines);
        let at = |millimetres: f32| (millimetres * self.scale) as i32;
        let (top, height) = (at(y - 5.0), at(LINE * lines.len() as f32 + 5.0));
        self.canvas
            .rectangle(0, top, at(self.width), height, MRZ_PAPER, 0.9);
        for (number, line) in lines.iter().enumerate() {
            let baseline = (y + number as f32 * LINE) * self.scale;
            self.canvas.pitched(
                &self.fonts.ocr_b,
                PITCH * self.scale,
                left * self.scale,
                baseline,
                BLACK,
                line,
            );
        }
    }

    fn finish(self) -> Picture {
        self.canvas.picture
    }
}

/// A passport's data page. The MRZ is independent of the printed data; `None` prints no MRZ.
pub(crate) fn passport(
    fonts: &Fonts,
    printed: &Person,
    mrz: Option<&[String]>,
    portrait: &Picture,
) -> Picture {
    let mut sheet = Sheet::new(
        fonts,
        &TD3,
        [232, 230, 240],
        [[150, 140, 196], [206, 160, 170]],
        "PASSPORT / PASSEPORT",
    );
    sheet.portrait(5.0, 14.0, portrait);
    let (left, right) = (46.0, 90.0);
    sheet.field(left, 13.0, "Type", "P");
    sheet.field(66.0, 13.0, "Code", "UTO");
    sheet.field(right, 13.0, "Passport No.", printed.number);
    sheet.field(left, 21.5, "Surname", &printed.surname.to_uppercase());
    sheet.field(left, 30.0, "Given names", &printed.given.to_uppercase());
    sheet.field(left, 38.5, "Nationality", "UTOPIAN");
    sheet.field(left, 47.0, "Date of birth", &printed.born.printed());
    sheet.field(right, 47.0, "Sex", &printed.sex.to_string());
    sheet.field(left, 55.5, "Date of issue", &printed.issued.printed());
    sheet.field(right, 55.5, "Date of expiry", &printed.expires.printed());
    if let Some(lines) = mrz {
        sheet.mrz(PASSPORT_ZONE, lines);
    }
    sheet.finish()
}

/// An ID card of the larger size: portrait, text and MRZ on the front.
pub(crate) fn large_id_front(fonts: &Fonts, printed: &Person, mrz: &[String], portrait: &Picture) -> Picture {
    let mut sheet = Sheet::new(
        fonts,
        &TD2,
        [228, 238, 232],
        [[130, 180, 160], [170, 190, 140]],
        "IDENTITY CARD",
    );
    sheet.portrait(4.0, 10.5, portrait);
    let (left, right) = (38.0, 72.0);
    sheet.field(left, 11.0, "Surname", &printed.surname.to_uppercase());
    sheet.field(left, 19.0, "Given names", &printed.given.to_uppercase());
    sheet.field(left, 27.0, "Date of birth", &printed.born.printed());
    sheet.field(right, 27.0, "Sex", &printed.sex.to_string());
    sheet.field(left, 35.0, "Document No.", printed.number);
    sheet.field(right, 35.0, "Nationality", "UTOPIAN");
    sheet.field(left, 43.0, "Date of issue", &printed.issued.printed());
    sheet.field(right, 43.0, "Date of expiry", &printed.expires.printed());
    sheet.mrz(LARGE_ID_ZONE, mrz);
    sheet.finish()
}

/// The back of the larger ID card, without an MRZ or a barcode.
pub(crate) fn large_id_back(fonts: &Fonts) -> Picture {
    let mut sheet = Sheet::new(
        fonts,
        &TD2,
        [228, 238, 232],
        [[130, 180, 160], [170, 190, 140]],
        "IDENTITY CARD",
    );
    sheet.field(6.0, 16.0, "Address", "7 HARBOUR LANE, AMAUROTE");
    sheet.field(6.0, 26.0, "Issuing authority", "REGISTRY OF AMAUROTE");
    sheet.field(6.0, 36.0, "If found", "RETURN TO ANY POST OFFICE");
    sheet.finish()
}

/// The front of an ID card or a residence permit of credit-card size.
pub(crate) fn small_id_front(fonts: &Fonts, title: &str, printed: &Person, portrait: &Picture) -> Picture {
    let permit = title.contains("PERMIT");
    let (paper, waves) = if permit {
        ([242, 230, 224], [[206, 150, 130], [150, 160, 196]])
    } else {
        ([226, 234, 242], [[130, 160, 200], [160, 190, 170]])
    };
    let mut sheet = Sheet::new(fonts, &TD1, paper, waves, title);
    sheet.portrait(3.5, 8.5, portrait);
    let (left, right) = (32.0, 60.0);
    sheet.field(left, 9.0, "Surname", &printed.surname.to_uppercase());
    sheet.field(left, 16.5, "Given names", &printed.given.to_uppercase());
    sheet.field(left, 24.0, "Date of birth", &printed.born.printed());
    sheet.field(right, 24.0, "Sex", &printed.sex.to_string());
    sheet.field(left, 31.5, "Document No.", printed.number);
    sheet.field(right, 31.5, "Nationality", "UTOPIAN");
    sheet.field(left, 39.0, "Date of issue", &printed.issued.printed());
    sheet.field(right, 39.0, "Date of expiry", &printed.expires.printed());
    sheet.field(
        left,
        46.5,
        if permit { "Type of permit" } else { "Authority" },
        if permit { "RESIDENCE" } else { "AMAUROTE" },
    );
    sheet.finish()
}

/// The back of a credit-card-sized card, with its MRZ.
pub(crate) fn small_id_back(fonts: &Fonts, title: &str, mrz: &[String]) -> Picture {
    let mut sheet = Sheet::new(
        fonts,
        &TD1,
        [236, 236, 240],
        [[160, 170, 200], [190, 180, 160]],
        title,
    );
    sheet.field(6.0, 11.0, "Address", "7 HARBOUR LANE, AMAUROTE");
    sheet.field(6.0, 19.5, "Issuing authority", "REGISTRY OF AMAUROTE");
    sheet.mrz(SMALL_ID_ZONE, mrz);
    sheet.finish()
}

/// The front of a driver's licence with the field numbers of AAMVA's standard. `None` prints only title and
/// portrait.
pub(crate) fn licence_front(fonts: &Fonts, printed: Option<&Person>, portrait: &Picture) -> Picture {
    let waves = [[196, 180, 120], [140, 180, 190]];
    let mut sheet = Sheet::new(fonts, &TD1, [238, 236, 222], waves, "DRIVER LICENSE");
    sheet.portrait(3.5, 8.5, portrait);
    if let Some(printed) = printed {
        let (left, right) = (32.0, 60.0);
        sheet.field(left, 9.0, "4d DLN", printed.number);
        sheet.field(right, 9.0, "9 CLASS", "C");
        sheet.field(left, 16.5, "1 Surname", &printed.surname.to_uppercase());
        sheet.field(left, 24.0, "2 Given names", &printed.given.to_uppercase());
        sheet.field(left, 31.5, "3 DOB", &printed.born.american());
        sheet.field(right, 31.5, "15 SEX", &printed.sex.to_string());
        sheet.field(left, 39.0, "4a ISS", &printed.issued.american());
        sheet.field(right, 39.0, "4b EXP", &printed.expires.american());
        sheet.field(left, 46.5, "8 Address", "7 HARBOUR LANE, AMAUROTE");
    }
    sheet.finish()
}

/// The back of a driver's licence with this payload as a PDF417 symbol; `None` prints no barcode.
pub(crate) fn licence_back(fonts: &Fonts, payload: Option<&str>) -> Result<Picture> {
    let mut sheet = Sheet::new(
        fonts,
        &TD1,
        [240, 240, 236],
        [[196, 186, 150], [170, 190, 196]],
        "DRIVER LICENSE",
    );
    if let Some(payload) = payload {
        let barcode = licence::pdf417(payload, 3)?;
        let (x, y) = (
            (sheet.canvas.picture.width - barcode.width) / 2,
            (9.0 * sheet.scale) as u32,
        );
        sheet.canvas.paste(x, y, &barcode);
    }
    sheet.field(6.0, 45.0, "12 Restrictions", "NONE");
    sheet.field(40.0, 45.0, "9a Endorsements", "NONE");
    Ok(sheet.finish())
}
