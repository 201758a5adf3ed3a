//! `bonafide eval documents --forgeries N`: how often signs of fraud are raised, and how often falsely.
//!
//! Rows whose print is edited (the column `edited`) are groups of their own; the others are originals.
//! The specimens are shown to a camera as themselves, as copies without colour, and on screens (the crate
//! `phone-camera`). Figures stand apart for every second specimen, so that limits chosen on one half are reported on the
//! other. The specimens' own files are counted too: as far as they are originals, a sign on them is false.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use documents::fraud_signs::{FraudKind, FraudSign};
use documents::{DocumentEngine, ReadHints};
use imaging::{Decoded, Limits, Picture};
use phone_camera::{FlatDocument, Part, Presentation, present, splice};
use serde_json::{Value, json};

use super::renderings::flat;
use super::specimen_table::Row;
use crate::cli::errors::Unusable;
use crate::cli::eval::figures::{Report, interval, rounded, share};
use crate::cli::eval::parallel;

/// The options of the forgeries.
#[derive(Args)]
pub(super) struct Forgeries {
    /// Also count signs of fraud on this many photographs of originals, as many of screens, and of photocopies.
    #[arg(long, value_name = "N")]
    forgeries: Option<usize>,
}

/// The halves of the specimens, by whether their place in the table is even.
const HALVES: [&str; 2] = ["even", "odd"];

/// The JPEG qualities at which edited photographs are saved.
const SAVED_AT: [u8; 5] = [98, 95, 92, 88, 80];

/// What was counted of one picture.
struct Shown {
    half: usize,
    /// `file`, the presentation, `edited` with the field, or what was put in and how it was saved.
    group: String,
    file: String,
    signs: Vec<FraudSign>,
    ms: f64,
}

impl Forgeries {
    /// Adds the section, if forgeries are asked for.
    pub(super) fn measure(
        &self,
        engine: &DocumentEngine,
        folder: &Path,
        rows: &[Row],
        report: &mut Report,
        threads: usize,
    ) -> anyhow::Result<()> {
        let Some(count) = self.forgeries else {
            return Ok(());
        };
        let (mut shown, mut documents) = (Vec::new(), Vec::new());
        for (at, row) in rows.iter().enumerate() {
            let file = folder.join(&row.file);
            let bytes = std::fs::read(&file).with_context(|| format!("{}", file.display()))?;
            let decoded =
                imaging::decode(&bytes, &Limits::default()).with_context(|| format!("{}", file.display()))?;
            let half = at % HALVES.len();
            shown.push(inspected(engine, &decoded, "file", half, row)?);
            if let Some(document) = flat(engine, &file, row)?.filter(|_| row.valid) {
                documents.push((half, row, document));
            }
        }
        if documents.is_empty() {
            let fix = "state the zones in a column `zone`";
            let message = format!("no specimen is read exactly, so none can be shown; {fix}");
            return Err(Unusable(message).into());
        }
        shown.extend(photographs(engine, &documents, count, threads)?);
        shown.extend(edited_files(&documents, count, threads)?.into_iter().flatten());
        report.insert("forgeries".into(), figures(&shown));
        Ok(())
    }
}

/// Photographs and inspects every presentation of the documents, `count` times.
fn photographs(
    engine: &DocumentEngine,
    documents: &[(usize, &Row, FlatDocument)],
    count: usize,
    threads: usize,
) -> anyhow::Result<Vec<Shown>> {
    parallel::each(count * Presentation::ALL.len(), threads, |number| {
        let presentation = Presentation::ALL[number % Presentation::ALL.len()];
        let seed = number / Presentation::ALL.len();
        let (half, row, document) = &documents[seed % documents.len()];
        if row.edited.is_some() && presentation != Presentation::Original {
            return Ok(None);
        }
        let photograph = present(document, presentation, seed as u64)
            .with_context(|| format!("{}: cannot be photographed", row.file))?;
        let decoded = reopened(&photograph.picture, photograph.jpeg_quality)?;
        inspected(engine, &decoded, presentation.as_str(), *half, row).map(Some)
    })
}

/// Photographs of originals, saved again with and without a part of another document's photograph. Only their files are
/// judged.
fn edited_files(
    documents: &[(usize, &Row, FlatDocument)],
    count: usize,
    threads: usize,
) -> anyhow::Result<Vec<Vec<Shown>>> {
    let photographed = |number: usize| {
        let (.., row, document) = &documents[number % documents.len()];
        let photograph = present(document, Presentation::Original, number as u64)
            .with_context(|| format!("{}: cannot be photographed", row.file))?;
        reopened(&photograph.picture, photograph.jpeg_quality)
    };
    parallel::each(count, threads, |number| {
        let (half, row, _) = &documents[number % documents.len()];
        if row.edited.is_some() {
            return Ok(None);
        }
        let (photograph, other) = (photographed(number)?, photographed(number + 1)?);
        let mut shown = Vec::new();
        for part in [None].into_iter().chain(Part::ALL.map(Some)) {
            let mut picture = photograph.picture.clone();
            let is_put_in =
                part.map(|part| splice(&mut picture, &other.picture, part, number as u64).is_some());
            if is_put_in == Some(false) {
                continue;
            }
            for quality in SAVED_AT {
                let file = reopened(&picture, quality)?;
                let start = Instant::now();
                shown.push(Shown {
                    half: *half,
                    group: format!(
                        "{} put in, saved at {quality}",
                        part.map_or("nothing", Part::as_str)
                    ),
                    file: row.file.clone(),
                    signs: documents::file_signs(&file),
                    ms: start.elapsed().as_secs_f64() * 1000.0,
                });
            }
        }
        Ok(Some(shown))
    })
}

/// What the server would decode.
fn reopened(picture: &Picture, jpeg_quality: u8) -> anyhow::Result<Decoded> {
    let bytes = imaging::encode_jpeg(picture, jpeg_quality).context("encoding a JPEG")?;
    Ok(imaging::decode(&bytes, &Limits::default())?)
}

fn inspected(
    engine: &DocumentEngine,
    file: &Decoded,
    group: &str,
    half: usize,
    row: &Row,
) -> anyhow::Result<Shown> {
    let hints = ReadHints {
        fraud_signs: true,
        ..ReadHints::default()
    };
    let reading = engine.read_file(file, &hints)?;
    let mut signs = reading.fraud;
    let group = match &row.edited {
        // Only the edited field is caught; a sign on another one would be chance.
        Some(field) => {
            signs.retain(|sign| sign.kind != FraudKind::Contradiction || sign.field.as_ref() == Some(field));
            format!("edited {field}, {group}")
        }
        None => group.to_owned(),
    };
    Ok(Shown {
        half,
        group,
        file: row.file.clone(),
        ms: reading.timing_ms.get("fraud").copied().unwrap_or_default(),
        signs,
    })
}

/// Per group and half of the specimens, what each kind of sign gave.
fn figures(shown: &[Shown]) -> Value {
    let mut groups: BTreeMap<&str, Vec<&Shown>> = BTreeMap::new();
    for each in shown {
        groups.entry(&each.group).or_default().push(each);
    }
    let groups: BTreeMap<&str, Value> = groups
        .into_iter()
        .map(|(group, shown)| {
            let of_half = |half| {
                shown
                    .iter()
                    .copied()
                    .filter(|shown| shown.half == half)
                    .collect::<Vec<_>>()
            };
            let halves: BTreeMap<&str, Value> = HALVES
                .iter()
                .enumerate()
                .map(|(half, name)| (*name, of_group(&of_half(half))))
                .collect();
            (group, json!(halves))
        })
        .collect();
    json!({"groups": groups})
}

fn of_group(of: &[&Shown]) -> Value {
    let pictures = of.len() as u64;
    let kinds: BTreeMap<&str, Value> = FraudKind::ALL
        .iter()
        .map(|kind| {
            let is_kind = |sign: &&FraudSign| sign.kind == *kind;
            let mut measures: Vec<f32> = of
                .iter()
                .flat_map(|shown| shown.signs.iter().filter(is_kind))
                .map(|sign| sign.measure)
                .collect();
            measures.sort_by(f32::total_cmp);
            let is_raised = |shown: &&&Shown| shown.signs.iter().filter(is_kind).any(|sign| sign.raised);
            let raised: Vec<&str> = of
                .iter()
                .filter(is_raised)
                .map(|shown| shown.file.as_str())
                .collect();
            let count = raised.len() as u64;
            let quantile = |share: f32| {
                let at = (measures.len().saturating_sub(1) as f32 * share).round() as usize;
                rounded(measures.get(at).map(|measure| f64::from(*measure)))
            };
            let quantiles = [0.0, 0.05, 0.5, 0.95, 1.0].map(quantile);
            let row = json!({
                "measured": measures.len(),
                "raised": count,
                "raisedShare": rounded(share(count, pictures)),
                "raisedInterval": interval(count, pictures),
                "measures": quantiles,
                "raisedOn": raised,
            });
            (kind.as_str(), row)
        })
        .collect();
    let mut times: Vec<f64> = of.iter().map(|shown| shown.ms).collect();
    times.sort_by(f64::total_cmp);
    json!({"pictures": pictures, "signs": kinds, "medianMs": times.get(times.len() / 2)})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_counted_by_group_and_half() {
        let sign = |kind, raised, measure| FraudSign {
            kind,
            raised,
            measure,
            limit: 4.0,
            field: None,
            value: None,
            expected: None,
            bounds: None,
        };
        let shown = |group: &str, half, signs, ms| Shown {
            half,
            group: String::from(group),
            file: "a.png".into(),
            signs,
            ms,
        };
        let all = [
            shown("file", 0, vec![sign(FraudKind::Screen, false, 2.0)], 1.0),
            shown("screen", 1, vec![sign(FraudKind::Screen, true, 6.0)], 2.0),
            shown("screen", 1, vec![sign(FraudKind::Screen, false, 3.0)], 3.0),
            shown("screen", 1, vec![], 4.0),
        ];
        let figures = figures(&all);
        let of = |group: &str, half: &str| &figures["groups"][group][half]["signs"]["screen"];
        assert_eq!(of("file", "even")["raised"], 0);
        assert_eq!(of("file", "even")["measures"], json!([2.0, 2.0, 2.0, 2.0, 2.0]));
        let odd = of("screen", "odd");
        assert_eq!(figures["groups"]["screen"]["odd"]["medianMs"], 3.0);
        assert_eq!(
            (&odd["measured"], &odd["raised"], &odd["raisedShare"]),
            (&json!(2), &json!(1), &json!(0.3333))
        );
        assert_eq!(odd["raisedOn"], json!(["a.png"]));
    }
}
