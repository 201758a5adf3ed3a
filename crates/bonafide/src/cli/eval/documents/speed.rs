//! `bonafide eval documents --speed N`: how much processor time and memory a photograph of 12 megapixels takes, from its
//! file to its reading, beside other programs.
//!
//! Every program reads the same files in its own process, one at a time. The kernel's figures of that process count, so
//! none of them measures itself. Rendering is not counted. This module judges nothing.
//!
//! Another program reads the paths of pictures from its standard input, one a line, and answers each with a line: first
//! `{"name": "…"}`, then for each path `{"mrz": ["…", "…"]}`, the lines of the zone, or null where it finds none.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use documents::DocumentEngine;
use phone_camera::{Condition, photograph};
use serde_json::{Value, json};

use super::renderings::{flat, nothing_to_photograph};
use super::specimen_table::Row;
use crate::cli::errors::Unusable;
use crate::cli::eval::figures::{Report, rounded};

/// The options of the measurement.
#[derive(Args)]
pub(super) struct Speed {
    /// Also measure the processor time and memory for this many photographs of 12 megapixels.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    speed: Option<u64>,
    /// Also measure this program on the same photographs.
    #[arg(long, value_name = "PROGRAM", requires = "speed")]
    beside: Vec<PathBuf>,
}

/// A file to read, and what its zone has.
struct Photograph<'a> {
    file: PathBuf,
    lines: &'a [String],
}

impl Speed {
    /// Adds the section, if it is asked for.
    pub(super) fn measure(
        &self,
        engine: &DocumentEngine,
        (folder, models): (&Path, &Path),
        rows: &[Row],
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let Some(count) = self.speed else {
            return Ok(());
        };
        let place = tempfile::tempdir()?;
        let photographs = photographs(engine, folder, rows, count, place.path())?;
        let ours = |with_fraud_signs: bool| -> anyhow::Result<Measured> {
            let mut program = Command::new(std::env::current_exe()?);
            program.args(["read-document", "--batch", "--models"]).arg(models);
            if with_fraud_signs {
                program.arg("--fraud-signs");
            }
            let request = |file: &str| json!({"file": file}).to_string();
            Reader::start(program)?.measure(&photographs, request, "/mrz/lines")
        };
        let (plain, with_fraud_signs) = (ours(false)?, ours(true)?);
        let mut figures = plain.figures();
        figures["megapixels"] = json!(12);
        figures["stagesMs"] = plain.stages();
        figures["fraudSignsProcessorMs"] = rounded(Some(
            with_fraud_signs.each(with_fraud_signs.processor) - plain.each(plain.processor),
        ))
        .into();
        figures["fraudSignsPeakMiB"] = json!(with_fraud_signs.peak_mib);
        report.insert("speed".into(), figures);
        for program in &self.beside {
            let mut peer = Reader::start(Command::new(program))
                .map_err(|error| Unusable(format!("--beside {}: {error:#}", program.display())))?;
            let heading = peer.answer()?;
            let name = heading["name"].as_str().unwrap_or("another program").to_owned();
            let theirs = peer.measure(&photographs, str::to_owned, "/mrz")?;
            let mut figures = theirs.figures();
            let ratio = theirs.processor.as_secs_f64() / plain.processor.as_secs_f64();
            figures["processorTimeRatio"] = rounded(Some(ratio).filter(|ratio| ratio.is_finite())).into();
            report.insert(format!("speed beside {name}"), figures);
        }
        Ok(())
    }
}

/// Photographs the specimens with correct check digits, each in turn, and writes the files.
fn photographs<'a>(
    engine: &DocumentEngine,
    folder: &Path,
    rows: &'a [Row],
    count: u64,
    place: &Path,
) -> anyhow::Result<Vec<Photograph<'a>>> {
    let mut specimens = Vec::new();
    for row in rows.iter().filter(|row| row.valid).take(count as usize) {
        if let Some(document) = flat(engine, &folder.join(&row.file), row)? {
            specimens.push((row, document));
        }
    }
    if specimens.is_empty() {
        return Err(nothing_to_photograph());
    }
    let shoot = |(number, (row, document)): (u64, &(&'a Row, phone_camera::FlatDocument))| {
        let shot = photograph(document, Condition::FullFrame, number)
            .with_context(|| format!("{}: cannot be photographed", row.file))?;
        let file = place.join(format!("{number}.jpg"));
        let bytes = imaging::encode_jpeg(&shot.picture, shot.jpeg_quality).context("encoding a JPEG")?;
        std::fs::write(&file, bytes)?;
        Ok(Photograph {
            file,
            lines: &row.lines,
        })
    };
    (0..count).zip(specimens.iter().cycle()).map(shoot).collect()
}

/// A program that answers each line of its input with a line.
struct Reader {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Reader {
    fn start(mut program: Command) -> anyhow::Result<Self> {
        let mut child = program
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("it cannot be started")?;
        let input = child.stdin.take().context("it has no input")?;
        let output = child.stdout.take().context("it has no output")?;
        Ok(Self {
            child,
            input,
            output: BufReader::new(output),
        })
    }

    /// The next answer.
    fn answer(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(Unusable("a program ended without an answer".into()).into());
        }
        serde_json::from_str(&line).context("an answer is no JSON")
    }

    fn ask(&mut self, line: &str) -> anyhow::Result<Value> {
        writeln!(self.input, "{line}")?;
        self.input.flush()?;
        self.answer()
    }

    /// Reads the first photograph once, so that everything is loaded, and then all of them.
    fn measure(
        mut self,
        photographs: &[Photograph<'_>],
        request: impl Fn(&str) -> String,
        zone: &str,
    ) -> anyhow::Result<Measured> {
        let process = self.child.id();
        let mut read = |photograph: &Photograph<'_>| -> anyhow::Result<Value> {
            let path = photograph.file.to_str().context("a path is not UTF-8")?;
            self.ask(&request(path))
        };
        photographs.first().map(&mut read).transpose()?;
        let (begun, before) = (Instant::now(), processor_time(process)?);
        let answers = photographs
            .iter()
            .map(read)
            .collect::<anyhow::Result<Vec<Value>>>()?;
        let clock = begun.elapsed();
        let processor = processor_time(process)?.saturating_sub(before);
        let peak_mib = peak_memory(process)?;
        drop(self.input);
        self.child.wait()?;
        let pairs = answers.iter().zip(photographs);
        let exact =
            pairs.filter(|(answer, photograph)| answer.pointer(zone) == Some(&json!(photograph.lines)));
        let exact = exact.count();
        Ok(Measured {
            exact,
            answers,
            processor,
            clock,
            peak_mib,
        })
    }
}

/// What reading all photographs took.
struct Measured {
    answers: Vec<Value>,
    /// The readings whose zone is exact.
    exact: usize,
    processor: Duration,
    clock: Duration,
    peak_mib: u64,
}

impl Measured {
    /// A time in milliseconds of each photograph.
    fn each(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e3 / self.answers.len() as f64
    }

    fn figures(&self) -> Value {
        json!({
            "photographs": self.answers.len(),
            "exact": self.exact,
            "processorMs": rounded(Some(self.each(self.processor))),
            "clockMs": rounded(Some(self.each(self.clock))),
            "peakMiB": self.peak_mib,
        })
    }

    /// The mean time of each stage of our own readings.
    fn stages(&self) -> Value {
        let stages = self
            .answers
            .iter()
            .filter_map(|answer| answer["timingMs"].as_object());
        let mut sums = std::collections::BTreeMap::<&str, f64>::new();
        for (stage, ms) in stages.flatten() {
            *sums.entry(stage).or_default() += ms.as_f64().unwrap_or_default();
        }
        let count = self.answers.len() as f64;
        json!(
            sums.into_iter()
                .map(|(stage, sum)| (stage, rounded(Some(sum / count))))
                .collect::<std::collections::BTreeMap<_, _>>()
        )
    }
}

/// Linux's `USER_HZ` on every architecture for which models are made.
const TICKS_PER_SECOND: u32 = 100;

/// The processor time of a process, its threads and the processes that it waited for.
fn processor_time(process: u32) -> anyhow::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).context("a program has ended")?;
    let ticks = ticks(&stat).context("an unknown form of /proc/PID/stat")?;
    Ok(Duration::from_secs(ticks) / TICKS_PER_SECOND)
}

/// `utime`, `stime`, `cutime` and `cstime` of `proc_pid_stat(5)`, whose second field may have blanks.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_whitespace().skip(11).take(4).map(str::parse);
    let times = times.collect::<Result<Vec<u64>, _>>().ok()?;
    (times.len() == 4).then(|| times.iter().sum())
}

/// The most memory that a process has had, in MiB, rounded up.
fn peak_memory(process: u32) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).context("a program has ended")?;
    kilobytes(&status)
        .map(|kilobytes| kilobytes.div_ceil(1024))
        .context("no VmHWM in /proc/PID/status")
}

fn kilobytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_kernel_are_read() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 900 0 0 0 120 30 7 3 20 0 4 0 1000 1 1";
        assert_eq!(ticks(stat), Some(160));
        assert_eq!(ticks("42 (a) S 1"), None);
        assert_eq!(kilobytes("Name:\ta\nVmHWM:\t  250000 kB\n"), Some(250_000));
        assert_eq!(kilobytes("Name:\ta\n"), None);
        assert!(processor_time(std::process::id()).is_ok());
        assert!(peak_memory(std::process::id()).is_ok_and(|mib| mib > 0));
    }

    #[test]
    fn a_program_is_measured_on_every_photograph() {
        let lines = ["A<".to_owned()];
        let photograph = |file: &str| Photograph {
            file: file.into(),
            lines: &lines,
        };
        let photographs = [photograph("a.jpg"), photograph("b.jpg")];
        // It answers with the zone of one picture only.
        let script = r#"while read -r path; do case $path in a*) echo '{"mrz": ["A<"]}';; *) echo '{"mrz": null}';; esac; done"#;
        let mut program = Command::new("sh");
        program.args(["-c", script]);
        let measured = Reader::start(program)
            .unwrap()
            .measure(&photographs, str::to_owned, "/mrz")
            .unwrap();
        assert_eq!((measured.exact, measured.answers.len()), (1, 2));
        assert_eq!(measured.figures()["photographs"], 2);

        let ended = Reader::start(Command::new("true"))
            .unwrap()
            .measure(&photographs, str::to_owned, "/mrz");
        assert!(ended.is_err());
    }
}
