//! `bonafide eval documents --renderings N`: photographs the specimens as phones do, and counts what is read of them.
//!
//! Specimens with correct check digits are photographed. If the table does not state where the zone is printed,
//! its place comes from a reading of the flat picture, so specimens that are not read exactly are left out. The
//! photographs are rendered by the crate `phone-camera`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use documents::reading::DocumentReading;
use documents::{DocumentEngine, ReadHints};
use imaging::Limits;
use phone_camera::{Condition, FlatDocument, photograph};
use serde_json::{Value, json};
use service::comparison;

use super::specimen_table::Row;
use crate::cli::errors::Unusable;
use crate::cli::eval::figures::{Report, interval, rounded, share, upper_limit};
use crate::cli::eval::parallel;

/// The options of the renderings.
#[derive(Args)]
pub(super) struct Renderings {
    /// Also photograph the specimens of `mrz.tsv` as phones do, this many times in all.
    #[arg(long, value_name = "N")]
    renderings: Option<usize>,
    /// Only these conditions, such as `glare,motion-9`.
    #[arg(long, value_delimiter = ',', requires = "renderings")]
    conditions: Vec<String>,
    /// Another number gives other photographs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the photographs whose reading is valid but wrong to this folder.
    #[arg(long, requires = "renderings")]
    keep: Option<PathBuf>,
}

/// The height of OCR-B's capitals in pitches of the zone (ICAO 9303-3 §4.2: 2.54 mm; ISO 1073-2 size I: 2.40 mm).
const CAPITAL_BY_PITCH: f32 = 0.945;
/// A text with so many characters of the zone's alphabet is one of its lines.
const LEAST_LINE: usize = 24;

/// A specimen to photograph.
struct Specimen<'a> {
    row: &'a Row,
    document: FlatDocument,
}

/// What was read of one photograph.
struct Shot {
    specimen: usize,
    condition: Condition,
    seed: u64,
    is_exact: bool,
    is_valid: bool,
    is_accepted: bool,
    /// A verdict would rest on it: it is accepted, or the print confirms it.
    is_relied_on: bool,
    ms: f64,
}

impl Renderings {
    /// Adds the sections, if renderings are asked for.
    pub(super) fn measure(
        &self,
        engine: &DocumentEngine,
        folder: &Path,
        rows: &[Row],
        report: &mut Report,
        threads: usize,
    ) -> anyhow::Result<()> {
        let Some(count) = self.renderings else {
            return Ok(());
        };
        let conditions = self.conditions()?;
        let (mut specimens, mut left_out) = (Vec::new(), Vec::new());
        for row in rows.iter().filter(|row| row.valid) {
            match flat(engine, &folder.join(&row.file), row)? {
                Some(document) => specimens.push(Specimen { row, document }),
                None => left_out.push(row.file.as_str()),
            }
        }
        if specimens.is_empty() {
            return Err(nothing_to_photograph());
        }
        let shots = self.shoot(engine, &specimens, &conditions, count, threads)?;
        report.insert("renderings".into(), totals(&specimens, &left_out, &shots));
        report.insert(
            "renderings by condition".into(),
            by_condition(&conditions, &shots),
        );
        Ok(())
    }

    fn conditions(&self) -> anyhow::Result<Vec<Condition>> {
        if self.conditions.is_empty() {
            return Ok(Condition::ALL.to_vec());
        }
        self.conditions
            .iter()
            .map(|name| {
                Condition::named(name).ok_or_else(|| {
                    let known = Condition::ALL.map(Condition::as_str).join(", ");
                    Unusable(format!("--conditions: `{name}` is none of {known}")).into()
                })
            })
            .collect()
    }

    /// Photographs and reads, spread evenly over specimens and conditions.
    fn shoot(
        &self,
        engine: &DocumentEngine,
        specimens: &[Specimen<'_>],
        conditions: &[Condition],
        count: usize,
        threads: usize,
    ) -> anyhow::Result<Vec<Shot>> {
        if let Some(folder) = &self.keep {
            std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
        }
        parallel::each(count, threads, |number| {
            let specimen = number % specimens.len();
            let condition = conditions[number / specimens.len() % conditions.len()];
            let seed = self.seed.wrapping_mul(1_000_003).wrapping_add(number as u64);
            let shot = self.read(engine, &specimens[specimen], condition, seed)?;
            Ok(Some(Shot { specimen, ..shot }))
        })
    }

    fn read(
        &self,
        engine: &DocumentEngine,
        specimen: &Specimen<'_>,
        condition: Condition,
        seed: u64,
    ) -> anyhow::Result<Shot> {
        let file = &specimen.row.file;
        let shot = photograph(&specimen.document, condition, seed)
            .with_context(|| format!("{file}: cannot be photographed"))?;
        // The file is what the server would get.
        let bytes = imaging::encode_jpeg(&shot.picture, shot.jpeg_quality).context("encoding a JPEG")?;
        let decoded = imaging::decode(&bytes, &Limits::default())?;
        let reading = engine.read(&decoded.picture, &ReadHints::default())?;
        let mrz = reading.mrz.as_ref();
        let shot = Shot {
            specimen: 0,
            condition,
            seed,
            is_exact: mrz.is_some_and(|mrz| mrz.lines == specimen.row.lines),
            is_valid: mrz.is_some_and(|mrz| mrz.valid),
            is_accepted: mrz.is_some_and(|mrz| mrz.accepted),
            is_relied_on: mrz.is_some_and(|mrz| comparison::is_accepted(mrz, &[&reading])),
            ms: reading.timing_ms.get("total").copied().unwrap_or_default(),
        };
        if let (Some(folder), true) = (&self.keep, shot.is_valid && !shot.is_exact) {
            let name = format!(
                "{}-{seed}-{}.jpg",
                condition.as_str(),
                file.replace(['/', '.'], "-")
            );
            std::fs::write(folder.join(name), &bytes)?;
        }
        Ok(shot)
    }
}

/// Why a folder's specimens cannot be photographed.
pub(super) fn nothing_to_photograph() -> anyhow::Error {
    let fix = "state the zones in a column `zone`";
    Unusable(format!(
        "no specimen is read exactly, so none can be photographed; {fix}"
    ))
    .into()
}

/// The specimen with the place of its zone; `None` if nothing states that place, or the zone is not upright.
pub(super) fn flat(engine: &DocumentEngine, file: &Path, row: &Row) -> anyhow::Result<Option<FlatDocument>> {
    let bytes = std::fs::read(file).with_context(|| format!("{}", file.display()))?;
    let picture = imaging::decode(&bytes, &Limits::default())
        .with_context(|| format!("{}", file.display()))?
        .picture;
    let read_zone = || -> anyhow::Result<Option<[f32; 4]>> {
        let reading = engine.read(&picture, &ReadHints::default())?;
        let is_exact = reading.mrz.as_ref().is_some_and(|mrz| mrz.lines == row.lines);
        Ok(zone(&reading).filter(|_| is_exact))
    };
    let place = match row.zone {
        Some(zone) => Some(zone),
        None => read_zone()?,
    };
    let columns = row.lines.first().map_or(0, |line| line.chars().count());
    Ok(place
        .filter(|[left, top, width, height]| {
            width > height && left + width <= picture.width as f32 && top + height <= picture.height as f32
        })
        .map(|zone| FlatDocument {
            capital_height: CAPITAL_BY_PITCH * zone[2] / columns as f32,
            zone,
            picture,
        }))
}

/// The box around the lines of the zone, in the picture that was read.
fn zone(reading: &DocumentReading) -> Option<[f32; 4]> {
    let is_of_zone = |text: &str| {
        let letters = text.chars().filter(|c| !c.is_whitespace());
        let of_zone = letters
            .clone()
            .filter(|c| *c == '<' || c.is_ascii_uppercase() || c.is_ascii_digit());
        of_zone.count() >= LEAST_LINE && text.contains('<')
    };
    reading
        .text
        .iter()
        .filter(|line| is_of_zone(&line.text))
        .map(|line| line.bounds)
        .reduce(|[x, y, w, h], [left, top, width, height]| {
            let (right, bottom) = ((x + w).max(left + width), (y + h).max(top + height));
            let (left, top) = (x.min(left), y.min(top));
            [left, top, right - left, bottom - top]
        })
}

fn totals(specimens: &[Specimen<'_>], left_out: &[&str], shots: &[Shot]) -> Value {
    let wrong = |is_counted: fn(&Shot) -> bool| -> Vec<String> {
        shots
            .iter()
            .filter(|shot| !shot.is_exact && is_counted(shot))
            .map(|shot| {
                let file = &specimens[shot.specimen].row.file;
                format!("{file} {} {}", shot.condition.as_str(), shot.seed)
            })
            .collect()
    };
    let wrong_but_relied_on = wrong(|shot| shot.is_relied_on);
    let at_most = upper_limit(wrong_but_relied_on.len() as u64, shots.len() as u64);
    let mut times: Vec<f64> = shots.iter().map(|shot| shot.ms).collect();
    times.sort_by(f64::total_cmp);
    json!({
        "specimens": specimens.len(),
        "notPhotographed": left_out,
        "pictures": shots.len(),
        "wrongButAccepted": wrong(|shot| shot.is_accepted),
        "wrongButReliedOn": wrong_but_relied_on,
        "wrongButReliedOnAtMost": rounded(at_most),
        "validButWrong": wrong(|shot| shot.is_valid),
        "medianMs": times.get(times.len() / 2),
    })
}

fn by_condition(conditions: &[Condition], shots: &[Shot]) -> Value {
    let rows: BTreeMap<&str, Value> = conditions
        .iter()
        .map(|condition| {
            let of: Vec<&Shot> = shots.iter().filter(|shot| shot.condition == *condition).collect();
            let count =
                |is_counted: fn(&Shot) -> bool| of.iter().filter(|shot| is_counted(shot)).count() as u64;
            let (exact, pictures) = (count(|shot| shot.is_exact), of.len() as u64);
            let row = json!({
                "pictures": pictures,
                "exact": exact,
                "exactShare": rounded(share(exact, pictures)),
                "exactInterval": interval(exact, pictures),
                "accepted": count(|shot| shot.is_exact && shot.is_accepted),
                "reliedOn": count(|shot| shot.is_exact && shot.is_relied_on),
                "validButWrong": count(|shot| shot.is_valid && !shot.is_exact),
                "wrongButAccepted": count(|shot| shot.is_accepted && !shot.is_exact),
                "wrongButReliedOn": count(|shot| shot.is_relied_on && !shot.is_exact),
            });
            (condition.as_str(), row)
        })
        .collect();
    json!(rows)
}

#[cfg(test)]
mod tests {
    use documents::reading::TextLine;

    use super::*;

    fn line(text: &str, bounds: [f32; 4]) -> TextLine {
        TextLine {
            text: text.into(),
            bounds,
            confidence: 0.9,
        }
    }

    #[test]
    fn the_zone_is_the_box_around_its_lines() {
        let mut reading = DocumentReading::default();
        assert_eq!(zone(&reading), None);
        reading.text = vec![
            line("UTOPIA PASSPORT", [10.0, 10.0, 300.0, 30.0]),
            line("P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<", [20.0, 400.0, 700.0, 20.0]),
            line(
                "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
                [22.0, 440.0, 710.0, 22.0],
            ),
        ];
        assert_eq!(zone(&reading), Some([20.0, 400.0, 712.0, 62.0]));
    }

    #[test]
    fn wrong_readings_are_named_and_counted() {
        let row = Row {
            file: "a.png".into(),
            lines: vec!["A<".into()],
            valid: true,
            zone: None,
            edited: None,
        };
        let document = FlatDocument {
            picture: imaging::Picture::filled(9, 9, [0; 3]),
            zone: [0.0; 4],
            capital_height: 1.0,
        };
        let specimens = [Specimen { row: &row, document }];
        let shot = |condition, seed, [is_exact, is_valid, is_accepted, is_relied_on]: [bool; 4]| Shot {
            specimen: 0,
            condition,
            seed,
            is_exact,
            is_valid,
            is_accepted,
            is_relied_on,
            ms: seed as f64,
        };
        let shots = [
            shot(Condition::Glare, 1, [true, true, true, true]),
            shot(Condition::Glare, 2, [false, true, false, true]),
            shot(Condition::Glare, 3, [false, true, true, true]),
            shot(Condition::Noise, 4, [false, false, false, false]),
        ];
        let figures = totals(&specimens, &["b.png"], &shots);
        assert_eq!(figures["notPhotographed"], json!(["b.png"]));
        assert_eq!(figures["wrongButAccepted"], json!(["a.png glare 3"]));
        assert_eq!(
            figures["validButWrong"],
            json!(["a.png glare 2", "a.png glare 3"])
        );
        assert_eq!(figures["wrongButReliedOn"], figures["validButWrong"]);
        assert_eq!(
            (&figures["pictures"], &figures["medianMs"]),
            (&json!(4), &json!(3.0))
        );
        let rows = by_condition(&[Condition::Glare, Condition::Noise], &shots);
        assert_eq!(rows["glare"]["exact"], 1);
        assert_eq!(rows["glare"]["validButWrong"], 2);
        assert_eq!(rows["glare"]["wrongButAccepted"], 1);
        assert_eq!(rows["noise"]["pictures"], 1);
    }
}
