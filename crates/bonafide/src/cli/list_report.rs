//! The output of an import of a sanctions list, for `lists import` and `lists update`.

use sanctions::ImportReport;
use sanctions::freshness::unchanged_alert;
use sanctions::import::Use;

use super::output::{note, print_line};

/// Prints an import, and that many in a row changed nothing.
pub(super) fn print_report(report: &ImportReport, alert_after: u32, json: bool) -> anyhow::Result<()> {
    let text = match json {
        true => serde_json::to_string(report)?,
        false => describe(report),
    };
    print_line(&text)?;
    if let Some(alert) = unchanged_alert(&report.list, report.unchanged, alert_after) {
        note!("bonafide: {alert}");
    }
    Ok(())
}

fn describe(report: &ImportReport) -> String {
    let mut text = format!(
        "{} {}: {} rows, {} entities, {} rejected",
        report.list, report.version, report.rows, report.entities, report.rejected
    );
    for reject in &report.rejects {
        text.push_str(&format!("\n  rejected at {}: {}", reject.line, reject.reason));
    }
    let unused = report.values.iter().filter(|value| value.used == Use::Unused);
    let unused: Vec<String> = unused
        .map(|value| format!("{} {}", value.name, value.count))
        .collect();
    if !unused.is_empty() {
        text.push_str(&format!("\n  not used: {}", unused.join(", ")));
    }
    if let Some(diff) = &report.diff {
        text.push_str(&format!(
            "\n  against {}: {} added, {} changed, {} removed",
            diff.from, diff.added, diff.changed, diff.removed
        ));
    }
    text
}
