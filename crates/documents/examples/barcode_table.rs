//! Prints how many photographs of a licence's barcode are read, by tilt, and the time that this takes.
//!
//! `cargo run -p documents --example barcode_table` photographs its own specimens. With paths of pictures as
//! arguments it reads those; the expected text is next to each as `.txt` or `.bin`. With `--tilt` before the
//! paths, it photographs those pictures at several tilts. With `--damage N` it photographs N licences under
//! each kind of damage, and counts wrong payloads too.

#[path = "../src/barcode/specimen.rs"]
mod specimen;

use std::io::Write;
use std::time::Instant;

use documents::barcode::{RawBarcode, WorkBudget, read_barcodes};
use imaging::Picture;
use specimen::{Damage, PAYLOAD, Shot, payload, photograph, shoot};

/// The engine's work limit for an expected barcode.
const WORK: WorkBudget = WorkBudget::pixels(60_000_000);

const PERSPECTIVES: [(f64, f64); 4] = [(0.0, 0.0), (25.0, 0.0), (0.0, -25.0), (-18.0, 18.0)];

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--damage") {
        let seeds = arguments.get(1).and_then(|count| count.parse().ok());
        return damages(&mut out, seeds.unwrap_or(10));
    }
    let tilted = arguments.first().is_some_and(|first| first == "--tilt");
    arguments.drain(..usize::from(tilted));
    let known: Vec<(String, Picture, Vec<u8>)> = arguments.iter().filter_map(|path| known(path)).collect();
    if known.is_empty() {
        tilts(&mut out, |tilt| {
            let sharpness = [(4.5, 1, 12), (3.0, 0, 10), (2.5, 0, 15)];
            let shots = sharpness.into_iter().flat_map(move |(module, blur, columns)| {
                PERSPECTIVES.map(|(yaw, pitch)| Shot {
                    columns,
                    module,
                    tilt,
                    yaw,
                    pitch,
                    blur,
                    noise: 4.0,
                    damage: Damage::NONE,
                })
            });
            shots.map(|shot| {
                (
                    format!("{shot:?}"),
                    photograph(PAYLOAD, &shot),
                    PAYLOAD.as_bytes().to_vec(),
                )
            })
        })
    } else if tilted {
        tilts(&mut out, |tilt| {
            known.iter().flat_map(move |(path, picture, expected)| {
                let luma = picture.luma();
                // The picture gets a white margin, because a dark table next to the symbol would leave it no
                // quiet zone.
                let margin = f64::from(picture.width.max(picture.height)) * 0.1;
                let size = [picture.width, picture.height].map(|side| f64::from(side) + 2.0 * margin);
                PERSPECTIVES.into_iter().map(move |(yaw, pitch)| {
                    let shot = Shot {
                        columns: 0,
                        module: 2.0,
                        tilt,
                        yaw,
                        pitch,
                        blur: 1,
                        noise: 3.0,
                        damage: Damage::NONE,
                    };
                    let photo = shoot(&shot, size, |u, v| {
                        let (x, y) = ((u - margin) as i64, (v - margin) as i64);
                        let inside = |at: i64, side: u32| u32::try_from(at).is_ok_and(|at| at < side);
                        let is_ink = inside(x, luma.width) && inside(y, luma.height);
                        if is_ink {
                            luma.pixel(x as u32, y as u32)
                        } else {
                            255
                        }
                    });
                    (format!("{path} {yaw} {pitch}"), photo, expected.clone())
                })
            })
        })
    } else {
        let tally = tally(&mut out, known.into_iter())?;
        writeln!(out, "{tally}")
    }
}

/// Prints one line for each kind of damage, upright and tilted.
fn damages(out: &mut impl Write, seeds: u64) -> std::io::Result<()> {
    let none = Damage::NONE;
    let gaussian = |gaussian| Damage { gaussian, ..none };
    let glare = |glare| Damage { glare, ..none };
    let gone = |rows_gone| Damage { rows_gone, ..none };
    let kinds = [
        ("none", none),
        (
            "inverted",
            Damage {
                is_inverted: true,
                ..none
            },
        ),
        ("gaussian 1 px", gaussian(1.0)),
        ("gaussian 2 px", gaussian(2.0)),
        ("gaussian 2.5 px", gaussian(2.5)),
        ("gaussian 3 px", gaussian(3.0)),
        ("glare 0.15", glare(0.15)),
        ("glare 0.25", glare(0.25)),
        ("glare 0.35", glare(0.35)),
        ("rows gone 10 %", gone(0.1)),
        ("rows gone 20 %", gone(0.2)),
        ("rows gone 30 %", gone(0.3)),
        (
            "rows gone 20 %, level 6",
            Damage {
                level: 6,
                ..gone(0.2)
            },
        ),
        (
            "rows gone 30 %, level 6",
            Damage {
                level: 6,
                ..gone(0.3)
            },
        ),
        (
            "inverted, gaussian 2 px, 10 % gone",
            Damage {
                is_inverted: true,
                gaussian: 2.0,
                rows_gone: 0.1,
                ..none
            },
        ),
    ];
    for (name, damage) in kinds {
        for (tilt, yaw, pitch) in [(0.0, 0.0, 0.0), (17.0, 15.0, -10.0)] {
            let shots = (0..seeds).map(|seed| {
                let text = payload(seed);
                let shot = Shot {
                    columns: 10 + seed as usize % 4,
                    module: 3.0,
                    tilt: tilt + (seed % 5) as f64 * 0.4,
                    yaw,
                    pitch,
                    blur: 0,
                    noise: 4.0,
                    damage: Damage { seed, ..damage },
                };
                (format!("{shot:?}"), photograph(&text, &shot), text.into_bytes())
            });
            let tally = tally(out, shots)?;
            writeln!(out, "{name:36} {tilt:3}°: {tally}")?;
        }
    }
    Ok(())
}

/// Prints one line for each tilt.
fn tilts<I: Iterator<Item = (String, Picture, Vec<u8>)>>(
    out: &mut impl Write,
    cases: impl Fn(f64) -> I,
) -> std::io::Result<()> {
    for tilt in (-45..=45).step_by(5).chain([90, 135, 180, 270]) {
        let tally = tally(out, cases(f64::from(tilt)))?;
        writeln!(out, "{tilt:4}°: {tally}")?;
    }
    Ok(())
}

/// Reads each picture, prints the missed ones if `VERBOSE` is set, and prints the totals.
fn tally(
    out: &mut impl Write,
    cases: impl Iterator<Item = (String, Picture, Vec<u8>)>,
) -> std::io::Result<String> {
    let (mut read, mut wrong, mut times) = (0, 0, Vec::new());
    for (what, picture, expected) in cases {
        let start = Instant::now();
        let found = read_barcodes(&picture, WORK);
        times.push(start.elapsed().as_secs_f64() * 1e3);
        let is_right =
            |barcode: &RawBarcode| barcode.bytes == expected || barcode.text.as_bytes() == expected;
        wrong += found.iter().filter(|barcode| !is_right(barcode)).count();
        if found.iter().any(is_right) {
            read += 1;
        } else if std::env::var_os("VERBOSE").is_some() {
            writeln!(out, "  missed {what} ({} × {})", picture.width, picture.height)?;
        }
    }
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
    Ok(format!(
        "{read:3}/{} read, {wrong} wrong, median {:.0} ms, 95 % {:.0} ms",
        times.len(),
        at(50),
        at(95)
    ))
}

/// A picture with the expected text of its barcode.
fn known(path: &str) -> Option<(String, Picture, Vec<u8>)> {
    let bytes = std::fs::read(path).ok()?;
    let stem = std::path::Path::new(path).with_extension("");
    let expected =
        std::fs::read(stem.with_extension("bin")).or_else(|_| std::fs::read(stem.with_extension("txt")));
    let decoded = imaging::decode(&bytes, &imaging::Limits::default()).ok()?;
    Some((path.to_owned(), decoded.picture, expected.ok()?))
}
