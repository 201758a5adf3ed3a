//! Prints how many photographs of a licence's barcode are read, by tilt, and how long that takes.
//!
//! `cargo run -p documents --example barcode_table` renders its own; with paths of pictures as arguments it reads those.

#[path = "../src/barcode/specimen.rs"]
mod specimen;

use std::io::Write;
use std::time::{Duration, Instant};

use documents::barcode::read_barcodes;
use specimen::{PAYLOAD, Shot, photograph};

const BUDGET: Duration = Duration::from_secs(2);

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let paths: Vec<String> = std::env::args().skip(1).collect();
    if paths.is_empty() {
        table(&mut out)
    } else {
        files(&mut out, &paths)
    }
}

/// Twelve shots for each tilt: four perspectives by three sharpnesses.
fn table(out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "tilt  read  median ms  worst ms")?;
    for tilt in (-45..=45).step_by(5).chain([90, 135, 180, 270]) {
        let mut read = 0;
        let mut times = Vec::new();
        for (yaw, pitch) in [(0.0, 0.0), (25.0, 0.0), (0.0, -25.0), (-18.0, 18.0)] {
            for (module, blur, columns) in [(4.5, 1, 12), (3.0, 0, 10), (2.5, 0, 15)] {
                let shot = Shot {
                    columns,
                    module,
                    tilt: f64::from(tilt),
                    yaw,
                    pitch,
                    blur,
                    noise: 4.0,
                };
                let picture = photograph(PAYLOAD, &shot);
                let start = Instant::now();
                let found = read_barcodes(&picture, BUDGET);
                times.push(start.elapsed().as_secs_f64() * 1e3);
                let right = found.iter().any(|barcode| barcode.text == PAYLOAD);
                read += u32::from(right);
                if !right && std::env::var_os("VERBOSE").is_some() {
                    writeln!(out, "  missed {shot:?}, {} × {}", picture.width, picture.height)?;
                }
            }
        }
        times.sort_by(f64::total_cmp);
        let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
        writeln!(
            out,
            "{tilt:4}  {read:2}/{}  {median:9.0}  {worst:8.0}",
            times.len()
        )?;
    }
    Ok(())
}

/// Pictures beside their expected text (`.txt` or `.bin` with the picture's name), at every tilt when one is given as
/// `--tilt`.
fn files(out: &mut impl Write, paths: &[String]) -> std::io::Result<()> {
    let (mut read, mut all) = (0, 0);
    for path in paths {
        let bytes = std::fs::read(path)?;
        let stem = std::path::Path::new(path).with_extension("");
        let expected = std::fs::read(stem.with_extension("bin"))
            .or_else(|_| std::fs::read(stem.with_extension("txt")))?;
        let Ok(decoded) = imaging::decode(&bytes, &imaging::Limits::default()) else {
            continue;
        };
        let start = Instant::now();
        let found = read_barcodes(&decoded.picture, BUDGET);
        let elapsed = start.elapsed().as_secs_f64() * 1e3;
        let right = found
            .iter()
            .any(|barcode| barcode.bytes == expected || barcode.text.as_bytes() == expected);
        all += 1;
        read += u32::from(right);
        if !right {
            writeln!(out, "missed {path} ({elapsed:.0} ms, {} found)", found.len())?;
        }
    }
    writeln!(out, "{read}/{all} read")
}
