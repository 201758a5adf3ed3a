//! Tests of the whole pipeline on pages that are rendered here. They need only the models and Debian's OCR-B
//! font, and fail without them.

use std::sync::OnceLock;

use ab_glyph::{Font, FontVec, PxScale, ScaleFont};
use phone_camera::{Condition, FlatDocument, photograph};

use super::*;
use crate::reading::{DocumentKind, Source, field};

const OCR_B: &str = "/usr/share/fonts/opentype/ocr-b/OCRB.otf";

const TD3: [&str; 2] = [
    "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
    "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
];
const TD1: [&str; 3] = [
    "I<UTOD231458907<<<<<<<<<<<<<<<",
    "7408122F1204159UTO<<<<<<<<<<<6",
    "ERIKSSON<<ANNA<MARIA<<<<<<<<<<",
];
const TD2: [&str; 2] = [
    "I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<",
    "D231458907UTO7408122F1204159<<<<<<<6",
];

fn engine() -> &'static DocumentEngine {
    static ENGINE: OnceLock<DocumentEngine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let dir = inference::find_models_dir(None).expect("no models: run `make models`");
        let models = Models::open(&dir, 1).expect("models");
        DocumentEngine::new(Arc::new(models)).expect("engine")
    })
}

/// A page under construction: dark OCR-B print on a light, slightly uneven background.
struct Page {
    picture: Picture,
    font: FontVec,
}

impl Page {
    fn new(width: u32, height: u32) -> Self {
        let font = std::fs::read(OCR_B).expect("Debian package fonts-ocr-b");
        let font = FontVec::try_from_vec(font).expect("OCR-B");
        let mut picture = Picture::filled(width, height, [226, 232, 238]);
        for (i, pixel) in picture.pixels.chunks_exact_mut(3).enumerate() {
            let (x, y) = (i as u32 % width, i as u32 / width);
            pixel[0] -= ((x / 7 + y / 5) % 3 * 6) as u8;
        }
        Self { picture, font }
    }

    /// Prints a line with its top left corner at (x, y) and this height in pixels. `pitch` is the distance of
    /// its characters; 0 uses the font's.
    fn print(&mut self, text: &str, x: f32, y: f32, height: f32, pitch: f32) {
        let scale = PxScale::from(height);
        let scaled = self.font.as_scaled(scale);
        let mut pen = ab_glyph::point(x, y + scaled.ascent());
        for c in text.chars() {
            let glyph = self.font.glyph_id(c).with_scale_and_position(scale, pen);
            pen.x += if pitch > 0.0 {
                pitch
            } else {
                scaled.h_advance(glyph.id)
            };
            let Some(outline) = self.font.outline_glyph(glyph) else {
                continue;
            };
            let bounds = outline.px_bounds();
            outline.draw(|gx, gy, coverage| {
                let (px, py) = (
                    bounds.min.x as i64 + i64::from(gx),
                    bounds.min.y as i64 + i64::from(gy),
                );
                let inside = px >= 0
                    && py >= 0
                    && px < i64::from(self.picture.width)
                    && py < i64::from(self.picture.height);
                if inside {
                    let at = (py as usize * self.picture.width as usize + px as usize) * 3;
                    for value in &mut self.picture.pixels[at..at + 3] {
                        *value = (f32::from(*value) * (1.0 - coverage) + 25.0 * coverage) as u8;
                    }
                }
            });
        }
    }

    /// Prints a zone along the lower edge, across the width of the page.
    fn zone(&mut self, lines: &[&str]) {
        let (width, height) = (self.picture.width as f32, self.picture.height as f32);
        let pitch = width * 0.92 / lines[0].len() as f32;
        let top = height - pitch * 2.5 * lines.len() as f32 - height * 0.03;
        for (nth, line) in lines.iter().enumerate() {
            self.print(
                line,
                width * 0.04,
                top + pitch * 2.5 * nth as f32,
                pitch * 1.55,
                pitch,
            );
        }
    }
}

fn passport() -> Picture {
    let mut page = Page::new(1000, 700);
    page.print("PASSPORT", 40.0, 30.0, 40.0, 0.0);
    page.print("UTOPIA", 400.0, 30.0, 40.0, 0.0);
    for (label, value, y) in [
        ("Surname", "ERIKSSON", 100.0),
        ("Given names", "ANNA MARIA", 180.0),
        ("Date of birth", "12.08.1974", 260.0),
        ("Date of issue", "16.04.2002", 340.0),
        ("Date of expiry", "15.04.2012", 420.0),
    ] {
        page.print(label, 400.0, y, 20.0, 0.0);
        page.print(value, 400.0, y + 28.0, 30.0, 0.0);
    }
    page.zone(&TD3);
    page.picture
}

fn read(picture: &Picture) -> DocumentReading {
    engine().read(picture, &ReadHints::default()).expect("models run")
}

#[test]
fn a_passport_is_read_whole() {
    let reading = read(&passport());
    let mrz = reading.mrz.as_ref().expect("a zone");
    assert_eq!(mrz.lines, TD3);
    assert!(mrz.valid && mrz.accepted, "{:?} {:?}", mrz.margin, mrz.warnings);
    assert_eq!(reading.kind, DocumentKind::Passport);
    assert_eq!(reading.value(field::LAST_NAME), Some("ERIKSSON"));
    assert_eq!(reading.value(field::FIRST_NAME), Some("ANNA"));
    let issued = &reading.fields[field::ISSUE_DATE];
    assert_eq!(
        (issued.value.as_str(), issued.source),
        ("2002-04-16", Source::Ocr)
    );
    for stage in [
        "detect",
        "recognise",
        "mrz",
        "barcodes",
        "fields",
        "quality",
        "total",
    ] {
        assert!(reading.timing_ms.contains_key(stage), "{stage}");
    }
}

#[test]
fn every_turn_and_mirroring_reads_the_same() {
    let upright = passport();
    let pictures = (0..4).flat_map(|turns| [upright.rotated(turns), upright.rotated(turns).mirrored()]);
    for (nth, picture) in pictures.enumerate() {
        let reading = read(&picture);
        assert_eq!(
            reading.mrz.as_ref().map(|m| m.lines.as_slice()),
            Some(&TD3.map(String::from)[..]),
            "{nth}"
        );
        assert!(
            reading.text.iter().any(|line| line.text.contains("PASSPORT")),
            "{nth}"
        );
    }
}

/// What a phone does to a document: the zone is read under each condition that hides none of it.
#[test]
fn photographs_are_read_like_scans() {
    let picture = passport();
    let pitch = 0.92 * picture.width as f32 / TD3[0].len() as f32;
    let height = 2.0 * 2.5 * pitch;
    let document = FlatDocument {
        zone: [40.0, 679.0 - height, 920.0, height],
        capital_height: 0.945 * pitch,
        picture,
    };
    for (condition, seed) in [
        (Condition::Turned, 1),
        (Condition::StrongPerspective, 1),
        (Condition::StrongPerspective, 2),
        (Condition::SixtyPercent, 1),
        (Condition::ThirtyFivePercent, 1),
        (Condition::SideBySide, 1),
        (Condition::Gaussian4, 1),
    ] {
        let shot = photograph(&document, condition, seed).expect("a document with an extent");
        let mrz = read(&shot.picture).mrz;
        let lines = mrz.as_ref().map(|mrz| mrz.lines.as_slice());
        assert_eq!(
            lines,
            Some(&TD3.map(String::from)[..]),
            "{} {seed}",
            condition.as_str()
        );
    }
}

#[test]
fn tilted_and_small_zones_are_read() {
    let upright = passport();
    for degrees in [-12.0f64, 6.0] {
        let centre = Point::new(500.0, 350.0);
        let map = imaging::Homography::rotation(degrees.to_radians(), centre, 1150, 950);
        let reading = read(&upright.warp(&map, 1150, 950, [90; 3]));
        assert_eq!(reading.mrz.expect("a zone").lines, TD3, "{degrees}");
    }
    assert_eq!(read(&upright.resized(600, 420)).mrz.expect("a zone").lines, TD3);
}

#[test]
fn cards_of_both_sizes_are_told_apart() {
    for lines in [&TD1[..], &TD2[..]] {
        let mut page = Page::new(856, 540);
        page.print("IDENTITY CARD", 60.0, 40.0, 40.0, 0.0);
        page.zone(lines);
        let reading = read(&page.picture);
        assert_eq!(reading.mrz.expect("a zone").lines, lines);
        assert_eq!(reading.kind, DocumentKind::IdCard);
    }
}

#[test]
fn a_zone_printed_wrong_is_reported_as_printed() {
    let mut lines = TD3.map(str::to_owned);
    lines[1].replace_range(13..19, "750812");
    let mut page = Page::new(1000, 400);
    page.zone(&[&lines[0], &lines[1]]);
    let mrz = read(&page.picture).mrz.expect("a zone");
    assert_eq!(mrz.lines, lines);
    assert!(!mrz.valid && !mrz.accepted);
}

#[test]
fn a_licence_without_a_zone_gives_its_visual_fields() {
    let mut page = Page::new(900, 560);
    page.print("DRIVING LICENCE", 250.0, 30.0, 40.0, 0.0);
    for (text, y) in [
        ("1. MUSTERMANN", 110.0),
        ("2. ERIKA", 160.0),
        ("3. 12.08.1974 BERLIN", 210.0),
        ("4a. 01.02.2020", 260.0),
        ("4b. 31.01.2035", 310.0),
    ] {
        page.print(text, 250.0, y, 32.0, 0.0);
    }
    let reading = read(&page.picture);
    assert_eq!(reading.kind, DocumentKind::Drivers);
    assert!(reading.mrz.is_none());
    assert_eq!(reading.value(field::LAST_NAME), Some("MUSTERMANN"));
    assert_eq!(reading.value(field::BIRTH_DATE), Some("1974-08-12"));
    assert_eq!(reading.value(field::EXPIRY_DATE), Some("2035-01-31"));
}

#[test]
fn pictures_of_nothing_are_no_documents() {
    let noise = |i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8;
    let noisy = Picture::new(300, 200, (0..300 * 200 * 3).map(noise).collect()).expect("fits");
    for picture in [
        Picture::filled(1, 1, [0; 3]),
        Picture::filled(4000, 1, [255; 3]),
        Picture::filled(2, 3000, [128; 3]),
        Picture::filled(640, 480, [180, 170, 160]),
        noisy,
    ] {
        let reading = read(&picture);
        assert_eq!(reading.kind, DocumentKind::None, "{picture:?}");
        assert_eq!(reading.mrz, None);
        assert!(reading.fields.is_empty());
    }
}

#[test]
fn boxes_are_in_pixels_of_the_picture_also_if_it_is_read_smaller() {
    let (small, large) = (passport(), passport().resized(3000, 2100));
    let boxes = |picture: &Picture| {
        let reading = read(picture);
        let line = reading
            .text
            .iter()
            .find(|line| line.text == "ERIKSSON")
            .expect("a line");
        let field = reading.visual[field::LAST_NAME].bounds.expect("a box");
        [line.bounds, field].concat()
    };
    for (small, large) in boxes(&small).into_iter().zip(boxes(&large)) {
        assert!(
            (3.0 * small - large).abs() < 24.0,
            "{small} is not a third of {large}"
        );
    }
}

#[test]
fn a_batch_answers_every_line() {
    let file = std::env::temp_dir().join(format!("bonafide-read-{}.png", std::process::id()));
    let small = passport().resized(700, 490);
    std::fs::write(&file, imaging::encode_png(&small).expect("png")).expect("temporary file");
    let line = serde_json::json!({ "file": file }).to_string();
    let answer: serde_json::Value =
        serde_json::from_str(&crate::answer_line(engine(), &line, false)).expect("json");
    let searched: serde_json::Value =
        serde_json::from_str(&crate::answer_line(engine(), &line, true)).expect("json");
    std::fs::remove_file(&file).expect("temporary file");
    assert_eq!(answer["error"], serde_json::Value::Null);
    assert_eq!(answer["mrz"]["lines"][1], TD3[1]);
    assert!(answer["timingMs"]["decode"].as_f64().is_some());
    assert_eq!(answer["fraud"], serde_json::json!([]), "only on request");
    let signs = searched["fraud"].as_array().expect("a list");
    let screen = signs
        .iter()
        .find(|sign| sign["kind"] == "screen")
        .expect("a measure");
    // The page's background repeats every 21 by 15 pixels, like a screen.
    assert_eq!(screen["raised"], true, "{screen}");
    for (line, code) in [
        ("{\"file\":\"/nowhere\"}", "unreadable-file"),
        ("nonsense", "bad-line"),
        ("{\"f\":1}", "bad-line"),
    ] {
        let answer: serde_json::Value =
            serde_json::from_str(&crate::answer_line(engine(), line, false)).expect("json");
        assert_eq!(answer["error"]["code"], code);
    }
}
