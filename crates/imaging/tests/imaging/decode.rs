//! Every format is decoded upright and completely, and every hostile file gives its typed error.

use std::time::{Duration, Instant};

use imaging::{DecodeError, Decoded, Format, Limits, Picture, decode};
use proptest::prelude::*;

use crate::files::*;

fn decoded(bytes: &[u8]) -> Decoded {
    decode(bytes, &Limits::default()).expect("a valid file")
}

fn refused(bytes: &[u8]) -> DecodeError {
    decode(bytes, &Limits::default()).expect_err("a bad file")
}

/// Whether two colours are equal except for compression.
fn near(a: [u8; 3], b: [u8; 3], tolerance: u8) -> bool {
    a.iter().zip(b).all(|(a, b)| a.abs_diff(b) <= tolerance)
}

fn assert_halves(picture: &Picture, tolerance: u8, what: &str) {
    let (left, right) = (picture.pixel(2, 2), picture.pixel(picture.width - 3, 2));
    assert!(
        near(left, RED, tolerance) && near(right, BLUE, tolerance),
        "{what}: {left:?} {right:?}"
    );
}

#[test]
fn every_format_is_read() {
    let picture = two_halves(32, 16);
    let cases: [(&str, Format, Vec<u8>, u8); 8] = [
        ("png", Format::Png, png(&picture), 0),
        ("webp, lossless", Format::Webp, webp(&picture), 0),
        ("bmp", Format::Bmp, bmp(&picture), 0),
        ("jpeg", Format::Jpeg, jpeg(&picture), 6),
        ("jpeg, progressive", Format::Jpeg, PROGRESSIVE_JPEG.to_vec(), 6),
        ("jpeg, YCCK", Format::Jpeg, CMYK_JPEG.to_vec(), 20),
        ("webp, lossy", Format::Webp, LOSSY_WEBP.to_vec(), 20),
        ("webp, first frame", Format::Webp, ANIMATED_WEBP.to_vec(), 20),
    ];
    for (what, format, bytes, tolerance) in cases {
        let decoded = decode(&bytes, &Limits::default()).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(
            (decoded.format, decoded.page, decoded.exif_orientation),
            (format, None, 1),
            "{what}"
        );
        assert_eq!(
            (decoded.picture.width, decoded.picture.height),
            (32, 16),
            "{what}"
        );
        assert_halves(&decoded.picture, tolerance, what);
    }
}

#[test]
fn transparency_lies_on_white_and_sixteen_bits_become_eight() {
    let cases: [(&[u16], bool, [u8; 3]); 8] = [
        (&[90], false, [90; 3]),
        (&[0, 0], false, [255; 3]),
        (&[0, 128], false, [127; 3]),
        (&[10, 20, 30], false, [10, 20, 30]),
        (&[10, 20, 30, 0], false, [255; 3]),
        (&[0x8080], true, [128; 3]),
        (&[0, 0x7FFF, 0xFFFF], true, [0, 127, 255]),
        (&[0, 0, 0, 0x8080], true, [127; 3]),
    ];
    for (samples, sixteen, expected) in cases {
        let decoded = decoded(&png_pixel(samples, sixteen));
        assert_eq!(decoded.picture.pixel(0, 0), expected, "{samples:?}");
    }
}

#[test]
fn exif_orientations_come_upright_in_jpeg_and_png() {
    let upright = two_halves(32, 16);
    // A camera in this orientation stores the inverse of the tag's transformation.
    let stored = [
        (1, upright.clone()),
        (2, upright.mirrored()),
        (3, upright.rotated(2)),
        (4, upright.rotated(2).mirrored()),
        (5, upright.rotated(1).mirrored()),
        (6, upright.rotated(3)),
        (7, upright.rotated(3).mirrored()),
        (8, upright.rotated(1)),
    ];
    for (orientation, picture) in stored {
        let jpeg = decoded(&with_orientation(&jpeg(&picture), orientation));
        assert_eq!(jpeg.exif_orientation, orientation);
        assert_eq!(
            (jpeg.source_width, jpeg.source_height),
            (picture.width, picture.height)
        );
        assert_eq!((jpeg.picture.width, jpeg.picture.height), (32, 16));
        assert_halves(&jpeg.picture, 8, "jpeg");
        let png = decoded(&png_with_orientation(&png(&picture), orientation));
        assert_eq!(
            (png.exif_orientation, png.picture),
            (orientation, upright.clone())
        );
    }
    for nonsense in [0, 9, 255] {
        assert_eq!(
            decoded(&with_orientation(&jpeg(&upright), nonsense)).exif_orientation,
            1
        );
    }
}

#[test]
fn large_pictures_are_reduced_on_request() {
    let limits = Limits {
        max_side: Some(40),
        ..Limits::default()
    };
    let decoded = decode(&png(&two_halves(200, 100)), &limits).expect("a valid file");
    assert_eq!((decoded.picture.width, decoded.picture.height), (40, 20));
    assert_eq!((decoded.source_width, decoded.source_height), (200, 100));
}

#[test]
fn bad_files_are_typed() {
    let picture = two_halves(32, 16);
    let jpeg = jpeg(&picture);
    // A camera's progressive file whose last scan, with header and data, is repeated.
    let last_scan = PROGRESSIVE_JPEG
        .windows(2)
        .rposition(|pair| pair == [0xFF, 0xDA])
        .expect("has scans");
    let (head, scan) = PROGRESSIVE_JPEG[..PROGRESSIVE_JPEG.len() - 2].split_at(last_scan);
    let many_scans = [head, &scan.repeat(101), &[0xFF, 0xD9]].concat();
    let mut lossless = jpeg.clone();
    let frame = lossless
        .windows(2)
        .position(|pair| pair == [0xFF, 0xC0])
        .expect("has a frame");
    lossless[frame + 1] = 0xC3;
    let mut no_size = jpeg.clone();
    no_size[frame + 5..frame + 9].fill(0);
    let mut vast = jpeg.clone();
    vast[frame + 5..frame + 9].fill(0xFF);
    let many = DecodeError::TooManyPixels {
        width: 65_535,
        height: 65_535,
    };
    let cases: [(&str, Vec<u8>, DecodeError); 16] = [
        ("nothing", vec![], DecodeError::Empty),
        ("a text", b"hello, world".to_vec(), DecodeError::UnknownFormat),
        (
            "a GIF",
            b"GIF89a\x01\0\x01\0\0\0\0;".to_vec(),
            DecodeError::UnknownFormat,
        ),
        (
            "an SVG",
            b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec(),
            DecodeError::UnknownFormat,
        ),
        (
            "half a JPEG",
            jpeg[..jpeg.len() / 2].to_vec(),
            DecodeError::Truncated,
        ),
        (
            "a JPEG without its last byte",
            jpeg[..jpeg.len() - 1].to_vec(),
            DecodeError::Truncated,
        ),
        (
            "a JPEG's first bytes",
            vec![0xFF, 0xD8, 0xFF],
            DecodeError::Truncated,
        ),
        ("a lossless JPEG", lossless, DecodeError::Unsupported),
        ("a JPEG of no size", no_size, DecodeError::Damaged),
        ("a vast JPEG", vast, many.clone()),
        ("a JPEG of many scans", many_scans, DecodeError::TooManyScans),
        ("a PNG bomb", png_bomb(65_535, 65_535), many),
        (
            "a PNG cut short",
            png(&textured(32, 16))[..700].to_vec(),
            DecodeError::Truncated,
        ),
        (
            "a BMP cut short",
            bmp(&picture)[..700].to_vec(),
            DecodeError::Truncated,
        ),
        (
            "a WEBP cut short",
            webp(&textured(32, 16))[..700].to_vec(),
            DecodeError::Truncated,
        ),
        ("a PDF's first bytes", b"%PDF-1.7".to_vec(), DecodeError::Damaged),
    ];
    for (what, bytes, expected) in cases {
        assert_eq!(refused(&bytes), expected, "{what}");
    }
}

/// A file that was truncated and then got an end marker is as incomplete as one that was only truncated.
#[test]
fn a_jpeg_that_was_cut_and_closed_is_refused() {
    let whole = jpeg(&textured(64, 64));
    for part in [0.3, 0.5, 0.8] {
        let mut cut = whole[..(whole.len() as f64 * part) as usize].to_vec();
        cut.extend([0xFF, 0xD9]);
        assert_eq!(refused(&cut), DecodeError::Truncated, "{part}");
    }
}

/// Blank last rows need few bits. The check above must not treat them as missing.
#[test]
fn tiny_and_blank_jpegs_are_whole() {
    for (width, height) in [(1, 1), (1, 300), (8, 8), (16, 64), (17, 33), (300, 1)] {
        let decoded = decoded(&jpeg(&Picture::filled(width, height, [255; 3])));
        assert_eq!(decoded.picture, Picture::filled(width, height, [255; 3]));
    }
}

#[test]
fn a_polyglot_is_its_first_format() {
    let two = [jpeg(&two_halves(32, 16)), pdf_pages(SMALL_PAGE, &[RED_BOX], "")].concat();
    assert_eq!(decoded(&two).format, Format::Jpeg);
    let trailing = [png(&two_halves(32, 16)), b"PK\x03\x04 a zip".to_vec()].concat();
    assert_eq!(decoded(&trailing).format, Format::Png);
}

#[test]
fn a_pdf_gives_its_first_page_that_holds_something() {
    let file = pdf_pages(
        SMALL_PAGE,
        &["", "1 1 1 rg 0 0 200 100 re f", RED_BOX, "", RED_BOX],
        "",
    );
    let first = decoded(&file);
    assert_eq!(
        (first.format, first.page, first.pages),
        (Format::Pdf, Some(2), Some(5))
    );
    // The page has 200 × 100 points, at 300 dots per inch.
    assert_eq!((first.picture.width, first.picture.height), (833, 416));
    let [red, white] = [first.picture.pixel(300, 200), first.picture.pixel(800, 20)];
    assert!(
        near(red, [204, 26, 26], 2) && near(white, [255; 3], 0),
        "{red:?} {white:?}"
    );
    let next = decode(
        &file,
        &Limits {
            from_page: 3,
            ..Limits::default()
        },
    )
    .expect("one more");
    assert_eq!(next.page, Some(4));
    let beyond = decode(
        &file,
        &Limits {
            from_page: 5,
            ..Limits::default()
        },
    );
    assert_eq!(beyond, Err(DecodeError::NoPage));
}

#[test]
fn pdf_pages_are_capped_before_they_are_rendered() {
    let content = "0.8 0 0 rg 0 0 1500 100000 re f";
    for size in [
        "0 0 200000 200000",
        "0 0 14400 14400",
        "-5000 -5000 5000 5000",
        "0 0 3000 2000",
    ] {
        let decoded = decoded(&pdf_pages(size, &[content], ""));
        let pixels = u64::from(decoded.picture.width) * u64::from(decoded.picture.height);
        assert!((8_000_000..=20_000_000).contains(&pixels), "{size}: {pixels}");
    }
    for size in ["0 0 200000 1", "0 0 1e38 1e38", "0 0 1e30 10"] {
        let outcome = decode(&pdf_pages(size, &[content], ""), &Limits::default());
        let harmless = matches!(outcome, Err(DecodeError::PageSize | DecodeError::NoPage));
        assert!(harmless, "{size}: {outcome:?}");
    }
}

#[test]
fn hostile_pdfs_are_typed() {
    let one = |catalog: &str| pdf_pages(SMALL_PAGE, &[RED_BOX], catalog);
    let cases: [(&str, Vec<u8>, DecodeError); 11] = [
        ("eleven pages", pdf_pages(SMALL_PAGE, &[RED_BOX; 11], ""), DecodeError::TooManyPages),
        ("a thousand pages", pdf_pages(SMALL_PAGE, &[RED_BOX; 1000], ""), DecodeError::TooManyPages),
        ("blank", pdf_pages(SMALL_PAGE, &[""], ""), DecodeError::NoPage),
        ("script on opening", one("/OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >>"), DecodeError::ScriptedPdf),
        ("named script", one("/Names << /JavaScript << /Names [(a) << /S /JavaScript >>] >> >>"), DecodeError::ScriptedPdf),
        ("escaped name", one("/OpenAction << /S /Java#53cript >>"), DecodeError::ScriptedPdf),
        ("launch", one("/AA << /WC << /S /Launch /F (cmd.exe) >> >>"), DecodeError::ScriptedPdf),
        ("submit", one("/Kids [[<< /A << /S /SubmitForm >> >>]]"), DecodeError::ScriptedPdf),
        ("XFA", one("/AcroForm << /XFA (x) >>"), DecodeError::ScriptedPdf),
        ("password", PASSWORD_PDF.to_vec(), DecodeError::PasswordNeeded),
        ("huge image", pdf(&[
            "<< /Type /Catalog /Pages 2 0 R >>".into(),
            "<< /Type /Pages /Count 1 /Kids [3 0 R] >>".into(),
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] >>".into(),
            "<< /Type /XObject /Subtype /Image /Width 100000 /Height 100000 /Length 0 >>\nstream\n\nendstream".into(),
        ]), DecodeError::TooManyPixels { width: 100_000, height: 100_000 }),
    ];
    for (what, bytes, expected) in cases {
        assert_eq!(refused(&bytes), expected, "{what}");
    }
    // Ordinary entries that only refer to something are not scripts.
    for catalog in [
        "/OpenAction [3 0 R /Fit]",
        "/OpenAction << /S /GoTo /D [3 0 R /Fit] >>",
        "/Lang (en)",
    ] {
        assert_eq!(decoded(&one(catalog)).page, Some(0), "{catalog}");
    }
    assert_eq!(
        decoded(OWNER_PDF).page,
        Some(0),
        "an owner's password alone does not matter"
    );
}

#[test]
fn a_page_that_draws_for_ever_is_not_waited_for() {
    let start = Instant::now();
    let limits = Limits {
        time: Duration::from_millis(300),
        ..Limits::default()
    };
    let outcome = decode(&endless_pdf(), &limits);
    assert!(start.elapsed() < Duration::from_secs(3));
    // The renderer may have its own limit, but it must not continue.
    assert!(
        matches!(outcome, Err(DecodeError::Unfinished) | Ok(_)),
        "{outcome:?}"
    );
}

/// A prefix of a file never gives another picture than the whole file.
#[test]
fn truncation_at_every_length_is_noticed() {
    let picture = textured(24, 24);
    let files = [
        jpeg(&picture),
        png(&picture),
        webp(&picture),
        bmp(&picture),
        PROGRESSIVE_JPEG.to_vec(),
    ];
    for file in files
        .iter()
        .map(Vec::as_slice)
        .chain([LOSSY_WEBP, ANIMATED_WEBP, CMYK_JPEG])
    {
        let whole = decoded(file);
        for length in 0..file.len() {
            match decode(&file[..length], &Limits::default()) {
                Ok(cut) => assert_eq!(cut, whole, "{:?} at {length} of {}", whole.format, file.len()),
                Err(DecodeError::Crashed | DecodeError::Unfinished) => {
                    panic!("{:?} at {length}", whole.format)
                }
                Err(_) => {}
            }
        }
    }
}

#[test]
fn truncated_pdfs_neither_crash_nor_hang() {
    let file = pdf_pages(SMALL_PAGE, &[RED_BOX], "");
    for length in 0..file.len() {
        let outcome = decode(&file[..length], &Limits::default());
        assert!(
            !matches!(outcome, Err(DecodeError::Crashed | DecodeError::Unfinished)),
            "{length}: {outcome:?}"
        );
    }
}

/// Whether decoding ends with a result about the bytes: neither a crash nor endless work.
fn is_a_verdict(bytes: &[u8]) -> bool {
    !matches!(
        decode(bytes, &Limits::default()),
        Err(DecodeError::Crashed | DecodeError::Unfinished)
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_after_a_format_s_first_ones(head in 0usize..5, tail in prop::collection::vec(any::<u8>(), 0..400)) {
        let heads: [&[u8]; 5] = [
            b"\xFF\xD8\xFF", b"\x89PNG\r\n\x1a\n", b"RIFF\xFF\0\0\0WEBPVP8 ", b"BM\0\0\0\0\0\0\0\0\0\0\0\0\x28\0\0\0", b"%PDF-1.7\n",
        ];
        prop_assert!(is_a_verdict(&[heads[head], &tail].concat()));
    }

    #[test]
    fn flipped_bits(which in 0usize..8, flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..6)) {
        let picture = textured(24, 24);
        let mut file = match which {
            0 => jpeg(&picture),
            1 => png(&picture),
            2 => webp(&picture),
            3 => bmp(&picture),
            4 => PROGRESSIVE_JPEG.to_vec(),
            5 => LOSSY_WEBP.to_vec(),
            6 => CMYK_JPEG.to_vec(),
            _ => pdf_pages(SMALL_PAGE, &[RED_BOX], ""),
        };
        for (index, bit) in flips {
            let at = index.index(file.len());
            file[at] ^= 1 << bit;
        }
        prop_assert!(is_a_verdict(&file));
    }
}
