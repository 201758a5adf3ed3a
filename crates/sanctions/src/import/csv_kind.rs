//! Detects the format of a CSV file by its first row. It reads no other row.

use csv::ReaderBuilder;

use super::input::FileKind;
use super::{csl_csv, eu_csv};

/// Detects a CSV format by the first row.
pub(super) fn sniff(text: &str) -> Option<FileKind> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let mut row = csv::StringRecord::new();
    if !reader.read_record(&mut row).ok()? {
        return None;
    }
    if text.lines().next().is_some_and(eu_csv::is_header) {
        return Some(FileKind::EuCsv);
    }
    let numeric = |i: usize| {
        row.get(i)
            .is_some_and(|f| !f.is_empty() && f.trim().bytes().all(|b| b.is_ascii_digit()))
    };
    let header = |name: &str| row.iter().any(|f| f.trim().eq_ignore_ascii_case(name));
    if csl_csv::is_header(header) {
        return Some(FileKind::CslCsv);
    }
    if header("schema") && header("aliases") && header("id") {
        return Some(FileKind::SimpleCsv);
    }
    let is_dated = row.get(0).is_some_and(|first| first.starts_with("Report Date:"));
    if is_dated || (header("Unique ID") && header("OFSI Group ID")) {
        return Some(FileKind::UkCsv);
    }
    // Some mirrors add a row with column names.
    let mirror = row.len() >= 11 && header("name") && (header("id") || header("ent_num"));
    match row.len() {
        11 | 12 if numeric(0) || mirror => Some(FileKind::OfacPrimary),
        5 if numeric(0) && numeric(1) => Some(FileKind::OfacAliases),
        6 if numeric(0) && numeric(1) => Some(FileKind::OfacAddresses),
        2 if numeric(0) => Some(FileKind::OfacComments),
        _ => None,
    }
}
