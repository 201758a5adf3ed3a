//! `bonafide eval …`: measures an engine on files of your own with known answers, and prints a table for people or, with
//! `--json`, one object. Nothing is sent anywhere or kept, and no figure depends on what was measured before.

mod addresses;
mod documents;
mod faces;
mod figures;
mod liveness;
mod sanctions;
mod scores;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::{Map, Value};

use super::say;

/// `bonafide eval`.
#[derive(Args)]
pub(crate) struct EvalCommand {
    #[command(subcommand)]
    engine: Engine,
    /// One JSON object instead of a table.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Engine {
    /// Check crypto addresses and transaction hashes.
    Addresses(addresses::Addresses),
    /// Read documents: MRZ, PDF417 and AAMVA.
    Documents(documents::Documents),
    /// Count and compare faces.
    Faces(faces::Faces),
    /// Tell live faces from attacks.
    Liveness(liveness::Liveness),
    /// Compare names and entities, and screen people.
    Sanctions(sanctions::Sanctions),
    /// Trace and score small chains with known outcomes.
    Scores(scores::Scores),
}

/// Measures and prints.
pub(super) fn run(command: EvalCommand) -> anyhow::Result<()> {
    let report = match command.engine {
        Engine::Addresses(addresses) => addresses.measure(),
        Engine::Documents(documents) => documents.measure(),
        Engine::Faces(faces) => faces.measure(),
        Engine::Liveness(liveness) => liveness.measure(),
        Engine::Sanctions(sanctions) => sanctions.measure(),
        Engine::Scores(scores) => scores.measure(),
    }?;
    if command.json {
        return say(&Value::Object(report).to_string());
    }
    table(&report).iter().try_for_each(|line| say(line))
}

/// Sections of figures, by name.
type Report = Map<String, Value>;

/// A report's lines: a heading a section, a line a figure; lists of names one a line.
fn table(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for (section, figures) in report {
        lines.push(section.clone());
        for (name, figure) in figures.as_object().into_iter().flatten() {
            match figure {
                Value::Array(items) => {
                    lines.push(format!("  {name:<32} {}", items.len()));
                    lines.extend(items.iter().map(|item| format!("    {}", plain(item))));
                }
                figure => lines.push(format!("  {name:<32} {}", plain(figure))),
            }
        }
    }
    lines
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The files below a folder, in the order of their names.
fn files_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            // Links are not followed: they may go round.
            match std::fs::symlink_metadata(&path)?.file_type() {
                kind if kind.is_dir() => folders.push(path),
                kind if kind.is_file() => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The pictures below a folder, told by their names.
fn pictures_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = files_below(folder)?;
    files.retain(|file| {
        let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
        ["jpg", "jpeg", "png", "webp", "bmp", "pdf"]
            .iter()
            .any(|known| extension == *known)
    });
    Ok(files)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_are_for_people() {
        let report = json!({"mrz": {"exact": 2, "share": 0.5, "misread": ["a.png", "b.png"]}, "empty": {}});
        assert_eq!(
            table(report.as_object().unwrap()),
            [
                "mrz",
                "  exact                            2",
                "  share                            0.5",
                "  misread                          2",
                "    a.png",
                "    b.png",
                "empty",
            ]
        );
    }
}
