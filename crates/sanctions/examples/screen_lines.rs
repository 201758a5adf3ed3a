//! Screens NDJSON from stdin, for measurements. Usage: `screen_lines pairs`; `screen_lines lists FILE[,FILE…]…` (the
//! files of one list, joined by commas) with an index in memory; `screen_lines folder FOLDER [FILE[,FILE…]…]` with the
//! index of a folder of lists, after the files were imported there; `PROFILE=strict` or `ofac` in the environment chooses
//! the profile. Times, counts and memory go to stderr.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs,
    reason = "a measuring tool that answers on stdout"
)]

use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

use sanctions::freshness::MaxAge;
use sanctions::{
    Guards, ListStore, Profile, ScreenOptions, Screener, Source, answer_line, answer_pair_line, import,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let mode = args.next().unwrap_or_default();
    let mut lists = Vec::new();
    let folder = match mode.as_str() {
        "folder" => Some(ListStore::open(
            Path::new(&args.next().unwrap_or_default()),
            MaxAge::default(),
        )?),
        _ => None,
    };
    for files in args {
        let start = Instant::now();
        let sources = files
            .split(',')
            .map(|f| Source::open(Path::new(f)))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(folder) = &folder {
            let report = folder.import(sources, None, &Guards::default())?;
            eprintln!("imported {} in {:.2?}", report.list, start.elapsed());
            continue;
        }
        let (list, report) = import::import(sources, None)?;
        eprintln!(
            "{} in {:.2?}: {}",
            files,
            start.elapsed(),
            serde_json::to_string(&report)?
        );
        lists.push(list);
    }
    let start = Instant::now();
    let screener = match &folder {
        Some(folder) => folder.load()?,
        None => Screener::new(lists),
    };
    eprintln!("index of {} entities in {:.2?}", screener.len(), start.elapsed());
    let profile = match std::env::var("PROFILE") {
        Ok(name) => Profile::parse(&name).ok_or("PROFILE must be standard, strict or ofac")?,
        Err(_) => Profile::Standard,
    };
    let options = ScreenOptions {
        profile,
        ..ScreenOptions::default()
    };
    let mut times = Vec::new();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let start = Instant::now();
        let answer = if mode == "pairs" {
            answer_pair_line(&line)
        } else {
            answer_line(&screener, &options, &line)
        };
        times.push(start.elapsed());
        writeln!(out, "{answer}")?;
    }
    times.sort_unstable();
    if let (Some(most), count) = (times.last(), times.len()) {
        let at = |share: f64| times[((count - 1) as f64 * share) as usize];
        eprintln!(
            "{count} answers: p50 {:.2?}, p99 {:.2?}, max {most:.2?}",
            at(0.5),
            at(0.99)
        );
    }
    // Linux only: what this process holds, apart from and in files.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|line| line.starts_with("Rss")) {
        eprintln!("{line}");
    }
    Ok(())
}
