//! Prints the time that decoding takes.
//!
//! `cargo run -p imaging --example decode_times` generates 12-megapixel files and decodes them. With paths as
//! arguments it decodes those files and prints the error of each that fails.

use std::io::Write;
use std::time::Instant;

use image::ImageEncoder;
use imaging::{Limits, Picture, decode, encode_jpeg, encode_png};

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let paths: Vec<String> = std::env::args().skip(1).collect();
    if paths.is_empty() {
        own_files(&mut out)
    } else {
        given_files(&mut out, &paths)
    }
}

fn own_files(out: &mut impl Write) -> std::io::Result<()> {
    let picture = photograph(4000, 3000);
    let jpeg = encode_jpeg(&picture, 90).unwrap_or_default();
    let mut webp = Vec::new();
    let encoder = image::codecs::webp::WebPEncoder::new_lossless(&mut webp);
    let colour = image::ExtendedColorType::Rgb8;
    let encoded = encoder.write_image(&picture.pixels, picture.width, picture.height, colour);
    encoded.map_err(std::io::Error::other)?;
    let pdf = pdf_of(&jpeg, picture.width, picture.height);
    let files = [
        ("JPEG", jpeg),
        ("PNG", encode_png(&picture).unwrap_or_default()),
        ("WEBP, lossless", webp),
        ("PDF of a JPEG", pdf),
    ];
    for (name, file) in files {
        for max_side in [None, Some(2000)] {
            let limits = Limits {
                max_side,
                ..Limits::default()
            };
            let mut times: Vec<f64> = Vec::new();
            for _ in 0..5 {
                let start = Instant::now();
                let outcome = decode(&file, &limits);
                times.push(start.elapsed().as_secs_f64() * 1e3);
                if let Err(error) = outcome {
                    writeln!(out, "{name}: {error}")?;
                }
            }
            times.sort_by(f64::total_cmp);
            let megabytes = file.len() as f64 / 1e6;
            writeln!(
                out,
                "{name} 4000 × 3000, {megabytes:.1} MB, to {max_side:?}: {:.0} ms",
                times[2]
            )?;
        }
    }
    Ok(())
}

fn given_files(out: &mut impl Write, paths: &[String]) -> std::io::Result<()> {
    let (mut whole, mut total) = (0, 0.0);
    for path in paths {
        let file = std::fs::read(path)?;
        let start = Instant::now();
        let outcome = decode(&file, &Limits::default());
        total += start.elapsed().as_secs_f64();
        match outcome {
            Ok(_) => whole += 1,
            Err(error) => writeln!(out, "{path}: {}", error.code())?,
        }
    }
    writeln!(out, "{whole} of {} decoded in {total:.1} s", paths.len())
}

/// Smooth shapes with some noise, about as compressible as a photograph.
fn photograph(width: u32, height: u32) -> Picture {
    let mut state = 1u32;
    let mut pixels = Vec::with_capacity(width as usize * height as usize * 3);
    for y in 0..height {
        for x in 0..width {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let wave = |length: f32| ((x as f32 / length).sin() * (y as f32 / length).cos() * 60.0) as i32;
            let grey = 120 + wave(90.0) + wave(17.0) / 3 + (state >> 28) as i32;
            pixels.extend([grey, grey + 20, grey - 20].map(|sample| sample.clamp(0, 255) as u8));
        }
    }
    Picture {
        width,
        height,
        pixels,
    }
}

/// A PDF whose only page is a JPEG. Like some scanners' files, it has no cross-reference table; readers
/// rebuild it.
fn pdf_of(jpeg: &[u8], width: u32, height: u32) -> Vec<u8> {
    let content = format!("{width} 0 0 {height} 0 0 cm /I Do");
    let head = format!(
        "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n\
         2 0 obj\n<< /Type /Pages /Count 1 /Kids [3 0 R] >>\nendobj\n\
         3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents 4 0 R \
         /Resources << /XObject << /I 5 0 R >> >> >>\nendobj\n\
         4 0 obj\n<< /Length {} >>\nstream\n{content}\nendstream\nendobj\n\
         5 0 obj\n<< /Type /XObject /Subtype /Image /Width {width} /Height {height} /ColorSpace /DeviceRGB \
         /BitsPerComponent 8 /Filter /DCTDecode /Length {} >>\nstream\n",
        content.len(),
        jpeg.len()
    );
    let tail = "\nendstream\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n";
    [head.as_bytes(), jpeg, tail.as_bytes()].concat()
}
