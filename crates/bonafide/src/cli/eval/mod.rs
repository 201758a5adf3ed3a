//! `bonafide eval …`: measures an engine on the user's own files with known answers. It prints a table or,
//! with `--json`, one object. It sends and stores nothing, and no figure depends on an earlier run.

mod addresses;
mod challenge;
pub(super) mod det;
mod documents;
pub(super) mod faces;
pub(super) mod figures;
pub(super) mod files;
mod liveness;
pub(super) mod parallel;
mod peer;
mod portraits;
mod sanctions;
mod scores;
mod threshold_curves;

use clap::{Args, Subcommand};
use serde_json::Value;

use self::figures::Report;
use super::output::print_line;

/// `bonafide eval`.
#[derive(Args)]
pub(crate) struct EvalCommand {
    #[command(subcommand)]
    engine: Engine,
    /// Print one JSON object instead of a table.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Engine {
    /// Check crypto addresses and transaction hashes.
    Addresses(addresses::Addresses),
    /// Put rendered people and attacks before the liveness challenge.
    Challenge(challenge::Challenge),
    /// Read documents: MRZ, PDF417 and AAMVA.
    Documents(documents::Documents),
    /// Count and compare faces.
    Faces(faces::Faces),
    /// Distinguish live faces from attacks.
    Liveness(liveness::Liveness),
    /// Compare names and entities, and screen people.
    Sanctions(sanctions::Sanctions),
    /// Trace and score small chains with known outcomes.
    Scores(scores::Scores),
}

/// Runs the evaluation and prints the report.
pub(super) fn run(command: EvalCommand) -> anyhow::Result<()> {
    let report = match command.engine {
        Engine::Addresses(addresses) => addresses.measure(),
        Engine::Challenge(challenge) => challenge.measure(),
        Engine::Documents(documents) => documents.measure(),
        Engine::Faces(faces) => faces.measure(),
        Engine::Liveness(liveness) => liveness.measure(),
        Engine::Sanctions(sanctions) => sanctions.measure(),
        Engine::Scores(scores) => scores.measure(),
    }?;
    // The camera of another program has written its frames.
    if report.is_empty() {
        return Ok(());
    }
    if command.json {
        return print_line(&Value::Object(report).to_string());
    }
    table(&report).iter().try_for_each(|line| print_line(line))
}

/// A report as lines: one heading per section, one line per figure, one line per name in a list.
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
