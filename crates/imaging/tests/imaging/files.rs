//! Small files that the tests generate: pictures of every format and hostile PDFs.

use image::ExtendedColorType::{self, L8, L16, La8, Rgb8, Rgb16, Rgba8, Rgba16};
use image::ImageEncoder;
use imaging::Picture;

pub(crate) const RED: [u8; 3] = [200, 40, 60];
pub(crate) const BLUE: [u8; 3] = [20, 120, 220];

/// Files from ImageMagick and Ghostscript. The left half is red and the right half blue; the PDFs have a red
/// rectangle.
pub(crate) const CMYK_JPEG: &[u8] = include_bytes!("../data/cmyk.jpg");
pub(crate) const PROGRESSIVE_JPEG: &[u8] = include_bytes!("../data/progressive.jpg");
pub(crate) const LOSSY_WEBP: &[u8] = include_bytes!("../data/lossy.webp");
/// Two frames: the first is red and blue, the second is blue.
pub(crate) const ANIMATED_WEBP: &[u8] = include_bytes!("../data/animated.webp");
/// Opens only with the password `user`.
pub(crate) const PASSWORD_PDF: &[u8] = include_bytes!("../data/password.pdf");
/// Encrypted, but the user's password is empty.
pub(crate) const OWNER_PDF: &[u8] = include_bytes!("../data/owner.pdf");

/// A picture whose left half is red and whose right half is blue.
pub(crate) fn two_halves(width: u32, height: u32) -> Picture {
    let row: Vec<u8> = (0..width)
        .flat_map(|x| if x < width / 2 { RED } else { BLUE })
        .collect();
    Picture::new(width, height, row.repeat(height as usize)).expect("the size fits")
}

/// A picture with much detail, so that every part of its file matters.
pub(crate) fn textured(width: u32, height: u32) -> Picture {
    let mut state = 1u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    Picture::new(
        width,
        height,
        noise.take(width as usize * height as usize * 3).collect(),
    )
    .expect("the size fits")
}

pub(crate) fn png(picture: &Picture) -> Vec<u8> {
    imaging::encode_png(picture).expect("encodes")
}

pub(crate) fn jpeg(picture: &Picture) -> Vec<u8> {
    imaging::encode_jpeg(picture, 95).expect("encodes")
}

pub(crate) fn webp(picture: &Picture) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = image::codecs::webp::WebPEncoder::new_lossless(&mut bytes);
    encoder
        .write_image(&picture.pixels, picture.width, picture.height, Rgb8)
        .expect("encodes");
    bytes
}

pub(crate) fn bmp(picture: &Picture) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = image::codecs::bmp::BmpEncoder::new(&mut bytes);
    encoder
        .write_image(&picture.pixels, picture.width, picture.height, Rgb8)
        .expect("encodes");
    bytes
}

/// A PNG of one pixel with the given samples, which are written as big-endian pairs if 16-bit.
pub(crate) fn png_pixel(samples: &[u16], sixteen: bool) -> Vec<u8> {
    let colour: ExtendedColorType = match (samples.len(), sixteen) {
        (1, false) => L8,
        (2, false) => La8,
        (3, false) => Rgb8,
        (4, false) => Rgba8,
        (1, true) => L16,
        (3, true) => Rgb16,
        _ => Rgba16,
    };
    let raw: Vec<u8> = samples
        .iter()
        .flat_map(|s| {
            if sixteen {
                s.to_ne_bytes().to_vec()
            } else {
                vec![*s as u8]
            }
        })
        .collect();
    let mut bytes = Vec::new();
    image::codecs::png::PngEncoder::new(&mut bytes)
        .write_image(&raw, 1, 1, colour)
        .expect("encodes");
    bytes
}

/// Adds an EXIF segment with an orientation to a JPEG, after its start marker.
pub(crate) fn with_orientation(jpeg: &[u8], orientation: u8) -> Vec<u8> {
    let tiff = exif(orientation);
    let length = (2 + 6 + tiff.len()) as u16;
    [
        &jpeg[..2],
        &[0xFF, 0xE1],
        &length.to_be_bytes(),
        b"Exif\0\0",
        &tiff,
        &jpeg[2..],
    ]
    .concat()
}

/// Adds an `eXIf` chunk with an orientation to a PNG, after its header chunk.
pub(crate) fn png_with_orientation(png: &[u8], orientation: u8) -> Vec<u8> {
    let chunk = [b"eXIf".as_slice(), &exif(orientation)].concat();
    let length = (chunk.len() as u32 - 4).to_be_bytes();
    [
        &png[..33],
        &length,
        &chunk,
        &crc32(&chunk).to_be_bytes(),
        &png[33..],
    ]
    .concat()
}

/// A TIFF block with one entry: orientation (0x0112), one short.
fn exif(orientation: u8) -> Vec<u8> {
    let mut tiff = b"MM\0\x2A\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    tiff.extend([orientation, 0, 0, 0, 0, 0, 0]);
    tiff
}

/// The checksum of PNG chunks (ISO 3309).
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xEDB8_8320 * (crc & 1))
        })
    })
}

/// A PNG that declares a size and contains almost no data.
pub(crate) fn png_bomb(width: u32, height: u32) -> Vec<u8> {
    let header = [
        b"IHDR".as_slice(),
        &width.to_be_bytes(),
        &height.to_be_bytes(),
        &[8, 2, 0, 0, 0],
    ]
    .concat();
    let mut file = png(&two_halves(2, 2));
    file[12..29].copy_from_slice(&header);
    file[29..33].copy_from_slice(&crc32(&header).to_be_bytes());
    file
}

/// A PDF of numbered objects, the first of which is the catalog.
pub(crate) fn pdf(objects: &[String]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut offsets = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.extend(format!("{} 0 obj\n{object}\nendobj\n", index + 1).bytes());
    }
    let start = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for offset in offsets {
        file.extend(format!("{offset:010} 00000 n \n").bytes());
    }
    let size = objects.len() + 1;
    file.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").bytes());
    file
}

/// A PDF with a page for each content stream, all of one size, and with further entries in its catalog.
pub(crate) fn pdf_pages(size: &str, contents: &[&str], catalog: &str) -> Vec<u8> {
    let kids: Vec<String> = (0..contents.len())
        .map(|i| format!("{} 0 R", 3 + 2 * i))
        .collect();
    let mut objects = vec![
        format!("<< /Type /Catalog /Pages 2 0 R {catalog} >>"),
        format!(
            "<< /Type /Pages /Count {} /Kids [{}] >>",
            contents.len(),
            kids.join(" ")
        ),
    ];
    for (i, content) in contents.iter().enumerate() {
        let stream = 4 + 2 * i;
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [{size}] /Contents {stream} 0 R >>"
        ));
        objects.push(format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ));
    }
    pdf(&objects)
}

/// A content stream that paints a red rectangle.
pub(crate) const RED_BOX: &str = "0.8 0.1 0.1 rg 20 20 100 50 re f";
/// A small page, 200 × 100 points.
pub(crate) const SMALL_PAGE: &str = "0 0 200 100";

/// A PDF whose page takes practically forever to draw: each form draws the next one ten times, 10^12
/// rectangles in all.
pub(crate) fn endless_pdf() -> Vec<u8> {
    let mut objects: Vec<String> = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".into(),
        "<< /Type /Pages /Count 1 /Kids [3 0 R] >>".into(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] /Contents 4 0 R \
         /Resources << /XObject << /F 5 0 R >> >> >>"
            .into(),
        "<< /Length 5 >>\nstream\n/F Do\nendstream".into(),
    ];
    for level in 0..12 {
        let content = if level == 11 {
            RED_BOX.to_owned()
        } else {
            "/F Do ".repeat(10)
        };
        objects.push(format!(
            "<< /Type /XObject /Subtype /Form /BBox [0 0 200 100] /Resources << /XObject << /F {} 0 R >> >> \
             /Length {} >>\nstream\n{content}\nendstream",
            6 + level,
            content.len()
        ));
    }
    pdf(&objects)
}
