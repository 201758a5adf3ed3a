//! Tables as CSV files whose cells no spreadsheet interprets as formulas.

use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use service::problem::Problem;

/// A CSV file as a download; the first row is the header.
///
/// # Errors
/// 500 if the table cannot be serialised.
pub fn file(name: &str, rows: &[Vec<String>]) -> Result<Response, Problem> {
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}.csv\""),
        ),
    ];
    Ok((headers, text(rows)?).into_response())
}

fn text(rows: &[Vec<String>]) -> Result<Vec<u8>, Problem> {
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    for row in rows {
        writer
            .write_record(row.iter().map(|cell| harmless(cell)))
            .map_err(Problem::internal)?;
    }
    writer.into_inner().map_err(Problem::internal)
}

/// Puts an apostrophe before a cell that begins like a formula (OWASP, *CSV Injection*).
pub fn harmless(cell: &str) -> String {
    let is_number = cell.parse::<f64>().is_ok();
    match cell.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r' | '\n') if !is_number => format!("'{cell}"),
        _ => cell.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_a_formula() {
        for (cell, safe) in [
            ("=1+1", "'=1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("-2+3", "'-2+3"),
            ("\t=1", "'\t=1"),
            ("-2.5", "-2.5"),
            ("a=b", "a=b"),
            ("", ""),
        ] {
            assert_eq!(harmless(cell), safe);
        }
        let rows = [
            vec!["a,b".to_owned(), "say \"x\"".to_owned()],
            vec!["=1".to_owned()],
        ];
        assert_eq!(text(&rows).unwrap(), b"\"a,b\",\"say \"\"x\"\"\"\n'=1\n");
    }
}
