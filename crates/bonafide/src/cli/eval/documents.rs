//! `bonafide eval documents`: compares MRZ, visual zone, PDF417 and AAMVA results with a folder's known answers.

mod forgeries;
mod renderings;
mod specimen_table;
mod speed;
mod visual;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use documents::aamva::parse_aamva;
use serde_json::{Value, json};

use self::forgeries::Forgeries;
use self::renderings::Renderings;
use self::specimen_table::{Row, rows};
use self::speed::Speed;
use super::figures::{Report, rounded, share};
use super::files::{files_below, pictures_below};
use crate::cli::engines::ModelsArg;
use crate::cli::errors::Unusable;

/// `bonafide eval documents`.
#[derive(Args)]
pub(super) struct Documents {
    /// A folder with any of: `mrz.tsv` (columns `file`, `expected` with `|` between lines, `check_digits`
    /// beginning with `all valid` if they are correct) next to the pictures in `mrz/`; `pdf417/` with
    /// pictures next to `.txt` or `.bin` files of their contents; `aamva/` with payloads, of which those in a
    /// folder `bad` must be refused.
    folder: PathBuf,
    #[command(flatten)]
    renderings: Renderings,
    #[command(flatten)]
    forgeries: Forgeries,
    #[command(flatten)]
    speed: Speed,
    /// Photographs that are read at the same time.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    #[command(flatten)]
    models: ModelsArg,
}

impl Documents {
    pub(super) fn measure(&self) -> anyhow::Result<Report> {
        let mut report = Report::new();
        let (table, codes, payloads) = (
            self.folder.join("mrz.tsv"),
            self.folder.join("pdf417"),
            self.folder.join("aamva"),
        );
        if table.exists() || codes.exists() {
            let engine = documents::DocumentEngine::new(self.models.open()?)?;
            let read = |file: &Path| -> anyhow::Result<Value> {
                let answer = documents::answer_line(&engine, &json!({"file": file}).to_string(), false);
                Ok(serde_json::from_str(&answer)?)
            };
            if table.exists() {
                let rows = rows(&std::fs::read_to_string(&table)?)
                    .with_context(|| format!("{}", table.display()))?;
                let pictures = self.folder.join("mrz");
                let answers = rows
                    .iter()
                    .map(|row| Ok((row.file.clone(), read(&pictures.join(&row.file))?)))
                    .collect::<anyhow::Result<BTreeMap<String, Value>>>()?;
                let answer = |file: &str| answers.get(file).cloned().context("a picture was not read");
                report.insert("mrz".into(), mrz(&rows, answer)?);
                report.insert("visual".into(), visual::visual(&rows, &answers)?);
                self.renderings
                    .measure(&engine, &pictures, &rows, &mut report, self.threads)?;
                self.forgeries
                    .measure(&engine, &pictures, &rows, &mut report, self.threads)?;
                self.speed
                    .measure(&engine, (&pictures, &self.models.dir()?), &rows, &mut report)?;
            }
            if codes.exists() {
                report.insert("pdf417".into(), pdf417(&codes, read)?);
            }
        }
        if payloads.exists() {
            report.insert("aamva".into(), aamva(&payloads)?);
        }
        if report.is_empty() {
            let message = format!(
                "{}: contains none of mrz.tsv, pdf417/, aamva/",
                self.folder.display()
            );
            return Err(Unusable(message).into());
        }
        Ok(report)
    }
}

fn mrz(rows: &[Row], read: impl Fn(&str) -> anyhow::Result<Value>) -> anyhow::Result<Value> {
    let (mut valid, mut exact, mut invalid_exact, mut accepted) = (0, 0, 0, 0);
    let (mut misread, mut wrong_but_accepted) = (Vec::new(), Vec::new());
    let mut unreadable = Vec::new();
    let mut times = Vec::new();
    for row in rows {
        let answer = read(&row.file)?;
        if let Some(message) = answer["error"]["message"].as_str() {
            unreadable.push(format!("{}: {message}", row.file));
            continue;
        }
        let is_exact = answer["mrz"]["lines"] == json!(row.lines);
        let is_accepted = answer["mrz"]["accepted"] == json!(true);
        times.extend(answer["timingMs"]["total"].as_f64());
        if row.valid {
            valid += 1;
            exact += u64::from(is_exact);
            accepted += u64::from(is_exact && is_accepted);
            if !is_exact {
                misread.push(row.file.clone());
            }
        } else {
            invalid_exact += u64::from(is_exact);
        }
        // An MRZ whose printed check digits are wrong must not be accepted either.
        if is_accepted && !(is_exact && row.valid) {
            wrong_but_accepted.push(row.file.clone());
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(json!({
        "pictures": rows.len(),
        "valid": valid,
        "exact": exact,
        "exactShare": rounded(share(exact, valid)),
        "accepted": accepted,
        "wrongButAccepted": wrong_but_accepted,
        "misread": misread,
        "unreadable": unreadable,
        "invalidAsPrinted": rows.len() as u64 - valid,
        "invalidExact": invalid_exact,
        "medianMs": times.get(times.len() / 2),
    }))
}

fn pdf417(folder: &Path, read: impl Fn(&Path) -> anyhow::Result<Value>) -> anyhow::Result<Value> {
    let (mut pictures, mut unread) = (0_u64, Vec::new());
    for file in pictures_below(folder)? {
        let expected = [("txt", false), ("bin", true)]
            .into_iter()
            .find_map(|(extension, bytes)| {
                let expected = std::fs::read(file.with_extension(extension)).ok()?;
                Some((expected, bytes))
            });
        let Some((expected, bytes)) = expected else {
            continue;
        };
        pictures += 1;
        let answer = read(&file)?;
        let found = answer["barcodes"].as_array().into_iter().flatten();
        let texts: Vec<&str> = found.filter_map(|code| code["text"].as_str()).collect();
        if !texts.iter().any(|text| payload_matches(text, &expected, bytes)) {
            unread.push(json!(file.strip_prefix(folder).unwrap_or(&file)));
        }
    }
    let read = pictures - unread.len() as u64;
    Ok(
        json!({"pictures": pictures, "read": read, "readShare": rounded(share(read, pictures)), "unread": unread}),
    )
}

/// Whether a barcode's text is the expected content: as UTF-8, or byte by byte as Latin-1 if the payload is
/// binary.
fn payload_matches(text: &str, expected: &[u8], bytes: bool) -> bool {
    text.as_bytes() == expected
        || (bytes
            && text
                .chars()
                .map(u32::from)
                .eq(expected.iter().map(|byte| u32::from(*byte))))
}

fn aamva(folder: &Path) -> anyhow::Result<Value> {
    let mut outcomes: BTreeMap<(bool, bool), Vec<String>> = BTreeMap::new();
    for file in files_below(folder)? {
        let name = file.strip_prefix(folder).unwrap_or(&file);
        let bad = name.components().any(|part| part.as_os_str() == "bad");
        let parsed = parse_aamva(&std::fs::read(&file)?).is_ok();
        outcomes
            .entry((bad, parsed))
            .or_default()
            .push(name.display().to_string());
    }
    let mut of = |bad, parsed| outcomes.remove(&(bad, parsed)).unwrap_or_default();
    let (parsed, unparsed, accepted, refused) =
        (of(false, true), of(false, false), of(true, true), of(true, false));
    Ok(json!({
        "payloads": parsed.len() + unparsed.len(),
        "parsed": parsed.len(),
        "unparsed": unparsed,
        "bad": accepted.len() + refused.len(),
        "badRefused": refused.len(),
        "badAccepted": accepted,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "file\tlicence\texpected\tcheck_digits\n\
                         a.png\tx\tA<|B<\tall valid\nb.png\tx\tC<\tall valid (old layout)\nc.png\tx\tD<\tBAD: dob\n\n";

    #[test]
    fn readings_are_counted_against_what_is_printed() {
        let rows = rows(TABLE).unwrap();
        let read = |file: &str| {
            Ok(match file {
                "a.png" => {
                    json!({"mrz": {"lines": ["A<", "B<"], "accepted": true}, "timingMs": {"total": 3.0}})
                }
                "b.png" => json!({"mrz": {"lines": ["C0"], "accepted": true}, "timingMs": {"total": 5.0}}),
                _ => json!({"mrz": {"lines": ["D<"], "accepted": false}, "timingMs": {"total": 4.0}}),
            })
        };
        let report = mrz(&rows, read).unwrap();
        assert_eq!(
            report,
            json!({"pictures": 3, "valid": 2, "exact": 1, "exactShare": 0.5, "accepted": 1, "wrongButAccepted": ["b.png"],
                "misread": ["b.png"], "unreadable": [], "invalidAsPrinted": 1, "invalidExact": 1, "medianMs": 4.0})
        );
    }

    #[test]
    fn barcodes_are_compared_as_text_or_bytes() {
        for (text, expected, bytes, same) in [
            ("AB", b"AB".as_slice(), false, true),
            ("é", "é".as_bytes(), false, true),
            ("é", b"\xe9", false, false),
            ("é", b"\xe9", true, true),
            ("AB", b"A", true, false),
        ] {
            assert_eq!(
                payload_matches(text, expected, bytes),
                same,
                "{text} {expected:?}"
            );
        }
    }

    #[test]
    fn payloads_are_parsed_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bad")).unwrap();
        let good = "@\n\u{1e}\rANSI 636014080002DL00410278ZC03190034DLDAQF1485768\nDCSHARPER\nDACELIJAH\nDBD02022016\n\
                    DBB07051973\nDBA07052029\nDBC1\nDAJCA\nDCGUSA\r";
        std::fs::write(folder.path().join("good.txt"), good).unwrap();
        std::fs::write(folder.path().join("bad/none.txt"), "no licence").unwrap();
        let report = aamva(folder.path()).unwrap();
        assert_eq!(report["payloads"], json!(1));
        assert_eq!(report["unparsed"], json!([]));
        assert_eq!((&report["bad"], &report["badRefused"]), (&json!(1), &json!(1)));
    }
}
